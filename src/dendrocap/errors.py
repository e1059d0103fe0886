"""All exceptions that dendrocap raises on purpose."""

from __future__ import annotations

from typing import Any

__all__ = [
    "ConvergenceError",
    "CorruptData",
    "DendrocapError",
    "InvalidParameter",
    "MissingData",
    "MissingExtra",
    "NoSolution",
    "StoreError",
    "TrainingFailed",
    "WorkersLost",
]


class DendrocapError(Exception):
    """Base class of all errors that dendrocap raises on purpose.

    Examples
    --------
    >>> from dendrocap import DendrocapError, Polsky
    >>> try:
    ...     Polsky(x_min=2.0)
    ... except DendrocapError as error:  # catches every error of the package
    ...     print(error)
    x_min = 2.0 is not allowed: it must be a finite number in [0, 1]
    """


class InvalidParameter(DendrocapError, ValueError):
    """A value outside its allowed range; the message names parameter, value and range.

    Examples
    --------
    >>> from dendrocap import TaskSpec
    >>> TaskSpec(f_in=1.5)
    Traceback (most recent call last):
        ...
    dendrocap.errors.InvalidParameter: f_in = 1.5 is not allowed: it must be a finite number in (0, 1)
    """


class NoSolution(DendrocapError):
    """The equations have no solution, for example because g never reaches the somatic threshold.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, NoSolution, SaturatingReLU, critical_capacity
    >>> try:
    ...     critical_capacity(NeuronSpec(SaturatingReLU(), theta_d=0.5, theta_s=1.2))
    ... except NoSolution as error:
    ...     print(str(error).split(": ")[1])
    the threshold must lie strictly between 0 and 1, the range of g
    """


class MissingData(DendrocapError):
    """A data set is not on this machine; the message names the file and how to get it."""


class CorruptData(DendrocapError):
    """A file has unexpected content; the message names the file and what was expected."""


class ConvergenceError(DendrocapError):
    """An iteration stopped before it reached its tolerance.

    Parameters
    ----------
    message : str
        What was iterated, and the accuracy reached.
    last_iterate : object
        The last iterate.
    """

    def __init__(self, message: str, last_iterate: Any = None) -> None:
        super().__init__(message)
        self.last_iterate = last_iterate


class TrainingFailed(DendrocapError):
    """Weights became non-finite, or all branches fell silent; the message says when and why.

    Parameters
    ----------
    message : str
        What happened.
    result : object
        The run up to that point, with the best weights found.

    Examples
    --------
    >>> import numpy as np
    >>> from dendrocap import SGD, DendriticNeuron, NeuronSpec, Polsky, TrainingFailed, random_patterns, train
    >>> neuron = DendriticNeuron(NeuronSpec(Polsky(), theta_d=0.1, theta_s=0.5), n_inputs=20, n_branches=4)
    >>> silent = np.zeros((4, 5))  # no branch is ever active
    >>> try:
    ...     train(neuron, *random_patterns(10, 20, rng=0), algorithm=SGD(), weights=silent, seed=0)
    ... except TrainingFailed as error:
    ...     print("after epoch", error.result.epochs, "of", len(error.result.error_history))
    after epoch 1 of 1
    """

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class MissingExtra(DendrocapError, ImportError):
    """An optional library is not installed; the message names the extra that installs it."""


class StoreError(DendrocapError):
    """A store of results is missing, full or in use by another process; its content is unchanged.

    Examples
    --------
    >>> from dendrocap import Store
    >>> from dendrocap.errors import StoreError
    >>> try:
    ...     Store("nowhere.db")
    ... except StoreError as error:
    ...     print(error)
    there is no store nowhere.db
    """


class WorkersLost(DendrocapError):
    """The processes that run a sweep cannot be started, or can no longer be reached."""
