"""Critical capacity with broken replica symmetry."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError
from dendrocap.model import NeuronSpec, TaskSpec
from dendrocap.theory.constraint_curve import needs_constraint_curve
from dendrocap.theory.estimates import estimate_name
from dendrocap.theory.kernels import NODES
from dendrocap.theory.labels import label_averages
from dendrocap.theory.replica_symmetric import CapacitySolution, symmetric_capacity
from dendrocap.theory.response import (
    check_capacity_inputs,
    check_tree_averages,
    common_variance,
    tree_response,
)
from dendrocap.theory.rsb.broken_weights import BrokenWeights, weights_at
from dendrocap.theory.rsb.cascade import FieldGrid
from dendrocap.theory.rsb.curve_soma import CurveSoma
from dendrocap.theory.rsb.equations import BrokenEquations, BrokenState, FixedMean, TreeSoma
from dendrocap.theory.rsb.many_steps import extrapolated
from dendrocap.theory.rsb.next_step import Found, first_step, follow, further_step
from dendrocap.theory.stability_limit import stability_limit
from dendrocap.theory.weight_distributions import CapacityWeights, Preactivation
from dendrocap.validation import refuse

__all__ = ["BrokenCapacity", "broken_capacity"]

CLOSED = 1e-8  # relative distance to the replica-symmetric capacity below which breaking counts as vanished
NEARLY_CLOSED, SLACK = 1e-5, 1e3  # where levels almost coincide, the equations lose digits that alpha_c does not need
# Dendritic thresholds, in units of the requested one, at which a starting solution is searched for.
ELSEWHERE = (2.0, 4.0, 8.0, 32.0, 0.5, 0.25, 0.03, 3e-3, 3e-4, 3e-5, 3e-6)
NEAR = 0.7  # a start further away than this in any unknown is not used
SETTLED = 2e-5  # if the second step changes the capacity by less, the limit needs no third step
STABLE = "replica symmetry is stable up to its capacity"
FULL = 4  # steps from which the limit of many is extrapolated


@dataclass(frozen=True)
class BrokenCapacity(Displayed):
    """The critical capacity with k steps of replica symmetry breaking, and the state of the synapses there.

    Attributes
    ----------
    alpha_c : float
        Patterns per synapse above which no equal branches solve a random task, in this approximation. Unequal branches
        may store more, see `branch_stability`.
    rsb : int or "full"
        Requested steps.
    effective_levels : int
        Distinct steps; fewer than requested if solutions with more levels collapse onto fewer.
    reason : str
        Why there are fewer levels, or how the limit of many steps was taken. With "full" only ``alpha_c`` is
        extrapolated; everything else belongs to the last step computed.
    silent_fraction : float
        Fraction of weights that are exactly zero.
    breaking_points : tuple of float
        mu_1 < ... < mu_k, the breaking parameters in units of 1 / (Q - q_k).
    overlaps : tuple of float
        q_0 < ... < q_{k-1}; the last level is Q itself.
    W_bar, Q : float
        Mean and mean squared weight.
    A, b : float
        Scaled conjugates of Q and of the mean weight.
    c : tuple of float
        Scaled conjugates of the overlaps, c_0 < ... < c_k.
    M_bar, mean_shift : float
        Correction to the mean weight that the somatic threshold requires, and shift of the mean somatic input that
        unequal labels require.
    preactivation_mean, preactivation_sd : float
        Parameters of the normal distribution of a branch's summed input (first level).
    Gamma0, Gamma1 : float
        Variance at the soma, and gain of a small difference between two solutions.
    active_patterns : float
        Fraction of patterns that are stored with exactly the required margin.
    by_steps : tuple of float
        The capacity with 0, 1, ... steps, as far as they were computed.
    quadrature_error : float
        Relative change of alpha_c on a grid twice as fine, or the residual of F = 0 if that is larger.
    steps_error : float
        Relative distance from the limit of many steps; for "full", the uncertainty of the limit itself. NaN if
        too few steps are known.
    residual : float
        Largest relative residual of the equations.
    iterations : int
        Number of evaluations of the equations.
    ladder : tuple of BrokenState
        The full state with 1, 2, ... steps.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, ReLU, critical_capacity
    >>> broken = critical_capacity(NeuronSpec(ReLU(), theta_d=1.0, theta_s=0.5), rsb=2)
    >>> [round(alpha, 4) for alpha in broken.by_steps]  # 0, 1 and 2 steps
    [1.6506, 1.477, 1.4705]
    >>> round(broken.silent_fraction, 3), round(broken.weights.silent_fraction, 3)
    (0.39, 0.39)
    """

    _displayed = ("alpha_c", "estimate", "silent_fraction", "estimates", "steps_error", "residual")

    neuron: NeuronSpec
    task: TaskSpec
    rsb: int | str
    alpha_c: float
    effective_levels: int
    reason: str
    silent_fraction: float
    breaking_points: tuple[float, ...]
    overlaps: tuple[float, ...]
    W_bar: float
    Q: float
    A: float
    b: float
    c: tuple[float, ...]
    mean_shift: float
    M_bar: float
    preactivation_mean: float
    preactivation_sd: float
    Gamma0: float
    Gamma1: float
    active_patterns: float
    by_steps: tuple[float, ...]
    quadrature_error: float
    steps_error: float
    residual: float
    iterations: int
    ladder: tuple[BrokenState, ...] = field(default=(), repr=False, compare=False)

    @property
    def estimate(self) -> str:
        """The name of this estimate of the capacity."""
        return estimate_name(self.rsb)

    @property
    def estimates(self) -> dict[str, float]:
        """The capacities with 0, 1, ... steps, by name."""
        return {estimate_name(steps): alpha for steps, alpha in enumerate(self.by_steps)}

    @property
    def weights(self) -> BrokenWeights | CapacityWeights:
        """The distribution of weights at capacity; with "full", of the last step computed."""
        if not self.ladder:
            C = self.c[-1]
            return CapacityWeights(self.b / math.sqrt(C), math.sqrt(C) / self.A)
        return weights_at(self.ladder[-1])

    @property
    def common_variance(self) -> float:
        """chi, the contribution of correlated inputs to the variance of a branch's input in every solution."""
        return common_variance(self.neuron, self.task)

    @property
    def preactivation(self) -> Preactivation:
        """The distribution of a branch's summed input at capacity."""
        return Preactivation(self.preactivation_mean, self.preactivation_sd)


def broken_capacity(
    neuron: NeuronSpec, task: TaskSpec | None = None, rsb: int | str = 1, start: BrokenCapacity | None = None
) -> BrokenCapacity:
    """The critical capacity with ``rsb`` steps of breaking; see `critical_capacity`, which calls this.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, SaturatingReLU
    >>> round(broken_capacity(NeuronSpec(SaturatingReLU(), theta_d=0.5, theta_s=0.5), rsb=1).alpha_c, 4)
    1.5704
    """
    task = TaskSpec() if task is None else task
    steps = FULL if rsb == "full" else rsb
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
        raise refuse("rsb", rsb, 'a whole number >= 0, or "full"')
    check_capacity_inputs(neuron)
    symmetric = symmetric_capacity(neuron, task)
    ladder: list[Found] = []
    equations, reason, evaluations = _equations(neuron, task), "", 0
    for k in range(1, steps + 1):
        if rsb == "full" and k > 2 and 1.0 - ladder[-1].state.alpha / ladder[-2].state.alpha < SETTLED:
            break
        before = ladder[-1].state.alpha if ladder else symmetric.alpha_c
        found = _near(equations, start, before)
        if found is None and k == 1:
            first = _first(neuron, task, equations, symmetric)
            if isinstance(first, str):
                return _closed(neuron, task, rsb, symmetric, first, equations.evaluations)
            found = first
        elif found is None:
            found = further_step(equations, ladder[-1])
        evaluations += equations.evaluations
        if found is None or not found.state.alpha < before:
            reason = f"no solution with {k} levels was found below that with {k - 1}"
            break
        ladder.append(found)
        equations = equations.with_levels(k + 1)
    return _solution(neuron, task, rsb, symmetric, ladder, reason, evaluations)


def _near(equations: BrokenEquations, start: BrokenCapacity | None, before: float) -> Found | None:
    """The solution near that of a similar neuron, or None if it is not near or not below that with fewer steps."""
    if start is None or len(start.ladder) < equations.k:
        return None
    x = equations.pack(start.ladder[equations.k - 1].unknowns)
    found = follow(equations, x, reach=NEAR)
    if found is None or np.max(np.abs(found.x - x)) > NEAR or not found.state.alpha < before:
        return None
    return found


def _equations(neuron: NeuronSpec, task: TaskSpec) -> BrokenEquations:
    return BrokenEquations(FixedMean(neuron.tree[0].theta / task.f_in), _soma(neuron, task), task, 1)


def _soma(neuron: NeuronSpec, task: TaskSpec, nodes: int = NODES) -> TreeSoma | CurveSoma:
    return CurveSoma(neuron, task, nodes) if needs_constraint_curve(neuron, task) else TreeSoma(neuron, task, nodes)


def _first(neuron: NeuronSpec, task: TaskSpec, equations: BrokenEquations, symmetric: CapacitySolution) -> Found | str:
    """A one-step solution, or the reason why there is none."""
    found = first_step(equations)
    if found is not None and found.state.alpha < symmetric.alpha_c * (1.0 - CLOSED):
        return found
    try:
        if math.isinf(stability_limit(neuron, task, on_failure="return").alpha):
            return STABLE
    except ConvergenceError:
        pass  # not known to be stable
    return _by_continuation(neuron, task)


def _by_continuation(neuron: NeuronSpec, task: TaskSpec) -> Found | str:
    """Search for a solution at other dendritic thresholds, and follow it from there to the requested one."""
    for factor in ELSEWHERE:
        away = math.log(factor)
        found = first_step(_equations(_with_threshold(neuron, away), task))
        if found is None:
            continue
        path = [(away, found.x)]
        gap = 1.0 - found.state.alpha / symmetric_capacity(_with_threshold(neuron, away), task).alpha_c
        step = 0.12
        while path[-1][0] != 0.0 and step > 0.005:
            at = math.copysign(max(abs(path[-1][0]) - step, 0.0), away)
            scaled = _with_threshold(neuron, at)
            symmetric = symmetric_capacity(scaled, task).alpha_c
            guess = path[-1][1]
            if len(path) > 1:
                (at0, x0), (at1, x1) = path[-2:]
                guess = x1 + (x1 - x0) * (at - at1) / (at1 - at0)
            moved = follow(_equations(scaled, task), guess, slack=SLACK if gap < NEARLY_CLOSED else 1.0)
            if moved is None or not moved.state.alpha < symmetric:
                step *= 0.5
                continue
            path.append((at, moved.x))
            step = min(1.5 * step, 0.5)
            found, gap = moved, 1.0 - moved.state.alpha / symmetric
            if gap < CLOSED and away > 0.0:  # it decreases with the threshold, faster than any power
                return f"breaking closes: at theta_d = {scaled.tree[0].theta:.4g} already, it is within {CLOSED:g}"
        if path[-1][0] == 0.0:
            return found
    raise ConvergenceError(f"no solution with one step of breaking was found for {neuron} and {task}", None)


def _with_threshold(neuron: NeuronSpec, log_factor: float) -> NeuronSpec:
    """The neuron with the threshold of its first level multiplied."""
    factor = math.exp(log_factor)
    if neuron.levels:
        first, *others = neuron.levels
        return replace(neuron, levels=(replace(first, theta=first.theta * factor), *others))
    return replace(neuron, theta_d=neuron.theta_d * factor)


def _solution(
    neuron: NeuronSpec,
    task: TaskSpec,
    rsb: int | str,
    symmetric: CapacitySolution,
    ladder: list[Found],
    reason: str,
    evaluations: int,
) -> BrokenCapacity:
    """The public result, with its errors."""
    state, k = ladder[-1].state, len(ladder)
    known = (symmetric.alpha_c, *(found.state.alpha for found in ladder))
    # alpha is stationary at a solution: its change at fixed unknowns is its error.
    finer = BrokenEquations(
        FixedMean(symmetric.W_bar), _soma(neuron, task, 3 * NODES // 2), task, k, FieldGrid().doubled()
    )
    quadrature = max(abs(finer.state(ladder[-1].x).alpha / state.alpha - 1.0), abs(state.potential))
    alpha, steps_error = state.alpha, math.nan
    if rsb == "full":  # if one step is all there is: the next change the capacity by less than the first
        steps_error = symmetric.alpha_c / alpha - 1.0
    if k >= 2:
        limit = extrapolated(known)
        steps_error = (alpha - limit.value + limit.error) / alpha
        if rsb == "full":
            alpha, steps_error = limit.value, limit.error / limit.value
            reason = (reason + "; " if reason else "") + f"extrapolated from {k} steps"
    m, sd = _preactivation(neuron, task, state)
    return BrokenCapacity(
        neuron=neuron,
        task=task,
        rsb=rsb,
        alpha_c=alpha,
        effective_levels=k,
        reason=reason,
        silent_fraction=1.0 - state.A,
        breaking_points=tuple(map(float, state.mu)),
        overlaps=tuple(map(float, state.q)),
        W_bar=symmetric.W_bar,
        Q=state.Q,
        A=state.A,
        b=state.b,
        c=tuple(map(float, state.c)),
        mean_shift=state.unknowns.shift * math.sqrt(state.Gamma0),
        M_bar=m / task.f_in,
        preactivation_mean=m,
        preactivation_sd=sd,
        Gamma0=state.Gamma0,
        Gamma1=state.Gamma1,
        active_patterns=state.active_patterns,
        by_steps=known,
        quadrature_error=quadrature,
        steps_error=steps_error,
        residual=max(found.residual for found in ladder),
        iterations=evaluations,
        ladder=tuple(found.state for found in ladder),
    )


def _preactivation(neuron: NeuronSpec, task: TaskSpec, state: BrokenState) -> tuple[float, float]:
    """Mean and standard deviation of a branch's input."""
    mean = state.unknowns.mean
    if mean is None:
        tree = tree_response(neuron, task, state.Q)
        check_tree_averages(neuron, task, state.Q, tree.means)
        return tree.means[0], tree.sd
    root_v = math.sqrt(task.f_in * (1.0 - task.f_in))
    return mean * root_v * neuron.tree[0].theta / task.f_in, root_v * math.sqrt(state.Q)


def _closed(
    neuron: NeuronSpec, task: TaskSpec, rsb: int | str, symmetric: CapacitySolution, reason: str, evaluations: int
) -> BrokenCapacity:
    """The replica-symmetric solution as the result of any number of steps."""
    root = math.sqrt(symmetric.Gamma0)
    return BrokenCapacity(
        neuron=neuron,
        task=task,
        rsb=rsb,
        alpha_c=symmetric.alpha_c,
        effective_levels=0,
        reason=reason,
        silent_fraction=symmetric.silent_fraction,
        breaking_points=(),
        overlaps=(),
        W_bar=symmetric.W_bar,
        Q=symmetric.Q,
        A=symmetric.A,
        b=symmetric.B * math.sqrt(symmetric.C),
        c=(symmetric.C,),
        mean_shift=symmetric.mean_shift,
        M_bar=symmetric.M_bar,
        preactivation_mean=symmetric.preactivation_mean,
        preactivation_sd=symmetric.preactivation_sd,
        Gamma0=symmetric.Gamma0,
        Gamma1=symmetric.Gamma1,
        active_patterns=label_averages(task.f_out, task.kappa / root).mass,
        by_steps=(symmetric.alpha_c,),
        quadrature_error=0.0,
        steps_error=0.0 if reason == STABLE else 10.0 * CLOSED,
        residual=symmetric.residual,
        iterations=evaluations,
    )
