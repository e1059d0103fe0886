"""Distributions of weights and of branch inputs, with the methods of ``scipy.stats`` distributions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dendrocap.display import Displayed
from dendrocap.errors import NoSolution
from dendrocap.model.neuron import Prior
from dendrocap.numerics import legendre_rule, truncated_normal
from dendrocap.numerics._compiled import tail
from dendrocap.numerics.types import Floats
from dendrocap.theory._laws import FIELD_STEP
from dendrocap.theory.cascade import measure
from dendrocap.theory.results import SYMMETRIC
from dendrocap.theory.solver import monotone_root
from dendrocap.validation import real_number

if TYPE_CHECKING:
    from dendrocap.theory.broken import BrokenState, Unknowns


class WeightDistribution(Displayed, ABC):
    """What all distributions of weights have in common."""

    @abstractmethod
    def mean(self) -> float:
        """Mean weight, including silent ones."""

    @abstractmethod
    def second_moment(self) -> float:
        """Mean squared weight, Q."""

    def var(self) -> float:
        """Variance of the weights, including silent ones."""
        return self.second_moment() - self.mean() ** 2

    def std(self) -> float:
        """Standard deviation of the weights, including silent ones."""
        return float(np.sqrt(self.var()))


@dataclass(frozen=True)
class CapacityWeights(WeightDistribution):
    """Weights at capacity: an atom at zero and the positive part of a Gaussian [weights-capacity].

    The density of positive weights is that of a normal variable with mean ``-B W_star`` and standard deviation
    ``W_star``; all that would be negative, a fraction H(-B), sits at zero. All that would be larger than ``w_max``, if
    there is a largest weight, sits there.

    Parameters
    ----------
    B, W_star : float
        Shape and scale.
    w_max : float
        Largest weight; infinite if there is none.

    Examples
    --------
    >>> weights = CapacityWeights(B=0.0, W_star=2.0)
    >>> round(float(weights.mean()), 6), float(weights.silent_fraction), float(weights.ppf(0.4))
    (0.797885, 0.5, 0.0)
    >>> round(CapacityWeights(B=0.0, W_star=2.0, w_max=2.0).saturated_fraction, 6)
    0.158655
    """

    _displayed = ("silent_fraction", "mean", "std", "B", "W_star", "estimate")

    estimate: ClassVar[str] = SYMMETRIC  # only this estimate has weights of this form; see `BrokenWeights` for others

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
        from scipy.special import ndtr

        return float(ndtr(self.B))

    @property
    def saturated_fraction(self) -> float:
        """Probability of a weight that is as large as possible."""
        from scipy.special import ndtr

        return float(ndtr(-self.w_max / self.W_star - self.B))

    def pdf(self, w: ArrayLike) -> Any:
        """Density of the weights between the atoms; its integral is one minus silent and saturated fraction."""
        w = np.asarray(w, dtype=np.float64)
        z = w / self.W_star + self.B
        density = np.exp(-0.5 * z * z) / (np.sqrt(2.0 * np.pi) * self.W_star)
        return np.where((w > 0.0) & (w < self.w_max), density, 0.0)[()]

    def cdf(self, w: ArrayLike) -> Any:
        """Probability of a weight of at most w, including silent ones."""
        from scipy.special import ndtr

        w = np.asarray(w, dtype=np.float64)
        inside = np.where(w >= 0.0, ndtr(w / self.W_star + self.B), 0.0)
        return np.where(w >= self.w_max, 1.0, inside)[()]

    def sf(self, w: ArrayLike) -> Any:
        """Probability of a weight above w."""
        from scipy.special import ndtr

        w = np.asarray(w, dtype=np.float64)
        inside = np.where(w >= 0.0, ndtr(-w / self.W_star - self.B), 1.0)
        return np.where(w >= self.w_max, 0.0, inside)[()]

    def ppf(self, p: ArrayLike) -> Any:
        """Smallest weight w with cdf(w) >= p; zero for p up to the silent fraction."""
        from scipy.special import ndtri

        p = np.asarray(p, dtype=np.float64)
        inside = (p >= 0.0) & (p <= 1.0)
        quantile = np.maximum(self.W_star * (ndtri(np.where(inside, p, 0.5)) - self.B), 0.0)
        # Said outright: at the silent fraction itself rounding would leave a weight of 1e-16.
        quantile = np.minimum(np.where(p <= self.silent_fraction, 0.0, quantile), self.w_max)
        return np.where(inside, quantile, np.nan)[()]

    def mean(self) -> float:
        """Mean weight, including silent ones."""
        return self.W_star * self._tail()[1]

    def second_moment(self) -> float:
        """Mean squared weight, Q."""
        return self.W_star**2 * self._tail()[2]

    def rvs(self, size: int | tuple[int, ...] = 1, random_state: np.random.Generator | int | None = None) -> Floats:
        """Random weights."""
        normal = np.random.default_rng(random_state).standard_normal(size)
        return np.minimum(self.W_star * np.maximum(normal - self.B, 0.0), self.w_max)

    def _tail(self) -> tuple[float, float, float]:
        from dendrocap.numerics._compiled import tail

        if self.w_max < math.inf:
            from dendrocap.theory._laws import clipped_tail

            return clipped_tail(self.B, self.w_max / self.W_star)
        return tail(self.B)


@dataclass(frozen=True)
class Preactivation(Displayed):
    """The normal distribution of the summed input to a branch [preactivation].

    Parameters
    ----------
    mu, sigma : float
        Mean f_in M_bar and standard deviation sqrt(f_in (1 - f_in) Q).

    Examples
    --------
    >>> from dendrocap import NeuronSpec, ReLU, critical_capacity
    >>> branch = critical_capacity(NeuronSpec(ReLU(), theta_d=0.5, theta_s=0.5)).preactivation
    >>> print(f"{branch.cdf(0.0):.1%} of the branches are silent")
    41.7% of the branches are silent
    """

    mu: float
    sigma: float

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

    def rvs(self, size: int | tuple[int, ...] = 1, random_state: np.random.Generator | int | None = None) -> Floats:
        """Random branch inputs."""
        return np.asarray(self.mu + self.sigma * np.random.default_rng(random_state).standard_normal(size))


@dataclass(frozen=True)
class Entropic:
    """Averages over the random field of a weight with density exp(-A_hat W^2 / 2 + (M_hat + sqrt(q_hat) z) W).

    Attributes
    ----------
    term : float
        G_S, the average logarithm of the density's integral over W > 0, or up to the largest weight.
    mean, mean_squared, variance, variance_squared : float
        Averages of <W>, <W>^2, <W^2> - <W>^2, and of the square of the latter.
    """

    term: float
    mean: float
    mean_squared: float
    variance: float
    variance_squared: float

    @classmethod
    def at(
        cls, A_hat: float, q_hat: float, M_hat: float, step: float = FIELD_STEP, w_max: float = math.inf
    ) -> Entropic:
        """With A_hat = q_hat - 2 Q_hat, plus the strength of a ridge; positive unless weights are bounded."""
        from dendrocap.theory._laws import entropic_averages

        if w_max < math.inf:
            return cls._bounded(A_hat, q_hat, M_hat, step, w_max)
        root = math.sqrt(A_hat)
        log_norm, mean, mean_squared, variance, variance_squared = entropic_averages(M_hat / root, q_hat / A_hat, step)
        return cls(
            term=log_norm - 0.5 * math.log(A_hat),
            mean=mean / root,
            mean_squared=mean_squared / A_hat,
            variance=variance / A_hat,
            variance_squared=variance_squared / A_hat**2,
        )

    @classmethod
    def _bounded(cls, A_hat: float, q_hat: float, M_hat: float, step: float, w_max: float) -> Entropic:
        from dendrocap.theory._laws import bounded_averages

        log_norm, mean, mean_squared, variance, variance_squared = bounded_averages(
            A_hat * w_max**2, q_hat * w_max**2, M_hat * w_max, step
        )
        return cls(
            term=log_norm + math.log(w_max),
            mean=mean * w_max,
            mean_squared=mean_squared * w_max**2,
            variance=variance * w_max**2,
            variance_squared=variance_squared * w_max**4,
        )


# The distribution of weights below capacity, with the methods of ``scipy.stats`` distributions.
#
# A weight is a Gaussian of precision A_hat restricted to positive values, whose centre is itself Gaussian: it is the
# random field of the patterns [weights]. At load 0 this is an exponential distribution; towards capacity it splits
# into an atom at zero and half a Gaussian.

NODES = 16  # per Gauss-Legendre panel

SMALL = 0.1  # weights, in units of a thermal spread, below which the probability is an integral of the density


class WeightsBelowCapacity(WeightDistribution):
    """Weights in a random field, none of them exactly zero; their moments are those of the entropic term."""

    @abstractmethod
    def _entropic(self) -> Entropic:
        """The entropic term and its averages."""

    @abstractmethod
    def _quantile(self, p: float) -> float:
        """The weight below which a fraction p of all weights lies; NaN if p is no fraction."""

    @property
    def silent_fraction(self) -> float:
        """Probability of a weight that is exactly zero; 0 below capacity."""
        return 0.0

    def ppf(self, p: ArrayLike) -> Any:
        """The weight below which a fraction p of all weights lies."""
        return for_each(self._quantile, p)

    def mean(self) -> float:
        """Mean weight, W_bar at a saddle point."""
        return self._entropic().mean

    def second_moment(self) -> float:
        """Mean squared weight, Q."""
        entropic = self._entropic()
        return entropic.mean_squared + entropic.variance


@dataclass(frozen=True)
class FiniteLoadWeights(WeightsBelowCapacity):
    """Weights of a typical solution at a load below capacity.

    Parameters
    ----------
    A_hat, q_hat, M_hat : float
        Conjugates of a saddle point, ``A_hat = q_hat - 2 Q_hat``, plus the strength of a ridge. Both zero for load 0
        without one, where ``M_hat < 0`` is the rate of the exponential distribution.

    Examples
    --------
    >>> weights = FiniteLoadWeights(A_hat=0.0, q_hat=0.0, M_hat=-0.5)
    >>> weights.mean(), weights.silent_fraction, round(float(weights.sf(2.0)), 6)
    (2.0, 0.0, 0.367879)
    """

    _displayed = ("mean", "std", "A_hat", "q_hat", "M_hat")

    A_hat: float
    q_hat: float
    M_hat: float

    def __post_init__(self) -> None:
        real_number("q_hat", self.q_hat, 0.0)
        real_number("A_hat", self.A_hat, 0.0, low_open=self.q_hat > 0.0)
        real_number("M_hat", self.M_hat, high=0.0 if self.A_hat == 0.0 else math.inf, high_open=True)

    def pdf(self, w: ArrayLike) -> Any:
        """Density of the weights."""
        if self.A_hat == 0.0:
            return _elementwise(lambda at: -self.M_hat * math.exp(self.M_hat * at), w, 0.0, 0.0)
        return _elementwise(lambda at: math.sqrt(self.A_hat) * self._average(_density, at), w, 0.0, 0.0)

    def cdf(self, w: ArrayLike) -> Any:
        """Probability of a weight of at most w."""
        if self.A_hat == 0.0:
            return _elementwise(lambda at: -math.expm1(self.M_hat * at), w, 0.0, 1.0)
        return _elementwise(self._mass_below, w, 0.0, 1.0)

    def _mass_below(self, w: float) -> float:
        """Probability of a weight of at most w; the mass below a small weight is integrated, to keep its digits."""
        if w * math.sqrt(self.A_hat) > SMALL:
            return self._average(lambda x, at: -np.expm1(_log_survival(x, at)), w)
        nodes, weights = legendre_rule(NODES)
        return float(0.5 * w * weights @ self.pdf(0.5 * w * (1.0 + nodes)))

    def sf(self, w: ArrayLike) -> Any:
        """Probability of a weight above w."""
        if self.A_hat == 0.0:
            return _elementwise(lambda at: math.exp(self.M_hat * at), w, 1.0, 0.0)
        return _elementwise(lambda at: self._average(lambda x, at: np.exp(_log_survival(x, at)), at), w, 1.0, 0.0)

    def rvs(self, size: int | tuple[int, ...] = 1, random_state: np.random.Generator | int | None = None) -> Floats:
        """Random weights: a random field first, then a weight in that field."""
        from scipy.special import log_ndtr, ndtri_exp

        rng = np.random.default_rng(random_state)
        if self.A_hat == 0.0:
            return np.asarray(rng.exponential(-1.0 / self.M_hat, size))
        root = math.sqrt(self.A_hat)
        x = (self.M_hat + math.sqrt(self.q_hat) * rng.standard_normal(size)) / root
        tail = -rng.exponential(1.0, size) + log_ndtr(x)  # ln of a uniform part of the mass above zero
        return np.asarray(np.maximum(x - ndtri_exp(tail), 0.0) / root)

    def _entropic(self) -> Entropic:
        if self.A_hat == 0.0:
            scale = -1.0 / self.M_hat
            return Entropic(math.log(scale), scale, scale**2, scale**2, scale**4)
        if self.q_hat == 0.0:  # a ridge without patterns
            found = truncated_normal(self.A_hat, self.M_hat)
            log_norm, mean, variance = (float(part) for part in (found.log_norm, found.mean, found.variance))
            return Entropic(log_norm, mean, mean**2, variance, variance**2)
        return Entropic.at(self.A_hat, self.q_hat, self.M_hat)

    def _average(self, function: Callable[[Floats, float], Floats], w: float) -> float:
        """Average over the field of a function of its centre x and of the weight, both in units 1 / sqrt(A_hat)."""
        from dendrocap.theory._dendrite import common_nodes

        root = math.sqrt(self.A_hat)
        at = w * root
        if self.q_hat == 0.0:
            return float(function(np.array([self.M_hat / root]), at)[0])
        # As functions of x they bend, on the scale 1, at x = 0 and at x = w.
        bends = np.array([0.0, at])
        x, weight = common_nodes(
            self.M_hat / root, math.sqrt(self.q_hat) / root, 1.0, bends, bends, *legendre_rule(NODES)
        )
        return float(weight @ function(x, at))

    def _quantile(self, p: float) -> float:
        from scipy.optimize import brentq

        if not 0.0 <= p <= 1.0:
            return math.nan
        if p in (0.0, 1.0):
            return 0.0 if p == 0.0 else math.inf
        # In ln w, from either side, so that small and large weights keep their digits.
        if p < 0.5:
            return math.exp(self._log_root(lambda w: math.log(self.cdf(w) / p), brentq))
        return math.exp(self._log_root(lambda w: math.log((1.0 - p) / max(self.sf(w), 1e-300)), brentq))

    def _log_root(self, function: Callable[[float], float], solver: Callable[..., float]) -> float:
        """ln of the weight at which an increasing function vanishes."""
        low = high = math.log(self.mean())
        while function(math.exp(low)) > 0.0:
            low -= 4.0
        while function(math.exp(high)) < 0.0:
            high += 1.0
        if low == high:
            return low
        return solver(lambda at: function(math.exp(at)), low, high, xtol=1e-14, rtol=1e-14)


def _elementwise(function: Callable[[float], float], w: ArrayLike, below: float, above: float) -> Any:
    """A function of one weight, for arrays of any weights: ``below`` if negative, ``above`` if infinite."""

    def one(at: float) -> float:
        if at < 0.0:
            return below
        return function(at) if math.isfinite(at) else (above if at == math.inf else math.nan)

    return for_each(one, w)


def for_each(function: Callable[[float], float], values: ArrayLike) -> Any:
    """A function of one number, for arrays of any shape."""
    array = np.asarray(values, dtype=np.float64)
    return np.array([function(one) for one in array.ravel().tolist()]).reshape(array.shape)[()]


def _density(x: Floats, w: float) -> Floats:
    """Density at w of a unit Gaussian centred at x and kept positive."""
    from scipy.special import erfcx, ndtr

    left = np.minimum(x, 0.0)
    # Below zero G(w - x) / H(-x) has a common factor exp(-x^2 / 2), which would cause a loss of all digits.
    log_below = w * left - 0.5 * w * w
    below = np.exp(log_below) * math.sqrt(2.0 / math.pi) / erfcx(-left * math.sqrt(0.5))
    above = np.exp(-0.5 * (w - x) ** 2) / (math.sqrt(2.0 * math.pi) * ndtr(np.maximum(x, 0.0)))
    return np.asarray(np.where(x < 0.0, below, above))


def _log_survival(x: Floats, w: float) -> Floats:
    """ln of the probability that a unit Gaussian centred at x and kept positive exceeds w."""
    from scipy.special import erfcx, log_ndtr

    left = np.minimum(x, 0.0)
    ratio = erfcx((w - left) * math.sqrt(0.5)) / erfcx(-left * math.sqrt(0.5))
    below = w * left - 0.5 * w * w + np.log(np.maximum(ratio, 1e-300))
    right = np.maximum(x, 0.0)
    return np.asarray(np.where(x < 0.0, below, log_ndtr(right - w) - log_ndtr(right)))


# The distribution of weights at capacity with broken replica symmetry.


@dataclass(frozen=True, eq=False, repr=False)
class BrokenWeights(WeightDistribution):
    """An atom at zero and a mixture of Gaussians cut at zero, one for each field of the last level [rsb-weights].

    A weight is silent or, with the probability of its field, drawn from the positive part of a Gaussian. Unlike with
    replica symmetry, the positive weights as a whole do not follow a truncated Gaussian.

    Attributes
    ----------
    mass, active : array
        Frequency of each field, and the probability that its weight is positive.
    centre : array
        Mean of the Gaussian before truncation.
    sigma : float
        Its standard deviation.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, ReLU, critical_capacity
    >>> weights = critical_capacity(NeuronSpec(ReLU(), theta_d=1.0, theta_s=0.5), rsb=1).weights
    >>> round(weights.mean(), 6), round(weights.silent_fraction, 4)
    (2.0, 0.4113)
    """

    _displayed = ("silent_fraction", "mean", "std")

    mass: Floats
    active: Floats
    centre: Floats
    sigma: float

    @property
    def silent_fraction(self) -> float:
        """Probability of a weight that is exactly zero."""
        return 1.0 - float(self.mass @ self.active)

    def pdf(self, w: ArrayLike) -> Any:
        """Density of the positive weights; its integral is one minus the silent fraction."""
        from scipy.special import log_ndtr

        w = np.asarray(w, dtype=np.float64)
        z = (w[..., None] - self.centre) / self.sigma
        log_part = -0.5 * z * z - 0.5 * np.log(2.0 * np.pi) - log_ndtr(self.centre / self.sigma)
        density = np.exp(log_part) @ (self.mass * self.active) / self.sigma
        return np.where(w > 0.0, density, 0.0)[()]

    def sf(self, w: ArrayLike) -> Any:
        """Probability of a weight above w."""
        from scipy.special import log_ndtr

        w = np.asarray(w, dtype=np.float64)
        above = np.maximum(w, 0.0)[..., None]
        log_part = log_ndtr((self.centre - above) / self.sigma) - log_ndtr(self.centre / self.sigma)
        return np.where(w >= 0.0, np.exp(log_part) @ (self.mass * self.active), 1.0)[()]

    def cdf(self, w: ArrayLike) -> Any:
        """Probability of a weight of at most w; jumps by the silent fraction at zero."""
        w = np.asarray(w, dtype=np.float64)
        return np.where(w >= 0.0, 1.0 - self.sf(w), 0.0)[()]

    def ppf(self, p: ArrayLike) -> Any:
        """Smallest weight w with cdf(w) >= p; zero for p up to the silent fraction."""
        from scipy.optimize import brentq

        p = np.asarray(p, dtype=np.float64)
        quantile = np.full(p.shape, np.nan)
        for at, level in np.ndenumerate(p):
            if level == 1.0:
                quantile[at] = np.inf
            elif 0.0 <= level <= self.silent_fraction:
                quantile[at] = 0.0
            elif 0.0 <= level < 1.0:
                top = self.std() + self.mean()
                while self.sf(top) > 1.0 - level:
                    top *= 2.0
                quantile[at] = brentq(lambda w, level=level: self.sf(w) - (1.0 - level), 0.0, top, xtol=1e-13 * top)
        return quantile[()]

    def mean(self) -> float:
        """Mean weight, including silent ones."""
        return float((self.mass * self.active) @ self._moments()[0])

    def second_moment(self) -> float:
        """Mean squared weight, Q."""
        return float((self.mass * self.active) @ self._moments()[1])

    def rvs(self, size: int | tuple[int, ...] = 1, random_state: np.random.Generator | int | None = None) -> Floats:
        """Random weights."""
        from scipy.special import ndtr, ndtri

        rng = np.random.default_rng(random_state)
        field = rng.choice(self.mass.size, size=size, p=self.mass)
        positive = rng.random(size) < self.active[field]
        cut = self.centre[field] / self.sigma
        # the upper tail of a Gaussian cut at -cut, by inversion of its survival function
        drawn = self.centre[field] - self.sigma * ndtri(ndtr(cut) * rng.random(size))
        return np.where(positive, np.maximum(drawn, 0.0), 0.0)

    def _moments(self) -> tuple[Floats, Floats]:
        """First two moments of each cut Gaussian."""
        positive = truncated_normal(self.sigma**-2.0, self.centre / self.sigma**2)
        return positive.mean, positive.variance + positive.mean**2


def weights_at(state: BrokenState) -> BrokenWeights:
    """The distribution of weights of a solution."""
    return mixture_of(state.unknowns, float(np.sqrt(state.c[-1])) / state.A)


def mixture_of(u: Unknowns, unit: float) -> BrokenWeights:
    """The distribution described by unknowns; ``unit`` is the unit of a weight in terms of its field."""
    from dendrocap.theory._cascade import innermost

    h, mass = measure(1.0, -u.b, u.delta, u.mu)
    keep = mass > 1e-18
    h, mass = h[keep], mass[keep] / mass[keep].sum()
    sd, s = float(np.sqrt(u.delta[-1])), float(u.s[-1])
    active = np.array([innermost(field / sd, s)[1] for field in h])
    return BrokenWeights(mass, active, unit * h / (1.0 - s), unit * sd / float(np.sqrt(1.0 - s)))


# The state of the weights at capacity, with a largest weight or without [cap-bounded].
#
# In a field h = -b + sqrt(c) z a weight is clip(h / A, 0, w_max) = clip(W_star (z - B), 0, w_max). Its width W_star
# grows from 0, where all weights are alike, to infinity, where each is 0 or w_max. It is written as that of weights
# without bound, W_bar / I_1(t): t is then B itself without a bound, and a place on the curve of states with one.

# B, below which z makes a silent weight, and moments of a weight in units of its width W_star = W_bar / i1: the
# probability i0 that it is neither silent nor saturated, its mean i1 and its mean square i2. A bare tuple, made often.
CutMoments = tuple[float, float, float, float]


def cut_moments(t: float, largest: float = math.inf) -> CutMoments:
    """The weights at place t of the curve of states; ``largest`` is w_max / W_bar."""
    i0, i1, i2 = tail(t)
    if largest == math.inf:
        return t, i0, i1, i2
    from dendrocap.theory._laws import clipped_tail, lower_cut

    B = lower_cut(i1, largest * i1, t)
    i0, _, i2 = clipped_tail(B, largest * i1)
    return B, i0, i1, i2


def check_mean_weight(W_bar: float, w_max: float) -> None:
    """Refuse a mean that weights of at most w_max cannot have, or only if all of them are equal."""
    if not W_bar < w_max:
        raise NoSolution(
            f"weights of at most w_max = {w_max:g} cannot differ and have the mean theta_d / f_in = {W_bar:g}: w_max "
            "must be larger than the mean"
        )


# Weights with a prior below capacity: their averages over the random field, and their law [sp-prior].
#
# A weight in the field h has the density exp(-(A_hat + strength) W^2 / 2 + h W) on 0 <= W <= w_max. With a bound,
# A_hat may be negative.

HALVINGS = 60  # of an interval in which a quantile lies


def without_patterns(prior: Prior, W_bar: float) -> tuple[float, Entropic]:
    """The M_hat at which weights that feel no patterns have the mean W_bar, and their moments [zero-load-prior]."""
    from dendrocap.numerics._compiled import kept_positive
    from dendrocap.theory._laws import kept_between

    bounded = prior.w_max < math.inf
    unit = prior.w_max if bounded else 1.0 / math.sqrt(prior.strength)
    a, wanted = prior.strength * unit**2, W_bar / unit

    def law(h: float) -> tuple[float, float, float]:
        return kept_between(a, h) if bounded else kept_positive(h)

    def excess(h: float) -> tuple[float, float]:
        _, mean, variance = law(h)
        if bounded:  # on the logit, which is closer to a straight line
            return math.log(mean / (1.0 - mean) * (1.0 - wanted) / wanted), variance / (mean * (1.0 - mean))
        return math.log(mean / wanted), variance / mean

    h = monotone_root(excess, wanted if wanted > 1.0 else -1.0 / wanted, 1.0).at
    log_norm, mean, variance = law(h)
    return h / unit, Entropic(
        term=log_norm + math.log(unit),
        mean=mean * unit,
        mean_squared=(mean * unit) ** 2,
        variance=variance * unit**2,
        variance_squared=variance**2 * unit**4,
    )


@dataclass(frozen=True)
class BoundedWeights(WeightsBelowCapacity):
    """Weights of a typical solution below capacity that are at most ``w_max`` [sp-prior].

    Parameters
    ----------
    A_hat, q_hat, M_hat : float
        Precision of a weight, and spread and mean of its field; those of a saddle point, ``A_hat = q_hat - 2 Q_hat``.
    w_max : float
        Largest weight.

    Examples
    --------
    >>> weights = BoundedWeights(A_hat=0.0, q_hat=0.0, M_hat=0.0, w_max=2.0)  # all weights up to 2 are alike
    >>> round(weights.mean(), 12), round(float(weights.cdf(0.5)), 12), weights.saturated_fraction
    (1.0, 0.25, 0.0)
    """

    _displayed = ("mean", "std", "A_hat", "q_hat", "M_hat", "w_max")

    A_hat: float
    q_hat: float
    M_hat: float
    w_max: float

    def __post_init__(self) -> None:
        real_number("A_hat", self.A_hat)
        real_number("q_hat", self.q_hat, 0.0)
        real_number("M_hat", self.M_hat)
        real_number("w_max", self.w_max, 0.0, low_open=True)

    @property
    def saturated_fraction(self) -> float:
        """Probability of a weight that is exactly ``w_max``: none below capacity."""
        return 0.0

    def pdf(self, w: ArrayLike) -> Any:
        """Density of the weights."""

        def at(share: float) -> float:
            return self._average(lambda h: share * (h - 0.5 * self._a * share) - self._log_norm(h), share) / self.w_max

        return self._elementwise(at, w, 0.0, 0.0)

    def cdf(self, w: ArrayLike) -> Any:
        """Probability of a weight of at most w."""
        return self._elementwise(lambda share: self._average(lambda h: self._log_part(h, share), share), w, 0.0, 1.0)

    def sf(self, w: ArrayLike) -> Any:
        """Probability of a weight above w."""
        # The weights above w are those below it of the mirrored law, W -> w_max - W, in the field a - h.

        def above(share: float) -> float:
            return self._average(lambda h: self._log_part(self._a - h, 1.0 - share), share)

        return self._elementwise(above, w, 1.0, 0.0)

    def rvs(self, size: int | tuple[int, ...] = 1, random_state: np.random.Generator | int | None = None) -> Floats:
        """Random weights: a random field first, then a weight in that field."""
        rng = np.random.default_rng(random_state)
        h = self.w_max * (self.M_hat + math.sqrt(self.q_hat) * rng.standard_normal(size))
        flat, wanted = h.ravel(), np.log(rng.random(h.size))
        low, high = np.zeros(h.size), np.ones(h.size)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            below = self._log_part(flat, middle) < wanted
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(self.w_max * 0.5 * (low + high)).reshape(h.shape)

    @property
    def _a(self) -> float:
        """Precision in units of the largest weight."""
        return self.A_hat * self.w_max**2

    def _log_norm(self, h: Floats) -> Floats:
        from dendrocap.theory._laws import kept_between_each

        return kept_between_each(self._a, h)[0]

    def _log_part(self, h: Floats, share: float | Floats) -> Floats:
        """ln of the probability, in the fields h, of a weight of at most a share of the largest."""
        from dendrocap.theory._laws import kept_between_each, kept_between_pairs

        share = np.broadcast_to(np.asarray(share, dtype=np.float64), h.shape)
        with np.errstate(divide="ignore"):
            part = np.log(share) + kept_between_pairs(self._a * share**2, h * share)
        return np.asarray(part - kept_between_each(self._a, h)[0])

    def _average(self, log_function: Callable[[Floats], Floats], share: float) -> float:
        """Average over the field of a function given by its logarithm; it bends where h / A_hat is 0, w or w_max."""
        from dendrocap.theory._dendrite import common_nodes

        eta, spread = self.M_hat * self.w_max, math.sqrt(self.q_hat) * self.w_max
        if spread == 0.0:
            return float(np.exp(log_function(np.array([eta])))[0])
        bends = np.unique([0.0, self._a * share, self._a])
        smoothed = math.sqrt(max(self._a, 0.0) + 4.0)
        h, weight = common_nodes(eta, spread, smoothed, bends, bends, *legendre_rule(NODES))
        return float(weight @ np.exp(log_function(h)))

    def _elementwise(self, function: Callable[[float], float], w: ArrayLike, below: float, above: float) -> Any:
        def one(at: float) -> float:
            if math.isnan(at) or at < 0.0:
                return math.nan if math.isnan(at) else below
            return above if at > self.w_max else function(at / self.w_max)

        return for_each(one, w)

    def _entropic(self) -> Entropic:
        if self.q_hat == 0.0:
            from dendrocap.theory._laws import kept_between

            log_norm, mean, variance = kept_between(self._a, self.M_hat * self.w_max)
            unit = self.w_max
            return Entropic(
                log_norm + math.log(unit), mean * unit, (mean * unit) ** 2, variance * unit**2, variance**2 * unit**4
            )
        return Entropic.at(self.A_hat, self.q_hat, self.M_hat, w_max=self.w_max)

    def _quantile(self, p: float) -> float:
        from scipy.optimize import brentq

        if not 0.0 <= p <= 1.0:
            return math.nan
        if p in (0.0, 1.0):
            return p * self.w_max
        return float(brentq(lambda w: self.cdf(w) - p, 0.0, self.w_max, xtol=1e-13 * self.w_max, rtol=1e-13))
