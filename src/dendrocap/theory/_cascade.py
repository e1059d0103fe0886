"""Nested tilted Gaussian averages of a one-sided quadratic, compiled."""

from __future__ import annotations

import math

import numpy as np

from dendrocap.numerics._caching import njit
from dendrocap.numerics._compiled import LOG_SQRT_2PI, kept_positive, log_tail, mills
from dendrocap.numerics.types import Floats

NEGLIGIBLE = -46.0  # in the exponent: 1e-20


@njit(cache=True)
def innermost(v: float, s: float) -> tuple[float, float, float, float]:
    """For y = max(v + z, 0) under the tilt exp(s y^2/2), s < 1: ln E exp, P(y > 0), <y>, <y^2> [rsb-inner]."""
    a = 1.0 - s
    root = math.sqrt(a)
    tau = v / root
    log_active, R, mean, variance = mills(-tau)
    # ln of the part at y = 0, and of the part above; squares that would cancel are avoided.
    silent = log_tail(v)
    above = (log_active + 0.5 * s * v * v / a if v > 0.0 else -math.log(R) - LOG_SQRT_2PI - 0.5 * v * v) - math.log(
        root
    )
    top = max(silent, above)
    total = top + math.log(math.exp(silent - top) + math.exp(above - top))
    active = math.exp(above - total)
    return total, active, active * mean / root, active * (variance + mean * mean) / a


@njit(cache=True)
def innermost_rows(h: Floats, sign: float, delta: float, mu: float, k: int) -> Floats:
    """Observables at level k - 1 as functions of h: columns f', P(h > 0), then f_i and f_i'^2 of each level i."""
    rows = np.zeros((h.size, 4 + 2 * k))
    sd = math.sqrt(delta)
    s = sign * mu * delta
    for i in range(h.size):
        total, active, y1, y2 = innermost(h[i] / sd, s)
        slope = sign * sd * y1
        rows[i, 0] = slope
        rows[i, 1] = active
        rows[i, 2 * k] = total / mu
        rows[i, 2 * k + 1] = slope * slope
        rows[i, 2 * k + 2] = 0.5 * sign * delta * y2
        rows[i, 2 * k + 3] = delta * y2
    return rows


@njit(cache=True)
def smooth_end(h: Floats, sign: float, k: int) -> Floats:
    """Observables of the innermost level as functions of h: columns f', f'', then f_k and f_k'^2 in their places.

    f_k is the logarithm of the integral of exp(h w - w^2 / 2) over w > 0 for plus, of H(h) for minus.
    """
    rows = np.zeros((h.size, 4 + 2 * k))
    for i in range(h.size):
        if sign > 0.0:
            f, slope, curvature = kept_positive(h[i])
        else:
            f, R, above, _ = mills(h[i])
            slope, curvature = -R, -R * above
        rows[i, 0] = slope
        rows[i, 1] = curvature
        rows[i, 2 * k + 2] = f
        rows[i, 2 * k + 3] = slope * slope
    return rows


@njit(cache=True)
def average_rows(
    at: Floats, h: Floats, log_step: Floats, rows: Floats, level: int, delta: float, mu: float, s: float, reach: float
) -> Floats:
    """Observables of ``level`` averaged over a Gaussian of variance delta around each of ``at``, tilted by exp(mu f).

    ``s`` is the largest coefficient of the tilt, mu f < s h^2 / (2 delta) + O(1), which bounds the range of the tilted
    mass. The last two columns filled are those of the level below, from the average itself. With mu = 0 this is
    the plain average at the root.
    """
    result = np.zeros((at.size, rows.shape[1]))
    columns = rows.shape[1]
    first = 2 + 2 * level
    widest = reach * math.sqrt(delta / min(1.0 - s, 1.0))
    log_norm = 0.5 * math.log(2.0 * math.pi * delta)
    weight = np.empty(h.size)
    for i in range(at.size):
        centre = at[i]
        low, high = centre - reach * math.sqrt(delta), centre + reach * math.sqrt(delta)
        # Where f is quadratic the tilted Gaussian is centred at centre / (1 - s): further out, or further in.
        if s < 0.0 < centre:
            low = centre / (1.0 - s) - reach * math.sqrt(delta)
        if s > 0.0:
            high = max(high, max(centre / (1.0 - s), 0.0) + widest)
        start = np.searchsorted(h, low)
        stop = np.searchsorted(h, high)
        top = -np.inf
        for j in range(start, stop):
            distance = h[j] - centre
            weight[j] = log_step[j] + mu * rows[j, first] - 0.5 * distance * distance / delta
            top = max(top, weight[j])
        total = 0.0
        for j in range(start, stop):
            if weight[j] - top < NEGLIGIBLE:
                continue
            w = math.exp(weight[j] - top)
            total += w
            result[i, 0] += w * rows[j, 0]
            result[i, 1] += w * rows[j, 1]
            for column in range(first, columns):
                result[i, column] += w * rows[j, column]
        for column in range(columns):
            result[i, column] /= total
        if mu > 0.0:
            result[i, first - 2] = (top + math.log(total) - log_norm) / mu
            result[i, first - 1] = result[i, 0] * result[i, 0]
    return result


@njit(cache=True)
def _rounded_step(x: float) -> tuple[float, float]:
    """A smooth step from 0 to 1 around x = 0, and its integral."""
    if x > 0.0:
        rest = math.exp(-2.0 * x)
        return 1.0 / (1.0 + rest), x + 0.5 * math.log1p(rest)
    rest = math.exp(2.0 * x)
    return rest / (1.0 + rest), 0.5 * math.log1p(rest)


@njit(cache=True)
def _points_below(h: float, fine: float, growth: float, steps: Floats) -> tuple[float, float]:
    """Number of points between 0 and h, up to a constant, and their density at h."""
    count = math.asinh(growth * h / fine) / growth
    density = 1.0 / math.sqrt(fine * fine + growth * growth * h * h)
    for i in range(steps.shape[0]):
        rise, integral = _rounded_step((h - steps[i, 0]) / steps[i, 1])
        count += steps[i, 2] * steps[i, 1] * integral
        density += steps[i, 2] * rise
    return count, density


@njit(cache=True)
def graded_grid(low: float, high: float, fine: float, growth: float, steps: Floats) -> tuple[Floats, Floats]:
    """Points from low to high, and ln dh/du of each, where u counts the points.

    Densities of points add up: 1 / sqrt(fine^2 + (growth h)^2) around the kink at zero, and smooth steps in density,
    each a row of ``steps`` (position, width, height). The trapezoidal rule in u is then spectrally accurate for
    functions whose singularities have a distance from the real axis that grows with |h|, as is the case here.
    """
    first = math.floor(_points_below(low, fine, growth, steps)[0])
    last = math.ceil(_points_below(high, fine, growth, steps)[0])
    h = np.empty(int(last - first) + 1)
    log_step = np.empty(h.size)
    at = low
    for i in range(h.size):
        # u(h) is monotone: a few Newton steps from the neighbour
        for _ in range(30):
            count, density = _points_below(at, fine, growth, steps)
            change = (first + i - count) / density
            at += min(max(change, -3.0 / density), 3.0 / density)
            if abs(change) * density < 1e-11:
                break
        h[i] = at
        log_step[i] = -math.log(_points_below(at, fine, growth, steps)[1])
    return h, log_step
