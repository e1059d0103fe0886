"""Conversion between the model's numbers of order one and millivolts.

The unit of the model is one dendritic saturation, 15 mV in the recordings of Polsky et al. (2004). Names of quantities
in millivolts end in ``_mv``, here and everywhere else. A potential is either *local*, in the branch, or *somatic*,
where most electrodes are; the dendro-somatic attenuation relates the two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dendrocap.validation import real_number, whole_number


@dataclass(frozen=True)
class Units:
    """Conversions between model units and millivolts, local and somatic, in both directions [units].

    Parameters
    ----------
    n_inputs, n_branches : int
        N and K, with 1 <= K <= N; the paper uses 10,000 and 100.
    scale_mv : float
        The value that equals 1 in the model: the local depolarisation at which a dendrite saturates. A fit of a
        measured curve gives it as its ``scale``.
    attenuation : float, optional
        Share of a local millivolt that arrives at the soma, in (0, 1]; it can be measured with two electrodes. By
        default 1 / sqrt(K), with which somatic EPSPs and dendritic thresholds are converted as in the paper.
    printed : bool
        Convert the somatic threshold as printed in the paper, without attenuation: see `as_printed`.

    Notes
    -----
    The input of a branch is lambda = sqrt(K / N) sum W xi - sqrt(N / K) theta_d, and one unit of it is ``scale_mv`` in
    the branch. The other conversions follow: a synapse contributes sqrt(K / N) W of these units in its branch, and
    ``attenuation`` times as much at the soma, where K saturated branches give K units times ``attenuation``. The paper
    omits the last factor (paper notes, 'Millivolts').

    Examples
    --------
    >>> units = Units(n_inputs=10_000, n_branches=100)
    >>> print(f"{units.weight_mv(5.56):.3f} {units.theta_d_mv(0.0393):.2f} {units.theta_s_mv(0.42):.0f} mV at the soma")
    0.834 0.59 63 mV at the soma
    >>> print(f"{units.local_weight_mv(5.56):.2f} mV in the branch")
    8.34 mV in the branch
    >>> measured = Units(10_000, 100, attenuation=0.3)
    >>> round(float(measured.weight(1.0)), 1)  # a somatic EPSP of 1 mV
    2.2
    """

    n_inputs: int = 10_000
    n_branches: int = 100
    scale_mv: float = 15.0
    attenuation: float | None = None
    printed: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_inputs", whole_number("n_inputs", self.n_inputs, 1))
        object.__setattr__(self, "n_branches", whole_number("n_branches", self.n_branches, 1, self.n_inputs))
        object.__setattr__(self, "scale_mv", real_number("scale_mv", self.scale_mv, 0.0, low_open=True))
        if self.attenuation is not None:
            a = real_number("attenuation", self.attenuation, 0.0, 1.0, low_open=True)
            object.__setattr__(self, "attenuation", a)

    @classmethod
    def as_printed(cls, n_inputs: int = 10_000, n_branches: int = 100, scale_mv: float = 15.0) -> Units:
        """The conversions exactly as in the paper's appendix.

        Weights and dendritic thresholds are attenuated by 1 / sqrt(K) at the soma, but the somatic threshold is not, so
        that their millivolts cannot be compared.
        """
        return cls(n_inputs, n_branches, scale_mv, None, True)

    @property
    def somatic_share(self) -> float:
        """The attenuation in use."""
        return 1.0 / math.sqrt(self.n_branches) if self.attenuation is None else self.attenuation

    @property
    def mv_per_weight(self) -> float:
        """Millivolts at the soma of a synaptic weight 1: attenuation scale sqrt(K / N), as printed scale / sqrt(N)."""
        if self.attenuation is None:
            return self.scale_mv / math.sqrt(self.n_inputs)
        return self.attenuation * self.mv_per_local_weight

    @property
    def mv_per_local_weight(self) -> float:
        """Millivolts in its branch of a synaptic weight 1: scale sqrt(K / N)."""
        return self.scale_mv * math.sqrt(self.n_branches / self.n_inputs)

    @property
    def mv_per_theta_d(self) -> float:
        """Millivolts at the soma of a dendritic threshold 1: attenuation scale sqrt(N / K)."""
        if self.attenuation is None:
            return self.scale_mv * math.sqrt(self.n_inputs) / self.n_branches
        return self.attenuation * self.mv_per_local_theta_d

    @property
    def mv_per_local_theta_d(self) -> float:
        """Millivolts in the branch of a dendritic threshold 1: scale sqrt(N / K)."""
        return self.scale_mv * math.sqrt(self.n_inputs / self.n_branches)

    @property
    def mv_per_theta_s(self) -> float:
        """Millivolts at the soma of a somatic threshold 1, K saturated branches: attenuation scale K."""
        return self.scale_mv * self.n_branches * (1.0 if self.printed else self.somatic_share)

    def weight_mv(self, weight: ArrayLike) -> Any:
        """A synaptic weight, or W_star, in millivolts at the soma, where EPSPs are recorded."""
        return _times(weight, self.mv_per_weight)

    def weight(self, weight_mv: ArrayLike) -> Any:
        """The model weight of a synapse whose EPSP at the soma is given in millivolts."""
        return _over(weight_mv, self.mv_per_weight)

    def local_weight_mv(self, weight: ArrayLike) -> Any:
        """A synaptic weight in millivolts in its branch."""
        return _times(weight, self.mv_per_local_weight)

    def theta_d_mv(self, theta_d: ArrayLike) -> Any:
        """A dendritic threshold in millivolts at the soma."""
        return _times(theta_d, self.mv_per_theta_d)

    def theta_d(self, theta_d_mv: ArrayLike) -> Any:
        """The dendritic threshold in model units for an inhibition in millivolts at the soma."""
        return _over(theta_d_mv, self.mv_per_theta_d)

    def local_theta_d_mv(self, theta_d: ArrayLike) -> Any:
        """A dendritic threshold in millivolts in its branch."""
        return _times(theta_d, self.mv_per_local_theta_d)

    def theta_s_mv(self, theta_s: ArrayLike) -> Any:
        """A somatic threshold in millivolts at the soma."""
        return _times(theta_s, self.mv_per_theta_s)

    def theta_s(self, theta_s_mv: ArrayLike) -> Any:
        """The somatic threshold in model units for an inhibition in millivolts at the soma."""
        return _over(theta_s_mv, self.mv_per_theta_s)

    def branch_input_mv(self, branch_input: ArrayLike) -> Any:
        """The summed input of a branch in local millivolts, the axis along which g was measured."""
        return _times(branch_input, self.scale_mv)

    def branch_input(self, branch_input_mv: ArrayLike) -> Any:
        """The branch input in model units for a local depolarisation in millivolts."""
        return _over(branch_input_mv, self.scale_mv)


def _times(value: ArrayLike, factor: float) -> Any:
    return (np.asarray(value, dtype=np.float64) * factor)[()]


def _over(value: ArrayLike, factor: float) -> Any:
    # Divides by the factor that the conversion multiplies with: a round trip then errs by at most one rounding.
    return (np.asarray(value, dtype=np.float64) / factor)[()]
