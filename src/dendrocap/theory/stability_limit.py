"""The de Almeida-Thouless load, at which replica symmetry becomes unstable."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError
from dendrocap.model.neuron import NeuronSpec, TaskSpec, check_spec
from dendrocap.theory.branches.finite_load import population_stability_limit
from dendrocap.theory.branches.population import needs_populations
from dendrocap.theory.branches.typical_solution import PopulationSaddlePoint
from dendrocap.theory.constraint_curve import needs_constraint_curve
from dendrocap.theory.load_branches import load_branch_solutions, stability_limits
from dendrocap.theory.response import check_reachable
from dendrocap.theory.saddle_point import SaddlePoint, described
from dendrocap.theory.solution_curve import ACCEPTED, CurveSolution, solve_on_curve
from dendrocap.validation import choice, real_number

__all__ = ["StabilityLimit", "stability_limit"]


@dataclass(frozen=True)
class StabilityLimit(Displayed):
    """The load at which replica symmetry becomes unstable.

    Attributes
    ----------
    alpha : float
        The load; infinite if the replica-symmetric solution is stable up to its capacity.
    saddle_point : SaddlePoint, PopulationSaddlePoint or None
        The solution at this load.
    residual : float
        Remaining replicon at ``alpha``, evaluated with a finer rule than the solution was found with.
    converged : bool
        Whether the estimated relative error is below 1e-9.
    neuron, task
        The inputs.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky, critical_capacity, stability_limit
    >>> neuron = NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.5)
    >>> limit = stability_limit(neuron)
    >>> print(f"unstable from {limit.alpha:.4f} on; RS capacity {critical_capacity(neuron).alpha_c:.4f}")
    unstable from 0.8323 on; RS capacity 4.9513
    """

    _displayed = ("alpha", "residual", "converged")

    alpha: float
    saddle_point: SaddlePoint | PopulationSaddlePoint | None
    residual: float
    converged: bool
    neuron: NeuronSpec
    task: TaskSpec


def stability_limit(
    neuron: NeuronSpec,
    task: TaskSpec | None = None,
    *,
    branch_size: float | None = None,
    on_failure: str = "raise",
) -> StabilityLimit:
    """The load at which the replica-symmetric solution first becomes unstable.

    Below it, the replica-symmetric estimates are consistent; above it, solutions form clusters and the estimates of
    volume and capacity are too large.

    Parameters
    ----------
    neuron : NeuronSpec
        Kinks in g make the limit finite, as do smooth g in all cases studied; a linear g is stable up to capacity.
    task : TaskSpec, optional
        Coding levels and margin; by default 1/2, 1/2 and 0.
    branch_size : float, optional
        Synapses per branch, n = N / K; by default the paper's limit of long branches.
    on_failure : {"raise", "return"}
        What to do if the result is less accurate than required.

    Notes
    -----
    Solves ``alpha gamma_S gamma_E = 1`` [at] together with the saddle-point equations. A limit so close to capacity
    that two solutions differ by less than 1e-13 of their mean square counts as stable.

    Examples
    --------
    >>> from dendrocap import ReLU
    >>> round(stability_limit(NeuronSpec(ReLU(), theta_d=0.5, theta_s=0.5)).alpha, 6)
    0.793798
    """
    check_spec(neuron)
    task = TaskSpec() if task is None else task
    choice("on_failure", on_failure, ("raise", "return"))
    if needs_populations(neuron, branch_size):
        limit = population_stability_limit(neuron, task, branch_size)
        return StabilityLimit(limit.alpha, limit, abs(limit.stability), True, neuron, task)
    real_number("theta_d", neuron.with_usual_prior.tree[0].theta, 0.0, low_open=True)
    if needs_constraint_curve(neuron, task):
        solution = _first_of_branches(neuron, task)
    else:
        solution = solve_on_curve(neuron, task, lambda point: -point.stability, math.inf, coarsely=False)
    if solution is None:
        return StabilityLimit(math.inf, None, 0.0, True, neuron, task)
    point = solution.point
    there = described(neuron, task, point.load, solution)
    if solution.error >= ACCEPTED and on_failure == "raise":
        raise ConvergenceError(
            f"the limit of stability has an estimated error of {solution.error:.1e}, above {ACCEPTED:g}",
            last_iterate=there,
        )
    return StabilityLimit(point.load, there, abs(point.stability), solution.error < ACCEPTED, neuron, task)


def _first_of_branches(neuron: NeuronSpec, task: TaskSpec) -> CurveSolution | None:
    """The lowest load at which the typical one of several branches becomes unstable; None if none does."""
    check_reachable(neuron)
    for limit in stability_limits(neuron, task):
        typical = load_branch_solutions(neuron, task, limit.point.load)[0].solution.point
        if math.isclose(typical.Q, limit.point.Q, rel_tol=1e-4):
            return limit
        if typical.stability < 0.0:
            raise ConvergenceError(
                f"the typical solution jumps to an unstable branch below alpha = {limit.point.load:g}: replica "
                "symmetry ends in a transition of first order; compare saddle_point(...).stability at loads below",
                last_iterate=limit,
            )
    return None
