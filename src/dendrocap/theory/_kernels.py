"""Inner loops of the finite-load theory: Gaussian averages with nodes where the integrands bend.

Three kinds of average occur: over the pre-activation of one branch (`branch_nodes`, panels that end at the
knots of g), over the pre-activations of two replicas (`common_nodes` for the common part, `rest_nodes` for
the rest), and over the field z of the replica calculation, where all integrands are functions of Mills' ratio
and bend at one known point (`entropic_averages`, `energetic_averages`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dendrocap.model._compiled import slope, value
from dendrocap.model.nonlinearities import POLSKY
from dendrocap.numerics._compiled import compiled, density, kept_positive, mass_beyond, mills, panels

__all__ = [
    "branch_nodes",
    "common_nodes",
    "conditional_moments",
    "energetic_averages",
    "entropic_averages",
    "entropic_centre",
    "evaluate",
    "field_nodes",
    "hermite_coefficients",
    "rest_nodes",
    "series_nodes",
    "tempered_averages",
    "towards_mean",
]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

FIELD_RANGE = 10.0  # of z: the Gaussian mass beyond is 2e-23

# Averages over branches, lengths in standard deviations of the Gaussian at hand.
RANGE = 9.0  # the mass beyond is 2e-19
PANEL = 3.0  # longest Gauss-Legendre panel of an average over one branch
COMMON_PANEL = 2.3  # the same for the common part of two branches
SMOOTH = 12.0  # an inner average without a kink or two knots within this many deviations counts as smooth
HERMITE = 11  # Hermite coefficients kept there; the next would add less than 1e-14
MOST_PANELS, MOST_FIELD_NODES = 4096, 1e5
SERIES_RANGE, SERIES_PHASE = 12.5, 6.5  # of Hermite coefficients: exp(-x^2 / 4) is 1e-17 there; radians per panel
FAR_APART = 3.0  # two bends of a function of Mills' ratio beyond this distance have nodes of their own
FINER = 0.7  # step of functions with two bends: the parting must vanish at the other bend, and is steeper than they are


@compiled
def field_nodes(centre: float, width: float, step: float) -> tuple[Floats, Floats]:
    """Nodes (z - centre) / width and weights of a standard Gaussian average of functions that bend at one point.

    Trapezoidal rule in u with z = centre + width sinh(u): it converges geometrically, because the integrands
    are analytic in a strip around the real u axis for any width. Where z is nearly linear in u, because the
    width is large or the bend far away, the Gaussian itself needs steps of at most half a deviation.
    """
    zero = math.asinh(-centre / width)  # the u of z = 0; v = u - zero keeps the digits of z when that is far
    low = math.asinh((-FIELD_RANGE - centre) / width) - zero
    high = math.asinh((FIELD_RANGE - centre) / width) - zero
    points = (high - low) / step * max(1.0, 0.36 * (width + abs(centre)))
    if not points < MOST_FIELD_NODES:
        return np.full(1, np.nan), np.full(1, np.nan)
    n = 2 + int(points)
    step = (high - low) / (n - 1)
    node, weight = np.empty(n), np.empty(n)
    for i in range(n):
        v = low + i * step
        node[i] = math.sinh(zero + v)
        z = 2.0 * width * math.cosh(zero + 0.5 * v) * math.sinh(0.5 * v)
        weight[i] = step * width * math.cosh(zero + v) * density(z)
    return node, weight


@compiled
def entropic_averages(eta: float, xi: float, step: float) -> tuple[float, float, float, float, float]:
    """Averages over z of a unit Gaussian centred at x = eta + sqrt(xi) z and kept positive.

    Returns those of ln of its normaliser [exp(x^2/2) sqrt(2 pi) H(-x)], of its mean, squared mean, variance
    and squared variance.
    """
    root = math.sqrt(xi)
    x, weight = field_nodes(-eta / root, 1.0 / root, step)
    log_norm = mean = mean_squared = variance = variance_squared = 0.0
    for i in range(weight.size):
        log_one, at, var = kept_positive(x[i])
        log_norm += weight[i] * log_one
        mean += weight[i] * at
        mean_squared += weight[i] * at * at
        variance += weight[i] * var
        variance_squared += weight[i] * var * var
    return log_norm, mean, mean_squared, variance, variance_squared


@compiled
def towards_mean(
    mean: float, now: float, variance: float, eta: float, low: float, high: float, last: float
) -> tuple[float, float, float, bool]:
    """A bracket and the step from eta towards the point with the required mean, and whether that is the last step.

    ``now`` is the mean at eta and ``variance`` its derivative; the mean grows with eta, and is convex.
    """
    if now > mean:
        high = min(high, eta)
    else:
        low = max(low, eta)
    change = math.log(mean / now) * now / variance
    if low == -np.inf:
        change = max(change, -2.0 * abs(eta) - 1.0)
    elif not low <= eta + change <= high or abs(change) > 0.5 * last:
        change = 0.5 * (low + high) - eta
    # The error of Newton's method is the square of the last step.
    found = (abs(change) <= 1e-9 * (abs(eta) + 1e-3) and abs(now / mean - 1.0) < 1e-7) or low == high
    return low, high, change, found


@compiled
def entropic_centre(mean: float, xi: float, step: float, guess: float = np.nan) -> float:
    """The eta at which the average mean of `entropic_averages` has the required value; NaN if not found.

    The mean is increasing and convex in eta. Newton's method on its logarithm is used inside a bracket, with bisection
    if a step leaves the bracket or is not at most half the previous one. It starts at the guess if there is one.
    """
    low, high = -np.inf, mean
    eta = mean if mean > 1.0 else -1.0 / mean
    if not math.isnan(guess):
        eta = min(guess, mean)
    last = np.inf
    for _ in range(300):
        _, now, _, variance, _ = entropic_averages(eta, xi, step)
        low, high, change, found = towards_mean(mean, now, variance, eta, low, high, last)
        eta += change
        if found:
            return eta
        last = abs(change)
    return np.nan


@compiled
def energetic_averages(steepness: float, shift: float, step: float) -> Floats:
    """Averages over z of ln H, R = G/H, R^2, R (R - a) and [R (R - a)]^2 at a = steepness z + shift."""
    a, weight = field_nodes(-shift / steepness, 1.0 / steepness, step)
    result = np.zeros(5)
    for i in range(weight.size):
        log_tail, R, _, variance = mills(a[i])
        bend = 1.0 - variance
        # Far below zero 1 - variance has no digits left, and R (R - a) is exact.
        if a[i] < 0.0:
            bend = R * (R - a[i])
        result[0] += weight[i] * log_tail
        result[1] += weight[i] * R
        result[2] += weight[i] * R * R
        result[3] += weight[i] * bend
        result[4] += weight[i] * bend * bend
    return result


@compiled
def given_up_at(penalty: float) -> float:
    """The a at which a wrong pattern counts as much as a right one, (1 - eps) H(a) = eps with eps = exp(-penalty).

    At most 0 where eps is 1/3 or more. ln H is concave: from the right Newton's method comes down to the root.
    """
    wanted = -penalty - math.log1p(-math.exp(-penalty))
    if wanted >= -math.log(2.0):
        return 0.0
    a = math.sqrt(-2.0 * wanted)  # H(a) is smaller than exp(-a^2 / 2)
    for _ in range(100):
        log_tail, R, _, _ = mills(a)
        step = (log_tail - wanted) / R
        a += step
        if abs(step) <= 1e-13 * a:
            break
    return a


@compiled
def tempered_averages(steepness: float, shift: float, penalty: float, step: float) -> Floats:
    """`energetic_averages` with eps + (1 - eps) H in place of H, eps = exp(-penalty), and the probability of an error.

    R is then (1 - eps) G / [eps + (1 - eps) H]. The functions bend at a = 0 and where patterns are given up; if these
    places are far apart, the average is parted smoothly between nodes that crowd at either.
    """
    end = given_up_at(penalty)
    log_kept, result = math.log1p(-math.exp(-penalty)), np.zeros(6)
    parted = end > FAR_APART
    for place in range(2 if parted else 1):
        centre, width = 0.5 * end, 1.0
        if parted:
            centre, width = (0.0, 1.0) if place == 0 else (end, 2.0 / end)
        x, weight = field_nodes((centre - shift) / steepness, width / steepness, FINER * step)
        for i in range(weight.size):
            a, w = centre + width * x[i], weight[i]
            if parted:
                w *= mass_beyond(16.0 * (a if place == 0 else end - a) / end - 8.0)
            if w < 1e-30:
                continue
            log_tail, R, _, variance = mills(a)
            bend = R * (R - a) if a < 0.0 else 1.0 - variance
            met, missed = log_kept + log_tail, -penalty
            log_sum = max(met, missed) + math.log1p(math.exp(-abs(met - missed)))
            # The share of the weight of a pattern that does not come from giving it up.
            share = math.exp(met - log_sum)
            rest = math.exp(missed - log_sum)
            bend = share * (bend - rest * R * R)
            R *= share
            result[0] += w * log_sum
            result[1] += w * R
            result[2] += w * R * R
            result[3] += w * bend
            result[4] += w * bend * bend
            result[5] += w * rest * mass_beyond(-a)
    return result


@compiled
def _most_edges(knots: Floats) -> int:
    return 2 * knots.size + math.ceil(2.0 * RANGE / PANEL) + 3


@compiled
def branch_nodes(mean: float, sd: float, knots: Floats, rule_x: Floats, rule_w: Floats) -> tuple[Floats, Floats]:
    """Nodes x and weights of the average of g(mean + sd x): Gauss-Legendre panels that end at the knots."""
    edges = np.empty(_most_edges(knots))
    count = panels(knots, mean, sd, -RANGE, RANGE, PANEL, edges)
    n = rule_x.size
    x, weight = np.empty(count * n), np.empty(count * n)
    for i in range(count):
        _fill(edges[i], edges[i + 1], rule_x, rule_w, x, weight, i * n)
    return x, weight


@compiled
def _fill(a: float, b: float, rule_x: Floats, rule_w: Floats, x: Floats, weight: Floats, at: int) -> None:
    """The rule on the panel from a to b, with the standard Gaussian density in the weights."""
    middle, half = 0.5 * (a + b), 0.5 * (b - a)
    for j in range(rule_x.size):
        u = middle + half * rule_x[j]
        x[at + j] = u
        weight[at + j] = half * rule_w[j] * density(u)


@compiled
def common_nodes(
    mean: float, sd: float, rest: float, knots: Floats, kinks: Floats, rule_x: Floats, rule_w: Floats
) -> tuple[Floats, Floats]:
    """Nodes and weights of the average over the common part, N(mean, sd^2), of two pre-activations.

    The averaged functions are g smoothed over a width ``rest``: they bend on that scale near a kink, and away
    from it on the scale of the distance. Panels between knots are halved until they are no longer than that.
    Nodes are computed as positions, not as deviations from the mean, so that the distance to a kink keeps its digits.
    """
    smoothed, longest = COMMON_PANEL * rest, COMMON_PANEL * sd
    bottom, top = mean - RANGE * sd, mean + RANGE * sd
    low, high = np.empty(MOST_PANELS), np.empty(MOST_PANELS)
    a_waiting, b_waiting = np.empty(64), np.empty(64)
    done = 0
    first = bottom
    for k in range(knots.size + 1):
        last = min(max(knots[k], bottom), top) if k < knots.size else top
        if last - first <= smoothed and k < knots.size:
            continue  # knots closer than the smoothing width have no effect
        pieces = max(1, math.ceil((last - first) / longest))
        for piece in range(pieces):
            a_waiting[0] = first + (last - first) * piece / pieces
            b_waiting[0] = first + (last - first) * (piece + 1) / pieces if piece < pieces - 1 else last
            waiting = 1
            while waiting > 0:
                waiting -= 1
                a, b = a_waiting[waiting], b_waiting[waiting]
                distance = np.inf
                for at in kinks:
                    distance = min(distance, max(max(a - at, at - b), 0.0))
                if b - a <= max(smoothed, distance) or waiting >= 62:
                    if done == MOST_PANELS:
                        return np.full(1, np.nan), np.full(1, np.nan)
                    low[done], high[done] = a, b
                    done += 1
                else:
                    middle = 0.5 * (a + b)
                    a_waiting[waiting], b_waiting[waiting] = middle, b
                    a_waiting[waiting + 1], b_waiting[waiting + 1] = a, middle
                    waiting += 2
        first = last
    n = rule_x.size
    common, weight = np.empty(done * n), np.empty(done * n)
    for i in range(done):
        middle, half = 0.5 * (low[i] + high[i]), 0.5 * (high[i] - low[i])
        for j in range(n):
            common[i * n + j] = middle + half * rule_x[j]
            t = (common[i * n + j] - mean) / sd
            weight[i * n + j] = half / sd * rule_w[j] * density(t)
    return common, weight


@compiled
def _is_smooth(common: float, rest: float, knots: Floats, kinks: Floats) -> bool:
    """Whether an inner average contains no kink, and g bends slowly (its knots are far apart)."""
    for k in range(kinks.size):
        if abs(kinks[k] - common) < SMOOTH * rest:
            return False
    for k in range(knots.size - 1):
        if knots[k] <= common < knots[k + 1]:
            return knots[k + 1] - knots[k] > SMOOTH * rest
    return True


@compiled
def rest_nodes(
    common: Floats,
    rest: float,
    knots: Floats,
    kinks: Floats,
    flat_ends: tuple[bool, bool],
    rule: tuple[Floats, Floats],
    smooth_rule: tuple[Floats, Floats],
    has_slope: bool,
) -> tuple[Flags, Integers, Floats, Floats]:
    """Nodes x and weights of the inner averages, of g(common[i] + rest x), one after the other.

    Also returns which averages are smooth, and where each starts (with the end of the last one). Beyond its
    first or last knot g may be constant: three nodes with the right mass and moments then replace the panels.
    """
    rule_x, rule_w = rule
    smooth_x, smooth_w = smooth_rule
    n = rule_x.size
    smooth = np.empty(common.size, dtype=np.bool_)
    start = np.zeros(common.size + 1, dtype=np.int64)
    edges = np.empty(_most_edges(knots))
    for i in range(common.size):
        smooth[i] = has_slope and _is_smooth(common[i], rest, knots, kinks)
        low, high = _reach(common[i], rest, knots, flat_ends)
        if smooth[i]:
            # one node is enough where g is constant
            start[i + 1] = start[i] + (smooth_x.size if low < high else 1)
        else:
            flat = 3 * int(low > -RANGE) + 3 * int(high < RANGE)
            start[i + 1] = start[i] + flat + n * panels(knots, common[i], rest, low, high, PANEL, edges)
    x, weight = np.empty(start[-1]), np.empty(start[-1])
    for i in range(common.size):
        at = start[i]
        if smooth[i]:
            if start[i + 1] == at + 1:
                x[at], weight[at] = 0.0, 1.0
            else:
                x[at : start[i + 1]] = smooth_x
                weight[at : start[i + 1]] = smooth_w
            continue
        low, high = _reach(common[i], rest, knots, flat_ends)
        if low > -RANGE:
            at = _flat_nodes(low, 1.0, x, weight, at)
        if high < RANGE:
            at = _flat_nodes(-high, -1.0, x, weight, at)
        for panel in range(panels(knots, common[i], rest, low, high, PANEL, edges)):
            _fill(edges[panel], edges[panel + 1], rule_x, rule_w, x, weight, at)
            at += n
    return smooth, start, x, weight


@compiled
def _reach(common: float, rest: float, knots: Floats, flat_ends: tuple[bool, bool]) -> tuple[float, float]:
    """The interval, in deviations, outside which g is constant or the Gaussian has no mass."""
    low, high = -RANGE, RANGE
    if flat_ends[0]:
        low = min(max((knots[0] - common) / rest, -RANGE), RANGE)
    if flat_ends[1]:
        high = min(max((knots[-1] - common) / rest, -RANGE), RANGE)
    return low, high


@compiled
def _flat_nodes(end: float, sign: float, x: Floats, weight: Floats, at: int) -> int:
    """Three nodes with the moments 1, x, x^2 of the Gaussian below ``end``, mirrored if ``sign`` is -1."""
    mass, g = mass_beyond(-end), density(end)
    centre = end - 2.0
    first = -g - centre * mass
    second = mass - end * g + 2.0 * centre * g + centre * centre * mass
    x[at], weight[at] = sign * (centre + 1.0), 0.5 * (second + first)
    x[at + 1], weight[at + 1] = sign * centre, mass - second
    x[at + 2], weight[at + 2] = sign * (centre - 1.0), 0.5 * (second - first)
    return at + 3


@compiled
def evaluate(
    code: int, parameters: Floats, common: Floats, rest: float, smooth: Flags, start: Integers, x: Floats
) -> tuple[Floats, Floats]:
    """g at all nodes of `rest_nodes`, and g' at those of smooth averages, where alone it is needed."""
    g, dg = np.empty(x.size), np.zeros(x.size)
    for i in range(common.size):
        for j in range(start[i], start[i + 1]):
            u = common[i] + rest * x[j]
            if code == POLSKY and u > parameters[0]:
                # The sigmoid is written inline: a call that LLVM does not inline takes four times as long.
                x_min, gamma = parameters[0], parameters[1]
                g[j] = 1.0 - 2.0 * (1.0 - x_min) / (1.0 + math.exp(min(gamma * (u - x_min), 700.0)))
            else:
                g[j] = value(code, parameters, u)
            if smooth[i]:
                dg[j] = slope(code, parameters, u)
    return g, dg


@compiled
def conditional_moments(
    rest: float, smooth: Flags, start: Integers, x: Floats, weight: Floats, g: Floats, dg: Floats
) -> Floats:
    """Inner averages, one column per common part: means of g, g', g'', variance of g, covariance of g and g'.

    Near a kink all of them follow from g alone by parts, <g'> = <(g - <g>) x> / rest and so on, so that kinks
    and jumps need no special treatment. Where g is smooth they follow from the Hermite coefficients of g', so that
    nothing cancels if the rest is small.
    """
    result = np.empty((5, smooth.size))
    h = np.empty(HERMITE)
    for i in range(smooth.size):
        mean = first = second = variance = covariance = 0.0
        for j in range(start[i], start[i + 1]):
            mean += weight[j] * g[j]
        if smooth[i]:
            h[:] = 0.0
            for j in range(start[i], start[i + 1]):
                before, now = 0.0, weight[j] * dg[j]
                for k in range(HERMITE):
                    h[k] += now
                    before, now = now, x[j] * now - k * before
            first, second = h[0], h[1] / rest
            scale = 1.0
            for k in range(1, HERMITE):
                scale /= k
                variance += scale * h[k - 1] * h[k - 1]
                covariance += scale * h[k - 1] * h[k]
            variance *= rest * rest
            covariance *= rest
        else:
            for j in range(start[i], start[i + 1]):
                above = g[j] - mean
                first += weight[j] * above * x[j]
                second += weight[j] * above * (x[j] * x[j] - 1.0)
                variance += weight[j] * above * above
                covariance += weight[j] * above * above * x[j]
            first /= rest
            second /= rest * rest
            covariance /= 2.0 * rest
        result[0, i], result[1, i], result[2, i], result[3, i], result[4, i] = mean, first, second, variance, covariance
    return result


@compiled
def series_nodes(
    mean: float, sd: float, order: int, knots: Floats, rule_x: Floats, rule_w: Floats
) -> tuple[Floats, Floats]:
    """Nodes x and weights for the Hermite coefficients of g(mean + sd x) up to an order.

    Between the turning points +-2 sqrt(order) a normalised polynomial times the density falls like exp(-x^2 / 4), and
    has a wave number of sqrt(order) at most.
    """
    widest = min(PANEL, SERIES_PHASE / math.sqrt(order))
    edges = np.empty(2 * knots.size + math.ceil(2.0 * SERIES_RANGE / widest) + 3)
    count = panels(knots, mean, sd, -SERIES_RANGE, SERIES_RANGE, widest, edges)
    n = rule_x.size
    x, weight = np.empty(count * n), np.empty(count * n)
    for i in range(count):
        _fill(edges[i], edges[i + 1], rule_x, rule_w, x, weight, i * n)
    return x, weight


@compiled
def hermite_coefficients(x: Floats, weighted: Floats, order: int) -> Floats:
    """Sums of weighted values times He_k(x) / sqrt(k!), k = 0 to ``order``."""
    result = np.empty(order + 1)
    before, now, ahead = np.zeros(x.size), weighted.copy(), np.empty(x.size)
    for k in range(order + 1):
        total = 0.0
        one, two = 1.0 / math.sqrt(k + 1.0), math.sqrt(k / (k + 1.0))
        for j in range(x.size):
            total += now[j]
            ahead[j] = one * x[j] * now[j] - two * before[j]
        result[k] = total
        before, now, ahead = now, ahead, before
    return result
