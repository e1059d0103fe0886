"""Inner loops for weights between zero and a largest one, which is the unit of all weights here."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dendrocap.numerics._compiled import compiled, density, kept_positive, mass_beyond, tail
from dendrocap.numerics.quadrature import legendre_rule
from dendrocap.theory._kernels import FINER, field_nodes

__all__ = [
    "bounded_averages",
    "bounded_centre",
    "clipped_tail",
    "kept_between",
    "kept_between_each",
    "kept_between_pairs",
    "lower_cut",
]

Floats = NDArray[np.float64]

_NODES, _WEIGHTS = legendre_rule(12)

SHORT = 1.0  # u below which differences of tails would cancel
PARTED = 4.0  # precision from which most of a Gaussian kept positive lies on this side of the other end
STEEP = 1.0  # the same for the slope of the density at zero
FAR = 60.0  # exponent beyond which a density is taken to vanish
TWO_BENDS = 36.0  # precision from which both ends have nodes of their own


@compiled
def clipped_tail(B: float, u: float) -> tuple[float, float, float]:
    """Of x = min(max(z - B, 0), u) with standard normal z: probability of 0 < x < u, mean and mean square."""
    if u < SHORT:
        # Derivatives of the moments in u are tails: E x = int H, E x^2 = int 2 (t - B) H from B to B + u.
        i0 = i1 = i2 = 0.0
        for i in range(_NODES.size):
            x, w = 0.5 * u * (1.0 + _NODES[i]), 0.5 * u * _WEIGHTS[i]
            h = mass_beyond(B + x)
            i0 += w * density(B + x)
            i1 += w * h
            i2 += w * 2.0 * x * h
        return i0, i1, i2
    if -0.5 * u > B:  # mirrored, x -> u - x, so that nothing cancels
        i0, i1, i2 = clipped_tail(-B - u, u)
        return i0, u - i1, u * u - 2.0 * u * i1 + i2
    n0, n1, n2 = tail(B)
    f0, f1, f2 = tail(B + u)
    return n0 - f0, n1 - f1, n2 - f2 - 2.0 * u * f1


@compiled
def lower_cut(mean: float, u: float, above: float) -> float:
    """The B at which `clipped_tail` has this mean, from a larger one ``above``; NaN if not found.

    ln E x is concave in B: from above, Newton's method comes down to the root and never passes it.
    """
    B = above
    for _ in range(200):
        i0, i1, _ = clipped_tail(B, u)
        step = math.log(i1 / mean) * i1 / i0
        B += step
        if abs(step) <= 1e-15 * (abs(B) + 1.0) or step > 0.0:
            return B
    return np.nan


@compiled
def _by_panels(a: float, h: float) -> tuple[float, float, float]:
    """`kept_between` by quadrature, for h <= a / 2 and a < PARTED: the density is largest near zero."""
    reach = 1.0
    if -h > max(2.0 * abs(a), FAR):
        reach = min(1.0, 1.4 * FAR / -h)
    panels = 1 + int((abs(h) + abs(a)) * reach / 8.0)
    width = reach / panels
    norm = first = second = 0.0
    for panel in range(panels):
        for i in range(_NODES.size):
            w = width * (panel + 0.5 * (1.0 + _NODES[i]))
            p = _WEIGHTS[i] * math.exp(w * (h - 0.5 * a * w))
            norm += p
            first += p * w
            second += p * w * w
    mean = first / norm
    return math.log(0.5 * width * norm), mean, second / norm - mean * mean


@compiled
def kept_between(a: float, h: float) -> tuple[float, float, float]:
    """Of exp(-a w^2 / 2 + h w) on 0 <= w <= 1: ln of its integral, its mean and its variance, for a of either sign."""
    if h > 0.5 * a:  # mirrored, w -> 1 - w
        log_norm, mean, variance = kept_between(a, a - h)
        return log_norm + h - 0.5 * a, 1.0 - mean, variance
    if a <= 1e-280 or (a < PARTED and h > -STEEP):
        return _by_panels(a, h)
    root = math.sqrt(a)
    log_norm, mean, variance = kept_positive(h / root)
    log_beyond, mean_beyond, variance_beyond = kept_positive((h - a) / root)
    beyond = math.exp(h - 0.5 * a + log_beyond - log_norm)  # the share of w > 1 among all w > 0
    # The law on w > 0 is a mixture of those on either side of w = 1.
    within = (mean - beyond * (root + mean_beyond)) / (1.0 - beyond)
    apart = root + mean_beyond - within
    spread = (variance - beyond * variance_beyond) / (1.0 - beyond) - beyond * apart * apart
    return log_norm + math.log1p(-beyond) - 0.5 * math.log(a), within / root, spread / a


@compiled
def kept_between_each(a: float, h: Floats) -> tuple[Floats, Floats, Floats]:
    """`kept_between` at every entry of a 1-D array."""
    log_norm, mean, variance = np.empty(h.size), np.empty(h.size), np.empty(h.size)
    for i in range(h.size):
        log_norm[i], mean[i], variance[i] = kept_between(a, h[i])
    return log_norm, mean, variance


@compiled
def kept_between_pairs(a: Floats, h: Floats) -> Floats:
    """The first number of `kept_between`, ln of the integral, at every pair of entries of two 1-D arrays."""
    log_norm = np.empty(h.size)
    for i in range(h.size):
        log_norm[i] = kept_between(a[i], h[i])[0]
    return log_norm


@compiled
def bounded_averages(a: float, q: float, eta: float, step: float) -> tuple[float, float, float, float, float]:
    """Averages over z of the law exp(-a w^2 / 2 + h w) on 0 <= w <= 1 in the field h = eta + sqrt(q) z.

    Returns those of ln of its integral, of its mean, squared mean, variance and squared variance. As functions of h
    they bend at 0 and at a. Near capacity these are far apart: the average is then parted smoothly between nodes that
    crowd at either bend.
    """
    root = math.sqrt(q)
    log_norm = mean = mean_squared = variance = variance_squared = 0.0
    if a < TWO_BENDS:
        unit = 3.0 + max(a, 0.0) / 6.0
        x, weight = field_nodes((0.5 * a - eta) / root, unit / root, step)
        for i in range(weight.size):
            log_one, at, var = kept_between(a, 0.5 * a + unit * x[i])
            log_norm += weight[i] * log_one
            mean += weight[i] * at
            mean_squared += weight[i] * at * at
            variance += weight[i] * var
            variance_squared += weight[i] * var * var
        return log_norm, mean, mean_squared, variance, variance_squared
    u = math.sqrt(a)
    for end in range(2):
        # At the upper end the law is the mirror image of the one at the lower, in the field a - h.
        centre = -eta / root if end == 0 else (eta - a) / root
        x, weight = field_nodes(centre, u / root, FINER * step)
        for i in range(weight.size):
            share = mass_beyond(16.0 * x[i] / u - 8.0)  # of the average that belongs to this end
            w = weight[i] * share
            if w < 1e-30:
                continue
            log_one, at, var = kept_between(a, u * x[i])
            if end == 1:
                log_one += 0.5 * a - u * x[i]
                at = 1.0 - at
            log_norm += w * log_one
            mean += w * at
            mean_squared += w * at * at
            variance += w * var
            variance_squared += w * var * var
    return log_norm, mean, mean_squared, variance, variance_squared


@compiled
def bounded_centre(mean: float, a: float, q: float, step: float) -> float:
    """The eta at which the average mean of `bounded_averages` has the value wanted; NaN if not found."""
    low, high = -np.inf, np.inf
    eta = a * mean + 1.0 / (1.0 - mean) - 1.0 / mean
    reach = 4.0 * (1.0 + abs(eta) + math.sqrt(q))
    last = np.inf
    for _ in range(300):
        _, now, _, variance, _ = bounded_averages(a, q, eta, step)
        if now > mean:
            high = min(high, eta)
        else:
            low = max(low, eta)
        # On the logit of the mean, which is closer to a straight line than the mean.
        change = math.log(mean / now * (1.0 - now) / (1.0 - mean)) * now * (1.0 - now) / variance
        if not abs(change) < reach:
            change = math.copysign(reach, mean - now)
        if not low <= eta + change <= high or (abs(change) > 0.5 * last and low > -np.inf and high < np.inf):
            change = 0.5 * (low + high) - eta
        eta += change
        if (abs(change) <= 1e-9 * (abs(eta) + 1e-3) and abs(now / mean - 1.0) < 1e-7) or low == high:
            return eta
        last = abs(change)
    return np.nan
