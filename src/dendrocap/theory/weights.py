"""Weights: what a prior makes of them in any field, and their distributions with the methods of ``scipy.stats``.

A weight in the field h has the density exp(-A_hat W^2 / 2 + h W) times that of its prior; h is random, with mean M_hat
and variance q_hat [entropic]. At capacity the precision is infinite: a weight is clip(h / A, 0, w_max)
[weights-capacity].
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dendrocap.display import Displayed
from dendrocap.errors import NoSolution
from dendrocap.model.neuron import Prior
from dendrocap.numerics import legendre_rule, truncated_normal
from dendrocap.numerics._compiled import kept_positive_each, tail
from dendrocap.numerics.types import Floats
from dendrocap.theory import _laws
from dendrocap.theory._dendrite import common_nodes
from dendrocap.theory._laws import FIELD_STEP
from dendrocap.theory.cascade import measure
from dendrocap.theory.results import SYMMETRIC
from dendrocap.theory.solver import bracketed_root, monotone_root
from dendrocap.validation import real_number

if TYPE_CHECKING:
    from dendrocap.theory.broken import Unknowns

# Distributions -------------------------------------------------------------------------------------------------------

Size = int | tuple[int, ...]
Random = np.random.Generator | int | None


class WeightDistribution(Displayed):
    """Weights from 0 to ``w_max``, with a density between the atoms that there may be at either end."""

    def mean(self) -> float:
        """Mean weight, including silent ones."""
        return self._moments[0]

    def second_moment(self) -> float:
        """Mean squared weight, Q."""
        return self._moments[1]

    def var(self) -> float:
        """Variance of the weights, including silent ones."""
        return self.second_moment() - self.mean() ** 2

    def std(self) -> float:
        """Standard deviation of the weights, including silent ones."""
        return float(np.sqrt(self.var()))

    @property
    def _moments(self) -> tuple[float, float]:
        """Mean and mean square."""
        raise NotImplementedError


@dataclass(frozen=True)
class CapacityWeights(WeightDistribution):
    """Weights at capacity: an atom at zero and the positive part of a Gaussian [weights-capacity].

    The density of positive weights is that of a normal variable with mean ``-B W_star`` and standard deviation
    ``W_star``; all that would be negative, a fraction H(-B), sits at zero. All that would be larger than ``w_max``, if
    there is a largest weight, sits there. These are closed forms, of whole arrays: fits call them thousands of times.

    Examples
    --------
    >>> weights = CapacityWeights(B=0.0, W_star=2.0)
    >>> round(float(weights.mean()), 6), float(weights.silent_fraction), float(weights.ppf(0.4))
    (0.797885, 0.5, 0.0)
    >>> round(CapacityWeights(B=0.0, W_star=2.0, w_max=2.0).saturated_fraction, 6)
    0.158655
    """

    _displayed = ("silent_fraction", "mean", "std", "B", "W_star", "estimate")

    estimate: ClassVar[str] = SYMMETRIC  # only this estimate has weights of this form; see `Weights` for others

    B: float
    W_star: float
    w_max: float = math.inf

    def __post_init__(self) -> None:
        real_number("B", self.B)
        real_number("W_star", self.W_star, 0.0, low_open=True)
        if self.w_max != math.inf:
            real_number("w_max", self.w_max, 0.0, low_open=True)

    def _shown(self) -> tuple[str, ...]:
        if self.w_max == math.inf:
            return self._displayed
        return ("silent_fraction", "saturated_fraction", *self._displayed[1:], "w_max")

    @property
    def silent_fraction(self) -> float:
        """Probability of a weight that is exactly zero."""
        return float(self._beyond(0.0, -1.0))

    @property
    def saturated_fraction(self) -> float:
        """Probability of a weight that is as large as possible."""
        return float(self._beyond(self.w_max))

    def pdf(self, w: ArrayLike) -> Any:
        """Density of the weights between the atoms; its integral is one minus silent and saturated fraction."""
        w = np.asarray(w, dtype=np.float64)
        z = w / self.W_star + self.B
        density = np.exp(-0.5 * z * z) / (np.sqrt(2.0 * np.pi) * self.W_star)
        return np.where((w > 0.0) & (w < self.w_max), density, 0.0)[()]

    def cdf(self, w: ArrayLike) -> Any:
        """Probability of a weight of at most w, including silent ones."""
        inside = np.where(np.asarray(w) >= 0.0, self._beyond(w, -1.0), 0.0)
        return np.where(np.asarray(w) >= self.w_max, 1.0, inside)[()]

    def sf(self, w: ArrayLike) -> Any:
        """Probability of a weight above w."""
        inside = np.where(np.asarray(w) >= 0.0, self._beyond(w), 1.0)
        return np.where(np.asarray(w) >= self.w_max, 0.0, inside)[()]

    def ppf(self, p: ArrayLike) -> Any:
        """Smallest weight w with cdf(w) >= p; zero for p up to the silent fraction."""
        from scipy.special import ndtri

        p = np.asarray(p, dtype=np.float64)
        inside = (p >= 0.0) & (p <= 1.0)
        quantile = np.maximum(self.W_star * (ndtri(np.where(inside, p, 0.5)) - self.B), 0.0)
        # Said outright: at the silent fraction itself rounding would leave a weight of 1e-16.
        quantile = np.minimum(np.where(p <= self.silent_fraction, 0.0, quantile), self.w_max)
        return np.where(inside, quantile, np.nan)[()]

    def rvs(self, size: Size = 1, random_state: Random = None) -> Floats:
        """Random weights."""
        normal = np.random.default_rng(random_state).standard_normal(size)
        return np.minimum(self.W_star * np.maximum(normal - self.B, 0.0), self.w_max)

    def _beyond(self, w: ArrayLike, side: float = 1.0) -> Any:
        """The probability of the Gaussian above w, or below it with ``side`` -1."""
        from scipy.special import ndtr

        return ndtr(-side * (np.asarray(w, dtype=np.float64) / self.W_star + self.B))

    @property
    def _moments(self) -> tuple[float, float]:
        unbounded = self.w_max == math.inf
        _, first, second = tail(self.B) if unbounded else _laws.clipped_tail(self.B, self.w_max / self.W_star)
        return self.W_star * first, self.W_star**2 * second


SMALL = 0.1  # weights, in units of a thermal spread, below which the probability is an integral of the density

NODES = 16  # per Gauss-Legendre panel

_RULE = legendre_rule(NODES)

HALVINGS = 60  # of an interval in which a quantile lies


@dataclass(frozen=True, eq=False)
class Weights(WeightDistribution):
    """Weights in random fields: a mixture of Gaussians cut to 0 and ``w_max`` [weights], [sp-prior], [rsb-weights].

    In the field h a weight has the density exp(-A_hat W^2 / 2 + h W); h is normal with mean M_hat and variance q_hat.
    Below capacity these are the conjugates of a saddle point, with the strength of a ridge in ``A_hat``. At load 0
    weights are exponentially distributed; without a largest weight A_hat is otherwise positive. With broken symmetry
    there are many mean fields M_hat, with frequencies ``mass``; at capacity q_hat is zero and a weight is silent unless
    it is one of the share ``active`` of its field.

    Examples
    --------
    >>> weights = Weights(A_hat=0.0, q_hat=0.0, M_hat=-0.5)
    >>> weights.mean(), weights.silent_fraction, round(float(weights.sf(2.0)), 6)
    (2.0, 0.0, 0.367879)
    >>> alike = Weights(A_hat=0.0, q_hat=0.0, M_hat=0.0, w_max=2.0)  # all weights up to 2 are alike
    >>> round(alike.mean(), 12), round(float(alike.cdf(0.5)), 12)
    (1.0, 0.25)
    >>> from dendrocap import NeuronSpec, ReLU, critical_capacity
    >>> broken = critical_capacity(NeuronSpec(ReLU(), theta_d=1.0, theta_s=0.5), rsb=1).weights
    >>> round(broken.mean(), 6), round(broken.silent_fraction, 4)
    (2.0, 0.4113)
    """

    saturated_fraction: ClassVar[float] = 0.0  # of weights as large as possible; below capacity there are none

    A_hat: float
    q_hat: float
    M_hat: float | Floats
    w_max: float = math.inf
    mass: Floats | None = None
    active: Floats | None = None

    def __post_init__(self) -> None:
        real_number("q_hat", self.q_hat, 0.0)
        bounded = self.w_max < math.inf
        real_number("A_hat", self.A_hat, -math.inf if bounded else 0.0, low_open=not bounded and self.q_hat > 0.0)
        if self.mass is None:
            alone = self.A_hat == 0.0 and not bounded
            real_number("M_hat", self.M_hat, high=0.0 if alone else math.inf, high_open=True)
        if bounded:
            real_number("w_max", self.w_max, 0.0, low_open=True)

    def __eq__(self, other: object) -> bool:
        own = fields(self)
        return isinstance(other, Weights) and all(
            np.array_equal(getattr(self, one.name), getattr(other, one.name)) for one in own
        )

    def __hash__(self) -> int:
        return hash((self.A_hat, self.q_hat, self.w_max))

    def _shown(self) -> tuple[str, ...]:
        if self.mass is not None:
            return ("silent_fraction", "mean", "std")
        return ("mean", "std", "A_hat", "q_hat", "M_hat", *(["w_max"] if self.w_max < math.inf else []))

    @property
    def silent_fraction(self) -> float:
        """Probability of a weight that is exactly zero."""
        return 0.0 if self.active is None else 1.0 - float(np.sum(self._present))

    def pdf(self, w: ArrayLike) -> Any:
        """Density of the weights between the atoms."""
        return self._each(self._density, w, 0.0, 0.0)

    def cdf(self, w: ArrayLike) -> Any:
        """Probability of a weight of at most w, including silent ones."""
        return self._each(self._below, w, 0.0, 1.0)

    def sf(self, w: ArrayLike) -> Any:
        """Probability of a weight above w."""
        return self._each(self._above, w, 1.0, 0.0)

    def ppf(self, p: ArrayLike) -> Any:
        """Smallest weight w with cdf(w) >= p; zero for p up to the silent fraction."""
        return _for_each(self._quantile, p)

    def _each(self, function: Callable[[float], float], w: ArrayLike, below: float, above: float) -> Any:
        def one(at: float) -> float:
            if at < 0.0:
                return below
            return function(at) if at < self.w_max else (math.nan if math.isnan(at) else above)

        return _for_each(one, w)

    def _quantile(self, p: float) -> float:
        if not 0.0 <= p <= 1.0:
            return math.nan
        if p <= self.silent_fraction:
            return 0.0
        if p == 1.0:
            return self.w_max
        # In ln w, from either side, so that small and large weights keep their digits.
        if p < 0.5:
            return self._at_root(lambda w: math.log(max(self.cdf(w), 1e-320) / p))
        return self._at_root(lambda w: math.log((1.0 - p) / max(self.sf(w), 1e-300)))

    def _at_root(self, function: Callable[[float], float]) -> float:
        """The weight at which an increasing function vanishes."""
        low = high = math.log(self.mean())
        while function(math.exp(low)) > 0.0:
            low -= 4.0
            if low < -720.0:  # within rounding of the silent fraction
                return 0.0
        while function(math.exp(high)) < 0.0:
            high += 1.0
        if low < high:
            low = bracketed_root(lambda at: function(math.exp(at)), low, high, xtol=1e-14).at
        return math.exp(low)

    @cached_property
    def _present(self) -> Floats:
        """The probability of each mean field with a weight that is not silent."""
        mass = np.ones(1) if self.mass is None else self.mass
        return mass if self.active is None else mass * self.active

    @cached_property
    def _unit(self) -> float:
        """What weights are measured in: the largest one, or a thermal spread, tiny if there is none."""
        if self.w_max < math.inf:
            return self.w_max
        # An exponential law is a Gaussian one whose centre lies far below zero.
        return 1.0 / math.sqrt(self.A_hat) if self.A_hat > 0.0 else float(-1e9 / self.M_hat)

    def _density(self, w: float) -> float:
        a, bounded = self.A_hat * self._unit**2, self.w_max < math.inf

        def at(h: Floats, w: float) -> Floats:
            return np.exp(w * (h - 0.5 * a * w) - self._log_norm(h)) if bounded else _density(h, w)

        return self._average(at, w) / self._unit if w > 0.0 or self.active is None else 0.0

    def _below(self, w: float) -> float:
        if self.w_max < math.inf:
            return self._average(self._part, w)
        if w > SMALL * self._unit or w * self._density(0.0) > SMALL or self.active is not None:
            return self.silent_fraction + self._average(lambda x, at: -np.expm1(_log_survival(x, at)), w)
        nodes, weights = legendre_rule(NODES)  # the mass below a small weight is integrated, to keep its digits
        return float(0.5 * w * weights @ self.pdf(0.5 * w * (1.0 + nodes)))

    def _above(self, w: float) -> float:
        if self.w_max < math.inf:
            return 1.0 - self._below(w)
        return self._average(lambda x, at: np.exp(_log_survival(x, at)), w)

    def _log_norm(self, h: Floats) -> Floats:
        """ln of the integral of the density in the fields h, of bounded weights."""
        return _laws.kept_between_each(np.full(h.size, self.A_hat * self.w_max**2), h)[0]

    def _part(self, h: Floats, share: float | Floats) -> Floats:
        """The probability, in the fields h, of a weight of at most a share of the largest."""
        a = self.A_hat * self.w_max**2
        share = np.broadcast_to(np.asarray(share, dtype=np.float64), h.shape)
        with np.errstate(divide="ignore"):
            log_part = np.log(share) + _laws.kept_between_each(a * share**2, h * share)[0]
        return np.asarray(np.exp(log_part - self._log_norm(h)))

    def _average(self, function: Callable[[Floats, float], Floats], w: float) -> float:
        """Average over the field of a function of it and of the weight w, both in units."""
        centre, spread, w = self.M_hat * self._unit, math.sqrt(self.q_hat) * self._unit, w / self._unit
        if spread == 0.0:
            return float(self._present @ function(np.atleast_1d(centre), w))
        width, bends = 1.0, np.array([0.0, w])  # it bends where h / A_hat is 0, w or w_max
        if self.w_max < math.inf:
            a = self.A_hat * self.w_max**2
            width, bends = math.sqrt(max(a, 0.0) + 4.0), np.unique([0.0, a * w, a])
        h, weight = common_nodes(float(centre), spread, width, bends, bends, *legendre_rule(NODES))
        return float(weight @ function(h, w))

    @cached_property
    def _moments(self) -> tuple[float, float]:
        if self.mass is None:
            found = Law(self.w_max).averages(self.A_hat, self.q_hat, float(self.M_hat))
            return found.mean, found.mean_squared + found.variance
        positive = truncated_normal(self.A_hat, self.M_hat)
        return float(self._present @ positive.mean), float(self._present @ (positive.variance + positive.mean**2))

    def rvs(self, size: Size = 1, random_state: Random = None) -> Floats:
        """Random weights: a random field first, then a weight in that field."""
        rng, unit = np.random.default_rng(random_state), self._unit
        if self.w_max == math.inf and self.A_hat == 0.0:
            return np.asarray(rng.exponential(-1.0 / self.M_hat, size))
        if self.mass is not None:
            field = rng.choice(self.mass.size, size=size, p=self.mass)
            positive = True if self.active is None else rng.random(size) < self.active[field]
            h = unit * np.asarray(self.M_hat)[field]
            return np.where(positive, unit * _drawn(h, rng.exponential(1.0, size)), 0.0)
        h = unit * (self.M_hat + math.sqrt(self.q_hat) * rng.standard_normal(size))
        if self.w_max == math.inf:
            return np.asarray(unit * _drawn(h, rng.exponential(1.0, size)))
        wanted, low, high = rng.random(h.size), np.zeros(h.size), np.ones(h.size)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            below = self._part(h.ravel(), middle) < wanted
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(unit * 0.5 * (low + high)).reshape(h.shape)


def mixture_of(u: Unknowns, b: float, unit: float) -> Weights:
    """The distribution of the type of synapses with this b; ``unit`` is the unit of a weight in terms of its field."""
    from dendrocap.theory._cascade import innermost

    h, mass = measure(1.0, -b, u.delta, u.mu)
    sd, s = float(np.sqrt(u.delta[-1])), float(u.s[-1])
    active = np.array([innermost(field / sd, s)[1] for field in h])
    return in_fields((1.0 - s) / (unit * sd) ** 2, h / (unit * sd**2), mass, active)


def in_fields(A_hat: float, h: Floats, mass: Floats, active: Floats | None = None) -> Weights:
    """Weights in these mean fields, of which those that are too rare are left out."""
    keep = mass > 1e-18
    frequent = mass[keep] / mass[keep].sum()
    return Weights(A_hat, 0.0, h[keep], mass=frequent, active=None if active is None else active[keep])


def _for_each(function: Callable[[float], float], values: ArrayLike) -> Any:
    """A function of one number, for arrays of any shape."""
    array = np.asarray(values, dtype=np.float64)
    return np.array([function(one) for one in array.ravel().tolist()]).reshape(array.shape)[()]


# A unit Gaussian centred at x and kept positive, for many x.


def _density(x: Floats, w: float) -> Floats:
    """Its density at w."""
    from scipy.special import erfcx, ndtr

    left = np.minimum(x, 0.0)
    # Below zero G(w - x) / H(-x) has a common factor exp(-x^2 / 2), which would cause a loss of all digits.
    below = np.exp(w * left - 0.5 * w * w) * math.sqrt(2.0 / math.pi) / erfcx(-left * math.sqrt(0.5))
    above = np.exp(-0.5 * (w - x) ** 2) / (math.sqrt(2.0 * math.pi) * ndtr(np.maximum(x, 0.0)))
    return np.asarray(np.where(x < 0.0, below, above))


def _log_survival(x: Floats, w: float) -> Floats:
    """ln of the probability that it exceeds w."""
    from scipy.special import erfcx, log_ndtr

    left = np.minimum(x, 0.0)
    ratio = erfcx((w - left) * math.sqrt(0.5)) / erfcx(-left * math.sqrt(0.5))
    below = w * left - 0.5 * w * w + np.log(np.maximum(ratio, 1e-300))
    right = np.maximum(x, 0.0)
    return np.asarray(np.where(x < 0.0, below, log_ndtr(right - w) - log_ndtr(right)))


def _drawn(x: Floats, cost: Floats) -> Floats:
    """Random ones, from ``cost``, minus the logarithm of uniform numbers."""
    from scipy.special import log_ndtr, ndtri_exp

    return np.asarray(np.maximum(x - ndtri_exp(log_ndtr(x) - cost), 0.0))


@dataclass(frozen=True)
class Preactivation(Displayed):
    """The normal distribution of the summed input to a branch [preactivation].

    Examples
    --------
    >>> from dendrocap import NeuronSpec, ReLU, critical_capacity
    >>> branch = critical_capacity(NeuronSpec(ReLU(), theta_d=0.5, theta_s=0.5)).preactivation
    >>> print(f"{branch.cdf(0.0):.1%} of the branches are silent")
    41.7% of the branches are silent
    """

    mu: float  # mean f_in M_bar
    sigma: float  # standard deviation sqrt(f_in (1 - f_in) Q)

    def pdf(self, x: ArrayLike) -> Any:
        """Density of the branch input."""
        z = (np.asarray(x, dtype=np.float64) - self.mu) / self.sigma
        return (np.exp(-0.5 * z * z) / (np.sqrt(2.0 * np.pi) * self.sigma))[()]

    def cdf(self, x: ArrayLike) -> Any:
        """Probability of a branch input of at most x."""
        from scipy.special import ndtr

        return ndtr((np.asarray(x, dtype=np.float64) - self.mu) / self.sigma)

    def ppf(self, p: ArrayLike) -> Any:
        """The branch input below which a fraction p of all lies."""
        from scipy.special import ndtri

        return self.mu + self.sigma * ndtri(np.asarray(p, dtype=np.float64))

    def mean(self) -> float:
        """Mean branch input."""
        return self.mu

    def var(self) -> float:
        """Variance of the branch input."""
        return self.sigma**2

    def std(self) -> float:
        """Standard deviation of the branch input."""
        return self.sigma

    def rvs(self, size: Size = 1, random_state: Random = None) -> Floats:
        """Random branch inputs."""
        return np.asarray(self.mu + self.sigma * np.random.default_rng(random_state).standard_normal(size))


# Priors --------------------------------------------------------------------------------------------------------------

# B, below which z makes a silent weight, and moments of a weight in units of its width W_star = W_bar / i1: the
# probability i0 that it is neither silent nor saturated, its mean i1 and its mean square i2. A bare tuple, made often.
CutMoments = tuple[float, float, float, float]


@dataclass(frozen=True)
class Entropic:
    """Averages over the field of a weight's law: ln of its norm (G_S), <W>, <W>^2, <W^2> - <W>^2 and its square."""

    term: float
    mean: float
    mean_squared: float
    variance: float
    variance_squared: float

    def scaled(self, unit: float) -> Entropic:
        """Of weights that were measured in this unit."""
        return Entropic(
            self.term + math.log(unit),
            self.mean * unit,
            self.mean_squared * unit**2,
            self.variance * unit**2,
            self.variance_squared * unit**4,
        )


ROOM = 20.0  # how negative A_hat may become for bounded weights, in units of 1 / w_max^2


class OwnPrior(ABC):
    """The mathematics of a prior, in plain Python: a user's own derives from it and gives ``alone``.

    An instance is a `Prior` of a `NeuronSpec`. The built-in priors override what is slow here. Weights go from 0 to
    ``w_max``; at capacity nothing else is asked of a prior. ``offset`` is how far A_hat may fall below zero: a prior
    that keeps weights finite needs no pattern for it. For a density other than exp(-strength W^2 / 2), ``weights`` must
    be overridden too, if their distribution is asked for.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, ReLU, saddle_point
    >>> class Rate(OwnPrior):
    ...     offset = 1.0
    ...
    ...     def alone(self, A_hat, h):  # a barrier at zero: the density is W exp(-W^2 / 2)
    ...         nodes, parts = np.polynomial.legendre.leggauss(80)
    ...         w = 6.0 * (1.0 + nodes)
    ...         log_density = np.log(6.0 * parts * w) + np.outer(h, w) - 0.5 * (A_hat + 1.0) * w**2
    ...         top = log_density.max(axis=1)
    ...         density = np.exp(log_density - top[:, None])
    ...         norm, mean, square = (density @ w**n for n in range(3))
    ...         return top + np.log(norm), mean / norm, square / norm - (mean / norm) ** 2
    >>> neuron = NeuronSpec(ReLU(), theta_d=0.5, theta_s=0.5, prior=Rate())
    >>> round(saddle_point(neuron, alpha=0.3).Q, 4)  # 2.3581 without a preference
    1.5023
    """

    w_max: float = math.inf
    strength: float = 0.0
    offset: float = 0.0

    @abstractmethod
    def alone(self, A_hat: float, h: Floats) -> tuple[Floats, Floats, Floats]:
        """Of exp(-A_hat W^2 / 2 + h W) times the prior, in each field h: ln of the integral, mean and variance.

        Without an offset A_hat is 0 only in negative fields.
        """

    def check(self, W_bar: float) -> None:
        """Refuse a mean that the weights cannot have, or only if all of them are equal."""
        if not W_bar < self.w_max:
            raise NoSolution(
                f"weights of at most w_max = {self.w_max:g} cannot differ and have the mean theta_d / f_in = "
                f"{W_bar:g}: w_max must be larger than the mean"
            )

    def at_capacity(self, t: float, W_bar: float) -> CutMoments:
        """The weights at place t of the curve of states at capacity [cap-bounded].

        In a field h = -b + sqrt(c) z a weight is clip(h / A, 0, w_max) = clip(W_star (z - B), 0, w_max). Its width
        W_star grows from 0, where all weights are alike, to infinity, where each is 0 or w_max. It is written as that
        of weights without bound, W_bar / I_1(t): without one, t is B itself.
        """
        i0, i1, i2 = tail(t)
        if self.w_max == math.inf:
            return t, i0, i1, i2
        largest = self.w_max / W_bar * i1
        B = _laws.lower_cut(i1, largest, t)
        i0, _, i2 = _laws.clipped_tail(B, largest)
        return B, i0, i1, i2

    def averages(self, A_hat: float, q_hat: float, M_hat: float, step: float = FIELD_STEP) -> Entropic:
        """Averages over the field [entropic]; A_hat = q_hat - 2 Q_hat."""
        h, weight = np.array([M_hat]), np.ones(1)
        if q_hat > 0.0:
            bends = np.array([0.0] if self.w_max == math.inf else [0.0, A_hat * self.w_max])
            width = math.sqrt(abs(A_hat) + self.strength + (4.0 / self.w_max**2))
            h, weight = common_nodes(M_hat, math.sqrt(q_hat), width, np.sort(bends), bends, *_RULE)
        log_norm, mean, variance = self.alone(A_hat, h)
        return Entropic(*(float(weight @ one) for one in (log_norm, mean, mean**2, variance, variance**2)))

    def balanced(
        self, W_bar: float, A_hat: float, q_hat: float, step: float = FIELD_STEP, guess: float = math.nan
    ) -> tuple[float, Entropic]:
        """The M_hat at which weights have the mean W_bar [sp-1], and their averages."""
        start = A_hat * W_bar - 1.0 / W_bar if math.isnan(guess) else guess
        scale = 1.0 / W_bar + math.sqrt(q_hat)

        def excess(M_hat: float) -> tuple[float, float]:
            found = self.averages(A_hat, q_hat, M_hat, step)
            if self.w_max == math.inf:
                return math.log(found.mean / W_bar), found.variance / found.mean
            # on the logit, which is closer to a straight line
            rest, wanted = self.w_max - found.mean, self.w_max - W_bar
            return math.log(found.mean / rest * wanted / W_bar), found.variance * self.w_max / (found.mean * rest)

        M_hat = monotone_root(excess, start, scale).at
        return M_hat, self.averages(A_hat, q_hat, M_hat, step)

    def without_patterns(self, W_bar: float) -> tuple[float, Entropic]:
        """The same for weights that feel no patterns [zero-load-prior]."""
        return OwnPrior.balanced(self, W_bar, 0.0, 0.0)

    def weights(self, A_hat: float, q_hat: float, M_hat: float) -> Weights:
        """Their distribution."""
        return Weights(A_hat + self.strength, q_hat, M_hat, self.w_max)

    def scaled(self, unit: float) -> OwnPrior:
        """The prior of weights that are measured in this unit."""
        return _Scaled(self, unit)


class _Scaled(OwnPrior):
    """A prior in other units."""

    def __init__(self, own: OwnPrior, unit: float) -> None:
        self._own, self._unit = own, unit
        self.w_max, self.strength, self.offset = own.w_max / unit, own.strength * unit**2, own.offset * unit**2

    def alone(self, A_hat: float, h: Floats) -> tuple[Floats, Floats, Floats]:
        log_norm, mean, variance = self._own.alone(A_hat / self._unit**2, h / self._unit)
        return log_norm - math.log(self._unit), mean / self._unit, variance / self._unit**2


class Law(OwnPrior):
    """The built-in priors: weights up to ``w_max``, with a density exp(-strength W^2 / 2) [prior], compiled."""

    def __init__(self, w_max: float = math.inf, strength: float = 0.0) -> None:
        self.w_max, self.strength = w_max, strength
        self.offset = strength + ROOM / w_max**2

    def alone(self, A_hat: float, h: Floats) -> tuple[Floats, Floats, Floats]:
        """In units in which weights are of order one."""
        unit, a = self._units(A_hat)
        if self.w_max < math.inf:
            log_norm, mean, variance = _laws.kept_between_each(np.full(h.size, a), h * unit)
        else:
            log_norm, mean, variance = kept_positive_each(h * unit) if a > 0.0 else (-np.log(-h), -1.0 / h, h**-2.0)
        return log_norm + math.log(unit), mean * unit, variance * unit**2

    def averages(self, A_hat: float, q_hat: float, M_hat: float, step: float = FIELD_STEP) -> Entropic:
        """Compiled loops over the field."""
        if q_hat == 0.0:
            return super().averages(A_hat, q_hat, M_hat)
        unit, a = self._units(A_hat)
        q, eta = q_hat * unit**2, M_hat * unit
        bounded = self.w_max < math.inf
        found = _laws.bounded_averages(a, q, eta, step) if bounded else _laws.entropic_averages(eta, q, step)
        return Entropic(*found).scaled(unit)

    def balanced(
        self, W_bar: float, A_hat: float, q_hat: float, step: float = FIELD_STEP, guess: float = math.nan
    ) -> tuple[float, Entropic]:
        """Compiled too."""
        unit, a = self._units(A_hat)
        bound = a if self.w_max < math.inf else math.inf
        M_hat = _laws.centre(W_bar / unit, bound, q_hat * unit**2, 0.0, guess * unit, step, _RULE) / unit
        return M_hat, self.averages(A_hat, q_hat, M_hat, step)

    def without_patterns(self, W_bar: float) -> tuple[float, Entropic]:
        """Exact for the usual prior."""
        if self.offset == 0.0:  # exponentially distributed [zero-load]
            return -1.0 / W_bar, Entropic(math.log(W_bar), W_bar, W_bar**2, W_bar**2, W_bar**4)
        return super().without_patterns(W_bar)

    def scaled(self, unit: float) -> Law:
        """The same with two other numbers."""
        return Law(self.w_max / unit, self.strength * unit**2)

    def _units(self, A_hat: float) -> tuple[float, float]:
        """The unit of weights, the largest one or a thermal spread, and the precision in this unit."""
        precision = A_hat + self.strength
        if self.w_max < math.inf:
            return self.w_max, precision * self.w_max**2
        return (1.0 / math.sqrt(precision), 1.0) if precision > 0.0 else (1.0, 0.0)


def law_of(prior: Prior) -> OwnPrior:
    """The mathematics of a prior: the user's own, or that of a built-in one."""
    return prior if isinstance(prior, OwnPrior) else Law(prior.w_max, prior.strength)
