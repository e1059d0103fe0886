"""What learns: rules, which can be resumed, and solvers, which start again. Both are generators of epochs.

`Training` draws the epochs and owns everything else: patterns, randomness, best weights, limits, history.
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
    """The weights after one epoch, and how they fare.

    Parameters
    ----------
    margins : array, shape (n_patterns,)
        sign * Delta of every pattern.
    weights : array, shape (n_inputs,)
        In the order of the inputs; the run keeps it, so it must not change any more.
    learning_rate : float
        Rate of the epoch.
    signal : float
        Largest dendritic signal met in it; below 1e-9 all branches are dead.

    Examples
    --------
    >>> EpochOutcome(margins=np.array([0.3, -0.1]), weights=np.ones(4), learning_rate=0.1).signal
    inf
    """

    margins: NDArray[Any]
    weights: NDArray[Any]
    learning_rate: float
    signal: float = np.inf


class Algorithm(Protocol):
    """What `train` accepts: anything that learns epoch by epoch.

    Examples
    --------
    >>> from dendrocap.learning import SGD, Algorithm, LocalRule, PlainSGD
    >>> algorithms: list[Algorithm] = [SGD(0.1), LocalRule(0.1), PlainSGD()]
    >>> [algorithm.restarts for algorithm in algorithms]
    [False, False, True]
    """

    @property
    def restarts(self) -> bool:
        """Whether an attempt that ends or diverges is followed by another, as long as the run has a limit.

        Such a run cannot be resumed, since an attempt under way is more than its weights.
        """

    def attempt(self, run: Training, number: int) -> Iterator[EpochOutcome]:
        """One outcome per epoch, on the patterns of the run and with its random numbers; attempts count from 0."""


class Engine(Protocol):
    """A rule at work on its patterns."""

    def weights(self) -> NDArray[Any]:
        """A copy of the weights, in the order of the inputs and in the precision used."""

    def set_weights(self, flat: NDArray[Any]) -> None:
        """Go on from these weights."""

    def epoch(self, order: NDArray[np.int64], learning_rate: float) -> float:
        """Present the patterns in this order; returns the largest dendritic signal met."""

    def tested_epoch(self, order: NDArray[np.int64], learning_rate: float) -> tuple[float, NDArray[Any]]:
        """An epoch and the margins after it."""

    def margins(self) -> NDArray[Any]:
        """sign * Delta of every pattern."""


def epochs_of(engine: Engine, run: Training) -> Iterator[EpochOutcome]:
    """Epochs at the rates of the run's schedule, until that sees no point in going on."""
    while not run.pace.finished:
        rate = run.pace.learning_rate
        signal, margins = engine.tested_epoch(run.shuffled(), rate)
        yield EpochOutcome(margins, engine.weights(), rate, signal)


class Rule(ABC):
    """A learning rule with a first learning rate: one attempt, at the rates of the run's schedule.

    All that it remembers from epoch to epoch is in the weights, so that its runs can be resumed.

    Examples
    --------
    >>> from dendrocap.learning import SGD, LocalRule, Rule
    >>> rules: list[Rule] = [SGD(0.1), LocalRule(0.1)]
    >>> [rule.learning_rate for rule in rules]
    [0.1, 0.1]
    """

    restarts: ClassVar[bool] = False
    learning_rate: float

    @abstractmethod
    def engine(self, neuron: DendriticNeuron, patterns: Patterns) -> Engine:
        """The rule set to work."""

    def attempt(self, run: Training, number: int) -> Iterator[EpochOutcome]:
        engine = self.engine(run.neuron, run.patterns)
        engine.set_weights(run.first_weights())
        run.start = EpochOutcome(engine.margins(), engine.weights(), 0.0)
        if run.epochs == 0:
            run.follow(run.schedule, self.learning_rate)
        return epochs_of(engine, run)


class Solver(ABC):
    """A search for weights without errors, made of attempts, each from fresh weights and usually twice as long.

    Examples
    --------
    >>> from dendrocap.learning import PlainSGD, Solver
    >>> isinstance(PlainSGD(), Solver), PlainSGD.name
    (True, 'sgd')
    """

    restarts: ClassVar[bool] = True
    name: ClassVar[str]
    takes_margin: ClassVar[bool] = False
    """Whether it looks for margins above ``run.kappa``; `solve` refuses to ask others for them."""

    @abstractmethod
    def attempt(self, run: Training, number: int) -> Iterator[EpochOutcome]:
        """One outcome per epoch until the attempt is exhausted."""
