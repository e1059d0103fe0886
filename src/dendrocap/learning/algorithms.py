"""Learning algorithms: rules, which can be resumed, and solvers, which restart. Both are generators of epochs.

`Training` runs the epochs and manages everything else: patterns, randomness, best weights, limits, history.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dendrocap.display import Displayed
from dendrocap.model.dendritic_neuron import DendriticNeuron
from dendrocap.model.patterns import Patterns

if TYPE_CHECKING:
    from dendrocap.learning.training import Training

__all__ = ["Algorithm", "Engine", "EpochOutcome", "Rule", "Solver", "epochs_of"]


@dataclass(frozen=True, eq=False, slots=True)
class EpochOutcome(Displayed):
    """The weights after one epoch, and their margins.

    Parameters
    ----------
    margins : array, shape (n_patterns,)
        sign * Delta of every pattern, with these weights. Only if they make more errors than an earlier outcome of the
        attempt, margins may be those during the epoch.
    weights : array, shape (n_inputs,)
        Weights in the order of the inputs; the run keeps this array, so it must not be changed afterwards.
    learning_rate : float
        Learning rate of the epoch.
    signal : float
        Largest dendritic signal in the epoch; below 1e-9 all branches are dead.
    """

    margins: NDArray[Any]
    weights: NDArray[Any]
    learning_rate: float
    signal: float = np.inf


class Algorithm(Protocol):
    """The interface that `train` accepts: anything that learns epoch by epoch.

    Examples
    --------
    >>> from dendrocap.learning import SGD, Algorithm, LocalRule, PlainSGD
    >>> algorithms: list[Algorithm] = [SGD(0.1), LocalRule(0.1), PlainSGD()]
    >>> [algorithm.restarts for algorithm in algorithms]
    [False, False, True]
    """

    @property
    def restarts(self) -> bool:
        """Whether an attempt that ends or diverges is followed by another, if the run has a limit.

        Such a run cannot be resumed, because the state of an attempt is more than its weights.
        """

    def attempt(self, run: Training, number: int) -> Iterator[EpochOutcome]:
        """Yield one outcome per epoch, with the patterns and random numbers of the run; attempts count from 0."""


class Engine(Protocol):
    """A rule applied to its patterns."""

    def weights(self) -> NDArray[Any]:
        """A copy of the weights, in the order of the inputs and in the precision used."""

    def set_weights(self, flat: NDArray[Any]) -> None:
        """Continue from these weights."""

    def epoch(self, order: NDArray[np.int64], learning_rate: float) -> float:
        """Present the patterns in this order; returns the largest dendritic signal."""

    def tested_epoch(self, order: NDArray[np.int64], learning_rate: float) -> tuple[float, NDArray[Any]]:
        """An epoch and the margins after it."""

    def margins(self) -> NDArray[Any]:
        """sign * Delta of every pattern."""


def epochs_of(engine: Engine, run: Training) -> Iterator[EpochOutcome]:
    """Epochs at the rates of the run's schedule, until the schedule ends."""
    while not run.pace.finished:
        rate = run.pace.learning_rate
        signal, margins = engine.tested_epoch(run.shuffled(), rate)
        yield EpochOutcome(margins, engine.weights(), rate, signal)


class Rule(ABC):
    """A learning rule with an initial learning rate: one attempt, at the rates of the run's schedule.

    Its only state between epochs is the weights, so its runs can be resumed.

    Examples
    --------
    >>> from dendrocap import LinearNeuron, random_patterns, train
    >>> from dendrocap.learning import LocalRule, Rule
    >>> rule: Rule = LocalRule(1.0)
    >>> train(LinearNeuron(0.5, 49), *random_patterns(10, 49, rng=0), algorithm=rule, max_epochs=200, seed=0).solved
    True
    """

    restarts: ClassVar[bool] = False
    learning_rate: float

    @abstractmethod
    def engine(self, neuron: DendriticNeuron, patterns: Patterns) -> Engine:
        """The rule applied to the patterns of a neuron."""

    def attempt(self, run: Training, number: int) -> Iterator[EpochOutcome]:
        engine = self.engine(run.neuron, run.patterns)
        engine.set_weights(run.first_weights())
        run.start = EpochOutcome(engine.margins(), engine.weights(), 0.0)
        if run.epochs == 0:
            run.follow(run.schedule, self.learning_rate)
        return epochs_of(engine, run)


class Solver(ABC):
    """A search for weights without errors in several attempts, each from new weights and usually twice as long.

    Examples
    --------
    >>> from dendrocap import LinearNeuron, random_patterns, train
    >>> from dendrocap.learning import PlainSGD, Solver
    >>> solver: Solver = PlainSGD()
    >>> train(LinearNeuron(0.5, 49), *random_patterns(10, 49, rng=0), algorithm=solver, max_epochs=200, seed=0).solved
    True
    """

    restarts: ClassVar[bool] = True
    name: ClassVar[str]
    takes_margin: ClassVar[bool] = False
    """Whether it looks for margins above ``run.kappa``; `solve` refuses to ask others for them."""

    @abstractmethod
    def attempt(self, run: Training, number: int) -> Iterator[EpochOutcome]:
        """Yield one outcome per epoch until the attempt ends."""
