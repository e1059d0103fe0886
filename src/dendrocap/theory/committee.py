"""The tree committee machine: the same equations for weights of either sign on a sphere.

A special case with published values. The input of a branch is a standard normal variable, and the somatic threshold
balances the mean output of the branches, so that only the covariance of g matters. Deeper trees are compositions of
kernels, as for the neuron [tree]: the threshold of each level balances the mean output of the level below, so that its
input is normal with mean zero and the variance of those outputs [committee-tree].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model import Nonlinearity, TaskSpec
from dendrocap.numerics.types import Floats
from dendrocap.theory import scope
from dendrocap.theory.broken import BrokenEquations, BrokenState
from dendrocap.theory.dendrite import (
    BranchKernel,
    PairKernel,
    Response,
    gaussian_expectation,
    prepared,
)
from dendrocap.theory.load import balanced_shift
from dendrocap.theory.neuron_kernel import Norm, Overlap, Population, PopulationKernel, composed
from dendrocap.theory.patterns import Energetic, label_averages
from dendrocap.theory.results import estimate_name
from dendrocap.theory.search import Found, first_step, further_step, near
from dendrocap.theory.solver import bracketed_root, evaluated, extrapolated
from dendrocap.validation import refuse

FULL = 4  # steps from which the limit of many is extrapolated

ORTHOGONAL = -30.0  # ln c_0 / c_1 that represents q_0 = 0: its effect is proportional, 1e-13

VANISHED = 1e-20  # (E g')^2 below which it counts as zero

TINY = 1e-9  # an overlap that represents zero in the kernel


class _Centred(BranchKernel):
    """The kernel of a branch whose input has mean zero, for any mean output."""

    def response(self, V: float) -> Response:
        moments = prepared(self.nonlinearity)(self.threshold, math.sqrt(V), 0.0)
        return Response(0.0, moments.slope, moments.variance, moments.gain, 0.0, math.nan, math.nan)


class CommitteeSoma(PopulationKernel):
    """The covariance at the soma for two normal inputs of the first level, of variance Q and overlap q."""

    def __init__(self, levels: tuple[Nonlinearity, ...], Q: float) -> None:
        # Inputs of variance 1, for weights of mean square 1.
        self.population = Population(levels[0], 0.0, 0.5, 1.0, 1.0, 0.0, math.inf)
        self._levels: list[_Centred] = []
        self.slope_squared, variance = 1.0, Q  # C'(0)
        for g in levels:
            mean = gaussian_expectation(g, sd=math.sqrt(variance), knots=g.knots).value
            self._levels.append(_Centred(g, mean))
            found = self._levels[-1].response(variance)
            self.slope_squared *= found.slope**2
            variance = found.variance

    def norm(self, m: float, Q: float, output: float | None = None) -> Norm:
        """Variance at the soma and gain of small differences; derivatives are not needed on a sphere."""
        variance, gain = Q, 1.0
        for level in self._levels:
            found = level.response(variance)
            variance, gain = found.variance, gain * found.gain
        return Norm(0.0, 1.0, 0.0, variance, math.nan, math.nan, gain, math.nan, math.nan)

    def pair(self, Q: float, dq: float) -> PairKernel:
        """Everything at the overlap Q - dq."""
        return composed(self._levels, Q, dq, 1.0)

    def overlap(self, m: float, Q: float, dq: float, at_norm: Norm) -> Overlap:
        """The kernel at the overlap Q - dq."""
        pair = self.pair(Q, dq)
        # For nearly orthogonal replicas the small covariance is accurate, the difference is not.
        difference = pair.D1 if pair.D0 > 1e-6 * pair.D1 else at_norm.Gamma0 - pair.D0
        # C'(0) vanishes if E g' does; its logarithm is needed in any case.
        C_q, unused = max(pair.dD1_ddq, 1e-300), math.nan
        return Overlap(difference, unused, unused, C_q, unused, unused, unused)


class OrthogonalClusters(BrokenEquations):
    """The equations with q_0 = 0, which solves that for c_0 if C'(0) = 0: there c_0 is given instead."""

    def state(self, x: Floats) -> BrokenState:
        found = super().state(x)
        residuals = found.residuals.copy()
        residuals[0] = x[self.k] - ORTHOGONAL
        return replace(found, residuals=residuals)


@dataclass(frozen=True)
class CommitteeCapacity(Displayed):
    """Capacity of the tree committee machine in the limit of many branches.

    Attributes
    ----------
    alpha_c : float
        Patterns per weight.
    by_steps : tuple of float
        The same with 0, 1, ... steps of breaking, as far as solutions were found.
    breaking_points, overlaps : tuple of float
        mu_1 ... mu_k and q_0 ... q_{k-1}, for weights of mean square one.
    residual : float
        Largest relative residual of the equations.
    task : TaskSpec
        Labels and margin.
    reason : str
        Why there are fewer steps than asked for, if there are.

    Examples
    --------
    >>> from dendrocap import ReLU
    >>> from dendrocap.theory import committee_capacity
    >>> found = committee_capacity(ReLU(), rsb=1)
    >>> [round(alpha, 4) for alpha in found.by_steps]
    [2.9339, 2.6643]
    """

    _displayed = ("alpha_c", "estimates", "residual")

    nonlinearity: Nonlinearity | tuple[Nonlinearity, ...]
    alpha_c: float
    by_steps: tuple[float, ...]
    breaking_points: tuple[float, ...]
    overlaps: tuple[float, ...]
    residual: float
    task: TaskSpec = field(default_factory=TaskSpec)
    reason: str = ""

    @property
    def estimates(self) -> dict[str, float]:
        """The capacities with 0, 1, ... steps, by name."""
        return {estimate_name(steps): alpha for steps, alpha in enumerate(self.by_steps)}


def committee_capacity(
    g: Nonlinearity | Sequence[Nonlinearity], rsb: int | str = 1, task: TaskSpec | None = None
) -> CommitteeCapacity:
    """Capacity of the tree committee machine with spherical weights and g as its hidden unit.

    Parameters
    ----------
    g : Nonlinearity or sequence of Nonlinearity
        Non-linearity of the hidden units, whose inputs are standard normal; or one for each level, from the inputs to
        the output. Only the first level learns; the input of every other level is normal with mean zero and the
        variance of the outputs below [committee-tree].
    rsb : int or "full"
        Steps of replica symmetry breaking, or the limit of many, extrapolated from four.
    task : TaskSpec, optional
        Fraction of labels 1 and margin; by default 1/2 and 0. The inputs have mean zero, so f_in has no meaning.

    Raises
    ------
    NoSolution
        If g jumps.

    Notes
    -----
    If E g' = 0, as for x^2 or the third Hermite polynomial, q_0 = 0 solves its equation. It is compared with
    solutions of q_0 > 0, and the smaller load is taken: the load is a minimum over the overlaps.

    Examples
    --------
    >>> from dendrocap import Linear, ReLU
    >>> round(committee_capacity(ReLU(), rsb=1).alpha_c, 4)  # Baldassi, Malatesta and Zecchina 2019: 2.6643
    2.6643
    >>> round(committee_capacity([ReLU(), Linear()], rsb=1).alpha_c, 4)  # a linear upper level changes nothing
    2.6643
    >>> round(committee_capacity([ReLU(), ReLU()], rsb=1).alpha_c, 4)
    3.2625
    """
    steps = FULL if rsb == "full" else rsb
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 0:
        raise refuse("rsb", rsb, 'a whole number >= 0, or "full"')
    task, levels = TaskSpec() if task is None else task, _levels(g)
    scope.check("committee_capacity", task=task)
    soma = CommitteeSoma(levels, 1.0)
    norm = soma.norm(0.0, 1.0)
    labels = label_averages(task.f_out, task.kappa / math.sqrt(norm.Gamma0))
    known = [norm.Gamma1 / (norm.Gamma0 * labels.second)]
    shown = levels[0] if len(levels) == 1 else levels
    # A linear unit is a perceptron, whose solutions form one convex set: all steps coincide.
    if steps == 0 or (norm.Gamma1 - norm.Gamma0 < 1e-12 * norm.Gamma0 and task.kappa >= 0.0):
        return CommitteeCapacity(shown, known[0], (known[0],) * (steps + 1), (), (), 0.0, task)
    equations = BrokenEquations([soma.population], task, 0.0, 1, kernels=[soma], sphere=1.0)
    found, orthogonal = first_step(equations), _orthogonal_clusters(equations)
    if orthogonal is not None and (found is None or orthogonal.state.alpha < found.state.alpha):
        found = orthogonal
        if soma.slope_squared < VANISHED:
            equations = OrthogonalClusters([soma.population], task, 0.0, 1, kernels=[soma], sphere=1.0)
    if found is None:
        raise ConvergenceError(f"no solution with one step of breaking was found for {shown!r}", known)
    known.append(found.state.alpha)
    reason = ""
    while equations.k < steps:
        equations = equations.with_levels(equations.k + 1)
        further = further_step(equations, found)
        if further is None or not further.state.alpha < found.state.alpha:
            reason = f"no solution with {equations.k} levels was found below that with {equations.k - 1}"
            break
        found = further
        known.append(found.state.alpha)
    alpha = extrapolated(known).value if rsb == "full" and len(known) > 2 else found.state.alpha
    mu, q = tuple(map(float, found.state.mu)), tuple(map(float, found.state.sides[0].q[:-1]))
    if isinstance(equations, OrthogonalClusters):
        q = (0.0, *q[1:])
    return CommitteeCapacity(shown, alpha, tuple(known), mu, q, found.residual, task, reason)


def _levels(g: Nonlinearity | Sequence[Nonlinearity]) -> tuple[Nonlinearity, ...]:
    """The units of each level, after checking them."""
    levels = (g,) if isinstance(g, Nonlinearity) else tuple(g)
    if not levels or not all(isinstance(one, Nonlinearity) for one in levels):
        raise refuse("g", g, "a Nonlinearity, or a sequence of them from the inputs to the output")
    for one in levels:
        if one.has_jumps:
            raise NoSolution(f"the capacity of {one!r} grows with the number of branches without limit: g jumps")
    return levels


def _orthogonal_clusters(equations: BrokenEquations) -> Found | None:
    """The one-step solution with q_0 = 0, or that of small q_0 near it; None if there is none.

    With q_0 = 0 the equation for c_0 is solved if C'(0) = (E g')^2 vanishes, and that for mu is one equation for the
    tilt. Where C'(0) is small, c_0 = alpha C'(0) E f'^2 is a first guess at the solution with q_0 > 0.
    """
    (soma,) = equations.kernels
    assert isinstance(soma, CommitteeSoma)

    def at(logit: float, log_ratio: float = ORTHOGONAL) -> Floats:
        rest = [label_averages(equations.task.f_out, 0.0).shift] if equations.with_shift else []
        return np.array([logit, log_ratio, *rest])

    if equations.with_shift:
        return None  # the shift is another unknown; q_0 = 0 is searched for only with equal labels
    grid = np.linspace(-8.0, 12.0, 41)
    misses = [miss if (miss := evaluated(equations.residuals, at(logit))) is not None else None for logit in grid]
    for i in range(len(grid) - 1):
        one, other = misses[i], misses[i + 1]
        # The load is a minimum over mu where the residual of mu changes its sign; both directions are searched.
        if one is None or other is None or one[1] * other[1] > 0.0:
            continue
        logit = bracketed_root(lambda logit: float(equations.residuals(at(logit))[1]), grid[i], grid[i + 1]).at
        state = equations.state(at(logit))
        if soma.slope_squared < VANISHED:
            return Found(at(logit), state, abs(float(state.residuals[1])))
        # residual = ln(C'(q_0) r_0^2 / (Gamma_1 r_1^2)) - ln(c_0 / c_1), at a c_0 too small to matter
        guess = at(logit, min(float(state.residuals[0]) + ORTHOGONAL, -1.0))
        found = near(equations, guess, reach=12.0, most=40)
        if found is not None:
            return found
    return None


def committee_stability(g: Nonlinearity | Sequence[Nonlinearity], task: TaskSpec | None = None) -> float:
    """The load at which replica symmetry of the tree committee machine becomes unstable [committee-at].

    Parameters
    ----------
    g : Nonlinearity or sequence of Nonlinearity
        Non-linearity of the hidden units, or of each level from the inputs to the output.
    task : TaskSpec, optional
        Fraction of labels 1 and margin; by default 1/2 and 0.

    Returns
    -------
    float
        Infinite if replica symmetry is stable up to its capacity.

    Examples
    --------
    >>> from dendrocap import Custom, Linear
    >>> square = Custom(lambda x: x * x, lambda x: 2.0 * x)
    >>> round(committee_stability(square), 6)  # at q = 0, where C'' = 4 and E f'^2 = 1 / pi
    0.785398
    >>> committee_stability(Linear())
    inf
    """
    task, soma = TaskSpec() if task is None else task, CommitteeSoma(_levels(g), 1.0)
    scope.check("committee_capacity", task=task)
    if soma.slope_squared < VANISHED:  # q = 0 solves its equation from load 0 on
        load = _load_and_replicon(soma, task, TINY)[2]
        return load if load < committee_capacity(g, 0, task).alpha_c else math.inf
    grid = 1.0 / (1.0 + np.exp(-np.linspace(-18.0, 27.0, 91)))
    before: float | None = None
    for q in grid.tolist():
        load, replicon, _ = _load_and_replicon(soma, task, q)
        if replicon < 0.0:
            if before is None:
                return load
            at = bracketed_root(lambda q: _load_and_replicon(soma, task, q)[1], before, q).at
            load = _load_and_replicon(soma, task, at)[0]
            return load if load < committee_capacity(g, 0, task).alpha_c else math.inf
        before = q
    return math.inf


def _load_and_replicon(soma: CommitteeSoma, task: TaskSpec, q: float) -> tuple[float, float, float]:
    """Load with overlap q, its replicon, and the load at which the replicon vanishes at this q."""
    pair = soma.pair(1.0, 1.0 - q)
    energetic = Energetic.at(pair, task, balanced_shift(pair, task))
    load = q / ((1.0 - q) ** 2 * pair.dD1_ddq * energetic.f1_squared)
    gamma = (1.0 - q) ** 2 * (pair.dD1_ddq**2 * energetic.f2_squared + pair.d2D0_dq2 * energetic.f1_squared)
    return load, 1.0 - load * gamma, 1.0 / gamma
