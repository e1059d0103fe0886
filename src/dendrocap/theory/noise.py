"""Effects of noise on branch and soma: flipped inputs and perturbed synapses [noise], and the errors they make.

The clean and the noisy input of a branch are two correlated normal numbers; the mixed kernel gives the covariance of
its two outputs, and at the soma the noisy input is normal given the clean one. The remaining average is over the clean
input: over a plane for typical solutions, whose cloud has a width, over a line if all solutions agree (capacity,
largest margin, learned).

Noise that changes the mean input of a branch does so by a multiple of sqrt(n), and that of the soma by a multiple of
sqrt(K). Without sizes these shifts are dropped: thresholds are assumed to follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dendrocap.display import Displayed
from dendrocap.errors import DendrocapError, InvalidParameter, NoSolution
from dendrocap.model import DendriticNeuron, NeuronSpec, TaskSpec
from dendrocap.numerics import legendre_rule
from dendrocap.numerics._compiled import density, mass_beyond, tail
from dendrocap.numerics.types import Floats
from dendrocap.theory import scope
from dendrocap.theory.dendrite import (
    BranchInput,
    BranchKernel,
    MixedPair,
    common_variance,
    mixed_pair,
    moments,
    tree_response,
)
from dendrocap.theory.learned import LearnedState, learned_state
from dendrocap.theory.margin import MaximalMargin, maximal_margin
from dendrocap.theory.neuron_kernel import needs_populations
from dendrocap.theory.patterns import NormalIntegral, effort, responses
from dendrocap.theory.results import SYMMETRIC
from dendrocap.theory.saddle_point import SaddlePoint, saddle_point
from dendrocap.theory.solution import CapacitySolution
from dendrocap.theory.solver import monotone_root
from dendrocap.theory.symmetric import symmetric_capacity
from dendrocap.validation import real_number, refuse, whole_number

NODES = 16  # per Gauss-Legendre panel

PointState = MaximalMargin | LearnedState  # all solutions agree

FAR = 8.0  # deviations of the noise beyond which it makes no errors: one in 1e15

CLOSE = 1e-5  # for closer solutions, relative to Q, a difference of covariances is less accurate than a slope


@dataclass(frozen=True)
class Noise:
    """Two kinds of noise, and the sizes that determine the shifts of the means.

    Parameters
    ----------
    flips : float
        Each input is flipped with this probability.
    synaptic : float
        Each weight becomes ``max(W (1 + synaptic z), 0)`` with a normal z.
    n_branches, branch_size : int, optional
        K and n, both or neither.
    """

    flips: float = 0.0
    synaptic: float = 0.0
    n_branches: int | None = None
    branch_size: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "flips", real_number("flips", self.flips, 0.0, 1.0))
        object.__setattr__(self, "synaptic", real_number("synaptic", self.synaptic, 0.0))
        if (self.n_branches is None) != (self.branch_size is None):
            raise InvalidParameter(
                f"n_branches = {self.n_branches!r} with branch_size = {self.branch_size!r} is not allowed: give both, "
                "or neither to let all thresholds follow the noise"
            )
        if self.n_branches is not None:
            object.__setattr__(self, "n_branches", whole_number("n_branches", self.n_branches, 1))
            object.__setattr__(self, "branch_size", whole_number("branch_size", self.branch_size, 1))

    def __bool__(self) -> bool:
        return self.flips > 0.0 or self.synaptic > 0.0

    def check(self, neuron: NeuronSpec, task: TaskSpec) -> None:
        """Raise for cases that have not been derived."""
        scope.check("noise_error", neuron)
        if self.flips > 0.0 and task.f_in != 0.5 and self.branch_size is None:
            raise InvalidParameter(
                f"flips = {self.flips!r} is not allowed at f_in = {task.f_in:g} without sizes: flipped inputs are then "
                "active more or less often, which shifts the mean input of a branch by a multiple of "
                "sqrt(branch_size); give n_branches and branch_size, or f_in = 1/2"
            )

    def on_branch(self, neuron: NeuronSpec, task: TaskSpec, clean: BranchInput, Q: float) -> tuple[BranchInput, float]:
        """The noisy input to a branch, and its covariance with the clean one as a fraction of the clean variance.

        Implements [noise-branch].
        """
        f = task.f_in
        active = f + self.flips * (1.0 - 2.0 * f)
        kept = 1.0 - 2.0 * self.flips
        first, second = _cut_weight(self.synaptic)
        variance = Q * (active * (1.0 - active) * second + active**2 * (second - first**2))
        # The common part of correlated inputs survives only if both inputs of a pair do.
        variance += (first * kept) ** 2 * common_variance(neuron, task)
        ratio = first * active / f
        mean = ratio * clean.mean
        if self.branch_size is not None:
            mean += math.sqrt(self.branch_size) * neuron.tree[0].theta * (ratio - 1.0)
        return BranchInput(mean, math.sqrt(variance)), first * kept


def _cut_weight(amplitude: float) -> tuple[float, float]:
    """Mean and mean square of max(1 + amplitude z, 0)."""
    if amplitude == 0.0:
        return 1.0, 1.0
    mass, edge = mass_beyond(-1.0 / amplitude), amplitude * density(1.0 / amplitude)
    return mass + edge, (1.0 + amplitude**2) * mass + edge


class NoisySoma:
    """The somatic input under noise, for weights of mean square Q.

    Attributes
    ----------
    variance : float
        Variance of the noisy input.
    drift : float
        Shift of its mean; zero without sizes.
    """

    def __init__(self, neuron: NeuronSpec, task: TaskSpec, noise: Noise, Q: float, clean: BranchInput) -> None:
        self._kernel = BranchKernel(neuron.tree[0].nonlinearity, neuron.theta_s)
        self._clean = clean
        self._noisy, self.fraction = noise.on_branch(neuron, task, clean, Q)
        g = self._kernel.nonlinearity
        mean = moments(g, 0.0, self._noisy.sd, self._noisy.mean).mean
        self.variance = moments(g, mean, self._noisy.sd, self._noisy.mean).variance
        self.drift = 0.0 if noise.n_branches is None else math.sqrt(noise.n_branches) * (mean - neuron.theta_s)

    def pair(self, covariance: float) -> MixedPair:
        """Clean and noisy output for two solutions whose clean inputs have this covariance."""
        return mixed_pair(self._kernel, self._clean, self._kernel, self._noisy, self.fraction * covariance)


def _over_labels(task: TaskSpec, of: Callable[[float], float], alike: bool = False) -> float:
    """The average of a function of the sign of the label, unless both labels are alike."""
    return of(1.0) if alike else task.f_out * of(1.0) + (1.0 - task.f_out) * of(-1.0)


def noise_error(
    solution: SaddlePoint | CapacitySolution | PointState,
    *,
    flips: float = 0.0,
    synaptic: float = 0.0,
    n_branches: int | None = None,
    branch_size: int | None = None,
) -> float:
    """Fraction of the learned patterns that a state gets wrong under noise.

    Parameters
    ----------
    solution : SaddlePoint, CapacitySolution, MaximalMargin or LearnedState
        Typical solutions at a load, the solution at capacity, that with the largest margin, or a learned state; all
        with equal branches and replica symmetric. A capacity with several populations or short branches must have one
        step of symmetry breaking (``rsb=1``).
    flips : float
        Each input is flipped with this probability, as in `noise_robustness`.
    synaptic : float
        Each weight becomes ``max(W (1 + synaptic z), 0)`` with a normal z.
    n_branches, branch_size : int, optional
        K and n = N / K. Noise then shifts the mean input of a branch and of the soma as in a neuron of this
        size. Without sizes thresholds are assumed to follow these shifts.

    Raises
    ------
    InvalidParameter
        For flips at ``f_in`` other than 1/2 without sizes, and for states whose noise has not been derived: several
        populations of branches or short ones, below capacity, with other than one step of breaking or with correlated
        inputs; deep trees; inhibition.

    Notes
    -----
    [noise-typical] for a `SaddlePoint`, [noise-broken] with one step of breaking, [noise-point] for all others. At
    capacity many patterns are exactly at the threshold, half of all in replica symmetry: without noise the error is 0,
    with arbitrarily weak noise it is half their share, and more if g has kinks.

    Examples
    --------
    >>> from dendrocap import Linear, NeuronSpec, saddle_point
    >>> typical = saddle_point(NeuronSpec(Linear(), theta_d=0.5, theta_s=0.5), alpha=0.5)
    >>> round(noise_error(typical, flips=0.05), 6)
    0.236618
    """
    noise = Noise(flips, synaptic, n_branches, branch_size)
    if isinstance(solution, SaddlePoint | CapacitySolution | MaximalMargin | LearnedState):
        noise.check(solution.neuron, solution.task)  # what is refused by name comes first
    if isinstance(solution, CapacitySolution):
        if needs_populations(solution.neuron, solution.branch_size):
            return broken_noise_error(solution, noise)
        if solution.rsb == 0:
            return noise_error(MaximalMargin.at_capacity(solution), **vars(noise))
    if isinstance(solution, SaddlePoint) and solution.kernel is not None:
        scope.check("noise_error", channel=solution.channel)
        return _typical_error(solution, noise) if noise else 0.0
    if isinstance(solution, MaximalMargin | LearnedState):
        return _point_error(solution, noise) if noise else solution.training_error
    raise refuse(
        "solution",
        solution,
        "a SaddlePoint, a CapacitySolution, a MaximalMargin or a LearnedState: noise has not been derived for several "
        "populations below capacity and for single neurons of given size; with broken symmetry it is for "
        "critical_capacity(neuron, rsb=1, branch_size=n)",
    )


def _typical_error(solution: SaddlePoint, noise: Noise) -> float:
    """[noise-typical]"""
    from dendrocap.theory._laws import typical_error

    task, kernel = solution.task, solution.kernel
    assert kernel is not None  # noise_error has seen to it
    clean = BranchInput(solution.preactivation.mu, solution.preactivation.sigma)
    soma = NoisySoma(solution.neuron, task, noise, solution.Q, clean)
    V, dV = clean.sd**2, task.f_in * (1.0 - task.f_in) * solution.dq
    others = soma.pair(V - dV)
    if solution.dq < CLOSE * solution.Q:
        beyond = soma.fraction * dV * soma.pair(V - 0.5 * dV).slopes
    else:
        beyond = soma.pair(V).covariance - others.covariance
    along, across = others.covariance / math.sqrt(kernel.D0), beyond / math.sqrt(kernel.D1)
    sd = math.sqrt(max(soma.variance - along**2 - across**2, 1e-30))
    steepness = math.sqrt(kernel.D0 / kernel.D1)

    def of(sign: float) -> float:
        shift = (task.kappa - sign * solution.mean_shift) / math.sqrt(kernel.D1)
        offset = sign * (soma.drift + solution.mean_shift)
        return float(typical_error(steepness, shift, offset, along, across, sd, legendre_rule(NODES)))

    return _over_labels(task, of, solution.mean_shift == soma.drift == 0.0)


def _point_error(state: PointState, noise: Noise) -> float:
    """[noise-point]"""
    from scipy.special import ndtr

    clean = BranchInput(state.preactivation_mean, state.preactivation_sd)
    soma = NoisySoma(state.neuron, state.task, noise, state.Q, clean)
    pair = soma.pair(clean.sd**2)
    along = pair.covariance / state.Gamma0
    gain = moments(state.neuron.tree[0].nonlinearity, 0.0, clean.sd, clean.mean).gain
    across = soma.fraction * pair.slopes / gain
    sd = math.sqrt(max(soma.variance - along * pair.covariance, 1e-30))

    def of(sign: float) -> float:
        offset = sign * (soma.drift + state.mean_shift)
        field, push, weight = state.somatic_inputs(sign, offset, along, across, sd)
        return float(weight @ ndtr(-(offset + along * field + across * push) / sd))

    return _over_labels(state.task, of, state.mean_shift == soma.drift == 0.0)


# Errors under noise at the capacity with one step of symmetry breaking, for one or several populations of branches.
#
# Solutions form clusters. The somatic input of a pattern that is not yet learned has a part that all clusters share
# and a part of each cluster; a cluster counts the less, the further its patterns must be pushed [noise-broken]. Given
# both parts the noisy input is normal, as at every point state.

# Averages over both parts: nodes per Gauss-Legendre panel, panels on either side of a bend, and where the normal ends.
CLUSTER_NODES, PANELS, END = 16, 12, 9.0


class NoisyBranches(NamedTuple):
    """One population of branches, clean and noisy."""

    fraction: float
    clean: BranchInput
    soma: NoisySoma
    common: float  # covariance of the clean inputs of solutions in two clusters
    response: float  # f (1 - f) times the distance of two solutions of a cluster, in units of the first population's


@dataclass(frozen=True)
class Clusters:
    """Somatic inputs of patterns: variances of the shared part and of that of a cluster, and the weight of clusters."""

    shared: float
    own: float
    Gamma1: float
    mu: float
    shift: float

    def patterns(self, start: float) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Both parts and the push at nodes, their weights, and the energy for each value of the shared part.

        ``start`` is the margin that a pattern lacks on average.
        """
        shared, outer = (one[0] for one in _normal(np.zeros(1)))
        at = start - math.sqrt(self.shared) * shared
        own, inner = _normal(at / math.sqrt(self.own))  # a pattern is pushed below, not above
        push = np.maximum(at[:, None] - math.sqrt(self.own) * own, 0.0)
        tilted = inner * np.exp(-0.5 * self.mu * push**2 / self.Gamma1)
        norm = tilted.sum(axis=1)
        return shared[:, None], own, push, outer[:, None] * tilted / norm[:, None], outer * np.log(norm)


def _normal(bends: Floats) -> tuple[Floats, Floats]:
    """Nodes and weights of averages over a standard normal number, one row for each bend of the integrand."""
    nodes, weights = legendre_rule(CLUSTER_NODES)
    at, parts = np.clip(bends, -END, END)[:, None], np.linspace(0.0, 1.0, PANELS + 1)
    edges = np.concatenate([-END + (at + END) * parts, at + (END - at) * parts[1:]], axis=1)
    half = 0.5 * np.diff(edges, axis=1)[:, :, None]
    z = (edges[:, :-1, None] + half * (1.0 + nodes)).reshape(len(at), -1)
    weight = (half * weights).reshape(len(at), -1)
    return z, weight * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)


def broken_noise_error(solution: CapacitySolution, noise: Noise) -> float:
    """Fraction of the learned patterns that are wrong under noise, at the capacity with one step [noise-broken]."""
    task = solution.task
    scope.check("noise_error of short or unequal branches", task=task)
    if solution.rsb != 1 or not solution.ladder:
        raise refuse(
            "solution.rsb",
            solution.rsb,
            "1 where branches are short or differ: noise is derived for one step of symmetry breaking there",
        )
    if noise.branch_size is not None and any(one.length != 1.0 for one in solution.populations):
        raise refuse("branch_size", noise.branch_size, "left out where branches differ in length")
    if not noise:
        return 0.0
    return error_of(task, branches_of(solution, noise), clusters_of(solution))


def branches_of(solution: CapacitySolution, noise: Noise) -> list[NoisyBranches]:
    """The populations of a solution with one step of breaking, under noise."""
    neuron, found = solution.neuron, []
    for kind, one, side in zip(neuron.kinds, solution.populations, solution.ladder[-1].state.sides, strict=True):
        task = solution.task if kind.f_in is None else replace(solution.task, f_in=kind.f_in)
        v = task.f_in * (1.0 - task.f_in)
        alone = NeuronSpec(kind.nonlinearity, kind.theta_d, neuron.theta_s)
        clean = BranchInput(one.preactivation_mean, one.preactivation_sd)
        soma = NoisySoma(alone, task, noise, one.Q, clean)
        found.append(NoisyBranches(one.fraction, clean, soma, v * float(side.q[0]), v * side.gap))
    return found


def clusters_of(solution: CapacitySolution) -> Clusters:
    """The somatic inputs of a solution with one step of breaking."""
    state = solution.ladder[-1].state
    pairs = zip(solution.populations, state.sides, strict=True)
    own = math.fsum(one.fraction * side.overlaps[0].D1 for one, side in pairs)
    return Clusters(state.Gamma0 - own, own, state.Gamma1, float(state.mu[-1]), solution.mean_shift)


def error_of(task: TaskSpec, branches: Sequence[NoisyBranches], clusters: Clusters) -> float:
    """Errors of both labels together."""
    from scipy.special import ndtr

    same = [one.soma.pair(one.clean.sd**2) for one in branches]
    between = math.fsum(one.fraction * one.soma.pair(one.common).covariance for one in branches)
    total = math.fsum(one.fraction * pair.covariance for one, pair in zip(branches, same, strict=True))
    along = between / math.sqrt(clusters.shared), (total - between) / math.sqrt(clusters.own)
    across = math.fsum(
        one.fraction * one.response * one.soma.fraction * pair.slopes for one, pair in zip(branches, same, strict=True)
    )
    variance = math.fsum(one.fraction * one.soma.variance for one in branches)
    drift = math.fsum(one.fraction * one.soma.drift for one in branches)
    sd = math.sqrt(max(variance - along[0] ** 2 - along[1] ** 2, 1e-30))

    def of(sign: float) -> float:
        shared, own, push, weight, _ = clusters.patterns(task.kappa - sign * clusters.shift)
        level = sign * (drift + clusters.shift) + along[0] * shared + along[1] * own + across / clusters.Gamma1 * push
        return float(np.sum(weight * ndtr(-level / sd)))

    return _over_labels(task, of)


# The smallest error of any weights.


def least_noise_error(
    neuron: NeuronSpec, task: TaskSpec | None = None, *, alpha: float, flips: float = 0.0, synaptic: float = 0.0
) -> float:
    """The smallest error under noise of any solution at a load, in the replica-symmetric estimate.

    The weights are optimised for this noise: patterns are moved away from the threshold, or given up, such that the
    expected number of errors is smallest. It is a bound for equal branches; unequal ones may do better.

    Parameters
    ----------
    neuron : NeuronSpec
        A neuron with one level of equal branches, and a g without jumps.
    task : TaskSpec, optional
        With ``f_out = 1/2`` and no margin.
    alpha : float
        Patterns per synapse, below or above capacity.
    flips, synaptic : float
        The noise, as in `noise_error`; one of them is above zero. Thresholds follow.

    Returns
    -------
    float
        Fraction of the patterns; 0 where it is below 1e-15.

    Notes
    -----
    Solves [noise-best].

    Examples
    --------
    >>> from dendrocap import Linear
    >>> linear = NeuronSpec(Linear(), theta_d=0.5, theta_s=0.5)
    >>> print(f"{least_noise_error(linear, alpha=0.5, flips=0.05):.4f}")
    0.0869
    """
    from scipy.optimize import minimize_scalar

    task = scope.check("least_noise_error", neuron, task)
    alpha = real_number("alpha", alpha, 0.0, low_open=True)
    noise = Noise(flips, synaptic)
    noise.check(neuron, task)
    if not noise or noise.flips >= 0.5:
        raise InvalidParameter(
            f"flips = {noise.flips:g} with synaptic = {noise.synaptic:g} is not allowed: the bound needs some "
            "noise, and fewer than half of the inputs flipped"
        )
    start = symmetric_capacity(neuron, task)
    problem = _LeastError(neuron, task, alpha, noise, start)
    if problem.error(start.B) == 0.0:
        return 0.0  # no other weights make fewer errors
    # The weights of the largest relative margin are a good start; stronger noise needs sparser or denser ones.
    outcome = minimize_scalar(
        problem.error, bounds=(start.B - 2.0, start.B + 2.0), method="bounded", options={"xatol": 1e-4}
    )
    return float(outcome.fun)


class _LeastError:
    """The smallest error for weights of a given shape B [noise-best]."""

    def __init__(self, neuron: NeuronSpec, task: TaskSpec, alpha: float, noise: Noise, start: CapacitySolution) -> None:
        self.neuron, self.task, self.alpha, self.noise = neuron, task, alpha, noise
        self._means: tuple[float, ...] = (start.preactivation_mean,)
        self._log_tau = 0.0

    def error(self, B: float) -> float:
        """The error for the best distribution of pushes over patterns."""
        i0, i1, i2 = tail(B)
        W_bar = self.neuron.tree[0].theta / self.task.f_in
        Q, C = W_bar**2 * i2 / i1**2, (i0 * W_bar / i1) ** 2
        tree = tree_response(self.neuron, self.task, Q, self._means)
        self._means = tree.means
        soma = NoisySoma(self.neuron, self.task, self.noise, Q, BranchInput(tree.means[0], tree.sd))
        pair = soma.pair(tree.sd**2)
        v = self.task.f_in * (1.0 - self.task.f_in)
        along, across = pair.covariance / tree.Gamma0, soma.fraction * pair.slopes * v / tree.Gamma1
        sd = math.sqrt(soma.variance - along * pair.covariance)
        # In units of the noise the margin is normal before the push; the weights limit E push^2.
        spread = along * math.sqrt(tree.Gamma0) / sd
        afforded = tree.Gamma1 * C / self.alpha * (across / sd) ** 2
        if afforded >= spread**2 * tail(-FAR / spread)[2]:
            return 0.0  # every pattern can be pushed that far
        loss = NormalIntegral()

        def excess(log_tau: float) -> tuple[float, float]:
            square, growth = effort(loss, log_tau, 0.0, spread)
            return math.log(square / afforded), growth / square

        self._log_tau = monotone_root(excess, self._log_tau, 1.0).at
        patterns = responses(loss, self._log_tau, 0.0, spread)
        return float(patterns.weight @ loss.value(patterns.margin))


# Comparison of several states under the same noise.


@dataclass(frozen=True)
class NoiseErrors(Displayed):
    """Fractions of patterns wrong under one noise, for several states at one load; NaN if a state does not exist.

    Attributes
    ----------
    typical : float
        A solution drawn at random.
    largest_margin : float
        The solution of largest margin in units of the fluctuations of the somatic input.
    learned : float
        The minimum of the cross-entropy; it may have errors without noise.
    best_possible : float
        The smallest error of any weights, a bound for equal branches; NaN for neurons with a size.
    reason : str
        Why some states are missing.
    estimate : str
        All are replica symmetric with equal branches. For a linear neuron the first three are exact.

    Examples
    --------
    >>> from dendrocap import Linear, NeuronSpec
    >>> found = noise_errors(NeuronSpec(Linear(), theta_d=0.5, theta_s=0.5), alpha=0.5, flips=0.05)
    >>> print(f"{found.best_possible:.3f} <= {found.largest_margin:.3f} <= {found.typical:.3f}")
    0.087 <= 0.126 <= 0.237
    """

    _displayed = ("typical", "largest_margin", "learned", "best_possible", "estimate")

    typical: float
    largest_margin: float
    learned: float
    best_possible: float
    reason: str = ""
    estimate: str = SYMMETRIC


def noise_errors(
    neuron: NeuronSpec | DendriticNeuron,
    task: TaskSpec | None = None,
    *,
    alpha: float,
    flips: float = 0.0,
    synaptic: float = 0.0,
    gamma_ce: float = 10.0,
) -> NoiseErrors:
    """Errors of typical, largest-margin and learned states under the same noise, and the smallest possible error.

    A `DendriticNeuron` has a size: noise then shifts its mean inputs, as in `noise_error` with sizes. Without a size,
    thresholds follow. ``gamma_ce`` is the steepness of the loss that the learned state minimises.
    """
    task = TaskSpec() if task is None else task
    spec = neuron.spec if isinstance(neuron, DendriticNeuron) else neuron
    size: dict[str, int] = {}
    if isinstance(neuron, DendriticNeuron):
        if neuron.n_inputs % neuron.n_branches:
            raise refuse("n_inputs", neuron.n_inputs, f"a multiple of n_branches = {neuron.n_branches} here")
        size = {"n_branches": neuron.n_branches, "branch_size": neuron.n_inputs // neuron.n_branches}
    alpha = real_number("alpha", alpha, 0.0, low_open=True)
    real_number("gamma_ce", gamma_ce, 0.0, low_open=True)
    noise = Noise(flips, synaptic, **size)
    noise.check(spec, task)
    how: dict[str, Any] = {"flips": noise.flips, "synaptic": noise.synaptic, **size}

    def bound() -> float:
        if size:
            raise NoSolution(
                "the best possible error is known for thresholds that follow the noise: leave out the size"
            )
        return least_noise_error(spec, task, alpha=alpha, flips=noise.flips, synaptic=noise.synaptic)

    states: dict[str, Callable[[], float]] = {
        "typical": lambda: noise_error(saddle_point(spec, task, alpha=alpha), **how),
        "largest_margin": lambda: noise_error(maximal_margin(spec, task, alpha=alpha, criterion="relative"), **how),
        "learned": lambda: noise_error(learned_state(spec, task, alpha=alpha, gamma_ce=gamma_ce), **how),
        "best_possible": bound,
    }
    found: dict[str, float] = {}
    missing: dict[str, DendrocapError] = {}
    for name, solve in states.items():
        try:
            found[name] = solve()
        except DendrocapError as error:
            missing[name] = error
    if not found:
        raise missing["typical"]
    reason = "; ".join(f"{name}: {error}" for name, error in missing.items())
    typical, margin, learned, best = (found.get(name, math.nan) for name in states)
    return NoiseErrors(typical, margin, learned, best, reason)
