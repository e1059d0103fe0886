"""Volume of solutions with prescribed differences between branches: message passing on single tasks against theory.

Usage: python -m studies.free_entropy_of_unequal_branches {compute,table}

Half of the branches have a mean input above the common one, half below, by half of the split. ``compute`` fills
free_entropy_of_unequal_branches.csv, one row per task and split, about ten seconds each; ``table`` prints the table of
docs/results/real_neuron.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dendrocap import DendriticNeuron, NeuronSpec, Polsky, TaskSpec, random_patterns
from dendrocap.learning import bethe_free_entropy
from dendrocap.theory.saddle_point import split_saddle_point
from studies.tables import Row, complete, markdown, stored

TABLE = Path(__file__).with_suffix(".csv")
SPEC = NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.5)
N, K, LOAD = 2000, 40, 0.4
SPLITS, SEEDS = (0.0, 0.4, 1.0, 1.6), range(10)
COMPARED = ("free_entropy", "mean_weight", "overlap", "mean_square")


def measured(seed: int, split: float, n_inputs: int = N, n_branches: int = K, load: float = LOAD) -> Row:
    """Message passing on one task."""
    neuron = DendriticNeuron(SPEC, n_inputs, n_branches)
    patterns = random_patterns(round(load * n_inputs), n_inputs, rng=seed)
    distances = np.where(np.arange(n_branches) % 2, 0.5, -0.5) * split
    found = bethe_free_entropy(neuron, *patterns, split=distances, on_failure="return")
    return {"settled": "yes" if found.converged else "no"} | {name: f"{getattr(found, name):.7g}" for name in COMPARED}


def theory(split: float, branch_size: float = N / K, load: float = LOAD) -> dict[str, float]:
    """The same for typical tasks, with replica symmetry."""
    found = split_saddle_point(SPEC, TaskSpec(), load, (-0.5 * split, 0.5 * split), branch_size)
    numbers = (found.free_entropy, found.W_bar, found.q, found.Q, found.stability)
    return dict(zip((*COMPARED, "stability"), numbers, strict=True))


def averages(rows: Sequence[Row], split: float, name: str, *, minus_equal: bool = False) -> tuple[float, float]:
    """Mean over tasks and its standard error, of a quantity or of its difference from equal branches, task by task."""
    at = {(int(row["seed"]), float(row["split"])): float(row[name]) for row in rows}
    values = [at[seed, s] - (at[seed, 0.0] if minus_equal else 0.0) for seed, s in at if s == split]
    return float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(len(values))


def table(rows: Sequence[Row]) -> list[str]:
    """The table of the page."""
    header = ("split", "mean outputs", "phi, message passing", "theory", "phi minus that of equal branches", "theory")
    base, lines = theory(0.0), []
    for split in sorted({float(row["split"]) for row in rows}):
        expected = theory(split)
        point = split_saddle_point(SPEC, TaskSpec(), LOAD, (-0.5 * split, 0.5 * split), N / K)
        outputs = ", ".join(f"{one.mean_output:.2f}" for one in point.populations)
        phi, error = averages(rows, split, "free_entropy")
        cells = [f"{split:g}", outputs, f"{phi:.4f} ± {error:.4f}", f"{expected['free_entropy']:.4f}"]
        if split:
            rise, error = averages(rows, split, "free_entropy", minus_equal=True)
            cells += [f"{rise:.4f} ± {error:.4f}", f"{expected['free_entropy'] - base['free_entropy']:.4f}"]
        lines.append((*cells, *[""] * (len(header) - len(cells))))
    return markdown(header, lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("compute", "table"))
    if parser.parse_args().part == "compute":
        complete(TABLE, measured, [(seed, split) for seed in SEEDS for split in SPLITS])
    else:
        print("\n".join(table(stored(TABLE))))


if __name__ == "__main__":
    main()
