"""Two neurons that would have the fitted synapses at capacity: one with dendrites, one with a margin."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from dendrocap.errors import NoSolution
from dendrocap.fitting.estimators import SHAPE_LIMITS
from dendrocap.model import NeuronSpec, Nonlinearity, TaskSpec, Units
from dendrocap.theory.capacity import CapacitySolution, critical_capacity
from dendrocap.theory.inverse import SilentRange, dendritic_threshold, linear_margin, silent_range, somatic_thresholds
from dendrocap.theory.weights import CapacityWeights

__all__ = [
    "DendriticExplanation",
    "OneLayerExplanation",
    "explain_by_dendrites",
    "explain_by_margin",
    "repeated_thresholds",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class DendriticExplanation:
    """Thresholds at which a neuron with this non-linearity has the fitted synapses at capacity.

    Attributes
    ----------
    theta_d : float
        From the mean weight.
    theta_s : float
        The lowest of ``theta_s_solutions``: it asks for the least inhibition. Where there is none, the one whose
        silent fraction comes nearest.
    theta_s_solutions : tuple of float
        Every somatic threshold that gives the wanted silent fraction.
    reachable : bool
        Whether there is one.
    reach : SilentRange
        Silent fractions between which all somatic thresholds stay at this ``theta_d``.
    solution : CapacitySolution
        The neuron at ``theta_d`` and ``theta_s``, at capacity.
    """

    theta_d: float
    theta_s: float
    theta_s_solutions: tuple[float, ...]
    reachable: bool
    reach: SilentRange
    solution: CapacitySolution

    @property
    def verdict(self) -> str:
        """In words, whether the wanted silent fraction can be had."""
        interval = f"[{self.reach.low:.4f}, {self.reach.high:.4f}]"
        if self.reachable:
            return f"reached; somatic thresholds give silent fractions in {interval}"
        return (
            f"out of reach: at theta_d = {self.theta_d:.4g} every somatic threshold gives a silent fraction in "
            f"{interval}; the nearest is {self.solution.silent_fraction:.4f} at theta_s = {self.theta_s:.4g}"
        )


@dataclass(frozen=True)
class OneLayerExplanation:
    """The margin with which a linear neuron has the fitted synapses at capacity.

    Attributes
    ----------
    kappa, kappa_mv : float
        The margin, in the model's units and in millivolts of summed input; NaN if no margin will do.
    solution : CapacitySolution or None
        The linear neuron at capacity with that margin.
    reason : str
        Why there is none, if so.
    """

    kappa: float
    kappa_mv: float
    solution: CapacitySolution | None
    reason: str = ""


def explain_by_dendrites(g: Nonlinearity, weights: CapacityWeights, task: TaskSpec) -> DendriticExplanation:
    """The neuron with dendrites that has these weights (model units), or comes nearest."""
    theta_d = dendritic_threshold(weights, task.f_in)
    reach = silent_range(g, theta_d, task)
    wanted = weights.silent_fraction
    solutions = [critical_capacity(NeuronSpec(g, theta_d, t), task) for t in somatic_thresholds(g, weights, task)]
    # A threshold may belong to a stationary load that is not the largest: then its capacity has other weights.
    found = tuple(s for s in solutions if math.isclose(s.B, weights.B, rel_tol=1e-6, abs_tol=1e-6))
    if found:
        return DendriticExplanation(
            theta_d, found[0].neuron.theta_s, tuple(s.neuron.theta_s for s in found), True, reach, found[0]
        )
    nearest = reach.theta_s_high if abs(wanted - reach.high) < abs(wanted - reach.low) else reach.theta_s_low
    solution = critical_capacity(NeuronSpec(g, theta_d, nearest), task)
    return DendriticExplanation(theta_d, nearest, (), False, reach, solution)


def repeated_thresholds(
    g: Nonlinearity,
    replicates: Sequence[CapacityWeights],
    task: TaskSpec,
    near: float,
    progress: Callable[[], None],
) -> tuple[Floats, float]:
    """theta_s of every replicate, and the fraction of them whose silent fraction is reached.

    Of several thresholds the one next to ``near`` counts: the interval is that of one solution, not of two. Where
    there is none, the nearest stands in, as it does in `explain_by_dendrites`.
    """
    theta_s = np.full(len(replicates), np.nan)
    for number, weights in enumerate(replicates):
        if SHAPE_LIMITS[1] > weights.B:
            found = somatic_thresholds(g, weights, task)
            theta_s[number] = min(found, key=lambda threshold: abs(threshold - near), default=math.nan)
        progress()
    reached = float(np.mean(np.isfinite(theta_s))) if len(replicates) else math.nan
    missing = [at for at in np.flatnonzero(np.isnan(theta_s)).tolist() if SHAPE_LIMITS[1] > replicates[at].B]
    if missing:
        theta_d = np.array([dendritic_threshold(replicates[number], task.f_in) for number in missing])
        silent = np.array([replicates[number].silent_fraction for number in missing])
        # The ends of the reachable interval move smoothly with theta_d: five of them tell the others.
        nodes = np.linspace(theta_d.min(), theta_d.max(), 5)
        reach = np.array([astuple(silent_range(g, node, task)) for node in nodes])
        low, high, at_low, at_high = (np.interp(theta_d, nodes, column) for column in reach.T)
        theta_s[missing] = np.where(np.abs(silent - high) < np.abs(silent - low), at_high, at_low)
    return theta_s, reached


def explain_by_margin(weights: CapacityWeights, task: TaskSpec, units: Units) -> OneLayerExplanation:
    """The one-layer neuron that has these weights (model units)."""
    try:
        solution = linear_margin(weights, task)
    except NoSolution as error:
        return OneLayerExplanation(math.nan, math.nan, None, str(error))
    # Summed over all synapses, weights in millivolts give scale * sum W xi / sqrt N: the margin has the same factor.
    kappa = solution.task.kappa
    return OneLayerExplanation(kappa, kappa * units.scale_mv, solution)
