"""Jobs that train neurons on random patterns or on images: they take flat parameters and return a few numbers.

The seed of a cell determines its patterns, initial weights and shuffles, as in `dendrocap.learning`. A cell runs
nothing in parallel: the sweep does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit, ndtri

from dendrocap.datasets import BINARY_SETS, BinarySet, binary_set
from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError, InvalidParameter
from dendrocap.learning import (
    SGD,
    BetheEstimate,
    Recipe,
    Training,
    TrainingResult,
    message_passing,
    noise_robustness,
    patterns_at_load,
    weight_statistics,
)
from dendrocap.learning import algorithmic_capacity as measure_capacity
from dendrocap.learning import search as find_weights
from dendrocap.learning.protocols import in_parallel
from dendrocap.learning.training import train_at_load
from dendrocap.model import DendriticNeuron, LinearNeuron, NeuronSpec, Polsky, TaskSpec
from dendrocap.model.flat import finite_neuron, neuron_from_flat
from dendrocap.numerics import standard_error
from dendrocap.numerics.types import Floats
from dendrocap.solving import solver_by_theory
from dendrocap.theory import CapacityWeights, TeacherStudent
from dendrocap.theory import teacher_student as student_of
from dendrocap.validation import choice, real_number, whole_number

# A learning curve is kept at this many epochs, evenly spaced in the logarithm.
SAMPLED_EPOCHS = 60

# Only its CPU time ends a search.
MOST_EPOCHS = 10**9

# Defaults: the flat loss used for comparing robustness, and the settings for weights at rest.
FLAT_LOSS, TO_REST = Recipe(SGD(0.1, 10.0)), Recipe(stop_when_solved=False)


def train(neuron: DendriticNeuron, task: TaskSpec, recipe: Recipe, alpha: float, seed: int) -> dict[str, Any]:
    """One training run on random patterns of load ``alpha``, by `dendrocap.learning.train`.

    A run in which all branches die or weights overflow is a result, marked by ``stopped``, not a failed cell.
    """
    return _summary(train_at_load(finite_neuron(neuron), alpha, seed, task, recipe))


def solve(
    neuron: DendriticNeuron,
    task: TaskSpec,
    alpha: float,
    seed: int,
    *,
    solver: str = "auto",
    cpu_seconds: float = 120.0,
) -> dict[str, Any]:
    """One search for weights without errors on random patterns of load ``alpha``, as `dendrocap.solve` does it.

    ``cpu_seconds`` limits the CPU time of the search, so that a busy machine changes how long it takes and not what
    it finds; the time used is a metric of the same name.
    """
    patterns, start = patterns_at_load(finite_neuron(neuron), alpha, seed, task), time.process_time()
    end = start + real_number("cpu_seconds", cpu_seconds, 0.0, low_open=True)
    chosen = solver_by_theory(neuron, len(patterns.labels), task).name if solver == "auto" else solver
    result = find_weights(
        neuron,
        *patterns,
        chosen,
        seed=seed,
        time_limit=None,
        max_epochs=MOST_EPOCHS,
        kappa=task.kappa,
        callback=lambda _: time.process_time() > end,
    )
    return {**_summary(result), "solver": chosen, "cpu_seconds": time.process_time() - start}


def bethe_free_entropy(
    neuron: DendriticNeuron,
    task: TaskSpec,
    alpha: float,
    seed: int,
    *,
    damping: float = 0.5,
    max_iterations: int = 500,
    tolerance: float = 1e-4,
) -> BetheEstimate:
    """Free entropy of random patterns of load ``alpha``, as `dendrocap.learning.bethe_free_entropy` finds it.

    Messages that do not settle are a result, with ``converged`` false, not a failed cell.
    """
    return message_passing.bethe_free_entropy(
        finite_neuron(neuron),
        *patterns_at_load(neuron, alpha, seed, task),
        kappa=task.kappa,
        damping=damping,
        max_iterations=max_iterations,
        tolerance=tolerance,
        on_failure="return",
    )


def algorithmic_capacity(
    neuron: DendriticNeuron,
    task: TaskSpec,
    recipe: Recipe,
    seed: int,
    *,
    limits: Sequence[float] = (0.1, 2.0),
    resolution: float = 0.1,
    method: str = "bisection",
    tolerance: float = 0.0,
) -> dict[str, Any]:
    """Largest load that one sequence of runs solves, found by `dendrocap.learning.algorithmic_capacity`."""
    if len(limits) != 2:
        raise InvalidParameter(f"limits = {list(limits)} is not allowed: it must be two loads")
    outcome = measure_capacity(
        finite_neuron(neuron),
        recipe=recipe,
        limits=(limits[0], limits[1]),
        resolution=resolution,
        method=method,
        seeds=[seed],
        tolerance=tolerance,
        task=task,
        workers=1,
    )
    trials = [trial for point in outcome.points for trial in point.trials]
    return {
        "largest_solved": outcome.alpha,
        "reaches_limit": outcome.reaches_limit,
        "runs": len(trials),
        "epochs": sum(trial.epochs for trial in trials),
    }


def robustness(
    neuron: DendriticNeuron,
    task: TaskSpec,
    alpha: float,
    seed: int,
    recipe: Recipe = FLAT_LOSS,
    *,
    flip_probabilities: Sequence[float] = (0.01, 0.05, 0.1),
    noise_amplitudes: Sequence[float] = (0.2, 0.5, 1.0),
    samples: int = 20,
) -> dict[str, Any]:
    """Errors of a trained neuron under flipped inputs and noisy synapses, one entry per strength of the noise."""
    result = train_at_load(finite_neuron(neuron), alpha, seed, task, recipe)
    outcome = noise_robustness(
        neuron,
        result.weights,
        *patterns_at_load(neuron, alpha, seed, task),
        flip_probabilities=flip_probabilities,
        noise_amplitudes=noise_amplitudes,
        samples=samples,
        seed=seed,
    )
    return {
        **_summary(result),
        "flip_error": [point.error for point in outcome.input_flips],
        "flip_standard_error": [point.standard_error for point in outcome.input_flips],
        "noise_error": [point.error for point in outcome.synaptic_noise],
        "noise_standard_error": [point.standard_error for point in outcome.synaptic_noise],
    }


def learning_speed(neuron: DendriticNeuron, task: TaskSpec, recipe: Recipe, alpha: float, seed: int) -> dict[str, Any]:
    """Error of one run as a function of the epoch; the run ends when all patterns are learned.

    ``sampled_error`` is the fraction of patterns wrong after each of ``sampled_epochs``; it is zero after the end of a
    run that has learned all patterns.
    """
    result = train_at_load(finite_neuron(neuron), alpha, seed, task, recipe)
    at = np.unique(np.geomspace(1, recipe.max_epochs or max(result.epochs, 1), SAMPLED_EPOCHS).round().astype(int))
    history = result.error_history / result.n_patterns
    error = history[np.minimum(at, len(history)) - 1] if len(history) else np.full(len(at), result.error)
    return {**_summary(result), "sampled_epochs": at, "sampled_error": error}


def learned_weights(
    neuron: DendriticNeuron,
    task: TaskSpec,
    alpha: float,
    seed: int,
    recipe: Recipe = TO_REST,
    *,
    threshold: float = 1e-3,
    quantiles: int = 101,
) -> dict[str, Any]:
    """Weights at rest: training continues after zero error until the rate has reached its minimum or the epochs end.

    ``last_errors`` is the number of patterns that these weights get wrong. ``near_zeros`` is the fraction of weights
    below ``threshold`` times the mean weight. ``distance`` is the largest difference between the cumulative
    distribution of the other weights and the form of the theory, a truncated Gaussian with the same silent fraction
    and the same mean. All of these refer to excitatory weights; ``inhibitory_near_zeros`` and ``mean_inhibition`` refer
    to inhibitory ones, if there are any.
    """
    result = train_at_load(finite_neuron(neuron), alpha, seed, task, recipe)
    mask = result.neuron.inhibitory
    found = weight_statistics(result.state.weights, inhibitory=mask, threshold=threshold)
    B = float(ndtri(min(max(found.near_zeros, 1e-9), 1.0 - 1e-9)))
    unit = CapacityWeights(B, 1.0)
    return {
        **_summary(result),
        "last_errors": result.error_history[-1],
        "last_rate": result.rate_history[-1],
        "exact_zeros": found.exact_zeros,
        "near_zeros": found.near_zeros,
        "mean_weight": found.mean,
        "standard_deviation": found.standard_deviation,
        "distance": found.compare(CapacityWeights(B, found.mean / unit.mean())).largest_distance,
        "weight_quantiles": np.quantile(found.weights, np.linspace(0.0, 1.0, quantiles)),
        **(
            {}
            if found.inhibition is None
            else {"inhibitory_near_zeros": found.inhibition.near_zeros, "mean_inhibition": found.inhibition.mean}
        ),
    }


def _summary(result: TrainingResult) -> dict[str, Any]:
    kept = ("solved", "error", "errors", "n_patterns", "epochs", "best_epoch", "stopped")
    flat, mask = result.neuron.flat_weights(result.weights), result.neuron.inhibitory
    silent = {"silent_fraction": float(np.mean(flat[~mask] == 0.0))}
    if mask.any():
        silent["inhibitory_silent_fraction"] = float(np.mean(flat[mask] == 0.0))
    return {**{name: getattr(result, name) for name in kept}, **silent}


# Jobs of the theory that need more than flat parameters.


def teacher_student(
    neuron: NeuronSpec, task: TaskSpec, alpha: float, *, teacher: Mapping[str, Any] | None = None
) -> TeacherStudent:
    """Generalisation of a student, computed by `dendrocap.teacher_student`.

    ``teacher`` is a table of flat parameters; parameters that it does not give are those of the student.
    """
    other = None if teacher is None else neuron_from_flat(teacher, neuron)
    return student_of(neuron, task, alpha=alpha, teacher=other)  # type: ignore[arg-type]


# Generalisation to unseen images: the paper's comparison of dendritic and linear neurons.
#
# Both neurons have the same synapses and see the same binarised images; they differ in the processing between synapses
# and soma. Errors on training and test images are recorded epoch by epoch; runs go on after all images are learned.

DENDRITIC = NeuronSpec(Polsky(), theta_d=0.1, theta_s=0.5)

RECIPE = Recipe(SGD(0.03, 10.0), max_epochs=100, stop_when_solved=False)

LINEAR_THETA = 0.1

IMAGE_ERRORS = ("train_error", "test_error", "balanced_test_error")


@dataclass(frozen=True)
class Contender:
    """A neuron with the recipe it is trained by."""

    name: str
    neuron: DendriticNeuron
    recipe: Recipe


@dataclass(frozen=True, eq=False)
class GeneralisationCurve(Displayed):
    """Errors of one training run at some epochs: fractions of wrong answers, and the mean of those of both classes.

    If one class is rare, a constant answer has a low error but a balanced error of 1/2.
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
    """Training and test error of one neuron during its training, measured ``every`` so many epochs.

    ``stop`` is called with the record of each epoch; training ends early if it returns True.
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
    """Compare the dendritic and the linear neuron on images, for several seeds; ``linear`` goes to `contenders`.

    Each seed has its own permutation of the pixels and, with ``n_train``, its own balanced subset of the images. Both
    neurons see the same images. ``callback`` is called with every curve.
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
    """A fitted logistic regression: ``bias`` is minus the threshold, ``loss`` per pattern and with the penalty.

    ``gradient`` is the largest remaining component of the projected gradient.
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

    The penalty is positive so that the minimum also exists for separable patterns. It acts as a prior, which has the
    same meaning for few and for many patterns.

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


def both_neurons(
    dataset: str,
    seed: int,
    neuron: NeuronSpec = DENDRITIC,
    recipe: Recipe = RECIPE,
    *,
    n_branches: int,
    n_train: int | None = None,
    every: int = 1,
    linear_theta: float = LINEAR_THETA,
    linear_rate: float = 0.1,
    linear_gamma_ce: float = 10.0,
) -> dict[str, Any]:
    """Dendritic and linear neuron on the same images, compared by `dendrocap.sweeps.library.generalise`.

    Errors are lists with one entry per measurement, at ``epochs``.
    """
    linear = {"linear_theta": linear_theta, "linear_rate": linear_rate, "linear_gamma_ce": linear_gamma_ce}
    how = {"n_branches": n_branches, "n_train": n_train, "every": every, "workers": 1}
    curves = generalise(dataset, neuron, recipe, seeds=[seed], **how, **linear)  # type: ignore[arg-type]
    named = dict(zip(("dendritic", "linear"), curves, strict=True))
    errors = {f"{name}_{error}": getattr(curve, error) for name, curve in named.items() for error in IMAGE_ERRORS}
    return {"epochs": curves[0].epochs, **errors}


def image_error(
    dataset: str,
    seed: int,
    neuron: NeuronSpec = DENDRITIC,
    recipe: Recipe = RECIPE,
    *,
    n_branches: int | None = None,
    n_train: int | None = None,
    held_out: float = 0.0,
    every: int = 1,
) -> dict[str, Any]:
    """Errors of one neuron during its training on images; without ``n_branches`` this is the linear neuron.

    With ``held_out`` this share of the training images replaces the test images, for choosing settings.
    """
    found = _image_set(dataset, seed, n_train, held_out)
    if n_branches is None:
        chosen = Contender("linear", LinearNeuron(neuron.theta_d, found.n_inputs), recipe)
    else:
        chosen = contenders(found.n_inputs, neuron, recipe, n_branches=n_branches)[0]
    curve = generalisation_curve(found, chosen, seed=seed, every=every)
    return {"epochs": curve.epochs, **{error: getattr(curve, error) for error in IMAGE_ERRORS}}


def image_logistic(
    dataset: str, seed: int, *, penalty: float, n_train: int | None = None, held_out: float = 0.0
) -> dict[str, Any]:
    """Errors of the logistic regression with non-negative weights on the same images."""
    found = _image_set(dataset, seed, n_train, held_out)
    fitted = positive_logistic(found.inputs.unpack(), found.labels, penalty=penalty)
    wrong, missed = (
        fitted.predict(inputs.unpack()) != labels
        for inputs, labels in ((found.inputs, found.labels), (found.test_inputs, found.test_labels))
    )
    errors = (wrong.mean(), missed.mean(), balanced_error(missed, found.test_labels))
    kept = {"loss": fitted.loss, "gradient": fitted.gradient, "evaluations": fitted.evaluations}
    return {**dict(zip(IMAGE_ERRORS, map(float, errors), strict=True)), **kept}


def _image_set(dataset: str, seed: int, n_train: int | None, held_out: float) -> BinarySet:
    found = binary_set(dataset, n_train=n_train, rng=seed)
    return found.held_out(held_out) if held_out else found
