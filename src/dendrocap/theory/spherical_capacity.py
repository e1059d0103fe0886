"""Critical capacity of `Spherical` weights, with any number of steps of breaking."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model import NeuronSpec, TaskSpec
from dendrocap.numerics.types import Floats
from dendrocap.theory.broken import BrokenEquations, BrokenState
from dendrocap.theory.search import FULL, Found, first_step, further_step, near
from dendrocap.theory.solution import CapacitySolution
from dendrocap.theory.solver import bracketed_root, evaluated, extrapolated
from dendrocap.theory.sphere import VANISHED, Sphere
from dendrocap.validation import refuse

ORTHOGONAL = -30.0  # ln c_0 / c_1 that represents q_0 = 0: its effect is proportional, 1e-13


class OrthogonalClusters(BrokenEquations):
    """The equations with q_0 = 0, which solves that for c_0 if C'(0) = 0: there c_0 is given instead."""

    def state(self, x: Floats) -> BrokenState:
        """With another residual for c_0."""
        found = super().state(x)
        residuals = found.residuals.copy()
        residuals[0] = x[self.k] - ORTHOGONAL
        return replace(found, residuals=residuals)


def spherical_capacity(neuron: NeuronSpec, task: TaskSpec, rsb: int | str = 0) -> CapacitySolution:
    """The critical capacity; called by `critical_capacity`."""
    steps = FULL if rsb == "full" else rsb
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 0:
        raise refuse("rsb", rsb, 'a whole number >= 0, or "full"')
    for level in neuron.tree:
        if level.nonlinearity.has_jumps:
            raise NoSolution(f"the capacity of {level.nonlinearity!r} grows with the number of branches: g jumps")
    soma = Sphere(neuron, task)
    norm, alpha, shift = soma.at_norm, soma.symmetric_capacity, soma.labels.shift
    known, ladder, reason = [alpha], list[Found](), "the only solution of the equations"
    weights, mu, steps_error = replace(soma.weights(), A=1.0, c=(soma.Q,)), tuple[float, ...](), math.nan
    # A linear unit is a perceptron, whose solutions form one convex set: all steps coincide.
    if soma.Q * norm.Gamma1 - norm.Gamma0 < 1e-12 * norm.Gamma0 and task.kappa >= 0.0:
        known *= steps + 1
    elif steps:
        ladder, reason = _ladder(soma, steps, alpha)
        known += [found.state.alpha for found in ladder]
        state, alpha = ladder[-1].state, known[-1]
        side, mu, shift = state.sides[0], tuple(map(float, state.mu)), state.shift
        overlaps = tuple(0.0 if q < 1e-10 * soma.Q else q for q in map(float, side.q[:-1]))
        weights = replace(weights, A=side.A, c=tuple(map(float, side.c)), overlaps=overlaps)
    if len(ladder) > 1:
        limit = extrapolated(known)
        steps_error = (alpha - limit.value + limit.error) / alpha
        if rsb == "full":
            alpha, steps_error = limit.value, limit.error / limit.value
            reason = "; ".join([*filter(None, [reason]), f"extrapolated from {len(ladder)} steps"])
    return CapacitySolution(
        neuron=neuron,
        task=task,
        rsb=rsb,
        branch_size=math.inf,
        alpha_c=alpha,
        populations=(weights,),
        mean_shift=shift * math.sqrt(norm.Gamma0),
        Gamma0=norm.Gamma0,
        Gamma1=norm.Gamma1,
        by_steps=tuple(known),
        residual=max((found.residual for found in ladder), default=0.0),
        iterations=sum(found.state.evaluations for found in ladder),
        reason=reason,
        breaking_points=mu,
        steps_error=steps_error,
        ladder=tuple(ladder),
    )


def _ladder(soma: Sphere, steps: int, symmetric: float) -> tuple[list[Found], str]:
    """The solutions with 1, 2, ... steps, and why there are no more.

    If E g' = 0, as for x^2 or the third Hermite polynomial, q_0 = 0 solves its equation. It is compared with solutions
    of q_0 > 0, and the smaller load is taken: the load is a minimum over the overlaps.
    """

    def equations(kind: type[BrokenEquations]) -> BrokenEquations:
        return kind([soma.population], soma.task, 0.0, 1, kernels=[soma], sphere=soma.Q)

    made, ladder = equations(BrokenEquations), list[Found]()
    found, orthogonal = first_step(made), _orthogonal_clusters(made, soma)
    if orthogonal is not None and (found is None or orthogonal.state.alpha < found.state.alpha):
        found = orthogonal
        if soma.slope_squared < VANISHED:
            made = equations(OrthogonalClusters)
    if found is None:
        raise ConvergenceError(f"no solution with one step of breaking was found for {soma.neuron}", symmetric)
    while found is not None and (not ladder or found.state.alpha < ladder[-1].state.alpha):
        ladder.append(found)
        if made.k == steps:
            return ladder, ""
        made = made.with_levels(made.k + 1)
        found = further_step(made, found)
    return ladder, f"no solution with {made.k} levels was found below that with {made.k - 1}"


def _orthogonal_clusters(equations: BrokenEquations, soma: Sphere) -> Found | None:
    """The one-step solution with q_0 = 0, or that of small q_0 near it; None if there is none.

    With q_0 = 0 the equation for c_0 is solved if C'(0) = (E g')^2 vanishes, and that for mu is one equation for the
    tilt. Where C'(0) is small, c_0 = alpha C'(0) E f'^2 is a first guess at the solution with q_0 > 0.
    """
    if equations.with_shift:
        return None  # the shift is another unknown; q_0 = 0 is searched for only with equal labels

    def at(logit: float, log_ratio: float = ORTHOGONAL) -> Floats:
        return np.array([logit, log_ratio])

    grid = np.linspace(-8.0, 12.0, 41)
    misses = [evaluated(equations.residuals, at(logit)) for logit in grid]
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
