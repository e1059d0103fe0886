"""What one attempt of the annealed surrogate solves with inhibition, correlated inputs and two kinds of branches.

Usage: python -m studies.solving_extensions {compute,table} [NAME ...]

``compute`` adds one row per neuron, load and seed to solving_extensions.csv, those of the neurons named or all;
``table`` prints the table of docs/solvers.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from dendrocap import (
    Branches,
    DendriticNeuron,
    Inhibition,
    NeuronSpec,
    Polsky,
    SaturatingReLU,
    TaskSpec,
    critical_capacity,
    random_patterns,
    solve,
)
from studies.tables import Row, complete, markdown, stored

TABLE = Path(__file__).with_suffix(".csv")
N, K, EPOCHS = 999, 27, 8000  # one attempt
LOADS, SEEDS = (1.0, 1.2, 1.4, 1.6, 1.8), range(3)


def _inhibited(drive: float) -> NeuronSpec:
    return NeuronSpec(Polsky(), 0.5, 0.5, inhibition=Inhibition(0.2, drive))


TWO_KINDS = NeuronSpec(
    populations=(Branches(Polsky(), 0.25, fraction=0.5), Branches(SaturatingReLU(), 0.5, fraction=0.5)), theta_s=0.5
)
CASES = {
    "excitatory only": (NeuronSpec(Polsky(), 0.5, 0.5), TaskSpec()),
    "inhibition, share 0.2, drive 0.1": (_inhibited(0.1), TaskSpec()),
    "inhibition, share 0.2, drive 0.25": (_inhibited(0.25), TaskSpec()),
    "inhibition, share 0.2, drive 0.5 (no threshold left)": (_inhibited(0.5), TaskSpec()),
    "inputs correlated, $c_0 = 2$": (NeuronSpec(Polsky(), 0.5, 0.5), TaskSpec(branch_correlation=2.0)),
    r"basal Polsky $\theta_d = \tfrac14$, apical saturating ReLU $\theta_d = \tfrac12$": (TWO_KINDS, TaskSpec()),
}


def measured(neuron: str, alpha: float, seed: int, size: tuple[int, int] = (N, K), epochs: int = EPOCHS) -> Row:
    """One attempt."""
    spec, task = CASES[neuron]
    correlated = (
        {"branch_correlation": task.branch_correlation, "n_branches": size[1]} if task.branch_correlation else {}
    )
    patterns = random_patterns(round(alpha * size[0]), size[0], rng=seed, **correlated)
    found = solve(
        DendriticNeuron(spec, *size), *patterns, solver="surrogate", seed=seed, time_limit=None, max_epochs=epochs
    )
    return {"errors": found.errors, "epochs": found.epochs}


def table(rows: Sequence[Row]) -> list[str]:
    """Seeds solved at each load, and the capacity with one step of breaking."""
    lines = []
    for name, (spec, task) in CASES.items():
        solved = []
        for alpha in LOADS:
            own = [row for row in rows if row["neuron"] == name and float(row["alpha"]) == alpha]
            solved.append(f"{sum(row['errors'] == '0' for row in own)}" if len(own) == len(SEEDS) else "")
        lines.append((name, *solved, f"{critical_capacity(spec, task, rsb=1).alpha_c:.2f}"))
    return markdown(("load", *(f"{alpha:g}" for alpha in LOADS), "capacity, one step, long equal branches"), lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("compute", "table"))
    parser.add_argument("names", nargs="*", default=list(CASES))
    options = parser.parse_args()
    if options.part == "compute":
        settings = [(name, alpha, seed) for alpha in LOADS[::-1] for name in options.names for seed in SEEDS]
        complete(TABLE, measured, settings)
    else:
        print("\n".join(table(stored(TABLE))))


if __name__ == "__main__":
    main()
