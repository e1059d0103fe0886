"""Runs on random patterns for protocols and sweeps, and their summaries.

A seed determines one set of patterns at each load, and one run on it; the two are independent (see
`dendrocap.model.seeds`), so that other recipes use the same patterns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dendrocap.display import Displayed
from dendrocap.learning.recipe import Recipe
from dendrocap.learning.training import TrainingResult, train
from dendrocap.model.dendritic_neuron import DendriticNeuron
from dendrocap.model.neuron import TaskSpec
from dendrocap.model.patterns import Patterns, random_patterns
from dendrocap.validation import real_number, refuse, whole_number

__all__ = ["Trial", "checked_seeds", "patterns_at_load", "train_at_load", "trial_of"]


@dataclass(frozen=True)
class Trial(Displayed):
    """One run on one set of random patterns.

    Parameters
    ----------
    alpha : float
        Load.
    seed : int
        Seed of patterns, initial weights and shuffles.
    n_patterns, errors : int
        Number of patterns, and how many the best weights get wrong.
    epochs, best_epoch : int
        Number of epochs, and the epoch of the best weights.
    stopped : str
        Why the run ended.

    Examples
    --------
    >>> trial = Trial(0.5, seed=0, n_patterns=50, errors=2, epochs=100, best_epoch=90, stopped="max_epochs reached")
    >>> trial.error
    0.04
    """

    _displayed = ("errors", "n_patterns", "alpha", "seed", "epochs", "best_epoch", "stopped")

    alpha: float
    seed: int
    n_patterns: int
    errors: int
    epochs: int
    best_epoch: int
    stopped: str

    @property
    def error(self) -> float:
        """Fraction of patterns wrong."""
        return self.errors / self.n_patterns


def patterns_at_load(neuron: DendriticNeuron, alpha: float, seed: int, task: TaskSpec | None = None) -> Patterns:
    """The random patterns of a seed at a load: ``round(alpha N)`` of them, at least one.

    The activity of a population's inputs, or of inhibitory ones, is that of the neuron if given, else that of the task.

    Examples
    --------
    >>> from dendrocap import LinearNeuron, random_patterns
    >>> patterns = patterns_at_load(LinearNeuron(0.5, 200), alpha=0.4, seed=7)
    >>> len(patterns.labels), bool((patterns.inputs == random_patterns(80, 200, rng=7).inputs).all())
    (80, True)
    """
    task = task or TaskSpec()
    n_patterns = max(1, round(real_number("alpha", alpha, 0.0, low_open=True) * neuron.n_inputs))
    each = neuron.input_activity(task.f_in)
    return random_patterns(
        n_patterns,
        neuron.n_inputs,
        task.f_in if np.all(each == task.f_in) else each,
        task.f_out,
        seed,
        branch_correlation=task.branch_correlation,
        n_branches=neuron.branch_sizes.tolist(),
    )


def train_at_load(
    neuron: DendriticNeuron, alpha: float, seed: int, task: TaskSpec | None, recipe: Recipe, **run: Any
) -> TrainingResult:
    """One run on the random patterns of this load and seed; failures are returned, not raised."""
    return train(neuron, *patterns_at_load(neuron, alpha, seed, task), recipe, seed=seed, on_failure="return", **run)


def trial_of(alpha: float, seed: int, result: TrainingResult) -> Trial:
    """The summary of a run for a protocol."""
    return Trial(alpha, seed, result.n_patterns, result.errors, result.epochs, result.best_epoch, result.stopped)


def checked_seeds(seeds: Sequence[int]) -> list[int]:
    """Seeds as a list of whole numbers, at least one."""
    several = [whole_number("seeds", seed, 0) for seed in seeds]
    if not several:
        raise refuse("seeds", seeds, "at least one seed")
    return several
