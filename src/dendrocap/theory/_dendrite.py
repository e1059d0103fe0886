"""Gaussian averages of g, compiled: the innermost loops of the theory, called dozens of times per answer."""

from __future__ import annotations

import math

import numpy as np

from dendrocap.model._compiled import slope, value, value_and_slope
from dendrocap.model.nonlinearities import POLSKY
from dendrocap.numerics import legendre_rule
from dendrocap.numerics._caching import njit
from dendrocap.numerics._compiled import compiled, density, mass_beyond, panels, tail
from dendrocap.numerics.types import Flags, Floats, Integers

Sums = tuple[float, float, float, float, float, float, float, float, float]

WINDOW = 10.5  # in standard deviations: the mass beyond is 1e-25

MOMENT_PANEL = 3.5  # widest panel in standard deviations; there 16 points integrate the Gaussian to rounding

_SHORT_NODES, _SHORT_WEIGHTS = legendre_rule(10)


@njit(cache=True)
def _edges(knots: Floats, low: float, high: float, s: float) -> Floats:
    """The cuts of [low, high]: at the knots, and such that no panel is too wide for the Gaussian.

    Cuts are in units of the input u, not of x = (u - m) / s: at large s, m + s x would miss the knots by rounding.
    """
    widest = MOMENT_PANEL * s
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


# Inner loops of the finite-load theory: Gaussian averages with nodes where the integrands bend.
#
# Three kinds of average occur: over the pre-activation of one branch (`branch_nodes`, panels that end at the
# knots of g), over the pre-activations of two replicas (`common_nodes` for the common part, `rest_nodes` for
# the rest), and over the field z of the replica calculation, where all integrands are functions of Mills' ratio
# and bend at one known point (`entropic_averages`, `energetic_averages`).

# Averages over branches, lengths in standard deviations of the Gaussian at hand.
RANGE = 9.0  # the mass beyond is 2e-19

PANEL = 3.0  # longest Gauss-Legendre panel of an average over one branch

COMMON_PANEL = 2.3  # the same for the common part of two branches

SMOOTH = 12.0  # an inner average without a kink or two knots within this many deviations counts as smooth

HERMITE = 11  # Hermite coefficients kept there; the next would add less than 1e-14

MOST_PANELS, MOST_FIELD_NODES = 4096, 1e5

SERIES_RANGE, SERIES_PHASE = 12.5, 6.5  # of Hermite coefficients: exp(-x^2 / 4) is 1e-17 there; radians per panel


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
