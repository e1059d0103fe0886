"""Generalisation to unseen images: the paper's comparison of dendritic and linear neurons.

Both neurons have the same synapses and see the same binarised images; they differ in the processing between synapses
and soma. Errors on training and test images are recorded epoch by epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit

from dendrocap.datasets import BINARY_SETS, BinarySet, binary_set
from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError, InvalidParameter
from dendrocap.learning import SGD, Recipe, Training
from dendrocap.learning.protocols import in_parallel
from dendrocap.model import DendriticNeuron, LinearNeuron, NeuronSpec, Polsky
from dendrocap.numerics import standard_error
from dendrocap.numerics.types import Floats
from dendrocap.validation import choice, real_number, whole_number

# Defaults of the comparison; runs continue after all training images are learned.
DENDRITIC = NeuronSpec(Polsky(), theta_d=0.1, theta_s=0.5)

RECIPE = Recipe(SGD(0.03, 10.0), max_epochs=100, stop_when_solved=False)

LINEAR_THETA = 0.1


@dataclass(frozen=True)
class Contender:
    """A neuron with the recipe it is trained by."""

    name: str
    neuron: DendriticNeuron
    recipe: Recipe


@dataclass(frozen=True, eq=False)
class GeneralisationCurve(Displayed):
    """Errors of one training run, epoch by epoch.

    Parameters
    ----------
    dataset, contender : str
        The data set and the neuron.
    seed : int
        Seed of the pixel permutation, the subset of images, the initial weights and the order of patterns.
    epochs : array of int
        Epochs at which errors were measured.
    train_error, test_error : array
        Fractions of wrong answers.
    balanced_test_error : array
        Mean over the two classes of the fraction wrong. If one class is rare, a constant answer has a low error but a
        balanced error of 1/2.
    """

    _displayed = ("dataset", "contender", "seed", "epochs", "test_error")

    dataset: str
    contender: str
    seed: int
    epochs: NDArray[np.int64]
    train_error: NDArray[np.float64]
    test_error: NDArray[np.float64]
    balanced_test_error: NDArray[np.float64]


def contenders(
    n_inputs: int,
    neuron: NeuronSpec = DENDRITIC,
    recipe: Recipe = RECIPE,
    *,
    n_branches: int,
    linear_theta: float = LINEAR_THETA,
    linear_rate: float = 0.1,
    linear_gamma_ce: float = 10.0,
) -> tuple[Contender, Contender]:
    """The dendritic neuron and a linear one with the same number of synapses.

    The linear neuron has its own threshold and rule; schedule and epochs are the same for both.
    """
    if not isinstance(neuron, NeuronSpec):
        raise InvalidParameter("n_inputs is not allowed here: it follows from the images")
    recipe = replace(recipe, stop_when_solved=False)
    own = replace(recipe, algorithm=SGD(linear_rate, linear_gamma_ce))
    dendritic = DendriticNeuron(neuron, n_inputs, n_branches, group_size=2)
    linear = LinearNeuron(linear_theta, n_inputs)
    return Contender(f"dendritic, K = {n_branches}", dendritic, recipe), Contender("linear", linear, own)


def balanced_error(wrong: NDArray[np.bool_], labels: NDArray[np.uint8]) -> float:
    """Mean over the two classes of the fraction wrong."""
    return float(np.mean([wrong[labels == label].mean() for label in (0, 1)]))


def generalisation_curve(
    images: BinarySet,
    contender: Contender,
    *,
    seed: int,
    every: int = 1,
    stop: Callable[..., bool] | None = None,
) -> GeneralisationCurve:
    """Training and test error of one neuron during its training.

    Parameters
    ----------
    images : BinarySet
        Training and test images.
    contender : Contender
        The neuron and its training recipe.
    seed : int
        Seed of initial weights and order of patterns.
    every : int
        Epochs between two measurements of the test error.
    stop : callable, optional
        Called with the record of each epoch; training ends early if it returns True.
    """
    every, neuron = whole_number("every", every, 1), contender.neuron
    run = Training(neuron, images.inputs, images.labels, contender.recipe, seed=seed)
    rows = []
    for record in run:
        if record.epoch % every == 0 or record.epoch == contender.recipe.max_epochs:
            wrong = neuron.predict(run.state().weights, images.test_inputs) != images.test_labels
            rows.append((record.epoch, record.error, wrong.mean(), balanced_error(wrong, images.test_labels)))
        if stop is not None and stop(record):
            break
    epochs, train, test, even = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    return GeneralisationCurve(images.name, contender.name, seed, epochs.astype(np.int64), train, test, even)


def generalise(
    dataset: str,
    neuron: NeuronSpec = DENDRITIC,
    recipe: Recipe = RECIPE,
    *,
    n_branches: int,
    seeds: Sequence[int],
    n_train: int | None = None,
    every: int = 1,
    workers: int | None = None,
    callback: Callable[[GeneralisationCurve], Any] | None = None,
    **linear: float,
) -> list[GeneralisationCurve]:
    """Compare the dendritic and the linear neuron on images, for several seeds.

    Each seed has its own permutation of the pixels and, with ``n_train``, its own balanced subset of the images. Both
    neurons see the same images.

    Parameters
    ----------
    dataset : {"mnist", "fashion-mnist", "cifar10", "cifar10-odd-even", "digits"}
        The data set to learn.
    neuron, recipe
        The dendritic neuron, and its training recipe.
    n_branches : int
        Number of branches K.
    seeds : sequence of int
        One pair of runs for each seed.
    n_train : int, optional
        Number of training images; by default all.
    every : int
        As for `generalisation_curve`.
    workers : int, optional
        Number of seeds run in parallel.
    callback : callable, optional
        Called with every curve.
    **linear
        As for `contenders`.
    """
    choice("dataset", dataset, tuple(BINARY_SETS))

    def run(seed: int, stop: Callable[..., bool]) -> list[GeneralisationCurve]:
        images = binary_set(dataset, n_train=n_train, rng=seed)
        curves = []
        for contender in contenders(images.n_inputs, neuron, recipe, n_branches=n_branches, **linear):
            curve = generalisation_curve(images, contender, seed=seed, every=every, stop=stop)
            curves.append(curve)
            if callback is not None:
                callback(curve)
        return curves

    pairs = in_parallel(run, [whole_number("seed", seed, 0) for seed in seeds], workers=workers)
    return [curve for pair in pairs for curve in pair]


def summary(curves: Sequence[GeneralisationCurve]) -> list[dict[str, Any]]:
    """Mean and standard error over seeds, one row per neuron and epoch; the standard error of a single seed is NaN."""
    rows = []
    for contender in dict.fromkeys(curve.contender for curve in curves):
        runs = [curve for curve in curves if curve.contender == contender]
        for at, epoch in enumerate(runs[0].epochs):
            row: dict[str, Any] = {"neuron": contender, "epoch": int(epoch)}
            for key in ("train_error", "test_error", "balanced_test_error"):
                errors = np.array([getattr(run, key)[at] for run in runs])
                row[key] = float(errors.mean())
                row[f"{key}_se"] = standard_error(errors)
            rows.append(row)
    return rows


# Logistic regression with non-negative weights: one layer of synapses, fully optimised.
#
# Like the linear neuron it has non-negative weights and a threshold, but no learning rate and no epochs: its loss is
# convex and is minimised to convergence. If the inputs contain both versions of every pixel, the sign constraint is no
# restriction: a negative weight on one version equals a positive weight on the other and a higher threshold.

# Projected gradient, per pattern, at which the minimisation ends, and the maximum number of evaluations.
SMALL_GRADIENT, MOST = 1e-5, 10_000


@dataclass(frozen=True, eq=False)
class PositiveLogistic(Displayed):
    """A fitted logistic regression.

    Parameters
    ----------
    weights, bias : array, float
        Non-negative weights, and minus the threshold.
    loss : float
        Minimum of the loss per pattern, including the penalty.
    gradient : float
        Largest remaining component of the projected gradient.
    evaluations : int
        Number of evaluations of the loss.
    """

    _displayed = ("loss", "gradient", "evaluations")

    weights: Floats
    bias: float
    loss: float
    gradient: float
    evaluations: int

    def predict(self, inputs: ArrayLike) -> NDArray[np.uint8]:
        """Labels of patterns."""
        return (np.asarray(inputs) @ self.weights + self.bias > 0.0).astype(np.uint8)


def positive_logistic(inputs: ArrayLike, labels: ArrayLike, *, penalty: float) -> PositiveLogistic:
    """Minimise the sum of logistic losses plus ``penalty / 2`` times the squared weights, for non-negative weights.

    Parameters
    ----------
    inputs : array, shape (n_patterns, n_inputs)
        Patterns.
    labels : array of 0 and 1
        Their classes.
    penalty : float
        Penalty on the squared weights, positive so that the minimum also exists for separable patterns. It acts as a
        prior, which has the same meaning for few and for many patterns.

    Raises
    ------
    ConvergenceError
        If the gradient does not become small enough.

    Examples
    --------
    >>> fitted = positive_logistic([[1, 0], [1, 0], [0, 1]], [1, 1, 0], penalty=0.03)
    >>> fitted.predict([[1, 0], [0, 1]]).tolist(), bool(fitted.weights.min() >= 0.0)
    ([1, 0], True)
    """
    penalty = real_number("penalty", penalty, 0.0, low_open=True)
    # Single precision halves the time, which is spent on reading the patterns; their sums are accurate to 1e-7.
    patterns = np.asarray(inputs, dtype=np.float32)
    signs = 2.0 * np.asarray(labels, dtype=np.float64) - 1.0
    l2 = penalty / len(signs)  # penalty of the mean loss, which is minimised

    def loss(x: Floats) -> tuple[float, Floats]:
        weights, bias = x[:-1], x[-1]
        margins = signs * (patterns @ weights.astype(np.float32) + bias)
        pull = -signs * expit(-margins) / len(signs)
        gradient = np.append(pull.astype(np.float32) @ patterns + l2 * weights, pull.sum())
        return float(np.logaddexp(0.0, -margins).mean() + 0.5 * l2 * weights @ weights), gradient

    n_inputs = patterns.shape[1]
    found: Any = minimize(
        loss,
        np.zeros(n_inputs + 1),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * n_inputs + [(None, None)],
        options={"maxiter": MOST, "maxfun": MOST, "ftol": 0.0, "gtol": SMALL_GRADIENT, "maxcor": 20},
    )
    gradient = found.jac.copy()
    gradient[:-1] = np.where(found.x[:-1] > 0.0, gradient[:-1], np.minimum(gradient[:-1], 0.0))
    left = float(np.abs(gradient).max())
    fitted = PositiveLogistic(found.x[:-1], float(found.x[-1]), float(found.fun), left, int(found.nfev))
    if left > 10.0 * SMALL_GRADIENT:  # the line search may end at the limit of single precision
        raise ConvergenceError(f"logistic regression stopped with a gradient of {left:.1e}: {found.message}", fitted)
    return fitted
