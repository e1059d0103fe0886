"""The distribution of weights below capacity, with the methods of ``scipy.stats`` distributions.

A weight is a Gaussian of precision A_hat restricted to positive values, whose centre is itself Gaussian: it is the
random field of the patterns [weights]. At load 0 this is an exponential distribution; towards capacity it splits into
an atom at zero and half a Gaussian.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.numerics.quadrature import legendre_rule
from dendrocap.numerics.truncated_normal import truncated_normal
from dendrocap.theory.free_entropy import Entropic
from dendrocap.theory.weight_distributions import WeightDistribution
from dendrocap.validation import real_number

__all__ = ["FiniteLoadWeights", "WeightsBelowCapacity", "for_each"]

Floats = NDArray[np.float64]

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
        from dendrocap.theory._kernels import common_nodes

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
