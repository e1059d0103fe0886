"""Statistics of learned weights.

The number of silent synapses depends on the definition of silent. After the last update a weight that was repeatedly
pushed to zero usually has a small positive value, so exact zeros are few (0 to 6 %) where in theory half of all weights
are zero. Weights below a thousandth of the mean are a better count, once the learning rate, which sets the size of
the updates, has become small; both counts are reported.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.display import Displayed
from dendrocap.errors import InvalidParameter
from dendrocap.validation import real_number, refuse, whole_number

__all__ = ["WeightComparison", "WeightDistribution", "WeightStatistics", "weight_statistics"]

Floats = NDArray[np.float64]


class WeightDistribution(Protocol):
    """The interface of a theoretical P(W) for comparisons: the probability of a weight of at most W.

    Examples
    --------
    >>> from dendrocap.theory import CapacityWeights
    >>> anything_with_cdf: WeightDistribution = CapacityWeights(B=0.0, W_star=1.0)
    >>> float(anything_with_cdf.cdf(0.0))
    0.5
    """

    def cdf(self, weight: Any, /) -> Any:
        """Probability of a weight of at most this one, including silent ones."""


@dataclass(frozen=True)
class WeightComparison(Displayed):
    """Comparison of learned weights with a theoretical distribution.

    Parameters
    ----------
    largest_distance : float
        Largest difference of the cumulative distributions, over all non-silent weights (Kolmogorov and Smirnov).
    silent_theory, silent_learned : float
        Fraction of weights at zero in the theory, and of learned weights below the threshold.

    Examples
    --------
    >>> from dendrocap.theory import CapacityWeights
    >>> theory = CapacityWeights(B=0.0, W_star=1.0)
    >>> comparison = weight_statistics(theory.rvs(4000, random_state=0)).compare(theory)
    >>> comparison.largest_distance < 0.03, round(comparison.silent_theory, 12)
    (True, 0.5)
    """

    largest_distance: float
    silent_theory: float
    silent_learned: float


@dataclass(frozen=True, eq=False)
class WeightStatistics(Displayed):
    """Histogram and moments of weights.

    Parameters
    ----------
    weights : array
        All synapses, sorted.
    edges, density : array
        Histogram of the non-silent weights; ``density`` integrates to their fraction.
    exact_zeros : float
        Fraction of weights that are exactly zero.
    near_zeros : float
        Fraction of weights below ``threshold`` times the mean.
    threshold : float
        Threshold of silence, in units of the mean weight.
    mean, standard_deviation, second_moment : float
        Moments of all weights, including silent ones.
    inhibition : WeightStatistics or None
        The same statistics for the strengths of inhibitory synapses, which are then excluded from all other fields.

    Examples
    --------
    >>> statistics = weight_statistics([0.0, 1.0, 2.0, 5.0], bins=2)
    >>> statistics.mean, statistics.exact_zeros, float((statistics.density * np.diff(statistics.edges)).sum())
    (2.0, 0.25, 0.75)
    """

    _displayed = ("near_zeros", "exact_zeros", "mean", "standard_deviation", "weights")

    weights: Floats
    edges: Floats
    density: Floats
    exact_zeros: float
    near_zeros: float
    threshold: float
    mean: float
    standard_deviation: float
    second_moment: float
    inhibition: WeightStatistics | None = None

    def compare(self, theory: WeightDistribution) -> WeightComparison:
        """Distance between these weights and a theoretical P(W)."""
        n = len(self.weights)
        awake = self.weights >= self.threshold * self.mean
        expected = np.asarray(theory.cdf(self.weights[awake]), dtype=np.float64)
        rank = np.arange(1, n + 1)[awake] / n
        distance = np.maximum(np.abs(rank - expected), np.abs(rank - 1.0 / n - expected))
        return WeightComparison(float(distance.max(initial=0.0)), float(theory.cdf(0.0)), self.near_zeros)


def weight_statistics(
    weights: ArrayLike, *, inhibitory: ArrayLike | None = None, bins: int = 50, threshold: float = 1e-3
) -> WeightStatistics:
    """Histogram, silent fractions and moments of weights, separately for excitatory and inhibitory ones.

    Parameters
    ----------
    weights : array
        Weights of the synapses, in any shape. If branches differ in size, pass ``neuron.flat_weights(w)``, so that
        the padding of short branches is not counted as silent synapses.
    inhibitory : array of bool, shape of ``weights``, optional
        Mask of inhibitory synapses, ``neuron.inhibitory``: their weights are <= 0, all others >= 0.
    bins : int
        Number of bins of the histogram, from the threshold of silence to the largest weight.
    threshold : float
        Weights below this multiple of the mean are silent.

    Examples
    --------
    >>> statistics = weight_statistics([0.0, 0.0005, 1.0, 3.0])
    >>> statistics.exact_zeros, statistics.near_zeros
    (0.25, 0.5)
    >>> weight_statistics([0.0, 1.0, 2.0, -3.0], inhibitory=[False, False, False, True]).inhibition.mean
    3.0
    """
    if inhibitory is not None:
        mask, flat = np.asarray(inhibitory, dtype=bool), np.asarray(weights, dtype=np.float64)
        if mask.shape != flat.shape:
            raise refuse("inhibitory.shape", mask.shape, f"that of the weights, {flat.shape}")
        excitation, inhibition = (
            weight_statistics(part, bins=bins, threshold=threshold) if part.size else None
            for part in (flat[~mask], -flat[mask])
        )
        if excitation is None:
            raise InvalidParameter("inhibitory must leave some synapses excitatory")
        return replace(excitation, inhibition=inhibition)
    ordered = np.sort(np.asarray(weights, dtype=np.float64).ravel())
    if ordered.size == 0 or not np.all(np.isfinite(ordered)) or ordered[0] < 0.0:
        raise InvalidParameter("weights must be finite numbers >= 0, at least one")
    bins = whole_number("bins", bins, 1)
    threshold = real_number("threshold", threshold, 0.0)
    mean = float(ordered.mean())
    awake = ordered[ordered >= threshold * mean]
    top = float(ordered[-1]) or 1.0
    counts, edges = np.histogram(awake, bins=bins, range=(min(threshold * mean, top), top))
    return WeightStatistics(
        weights=ordered,
        edges=edges,
        density=counts / (ordered.size * np.diff(edges)),
        exact_zeros=float(np.mean(ordered == 0.0)),
        near_zeros=float(np.mean(ordered < threshold * mean)),
        threshold=threshold,
        mean=mean,
        standard_deviation=float(ordered.std()),
        second_moment=float(np.mean(ordered**2)),
    )
