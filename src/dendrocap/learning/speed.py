"""Learning speed of a neuron: epochs to zero error.

Comparing two neurons at a common learning rate shows which is faster *at that rate*; comparing each at its best rate
shows which can be faster. The answers differ, and the first is arbitrary: the rate of the linear neuron scales with its
threshold. State which one you report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dendrocap.display import Displayed
from dendrocap.learning.many import StopRequest, in_parallel
from dendrocap.learning.recipe import Recipe
from dendrocap.learning.training import TrainingResult
from dendrocap.learning.trials import checked_seeds, train_at_load
from dendrocap.model.dendritic_neuron import DendriticNeuron
from dendrocap.model.neuron import TaskSpec

__all__ = ["LearningSpeed", "learning_speed"]


@dataclass(frozen=True, eq=False)
class LearningSpeed(Displayed):
    """Epochs to zero error over several seeds.

    Parameters
    ----------
    neuron, alpha, task, recipe
        Settings of the measurement.
    seeds : tuple of int
        One run for each seed.
    epochs : array
        Epochs to zero error for each seed; infinite if it was not reached.
    mean_error : array, shape (max epochs run,)
        Training error after each epoch, averaged over seeds; a run that has ended keeps its last error.

    Examples
    --------
    >>> from dendrocap import SGD, LinearNeuron, Recipe, learning_speed
    >>> speed = learning_speed(LinearNeuron(0.5, 99), recipe=Recipe(SGD(1.0), max_epochs=200), seeds=[0, 1])
    >>> speed.solved, bool(speed.median_epochs < 200), float(speed.mean_error[-1])
    (2, True, 0.0)
    """

    _displayed = ("median_epochs", "solved", "seeds", "alpha")

    neuron: DendriticNeuron
    alpha: float
    task: TaskSpec
    recipe: Recipe
    seeds: tuple[int, ...]
    epochs: NDArray[np.float64]
    mean_error: NDArray[np.float64]

    @property
    def median_epochs(self) -> float:
        """Median over seeds, infinite if half of them or more did not reach zero error."""
        ordered = np.sort(self.epochs)
        low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
        return float(low if low == high else 0.5 * (low + high))

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
    neuron : DendriticNeuron
        The neuron to train.
    recipe : Recipe
        How to train.
    alpha : float
        Load.
    seeds : sequence of int
        One set of random patterns and one run on it for each seed.
    task : TaskSpec, optional
        Coding levels; by default 1/2.
    workers : int, optional
        Number of parallel runs.

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
