"""Damped Newton's method for a few smooth equations that are cheap to evaluate, without derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dendrocap.errors import ConvergenceError
from dendrocap.numerics.types import Floats

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
            jacobian, fresh = measured(residuals, x, here), True
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
        if not change @ change > 0.0:  # a step too short to be squared
            break
        jacobian = jacobian + np.outer(there_residuals - here - jacobian @ change, change) / float(change @ change)
        x, here, fresh = there, there_residuals, False
        if contraction > 0.3:
            jacobian = None
    return Solved(x, float(np.max(np.abs(here))), jacobian)


def measured(residuals: Callable[[Floats], Floats], x: Floats, here: Floats) -> Floats | None:
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


# One continuation for all systems of equations.


class Place(NamedTuple):
    """A point of a path: the parameter, the solution there, and the last Jacobian of Newton's method."""

    at: float
    x: Floats
    residual: float = 0.0
    jacobian: Floats | None = None


def followed(
    family: Callable[[float], Callable[[Floats], Floats]],
    x: Floats,
    start: float,
    goal: float,
    *,
    slope: Floats | float = 0.0,
    jacobian: Floats | None = None,
    accepted: Callable[[Place], bool] = lambda place: True,
    target: float = 1e-12,
    on_the_way: float = 1e-7,
    most: int = 14,
    reach: float = 2.0,
    first: float = math.inf,
    longest: float = math.inf,
    shortest: float = 1e-3,
) -> Iterator[Place]:
    """The places of a path of solutions, from ``x``, which solves ``family(start)``, to the solution at ``goal``.

    Each step is predicted by a straight line through the last two places, at first along ``slope``, and corrected by
    Newton's method with the last Jacobian. A place needs residuals below 1000 times ``target``, or ``on_the_way``
    before the goal, and must be ``accepted``. Steps grow after a success and shrink after a failure; the path ends
    early, before ``goal``, where they would be shorter than ``shortest``. The caller sees where it ends, and may leave
    it at any place.
    """
    before, last = None, Place(start, x, jacobian=jacobian)
    yield last
    step = min(first, longest, abs(goal - start))
    while last.at != goal:
        end = abs(goal - last.at) <= step
        at = goal if end else last.at + math.copysign(step, goal - last.at)
        if before is not None:
            slope = (last.x - before.x) / (last.at - before.at)
        wanted = target if end else on_the_way
        guess = last.x + slope * (at - last.at)
        solved = newton(family(at), guess, jacobian=jacobian, target=wanted, most=most, reach=reach)
        there = Place(at, *solved)
        if solved.residual < 1e3 * wanted and float(np.max(np.abs(solved.x - guess))) <= reach and accepted(there):
            before, last, jacobian = last, there, there.jacobian
            yield last
            step = min(1.7 * step, longest)
        else:
            step, jacobian = 0.4 * step, None
            if step < shortest:
                return


# Root finders; the equations themselves are elsewhere.


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
    """Root of a function that changes its sign between ``low`` and ``high``, to about 13 digits (Brent's method).

    These are the steps of ``scipy.optimize.brentq``, whose import takes longer than a capacity.
    """
    rtol, most = 1e-14, 100
    before, at = low, high
    f_before, f_at = float(function(low)), float(function(high))
    if f_before == 0.0 or f_at == 0.0:
        return Root(low if f_before == 0.0 else high, 2)
    if not (f_before < 0.0 < f_at or f_at < 0.0 < f_before):
        raise ValueError(f"a function with {f_before:g} at {low:g} and {f_at:g} at {high:g} has no bracketed root")
    other, f_other = before, f_before  # at the other side of the root
    step = last = at - before
    for evaluations in range(2, most + 2):
        if (f_before < 0.0) != (f_at < 0.0):
            other, f_other = before, f_before
            last = step = at - before
        if abs(f_other) < abs(f_at):
            before, at, other = at, other, at
            f_before, f_at, f_other = f_at, f_other, f_at
        least, half = 0.5 * (xtol + rtol * abs(at)), 0.5 * (other - at)
        if f_at == 0.0 or abs(half) < least:
            return Root(at, evaluations)
        interpolated = math.inf
        if abs(last) > least and abs(f_at) < abs(f_before):
            if before == other:
                interpolated = -f_at * (at - before) / (f_at - f_before)
            else:
                slope, slope_other = (f_before - f_at) / (before - at), (f_other - f_at) / (other - at)
                curved = slope_other * slope * (f_other - f_before)
                if curved:
                    interpolated = -f_at * (f_other * slope_other - f_before * slope) / curved
        if 2.0 * abs(interpolated) < min(abs(last), 3.0 * abs(half) - least):
            last, step = step, interpolated
        else:
            last = step = half
        before, f_before = at, f_at
        at += step if abs(step) > least else math.copysign(least, half)
        f_at = float(function(at))
        if math.isnan(f_at):
            raise ValueError(f"a function whose root was sought is NaN at {at:.17g}")
    raise ConvergenceError(f"no root between {low:g} and {high:g} in {most} steps", at)


# The limit of many steps of breaking.


class Limit(NamedTuple):
    """The extrapolated value and its uncertainty."""

    value: float
    error: float


def extrapolated(by_steps: Sequence[float]) -> Limit:
    """The limit of capacities with 0, 1, ... k >= 2 steps.

    The distance from the limit falls as a power of the number of steps, like (k + 1/2)^-p. With k >= 3 the power is
    fitted to the last three values, with two steps p = 3 is assumed. The error is half of the distance between
    the last value and its limit, because the power is not known exactly.

    Examples
    --------
    >>> limit = extrapolated([3.0, *(2.0 + (k + 0.5) ** -3.5 for k in (1, 2, 3, 4))])
    >>> round(limit.value, 9)
    2.0
    """
    k = len(by_steps) - 1
    last = by_steps[-2] - by_steps[-1]
    power = 3.0
    if k >= 3:
        before = by_steps[-3] - by_steps[-2]
        low, high = 1.0, 12.0  # the ratio of differences grows with the power
        for _ in range(60):
            power = 0.5 * (low + high)
            ratio = _drop(k - 2, power) / _drop(k - 1, power)
            low, high = (power, high) if ratio < before / last else (low, power)
    tail = last / _drop(k - 1, power) * (k + 0.5) ** -power
    return Limit(by_steps[-1] - tail, 0.5 * tail)


def _drop(k: int, power: float) -> float:
    return float((k + 0.5) ** -power - (k + 1.5) ** -power)
