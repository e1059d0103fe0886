"""Weights with a prior below capacity: their averages over the random field, and their law [sp-prior].

A weight in the field h has the density exp(-(A_hat + strength) W^2 / 2 + h W) on 0 <= W <= w_max. With a bound, A_hat
may be negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.model.priors import Prior
from dendrocap.numerics.quadrature import legendre_rule
from dendrocap.theory.finite_load_weights import WeightsBelowCapacity, for_each
from dendrocap.theory.free_entropy import Entropic
from dendrocap.theory.roots import monotone_root
from dendrocap.validation import real_number

__all__ = ["BoundedWeights", "without_patterns"]

Floats = NDArray[np.float64]

NODES = 16  # per Gauss-Legendre panel
HALVINGS = 60  # of an interval in which a quantile lies


def without_patterns(prior: Prior, W_bar: float) -> tuple[float, Entropic]:
    """The M_hat at which weights that feel no patterns have the mean W_bar, and their moments [zero-load-prior]."""
    from dendrocap.numerics._compiled import kept_positive
    from dendrocap.theory.saturation._kernels import kept_between

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
        from dendrocap.theory.saturation._kernels import kept_between_each

        return kept_between_each(self._a, h)[0]

    def _log_part(self, h: Floats, share: float | Floats) -> Floats:
        """ln of the probability, in the fields h, of a weight of at most a share of the largest."""
        from dendrocap.theory.saturation._kernels import kept_between_each, kept_between_pairs

        share = np.broadcast_to(np.asarray(share, dtype=np.float64), h.shape)
        with np.errstate(divide="ignore"):
            part = np.log(share) + kept_between_pairs(self._a * share**2, h * share)
        return np.asarray(part - kept_between_each(self._a, h)[0])

    def _average(self, log_function: Callable[[Floats], Floats], share: float) -> float:
        """Average over the field of a function given by its logarithm; it bends where h / A_hat is 0, w or w_max."""
        from dendrocap.theory._kernels import common_nodes

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
            from dendrocap.theory.saturation._kernels import kept_between

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
