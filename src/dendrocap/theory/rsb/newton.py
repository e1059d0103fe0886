"""Damped Newton's method for a few smooth equations that are cheap to evaluate, without derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dendrocap.errors import ConvergenceError

__all__ = ["Solved", "evaluated", "newton"]

Floats = NDArray[np.float64]

PROBE = 1e-6  # finite differences; the Jacobian's error only slows the last digits a little


class Solved(NamedTuple):
    """Where Newton's method ended, the largest residual there, and the last Jacobian."""

    x: Floats
    residual: float
    jacobian: Floats | None = None


def evaluated(residuals: Callable[[Floats], Floats], x: Floats) -> Floats | None:
    """The residuals at x, or None where they cannot be evaluated."""
    try:
        with np.errstate(all="ignore"):
            found = residuals(x)
    except (ConvergenceError, ValueError, ZeroDivisionError, OverflowError):
        return None
    return found if bool(np.all(np.isfinite(found))) else None


def newton(
    residuals: Callable[[Floats], Floats],
    x: Floats,
    *,
    jacobian: Floats | None = None,
    target: float = 1e-12,
    most: int = 40,
    stride: float = 0.7,
) -> Solved:
    """Root of the residuals near x.

    A step changes no component by more than ``stride`` and is halved until the residuals shrink. The Jacobian is kept
    up to date by Broyden's formula as long as that makes good progress, and measured anew when it does not; one from
    a neighbouring problem may be given to begin with. Ends at ``target``, or when nothing better can be found; the
    caller decides whether that is good enough. A point at which the equations cannot be evaluated counts as
    infinitely bad.
    """
    here = evaluated(residuals, x)
    if here is None:
        return Solved(x, np.inf)
    fresh = False
    for _ in range(most):
        size = float(np.max(np.abs(here)))
        if size < target:
            break
        if jacobian is None:
            jacobian, fresh = np.empty((x.size, x.size)), True
            for column in range(x.size):
                probe = x.copy()
                probe[column] += PROBE
                there = evaluated(residuals, probe)
                if there is None:
                    return Solved(x, size)
                jacobian[:, column] = (there - here) / PROBE
        try:
            step: Floats = -np.linalg.solve(jacobian, here).astype(np.float64)
        except np.linalg.LinAlgError:
            step = np.full(x.size, np.nan)
        if not np.all(np.isfinite(step)):
            if fresh:
                break
            jacobian = None
            continue
        step *= min(1.0, stride / max(float(np.max(np.abs(step))), 1e-300))
        moved, there = _shortened(residuals, x, step, size)
        if there is None:
            if fresh:
                break
            jacobian = None
            continue
        gain = float(np.max(np.abs(there))) / size
        change = moved - x
        jacobian = jacobian + np.outer(there - here - jacobian @ change, change) / float(change @ change)
        fresh = False
        if gain > 0.1:
            jacobian = None
        x, here = moved, there
    return Solved(x, float(np.max(np.abs(here))), jacobian)


def _shortened(
    residuals: Callable[[Floats], Floats], x: Floats, step: Floats, size: float
) -> tuple[Floats, Floats | None]:
    """The first of the step, its half, its quarter ... at which the residuals are smaller."""
    for _ in range(5):
        there = evaluated(residuals, x + step)
        if there is not None and float(np.max(np.abs(there))) < size:
            return x + step, there
        step = 0.4 * step
    return x, None
