"""The replica-symmetric free entropy and its derivatives, at any order parameters.

``phi = q q_hat / 2 - Q Q_hat - W_bar M_hat + G_S + alpha G_E`` [free-entropy]. The entropic term G_S describes a
weight in the random field of the other weights and the patterns, the energetic term G_E a pattern. The saddle-point
solver uses a reduced form of the equations; here they have their printed form, one derivative each, so that the two
can be checked against each other.
"""

from __future__ import annotations

import math

import numpy as np

from dendrocap.numerics import legendre_rule
from dendrocap.numerics._compiled import LOG_SQRT_2PI, PEAK, compiled, density, kept_positive, mass_beyond, mills, tail
from dendrocap.numerics.types import Floats
from dendrocap.theory._dendrite import MOST_FIELD_NODES

FIELD_STEP = 0.12  # of the averages over the field, see `field_nodes`

FIELD_RANGE = 10.0  # of z: the Gaussian mass beyond is 2e-23

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
def weight_sums(
    a: float, h: Floats, weight: Floats, given: Floats, mirrored: bool
) -> tuple[float, float, float, float, float, float]:
    """Averages over fields h of the law exp(-a w^2 / 2 + h w) on 0 <= w <= 1.

    If a is infinite, of a unit Gaussian centred at h and kept positive. Returns those of ln of its integral, of its
    mean, squared mean, variance and squared variance, and of ``given`` times its mean. ``mirrored`` fields are a - h.
    """
    log_norm = mean = mean_squared = variance = variance_squared = product = 0.0
    for i in range(weight.size):
        if weight[i] < 1e-30:
            continue
        log_one, at, var = kept_between(a, h[i]) if a < np.inf else kept_positive(h[i])
        if mirrored:
            log_one += 0.5 * a - h[i]
            at = 1.0 - at
        log_norm += weight[i] * log_one
        mean += weight[i] * at
        mean_squared += weight[i] * at * at
        variance += weight[i] * var
        variance_squared += weight[i] * var * var
        product += weight[i] * given[i] * at
    return log_norm, mean, mean_squared, variance, variance_squared, product


@compiled
def entropic_averages(eta: float, xi: float, step: float) -> tuple[float, float, float, float, float]:
    """`weight_sums` over z of a unit Gaussian centred at x = eta + sqrt(xi) z and kept positive."""
    root = math.sqrt(xi)
    x, weight = field_nodes(-eta / root, 1.0 / root, step)
    return weight_sums(np.inf, x, weight, weight, False)[:5]


@compiled
def pattern_sums(a: Floats, weight: Floats, penalty: float) -> Floats:
    """Averages of ln K, R = -d ln K / da, R^2, R (R - a) and its square, and of the probability of an error.

    K is H, or eps + (1 - eps) H with eps = exp(-penalty), so that R = G / H or (1 - eps) G / K.
    """
    log_kept, result = math.log1p(-math.exp(-penalty)), np.zeros(6)
    for i in range(weight.size):
        w = weight[i]
        if w < 1e-30:
            continue
        log_sum, R, _, variance = mills(a[i])
        # Far below zero 1 - variance has no digits left, and R (R - a) is exact.
        bend, rest = R * (R - a[i]) if a[i] < 0.0 else 1.0 - variance, 0.0
        if penalty < np.inf:
            met, missed = log_kept + log_sum, -penalty
            log_sum = max(met, missed) + math.log1p(math.exp(-abs(met - missed)))
            # The share of the weight of a pattern that does not come from giving it up.
            share = math.exp(met - log_sum)
            rest = math.exp(missed - log_sum)
            bend = share * (bend - rest * R * R)
            R *= share
            result[5] += w * rest * mass_beyond(-a[i])
        result[0] += w * log_sum
        result[1] += w * R
        result[2] += w * R * R
        result[3] += w * bend
        result[4] += w * bend * bend
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
def energetic_averages(steepness: float, shift: float, step: float, penalty: float) -> Floats:
    """`pattern_sums` over z at a = steepness z + shift; the penalty of a wrong pattern may be infinite.

    With a finite one the functions bend at a = 0 and where patterns are given up; if these places are far apart, the
    average is parted smoothly between nodes that crowd at either.
    """
    end, result = 0.0, np.zeros(6)
    if penalty < np.inf:
        end, step = given_up_at(penalty), FINER * step
    parted = end > FAR_APART
    for place in range(2 if parted else 1):
        centre, width = 0.5 * end, 1.0
        if parted:
            centre, width = (0.0, 1.0) if place == 0 else (end, 2.0 / end)
        x, weight = field_nodes((centre - shift) / steepness, width / steepness, step)
        a = centre + width * x
        if parted:
            for i in range(weight.size):
                weight[i] *= mass_beyond(16.0 * (a[i] if place == 0 else end - a[i]) / end - 8.0)
        result += pattern_sums(a, weight, penalty)
    return result


# Inner loops for weights between zero and a largest one, which is the unit of all weights here.

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
def kept_between_each(a: Floats, h: Floats) -> tuple[Floats, Floats, Floats]:
    """`kept_between` at every pair of entries of two 1-D arrays."""
    log_norm, mean, variance = np.empty(h.size), np.empty(h.size), np.empty(h.size)
    for i in range(h.size):
        log_norm[i], mean[i], variance[i] = kept_between(a[i], h[i])
    return log_norm, mean, variance


@compiled
def bounded_averages(a: float, q: float, eta: float, step: float) -> tuple[float, float, float, float, float]:
    """`weight_sums` over z of the law exp(-a w^2 / 2 + h w) on 0 <= w <= 1 in the field h = eta + sqrt(q) z.

    As functions of h these bend at 0 and at a. Near capacity the two are far apart: the average is then parted smoothly
    between nodes that crowd at either bend.
    """
    root = math.sqrt(q)
    if a < TWO_BENDS:
        unit = 3.0 + max(a, 0.0) / 6.0
        x, weight = field_nodes((0.5 * a - eta) / root, unit / root, step)
        return weight_sums(a, 0.5 * a + unit * x, weight, weight, False)[:5]
    u, total = math.sqrt(a), np.zeros(5)
    for end in range(2):
        # At the upper end the law is the mirror image of the one at the lower, in the field a - h.
        centre = -eta / root if end == 0 else (eta - a) / root
        x, weight = field_nodes(centre, u / root, FINER * step)
        for i in range(weight.size):
            weight[i] *= mass_beyond(16.0 * x[i] / u - 8.0)  # the share that belongs to this end
        total += np.array(weight_sums(a, u * x, weight, weight, end == 1)[:5])
    return total[0], total[1], total[2], total[3], total[4]


@compiled
def centre(
    mean: float, a: float, q: float, rate: float, guess: float, step: float, rule: tuple[Floats, Floats]
) -> float:
    """The eta at which the average mean has the required value; NaN if not found.

    The law is that of `bounded_averages` if a is finite, else that of `taught_averages` if there is a rate, else that
    of `entropic_averages`. The mean grows with eta, and is convex on the half line. Newton's method on its logarithm,
    or its logit, is used in a bracket, with bisection if a step leaves it or is not at most half the previous one.
    """
    bounded = a < np.inf
    low, high = -np.inf, np.inf if bounded else mean
    if bounded:
        eta = a * mean + 1.0 / (1.0 - mean) - 1.0 / mean
    elif math.isnan(guess):
        eta = mean if mean > 1.0 else -1.0 / mean
    else:
        eta = min(guess, mean)
    last, root, bend = np.inf, math.sqrt(q), np.inf
    y = weight = np.empty(0)
    for _ in range(300):
        if bounded:
            _, now, _, slope, _ = bounded_averages(a, q, eta, step)
        elif rate > 0.0:
            if not abs(eta - bend) <= 0.2:  # the bend is elsewhere, by a part of its width
                bend = eta
                y, weight, _ = _taught_nodes(rate, -eta / root, 1.0 / root, rule)
            _, now, _, slope, _, _ = weight_sums(np.inf, eta + root * y, weight, weight, False)
        else:
            _, now, _, slope, _ = entropic_averages(eta, q, step)
        if now > mean:
            high = min(high, eta)
        else:
            low = max(low, eta)
        # The logit of the mean is closer to a straight line than the mean.
        change = math.log(mean / now * (1.0 - now) / (1.0 - mean)) * (1.0 - now) if bounded else math.log(mean / now)
        change *= now / slope
        if low == -np.inf or high == np.inf:
            reach = 2.0 * abs(eta) + (1.0 + root if bounded else 1.0)
            change = change if abs(change) < reach else math.copysign(reach, mean - now)
        elif not low <= eta + change <= high or abs(change) > 0.5 * last:
            change = 0.5 * (low + high) - eta
        eta += change
        # The error of Newton's method is the square of the last step.
        if (abs(change) <= 1e-9 * (abs(eta) + 1e-3) and abs(now / mean - 1.0) < 1e-7) or low == high:
            return eta
        last = abs(change)
    return np.nan


# Inner loops of the theory of noise and of teachers: Gaussian averages with panels where the integrands bend.

RANGE = 9.0  # deviations of a Gaussian average: the mass beyond is 2e-19

PANEL = 3.0  # longest Gauss-Legendre panel, in deviations

DEEP = 42.0  # exponent beyond which an exponential tail is negligible

MOST_PANELS = 256

MOST_EXPONENT = 700.0

SMALL = 1e-9  # steps of Newton's method below this end when they no longer shrink: the rest is rounding

CROSS_ENTROPY, NORMAL_INTEGRAL = 0, 1  # the losses of proximal.py

FIELD_PANEL, ROUGH = 1.5, 60  # longest panel in deviations of the field, and places from which panels are found


@compiled
def _cut(low: float, high: float, longest: float, bends: Floats, widths: Floats, edges: Floats) -> int:
    """Cut [low, high] into panels no longer than ``longest`` or, near a bend, than two widths or the distance to it."""
    a_waiting, b_waiting = np.empty(64), np.empty(64)
    edges[0] = low
    done = 0
    pieces = min(max(1, math.ceil((high - low) / longest)), edges.size // 2)
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
                allowed = min(allowed, max(2.0 * widths[k], distance))
            if b - a <= allowed or waiting >= 62 or done + waiting + pieces - piece >= edges.size - 2:
                done += 1
                edges[done] = b
            else:
                middle = 0.5 * (a + b)
                a_waiting[waiting], b_waiting[waiting] = middle, b
                a_waiting[waiting + 1], b_waiting[waiting + 1] = a, middle
                waiting += 2
    return done


@compiled
def typical_error(
    steepness: float, shift: float, offset: float, along: float, across: float, sd: float, rule: tuple[Floats, Floats]
) -> float:
    """E of the probability that offset + along x + across z + sd (a normal number) is negative [noise-typical].

    x is normal; z is normal and cut at z > shift - steepness x. All are in units of the standard deviations of the
    somatic input that solutions share (x) and do not share (z).
    """
    node, weight = field_nodes(shift / steepness, 1.0 / steepness, 0.12)
    edges, bend, width = np.empty(MOST_PANELS), np.empty(1), np.full(1, sd / abs(across))
    nodes, weights = rule
    total = 0.0
    for i in range(node.size):
        if weight[i] < 1e-25:
            continue
        start = -node[i]
        x = (shift + node[i]) / steepness
        below = offset + along * x
        low = max(start, -RANGE)
        # the density of z beyond its cut falls like exp(-start w - w^2 / 2)
        high = RANGE if start < 0.0 else start + 2.0 * DEEP / (start + math.sqrt(start * start + 2.0 * DEEP))
        longest = PANEL if start < 1.0 else PANEL / start
        bend[0] = -below / across
        count = _cut(low, high, longest, bend, width, edges)
        inner = 0.0
        for panel in range(count):
            middle, half = 0.5 * (edges[panel] + edges[panel + 1]), 0.5 * (edges[panel + 1] - edges[panel])
            for j in range(nodes.size):
                z = middle + half * nodes[j]
                # G(z) / H(start), far from the mean without the underflow of both
                beyond = z - start
                given = density(z) if start < 0.0 else math.exp(-beyond * (start + 0.5 * beyond))
                inner += half * weights[j] * given * mass_beyond((below + across * z) / sd)
        norm = 1.0 / mass_beyond(start) if start < 0.0 else mills(start)[1]
        total += weight[i] * norm * inner
    return total


@compiled
def equal_costs(tau: float) -> tuple[float, float]:
    """The two responses x to the field t at which giving up a pattern costs as much as correcting it.

    Of H(x) + (x - t)^2 / (2 tau), whose stationary fields are t = x - tau G(x). Up to tau = 1 / G(1) the response is
    continuous, and both are -1.
    """
    steepest = 1.0 / density(1.0)
    if tau <= steepest:
        return -1.0, -1.0
    # x G(x) = -1 / tau at the two ends of the unstable branch
    low_turn, high_turn = _bisected(-40.0, -1.0, np.inf, tau), _bisected(0.0, -1.0, np.inf, tau)
    low, high = high_turn - tau * density(high_turn), low_turn - tau * density(low_turn)
    low = max(low, -1.0 - math.sqrt(2.0 * tau))  # from further away the way alone costs more than the pattern
    farthest = math.sqrt(2.0 * math.log(tau)) + 1.0  # where the push is below one half
    t, last = 0.5 * (low + high), np.inf
    for _ in range(60):
        given_up, saved = _bisected(t - 1.0, low_turn, t, tau), _bisected(high_turn, farthest, t, tau)
        excess = mass_beyond(saved) + 0.5 * tau * density(saved) ** 2
        excess -= mass_beyond(given_up) + 0.5 * tau * density(given_up) ** 2
        # further up it is cheaper to save
        if excess < 0.0:
            high = t
        else:
            low = t
        # the cost of a response falls with t at the rate push / tau
        ahead = t + tau * excess / (saved - given_up)
        change = abs(ahead - t)
        if change <= 1e-15 * (1.0 + abs(t)) or change >= last < SMALL:
            break
        t, last = ahead if low < ahead < high else 0.5 * (low + high), change
    return given_up, saved


@compiled
def _bisected(low: float, high: float, t: float, tau: float) -> float:
    """Where x - tau G(x), which rises here, is t; or, at an infinite t, where it turns, from falling to rising."""
    for _ in range(70):
        x = 0.5 * (low + high)
        push = tau * density(x)
        if (x - push < t) if t < np.inf else (1.0 + x * push > 0.0):
            low = x
        else:
            high = x
    return 0.5 * (low + high)


@compiled
def _push(loss: int, width: float, log_tau: float, x: float) -> float:
    """-tau times the slope of the loss at the margin x."""
    if loss == NORMAL_INTEGRAL:
        return PEAK * math.exp(log_tau - 0.5 * x * x)
    y = x / width
    if y > 0.0:
        return math.exp(min(log_tau - y, MOST_EXPONENT)) / (1.0 + math.exp(-y))
    return math.exp(min(log_tau, MOST_EXPONENT)) / (1.0 + math.exp(y))


@compiled
def _stiffness(loss: int, width: float, x: float, push: float) -> float:
    """tau times the curvature of the loss at the margin x, from its push."""
    if loss == NORMAL_INTEGRAL:
        return x * push
    below = math.exp(-abs(x) / width)
    return push / width * (1.0 if x > 0.0 else below) / (1.0 + below)


@compiled
def response_nodes(
    loss: int,
    width: float,
    log_tau: float,
    field: tuple[float, float],
    ends: tuple[float, float],
    bends: Floats,
    rule: tuple[Floats, Floats],
) -> tuple[Floats, Floats, Floats, Floats]:
    """Margins x, pushes, stiffnesses and weights of an average over normal fields t = x - push(x) [proximal].

    ``field`` holds mean and standard deviation of t, ``ends`` the interval of x, on which t rises with x. Panels end at
    the ``bends`` and, roughly, at multiples of the standard deviation: these keep a panel from spanning too much of the
    Gaussian.
    """
    mean, sd = field
    low, high = ends
    inside = bends[(bends > low) & (bends < high)]
    rough = np.sort(np.concatenate((np.linspace(low, high, ROUGH), inside)))
    fields = np.empty(rough.size)
    for i in range(rough.size):
        fields[i] = rough[i] - _push(loss, width, log_tau, rough[i])
    deviations = np.arange(-RANGE, RANGE + FIELD_PANEL, FIELD_PANEL)
    steps = np.interp(mean + sd * deviations, fields, rough)
    edges = np.sort(np.concatenate((np.array([low, high]), steps, inside)))
    nodes, weights = rule
    n = nodes.size
    most = (edges.size - 1) * n
    x, pushes, stiffnesses, weight = np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    count = 0
    end = edges[0] - _push(loss, width, log_tau, edges[0])
    for panel in range(edges.size - 1):
        start, half = end, 0.5 * (edges[panel + 1] - edges[panel])
        if half == 0.0:
            continue
        end = edges[panel + 1] - _push(loss, width, log_tau, edges[panel + 1])
        if end < mean - RANGE * sd or start > mean + RANGE * sd:
            continue
        for j in range(n):
            at = edges[panel] + half * (1.0 + nodes[j])
            push = _push(loss, width, log_tau, at)
            stiffness = _stiffness(loss, width, at, push)
            given = (1.0 + stiffness) * density((at - push - mean) / sd) / sd
            x[count], pushes[count], stiffnesses[count] = at, push, stiffness
            weight[count] = half * weights[j] * given
            count += 1
    return x[:count], pushes[:count], stiffnesses[:count], weight[:count]


@compiled
def response_sums(push: Floats, stiffness: Floats, weight: Floats) -> tuple[float, float, float, float, float, float]:
    """Averages of p, p^2, r p, r p^2, r s and r s p, where p is the push, s the stiffness, and r = 1 / (1 + s)."""
    first = second = given = given_second = bent = bent_push = 0.0
    for i in range(push.size):
        pushed, kept = weight[i] * push[i], 1.0 / (1.0 + stiffness[i])
        first += pushed
        second += pushed * push[i]
        given += pushed * kept
        given_second += pushed * push[i] * kept
        bent += weight[i] * kept * stiffness[i]
        bent_push += pushed * kept * stiffness[i]
    return first, second, given, given_second, bent, bent_push


@compiled
def _taught_nodes(rate: float, bend: float, width: float, rule: tuple[Floats, Floats]) -> tuple[Floats, Floats, Floats]:
    """Nodes y and weights of an average over y = e / rate + z, e exponential and z normal, both of unit size.

    The averaged functions bend at one point, on the scale ``width``. Also returns the mean of e given y.
    """
    middle = rate + RANGE
    high = max(RANGE, middle + DEEP / rate) if rate < DEEP else RANGE
    edges, bends, widths = np.empty(MOST_PANELS), np.full(1, bend), np.full(1, width)
    done = _cut(-RANGE, min(middle, high), 1.5, bends, widths, edges)
    if high > middle:  # beyond the Gaussian part the density is an exponential of the given rate
        done += _cut(middle, high, max(1.5, 2.0 / rate), bends, widths, edges[done:])
    nodes, weights = rule
    n = nodes.size
    y, weight, given = np.empty(done * n), np.empty(done * n), np.empty(done * n)
    for i in range(done):
        half = 0.5 * (edges[i + 1] - edges[i])
        for j in range(n):
            at = edges[i] + half * (1.0 + nodes[j])
            # rate exp(rate (rate / 2 - y)) H(rate - y), in a form that cannot overflow; e / rate is a normal number
            # centred at y - rate and kept positive
            _, R, mean, _ = mills(rate - at)
            if at < rate:
                likely = rate * density(at) / R
            else:
                likely = rate * math.exp(rate * (0.5 * rate - at)) * mass_beyond(rate - at)
            y[i * n + j], weight[i * n + j], given[i * n + j] = at, half * weights[j] * likely, rate * mean
    return y, weight, given


@compiled
def taught_averages(
    eta: float, xi: float, rate: float, rule: tuple[Floats, Floats]
) -> tuple[float, float, float, float, float, float]:
    """`weight_sums` over y = e / rate + z of a unit Gaussian centred at x = eta + sqrt(xi) y; ``given`` is e."""
    root = math.sqrt(xi)
    y, weight, teacher = _taught_nodes(rate, -eta / root, 1.0 / root, rule)
    return weight_sums(np.inf, eta + root * y, weight, teacher, False)


@compiled
def taught_energy(steepness: float, certainty: float, step: float) -> Floats:
    """`pattern_sums` at a = -steepness z, over normal z weighted by 2 H(-certainty z)."""
    z, weight = field_nodes(0.0, 1.0 / max(steepness, certainty), step)
    z /= max(steepness, certainty)
    for i in range(z.size):
        weight[i] *= 2.0 * mass_beyond(-certainty * z[i])
    return pattern_sums(-steepness * z, weight, np.inf)


# Inner loops of the local entropy: averages over a reference, and over what counted solutions share beyond it.

COUPLED_RANGE = 8.0  # deviations of a Gaussian average: the mass beyond is 1e-15

COUPLED_PANEL = 2.0  # longest Gauss-Legendre panel, in units of the scale on which an integrand bends

COUPLED_DEEP = 37.0  # exponent beyond which an exponential tail does not count


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
    for panel in range(_cut(-COUPLED_RANGE, COUPLED_RANGE, COUPLED_PANEL, bends, widths, outer)):
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
                near, far = max(mu - COUPLED_RANGE, 0.0), mu + COUPLED_RANGE
                size = 1.0
                if mu < 0.0:
                    near, far = 0.0, 2.0 * COUPLED_DEEP / (-mu + math.sqrt(mu * mu + 2.0 * COUPLED_DEEP))
                    size = min(1.0, -1.0 / mu)
                one, other = cos * near, cos * far
                low, high = min(one, other) - COUPLED_RANGE * sin, max(one, other) + COUPLED_RANGE * sin
                if sin == 0.0:
                    low, high = min(one, other), max(one, other)
                # The edge x = 0 is smeared over sin; F bends at h = 0.
                inner_bends[0], inner_widths[0] = 0.0, sin
                inner_bends[1], inner_widths[1] = -base / scale, 1.0 / scale
                if mu > COUPLED_RANGE or sin == 0.0:
                    inner_widths[0] = np.inf  # no edge within the range, or at its end
                longest = COUPLED_PANEL * max(sin, abs(cos) * size)
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
