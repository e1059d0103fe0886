"""Populations of branches in the theory: the contribution of each to the soma, at any mean input and norm.

The branches of a neuron need not be alike. They may differ in g, threshold, length or coding level, and even equal
branches may have different mean inputs: the soma fixes only the average of their outputs [pop-soma]. The
mean input m and the squared norm Q of a population are therefore two variables here, and all derivatives are partial
ones. On a branch of n synapses the mean input changes the mean weight, W_bar = (theta_d + m / sqrt(n)) / f_in
[branch-mean], which is the paper's theta_d / f_in for n to infinity.

A branch may also have plastic inhibitory synapses (`synapses`). Norms are then those of all its synapses, in units
of excitatory weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from dendrocap.errors import InvalidParameter, NoSolution
from dendrocap.model import Branches, Inhibition, Nonlinearity
from dendrocap.model.neuron import NeuronSpec, TaskSpec
from dendrocap.numerics._compiled import tail
from dendrocap.theory import scope
from dendrocap.theory.dendrite import (
    NODES,
    BranchKernel,
    PairKernel,
    check_reachable,
    common_variance,
    inverse_guess,
    levels_with_thresholds,
    prepared,
)
from dendrocap.theory.solver import monotone_root
from dendrocap.validation import real_number, refuse

if TYPE_CHECKING:
    from dendrocap.theory.solution import SynapseWeights
    from dendrocap.theory.weights import OwnPrior

# Kernels: how a dendritic tree transforms the variance and the overlap of its inputs.
#
# A branch receives a Gaussian pre-activation of variance V; two replicas of it share all but a part dV of this
# variance. Their outputs are again Gaussian at the soma, or at the next level of a deeper tree, with a variance
# and a difference that are functions of V and dV. The pair (V, dV), rather than variance and covariance, keeps
# every digit when the replicas come close, as they do at capacity.


class TreeKernel:
    """The kernel of a whole neuron: levels composed from the synapses to the soma."""

    def __init__(self, neuron: NeuronSpec, task: TaskSpec, nodes: int = NODES) -> None:
        check_reachable(neuron)
        self._levels = [BranchKernel(g, threshold, nodes) for g, threshold in levels_with_thresholds(neuron)]
        self._v = task.f_in * (1.0 - task.f_in)
        self._chi = common_variance(neuron, task)

    def at(self, Q: float, dq: float) -> PairKernel:
        """Overlaps at the soma for weights of mean square Q and overlap Q - dq between replicas."""
        return composed(self._levels, self._v * Q + self._chi, self._v * dq, self._v)


def composed(levels: Sequence[BranchKernel], V: float, dV: float, v: float) -> PairKernel:
    """The kernel of levels on top of each other; the first sees inputs of variance V = v Q + chi and dV = v dq."""
    V_Q, dV_Q, dV_dq, curvature, slope = v, 0.0, v, 0.0, 1.0
    means: list[float] = []
    for level in levels:
        own, branch = level.at(V, dV)
        # chain rule: dV' = dD1_dV dV + dD1_ddV d(dV), and the second derivative of a composed C(c)
        curvature = branch.d2D0_dc2 * dV_dq**2 + branch.dD1_ddV * curvature
        dV_Q = branch.dD1_dV * V_Q + branch.dD1_ddV * dV_Q
        dV_dq *= branch.dD1_ddV
        V_Q *= own.d_variance
        slope *= own.slope
        means.append(own.mean)
        V, dV = own.variance, branch.D1
    return PairKernel(
        D0=branch.D0,
        D1=dV,
        dD1_ddq=dV_dq,
        dD1_dQ=dV_Q,
        dGamma0_dQ=V_Q,
        d2D0_dq2=curvature,
        mean_slope=slope,
        means=tuple(means),
    )


# Types of synapses on the branches of one population, and their weights in a given field.
#
# Excitatory and inhibitory weights of a branch add up in its summed input, where only the sum of their variances
# matters. Weights are measured in units in which all inputs fluctuate alike, sqrt(v_a / v_E) W_a. In these units the
# conjugates of norm and overlap are the same for all types, and signs drop out; each type has only its own conjugate
# of the mean [inhibition-types]. The paper's case has one type.


@dataclass(frozen=True)
class SynapseType:
    """Synapses of one sign.

    Attributes
    ----------
    kind : {"excitatory", "inhibitory"}
        Their sign; the theory uses strengths, which are never negative.
    share : float
        Share of the synapses of a branch.
    strength : float
        Mean strength in the common units, relative to that of the first type; 0 if they are dead.
    scale : float
        Common units per unit of their own weights, sqrt(v_a / v_E).
    f_in : float, optional
        Probability that one of their inputs is active, if not that of the population.
    """

    kind: str = "excitatory"
    share: float = 1.0
    strength: float = 1.0
    scale: float = 1.0
    f_in: float | None = None


SIGNS = {"excitatory": 1.0, "inhibitory": -1.0, "of either sign": 1.0}

# A weaker type counts as dead: the Gaussian tail that gives its mean strength is below the smallest float.
WEAKEST = 1e-250

ONLY_EXCITATORY = (SynapseType(),)


def synapse_types(inhibition: Inhibition | None, theta_d: float, f_in: float) -> tuple[SynapseType, ...]:
    """The types of a population whose excitatory drive is theta_d; drives fix the mean strengths [inhibition-means]."""
    if inhibition is None or inhibition.share == 0.0:
        return ONLY_EXCITATORY
    share, f_i = inhibition.share, f_in if inhibition.f_in is None else inhibition.f_in
    scale = math.sqrt(f_i * (1.0 - f_i) / (f_in * (1.0 - f_in)))
    mean_e, mean_i = theta_d / ((1.0 - share) * f_in), inhibition.drive / (share * f_i)
    strength = scale * mean_i / mean_e
    return (
        SynapseType(share=1.0 - share),
        SynapseType("inhibitory", share, strength if strength > WEAKEST else 0.0, scale, f_i),
    )


def common_net(types: Sequence[SynapseType]) -> float:
    """Effect of a common fluctuation of all inputs, in which signs matter, relative to excitation alone."""
    return math.fsum(SIGNS[one.kind] * one.share * one.strength for one in types)


def mean_weight(synapses: Sequence[SynapseWeights]) -> float:
    """Mean weight of all synapses of a branch; inhibitory ones are negative."""
    return math.fsum(SIGNS[one.kind] * one.share * one.W_bar for one in synapses)


class Shape(NamedTuple):
    """Weights at capacity, of all types of a population, for a mean excitatory weight of one [inhibition-capacity]."""

    B: tuple[float, ...]  # of each type; infinite if it is dead
    A: float  # fraction of synapses that are neither silent nor saturated
    W_star: float  # in the common units the same for all types
    Q: float  # mean square over all synapses, in the common units

    @property
    def C(self) -> float:
        """C in the same units: sqrt(C) = A W_star."""
        return (self.A * self.W_star) ** 2


def shape_at(
    t: float, types: Sequence[SynapseType] = ONLY_EXCITATORY, law: OwnPrior | None = None, W_bar: float = 1.0
) -> Shape:
    """The state in which the first type has this B; the others follow from their means.

    With a largest weight t is the place on the curve of states [cap-bounded], which depends on the mean W_bar.
    """
    B, i0, i1, i2 = (t, *tail(t)) if law is None else law.at_capacity(t, W_bar)
    if len(types) == 1 and types[0].share == 1.0:
        return Shape((B,), i0, 1.0 / i1, i2 / i1**2)
    shapes, A, second = [B], types[0].share * i0, types[0].share * i2
    for one in types[1:]:
        if one.strength == 0.0:
            shapes.append(math.inf)
            continue
        wanted = math.log(one.strength * i1)

        def excess(at: float, wanted: float = wanted) -> tuple[float, float]:
            h0, h1, _ = tail(at)
            return math.log(h1) - wanted, -h0 / h1

        shapes.append(monotone_root(excess, B, 1.0).at)
        j0, _, j2 = tail(shapes[-1])
        A += one.share * j0
        second += one.share * j2
    return Shape(tuple(shapes), A, 1.0 / i1, second / i1**2)


def shape_with(ratio: float, guess: float = 0.0) -> float:
    """B of weights whose mean square is ``ratio`` > 1 times the squared mean [cap-Q]."""

    def excess(B: float) -> tuple[float, float]:
        i0, i1, i2 = tail(B)
        return math.log(i2 / i1) - math.log(i1 * ratio), 2.0 * (i0 / i1 - i1 / i2)

    return monotone_root(excess, guess, 0.5).at


@dataclass(frozen=True)
class Population:
    """Branches of one kind."""

    nonlinearity: Nonlinearity
    theta_d: float
    f_in: float  # activity of its inputs
    fraction: float  # share of all branches
    length: float  # synapses per branch, relative to the average branch
    mean_output: float  # E g, as prescribed or as required by the soma for equal branches
    branch_size: float  # synapses per branch, n; infinite in the paper's limit
    # chi in units of the variance of an input and of W_bar^2: n times the correlation of two inputs of a branch, if all
    # synapses are excitatory
    common: float = 0.0
    types: tuple[SynapseType, ...] = ONLY_EXCITATORY  # of the synapses of a branch, the excitatory ones first
    upper: tuple[tuple[Nonlinearity, float], ...] = ()  # levels above the branches, each with its mean output

    @cached_property
    def v(self) -> float:
        """Variance of an input without the part that it shares with the others of its branch."""
        return self.f_in * (1.0 - self.f_in) * (1.0 - self.common / self.branch_size)

    @cached_property
    def levels(self) -> tuple[tuple[Nonlinearity, float], ...]:
        """All levels, each with the threshold that its mean output meets."""
        return ((self.nonlinearity, self.mean_output), *self.upper)

    @cached_property
    def short(self) -> bool:
        """Whether the mean weight follows the mean input."""
        return math.isfinite(self.branch_size)

    @property
    def share(self) -> float:
        """Share of all synapses."""
        return self.fraction * self.length

    @cached_property
    def W_slope(self) -> float:
        """dW_bar / dm."""
        return 1.0 / (self.types[0].share * self.f_in * math.sqrt(self.branch_size))

    def W_bar(self, m: float) -> float:
        """Mean weight of the excitatory synapses at the mean input m [branch-mean]."""
        return self.theta_d / (self.types[0].share * self.f_in) + m * self.W_slope

    def common_variance(self, m: float) -> float:
        """chi, the variance that correlated inputs add to a branch's input in every solution [correlated-input]."""
        return self.common_unit * self.W_bar(m) ** 2 if self.common else 0.0

    def common_variance_slope(self, m: float) -> float:
        """d chi / dm: on a short branch the mean weight follows the mean input."""
        return 2.0 * self.common_unit * self.W_bar(m) * self.W_slope if self.common else 0.0

    @cached_property
    def common_unit(self) -> float:
        """chi at a mean weight of one."""
        return self.f_in * (1.0 - self.f_in) * self.common

    def variance(self, m: float, Q: float) -> float:
        """V of a branch's input at mean input m and squared norm Q."""
        return self.v * Q + self.common_variance(m)


def needs_populations(neuron: NeuronSpec, branch_size: float | None = None) -> bool:
    """Whether the theory of populations is needed: branches differ, are short, or have two types of synapses."""
    inhibited = neuron.inhibition is not None and neuron.inhibition.share > 0.0
    return bool(neuron.populations) or inhibited or branch_size not in (None, math.inf)


def like_branches(neuron: NeuronSpec, task: TaskSpec) -> Population:
    """The one population of a neuron whose branches are long and alike, of any depth and any g."""
    (g, output), *upper = levels_with_thresholds(neuron)
    theta_d, c0 = neuron.tree[0].theta, task.branch_correlation
    return Population(g, theta_d, task.f_in, 1.0, 1.0, output, math.inf, c0, upper=tuple(upper))


def populations_of(
    neuron: NeuronSpec, task: TaskSpec, branch_size: float | None, outputs: Sequence[float] | None = None
) -> tuple[Population, ...]:
    """The populations of a neuron, checked; ``outputs`` replace prescribed mean outputs."""
    scope.check(scope.POPULATIONS, neuron)  # inhibition on a deep tree is refused by NeuronSpec itself
    kinds = neuron.kinds
    n = math.inf if branch_size in (None, math.inf) else real_number("branch_size", branch_size, 1.0)
    if math.isfinite(n):
        scope.check(scope.SHORT, neuron)
    if not task.branch_correlation < n:
        raise refuse(
            "branch_correlation",
            task.branch_correlation,
            f"below branch_size = {n:g}: two inputs of a branch have the correlation branch_correlation / branch_size",
        )
    average = math.fsum(kind.fraction * kind.length for kind in kinds)
    found = []
    for i, kind in enumerate(kinds):
        output = neuron.theta_s if kind.mean_output is None else kind.mean_output
        length = kind.length / average
        if outputs is not None:
            output = outputs[i]
        if isinstance(output, str):
            raise InvalidParameter('mean_output = "best" is not allowed here: it must be a number')
        _check(kind, output)
        f_in = task.f_in if kind.f_in is None else kind.f_in
        types = synapse_types(kind.inhibition, kind.theta_d, f_in)
        found.append(
            Population(
                kind.nonlinearity,
                kind.theta_d,
                f_in,
                kind.fraction,
                length,
                output,
                n * length,
                common=task.branch_correlation * length * common_net(types) ** 2,
                types=types,
            )
        )
    total = math.fsum(one.fraction * one.mean_output for one in found)
    if not math.isclose(total, neuron.theta_s, rel_tol=1e-9, abs_tol=1e-12):
        raise InvalidParameter(
            f"the mean outputs {[one.mean_output for one in found]} average to {total:.10g}, which is not allowed: the "
            f"average must be theta_s = {neuron.theta_s:g}"
        )
    return tuple(found)


def _check(kind: Branches, output: float) -> None:
    """Raise for branches that the theory of populations does not cover."""
    g = kind.nonlinearity
    real_number("theta_d", kind.theta_d, 0.0, low_open=True)
    if g.has_jumps:
        raise NoSolution(f"the capacity of {g!r} is infinite at K = infinity: g jumps, so that E g'^2 diverges")
    low, high = g.range
    if not low < output < high:
        raise NoSolution(
            f"no mean input gives {g!r} the mean output {output:g}: it must lie strictly between {low:g} and {high:g}, "
            "the range of g"
        )


class Norm(NamedTuple):
    """One population at mean input m and squared norm Q: its output and its contribution to the soma.

    A subscript is a partial derivative.
    """

    output: float  # E g
    output_m: float
    output_Q: float
    Gamma0: float
    Gamma0_m: float
    Gamma0_Q: float
    Gamma1: float
    Gamma1_m: float
    Gamma1_Q: float


class Overlap(NamedTuple):
    """One population at an overlap q < Q of two replicas; derivatives of the covariance C(q) are partial ones."""

    D1: float  # C(Q) - C(q), computed without cancellation as q comes close to Q
    D1_Q: float  # at fixed Q - q
    D1_m: float
    C_q: float
    C_Q: float  # at fixed q
    C_m: float
    C_qq: float


class PopulationKernel:
    """The dendrites of one population, and the levels above them in a deep tree."""

    def __init__(self, population: Population, nodes: int = NODES) -> None:
        self.population = population
        self._averages = prepared(population.nonlinearity)
        self._branch = BranchKernel(population.nonlinearity, population.mean_output, nodes)
        self._upper = [BranchKernel(g, threshold, nodes) for g, threshold in population.upper]
        self._guess = inverse_guess(population.nonlinearity, population.mean_output)

    def mean_input(self, ratio: float, guess: float | None = None) -> float:
        """The m that gives the prescribed mean output if Q / W_bar^2 is ``ratio`` [mean-input], [branch-mean].

        Weights scale with their mean, which follows m on a short branch. For a large ratio there may be no solution:
        the output of branches with large weights then stays below the prescribed one for any mean.
        """
        population = self.population
        scale = math.sqrt(population.v * ratio + population.common_unit)  # sd of the input per W_bar
        smallest = 1e-9 * population.W_bar(0.0)

        def excess(m: float) -> tuple[float, float]:
            s = scale * max(population.W_bar(m), smallest)
            found = self._averages(population.mean_output, s, m)
            return found.mean, found.slope + found.slope_x * scale * population.W_slope

        start = self._guess if guess is None else guess
        self._guess = monotone_root(excess, start, scale * max(population.W_bar(start), smallest)).at
        return self._guess

    def norm(self, m: float, Q: float, output: float | None = None) -> Norm:
        """Output, variance and gain with their derivatives; pass ``output`` if E g is known, to save an average."""
        found = self._first(m, Q, output)
        for level in self._upper:  # [tree]: a level maps the variance below it to its own
            own = level.response(found.Gamma0)
            found = Norm(
                *found[:3],
                Gamma0=own.variance,
                Gamma0_m=own.d_variance * found.Gamma0_m,
                Gamma0_Q=own.d_variance * found.Gamma0_Q,
                Gamma1=found.Gamma1 * own.gain,
                Gamma1_m=found.Gamma1_m * own.gain + found.Gamma1 * own.d_gain * found.Gamma0_m,
                Gamma1_Q=found.Gamma1_Q * own.gain + found.Gamma1 * own.d_gain * found.Gamma0_Q,
            )
        return found

    def _first(self, m: float, Q: float, output: float | None) -> Norm:
        """The branches alone."""
        v, chi_m = self.population.v, self.population.common_variance_slope(m)
        V = self.population.variance(m, Q)
        s = math.sqrt(V)
        if output is None:
            output = self._averages(0.0, s, m).mean
        at = self._averages(output, s, m)
        # derivatives in V; E g'' = E[g' x] / s by parts
        output_V, Gamma0_V, Gamma1_V = 0.5 * at.slope_x / s, at.cross_x / s, 0.5 * v * at.gain_xx / V
        return Norm(
            output=output,
            output_m=at.slope + output_V * chi_m,
            output_Q=v * output_V,
            Gamma0=at.variance,
            Gamma0_m=2.0 * at.cross + Gamma0_V * chi_m,
            Gamma0_Q=v * Gamma0_V,
            Gamma1=v * at.gain,
            Gamma1_m=v * at.gain_x / s + Gamma1_V * chi_m,
            Gamma1_Q=v * Gamma1_V,
        )

    def mixed(self, other: PopulationKernel | None, weight: float) -> PopulationKernel:
        """Branches with this g with probability ``weight`` and that of ``other`` otherwise, to lead from g to g."""
        return self if other is None else _MixedKernel(other, self, weight)

    def overlap(self, m: float, Q: float, dq: float, at_norm: Norm) -> Overlap:
        """The kernel at the overlap Q - dq."""
        v = self.population.v
        pair = self._branch.pair(self.population.variance(m, Q), v * dq, m, at_norm.output)
        D1, C_q, C_qq = pair.D1, v * pair.dD1_ddV, v * v * pair.d2D0_dc2
        D1_Q, D1_m = v * pair.dD1_dV, pair.dD1_dm + pair.dD1_dV * self.population.common_variance_slope(m)
        if self._upper:
            first = self._first(m, Q, at_norm.output)
            V, V_Q, V_m = first.Gamma0, first.Gamma0_Q, first.Gamma0_m
            for level in self._upper:  # the chain rule, and the second derivative of a composed C(c)
                own, above = level.at(V, D1)
                C_qq = above.d2D0_dc2 * C_q**2 + above.dD1_ddV * C_qq
                D1_Q = above.dD1_dV * V_Q + above.dD1_ddV * D1_Q
                D1_m = above.dD1_dV * V_m + above.dD1_ddV * D1_m
                C_q *= above.dD1_ddV
                V, V_Q, V_m = (
                    own.variance,
                    own.d_variance * V_Q,
                    own.d_variance * V_m,
                )
                D1 = above.D1
        C_Q, C_m = at_norm.Gamma0_Q - D1_Q - C_q, at_norm.Gamma0_m - D1_m
        return Overlap(D1=D1, D1_Q=D1_Q, D1_m=D1_m, C_q=C_q, C_Q=C_Q, C_m=C_m, C_qq=C_qq)


class _MixedKernel(PopulationKernel):
    """Branches with one of two non-linearities, at random: all averages are weighted sums."""

    def __init__(self, one: PopulationKernel, other: PopulationKernel, weight: float) -> None:
        self.population = other.population
        self._one, self._other, self._weight = one, other, weight

    def norm(self, m: float, Q: float, output: float | None = None) -> Norm:
        self._norms = (self._one.norm(m, Q), self._other.norm(m, Q))
        return Norm(*self._sum(*self._norms))

    def overlap(self, m: float, Q: float, dq: float, at_norm: Norm) -> Overlap:
        one, other = self._norms
        return Overlap(*self._sum(self._one.overlap(m, Q, dq, one), self._other.overlap(m, Q, dq, other)))

    def _sum(self, one: tuple[float, ...], other: tuple[float, ...]) -> Iterator[float]:
        return ((1.0 - self._weight) * a + self._weight * b for a, b in zip(one, other, strict=True))
