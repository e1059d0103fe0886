"""Inner loops of the local entropy: averages over a reference, and over what counted solutions share beyond it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dendrocap.numerics._compiled import LOG_SQRT_2PI, compiled, density, kept_positive, mills

__all__ = ["coupled_averages"]

Floats = NDArray[np.float64]

RANGE = 8.0  # deviations of a Gaussian average: the mass beyond is 1e-15
PANEL = 2.0  # longest Gauss-Legendre panel, in units of the scale on which an integrand bends
DEEP = 37.0  # exponent beyond which an exponential tail does not count
MOST_PANELS = 256


@compiled
def _cut(low: float, high: float, longest: float, bends: Floats, widths: Floats, edges: Floats) -> int:
    """Cut [low, high] into panels no longer than ``longest`` and, near a bend, than its width or the distance to it."""
    a_waiting, b_waiting = np.empty(64), np.empty(64)
    edges[0] = low
    done = 0
    pieces = min(max(1, math.ceil((high - low) / longest)), MOST_PANELS // 2)
    for piece in range(pieces):
        a_waiting[0] = low + (high - low) * piece / pieces
        b_waiting[0] = low + (high - low) * (piece + 1) / pieces
        waiting = 1
        while waiting > 0:
            waiting -= 1
            a, b = a_waiting[waiting], b_waiting[waiting]
            allowed = np.inf
            for k in range(bends.size):
                distance = max(max(a - bends[k], bends[k] - b), 0.0)
                allowed = min(allowed, max(PANEL * widths[k], distance))
            if b - a <= allowed or waiting >= 62 or done + waiting + pieces - piece >= MOST_PANELS - 2:
                done += 1
                edges[done] = b
            else:
                middle = 0.5 * (a + b)
                a_waiting[waiting], b_waiting[waiting] = middle, b
                a_waiting[waiting + 1], b_waiting[waiting + 1] = a, middle
                waiting += 2
    return done


@compiled
def coupled_averages(
    centre: float,
    steepness: float,
    field: tuple[float, float, float, float],
    is_weight: bool,
    rule: tuple[Floats, Floats],
) -> Floats:
    """Averages over a reference x and the field h = a_0 + a z + b x + c y of the solutions counted.

    z and y are standard normal; x is a unit Gaussian centred at mu = centre + steepness z and kept positive: a weight
    of the reference, or the distance of a pattern from its margin. F(h) is ln of the integral of exp(h w - w^2 / 2)
    over w > 0 for a weight, and ln H(-h) for a pattern.

    Returns the averages of F, F', F'^2, F'', F''^2, x F', <x> F' and mu F', where <x> is the mean of x given z. The
    sum b x + c y has a closed density, so that two integrals remain.
    """
    a0, a, b, c = field
    scale = math.sqrt(b * b + c * c)
    cos, sin = (b / scale, c / scale) if scale > 0.0 else (0.0, 1.0)
    nodes, weights = rule
    result, total = np.zeros(8), np.empty(6)
    bends, widths = np.empty(3), np.empty(3)
    # z where mu = 0, and where h = 0 with x near 0 or near mu
    bends[0], widths[0] = -centre / steepness, 1.0 / steepness
    bends[1], widths[1] = (-a0 / a, 1.0 / abs(a)) if a != 0.0 else (0.0, np.inf)
    along = a + b * steepness
    bends[2], widths[2] = (-(a0 + b * centre) / along, 1.0 / abs(along)) if along != 0.0 else (0.0, np.inf)
    outer, inner = np.empty(MOST_PANELS), np.empty(MOST_PANELS)
    inner_bends, inner_widths = np.empty(2), np.empty(2)
    for panel in range(_cut(-RANGE, RANGE, PANEL, bends, widths, outer)):
        half, middle = 0.5 * (outer[panel + 1] - outer[panel]), 0.5 * (outer[panel + 1] + outer[panel])
        for i in range(nodes.size):
            z = middle + half * nodes[i]
            w = half * weights[i] * density(z)
            mu = centre + steepness * z
            log_mass, _, mean_x, _ = mills(-mu)
            base = a0 + a * z
            total[:] = 0.0
            if scale == 0.0:
                _add(total, 1.0, base, mean_x, is_weight)
            else:
                # the interval that holds x, and with y that of v = cos x + sin y
                near, far = max(mu - RANGE, 0.0), mu + RANGE
                size = 1.0
                if mu < 0.0:
                    near, far = 0.0, 2.0 * DEEP / (-mu + math.sqrt(mu * mu + 2.0 * DEEP))
                    size = min(1.0, -1.0 / mu)
                one, other = cos * near, cos * far
                low, high = min(one, other) - RANGE * sin, max(one, other) + RANGE * sin
                if sin == 0.0:
                    low, high = min(one, other), max(one, other)
                # The edge x = 0 is smeared over sin; F bends at h = 0.
                inner_bends[0], inner_widths[0] = 0.0, sin
                inner_bends[1], inner_widths[1] = -base / scale, 1.0 / scale
                if mu > RANGE or sin == 0.0:
                    inner_widths[0] = np.inf  # no edge within the range, or at its end
                longest = PANEL * max(sin, abs(cos) * size)
                for piece in range(_cut(low, high, longest, inner_bends, inner_widths, inner)):
                    reach = 0.5 * (inner[piece + 1] - inner[piece])
                    place = 0.5 * (inner[piece + 1] + inner[piece])
                    for j in range(nodes.size):
                        v = place + reach * nodes[j]
                        away = v - mu * cos
                        log_density = -0.5 * away * away - LOG_SQRT_2PI - log_mass
                        if sin > 0.0:
                            # x given v is a Gaussian of width sin kept positive
                            start = (mu * sin * sin + cos * v) / sin
                            log_part, _, x, _ = mills(-start)
                            log_density += log_part
                            x *= sin
                        else:
                            x = v / cos
                        _add(total, reach * weights[j] * math.exp(log_density), base + scale * v, x, is_weight)
            for k in range(6):
                result[k] += w * total[k]
            result[6] += w * mean_x * total[1]
            result[7] += w * mu * total[1]
    return result


@compiled
def _add(total: Floats, w: float, h: float, x: float, is_weight: bool) -> None:
    """Add to the sums of F, F', F'^2, F'', F''^2 and x F'."""
    if is_weight:
        F, slope, bend = kept_positive(h)
    else:
        F, slope, _, variance = mills(-h)
        bend = -slope * (slope + h) if h > 0.0 else variance - 1.0
    total[0] += w * F
    total[1] += w * slope
    total[2] += w * slope * slope
    total[3] += w * bend
    total[4] += w * bend * bend
    total[5] += w * x * slope
