"""Averages over the two labels, for replica-symmetric and broken solutions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dendrocap.numerics._compiled import tail
from dendrocap.theory.roots import monotone_root

__all__ = ["LabelAverages", "label_averages", "label_starts"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LabelAverages:
    """Averages over the label sigma of Gaussian tails at tau = sigma d - k [cap-labels]."""

    shift: float  # d = Delta / sqrt(Gamma_0), which balances the two labels
    mass: float  # E H(tau)
    second: float  # E I_2(tau)


def label_averages(f_out: float, k: float, shift: float | None = None) -> LabelAverages:
    """Averages over the label at margin k, in units of sqrt(Gamma_0), at the shift that balances both labels.

    Another shift can be given: with a finite number of branches it follows from the mean output.
    """

    def imbalance(d: float) -> tuple[float, float]:
        up, down = tail(d - k), tail(-d - k)
        value = f_out * up[1] - (1.0 - f_out) * down[1]
        return value, -f_out * up[0] - (1.0 - f_out) * down[0]

    d = shift
    if d is None:
        d = 0.0 if f_out == 0.5 else monotone_root(imbalance, 0.0, 1.0).at
    up, down = tail(d - k), tail(-d - k)
    return LabelAverages(d, f_out * up[0] + (1.0 - f_out) * down[0], f_out * up[2] + (1.0 - f_out) * down[2])


def label_starts(f_out: float, margin: float, shift: float) -> tuple[Floats, Floats]:
    """Initial fields of a pattern for labels +1 and -1, kappa - sigma Delta, and their frequencies; merged at 1/2."""
    if f_out == 0.5:
        return np.array([margin]), np.ones(1)
    return np.array([margin - shift, margin + shift]), np.array([f_out, 1.0 - f_out])
