"""Local entropy measured: how many solutions of one set of patterns lie at a distance from given weights.

Message passing counts solutions in a field that pulls every weight towards its given value; what it counts and the
distance it finds give the entropy by a Legendre transform [amp-local]. The pull starts strong, next to the weights, and
is weakened as long as messages settle.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError, InvalidParameter
from dendrocap.learning.solvers.message_passing import Messages, settle
from dendrocap.model.dendritic_neuron import DendriticNeuron
from dendrocap.model.patterns import PackedPatterns, binary_patterns
from dendrocap.validation import real_number, refuse, whole_number

__all__ = ["MeasuredLocalEntropy", "measured_local_entropy"]

Floats = NDArray[np.float64]

DISTANCES = tuple(np.geomspace(0.003, 0.6, 16).tolist())  # looked at if none are given
CLOSE = 1e-4  # relative growth below which distances do not grow any more
FREE = 20.0  # logarithm of the factor by which a pull is weakened until it counts as none


@dataclass(frozen=True, eq=False)
class MeasuredLocalEntropy(Displayed):
    """Solutions of one set of patterns around given weights, by their distance.

    Attributes
    ----------
    distance : array
        Squared distance from the weights, ``|W - W_given|^2 / |W_given|^2``, increasing.
    entropy : array
        Logarithm of the volume of solutions at this distance, per synapse, as message passing sees it.
    ball_entropy : array
        The same of all weights with the branch sums of these solutions.
    log_fraction : array
        ``entropy - ball_entropy``: logarithm of the share of solutions among those weights, per synapse.
    coupling : array
        The field that holds solutions at this distance.
    iterations : array of int
        Sweeps that each took to settle.
    stopped : str
        Why larger distances are missing; empty if they are not.

    Examples
    --------
    >>> columns = [np.array([one]) for one in (0.1, -0.5, -0.25, 3.0, 9)]
    >>> MeasuredLocalEntropy(*columns, stopped="").log_fraction.tolist()
    [-0.25]
    """

    _displayed = ("largest_distance", "stopped")

    distance: Floats
    entropy: Floats
    ball_entropy: Floats
    coupling: Floats
    iterations: NDArray[np.int64]
    stopped: str

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
    neuron, inputs, labels
        The task.
    weights : array
        A solution, around which others are counted, such as ``solve(...).weights``.
    distance : sequence of float, optional
        Squared distances relative to the squared norm of the weights, where to look. The field that holds solutions
        at a distance is guessed, so that distances in the result differ by some per cent. By default 16 of them, from
        0.003 to 0.6. Larger ones are left out where messages do not settle, or where solutions are most numerous
        without any field.
    kappa : float
        Margin of the solutions counted.
    damping, max_iterations, tolerance
        As in `bethe_free_entropy`, for each distance.
    callback : callable, optional
        Called with the share that is done and a few words.

    Raises
    ------
    InvalidParameter
        If the weights make errors.
    ConvergenceError
        If messages do not settle at the smallest distance.

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
    messages = Messages(neuron, patterns.dense, patterns.signs, margin, centre=_as_branches(neuron, flat))
    around = _Around(messages)
    found: list[tuple[float, float, float, float, int]] = []
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
        found.append((around.distance, around.entropy, around.ball(), coupling, iterations))
        if len(found) > 1 and found[-1][0] < found[-2][0] * (1.0 + CLOSE):
            stopped = f"{found[-2][0]:.3g} is the distance at which solutions are most numerous"
            found.pop()
            break
    if not found:
        raise ConvergenceError(f"the local entropy was not found at any distance: {stopped}", messages)
    distances, entropies, balls, couplings, sweeps = zip(*found, strict=True)
    return MeasuredLocalEntropy(
        np.array(distances), np.array(entropies), np.array(balls), np.array(couplings), np.array(sweeps), stopped
    )


def _as_branches(neuron: DendriticNeuron, flat: Floats) -> Floats:
    weights = np.zeros(neuron.weights_shape)
    weights[np.arange(neuron.branch_size)[None, :] < neuron.branch_sizes[:, None]] = flat
    return weights


class _Around:
    """Messages with a pull, and what they say about distances and volumes."""

    def __init__(self, messages: Messages) -> None:
        assert messages.centre is not None
        self.messages, self.centre = messages, messages.centre
        self._norm = float((self.centre**2).sum())
        self._n = messages.neuron.n_inputs
        # Solutions next to the weights have their branch sums.
        messages.offset = messages.mean_offset(self.centre)

    def guess(self, wanted: float, found: list[tuple[float, float, float, float, int]]) -> float:
        """The coupling for a distance, from those at smaller ones: a straight line in the logarithms."""
        if not found:
            return self._n / (wanted * self._norm)
        if len(found) == 1:
            return found[0][3] * found[0][0] / wanted
        before, last = found[-2], found[-1]
        slope = math.log(last[3] / before[3]) / math.log(last[0] / before[0])
        return float(last[3] * (wanted / last[0]) ** slope)

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
