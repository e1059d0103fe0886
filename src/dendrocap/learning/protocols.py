"""Training error against load, and the algorithmic capacity.

The load is alpha = P / N. The results are properties of the neuron *and of the recipe*, including its patience, not of
the neuron alone; see `HalveOnPlateau`. Every result contains both.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError
from dendrocap.learning.recipe import Recipe
from dendrocap.learning.training import (
    EpochRecord,
    TrainingResult,
    Trial,
    checked_seeds,
    train,
    train_at_load,
    trial_of,
)
from dendrocap.model.dendritic_neuron import DendriticNeuron, LinearNeuron
from dendrocap.model.neuron import TaskSpec
from dendrocap.model.patterns import PackedPatterns, Seed, binary_patterns
from dendrocap.numerics import standard_error
from dendrocap.validation import choice, number_of_workers, real_number, refuse

# Many independent runs in parallel, on all cores.
#
# Compiled epochs release Python's global lock, so threads are sufficient: nothing is copied between processes, and a
# run gives the same bits as a single run. Only the few microseconds between epochs are sequential.

T = TypeVar("T")
R = TypeVar("R")

# Asks a run to end after its current epoch, so that Ctrl-C need not wait for whole runs.
StopRequest = Callable[[EpochRecord], bool]


def train_many(
    neurons: DendriticNeuron | Sequence[DendriticNeuron],
    inputs: ArrayLike | PackedPatterns,
    labels: ArrayLike,
    *,
    recipes: Recipe | Sequence[Recipe] | None = None,
    seeds: Iterable[Seed],
    f_in: float | None = None,
    workers: int | None = None,
) -> list[TrainingResult]:
    """Train every neuron with every recipe and every seed on the same patterns.

    Parameters
    ----------
    neurons : DendriticNeuron, or a sequence of them
        The neurons to train.
    inputs, labels, f_in
        As for `train`.
    recipes : Recipe, or a sequence of them
        How to train; by default ``Recipe()``.
    seeds : iterable of int or SeedSequence
        One run for each seed. A Generator is refused, because the first run would use it up.
    workers : int, optional
        Number of parallel runs; by default the number of cores.

    Examples
    --------
    >>> from dendrocap import SGD, LinearNeuron, Recipe, random_patterns
    >>> neuron, patterns = LinearNeuron(0.5, 99), random_patterns(30, 99, rng=1)
    >>> results = train_many(neuron, *patterns, recipes=Recipe(SGD(1.0)), seeds=range(4))
    >>> [result.solved for result in results]
    [True, True, True, True]
    """
    several_neurons = [neurons] if isinstance(neurons, DendriticNeuron) else list(neurons)
    several_recipes = list(recipes) if isinstance(recipes, Sequence) else [recipes or Recipe()]
    several_seeds = list(seeds)
    for seed in several_seeds:
        if isinstance(seed, np.random.Generator):
            raise refuse("seeds", seed, "whole numbers or SeedSequences")
    if not (several_neurons and several_recipes and several_seeds):
        raise refuse("neurons, recipes or seeds", [], "non-empty")

    def run(of: tuple[DendriticNeuron, Recipe, Seed], stop: StopRequest) -> TrainingResult:
        neuron, recipe, seed = of
        return train(neuron, inputs, labels, recipe, seed=seed, f_in=f_in, callback=stop, on_failure="return")

    return in_parallel(run, list(product(several_neurons, several_recipes, several_seeds)), workers=workers)


def in_parallel(
    function: Callable[[T, StopRequest], R],
    arguments: Sequence[T],
    *,
    workers: int | None = None,
    callback: Callable[[R], Any] | None = None,
) -> list[R]:
    """Apply ``function`` to every argument, several in parallel; results, and calls of ``callback``, keep the order.

    The function takes an argument and a callback for `train`, which stops runs after the user has interrupted.
    """
    n_workers = number_of_workers(workers)
    interrupted = threading.Event()

    def stop(record: EpochRecord) -> bool:
        return interrupted.is_set()

    results: list[R] = []
    with ThreadPoolExecutor(min(n_workers, max(1, len(arguments)))) as pool:
        futures = [pool.submit(function, argument, stop) for argument in arguments]
        try:
            for future in futures:
                results.append(future.result())
                if callback is not None:
                    callback(results[-1])
        except BaseException:
            interrupted.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return results


@dataclass(frozen=True)
class LoadPoint(Displayed):
    """All trials at one load, and the largest error that counts as solved."""

    _displayed = ("alpha", "solved", "trials", "mean_error", "error_of_mean")

    alpha: float
    trials: tuple[Trial, ...]
    tolerance: float

    @property
    def mean_error(self) -> float:
        """Best training error, averaged over seeds."""
        return float(np.mean([trial.error for trial in self.trials]))

    @property
    def error_of_mean(self) -> float:
        """Standard error of `mean_error`; NaN for a single seed."""
        return standard_error([trial.error for trial in self.trials])

    @property
    def solved(self) -> int:
        """Number of trials with an error of at most the tolerance."""
        return sum(trial.error <= self.tolerance for trial in self.trials)

    @property
    def success_rate(self) -> float:
        """Fraction of trials solved."""
        return self.solved / len(self.trials)

    @property
    def success_interval(self) -> tuple[float, float]:
        """95 % confidence interval of the success rate (Wilson)."""
        from scipy.stats import binomtest

        low, high = binomtest(self.solved, len(self.trials)).proportion_ci(method="wilson")
        return float(low), float(high)


@dataclass(frozen=True)
class ErrorCurve(Displayed):
    """Training error against load, with the settings of the measurement."""

    _displayed = ("alphas", "mean_errors")

    neuron: DendriticNeuron
    task: TaskSpec
    recipe: Recipe
    points: tuple[LoadPoint, ...]

    @property
    def alphas(self) -> NDArray[np.float64]:
        """The loads."""
        return np.array([point.alpha for point in self.points])

    @property
    def mean_errors(self) -> NDArray[np.float64]:
        """Best training error at each load, averaged over seeds."""
        return np.array([point.mean_error for point in self.points])


@dataclass(frozen=True)
class AlgorithmicCapacity(Displayed):
    """The largest load that training solves, for each seed, with the settings of the measurement."""

    _displayed = ("alpha", "interval", "largest_solved", "tolerance", "resolution")

    neuron: DendriticNeuron
    task: TaskSpec
    recipe: Recipe
    tolerance: float
    resolution: float
    limits: tuple[float, float]
    seeds: tuple[int, ...]
    largest_solved: tuple[float, ...]  # for each seed, below all loads that failed; 0 if even the smallest failed
    points: tuple[LoadPoint, ...]  # seeds need not have tried the same loads

    @property
    def alpha(self) -> float:
        """Mean over seeds of the largest load solved."""
        return float(np.mean(self.largest_solved))

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of `alpha` over seeds (Student), not below zero; infinite for a single seed."""
        n = len(self.largest_solved)
        if n == 1:
            return (0.0, float("inf"))
        from scipy.stats import t

        half = float(t.ppf(0.975, n - 1)) * standard_error(self.largest_solved)
        return (max(0.0, self.alpha - half), self.alpha + half)

    @property
    def all_solved(self) -> float:
        """Largest load that every seed solved."""
        return min(self.largest_solved)

    @property
    def reaches_limit(self) -> bool:
        """Whether some seed solved the largest load considered, so that `alpha` is only a lower bound."""
        return max(self.largest_solved) >= self.points[-1].alpha and self.points[-1].alpha + 1e-9 >= self.limits[1]


def training_error_curve(
    neuron: DendriticNeuron,
    alphas: Iterable[float],
    *,
    recipe: Recipe,
    seeds: Sequence[int] = (0, 1, 2),
    tolerance: float = 0.0,
    task: TaskSpec | None = None,
    workers: int | None = None,
    callback: Callable[[Trial], Any] | None = None,
) -> ErrorCurve:
    """Best training error on random patterns, against the load.

    Parameters
    ----------
    neuron : DendriticNeuron
        The neuron to train.
    alphas : iterable of float
        Loads P / N.
    recipe : Recipe
        How to train; it has no default, because the result depends on it.
    seeds : sequence of int
        One set of random patterns and one run on it for each seed and load.
    tolerance : float
        Largest error that counts as solved.
    task : TaskSpec, optional
        Coding levels; by default 1/2.
    workers : int, optional
        Number of parallel runs.
    callback : callable, optional
        Called with every trial.

    Examples
    --------
    >>> from dendrocap import SGD, LinearNeuron, Recipe
    >>> recipe = Recipe(SGD(0.1), max_epochs=300)
    >>> curve = training_error_curve(LinearNeuron(0.5, 49), [0.2, 3.0], recipe=recipe, seeds=[0])
    >>> easy, hard = curve.mean_errors
    >>> bool(easy == 0.0), bool(hard > 0.05)
    (True, True)
    """
    task, several_seeds = task or TaskSpec(), checked_seeds(seeds)
    tolerance = real_number("tolerance", tolerance, 0.0, 1.0)
    runs = [(float(alpha), seed) for alpha in alphas for seed in several_seeds]

    def run(of: tuple[float, int], stop: StopRequest) -> Trial:
        return trial_of(*of, train_at_load(neuron, *of, task, recipe, callback=stop))

    trials = in_parallel(run, runs, workers=workers, callback=callback)
    return ErrorCurve(neuron, task, recipe, load_points(trials, tolerance))


def algorithmic_capacity(
    neuron: DendriticNeuron,
    *,
    recipe: Recipe,
    limits: tuple[float, float] = (0.1, 2.0),
    resolution: float = 0.1,
    method: str = "bisection",
    seeds: Sequence[int] = (0, 1, 2),
    tolerance: float = 0.0,
    task: TaskSpec | None = None,
    workers: int | None = None,
    callback: Callable[[tuple[Trial, ...]], Any] | None = None,
) -> AlgorithmicCapacity:
    """Largest load at which training reaches an error of at most ``tolerance``.

    Each seed is measured independently, on loads that are multiples of ``resolution`` above the lower limit.

    Parameters
    ----------
    neuron, recipe, seeds, tolerance, task, workers
        As for `training_error_curve`.
    limits : (float, float)
        Smallest and largest load to consider.
    resolution : float
        Spacing of the loads.
    method : {"bisection", "scan"}
        Bisection assumes that a seed that fails at a load also fails at every larger load. A scan increases the load
        from the smallest to the first failure, without this assumption.
    callback : callable, optional
        Called with the trials of every seed.

    Examples
    --------
    >>> from dendrocap import SGD, HalveOnPlateau, LinearNeuron, Recipe
    >>> recipe = Recipe(SGD(0.1), HalveOnPlateau(50), max_epochs=500)
    >>> measured = algorithmic_capacity(LinearNeuron(0.5, 49), recipe=recipe, seeds=[0, 1])
    >>> 0.3 <= measured.alpha <= 1.3  # one, for many synapses and unlimited patience
    True
    """
    task, several_seeds = task or TaskSpec(), checked_seeds(seeds)
    choice("method", method, ("bisection", "scan"))
    tolerance = real_number("tolerance", tolerance, 0.0, 1.0)
    low = real_number("limits[0]", limits[0], 0.0, low_open=True)
    high = real_number("limits[1]", limits[1], low)
    resolution = real_number("resolution", resolution, 0.0, low_open=True)
    loads = [round(low + i * resolution, 12) for i in range(int((high - low) / resolution + 1e-9) + 1)]

    def measure(seed: int, stop: StopRequest) -> tuple[Trial, ...]:
        trials: list[Trial] = []

        def solves(index: int) -> bool:
            of = (loads[index], seed)
            trials.append(trial_of(*of, train_at_load(neuron, *of, task, recipe, callback=stop)))
            return trials[-1].error <= tolerance

        (_bisect if method == "bisection" else _scan)(solves, len(loads))
        return tuple(trials)

    per_seed = in_parallel(measure, several_seeds, workers=workers, callback=callback)
    return AlgorithmicCapacity(
        neuron=neuron,
        task=task,
        recipe=recipe,
        tolerance=tolerance,
        resolution=resolution,
        limits=(low, high),
        seeds=tuple(several_seeds),
        largest_solved=tuple(_largest_solved(trials, tolerance) for trials in per_seed),
        points=load_points([trial for trials in per_seed for trial in trials], tolerance),
    )


def _bisect(solves: Callable[[int], bool], n_loads: int) -> None:
    solved, failed = -1, n_loads
    while failed - solved > 1:
        middle = (solved + failed) // 2
        if solves(middle):
            solved = middle
        else:
            failed = middle


def _scan(solves: Callable[[int], bool], n_loads: int) -> None:
    for index in range(n_loads):
        if not solves(index):
            return


def _largest_solved(trials: Sequence[Trial], tolerance: float) -> float:
    """The largest load solved below the smallest load that failed."""
    failed = min((trial.alpha for trial in trials if trial.error > tolerance), default=float("inf"))
    return max((trial.alpha for trial in trials if trial.error <= tolerance and trial.alpha < failed), default=0.0)


def load_points(trials: Sequence[Trial], tolerance: float) -> tuple[LoadPoint, ...]:
    """Trials grouped by load, in ascending order."""
    loads = sorted({trial.alpha for trial in trials})
    return tuple(
        LoadPoint(alpha, tuple(trial for trial in trials if trial.alpha == alpha), tolerance) for alpha in loads
    )


# Learning speed of a neuron: epochs to zero error.
#
# Comparing two neurons at a common learning rate shows which is faster *at that rate*; comparing each at its best rate
# shows which can be faster. The answers differ, and the first is arbitrary: the rate of the linear neuron scales with
# its threshold. State which one you report.


@dataclass(frozen=True, eq=False)
class LearningSpeed(Displayed):
    """Epochs to zero error over several seeds, with the settings of the measurement."""

    _displayed = ("median_epochs", "solved", "seeds", "alpha")

    neuron: DendriticNeuron
    alpha: float
    task: TaskSpec
    recipe: Recipe
    seeds: tuple[int, ...]
    epochs: NDArray[np.float64]  # to zero error for each seed; infinite if it was not reached
    mean_error: NDArray[np.float64]  # over seeds, after each epoch; a run that has ended keeps its last error

    @property
    def median_epochs(self) -> float:
        """Median over seeds, infinite if half of them or more did not reach zero error."""
        return float(np.median(self.epochs))

    @property
    def solved(self) -> int:
        """Number of runs that reached zero error."""
        return int(np.count_nonzero(np.isfinite(self.epochs)))


def learning_speed(
    neuron: DendriticNeuron,
    *,
    recipe: Recipe,
    alpha: float = 0.5,
    seeds: Sequence[int] = range(5),
    task: TaskSpec | None = None,
    workers: int | None = None,
) -> LearningSpeed:
    """Number of epochs until all random patterns of a set are right.

    Parameters
    ----------
    neuron, recipe, seeds, task, workers
        As for `training_error_curve`.
    alpha : float
        Load.

    Examples
    --------
    >>> from dendrocap import SGD, LinearNeuron, Recipe
    >>> learning_speed(LinearNeuron(0.5, 99), recipe=Recipe(SGD(1.0), max_epochs=200)).solved
    5
    """
    task, several_seeds = task or TaskSpec(), checked_seeds(seeds)

    def run(seed: int, stop: StopRequest) -> TrainingResult:
        return train_at_load(neuron, alpha, seed, task, recipe, callback=stop)

    results = in_parallel(run, several_seeds, workers=workers)
    epochs = np.array([result.epochs if result.solved else np.inf for result in results], dtype=np.float64)
    longest = max(len(result.error_history) for result in results)
    mean_error = np.mean([_continued(result, longest) for result in results], axis=0)
    return LearningSpeed(neuron, alpha, task, recipe, tuple(several_seeds), epochs, mean_error)


def _continued(result: TrainingResult, length: int) -> NDArray[np.float64]:
    history = result.error_history / result.n_patterns
    last = history[-1] if len(history) else float(result.error)
    return np.concatenate([history, np.full(length - len(history), last)])


# Exact decision whether the linear neuron can learn a set of patterns.
#
# It solves patterns with margin kappa if some ``W >= 0`` satisfies ``sign (W . xi / sqrt(N) - sqrt(N) theta) >= kappa``
# for every pattern: a linear program. No learning rule is involved, so it separates tasks that cannot be learned from
# tasks that were not learned. Inhibitory weights are <= 0, and their mean is fixed by their drive, as in the theory;
# otherwise excitation and inhibition could grow without bound.

# Far above the feasibility tolerance of the solver (1e-7), far below relevant margins.
STRICTLY_POSITIVE = 1e-6


@dataclass(frozen=True, eq=False)
class LinearFeasibility(Displayed):
    """The largest margin of a linear neuron on a task, and weights that reach it."""

    _displayed = ("feasible", "margin", "kappa")

    feasible: bool  # whether every pattern can be right by more than ``kappa``
    margin: float  # least ``sign * Delta``, maximised over weights; negative if no weights separate the patterns
    weights: NDArray[np.float64]
    kappa: float


def linear_feasibility(
    neuron: LinearNeuron,
    inputs: ArrayLike | PackedPatterns,
    labels: ArrayLike,
    *,
    kappa: float = 0.0,
) -> LinearFeasibility:
    """The largest margin with which a linear neuron can solve patterns, by linear programming (HiGHS).

    Parameters
    ----------
    neuron : LinearNeuron
        Its threshold fixes the scale of the weights; with inhibition, its two drives do.
    inputs, labels : arrays
        The task.
    kappa : float
        Margin to exceed.

    Examples
    --------
    >>> neuron = LinearNeuron(theta_d=0.5, n_inputs=2)
    >>> linear_feasibility(neuron, [[1, 0], [0, 1], [1, 1]], [1, 1, 1]).feasible
    True
    >>> linear_feasibility(neuron, [[1, 0], [0, 1], [1, 1]], [1, 1, 0]).feasible  # XOR
    False
    """
    if not isinstance(neuron, LinearNeuron):
        raise refuse("neuron", neuron, "a LinearNeuron")
    from scipy.optimize import linprog

    kappa = real_number("kappa", kappa, 0.0)
    patterns = binary_patterns(inputs, labels, neuron.n_inputs)
    dense, signs = patterns.dense, patterns.signs
    root = np.sqrt(neuron.n_inputs)
    # Unknowns: the weights, then the margin t. Maximise t with t - sign (W . xi / sqrt(N)) <= -sign sqrt(N) theta.
    # If all labels are 1 the margin is unbounded: a bound slightly above kappa decides the question.
    rows = np.hstack([-signs[:, None] * dense / root, np.ones((len(dense), 1))])
    cost = np.zeros(neuron.n_inputs + 1)
    cost[-1] = -1.0
    threshold = float(neuron.thresholds[0])
    bounds = [(None, 0.0) if inhibits else (0.0, None) for inhibits in neuron.inhibitory]
    bounds.append((None, kappa + root * max(neuron.theta_d, 1.0)))
    held = {}
    if neuron.has_inhibition:
        mean = neuron.mean_weights(np.broadcast_to(neuron.measured_activity(patterns.inputs), neuron.n_inputs))
        row = np.append(neuron.inhibitory, 0.0)[None, :]
        held = {"A_eq": row, "b_eq": [float(mean[neuron.inhibitory].sum())]}
    # The interior-point method is twice as fast as the simplex on these dense rows (3 s at N = 999).
    outcome = linprog(cost, A_ub=rows, b_ub=-signs * root * threshold, bounds=bounds, method="highs-ipm", **held)
    if outcome.status != 0:
        raise ConvergenceError(f"the linear program stopped without a result: {outcome.message}", outcome.x)
    flat = neuron.rectified(outcome.x[:-1])
    margin = float(np.min(signs * neuron.somatic_input(flat, dense)))
    return LinearFeasibility(margin > kappa + STRICTLY_POSITIVE, margin, neuron.shaped_weights(flat), kappa)
