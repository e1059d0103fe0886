"""Fit of measured synaptic strengths with the distribution of weights at capacity."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri

from dendrocap.display import Displayed, with_digits
from dendrocap.errors import InvalidParameter, NoSolution
from dendrocap.model import NeuronSpec, Nonlinearity, Polsky, TaskSpec, Units
from dendrocap.numerics._compiled import tail
from dendrocap.numerics.types import Floats
from dendrocap.theory import scope
from dendrocap.theory.inverse import (
    SilentRange,
    dendritic_threshold,
    linear_margin,
    silent_fraction_or_nan,
    silent_range,
    somatic_thresholds,
    threshold_grid,
)
from dendrocap.theory.solution import CapacitySolution
from dendrocap.theory.solver import bracketed_root
from dendrocap.theory.symmetric import symmetric_capacity
from dendrocap.theory.weights import CapacityWeights
from dendrocap.validation import choice, real_number, refuse, whole_number

# Estimates of B and W_star, the shape and scale of weights at capacity, from measured amplitudes.
#
# A connection weaker than the detection threshold t looks silent. For those above it, the excess w - t is again the
# positive part of a Gaussian, with the same W_star and the larger shape B + t / W_star [seen-shape]: the threshold is
# a shift. The likelihood depends on the excesses only through their number, mean and mean square. Each treatment of
# the silent fraction leads to one monotone equation in one unknown, or to a closed form.

# At the upper limit, p0 = 1 - 6e-16, the positive part of the Gaussian is an exponential; at the lower limit, p0 =
# 1e-198, it is a whole Gaussian. Data beyond these limits contain no information about B.
SHAPE_LIMITS = (-30.0, 8.0)


class Sample(NamedTuple):
    """Sufficient statistics of the amplitudes."""

    n: int
    mean: float  # mean excess over the detection threshold
    mean_square: float
    n_silent: int  # tested pairs without a visible connection; unused if unknown

    @classmethod
    def of(cls, excess: Floats, n_silent: int = 0) -> Sample:
        """The sample with these excesses over the detection threshold."""
        return cls(excess.size, float(excess.mean()), float(np.mean(excess * excess)), n_silent)


@dataclass(frozen=True)
class Shape:
    """B and W_star, and whether B reached a limit: the exponential, or the whole Gaussian."""

    B: float
    W_star: float
    at_limit: bool = False


class Histogram(NamedTuple):
    """A density estimated in bins."""

    edges: Floats
    density: Floats  # integrates to one over the bins

    @classmethod
    def of(cls, amplitudes: Floats, start: float, width: float) -> Histogram:
        """Bins of equal width from ``start`` to beyond the largest amplitude."""
        n_bins = max(1, math.ceil((float(amplitudes.max()) - start) / width * (1.0 + 1e-12)))
        edges = np.asarray(start + width * np.arange(n_bins + 1), dtype=np.float64)
        return cls(edges, np.histogram(amplitudes, edges)[0] / (amplitudes.size * width))


def scale_for_shape(sample: Sample, B: float) -> float:
    """The maximum-likelihood W_star for excesses of shape B, in closed form [ml-scale]."""
    half = 0.5 * B * sample.mean
    root = math.sqrt(half * half + sample.mean_square)
    # 1 / W_star solves mean_square u^2 + B mean u = 1; this form of the root avoids cancellation.
    return half + root if B >= 0.0 else sample.mean_square / (root - half)


def from_tested(sample: Sample, threshold: float) -> Shape:
    """Silent fraction from the tested pairs, scale from the amplitudes."""
    seen = float(ndtri(sample.n_silent / (sample.n + sample.n_silent)))
    return _with_hidden(seen, scale_for_shape(sample, seen), threshold)


def from_amplitudes(sample: Sample, threshold: float) -> Shape:
    """Both from the amplitudes alone: the shape at which mean square / mean^2 equals that of the data [ml-shape]."""
    ratio = sample.mean_square / sample.mean**2

    def excess(B: float) -> float:
        i0, i1, i2 = tail(B)
        return i2 * i0 / i1**2 - ratio

    return _root_within_limits(excess, sample, threshold)


def from_everything(sample: Sample, threshold: float) -> Shape:
    """Both from amplitudes and tested pairs: the maximum of the joint likelihood, which is concave [ml-joint]."""

    def slope(B: float) -> float:
        amplitudes = sample.n * (sample.mean / scale_for_shape(sample, B) + B)
        return amplitudes - sample.n_silent * math.exp(-0.5 * B * B) / (math.sqrt(2.0 * math.pi) * tail(-B)[0])

    return _root_within_limits(slope, sample, threshold)


def fixed_p0(sample: Sample, threshold: float, B: float) -> Shape:
    """Scale from the amplitudes, for a given silent fraction."""
    if threshold == 0.0:
        return Shape(B, scale_for_shape(sample, B))
    mean = sample.mean + threshold
    mean_square = sample.mean_square + 2.0 * threshold * sample.mean + threshold**2

    def slope(u: float) -> float:
        """Derivative of the log likelihood per amplitude in u = 1 / W_star; the likelihood is concave [ml-hidden]."""
        seen = B + threshold * u
        i0, i1, _ = tail(seen)
        hazard = i1 / i0 + seen  # G(x) / H(x)
        return 1.0 / u - mean_square * u - B * mean + threshold * hazard

    guess = 1.0 / scale_for_shape(Sample(sample.n, mean, mean_square, 0), B)
    low, high = 0.5 * guess, 2.0 * guess
    while slope(low) < 0.0:
        low *= 0.5
    while slope(high) > 0.0:
        high *= 2.0
    return Shape(B, 1.0 / bracketed_root(slope, low, high).at)


def from_histogram(histogram: Histogram, B: float) -> Shape:
    """Scale by least squares on a histogram, for a given silent fraction: the paper's method [fit-histogram].

    Bin averages are compared, not densities at bin centres, so that wide bins do not bias the scale.
    """
    from scipy.optimize import minimize_scalar

    edges, density = histogram
    widths = np.diff(edges)

    def misfit(log_scale: float) -> float:
        beyond = log_ndtr(-(B + edges / math.exp(log_scale)))  # logarithms, because the far tail underflows
        expected = -np.diff(np.exp(beyond - beyond[0])) / widths
        return float(np.sum((expected - density) ** 2))

    centre = math.log(float(np.sum(density * widths * edges[1:])))
    grid = centre + np.linspace(-4.0, 4.0, 33)
    best = int(np.argmin([misfit(at) for at in grid]))
    bounds = (grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)])
    found = minimize_scalar(misfit, bounds=bounds, method="bounded", options={"xatol": 1e-9})
    return Shape(B, math.exp(float(found.x)))


def _root_within_limits(function: Callable[[float], float], sample: Sample, threshold: float) -> Shape:
    """The shape at which an increasing function vanishes, or the limit that it reaches."""
    low, high = SHAPE_LIMITS
    if function(low) >= 0.0 or function(high) <= 0.0:
        at = low if function(low) >= 0.0 else high
        shape = _with_hidden(at, scale_for_shape(sample, at), threshold)
        return Shape(shape.B, shape.W_star, at_limit=True)
    seen = bracketed_root(function, low, high).at
    return _with_hidden(seen, scale_for_shape(sample, seen), threshold)


def _with_hidden(seen: float, W_star: float, threshold: float) -> Shape:
    """The shape of all connections, if those above the threshold have the shape ``seen`` [seen-shape]."""
    return Shape(seen - threshold / W_star, W_star)


class Rule:
    """One method of estimating B and W_star, applied to the data and to each resampled data set."""

    def __init__(self, p0: float | str, method: str, threshold: float, bin_width: float, n_tested: int | None) -> None:
        self.method = choice("method", method, ("likelihood", "histogram"))
        self.threshold, self.bin_width, self.n_tested = threshold, bin_width, n_tested
        self.p0 = p0
        if isinstance(p0, str):
            choice("p0", p0, ("tested", "free"))
        else:
            self.given_B = float(ndtri(real_number("p0", p0, 0.0, 1.0, low_open=True, high_open=True)))
        if p0 == "tested" and n_tested is None:
            raise InvalidParameter("p0 = 'tested' is not allowed without n_tested, the number of pairs tested")
        if p0 == "free" and method == "histogram":
            raise refuse("p0", p0, "a number or 'tested' for the method 'histogram', which fits only the scale")
        if p0 == "tested" and method == "histogram" and threshold > 0.0:
            raise refuse("p0", p0, "a number if a histogram is fitted above a detection threshold")

    def fit(self, visible: Floats) -> Shape:
        """B and W_star (mV) from the amplitudes above the detection threshold."""
        n_silent = 0 if self.n_tested is None else self.n_tested - visible.size
        sample = Sample.of(visible - self.threshold, n_silent)
        if self.method == "histogram":
            B = from_tested(sample, 0.0).B if self.p0 == "tested" else self.given_B
            return from_histogram(Histogram.of(visible, self.threshold, self.bin_width), B)
        if self.p0 == "tested":
            return from_tested(sample, self.threshold)
        if self.p0 != "free":
            return fixed_p0(sample, self.threshold, self.given_B)
        if self.n_tested is None:
            return from_amplitudes(sample, self.threshold)
        return from_everything(sample, self.threshold)


# Confidence intervals from resampled data.


class Interval(NamedTuple):
    """An estimate and its confidence interval, with NaN ends if none was asked for; as text, with justified digits."""

    value: float
    low: float
    high: float

    def covers(self, value: float) -> bool:
        """Whether a value lies inside the interval."""
        return self.low <= value <= self.high

    def times(self, factor: float) -> Interval:
        """The interval of a multiple of the quantity, for a positive factor."""
        return Interval(self.value * factor, self.low * factor, self.high * factor)

    def as_row(self, name: str) -> dict[str, float]:
        """Its three numbers under three names."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}

    def __str__(self) -> str:
        width = 0.5 * (self.high - self.low)
        if not width > 0.0 or not math.isfinite(width):  # NaN ends, or no width
            return with_digits(self.value, 3) if math.isfinite(self.value) else "unknown"
        decimals = -math.floor(math.log10(width))
        decimals += width * 10.0**decimals < 2.0  # a leading digit 1 gets a second digit
        value, low, high = (f"{round(end, decimals):,.{max(decimals, 0)}f}" for end in self)
        return f"{value} [{low}, {high}]"


def bootstrap(
    rule: Rule, visible: Floats, n_bootstrap: int, generator: np.random.Generator, callback: Callable[[], object]
) -> list[Shape]:
    """Repeat the fit on resampled data; ``callback`` is called after each replicate."""
    shapes = []
    for _ in range(n_bootstrap):
        n = visible.size
        if rule.n_tested is not None:
            # The number of connections found is random too. At least two are needed for a fit, and at least one silent
            # pair for a silent fraction.
            found = int(generator.binomial(rule.n_tested, n / rule.n_tested))
            n = min(max(found, 2), rule.n_tested - 1)
        shapes.append(rule.fit(_resampled(visible, n, generator)))
        callback()
    return shapes


def interval(value: float, repeated: ArrayLike, level: float) -> Interval:
    """An estimate with the bias-corrected percentile interval of its replicates [bootstrap].

    If more than half of the replicates lie on one side of the estimate, the estimator is skewed, and the quantiles are
    shifted by the same amount, on the normal scale, to the other side. Replicates without a value are left out.
    """
    sample = np.asarray(repeated, dtype=np.float64)
    sample = sample[np.isfinite(sample)]
    if not sample.size:
        return Interval(value, math.nan, math.nan)
    below = (np.sum(sample < value) + 0.5 * np.sum(sample == value)) / sample.size
    shift = 2.0 * ndtri(np.clip(below, 1.0 / (sample.size + 1), sample.size / (sample.size + 1)))
    low, high = np.quantile(sample, ndtr(shift + ndtri(tails(level))))
    return Interval(value, float(low), float(high))


def tails(level: float) -> tuple[float, float]:
    """The two quantiles between which a fraction ``level`` lies."""
    return (0.5 * (1.0 - level), 0.5 * (1.0 + level))


def _resampled(visible: Floats, n: int, generator: np.random.Generator) -> Floats:
    """``n`` amplitudes drawn with replacement, not all equal."""
    while True:
        drawn = visible[generator.integers(0, visible.size, n)]
        if drawn.min() < drawn.max():
            return drawn


def interval_of_logs(value: float, repeated: ArrayLike, level: float, others: ArrayLike = ()) -> Interval:
    """A positive estimate with the normal interval of the logarithms of its replicates, including scatter and bias.

    This is meant for estimators that smooth, such as curves: forty replicates give a standard deviation, but not a
    quantile of 2.5 %, and smoothing changes a curve that is already smooth less than it changed the data. ``others``
    are estimates that are also compatible with the data: their distances below and above are added to the interval in
    squares [curve-interval].
    """
    logs, far = (np.log(np.asarray(values, dtype=np.float64)) - math.log(value) for values in (repeated, others))
    logs, far = logs[np.isfinite(logs)], far[np.isfinite(far)]
    if logs.size < 2:
        return Interval(value, math.nan, math.nan)
    width = -float(ndtri(tails(level)[0])) * math.hypot(float(logs.std(ddof=1)), float(logs.mean()))
    down, up = (math.hypot(width, max(float(end), 0.0)) for end in (-far.min(initial=0.0), far.max(initial=0.0)))
    return Interval(value, value * math.exp(-down), value * math.exp(up))


# Other distributions of synaptic strength, compared with the model by likelihood and Akaike's criterion.

_LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True)
class Candidate(Displayed):
    """A distribution of the visible amplitudes and its quality of fit."""

    _displayed = ("name", "delta_aic", "aic", "log_likelihood", "n_parameters")

    name: str  # "capacity" is the fit itself; "..., free shape" the same family, both parameters from the amplitudes
    parameters: tuple[tuple[str, float], ...]  # estimates, in millivolts where they have a dimension
    n_parameters: int  # estimated from the amplitudes
    log_likelihood: float  # of the amplitudes above the detection threshold, per mV
    aic: float
    delta_aic: float  # difference from the best of all candidates


def log_density(amplitudes: Floats, shape: Shape, threshold: float) -> Floats:
    """Log density of amplitudes, conditional on being above the threshold."""
    z = amplitudes / shape.W_star + shape.B
    seen = log_ndtr(-(shape.B + threshold / shape.W_star))
    return np.asarray(-0.5 * z * z - _LOG_ROOT_2PI - math.log(shape.W_star) - seen)


def candidates(amplitudes: Floats, shape: Shape, threshold: float, n_fitted: int) -> tuple[Candidate, ...]:
    """The fit and the other distributions, the best first.

    The silent fraction plays no part, because the other distributions are compatible with any. ``n_fitted`` is the
    number of parameters that the fit takes from the amplitudes.
    """
    free = from_amplitudes(Sample.of(amplitudes - threshold), threshold)
    mean_excess = float(np.mean(amplitudes)) - threshold
    mu, sigma, lognormal = _lognormal(amplitudes, threshold)
    exponential = -amplitudes.size * (math.log(mean_excess) + 1.0)
    found = [
        ("capacity", _named(shape), n_fitted, float(log_density(amplitudes, shape, threshold).sum())),
        ("capacity, free shape", _named(free), 2, float(log_density(amplitudes, free, threshold).sum())),
        ("lognormal", (("mu", mu), ("sigma", sigma)), 2, lognormal),
        ("exponential", (("mean_mv", mean_excess),), 1, exponential),
    ]
    best = min(2 * k - 2 * likelihood for _, _, k, likelihood in found)
    rows = [
        Candidate(name, values, k, likelihood, 2 * k - 2 * likelihood, 2 * k - 2 * likelihood - best)
        for name, values, k, likelihood in found
    ]
    return tuple(sorted(rows, key=lambda row: row.aic))


def _named(shape: Shape) -> tuple[tuple[str, float], ...]:
    return (("B", shape.B), ("W_star_mv", shape.W_star))


def _lognormal(amplitudes: Floats, threshold: float) -> tuple[float, float, float]:
    """mu, sigma and log likelihood of the lognormal distribution, truncated at the threshold."""
    logs = np.log(amplitudes)
    mu, sigma = float(logs.mean()), float(logs.std())

    def likelihood(mu: float, sigma: float) -> float:
        z = (logs - mu) / sigma
        visible = 0.0 if threshold == 0.0 else float(log_ndtr(-(math.log(threshold) - mu) / sigma))
        return float(np.sum(-0.5 * z * z - logs) - logs.size * (_LOG_ROOT_2PI + math.log(sigma) + visible))

    if threshold > 0.0:
        from scipy.optimize import minimize

        # With truncation at the threshold, the estimate has no closed form.
        start = np.array([mu, math.log(sigma)])
        outcome = minimize(
            lambda p: -likelihood(p[0], math.exp(p[1])),
            start,
            method="Nelder-Mead",
            bounds=[(mu - 20.0 * sigma, mu + 5.0 * sigma), (start[1] - 3.0, start[1] + 3.0)],
            options={"xatol": 1e-8, "fatol": 1e-8, "maxiter": 4000},
        )
        mu, sigma = float(outcome.x[0]), math.exp(float(outcome.x[1]))
    return mu, sigma, likelihood(mu, sigma)


# Two neurons that explain the fitted synapses at capacity: one with dendrites, one with a margin.


@dataclass(frozen=True)
class DendriticExplanation(Displayed):
    """Thresholds at which a neuron with this non-linearity has the fitted synapses at capacity."""

    _displayed = ("theta_d", "theta_s", "reachable", "theta_s_solutions")

    theta_d: float  # from the mean weight
    theta_s: float  # the lowest solution, which needs the least inhibition, or else that of the nearest silent fraction
    theta_s_solutions: tuple[float, ...]  # all that give the fitted silent fraction
    reachable: bool  # whether there is such a threshold
    reach: SilentRange  # of the silent fraction over all somatic thresholds at this theta_d
    solution: CapacitySolution  # the neuron at theta_d and theta_s


@dataclass(frozen=True)
class CompatibleThresholds(Displayed):
    """Somatic thresholds that are compatible with the data."""

    sets: tuple[tuple[float, float], ...]  # intervals of theta_s in ascending order; empty if there is none
    # Probability that data of a reachable neuron are as far from all thresholds as these: two-sided, at the nearest
    # threshold; NaN without replicates.
    p_value: float


@dataclass(frozen=True)
class LinearExplanation(Displayed):
    """The margin at which a linear neuron has the fitted synapses at capacity."""

    _displayed = ("kappa", "kappa_mv", "reason")

    kappa: float  # NaN if there is none
    kappa_mv: float  # of summed input at the soma
    solution: CapacitySolution | None  # the linear neuron at capacity with that margin
    reason: str = ""  # why there is no such margin, if so


def explain_by_dendrites(g: Nonlinearity, weights: CapacityWeights, task: TaskSpec) -> DendriticExplanation:
    """The neuron with dendrites that has these weights (model units), or the nearest ones."""
    theta_d = dendritic_threshold(weights, task.f_in)
    reach = silent_range(g, theta_d, task)
    wanted = weights.silent_fraction
    # A threshold may belong to a stationary load that is not the largest one; its capacity then has other weights.
    found = [
        symmetric_capacity(NeuronSpec(g, theta_d, theta_s), task)
        for theta_s in somatic_thresholds(g, weights, task)
        if math.isclose(silent_fraction_or_nan(g, theta_d, theta_s, task), wanted, rel_tol=1e-6)
    ]
    nearest = reach.theta_s_high if abs(wanted - reach.high) < abs(wanted - reach.low) else reach.theta_s_low
    solution = found[0] if found else symmetric_capacity(NeuronSpec(g, theta_d, nearest), task)
    solutions = tuple(one.neuron.theta_s for one in found)
    return DendriticExplanation(theta_d, solution.neuron.theta_s, solutions, bool(found), reach, solution)


def compatible_thresholds(
    g: Nonlinearity, replicates: Sequence[CapacityWeights], task: TaskSpec, level: float
) -> CompatibleThresholds:
    """Intervals of theta_s that are compatible with the replicates of a fit, and their p-value [theta-s-set].

    A threshold is kept if the difference between the silent fraction of a replicate and the one given by the equations
    at that threshold is positive in some replicates and negative in others, beyond the tails of ``level``. Because the
    silent fraction has a maximum, inverting each replicate would not work: many have no solution and most have two.
    """
    usable = [weights for weights in replicates if SHAPE_LIMITS[1] > weights.B]
    if not usable:
        return CompatibleThresholds((), math.nan)
    silent = np.array([weights.silent_fraction for weights in usable])
    theta_d = np.array([dendritic_threshold(weights, task.f_in) for weights in usable])
    grid = threshold_grid(g)
    # The silent fraction is smooth in theta_d, whose replicates lie close together: interpolate between five values.
    nodes = np.linspace(theta_d.min(), theta_d.max() * (1.0 + 1e-9), 5)
    surface = np.array([[silent_fraction_or_nan(g, node, theta_s, task) for node in nodes] for theta_s in grid])
    excess = silent - _interpolated(nodes, surface, theta_d)
    low, high = np.quantile(excess, tails(level), axis=1)
    rarer = np.minimum(np.mean(excess <= 0.0, axis=1), np.mean(excess >= 0.0, axis=1))  # zero for rows of NaN
    # With n replicates, probabilities below 1 in n + 1 cannot be resolved.
    p_value = min(1.0, 2.0 * max(float(rarer.max()), 1.0 / (len(usable) + 1)))
    return CompatibleThresholds(_where_both_signs(grid, low, high), p_value)


def _interpolated(nodes: Floats, surface: Floats, at: Floats) -> Floats:
    """Values of each row of the surface at the given points, by splines through the nodes; NaN rows stay NaN."""
    from scipy.interpolate import CubicSpline

    result = np.full((surface.shape[0], at.size), np.nan)
    known = np.all(np.isfinite(surface), axis=1)
    if np.any(known):
        result[known] = CubicSpline(nodes, surface[known].T)(at).T
    return result


def _where_both_signs(grid: Floats, low: Floats, high: Floats) -> tuple[tuple[float, float], ...]:
    """Intervals of the grid on which low <= 0 <= high, with interpolated ends."""
    room = np.minimum(-low, high)  # positive inside, NaN is outside
    inside = np.concatenate([[False], room >= 0.0, [False]])
    ends = np.flatnonzero(inside[1:] != inside[:-1]).reshape(-1, 2)  # the first point inside, the first one beyond
    return tuple((_crossing(grid, room, first - 1), _crossing(grid, room, beyond - 1)) for first, beyond in ends)


def _crossing(grid: Floats, room: Floats, left: int) -> float:
    """The zero of ``room`` between a grid point and the next one; the inner point if the other has no value."""
    if left < 0 or left == grid.size - 1:  # there is no other
        return float(grid[max(left, 0)])
    near, far = room[left : left + 2]
    if not np.isfinite(near + far):
        return float(grid[left] if np.isfinite(near) else grid[left + 1])
    return float(grid[left] + near / (near - far) * (grid[left + 1] - grid[left]))


def explain_by_margin(weights: CapacityWeights, task: TaskSpec, units: Units) -> LinearExplanation:
    """The linear neuron that has these weights (model units)."""
    try:
        solution = linear_margin(weights, task)
    except NoSolution as error:
        return LinearExplanation(math.nan, math.nan, None, str(error))
    # Without dendrites the summed input is sum W xi / sqrt N; EPSPs at the soma add up to mv_per_weight sum W xi.
    kappa = solution.task.kappa
    return LinearExplanation(kappa, kappa * units.mv_per_weight * math.sqrt(units.n_inputs), solution)


@dataclass(frozen=True)
class WeightFit(Displayed):
    """Synaptic strengths described by P(W) = p0 delta(W) + truncated Gaussian, and the neurons that explain them.

    Intervals are those of the bootstrap; millivolts are measured at the soma.
    """

    _displayed = ("silent_fraction", "W_star_mv", "theta_d_mv", "theta_s_mv", "method")

    silent_fraction: Interval
    W_star_mv: Interval
    theta_d_mv: Interval
    theta_s_mv: Interval  # of the sets below, the one nearest to the estimate; NaN ends if there is none
    theta_s_sets: tuple[tuple[float, float], ...]  # all somatic thresholds that are compatible with the data
    theta_s_sets_mv: tuple[tuple[float, float], ...]
    p_value: float  # that data of a neuron within reach are as far from all thresholds; NaN without a bootstrap
    B: float  # the silent fraction is H(-B)
    detected_fraction: float  # of tested pairs in which a visible connection is expected from the fit
    observed_fraction: float  # in which one was found; NaN if the number of tested pairs is unknown
    comparison: tuple[Candidate, ...]  # the fit and the other distributions, the best first
    dendrites: DendriticExplanation  # thresholds of a neuron with dendrites, in model units
    linear: LinearExplanation  # the alternative: a linear neuron with a margin
    amplitudes_mv: Floats = field(repr=False, compare=False)  # the visible ones; n_hidden others were too weak
    n_hidden: int
    n_tested: int | None
    p0: float | str
    method: str
    detection_threshold_mv: float
    bin_width_mv: float
    level: float
    nonlinearity: Nonlinearity
    task: TaskSpec
    units: Units
    replicates_mv: tuple[CapacityWeights, ...] = field(repr=False, compare=False)

    @property
    def compatible(self) -> bool:
        """Whether the data are compatible with these dendrites: the silent fraction is reached, or nearly so."""
        return self.dendrites.reachable or bool(self.theta_s_sets)

    @property
    def verdict(self) -> str:
        """A sentence on whether such dendrites can have these synapses, in the replica-symmetric estimate."""
        wanted, reach = self.silent_fraction, self.dendrites.reach
        spread = f" [{wanted.low:.3f}, {wanted.high:.3f}]" if wanted.low < wanted.high else ""
        found = (
            f"silent fraction {wanted.value:.3f}{spread}; somatic thresholds reach {reach.low:.3f} to {reach.high:.3f}"
        )
        rarest = self.p_value <= 2.0 / (len(self.replicates_mv) + 1)  # smaller values cannot be resolved
        chance = "" if math.isnan(self.p_value) else f" (p {'<' if rarest else '='} {self.p_value:.2g})"
        if self.dendrites.reachable:
            return f"within reach: {found}"
        if self.compatible:
            return f"compatible{chance}: {found}, which the data do not exclude"
        unknown = "; run a bootstrap to see whether that is chance" if math.isnan(self.p_value) else ""
        return f"out of reach{chance}: {found}{unknown}"

    def as_row(self) -> dict[str, Any]:
        """All numbers as a flat mapping for JSON."""
        row: dict[str, Any] = {"n_amplitudes": self.amplitudes_mv.size, "n_hidden": self.n_hidden}
        row |= {"n_tested": self.n_tested, "B": self.B, "W_star": self.W_star}
        for name in ("silent_fraction", "W_star_mv", "theta_d_mv", "theta_s_mv"):
            row |= getattr(self, name).as_row(name)
        row |= {
            "theta_d": self.dendrites.theta_d,
            "theta_s": self.dendrites.theta_s,
            "theta_s_solutions": list(self.dendrites.theta_s_solutions),
            "theta_s_sets_mv": [list(ends) for ends in self.theta_s_sets_mv],
            "attenuation": self.units.somatic_share,
            "scale_mv": self.units.scale_mv,
            "reachable": self.dendrites.reachable,
            "compatible": self.compatible,
            "p_value": self.p_value,
            "nearest_silent_fraction": self.dendrites.solution.silent_fraction,
            "reachable_low": self.dendrites.reach.low,
            "reachable_high": self.dendrites.reach.high,
            "detected_fraction": self.detected_fraction,
            "observed_fraction": self.observed_fraction,
            "linear_kappa": self.linear.kappa,
        }
        for candidate in self.comparison:
            name = candidate.name.replace(", ", "_").replace(" ", "_")
            row |= {f"log_likelihood_{name}": candidate.log_likelihood, f"aic_{name}": candidate.aic}
        return row

    @property
    def W_star(self) -> float:
        """Scale of the weights in model units."""
        return float(self.units.weight(self.W_star_mv.value))

    @property
    def weights_mv(self) -> CapacityWeights:
        """The fitted distribution in millivolts."""
        return CapacityWeights(self.B, self.W_star_mv.value)

    @property
    def weights(self) -> CapacityWeights:
        """The fitted distribution in model units."""
        return CapacityWeights(self.B, self.W_star)

    @property
    def histogram(self) -> Histogram:
        """Histogram of the visible amplitudes, as a density that integrates to the fraction expected from the fit."""
        bins = Histogram.of(self.amplitudes_mv, self.detection_threshold_mv, self.bin_width_mv)
        return Histogram(bins.edges, bins.density * self.detected_fraction)

    def density_band(self, w_mv: ArrayLike) -> tuple[Floats, Floats]:
        """Confidence band of the fitted density at each amplitude, from the bootstrap."""
        at = np.asarray(w_mv, dtype=np.float64)
        if not self.replicates_mv:
            return np.full(at.shape, np.nan), np.full(at.shape, np.nan)
        low, high = np.quantile([weights.pdf(at) for weights in self.replicates_mv], tails(self.level), axis=0)
        return low, high


def fit_weights(
    amplitudes_mv: ArrayLike,
    n_tested: int | None = None,
    *,
    p0: float | str = "tested",
    method: str = "likelihood",
    detection_threshold_mv: float = 0.0,
    bin_width_mv: float = 0.1,
    nonlinearity: Nonlinearity | None = None,
    task: TaskSpec | None = None,
    units: Units | None = None,
    n_bootstrap: int = 1000,
    level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
    callback: Callable[[], object] | None = None,
) -> WeightFit:
    """Fit measured amplitudes with the distribution of weights at capacity, and find the neurons that explain it.

    Parameters
    ----------
    amplitudes_mv : sequence of float
        One positive amplitude per connection, in millivolts.
    n_tested : int, optional
        Number of pairs tested, connected or not.
    p0 : float or {"tested", "free"}
        The silent fraction: a number; "tested", from the tested pairs; or "free", from the likelihood of all data
        (amplitudes, and tested pairs if known). A number overrides the tested pairs.
    method : {"likelihood", "histogram"}
        Maximum likelihood, or the paper's least squares on a histogram, which does not allow a free p0.
    detection_threshold_mv : float
        Detection limit: weaker connections look silent. Smaller amplitudes in the data are counted as silent.
    bin_width_mv : float
        Bin width of the histogram.
    nonlinearity : Nonlinearity, optional
        Dendritic non-linearity; by default Polsky().
    task : TaskSpec, optional
        Coding levels and margin; by default f_in = f_out = 0.05 and no margin, as in the paper's fit.
    units : Units, optional
        N, K and the scale in mV.
    n_bootstrap : int
        Number of replicates for the confidence intervals; 0 for none.
    level : float
        Confidence level.
    rng : numpy Generator or seed
        Source of randomness of the resampling.
    callback : callable, optional
        Called after each replicate.

    Raises
    ------
    InvalidParameter
        If an amplitude is not a positive number, or all are equal.
    NoSolution
        If only the amplitudes determine the silent fraction, and they are wider than any truncated Gaussian.

    Notes
    -----
    Intervals are bias-corrected percentiles over data sets resampled with replacement; if the number of tested pairs is
    known, the number of connections also varies. The intervals assume nothing about the distribution, which matters if
    the model does not hold.

    Examples
    --------
    >>> from dendrocap.theory.weights import CapacityWeights
    >>> w = CapacityWeights(B=0.7, W_star=1.0).rvs(4000, random_state=1)
    >>> fit = fit_weights(w[w > 0], n_tested=4000, n_bootstrap=200)
    >>> print(f"p0 {fit.silent_fraction.value:.3f}, W_star {fit.W_star_mv.value:.3f} mV")
    p0 0.760, W_star 1.009 mV
    >>> fit.W_star_mv.covers(1.0)
    True
    """
    task = scope.check("fit_weights", task=TaskSpec(f_in=0.05, f_out=0.05) if task is None else task)
    units = Units() if units is None else units
    g = Polsky() if nonlinearity is None else nonlinearity
    threshold = real_number("detection_threshold_mv", detection_threshold_mv, 0.0)
    level = real_number("level", level, 0.0, 1.0, low_open=True, high_open=True)
    n_bootstrap = whole_number("n_bootstrap", n_bootstrap, 0)
    visible, n_hidden = _visible(amplitudes_mv, threshold)
    if n_tested is not None:
        n_tested = whole_number("n_tested", n_tested, visible.size + n_hidden + 1)
    rule = Rule(p0, method, threshold, real_number("bin_width_mv", bin_width_mv, 0.0, low_open=True), n_tested)

    shape = rule.fit(visible)
    if shape.at_limit:
        raise NoSolution(_undetermined(visible - threshold))
    weights = CapacityWeights(shape.B, float(units.weight(shape.W_star)))
    dendrites = explain_by_dendrites(g, weights, task)
    shapes = bootstrap(rule, visible, n_bootstrap, np.random.default_rng(rng), callback or (lambda: None))
    repeated = tuple(CapacityWeights(again.B, again.W_star) for again in shapes)
    in_model = [CapacityWeights(again.B, float(units.weight(again.W_star))) for again in shapes]
    allowed = compatible_thresholds(g, in_model, task, level)
    theta_d_mv = float(units.theta_d_mv(dendrites.theta_d))
    theta_s_mv = float(units.theta_s_mv(dendrites.theta_s))
    theta_s_sets_mv = tuple((float(units.theta_s_mv(a)), float(units.theta_s_mv(b))) for a, b in allowed.sets)
    theta_d_mv_per_mean_mv = float(units.theta_d_mv(task.f_in * units.weight(1.0)))  # theta_d = f_in W_bar
    seen = CapacityWeights(shape.B, shape.W_star).sf(threshold)
    return WeightFit(
        silent_fraction=interval(weights.silent_fraction, [w.silent_fraction for w in repeated], level),
        W_star_mv=interval(shape.W_star, [w.W_star for w in repeated], level),
        theta_d_mv=interval(theta_d_mv, [theta_d_mv_per_mean_mv * w.mean() for w in repeated], level),
        theta_s_mv=_nearest(theta_s_mv, theta_s_sets_mv),
        theta_s_sets=allowed.sets,
        theta_s_sets_mv=theta_s_sets_mv,
        p_value=allowed.p_value,
        B=shape.B,
        detected_fraction=float(seen),
        observed_fraction=math.nan if n_tested is None else visible.size / n_tested,
        comparison=candidates(visible, shape, threshold, 2 if p0 == "free" else 1),
        dendrites=dendrites,
        linear=explain_by_margin(weights, task, units),
        amplitudes_mv=visible,
        n_hidden=n_hidden,
        n_tested=n_tested,
        p0=p0,
        method=method,
        detection_threshold_mv=threshold,
        bin_width_mv=rule.bin_width,
        level=level,
        nonlinearity=g,
        task=task,
        units=units,
        replicates_mv=repeated,
    )


def _visible(amplitudes_mv: Any, threshold: float) -> tuple[Floats, int]:
    """The amplitudes above the threshold, and the number of those below; all are checked."""
    try:
        amplitudes = np.asarray(amplitudes_mv, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter("amplitudes_mv are not allowed: they must be a sequence of numbers > 0") from None
    if amplitudes.ndim != 1 or amplitudes.size == 0:
        raise refuse("amplitudes_mv.shape", amplitudes.shape, "that of a non-empty sequence")
    bad = ~(np.isfinite(amplitudes) & (amplitudes > 0.0))
    if np.any(bad):
        at = int(np.argmax(bad))
        raise refuse(
            f"amplitudes_mv[{at}]",
            float(amplitudes[at]),
            "a finite number > 0; pairs without a connection are counted by n_tested",
        )
    visible = amplitudes[amplitudes > threshold]
    if visible.size < 2 or visible.min() == visible.max():
        raise InvalidParameter(
            f"{visible.size} amplitudes above {threshold:g} mV are too few: at least two different ones are needed"
        )
    return visible, amplitudes.size - visible.size


def _undetermined(excess: Floats) -> str:
    ratio = float(np.mean(excess**2) / np.mean(excess) ** 2)
    return (
        f"the amplitudes alone do not determine the silent fraction: their mean square is {ratio:.4g} times their "
        "squared mean, and a truncated Gaussian has between 1 (no silent synapses) and 2 (an exponential, all silent); "
        "give n_tested, or a number for p0"
    )


def _nearest(value: float, sets: tuple[tuple[float, float], ...]) -> Interval:
    """The estimate with the interval that contains it or, if none does, the nearest one."""
    low, high = min(sets, key=lambda ends: max(ends[0] - value, value - ends[1]), default=(math.nan, math.nan))
    return Interval(value, low, high)
