"""Gaussian averages of a dendritic non-linearity, and the resulting kernel of a tree of branches.

The summed input of a branch is normal, u = m + s x with x standard normal. The theory needs only nine averages of g
over x [moments]. Values are centred by the threshold theta that E g must meet: at small s, Var g is a millionth of
(E g)^2, and differences of large numbers would lose digits.

Closed forms are used for piecewise-linear g; others are integrated by Gauss-Legendre rules between their knots and on
panels of a few standard deviations, so that the result is accurate to rounding for any ratio of s to the scale on
which g bends.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.errors import InvalidParameter
from dendrocap.model import Custom, Linear, Nonlinearity, PiecewiseLinear, ReLU, SaturatingReLU
from dendrocap.numerics.quadrature import legendre_rule
from dendrocap.theory import _compiled
from dendrocap.validation import real_number

__all__ = ["Estimate", "Moments", "gaussian_expectation", "moments", "quadrature_moments"]

Floats = NDArray[np.float64]
ORDER = 16
SETTLED = 1e-7  # largest relative error of the averages of a user's own g; derivatives by differences have 1e-8


class Moments(NamedTuple):
    """Averages over a standard normal x of g and g' at m + s x [moments].

    Examples
    --------
    >>> from dendrocap import ReLU
    >>> found = moments(ReLU(), theta=0.0, s=1.0, m=0.0)
    >>> round(found.mean, 6), found.variance, found.gain  # 1 / sqrt(2 pi), 1/2, 1/2
    (0.398942, 0.5, 0.5)
    """

    mean: float  # E[g - theta]
    slope: float  # E[g']
    variance: float  # E[(g - theta)^2]
    gain: float  # E[g'^2]
    slope_x: float  # E[g' x]
    cross: float  # E[(g - theta) g']
    cross_x: float  # E[(g - theta) g' x]
    gain_x: float  # E[g'^2 x]
    gain_xx: float  # E[g'^2 (x^2 - 1)]


class Estimate(NamedTuple):
    """A number and a bound on its error.

    Examples
    --------
    >>> from dendrocap.theory import gaussian_expectation
    >>> average = gaussian_expectation(np.cos)
    >>> bool(abs(average.value - np.exp(-0.5)) <= average.error + 1e-15)
    True
    """

    value: float
    error: float


# Kinks, values there, and slopes of the pieces, for the closed forms. A straight line gets an idle kink.
_STRAIGHT_PIECES: dict[Nonlinearity, tuple[Floats, Floats, Floats]] = {
    g: tuple(np.array(part) for part in parts)  # type: ignore[misc]
    for g, parts in {
        Linear(): ([0.0], [0.0], [1.0, 1.0]),
        ReLU(): ([0.0], [0.0], [0.0, 1.0]),
        SaturatingReLU(): ([0.0, 1.0], [0.0, 1.0], [0.0, 1.0, 0.0]),
    }.items()
}


def moments(g: Nonlinearity, theta: float, s: float, m: float) -> Moments:
    """The nine moments of g at mean m and standard deviation s > 0, centred by theta.

    Examples
    --------
    >>> from dendrocap import SaturatingReLU
    >>> round(moments(SaturatingReLU(), theta=0.5, s=1.0, m=0.5).variance, 6)
    0.185128
    """
    return prepared(g)(theta, s, m)


@lru_cache(maxsize=256)
def prepared(g: Nonlinearity) -> Callable[[float, float, float], Moments]:
    """A function of (theta, s, m) that gives the moments of g, by closed forms where they exist."""
    pieces = g.straight_pieces if isinstance(g, PiecewiseLinear) else _STRAIGHT_PIECES.get(g)
    if pieces is None:
        return quadrature(g)
    return lambda theta, s, m: Moments(*_compiled.piecewise_linear_sums(*pieces, theta, s, m))


def quadrature_moments(g: Nonlinearity, theta: float, s: float, m: float, order: int = ORDER) -> Moments:
    """The nine moments by quadrature for any g, with ``order`` points per panel."""
    return quadrature(g, order)(theta, s, m)


def quadrature(g: Nonlinearity, order: int = ORDER) -> Callable[[float, float, float], Moments]:
    """A function of (theta, s, m) that gives the moments of g by Gauss-Legendre rules."""
    nodes, weights = legendre_rule(order)
    knots = np.array(g.knots, dtype=np.float64)
    if isinstance(g, Custom):
        # A Python function cannot be called from compiled code; its values at the same points can be summed there.
        def summed(theta: float, s: float, m: float) -> Moments:
            u, x, w = _compiled.nodes_and_weights(knots, s, m, nodes, weights)
            return Moments(*_compiled.sums_at_nodes(g(u), g.derivative(u), theta, x, w))

        return summed
    kernel, flat = g.kernel(), g.flat_ends
    return lambda theta, s, m: Moments(*_compiled.quadrature_sums(*kernel, knots, *flat, theta, s, m, nodes, weights))


def check_averages(g: Nonlinearity, theta: float, s: float, m: float) -> None:
    """Raise for a user-defined g whose averages do not converge, or whose slope contradicts its values.

    There are two estimates of the error: the change with half as many points more, which shows unresolved panels; and
    the difference of E g' and E[(g - theta) x] / s, equal by parts, which shows a wrong derivative or a jump.
    """
    if not isinstance(g, Custom):
        return
    rough = prepared(g)(theta, s, m)
    u, x, w = _compiled.nodes_and_weights(np.array(g.knots, dtype=np.float64), s, m, *legendre_rule(3 * ORDER // 2))
    values = g(u)
    fine = Moments(*_compiled.sums_at_nodes(values, g.derivative(u), theta, x, w))
    by_parts = float((w * x) @ (values - theta)) / s
    unsettled = max(
        abs(rough.variance / fine.variance - 1.0),
        abs(rough.gain / fine.gain - 1.0),
        abs(fine.slope - by_parts) / math.sqrt(fine.gain),
    )
    if not unsettled < SETTLED:
        raise InvalidParameter(
            f"the averages of {g!r} over inputs of mean {m:.4g} and deviation {s:.4g} are uncertain by "
            f"{unsettled:.1g}, more than {SETTLED:g}: g is not resolved there, beyond domain = {g.domain} perhaps; "
            "give derivative= or breakpoints=, or a wider domain="
        )


def gaussian_expectation(
    function: Callable[[Any], Any], mean: float = 0.0, sd: float = 1.0, knots: ArrayLike = ()
) -> Estimate:
    """E f(u) over a normal u, for any function that is smooth between its knots.

    The error is the difference from a rule with half as many points more, which overestimates it by orders of magnitude
    if f is smooth: a large error means that a knot is missing.

    Examples
    --------
    >>> average = gaussian_expectation(np.abs, mean=0.3, sd=2.0, knots=[0.0])
    >>> round(average.value, 12), average.error < 1e-14
    (1.613687939054, True)
    """
    mean, sd = real_number("mean", mean), real_number("sd", sd, 0.0, low_open=True)
    cuts = np.unique(np.atleast_1d(np.asarray(knots, dtype=np.float64)))
    results = []
    for order in (ORDER, 3 * ORDER // 2):
        u, _, w = _compiled.nodes_and_weights(cuts, sd, mean, *legendre_rule(order))
        results.append(math.fsum(w * np.asarray(function(u), dtype=np.float64)))
    return Estimate(results[1], abs(results[1] - results[0]))
