"""The best dendrite: the g that stores most under a limit on its slope, at a margin [best-problem].

Without a margin there is none: capacity at kappa = 0 does not notice the units of the output, and a small step of
slope L is as steep, in units of its own height, as one likes [best-no-scale]. A margin is an absolute scale. With it,
the load is a convex function of the slope at each input, through the gain E g'^2, so that the best slope is 0 or L
everywhere [best-switch]: the best dendrite is a staircase of rises of slope L. What is left are its heights and gaps, a
handful of numbers, and the somatic threshold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model import NeuronSpec, Nonlinearity, PiecewiseLinear, TaskSpec
from dendrocap.numerics import legendre_rule
from dendrocap.numerics.types import Floats
from dendrocap.theory import scope
from dendrocap.theory.branch_stability import BranchStability, branch_stability
from dendrocap.theory.critical_capacity import critical_capacity
from dendrocap.theory.dendrite import NODES, common_variance
from dendrocap.theory.patterns import label_averages
from dendrocap.theory.results import estimate_name
from dendrocap.theory.solution import CapacitySolution
from dendrocap.validation import real_number, refuse, whole_number

# How the critical capacity depends on g: its functional derivative [best-gradient].
#
# Theory sees g through its kernel C(q) only: through the variance at the soma Gamma_0 = C(Q), the gain Gamma_1 = C'(Q)
# and, with broken symmetry, the covariances C(q_i). At a solution the load is stationary in all order parameters, so
# that a small change of g changes it at fixed ones (envelope theorem), except for the mean input, which follows from E
# g = theta_s. The cost is that of a few averages, for all parameters together.

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
    solution : CapacitySolution
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

    solution: CapacitySolution

    def __post_init__(self) -> None:
        scope.check("capacity_gradient", self.solution.neuron)
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
        if not solution.ladder:
            labels = label_averages(task.f_out, task.kappa / math.sqrt(solution.Gamma0))
            return _Pulls(-labels.mass / (labels.second * solution.Gamma0), 1.0 / solution.Gamma1, ())
        state = solution.ladder[-1].state
        unit = 0.5 / state.energy
        by_overlap = unit * np.diff(state.mu, prepend=0.0) * state.slope2[:-1]
        return _Pulls(
            Gamma0=unit * (state.active_patterns / state.Gamma1 - state.mu[-1] * float(state.slope2[-1])),
            Gamma1=-unit * float(state.slope2[-1]),
            overlaps=tuple(zip(solution.overlaps, by_overlap.tolist(), strict=True)),
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
        from dendrocap.theory._dendrite import common_nodes

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
        from dendrocap.theory._dendrite import nodes_and_weights

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


# The search for the best staircase: heights, gaps and somatic threshold at which the capacity is largest.
#
# Staircases rise with one slope and are flat in between; `best_dendrite` has the reason why no other g is needed. The
# gradient is that of `CapacityGradient`, a fraction of a millisecond for all parameters.

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
    solution: CapacitySolution
    residual: float
    at_limit: bool


class Search:
    """The optimum over heights h_i, gaps d_i and theta_s: over ln h_i, ln d_i and, if it is free, theta_s / height.

    Parameters are those of `best_dendrite`; ``tell`` hears how much is done, and what is being done.
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
        self._near: CapacitySolution | None = None

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

    def solved(self, z: Floats, start: CapacitySolution | None = None) -> CapacitySolution:
        """The capacity at one point."""
        self.evaluations += 1
        one = self.unpacked(z)
        neuron = NeuronSpec(one.g(self.slope), self.theta_d, one.theta_s)
        return critical_capacity(neuron, self.task, rsb=self.rsb, start=start)

    def value(self, z: Floats) -> tuple[float, Floats]:
        """-ln alpha_c and its gradient; a constant where there is no solution."""
        try:
            found = self.solved(z, self._near)
        except (ConvergenceError, NoSolution):
            return WORST, np.zeros(z.size)
        self._near = found
        return -math.log(found.alpha_c), -self.gradient(z, found)

    def gradient(self, z: Floats, found: CapacitySolution) -> Floats:
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


REACH, GRID = 6.0, 481  # where a further rise is looked for, in standard deviations of a branch's input

HELPS = 1e-3  # gain per unit of height below which a further rise is not worth its name

BETTER = 1e-6  # relative gain from which one rise more counts


@dataclass(frozen=True)
class BestDendrite(Displayed):
    """The dendrite that stores most under a limit on its slope, and how sure that is.

    Attributes
    ----------
    nonlinearity : PiecewiseLinear
        g, which starts to rise at 0. Long branches do not notice where it does.
    alpha_c : float
        Its capacity: patterns per synapse, with long, equal branches.
    height, theta_s : float
        The largest output, at most 1, and the somatic threshold.
    by_rises : tuple of float
        The largest capacity with up to 1, 2, ... rises, as far as was asked for.
    neuron, task, rsb, slope_limit
        The neuron with this dendrite, and what was asked for.
    solution : CapacitySolution
        The state of the synapses.
    residual : float
        Largest derivative of ln alpha_c in the logarithms of heights and gaps and in theta_s / height that is left,
        those excepted that a limit holds back.
    further_rise : float
        What the best further short rise adds to ln alpha_c, per unit of height; positive if more rises are better.
    at_limit : bool
        Whether the height is at its limit 1.
    evaluations : int
        Capacities computed.

    Examples
    --------
    >>> from dendrocap import TaskSpec, best_dendrite
    >>> best = best_dendrite(slope_limit=5, theta_d=0.5, task=TaskSpec(kappa=0.2), rsb=0)
    >>> round(best.alpha_c, 3), round(best.height, 3), round(best.theta_s / best.height, 3)
    (5.823, 0.486, 0.5)
    """

    _displayed = ("alpha_c", "estimate", "shape", "theta_s", "by_rises", "further_rise", "residual")

    nonlinearity: PiecewiseLinear
    alpha_c: float
    height: float
    theta_s: float
    neuron: NeuronSpec
    task: TaskSpec
    rsb: int
    slope_limit: float
    by_rises: tuple[float, ...]
    solution: CapacitySolution = field(repr=False, compare=False)
    residual: float
    further_rise: float
    at_limit: bool
    evaluations: int
    theta_s_given: float | None = None

    @property
    def estimate(self) -> str:
        """What this estimate of the capacity is called."""
        return estimate_name(self.rsb)

    @property
    def shape(self) -> str:
        """The dendrite in words."""
        edges = np.array(self.nonlinearity.x)
        widths, gaps = (edges[1::2] - edges[::2]).tolist(), (edges[2::2] - edges[1:-1:2]).tolist()
        parts = [f"rise by {self.slope_limit * widths[0]:.4g}"]
        parts += [
            f"flat for {gap:.4g}, rise by {self.slope_limit * width:.4g}"
            for gap, width in zip(gaps, widths[1:], strict=True)
        ]
        return f"slope {self.slope_limit:g}: " + ", ".join(parts)

    @property
    def more_rises_help(self) -> bool:
        """Whether a further rise would gain more than one in a thousand per unit of height."""
        return self.further_rise > HELPS

    def gain_of_a_rise(self, at: ArrayLike) -> Floats:
        """What a short further rise at these inputs adds to ln alpha_c, per unit of height [best-switch].

        Where g rises already: what a short flat piece would lose. Positive on the rises and negative elsewhere, if no
        other g is better. Where the height is at its limit, the price of the height is taken off.
        """
        slopes = CapacityGradient(self.solution)
        price = price_of_height(slopes, self.slope_limit) if self.at_limit else 0.0
        return slopes.by_rise(at, self.slope_limit) - price

    @classmethod
    def _of(cls, found: Optimum, slope_limit: float, theta_s: float | None) -> BestDendrite:
        """The result for the user."""
        solution, staircase = found.solution, found.staircase
        assert isinstance(solution.neuron.nonlinearity, PiecewiseLinear)
        best = cls(
            nonlinearity=solution.neuron.nonlinearity,
            alpha_c=solution.alpha_c,
            height=staircase.height,
            theta_s=staircase.theta_s,
            neuron=solution.neuron,
            task=solution.task,
            rsb=int(solution.rsb),
            slope_limit=slope_limit,
            by_rises=(),
            solution=solution,
            residual=found.residual,
            further_rise=math.nan,
            at_limit=found.at_limit,
            evaluations=0,
            theta_s_given=theta_s,
        )
        return replace(best, further_rise=float(best._flat_gains()[1].max()))

    def _flat_gains(self) -> tuple[Floats, Floats]:
        """Inputs at which g is flat, and what a short further rise there adds."""
        m, s = self.solution.preactivation_mean, self.solution.preactivation_sd
        at = m + s * np.linspace(-REACH, REACH, GRID)
        at = at[np.asarray(self.nonlinearity.derivative(at)) == 0.0]
        return at, self.gain_of_a_rise(at)

    def _with_a_rise(self) -> list[Staircase]:
        """The dendrite with a short rise more where it helps most, if it does."""
        if not self.further_rise > 0.0:
            return []
        at, gain = self._flat_gains()
        half = 0.025 * self.height / self.slope_limit
        edges = np.append(self.nonlinearity.x, at[np.argmax(gain)] + np.array([-half, half]))
        widths = np.maximum(np.diff(np.sort(edges)), 1e-4 * half)
        return [Staircase(widths[::2] * self.slope_limit, widths[1::2], self.theta_s)]

    def stretch(self, other: Nonlinearity) -> float:
        """The factor on the input of another dendrite that gives it, scaled to a height of 1, the slope of the limit.

        Examples
        --------
        >>> from dendrocap import Polsky, TaskSpec, best_dendrite
        >>> best = best_dendrite(slope_limit=5, theta_d=0.5, task=TaskSpec(kappa=0.2), rsb=0)
        >>> round(best.stretch(Polsky()), 4)  # its steepest slope is 5.025
        0.995
        """
        low, high = other.range
        if other.has_jumps or not math.isfinite(high - low):
            raise refuse(
                "other", other, f"continuous and bounded, to be scaled to the limits; its range is {other.range}"
            )
        return self.slope_limit * (high - low) / _steepest(other)

    def capacity_of(self, other: Nonlinearity) -> float:
        """The capacity of another dendrite under the same limits and at the same margin.

        Its output is scaled to reach from 0 to 1 and its input so that its steepest slope is the limit. The somatic
        threshold is the same if it was given, else the best for it.

        Examples
        --------
        >>> from dendrocap import Polsky, SaturatingReLU, TaskSpec, best_dendrite
        >>> best = best_dendrite(slope_limit=5, theta_d=0.5, task=TaskSpec(kappa=0.2), rsb=0)
        >>> [round(best.capacity_of(g), 3) for g in (SaturatingReLU(), Polsky())]
        [4.967, 2.647]
        """
        from scipy.optimize import minimize_scalar

        low, high = other.range
        # g(a x) at theta_d is g(x) at a theta_d, and h g at h theta_s and h kappa is g.
        theta_d = self.neuron.theta_d * self.stretch(other)
        task = replace(self.task, kappa=self.task.kappa * (high - low))

        def alpha(share: float) -> float:
            neuron = NeuronSpec(other, theta_d, low + share * (high - low))
            return critical_capacity(neuron, task, rsb=self.rsb).alpha_c

        if self.theta_s_given is not None:
            return alpha(self.theta_s_given)
        shares = (LOWEST, 0.06, 0.15, 0.3, 0.5, 0.7, 0.85, 0.94, 1.0 - LOWEST)
        tried = [alpha(share) for share in shares[1:-1]]
        at = int(np.argmax(tried)) + 1
        bounds, options = (shares[at - 1], shares[at + 1]), {"xatol": 1e-4}
        found = minimize_scalar(lambda share: -alpha(share), bounds=bounds, method="bounded", options=options)
        return max(-float(found.fun), *tried)

    def branch_stability(self) -> BranchStability:
        """Whether equal branches of this dendrite are the best, with at least one step of breaking.

        Examples
        --------
        >>> from dendrocap import TaskSpec, best_dendrite
        >>> best_dendrite(slope_limit=5, theta_d=0.5, theta_s=0.5, task=TaskSpec(kappa=0.2)).branch_stability().stable
        True
        """
        return branch_stability(self.neuron, self.task, rsb=max(self.rsb, 1))


def best_dendrite(
    slope_limit: float,
    theta_d: float,
    *,
    task: TaskSpec | None = None,
    theta_s: float | None = None,
    rises: int = 1,
    rsb: int = 1,
    callback: Callable[[float, str], object] | None = None,
) -> BestDendrite:
    """The dendritic non-linearity that stores most, among those that never fall and are nowhere steeper than a limit.

    g starts at 0, rises nowhere faster than ``slope_limit`` and to 1 at most; each pattern must be stored with the
    margin ``task.kappa``, in the same units: noise at the soma. The best g has slope 0 or ``slope_limit`` everywhere
    [best-switch]; it is looked for among staircases with a given number of rises.

    Parameters
    ----------
    slope_limit : float
        Largest slope of g, positive.
    theta_d : float
        Dendritic threshold, positive. It sets the mean weight; where g starts to rise does not matter on long branches.
    task : TaskSpec
        Coding levels, and a margin kappa > 0.
    theta_s : float, optional
        Somatic threshold, between 0 and 1. If not given, it is optimised too.
    rises : int
        Most rises, each followed by a plateau. ``by_rises`` and ``further_rise`` of the result say what more bring.
    rsb : int
        Steps of replica symmetry breaking. The replica-symmetric estimate (0) overrates steep dendrites, and most of
        all fine staircases; with it, more rises are always better where the height leaves room [best-staircase].
    callback : callable, optional
        Called with the share of the work that is done and a few words.

    Returns
    -------
    BestDendrite

    Raises
    ------
    NoSolution
        Without a margin, because then no dendrite is the best.

    Notes
    -----
    All branches are taken to be long and alike. Below some margin, unequal branches of a saturating dendrite store
    more: ``branch_stability()`` of the result says whether that is the case.

    Examples
    --------
    >>> from dendrocap import TaskSpec, best_dendrite
    >>> best = best_dendrite(slope_limit=5, theta_d=0.5, task=TaskSpec(kappa=0.2))
    >>> round(best.alpha_c, 4), best.shape, round(best.theta_s, 2)
    (1.4839, 'slope 5: rise by 1', 0.5)
    >>> best.further_rise < 0.0
    True
    """
    task = TaskSpec() if task is None else task
    slope_limit = real_number("slope_limit", slope_limit, 0.0, low_open=True)
    theta_d = real_number("theta_d", theta_d, 0.0, low_open=True)
    rises, rsb = whole_number("rises", rises, 1), whole_number("rsb", rsb, 0)
    if theta_s is not None:
        theta_s = real_number("theta_s", theta_s, 0.0, 1.0, low_open=True, high_open=True)
    if not task.kappa > 0.0:
        raise NoSolution(
            f"no dendrite is the best at kappa = {task.kappa:g}: without a margin the capacity of a small step of the "
            f"slope {slope_limit:g} grows without bound as its height falls; give a margin, task=TaskSpec(kappa=0.1), "
            "in units of the largest output"
        )
    best: BestDendrite | None = None
    by_rises: list[float] = []
    evaluations = 0
    for number in range(1, rises + 1):

        def tell(share: float, words: str, before: int = number - 1) -> None:
            if callback is not None:
                callback((before + share) / rises, f"{before + 1} rise{'s' if before else ''}, {words}")

        search = Search(slope_limit, theta_d, task, theta_s, number, rsb, tell)
        found = search.best([] if best is None else best._with_a_rise())
        evaluations += search.evaluations
        # Rises that have grown together, or vanished, are none.
        if best is None or found.solution.alpha_c > best.alpha_c * (1.0 + BETTER):
            best = BestDendrite._of(found, slope_limit, theta_s)
        by_rises.append(best.alpha_c)
    assert best is not None
    return replace(best, by_rises=tuple(by_rises), evaluations=evaluations)


def _steepest(g: Nonlinearity) -> float:
    """The largest slope of g."""
    knots = np.array(g.knots)
    at = np.concatenate([np.linspace(a, b, 65) for a, b in pairwise(knots)])
    return float(np.max(g.derivative(np.concatenate([at, np.nextafter(knots, np.inf), np.nextafter(knots, -np.inf)]))))
