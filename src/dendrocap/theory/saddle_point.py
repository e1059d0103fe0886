"""The replica-symmetric saddle point: typical solutions at any load below capacity."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import overload

from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model.neuron import NeuronSpec, TaskSpec, is_usual
from dendrocap.theory import scope
from dendrocap.theory._laws import FIELD_STEP
from dendrocap.theory.dendrite import all_mean_inputs, check_reachable, common_variance, levels_with_thresholds
from dendrocap.theory.load import (
    ACCEPTED,
    BranchEquations,
    CurvePoint,
    CurveSolution,
    Equations,
    OrderParameters,
    load_branch_solutions,
    log_volume,
    population_saddle_point,
    population_stability_limit,
    solve_on_curve,
    stability_limits,
)
from dendrocap.theory.neuron_kernel import needs_populations
from dendrocap.theory.patterns import HARD_MARGIN, Channel, check_channel, is_hard, noisy_error, training_error
from dendrocap.theory.symmetric import needs_constraint_curve, symmetric_capacity
from dendrocap.theory.typical_solution import PopulationSaddlePoint
from dendrocap.theory.weights import Preactivation, Weights, law_of
from dendrocap.validation import choice, real_number


@dataclass(frozen=True)
class SaddlePoint(Displayed):
    """The cloud of solutions at one load.

    Attributes
    ----------
    alpha : float
        Patterns per synapse.
    Q, q, dq : float
        Mean square of the weights, overlap of two solutions, and Q - q without cancellation.
    mean_shift, dM : float
        Mean of the somatic input over patterns, and the deviation of the weights that causes it.
    M_bar : float
        Scaled deviation of the mean weight from balance that keeps the mean branch output at its threshold.
    Q_hat, q_hat, M_hat, A_hat : float
        Conjugates of Q, q and of the mean weight, and q_hat - 2 Q_hat without cancellation.
    free_entropy, entropic_term, energetic_term : float
        Logarithm of the volume of solutions per weight, and its terms G_S and G_E.
    stability : float
        The replicon, ``1 - alpha gamma_S gamma_E``: negative where replica symmetry is broken.
    training_error : float
        Probability that a pattern misses its margin, without noise; none does through the paper's channel.
    noisy_error : float
        Probability that an answer to a pattern with the noise of the channel is wrong; without noise the same.
    residual : float
        Largest relative mismatch of the equations solved, by a finer rule than they were solved with.
    error : float
        Corresponding relative error of Q and q.
    iterations : int
        Number of evaluations of the kernel.
    converged : bool
        Whether ``error`` is below 1e-9.
    neuron, task
        The inputs.
    other_solutions : tuple of SaddlePoint
        Solutions at the same load with a smaller free entropy, if g is not monotone and there are any.
    channel : Channel
        How patterns count.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, ReLU, saddle_point
    >>> point = saddle_point(NeuronSpec(ReLU(), theta_d=0.5, theta_s=0.5), alpha=0.5)
    >>> print(f"two solutions share {point.q / point.Q:.3f} of their squared norm")
    two solutions share 0.742 of their squared norm
    >>> point.converged, point.stability > 0.0
    (True, True)
    """

    _displayed = ("alpha", "free_entropy", "Q", "q", "stability", "error", "converged")

    alpha: float
    Q: float
    q: float
    dq: float
    mean_shift: float
    dM: float
    M_bar: float
    Q_hat: float
    q_hat: float
    M_hat: float
    A_hat: float
    free_entropy: float
    entropic_term: float
    energetic_term: float
    stability: float
    residual: float
    error: float
    iterations: int
    converged: bool
    neuron: NeuronSpec
    task: TaskSpec
    other_solutions: tuple[SaddlePoint, ...] = ()
    channel: Channel = HARD_MARGIN
    training_error: float = 0.0
    noisy_error: float = 0.0

    def _shown(self) -> tuple[str, ...]:
        if is_hard(self.channel):
            return self._displayed
        errors = ("training_error", "noisy_error") if self.channel.noise > 0.0 else ("training_error",)
        return (*self._displayed, *errors, "channel")

    @property
    def common_variance(self) -> float:
        """chi, the part of the variance of a branch's input that correlated inputs make in every solution."""
        return common_variance(self.neuron.with_usual_prior, self.task)

    @property
    def order_parameters(self) -> OrderParameters:
        """The six order parameters alone."""
        return OrderParameters(self.Q, self.q, self.mean_shift, self.Q_hat, self.q_hat, self.M_hat)

    @property
    def weights(self) -> Weights:
        """The distribution of weights."""
        return law_of(self.neuron.prior).weights(self.A_hat, self.q_hat, self.M_hat)

    @property
    def preactivation(self) -> Preactivation:
        """The distribution of a branch's summed input, at the level of the synapses."""
        variance = self.task.f_in * (1.0 - self.task.f_in) * self.Q + self.common_variance
        return Preactivation(self.task.f_in * self.M_bar, math.sqrt(variance))


@overload
def saddle_point(
    neuron: NeuronSpec,
    task: TaskSpec | None = None,
    *,
    alpha: float,
    on_failure: str = "raise",
    channel: Channel = HARD_MARGIN,
) -> SaddlePoint: ...


@overload
def saddle_point(
    neuron: NeuronSpec,
    task: TaskSpec | None = None,
    *,
    alpha: float,
    branch_size: float | None,
    on_failure: str = "raise",
    channel: Channel = HARD_MARGIN,
) -> SaddlePoint | PopulationSaddlePoint: ...


def saddle_point(
    neuron: NeuronSpec,
    task: TaskSpec | None = None,
    *,
    alpha: float,
    branch_size: float | None = None,
    on_failure: str = "raise",
    channel: Channel = HARD_MARGIN,
) -> SaddlePoint | PopulationSaddlePoint:
    """The typical solutions of a random task at load ``alpha``, in the replica-symmetric estimate.

    Parameters
    ----------
    neuron : NeuronSpec
        Any non-linearity, including jumps; one or several levels. Populations of branches need a g without jumps.
    task : TaskSpec, optional
        Coding levels and margin; by default 1/2, 1/2 and 0.
    alpha : float
        Patterns per synapse, from 0 up to the capacity; beyond it too through a channel that allows for errors.
    branch_size : float, optional
        Synapses per branch, n = N / K; by default the paper's limit of long branches.
    on_failure : {"raise", "return"}
        What to do when the result is not as accurate as it should be.
    channel : Channel
        How patterns count: HardMargin(), as in the paper, Probit(sigma) with noise at the soma, or Temperature(T),
        which allows for wrong patterns. The last two take long branches that are all alike, with a monotone g.

    Returns
    -------
    SaddlePoint or PopulationSaddlePoint
        The second with ``branch_size`` or several populations.

    Raises
    ------
    NoSolution
        If ``alpha`` is not below the capacity, or ``theta_s`` is outside the range of the mean of g.
    ConvergenceError
        If the estimated error stays above 1e-9, unless ``on_failure`` is "return"; or if the curve of solutions
        could not be followed to this load.

    Notes
    -----
    Solves [sp-1] to [sp-6]. At load 0 the weights are exponentially distributed and everything is known.

    The limit T -> 0 of the error is the replica-symmetric estimate of the least error above capacity. There
    ``stability`` is negative: symmetry is broken, which is expected to raise the error.

    Examples
    --------
    >>> from dendrocap import Linear
    >>> point = saddle_point(NeuronSpec(Linear(), theta_d=0.5, theta_s=0.5), alpha=0.5)
    >>> round(point.M_hat, 9), round(point.stability, 4)
    (-1.0, 0.5991)
    """
    task = scope.check("saddle_point", neuron, task)
    alpha = real_number("alpha", alpha, 0.0)
    choice("on_failure", on_failure, ("raise", "return"))
    check_channel(channel)
    if channel.temperature > 0.0:
        scope.check(scope.TEMPERATURE, task=task)
    if needs_populations(neuron, branch_size):
        scope.check(scope.POPULATIONS, channel=channel)
    if needs_populations(neuron, branch_size):
        return population_saddle_point(neuron, task, alpha, branch_size)
    real_number("theta_d", neuron.with_usual_prior.tree[0].theta, 0.0, low_open=True)
    if needs_constraint_curve(neuron, task):
        scope.check(scope.FALLING, channel=channel)
        return _checked(_typical_of_branches(neuron, task, alpha), on_failure)
    if alpha == 0.0:
        return _without_patterns(neuron, task, channel=channel)
    alpha_c = _capacity(neuron, task) if is_hard(channel) else math.inf
    if alpha >= alpha_c:
        raise NoSolution(
            f"alpha = {alpha:g} is not below the replica-symmetric capacity alpha_c = {alpha_c:.10g}; "
            "channel=Temperature(T) allows for wrong patterns"
        )
    solution = solve_on_curve(neuron, task, lambda point: math.log(point.load / alpha), 0.5 * alpha, channel=channel)
    if solution is None:
        raise ConvergenceError(f"the curve of solutions was not found to pass alpha = {alpha:g} < {alpha_c:.10g}")
    return _checked(described(neuron, task, alpha, solution, channel), on_failure)


def _checked(result: SaddlePoint, on_failure: str) -> SaddlePoint:
    """The result if it is accurate, or if inaccurate results are requested."""
    if not result.converged and on_failure == "raise":
        raise ConvergenceError(
            f"the saddle point at alpha = {result.alpha:g} has an estimated error of {result.error:.1e}, "
            f"above {ACCEPTED:g}",
            last_iterate=result,
        )
    return result


def _typical_of_branches(neuron: NeuronSpec, task: TaskSpec, alpha: float) -> SaddlePoint:
    """Of all solutions at this load, for a non-monotone g, the one with the largest free entropy."""
    check_reachable(neuron)
    if alpha == 0.0:
        W_bar = neuron.tree[0].theta / task.f_in
        sd = math.sqrt(2.0 * task.f_in * (1.0 - task.f_in)) * W_bar
        found = [_without_patterns(neuron, task, m) for m in all_mean_inputs(*levels_with_thresholds(neuron)[0], sd)]
        found.sort(key=lambda point: -point.energetic_term)
        hint = "weights of mean square 2 W_bar^2 make inputs too wide for this mean output; ask for a small alpha > 0"
    else:
        branches = load_branch_solutions(neuron, task, alpha)
        found = [described(neuron, task, alpha, one.solution) for one in branches]
        alpha_c = _capacity(neuron, task)
        hint = f"the replica-symmetric capacity is {alpha_c:.10g}"
        if not found and alpha < alpha_c:
            raise ConvergenceError(f"no branch of solutions was found to pass alpha = {alpha:g} < {alpha_c:.10g}")
    if not found:
        raise NoSolution(f"there is no solution at alpha = {alpha:g}: {hint}")
    # Mirrored or periodic solutions are equivalent: of each kind, the one with the smallest mean input is kept.
    kinds: dict[tuple[float, float], SaddlePoint] = {}
    for point in sorted(found, key=lambda point: abs(point.M_bar)):
        kinds.setdefault((float(f"{point.free_entropy:.7g}"), float(f"{point.Q:.6g}")), point)
    best = kinds[float(f"{found[0].free_entropy:.7g}"), float(f"{found[0].Q:.6g}")]
    others = sorted((point for point in kinds.values() if point is not best), key=lambda point: -point.free_entropy)
    return replace(best, other_solutions=tuple(others))


def _capacity(neuron: NeuronSpec, task: TaskSpec) -> float:
    """The load at which solutions vanish; infinite if some g jumps or no largest load was found."""
    plain = neuron.with_usual_prior
    if any(level.nonlinearity.has_jumps for level in plain.tree):
        return math.inf
    try:
        return symmetric_capacity(neuron, task).alpha_c
    except (ConvergenceError, NoSolution):
        check_reachable(plain)
        law_of(neuron.prior).check(plain.tree[0].theta / task.f_in)
        return math.inf  # solutions may exist all the same; the curve shows how far they go


def _deviation(shift: float, gain: float) -> float:
    """The deviation of the mean weight that causes a shift of the mean somatic input; zero for no shift.

    Where E g' = 0, at the top of a curve E g = theta_s, only a deviation of Q can shift the mean: it is then infinite.
    """
    if shift == 0.0:
        return 0.0
    return shift / gain if gain else math.copysign(math.inf, shift)


def described(
    neuron: NeuronSpec, task: TaskSpec, alpha: float, solution: CurveSolution, channel: Channel = HARD_MARGIN
) -> SaddlePoint:
    """A point of the solution curve as a user wants to see it."""
    point = solution.point
    kernel = point.kernel
    return SaddlePoint(
        alpha=alpha,
        Q=point.Q,
        q=point.entropic.mean_squared,
        dq=point.dq,
        mean_shift=point.mean_shift,
        dM=_deviation(point.mean_shift, task.f_in * kernel.mean_slope),
        M_bar=kernel.means[0] / task.f_in,
        Q_hat=0.5 * (point.q_hat - point.A_hat),
        q_hat=point.q_hat,
        M_hat=point.M_hat,
        A_hat=point.A_hat,
        free_entropy=log_volume(point, alpha, neuron, task),
        entropic_term=point.entropic.term,
        energetic_term=point.energetic.term,
        stability=point.stability,
        residual=solution.residual,
        error=solution.error,
        iterations=solution.evaluations,
        converged=solution.error < ACCEPTED,
        neuron=neuron,
        task=task,
        channel=channel,
        training_error=training_error(channel, kernel.D0, kernel.D1, task, point.mean_shift, FIELD_STEP),
        noisy_error=noisy_error(channel, kernel.D0, kernel.D1, task, point.mean_shift, FIELD_STEP),
    )


def _without_patterns(
    neuron: NeuronSpec, task: TaskSpec, m: float | None = None, channel: Channel = HARD_MARGIN
) -> SaddlePoint:
    """Load 0, exactly: weights are exponentially distributed with mean W_bar [zero-load]; at one of several m."""
    if not (is_usual(neuron.prior) and is_hard(channel)):
        return _without_patterns_but(neuron, task, channel)
    if m is None:
        equations = Equations(neuron, task)
        kernel, energetic, shift = equations.patterns(2.0 * equations.W_bar**2, equations.W_bar**2)
    else:
        equations = BranchEquations(neuron, task)
        kernel, energetic, shift = equations.patterns_at(2.0 * equations.W_bar**2, equations.W_bar**2, m)[:3]
    W_bar = equations.W_bar
    return SaddlePoint(
        alpha=0.0,
        Q=2.0 * W_bar**2,
        q=W_bar**2,
        dq=W_bar**2,
        mean_shift=shift,
        dM=_deviation(shift, task.f_in * kernel.mean_slope),
        M_bar=kernel.means[0] / task.f_in,
        Q_hat=0.0,
        q_hat=0.0,
        M_hat=-1.0 / W_bar,
        A_hat=0.0,
        free_entropy=1.0 + math.log(W_bar),
        entropic_term=math.log(W_bar),
        energetic_term=energetic.term,
        stability=1.0,
        residual=0.0,
        error=0.0,
        iterations=equations.evaluations,
        converged=True,
        neuron=neuron,
        task=task,
    )


def _without_patterns_but(neuron: NeuronSpec, task: TaskSpec, channel: Channel) -> SaddlePoint:
    """Load 0 with another prior or channel: each weight has the density that the prior gives it, at the mean W_bar."""
    equations = Equations(neuron, task, channel=channel)
    M_hat, entropic = equations.without_patterns()
    Q, dq = entropic.mean_squared + entropic.variance, entropic.variance
    kernel, energetic, shift = equations.patterns(Q, dq)
    point = CurvePoint(0.0, 0.0, Q, dq, 0.0, 0.0, M_hat, shift, kernel, entropic, energetic)
    return described(neuron, task, 0.0, CurveSolution(point, 0.0, 0.0, equations.evaluations), channel)


# The de Almeida-Thouless load, at which replica symmetry becomes unstable.


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
    task = scope.check("stability_limit", neuron, task)
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
