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
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple

from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model import NeuronSpec, TaskSpec
from dendrocap.numerics._compiled import tail
from dendrocap.theory.constraint_curve import ConstraintCurve, ConstraintState, needs_constraint_curve
from dendrocap.theory.estimates import SYMMETRIC
from dendrocap.theory.labels import label_averages
from dendrocap.theory.response import (
    TreeResponse,
    check_capacity_inputs,
    check_tree_averages,
    common_variance,
    tree_response,
    tree_responses,
)
from dendrocap.theory.roots import bracketed_root
from dendrocap.theory.saturation.at_capacity import CutMoments, check_mean_weight, cut_moments
from dendrocap.theory.weight_distributions import CapacityWeights, Preactivation

__all__ = ["CapacitySolution", "OtherSolution", "symmetric_capacity"]

# Initial grid of B. From one value to the next the width of the branch input changes by a factor below two.
# alpha(Q) vanishes for Q -> W_bar^2 (B -> -inf) and for Q -> inf (B -> inf): the grid is extended at either end until
# the load decreases there.
B_GRID = (-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
B_LIMITS = (-8.0, 30.0)
ALL_OR_NONE = 1e-4  # w_max / W_star at which bounded weights count as 0 or w_max, each of them


@dataclass(frozen=True)
class OtherSolution(Displayed):
    """A stationary load other than the capacity, such as a minimum between two maxima of alpha(Q)."""

    _displayed = ("alpha", "kind", "B", "Q", "M_bar")

    alpha: float
    B: float
    Q: float
    M_bar: float
    kind: str  # "maximum" or "minimum" of alpha(Q)


@dataclass(frozen=True)
class CapacitySolution(Displayed):
    """The critical capacity of a neuron and the state of its synapses there.

    Attributes
    ----------
    alpha_c : float
        Patterns per synapse, P / N, above which no weights of equal branches solve a random task, in this estimate.
    silent_fraction : float
        p0 = H(-B), the fraction of weights that are exactly zero.
    saturated_fraction : float
        Fraction of weights that are as large as the prior allows; 0 without a bound.
    B, W_star : float
        Shape and scale of the positive weights: a Gaussian of standard deviation ``W_star`` and mean
        ``-B W_star``, cut at zero and at the largest weight.
    W_bar, Q : float
        Mean weight and mean squared weight.
    A, C : float
        Scaled conjugate order parameters of the paper.
    M_bar, mean_shift : float
        Correction to the mean weight that the somatic threshold requires, and the shift Delta of the mean somatic
        input that unequal labels require.
    preactivation_mean, preactivation_sd : float
        Parameters of the normal distribution of a branch's summed input (first level).
    Gamma0, Gamma1 : float
        Variance at the soma, and gain of a small difference between two solutions.
    residual : float
        Relative difference of the two equations for the load, both of which must give ``alpha_c``.
    iterations : int
        Number of evaluations of the dendrites' response.
    other_solutions : tuple of OtherSolution
        Further solutions of the same equations, if any.
    selection : str
        Why this solution is the physical one.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, ReLU, critical_capacity
    >>> solution = critical_capacity(NeuronSpec(ReLU(), theta_d=0.5, theta_s=0.5))
    >>> round(solution.alpha_c, 5), round(solution.silent_fraction, 5)
    (1.34306, 0.57867)
    >>> round(solution.weights.mean(), 12) == solution.W_bar, solution.residual < 1e-12
    (True, True)
    >>> solution.selection
    'the only solution of the equations'
    """

    _displayed = ("alpha_c", "estimate", "silent_fraction", "W_bar", "Q", "residual", "selection")

    estimate: ClassVar[str] = SYMMETRIC  # the name of this estimate of the capacity

    neuron: NeuronSpec
    task: TaskSpec
    alpha_c: float
    silent_fraction: float
    B: float
    W_star: float
    W_bar: float
    Q: float
    A: float
    C: float
    M_bar: float
    mean_shift: float
    preactivation_mean: float
    preactivation_sd: float
    Gamma0: float
    Gamma1: float
    residual: float
    iterations: int
    other_solutions: tuple[OtherSolution, ...] = ()
    selection: str = ""
    saturated_fraction: float = 0.0

    @property
    def weights(self) -> CapacityWeights:
        """The distribution of weights at capacity."""
        return CapacityWeights(self.B, self.W_star, self.neuron.prior.w_max)

    @property
    def common_variance(self) -> float:
        """chi, the part of the variance of a branch's input that correlated inputs make in every solution."""
        return common_variance(self.neuron.with_usual_prior, self.task)

    def _shown(self) -> tuple[str, ...]:
        if self.neuron.prior.w_max == math.inf:
            return self._displayed
        at = self._displayed.index("silent_fraction") + 1
        return (*self._displayed[:at], "saturated_fraction", *self._displayed[at:])

    @property
    def preactivation(self) -> Preactivation:
        """The distribution of a branch's summed input at capacity."""
        return Preactivation(self.preactivation_mean, self.preactivation_sd)


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
        return problem.point(state.B, cut_moments(state.B), state.Q, state.tree(constraint.v), state)

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
        check_mean_weight(self.W_bar, neuron.prior.w_max)
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
        weights = cut_moments(t, self.largest)
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
        weights = cut_moments(t, self.largest)
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
        selection = "the only solution of the equations"
        if others:
            selection = f"the largest of {len(others) + 1} stationary loads: weights may take any norm"
        W_star, w_max = math.sqrt(point.C) / point.A, self.given.prior.w_max
        return CapacitySolution(
            neuron=self.given,
            task=self.task,
            alpha_c=point.alpha,
            silent_fraction=tail(-point.B)[0],
            B=point.B,
            W_star=W_star,
            W_bar=self.W_bar,
            Q=point.Q,
            A=point.A,
            C=point.C,
            M_bar=tree.means[0] / self.task.f_in,
            mean_shift=point.shift * math.sqrt(tree.Gamma0),
            preactivation_mean=tree.means[0],
            preactivation_sd=tree.sd,
            Gamma0=tree.Gamma0,
            Gamma1=tree.Gamma1,
            residual=point.residual,
            iterations=self.evaluations,
            other_solutions=others,
            selection=selection,
            saturated_fraction=0.0 if w_max == math.inf else tail(point.B + w_max / W_star)[0],
        )


def _matched(before: list[_Point], here: list[_Point]) -> list[tuple[_Point, _Point]]:
    """Neighbouring states of the same branch of solutions, matched by their mean inputs."""
    if not before:
        return []
    return [(min(before, key=lambda old: abs(old.tree.means[0] - new.tree.means[0])), new) for new in here]
