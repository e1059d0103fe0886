"""Gaussian tails and panels between knots, compiled; other compiled functions call these in their inner loops."""

from __future__ import annotations

import math

import numpy as np

from dendrocap.numerics._caching import njit
from dendrocap.numerics.types import Floats

# Division by zero gives infinity, as in NumPy: callers check the result.
compiled = njit(cache=True, error_model="numpy")

SQRT_2 = math.sqrt(2.0)
PEAK = 1.0 / math.sqrt(2.0 * math.pi)
LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
FAR = 3.0  # above this, differences of tails cancel, and their ratios come from a continued fraction
UNDERFLOW = 30.0  # above this, the tail itself underflows, but its logarithm does not


@compiled
def density(x: float) -> float:
    """G(x), the standard normal density."""
    return PEAK * math.exp(-0.5 * x * x)


@compiled
def mass_beyond(t: float) -> float:
    """H(t), the probability of a standard normal number above t."""
    return 0.5 * math.erfc(t / SQRT_2)


@compiled
def _far_ratios(t: float) -> tuple[float, float]:
    """I_1 / I_0 and I_2 / I_1 at t >= FAR, of the tails defined in `tail`.

    J_n = I_n / n! obeys (n + 1) J_{n+1} = J_{n-1} - t J_n, so that I_n / I_{n-1} = n / (t + I_{n+1} / I_n) is a
    continued fraction, evaluated from its far end.
    """
    ratio = 0.0
    # Both expressions give full precision; the second is the smaller one from t = 6 on.
    terms = min(20 + int(450.0 / (t * t)), 8 + int(900.0 / (t * t)))
    for n in range(terms, 1, -1):
        ratio = n / (t + ratio)
    return 1.0 / (t + ratio), ratio


@compiled
def tail(t: float) -> tuple[float, float, float]:
    """I_n(t), the integral from t of (x - t)^n over the standard normal, for n = 0, 1, 2 [tail-moments]."""
    g = density(t)
    if t < FAR:
        i0 = mass_beyond(t)
        return i0, g - t * i0, (1.0 + t * t) * i0 - t * g
    first, second = _far_ratios(t)
    i0 = g / (t + first)
    return i0, i0 * first, i0 * first * second


@compiled
def log_tail(t: float) -> float:
    """ln H(t), to full relative accuracy."""
    if t < -1.0:
        return math.log1p(-mass_beyond(-t))
    if t < UNDERFLOW:
        return math.log(mass_beyond(t))
    return -0.5 * t * t - LOG_SQRT_2PI - math.log(t + _far_ratios(t)[0])


@compiled
def mills(t: float) -> tuple[float, float, float, float]:
    """ln H(t), R = G(t)/H(t), R - t, and 1 - R (R - t), each to full relative accuracy.

    R - t is the mean of a unit Gaussian centred at -t and kept positive, 1 - R (R - t) its variance.
    """
    if t < FAR:
        i0 = mass_beyond(t)
        R = density(t) / i0
        log_i0 = math.log(i0) if t > -1.0 else math.log1p(-mass_beyond(-t))
        return log_i0, R, R - t, 1.0 - R * (R - t)
    # With first = R - t the variance is I_2 / I_0 - first^2, in which nothing cancels.
    first, second = _far_ratios(t)
    return -0.5 * t * t - LOG_SQRT_2PI - math.log(t + first), t + first, first, first * (second - first)


@compiled
def kept_positive(x: float) -> tuple[float, float, float]:
    """The unit Gaussian exp(x w - w^2 / 2) on w >= 0, centred at x: ln of its integral, its mean and its variance."""
    log_i0, R, mean, variance = mills(-x)
    # The integral is exp(x^2/2) sqrt(2 pi) H(-x), or 1 / R(-x), which underflows for large x.
    return 0.5 * x * x + LOG_SQRT_2PI + log_i0 if x > 0.0 else -math.log(R), mean, variance


@compiled
def kept_positive_each(x: Floats) -> tuple[Floats, Floats, Floats]:
    """`kept_positive` at every entry of a 1-D array."""
    log_norm, mean, variance = np.empty(x.size), np.empty(x.size), np.empty(x.size)
    for i in range(x.size):
        log_norm[i], mean[i], variance[i] = kept_positive(x[i])
    return log_norm, mean, variance


@compiled
def panels(knots: Floats, origin: float, unit: float, low: float, high: float, widest: float, edges: Floats) -> int:
    """Fill ``edges`` with the cuts of [low, high]: at the knots, and such that no panel is wider than ``widest``.

    Knots count from ``origin`` in units of ``unit``, ends and widths in these units. Returns the number of panels.
    """
    edges[0] = low
    count = 0
    for k in range(knots.size + 1):
        target = min((knots[k] - origin) / unit, high) if k < knots.size else high
        start = edges[count]
        gap = target - start
        if gap > 0.0:
            pieces = math.ceil(gap / widest)
            for piece in range(1, pieces):
                edges[count + piece] = start + gap * piece / pieces
            count += pieces
            edges[count] = target
    return count
