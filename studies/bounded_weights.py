"""Capacity of a linear neuron whose weights saturate: linear programming against theory.

Usage: python -m studies.bounded_weights {compute,table}

500 synapses on one branch, binary inputs, no margin. Weights lie between 0 and w_max and have the mean W_bar = 1.
Patterns are added until no weights classify them; linear programming decides. ``compute`` fills bounded_weights.csv,
one row per task, some seconds each; ``table`` prints the table of docs/theory/priors_and_channels.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dendrocap import Bounded, Linear, NeuronSpec, critical_capacity
from studies.linear_programming import feasible, largest_number
from studies.tables import Row, complete, markdown, stored

TABLE = Path(__file__).with_suffix(".csv")
N, F_IN = 500, 0.5
SETTINGS = ((1.5,), (2.0,), (3.0,))
SEEDS = range(90)


def stored_patterns(seed: int, w_max: float, n_inputs: int = N) -> int:
    """How many random patterns, one after the other, can be classified."""
    rng = np.random.default_rng([seed, round(1000 * w_max)])
    expected = theory(w_max) * n_inputs
    most = round(2.0 * expected) + 20
    centred = (rng.random((most, n_inputs)) < F_IN) - F_IN
    signs = rng.choice([-1.0, 1.0], size=most)
    all_of_them = np.ones((1, n_inputs))

    def works(at: int) -> bool:
        return feasible(centred[:at], signs[:at], all_of_them, [float(n_inputs)], largest=w_max)

    return largest_number(works, expected, most)


def theory(w_max: float) -> float:
    """Patterns per synapse, exact for a linear neuron."""
    return critical_capacity(NeuronSpec(Linear(), F_IN, 0.0, prior=Bounded(w_max))).alpha_c


def measured(seed: int, w_max: float) -> Row:
    """One task."""
    return {"n_patterns": stored_patterns(seed, w_max)}


def average(rows: Sequence[Row], w_max: float) -> tuple[float, float, int]:
    """Mean load at one w_max, its standard error, and the number of tasks."""
    loads = [int(row["n_patterns"]) / N for row in rows if float(row["w_max"]) == w_max]
    return float(np.mean(loads)), float(np.std(loads, ddof=1)) / math.sqrt(len(loads)), len(loads)


def table(rows: Sequence[Row]) -> list[str]:
    """The table of the page."""
    lines = []
    for (w_max,) in SETTINGS:
        mean, error, tasks = average(rows, w_max)
        expected = theory(w_max)
        apart = f"{(mean - expected) / error:+.1f}"
        lines.append((f"{w_max:g}", f"{mean:.4f} ± {error:.4f}", f"{expected:.4f}", apart, str(tasks)))
    header = ("$w_{max} / \\bar W$", "linear programming", "theory", "standard errors apart", "tasks")
    return markdown(header, lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("compute", "table"))
    if parser.parse_args().part == "compute":
        complete(TABLE, measured, [(seed, *setting) for seed in SEEDS for setting in SETTINGS])
    else:
        print("\n".join(table(stored(TABLE))))


if __name__ == "__main__":
    main()
