"""Training error against load, and the algorithmic capacity.

The load is alpha = P / N. The results are properties of the neuron *and of the recipe*, including its patience, not of
the neuron alone; see `HalveOnPlateau`. Every result contains both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dendrocap.display import Displayed
from dendrocap.learning.many import StopRequest, in_parallel
from dendrocap.learning.recipe import Recipe
from dendrocap.learning.trials import Trial, checked_seeds, train_at_load, trial_of
from dendrocap.model.dendritic_neuron import DendriticNeuron
from dendrocap.model.neuron import TaskSpec
from dendrocap.numerics.statistics import standard_error
from dendrocap.validation import choice, real_number

__all__ = [
    "AlgorithmicCapacity",
    "ErrorCurve",
    "LoadPoint",
    "algorithmic_capacity",
    "load_points",
    "success_interval",
    "training_error_curve",
]

NORMAL_975 = 1.959963984540054


@dataclass(frozen=True)
class LoadPoint(Displayed):
    """All trials at one load.

    Parameters
    ----------
    alpha : float
        Load.
    trials : tuple of Trial
        One trial per seed.
    tolerance : float
        Largest error that counts as solved.

    Examples
    --------
    >>> from dendrocap.learning import Trial
    >>> trials = tuple(Trial(0.5, seed, 50, errors, 100, 90, "solved") for seed, errors in enumerate([0, 0, 5]))
    >>> point = LoadPoint(0.5, trials, tolerance=0.0)
    >>> point.solved, round(point.mean_error, 4), round(point.success_rate, 3)
    (2, 0.0333, 0.667)
    """

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
        return success_interval(self.solved, len(self.trials))


@dataclass(frozen=True)
class ErrorCurve(Displayed):
    """Training error against load, with the settings of the measurement.

    Examples
    --------
    >>> from dendrocap import SGD, LinearNeuron, Recipe
    >>> curve = training_error_curve(LinearNeuron(0.5, 49), [0.2, 0.4], recipe=Recipe(SGD(0.1)), seeds=[0, 1])
    >>> curve.alphas.tolist(), [point.solved for point in curve.points]
    ([0.2, 0.4], [2, 2])
    """

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
    """The largest load that training solves, for each seed.

    Parameters
    ----------
    neuron, task, recipe, tolerance
        Settings of the measurement.
    resolution : float
        Spacing of the loads.
    limits : (float, float)
        Smallest and largest load considered.
    seeds : tuple of int
        One independent measurement for each seed.
    largest_solved : tuple of float
        Largest load solved by each seed such that all smaller loads tried are solved too; 0 if even the smallest
        load failed.
    points : tuple of LoadPoint
        All trials, by load. Seeds need not have tried the same loads.

    Examples
    --------
    >>> from dendrocap import SGD, HalveOnPlateau, LinearNeuron, Recipe
    >>> recipe = Recipe(SGD(0.1), HalveOnPlateau(20), max_epochs=200)
    >>> measured = algorithmic_capacity(LinearNeuron(0.5, 49), recipe=recipe, seeds=[0, 1])
    >>> low, high = measured.interval
    >>> bool(low <= measured.alpha <= high), measured.all_solved <= measured.alpha, len(measured.largest_solved)
    (True, True, 2)
    """

    _displayed = ("alpha", "interval", "largest_solved", "tolerance", "resolution")

    neuron: DendriticNeuron
    task: TaskSpec
    recipe: Recipe
    tolerance: float
    resolution: float
    limits: tuple[float, float]
    seeds: tuple[int, ...]
    largest_solved: tuple[float, ...]
    points: tuple[LoadPoint, ...]

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
    neuron : DendriticNeuron
        The neuron to train.
    recipe : Recipe
        How to train; it has no default, because the result depends on it.
    limits : (float, float)
        Smallest and largest load to consider.
    resolution : float
        Spacing of the loads.
    method : {"bisection", "scan"}
        Bisection assumes that a seed that fails at a load also fails at every larger load. A scan increases the load
        from the smallest to the first failure, without this assumption.
    seeds : sequence of int
        Independent measurements.
    tolerance : float
        Largest error that counts as solved; 0 by default.
    task : TaskSpec, optional
        Coding levels; by default 1/2.
    workers : int, optional
        Seeds measured at a time.
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


def success_interval(successes: int, trials: int) -> tuple[float, float]:
    """Wilson's 95 % confidence interval of a success rate.

    Examples
    --------
    >>> tuple(round(end, 3) for end in success_interval(3, 3))
    (0.439, 1.0)
    """
    rate, z2 = successes / trials, NORMAL_975**2
    middle = (rate + z2 / (2 * trials)) / (1 + z2 / trials)
    half = NORMAL_975 * np.sqrt(rate * (1 - rate) / trials + z2 / (4 * trials**2)) / (1 + z2 / trials)
    return (max(0.0, float(middle - half)), min(1.0, float(middle + half)))


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
