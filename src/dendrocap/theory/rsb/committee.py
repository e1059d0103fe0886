"""The tree committee machine: the same equations for weights of either sign on a sphere.

A special case with published values. The input of a branch is a standard normal variable, and the soma's threshold
balances the mean output of the branches, so that only the covariance of g counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model import Nonlinearity, TaskSpec
from dendrocap.theory.estimates import estimate_name
from dendrocap.theory.gaussian import gaussian_expectation, prepared
from dendrocap.theory.kernels import BranchKernel
from dendrocap.theory.response import Response
from dendrocap.theory.rsb.equations import BrokenEquations, Norm, Overlap, Spherical
from dendrocap.theory.rsb.next_step import first_step, further_step
from dendrocap.validation import refuse

__all__ = ["CommitteeCapacity", "committee_capacity"]


class _Centred(BranchKernel):
    """The kernel of a branch whose input has mean zero, whatever its mean output."""

    def response(self, V: float) -> Response:
        moments = prepared(self.nonlinearity)(self.threshold, math.sqrt(V), 0.0)
        return Response(0.0, moments.slope, moments.variance, moments.gain, 0.0, math.nan, math.nan)


class _CommitteeSoma:
    """The covariance of g at two normal inputs of variance Q and overlap q."""

    def __init__(self, g: Nonlinearity, Q: float) -> None:
        mean = gaussian_expectation(g, sd=math.sqrt(Q), knots=g.breakpoints).value
        self._kernel = _Centred(g, mean)

    def norm(self, Q: float) -> Norm:
        found = self._kernel.response(Q)
        return Norm(found.variance, found.gain, math.nan, math.nan)

    def overlap(self, Q: float, dq: float) -> Overlap:
        pair = self._kernel.at(Q, dq)
        return Overlap(pair.D1, pair.dD1_ddV, math.nan)


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

    @property
    def estimates(self) -> dict[str, float]:
        """The capacities with 0, 1, ... steps, by name."""
        return {estimate_name(steps): alpha for steps, alpha in enumerate(self.by_steps)}


def committee_capacity(g: Nonlinearity, rsb: int = 1) -> CommitteeCapacity:
    """Capacity of the tree committee machine with spherical weights and g as its hidden unit.

    Parameters
    ----------
    g : Nonlinearity
        Of the hidden units, whose inputs are standard normal.
    rsb : int
        Steps of replica symmetry breaking.

    Examples
    --------
    >>> from dendrocap import ReLU
    >>> round(committee_capacity(ReLU(), rsb=1).alpha_c, 4)  # Baldassi, Malatesta and Zecchina 2019: 2.6643
    2.6643
    """
    if not isinstance(rsb, int) or isinstance(rsb, bool) or rsb < 0:
        raise refuse("rsb", rsb, "a whole number >= 0")
    if g.has_jumps:
        raise NoSolution(f"the capacity of {g!r} grows with the number of branches without limit: g jumps")
    prior = Spherical(1.0)
    soma = _CommitteeSoma(g, prior.Q)
    norm = soma.norm(prior.Q)
    known = [2.0 * norm.Gamma1 / norm.Gamma0]
    # A linear unit is a perceptron, whose solutions form one convex set: all steps coincide.
    if rsb == 0 or norm.Gamma1 - norm.Gamma0 < 1e-12 * norm.Gamma0:
        return CommitteeCapacity(g, known[0], (known[0],) * (rsb + 1), (), (), 0.0)
    equations = BrokenEquations(prior, soma, TaskSpec(), 1)
    found = first_step(equations)
    while found is not None:
        known.append(found.state.alpha)
        if equations.k == rsb:
            state = found.state
            return CommitteeCapacity(
                g, state.alpha, tuple(known), tuple(map(float, state.mu)), tuple(map(float, state.q)), found.residual
            )
        equations = equations.with_levels(equations.k + 1)
        found = further_step(equations, found)
    raise ConvergenceError(f"no solution with {equations.k} steps of breaking was found for {g!r}", known)
