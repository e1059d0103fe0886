"""The replica-symmetric saddle point: typical solutions at any load below capacity."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model.neuron import NeuronSpec, Spherical, TaskSpec
from dendrocap.numerics.types import Floats
from dendrocap.theory import scope
from dendrocap.theory._laws import FIELD_STEP
from dendrocap.theory.dendrite import PairKernel
from dendrocap.theory.load import ACCEPTED, Equations, Found, Side, Solutions, unstable
from dendrocap.theory.neuron_kernel import Population, needs_populations, populations_of
from dendrocap.theory.patterns import HARD_MARGIN, Channel, check_channel, is_hard, noisy_error, training_error
from dendrocap.theory.results import estimate_name
from dendrocap.theory.solution import OfPopulations, PopulationWeights, SynapseWeights
from dendrocap.theory.solver import followed
from dendrocap.theory.sphere import NOWHERE, Place, Sphere, first_unstable
from dendrocap.theory.weights import law_of
from dendrocap.validation import real_number

# What a saddle point is in a row of a table, as far as it exists for this number of populations.
NUMBERS = (
    "alpha", "Q", "q", "dq", "mean_shift", "dM", "M_bar", "Q_hat", "q_hat", "M_hat", "A_hat", "free_entropy",
    "entropic_term", "energetic_term", "stability", "residual", "error", "iterations", "training_error", "noisy_error",
)  # fmt: skip

LEAST_LOAD = 1e-3  # below which replica symmetry is taken to be stable where solutions form several branches


@dataclass(frozen=True)
class SaddlePoint(OfPopulations):
    """The cloud of solutions at one load.

    Where branches are all alike, the numbers of their one population are attributes of the saddle point too: ``M_bar``,
    ``Q_hat``, ``q_hat``, ``M_hat``, ``A_hat``, ``weights``, ``preactivation`` and ``common_variance``.

    Attributes
    ----------
    alpha : float
        Patterns per synapse.
    branch_size : float
        Synapses per branch; infinite in the paper's limit.
    populations : tuple of PopulationWeights
        Each kind of branches.
    free_entropy, entropic_term, energetic_term : float
        Logarithm of the volume of solutions per weight, and its terms G_S and G_E.
    rsb : int
        Requested steps of breaking, with `broken_saddle_point`: solutions form clusters within clusters. The terms of
        the free entropy and ``stability`` are then NaN.
    breaking_points : tuple of float
        m_1 < ... < m_k in (0, 1): 1 - m_i is the probability that two solutions share a cluster of level i. Their
        number ``k`` is zero where replica symmetry is stable.
    overlaps, c : tuple of float
        q_0 < ... < q_k, from two solutions without a common cluster to two in the same innermost one, and their
        conjugates; ``q`` and ``q_hat`` are the last of them.
    internal_entropy : float
        Logarithm of the volume of one innermost cluster per weight. It equals the free entropy: the typical clusters
        are so few that their number is negligible.
    symmetric_free_entropy : float
        Free entropy of the replica-symmetric saddle point at this load, which is larger; NaN if there is none.
    Q, q, dq, W_bar : float
        Mean square of all weights, overlap of two solutions, Q - q without cancellation, and mean weight.
    mean_shift, dM : float
        Mean of the somatic input over patterns, and the deviation of the weights that causes it.
    M_bar : float
        Scaled deviation of the mean weight from balance that keeps the mean branch output at its threshold.
    Q_hat, q_hat, M_hat, A_hat : float
        Conjugates of Q, q and of the mean weight, and q_hat - 2 Q_hat without cancellation.
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
        Number of evaluations of the equations.
    neuron, task
        The inputs.
    other_solutions : tuple of SaddlePoint
        Solutions at the same load with a smaller free entropy, if g is not monotone and there are any.
    channel : Channel
        How patterns count.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky, ReLU, saddle_point
    >>> point = saddle_point(NeuronSpec(ReLU(), theta_d=0.5, theta_s=0.5), alpha=0.5)
    >>> print(f"two solutions share {point.q / point.Q:.3f} of their squared norm")
    two solutions share 0.742 of their squared norm
    >>> round(saddle_point(NeuronSpec(Polsky(), 0.5, 0.5), alpha=0.4, branch_size=50).free_entropy, 4)
    0.7219
    """

    _displayed = ("alpha", "free_entropy", "Q", "q", "stability", "error")

    neuron: NeuronSpec
    task: TaskSpec
    branch_size: float
    channel: Channel
    alpha: float
    populations: tuple[PopulationWeights, ...]
    free_entropy: float
    energetic_term: float
    mean_shift: float
    stability: float
    residual: float
    error: float
    iterations: int
    kernel: PairKernel | None = field(repr=False, compare=False)  # of the soma, if branches are alike
    other_solutions: tuple[SaddlePoint, ...] = ()
    training_error: float = 0.0
    noisy_error: float = 0.0
    rsb: int = 0
    breaking_points: tuple[float, ...] = ()
    internal_entropy: float = math.nan
    symmetric_free_entropy: float = math.nan

    def _shown(self) -> tuple[str, ...]:
        if self.rsb:
            return ("alpha", "estimate", "free_entropy", "overlaps", "Q", "breaking_points", "residual")
        if is_hard(self.channel):
            return self._displayed
        errors = ("training_error", "noisy_error") if self.channel.noise > 0.0 else ("training_error",)
        return (*self._displayed, *errors, "channel")

    def as_row(self) -> dict[str, float]:
        """Its numbers by name."""
        return {name: getattr(self, name) for name in NUMBERS if hasattr(self, name)}

    @property
    def k(self) -> int:
        """Distinct steps of breaking."""
        return len(self.breaking_points)

    @property
    def estimate(self) -> str:
        """The name of this estimate."""
        return estimate_name(self.k)

    @property
    def overlaps(self) -> tuple[float, ...]:
        """q_0 < ... < q_k."""
        return self._alone("overlaps").overlaps or (self.q,)

    @property
    def c(self) -> tuple[float, ...]:
        """Conjugates of the overlaps."""
        return self._alone("c").c or (self.q_hat,)

    @property
    def q(self) -> float:
        """Overlap of two solutions."""
        return self._over_synapses("q")

    @property
    def dq(self) -> float:
        """Q - q without cancellation."""
        return self._over_synapses("dq")

    @property
    def entropic_term(self) -> float:
        """G_S."""
        return self._over_synapses("entropic_term")

    @property
    def A_hat(self) -> float:
        """q_hat - 2 Q_hat without cancellation."""
        return self._alone("A_hat").A_hat

    @property
    def q_hat(self) -> float:
        """Conjugate of q."""
        return self._alone("q_hat").q_hat

    @property
    def M_hat(self) -> float:
        """Conjugate of the mean weight."""
        return self._alone("M_hat").M_hat

    @property
    def Q_hat(self) -> float:
        """Conjugate of Q."""
        return 0.5 * (self.q_hat - self.A_hat)

    @property
    def dM(self) -> float:
        """The deviation of the mean weight that causes the shift of the mean somatic input [mean-shift].

        Where E g' = 0, at the top of a curve E g = theta_s, only a deviation of Q can shift the mean: it is infinite.
        """
        if self.mean_shift == 0.0:
            return 0.0
        gain = self.task.f_in * (math.nan if self.kernel is None else self.kernel.mean_slope)
        return self.mean_shift / gain if gain else math.copysign(math.inf, self.mean_shift)


def saddle_point(
    neuron: NeuronSpec,
    task: TaskSpec | None = None,
    *,
    alpha: float,
    branch_size: float | None = None,
    channel: Channel = HARD_MARGIN,
) -> SaddlePoint:
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
    channel : Channel
        How patterns count: HardMargin(), as in the paper, Probit(sigma) with noise at the soma, or Temperature(T),
        which allows for wrong patterns. The last two take long branches that are all alike, with a monotone g.

    Raises
    ------
    NoSolution
        If ``alpha`` is not below the capacity, or ``theta_s`` is outside the range of the mean of g.
    ConvergenceError
        If the estimated error stays above 1e-9, with the result as ``last_iterate``; or if the solutions could not be
        followed to this load.

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
    check_channel(channel)
    if channel.temperature > 0.0:
        scope.check(scope.TEMPERATURE, task=task)
    if isinstance(neuron.prior, Spherical):
        if branch_size is not None:
            scope.check(scope.SHORT, neuron)
        sphere = Sphere(neuron, task, channel)
        alpha_c = sphere.symmetric_capacity if is_hard(channel) else math.inf
        if alpha >= alpha_c:
            raise NoSolution(f"alpha = {alpha:g} is not below the replica-symmetric capacity alpha_c = {alpha_c:.10g}")
        return _on_sphere(sphere, sphere.at(alpha) if alpha > 0.0 else sphere.place(NOWHERE), alpha)
    if needs_populations(neuron, branch_size):
        scope.check(scope.POPULATIONS, channel=channel)
    solutions = Solutions(neuron, task, branch_size, channel)
    if solutions.curved:
        scope.check(scope.FALLING, channel=channel)
        return _typical(solutions, alpha)
    return _checked(described(solutions, solutions.at(alpha)))


def _checked(result: SaddlePoint) -> SaddlePoint:
    """The result if it is accurate."""
    if not result.error < ACCEPTED:
        raise ConvergenceError(
            f"the saddle point at alpha = {result.alpha:g} has an estimated error of {result.error:.1e}, "
            f"above {ACCEPTED:g}",
            last_iterate=result,
        )
    return result


def _typical(solutions: Solutions, alpha: float) -> SaddlePoint:
    """Of all solutions at this load, for a non-monotone g, the one with the largest free entropy."""
    found = [described(solutions, one) for one in solutions.all_at(alpha)]
    if not found:
        alpha_c = solutions.capacity[0]
        if 0.0 < alpha < alpha_c:
            raise ConvergenceError(f"no branch of solutions was found to pass alpha = {alpha:g} < {alpha_c:.10g}")
        hint = f"the replica-symmetric capacity is {alpha_c:.10g}"
        if alpha == 0.0:
            hint = "weights of mean square 2 W_bar^2 make inputs too wide for this output; ask for a small alpha > 0"
        raise NoSolution(f"there is no solution at alpha = {alpha:g}: {hint}")
    # Mirrored or periodic solutions are equivalent: of each kind, the one with the smallest mean input is kept. At load
    # 0 all have the same volume, and the one that loses least of it with the load is typical.
    kinds: dict[tuple[float, ...], SaddlePoint] = {}
    for point in sorted(found, key=lambda point: abs(point.M_bar)):
        numbers = point.free_entropy, point.energetic_term, point.Q
        kinds.setdefault(tuple(float(f"{number:.6g}") for number in numbers), point)
    best, *others = sorted(kinds.values(), key=lambda point: (-point.free_entropy, -point.energetic_term))
    return replace(_checked(best), other_solutions=tuple(others))


def _on_sphere(sphere: Sphere, place: Place, alpha: float) -> SaddlePoint:
    """A solution for Spherical weights as a user wants to see it."""
    q_hat, entropic = place.q / place.dq**2, place.free_entropy(alpha) - alpha * place.energetic.term
    at_soma = (sphere.channel, place.pair.D0, place.pair.D1, sphere.task, place.shift, FIELD_STEP)
    own = {"q": place.q, "dq": place.dq, "A_hat": 1.0 / place.dq, "q_hat": q_hat, "M_hat": 0.0}
    return SaddlePoint(
        neuron=sphere.neuron,
        task=sphere.task,
        branch_size=math.inf,
        channel=sphere.channel,
        alpha=alpha,
        populations=(
            replace(sphere.weights(entropic_term=entropic, **own), preactivation_covariance=sphere.v * place.q),
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


def described(solutions: Solutions, found: Found) -> SaddlePoint:
    """A solution as a user wants to see it."""
    point, channel, task = found.point, solutions.channel, solutions.task
    at_soma = (channel, point.D0, point.D1, task, point.shift, FIELD_STEP)
    pairs = zip(found.equations.populations, point.sides, strict=True)
    return SaddlePoint(
        neuron=solutions.neuron,
        task=task,
        branch_size=math.inf if solutions.branch_size is None else solutions.branch_size,
        channel=channel,
        alpha=found.load,
        populations=tuple(_population(solutions.neuron, *pair) for pair in pairs),
        free_entropy=found.free_entropy,
        energetic_term=point.energetic.term,
        mean_shift=point.shift,
        stability=found.stability,
        residual=found.residual,
        error=found.error,
        iterations=found.evaluations,
        kernel=point.sides[0].dendrite.pair if solutions.alike else None,
        training_error=training_error(*at_soma),
        noisy_error=noisy_error(*at_soma),
    )


def _population(neuron: NeuronSpec, population: Population, side: Side) -> PopulationWeights:
    """The public description of one population, each type of its synapses in units of its own weights."""
    synapses = []
    for one, (M_hat, at) in zip(population.types, side.types, strict=True):
        unit = side.W_bar / one.scale  # a mean excitatory weight in units of this type's own weights
        A_hat, q_hat = side.A_hat * one.scale**2, side.q_hat * one.scale**2
        moments, M_hat = at.scaled(unit), M_hat / unit if at.mean else -math.inf
        weights = law_of(neuron.prior).weights(A_hat, q_hat, M_hat) if at.mean else None
        synapses.append(
            SynapseWeights(
                kind=one.kind,
                share=one.share,
                f_in=one.f_in or population.f_in,
                W_bar=moments.mean,
                Q=moments.mean_squared + moments.variance,
                weights=weights,
                q=moments.mean_squared,
                dq=moments.variance,
                A_hat=A_hat,
                q_hat=q_hat,
                M_hat=M_hat,
                entropic_term=moments.term,
            )
        )
    m = side.dendrite.m
    return PopulationWeights(
        population=replace(population, mean_output=side.dendrite.output),
        preactivation_mean=m,
        synapses=tuple(synapses),
        preactivation_covariance=population.variance(m, side.Q) - population.v * side.dq,
    )


def split_saddle_point(
    neuron: NeuronSpec, task: TaskSpec, alpha: float, split: Sequence[float], branch_size: float | None = None
) -> SaddlePoint:
    """The typical solutions of equal branches whose mean inputs have prescribed distances from a common one.

    Message passing keeps distances of this kind, so the two can be compared. Populations with prescribed mean outputs
    are different: each has its own multiplier, and at the same outputs they have a larger free entropy. ``split`` holds
    the distances, one for each of equally large shares of the branches.
    """
    solutions = Solutions(neuron, task, branch_size)
    alike, (one,) = solutions.at(alpha), populations_of(neuron, task, branch_size)
    parts = [replace(one, fraction=1.0 / len(split))] * len(split)

    def family(part: float) -> Callable[[Floats], Floats]:
        made = Equations(parts, task, split=[part * distance for distance in split])
        return partial(made.residuals, log_load=math.log(alpha))

    m = alike.point.sides[0].dendrite.m / alike.equations.unit
    *_, last = followed(family, np.append(np.tile(alike.x, len(split)), m), 0.0, 1.0)
    if last.at < 1.0:
        raise ConvergenceError(f"the solutions were followed to {last.at:.3g} of the split only", last_iterate=last)
    solutions.populations, solutions.split = tuple(parts), split
    return _checked(described(solutions, solutions.polished(last.x, alpha)))


# The de Almeida-Thouless load, at which replica symmetry becomes unstable.


@dataclass(frozen=True)
class StabilityLimit(Displayed):
    """The load at which replica symmetry becomes unstable.

    Attributes
    ----------
    alpha : float
        The load; infinite if the replica-symmetric solution is stable up to its capacity.
    saddle_point : SaddlePoint or None
        The solution at this load.
    residual : float
        Remaining replicon at ``alpha``, evaluated with a finer rule than the solution was found with.
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

    _displayed = ("alpha", "residual")

    alpha: float
    saddle_point: SaddlePoint | None
    residual: float
    neuron: NeuronSpec
    task: TaskSpec


def stability_limit(
    neuron: NeuronSpec, task: TaskSpec | None = None, *, branch_size: float | None = None
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

    Raises
    ------
    ConvergenceError
        If the solutions could not be followed, or the limit has an estimated error above 1e-9.

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
    if isinstance(neuron.prior, Spherical):
        if branch_size is not None:
            scope.check(scope.SHORT, neuron)
        sphere = Sphere(neuron, task)
        at = first_unstable(sphere)
        there = None if at is None else _on_sphere(sphere, at[1], at[0])
        if there is None:
            return StabilityLimit(math.inf, None, 0.0, neuron, task)
        return StabilityLimit(there.alpha, there, abs(there.stability), neuron, task)
    solutions = Solutions(neuron, task, branch_size)
    found = _first_of_branches(solutions) if solutions.curved else solutions.first(unstable)
    if found is None:
        return StabilityLimit(math.inf, None, 0.0, neuron, task)
    there = _checked(described(solutions, found))
    return StabilityLimit(there.alpha, there, abs(there.stability), neuron, task)


def _first_of_branches(solutions: Solutions) -> Found | None:
    """The lowest load at which the typical one of several branches becomes unstable; None if none does."""
    for limit in sorted(solutions.everywhere(unstable, LEAST_LOAD), key=lambda one: one.load):
        typical = max(solutions.all_at(limit.load), key=lambda one: one.free_entropy)
        if math.isclose(typical.point.sides[0].Q, limit.point.sides[0].Q, rel_tol=1e-4):
            return limit
        if typical.stability < 0.0:
            raise ConvergenceError(
                f"the typical solution jumps to an unstable branch below alpha = {limit.load:g}: replica symmetry ends "
                "in a transition of first order; compare saddle_point(...).stability at loads below",
                last_iterate=limit,
            )
    return None
