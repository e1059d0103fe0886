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
    """Root of all errors raised on purpose by dendrocap."""


class InvalidParameter(DendrocapError, ValueError):
    """A value outside its allowed range; the message names parameter, value and range."""


class NoSolution(DendrocapError):
    """The equations exclude a solution, such as a somatic threshold that g never reaches."""


class MissingData(DendrocapError):
    """A data set that is not on this machine; the message says which file, and how to get it."""


class CorruptData(DendrocapError):
    """A file that is not what it should be; the message names the file and what was expected."""


class ConvergenceError(DendrocapError):
    """An iteration stopped before its tolerance.

    Parameters
    ----------
    message : str
        What was iterated, and how far it came.
    last_iterate : object
        Where the iteration stood when it gave up.
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
    """

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class MissingExtra(DendrocapError, ImportError):
    """An optional library is not installed; the message names the extra that brings it."""


class StoreError(DendrocapError):
    """A store of results that cannot be read, written or shared; what it holds is left as it was."""


class WorkersLost(DendrocapError):
    """The processes that run a sweep cannot be started, or can no longer be reached."""
