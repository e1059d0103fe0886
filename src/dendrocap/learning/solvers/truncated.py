"""A Gaussian kept positive: the belief about one weight.

The density exp(-A W^2 / 2 + B W) on W >= 0 is that of the theory's [entropic] term; here A and B belong to one synapse
of one task.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Belief", "belief"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Belief:
    """Mean, variance and ln of the norm of exp(-A W^2 / 2 + B W) on W >= 0."""

    mean: Floats
    variance: Floats
    log_norm: Floats


def belief(precision: Floats, field: Floats) -> Belief:
    """The belief with these A > 0 and B.

    Examples
    --------
    >>> flat = belief(np.array([1e-8]), np.array([-2.0]))
    >>> np.round([flat.mean[0], flat.variance[0], flat.log_norm[0]], 4).tolist()
    [0.5, 0.25, -0.6931]
    """
    from scipy.special import erfcx, log_ndtr

    root = np.sqrt(precision)
    u = field / root
    # Mills' ratio of the cut-off part; erfcx keeps its digits far below zero, and the ratio vanishes far above.
    below = np.minimum(u, 5.0)
    mills = np.where(
        u < 5.0,
        np.sqrt(2.0 / np.pi) / erfcx(-below * np.sqrt(0.5)),
        np.exp(-0.5 * u * u - log_ndtr(u)) / np.sqrt(2.0 * np.pi),
    )
    excess = u + mills
    far = u < -1e3
    # So far out the density is exponential up to 1/u^2, and differences would lose their digits.
    inverse = 1.0 / np.where(far, -u, 1.0)
    mean = np.where(far, inverse * (1.0 - 2.0 * inverse**2), excess)
    variance = np.where(far, inverse**2 * (1.0 - 6.0 * inverse**2), np.maximum(1.0 - mills * excess, 0.0))
    log_norm = np.where(u < 5.0, np.log(0.5 * erfcx(-below * np.sqrt(0.5))), 0.5 * u * u + log_ndtr(u))
    return Belief(
        mean=mean / root, variance=variance / precision, log_norm=log_norm + 0.5 * np.log(2.0 * np.pi / precision)
    )
