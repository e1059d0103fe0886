"""Clusters of solutions: typical solutions between the load at which replica symmetry breaks and capacity.

The curve of solutions is known at both ends: at capacity from `critical_capacity`, at the other end from
`stability_limit`. It is followed from capacity downwards, in steps of ln (alpha_c - alpha) / (alpha - alpha_AT), along
which all unknowns change evenly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model import NeuronSpec, TaskSpec
from dendrocap.numerics.types import Floats
from dendrocap.theory import scope
from dendrocap.theory.broken import BrokenEquations, BrokenState
from dendrocap.theory.cascade import measure
from dendrocap.theory.neuron_kernel import like_branches
from dendrocap.theory.patterns import HARD_MARGIN
from dendrocap.theory.results import estimate_name
from dendrocap.theory.saddle_point import SaddlePoint, saddle_point, stability_limit
from dendrocap.theory.search import Found, population_capacity
from dendrocap.theory.solution import PopulationWeights, SynapseWeights
from dendrocap.theory.solver import followed, newton
from dendrocap.theory.weights import in_fields
from dendrocap.validation import real_number, whole_number

RATIOS = 10.0 ** np.arange(3, 10)  # q_hat_k / A_hat at which the curve starts near capacity

ROUNDING = 1e-10  # of a complexity that vanishes

ACCEPTED = 1e-8  # largest relative residual of a solution

Conditions = Callable[[BrokenState], Floats]


@dataclass(frozen=True)
class ComplexityCurve(Displayed):
    """Number of clusters of each size, in one step of breaking.

    Attributes
    ----------
    alpha : float
        Patterns per synapse.
    m : array
        Breaking parameters; each selects clusters of one size.
    internal_entropy : array
        Logarithm of the volume of such a cluster, per weight.
    complexity : array
        Logarithm of the number of such clusters, per weight; zero at the largest clusters that exist.
    q1, q0 : array
        Overlap of two solutions in the same cluster, and in two different ones.
    physical : array of bool
        Whether such clusters exist. A larger m selects larger clusters; solutions of the equations that contradict
        this, or have a negative complexity, do not describe clusters.
    neuron, task
        The inputs.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, SaturatingReLU
    >>> curve = complexity_curve(NeuronSpec(SaturatingReLU(), 0.5, 0.5), alpha=1.2, m=[0.2, 0.15])
    >>> bool(curve.complexity[1] > curve.complexity[0] > 0.0)  # smaller clusters are more numerous
    True
    """

    _displayed = ("alpha", "estimate")

    alpha: float
    m: Floats
    internal_entropy: Floats
    complexity: Floats
    q1: Floats
    q0: Floats
    physical: NDArray[np.bool_]
    neuron: NeuronSpec
    task: TaskSpec

    @property
    def estimate(self) -> str:
        """The name of this estimate."""
        return estimate_name(1)


def broken_saddle_point(neuron: NeuronSpec, task: TaskSpec | None = None, *, alpha: float, rsb: int = 1) -> SaddlePoint:
    """Typical solutions at load ``alpha`` with ``rsb`` steps of replica symmetry breaking.

    Below the load of `stability_limit` all solutions form one cloud, described by `saddle_point`. Above it they form
    clusters: two solutions have one of several overlaps. Branches are infinitely many, long and equal.

    Parameters
    ----------
    neuron : NeuronSpec
        One level or several; g must not jump.
    task : TaskSpec, optional
        Coding levels, margin and correlation of inputs; by default 1/2, 1/2, 0 and 0.
    alpha : float
        Patterns per synapse, below the capacity with the same number of steps.
    rsb : int
        Steps of breaking, at least 1.

    Raises
    ------
    NoSolution
        If ``alpha`` is not below the capacity with ``rsb`` steps.
    ConvergenceError
        If the curve of solutions could not be followed to this load.

    Notes
    -----
    Solves [clusters-q], [clusters-norm], [clusters-m] and [clusters-shift].

    Examples
    --------
    >>> from dendrocap import Polsky
    >>> neuron = NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.5)
    >>> point = broken_saddle_point(neuron, alpha=1.5)
    >>> round(point.free_entropy, 4), round(point.symmetric_free_entropy, 4)
    (-0.7533, -0.6902)
    """
    task = scope.check("broken_saddle_point", neuron, task)
    alpha, rsb = real_number("alpha", alpha, 0.0), whole_number("rsb", rsb, 1)
    stable_to = stability_limit(neuron, task).alpha
    if alpha <= stable_to:
        point = saddle_point(neuron, task, alpha=alpha)
        phi = point.free_entropy
        return replace(point, rsb=rsb, internal_entropy=phi, symmetric_free_entropy=phi)
    curve = _Curve(neuron, task, rsb, stable_to)
    found = curve.at(alpha)
    return curve.described(found, alpha)


def complexity_curve(
    neuron: NeuronSpec, task: TaskSpec | None = None, *, alpha: float, m: Sequence[float]
) -> ComplexityCurve:
    """Number and size of clusters at a load, one pair for each breaking parameter m.

    Parameters
    ----------
    neuron, task
        As in `broken_saddle_point`.
    alpha : float
        Patterns per synapse, between the load of `stability_limit` and the capacity with one step of breaking.
    m : sequence of float
        Breaking parameters in (0, 1). At that of the typical solutions the complexity vanishes; smaller ones select
        smaller and more numerous clusters, larger ones clusters that exist only in rare tasks.

    Examples
    --------
    >>> from dendrocap import SaturatingReLU
    >>> neuron = NeuronSpec(SaturatingReLU(), 0.5, 0.5)
    >>> (typical,) = broken_saddle_point(neuron, alpha=1.2).breaking_points
    >>> bool(abs(complexity_curve(neuron, alpha=1.2, m=[typical]).complexity[0]) < 1e-10)
    True
    """
    task = scope.check("complexity_curve", neuron, task)
    alpha = real_number("alpha", alpha, 0.0)
    wanted = [real_number("m", one, 0.0, 1.0, low_open=True, high_open=True) for one in m]
    stable_to = stability_limit(neuron, task).alpha
    if alpha <= stable_to:
        raise NoSolution(f"alpha = {alpha:g} is not above {stable_to:.6g}, where solutions begin to form clusters")
    curve = _Curve(neuron, task, 1, stable_to)
    typical = curve.at(alpha)
    states: dict[float, tuple[BrokenState, bool]] = {}
    above = [one for one in wanted if one > typical.state.mu[0]]
    # From the typical clusters outwards, on either side.
    for side in (sorted(above), sorted(set(wanted) - set(above), reverse=True)):
        near = typical
        for one in side:
            near = curve.with_m(near, alpha, one)
            larger = curve.with_m(near, alpha, one + min(1e-4 * one, 0.5 * (1.0 - one))).state
            states[one] = near.state, larger.internal_entropy > near.state.internal_entropy
    chosen = [states[one][0] for one in wanted]
    complexity = np.array([state.complexity for state in chosen])
    return ComplexityCurve(
        alpha=alpha,
        m=np.array(wanted),
        internal_entropy=np.array([state.internal_entropy for state in chosen]),
        complexity=complexity,
        q1=np.array([state.sides[0].q[1] for state in chosen]),
        q0=np.array([state.sides[0].q[0] for state in chosen]),
        physical=np.array([states[one][1] for one in wanted]) & (complexity > -ROUNDING),
        neuron=neuron,
        task=task,
    )


class _Curve:
    """Solutions with k steps of breaking between the end of stability and capacity."""

    def __init__(self, neuron: NeuronSpec, task: TaskSpec, k: int, stable_to: float) -> None:
        self.neuron, self.task, self.k, self.stable_to = neuron, task, k, stable_to
        capacity = population_capacity(neuron, task, k)
        if capacity.k < k:
            raise NoSolution(f"there is no solution with {k} step(s) of breaking: {capacity.reason}")
        self.alpha_c, self._at_capacity = capacity.by_steps[k], capacity.ladder[k - 1].state
        population = like_branches(neuron, task)
        self.equations = BrokenEquations([population], task, neuron.theta_s, k, at_capacity=False)

    def at(self, alpha: float) -> Found:
        """The typical solutions at a load."""
        if not self.stable_to < alpha < self.alpha_c:
            raise NoSolution(
                f"alpha = {alpha:g} is not below {self.alpha_c:.10g}, the capacity with {self.k} step(s) of breaking"
            )

        def at_load(y: float) -> Conditions:
            load = self.stable_to + (self.alpha_c - self.stable_to) / (1.0 + math.exp(y))
            return lambda state: np.append(state.residuals, math.log(state.alpha / load))

        found = self._next_to_capacity(alpha)
        return self._followed(found, self._place(found.state.alpha), self._place(alpha), at_load)

    def with_m(self, found: Found, alpha: float, m: float) -> Found:
        """Clusters selected by another m, from neighbouring ones."""

        def at_m(y: float) -> Conditions:
            return lambda state: np.array(
                [*np.delete(state.residuals, state.of_mu), math.log(state.alpha / alpha), math.log(state.mu[0]) - y]
            )

        return self._followed(found, math.log(found.state.mu[0]), math.log(m), at_m)

    def described(self, found: Found, alpha: float) -> SaddlePoint:
        """The public result, with the residual by a finer rule."""
        state, side = found.state, found.state.sides[0]
        finer = self.equations.with_levels(self.k, finer=True).state(found.x)
        try:
            symmetric = saddle_point(self.neuron, self.task, alpha=alpha).free_entropy
        except (NoSolution, ConvergenceError):
            symmetric = math.nan
        one, q, c = self.equations.populations[0], side.q.tolist(), side.c.tolist()
        root = math.sqrt(side.A)
        h, mass = measure(1.0, -side.b / root, np.diff(side.c, prepend=0.0) / side.A, state.mu, smooth=True)
        weights = SynapseWeights(
            kind="excitatory",
            share=1.0,
            f_in=one.f_in,
            W_bar=one.W_bar(side.m),
            Q=side.Q,
            weights=in_fields(side.A, h * root, mass),  # none is exactly zero below capacity
            q=q[-1],
            dq=side.dq,
            A_hat=side.A,
            q_hat=c[-1],
            M_hat=-side.b,
        )
        return SaddlePoint(
            neuron=self.neuron,
            task=self.task,
            branch_size=math.inf,
            channel=HARD_MARGIN,
            alpha=alpha,
            populations=(PopulationWeights(one, side.m, (weights,), c=tuple(c), overlaps=tuple(q)),),
            free_entropy=float(state.potential),
            energetic_term=math.nan,
            mean_shift=state.shift * math.sqrt(state.Gamma0),
            stability=math.nan,
            residual=float(np.max(np.abs([*finer.residuals, finer.alpha / alpha - 1.0]))),
            error=math.nan,
            iterations=self.equations.evaluations,
            kernel=None,
            rsb=self.k,
            breaking_points=tuple(state.mu.tolist()),
            internal_entropy=state.internal_entropy,
            symmetric_free_entropy=symmetric,
        )

    def _place(self, alpha: float) -> float:
        """Position of a load on the curve: minus infinity at capacity, infinity at the end of stability."""
        return math.log((self.alpha_c - alpha) / (alpha - self.stable_to))

    def _next_to_capacity(self, alpha: float) -> Found:
        """A solution at a load above ``alpha``, where the scaled unknowns are almost those of the capacity."""
        side, shift = self._at_capacity.sides[0], self._at_capacity.shift
        for log_ratio in np.log(RATIOS).tolist():
            x = self.equations.pack([side.unknowns._replace(log_ratio=log_ratio)], [side.m], shift)

            def at_ratio(state: BrokenState, wanted: float = log_ratio) -> Floats:
                return np.append(state.residuals, (state.sides[0].unknowns.log_ratio or 0.0) - wanted)

            solved = newton(self._residuals(at_ratio), x)
            if solved.residual < ACCEPTED:
                state = self.equations.state(solved.x)
                if state.in_order and alpha <= state.alpha < self.alpha_c:
                    return Found(solved.x, state, solved.residual)
        raise ConvergenceError(
            f"no solution was found between alpha = {alpha:.10g} and the capacity {self.alpha_c:.10g}, the load is too "
            "close to capacity: use critical_capacity(neuron, task, rsb=...) there",
            None,
        )

    def _followed(self, found: Found, here: float, goal: float, conditions: Callable[[float], Conditions]) -> Found:
        """The solution at ``goal``, reached in steps that are as long as Newton's method allows."""
        *_, last = followed(
            lambda y: self._residuals(conditions(y)),
            found.x,
            here,
            goal,
            accepted=lambda place: self.equations.state(place.x).in_order,
            longest=1.0,
        )
        state = self.equations.state(last.x)
        if last.at == goal:
            return Found(last.x, state, last.residual)
        raise ConvergenceError(
            f"the curve of solutions with {self.k} step(s) of breaking was lost at alpha = {state.alpha:.6g}. Clusters "
            f"begin at {self.stable_to:.6g}; very close to that load they are almost one cloud, which "
            "saddle_point(neuron, task, alpha=...) describes",
            state,
        )

    def _residuals(self, conditions: Conditions) -> Callable[[Floats], Floats]:
        return lambda at: conditions(self.equations.state(at))
