"""Two neurons that explain the fitted synapses at capacity: one with dendrites, one with a margin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dendrocap.display import Displayed
from dendrocap.errors import NoSolution
from dendrocap.fitting.bootstrap import tails
from dendrocap.fitting.estimators import SHAPE_LIMITS
from dendrocap.model import NeuronSpec, Nonlinearity, TaskSpec, Units
from dendrocap.theory.inverse import (
    SilentRange,
    dendritic_threshold,
    linear_margin,
    silent_fraction_or_nan,
    silent_range,
    somatic_thresholds,
    threshold_grid,
)
from dendrocap.theory.replica_symmetric import CapacitySolution, symmetric_capacity
from dendrocap.theory.weight_distributions import CapacityWeights

__all__ = [
    "CompatibleThresholds",
    "DendriticExplanation",
    "LinearExplanation",
    "compatible_thresholds",
    "explain_by_dendrites",
    "explain_by_margin",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class DendriticExplanation(Displayed):
    """Thresholds at which a neuron with this non-linearity has the fitted synapses at capacity.

    Attributes
    ----------
    theta_d : float
        Dendritic threshold, from the mean weight.
    theta_s : float
        The lowest of ``theta_s_solutions``, which needs the least inhibition. If there is none, the threshold with the
        nearest silent fraction.
    theta_s_solutions : tuple of float
        All somatic thresholds that give the fitted silent fraction.
    reachable : bool
        Whether there is such a threshold.
    reach : SilentRange
        Range of the silent fraction over all somatic thresholds at this ``theta_d``.
    solution : CapacitySolution
        The neuron at ``theta_d`` and ``theta_s``, at capacity.
    """

    _displayed = ("theta_d", "theta_s", "reachable", "theta_s_solutions")

    theta_d: float
    theta_s: float
    theta_s_solutions: tuple[float, ...]
    reachable: bool
    reach: SilentRange
    solution: CapacitySolution


@dataclass(frozen=True)
class CompatibleThresholds(Displayed):
    """Somatic thresholds that are compatible with the data.

    Attributes
    ----------
    sets : tuple of (float, float)
        Intervals of theta_s in ascending order; empty if no threshold is compatible with the data.
    p_value : float
        Probability that data of a reachable neuron are as far from all thresholds as these: two-sided, at the nearest
        threshold; NaN without replicates.
    """

    sets: tuple[tuple[float, float], ...]
    p_value: float


@dataclass(frozen=True)
class LinearExplanation(Displayed):
    """The margin at which a linear neuron has the fitted synapses at capacity.

    Attributes
    ----------
    kappa, kappa_mv : float
        The margin, in model units and in millivolts of summed input at the soma; NaN if there is none.
    solution : CapacitySolution or None
        The linear neuron at capacity with that margin.
    reason : str
        Why there is no such margin, if so.
    """

    _displayed = ("kappa", "kappa_mv", "reason")

    kappa: float
    kappa_mv: float
    solution: CapacitySolution | None
    reason: str = ""


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
    if found:
        return DendriticExplanation(
            theta_d, found[0].neuron.theta_s, tuple(s.neuron.theta_s for s in found), True, reach, found[0]
        )
    nearest = reach.theta_s_high if abs(wanted - reach.high) < abs(wanted - reach.low) else reach.theta_s_low
    solution = symmetric_capacity(NeuronSpec(g, theta_d, nearest), task)
    return DendriticExplanation(theta_d, nearest, (), False, reach, solution)


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
    room = np.minimum(-low, high)  # positive inside
    inside = room >= 0.0  # NaN is outside
    found: list[tuple[float, float]] = []
    start: float | None = None
    for at in range(grid.size):
        before = at - 1
        if inside[at] and start is None:
            start = float(grid[at]) if at == 0 else _crossing(grid, room, before, at)
        if start is not None and not inside[at]:
            found.append((start, _crossing(grid, room, before, at)))
            start = None
    if start is not None:
        found.append((start, float(grid[-1])))
    return tuple(found)


def _crossing(grid: Floats, room: Floats, left: int, right: int) -> float:
    """The zero of ``room`` between two grid points; the inner point if the other has no value."""
    if not np.isfinite(room[left] + room[right]):
        return float(grid[left] if np.isfinite(room[left]) else grid[right])
    share = room[left] / (room[left] - room[right])
    return float(grid[left] + share * (grid[right] - grid[left]))


def explain_by_margin(weights: CapacityWeights, task: TaskSpec, units: Units) -> LinearExplanation:
    """The linear neuron that has these weights (model units)."""
    try:
        solution = linear_margin(weights, task)
    except NoSolution as error:
        return LinearExplanation(math.nan, math.nan, None, str(error))
    # Without dendrites the summed input is sum W xi / sqrt N; EPSPs at the soma add up to mv_per_weight sum W xi.
    kappa = solution.task.kappa
    return LinearExplanation(kappa, kappa * units.mv_per_weight * math.sqrt(units.n_inputs), solution)
