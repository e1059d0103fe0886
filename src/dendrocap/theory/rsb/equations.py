"""The equations of k-step replica symmetry breaking at capacity, for either prior of the weights.

The entropic part is free of scales: in units of sqrt(c_k) and c_k / A it depends only on b / sqrt(c_k), the fractions
delta_i / c_k and the tilts s_i. These determine A, c_k, Q, all overlaps q_i and all breaking parameters mu_i
explicitly, and the equation for c_k gives the load. The remaining equations are those for c_0 ... c_{k-1}, for
mu_1 ... mu_k and for Q: 2k + 1 equations in as many unknowns, one more with unequal labels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dendrocap.model import NeuronSpec, TaskSpec
from dendrocap.theory.kernels import NODES, TreeKernel
from dendrocap.theory.labels import label_starts
from dendrocap.theory.response import tree_response
from dendrocap.theory.rsb.cascade import Averages, FieldGrid, gaussian_cascade, one_sided_cascade, tilts

__all__ = [
    "BrokenState",
    "BrokenEquations",
    "FixedMean",
    "Overlap",
    "Soma",
    "SomaOfMean",
    "Spherical",
    "TreeSoma",
    "Unknowns",
]

Floats = NDArray[np.float64]

UNRELATED = 1e-11  # share of the somatic variance below which clusters are unrelated


class Overlap(NamedTuple):
    """The kernel at one overlap q: difference at the soma, and derivatives of its covariance C(q)."""

    D1: float  # C(Q) - C(q), computed without cancellation as q comes close to Q
    C_q: float  # C'(q)
    C_Q: float  # dC/dQ at fixed q, with the mean input following Q


class Norm(NamedTuple):
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

    def norm(self, Q: float) -> Norm:
        """Variance at the soma and gain of small differences, with their derivatives in Q."""

    def overlap(self, Q: float, dq: float) -> Overlap:
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

    def norm(self, Q: float) -> Norm:
        """Variance at the soma and gain of small differences, with their derivatives in Q."""
        tree = tree_response(self._neuron, self._task, Q, self._means)
        self._means = tree.means
        return Norm(tree.Gamma0, tree.Gamma1, tree.dGamma0, tree.dGamma1)

    def overlap(self, Q: float, dq: float) -> Overlap:
        """The kernel at the overlap Q - dq."""
        pair = self._kernel.at(Q, dq)
        return Overlap(pair.D1, pair.dD1_ddq, pair.dGamma0_dQ - pair.dD1_dQ - pair.dD1_ddq)


@dataclass(frozen=True)
class FixedMean:
    """Weights of either zero or positive value, with a prescribed mean and free norm: the neuron's synapses.

    Parameters
    ----------
    W_bar : float
        The mean weight.

    Examples
    --------
    >>> from dendrocap.theory.rsb import FixedMean
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
    >>> from dendrocap.theory.rsb import Spherical
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
