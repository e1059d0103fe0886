"""How the critical capacity depends on g: its functional derivative [best-gradient].

Theory sees g through its kernel C(q) only: through the variance at the soma Gamma_0 = C(Q), the gain Gamma_1 = C'(Q)
and, with broken symmetry, the covariances C(q_i). At a solution the load is stationary in all order parameters, so
that a small change of g changes it at fixed ones (envelope theorem), except for the mean input, which follows from
E g = theta_s. The cost is that of a few averages, for all parameters together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from dendrocap.errors import ConvergenceError
from dendrocap.model import PiecewiseLinear
from dendrocap.numerics.quadrature import legendre_rule
from dendrocap.theory.kernels import NODES
from dendrocap.theory.labels import label_averages
from dendrocap.theory.replica_symmetric import CapacitySolution
from dendrocap.theory.response import common_variance
from dendrocap.theory.rsb.broken_capacity import BrokenCapacity
from dendrocap.validation import refuse

__all__ = ["CapacityGradient"]

Floats = NDArray[np.float64]
Changes = Callable[[Floats, float], Floats]  # changes of g, in columns, at inputs smeared by a Gaussian of some width


class _Pulls(NamedTuple):
    """Derivatives of ln alpha_c in the kernel, at fixed order parameters."""

    Gamma0: float
    Gamma1: float
    overlaps: tuple[tuple[float, float], ...]  # q_i, and the derivative in C(q_i)


@dataclass(frozen=True)
class CapacityGradient:
    """Derivatives of ln alpha_c in a piecewise-linear g.

    Parameters
    ----------
    solution : CapacitySolution or BrokenCapacity
        The capacity of long, like branches whose g is `PiecewiseLinear` and flat at its ends.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, PiecewiseLinear, TaskSpec, critical_capacity
    >>> def solved(slope):
    ...     g = PiecewiseLinear([0.0, 0.2, 0.4], [0.0, 0.4, 0.4 + 0.2 * slope])
    ...     return critical_capacity(NeuronSpec(g, theta_d=0.5, theta_s=0.3), TaskSpec(kappa=0.1))
    >>> difference = np.log(solved(1.0001).alpha_c / solved(0.9999).alpha_c) / 0.0002
    >>> bool(abs(CapacityGradient(solved(1.0)).by_slope[1] / difference - 1.0) < 1e-6)
    True
    """

    solution: CapacitySolution | BrokenCapacity

    def __post_init__(self) -> None:
        g = self.solution.neuron.nonlinearity
        if not isinstance(g, PiecewiseLinear) or g.flat_ends != (True, True):
            raise refuse("solution.neuron.nonlinearity", g, "PiecewiseLinear with flat ends")

    @property
    def by_slope(self) -> Floats:
        """In the slope of each piece, at fixed x of all points and y of the first."""
        x = self._x

        def rises(at: Floats, sd: float) -> Floats:
            if sd == 0.0:
                return np.asarray(np.clip(at[:, None] - x[:-1], 0.0, np.diff(x)))
            return np.asarray(-sd * np.diff(_mean_above((at[:, None] - x) / sd)))

        gain = 2.0 * self._slopes[1:-1] * np.diff(ndtr((x - self._m) / self._s))
        return np.asarray(self._by_values(rises) + self._v * self._pulls.Gamma1 * gain)

    @property
    def by_edge(self) -> Floats:
        """In the x of each point, at fixed slopes of all pieces and y of the first."""
        before, after = self._slopes[:-1], self._slopes[1:]
        gain = (before**2 - after**2) * self._density(self._x)
        return np.asarray((before - after) * self._by_step(self._x) + self._v * self._pulls.Gamma1 * gain)

    @property
    def by_theta_s(self) -> float:
        """In the somatic threshold."""
        return self._by_mean / self._mean_slope

    def by_rise(self, at: ArrayLike, slope: float) -> Floats:
        """Per unit of height, in a short rise of this slope at an input where g is flat [best-switch].

        The same number says what is lost, per unit of height, where a short piece of a rise of this slope becomes flat.
        """
        where = np.atleast_1d(np.asarray(at, dtype=np.float64))
        return self._by_step(where) + self._v * self._pulls.Gamma1 * slope * self._density(where)

    # What is needed of the solution -------------------------------------------------------------------------------

    @cached_property
    def _g(self) -> PiecewiseLinear:
        g = self.solution.neuron.nonlinearity
        assert isinstance(g, PiecewiseLinear)
        return g

    @cached_property
    def _x(self) -> Floats:
        return np.array(self._g.x)

    @cached_property
    def _slopes(self) -> Floats:
        """Of the pieces, the flat ends included."""
        return self._g.straight_pieces[2]

    @property
    def _m(self) -> float:
        return self.solution.preactivation_mean

    @property
    def _s(self) -> float:
        return self.solution.preactivation_sd

    @property
    def _v(self) -> float:
        return self.solution.task.f_in * (1.0 - self.solution.task.f_in)

    @cached_property
    def _pulls(self) -> _Pulls:
        """From [cap-load]; with broken symmetry -dF_E / F_E, with the derivatives of F_E that stand in [rsb-norm]."""
        solution, task = self.solution, self.solution.task
        if isinstance(solution, CapacitySolution) or not solution.ladder:
            labels = label_averages(task.f_out, task.kappa / math.sqrt(solution.Gamma0))
            return _Pulls(-labels.mass / (labels.second * solution.Gamma0), 1.0 / solution.Gamma1, ())
        state = solution.ladder[-1]
        unit = 0.5 / state.energy
        by_overlap = unit * np.diff(state.mu, prepend=0.0) * state.r2[:-1]
        return _Pulls(
            Gamma0=unit * (state.active_patterns / state.Gamma1 - state.mu[-1] * float(state.r2[-1])),
            Gamma1=-unit * float(state.r2[-1]),
            overlaps=tuple(zip(state.q.tolist(), by_overlap.tolist(), strict=True)),
        )

    def _density(self, at: Floats) -> Floats:
        """Of the branch input."""
        z = (at - self._m) / self._s
        return np.asarray(np.exp(-0.5 * z * z) / (math.sqrt(2.0 * math.pi) * self._s))

    @cached_property
    def _mean_slope(self) -> float:
        return float(self._slopes[1:-1] @ np.diff(ndtr((self._x - self._m) / self._s)))

    @cached_property
    def _covariances(self) -> list[tuple[float, Floats, Floats, float]]:
        """For each overlap below Q: pull, values of the common part, weights times E[g - theta], width of the rest."""
        from dendrocap.theory._kernels import common_nodes

        g, x, found = self._g, self._x, []
        chi = common_variance(self.solution.neuron, self.solution.task)
        for q, pull in self._pulls.overlaps:
            common, rest = math.sqrt(self._v * q + chi), math.sqrt(self._v * (self.solution.Q - q))
            at, weight = common_nodes(self._m, common, rest, x, x, *legendre_rule(NODES))
            if math.isnan(at[0]):
                raise ConvergenceError(f"too many panels are needed for {g!r} at deviations {common:g} and {rest:g}")
            mean = g.y[0] + np.diff(-rest * _mean_above((at[:, None] - x) / rest)) @ self._slopes[1:-1]
            found.append((pull, at, weight * (mean - self.solution.neuron.theta_s), rest))
        return found

    @cached_property
    def _by_mean(self) -> float:
        """In the mean input."""
        squared = self._slopes[1:-1] ** 2
        u, above = self._weighted(self._x)
        total = 2.0 * self._pulls.Gamma0 * float(above @ self._g.derivative(u))
        total -= self._v * self._pulls.Gamma1 * float(squared @ np.diff(self._density(self._x)))
        for pull, at, weighted, rest in self._covariances:
            slope = -np.diff(ndtr((at[:, None] - self._x) / rest)) @ self._slopes[1:-1]
            total += 2.0 * pull * float(weighted @ slope)
        return total

    def _weighted(self, knots: Floats) -> tuple[Floats, Floats]:
        """Inputs u of a branch, and g(u) - theta_s times their weights."""
        from dendrocap.theory._compiled import nodes_and_weights

        u, _, weight = nodes_and_weights(knots, self._s, self._m, *legendre_rule(16))
        return u, weight * (self._g(u) - self.solution.neuron.theta_s)

    def _by_step(self, at: Floats) -> Floats:
        """In steps of unit height at these inputs, without what they do to the gain."""

        def steps(u: Floats, sd: float) -> Floats:
            away = u[:, None] - at
            return np.asarray((away > 0.0) * 1.0 if sd == 0.0 else ndtr(away / sd))

        return self._by_values(steps, np.union1d(self._x, at))

    def _by_values(self, changes: Changes, knots: Floats | None = None) -> Floats:
        """In changes of g's values, without what they do to the gain; the mean input follows [mean-input]."""
        u, above = self._weighted(self._x if knots is None else knots)
        total = 2.0 * self._pulls.Gamma0 * (above @ changes(u, 0.0))
        for pull, at, weighted, rest in self._covariances:
            total = total + 2.0 * pull * (weighted @ changes(at, rest))
        # dm = (d theta_s - E dg) / E g'
        mean_change = changes(np.array([self._m]), self._s)[0]
        return np.asarray(total - self._by_mean * mean_change / self._mean_slope)


def _mean_above(z: Floats) -> Floats:
    """E max(z + x, 0) over a standard normal x."""
    return np.asarray(np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) + z * ndtr(z))
