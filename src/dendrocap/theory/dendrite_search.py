"""The search for the best staircase: heights, gaps and somatic threshold at which the capacity is largest.

Staircases rise with one slope and are flat in between; `best_dendrite` has the reason why no other g is needed. The
gradient is that of `CapacityGradient`, a fraction of a millisecond for all parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model import NeuronSpec, PiecewiseLinear, TaskSpec
from dendrocap.theory.capacity_gradient import CapacityGradient
from dendrocap.theory.critical_capacity import critical_capacity
from dendrocap.theory.replica_symmetric import CapacitySolution
from dendrocap.theory.rsb.broken_capacity import BrokenCapacity

__all__ = ["LOWEST", "Optimum", "Search", "Staircase", "price_of_height"]

Floats = NDArray[np.float64]
Solution = CapacitySolution | BrokenCapacity

HEIGHTS, SHARES, GAPS = (0.1, 0.35, 1.0), (0.5, 0.1), (0.7, 2.5)  # starts; gaps in units of sqrt(v) W_bar
FOLLOWED = 2  # starts from which the optimum is looked for
LOWEST = 1e-3  # of a rise, and of theta_s in units of the height
LOG_RANGE = 12.0  # gaps reach from e^-12 to e^12 times sqrt(v) W_bar
FULL = 1.0 - 1e-6  # a height at its limit
WORST = 30.0  # -ln alpha_c where there is no solution


class Staircase(NamedTuple):
    """A staircase and a somatic threshold."""

    heights: Floats
    gaps: Floats
    theta_s: float

    def g(self, slope: float) -> PiecewiseLinear:
        """The curve, which starts to rise at 0."""
        x, y = np.zeros(2 * len(self.heights)), np.zeros(2 * len(self.heights))
        x[1::2], x[2::2], y[1::2] = self.heights / slope, self.gaps, self.heights
        return PiecewiseLinear(tuple(np.cumsum(x).tolist()), tuple(np.cumsum(y).tolist()))

    @property
    def height(self) -> float:
        """The largest output."""
        return float(self.heights.sum())


class Optimum(NamedTuple):
    """The best staircase, its capacity, and what is left of the conditions for an optimum."""

    staircase: Staircase
    solution: Solution
    residual: float
    at_limit: bool


class Search:
    """The optimum over heights h_i, gaps d_i and theta_s: over ln h_i, ln d_i and, if it is free, theta_s / height.

    Parameters
    ----------
    slope, theta_d, task, theta_s, rises, rsb
        As in `best_dendrite`.
    tell : callable
        Hears how much is done, and what is being done.
    """

    def __init__(
        self,
        slope: float,
        theta_d: float,
        task: TaskSpec,
        theta_s: float | None,
        rises: int,
        rsb: int,
        tell: Callable[[float, str], object],
    ) -> None:
        self.slope, self.theta_d, self.task = slope, theta_d, task
        self.theta_s, self.rises, self.rsb = theta_s, rises, rsb
        self.tell, self.evaluations = tell, 0
        self.unit = math.sqrt(task.f_in * (1.0 - task.f_in)) * theta_d / task.f_in  # smallest deviation of an input
        self._near: BrokenCapacity | None = None

    def best(self, more: list[Staircase]) -> Optimum:
        """The best of what is found from several starts, some of them given."""
        starts = [*self.starts(), *map(self.packed, more)]
        values = []
        for number, z in enumerate(starts):
            self.tell(0.3 * number / len(starts), "starts")
            self._near = None
            values.append(self.value(z)[0])
        found = []
        for number, start in enumerate(np.argsort(values)[:FOLLOWED]):
            self.tell(0.3 + 0.6 * number / FOLLOWED, "optimising")
            self._near = None
            found.append(self.climbed(starts[start]))
        z = min(found, key=lambda one: self.value(one)[0])
        self.tell(0.95, "checking")
        return self.optimum(z)

    def starts(self) -> Iterator[Floats]:
        """Places to start from."""
        lowest = 0.0 if self.theta_s is None else 0.5 * (1.0 + self.theta_s)
        heights = sorted({max(height, lowest) for height in HEIGHTS})
        for height, gap, share in product(heights, GAPS[: self.rises], SHARES if self.theta_s is None else (math.nan,)):
            each, gaps = np.full(self.rises, height / self.rises), np.full(self.rises - 1, gap * self.unit)
            yield self.packed(Staircase(each, gaps, share * height))

    def packed(self, one: Staircase) -> Floats:
        """The variables of a staircase; one that is too high, or hardly rises, is changed a little."""
        heights = one.heights * min(1.0, 1.0 / one.height)
        share = [] if self.theta_s is not None else [min(max(one.theta_s / one.height, LOWEST), 1.0 - LOWEST)]
        return np.concatenate([np.log(np.maximum(heights, LOWEST)), np.log(one.gaps), share])

    def unpacked(self, z: Floats) -> Staircase:
        """The staircase at one point."""
        heights, gaps = np.exp(z[: self.rises]), np.exp(z[self.rises : 2 * self.rises - 1])
        return Staircase(heights, gaps, float(z[-1] * heights.sum()) if self.theta_s is None else self.theta_s)

    def solved(self, z: Floats, start: BrokenCapacity | None = None) -> Solution:
        """The capacity at one point."""
        self.evaluations += 1
        one = self.unpacked(z)
        neuron = NeuronSpec(one.g(self.slope), self.theta_d, one.theta_s)
        found = critical_capacity(neuron, self.task, rsb=self.rsb, start=start)
        assert isinstance(found, CapacitySolution | BrokenCapacity)
        return found

    def value(self, z: Floats) -> tuple[float, Floats]:
        """-ln alpha_c and its gradient; a constant where there is no solution."""
        try:
            found = self.solved(z, self._near)
        except (ConvergenceError, NoSolution):
            return WORST, np.zeros(z.size)
        if isinstance(found, BrokenCapacity):
            self._near = found
        return -math.log(found.alpha_c), -self.gradient(z, found)

    def gradient(self, z: Floats, found: Solution) -> Floats:
        """Of ln alpha_c in the variables."""
        one, slopes = self.unpacked(z), CapacityGradient(found)
        by_height, by_gap = _by_pieces(slopes, self.slope)
        if self.theta_s is not None:
            return np.concatenate([by_height * one.heights, by_gap * one.gaps])
        by_height = by_height + slopes.by_theta_s * z[-1]  # theta_s moves with the height
        return np.concatenate([by_height * one.heights, by_gap * one.gaps, [slopes.by_theta_s * one.height]])

    def climbed(self, z: Floats) -> Floats:
        """The optimum next to a start."""
        from scipy.optimize import minimize

        n, lowest = self.rises, 0.0 if self.theta_s is None else self.theta_s * (1.0 + LOWEST)
        bounds = [(math.log(LOWEST), 0.0)] * n
        bounds += [(math.log(self.unit) - LOG_RANGE, math.log(self.unit) + LOG_RANGE)] * (n - 1)
        bounds += [(LOWEST, 1.0 - LOWEST)] * (self.theta_s is None)

        def room(z: Floats) -> Floats:
            height = float(np.exp(z[:n]).sum())
            return np.array([1.0 - height, height - lowest])

        def room_gradient(z: Floats) -> Floats:
            rate = np.concatenate([np.exp(z[:n]), np.zeros(z.size - n)])
            return np.stack([-rate, rate])

        limits = {"type": "ineq", "fun": room, "jac": room_gradient}
        options = {"ftol": 1e-13, "maxiter": 200}
        found = minimize(self.value, z, jac=True, method="SLSQP", bounds=bounds, constraints=limits, options=options)
        return np.asarray(found.x)

    def optimum(self, z: Floats) -> Optimum:
        """The answer, computed once more without a neighbour to start from."""
        one, found = self.unpacked(z), self.solved(z)
        left, at_limit = self.gradient(z, found), one.height > FULL
        if at_limit:  # one price of height for all rises
            left[: self.rises] -= max(float(left[: self.rises].sum()), 0.0) * one.heights / one.height
        return Optimum(one, found, float(np.abs(left).max()), at_limit)


def price_of_height(slopes: CapacityGradient, slope: float) -> float:
    """The derivative of ln alpha_c in the height, where a limit holds it back."""
    return max(float(_by_pieces(slopes, slope)[0].min()), 0.0)


def _by_pieces(slopes: CapacityGradient, slope: float) -> tuple[Floats, Floats]:
    """Derivatives of ln alpha_c in the heights of rises and in gaps: a wider piece moves all edges after it."""
    by_width = np.cumsum(slopes.by_edge[:0:-1])[::-1]
    return by_width[::2] / slope, by_width[1::2]
