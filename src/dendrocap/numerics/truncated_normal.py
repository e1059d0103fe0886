"""A Gaussian restricted to positive values: the law of one weight in a given field."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["TruncatedNormal", "truncated_normal"]

Floats = NDArray[np.float64]


class TruncatedNormal(NamedTuple):
    """Mean, variance and log norm of exp(-A w^2 / 2 + B w) on w >= 0."""

    mean: Floats
    variance: Floats
    log_norm: Floats


def truncated_normal(precision: ArrayLike, field: ArrayLike) -> TruncatedNormal:
    """The density exp(-A w^2 / 2 + B w) on w >= 0, with precision A > 0 and field B, elementwise.

    Examples
    --------
    >>> flat = truncated_normal(np.array([1e-8]), np.array([-2.0]))
    >>> np.round([flat.mean[0], flat.variance[0], flat.log_norm[0]], 4).tolist()
    [0.5, 0.25, -0.6931]
    """
    from dendrocap.numerics._compiled import kept_positive_each

    precision = np.asarray(precision, dtype=np.float64)
    root = np.sqrt(precision)
    x = np.asarray(field, dtype=np.float64) / root
    log_norm, mean, variance = (part.reshape(x.shape) for part in kept_positive_each(x.ravel()))
    return TruncatedNormal(mean / root, variance / precision, log_norm - 0.5 * np.log(precision))
