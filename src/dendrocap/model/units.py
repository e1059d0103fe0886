"""Millivolts: how the model's numbers of order one relate to what a recording electrode shows.

The model measures everything in units of one dendritic saturation, 15 mV in the recordings of Polsky et al. (2004).
Names in millivolts end in ``_mv``, here and wherever else they appear.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dendrocap.validation import real_number, whole_number

__all__ = ["Units"]


@dataclass(frozen=True)
class Units:
    """The conversions of the paper between the model and millivolts, both ways [units].

    Parameters
    ----------
    n_inputs, n_branches : int
        N and K, with 1 <= K <= N; the paper takes 10,000 and 100.
    scale_mv : float
        What the model calls 1: the depolarisation at which a dendrite saturates. A fit of a measured curve gives it
        as its ``scale``.

    Notes
    -----
    A branch's summed input is converted by the scale alone, because that is the axis along which g was measured. The
    sum of the converted weights of its active synapses is smaller by sqrt(K) (paper notes, 'Millivolts').

    Examples
    --------
    >>> units = Units(n_inputs=10_000, n_branches=100)
    >>> print(f"{units.weight_mv(5.56):.3f} {units.theta_d_mv(0.0393):.2f} {units.theta_s_mv(0.042):.0f} mV")
    0.834 0.59 63 mV
    >>> round(float(units.weight(1.0)), 1)
    6.7
    """

    n_inputs: int = 10_000
    n_branches: int = 100
    scale_mv: float = 15.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_inputs", whole_number("n_inputs", self.n_inputs, 1))
        object.__setattr__(self, "n_branches", whole_number("n_branches", self.n_branches, 1, self.n_inputs))
        object.__setattr__(self, "scale_mv", real_number("scale_mv", self.scale_mv, 0.0, low_open=True))

    @property
    def mv_per_weight(self) -> float:
        """Millivolts of a synaptic weight 1: scale / sqrt(N)."""
        return self.scale_mv / math.sqrt(self.n_inputs)

    @property
    def mv_per_theta_d(self) -> float:
        """Millivolts of a dendritic threshold 1: N / K synapses of weight 1, scale sqrt(N) / K."""
        return self.scale_mv * math.sqrt(self.n_inputs) / self.n_branches

    @property
    def mv_per_theta_s(self) -> float:
        """Millivolts of a somatic threshold 1: K saturated branches, scale K."""
        return self.scale_mv * self.n_branches

    def weight_mv(self, weight: ArrayLike) -> Any:
        """A synaptic weight, or W_star, in millivolts."""
        return _times(weight, self.mv_per_weight)

    def weight(self, weight_mv: ArrayLike) -> Any:
        """The model's weight of a synapse measured in millivolts."""
        return _over(weight_mv, self.mv_per_weight)

    def theta_d_mv(self, theta_d: ArrayLike) -> Any:
        """A dendritic threshold in millivolts."""
        return _times(theta_d, self.mv_per_theta_d)

    def theta_d(self, theta_d_mv: ArrayLike) -> Any:
        """The model's dendritic threshold of an inhibition in millivolts."""
        return _over(theta_d_mv, self.mv_per_theta_d)

    def theta_s_mv(self, theta_s: ArrayLike) -> Any:
        """A somatic threshold in millivolts, by the conversion that the paper prints."""
        return _times(theta_s, self.mv_per_theta_s)

    def theta_s(self, theta_s_mv: ArrayLike) -> Any:
        """The model's somatic threshold of an inhibition in millivolts."""
        return _over(theta_s_mv, self.mv_per_theta_s)

    def branch_input_mv(self, branch_input: ArrayLike) -> Any:
        """The summed input of a branch, on the millivolt axis along which g was measured."""
        return _times(branch_input, self.scale_mv)

    def branch_input(self, branch_input_mv: ArrayLike) -> Any:
        """The model's branch input of a depolarisation in millivolts."""
        return _over(branch_input_mv, self.scale_mv)


def _times(value: ArrayLike, factor: float) -> Any:
    return (np.asarray(value, dtype=np.float64) * factor)[()]


def _over(value: ArrayLike, factor: float) -> Any:
    # Dividing by the very factor that the way out multiplied with: a round trip then misses by one rounding at most.
    return (np.asarray(value, dtype=np.float64) / factor)[()]
