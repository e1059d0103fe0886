"""Inner loops of the theory of noise and of teachers: Gaussian averages with panels where the integrands bend."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dendrocap.numerics._compiled import PEAK, compiled, density, kept_positive, mass_beyond, mills
from dendrocap.theory._kernels import field_nodes, towards_mean

__all__ = [
    "CROSS_ENTROPY",
    "NORMAL_INTEGRAL",
    "equal_costs",
    "response_nodes",
    "response_sums",
    "taught_averages",
    "taught_centre",
    "taught_energy",
    "typical_error",
]

Floats = NDArray[np.float64]

RANGE = 9.0  # deviations of a Gaussian average: the mass beyond is 2e-19
PANEL = 3.0  # longest Gauss-Legendre panel, in deviations
STEP_EDGES = (-8.0, -4.0, -1.5, 1.5, 4.0, 8.0)  # around the step of a Gaussian integral, in its deviations
DEEP = 42.0  # exponent beyond which an exponential tail is negligible
MOST_PANELS = 512
MOST_EXPONENT = 700.0
SMALL = 1e-9  # steps of Newton's method below this end when they no longer shrink: the rest is rounding
CROSS_ENTROPY, NORMAL_INTEGRAL = 0, 1  # the losses of proximal.py
FIELD_PANEL, ROUGH = 1.5, 60  # longest panel in deviations of the field, and places from which panels are found


@compiled
def typical_error(
    steepness: float, shift: float, offset: float, along: float, across: float, sd: float, rule: tuple[Floats, Floats]
) -> float:
    """E of the probability that offset + along x + across z + sd (a normal number) is negative [noise-typical].

    x is normal; z is normal and cut at z > shift - steepness x. All are in units of the standard deviations of the
    somatic input that solutions share (x) and do not share (z).
    """
    node, weight = field_nodes(shift / steepness, 1.0 / steepness, 0.12)
    edges = np.empty(64)
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
        count = _edges_around(low, high, -below / across, sd / abs(across), longest, edges)
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
def _edges_around(low: float, high: float, step: float, width: float, longest: float, edges: Floats) -> int:
    """Cut [low, high] around a step of the given width and into pieces no longer than ``longest``."""
    edges[0] = low
    count = 0
    for k in range(len(STEP_EDGES) + 1):
        target = min(step + STEP_EDGES[k] * width, high) if k < len(STEP_EDGES) else high
        gap = target - edges[count]
        if gap <= 0.0:
            continue
        pieces = min(math.ceil(gap / longest), edges.size - 2 - count)
        start = edges[count]
        for piece in range(1, pieces + 1):
            edges[count + piece] = start + gap * piece / pieces
        count += pieces
    return count


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
    low_turn = _bisected_turn(-1.0, -40.0, tau)
    high_turn = _bisected_turn(-1.0, 0.0, tau)
    low, high = high_turn - tau * density(high_turn), low_turn - tau * density(low_turn)
    low = max(low, -1.0 - math.sqrt(2.0 * tau))  # from further away the way alone costs more than the pattern
    farthest = math.sqrt(2.0 * math.log(tau)) + 1.0  # where the push is below one half
    t, given_up, saved = 0.5 * (low + high), low_turn, 0.5 * (high_turn + farthest)
    last = np.inf
    for _ in range(60):
        given_up = _response(t - 1.0, low_turn, t, t, tau, False)
        saved = _response(high_turn, farthest, saved, t, tau, True)
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
def _bisected_turn(inner: float, outer: float, tau: float) -> float:
    """The zero of 1 + tau x G(x), which is negative at ``inner`` and positive at ``outer``."""
    for _ in range(60):
        middle = 0.5 * (inner + outer)
        if 1.0 + tau * middle * density(middle) < 0.0:
            inner = middle
        else:
            outer = middle
    return 0.5 * (inner + outer)


@compiled
def _response(low: float, high: float, x: float, t: float, tau: float, strong: bool) -> float:
    """Where x - tau G(x) = t on a branch on which the left side rises: Newton's method, halving where it leaves.

    Where the push is ``strong`` it falls by orders of magnitude along the branch, and logarithms are compared.
    """
    last = np.inf
    for _ in range(100):
        push = tau * density(x)
        miss, slope = x - push - t, 1.0 + x * push
        if strong and push > 0.0 and x > t:
            miss, slope = math.log((x - t) / push), x + 1.0 / (x - t)
        if miss < 0.0:
            low = x
        else:
            high = x
        ahead = x - miss / slope if slope > 0.0 else low
        change = abs(ahead - x)
        # Before the bracket is asked: at the root its end is here, and halving it would lead away again.
        if slope > 0.0 and (change <= 1e-15 * (1.0 + abs(x)) or change >= last < SMALL):
            return x
        x, last = ahead if low < ahead < high else 0.5 * (low + high), change
    return x


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
    low, middle = -RANGE, rate + RANGE
    high = max(RANGE, middle + DEEP / rate) if rate < DEEP else RANGE
    a_waiting, b_waiting = np.empty(64), np.empty(64)
    starts, ends = np.empty(MOST_PANELS), np.empty(MOST_PANELS)
    done, waiting = 0, 1
    a_waiting[0], b_waiting[0] = low, high
    while waiting > 0:
        waiting -= 1
        a, b = a_waiting[waiting], b_waiting[waiting]
        distance = max(max(a - bend, bend - b), 0.0)
        # Beyond the Gaussian part the density is an exponential of the given rate.
        longest = 1.5 if a < middle else max(1.5, 2.0 / rate)
        if b - a <= min(longest, max(2.0 * width, distance)) or waiting >= 62 or done + waiting > MOST_PANELS - 3:
            starts[done], ends[done] = a, b
            done += 1
        else:
            a_waiting[waiting], b_waiting[waiting] = 0.5 * (a + b), b
            a_waiting[waiting + 1], b_waiting[waiting + 1] = a, 0.5 * (a + b)
            waiting += 2
    nodes, weights = rule
    n = nodes.size
    y, weight, given = np.empty(done * n), np.empty(done * n), np.empty(done * n)
    for i in range(done):
        half = 0.5 * (ends[i] - starts[i])
        for j in range(n):
            at = 0.5 * (starts[i] + ends[i]) + half * nodes[j]
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
def taught_averages(eta: float, xi: float, rate: float, rule: tuple[Floats, Floats]) -> Floats:
    """Averages over y = e / rate + z of a unit Gaussian centred at x = eta + sqrt(xi) y and kept positive.

    Returns those of ln of its normaliser, of its mean, squared mean, variance, and of e times its mean.
    """
    root = math.sqrt(xi)
    y, weight, teacher = _taught_nodes(rate, -eta / root, 1.0 / root, rule)
    result = np.zeros(5)
    for i in range(y.size):
        log_norm, mean, variance = kept_positive(eta + root * y[i])
        result[0] += weight[i] * log_norm
        result[1] += weight[i] * mean
        result[2] += weight[i] * mean * mean
        result[3] += weight[i] * variance
        result[4] += weight[i] * mean * teacher[i]
    return result


@compiled
def taught_centre(mean: float, xi: float, rate: float, guess: float, rule: tuple[Floats, Floats]) -> float:
    """The eta at which the average mean of `taught_averages` has the required value; NaN if not found."""
    low, high = -np.inf, mean
    eta = min(guess, mean)
    last, root = np.inf, math.sqrt(xi)
    centre = eta
    y, weight, _ = _taught_nodes(rate, -eta / root, 1.0 / root, rule)
    for _ in range(200):
        if abs(eta - centre) > 0.2:  # the bend is elsewhere, by a part of its width
            centre = eta
            y, weight, _ = _taught_nodes(rate, -eta / root, 1.0 / root, rule)
        average = variance = 0.0
        for i in range(y.size):
            _, _, first, second = mills(-eta - root * y[i])
            average += weight[i] * first
            variance += weight[i] * second
        low, high, change, found = towards_mean(mean, average, variance, eta, low, high, last)
        eta += change
        if found:
            return eta
        last = abs(change)
    return np.nan


@compiled
def taught_energy(steepness: float, certainty: float, step: float) -> Floats:
    """Averages of ln H, R^2 and R (R - a) at a = -steepness z, over normal z weighted by 2 H(-certainty z)."""
    node, weight = field_nodes(0.0, 1.0 / max(steepness, certainty), step)
    result = np.zeros(3)
    for i in range(node.size):
        z = node[i] / max(steepness, certainty)
        w = weight[i] * 2.0 * mass_beyond(-certainty * z)
        a = -steepness * z
        log_tail, R, _, variance = mills(a)
        result[0] += w * log_tail
        result[1] += w * R * R
        result[2] += w * (R * (R - a) if a < 0.0 else 1.0 - variance)
    return result
