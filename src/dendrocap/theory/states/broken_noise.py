"""Errors under noise at the capacity with one step of symmetry breaking, for one or several populations of branches.

Solutions form clusters. The somatic input of a pattern that is not yet learned has a part that all clusters share and a
part of each cluster; a cluster counts the less, the further its patterns must be pushed [noise-broken]. Given both
parts the noisy input is normal, as at every point state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dendrocap.model import NeuronSpec, TaskSpec
from dendrocap.numerics.quadrature import legendre_rule
from dendrocap.theory.branches.solution import PopulationCapacity
from dendrocap.theory.mixed_kernel import BranchInput
from dendrocap.theory.states.noise import Noise, NoisySoma
from dendrocap.validation import refuse

__all__ = ["broken_noise_error"]

Floats = NDArray[np.float64]

# Averages over both parts: nodes per Gauss-Legendre panel, panels on either side of a bend, and where the normal ends.
NODES, PANELS, END = 16, 12, 9.0


class NoisyBranches(NamedTuple):
    """One population of branches, clean and noisy."""

    fraction: float
    clean: BranchInput
    soma: NoisySoma
    common: float  # covariance of the clean inputs of solutions in two clusters
    response: float  # f (1 - f) times the distance of two solutions of a cluster, in units of the first population's


@dataclass(frozen=True)
class Clusters:
    """Somatic inputs of patterns: variances of the shared part and of that of a cluster, and the weight of clusters."""

    shared: float
    own: float
    Gamma1: float
    mu: float
    shift: float

    def patterns(self, start: float) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Both parts and the push at nodes, their weights, and the energy for each value of the shared part.

        ``start`` is the margin that a pattern lacks on average.
        """
        shared, outer = (one[0] for one in _normal(np.zeros(1)))
        at = start - math.sqrt(self.shared) * shared
        own, inner = _normal(at / math.sqrt(self.own))  # a pattern is pushed below, not above
        push = np.maximum(at[:, None] - math.sqrt(self.own) * own, 0.0)
        tilted = inner * np.exp(-0.5 * self.mu * push**2 / self.Gamma1)
        norm = tilted.sum(axis=1)
        return shared[:, None], own, push, outer[:, None] * tilted / norm[:, None], outer * np.log(norm)


def _normal(bends: Floats) -> tuple[Floats, Floats]:
    """Nodes and weights of averages over a standard normal number, one row for each bend of the integrand."""
    nodes, weights = legendre_rule(NODES)
    at, parts = np.clip(bends, -END, END)[:, None], np.linspace(0.0, 1.0, PANELS + 1)
    edges = np.concatenate([-END + (at + END) * parts, at + (END - at) * parts[1:]], axis=1)
    half = 0.5 * np.diff(edges, axis=1)[:, :, None]
    z = (edges[:, :-1, None] + half * (1.0 + nodes)).reshape(len(at), -1)
    weight = (half * weights).reshape(len(at), -1)
    return z, weight * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)


def broken_noise_error(solution: PopulationCapacity, noise: Noise) -> float:
    """Fraction of the learned patterns that are wrong under noise, at the capacity with one step [noise-broken]."""
    task = solution.task
    if task.branch_correlation:
        raise refuse(
            "task.branch_correlation",
            task.branch_correlation,
            "0 where branches are short or differ: noise on correlated inputs is derived for long, equal branches",
        )
    if solution.rsb != 1 or solution.found is None:
        raise refuse(
            "solution.rsb",
            solution.rsb,
            "1 where branches are short or differ: noise is derived for one step of symmetry breaking there",
        )
    if noise.branch_size is not None and any(one.length != 1.0 for one in solution.populations):
        raise refuse("branch_size", noise.branch_size, "left out where branches differ in length")
    if not noise:
        return 0.0
    return error_of(task, branches_of(solution, noise), clusters_of(solution))


def branches_of(solution: PopulationCapacity, noise: Noise) -> list[NoisyBranches]:
    """The populations of a solution with one step of breaking, under noise."""
    assert solution.found is not None  # broken_noise_error has seen to it
    neuron, found = solution.neuron, []
    for kind, one, side in zip(neuron.kinds, solution.populations, solution.found.state.sides, strict=True):
        task = solution.task if kind.f_in is None else replace(solution.task, f_in=kind.f_in)
        v = task.f_in * (1.0 - task.f_in)
        alone = NeuronSpec(kind.nonlinearity, kind.theta_d, neuron.theta_s)
        clean = BranchInput(one.preactivation_mean, one.preactivation_sd)
        soma = NoisySoma(alone, task, noise, one.Q, clean)
        found.append(NoisyBranches(one.fraction, clean, soma, v * float(side.q[0]), v * side.gap))
    return found


def clusters_of(solution: PopulationCapacity) -> Clusters:
    """The somatic inputs of a solution with one step of breaking."""
    assert solution.found is not None  # broken_noise_error has seen to it
    state = solution.found.state
    pairs = zip(solution.populations, state.sides, strict=True)
    own = math.fsum(one.fraction * side.overlaps[0].D1 for one, side in pairs)
    return Clusters(state.Gamma0 - own, own, state.Gamma1, float(state.mu[-1]), solution.mean_shift)


def error_of(task: TaskSpec, branches: Sequence[NoisyBranches], clusters: Clusters) -> float:
    """Errors of both labels together."""
    from scipy.special import ndtr

    same = [one.soma.pair(one.clean.sd**2) for one in branches]
    between = math.fsum(one.fraction * one.soma.pair(one.common).covariance for one in branches)
    total = math.fsum(one.fraction * pair.covariance for one, pair in zip(branches, same, strict=True))
    along = between / math.sqrt(clusters.shared), (total - between) / math.sqrt(clusters.own)
    across = math.fsum(
        one.fraction * one.response * one.soma.fraction * pair.slopes for one, pair in zip(branches, same, strict=True)
    )
    variance = math.fsum(one.fraction * one.soma.variance for one in branches)
    drift = math.fsum(one.fraction * one.soma.drift for one in branches)
    sd = math.sqrt(max(variance - along[0] ** 2 - along[1] ** 2, 1e-30))

    def of(sign: float) -> float:
        shared, own, push, weight, _ = clusters.patterns(task.kappa - sign * clusters.shift)
        level = sign * (drift + clusters.shift) + along[0] * shared + along[1] * own + across / clusters.Gamma1 * push
        return float(np.sum(weight * ndtr(-level / sd)))

    return task.f_out * of(1.0) + (1.0 - task.f_out) * of(-1.0)
