"""Approximate message passing on the tree: beliefs about weights from beliefs about branch inputs, and back.

Inputs are centred, x = xi - f_i, and every branch has the offset m = sum_i f_i W_li / sqrt(n_l) - sqrt(n_l) theta_d,
which all patterns and, as in the theory, all branches share. The prior on W >= 0 is flat; what keeps weights finite is
the offset, whose conjugate field h_l plays the part of the theory's M_hat. At zero load this is the exponential
distribution of [zero-load]. Offsets that may differ from branch to branch run away, because a branch that is always on
may have any weights; differences between them can be prescribed.
Formulas are listed under [amp-...] in docs/equations.md and derived in docs/solvers.md.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError, InvalidParameter
from dendrocap.learning.rules import EpochOutcome, Solver
from dendrocap.learning.solvers import crossing, refuse_kinds
from dendrocap.learning.training import Training
from dendrocap.model.dendritic_neuron import DendriticNeuron
from dendrocap.model.patterns import PackedPatterns, binary_patterns
from dendrocap.numerics import TruncatedNormal, trapezoidal_rule, truncated_normal
from dendrocap.numerics.types import Floats
from dendrocap.validation import choice, real_number, refuse, whole_number

# Nodes for averages over a branch input: enough for a solver, whose beliefs are heuristic, and for an estimate.
SOLVER_NODES, ESTIMATE_NODES = 41, 81

PATIENCE = 100  # sweeps before an estimate is damped more

SMALLEST = 1e-9  # no variance is allowed below this, so that nothing is divided by zero


@dataclass(frozen=True, eq=False)
class BetheEstimate(Displayed):
    """The logarithm of the volume of solutions of one set of patterns, as message passing sees it."""

    _displayed = ("free_entropy", "overlap", "mean_square", "iterations", "residual", "converged")

    free_entropy: float  # ln Z / N, to be compared with ``SaddlePoint.free_entropy``
    offset: float  # the mean branch input m
    overlap: float  # q, the mean of <W>^2 over synapses
    mean_square: float  # Q, the mean of <W^2>
    mean_weight: float
    iterations: int
    residual: float  # largest change of a mean weight in the last sweep, relative to the mean weight
    converged: bool


class Messages:
    """The messages of one set of patterns; `sweep` updates all of them once."""

    def __init__(
        self,
        neuron: DendriticNeuron,
        inputs: NDArray[np.uint8],
        signs: Floats,
        kappa: float = 0.0,
        n_nodes: int = ESTIMATE_NODES,
        split: Floats | float = 0.0,
        centre: Floats | None = None,
    ) -> None:
        from dendrocap.learning import _solver_kernels

        refuse_kinds(neuron, "message passing")
        self._channel: Any = _solver_kernels.channel
        self.neuron, self.signs = neuron, signs
        self._soma_offset = float(np.sqrt(neuron.n_branches) * neuron.spec.theta_s)
        g = neuron.nonlinearity.kernel()
        self._task = (signs, *trapezoidal_rule(n_nodes), self._soma_offset, kappa, *g, SMALLEST)
        sizes, starts = neuron.branch_sizes, neuron.branch_starts
        self.real = np.arange(neuron.branch_size)[None, :] < sizes[:, None]
        self.root = np.sqrt(sizes)
        self.activity = np.zeros(neuron.weights_shape)
        n_patterns = len(signs)
        # One block per branch, patterns by synapses; short branches end in columns of zeros.
        self._centred = np.zeros((neuron.n_branches, n_patterns, neuron.branch_size), dtype=np.float32)
        for branch, (start, size) in enumerate(zip(starts, sizes, strict=True)):
            block = inputs[:, start : start + size]
            # Any centre will do, but an input that is never active must not leave its weight without bound.
            self.activity[branch, :size] = (block.sum(axis=0) + 0.5) / (n_patterns + 1.0)
            self._centred[branch, :, :size] = block - self.activity[branch, :size]
        self._spread = self.activity * (1.0 - self.activity)
        shape = (n_patterns, neuron.n_branches)
        self.response, self.curvature = np.zeros(shape), np.zeros(shape)
        self.log_norm = np.zeros(n_patterns)
        self.offset = np.full(neuron.n_branches, crossing(neuron.nonlinearity, neuron.spec.theta_s)) + split
        # A field -pull (W - centre)^2 / 2 on every weight, if wanted: the flat prior has none.
        self.pull, self.centre = 0.0, centre
        self.field = np.zeros(neuron.n_branches)
        self.precision, self.push = np.full(neuron.weights_shape, 1e-6), np.zeros(neuron.weights_shape)
        self.set_beliefs()
        self.gather()

    def mean_offset(self, weights: Floats) -> Floats:
        """The offset m that weights give every branch."""
        return np.asarray((self.activity * weights).sum(axis=1) / self.root - self.root * self.neuron.theta_d)

    def _beliefs(self, field: Floats) -> TruncatedNormal:
        precision, push = self.precision, self.push
        if self.centre is not None:
            precision, push = precision + self.pull, push + self.pull * self.centre
        found = truncated_normal(precision, push + field[:, None] * self.activity)
        return TruncatedNormal(found.mean * self.real, found.variance * self.real, found.log_norm * self.real)

    def set_beliefs(self) -> None:
        """Beliefs whose offsets are those wanted: h_l is found by bisection, the offset grows with it."""
        # A neuron without dendritic threshold has no room for negative offsets; it is kept a little off that wall.
        reachable = -self.root * self.neuron.theta_d
        self.offset = np.maximum(self.offset, reachable + 1e-3)
        step = np.ones(self.neuron.n_branches)
        low, high = self.field - step, self.field + step
        for _ in range(60):
            wide = self.mean_offset(self._beliefs(low).mean) > self.offset
            tall = self.mean_offset(self._beliefs(high).mean) < self.offset
            if not (np.any(wide) or np.any(tall)):
                break
            step = np.where(wide | tall, 2.0 * step, step)
            low, high = np.where(wide, low - step, low), np.where(tall, high + step, high)
        for _ in range(45):
            middle = 0.5 * (low + high)
            below = self.mean_offset(self._beliefs(middle).mean) < self.offset
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        self.field = 0.5 * (low + high)
        self.beliefs = self._beliefs(self.field)

    def gather(self) -> None:
        """Means z and variances V of the branch inputs [amp-inputs]."""
        mean = self.beliefs.mean.astype(np.float32)[:, :, None]
        self.inputs_mean = np.matmul(self._centred, mean)[:, :, 0].T.astype(np.float64) / self.root + self.offset
        self.variance = np.maximum((self._spread * self.beliefs.variance).sum(axis=1) / self.root**2, SMALLEST)
        self.cavity = self.inputs_mean - self.variance * self.response

    def sweep(self, damping: float, memory: float = 0.0) -> float:
        """Update everything once; returns the largest change of a mean weight, relative to the mean.

        ``memory`` is the share of the last belief that is added to the prior: reinforcement.
        """
        response, curvature = np.empty_like(self.response), np.empty_like(self.curvature)
        self._channel(self.cavity, self.variance, *self._task, response, curvature, self.log_norm)
        if not (np.all(np.isfinite(response)) and np.all(np.isfinite(curvature))):
            raise ConvergenceError("messages stopped being finite", self.beliefs.mean)
        self.response += (1.0 - damping) * (response - self.response)
        self.curvature += (1.0 - damping) * (curvature - self.curvature)
        old = self.beliefs.mean
        total = self.curvature.sum(axis=0)
        # [amp-weights]; a pattern may locally be convex, the sum over patterns must not make a weight unbounded.
        precision = np.maximum(self._spread * (total / self.root**2)[:, None], 1e-6)
        answers = np.matmul(self.response.T.astype(np.float32)[:, None, :], self._centred)[:, 0, :].astype(np.float64)
        push = answers / self.root[:, None] + precision * old
        self.precision = precision + memory * self.precision
        self.push = push + memory * self.push
        # Newton's step for the offset [amp-offset]: the fields that the patterns ask for must be those in use.
        asked = self.response.sum(axis=0) / self.root
        stiffness = (self.activity**2 * self.beliefs.variance).sum(axis=1) / self.root
        # All branches move together, and each feels the others through the soma as much as itself.
        together = self.neuron.n_branches * np.maximum(total, 0.0)
        slope = together / self.root + 1.0 / np.maximum(stiffness, SMALLEST)
        step = float((self.root * (asked - self.field)).sum() / (self.root * slope).sum())
        self.offset = self.offset + (1.0 - damping) * min(max(step, -0.1), 0.1)
        self.set_beliefs()
        self.gather()
        return float(np.max(np.abs(self.beliefs.mean - old)) / max(float(old.mean()), 1e-12))

    def margins(self) -> Floats:
        """sign * Delta at the mean weights."""
        outputs = self.neuron.nonlinearity(self.inputs_mean)
        root = np.sqrt(self.neuron.n_branches)
        return np.asarray(self.signs * (outputs.sum(axis=1) / root - self._soma_offset))

    def free_entropy(self) -> float:
        """ln Z / N at a fixed point [amp-bethe], where a pull weighs weights by exp(-pull (W^2 / 2 - W centre))."""
        w, variance = self.beliefs.mean, self.beliefs.variance
        weights = self.beliefs.log_norm + (0.5 * self.precision * (w**2 + variance) - self.push * w) * self.real
        offsets = self.field * self.root * (self.offset + self.root * self.neuron.theta_d)
        patterns = self.log_norm + ((self.cavity - self.inputs_mean) ** 2 / (2.0 * self.variance)).sum(axis=1)
        return float(weights.sum() - offsets.sum() + patterns.sum()) / self.neuron.n_inputs


def settle(messages: Messages, *, damping: float, most: int, tolerance: float) -> tuple[float, int]:
    """Sweep until messages change by less than the tolerance; the last change, and how many sweeps that took."""
    residual, iterations, fresh = np.inf, 0, 1.0 - damping
    while residual > tolerance and iterations < most:
        # Oscillations between branches need more damping than most patterns do.
        residual = messages.sweep(1.0 - fresh * 0.5 ** (iterations // PATIENCE))
        iterations += 1
    return residual, iterations


def bethe_free_entropy(
    neuron: DendriticNeuron,
    inputs: ArrayLike | PackedPatterns,
    labels: ArrayLike,
    *,
    kappa: float = 0.0,
    split: ArrayLike | None = None,
    damping: float = 0.5,
    max_iterations: int = 500,
    tolerance: float = 1e-4,
    on_failure: str = "raise",
) -> BetheEstimate:
    """The free entropy of one set of patterns, ln(volume of its solutions) / N, from message passing.

    Parameters
    ----------
    neuron, inputs, labels
        The task.
    kappa : float
        Margin asked for.
    split : array of float, shape (n_branches,), optional
        How far the mean input of each branch lies from a common one, which is found; by default all branches share it.
    damping : float
        Share of the old messages that is kept in each sweep, in [0, 1). What is not kept is halved after every hundred
        sweeps that did not settle.
    max_iterations : int
        Most sweeps.
    tolerance : float
        Largest relative change of a mean weight at which the messages count as settled.
    on_failure : {"raise", "return"}
        Whether messages that do not settle, as is usual where replica symmetry is unstable, raise `ConvergenceError`.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky, random_patterns
    >>> neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.5, 0.5), n_inputs=200, n_branches=10)
    >>> estimate = bethe_free_entropy(neuron, *random_patterns(40, 200, rng=1))
    >>> estimate.converged, -1.0 < estimate.free_entropy < 1.0
    (True, True)
    """
    choice("on_failure", on_failure, ("raise", "return"))
    damping = real_number("damping", damping, 0.0, 1.0, high_open=True)
    most = whole_number("max_iterations", max_iterations, 1)
    patterns = binary_patterns(inputs, labels, neuron.n_inputs)
    distances = np.zeros(neuron.n_branches) if split is None else np.asarray(split, dtype=float)
    if distances.shape != (neuron.n_branches,) or not np.all(np.isfinite(distances)):
        raise refuse("split", split, f"one finite number for each of {neuron.n_branches} branches")
    messages = Messages(neuron, patterns.dense, patterns.signs, real_number("kappa", kappa, 0.0), split=distances)
    residual, iterations = settle(messages, damping=damping, most=most, tolerance=tolerance)
    found = messages.beliefs
    estimate = BetheEstimate(
        free_entropy=messages.free_entropy(),
        offset=float(messages.offset.mean()),
        overlap=float((found.mean**2).sum() / neuron.n_inputs),
        mean_square=float((found.mean**2 + found.variance).sum() / neuron.n_inputs),
        mean_weight=float(found.mean.sum() / neuron.n_inputs),
        iterations=iterations,
        residual=residual,
        converged=residual <= tolerance,
    )
    if not estimate.converged and on_failure == "raise":
        raise ConvergenceError(
            f"messages still change by {residual:.2g} of the mean weight after {iterations} sweeps, more than the "
            f"tolerance {tolerance:g}",
            estimate,
        )
    return estimate


@dataclass(frozen=True)
class MessagePassing(Solver):
    """Reinforced message passing: beliefs are fed back as a prior until they have become weights.

    Parameters
    ----------
    sweeps : int
        Length of the first attempt; each further one is twice as long.
    memory : float
        Reinforcement: the share of the old belief that is kept as a prior approaches 1 like
        1 - (1 - memory)^(sweep / sweeps), so that beliefs sharpen. In (0, 1).
    damping : float
        Share of the old messages that is kept in each sweep.
    """

    name: ClassVar[str] = "message-passing"
    takes_margin: ClassVar[bool] = True

    sweeps: int = 200
    memory: float = 0.98
    damping: float = 0.5

    def __post_init__(self) -> None:
        whole_number("sweeps", self.sweeps, 1)
        real_number("memory", self.memory, 0.0, 1.0, low_open=True, high_open=True)
        real_number("damping", self.damping, 0.0, 1.0, high_open=True)

    def attempt(self, run: Training, number: int) -> Iterator[EpochOutcome]:
        messages = Messages(run.neuron, run.patterns.dense, run.patterns.signs, run.kappa, n_nodes=SOLVER_NODES)
        # Messages start without a preference; a little noise makes attempts differ.
        messages.push += 1e-2 * run.rng.standard_normal(messages.push.shape) * messages.real
        length = self.sweeps * 2**number
        with suppress(ConvergenceError):  # messages that overflow end this attempt; others differ by their noise
            for sweep in range(length):
                messages.sweep(self.damping, 1.0 - (1.0 - self.memory) ** (sweep / length))
                yield EpochOutcome(messages.margins(), messages.beliefs.mean[messages.real], 0.0)


# Local entropy measured: how many solutions of one set of patterns lie at a distance from given weights.
#
# Message passing counts solutions in a field that pulls every weight towards its given value; what it counts and the
# distance it finds give the entropy by a Legendre transform [amp-local]. The pull starts strong, next to the weights,
# and is weakened as long as messages settle.

DISTANCES = tuple(np.geomspace(0.003, 0.6, 16).tolist())  # looked at if none are given

CLOSE = 1e-4  # relative growth below which distances do not grow any more

FREE = 20.0  # logarithm of the factor by which a pull is weakened until it counts as none


@dataclass(frozen=True, eq=False)
class MeasuredLocalEntropy(Displayed):
    """Solutions of one set of patterns around given weights, by their distance."""

    _displayed = ("largest_distance", "stopped")

    distance: Floats  # squared, ``|W - W_given|^2 / |W_given|^2``, increasing
    entropy: Floats  # logarithm of the volume of solutions at this distance, per synapse
    ball_entropy: Floats  # the same of all weights with the branch sums of these solutions
    coupling: Floats  # the field that holds solutions at this distance
    iterations: NDArray[np.int64]  # sweeps that each took to settle
    stopped: str  # why larger distances are missing; empty if they are not

    @property
    def largest_distance(self) -> float:
        """How far from the weights solutions were counted."""
        return float(self.distance[-1])

    @property
    def log_fraction(self) -> Floats:
        """Logarithm of the share of solutions among all weights at the same distance, per synapse."""
        return self.entropy - self.ball_entropy


def measured_local_entropy(
    neuron: DendriticNeuron,
    inputs: ArrayLike | PackedPatterns,
    labels: ArrayLike,
    weights: ArrayLike,
    *,
    distance: ArrayLike | None = None,
    kappa: float = 0.0,
    damping: float = 0.5,
    max_iterations: int = 500,
    tolerance: float = 1e-4,
    callback: Callable[[float, str], object] | None = None,
) -> MeasuredLocalEntropy:
    """Entropy of the solutions of one set of patterns at distances from given weights, from message passing.

    Parameters
    ----------
    neuron, inputs, labels, kappa, damping, max_iterations, tolerance
        As for `bethe_free_entropy`; limits hold for each distance.
    weights : array
        A solution, around which others are counted, such as ``solve(...).weights``; weights with errors are refused.
    distance : sequence of float, optional
        Squared distances relative to the squared norm of the weights, where to look. The field that holds solutions
        at a distance is guessed, so that distances in the result differ by some per cent. By default 16 of them, from
        0.003 to 0.6. Larger ones are left out where messages do not settle, or where solutions are most numerous
        without any field; if they do not settle at the smallest, that is a `ConvergenceError`.
    callback : callable, optional
        Called with the share that is done and a few words.

    Notes
    -----
    Solutions that are counted share the differences between the branches' mean inputs with the given weights; their
    common mean input is found. The theory of the same quantity, for typical weights and equal branches, is
    `local_entropy`.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky, random_patterns, solve
    >>> neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.5, 0.5), n_inputs=300, n_branches=10)
    >>> patterns = random_patterns(90, 300, rng=1)
    >>> learned = solve(neuron, *patterns, seed=0)
    >>> found = measured_local_entropy(neuron, *patterns, learned.weights, distance=[0.01, 0.1])
    >>> bool(0.0 > found.log_fraction[0] > found.log_fraction[1])
    True
    """
    real_number("damping", damping, 0.0, 1.0, high_open=True)
    whole_number("max_iterations", max_iterations, 1)
    listed = DISTANCES if distance is None else np.atleast_1d(np.asarray(distance)).tolist()
    asked = sorted(real_number("distance", one, 0.0, low_open=True) for one in listed)
    if not asked:
        raise refuse("distance", distance, "at least one number > 0")
    patterns = binary_patterns(inputs, labels, neuron.n_inputs)
    flat = neuron.flat_weights(weights)
    wrong = int(np.count_nonzero(patterns.signs * neuron.somatic_input(flat, patterns.inputs) <= 0.0))
    if wrong:
        raise InvalidParameter(
            f"weights with {wrong} errors on {len(patterns.signs)} patterns are not allowed: local entropy is that of "
            "a solution; solve finds one"
        )
    margin = real_number("kappa", kappa, 0.0)
    messages = Messages(neuron, patterns.dense, patterns.signs, margin, centre=neuron.shaped_weights(flat))
    around = _Around(messages)
    found: list[_Found] = []
    stopped = ""
    for number, wanted in enumerate(asked):
        if callback is not None:
            callback(number / len(asked), f"distance {wanted:.3g}")
        coupling = around.guess(wanted, found)
        around.pull(coupling)
        try:
            residual, iterations = settle(messages, damping=damping, most=max_iterations, tolerance=tolerance)
        except ConvergenceError as error:
            residual, iterations, stopped = math.inf, 0, str(error)
        if residual > tolerance:
            stopped = stopped or (
                f"at distance {wanted:.3g} messages still changed by {residual:.2g} of the mean weight after "
                f"{iterations} sweeps"
            )
            break
        found.append(_Found(around.distance, around.entropy, around.ball(), coupling, iterations))
        if len(found) > 1 and found[-1].distance < found[-2].distance * (1.0 + CLOSE):
            stopped = f"{found[-2].distance:.3g} is the distance at which solutions are most numerous"
            found.pop()
            break
    if not found:
        raise ConvergenceError(f"the local entropy was not found at any distance: {stopped}", messages)
    distances, entropies, balls, couplings, sweeps = map(np.array, zip(*found, strict=True))
    return MeasuredLocalEntropy(distances, entropies, balls, couplings, sweeps, stopped)


class _Found(NamedTuple):
    """One distance of the result."""

    distance: float
    entropy: float
    ball_entropy: float
    coupling: float
    iterations: int


class _Around:
    """Messages with a pull, and what they say about distances and volumes."""

    def __init__(self, messages: Messages) -> None:
        assert messages.centre is not None
        self.messages, self.centre = messages, messages.centre
        self._norm = float((self.centre**2).sum())
        self._n = messages.neuron.n_inputs
        # Solutions next to the weights have their branch sums.
        messages.offset = messages.mean_offset(self.centre)

    def guess(self, wanted: float, found: Sequence[_Found]) -> float:
        """The coupling for a distance, from those at smaller ones: a straight line in the logarithms."""
        if not found:
            return self._n / (wanted * self._norm)
        last, slope = found[-1], -1.0
        if len(found) > 1:
            before = found[-2]
            slope = math.log(last.coupling / before.coupling) / math.log(last.distance / before.distance)
        return float(last.coupling * (wanted / last.distance) ** slope)

    def pull(self, coupling: float) -> None:
        """Set the field; messages have to settle again."""
        self.messages.pull = coupling
        self.messages.set_beliefs()
        self.messages.gather()

    @property
    def distance(self) -> float:
        """Mean squared distance of the beliefs."""
        return self._distance(self.messages)

    def _distance(self, messages: Messages) -> float:
        found = messages.beliefs
        away = (((found.mean - self.centre) ** 2 + found.variance) * messages.real).sum()
        return float(away) / self._norm

    @property
    def entropy(self) -> float:
        """Of solutions at this distance, per synapse."""
        return self._transformed(self.messages, self.messages.free_entropy())

    def _transformed(self, messages: Messages, free_entropy: float) -> float:
        """ln Z / N without the field, at the distance that the field makes [amp-local]."""
        per_synapse = self._norm / self._n
        return free_entropy + 0.5 * messages.pull * per_synapse * (self._distance(messages) - 1.0)

    def ball(self) -> float:
        """The entropy of all weights at the same distance with the same branch sums."""
        from scipy.optimize import brentq

        empty = copy.copy(self.messages)
        empty.precision, empty.push = np.zeros_like(empty.precision), np.zeros_like(empty.push)

        def excess(log_pull: float) -> float:
            empty.pull = math.exp(log_pull)
            empty.set_beliefs()
            return math.log(self._distance(empty) / self.distance)

        high = low = math.log(self.messages.pull)
        while excess(high) > 0.0:
            high += 1.0
        # Beyond the distance of random weights nothing holds them, and their entropy stays what it is there.
        while excess(low) < 0.0 and low > high - FREE:
            low -= 1.0
        excess(brentq(excess, low, high, xtol=1e-6) if excess(low) > 0.0 > excess(high) else low)
        weights = empty.beliefs.log_norm.sum()
        offsets = (empty.field * empty.root * (empty.offset + empty.root * empty.neuron.theta_d)).sum()
        return self._transformed(empty, float(weights - offsets) / self._n)
