"""States in which the mean output of a branch meets its threshold, for non-monotone g [constraint-curve].

For given Q, E g(m + s x) = theta has one solution m if g is monotone. In general the equation is a set of curves in the
plane of Q and m. As a function of the variance V and of m, E g obeys the heat equation, so that the number of its
solutions m never grows with V: no curve begins at a finite V, none has a minimum of V, and none is closed. Each
curve therefore starts at the smallest possible variance, v W_bar^2, and either continues to infinite V or turns back
at its top, where E g' = 0, to another start. All curves are found by solving for m at the smallest variance.

Curves are followed by arc length, in steps of B (which stands for Q, see [cap-Q]) and of m in units of s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from dendrocap.errors import ConvergenceError
from dendrocap.model import NeuronSpec, TaskSpec
from dendrocap.model.priors import is_usual
from dendrocap.numerics._compiled import tail
from dendrocap.theory.gaussian import Moments, prepared
from dendrocap.theory.mean_inputs import all_mean_inputs
from dendrocap.theory.response import TreeResponse, check_independent_inputs, is_monotone
from dendrocap.validation import refuse

__all__ = ["ConstraintCurve", "ConstraintState", "needs_constraint_curve"]

LOWEST_B, HIGHEST_B = -5.0, 30.0  # at the lower end the weights hardly differ and the load they bear is small
FALLING_B = 6.0  # a load that falls at this B, where Q is 10^9 W_bar^2, is assumed to fall for all larger B
STEP, SHORTEST_STEP, MOST_STEPS = 0.15, 1e-5, 4000
FLAT = 1e-10  # change of E g with its input, in units of s, below which it is taken not to depend on it
STRAIGHT = 0.97  # smallest cosine between the directions of two neighbouring states


def needs_constraint_curve(neuron: NeuronSpec, task: TaskSpec) -> bool:
    """Whether the mean input is not a function of Q: one level of branches whose g falls somewhere."""
    if neuron.n_levels != 1 or is_monotone(neuron.with_usual_prior.tree[0].nonlinearity):
        return False
    check_independent_inputs(task, "g that are not monotone")
    if not is_usual(neuron.prior):
        raise refuse("prior", neuron.prior, "NonNegative() for g that are not monotone")
    return True


class ConstraintState(NamedTuple):
    """A point on a curve, and the direction in which the curve is followed."""

    B: float
    Q: float
    s: float  # standard deviation of the branch input
    m: float  # its mean
    moments: Moments
    dB: float  # direction, of unit length in B and m / s
    dm: float  # in units of m
    dQ: float  # in units of Q

    def along(self, by_Q: float, by_m: float) -> float:
        """The derivative along the curve of what has these partial derivatives in Q and m."""
        return by_Q * self.dQ + by_m * self.dm

    def tree(self, v: float) -> TreeResponse:
        """The response of the dendrites; derivatives are along the curve rather than in Q [cap-along]."""
        found, V = self.moments, self.s**2
        return TreeResponse(
            Gamma0=found.variance,
            Gamma1=v * found.gain,
            dGamma0=self.along(v * found.cross_x / self.s, 2.0 * found.cross),
            dGamma1=self.along(0.5 * v * v * found.gain_xx / V, v * found.gain_x / self.s),
            slope=found.slope,
            sd=self.s,
            means=(self.m,),
        )


class ConstraintCurve:
    """All curves of one neuron and task.

    Parameters
    ----------
    neuron : NeuronSpec
        With one level of branches.
    task : TaskSpec
        Only the coding level of the inputs matters here.
    """

    def __init__(self, neuron: NeuronSpec, task: TaskSpec) -> None:
        self.g, self.theta = neuron.tree[0].nonlinearity, neuron.theta_s
        self.W_bar = neuron.tree[0].theta / task.f_in
        self.v = task.f_in * (1.0 - task.f_in)
        self.evaluations = 0
        self._averages = prepared(self.g)

    def Q(self, B: float) -> tuple[float, float]:
        """Mean squared weight at this B [cap-Q], and its derivative."""
        i0, i1, i2 = tail(B)
        return self.W_bar**2 * i2 / i1**2, 2.0 * self.W_bar**2 / i1 * (i0 * i2 / i1**2 - 1.0)

    def moments(self, Q: float, m: float) -> Moments:
        """Averages over inputs of mean m at squared norm Q."""
        self.evaluations += 1
        return self._averages(self.theta, math.sqrt(self.v * Q), m)

    def starts(self, B: float = LOWEST_B) -> list[float]:
        """All mean inputs at this B."""
        return all_mean_inputs(self.g, self.theta, math.sqrt(self.v * self.Q(B)[0]))

    def onto(self, B: float, m: float, towards: tuple[float, float]) -> ConstraintState:
        """The state near (B, m), by steps down the gradient of E g; its direction follows ``towards``."""
        for _ in range(30):
            Q, Q_B = self.Q(B)
            s, found = math.sqrt(self.v * Q), self.moments(Q, m)
            # Gradient of E g in B and m / s, by the heat equation dE g / dV = E g'' / 2 = E[g' x] / 2 s.
            by_B, by_m = 0.5 * self.v * Q_B * found.slope_x / s, s * found.slope
            size = math.hypot(by_B, by_m)
            if not (math.isfinite(size) and size > FLAT):
                raise ConvergenceError(f"the mean output of {self.g!r} does not depend on its input at m = {m:g}", m)
            step = -found.mean / size**2
            B, m = B + step * by_B, m + step * by_m * s
            if abs(step) * size < 1e-13 or abs(found.mean) < 1e-16 * abs(self.theta):
                break
        else:
            raise ConvergenceError(f"no mean input near {m:g} gives {self.g!r} the mean output {self.theta:g}", m)
        sense = -by_m * towards[0] + by_B * towards[1] / s
        sign = math.copysign(1.0, sense) / size
        dB, dm = -sign * by_m, sign * by_B * s
        return ConstraintState(B, Q, s, m, found, dB, dm, Q_B * dB)

    def curves(self, falls: Callable[[ConstraintState], bool] | None = None) -> Iterator[list[ConstraintState]]:
        """Each curve as an ordered list of states; ``falls(state)`` can end a curve that continues to infinite Q."""
        open_starts = self.starts()
        while open_starts:
            m = open_starts.pop(0)
            curve = self._followed(m, falls)
            last = curve[-1]
            if open_starts and last.B <= LOWEST_B + STEP:  # the curve has returned to another start
                nearest = min(open_starts, key=lambda other: abs(other - last.m))
                if abs(nearest - last.m) < 3.0 * last.s:
                    open_starts.remove(nearest)
            yield curve

    def _followed(self, m: float, falls: Callable[[ConstraintState], bool] | None) -> list[ConstraintState]:
        curve = [self.onto(LOWEST_B, m, (1.0, 0.0))]
        step = STEP
        for _ in range(MOST_STEPS):
            here = curve[-1]
            try:
                there = self.onto(here.B + step * here.dB, here.m + step * here.dm, (here.dB, here.dm))
                moved = math.hypot(there.B - here.B, (there.m - here.m) / here.s)
                cosine = here.dB * there.dB + here.dm * there.dm / here.s**2 * (here.s / there.s)
                good = cosine > STRAIGHT and 0.5 * step < moved < 1.5 * step
            except ConvergenceError:
                good = False
            if not good:
                step *= 0.5
                if step < SHORTEST_STEP:
                    return curve
                continue
            curve.append(there)
            if there.B <= LOWEST_B or there.B >= HIGHEST_B:
                return curve
            if there.B >= FALLING_B and falls is not None and falls(there):
                return curve
            step = min(1.5 * step, STEP)
        return curve

    def between(self, one: ConstraintState, other: ConstraintState, part: float) -> ConstraintState:
        """The state next to a point of the chord between two neighbours."""
        B, m = one.B + part * (other.B - one.B), one.m + part * (other.m - one.m)
        return self.onto(B, m, (other.B - one.B, other.m - one.m))
