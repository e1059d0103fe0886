"""The equations of k-step replica symmetry breaking at capacity, for either prior of the weights.

The entropic part is free of scales: in units of sqrt(c_k) and c_k / A it depends only on b / sqrt(c_k), the fractions
delta_i / c_k and the tilts s_i. These determine A, c_k, Q, all overlaps q_i and all breaking parameters mu_i
explicitly, and the equation for c_k gives the load. The remaining equations are those for c_0 ... c_{k-1}, for
mu_1 ... mu_k and for Q: 2k + 1 equations in as many unknowns, one more with unequal labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from dendrocap.errors import ConvergenceError
from dendrocap.model import NeuronSpec, TaskSpec
from dendrocap.numerics.types import Floats
from dendrocap.theory.cascade import Averages, FieldGrid, gaussian_cascade, one_sided_cascade, smooth_cascade, tilts
from dendrocap.theory.dendrite import NODES, BranchKernel, prepared, tree_response
from dendrocap.theory.neuron_kernel import Norm, Overlap, Population, PopulationKernel, TreeKernel, like_branches
from dendrocap.theory.patterns import label_starts
from dendrocap.theory.symmetric import ConstraintCurve

UNRELATED = 1e-11  # share of the somatic variance below which clusters are unrelated


class EqualOverlap(NamedTuple):
    """The kernel at one overlap q: difference at the soma, and derivatives of its covariance C(q)."""

    D1: float  # C(Q) - C(q), computed without cancellation as q comes close to Q
    C_q: float  # C'(q)
    C_Q: float  # dC/dQ at fixed q, with the mean input following Q


class EqualNorm(NamedTuple):
    """The kernel at q = Q."""

    Gamma0: float
    Gamma1: float
    dGamma0: float  # derivatives in Q or, where the mean input is an unknown, along the curve E g = theta_s
    dGamma1: float
    dQ: float = 1.0  # of Q along the same
    unit: float = 1.0  # what a large dQ is
    miss: float | None = None  # what is left of E g = theta_s, where the mean input is an unknown


class Soma(Protocol):
    """The kernel of the dendrites at given norm and overlap."""

    def norm(self, Q: float) -> EqualNorm:
        """Variance at the soma and gain of small differences, with their derivatives in Q."""

    def overlap(self, Q: float, dq: float) -> EqualOverlap:
        """The kernel at the overlap Q - dq."""


@runtime_checkable
class SomaOfMean(Protocol):
    """The dendrites if the mean input is an unknown beside Q, in units of sqrt(v) W_bar."""

    def at_mean(self, mean: float) -> Soma:
        """The dendrites at one mean input."""

    def curves(self) -> list[list[tuple[float, float]]]:
        """The curves on which the mean output meets its threshold, as lists of neighbouring (Q, mean)."""


class TreeSoma:
    """The kernel of a neuron's dendritic tree."""

    def __init__(self, neuron: NeuronSpec, task: TaskSpec, nodes: int = NODES) -> None:
        self._neuron, self._task = neuron, task
        self._kernel = TreeKernel(neuron, task, nodes)
        self._means: tuple[float, ...] | None = None

    def norm(self, Q: float) -> EqualNorm:
        """Variance at the soma and gain of small differences, with their derivatives in Q."""
        tree = tree_response(self._neuron, self._task, Q, self._means)
        self._means = tree.means
        return EqualNorm(tree.Gamma0, tree.Gamma1, tree.dGamma0, tree.dGamma1)

    def overlap(self, Q: float, dq: float) -> EqualOverlap:
        """The kernel at the overlap Q - dq."""
        pair = self._kernel.at(Q, dq)
        return EqualOverlap(pair.D1, pair.dD1_ddq, pair.dGamma0_dQ - pair.dD1_dQ - pair.dD1_ddq)


@dataclass(frozen=True)
class FixedMean:
    """Weights of either zero or positive value, with a prescribed mean and free norm: the neuron's synapses.

    Parameters
    ----------
    W_bar : float
        The mean weight.

    Examples
    --------
    >>> from dendrocap.theory.broken import FixedMean
    >>> synapses = FixedMean(W_bar=1.0)
    >>> synapses.W_bar, synapses.free_norm
    (1.0, True)
    """

    W_bar: float
    free_norm = True

    def averages(self, b: float, delta: Floats, mu: Floats, grid: FieldGrid) -> Averages:
        """The entropic part in units of sqrt(c_k)."""
        return one_sided_cascade(1.0, np.array([-b]), np.ones(1), delta, mu, grid)

    def scale(self, found: Averages) -> float:
        """c_k, from the mean weight."""
        return (found.active * self.W_bar / found.slope) ** 2


@dataclass(frozen=True)
class Spherical:
    """Weights of either sign, with mean zero and prescribed norm: the tree committee machine.

    Parameters
    ----------
    Q : float
        The mean squared weight.

    Examples
    --------
    >>> from dendrocap.theory.broken import Spherical
    >>> weights = Spherical()
    >>> weights.Q, weights.free_norm
    (1.0, False)
    """

    Q: float = 1.0
    W_bar = 0.0
    free_norm = False

    def averages(self, b: float, delta: Floats, mu: Floats, grid: FieldGrid) -> Averages:
        """The weights' side in units of sqrt(c_k), in closed form."""
        return gaussian_cascade(delta, mu)

    def scale(self, found: Averages) -> float:
        """c_k, from the norm."""
        return self.Q / float(found.slope2[-1])


class Unknowns(NamedTuple):
    """The unknowns, in the units of the entropic part."""

    s: Floats  # tilts of levels 1 ... k
    delta: Floats  # c_i - c_{i-1} in units of c_k
    b: float
    shift: float  # Delta / sqrt(Gamma0)
    more: tuple[float, ...] = ()  # b of further types of synapses on the same branches
    mean: float | None = None  # mean input, if it is not a function of Q

    @property
    def mu(self) -> Floats:
        """Breaking parameters in units of A / c_k."""
        a = np.append(np.cumprod((1.0 - self.s)[::-1])[-2::-1], 1.0)  # a_i is the product of 1 - s_j over j > i
        return np.asarray(self.s * a / self.delta[1:])

    @classmethod
    def unpack(cls, x: Floats, k: int, free_norm: bool, free_mean: bool = False) -> Unknowns:
        """From (logit s_1 ... s_k, ln delta_0/delta_k ... ln delta_{k-1}/delta_k, and b, shift and mean if free)."""
        ratios = np.append(np.exp(x[k : 2 * k]), 1.0)
        rest = list(x[2 * k :])
        mean = float(rest.pop()) if free_mean else None
        b = float(rest.pop(0)) if free_norm else 0.0
        return cls(1.0 / (1.0 + np.exp(-x[:k])), ratios / ratios.sum(), b, float(rest[0]) if rest else 0.0, mean=mean)

    @classmethod
    def from_mu(cls, mu: Floats, delta: Floats, b: float, shift: float, mean: float | None = None) -> Unknowns:
        """From breaking parameters in units of A / c_k."""
        return cls(tilts(1.0, delta, mu), delta, b, shift, mean=mean)

    def pack(self, free_norm: bool, with_shift: bool) -> Floats:
        """The vector that `unpack` reads."""
        logit = np.log(self.s) - np.log1p(-self.s)
        parts = [*logit, *np.log(self.delta[:-1] / self.delta[-1])]
        ends = [] if self.mean is None else [self.mean]
        return np.array(parts + [self.b] * free_norm + [self.shift] * with_shift + ends)


@dataclass(frozen=True)
class BrokenState:
    """All order parameters at one point of the unknowns, solved or not.

    Attributes
    ----------
    alpha : float
        The load at which the potential F vanishes. F is stationary in all order parameters at a solution, so that
        errors enter this value only in second order.
    residuals : array
        Residuals of the other equations, relative to their terms.
    potential : float
        F / F_S at the load that follows from the equation for c_k; it vanishes at a solution although F = 0 is not
        one of the solved equations.
    A, b, c, mu, q, Q
        Scaled conjugate parameters, breaking points mu_1 ... mu_k and overlaps q_0 ... q_{k-1}.
    energy, r2
        F_E per pattern and E_i r_i'^2 of each level, from which `capacity_pulls` has how alpha depends on the kernel.
    """

    unknowns: Unknowns
    alpha: float
    residuals: Floats
    potential: float
    A: float
    b: float
    c: Floats
    mu: Floats
    q: Floats
    Q: float
    Gamma0: float
    Gamma1: float
    active_patterns: float  # fraction of patterns at the margin
    energy: float
    r2: Floats


class BrokenEquations:
    """The equations for a neuron, its task and k steps of breaking.

    Parameters
    ----------
    prior : FixedMean or Spherical
        The constraint on the weights.
    soma : Soma
        The dendrites.
    task : TaskSpec
        Coding level of the labels, and margin.
    k : int
        Steps of breaking, at least 1.
    grid : FieldGrid
        Resolution of the fields.
    """

    def __init__(
        self,
        prior: FixedMean | Spherical,
        soma: Soma | SomaOfMean,
        task: TaskSpec,
        k: int,
        grid: FieldGrid | None = None,
    ) -> None:
        self.prior, self.soma, self.task, self.k = prior, soma, task, k
        self.grid = FieldGrid() if grid is None else grid
        self.with_shift = task.f_out != 0.5
        self._of_mean = soma if isinstance(soma, SomaOfMean) else None  # asking a protocol takes time
        self.evaluations = 0

    def with_levels(self, k: int, grid: FieldGrid | None = None) -> BrokenEquations:
        """The same problem with another number of steps, or on another grid."""
        return BrokenEquations(self.prior, self.soma, self.task, k, grid or self.grid)

    def unpack(self, x: Floats) -> Unknowns:
        """Unknowns from the vector of Newton's method."""
        return Unknowns.unpack(x, self.k, self.prior.free_norm, self._of_mean is not None)

    def pack(self, unknowns: Unknowns) -> Floats:
        """The vector of unknowns for Newton's method."""
        return unknowns.pack(self.prior.free_norm, self.with_shift)

    def Q(self, x: Floats) -> float:
        """Mean squared weight at one point of the unknowns, from the entropic part alone."""
        u = self.unpack(x)
        weights = self.prior.averages(u.b, u.delta, u.mu, self.grid)
        return float(weights.slope2[-1]) * self.prior.scale(weights) / weights.active**2

    def residuals(self, x: Floats) -> Floats:
        """The residuals."""
        return self.state(x).residuals

    def state(self, x: Floats) -> BrokenState:
        """All quantities at one point of the unknowns."""
        self.evaluations += 1
        u = self.unpack(x)
        weights = self.prior.averages(u.b, u.delta, u.mu, self.grid)
        A = weights.active
        c_k = self.prior.scale(weights)
        overlaps = weights.slope2 * c_k / A**2  # q_0 ... q_{k-1}, Q
        Q, c, mu = float(overlaps[-1]), np.cumsum(u.delta) * c_k, u.mu * A / c_k

        # The energetic part, in units of sqrt(Gamma0) and Gamma0 / Gamma1.
        soma: Soma = self.soma if self._of_mean is None else self._of_mean.at_mean(u.mean or 0.0)  # type: ignore[assignment]
        norm = soma.norm(Q)
        at = [soma.overlap(Q, Q - q) for q in overlaps[:-1]]
        delta = -np.diff([norm.Gamma0, *(one.D1 for one in at), 0.0]) / norm.Gamma0
        if abs(delta[0]) < UNRELATED:  # clusters are unrelated; the remainder is rounding
            delta[0] = 0.0
        starts, labels = label_starts(self.task.f_out, self.task.kappa / math.sqrt(norm.Gamma0), u.shift)
        unit = norm.Gamma0 / norm.Gamma1
        patterns = one_sided_cascade(-1.0, starts, labels, delta, mu * unit, self.grid)
        alpha = c_k / (unit * float(patterns.slope2[-1]))  # [rsb-c] at level k

        residuals = [  # [rsb-c]
            math.log(one.C_q * patterns.slope2[i] / (norm.Gamma1 * patterns.slope2[-1]) / (c[i] / c_k))
            for i, one in enumerate(at)
        ]
        q_c = overlaps * c
        f_S, f_E = weights.f * c_k / A, patterns.f * unit
        split = 0.5 * np.diff(q_c)
        residuals += list((np.diff(f_S + alpha * f_E) / mu - split) / split)  # [rsb-mu]
        r2 = patterns.slope2 * norm.Gamma0 / norm.Gamma1**2
        if self.prior.free_norm:  # [rsb-norm]
            steps = np.diff(mu, prepend=0.0)
            by_overlap = float(sum(steps[i] * r2[i] * one.C_Q for i, one in enumerate(at)))
            terms = (
                mu[-1] * c_k * norm.dQ,
                -alpha * mu[-1] * r2[-1] * norm.dGamma0,
                alpha * patterns.active / norm.Gamma1 * norm.dGamma0,
                alpha * by_overlap,
                -alpha * r2[-1] * norm.dGamma1,
            )
            residuals.append((sum(terms) - A * norm.dQ) / (abs(terms[2]) + abs(terms[4]) + A * norm.unit))
        if self.with_shift:  # [rsb-shift]
            given = labels * patterns.slope_by_start
            residuals.append(float((given[0] - given[1]) / (abs(given[0]) + abs(given[1]))))
        if norm.miss is not None:  # [constraint-curve]
            residuals.append(norm.miss)
        b = u.b * math.sqrt(c_k)
        entropy = (
            0.5 * A * Q - 0.5 * c_k - 0.5 * mu[-1] * Q * c_k + self.prior.W_bar * b + float(f_S[0])
            + 0.5 * float(np.diff(mu, prepend=0.0) @ q_c[:-1])
        )  # fmt: skip
        return BrokenState(
            unknowns=u,
            alpha=float(-entropy / f_E[0]),
            residuals=np.array(residuals),
            potential=float(1.0 + alpha * f_E[0] / entropy),
            A=A,
            b=b,
            c=c,
            mu=mu,
            q=overlaps[:-1],
            Q=Q,
            Gamma0=norm.Gamma0,
            Gamma1=norm.Gamma1,
            active_patterns=patterns.active,
            energy=float(f_E[0]),
            r2=r2,
        )


# The equations of k-step replica symmetry breaking at capacity for several populations of branches.
#
# Each population has its own entropic part, in its own units, as in `equations`; the populations meet at the soma,
# where variances and covariances add [pop-soma], and share the breaking parameters mu_i. The distance Q - q_k of
# two solutions within the innermost cluster may differ between populations, by the factors r_p.
#
# The mean inputs m_p are unknowns too. They are fixed by one of three constraints:
#
# "outputs"  every population has its prescribed mean output, with its own multiplier;
# "inputs"   the differences of mean inputs between populations are prescribed, and the average output is theta_s;
# "free"     the average output is theta_s, and the load is stationary in the mean inputs.


class TypeAverages(NamedTuple):
    """One type of synapses: its b in units of sqrt(c_k), its averages over the cascade, and its mean square."""

    b: float
    averages: Averages
    Q: float  # in units of excitatory weights


@dataclass(frozen=True)
class Side:
    """One population at a point of the unknowns [pop-weights]; conjugates are in the common units."""

    unknowns: Unknowns
    m: float
    W_bar: float  # of the excitatory weights
    Q: float
    q: Floats
    types: tuple[TypeAverages | None, ...]  # None if dead
    active: float  # fraction of weights that are positive
    gap: float  # r_p, the innermost distance relative to that of the first population
    A: float
    b: float
    c: Floats
    f: Floats
    mean_cost: float  # W_bar b, summed over the types of synapses
    norm: Norm
    overlaps: tuple[Overlap, ...]


class _Own(NamedTuple):
    """One population alone, in its own units."""

    types: tuple[TypeAverages | None, ...]
    active: float
    f: Floats
    W_bar: float
    mean_cost: float
    misses: list[float]  # of the means of all types but the first, logarithms
    c: float
    q: Floats  # overlaps, the last of them Q
    norm: Norm
    overlaps: tuple[Overlap, ...]


@dataclass(frozen=True)
class PopulationState:
    """All order parameters at one point of the unknowns, solved or not; compare `BrokenState`."""

    sides: tuple[Side, ...]
    alpha: float
    residuals: Floats
    potential: float
    mu: Floats
    shift: float  # Delta / sqrt(Gamma0)
    Gamma0: float
    Gamma1: float  # sum of fraction * gap * Gamma1
    energy: float  # F_E
    multipliers: Floats  # of the mean outputs
    slope2: Floats  # r_i^2, the mean squared force of the patterns at each level
    active_patterns: float
    evaluations: int

    @property
    def in_order(self) -> bool:
        """Whether overlaps and breaking parameters increase from level to level, and the load is positive."""
        rising = bool(np.all(np.diff(self.mu, prepend=0.0) > 0.0)) and self.alpha > 0.0
        return rising and all(np.all(np.diff(np.append(side.q, side.Q)) > 0.0) for side in self.sides)


class PopulationEquations:
    """The equations for a set of populations, a task and k steps of breaking.

    Parameters
    ----------
    populations : sequence of Population
        The branches; fractions sum to 1.
    task : TaskSpec
        Coding level of the labels, and margin.
    theta_s : float
        The somatic threshold.
    k : int
        Steps of breaking, at least 1.
    constraint : {"outputs", "inputs", "free"}
        Which constraint fixes the mean inputs.
    offsets : sequence of float
        With "inputs": mean input of each population relative to the first.
    n_branches : float
        Finite K moves the average output to theta_s + Delta / sqrt(K) if labels are unequal [mean-K].
    grid : FieldGrid, optional
        Resolution of the fields.
    kernels : sequence of PopulationKernel, optional
        The dendrites, if they differ from those of the populations.
    """

    def __init__(
        self,
        populations: Sequence[Population],
        task: TaskSpec,
        theta_s: float,
        k: int,
        constraint: str = "outputs",
        offsets: Sequence[float] = (),
        n_branches: float = math.inf,
        grid: FieldGrid | None = None,
        kernels: Sequence[PopulationKernel] | None = None,
    ) -> None:
        self.populations, self.task, self.theta_s, self.k = tuple(populations), task, theta_s, k
        self.constraint, self.offsets, self.n_branches = constraint, tuple(offsets), n_branches
        self.grid = FieldGrid() if grid is None else grid
        self.with_shift = task.f_out != 0.5
        self.n_means = 1 if constraint == "inputs" else len(self.populations)
        self.evaluations = 0
        # Types of synapses besides the excitatory ones, each with its own b; dead types have none.
        self._n_more = [sum(one.strength > 0.0 for one in population.types[1:]) for population in self.populations]
        self._kernels = kernels or [PopulationKernel(population) for population in self.populations]
        self._known: dict[tuple[Any, ...], _Own] = {}

    @property
    def size(self) -> int:
        """Number of unknowns."""
        own = len(self.populations) * (2 * self.k + 1) + sum(self._n_more)
        return own + self.n_means + self.with_shift

    def pack(self, unknowns: Sequence[Unknowns], means: Sequence[float], shift: float) -> Floats:
        """The vector of unknowns for Newton's method; equal types share the b of the first."""
        own = []
        for one, n_more in zip(unknowns, self._n_more, strict=True):
            more = one.more if len(one.more) == n_more else (one.b,) * n_more
            own += [one.pack(free_norm=True, with_shift=False), more]
        return np.concatenate([*own, np.asarray(means)[: self.n_means], [shift] * self.with_shift])

    def unpack(self, x: Floats) -> tuple[list[Unknowns], Floats, float]:
        """Unknowns of each population, mean inputs, and shift."""
        width, at, unknowns = 2 * self.k + 1, 0, []
        for n_more in self._n_more:
            own = Unknowns.unpack(x[at : at + width], self.k, free_norm=True)
            if n_more:
                own = own._replace(more=tuple(map(float, x[at + width : at + width + n_more])))
            unknowns.append(own)
            at += width + n_more
        means = x[at : at + self.n_means]
        if self.constraint == "inputs":
            means = means[0] + np.asarray(self.offsets)
        return unknowns, means, float(x[-1]) if self.with_shift else 0.0

    def residuals(self, x: Floats) -> Floats:
        """The residuals."""
        return self.state(x).residuals

    def _side(self, p: int, u: Unknowns, m: float, mu: Floats | None) -> tuple[Side, Floats, list[float]]:
        """One population, given the common mu of the first (None for the first itself); residuals of mu and means."""
        own = self._own(p, u, m)
        own_c, active = own.c, own.active
        own_mu = u.mu * active / own_c
        gap = 1.0 if mu is None else float(mu[-1] / own_mu[-1])
        common = own_mu if mu is None else mu
        side = Side(
            unknowns=u,
            m=m,
            W_bar=own.W_bar,
            Q=float(own.q[-1]),
            q=own.q[:-1],
            types=own.types,
            active=active,
            gap=gap,
            A=active / gap,
            b=u.b * math.sqrt(own_c) / gap,
            c=np.cumsum(u.delta) * own_c / gap**2,
            f=own.f * own_c / active / gap,
            mean_cost=own.mean_cost * math.sqrt(own_c) / gap,
            norm=own.norm,
            overlaps=own.overlaps,
        )
        return side, np.log(own_mu[:-1] * gap / common[:-1]), own.misses

    def _own(self, p: int, u: Unknowns, m: float) -> _Own:
        """One population alone, which takes most of the time.

        A column of the Jacobian changes one population and leaves the others unchanged, so the last points are cached:
        as many as one Jacobian needs.
        """
        key = (p, m, u.b, u.more, u.s.tobytes(), u.delta.tobytes())
        if key in self._known:
            return self._known[key]
        population, kernel = self.populations[p], self._kernels[p]
        live = [one for one in population.types if one.strength > 0.0]
        found: list[Averages] = [
            one_sided_cascade(1.0, np.array([-b]), np.ones(1), u.delta, u.mu, self.grid) for b in (u.b, *u.more)
        ]
        W_bar = population.W_bar(m)
        if not W_bar > 0.0:
            raise ValueError("the mean weight is not positive")
        shares = [one.share for one in live]
        active = sum(share * one.active for share, one in zip(shares, found, strict=True))
        own_c = (active * W_bar / found[0].slope) ** 2
        unit = own_c / active**2
        q = unit * np.asarray(sum(share * one.slope2 for share, one in zip(shares, found, strict=True)))
        Q = float(q[-1])
        norm = kernel.norm(m, Q)
        overlaps = tuple(kernel.overlap(m, Q, Q - float(each), norm) for each in q[:-1])
        if len(self._known) >= len(self.populations) + self.size:
            del self._known[next(iter(self._known))]
        averages = iter(zip((u.b, *u.more), found, strict=True))
        types = []
        for one in population.types:
            b, at = next(averages) if one.strength > 0.0 else (math.inf, None)
            types.append(None if at is None else TypeAverages(b, at, float(at.slope2[-1]) * unit))
        self._known[key] = _Own(
            types=tuple(types),
            active=active,
            f=np.asarray(sum(share * one.f for share, one in zip(shares, found, strict=True))),
            W_bar=W_bar,
            mean_cost=W_bar * sum(one.share * one.strength * b for one, b in zip(live, (u.b, *u.more), strict=True)),
            # [inhibition-broken]: the mean of each further type
            misses=[
                math.log(at.slope / (found[0].slope * one.strength))
                for one, at in zip(live[1:], found[1:], strict=True)
            ],
            c=own_c,
            q=q,
            norm=norm,
            overlaps=overlaps,
        )
        return self._known[key]

    def state(self, x: Floats) -> PopulationState:
        """All quantities at one point of the unknowns [pop-potential]."""
        self.evaluations += 1
        unknowns, means, shift = self.unpack(x)
        first, _, misses = self._side(0, unknowns[0], float(means[0]), None)
        mu = unknowns[0].mu * first.active / first.c[-1]
        sides, residuals, of_means = [first], [], list(misses)
        for p in range(1, len(unknowns)):
            side, ratio, misses = self._side(p, unknowns[p], float(means[p]), mu)
            sides.append(side)
            residuals += list(ratio)
            of_means += misses
        residuals += of_means
        x_p = [population.fraction for population in self.populations]

        # The energetic part, in units of sqrt(Gamma0) and Gamma0 / Gamma1 [pop-soma].
        Gamma0 = sum(x * side.norm.Gamma0 for x, side in zip(x_p, sides, strict=True))
        Gamma1 = sum(x * side.gap * side.norm.Gamma1 for x, side in zip(x_p, sides, strict=True))
        D1 = [sum(x * side.overlaps[i].D1 for x, side in zip(x_p, sides, strict=True)) for i in range(self.k)]
        delta = -np.diff([Gamma0, *D1, 0.0]) / Gamma0
        starts, labels = population_label_starts(self.task, shift, Gamma0, self.with_shift)
        unit = Gamma0 / Gamma1
        patterns = one_sided_cascade(-1.0, starts, labels, delta, mu * unit, self.grid)
        r2 = patterns.slope2 * Gamma0 / Gamma1**2
        f_E = patterns.f * unit
        alpha = self.populations[0].length * float(first.c[-1]) / (first.norm.Gamma1 * float(r2[-1]))  # [pop-c]

        for p, (population, side) in enumerate(zip(self.populations, sides, strict=True)):  # [pop-c]
            per_synapse = alpha / population.length
            residuals += [math.log(per_synapse * at.C_q * r2[i] / side.c[i]) for i, at in enumerate(side.overlaps)]
            if p > 0:
                residuals.append(math.log(per_synapse * side.norm.Gamma1 * r2[-1] / side.c[-1]))
        steps = np.diff(mu, prepend=0.0)
        # [pop-mu]
        split, weighted = np.zeros(self.k), np.zeros(self.k)
        entropy = 0.0
        for population, side in zip(self.populations, sides, strict=True):
            q_c = np.append(side.q, side.Q) * side.c
            split += population.share * 0.5 * np.diff(q_c)
            weighted += population.share * np.diff(side.f)
            entropy += population.share * (
                0.5 * side.A * side.Q - 0.5 * side.gap * side.c[-1] - 0.5 * mu[-1] * side.Q * side.c[-1]
                + side.mean_cost + float(side.f[0]) + 0.5 * float(steps @ q_c[:-1])
            )  # fmt: skip
        residuals += list(((weighted + alpha * np.diff(f_E)) / mu - split) / split)
        multipliers, more = self._means_and_norms(
            sides,
            alpha,
            mu,
            steps,
            r2,
            patterns.active / Gamma1,
            shift,
            Gamma0,
            labels * patterns.slope_by_start * math.sqrt(Gamma0) / Gamma1,
        )
        residuals += more
        energy = float(f_E[0])
        return PopulationState(
            sides=tuple(sides),
            alpha=float(-entropy / energy),
            residuals=np.array(residuals),
            potential=1.0 + alpha * energy / entropy,
            mu=mu,
            shift=shift,
            Gamma0=Gamma0,
            Gamma1=Gamma1,
            energy=energy,
            multipliers=multipliers,
            slope2=r2,
            active_patterns=patterns.active,
            evaluations=self.evaluations,
        )

    def _means_and_norms(
        self,
        sides: Sequence[Side],
        alpha: float,
        mu: Floats,
        steps: Floats,
        r2: Floats,
        active: float,
        shift: float,
        Gamma0: float,
        force: Floats,
    ) -> tuple[Floats, list[float]]:
        """Multipliers of the mean outputs, and the residuals of [pop-norm], of the outputs and of the shift."""
        h0, h1 = mu[-1] * r2[-1] - active, r2[-1]
        by_m, by_Q, norm_scale = [], [], []
        for population, side in zip(self.populations, sides, strict=True):
            norm = side.norm
            half = 0.5 * alpha / population.length
            inner_m = sum(-steps[i] * r2[i] * at.C_m for i, at in enumerate(side.overlaps))
            inner_Q = sum(-steps[i] * r2[i] * at.C_Q for i, at in enumerate(side.overlaps))
            by_m.append(
                population.W_slope * side.b + half * (h0 * norm.Gamma0_m + inner_m + h1 * side.gap * norm.Gamma1_m)
            )
            by_Q.append(
                0.5 * side.A - 0.5 * mu[-1] * side.c[-1]
                + half * (h0 * norm.Gamma0_Q + inner_Q + h1 * side.gap * norm.Gamma1_Q)
            )  # fmt: skip
            norm_scale.append(0.5 * side.A + half * (abs(active * norm.Gamma0_Q) + abs(h1 * side.gap * norm.Gamma1_Q)))
        x_p = np.array([population.fraction for population in self.populations])
        lengths = np.array([population.length for population in self.populations])
        outputs = np.array([side.norm.output for side in sides])
        slopes = np.array([side.norm.output_m for side in sides])
        Delta = shift * math.sqrt(Gamma0)
        target = Delta / math.sqrt(self.n_branches)  # [mean-K]
        scale = np.array([math.sqrt(side.norm.Gamma0) for side in sides])
        residuals: list[float] = []
        if self.constraint == "outputs":
            multipliers = -lengths * np.array(by_m) / slopes
            wanted = np.array([population.mean_output for population in self.populations])
            residuals += list((outputs - wanted - target) / scale)
        else:
            multiplier = -float(x_p * lengths @ np.array(by_m)) / float(x_p @ slopes)
            multipliers = np.full(len(sides), multiplier)
            residuals.append(float(x_p @ outputs - self.theta_s - target) / float(x_p @ scale))
            if self.constraint == "free":
                left = np.array(by_m) * lengths + multipliers * slopes
                residuals += list((left[1:] - left[0]) / np.sum(np.abs(multipliers * slopes) + np.abs(by_m * lengths)))
        residuals += [
            (one + multiplier / length * side.norm.output_Q) / size
            for one, multiplier, length, side, size in zip(by_Q, multipliers, lengths, sides, norm_scale, strict=True)
        ]
        if self.with_shift:  # [rsb-shift]
            # dF_E / dDelta is E_sigma sigma <r> with r the force; at finite K it is balanced by the mean output.
            push = float(force[1] - force[0])
            pull = float(x_p @ multipliers) / math.sqrt(self.n_branches) / alpha
            residuals.append((push - pull) / (abs(force[0]) + abs(force[1])))
        return multipliers, residuals


def population_label_starts(task: TaskSpec, shift: float, Gamma0: float, with_shift: bool) -> tuple[Floats, Floats]:
    """Initial fields of the patterns for labels +1 and -1, in units of sqrt(Gamma0), and their fractions."""
    margin = task.kappa / math.sqrt(Gamma0)
    if not with_shift:
        return np.array([margin]), np.ones(1)
    return np.array([margin - shift, margin + shift]), np.array([task.f_out, 1.0 - task.f_out])


# The equations of k-step replica symmetry breaking at any load below capacity.
#
# Solutions form clusters, and clusters of clusters: two of the same innermost cluster have the overlap q_k < Q, two
# that separate at level i have q_{i-1}. The unknowns are those of the capacity, which are free of scales, and one
# more, the ratio q_hat_k / A_hat. It is infinite at capacity, where the innermost clusters have shrunk to points.
# Everything else follows explicitly: the mean weight gives A_hat, the cascade of the weights Q and all overlaps, and
# the equation for q_hat_k the load.


@dataclass(frozen=True)
class ClusterState:
    """All order parameters at one point of the unknowns, solved or not.

    Attributes
    ----------
    load : float
        alpha at which the patterns require this q_hat_k.
    stationarity : array
        Residuals of the equations for q_hat_0 ... q_hat_{k-1}, for the norm and for the mean shift, relative to
        their terms.
    by_m : array
        d phi / d m_i relative to its terms; vanishes if the number of clusters is that of typical solutions.
    m : array
        Breaking parameters m_1 ... m_k, in (0, 1).
    q, q_hat : array
        Overlaps q_0 ... q_k and their conjugates.
    Q, dq : float
        Mean squared weight, and Q - q_k without cancellation.
    A_hat, M_hat, mean_shift : float
        q_hat_k - 2 Q_hat, the conjugate of the mean weight, and the mean of the somatic input.
    free_entropy : float
        phi, per weight.
    complexity : float
        -m_k^2 d phi / d m_k: logarithm of the number of innermost clusters per weight, of one step of breaking.
    """

    unknowns: Unknowns
    log_ratio: float
    load: float
    stationarity: Floats
    by_m: Floats
    m: Floats
    q: Floats
    q_hat: Floats
    Q: float
    dq: float
    A_hat: float
    M_hat: float
    mean_shift: float
    free_entropy: float
    complexity: float

    @property
    def internal_entropy(self) -> float:
        """Logarithm of the volume of an innermost cluster per weight: m phi = Sigma + m s [complexity]."""
        return self.free_entropy - self.complexity / float(self.m[-1])


class ClusterEquations:
    """The equations for non-negative weights, a task and k steps of breaking.

    Parameters
    ----------
    W_bar : float
        The mean weight.
    soma : Soma
        The dendrites.
    task : TaskSpec
        Coding level of the labels, and margin.
    k : int
        Steps of breaking, at least 1.
    grid : FieldGrid
        Resolution of the fields.
    """

    def __init__(self, W_bar: float, soma: Soma, task: TaskSpec, k: int, grid: FieldGrid | None = None) -> None:
        self.W_bar, self.soma, self.task, self.k = W_bar, soma, task, k
        self.grid = FieldGrid() if grid is None else grid
        self.with_shift = task.f_out != 0.5
        self.evaluations = 0

    def pack(self, unknowns: Unknowns, log_ratio: float) -> Floats:
        """The vector of unknowns for Newton's method; ln(q_hat_k / A_hat) is the last."""
        return np.append(unknowns.pack(True, self.with_shift), log_ratio)

    def state(self, x: Floats) -> ClusterState:
        """All quantities at one point of the unknowns."""
        self.evaluations += 1
        u, ratio = Unknowns.unpack(x[:-1], self.k, True), math.exp(x[-1])
        m = u.mu / ratio
        start = -u.b * math.sqrt(ratio)

        # Weights, in units of 1 / sqrt(A_hat).
        weights = smooth_cascade(1.0, np.array([start]), np.ones(1), u.delta * ratio, m, self.grid)
        A_hat = (weights.slope / self.W_bar) ** 2
        q, dq = weights.slope2 / A_hat, weights.curvature / A_hat
        Q = float(q[-1]) + dq
        q_hat = np.cumsum(u.delta) * ratio * A_hat

        # Patterns, in units of sqrt(C(Q) - C(q_k)).
        norm = self.soma.norm(Q)
        at = [self.soma.overlap(Q, dq + float(q[-1] - one)) for one in q]
        width2 = at[-1].D1
        delta = -np.diff([norm.Gamma0, *(one.D1 for one in at)]) / width2
        shift = u.shift * math.sqrt(norm.Gamma0)
        unit = math.sqrt(width2)
        starts, labels = label_starts(self.task.f_out, self.task.kappa / unit, shift / unit)
        patterns = smooth_cascade(-1.0, starts, labels, delta, m, self.grid)
        r2, curvature = patterns.slope2 / width2, patterns.curvature / width2
        load = float(q_hat[-1] / (at[-1].C_q * r2[-1]))  # [clusters-q] at level k

        stationarity = [  # [clusters-q]
            math.log(one.C_q * r2[i] / (at[-1].C_q * r2[-1]) / (q_hat[i] / q_hat[-1])) for i, one in enumerate(at[:-1])
        ]
        # [clusters-norm], with q_hat_k taken out of both sides: terms of order 1 / dq^2 have cancelled
        steps = np.diff(m, prepend=0.0)
        last = at[-1]
        last_D1_Q = norm.dGamma0 - last.C_Q - last.C_q
        terms = (
            -load * curvature * norm.dGamma0,
            -load * r2[-1] * last_D1_Q,
            -load * m[-1] * r2[-1] * last.C_Q,
            load * float(sum(steps[i] * r2[i] * one.C_Q for i, one in enumerate(at[:-1]))),
        )
        stationarity.append((sum(terms) - A_hat) / (abs(terms[0]) + abs(terms[1]) + A_hat))
        if self.with_shift:  # [clusters-shift]
            given = labels * patterns.slope_by_start
            stationarity.append(float((given[0] - given[1]) / (abs(given[0]) + abs(given[1]))))

        q_q_hat = q * q_hat
        split, gain = 0.5 * np.diff(q_q_hat), np.diff(weights.f + load * patterns.f)
        M_hat = start * math.sqrt(A_hat)
        free_entropy = (
            0.5 * (Q * A_hat - dq * q_hat[-1] - m[-1] * q_q_hat[-1] + float(steps @ q_q_hat[:-1]))
            - self.W_bar * M_hat + float(weights.f[0]) - 0.5 * math.log(A_hat) + load * float(patterns.f[0])
        )  # fmt: skip
        return ClusterState(
            unknowns=u,
            log_ratio=float(x[-1]),
            load=load,
            stationarity=np.array(stationarity),
            by_m=(gain / m - split) / split,  # [clusters-m]
            m=m,
            q=q,
            q_hat=q_hat,
            Q=Q,
            dq=dq,
            A_hat=A_hat,
            M_hat=M_hat,
            mean_shift=shift,
            free_entropy=float(free_entropy),
            complexity=float(m[-1] * (m[-1] * split[-1] - gain[-1])),  # [complexity]
        )


# The kernel of branches with a non-monotone g, with the mean input as another unknown [constraint-curve].
#
# If the mean input is not a function of Q, it is added to the unknowns, E g = theta_s to the equations, and
# derivatives in Q become derivatives along the curve on which E g = theta_s [sp-along].

WIDEST = 100.0  # times the smallest Q: with broken symmetry, larger weights have smaller loads


class _Direction(NamedTuple):
    """The direction of the curve E g = theta in (ln V, m / s), and the change of Gamma_0 along it."""

    along: float
    across: float
    dGamma0: float


class CurveSoma:
    """The kernel of one level of branches at any mean input.

    Parameters
    ----------
    neuron : NeuronSpec
        A neuron with one level of branches.
    task : TaskSpec
        Only the coding level of the inputs matters here.
    nodes : int
        Gauss-Legendre nodes per panel.
    """

    def __init__(self, neuron: NeuronSpec, task: TaskSpec, nodes: int = NODES) -> None:
        self.g, self.theta = neuron.tree[0].nonlinearity, neuron.theta_s
        self.v = task.f_in * (1.0 - task.f_in)
        self.unit = math.sqrt(self.v) * neuron.tree[0].theta / task.f_in
        self.kernel = BranchKernel(self.g, self.theta, nodes)
        self._curve = ConstraintCurve(like_branches(neuron, task))

    def at_mean(self, mean: float) -> SomaAtMean:
        """The kernel at a mean input, given in units of sqrt(v) W_bar."""
        return SomaAtMean(self, mean * self.unit)

    def curves(self) -> list[list[tuple[float, float]]]:
        """The curves as lists of neighbouring states (Q, mean); of mirrored or repeated curves only the first."""
        kinds: dict[str, list[tuple[float, float]]] = {}
        curves = sorted(self._curve.curves(falls=lambda _: True), key=lambda curve: abs(curve[len(curve) // 2].m))
        for curve in curves:
            top = max(curve, key=lambda state: state.Q)
            kind = f"{top.Q:.5g} {top.moments.variance:.5g} {top.moments.gain:.5g}"
            widest = WIDEST * curve[0].Q
            kinds.setdefault(kind, [(state.Q, state.m / self.unit) for state in curve[::2] if widest > state.Q])
        return list(kinds.values())


class SomaAtMean:
    """The kernel at one mean input, with the interface of a soma."""

    def __init__(self, soma: CurveSoma, mean: float) -> None:
        self._soma, self._mean = soma, mean

    def norm(self, Q: float) -> EqualNorm:
        """Variance at the soma and gain of small differences, with derivatives along the curve."""
        soma, s = self._soma, math.sqrt(self._soma.v * Q)
        own, direction = prepared(soma.g)(soma.theta, s, self._mean), self._direction(Q)
        return EqualNorm(
            Gamma0=own.variance,
            Gamma1=soma.v * own.gain,
            dGamma0=direction.dGamma0,
            dGamma1=soma.v * (0.5 * own.gain_xx * direction.along + own.gain_x * direction.across),
            dQ=Q * direction.along,
            unit=Q,
            miss=own.mean / math.sqrt(own.variance),
        )

    def overlap(self, Q: float, dq: float) -> EqualOverlap:
        """The kernel at the overlap Q - dq, with its derivative along the curve instead of that in Q."""
        soma, V = self._soma, self._soma.v * Q
        direction = self._direction(Q)
        pair = soma.kernel.pair(V, soma.v * dq, self._mean, soma.theta)
        # At fixed q, dq moves with Q.
        moved = V * (pair.dD1_dV + pair.dD1_ddV) * direction.along + math.sqrt(V) * pair.dD1_dm * direction.across
        return EqualOverlap(pair.D1, soma.v * pair.dD1_ddV, direction.dGamma0 - moved)

    def _direction(self, Q: float) -> _Direction:
        soma, s = self._soma, math.sqrt(self._soma.v * Q)
        own = prepared(soma.g)(soma.theta, s, self._mean)
        by_V, by_m = 0.5 * s * own.slope_x, s * own.slope
        size = math.hypot(by_V, by_m)
        if not size > 0.0:
            raise ConvergenceError(f"the mean output of {soma.g!r} does not depend on its input at m = {self._mean:g}")
        along, across = -by_m / size, by_V / size
        return _Direction(along, across, s * own.cross_x * along + 2.0 * s * own.cross * across)
