"""Capacity and silent fraction of infinitely many long, equal branches with zero to four steps of symmetry breaking.

Usage: python -m studies.breaking_by_steps {compute,table,short}

``compute`` fills breaking_by_steps.csv, a few seconds per neuron; ``table`` prints the table of docs/rsb.md and
``short`` that of docs/theory/exactness.md, both from the stored numbers.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from dendrocap import NeuronSpec, Polsky, ReLU, SaturatingReLU, critical_capacity, stability_limit
from dendrocap.figures.style import LABELS
from studies.tables import Row, complete, markdown, stored

TABLE = Path(__file__).with_suffix(".csv")
STEPS = range(5)
DENDRITES = {g.name: g for g in (ReLU(), SaturatingReLU(), Polsky())}
THRESHOLDS = {"relu": (0.5, 1.0), "saturating_relu": (0.5, 1.0), "polsky": (0.1, 0.5, 1.0)}


def computed(nonlinearity: str, theta_d: float) -> Row:
    """Where replica symmetry becomes unstable, capacities and silent fractions by steps, and the limit of many."""
    neuron = NeuronSpec(DENDRITES[nonlinearity], theta_d, theta_s=0.5)
    steps = [critical_capacity(neuron, rsb=k) for k in STEPS]
    limit = critical_capacity(neuron, rsb="full")
    return {
        "unstable": f"{stability_limit(neuron).alpha:.6f}",
        **{f"alpha_{k}": f"{found.alpha_c:.8f}" for k, found in zip(STEPS, steps, strict=True)},
        "alpha_full": f"{limit.alpha_c:.6f}",
        "full_error": f"{limit.alpha_c * limit.steps_error:.2g}",
        **{f"silent_{k}": f"{found.silent_fraction:.6f}" for k, found in zip(STEPS, steps, strict=True)},
    }


def limit(row: Row) -> str:
    """The limit of many steps with its error."""
    return f"{float(row['alpha_full']):.4f} ± {float(row['full_error']):.4f}"


def table(rows: Sequence[Row]) -> list[str]:
    """Every step of every neuron."""
    header = ("$g$", r"$\theta_d$", "unstable", "RS", "1", "2", "3", "4", "limit")
    header += ("$p_0$ RS", "$p_0$, 1 step", "$p_0$, 4 steps")
    lines = [
        (
            LABELS[row["nonlinearity"]],
            row["theta_d"],
            f"{float(row['unstable']):.4f}",
            f"{float(row['alpha_0']):.5f}",
            *(f"{float(row[f'alpha_{k}']):.6f}" for k in STEPS[1:]),
            limit(row),
            f"{float(row['silent_0']):.3f}",
            *(f"{float(row[f'silent_{k}']):.4f}" for k in (1, 4)),
        )
        for row in rows
    ]
    return markdown(header, lines)


def short(rows: Sequence[Row]) -> list[str]:
    """Three neurons at theta_d = 1/2."""
    header = ("$g$", "unstable from", "RS", "one step", "two steps", "limit of many")
    lines = [
        (LABELS[row["nonlinearity"]], *(f"{float(row[name]):.3f}" for name in ("unstable", *COMPARED)), limit(row))
        for row in rows
        if row["theta_d"] == "0.5"
    ]
    return markdown(header, lines)


COMPARED = ("alpha_0", "alpha_1", "alpha_2")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    printed = {"table": table, "short": short}
    parser.add_argument("part", choices=("compute", *printed))
    part = parser.parse_args().part
    if part == "compute":
        complete(TABLE, computed, [(name, theta_d) for name, several in THRESHOLDS.items() for theta_d in several])
    else:
        print("\n".join(printed[part](stored(TABLE))))


if __name__ == "__main__":
    main()
