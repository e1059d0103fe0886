"""Capacity against the dendritic threshold with 0, 1, 2 and many steps of breaking, and the AT load.

Usage: python -m studies.rsb_capacity {compute,figure}

``compute`` fills rsb_capacity.csv, in a few minutes; ``figure`` draws docs/images/rsb.png from it and from
rsb_learned.csv, which `python -m studies.solvers loads` writes.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import numpy as np

from dendrocap import NeuronSpec, Polsky, ReLU, SaturatingReLU, TaskSpec, critical_capacity, plot, stability_limit
from studies import plots
from studies.tables import IMAGES, Row, complete, stored

DENDRITES = {g.name: g for g in (ReLU(), SaturatingReLU(), Polsky())}
THRESHOLDS = np.concatenate([np.geomspace(0.01, 0.05, 5)[:-1], np.geomspace(0.05, 10.0, 15)])
TABLE = Path(__file__).with_suffix(".csv")


def computed(nonlinearity: str, theta_d: float) -> Row:
    """All capacities at one threshold."""
    neuron = NeuronSpec(DENDRITES[nonlinearity], theta_d, 0.5)
    symmetric, one, full = (
        critical_capacity(neuron),
        critical_capacity(neuron, rsb=1),
        critical_capacity(neuron, rsb="full"),
    )
    steps = [*full.by_steps, *[full.by_steps[-1]] * 3]
    numbers = {
        "theta_d": theta_d,
        "theta_s": 0.5,
        "alpha_at": stability_limit(neuron, TaskSpec()).alpha,
        "alpha_rs": symmetric.alpha_c,
        "alpha_1": steps[1],
        "alpha_2": steps[2],
        "alpha_full": full.alpha_c,
        "full_error": full.steps_error,
    }
    silent = {"silent_rs": symmetric, "silent_1": one, "silent_last": full}
    return {
        **{name: f"{value:.8g}" for name, value in numbers.items()},
        "levels": full.k,
        **{name: f"{found.silent_fraction:.6f}" for name, found in silent.items()},
        "reason": full.reason,
    }


def compute() -> None:
    """Add the rows that the table lacks."""
    complete(TABLE, computed, product(DENDRITES, THRESHOLDS))


def figure() -> None:
    """The figure of docs/rsb.md."""
    plot.save(plots.breaking(stored(TABLE), stored(TABLE.with_name("rsb_learned.csv"))), IMAGES / "rsb.png")


if __name__ == "__main__":
    {"compute": compute, "figure": figure}[sys.argv[1]]()
