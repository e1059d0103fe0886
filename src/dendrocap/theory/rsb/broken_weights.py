"""The distribution of weights at capacity with broken replica symmetry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.numerics.truncated_normal import truncated_normal
from dendrocap.theory.rsb.cascade import measure
from dendrocap.theory.rsb.equations import BrokenState, Unknowns
from dendrocap.theory.weight_distributions import WeightDistribution

__all__ = ["BrokenWeights", "mixture_of", "weights_at"]

Floats = NDArray[np.float64]


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
    from dendrocap.theory.rsb._kernels import innermost

    h, mass = measure(1.0, -u.b, u.delta, u.mu)
    keep = mass > 1e-18
    h, mass = h[keep], mass[keep] / mass[keep].sum()
    sd, s = float(np.sqrt(u.delta[-1])), float(u.s[-1])
    active = np.array([innermost(field / sd, s)[1] for field in h])
    return BrokenWeights(mass, active, unit * h / (1.0 - s), unit * sd / float(np.sqrt(1.0 - s)))
