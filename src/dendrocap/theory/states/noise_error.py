"""Errors under noise of typical solutions and of point states.

Given the clean somatic input of a pattern the noisy one is normal. The remaining average is over the clean input: over
a plane for typical solutions, whose cloud has a width, over a line if all solutions agree (capacity, largest
margin, learned).
"""

from __future__ import annotations

import math

from dendrocap.numerics.quadrature import legendre_rule
from dendrocap.theory.branches.solution import PopulationCapacity
from dendrocap.theory.branches.typical_solution import PopulationSaddlePoint
from dendrocap.theory.channels import is_hard
from dendrocap.theory.gaussian import moments
from dendrocap.theory.kernels import TreeKernel
from dendrocap.theory.mixed_kernel import BranchInput
from dendrocap.theory.replica_symmetric import CapacitySolution
from dendrocap.theory.saddle_point import SaddlePoint
from dendrocap.theory.states.broken_noise import broken_noise_error
from dendrocap.theory.states.margin import MaximalMargin
from dendrocap.theory.states.noise import NODES, Noise, NoisySoma, PointState, noisy_soma
from dendrocap.validation import refuse

__all__ = ["noise_error"]

# For solutions closer than this, relative to Q, a difference of covariances is less accurate than a slope.
CLOSE = 1e-5


def noise_error(
    solution: SaddlePoint | CapacitySolution | PopulationCapacity | PointState,
    *,
    flips: float = 0.0,
    synaptic: float = 0.0,
    n_branches: int | None = None,
    branch_size: int | None = None,
) -> float:
    """Fraction of the learned patterns that a state gets wrong under noise.

    Parameters
    ----------
    solution : SaddlePoint, CapacitySolution, MaximalMargin, LearnedState or PopulationCapacity
        Typical solutions at a load, the solution at capacity, that with the largest margin, or a learned state; all
        with equal branches and replica symmetric. A `PopulationCapacity`, which has several populations or short
        branches, must have one step of symmetry breaking (``rsb=1``).
    flips : float
        Each input is flipped with this probability, as in `noise_robustness`.
    synaptic : float
        Each weight becomes ``max(W (1 + synaptic z), 0)`` with a normal z.
    n_branches, branch_size : int, optional
        K and n = N / K. Noise then shifts the mean input of a branch and of the soma as in a neuron of this
        size. Without sizes thresholds are assumed to follow these shifts.

    Raises
    ------
    InvalidParameter
        For flips at ``f_in`` other than 1/2 without sizes, and for states whose noise has not been derived: several
        populations of branches or short ones, below capacity, with other than one step of breaking or with correlated
        inputs; deep trees; inhibition.

    Notes
    -----
    [noise-typical] for a `SaddlePoint`, [noise-broken] with one step of breaking, [noise-point] for all others. At
    capacity many patterns are exactly at the threshold, half of all in replica symmetry: without noise the error is 0,
    with arbitrarily weak noise it is half their share, and more if g has kinks.

    Examples
    --------
    >>> from dendrocap import Linear, NeuronSpec, saddle_point
    >>> typical = saddle_point(NeuronSpec(Linear(), theta_d=0.5, theta_s=0.5), alpha=0.5)
    >>> round(noise_error(typical, flips=0.05), 6)
    0.236618
    """
    noise = Noise(flips, synaptic, n_branches, branch_size)
    if isinstance(solution, PopulationCapacity | PopulationSaddlePoint):
        noise.check(solution.neuron, solution.task)  # what is refused by name comes first
    if isinstance(solution, PopulationCapacity):
        return broken_noise_error(solution, noise)
    if isinstance(solution, CapacitySolution):
        solution = MaximalMargin.at_capacity(solution)
    if not isinstance(solution, SaddlePoint) and not hasattr(solution, "somatic_inputs"):
        raise refuse(
            "solution",
            solution,
            "a SaddlePoint, a CapacitySolution, a MaximalMargin, a LearnedState or a PopulationCapacity: noise has not "
            "been derived for several populations below capacity and for single neurons of given size; with broken "
            "symmetry it is for critical_capacity(neuron, rsb=1, branch_size=n)",
        )
    noise.check(solution.neuron, solution.task)
    if isinstance(solution, SaddlePoint) and not is_hard(solution.channel):
        raise refuse(
            "solution.channel", solution.channel, "HardMargin(): noise is derived for solutions without errors"
        )
    if isinstance(solution, SaddlePoint):
        return _typical_error(solution, noise) if noise else 0.0
    return _point_error(solution, noise) if noise else solution.training_error


def _typical_error(solution: SaddlePoint, noise: Noise) -> float:
    """[noise-typical]"""
    from dendrocap.theory.states._kernels import typical_error

    neuron, task = solution.neuron, solution.task
    clean = BranchInput(solution.preactivation.mu, solution.preactivation.sigma)
    kernel = TreeKernel(neuron, task).at(solution.Q, solution.dq)
    soma = NoisySoma(neuron, task, noise, solution.Q, clean)
    V, dV = clean.sd**2, task.f_in * (1.0 - task.f_in) * solution.dq
    others = soma.pair(V - dV)
    if solution.dq < CLOSE * solution.Q:
        beyond = soma.fraction * dV * soma.pair(V - 0.5 * dV).slopes
    else:
        beyond = soma.pair(V).covariance - others.covariance
    along, across = others.covariance / math.sqrt(kernel.D0), beyond / math.sqrt(kernel.D1)
    sd = math.sqrt(max(soma.variance - along**2 - across**2, 1e-30))
    steepness = math.sqrt(kernel.D0 / kernel.D1)

    def of(sign: float) -> float:
        shift = (task.kappa - sign * solution.mean_shift) / math.sqrt(kernel.D1)
        offset = sign * (soma.drift + solution.mean_shift)
        return float(typical_error(steepness, shift, offset, along, across, sd, legendre_rule(NODES)))

    if solution.mean_shift == soma.drift == 0.0:
        return of(1.0)
    return task.f_out * of(1.0) + (1.0 - task.f_out) * of(-1.0)


def _point_error(state: PointState, noise: Noise) -> float:
    """[noise-point]"""
    from scipy.special import ndtr

    soma, pair = noisy_soma(state, noise)
    along = pair.covariance / state.Gamma0
    gain = moments(state.neuron.tree[0].nonlinearity, 0.0, state.preactivation_sd, state.preactivation_mean).gain
    across = soma.fraction * pair.slopes / gain
    sd = math.sqrt(max(soma.variance - along * pair.covariance, 1e-30))

    def of(sign: float) -> float:
        offset = sign * (soma.drift + state.mean_shift)
        patterns = state.somatic_inputs(sign, offset, along, across, sd)
        return float(patterns.weight @ ndtr(-(offset + along * patterns.field + across * patterns.push) / sd))

    if state.mean_shift == soma.drift == 0.0:
        return of(1.0)
    return state.task.f_out * of(1.0) + (1.0 - state.task.f_out) * of(-1.0)
