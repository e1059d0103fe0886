"""Estimates of B and W_star, the shape and scale of weights at capacity, from measured amplitudes.

A connection weaker than the detection threshold t looks silent. For those above it, the excess w - t is again the
positive part of a Gaussian, with the same W_star and the larger shape B + t / W_star [seen-shape]: the threshold is a
shift. The likelihood depends on the excesses only through their number, mean and mean square. Each treatment of the
silent fraction leads to one monotone equation in one unknown, or to a closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri

from dendrocap.errors import InvalidParameter
from dendrocap.numerics._compiled import tail
from dendrocap.theory.roots import bracketed_root
from dendrocap.validation import choice, real_number, refuse

__all__ = [
    "Histogram",
    "Rule",
    "Sample",
    "Shape",
    "fixed_p0",
    "from_amplitudes",
    "from_everything",
    "from_histogram",
    "from_tested",
]

Floats = NDArray[np.float64]

# At the upper limit, p0 = 1 - 6e-16, the positive part of the Gaussian is an exponential; at the lower limit, p0 =
# 1e-198, it is a whole Gaussian. Data beyond these limits contain no information about B.
SHAPE_LIMITS = (-30.0, 8.0)


class Sample(NamedTuple):
    """Sufficient statistics of the amplitudes."""

    n: int
    mean: float  # mean excess over the detection threshold
    mean_square: float
    n_silent: int  # tested pairs without a visible connection; unused if unknown

    @classmethod
    def of(cls, excess: Floats, n_silent: int = 0) -> Sample:
        """The sample with these excesses over the detection threshold."""
        return cls(excess.size, float(excess.mean()), float(np.mean(excess * excess)), n_silent)


@dataclass(frozen=True)
class Shape:
    """B and W_star, and whether B reached a limit: the exponential, or the whole Gaussian."""

    B: float
    W_star: float
    at_limit: bool = False


class Histogram(NamedTuple):
    """A density estimated in bins."""

    edges: Floats
    density: Floats  # integrates to one over the bins

    @classmethod
    def of(cls, amplitudes: Floats, start: float, width: float) -> Histogram:
        """Bins of equal width from ``start`` to beyond the largest amplitude."""
        n_bins = max(1, math.ceil((float(amplitudes.max()) - start) / width * (1.0 + 1e-12)))
        edges = np.asarray(start + width * np.arange(n_bins + 1), dtype=np.float64)
        return cls(edges, np.histogram(amplitudes, edges)[0] / (amplitudes.size * width))


def scale_for_shape(sample: Sample, B: float) -> float:
    """The maximum-likelihood W_star for excesses of shape B, in closed form [ml-scale]."""
    half = 0.5 * B * sample.mean
    root = math.sqrt(half * half + sample.mean_square)
    # 1 / W_star solves mean_square u^2 + B mean u = 1; this form of the root avoids cancellation.
    return half + root if B >= 0.0 else sample.mean_square / (root - half)


def from_tested(sample: Sample, threshold: float) -> Shape:
    """Silent fraction from the tested pairs, scale from the amplitudes."""
    seen = float(ndtri(sample.n_silent / (sample.n + sample.n_silent)))
    return _with_hidden(seen, scale_for_shape(sample, seen), threshold)


def from_amplitudes(sample: Sample, threshold: float) -> Shape:
    """Both from the amplitudes alone: the shape at which mean square / mean^2 equals that of the data [ml-shape]."""
    ratio = sample.mean_square / sample.mean**2

    def excess(B: float) -> float:
        i0, i1, i2 = tail(B)
        return i2 * i0 / i1**2 - ratio

    return _root_within_limits(excess, sample, threshold)


def from_everything(sample: Sample, threshold: float) -> Shape:
    """Both from amplitudes and tested pairs: the maximum of the joint likelihood, which is concave [ml-joint]."""

    def slope(B: float) -> float:
        amplitudes = sample.n * (sample.mean / scale_for_shape(sample, B) + B)
        return amplitudes - sample.n_silent * math.exp(-0.5 * B * B) / (math.sqrt(2.0 * math.pi) * tail(-B)[0])

    return _root_within_limits(slope, sample, threshold)


def fixed_p0(sample: Sample, threshold: float, B: float) -> Shape:
    """Scale from the amplitudes, for a given silent fraction."""
    if threshold == 0.0:
        return Shape(B, scale_for_shape(sample, B))
    mean = sample.mean + threshold
    mean_square = sample.mean_square + 2.0 * threshold * sample.mean + threshold**2

    def slope(u: float) -> float:
        """Derivative of the log likelihood per amplitude in u = 1 / W_star; the likelihood is concave [ml-hidden]."""
        seen = B + threshold * u
        i0, i1, _ = tail(seen)
        hazard = i1 / i0 + seen  # G(x) / H(x)
        return 1.0 / u - mean_square * u - B * mean + threshold * hazard

    guess = 1.0 / scale_for_shape(Sample(sample.n, mean, mean_square, 0), B)
    low, high = 0.5 * guess, 2.0 * guess
    while slope(low) < 0.0:
        low *= 0.5
    while slope(high) > 0.0:
        high *= 2.0
    return Shape(B, 1.0 / bracketed_root(slope, low, high).at)


def from_histogram(histogram: Histogram, B: float) -> Shape:
    """Scale by least squares on a histogram, for a given silent fraction: the paper's method [fit-histogram].

    Bin averages are compared, not densities at bin centres, so that wide bins do not bias the scale.
    """
    from scipy.optimize import minimize_scalar

    edges, density = histogram
    widths = np.diff(edges)

    def misfit(log_scale: float) -> float:
        beyond = log_ndtr(-(B + edges / math.exp(log_scale)))  # logarithms, because the far tail underflows
        expected = -np.diff(np.exp(beyond - beyond[0])) / widths
        return float(np.sum((expected - density) ** 2))

    centre = math.log(float(np.sum(density * widths * edges[1:])))
    grid = centre + np.linspace(-4.0, 4.0, 33)
    best = int(np.argmin([misfit(at) for at in grid]))
    bounds = (grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)])
    found = minimize_scalar(misfit, bounds=bounds, method="bounded", options={"xatol": 1e-9})
    return Shape(B, math.exp(float(found.x)))


def _root_within_limits(function: Callable[[float], float], sample: Sample, threshold: float) -> Shape:
    """The shape at which an increasing function vanishes, or the limit that it reaches."""
    low, high = SHAPE_LIMITS
    if function(low) >= 0.0 or function(high) <= 0.0:
        at = low if function(low) >= 0.0 else high
        shape = _with_hidden(at, scale_for_shape(sample, at), threshold)
        return Shape(shape.B, shape.W_star, at_limit=True)
    seen = bracketed_root(function, low, high).at
    return _with_hidden(seen, scale_for_shape(sample, seen), threshold)


def _with_hidden(seen: float, W_star: float, threshold: float) -> Shape:
    """The shape of all connections, if those above the threshold have the shape ``seen`` [seen-shape]."""
    return Shape(seen - threshold / W_star, W_star)


class Rule:
    """One method of estimating B and W_star, applied to the data and to each resampled data set."""

    def __init__(self, p0: float | str, method: str, threshold: float, bin_width: float, n_tested: int | None) -> None:
        self.method = choice("method", method, ("likelihood", "histogram"))
        self.threshold, self.bin_width, self.n_tested = threshold, bin_width, n_tested
        self.p0 = p0
        if isinstance(p0, str):
            choice("p0", p0, ("tested", "free"))
        else:
            self.given_B = float(ndtri(real_number("p0", p0, 0.0, 1.0, low_open=True, high_open=True)))
        if p0 == "tested" and n_tested is None:
            raise InvalidParameter("p0 = 'tested' is not allowed without n_tested, the number of pairs tested")
        if p0 == "free" and method == "histogram":
            raise refuse("p0", p0, "a number or 'tested' for the method 'histogram', which fits only the scale")
        if p0 == "tested" and method == "histogram" and threshold > 0.0:
            raise refuse("p0", p0, "a number if a histogram is fitted above a detection threshold")

    def fit(self, visible: Floats) -> Shape:
        """B and W_star (mV) from the amplitudes above the detection threshold."""
        n_silent = 0 if self.n_tested is None else self.n_tested - visible.size
        sample = Sample.of(visible - self.threshold, n_silent)
        if self.method == "histogram":
            B = from_tested(sample, 0.0).B if self.p0 == "tested" else self.given_B
            return from_histogram(Histogram.of(visible, self.threshold, self.bin_width), B)
        if self.p0 == "tested":
            return from_tested(sample, self.threshold)
        if self.p0 != "free":
            return fixed_p0(sample, self.threshold, self.given_B)
        if self.n_tested is None:
            return from_amplitudes(sample, self.threshold)
        return from_everything(sample, self.threshold)
