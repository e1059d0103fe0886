"""Schedules of the learning rate.

A schedule is a frozen description. The state of a run is a `Pace`, also frozen, which the schedule replaces by the next
one after every epoch: a run can be stopped, stored and resumed at any point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from dendrocap.validation import real_number, whole_number

__all__ = ["Constant", "ExponentialAnnealing", "HalveOnPlateau", "Pace", "Schedule"]


@dataclass(frozen=True)
class Pace:
    """The state of a schedule: the current rate and its memory.

    Parameters
    ----------
    learning_rate : float
        Rate of the next epoch.
    floor : float
        Below this rate the run ends.
    best_error : float
        Lowest training error so far.
    waited : int
        Epochs since the error last improved, or since the rate last changed.
    finished : bool
        Whether the schedule ends the run.
    """

    learning_rate: float
    floor: float = 0.0
    best_error: float = math.inf
    waited: int = 0
    finished: bool = False


@runtime_checkable
class Schedule(Protocol):
    """The interface of schedules: epoch and error in, rate out.

    Examples
    --------
    >>> schedule: Schedule = HalveOnPlateau(patience=1, floor=1e-3)
    >>> pace = schedule.start(learning_rate=0.1, n_inputs=99)
    >>> for epoch, error in enumerate([0.3, 0.3], start=1):
    ...     pace = schedule.after_epoch(pace, epoch, error)
    >>> pace.learning_rate
    0.05
    """

    def start(self, learning_rate: float, n_inputs: int) -> Pace:
        """The pace of the first epoch."""

    def after_epoch(self, pace: Pace, epoch: int, error: float) -> Pace:
        """The pace after ``epoch`` epochs, the last of which ended with this training error."""


@dataclass(frozen=True)
class Constant:
    """A constant rate.

    Examples
    --------
    >>> schedule = Constant()
    >>> schedule.after_epoch(schedule.start(0.1, n_inputs=99), 1, error=0.2).learning_rate
    0.1
    """

    def start(self, learning_rate: float, n_inputs: int) -> Pace:
        return Pace(learning_rate)

    def after_epoch(self, pace: Pace, epoch: int, error: float) -> Pace:
        return pace


@dataclass(frozen=True)
class ExponentialAnnealing:
    """Rate ``learning_rate * (1 - decay)**t`` in epoch t [annealing].

    Parameters
    ----------
    decay : float
        d_zeta, in [0, 1); the paper uses 1e-4.

    Examples
    --------
    >>> schedule = ExponentialAnnealing(decay=0.5)
    >>> pace = schedule.start(0.1, n_inputs=999)
    >>> schedule.after_epoch(pace, 1, error=0.2).learning_rate
    0.05
    """

    decay: float = 1e-4

    def __post_init__(self) -> None:
        object.__setattr__(self, "decay", real_number("decay", self.decay, 0.0, 1.0, high_open=True))

    def start(self, learning_rate: float, n_inputs: int) -> Pace:
        return Pace(learning_rate)

    def after_epoch(self, pace: Pace, epoch: int, error: float) -> Pace:
        return replace(pace, learning_rate=pace.learning_rate * (1.0 - self.decay))


@dataclass(frozen=True)
class HalveOnPlateau:
    """Reduce the rate whenever the error stops decreasing; end below a floor [plateau].

    The error has stopped decreasing when ``patience`` epochs in a row gave no new minimum. The minimum is that of the
    whole run; the count restarts after every reduction. The paper does not say how long to wait, and the measured
    capacity depends on it: at ``theta_d = 0.1`` the largest load solved is 0.1 with a patience of 20, 0.8 with 100 and
    1.1 with 1000 (docs/results/learning.md). Therefore there is no default.

    Parameters
    ----------
    patience : int
        Epochs without a new minimum before the rate is reduced.
    factor : float
        Factor of the reduction, in (0, 1).
    floor : float, optional
        The run ends when the rate falls below it; by default 1 / (4096 N).

    Examples
    --------
    >>> schedule = HalveOnPlateau(patience=2, floor=0.04)
    >>> pace = schedule.start(0.1, n_inputs=999)
    >>> for epoch, error in enumerate([0.3, 0.4, 0.3, 0.3, 0.3], start=1):
    ...     pace = schedule.after_epoch(pace, epoch, error)
    >>> pace.learning_rate, pace.finished
    (0.025, True)
    """

    patience: int
    factor: float = 0.5
    floor: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "patience", whole_number("patience", self.patience, 1))
        factor = real_number("factor", self.factor, 0.0, 1.0, low_open=True, high_open=True)
        object.__setattr__(self, "factor", factor)
        if self.floor is not None:
            object.__setattr__(self, "floor", real_number("floor", self.floor, 0.0))

    def start(self, learning_rate: float, n_inputs: int) -> Pace:
        return Pace(learning_rate, floor=1.0 / (4096.0 * n_inputs) if self.floor is None else self.floor)

    def after_epoch(self, pace: Pace, epoch: int, error: float) -> Pace:
        if error < pace.best_error:
            return replace(pace, best_error=error, waited=0)
        if pace.waited + 1 < self.patience:
            return replace(pace, waited=pace.waited + 1)
        rate = pace.learning_rate * self.factor
        return replace(pace, learning_rate=rate, waited=0, finished=rate < pace.floor)
