"""The state of the weights at capacity, with a largest weight or without [cap-bounded].

In a field h = -b + sqrt(c) z a weight is clip(h / A, 0, w_max) = clip(W_star (z - B), 0, w_max). Its width W_star grows
from 0, where all weights are alike, to infinity, where each is 0 or w_max. It is written as that of weights without
bound, W_bar / I_1(t): t is then B itself without a bound, and a place on the curve of states with one.
"""

from __future__ import annotations

import math

from dendrocap.errors import NoSolution
from dendrocap.numerics._compiled import tail

__all__ = ["CutMoments", "check_mean_weight", "cut_moments"]


# B, below which z makes a silent weight, and moments of a weight in units of its width W_star = W_bar / i1: the
# probability i0 that it is neither silent nor saturated, its mean i1 and its mean square i2. A bare tuple, made often.
CutMoments = tuple[float, float, float, float]


def cut_moments(t: float, largest: float = math.inf) -> CutMoments:
    """The weights at place t of the curve of states; ``largest`` is w_max / W_bar."""
    i0, i1, i2 = tail(t)
    if largest == math.inf:
        return t, i0, i1, i2
    from dendrocap.theory.saturation._kernels import clipped_tail, lower_cut

    B = lower_cut(i1, largest * i1, t)
    i0, _, i2 = clipped_tail(B, largest * i1)
    return B, i0, i1, i2


def check_mean_weight(W_bar: float, w_max: float) -> None:
    """Refuse a mean that weights of at most w_max cannot have, or only if all of them are equal."""
    if not W_bar < w_max:
        raise NoSolution(
            f"weights of at most w_max = {w_max:g} cannot differ and have the mean theta_d / f_in = {W_bar:g}: w_max "
            "must be larger than the mean"
        )
