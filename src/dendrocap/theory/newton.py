"""Damped Newton's method for a few smooth equations that are cheap to evaluate, without derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dendrocap.errors import ConvergenceError

__all__ = ["Solved", "evaluated", "newton"]

Floats = NDArray[np.float64]

PROBE = 1e-6  # step of finite differences; the error of the Jacobian only slows down the last digits
STRIDE = 0.7  # largest change of any component in one step


class Solved(NamedTuple):
    """The final point of Newton's method, the largest residual there, and the last Jacobian."""

    x: Floats
    residual: float
    jacobian: Floats | None = None


def evaluated(residuals: Callable[[Floats], Floats], x: Floats) -> Floats | None:
    """The residuals at x, or None if they cannot be evaluated."""
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
    reach: float = np.inf,
) -> Solved:
    """Root of the residuals near x.

    A step is judged by the next step with the same Jacobian: it is shortened until the next one is shorter. This test
    does not depend on the scaling of the equations, which matters if some of them are almost flat, as those for the
    breaking parameters are. The Jacobian is updated by Broyden's formula as long as steps shrink fast, and recomputed
    when they do not; one from a neighbouring problem can be given at the start. The iteration ends at ``target``, when
    a component has moved further than ``reach``, or when no better point can be found; the caller decides whether the
    residual is small enough.
    """
    origin, here = x, evaluated(residuals, x)
    if here is None:
        return Solved(x, np.inf)
    fresh = False
    for _ in range(most):
        if float(np.max(np.abs(here))) < target or float(np.max(np.abs(x - origin))) > reach:
            break
        if jacobian is None:
            jacobian, fresh = _measured(residuals, x, here), True
            if jacobian is None:
                break
        moved = _moved(residuals, jacobian, x, here)
        if moved is None:
            if fresh:
                break
            jacobian = None
            continue
        there, there_residuals, contraction = moved
        change = there - x
        jacobian = jacobian + np.outer(there_residuals - here - jacobian @ change, change) / float(change @ change)
        x, here, fresh = there, there_residuals, False
        if contraction > 0.3:
            jacobian = None
    return Solved(x, float(np.max(np.abs(here))), jacobian)


def _measured(residuals: Callable[[Floats], Floats], x: Floats, here: Floats) -> Floats | None:
    """The Jacobian by finite differences."""
    jacobian = np.empty((x.size, x.size))
    for column in range(x.size):
        probe = x.copy()
        probe[column] += PROBE
        there = evaluated(residuals, probe)
        if there is None:
            return None
        jacobian[:, column] = (there - here) / PROBE
    return jacobian


def _moved(
    residuals: Callable[[Floats], Floats], jacobian: Floats, x: Floats, here: Floats
) -> tuple[Floats, Floats, float] | None:
    """One step, the residuals there, and the ratio of the following step to it; None if no step is acceptable."""
    try:
        inverse = np.linalg.inv(jacobian)
    except np.linalg.LinAlgError:
        return None
    step = -inverse @ here
    length = float(np.max(np.abs(step)))
    if not np.isfinite(length):
        return None
    part = min(1.0, STRIDE / max(length, 1e-300))
    for _ in range(5):
        there = evaluated(residuals, x + part * step)
        if there is not None:
            following = float(np.max(np.abs(inverse @ there)))
            if following <= (1.0 - 0.25 * part) * length:
                return x + part * step, there, following / length
        part *= 0.4
    return None
