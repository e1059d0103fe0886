"""What a fit of synaptic strengths estimates, and how: everything about it but the data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dendrocap.errors import InvalidParameter
from dendrocap.fitting import estimators
from dendrocap.fitting.estimators import Histogram, Sample, Shape
from dendrocap.validation import choice, real_number, refuse

__all__ = ["Rule"]

Floats = NDArray[np.float64]


class Rule:
    """One way to estimate B and W_star, to be applied to the data and to each resampling of them."""

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
            raise refuse("p0", p0, "a number or 'tested' for the method 'histogram', which fits the scale alone")
        if p0 == "tested" and method == "histogram" and threshold > 0.0:
            raise refuse("p0", p0, "a number if a histogram is fitted above a detection threshold")

    def fit(self, visible: Floats) -> Shape:
        """B and W_star (mV) from the amplitudes above the detection threshold."""
        n_silent = 0 if self.n_tested is None else self.n_tested - visible.size
        sample = Sample.of(visible - self.threshold, n_silent)
        if self.method == "histogram":
            B = estimators.from_tested(sample, 0.0).B if self.p0 == "tested" else self.given_B
            return estimators.from_histogram(Histogram.of(visible, self.threshold, self.bin_width), B)
        if self.p0 == "tested":
            return estimators.from_tested(sample, self.threshold)
        if self.p0 != "free":
            return estimators.fixed_p0(sample, self.threshold, self.given_B)
        if self.n_tested is None:
            return estimators.from_amplitudes(sample, self.threshold)
        return estimators.from_everything(sample, self.threshold)
