"""Free entropy of single tasks from message passing, against the replica-symmetric theory at their mean weight.

Usage: python -m studies.bethe {compute,limits} [--workers 1]

``compute`` adds the tasks that bethe.csv lacks; ``limits`` prints the table of docs/solvers.md, with limits of a
parabola in 1/N.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import linregress

from dendrocap import DendriticNeuron, NeuronSpec, Polsky, TaskSpec, saddle_point
from dendrocap.learning import patterns_at_load
from dendrocap.numerics import standard_error
from dendrocap.sweeps.library import bethe_free_entropy
from studies.tables import Row, complete, markdown, stored

TABLE = Path(__file__).with_suffix(".csv")
COMPARED = ("free_entropy", "overlap", "mean_square")
THETA = 0.5
# N, K and load of the tasks, and how many of them.
ENSEMBLES = {
    (500, 10, 0.1): 100,
    (1000, 20, 0.1): 64,
    (2000, 40, 0.1): 32,
    (4000, 80, 0.1): 24,
    (500, 10, 0.2): 100,
    (1000, 20, 0.2): 64,
    (2000, 40, 0.2): 48,
    (4000, 80, 0.2): 16,
    (1000, 20, 0.4): 64,
    (2000, 40, 0.4): 24,
}


def measured(n_inputs: int, n_branches: int, alpha: float, seed: int) -> Row:
    """One task: what message passing finds, and the replica-symmetric values at the mean weight that it finds.

    A few tasks do not settle: some weights go on oscillating by about a per cent, the free entropy by 1e-5.
    """
    neuron = DendriticNeuron(NeuronSpec(Polsky(), THETA, THETA), n_inputs, n_branches)
    found = bethe_free_entropy(neuron, TaskSpec(), alpha, seed)
    rs = saddle_point(NeuronSpec(Polsky(), THETA * found.mean_weight, THETA), TaskSpec(), alpha=alpha)
    patterns = patterns_at_load(neuron, alpha, seed)
    numbers = {name: getattr(found, name) for name in COMPARED}
    theory = {"free_entropy": rs.free_entropy, "overlap": rs.q, "mean_square": rs.Q}
    return {
        "settled": "yes" if found.converged else "no",
        "tilt": f"{tilt(patterns.dense, patterns.signs):.8g}",
        **{
            f"{prefix}{name}": f"{values[name]:.8g}"
            for name in COMPARED
            for prefix, values in (("", numbers), ("rs_", theory))
        },
    }


def tilt(inputs: np.ndarray, signs: np.ndarray) -> float:
    """How much more active the patterns to be answered by 1 are: a standard normal number, by luck of the draw.

    All weights are positive, so a task is easy if its tilt is positive. It is the largest part of what differs
    between tasks, and its mean is known to be zero: a control variate.
    """
    n_patterns, n_inputs = inputs.shape
    return float(signs @ (inputs.sum(axis=1) - 0.5 * n_inputs)) / np.sqrt(0.25 * n_patterns * n_inputs)


def uncertain(mean: float, error: float) -> str:
    """A signed number and its error."""
    return f"{mean:+.4f} ± {error:.4f}".replace("-", "\N{MINUS SIGN}")


def limits(rows: Sequence[Row]) -> list[str]:
    """Bethe free entropy, q and Q against replica symmetry, by size, and the limit of a parabola in 1/N."""
    header = ("load", "N, K", "instances", "Bethe - RS", "at zero tilt", "q / RS - 1", "Q / RS - 1")
    return [line.replace("|  |  |", "| | |") for line in markdown(header, _limits(rows))]


def _limits(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    for alpha in sorted({alpha for _, _, alpha in ENSEMBLES}):
        sizes, level = [], []
        for n_inputs, n_branches, _ in (ensemble for ensemble in ENSEMBLES if ensemble[2] == alpha):
            own = [row for row in rows if row["n_inputs"] == f"{n_inputs}" and float(row["alpha"]) == alpha]
            tilts = np.array([float(row["tilt"]) for row in own])
            found, theory = (np.array([[float(row[p + n]) for n in COMPARED] for row in own]) for p in ("", "rs_"))
            excess = np.column_stack([found[:, 0] - theory[:, 0], found[:, 1:] / theory[:, 1:] - 1.0])
            fits = [linregress(tilts, column) for column in excess.T]
            sizes.append(n_inputs)
            level.append([(fit.intercept, fit.intercept_stderr) for fit in fits])
            raw = uncertain(excess[:, 0].mean(), standard_error(excess[:, 0]))
            yield (f"{alpha}", f"{n_inputs}, {n_branches}", f"{len(own)}", raw, *(uncertain(*one) for one in level[-1]))
        if len(sizes) > 3:
            ends = []
            for mean, error in np.array(level).transpose(1, 2, 0):
                fit, covariance = np.polyfit(1.0 / np.array(sizes), mean, 2, w=1.0 / error, cov="unscaled")
                ends.append(uncertain(fit[2], np.sqrt(covariance[2, 2])))
            yield (f"{alpha}", "**limit**", "", "", *ends)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("compute", "limits"))
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    if options.part == "compute":
        tasks = [(*ensemble, seed) for ensemble, tasks in ENSEMBLES.items() for seed in range(tasks)]
        complete(TABLE, measured, tasks, options.workers)
    else:
        print("\n".join(limits(stored(TABLE))))


if __name__ == "__main__":
    main()
