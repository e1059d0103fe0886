"""The equations of k-step replica symmetry breaking, at capacity or at any load below it, for several populations.

Each population has its own entropic part, which is free of scales: in its own units it depends only on b / sqrt(c_k),
the fractions delta_i / c_k and the tilts s_i, and on the ratio of c_k to A below capacity. These and the mean input m
determine its conjugates, its norm Q, all overlaps q_i and all breaking parameters mu_i explicitly. The populations meet
at the soma, where variances and covariances add [pop-soma], and share the breaking parameters.

At capacity the innermost clusters have shrunk to points: c_k / A is infinite, conjugates are in units of the innermost
distance Q - q_k, and so are the mu_i. This distance may differ between populations, by the factors r_p. Below capacity,
q_k < Q, c_i is q_hat_i, b is -M_hat, and mu_i is m_i in (0, 1) [clusters-potential].

Every population has its prescribed mean output, with its own multiplier, which fixes its mean input; or the differences
of mean inputs between populations are prescribed, and the average output is theta_s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dendrocap.model import TaskSpec
from dendrocap.numerics.types import Floats
from dendrocap.theory.cascade import USUAL, Averages, FieldGrid, cascade, gaussian_cascade, tilts
from dendrocap.theory.dendrite import NODES
from dendrocap.theory.neuron_kernel import Norm, Overlap, Population, PopulationKernel
from dendrocap.theory.patterns import label_starts

UNRELATED = 1e-11  # share of the somatic variance below which clusters are unrelated; the remainder is rounding


class Unknowns(NamedTuple):
    """The unknowns of one population, in the units of its entropic part."""

    s: Floats  # tilts of levels 1 ... k
    delta: Floats  # c_i - c_{i-1} in units of c_k
    b: tuple[float, ...]  # of each live type of synapses, in units of sqrt(c_k)
    log_ratio: float | None = None  # ln c_k / A, below capacity

    @property
    def mu(self) -> Floats:
        """Breaking parameters in units of A / c_k."""
        a = np.append(np.cumprod((1.0 - self.s)[::-1])[-2::-1], 1.0)  # a_i is the product of 1 - s_j over j > i
        return np.asarray(self.s * a / self.delta[1:])

    @classmethod
    def unpack(cls, x: Floats, k: int, below: bool = False) -> Unknowns:
        """From (logit s_1 ... s_k, ln delta_0/delta_k ... ln delta_{k-1}/delta_k, b of each type, ln c_k/A)."""
        ratios = np.append(np.exp(x[k : 2 * k]), 1.0)
        b = x[2 * k :].tolist()
        log_ratio = b.pop() if below else None
        return cls(1.0 / (1.0 + np.exp(-x[:k])), ratios / ratios.sum(), tuple(b), log_ratio)

    @classmethod
    def from_mu(cls, mu: Floats, delta: Floats, b: tuple[float, ...]) -> Unknowns:
        """From breaking parameters in units of A / c_k."""
        return cls(tilts(1.0, delta, mu), delta, b)

    def pack(self) -> Floats:
        """The vector that `unpack` reads."""
        logit = np.log(self.s) - np.log1p(-self.s)
        below = [] if self.log_ratio is None else [self.log_ratio]
        return np.array([*logit, *np.log(self.delta[:-1] / self.delta[-1]), *self.b, *below])


class TypeAverages(NamedTuple):
    """One type of synapses: its b in units of sqrt(c_k), its averages over the cascade, and its mean square."""

    b: float
    averages: Averages
    Q: float  # in units of excitatory weights


@dataclass(frozen=True)
class Side:
    """One population at a point of the unknowns [pop-weights], [rsb-q]; conjugates are in the common units."""

    unknowns: Unknowns
    m: float
    W_bar: float  # of the excitatory weights
    Q: float
    dq: float  # Q - q_k, zero at capacity
    q: Floats  # q_0 ... q_k
    types: tuple[TypeAverages | None, ...]  # None if dead
    gap: float  # r_p, the innermost distance relative to that of the first population
    mu: Floats  # as they follow from this population alone
    A: float
    b: float
    c: Floats
    f: Floats
    mean_cost: float  # W_bar b, summed over the types of synapses
    misses: tuple[float, ...]  # of the means of all types but the first, logarithms [inhibition-broken]
    norm: Norm
    overlaps: tuple[Overlap, ...]  # at q_0 ... q_k; the last in units of the innermost distance at capacity

    @property
    def active(self) -> float:
        """Fraction of weights that are positive, at capacity."""
        return self.A * self.gap

    def in_units_of(self, mu: float) -> Side:
        """The same in the units of the innermost distance of another population, whose last mu this is."""
        gap = mu / float(self.mu[-1])
        inner = self.overlaps[-1]
        inner = inner._replace(D1=gap * inner.D1, D1_Q=gap * inner.D1_Q, D1_m=gap * inner.D1_m)
        return replace(
            self,
            gap=gap,
            mu=self.mu * gap,
            A=self.A / gap,
            b=self.b / gap,
            c=self.c / gap**2,
            f=self.f / gap,
            mean_cost=self.mean_cost / gap,
            overlaps=(*self.overlaps[:-1], inner),
        )


@dataclass(frozen=True)
class BrokenState:
    """All order parameters at one point of the unknowns, solved or not.

    Attributes
    ----------
    alpha : float
        At capacity the load at which the potential F vanishes. F is stationary in all order parameters at a solution,
        so that errors enter this value only in second order. Below, the load that follows from the equation for c_k.
    residuals : array
        Residuals of the other equations, relative to their terms; those of mu_1 ... mu_k stand at ``of_mu``.
    potential : float
        At capacity, F / F_S at the load that follows from the equation for c_k; it vanishes at a solution although
        F = 0 is not one of the solved equations. Below, phi, the free entropy per weight.
    slope2, active_patterns : array, float
        r_i^2, the mean squared force of the patterns at each level, and the fraction of patterns at the margin.
    """

    sides: tuple[Side, ...]
    alpha: float
    residuals: Floats
    of_mu: slice
    potential: float
    mu: Floats
    shift: float  # Delta / sqrt(Gamma0)
    Gamma0: float
    Gamma1: float  # sum of fraction * gap * Gamma1
    energy: float  # F_E per pattern
    slope2: Floats
    active_patterns: float
    complexity: float  # below capacity: logarithm of the number of innermost clusters per weight, of one step
    evaluations: int

    @property
    def k(self) -> int:
        """Steps of breaking."""
        return len(self.mu)

    @property
    def in_order(self) -> bool:
        """Whether overlaps and breaking parameters increase from level to level, and the load is positive."""
        rising = bool(np.all(np.diff(self.mu, prepend=0.0) > 0.0)) and self.alpha > 0.0
        return rising and all(np.all(np.diff(side.q) > 0.0) for side in self.sides)

    @property
    def internal_entropy(self) -> float:
        """Logarithm of the volume of an innermost cluster per weight: m phi = Sigma + m s [complexity]."""
        return self.potential - self.complexity / float(self.mu[-1])


class BrokenEquations:
    """The equations for a set of populations, whose fractions sum to 1, a task and k >= 1 steps of breaking.

    ``offsets`` are mean inputs relative to the first population's, where they are prescribed instead of outputs. Finite
    ``n_branches`` move the average output to theta_s + Delta / sqrt(K) if labels are unequal [mean-K]. ``kernels`` are
    the dendrites, if they differ from those of the populations. Weights of either sign, with mean 0 and the mean square
    ``sphere``, have neither b nor a mean input among their unknowns [rsb-spherical].
    """

    def __init__(
        self,
        populations: Sequence[Population],
        task: TaskSpec,
        theta_s: float,
        k: int,
        offsets: Sequence[float] = (),
        n_branches: float = math.inf,
        grid: FieldGrid = USUAL,
        kernels: Sequence[PopulationKernel] = (),
        at_capacity: bool = True,
        sphere: float | None = None,
    ) -> None:
        self.populations, self.task, self.theta_s, self.k = tuple(populations), task, theta_s, k
        self.offsets, self.n_branches = tuple(offsets), n_branches
        self.grid, self.at_capacity, self.sphere, self.with_shift = grid, at_capacity, sphere, task.f_out != 0.5
        self.kernels = tuple(kernels) or tuple(PopulationKernel(population) for population in self.populations)
        self.evaluations = 0
        # Unknowns of each population; dead types of synapses have no b.
        self._live = [sum(one.strength > 0.0 for one in population.types) for population in self.populations]
        if sphere is not None:
            self._live = [0] * len(self.populations)
        # A mean input is measured in the deviation that it brings about, where that is large.
        units = [max(1.0, math.sqrt(one.v) * abs(one.W_bar(0.0))) for one in self.populations]
        self.units = np.array([] if sphere is not None else units[:1] if offsets else units)
        self._fractions = np.array([one.fraction for one in self.populations])
        self._lengths = np.array([one.length for one in self.populations])
        self._known: dict[tuple[Any, ...], Side] = {}

    @property
    def size(self) -> int:
        """Number of unknowns."""
        own = sum(2 * self.k + n + (not self.at_capacity) for n in self._live)
        return own + len(self.units) + self.with_shift

    def with_levels(self, k: int, finer: bool = False) -> BrokenEquations:
        """The same problem with another number of steps, or with finer rules to see the error of a solution."""
        kernels = [PopulationKernel(one, 3 * NODES // 2) for one in self.populations] if finer else self.kernels
        grid = self.grid.doubled() if finer else self.grid
        own = (self.offsets, self.n_branches)
        rest = (self.at_capacity, self.sphere)
        return type(self)(self.populations, self.task, self.theta_s, k, *own, grid, kernels, *rest)

    def pack(self, unknowns: Sequence[Unknowns], means: Sequence[float], shift: float) -> Floats:
        """The vector of unknowns for Newton's method; types without a b of their own share that of the first."""
        own = [
            (one if len(one.b) == n else one._replace(b=one.b[:1] * n)).pack()
            for one, n in zip(unknowns, self._live, strict=True)
        ]
        means = np.asarray(means)[: len(self.units)] / self.units
        return np.concatenate([*own, means, [shift] * self.with_shift])

    def unpack(self, x: Floats) -> tuple[list[Unknowns], Floats, float]:
        """Unknowns of each population, mean inputs, and shift."""
        at, unknowns = 0, []
        for n in self._live:
            width = 2 * self.k + n + (not self.at_capacity)
            unknowns.append(Unknowns.unpack(x[at : at + width], self.k, not self.at_capacity))
            at += width
        means = x[at : at + len(self.units)] * self.units
        if self.offsets:
            means = means[0] + np.asarray(self.offsets)
        if self.sphere is not None:
            means = np.zeros(len(self.populations))
        return unknowns, means, float(x[-1]) if self.with_shift else 0.0

    def residuals(self, x: Floats) -> Floats:
        """The residuals."""
        return self.state(x).residuals

    def _side(self, p: int, u: Unknowns, m: float) -> Side:
        """One population alone, which takes most of the time.

        A column of the Jacobian changes one population and leaves the others unchanged, so the last points are cached:
        as many as one Jacobian needs.
        """
        key = (p, m, u.b, u.log_ratio, u.s.tobytes(), u.delta.tobytes())
        if key in self._known:
            return self._known[key]
        population, kernel, below = self.populations[p], self.kernels[p], not self.at_capacity
        live = [one for one in population.types if one.strength > 0.0]
        W_bar = population.W_bar(m) if self.sphere is None else 0.0
        if not W_bar > 0.0 and self.sphere is None:
            raise ValueError("the mean weight is not positive")
        # In units of sqrt(c_k) at capacity, of sqrt(A) below.
        unit = 1.0 if u.log_ratio is None else math.exp(u.log_ratio)
        delta, mu = u.delta * unit, u.mu / unit
        found = [
            cascade(1.0, np.array([-b * math.sqrt(unit)]), np.ones(1), delta, mu, self.grid, below) for b in u.b
        ] or [gaussian_cascade(delta, mu)]
        shares = np.array([one.share for one in live])
        curvature = float(shares @ [one.curvature for one in found])
        if below:
            A = (found[0].slope / W_bar) ** 2
            c_k, square = unit * A, 1.0 / A
        else:
            A = curvature
            size = W_bar / found[0].slope if self.sphere is None else math.sqrt(self.sphere / found[0].slope2[-1])
            c_k, square = (A * size) ** 2, size**2
        f = shares @ np.array([one.f for one in found])
        q = square * (shares @ np.array([one.slope2 for one in found]))
        dq = square * curvature if below else 0.0
        Q = float(q[-1]) + dq
        norm = kernel.norm(m, Q)
        overlaps = [kernel.overlap(m, Q, dq + float(q[-1] - each), norm) for each in q[: len(q) - self.at_capacity]]
        if self.at_capacity:  # the limit of a small distance, per distance
            inner = (norm.Gamma1, norm.Gamma1_Q, norm.Gamma1_m, norm.Gamma1)
            overlaps.append(Overlap(*inner, norm.Gamma0_Q - norm.Gamma1, norm.Gamma0_m, math.nan))
        if len(self._known) >= len(self.populations) + self.size:
            del self._known[next(iter(self._known))]
        averages = iter(zip(u.b or (0.0,), found, strict=True))
        types = []
        for one in population.types:
            b, at = next(averages) if one.strength > 0.0 else (math.inf, None)
            types.append(None if at is None else TypeAverages(b, at, float(at.slope2[-1]) * square))
        costs = [one.share * one.strength * b for one, b in zip(live, u.b or (0.0,), strict=True)]
        self._known[key] = Side(
            unknowns=u,
            m=m,
            W_bar=W_bar,
            Q=Q,
            dq=dq,
            q=q,
            types=tuple(types),
            gap=1.0,
            mu=u.mu * A / c_k,
            A=A,
            b=(u.b or (0.0,))[0] * math.sqrt(c_k),
            c=np.cumsum(u.delta) * c_k,
            f=f - 0.5 * math.log(A) * float(shares.sum()) if below else f * c_k / A,
            mean_cost=W_bar * math.sqrt(c_k) * sum(costs),
            misses=tuple(
                math.log(at.slope / (found[0].slope * one.strength))
                for one, at in zip(live[1:], found[1:], strict=True)
            ),
            norm=norm,
            overlaps=tuple(overlaps),
        )
        return self._known[key]

    def state(self, x: Floats) -> BrokenState:
        """All quantities at one point of the unknowns [pop-potential], [rsb-potential], [clusters-potential]."""
        self.evaluations += 1
        unknowns, means, shift = self.unpack(x)
        sides = [self._side(p, u, float(m)) for p, (u, m) in enumerate(zip(unknowns, means, strict=True))]
        first, k = sides[0], self.k
        mu = first.mu
        if self.at_capacity:
            sides[1:] = [side.in_units_of(float(mu[-1])) for side in sides[1:]]
        own = k - self.at_capacity  # mu that another population may have different
        residuals = [float(one) for side in sides[1:] for one in np.log(side.mu / mu)[:own]]
        residuals += [miss for side in sides for miss in side.misses]
        x_p, lengths = self._fractions, self._lengths

        # The energetic part, in units of sqrt(Gamma0) and Gamma0 / Gamma1 at capacity [pop-soma], and in units of
        # sqrt(C(Q) - C(q_k)) below.
        Gamma0 = float(x_p @ [side.norm.Gamma0 for side in sides])
        D1 = x_p @ np.array([[at.D1 for at in side.overlaps] for side in sides])
        scale, unit = (Gamma0, Gamma0 / float(D1[-1])) if self.at_capacity else (float(D1[-1]), 1.0)
        delta = -np.diff([Gamma0, *D1[:-1], 0.0 if self.at_capacity else D1[-1]]) / scale
        if self.at_capacity and abs(delta[0]) < UNRELATED:
            delta[0] = 0.0
        margin, Delta = self.task.kappa / math.sqrt(scale), shift * math.sqrt(Gamma0)
        starts, labels = label_starts(self.task.f_out, margin, Delta / math.sqrt(scale))
        patterns = cascade(-1.0, starts, labels, delta, mu * unit, self.grid, not self.at_capacity)
        r2, curvature = patterns.slope2 * unit**2 / scale, patterns.curvature * unit / scale
        f_E = patterns.f * unit
        inner = first.overlaps[-1]
        load = (
            self.populations[0].length * float(first.c[-1]) / (inner.C_q * float(r2[-1]))
        )  # [pop-c], [rsb-c], [clusters-q]

        for p, (side, length) in enumerate(zip(sides, lengths, strict=True)):  # [pop-c], [rsb-c], [clusters-q]
            force = [at.C_q * r2[i] * load / length / side.c[i] for i, at in enumerate(side.overlaps)]
            residuals += [math.log(one) for one in (force if p else force[:-1])]
        # [pop-mu], [rsb-mu], [clusters-m]
        steps = np.diff([0.0, *mu, 0.0])
        split, gain, entropy = np.zeros(k), load * np.diff(f_E), 0.0
        for population, side in zip(self.populations, sides, strict=True):
            q_c = side.q * side.c
            innermost = (side.gap if self.at_capacity else side.dq) * side.c[-1]
            split += population.share * 0.5 * np.diff(q_c)
            gain += population.share * np.diff(side.f)
            entropy += population.share * (
                0.5 * (side.A * side.Q - innermost + float(steps @ q_c)) + side.mean_cost + float(side.f[0])
            )
        of_mu = slice(len(residuals), len(residuals) + k)
        residuals += list((gain / mu - split) / split)
        force_by_label = labels * patterns.slope_by_start * unit / math.sqrt(scale)
        more = self._means_and_norms(sides, load, steps, r2, curvature, Delta, force_by_label)
        energy = float(f_E[0])
        return BrokenState(
            sides=tuple(sides),
            alpha=float(-entropy / energy) if self.at_capacity else load,
            residuals=np.array(residuals + more),
            of_mu=of_mu,
            potential=1.0 + load * energy / entropy if self.at_capacity else entropy + load * energy,
            mu=mu,
            shift=shift,
            Gamma0=Gamma0,
            Gamma1=float(D1[-1]),
            energy=energy,
            slope2=r2,
            active_patterns=patterns.active,
            complexity=float(mu[-1] * (mu[-1] * split[-1] - gain[-1])),  # [complexity]
            evaluations=self.evaluations,
        )

    def _means_and_norms(
        self,
        sides: Sequence[Side],
        load: float,
        steps: Floats,
        r2: Floats,
        curvature: float,
        Delta: float,
        force: Floats,
    ) -> list[float]:
        """The residuals of norms, outputs and shift [pop-norm], [rsb-norm], [clusters-norm].

        F_E changes with C(q_i) by ``heat``_i / 2 and, at a fixed innermost distance, with Gamma_0 by ``curvature`` / 2
        [clusters-heat]; terms of order 1 / dq^2 have cancelled.
        """
        x_p, lengths, heat = self._fractions, self._lengths, -steps * r2
        by_m, by_Q, scales = np.empty(len(sides)), np.empty(len(sides)), np.empty(len(sides))
        for p, (population, side) in enumerate(zip(self.populations, sides, strict=True)):
            norm, last, half = side.norm, side.overlaps[-1], 0.5 * load / population.length
            pull_m = curvature * norm.Gamma0_m + r2[-1] * last.D1_m + float(heat @ [at.C_m for at in side.overlaps])
            pull_Q = curvature * norm.Gamma0_Q + r2[-1] * last.D1_Q + float(heat @ [at.C_Q for at in side.overlaps])
            by_m[p] = population.W_slope * side.b + half * pull_m
            by_Q[p] = 0.5 * side.A + half * pull_Q
            scales[p] = 0.5 * side.A + half * (abs(curvature * norm.Gamma0_Q) + abs(r2[-1] * last.D1_Q))
        outputs, slopes, slopes_Q, norms, deviations = np.array([
            (side.norm.output, side.norm.output_m, side.norm.output_Q, side.Q, math.sqrt(side.norm.Gamma0))
            for side in sides
        ]).T  # fmt: skip
        target = Delta / math.sqrt(self.n_branches)  # [mean-K]
        residuals: list[float] = []
        if self.sphere is not None:
            multipliers, of_norms = np.zeros(len(sides)), np.zeros(0)
        elif not self.offsets:
            with np.errstate(divide="ignore", invalid="ignore"):
                multipliers = -lengths * by_m / slopes
            wanted = np.array([population.mean_output for population in self.populations])
            residuals += list((outputs - wanted - target) / deviations)
            # Along the mean output, in Q and in deviations of the input, which is smooth where E g' vanishes.
            inputs = np.array(
                [math.sqrt(one.variance(side.m, side.Q)) for one, side in zip(self.populations, sides, strict=True)]
            )
            size = np.hypot(inputs * slopes, 2.0 * norms * slopes_Q)
            of_norms = inputs * (by_Q * slopes - by_m * slopes_Q) / size
        else:
            multipliers = np.full(len(sides), -float(x_p * lengths @ by_m) / float(x_p @ slopes))
            residuals.append(float(x_p @ outputs - self.theta_s - target) / float(x_p @ deviations))
            of_norms = by_Q + multipliers / lengths * slopes_Q
        residuals += list(of_norms / scales[: len(of_norms)])
        if self.with_shift:  # [rsb-shift], [clusters-shift]
            # dF_E / dDelta is E_sigma sigma <r> with r the force; at finite K it is balanced by the mean output.
            push, pull = float(force[1] - force[0]), 0.0
            if math.isfinite(self.n_branches):
                pull = float(x_p @ multipliers) / math.sqrt(self.n_branches) / load
            residuals.append((push - pull) / (abs(force[0]) + abs(force[1])))
        return residuals
