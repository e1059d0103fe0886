"""The inverse problem: thresholds, or a margin, for which a neuron at capacity has the measured synapses.

Weights at capacity are described by B and W_star. Their mean determines the dendritic threshold [inverse-theta-d]. With
B and the mean fixed, the width s of a branch's input is fixed too, and the stationarity of the load [cap-stationary]
becomes one equation in the mean input m, which also gives theta_s = E g(m + s x) [inverse-theta-s]: no solver
runs inside another.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model import Linear, NeuronSpec, Nonlinearity, TaskSpec
from dendrocap.numerics.types import Floats
from dendrocap.theory import scope
from dendrocap.theory.dendrite import prepared, response
from dendrocap.theory.neuron_kernel import shape_at
from dendrocap.theory.patterns import label_averages
from dendrocap.theory.solution import CapacitySolution
from dendrocap.theory.solver import bracketed_root
from dendrocap.theory.symmetric import symmetric_capacity
from dendrocap.theory.weights import CapacityWeights

__all__ = [
    "SilentRange",
    "dendritic_threshold",
    "linear_margin",
    "silent_fraction_or_nan",
    "silent_range",
    "somatic_thresholds",
    "threshold_grid",
]


# Thresholds closer than this to an end of the range of g, as a fraction of it, are left out: one of a thousand branches
# would have to decide.
END = 1e-3
# An unbounded g is straight this many standard deviations beyond its last knot, where the neuron is linear.
STRAIGHT = 10.0
# For a straight g every theta_s gives the same weights: the equation holds identically, up to rounding, without a root.
ROUNDING = 1e-10


@dataclass(frozen=True)
class SilentRange(Displayed):
    """The range of silent fractions of a neuron at capacity over all somatic thresholds.

    Attributes
    ----------
    low, high : float
        Smallest and largest silent fraction.
    theta_s_low, theta_s_high : float
        The somatic thresholds at which they are reached.

    Examples
    --------
    >>> from dendrocap import Polsky, TaskSpec
    >>> from dendrocap.theory import silent_range
    >>> found = silent_range(Polsky(), 0.5, TaskSpec())
    >>> 0.75 in found, 0.9 in found
    (True, False)
    """

    low: float
    high: float
    theta_s_low: float
    theta_s_high: float

    def __contains__(self, p0: float) -> bool:
        return self.low <= p0 <= self.high


def dendritic_threshold(weights: CapacityWeights, f_in: float) -> float:
    """The theta_d whose mean weight theta_d / f_in is that of the distribution [inverse-theta-d].

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky, critical_capacity
    >>> solution = critical_capacity(NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.3))
    >>> round(dendritic_threshold(solution.weights, f_in=0.5), 12)
    0.5
    """
    return f_in * weights.mean()


def somatic_thresholds(g: Nonlinearity, weights: CapacityWeights, task: TaskSpec | None = None) -> tuple[float, ...]:
    """All theta_s at which a neuron at capacity has these weights, ascending; empty if there is none.

    The dendritic threshold follows from the mean weight. A silent fraction is usually reached twice, at a low and at a
    high threshold, or not at all.

    Parameters
    ----------
    g : Nonlinearity
        Non-linearity of the only dendritic level.
    weights : CapacityWeights
        Weights in model units.
    task : TaskSpec, optional
        Coding levels and margin; by default 1/2, 1/2 and 0.

    Notes
    -----
    Solves [inverse-theta-s]. If g has several stationary loads, a threshold found here may belong to one that is not
    the largest; check with `critical_capacity` at that threshold.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky, TaskSpec, critical_capacity
    >>> solution = critical_capacity(NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.3))
    >>> [round(theta_s, 6) for theta_s in somatic_thresholds(Polsky(), solution.weights)]
    [0.161245, 0.3]
    """
    task = scope.check("somatic_thresholds", task=task)
    shape = shape_at(weights.B)
    W_bar = weights.W_star / shape.W_star
    v = task.f_in * (1.0 - task.f_in)
    Q, C = W_bar**2 * shape.Q, W_bar**2 * shape.C
    s = math.sqrt(v * Q)
    averages = prepared(g)
    free_of_margin = label_averages(task.f_out, 0.0)

    def theta_s(m: float) -> float:
        return averages(0.0, s, m).mean

    def stationarity(m: float) -> float:
        try:
            level = response(g, theta_s(m), s * s, m)
        except ConvergenceError:  # at the top of a hump the mean output does not depend on m
            return math.nan
        labels = free_of_margin
        if task.kappa > 0.0:
            labels = label_averages(task.f_out, task.kappa / math.sqrt(level.variance))
        # [cap-stationary] in units of 1 / Q, with d/dQ = v d/dV
        wanted = shape.A / C + v * level.d_gain / level.gain
        return Q * (wanted - v * level.d_variance / level.variance * labels.mass / labels.second)

    grid = _mean_inputs(g, s, theta_s)
    points = _with_turning_points(stationarity, grid)
    roots = [
        bracketed_root(stationarity, left, right).at
        for (left, before), (right, after) in pairwise(points)
        if before * after < 0.0 and max(abs(before), abs(after)) > ROUNDING
    ]
    return tuple(sorted(theta_s(m) for m in roots))


def silent_range(g: Nonlinearity, theta_d: float, task: TaskSpec | None = None) -> SilentRange:
    """The range of silent fractions over all somatic thresholds at this dendritic threshold.

    Thresholds within a thousandth of the ends of g's range are left out.

    Examples
    --------
    >>> from dendrocap import Polsky
    >>> found = silent_range(Polsky(), 0.5)
    >>> print(f"{found.low:.3f} to {found.high:.3f}")
    0.745 to 0.789
    """
    from scipy.optimize import minimize_scalar

    task = TaskSpec() if task is None else task

    def silent(theta_s: float) -> float:
        return silent_fraction_or_nan(g, theta_d, theta_s, task)

    grid = threshold_grid(g)
    values = np.array([silent(theta_s) for theta_s in grid])
    if np.all(np.isnan(values)):
        symmetric_capacity(NeuronSpec(g, theta_d, float(grid[grid.size // 2])), task)  # raises, with its own reason

    def extreme(at: int, sign: float) -> tuple[float, float]:
        """The extremum near a point of the grid; at an end of the known points, the end itself."""
        if at in (0, grid.size - 1) or np.isnan(values[at - 1] + values[at + 1]):
            return float(values[at]), float(grid[at])
        bounds = (float(grid[at - 1]), float(grid[at + 1]))
        outcome = minimize_scalar(lambda t: sign * silent(t), bounds=bounds, method="bounded", options={"xatol": 1e-7})
        return sign * float(outcome.fun), float(outcome.x)

    low, theta_s_low = extreme(int(np.nanargmin(values)), 1.0)
    high, theta_s_high = extreme(int(np.nanargmax(values)), -1.0)
    return SilentRange(low, high, theta_s_low, theta_s_high)


def silent_fraction_or_nan(g: Nonlinearity, theta_d: float, theta_s: float, task: TaskSpec) -> float:
    """Silent fraction at capacity; NaN if there is no capacity, which happens for non-monotone curves."""
    try:
        return symmetric_capacity(NeuronSpec(g, theta_d, theta_s), task).silent_fraction
    except (ConvergenceError, NoSolution):
        return math.nan


def linear_margin(weights: CapacityWeights, task: TaskSpec | None = None) -> CapacitySolution:
    """The linear neuron with these weights at capacity, and the margin that it needs.

    Without dendritic non-linearity only a margin raises the silent fraction above one half; the weights have the same
    form, so a histogram alone cannot distinguish the two explanations. The margin is ``task.kappa`` of the result; the
    margin of the given task is not used.

    Raises
    ------
    NoSolution
        If the silent fraction is below one half, or so near one that no margin up to 1e6 mean inputs reaches it.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky, TaskSpec, critical_capacity
    >>> solution = critical_capacity(NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.3))
    >>> rival = linear_margin(solution.weights, TaskSpec())
    >>> round(rival.silent_fraction - solution.silent_fraction, 9) == 0.0
    True
    >>> print(f"margin {rival.task.kappa:.3f}, capacity {rival.alpha_c:.3f} instead of {solution.alpha_c:.3f}")
    margin 1.045, capacity 0.274 instead of 5.112
    """
    task = scope.check("linear_margin", task=task)
    theta = dendritic_threshold(weights, task.f_in)
    wanted = weights.B
    if wanted < -1e-12:  # B vanishes without a margin
        raise NoSolution(
            f"no margin gives a linear neuron the silent fraction {weights.silent_fraction:g}: "
            "it is 0.5 without a margin and grows with it"
        )

    def solution(kappa: float) -> CapacitySolution:
        # Any theta_s can be used: for linear g only the sum of both thresholds matters, and the theory fixes theta_d.
        return symmetric_capacity(NeuronSpec(Linear(), theta, 0.5), TaskSpec(task.f_in, task.f_out, kappa))

    # The unit of the margin is the standard deviation of the input to a neuron with equal weights of the same mean.
    unit = math.sqrt(task.f_in * (1.0 - task.f_in)) * weights.mean()
    high = unit
    if wanted <= 1e-12:
        return solution(0.0)
    try:
        while wanted > solution(high).B:
            high *= 4.0
            if high > 1e6 * unit:
                raise NoSolution(f"no margin reaches the silent fraction {weights.silent_fraction:.17g}")
        return solution(bracketed_root(lambda kappa: solution(kappa).B - wanted, 0.0, high).at)
    except ConvergenceError as error:
        raise NoSolution(f"no margin reaches the silent fraction {weights.silent_fraction:.17g}: {error}") from error


def _threshold_limits(g: Nonlinearity) -> tuple[float, float]:
    """Smallest and largest theta_s considered; thresholds are never negative."""
    low, high = g.range
    margin = END * (high - low) if math.isfinite(high - low) else 0.0
    return max(low + margin, 0.0), high - margin


def threshold_grid(g: Nonlinearity) -> Floats:
    """Somatic thresholds to evaluate, denser towards the ends of the range of g."""
    low, high = _threshold_limits(g)
    if math.isinf(high):
        return np.asarray(low + np.geomspace(1e-3, 1e3, 49))
    return np.asarray(low + (high - low) * 0.5 * (1.0 - np.cos(np.linspace(0.0, np.pi, 41))))


def _mean_inputs(g: Nonlinearity, s: float, theta_s: Callable[[float], float]) -> list[float]:
    """Mean inputs that cover all theta_s considered, four per standard deviation."""
    knots = g.knots or (0.0,)
    low, high = knots[0] - STRAIGHT * s, knots[-1] + STRAIGHT * s
    grid = np.linspace(low, high, int(min(max((high - low) / (0.25 * s), 80), 2000))).tolist()
    values = [theta_s(m) for m in grid]
    least, most = _threshold_limits(g)
    kept: list[float] = []
    for (left, before), (right, after) in pairwise(zip(grid, values, strict=True)):
        if least <= before <= most:
            kept.append(left)
        # The ends belong to the grid, so that no threshold just inside them is missed.
        for end in (least, most):
            if (before < end) != (after < end):
                kept.append(bracketed_root(lambda m, end=end: theta_s(m) - end, left, right).at)  # type: ignore[misc]
    return kept


def _with_turning_points(function: Callable[[float], float], grid: list[float]) -> list[tuple[float, float]]:
    """Points of a function, including extrema that may hide two roots between two neighbours of the same sign."""
    from scipy.optimize import minimize_scalar

    points = [(at, function(at)) for at in grid]
    turning = []
    for (left, before), (_, here), (right, after) in zip(points, points[1:], points[2:], strict=False):
        sign = 1.0 if here > 0.0 else -1.0
        if sign * here < min(sign * before, sign * after) and sign * before > 0.0 and sign * after > 0.0:
            outcome = minimize_scalar(lambda m, sign=sign: sign * function(m), bounds=(left, right), method="bounded")
            turning.append((float(outcome.x), sign * float(outcome.fun)))
    return sorted(points + turning)
