"""Root finders; the equations themselves are elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from dendrocap.errors import ConvergenceError

__all__ = ["Root", "bracketed_root", "monotone_root"]


class Root(NamedTuple):
    """A root of a function, and the number of evaluations."""

    at: float
    evaluations: int


def monotone_root(
    function: Callable[[float], tuple[float, float]], guess: float, step: float, *, most: int = 200
) -> Root:
    """Root of a monotone function, given with its derivative, by Newton's method inside a shrinking bracket.

    The bracket grows from the guess by ``step``, twice as much each time, until the function has changed its sign;
    inside it, a Newton step that would leave the bracket is replaced by bisection. ``step`` is also the scale on which
    the function bends: a Newton step of 1e-8 of it leaves an error of 1e-16 and is the last.
    """
    at, low, high = guess, -math.inf, math.inf
    rising, last = True, 1e-8 * step
    for evaluations in range(1, most + 1):
        value, slope = function(at)
        if not math.isfinite(value):
            raise ConvergenceError(f"a function whose root was sought is {value} at {at:.17g}", at)
        if value == 0.0:
            return Root(at, evaluations)
        if slope != 0.0:
            rising = slope > 0.0
        if (value < 0.0) == rising:
            low = at
        else:
            high = at
        newton = at - value / slope if slope != 0.0 else math.nan
        if abs(newton - at) <= last:
            return Root(newton, evaluations)
        if math.isinf(low) or math.isinf(high):
            # No bracket yet: follow Newton, but not further than the growing step.
            limit = low + step if math.isinf(high) else high - step
            ahead = math.isfinite(newton) and min(at, limit) <= newton <= max(at, limit)
            following = newton if ahead else limit
            step *= 2.0
        else:
            following = newton if low < newton < high else 0.5 * (low + high)
        if following in (low, high):  # neighbouring floats
            return Root(following, evaluations)
        at = following
    raise ConvergenceError(f"a bracketed root was not found in {most} evaluations; the last point is {at:.17g}", at)


def bracketed_root(function: Callable[[float], float], low: float, high: float, xtol: float = 1e-13) -> Root:
    """Root of a function that changes its sign between ``low`` and ``high``, to about 13 digits (Brent's method)."""
    from scipy.optimize import brentq

    at, outcome = brentq(function, low, high, xtol=xtol, rtol=1e-14, full_output=True)
    if not outcome.converged:
        raise ConvergenceError(f"no root between {low:g} and {high:g}: {outcome.flag}", at)
    return Root(float(at), int(outcome.function_calls))
