"""The kernel of branches with a non-monotone g, with the mean input as another unknown [constraint-curve].

If the mean input is not a function of Q, it is added to the unknowns, E g = theta_s to the equations, and derivatives
in Q become derivatives along the curve on which E g = theta_s [sp-along].
"""

from __future__ import annotations

import math
from typing import NamedTuple

from dendrocap.errors import ConvergenceError
from dendrocap.model import NeuronSpec, TaskSpec
from dendrocap.theory.constraint_curve import ConstraintCurve
from dendrocap.theory.gaussian import prepared
from dendrocap.theory.kernels import NODES, BranchKernel
from dendrocap.theory.rsb.equations import Norm, Overlap

__all__ = ["CurveSoma"]

WIDEST = 100.0  # times the smallest Q: with broken symmetry, larger weights have smaller loads


class _Direction(NamedTuple):
    """The direction of the curve E g = theta in (ln V, m / s), and the change of Gamma_0 along it."""

    along: float
    across: float
    dGamma0: float


class CurveSoma:
    """The kernel of one level of branches at any mean input.

    Parameters
    ----------
    neuron : NeuronSpec
        A neuron with one level of branches.
    task : TaskSpec
        Only the coding level of the inputs matters here.
    nodes : int
        Gauss-Legendre nodes per panel.
    """

    def __init__(self, neuron: NeuronSpec, task: TaskSpec, nodes: int = NODES) -> None:
        self.g, self.theta = neuron.tree[0].nonlinearity, neuron.theta_s
        self.v = task.f_in * (1.0 - task.f_in)
        self.unit = math.sqrt(self.v) * neuron.tree[0].theta / task.f_in
        self.kernel = BranchKernel(self.g, self.theta, nodes)
        self._curve = ConstraintCurve(neuron, task)

    def at_mean(self, mean: float) -> SomaAtMean:
        """The kernel at a mean input, given in units of sqrt(v) W_bar."""
        return SomaAtMean(self, mean * self.unit)

    def curves(self) -> list[list[tuple[float, float]]]:
        """The curves as lists of neighbouring states (Q, mean); of mirrored or repeated curves only the first."""
        kinds: dict[str, list[tuple[float, float]]] = {}
        curves = sorted(self._curve.curves(falls=lambda _: True), key=lambda curve: abs(curve[len(curve) // 2].m))
        for curve in curves:
            top = max(curve, key=lambda state: state.Q)
            kind = f"{top.Q:.5g} {top.moments.variance:.5g} {top.moments.gain:.5g}"
            widest = WIDEST * curve[0].Q
            kinds.setdefault(kind, [(state.Q, state.m / self.unit) for state in curve[::2] if widest > state.Q])
        return list(kinds.values())


class SomaAtMean:
    """The kernel at one mean input, with the interface of a soma."""

    def __init__(self, soma: CurveSoma, mean: float) -> None:
        self._soma, self._mean = soma, mean

    def norm(self, Q: float) -> Norm:
        """Variance at the soma and gain of small differences, with derivatives along the curve."""
        soma, s = self._soma, math.sqrt(self._soma.v * Q)
        own, direction = prepared(soma.g)(soma.theta, s, self._mean), self._direction(Q)
        return Norm(
            Gamma0=own.variance,
            Gamma1=soma.v * own.gain,
            dGamma0=direction.dGamma0,
            dGamma1=soma.v * (0.5 * own.gain_xx * direction.along + own.gain_x * direction.across),
            dQ=Q * direction.along,
            unit=Q,
            miss=own.mean / math.sqrt(own.variance),
        )

    def overlap(self, Q: float, dq: float) -> Overlap:
        """The kernel at the overlap Q - dq, with its derivative along the curve instead of that in Q."""
        soma, V = self._soma, self._soma.v * Q
        direction = self._direction(Q)
        pair = soma.kernel.pair(V, soma.v * dq, self._mean, soma.theta)
        # At fixed q, dq moves with Q.
        moved = V * (pair.dD1_dV + pair.dD1_ddV) * direction.along + math.sqrt(V) * pair.dD1_dm * direction.across
        return Overlap(pair.D1, soma.v * pair.dD1_ddV, direction.dGamma0 - moved)

    def _direction(self, Q: float) -> _Direction:
        soma, s = self._soma, math.sqrt(self._soma.v * Q)
        own = prepared(soma.g)(soma.theta, s, self._mean)
        by_V, by_m = 0.5 * s * own.slope_x, s * own.slope
        size = math.hypot(by_V, by_m)
        if not size > 0.0:
            raise ConvergenceError(f"the mean output of {soma.g!r} does not depend on its input at m = {self._mean:g}")
        along, across = -by_m / size, by_V / size
        return _Direction(along, across, s * own.cross_x * along + 2.0 * s * own.cross * across)
