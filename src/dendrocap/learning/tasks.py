"""Random tasks as the protocols draw them, and what they remember of a run.

A seed stands for one random task at each load, and for one run on it: patterns and run have independent streams
of random numbers, so that other algorithms meet the same patterns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dendrocap.display import Displayed
from dendrocap.learning.algorithms import Algorithm
from dendrocap.learning.many import StopRequest
from dendrocap.learning.schedules import Schedule
from dendrocap.learning.training import TrainingResult, train
from dendrocap.model.neuron import DendriticNeuron, TaskSpec
from dendrocap.model.patterns import Patterns, random_patterns
from dendrocap.validation import real_number, refuse, whole_number

__all__ = ["Trial", "checked_seeds", "random_task", "train_on_random_task", "trial_of"]


@dataclass(frozen=True)
class Trial(Displayed):
    """One run on one random task.

    Parameters
    ----------
    alpha : float
        Load.
    seed : int
        From which patterns, first weights and shuffles were drawn.
    n_patterns, errors : int
        Patterns, and how many the best weights got wrong.
    epochs, best_epoch : int
        Epochs run, and when the best weights were met.
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


def random_task(neuron: DendriticNeuron, alpha: float, seed: int, task: TaskSpec | None = None) -> Patterns:
    """The random task that the protocols give to a seed at a load.

    Examples
    --------
    >>> from dendrocap import LinearNeuron
    >>> len(random_task(LinearNeuron(0.5, 200), alpha=0.4, seed=7).labels)
    80
    """
    task = task or TaskSpec()
    n_patterns = max(1, round(real_number("alpha", alpha, 0.0, low_open=True) * neuron.n_inputs))
    rng = np.random.default_rng(_streams(seed)[0])
    return random_patterns(n_patterns, neuron.n_inputs, task.f_in, task.f_out, rng)


def trial_of(alpha: float, seed: int, result: TrainingResult) -> Trial:
    """What a protocol remembers of a run."""
    return Trial(alpha, seed, result.n_patterns, result.errors, result.epochs, result.best_epoch, result.stopped)


def train_on_random_task(
    neuron: DendriticNeuron,
    alpha: float,
    seed: int,
    task: TaskSpec,
    algorithm: Algorithm,
    schedule: Schedule,
    max_epochs: int,
    stop: StopRequest,
) -> TrainingResult:
    """One run on the random task of this load and seed; failures are returned, not raised."""
    inputs, labels = random_task(neuron, alpha, seed, task)
    return train(
        neuron,
        inputs,
        labels,
        algorithm=algorithm,
        schedule=schedule,
        max_epochs=max_epochs,
        seed=_streams(seed)[1],
        f_in=task.f_in,
        callback=stop,
        on_failure="return",
    )


def _streams(seed: int) -> list[np.random.SeedSequence]:
    """Independent randomness for the patterns and for the run."""
    return np.random.SeedSequence(whole_number("seed", seed, 0)).spawn(2)


def checked_seeds(seeds: Sequence[int]) -> list[int]:
    """Seeds as a list of whole numbers, at least one."""
    several = [whole_number("seeds", seed, 0) for seed in seeds]
    if not several:
        raise refuse("seeds", seeds, "at least one seed")
    return several
