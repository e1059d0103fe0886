"""Averages of independent measurements."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["standard_error"]


def standard_error(values: Sequence[float] | NDArray[np.float64]) -> float:
    """Standard error of the mean of independent values; NaN for fewer than two values.

    Examples
    --------
    >>> standard_error([1.0, 2.0, 3.0, 2.0]), standard_error([1.0])
    (0.408248290463863, nan)
    """
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
