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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from dendrocap.errors import ConvergenceError, InvalidParameter, NoSolution
from dendrocap.model import (
    Custom,
    Linear,
    NeuronSpec,
    Nonlinearity,
    PiecewiseCubic,
    PiecewiseLinear,
    ReLU,
    SaturatingReLU,
    Tabulated,
    TaskSpec,
)
from dendrocap.numerics import hermite_rule, legendre_rule
from dendrocap.numerics.types import Floats
from dendrocap.theory import _dendrite
from dendrocap.theory.solver import bracketed_root, monotone_root
from dendrocap.validation import real_number, refuse

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
    return lambda theta, s, m: Moments(*_dendrite.piecewise_linear_sums(*pieces, theta, s, m))


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
            u, x, w = _dendrite.nodes_and_weights(knots, s, m, nodes, weights)
            return Moments(*_dendrite.sums_at_nodes(g(u), g.derivative(u), theta, x, w))

        return summed
    kernel, flat = g.kernel(), g.flat_ends
    return lambda theta, s, m: Moments(*_dendrite.quadrature_sums(*kernel, knots, *flat, theta, s, m, nodes, weights))


def check_averages(g: Nonlinearity, theta: float, s: float, m: float) -> None:
    """Raise for a user-defined g whose averages do not converge, or whose slope contradicts its values.

    There are two estimates of the error: the change with half as many points more, which shows unresolved panels; and
    the difference of E g' and E[(g - theta) x] / s, equal by parts, which shows a wrong derivative or a jump.
    """
    if not isinstance(g, Custom):
        return
    rough = prepared(g)(theta, s, m)
    u, x, w = _dendrite.nodes_and_weights(np.array(g.knots, dtype=np.float64), s, m, *legendre_rule(3 * ORDER // 2))
    values = g(u)
    fine = Moments(*_dendrite.sums_at_nodes(values, g.derivative(u), theta, x, w))
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
        u, _, w = _dendrite.nodes_and_weights(cuts, sd, mean, *legendre_rule(order))
        results.append(math.fsum(w * np.asarray(function(u), dtype=np.float64)))
    return Estimate(results[1], abs(results[1] - results[0]))


# All mean inputs that give a branch its mean output, for non-monotone g.

ROUNDING = 1e-13  # of E g


def all_mean_inputs(g: Nonlinearity, theta: float, s: float) -> list[float]:
    """All solutions m of E g(m + s x) = theta, for a non-monotone g.

    E g is smooth on the scale s and bends where g does. A grid of half of s, and of an eighth of each piece of g, shows
    its crossings; if it turns between two points on one side of the threshold, its turning point is checked too.
    """
    averages, knots = prepared(g), np.array(g.knots)
    low, high = knots[0] - 8.0 * s, knots[-1] + 8.0 * s
    even = np.linspace(low, high, int(min(max((high - low) / (0.5 * s), 64), 600)))
    pieces = (knots[:-1, None] + np.diff(knots)[:, None] * np.arange(8) / 8.0).ravel()
    far = np.geomspace(1e-3, 1e6, 46)
    near = np.unique(np.concatenate([even, pieces]))
    # Search further out only if necessary: an oscillating g has infinitely many solutions beyond its domain.
    return _crossings(averages, theta, s, near) or _crossings(
        averages, theta, s, np.concatenate([(low - far)[::-1], [low, high], high + far])
    )


def _crossings(averages: Callable[[float, float, float], Moments], theta: float, s: float, grid: Floats) -> list[float]:
    """Solutions of E g = theta between the points of a grid."""

    def excess(m: float) -> float:
        return averages(theta, s, m).mean

    found = [averages(theta, s, m) for m in grid.tolist()]
    roots: list[float] = []
    for left in range(len(grid) - 1):
        (a, at_a), (b, at_b) = (grid[left], found[left]), (grid[left + 1], found[left + 1])
        if max(abs(at_a.mean), abs(at_b.mean)) < ROUNDING * (1.0 + abs(theta)):
            continue  # g approaches the threshold far out
        if at_a.mean * at_b.mean < 0.0:
            roots.append(bracketed_root(excess, a, b).at)
        elif at_a.mean == 0.0 and left > 0 and found[left - 1].mean * at_b.mean < 0.0:
            roots.append(float(a))
        elif at_a.mean * at_a.slope < 0.0 < at_b.mean * at_b.slope:  # it comes closer and goes away again
            turn = bracketed_root(lambda m: averages(theta, s, m).slope, a, b).at
            if excess(turn) * at_a.mean < 0.0:
                roots += [bracketed_root(excess, a, turn).at, bracketed_root(excess, turn, b).at]
    return roots


# How a dendritic tree transforms the variance of its synaptic input into signal and noise at the soma.
#
# One level maps the variance V of its input to the variance of its output; its mean input m is such that its mean
# output meets the threshold of the next level [mean-input]. Levels compose, so that a tree of any depth enters the
# theory through four numbers [tree]: Gamma_0, the variance at the soma; Gamma_1, the gain of a small difference
# between two solutions; and their derivatives in Q. These are total derivatives: m follows Q (paper notes, item 8).
# Inputs that are correlated within a branch add a constant chi to V and change nothing else [correlated-input].


class Response(NamedTuple):
    """The response of one level to a normal input of variance V, at the mean input required by its threshold."""

    mean: float  # m, the mean input
    slope: float  # E g'
    variance: float  # Var g
    gain: float  # E g'^2
    d_mean: float  # dm / dV
    d_variance: float  # dVar g / dV
    d_gain: float  # dE g'^2 / dV


class TreeResponse(NamedTuple):
    """The combined response of all levels, as functions of Q [tree]."""

    Gamma0: float
    Gamma1: float
    dGamma0: float
    dGamma1: float
    slope: float  # product of E g' over the levels
    sd: float  # of the input to a branch of the first level
    means: tuple[float, ...]  # mean input of each level
    d_mean: float  # derivative of the first of them


@lru_cache(maxsize=256)
def is_monotone(g: Nonlinearity) -> bool:
    """Whether g never falls, so that its mean input is unique; a user's own g is sampled."""
    if not isinstance(g, Custom | PiecewiseLinear | Tabulated):
        return True
    low, high = g.domain if isinstance(g, Custom) else (g.x[0], g.x[-1])
    return bool(np.all(np.diff(g(np.linspace(low, high, 4001))) >= 0.0))


def response(g: Nonlinearity, theta: float, variance: float, guess: float) -> Response:
    """The response of a level whose mean output is theta; ``guess`` is a mean input to start from."""
    s, averages = math.sqrt(variance), prepared(g)

    def excess(m: float) -> tuple[float, float]:
        found = averages(theta, s, m)
        return found.mean, found.slope

    m = monotone_root(excess, guess, s).at
    found = averages(theta, s, m)
    if found.slope == 0.0:
        raise ConvergenceError(f"the mean output of {g!r} no longer depends on its mean input at m = {m:g}", m)
    # [total-derivatives] E g'' = E[g' x] / s by parts, which needs no second derivative at a kink.
    d_mean = -found.slope_x / (2.0 * s * found.slope)
    return Response(
        mean=m,
        slope=found.slope,
        variance=found.variance,
        gain=found.gain,
        d_mean=d_mean,
        d_variance=found.cross_x / s + 2.0 * found.cross * d_mean,
        d_gain=0.5 * found.gain_xx / variance + found.gain_x / s * d_mean,
    )


def common_variance(neuron: NeuronSpec, task: TaskSpec) -> float:
    """chi, the variance that correlated inputs add to a long branch's input in every solution [correlated-input].

    The inputs of a branch fluctuate together; the effect of their common part depends only on the mean weight.
    """
    v, W_bar = task.f_in * (1.0 - task.f_in), neuron.tree[0].theta / task.f_in
    return task.branch_correlation * v * W_bar**2


Levels = Sequence[tuple[Nonlinearity, float]]  # each g, with the threshold that its mean output must meet


def tree_response(neuron: NeuronSpec, task: TaskSpec, Q: float, guess: tuple[float, ...] | None = None) -> TreeResponse:
    """The response of all levels at squared norm Q; with a guess, of the nearest branch of solutions."""
    v = task.f_in * (1.0 - task.f_in)
    return levels_response(levels_with_thresholds(neuron), v * Q + common_variance(neuron, task), v, guess)


def levels_response(levels: Levels, V: float, v: float, guess: tuple[float, ...] | None = None) -> TreeResponse:
    """The same for inputs of variance V, whose derivative in Q is v."""
    variance, d_variance, gain, log_d_gain, slope = V, v, v, 0.0, 1.0
    means: list[float] = []
    d_mean = 0.0
    for number, (g, theta) in enumerate(levels):
        start = inverse_guess(g, theta) if guess is None else guess[number]
        level = response(g, theta, variance, start)
        means.append(level.mean)
        d_mean = d_mean if number else level.d_mean * v
        gain *= level.gain
        slope *= level.slope
        log_d_gain += level.d_gain / level.gain * d_variance
        variance, d_variance = level.variance, level.d_variance * d_variance
    return TreeResponse(variance, gain, d_variance, gain * log_d_gain, slope, math.sqrt(V), tuple(means), d_mean)


def response_along(found: Moments, s: float, m: float, v: float, dV: float, dm: float) -> TreeResponse:
    """The response of one level where its variance and mean input change by dV and dm, instead of that in Q."""
    return TreeResponse(
        Gamma0=found.variance,
        Gamma1=v * found.gain,
        dGamma0=found.cross_x / s * dV + 2.0 * found.cross * dm,
        dGamma1=v * (0.5 * found.gain_xx / s**2 * dV + found.gain_x / s * dm),
        slope=found.slope,
        sd=s,
        means=(m,),
        d_mean=dm,
    )


def all_means(levels: Levels, V: float) -> list[tuple[float, ...]]:
    """All solutions of [mean-input] for inputs of variance V, one mean input for each level.

    There may be none: for wide inputs the average of a hump may stay below a threshold that its top exceeds.
    """
    found: list[tuple[tuple[float, ...], float]] = [((), V)]
    for g, theta in levels:
        found = [
            ((*means, m), prepared(g)(theta, math.sqrt(variance), m).variance)
            for means, variance in found
            for m in all_mean_inputs(g, theta, math.sqrt(variance))
        ]
    return [means for means, _ in found]


def check_tree_averages(levels: Levels, V: float, means: tuple[float, ...]) -> None:
    """Raise for a result at inputs of variance V if a user-defined g is not resolved there."""
    if not any(isinstance(g, Custom) for g, _ in levels):
        return
    for (g, theta), m in zip(levels, means, strict=True):
        check_averages(g, theta, math.sqrt(V), m)
        V = prepared(g)(theta, math.sqrt(V), m).variance


def levels_with_thresholds(neuron: NeuronSpec) -> list[tuple[Nonlinearity, float]]:
    """Each level's g with the threshold that its mean output must meet: that of the level above, or the soma's."""
    levels = neuron.tree
    above = [*(level.theta for level in levels[1:]), neuron.theta_s]
    return [(level.nonlinearity, theta) for level, theta in zip(levels, above, strict=True)]


def check_reachable(neuron: NeuronSpec) -> None:
    """Raise for thresholds that the mean output of a level can never meet."""
    for g, theta in levels_with_thresholds(neuron):
        low, high = g.range
        if not low < theta < high:
            raise NoSolution(
                f"no mean input gives {g!r} the mean output {theta:g}: "
                f"the threshold must lie strictly between {low:g} and {high:g}, the range of g"
            )


def check_capacity_inputs(neuron: NeuronSpec) -> None:
    """Raise, with the reason, if there is no finite capacity."""
    if neuron.tree[0].theta == 0.0:
        raise refuse("theta_d", 0.0, "> 0 for the theory: it sets the mean weight theta_d / f_in")
    for level in neuron.tree:
        if level.nonlinearity.has_jumps:
            raise NoSolution(
                f"the replica-symmetric capacity of {level.nonlinearity!r} is infinite: g jumps, so that "
                "E g'^2, the gain of a small difference between solutions, diverges"
            )
    check_reachable(neuron)


@lru_cache(maxsize=1024)
def inverse_guess(g: Nonlinearity, theta: float) -> float:
    """Approximate input at which g passes theta: the mean input at vanishing variance."""
    grid = np.concatenate([-np.geomspace(1e6, 1e-3, 60), [0.0], np.geomspace(1e-3, 1e6, 60)])
    return float(grid[np.argmin(np.abs(g(grid) - theta))])


NODES = 12  # per Gauss-Legendre panel


@dataclass(frozen=True)
class PairKernel:
    """Variance and overlap at the soma.

    Derivatives in Q are total, with the mean inputs following Q, at fixed dq = Q - q; those in dq at fixed Q.
    """

    D0: float  # covariance of the somatic input of two replicas
    D1: float  # the rest of its variance
    dD1_ddq: float  # also C'(q), the derivative of D0 in q
    dD1_dQ: float
    dGamma0_dQ: float  # of the variance D0 + D1
    d2D0_dq2: float  # C''(q) at fixed Q
    mean_slope: float  # product over the levels of E g': the effect of a small shift of the mean input on the soma
    means: tuple[float, ...]  # mean input of each level, fixed by the threshold above it


class BranchPair(NamedTuple):
    """Outputs of one branch in two replicas, for inputs of variance V of which they share all but dV."""

    D0: float
    D1: float
    dD1_ddV: float  # at fixed V
    dD1_dV: float  # at fixed dV, and at a fixed mean input or where it follows V
    dD1_dm: float  # in the mean input, at fixed V and dV
    d2D0_dc2: float  # in the covariance c = V - dV


class BranchKernel:
    """The kernel of one g, which may jump, whose mean output is held at a threshold by its mean input."""

    def __init__(self, nonlinearity: Nonlinearity, threshold: float, nodes: int = NODES) -> None:
        self.nonlinearity = nonlinearity
        self.threshold = threshold
        self.knots, self.kinks = _marks(nonlinearity)
        self._rule, self._smooth_rule = legendre_rule(nodes), hermite_rule(nodes + 4)
        # A user-defined g without a derivative is used through its values alone.
        self._has_slope = not isinstance(nonlinearity, Custom) or nonlinearity.derivative_function is not None
        self._last: tuple[float, Response] | None = None  # V and its response
        self._series: tuple[tuple[float, float, int], Floats] | None = None  # the last Hermite coefficients

    def response(self, V: float) -> Response:
        """Mean pre-activation, output variance and their derivatives at pre-activations of variance V."""
        g = self.nonlinearity
        if self._last is None:
            # A function like the step passes its threshold at a jump.
            guess = float(self.kinks[0]) if g.has_jumps else self._first_guess(V)
        else:
            V_last, last = self._last
            # Linear extrapolation from the last answer is accurate only for small changes.
            guess = last.mean + (last.d_mean * (V - V_last) if abs(V - V_last) < 0.2 * V_last else 0.0)
        by_parts = g.has_jumps or not self._has_slope
        found = self._response_by_parts(V, guess) if by_parts else response(g, self.threshold, V, guess)
        self._last = (V, found)
        return found

    def _first_guess(self, V: float) -> float:
        """A mean input to start from; raises if there are several."""
        if is_monotone(self.nonlinearity):
            return inverse_guess(self.nonlinearity, self.threshold)
        found = all_mean_inputs(self.nonlinearity, self.threshold, math.sqrt(V))
        if len(found) != 1:
            raise NoSolution(
                f"{len(found)} mean inputs give {self.nonlinearity!r} the mean output {self.threshold:g} at a variance "
                f"of {V:g}, because g is not monotone: critical_capacity, saddle_point and stability_limit of one "
                "level of branches look at all of them, deep trees and other functions need exactly one"
            )
        return found[0]

    def _response_by_parts(self, V: float, guess: float) -> Response:
        """The same from values of g alone, except for its gain E g'^2, which is not needed here."""
        from dendrocap.theory._dendrite import branch_nodes

        sd = math.sqrt(V)

        def excess(mean: float) -> tuple[Floats, Floats, Floats]:
            x, weight = branch_nodes(mean, sd, self.knots, *self._rule)
            return np.asarray(self.nonlinearity(mean + sd * x)) - self.threshold, x, weight

        def miss(mean: float) -> tuple[float, float]:
            above, x, weight = excess(mean)
            return float(weight @ above), max(float(weight @ (above * x)) / sd, 0.0)

        mean = monotone_root(miss, guess, sd).at
        above, x, weight = excess(mean)
        slope = float(weight @ (above * x)) / sd
        d_mean = -0.5 * float(weight @ (above * (x * x - 1.0))) / V / slope
        square = weight * above * above
        d_variance = 0.5 * float(square @ (x * x - 1.0)) / V + d_mean * float(square @ x) / sd
        return Response(mean, slope, float(np.sum(square)), math.nan, d_mean, d_variance, math.nan)

    def at(self, V: float, dV: float) -> tuple[Response, BranchPair]:
        """The response of one replica and the outputs of two, with the mean input following V."""
        own = self.response(V)
        pair = self.pair(V, dV, own.mean, self.threshold)
        return own, pair._replace(dD1_dV=pair.dD1_dV + own.d_mean * pair.dD1_dm)

    def pair(self, V: float, dV: float, mean: float, centre: float) -> BranchPair:
        """The outputs of two replicas at a given mean input, centred by ``centre``."""
        from dendrocap.theory._dendrite import common_nodes

        common_sd, rest = math.sqrt(V - dV), math.sqrt(dV)
        common, weight = common_nodes(mean, common_sd, rest, self.knots, self.kinks, *self._rule)
        if math.isnan(common[0]):
            raise ConvergenceError(
                f"too many panels are needed for {self.nonlinearity!r} at variances {V:g} and {dV:g}"
            )
        average, slope, curvature, variance, covariance = self.given_common(common, rest)
        weighted = weight * covariance
        return BranchPair(
            D0=float(weight @ (average - centre) ** 2),
            D1=float(weight @ variance),
            dD1_ddV=float(weight @ slope**2),
            # Along V at fixed dV only the common part changes: by parts.
            dD1_dV=float(weighted @ (common - mean)) / common_sd**2,
            dD1_dm=2.0 * float(np.sum(weighted)),
            d2D0_dc2=float(weight @ curvature**2),
        )

    def series(self, mean: float, sd: float, order: int) -> Floats:
        """Coefficients of g(mean + sd x) in normalised Hermite polynomials, up to an order."""
        from dendrocap.theory._dendrite import hermite_coefficients, series_nodes

        if self._series is None or self._series[0] != (mean, sd, order):
            x, weight = series_nodes(mean, sd, order, self.knots, *self._rule)
            values = np.asarray(self.nonlinearity(mean + sd * x), dtype=np.float64)
            self._series = (mean, sd, order), hermite_coefficients(x, weight * values, order)
        return self._series[1]

    def given_common(self, common: Floats, rest: float) -> Floats:
        """Averages over the part that two inputs do not share, N(0, rest^2), one column per value of the common part.

        Rows: means of g, g' and g'', variance of g, covariance of g and g'.
        """
        from dendrocap.theory._dendrite import conditional_moments, evaluate, rest_nodes

        g = self.nonlinearity
        smooth, start, x, weight_x = rest_nodes(
            common, rest, self.knots, self.kinks, g.flat_ends, self._rule, self._smooth_rule, self._has_slope
        )
        if isinstance(g, Custom):
            at = np.repeat(common, np.diff(start)) + rest * x
            values, slopes = g(at), g.derivative(at) if self._has_slope else np.zeros_like(at)
        else:
            values, slopes = evaluate(*g.kernel(), common, rest, smooth, start, x)
        return conditional_moments(rest, smooth, start, x, weight_x, values, slopes)


@lru_cache(maxsize=64)
def _marks(g: Nonlinearity) -> tuple[Floats, Floats]:
    """The ends of panels, and those of them where g is not analytic."""
    kinks = g.breakpoints
    if isinstance(g, PiecewiseCubic):
        kinks = g.knots  # cubic pieces meet there
    if isinstance(g, Custom):
        kinks = tuple(sorted({*kinks, *g.domain}))  # g may be rough beyond its domain
    return np.array(sorted({*g.knots, *kinks}), dtype=np.float64), np.array(kinks, dtype=np.float64)


# The mixed kernel: covariance of the outputs of two branches whose inputs differ in mean and in width.
#
# Noise gives two such inputs of one branch, the clean and the noisy one; a teacher and its student are two branches
# with the same inputs. Both inputs are normal. Their common part has the variance |correlation| in units of either;
# given this part the outputs are independent, so that one average over it remains [mixed-kernel].

WEAK = 0.8  # up to this correlation a series is faster than an average over the common part

ORDERS = (32, 64, 96, 128, 176)  # of which the last leaves 1e-17 at it


class BranchInput(NamedTuple):
    """Mean and standard deviation of a normal input to a branch."""

    mean: float
    sd: float


class MixedPair(NamedTuple):
    """Outputs g and h of two branches whose inputs u and w covary [mixed-kernel]."""

    mean: float  # E g(u)
    other_mean: float  # E h(w)
    covariance: float  # Cov(g(u), h(w))
    slopes: float  # E g'(u) h'(w), the derivative in the covariance of u and w
    cross: float  # E g'(u) (h(w) - E h), the derivative in the mean of u
    curvature: float  # E g''(u) (h(w) - E h), twice the derivative in the variance of u


def mixed_pair(
    first: BranchKernel, at: BranchInput, second: BranchKernel, other: BranchInput, covariance: float
) -> MixedPair:
    """The outputs of two branches for inputs with this covariance, which must be below sd times sd in size."""
    from dendrocap.theory._dendrite import common_nodes

    correlation = covariance / (at.sd * other.sd)
    if not abs(correlation) < 1.0:
        raise ConvergenceError(f"two inputs cannot have the correlation {correlation:.17g}", correlation)
    if abs(correlation) <= WEAK:
        return _by_series(first, at, second, other, correlation)
    rest, sign = math.sqrt(1.0 - abs(correlation)), math.copysign(1.0, correlation)
    knots, kinks = (
        np.sort(np.concatenate([(mine - at.mean) / at.sd, sign * (yours - other.mean) / other.sd]))
        for mine, yours in ((first.knots, second.knots), (first.kinks, second.kinks))
    )
    shared, weight = common_nodes(0.0, math.sqrt(abs(correlation)), rest, knots, kinks, *legendre_rule(NODES))
    if math.isnan(shared[0]):
        raise ConvergenceError(f"too many panels are needed at the correlation {correlation:.17g}", correlation)
    average, slope, curvature, *_ = first.given_common(at.mean + at.sd * shared, at.sd * rest)
    other_average, other_slope, *_ = second.given_common(other.mean + sign * other.sd * shared, other.sd * rest)
    mean, other_mean = float(weight @ average), float(weight @ other_average)
    deviation = weight * (other_average - other_mean)
    return MixedPair(
        mean=mean,
        other_mean=other_mean,
        covariance=float(deviation @ (average - mean)),
        slopes=float(weight @ (slope * other_slope)),
        cross=float(deviation @ slope),
        curvature=float(deviation @ curvature),
    )


def _by_series(
    first: BranchKernel, at: BranchInput, second: BranchKernel, other: BranchInput, correlation: float
) -> MixedPair:
    """The same from the Hermite coefficients a_k and b_k of both: Cov = sum of a_k b_k correlation^k (Mehler)."""
    order = next(one for one in ORDERS if abs(correlation) ** one < 1e-17 or one == ORDERS[-1])
    a, b = first.series(at.mean, at.sd, order + 2), second.series(other.mean, other.sd, order + 2)
    k = np.arange(order + 1.0)
    # without k = 0: deviations from the means
    given = b[1 : order + 1] * correlation ** k[1:]
    # g' and g'' have the coefficients sqrt(k + 1) a_(k+1) and sqrt((k + 1)(k + 2)) a_(k+2)
    slope, other_slope = (np.sqrt(k + 1.0) * one[1 : order + 2] for one in (a, b))
    bend = np.sqrt((k + 1.0) * (k + 2.0)) * a[2:]
    return MixedPair(
        mean=float(a[0]),
        other_mean=float(b[0]),
        covariance=float(a[1 : order + 1] @ given),
        slopes=float((slope * other_slope) @ correlation**k) / (at.sd * other.sd),
        cross=float(slope[1:] @ given) / at.sd,
        curvature=float(bend[1:] @ given) / at.sd**2,
    )


class SomaticCovariance(Protocol):
    """Somatic covariances for averages over patterns: covariance of two replicas, and the remaining variance."""

    @property
    def D0(self) -> float:
        """Covariance."""

    @property
    def D1(self) -> float:
        """Variance beyond the covariance."""
