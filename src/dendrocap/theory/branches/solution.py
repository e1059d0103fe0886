"""Critical capacity of several populations of branches, of any length: the solution and how it is reached.

With broken symmetry the solution of equal branches of infinite length is known well. It is followed from there to
the requested populations, with all parameters changing together. If two populations differ in g, branches with one
or the other at random lead from one to the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError
from dendrocap.model import NeuronSpec, TaskSpec
from dendrocap.numerics._compiled import tail
from dendrocap.theory.branches.broken import PopulationEquations, Side
from dendrocap.theory.branches.following import FoundState, follow_to, near
from dendrocap.theory.branches.population import Population, PopulationKernel
from dendrocap.theory.branches.symmetric import SymmetricSide, SymmetricState, symmetric_state
from dendrocap.theory.branches.synapses import ONLY_EXCITATORY, SynapseType, SynapseWeights, mean_weight
from dendrocap.theory.estimates import estimate_name
from dendrocap.theory.rsb.broken_capacity import FULL, SETTLED, broken_capacity
from dendrocap.theory.rsb.broken_weights import BrokenWeights, mixture_of
from dendrocap.theory.rsb.equations import Unknowns
from dendrocap.theory.rsb.many_steps import extrapolated
from dendrocap.theory.weight_distributions import CapacityWeights, Preactivation
from dendrocap.validation import refuse

__all__ = ["PopulationCapacity", "PopulationWeights", "Reference", "broken_state", "capacity_of", "reference_start"]

Floats = NDArray[np.float64]

TYPICAL_RATIO = 3.0  # Q / W_bar^2 of broken solutions, for an initial guess of the mean input of a short branch


@dataclass(frozen=True)
class PopulationWeights(Displayed):
    """One population at capacity.

    Attributes
    ----------
    fraction, length : float
        Its share of the branches, and its synapses per branch relative to the average.
    mean_output : float
        E g.
    W_bar, Q : float
        Mean weight and mean squared weight, over all its synapses; inhibitory weights are negative.
    silent_fraction : float
        Fraction of its weights that are exactly zero.
    preactivation_mean, preactivation_sd : float
        Parameters of the normal distribution of a branch's summed input.
    common_variance : float
        chi, the contribution of correlated inputs to that variance in every solution.
    gap : float
        Distance of two close solutions, relative to that in the first population.
    synapses : tuple of SynapseWeights
        Excitatory synapses and, with inhibition, inhibitory ones.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky, critical_capacity
    >>> (branches,) = critical_capacity(NeuronSpec(Polsky(), 0.1, 0.5), branch_size=37).populations
    >>> round(branches.W_bar, 4), round(branches.weights.mean(), 4), round(branches.silent_fraction, 4)
    (0.3115, 0.3115, 0.6807)
    """

    _displayed = ("mean_output", "W_bar", "silent_fraction", "fraction")

    fraction: float
    length: float
    mean_output: float
    W_bar: float
    Q: float
    silent_fraction: float
    preactivation_mean: float
    preactivation_sd: float
    gap: float
    common_variance: float
    synapses: tuple[SynapseWeights, ...]

    @property
    def weights(self) -> CapacityWeights | BrokenWeights:
        """The distribution of its weights, for branches without inhibition."""
        if len(self.synapses) > 1:
            raise refuse("weights of", "two types of synapses", "asked of one: synapses[i].weights")
        weights = self.synapses[0].weights
        assert weights is not None  # excitation is never dead
        return weights

    @property
    def preactivation(self) -> Preactivation:
        """The distribution of a branch's summed input at capacity."""
        return Preactivation(self.preactivation_mean, self.preactivation_sd)


@dataclass(frozen=True)
class PopulationCapacity(Displayed):
    """The critical capacity of a neuron with several populations of branches, or with branches of finite length.

    Attributes
    ----------
    alpha_c : float
        Patterns per synapse above which no weights solve a random task, in this approximation.
    rsb : int or "full"
        Steps of replica symmetry breaking; 0 is replica symmetric.
    branch_size : float
        Synapses of the average branch; infinite in the paper's limit.
    silent_fraction, W_bar, Q : float
        Fraction of silent weights, mean weight and mean squared weight, over all synapses; inhibitory weights are
        negative.
    mean_shift : float
        Shift of the mean somatic input that unequal labels require.
    Gamma0 : float
        Variance at the soma.
    populations : tuple of PopulationWeights
        Each kind of branches.
    by_steps : dict
        Capacities by number of steps, as far as they were computed.
    residual, potential : float
        Largest relative residual of the equations, and F / F_S, which vanishes at a solution although it is not one of
        the solved equations.
    iterations : int
        Number of evaluations of the equations.
    reason : str
        How the limit of many steps was taken, or why there is no breaking.

    Examples
    --------
    >>> from dendrocap import Branches, NeuronSpec, SaturatingReLU, critical_capacity
    >>> halves = [Branches(SaturatingReLU(), 0.5, fraction=0.5, mean_output=t) for t in (0.05, 0.95)]
    >>> unequal = critical_capacity(NeuronSpec(populations=halves, theta_s=0.5), rsb=1)
    >>> round(unequal.alpha_c, 6)  # 1.570421 with equal branches
    2.106824
    """

    _displayed = ("alpha_c", "estimate", "branch_size", "silent_fraction", "residual")

    neuron: NeuronSpec
    task: TaskSpec
    rsb: int | str
    branch_size: float
    alpha_c: float
    silent_fraction: float
    W_bar: float
    Q: float
    mean_shift: float
    Gamma0: float
    populations: tuple[PopulationWeights, ...]
    by_steps: dict[int, float]
    residual: float
    potential: float
    iterations: int
    reason: str = ""
    found: FoundState | None = field(default=None, repr=False, compare=False)

    @property
    def estimate(self) -> str:
        """The name of this estimate of the capacity."""
        return estimate_name(self.rsb)

    @property
    def preactivation_mean(self) -> float:
        """Mean of a branch's summed input, over all branches."""
        return math.fsum(one.fraction * one.preactivation_mean for one in self.populations)

    @property
    def weights(self) -> CapacityWeights | BrokenWeights:
        """The distribution of weights at capacity, for a neuron with one population."""
        if len(self.populations) > 1:
            raise refuse("weights of", f"{len(self.populations)} populations", "asked of one: populations[i].weights")
        return self.populations[0].weights


def capacity_of(
    populations: Sequence[Population],
    neuron: NeuronSpec,
    task: TaskSpec,
    rsb: int | str = 0,
    start: PopulationCapacity | None = None,
) -> PopulationCapacity:
    """The critical capacity of populations at their prescribed mean outputs."""
    if rsb == 0:
        return _from_symmetric(populations, neuron, task, rsb, symmetric_state(populations, task))
    most = FULL if rsb == "full" else rsb
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise refuse("rsb", rsb, 'a whole number >= 0, or "full"')
    by_steps: dict[int, float] = {}
    found, reason = None, ""
    # The limit of many steps needs all of them; otherwise fewer steps are used only if there are no more.
    for k in range(1, most + 1) if rsb == "full" else range(most, 0, -1):
        more = broken_state(populations, neuron.theta_s, task, k, start)
        if isinstance(more, str):
            reason = more
            if rsb == "full":
                break
            continue
        found = more
        by_steps[k] = found.state.alpha
        if rsb != "full" or (k > 1 and 1.0 - by_steps[k] / by_steps[k - 1] < SETTLED):
            break
    if found is None:
        return _from_symmetric(populations, neuron, task, rsb, symmetric_state(populations, task), reason)
    alpha = found.state.alpha
    if rsb == "full" and len(by_steps) > 1:
        # The limit needs no replica-symmetric value, which may not exist on short branches.
        limit = extrapolated([math.nan, *by_steps.values()])
        alpha, reason = limit.value, f"extrapolated from {len(by_steps)} steps" + (f"; {reason}" if reason else "")
    return _from_broken(populations, neuron, task, rsb, found, alpha, by_steps, reason)


def broken_state(
    populations: Sequence[Population],
    theta_s: float,
    task: TaskSpec,
    k: int,
    start: PopulationCapacity | None = None,
    n_branches: float = math.inf,
) -> FoundState | str:
    """The solution with k steps at prescribed mean outputs, or the reason why there is none."""
    if start is not None and start.found is not None:
        equations = PopulationEquations(populations, task, theta_s, k, n_branches=n_branches)
        if start.found.x.size == equations.size:
            found = near(equations, start.found.x, start.found.jacobian)
            if found is not None:
                return found
    reached, why = 0.0, ""
    # The largest population first: the path from its own branches is shortest.
    for reference in sorted(populations, key=lambda one: -one.share):
        begin = reference_start(reference, theta_s, task, k)
        if isinstance(begin, str):
            why = why or begin
            continue
        family = _way(begin, populations, theta_s, task, k, n_branches)
        P = len(populations)
        u = begin.unknowns
        way = follow_to(family, family(0.0).pack([u] * P, [begin.mean_input] * P, u.shift))
        if way.reached == 1.0 and way.found is not None:
            return way.found
        reached = max(reached, way.reached)
    if reached == 0.0 and why:
        return why
    raise ConvergenceError(
        f"no solution with {k} step(s) of breaking was found for {list(populations)}: it could be followed for "
        f"{reached:.1%} of the way from like branches. Branches that are nearly always on have no solution of their "
        "own once theta_d no longer limits their weights; mean outputs closer to theta_s help",
        reached,
    )


@dataclass(frozen=True)
class Reference:
    """The solution of equal branches of infinite length, from which populations are reached."""

    population: Population
    unknowns: Unknowns
    mean_input: float


def reference_start(population: Population, theta_s: float, task: TaskSpec, k: int) -> Reference | str:
    """The solution of equal branches of infinite length with the same mean weight, or why symmetry does not break."""
    low, high = population.nonlinearity.range
    output = theta_s if low < theta_s < high else population.mean_output
    alike = replace(population, fraction=1.0, length=1.0, mean_output=output)
    W_bar = alike.W_bar(PopulationKernel(alike).mean_input(TYPICAL_RATIO))
    # All live synapses as one type, with their average strength.
    live = math.fsum(one.share for one in alike.types if one.strength > 0.0)
    strength = math.fsum(one.share * one.strength for one in alike.types) / live
    alike = replace(
        alike,
        theta_d=strength * W_bar * alike.f_in,
        branch_size=math.inf,
        common=alike.common / strength**2,
        types=ONLY_EXCITATORY,
    )
    solved = broken_capacity(
        NeuronSpec(alike.nonlinearity, alike.theta_d, output),
        replace(task, f_in=alike.f_in, branch_correlation=alike.common),
        k,
    )
    if len(solved.ladder) < k:
        return solved.reason
    return Reference(alike, solved.ladder[k - 1].unknowns, solved.preactivation_mean)


def _way(
    begin: Reference,
    populations: Sequence[Population],
    theta_s: float,
    task: TaskSpec,
    k: int,
    n_branches: float,
) -> Callable[[float], PopulationEquations]:
    """Equations on the path from equal branches (0) to the populations (1)."""
    like = begin.population

    def family(s: float) -> PopulationEquations:
        on_the_way, kernels = [], []
        for goal in populations:
            types = _types_between(goal.types, s)
            f_in, share = (1.0 - s) * like.f_in + s * goal.f_in, goal.types[0].share
            # The drive per share of excitatory synapses changes linearly, and with it their mean weight.
            drive = (1.0 - s) * like.theta_d + s * goal.theta_d / share
            now = replace(
                goal,
                theta_d=drive * types[0].share,
                f_in=f_in,
                types=types,
                length=(1.0 - s) + s * goal.length,
                mean_output=_between(goal, like.mean_output, goal.mean_output, s),
                branch_size=math.inf if s == 0.0 else goal.branch_size / s**2,
                common=(1.0 - s) * like.common + s * goal.common,
            )
            other = goal.nonlinearity != like.nonlinearity
            on_the_way.append(now)
            kernels.append(
                PopulationKernel(now).mixed(
                    PopulationKernel(replace(now, nonlinearity=like.nonlinearity)) if other and s < 1.0 else None, s
                )
            )
        K = math.inf if s == 0.0 else n_branches / s**2
        return PopulationEquations(on_the_way, task, theta_s, k, n_branches=K, kernels=kernels)

    return family


def _types_between(goal: Sequence[SynapseType], s: float) -> tuple[SynapseType, ...]:
    """Types of synapses on the path; at its start all live synapses are alike, and there are no others."""
    live = math.fsum(one.share for one in goal if one.strength > 0.0)
    return tuple(
        replace(
            one,
            share=((1.0 - s) / live if one.strength > 0.0 else 0.0) * one.share + s * one.share,
            strength=(1.0 - s) + s * one.strength if one.strength > 0.0 else 0.0,
        )
        for one in goal
    )


def _between(population: Population, one: float, other: float, s: float) -> float:
    """A mean output on the path; for bounded g by the logarithm of the odds, which changes the mean input evenly."""
    low, high = population.nonlinearity.range
    if not (math.isfinite(low + high) and low < one < high):
        return (1.0 - s) * one + s * other
    if s in (0.0, 1.0):
        return other if s else one
    odds = [math.log((t - low) / (high - t)) for t in (one, other)]
    return low + (high - low) / (1.0 + math.exp(-((1.0 - s) * odds[0] + s * odds[1])))


def _averages(populations: Sequence[Population], values: Sequence[float]) -> float:
    """Average over all synapses."""
    return math.fsum(one.share * value for one, value in zip(populations, values, strict=True))


def _branch_size(populations: Sequence[Population]) -> float:
    return populations[0].branch_size / populations[0].length


def _from_symmetric(
    populations: Sequence[Population],
    neuron: NeuronSpec,
    task: TaskSpec,
    rsb: int | str,
    state: SymmetricState,
    reason: str = "",
) -> PopulationCapacity:
    kinds = tuple(
        _capacity_weights(population, side, gap)
        for population, side, gap in zip(populations, state.sides, state.gaps, strict=True)
    )
    return PopulationCapacity(
        neuron=neuron,
        task=task,
        rsb=rsb,
        branch_size=_branch_size(populations),
        alpha_c=state.alpha,
        silent_fraction=_averages(populations, [kind.silent_fraction for kind in kinds]),
        W_bar=_averages(populations, [kind.W_bar for kind in kinds]),
        Q=_averages(populations, [kind.Q for kind in kinds]),
        mean_shift=state.labels.shift * math.sqrt(state.Gamma0),
        Gamma0=state.Gamma0,
        populations=kinds,
        by_steps={0: state.alpha},
        residual=state.residual,
        potential=0.0,
        iterations=state.evaluations,
        reason=reason,
    )


def _from_broken(
    populations: Sequence[Population],
    neuron: NeuronSpec,
    task: TaskSpec,
    rsb: int | str,
    found: FoundState,
    alpha: float,
    by_steps: dict[int, float],
    reason: str,
) -> PopulationCapacity:
    state = found.state
    kinds = tuple(weights_of(*pair) for pair in zip(populations, state.sides, strict=True))
    return PopulationCapacity(
        neuron=neuron,
        task=task,
        rsb=rsb,
        branch_size=_branch_size(populations),
        alpha_c=alpha,
        silent_fraction=_averages(populations, [kind.silent_fraction for kind in kinds]),
        W_bar=_averages(populations, [kind.W_bar for kind in kinds]),
        Q=_averages(populations, [kind.Q for kind in kinds]),
        mean_shift=state.shift * math.sqrt(state.Gamma0),
        Gamma0=state.Gamma0,
        populations=kinds,
        by_steps=by_steps,
        residual=found.residual,
        potential=state.potential,
        iterations=state.evaluations,
        reason=reason,
        found=found,
    )


def _capacity_weights(population: Population, side: SymmetricSide, gap: float) -> PopulationWeights:
    """The public description of one population of a replica-symmetric solution."""
    synapses = []
    for one, B in zip(population.types, side.shapes, strict=True):
        weights = CapacityWeights(B, side.W_star / one.scale) if math.isfinite(B) else None
        synapses.append(
            SynapseWeights(
                kind=one.kind,
                share=one.share,
                f_in=one.f_in or population.f_in,
                silent_fraction=1.0 if weights is None else float(tail(-B)[0]),
                W_bar=side.W_bar * one.strength / one.scale,
                Q=0.0 if weights is None else weights.second_moment(),
                weights=weights,
            )
        )
    return _population_weights(population, synapses, side.m, side.Q, population.mean_output, gap)


def weights_of(population: Population, side: Side) -> PopulationWeights:
    """The public description of one population of a broken solution."""
    unit = math.sqrt(float(side.c[-1])) / side.A
    synapses = []
    for one, at in zip(population.types, side.types, strict=True):
        synapses.append(
            SynapseWeights(
                kind=one.kind,
                share=one.share,
                f_in=one.f_in or population.f_in,
                silent_fraction=1.0 if at is None else 1.0 - at.averages.active,
                W_bar=side.W_bar * one.strength / one.scale,
                Q=0.0 if at is None else at.Q / one.scale**2,
                weights=None if at is None else mixture_of(side.unknowns._replace(b=at.b), unit / one.scale),
            )
        )
    return _population_weights(population, synapses, side.m, side.Q, side.norm.output, side.gap)


def _population_weights(
    population: Population, synapses: Sequence[SynapseWeights], m: float, Q: float, output: float, gap: float
) -> PopulationWeights:
    """Combined weights of all types of synapses; Q is their squared norm in units of excitatory weights."""
    return PopulationWeights(
        fraction=population.fraction,
        length=population.length,
        mean_output=output,
        W_bar=mean_weight(synapses),
        Q=math.fsum(one.share * one.Q for one in synapses),
        silent_fraction=math.fsum(one.share * one.silent_fraction for one in synapses),
        preactivation_mean=m,
        preactivation_sd=math.sqrt(population.variance(m, Q)),
        gap=gap,
        common_variance=population.common_variance(m),
        synapses=tuple(synapses),
    )
