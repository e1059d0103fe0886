"""Model-independent numerics: Gaussian tails, truncated normals, panels between knots, Gauss rules, standard errors.

`_compiled` holds functions for compiled code; `quadrature`, `statistics` and `truncated_normal` serve NumPy code.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.numerics.types import Floats

# Quadrature rules: nodes and weights, computed once for each number of nodes.


@cache
def legendre_rule(n: int) -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights on [-1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return nodes, weights


@cache
def hermite_rule(n: int) -> tuple[Floats, Floats]:
    """Gauss-Hermite nodes and weights of a standard Gaussian average."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    return nodes, weights / math.sqrt(2.0 * math.pi)


@cache
def trapezoidal_rule(n: int) -> tuple[Floats, Floats]:
    """Equally spaced nodes and weights of a standard Gaussian average, up to five standard deviations.

    It converges exponentially for smooth functions. A kink, or a rise narrower than the spacing of the nodes, gives an
    error of the order of the spacing squared.
    """
    nodes = np.linspace(-5.0, 5.0, n)
    weights = np.exp(-0.5 * nodes**2)
    return nodes, weights / weights.sum()


# A Gaussian restricted to positive values: the law of one weight in a given field.


class TruncatedNormal(NamedTuple):
    """Mean, variance and log norm of exp(-A w^2 / 2 + B w) on w >= 0."""

    mean: Floats
    variance: Floats
    log_norm: Floats


def truncated_normal(precision: ArrayLike, field: ArrayLike) -> TruncatedNormal:
    """The density exp(-A w^2 / 2 + B w) on w >= 0, with precision A > 0 and field B, elementwise."""
    from dendrocap.numerics._compiled import kept_positive_each

    precision = np.asarray(precision, dtype=np.float64)
    root = np.sqrt(precision)
    x = np.asarray(field, dtype=np.float64) / root
    log_norm, mean, variance = (part.reshape(x.shape) for part in kept_positive_each(x.ravel()))
    return TruncatedNormal(mean / root, variance / precision, log_norm - 0.5 * np.log(precision))


# Whole numbers in given proportions.


def apportioned(shares: Sequence[float], total: int) -> list[int]:
    """Whole numbers in proportion to ``shares`` that sum to ``total``, by largest remainders; ties go to the first."""
    unit = total / math.fsum(shares)
    wanted = [share * unit for share in shares]
    # A share within rounding error of a whole number counts as that number.
    counts = [math.floor(one + 1e-9) for one in wanted]
    left = sorted(range(len(counts)), key=lambda at: counts[at] - wanted[at])
    for at in left[: total - sum(counts)]:
        counts[at] += 1
    return counts


# Averages of independent measurements.


def standard_error(values: Sequence[float] | NDArray[np.float64]) -> float:
    """Standard error of the mean of independent values; NaN for fewer than two values."""
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
