"""Generalisation on MNIST, Fashion-MNIST and CIFAR-10: dendritic against linear neuron, as the paper's Fig. 8.

Hyper-parameters are chosen on images held out from the training set, with a seed that is not used afterwards; test
images are looked at once, with the choice made.

Usage: python -m studies.generalisation

with DENDROCAP_DATA set, about ten minutes on one core; it fills generalisation.csv, of which docs/data.md and
docs/compare.md show the last epochs.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

from dendrocap import SGD, DendrocapError, NeuronSpec, Polsky, Recipe
from dendrocap.datasets import BinarySet, binary_set
from dendrocap.sweeps.library import Contender, contenders, generalisation_curve, generalise, summary
from studies.tables import Row, complete

TABLE = Path(__file__).with_suffix(".csv")
TUNING_SEED, SEEDS, N_TRAIN, EPOCHS = 1000, (0, 1, 2, 3, 4), 10_000, 50
SETTINGS = [("mnist", 7), ("mnist", 49), ("fashion-mnist", 7), ("fashion-mnist", 49), ("cifar10", 8), ("cifar10", 72)]


def best(images: BinarySet, candidates: list[tuple[dict[str, float], Contender]]) -> tuple[dict[str, float], float]:
    """The candidate with the smallest error, and that error."""
    found: list[tuple[float, int]] = []
    for index, (_, contender) in enumerate(candidates):
        try:
            curve = generalisation_curve(images, contender, seed=TUNING_SEED, every=EPOCHS)
        except DendrocapError as error:  # a rate that kills all branches is a bad choice, not a failure
            print("  ", candidates[index][0], str(error)[:80], file=sys.stderr)
            continue
        found.append((float(curve.balanced_test_error[-1]), index))
    error, index = min(found)
    return candidates[index][0], error


def tuned(name: str, n_branches: int) -> tuple[tuple[NeuronSpec, Recipe], dict[str, float], dict[str, float]]:
    """The neuron and its recipe, the choices for the linear one, and all of it for the table."""
    images = binary_set(name, n_train=_size(name), rng=TUNING_SEED).held_out(0.2)
    dendritic, linear = [], []
    for theta_d, rate, gamma in itertools.product((0.05, 0.1, 0.2), (0.01, 0.03, 0.1), (1.0, 10.0, 100.0)):
        choice = {"theta_d": theta_d, "learning_rate": rate, "gamma_ce": gamma}
        dendritic.append((choice, contenders(images.n_inputs, *trained(**choice), n_branches=n_branches)[0]))
    usual = trained(0.1, 0.03, 10.0)
    for rate, gamma in itertools.product((0.001, 0.01, 0.1, 1.0), (1.0, 10.0, 100.0)):
        choice = {"linear_rate": rate, "linear_gamma_ce": gamma}
        linear.append((choice, contenders(images.n_inputs, *usual, n_branches=n_branches, **choice)[1]))
    (one, one_error), (other, other_error) = best(images, dendritic), best(images, linear)
    print(f"{name}, K = {n_branches}: held-out error {one_error:.4f} with {one}; linear {other_error:.4f} with {other}")
    return trained(**one), other, one | other


def trained(theta_d: float, learning_rate: float, gamma_ce: float) -> tuple[NeuronSpec, Recipe]:
    """The dendritic neuron with a choice of its settings."""
    return NeuronSpec(Polsky(), theta_d, 0.5), Recipe(SGD(learning_rate, gamma_ce), max_epochs=EPOCHS)


def _size(name: str) -> int:
    return 8000 if name == "fashion-mnist" else N_TRAIN  # the rarer class has 4,265 images with a median above zero


def measured(task: str, K: int) -> Row:
    """Tune, then measure: errors of both neurons, one row every five epochs."""
    dendritic, linear, choice = tuned(task, K)
    how = {"n_branches": K, "seeds": SEEDS, "n_train": _size(task), "every": 5, "workers": 1}
    rows = summary(generalise(task, *dendritic, **how, **linear))
    errors = {key: [round(row[key], 5) for row in rows] for key in rows[0] if "error" in key}
    about = {key: [row[key] for row in rows] for key in ("neuron", "epoch")}
    return about | errors | {"n_train": _size(task), "seeds": len(SEEDS)} | choice


if __name__ == "__main__":
    complete(TABLE, measured, SETTINGS)
