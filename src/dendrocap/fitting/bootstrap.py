"""Confidence intervals from resampled data."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from dendrocap.display import with_digits
from dendrocap.fitting.estimators import Rule, Shape

__all__ = ["Interval", "bootstrap", "interval", "interval_of_logs", "tails"]

Floats = NDArray[np.float64]


class Interval(NamedTuple):
    """An estimate and its confidence interval; the ends are NaN if none was requested.

    Examples
    --------
    >>> p0 = Interval(0.76, 0.74, 0.79)
    >>> p0.covers(0.75), p0.covers(0.5)
    (True, False)
    """

    value: float
    low: float
    high: float

    def covers(self, value: float) -> bool:
        """Whether a value lies inside the interval."""
        return self.low <= value <= self.high

    def times(self, factor: float) -> Interval:
        """The interval of a multiple of the quantity, for a positive factor."""
        return Interval(self.value * factor, self.low * factor, self.high * factor)

    def __str__(self) -> str:
        """The numbers with as many digits as the width of the interval justifies.

        Examples
        --------
        >>> str(Interval(16.2339, 9.9213, 23.7104)), str(Interval(0.76, 0.7434, 0.7712))
        ('16 [10, 24]', '0.760 [0.743, 0.771]')
        """
        width = 0.5 * (self.high - self.low)
        if not width > 0.0 or not math.isfinite(width):  # NaN ends, or no width
            return with_digits(self.value, 3) if math.isfinite(self.value) else "unknown"
        decimals = -math.floor(math.log10(width))
        decimals += width * 10.0**decimals < 2.0  # a leading digit 1 gets a second digit
        value, low, high = (f"{round(end, decimals):,.{max(decimals, 0)}f}" for end in self)
        return f"{value} [{low}, {high}]"


def bootstrap(
    rule: Rule, visible: Floats, n_bootstrap: int, generator: np.random.Generator, callback: Callable[[], None]
) -> list[Shape]:
    """Repeat the fit on resampled data; ``callback`` is called after each replicate."""
    shapes = []
    for _ in range(n_bootstrap):
        n = visible.size
        if rule.n_tested is not None:
            # The number of connections found is random too. At least two are needed for a fit, and at least one silent
            # pair for a silent fraction.
            found = int(generator.binomial(rule.n_tested, n / rule.n_tested))
            n = min(max(found, 2), rule.n_tested - 1)
        shapes.append(rule.fit(_resampled(visible, n, generator)))
        callback()
    return shapes


def interval(value: float, repeated: ArrayLike, level: float) -> Interval:
    """An estimate with the bias-corrected percentile interval of its replicates [bootstrap].

    If more than half of the replicates lie on one side of the estimate, the estimator is skewed, and the quantiles are
    shifted by the same amount, on the normal scale, to the other side. Replicates without a value are left out.
    """
    sample = np.asarray(repeated, dtype=np.float64)
    sample = sample[np.isfinite(sample)]
    if not sample.size:
        return Interval(value, math.nan, math.nan)
    below = (np.sum(sample < value) + 0.5 * np.sum(sample == value)) / sample.size
    shift = 2.0 * ndtri(np.clip(below, 1.0 / (sample.size + 1), sample.size / (sample.size + 1)))
    low, high = np.quantile(sample, ndtr(shift + ndtri(tails(level))))
    return Interval(value, float(low), float(high))


def tails(level: float) -> tuple[float, float]:
    """The two quantiles between which a fraction ``level`` lies."""
    return (0.5 * (1.0 - level), 0.5 * (1.0 + level))


def _resampled(visible: Floats, n: int, generator: np.random.Generator) -> Floats:
    """``n`` amplitudes drawn with replacement, not all equal."""
    while True:
        drawn = visible[generator.integers(0, visible.size, n)]
        if drawn.min() < drawn.max():
            return drawn


def interval_of_logs(value: float, repeated: ArrayLike, level: float, others: ArrayLike = ()) -> Interval:
    """A positive estimate with the normal interval of the logarithms of its replicates, including scatter and bias.

    This is meant for estimators that smooth, such as curves: forty replicates give a standard deviation, but not a
    quantile of 2.5 %, and smoothing changes a curve that is already smooth less than it changed the data. ``others``
    are estimates that are also compatible with the data: their distances below and above are added to the interval in
    squares [curve-interval].
    """
    logs, far = (np.log(np.asarray(values, dtype=np.float64)) - math.log(value) for values in (repeated, others))
    logs, far = logs[np.isfinite(logs)], far[np.isfinite(far)]
    if logs.size < 2:
        return Interval(value, math.nan, math.nan)
    width = -float(ndtri(tails(level)[0])) * math.hypot(float(logs.std(ddof=1)), float(logs.mean()))
    down, up = (math.hypot(width, max(float(end), 0.0)) for end in (-far.min(initial=0.0), far.max(initial=0.0)))
    return Interval(value, value * math.exp(-down), value * math.exp(up))
