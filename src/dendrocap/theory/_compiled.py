"""Gaussian averages of g, compiled: the innermost loops of the theory, called dozens of times per answer."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dendrocap.model._compiled import value, value_and_slope
from dendrocap.numerics._caching import njit
from dendrocap.numerics._compiled import density, mass_beyond, panels, tail
from dendrocap.numerics.quadrature import legendre_rule

__all__ = ["nodes_and_weights", "piecewise_linear_sums", "quadrature_sums", "sums_at_nodes"]

Floats = NDArray[np.float64]
Sums = tuple[float, float, float, float, float, float, float, float, float]

WINDOW = 10.5  # in standard deviations: the mass beyond is 1e-25
PANEL = 3.5  # widest panel in standard deviations; there 16 points integrate the Gaussian to rounding
_SHORT_NODES, _SHORT_WEIGHTS = legendre_rule(10)


@njit(cache=True)
def _edges(knots: Floats, low: float, high: float, s: float) -> Floats:
    """The cuts of [low, high]: at the knots, and such that no panel is too wide for the Gaussian.

    Cuts are in units of the input u, not of x = (u - m) / s: at large s, m + s x would miss the knots by rounding.
    """
    widest = PANEL * s
    edges = np.empty(knots.size + int((high - low) / widest) + 3)
    return edges[: 1 + panels(knots, 0.0, 1.0, low, high, widest, edges)]


@njit(cache=True)
def _window(knots: Floats, flat_low: bool, flat_high: bool, s: float, m: float) -> tuple[float, float]:
    """The inputs u over which g must be integrated numerically."""
    low, high = m - WINDOW * s, m + WINDOW * s
    if flat_low:
        low = min(max(knots[0], low), high)
    if flat_high:
        high = max(min(knots[-1], high), low)
    return low, high


@njit(cache=True)
def nodes_and_weights(
    knots: Floats, s: float, m: float, nodes: Floats, weights: Floats
) -> tuple[Floats, Floats, Floats]:
    """Inputs u, their standardised values x, and weights including the Gaussian density, over the whole window."""
    edges = _edges(knots, m - WINDOW * s, m + WINDOW * s, s)
    n = nodes.size
    size = (edges.size - 1) * n
    u, x, w = np.empty(size), np.empty(size), np.empty(size)
    for panel in range(edges.size - 1):
        centre, half = 0.5 * (edges[panel] + edges[panel + 1]), 0.5 * (edges[panel + 1] - edges[panel])
        for i in range(n):
            at = panel * n + i
            u[at] = centre + half * nodes[i]
            x[at] = (u[at] - m) / s
            w[at] = half / s * weights[i] * density(x[at])
    return u, x, w


@njit(cache=True)
def sums_at_nodes(g: Floats, dg: Floats, theta: float, x: Floats, w: Floats) -> Sums:
    """The nine moments from values and slopes of g at the points x."""
    mean = slope_ = variance = gain = slope_x = cross = cross_x = gain_x = gain_xx = 0.0
    for i in range(x.size):
        y, d, at = g[i] - theta, dg[i], x[i]
        wy, wd = w[i] * y, w[i] * d
        mean += wy
        variance += wy * y
        slope_ += wd
        gain += wd * d
        slope_x += wd * at
        cross += wd * y
        cross_x += wd * y * at
        gain_x += wd * d * at
        gain_xx += wd * d * (at * at - 1.0)
    return mean, slope_, variance, gain, slope_x, cross, cross_x, gain_x, gain_xx


@njit(cache=True)
def quadrature_sums(
    code: int,
    parameters: Floats,
    knots: Floats,
    flat_low: bool,
    flat_high: bool,
    theta: float,
    s: float,
    m: float,
    nodes: Floats,
    weights: Floats,
) -> Sums:
    """The nine moments of a non-linearity with a compiled form, by Gauss-Legendre rules between its knots."""
    low, high = _window(knots, flat_low, flat_high, s, m)
    edges = _edges(knots, low, high, s)
    mean = slope_ = variance = gain = slope_x = cross = cross_x = gain_x = gain_xx = 0.0
    for panel in range(edges.size - 1):
        centre, half = 0.5 * (edges[panel] + edges[panel + 1]), 0.5 * (edges[panel + 1] - edges[panel])
        for i in range(nodes.size):
            u = centre + half * nodes[i]
            at = (u - m) / s
            w = half / s * weights[i] * density(at)
            y, d = value_and_slope(code, parameters, u)
            y -= theta
            wy, wd = w * y, w * d
            mean += wy
            variance += wy * y
            slope_ += wd
            gain += wd * d
            slope_x += wd * at
            cross += wd * y
            cross_x += wd * y * at
            gain_x += wd * d * at
            gain_xx += wd * d * (at * at - 1.0)
    # Where g is constant, only its value and the exact probability mass are needed.
    if flat_low:
        y, mass = value(code, parameters, knots[0] - 1.0) - theta, mass_beyond((m - low) / s)
        mean += y * mass
        variance += y * y * mass
    if flat_high:
        y, mass = value(code, parameters, knots[-1] + 1.0) - theta, mass_beyond((high - m) / s)
        mean += y * mass
        variance += y * y * mass
    return mean, slope_, variance, gain, slope_x, cross, cross_x, gain_x, gain_xx


@njit(cache=True)
def _interval(a: float, b: float, width: float) -> tuple[float, float, float, float]:
    """A point x0 of [a, b], and the integrals of (x - x0)^n over the standard normal on [a, b], n = 0, 1, 2.

    x0 is the point of the interval nearest to zero, so that no two large terms cancel. ``width`` is b - a, passed by
    the caller because the difference of two large numbers would be less accurate.
    """
    if width <= 1.0:
        x0 = min(max(0.0, a), b)
        n0 = n1 = n2 = 0.0
        for i in range(_SHORT_NODES.size):
            from_a = 0.5 * width * (1.0 + _SHORT_NODES[i])
            x = a + from_a
            w = 0.5 * width * _SHORT_WEIGHTS[i] * density(x)
            distance = x - x0
            if x0 == a:
                distance = from_a
            elif x0 == b:
                distance = from_a - width
            n0 += w
            n1 += w * distance
            n2 += w * distance * distance
        return x0, n0, n1, n2
    if b <= 0.0:
        x0, n0, n1, n2 = _interval(-b, -a, width)
        return -x0, n0, -n1, n2
    if a >= 0.0:
        n0, n1, n2 = tail(a)
        if math.isinf(b):
            return a, n0, n1, n2
        t0, t1, t2 = tail(b)
        return a, n0 - t0, n1 - t1 - width * t0, n2 - t2 - 2.0 * width * t1 - width * width * t0
    n0 = 1.0 - mass_beyond(-a) - mass_beyond(b)
    at_a = 0.0 if math.isinf(a) else density(a)
    at_b = 0.0 if math.isinf(b) else density(b)
    edge_a = 0.0 if math.isinf(a) else a * at_a
    edge_b = 0.0 if math.isinf(b) else b * at_b
    return 0.0, n0, at_a - at_b, n0 + edge_a - edge_b


@njit(cache=True)
def piecewise_linear_sums(kinks: Floats, heights: Floats, slopes: Floats, theta: float, s: float, m: float) -> Sums:
    """The nine moments of a piecewise-linear g in closed form [closed-moments].

    ``heights`` are the values at the kinks, ``slopes`` those of the pieces, one more than kinks.
    """
    mean = slope_ = variance = gain = slope_x = cross = cross_x = gain_x = gain_xx = 0.0
    for piece in range(slopes.size):
        a = -math.inf if piece == 0 else (kinks[piece - 1] - m) / s
        b = math.inf if piece == kinks.size else (kinks[piece] - m) / s
        inner = 0 < piece < kinks.size
        x0, n0, n1, n2 = _interval(a, b, (kinks[piece] - kinks[piece - 1]) / s if inner else math.inf)
        anchor = max(piece - 1, 0)
        d = slopes[piece]
        if x0 == a:
            y = heights[piece - 1] - theta
        elif x0 == b:
            y = heights[piece] - theta
        else:
            y = heights[anchor] + d * (m + s * x0 - kinks[anchor]) - theta
        rise = d * s
        # On this piece g - theta = y + rise (x - x0).
        mean += y * n0 + rise * n1
        variance += y * y * n0 + 2.0 * y * rise * n1 + rise * rise * n2
        slope_ += d * n0
        gain += d * d * n0
        slope_x += d * (n1 + x0 * n0)
        cross += d * (y * n0 + rise * n1)
        cross_x += d * (x0 * y * n0 + (y + x0 * rise) * n1 + rise * n2)
        gain_x += d * d * (n1 + x0 * n0)
        gain_xx += d * d * (n2 + 2.0 * x0 * n1 + (x0 * x0 - 1.0) * n0)
    return mean, slope_, variance, gain, slope_x, cross, cross_x, gain_x, gain_xx
