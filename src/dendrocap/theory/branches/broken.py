"""The equations of k-step replica symmetry breaking at capacity for several populations of branches.

Each population has its own entropic part, in its own units, as in `equations`; the populations meet at the soma,
where variances and covariances add [pop-soma], and share the breaking parameters mu_i. The distance Q - q_k of
two solutions within the innermost cluster may differ between populations, by the factors r_p.

The mean inputs m_p are unknowns too. They are fixed by one of three constraints:

"outputs"  every population has its prescribed mean output, with its own multiplier;
"inputs"   the differences of mean inputs between populations are prescribed, and the average output is theta_s;
"free"     the average output is theta_s, and the load is stationary in the mean inputs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dendrocap.model import TaskSpec
from dendrocap.theory.branches.population import Norm, Overlap, Population, PopulationKernel
from dendrocap.theory.rsb.cascade import Averages, FieldGrid, one_sided_cascade
from dendrocap.theory.rsb.equations import Unknowns

__all__ = ["PopulationEquations", "PopulationState", "Side", "TypeAverages"]

Floats = NDArray[np.float64]


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
        starts, labels = label_starts(self.task, shift, Gamma0, self.with_shift)
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


def label_starts(task: TaskSpec, shift: float, Gamma0: float, with_shift: bool) -> tuple[Floats, Floats]:
    """Initial fields of the patterns for labels +1 and -1, in units of sqrt(Gamma0), and their fractions."""
    margin = task.kappa / math.sqrt(Gamma0)
    if not with_shift:
        return np.array([margin]), np.ones(1)
    return np.array([margin - shift, margin + shift]), np.array([task.f_out, 1.0 - task.f_out])
