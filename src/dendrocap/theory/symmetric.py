"""Critical capacity in the replica-symmetric estimate.

At capacity the solutions have shrunk to a point and every order parameter follows from a single number [cap-scalar]:
B, the distance of zero from the mean of the truncated Gaussian of weights, in units of its standard deviation. B
determines Q, Q the response of the dendrites, and the load

    alpha(Q) = C Gamma_1 / (Gamma_0 E I_2(tau))                                                        [cap-load]

at which solutions of norm Q vanish. Weights can take any norm, so the capacity is the largest alpha(Q); there
d ln alpha / dQ vanishes, which is the remaining saddle-point equation [cap-stationary].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model import NeuronSpec, TaskSpec
from dendrocap.numerics._compiled import tail
from dendrocap.numerics.types import Floats
from dendrocap.theory import scope
from dendrocap.theory.dendrite import (
    Moments,
    TreeResponse,
    all_mean_inputs,
    check_capacity_inputs,
    check_tree_averages,
    is_monotone,
    prepared,
    tree_response,
    tree_responses,
)
from dendrocap.theory.neuron_kernel import Population, PopulationKernel, at_capacity, like_branches
from dendrocap.theory.patterns import LabelAverages, label_averages
from dendrocap.theory.solution import CapacitySolution, OtherSolution, PopulationWeights, SynapseWeights
from dendrocap.theory.solver import bracketed_root
from dendrocap.theory.weights import CapacityWeights, CutMoments, law_of

# States in which the mean output of a branch meets its threshold, for non-monotone g [constraint-curve].
#
# For given Q, E g(m + s x) = theta has one solution m if g is monotone. In general the equation is a set of curves in
# the plane of Q and m. As a function of the variance V and of m, E g obeys the heat equation, so that the number of
# its solutions m never grows with V: no curve begins at a finite V, none has a minimum of V, and none is closed. Each
# curve therefore starts at the smallest possible variance, v W_bar^2, and either continues to infinite V or turns back
# at its top, where E g' = 0, to another start. All curves are found by solving for m at the smallest variance.
#
# Curves are followed by arc length, in steps of B (which stands for Q, see [cap-Q]) and of m in units of s.

LOWEST_B, HIGHEST_B = -5.0, 30.0  # at the lower end the weights hardly differ and the load they bear is small

FALLING_B = 6.0  # a load that falls at this B, where Q is 10^9 W_bar^2, is assumed to fall for all larger B

STEP, SHORTEST_STEP, MOST_STEPS = 0.15, 1e-5, 4000

FLAT = 1e-10  # change of E g with its input, in units of s, below which it is taken not to depend on it

STRAIGHT = 0.97  # smallest cosine between the directions of two neighbouring states


def needs_constraint_curve(neuron: NeuronSpec, task: TaskSpec) -> bool:
    """Whether the mean input is not a function of Q: one level of branches whose g falls somewhere."""
    if neuron.n_levels != 1 or is_monotone(neuron.tree[0].nonlinearity):
        return False
    scope.check(scope.FALLING, neuron, task)
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


# Initial grid of B. From one value to the next the width of the branch input changes by a factor below two.
# alpha(Q) vanishes for Q -> W_bar^2 (B -> -inf) and for Q -> inf (B -> inf): the grid is extended at either end until
# the load decreases there.
B_GRID = (-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5)

B_LIMITS = (-8.0, 30.0)

ALL_OR_NONE = 1e-4  # w_max / W_star at which bounded weights count as 0 or w_max, each of them


def symmetric_capacity(neuron: NeuronSpec, task: TaskSpec | None = None) -> CapacitySolution:
    """The critical capacity in the replica-symmetric estimate; see `critical_capacity`, which calls this.

    Notes
    -----
    Solves [cap-stationary] for B by Brent's method in every interval of a grid on which it changes its sign, and
    returns the largest load among the solutions.

    Examples
    --------
    >>> from dendrocap import Linear, NeuronSpec
    >>> round(symmetric_capacity(NeuronSpec(Linear(), theta_d=0.5, theta_s=0.5)).alpha_c, 10)
    1.0
    """
    task = TaskSpec() if task is None else task
    problem = _Problem(neuron, task)
    if needs_constraint_curve(neuron, task):
        return _on_constraint_curve(problem)
    states = problem.scan()
    brackets = [
        (one, other)
        for before, after in pairwise(states)
        for one, other in _matched(before, after)
        if (one.stationarity > 0.0) != (other.stationarity > 0.0)
    ]
    solved = [(problem.stationary(one, other), one.stationarity > 0.0) for one, other in brackets]
    best = max((point for point, is_maximum in solved if is_maximum), key=lambda point: point.alpha, default=None)
    highest = max((point.alpha for points in states for point in points), default=math.nan)
    if (best is None or best.alpha < highest * (1.0 - 1e-9)) and neuron.prior.w_max < math.inf:
        raise NoSolution(
            f"the replica-symmetric load of {neuron} and {task} is largest, {highest:.4g}, where every weight is 0 or "
            "w_max, a state that is not derived: it takes a larger w_max for weights in between"
        )
    if best is None or best.alpha < highest * (1.0 - 1e-9):
        for point in (point for points in states for point in points if point.alpha == highest):
            check_tree_averages(
                neuron, task, point.Q, point.tree.means
            )  # averages of a g that is not resolved are noise
        raise ConvergenceError(
            f"alpha(Q) has no interior maximum for {neuron} and {task}: it still grows where the mean output of a "
            "level ceases to reach its threshold, which happens in deep trees of functions that are not monotone",
            brackets,
        )
    others = tuple(problem.other(point, is_maximum) for point, is_maximum in solved if point is not best)
    return problem.solution(best, others)


def _on_constraint_curve(problem: _Problem) -> CapacitySolution:
    """The largest load that is stationary along the curves on which the mean output meets its threshold."""
    neuron, task = problem.neuron, problem.task
    constraint = ConstraintCurve(neuron, task)

    def point(state: ConstraintState) -> _Point:
        return problem.point(
            state.B, problem.law.at_capacity(state.B, problem.W_bar), state.Q, state.tree(constraint.v), state
        )

    def between(start: ConstraintState, end: ConstraintState, one: _Point, other: _Point) -> _Point:
        met = {0.0: one, 1.0: other}  # not recomputed: rounding might give them the same sign

        def stationarity(part: float) -> float:
            if part not in met:
                met[part] = point(constraint.between(start, end, part))
            return met[part].stationarity

        return met[bracketed_root(stationarity, 0.0, 1.0).at]

    solved: list[tuple[_Point, bool]] = []
    highest = 0.0
    for curve in constraint.curves(falls=lambda state: point(state).stationarity < 0.0):
        points = [point(state) for state in curve]
        highest = max(highest, *(one.alpha for one in points))
        for i, (one, other) in enumerate(pairwise(points)):
            if (one.stationarity > 0.0) == (other.stationarity > 0.0):
                continue
            solved.append((between(curve[i], curve[i + 1], one, other), one.stationarity > 0.0))
    if not solved and highest == 0.0:
        raise NoSolution(
            f"no mean input gives {neuron.nonlinearity!r} the mean output {neuron.theta_s:g} at any width of its "
            f"input: equal weights have the smallest, a deviation of {math.sqrt(constraint.v) * problem.W_bar:g}"
        )
    best = max((one for one, is_maximum in solved if is_maximum), key=lambda one: one.alpha, default=None)
    if best is None or best.alpha < highest * (1.0 - 1e-9):
        raise NoSolution(
            f"the replica-symmetric load of {neuron} and {task} has no largest value: it still grows, at "
            f"{highest:.4g}, where the mean output of g no longer depends on its mean input, however wide that is"
        )
    # Symmetric or periodic g repeat their states: of each kind, the one with the smallest mean input is reported.
    kinds: dict[tuple[float, bool], _Point] = {}
    for one, is_maximum in sorted(solved, key=lambda pair: abs(pair[0].tree.means[0])):
        kinds.setdefault((float(f"{one.alpha:.7g}"), is_maximum), one)
    best = kinds[float(f"{best.alpha:.7g}"), True]
    problem.evaluations = constraint.evaluations
    others = tuple(
        problem.other(one, is_maximum)
        for (_, is_maximum), one in sorted(kinds.items(), key=lambda item: -item[1].alpha)
        if one is not best
    )
    return problem.solution(best, others)


class _Point(NamedTuple):
    """The state of the equations at one place t of the curve of weights, B itself unless they are bounded."""

    t: float
    B: float
    Q: float
    C: float
    A: float
    tree: TreeResponse
    shift: float  # Delta / sqrt(Gamma_0)
    alpha: float  # from the equation for C
    stationarity: float  # Q d ln alpha / dQ, or d ln alpha along the curve E g = theta_s
    residual: float


class _Problem:
    """A neuron and a task, with the energetic averages that need not be computed twice."""

    def __init__(self, neuron: NeuronSpec, task: TaskSpec) -> None:
        self.neuron, self.task, self.given = neuron.with_usual_prior, task, neuron
        check_capacity_inputs(self.neuron)
        self.W_bar = self.neuron.tree[0].theta / task.f_in
        self.law = law_of(neuron.prior)
        self.law.check(self.W_bar)
        self.largest = neuron.prior.w_max / self.W_bar
        self.evaluations = 0
        self._free_of_margin = label_averages(task.f_out, 0.0) if task.kappa == 0.0 else None

    def scan(self) -> list[list[_Point]]:
        """States on a grid of B wide enough that the load decreases at either end."""
        states: list[list[_Point]] = []
        for t in B_GRID:
            states.append(self.points(t, states[-1] if states else []))
        t = B_GRID[0]
        while B_LIMITS[0] < t and not all(point.stationarity > 0.0 for point in states[0]):
            t -= 1.0
            states.insert(0, self.points(t, states[0]))
        t = B_GRID[-1]
        while B_LIMITS[1] > t and not all(point.stationarity < 0.0 for point in states[-1]):
            if self.largest * tail(t)[1] < ALL_OR_NONE:
                break
            t += 0.5
            states.append(self.points(t, states[-1]))
        return states

    def points(self, t: float, near: list[_Point]) -> list[_Point]:
        """All states at this place; ``near`` holds those at a neighbouring one, as places to start from."""
        weights = self.law.at_capacity(t, self.W_bar)
        Q = self.Q(weights)
        guess = near[0].tree.means if len(near) == 1 else None
        trees = tree_responses(self.neuron, self.task, Q, guess)
        return [self.point(t, weights, Q, tree) for tree in trees]

    def Q(self, weights: CutMoments) -> float:
        """Mean squared weight [cap-Q]."""
        _, _, i1, i2 = weights
        return self.W_bar**2 * i2 / i1**2

    def stationary(self, one: _Point, other: _Point) -> _Point:
        """The state between two others at which the load is stationary."""
        # The ends are not computed again: rounding might give them the same sign if one of them is the root.
        met = {one.t: one, other.t: other}
        latest = one

        def stationarity(t: float) -> float:
            nonlocal latest
            if t not in met:
                met[t] = latest = self._near(t, latest)
            return met[t].stationarity

        root = bracketed_root(stationarity, one.t, other.t).at
        return met[root] if root in met else self._near(root, latest)

    def _near(self, t: float, point: _Point) -> _Point:
        weights = self.law.at_capacity(t, self.W_bar)
        Q = self.Q(weights)
        return self.point(t, weights, Q, tree_response(self.neuron, self.task, Q, point.tree.means))

    def point(
        self, t: float, weights: CutMoments, Q: float, tree: TreeResponse, state: ConstraintState | None = None
    ) -> _Point:
        """The equations at one place; with a state, derivatives are along its curve rather than in Q [cap-along]."""
        self.evaluations += 1
        dQ, unit = (1.0, 1.0) if state is None else (state.dQ, Q)
        B, A, i1, _ = weights
        C = (A * self.W_bar / i1) ** 2
        labels = self._free_of_margin
        if labels is None:
            labels = label_averages(self.task.f_out, self.task.kappa / math.sqrt(tree.Gamma0))
        alpha = C * tree.Gamma1 / (tree.Gamma0 * labels.second)  # [cap-load]
        # [cap-stationary], divided by C: the equation for A with alpha from the equation for C.
        wanted = A / C * dQ + tree.dGamma1 / tree.Gamma1
        given = tree.dGamma0 / tree.Gamma0 * labels.mass / labels.second
        scale = A / C * unit + abs(tree.dGamma1 / tree.Gamma1) + abs(given)
        return _Point(t, B, Q, C, A, tree, labels.shift, alpha, Q * (wanted - given), abs(wanted - given) / scale)

    def other(self, point: _Point, is_maximum: bool) -> OtherSolution:
        """A solution that is not the capacity."""
        kind = "maximum" if is_maximum else "minimum"
        return OtherSolution(point.alpha, point.B, point.Q, point.tree.means[0] / self.task.f_in, kind)

    def solution(self, point: _Point, others: tuple[OtherSolution, ...]) -> CapacitySolution:
        """The result for the user."""
        tree = point.tree
        check_tree_averages(self.neuron, self.task, point.Q, tree.means)
        reason = "the only solution of the equations"
        if others:
            reason = f"the largest of {len(others) + 1} stationary loads: weights may take any norm"
        W_star = math.sqrt(point.C) / point.A
        synapses = SynapseWeights(
            kind="excitatory",
            share=1.0,
            f_in=self.task.f_in,
            W_bar=self.W_bar,
            Q=point.Q,
            weights=CapacityWeights(point.B, W_star, self.given.prior.w_max),
            silent_fraction=tail(-point.B)[0],
        )
        alone = PopulationWeights(
            population=like_branches(self.neuron, self.task),
            preactivation_mean=tree.means[0],
            synapses=(synapses,),
            A=point.A,
            b=point.B * math.sqrt(point.C),
            c=(point.C,),
        )
        return CapacitySolution(
            neuron=self.given,
            task=self.task,
            rsb=0,
            branch_size=math.inf,
            alpha_c=point.alpha,
            populations=(alone,),
            mean_shift=point.shift * math.sqrt(tree.Gamma0),
            Gamma0=tree.Gamma0,
            Gamma1=tree.Gamma1,
            by_steps=(point.alpha,),
            residual=point.residual,
            iterations=self.evaluations,
            reason=reason,
            others=others,
        )


def _matched(before: list[_Point], here: list[_Point]) -> list[tuple[_Point, _Point]]:
    """Neighbouring states of the same branch of solutions, matched by their mean inputs."""
    if not before:
        return []
    return [(min(before, key=lambda old: abs(old.tree.means[0] - new.tree.means[0])), new) for new in here]


# Replica-symmetric capacity of several populations of branches, of any length.
#
# At capacity each population is described by one number B, as in the paper's case: B determines its weights, of all
# its types of synapses, up to their scale [inhibition-capacity]; the mean output determines its mean input, and with
# it its contributions R_p and Gamma_0p. The load
#
#     alpha = (sum_p x_p R_p)^2 / (Gamma_0 E I_2(tau)),    R_p = sqrt(length_p C_p Gamma_1p)             [pop-load]
#
# is maximised over all B_p. (The distances between replicas, which may differ between populations, are already
# optimised.) For a given ratio a = R / Gamma_0 the populations decouple: each maximises 2 R_p - a Gamma_0p.

PROBE = 1e-6  # finite differences in B

MOST_NEWTON, LONGEST_STEP = 40, 0.4

CONVERGED = 1e-9  # steps in B below this count as rounding; the load is stationary, so its error is the square


@dataclass(frozen=True)
class SymmetricSide:
    """One population at one B."""

    B: float
    m: float
    W_bar: float
    Q: float
    A: float
    C: float
    Gamma0: float
    Gamma1: float
    R: float  # sqrt(length C Gamma1)
    R_Q: float  # dR / dQ at the prescribed mean output
    Gamma0_Q: float  # likewise
    scale: float  # of the terms of R_Q, to judge what rounding leaves of it
    shapes: tuple[float, ...]  # B of each type of synapses

    @property
    def W_star(self) -> float:
        """Standard deviation of the Gaussian of weights before it is cut at zero."""
        return math.sqrt(self.C) / self.A


@dataclass(frozen=True)
class SymmetricState:
    """The capacity and the populations there."""

    alpha: float
    sides: tuple[SymmetricSide, ...]
    labels: LabelAverages
    Gamma0: float
    residual: float
    evaluations: int

    @property
    def gaps(self) -> tuple[float, ...]:
        """Distance of two replicas in each population, relative to that in the first."""
        own = [side.R / side.Gamma1 for side in self.sides]  # sqrt(length C / Gamma1)
        return tuple(one / own[0] for one in own)


class _Scan:
    """One population, and its states on a grid of B."""

    def __init__(self, population: Population) -> None:
        self.population = population
        self._kernel = PopulationKernel(population)
        self.states: list[SymmetricSide] = []
        self.evaluations = 0
        for B in B_GRID:
            state = self.at(B)
            if state is not None:
                self.states.append(state)

    def at(self, B: float, guess: float | None = None) -> SymmetricSide | None:
        """The state at B; None if no mean input gives the mean output."""
        self.evaluations += 1
        population = self.population
        shapes, A, W_star, ratio = at_capacity(population.types, B)  # the last is Q / W_bar^2 [cap-Q]
        try:
            m = self._kernel.mean_input(ratio, guess)
        except ConvergenceError:
            return None
        W_bar = population.W_bar(m)
        Q = ratio * W_bar**2
        norm = self._kernel.norm(m, Q, population.mean_output)
        C = (A * W_bar * W_star) ** 2
        m_Q = -norm.output_Q / norm.output_m
        R = math.sqrt(population.length * C * norm.Gamma1)
        # [pop-stationary]: d ln C / dQ and d ln Gamma_1 / dQ, with the mean input following Q
        by_C = (A + 2.0 * B * math.sqrt(C) * population.W_slope * m_Q) / C
        by_gain = (norm.Gamma1_Q + norm.Gamma1_m * m_Q) / norm.Gamma1
        return SymmetricSide(
            B=B,
            m=m,
            W_bar=W_bar,
            Q=Q,
            A=A,
            C=C,
            Gamma0=norm.Gamma0,
            Gamma1=norm.Gamma1,
            R=R,
            R_Q=0.5 * R * (by_C + by_gain),
            Gamma0_Q=norm.Gamma0_Q + norm.Gamma0_m * m_Q,
            scale=0.5 * R * (A / C + abs(by_gain)),
            shapes=shapes,
        )

    def near(self, B: float, side: SymmetricSide) -> SymmetricSide:
        """The state at B, near a known state."""
        state = self.at(B, side.m)
        if state is None:
            raise NoSolution(self._run_away())
        return state

    def best(self, a: float) -> tuple[SymmetricSide, SymmetricSide]:
        """Neighbours on the grid that enclose the highest maximum of 2 R - a Gamma_0, the better one first.

        The grid is extended until there is one. On short branches the load may grow again beyond its maximum, because
        the mean weight follows the mean input; only maxima count.
        """
        while True:
            misses = [_miss(state, a) for state in self.states]
            pairs = [
                sorted(pair, key=lambda state: a * state.Gamma0 - 2.0 * state.R)
                for pair, left, right in zip(pairwise(self.states), misses, misses[1:], strict=False)
                if left > 0.0 >= right
            ]
            if pairs:
                one, other = max(pairs, key=lambda pair: 2.0 * pair[0].R - a * pair[0].Gamma0)
                return one, other
            first, last = self.states[0], self.states[-1]
            if misses[0] <= 0.0:
                lower = self.at(first.B - 1.0, first.m) if B_LIMITS[0] < first.B else None
                if lower is None:
                    raise ConvergenceError(f"no norm of the weights is best for {self.population}", self.states)
                self.states.insert(0, lower)
            else:
                higher = self.at(last.B + 0.5, last.m) if B_LIMITS[1] > last.B else None
                if higher is None:
                    raise NoSolution(self._run_away())
                self.states.append(higher)

    def _run_away(self) -> str:
        population = self.population
        return (
            f"the replica-symmetric load of branches with {population.branch_size:.6g} synapses has no maximum: it "
            f"grows with the weights without bound. At mean output {population.mean_output:g} the mean input grows in "
            "proportion to the weights, so that theta_d no longer limits them. One step of symmetry breaking (rsb=1) "
            "has a solution"
        )


def _miss(state: SymmetricSide, a: float) -> float:
    """d(2 R - a Gamma_0)/dQ, which vanishes at the best state [pop-stationary]."""
    return 2.0 * state.R_Q - a * state.Gamma0_Q


def symmetric_state(
    populations: Sequence[Population], task: TaskSpec, mean_shift: float | None = None
) -> SymmetricState:
    """The largest load over the norms of all populations, at their prescribed mean outputs.

    The shift Delta of the mean somatic input is the one that balances the labels, unless it is given.
    """
    scans = [_Scan(population) for population in populations]
    x = np.array([population.fraction for population in populations])
    free_of_margin = label_averages(task.f_out, 0.0) if task.kappa == 0.0 and mean_shift is None else None

    def sums(sides: Sequence[SymmetricSide]) -> tuple[float, float, LabelAverages]:
        R, Gamma0 = float(x @ [side.R for side in sides]), float(x @ [side.Gamma0 for side in sides])
        if free_of_margin is not None:
            return R, Gamma0, free_of_margin
        root = math.sqrt(Gamma0)
        return (
            R,
            Gamma0,
            label_averages(task.f_out, task.kappa / root, None if mean_shift is None else mean_shift / root),
        )

    def ratio(sides: Sequence[SymmetricSide]) -> float:
        """The a at which [pop-stationary] gives d alpha = 0; d(Gamma_0 E I_2)/dGamma_0 is E H."""
        R, Gamma0, labels = sums(sides)
        return labels.mass / labels.second * R / Gamma0

    # On the grid first: a follows from the best states, the best states from a, and the load grows in every iteration.
    sides = [scan.states[len(scan.states) // 2] for scan in scans]
    for _ in range(50):
        a = ratio(sides)
        pairs = [scan.best(a) for scan in scans]
        better = [one for one, _ in pairs]
        if better == sides:
            break
        sides = better
    starts = []
    for scan, (one, other) in zip(scans, pairs, strict=True):  # a straight line through the two neighbours
        here, there = _miss(one, a), _miss(other, a)
        starts.append(scan.near(one.B + (other.B - one.B) * here / (here - there), one))
    sides = _polished(scans, starts, ratio)
    R, Gamma0, labels = sums(sides)
    a = ratio(sides)
    return SymmetricState(
        alpha=R**2 / (Gamma0 * labels.second),
        sides=tuple(sides),
        labels=labels,
        Gamma0=Gamma0,
        residual=max(abs(_miss(side, a)) / (2.0 * side.scale + abs(a * side.Gamma0_Q)) for side in sides),
        evaluations=sum(scan.evaluations for scan in scans),
    )


def symmetric_state_at(population: Population, task: TaskSpec, theta_s: float, n_branches: float) -> SymmetricState:
    """The largest load of equal branches with mean output theta_s + Delta / sqrt(K), over norm and mean [mean-K]."""
    from scipy.optimize import minimize_scalar

    low, high = population.nonlinearity.range
    root = math.sqrt(n_branches)
    alike = symmetric_state([replace(population, branch_size=math.inf)], task)
    guess = alike.labels.shift * math.sqrt(alike.Gamma0)

    def at(Delta: float) -> SymmetricState:
        return symmetric_state([replace(population, mean_output=theta_s + Delta / root)], task, Delta)

    ends = sorted((0.0, 3.0 * guess))
    ends = [max(ends[0], 0.999 * (low - theta_s) * root), min(ends[1], 0.999 * (high - theta_s) * root)]

    def miss(Delta: float) -> float:
        try:
            return -at(Delta).alpha
        except NoSolution:  # short branches may have no maximum at this output, but at others
            return 0.0

    best = minimize_scalar(miss, bounds=ends, method="bounded", options={"xatol": 1e-9})
    return at(float(best.x))


def _polished(
    scans: Sequence[_Scan], sides: list[SymmetricSide], ratio: Callable[[Sequence[SymmetricSide]], float]
) -> list[SymmetricSide]:
    """Newton's method on all B together, from the best states of the grid."""

    def misses(at: Sequence[SymmetricSide]) -> Floats:
        a = ratio(at)
        return np.array([_miss(side, a) / side.scale for side in at])

    here = misses(sides)
    jacobian = np.empty((len(sides), len(sides)))
    for column, (scan, side) in enumerate(zip(scans, sides, strict=True)):
        probe = list(sides)
        probe[column] = scan.near(side.B + PROBE, side)
        jacobian[:, column] = (misses(probe) - here) / PROBE
    for _ in range(MOST_NEWTON):
        step = np.linalg.solve(jacobian, -here)
        step *= min(1.0, LONGEST_STEP / max(float(np.max(np.abs(step))), 1e-300))
        sides = [scan.near(side.B + change, side) for scan, side, change in zip(scans, sides, step, strict=True)]
        here = misses(sides)
        if float(np.max(np.abs(step))) < CONVERGED:
            return sides
        # Broyden's update: the remaining residual is the error of the Jacobian along this step.
        jacobian += np.outer(here, step) / float(step @ step)
    raise ConvergenceError(f"the replica-symmetric capacity was not found: stationarity is missed by {here}", sides)
