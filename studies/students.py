"""Students of a Polsky teacher, drawn at random, against the theory of `teacher_student`.

Usage: python -m studies.students {compute,table}

`random_patterns` draws patterns with the answers of a teacher. Students without an error on them are drawn at random by
the Markov chain of `studies.sampled_solutions`, the Polsky student from the teacher on, the linear one from an annealed
start; then they answer patterns that they have not seen. ``compute`` fills students.csv, one row per student, load and
seed; ``table`` prints the table of docs/theory/generalisation.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dendrocap import DendriticNeuron, random_patterns, teacher_student
from studies.sampled_solutions import NEURONS, Sampler, averages
from studies.tables import Row, complete, markdown, stored

TABLE = Path(__file__).with_suffix(".csv")
N_BRANCHES, BRANCH_SIZE = 20, 40
LOADS, SEEDS = (0.5, 1.0, 1.5), range(4)
UNSEEN, SWEEPS, SNAPSHOTS = 4000, 600, 30


class Student(Sampler):
    """A student of one teacher's patterns."""

    def __init__(self, name: str, alpha: float, seed: int, n_branches: int, branch_size: int) -> None:
        self.neuron, self.rng = NEURONS[name], np.random.default_rng(seed)
        self.shape = (n_branches, branch_size)
        n_inputs = n_branches * branch_size
        teacher = DendriticNeuron(NEURONS["polsky"], n_inputs, n_branches)
        learned = round(alpha * n_inputs)
        patterns = random_patterns(learned + UNSEEN, n_inputs, rng=seed, teacher=teacher)
        inputs, signs = patterns.dense.reshape(-1, *self.shape).astype(np.float64), patterns.signs
        self.inputs, self.unseen = inputs[:learned], inputs[learned:]
        self.signs, self.answers = signs[:learned], signs[learned:]
        if name == "polsky":  # the teacher is one of the students
            self.weights = teacher.teacher_weights(rng=seed)
        else:
            self.weights = self.rng.exponential(size=self.shape)
            self.weights /= self.weights.mean(axis=1, keepdims=True)
        self.W_bar = float(self.weights.mean())
        # A linear branch needs the mean theta_s; that of the teacher's branches is what their sums make it.
        drift = math.sqrt(branch_size) * (0.5 * self.W_bar - self.neuron.theta_d)
        self.m = drift if name == "polsky" else self.neuron.theta_s

    def error(self) -> float:
        """Wrong answers to patterns not seen."""
        return float(np.mean(self.answers * self.soma(self.weights, self.unseen) < 0.0))


def measured(
    student: str, alpha: float, seed: int, size: tuple[int, int] = (N_BRANCHES, BRANCH_SIZE), sweeps: int = SWEEPS
) -> Row:
    """Average error over one chain, its first fifth left out."""
    sampler = Student(student, alpha, seed, *size)
    sampler.settle()
    sampler.sweep(sweeps // 5)
    found = []
    for _ in range(SNAPSHOTS):
        sampler.sweep(max(sweeps // SNAPSHOTS, 1))
        found.append(sampler.error())
    return {"error": f"{np.mean(found):.5f}"}


def table(rows: Sequence[Row]) -> list[str]:
    """Theory and simulation for each student and load."""
    lines = []
    for name in NEURONS:
        for alpha in LOADS:
            own = [row for row in rows if row["student"] == name and float(row["alpha"]) == alpha]
            if own:
                expected = teacher_student(NEURONS[name], alpha=alpha, teacher=NEURONS["polsky"]).gibbs_error
                mean, error = averages(own, "error")
                lines.append((name, f"{alpha:g}", f"{expected:.4f}", f"{mean:.4f} ± {error:.4f}"))
    return markdown(("student", "load", "theory", f"drawn at random, {N_BRANCHES} branches of {BRANCH_SIZE}"), lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("compute", "table"))
    if parser.parse_args().part == "compute":
        complete(TABLE, measured, [(name, alpha, seed) for alpha in LOADS for name in NEURONS for seed in SEEDS])
    else:
        print("\n".join(table(stored(TABLE))))


if __name__ == "__main__":
    main()
