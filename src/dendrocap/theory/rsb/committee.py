"""The tree committee machine: the same equations for weights of either sign on a sphere.

A special case with published values. The input of a branch is a standard normal variable, and the somatic threshold
balances the mean output of the branches, so that only the covariance of g matters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model import Nonlinearity, TaskSpec
from dendrocap.theory.estimates import estimate_name
from dendrocap.theory.free_entropy import Energetic, balanced_shift
from dendrocap.theory.gaussian import gaussian_expectation, prepared
from dendrocap.theory.kernels import BranchKernel, BranchPair
from dendrocap.theory.labels import label_averages
from dendrocap.theory.newton import evaluated
from dendrocap.theory.response import Response, check_independent_inputs
from dendrocap.theory.roots import bracketed_root
from dendrocap.theory.rsb.equations import BrokenEquations, Norm, Overlap, Spherical
from dendrocap.theory.rsb.many_steps import extrapolated
from dendrocap.theory.rsb.next_step import Found, first_step, follow, further_step
from dendrocap.validation import refuse

__all__ = ["CommitteeCapacity", "committee_capacity", "committee_stability"]

Floats = NDArray[np.float64]

FULL = 4  # steps from which the limit of many is extrapolated
ORTHOGONAL = -30.0  # ln c_0 / c_1 that represents q_0 = 0: its effect is proportional, 1e-13
VANISHED = 1e-20  # (E g')^2 below which it counts as zero
TINY = 1e-9  # an overlap that represents zero in the kernel


class _Centred(BranchKernel):
    """The kernel of a branch whose input has mean zero, for any mean output."""

    def response(self, V: float) -> Response:
        moments = prepared(self.nonlinearity)(self.threshold, math.sqrt(V), 0.0)
        return Response(0.0, moments.slope, moments.variance, moments.gain, 0.0, math.nan, math.nan)


class CommitteeSoma:
    """The covariance of g at two normal inputs of variance Q and overlap q."""

    def __init__(self, g: Nonlinearity, Q: float) -> None:
        mean = gaussian_expectation(g, sd=math.sqrt(Q), knots=g.knots).value
        self._kernel = _Centred(g, mean)
        self.slope_squared = self._kernel.response(Q).slope ** 2  # C'(0)

    def norm(self, Q: float) -> Norm:
        """Variance at the soma and gain of small differences."""
        found = self._kernel.response(Q)
        return Norm(found.variance, found.gain, math.nan, math.nan)

    def pair(self, dq: float) -> BranchPair:
        """The kernel at the overlap 1 - dq of weights of unit norm."""
        return self._kernel.at(1.0, dq)

    def overlap(self, Q: float, dq: float) -> Overlap:
        """The kernel at the overlap Q - dq."""
        pair = self._kernel.at(Q, dq)
        # C'(0) vanishes if E g' does; its logarithm is needed in any case.
        return Overlap(pair.D1, max(pair.dD1_ddV, 1e-300), math.nan)


@dataclass(frozen=True)
class CommitteeCapacity(Displayed):
    """Capacity of the tree committee machine in the limit of many branches.

    Attributes
    ----------
    alpha_c : float
        Patterns per weight.
    by_steps : tuple of float
        The same with 0, 1, ... steps of breaking.
    breaking_points, overlaps : tuple of float
        mu_1 ... mu_k and q_0 ... q_{k-1}, for weights of mean square one.
    residual : float
        Largest relative residual of the equations.
    task : TaskSpec
        Labels and margin.

    Examples
    --------
    >>> from dendrocap import ReLU
    >>> from dendrocap.theory import committee_capacity
    >>> found = committee_capacity(ReLU(), rsb=1)
    >>> [round(alpha, 4) for alpha in found.by_steps]
    [2.9339, 2.6643]
    """

    _displayed = ("alpha_c", "estimates", "residual")

    nonlinearity: Nonlinearity
    alpha_c: float
    by_steps: tuple[float, ...]
    breaking_points: tuple[float, ...]
    overlaps: tuple[float, ...]
    residual: float
    task: TaskSpec = field(default_factory=TaskSpec)

    @property
    def estimates(self) -> dict[str, float]:
        """The capacities with 0, 1, ... steps, by name."""
        return {estimate_name(steps): alpha for steps, alpha in enumerate(self.by_steps)}


def committee_capacity(g: Nonlinearity, rsb: int | str = 1, task: TaskSpec | None = None) -> CommitteeCapacity:
    """Capacity of the tree committee machine with spherical weights and g as its hidden unit.

    Parameters
    ----------
    g : Nonlinearity
        Non-linearity of the hidden units, whose inputs are standard normal. Deeper trees are not derived.
    rsb : int or "full"
        Steps of replica symmetry breaking, or the limit of many, extrapolated from four.
    task : TaskSpec, optional
        Fraction of labels 1 and margin; by default 1/2 and 0. The inputs have mean zero, so f_in has no meaning.

    Raises
    ------
    NoSolution
        If g jumps; or if replicas of different clusters are orthogonal (q_0 = 0) and more than one step is requested,
        which is not implemented.

    Notes
    -----
    If E g' = 0, as for x^2 or the third Hermite polynomial, q_0 = 0 solves its equation. It is compared with
    solutions of q_0 > 0, and the smaller load is taken: the load is a minimum over the overlaps.

    Examples
    --------
    >>> from dendrocap import ReLU
    >>> round(committee_capacity(ReLU(), rsb=1).alpha_c, 4)  # Baldassi, Malatesta and Zecchina 2019: 2.6643
    2.6643
    """
    steps = FULL if rsb == "full" else rsb
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 0:
        raise refuse("rsb", rsb, 'a whole number >= 0, or "full"')
    if g.has_jumps:
        raise NoSolution(f"the capacity of {g!r} grows with the number of branches without limit: g jumps")
    task, prior = TaskSpec() if task is None else task, Spherical(1.0)
    check_independent_inputs(task, "the tree committee")
    soma = CommitteeSoma(g, prior.Q)
    norm = soma.norm(prior.Q)
    labels = label_averages(task.f_out, task.kappa / math.sqrt(norm.Gamma0))
    known = [norm.Gamma1 / (norm.Gamma0 * labels.second)]
    # A linear unit is a perceptron, whose solutions form one convex set: all steps coincide.
    if steps == 0 or (norm.Gamma1 - norm.Gamma0 < 1e-12 * norm.Gamma0 and task.kappa >= 0.0):
        return CommitteeCapacity(g, known[0], (known[0],) * (steps + 1), (), (), 0.0, task)
    equations = BrokenEquations(prior, soma, task, 1)
    found, orthogonal = first_step(equations), _orthogonal_clusters(equations)
    if orthogonal is not None and (found is None or orthogonal.state.alpha < found.state.alpha):
        if steps > 1 and soma.slope_squared < VANISHED:
            raise NoSolution(
                f"clusters of {g!r} are orthogonal (q_0 = 0) with one step, at alpha = {orthogonal.state.alpha:.6g}; "
                "further steps from there are not implemented: ask for rsb=1"
            )
        found = orthogonal
    while found is not None:
        known.append(found.state.alpha)
        if equations.k == steps:
            state, alpha = found.state, found.state.alpha
            if rsb == "full":
                alpha = extrapolated(known).value
            mu, q = tuple(map(float, state.mu)), tuple(map(float, state.q))
            if found is orthogonal and soma.slope_squared < VANISHED:
                q = (0.0,)
            return CommitteeCapacity(g, alpha, tuple(known), mu, q, found.residual, task)
        equations = equations.with_levels(equations.k + 1)
        found = further_step(equations, found)
    raise ConvergenceError(f"no solution with {equations.k} steps of breaking was found for {g!r}", known)


def _orthogonal_clusters(equations: BrokenEquations) -> Found | None:
    """The one-step solution with q_0 = 0, or that of small q_0 near it; None if there is none.

    With q_0 = 0 the equation for c_0 is solved if C'(0) = (E g')^2 vanishes, and that for mu is one equation for the
    tilt. Where C'(0) is small, c_0 = alpha C'(0) E f'^2 is a first guess at the solution with q_0 > 0.
    """
    soma = equations.soma
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
        found = follow(equations, guess, reach=12.0)
        if found is not None:
            return found
    return None


def committee_stability(g: Nonlinearity, task: TaskSpec | None = None) -> float:
    """The load at which replica symmetry of the tree committee machine becomes unstable [committee-at].

    Parameters
    ----------
    g : Nonlinearity
        Non-linearity of the hidden units.
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
    task, soma = TaskSpec() if task is None else task, CommitteeSoma(g, 1.0)
    check_independent_inputs(task, "the tree committee")
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
    pair = soma.pair(1.0 - q)
    energetic = Energetic.at(pair, task, balanced_shift(pair, task))
    load = q / ((1.0 - q) ** 2 * pair.dD1_ddV * energetic.f1_squared)
    gamma = (1.0 - q) ** 2 * (pair.dD1_ddV**2 * energetic.f2_squared + pair.d2D0_dc2 * energetic.f1_squared)
    return load, 1.0 - load * gamma, 1.0 / gamma
