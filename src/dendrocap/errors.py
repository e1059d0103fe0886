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
    """A value outside its allowed range; the message names parameter, value and range."""


class NoSolution(DendrocapError):
    """The equations have no solution, for example because g never reaches the somatic threshold."""


class MissingData(DendrocapError):
    """A data set is not on this machine; the message names the file and how to get it."""


class CorruptData(DendrocapError):
    """A file has unexpected content; the message names the file and what was expected."""


class ConvergenceError(DendrocapError):
    """An iteration stopped before it reached its tolerance; ``last_iterate`` is where."""

    def __init__(self, message: str, last_iterate: Any = None) -> None:
        super().__init__(message)
        self.last_iterate = last_iterate


class TrainingFailed(DendrocapError):
    """Weights became non-finite, or all branches fell silent; ``result`` is the run until then."""

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class MissingExtra(DendrocapError, ImportError):
    """An optional library is not installed; the message names the extra that installs it."""


class StoreError(DendrocapError):
    """A store of results is missing, full or in use by another process; its content is unchanged."""


class WorkersLost(DendrocapError):
    """The processes that run a sweep cannot be started, or can no longer be reached."""
