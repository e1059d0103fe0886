"""Weights of either sign whose mean square is fixed: the committee machines of the literature, by the same questions.

The input of a branch is normal, with the variance of the prior and the mean -theta_d. The thresholds above balance the
mean outputs, so that only covariances of g matter: one level is a tree committee, deeper trees are compositions of
kernels [committee-tree]. Weights are Gaussian at all loads and levels of breaking [rsb-spherical], and no equation is
left for their mean and norm. Without breaking the overlap q is the only unknown.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model import Nonlinearity
from dendrocap.model.neuron import NeuronSpec, Spherical, TaskSpec
from dendrocap.numerics.types import Floats
from dendrocap.theory import scope
from dendrocap.theory._laws import FIELD_STEP
from dendrocap.theory.broken import BrokenEquations, BrokenState
from dendrocap.theory.dendrite import BranchKernel, PairKernel, Response, gaussian_expectation, prepared
from dendrocap.theory.load import balanced_shift
from dendrocap.theory.neuron_kernel import Norm, Overlap, Population, PopulationKernel, composed
from dendrocap.theory.patterns import HARD_MARGIN, Channel, Energetic, label_averages, noisy_error, training_error
from dendrocap.theory.saddle_point import SaddlePoint, StabilityLimit
from dendrocap.theory.search import FULL, Found, first_step, further_step, near
from dendrocap.theory.solution import CapacitySolution, PopulationWeights, SynapseWeights
from dendrocap.theory.solver import bracketed_root, evaluated, extrapolated
from dendrocap.theory.weights import Preactivation
from dendrocap.validation import refuse

ORTHOGONAL = -30.0  # ln c_0 / c_1 that represents q_0 = 0: its effect is proportional, 1e-13

VANISHED = 1e-20  # C'(0) below which it counts as zero

PLACES, NOWHERE = np.linspace(-18.0, 27.0, 91), -21.0  # ln q / (Q - q) where solutions are looked for, and for q = 0


class _Centred(BranchKernel):
    """The kernel of a branch with a given mean input; its threshold is its mean output, whatever it is."""

    def __init__(self, level: tuple[Nonlinearity, float], variance: float) -> None:
        g, self._mean = level[0], 0.0 - level[1]
        output = gaussian_expectation(g, self._mean, math.sqrt(variance), g.knots).value
        super().__init__(g, output)

    def response(self, V: float) -> Response:
        """Derivatives in the norm do not matter where it is fixed."""
        found = prepared(self.nonlinearity)(self.threshold, math.sqrt(V), self._mean)
        return Response(self._mean, found.slope, found.variance, found.gain, 0.0, math.nan, math.nan)


class Place(NamedTuple):
    """The equations at one overlap."""

    q: float
    dq: float
    pair: PairKernel
    energetic: Energetic
    shift: float
    load: float  # at which q is the overlap of two solutions
    stability_load: float  # at which the replicon vanishes at this q [committee-at]

    def free_entropy(self, load: float) -> float:
        """phi, the logarithm of the volume of solutions per weight."""
        Q = self.q + self.dq
        return 0.5 * (Q / self.dq + math.log(2.0 * math.pi * self.dq)) + load * self.energetic.term


class Sphere(PopulationKernel):
    """A neuron with such weights: its kernel, for the equations with breaking, and the equation without."""

    def __init__(self, neuron: NeuronSpec, task: TaskSpec, channel: Channel = HARD_MARGIN) -> None:
        scope.check(scope.SPHERE, neuron, task)
        assert isinstance(neuron.prior, Spherical)
        self.neuron, self.task, self.channel, self._levels = neuron, task, channel, []
        variance = neuron.prior.variance
        self.v = task.f_in * (1.0 - task.f_in)
        self.Q, self.slope_squared = variance / self.v, self.v  # the second is C'(0)
        for level in neuron.tree:
            self._levels.append(_Centred((level.nonlinearity, level.theta), variance))
            found = self._levels[-1].response(variance)
            self.slope_squared *= found.slope**2
            variance = found.variance
        (g, output), *upper = ((one.nonlinearity, one.threshold) for one in self._levels)
        self.population = Population(g, 0.0, task.f_in, 1.0, 1.0, output, math.inf, upper=tuple(upper))
        self.m = self._levels[0].response(neuron.prior.variance).mean

    def norm(self, m: float, Q: float, output: float | None = None) -> Norm:
        """Variance at the soma and gain of small differences."""
        variance, gain = self.v * Q, self.v
        for level in self._levels:
            found = level.response(variance)
            variance, gain = found.variance, gain * found.gain
        return Norm(0.0, 1.0, 0.0, variance, math.nan, math.nan, gain, math.nan, math.nan)

    def pair(self, dq: float) -> PairKernel:
        """Everything at the overlap Q - dq."""
        return composed(self._levels, self.v * self.Q, self.v * dq, self.v)

    def overlap(self, m: float, Q: float, dq: float, at_norm: Norm) -> Overlap:
        """The kernel at the overlap Q - dq."""
        pair, unused = self.pair(dq), math.nan
        # For nearly orthogonal replicas the small covariance is accurate, the difference is not.
        difference = pair.D1 if pair.D0 > 1e-6 * pair.D1 else at_norm.Gamma0 - pair.D0
        # C'(0) vanishes if E g' does; its logarithm is needed in any case.
        return Overlap(difference, unused, unused, max(pair.dD1_ddq, 1e-300), unused, unused, unused)

    # Without breaking -------------------------------------------------------------------------------------------------

    def place(self, log_odds: float) -> Place:
        """The equations at ln q / (Q - q)."""
        dq = self.Q / (1.0 + math.exp(log_odds))
        q, pair = dq * math.exp(log_odds), self.pair(dq)
        shift = balanced_shift(pair, self.task, channel=self.channel)
        energetic = Energetic.at(pair, self.task, shift, channel=self.channel)
        gamma = pair.dD1_ddq**2 * energetic.f2_squared + pair.d2D0_dq2 * energetic.f1_squared
        load = q / (dq**2 * pair.dD1_ddq * energetic.f1_squared)
        return Place(q, dq, pair, energetic, shift, load, 1.0 / (dq**2 * gamma) if gamma > 0.0 else math.inf)

    def at(self, alpha: float) -> Place:
        """The solution at a load: where there are several, that with the smallest volume, as of all overlaps."""
        misses = [math.log(self.place(one).load / alpha) for one in PLACES]
        found = [
            self.place(bracketed_root(lambda at: math.log(self.place(at).load / alpha), *PLACES[i : i + 2]).at)
            for i in range(len(PLACES) - 1)
            if misses[i] * misses[i + 1] < 0.0
        ]
        if misses[0] > 0.0 or self.slope_squared < VANISHED:
            found.append(self.place(NOWHERE))
        if not found:
            raise NoSolution(f"no overlap solves the equations of {self.neuron} at alpha = {alpha:g}")
        return min(found, key=lambda place: place.free_entropy(alpha))

    def described(self, place: Place, alpha: float) -> SaddlePoint:
        """The public result."""
        q_hat, entropic = place.q / place.dq**2, place.free_entropy(alpha) - alpha * place.energetic.term
        at_soma = (self.channel, place.pair.D0, place.pair.D1, self.task, place.shift, FIELD_STEP)
        own = {"q": place.q, "dq": place.dq, "A_hat": 1.0 / place.dq, "q_hat": q_hat, "M_hat": 0.0}
        return SaddlePoint(
            neuron=self.neuron,
            task=self.task,
            branch_size=math.inf,
            channel=self.channel,
            alpha=alpha,
            populations=(
                replace(self.weights(entropic_term=entropic, **own), preactivation_covariance=self.v * place.q),
            ),
            free_entropy=place.free_entropy(alpha),
            energetic_term=place.energetic.term,
            mean_shift=place.shift,
            stability=1.0 - alpha / place.stability_load,
            residual=0.0,
            error=0.0,
            iterations=0,
            kernel=place.pair,
            training_error=training_error(*at_soma),
            noisy_error=noisy_error(*at_soma),
        )

    def weights(self, **own: float) -> PopulationWeights:
        """The public description of the branches, whose weights are normal."""
        normal = Preactivation(0.0, math.sqrt(self.Q))
        synapses = SynapseWeights("of either sign", 1.0, self.task.f_in, 0.0, self.Q, weights=normal, **own)
        return PopulationWeights(self.population, self.m, (synapses,), b=0.0)


def spherical_saddle_point(neuron: NeuronSpec, task: TaskSpec, alpha: float, channel: Channel) -> SaddlePoint:
    """The typical solutions at a load; called by `saddle_point`."""
    sphere = Sphere(neuron, task, channel)
    capacity = spherical_capacity(neuron, task).alpha_c if channel == HARD_MARGIN else math.inf
    if alpha >= capacity:
        raise NoSolution(f"alpha = {alpha:g} is not below the replica-symmetric capacity alpha_c = {capacity:.10g}")
    return sphere.described(sphere.at(alpha) if alpha > 0.0 else sphere.place(NOWHERE), alpha)


def spherical_limit(neuron: NeuronSpec, task: TaskSpec) -> StabilityLimit:
    """The load at which replica symmetry becomes unstable; called by `stability_limit`."""
    sphere, capacity = Sphere(neuron, task), spherical_capacity(neuron, task).alpha_c
    found: tuple[float, Place] | None = None
    if sphere.slope_squared < VANISHED:  # q = 0 solves its equation from load 0 on
        place = sphere.place(NOWHERE)
        found = place.stability_load, place
    else:
        before = math.nan
        for at in PLACES.tolist():
            place = sphere.place(at)
            if place.load > place.stability_load:
                if not math.isnan(before):
                    at = bracketed_root(lambda at: _replicon(sphere.place(at)), before, at).at
                place = sphere.place(at)
                found = place.load, place
                break
            before = at
    if found is None or not found[0] < capacity:
        return StabilityLimit(math.inf, None, 0.0, neuron, task)
    point = sphere.described(found[1], found[0])
    return StabilityLimit(found[0], point, abs(point.stability), neuron, task)


def _replicon(place: Place) -> float:
    return 1.0 - place.load / place.stability_load


# Capacity ------------------------------------------------------------------------------------------------------------


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
    norm = soma.norm(soma.m, soma.Q)
    labels = label_averages(task.f_out, task.kappa / math.sqrt(norm.Gamma0))
    alpha, shift = soma.Q * norm.Gamma1 / (norm.Gamma0 * labels.second), labels.shift
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
