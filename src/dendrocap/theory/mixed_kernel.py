"""The mixed kernel: covariance of the outputs of two branches whose inputs differ in mean and in width.

Noise gives two such inputs of one branch, the clean and the noisy one; a teacher and its student are two branches with
the same inputs. Both inputs are normal. Their common part has the variance |correlation| in units of either; given this
part the outputs are independent, so that one average over it remains [mixed-kernel].
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dendrocap.errors import ConvergenceError
from dendrocap.numerics.quadrature import legendre_rule
from dendrocap.theory.kernels import NODES, BranchKernel

__all__ = ["BranchInput", "MixedPair", "mixed_pair"]

Floats = NDArray[np.float64]

WEAK = 0.8  # up to this correlation a series is faster than an average over the common part
ORDERS = (32, 64, 96, 128, 176)  # of which the last leaves 1e-17 at it


class BranchInput(NamedTuple):
    """Mean and standard deviation of a normal input to a branch."""

    mean: float
    sd: float


class MixedPair(NamedTuple):
    """Outputs g and h of two branches whose inputs u and w covary [mixed-kernel]."""

    mean: float  # E g(u)
    other_mean: float  # E h(w)
    covariance: float  # Cov(g(u), h(w))
    slopes: float  # E g'(u) h'(w), the derivative in the covariance of u and w
    cross: float  # E g'(u) (h(w) - E h), the derivative in the mean of u
    curvature: float  # E g''(u) (h(w) - E h), twice the derivative in the variance of u


def mixed_pair(
    first: BranchKernel, at: BranchInput, second: BranchKernel, other: BranchInput, covariance: float
) -> MixedPair:
    """The outputs of two branches for inputs with this covariance, which must be below sd times sd in size."""
    from dendrocap.theory._kernels import common_nodes

    correlation = covariance / (at.sd * other.sd)
    if not abs(correlation) < 1.0:
        raise ConvergenceError(f"two inputs cannot have the correlation {correlation:.17g}", correlation)
    if abs(correlation) <= WEAK:
        return _by_series(first, at, second, other, correlation)
    rest, sign = math.sqrt(1.0 - abs(correlation)), math.copysign(1.0, correlation)
    knots, kinks = (
        np.sort(np.concatenate([(mine - at.mean) / at.sd, sign * (yours - other.mean) / other.sd]))
        for mine, yours in ((first.knots, second.knots), (first.kinks, second.kinks))
    )
    shared, weight = common_nodes(0.0, math.sqrt(abs(correlation)), rest, knots, kinks, *legendre_rule(NODES))
    if math.isnan(shared[0]):
        raise ConvergenceError(f"too many panels are needed at the correlation {correlation:.17g}", correlation)
    average, slope, curvature, *_ = first.given_common(at.mean + at.sd * shared, at.sd * rest)
    other_average, other_slope, *_ = second.given_common(other.mean + sign * other.sd * shared, other.sd * rest)
    mean, other_mean = float(weight @ average), float(weight @ other_average)
    deviation = weight * (other_average - other_mean)
    return MixedPair(
        mean=mean,
        other_mean=other_mean,
        covariance=float(deviation @ (average - mean)),
        slopes=float(weight @ (slope * other_slope)),
        cross=float(deviation @ slope),
        curvature=float(deviation @ curvature),
    )


def _by_series(
    first: BranchKernel, at: BranchInput, second: BranchKernel, other: BranchInput, correlation: float
) -> MixedPair:
    """The same from the Hermite coefficients a_k and b_k of both: Cov = sum of a_k b_k correlation^k (Mehler)."""
    order = next(one for one in ORDERS if abs(correlation) ** one < 1e-17 or one == ORDERS[-1])
    a, b = first.series(at.mean, at.sd, order + 2), second.series(other.mean, other.sd, order + 2)
    k = np.arange(order + 1.0)
    # without k = 0: deviations from the means
    given = b[1 : order + 1] * correlation ** k[1:]
    # g' and g'' have the coefficients sqrt(k + 1) a_(k+1) and sqrt((k + 1)(k + 2)) a_(k+2)
    slope, other_slope = (np.sqrt(k + 1.0) * one[1 : order + 2] for one in (a, b))
    bend = np.sqrt((k + 1.0) * (k + 2.0)) * a[2:]
    return MixedPair(
        mean=float(a[0]),
        other_mean=float(b[0]),
        covariance=float(a[1 : order + 1] @ given),
        slopes=float((slope * other_slope) @ correlation**k) / (at.sd * other.sd),
        cross=float(slope[1:] @ given) / at.sd,
        curvature=float(bend[1:] @ given) / at.sd**2,
    )
