"""Everything dendrocap raises on purpose."""

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
    """Root of all errors raised on purpose by dendrocap.

    Examples
    --------
    >>> from dendrocap import DendrocapError, Polsky
    >>> try:
    ...     Polsky(x_min=2.0)
    ... except DendrocapError as error:  # this or any other error of the package
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
    """The equations exclude a solution, such as a somatic threshold that g never reaches.

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
    """A data set that is not on this machine; the message says which file, and how to get it.

    Examples
    --------
    >>> from dendrocap import MissingData
    >>> issubclass(MissingData, DendrocapError)
    True
    """


class CorruptData(DendrocapError):
    """A file that is not what it should be; the message names the file and what was expected.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dendrocap import CorruptData
    >>> from dendrocap.datasets.formats import read_idx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "train-labels-idx1-ubyte")
    ...     _ = file.write_bytes(b"not labels")
    ...     try:
    ...         read_idx(file, 1)
    ...     except CorruptData as error:
    ...         print(str(error).removeprefix(folder))
    /train-labels-idx1-ubyte: magic number 0x6e6f7420 where 0x00000801 was expected
    """


class ConvergenceError(DendrocapError):
    """An iteration stopped before its tolerance.

    Parameters
    ----------
    message : str
        What was iterated, and how far it came.
    last_iterate : object
        Where the iteration stood when it gave up.

    Examples
    --------
    >>> from dendrocap import ConvergenceError
    >>> try:
    ...     raise ConvergenceError("no root in 200 evaluations", last_iterate=0.25)
    ... except ConvergenceError as error:
    ...     print(error, "from", error.last_iterate)
    no root in 200 evaluations from 0.25
    """

    def __init__(self, message: str, last_iterate: Any = None) -> None:
        super().__init__(message)
        self.last_iterate = last_iterate


class TrainingFailed(DendrocapError):
    """Weights stopped being finite, or all branches died; the message says when and why.

    Parameters
    ----------
    message : str
        What happened.
    result : object
        The run up to that point, with the best weights met.

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
    """An optional library is not installed; the message names the extra that brings it.

    Examples
    --------
    >>> from dendrocap.errors import MissingExtra
    >>> issubclass(MissingExtra, ImportError)
    True
    """


class StoreError(DendrocapError):
    """A store of results that is missing, full, or in use by another; what it holds is left as it was.

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
    """The processes that run a sweep cannot be started, or can no longer be reached.

    Examples
    --------
    >>> from dendrocap.errors import WorkersLost
    >>> issubclass(WorkersLost, DendrocapError)
    True
    """
