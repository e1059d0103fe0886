"""Distributions of weights and of branch inputs, with the methods of ``scipy.stats`` distributions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.display import Displayed
from dendrocap.theory.estimates import SYMMETRIC
from dendrocap.validation import real_number

__all__ = ["CapacityWeights", "Preactivation", "WeightDistribution"]

Floats = NDArray[np.float64]


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
            from dendrocap.theory.saturation._kernels import clipped_tail

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
