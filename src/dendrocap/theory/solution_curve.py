"""The curve of replica-symmetric solutions from load 0 to capacity, followed until something happens on it.

With A = (q_hat - 2 Q_hat) W_bar^2 and xi = q_hat / (q_hat - 2 Q_hat) as unknowns, everything on the side of the
weights is explicit. The kernel then gives the side of the patterns, the equation for q_hat gives the load, and one
condition makes the pair a solution: that both sides agree about xi. Along the curve ln A goes from minus infinity
at load 0 to plus infinity at capacity. The curve is followed, coarsely, until it crosses what is looked for (a load,
or the end of stability); from there Newton's method takes over with an accurate rule.

A prior that keeps weights finite without patterns allows A_hat of either sign, or none at load 0. A constant is then
added to A_hat in both unknowns [curve-prior], and the curve starts at ln xi = minus infinity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dendrocap.errors import ConvergenceError
from dendrocap.model.neuron import NeuronSpec, TaskSpec
from dendrocap.theory.branches.synapses import ONLY_EXCITATORY, SynapseType, all_types
from dendrocap.theory.channels import HARD_MARGIN, Channel, is_hard
from dendrocap.theory.free_entropy import FIELD_STEP, Energetic, Entropic, balanced_shift
from dendrocap.theory.kernels import NODES, PairKernel, TreeKernel
from dendrocap.theory.replica_symmetric import symmetric_capacity
from dendrocap.theory.saturation.at_capacity import check_mean_weight
from dendrocap.theory.saturation.below_capacity import without_patterns

__all__ = ["CurvePoint", "CurveSolution", "Equations", "solve_on_curve"]

Floats = NDArray[np.float64]

ACCEPTED = 1e-9  # largest estimated relative error of a solution
COARSE, CHECK = 7, 16  # nodes per panel while following the curve, and for the numbers that are returned
LONGEST_STEP, SHORTEST_STEP = 3.0, 1e-3  # along the curve
STRAIGHT = 0.9  # smallest cosine of the angle between two steps
LARGEST = 1e10  # mean square of the weights, in units of W_bar^2, at which the search ends
MOST_STEPS, MOST_NEWTON = 300, 30
CLOSEST = 1e-24  # relative distance dq / Q of the replicas at which the curve is taken to have ended, at capacity
ROOM = 20.0  # how negative A_hat may become, in units of 1 / w_max^2
CLOSEST_DISTINCT = 1e-13  # the same where replicas must differ by more than rounding does to be told apart


@dataclass(frozen=True)
class CurvePoint:
    """Weights with given conjugates, and the patterns that would give rise to them.

    Attributes
    ----------
    load : float
        alpha at which the patterns require this q_hat.
    mismatch : float
        Relative difference between A_hat and the value that the patterns require; zero on the curve.
    Q, dq : float
        Mean square of the weights, and the part of it that two solutions do not share.
    A_hat, q_hat, M_hat : float
        Conjugates, A_hat = q_hat - 2 Q_hat.
    mean_shift : float
        Mean of the somatic input.
    kernel, entropic, energetic
        The averages from which these numbers follow.
    """

    load: float
    mismatch: float
    Q: float
    dq: float
    A_hat: float
    q_hat: float
    M_hat: float
    mean_shift: float
    kernel: PairKernel
    entropic: Entropic
    energetic: Energetic

    @property
    def stability(self) -> float:
        """The replicon: 1 - alpha gamma_S gamma_E [at]."""
        kernel, energetic = self.kernel, self.energetic
        gamma_E = kernel.dD1_ddq**2 * energetic.f2_squared + kernel.d2D0_dq2 * energetic.f1_squared
        return 1.0 - self.load * self.entropic.variance_squared * gamma_E


Condition = Callable[[CurvePoint], float]


@dataclass(frozen=True)
class CurveSolution:
    """A point of the curve, evaluated with a finer rule than it was found with.

    Attributes
    ----------
    point : CurvePoint
        The point.
    residual : float
        Larger of mismatch and condition there.
    error : float
        Relative change of Q and q in another Newton step.
    evaluations : int
        Number of evaluations of a kernel, coarse or fine.
    """

    point: CurvePoint
    residual: float
    error: float
    evaluations: int


class Equations:
    """The reduced equations of one neuron and task, with a given number of nodes per panel.

    With several ``types`` of synapses, norms are those of all in units of excitatory weights, whose mean is W_bar.
    The unknowns are ln(A W_bar^2) and ln(q_hat / A) with A = A_hat + ``offset``; only a prior that keeps weights finite
    without patterns has an offset.
    """

    def __init__(
        self,
        neuron: NeuronSpec,
        task: TaskSpec,
        nodes: int = NODES,
        types: Sequence[SynapseType] = ONLY_EXCITATORY,
        channel: Channel = HARD_MARGIN,
    ) -> None:
        self.channel = channel
        self.prior, neuron = neuron.prior, neuron.with_usual_prior
        self.neuron, self.task, self.types = neuron, task, types
        self.W_bar = neuron.tree[0].theta / (types[0].share * task.f_in)
        check_mean_weight(self.W_bar, self.prior.w_max)
        self.offset = self.prior.strength + ROOM / self.prior.w_max**2
        self.evaluations = 0
        self._kernel = TreeKernel(neuron, task, nodes)
        self._step = FIELD_STEP * NODES / nodes
        self._shift = 0.0  # of the last call, in units of sqrt(D0)
        self._centres: dict[int, float] = {}  # of the weights of each type in the last call

    def patterns(self, Q: float, dq: float) -> tuple[PairKernel, Energetic, float]:
        """Kernel, averages over patterns, and mean shift for given weights."""
        self.evaluations += 1
        kernel = self._kernel.at(Q, dq)
        if not (kernel.D0 > 0.0 and kernel.D1 > 0.0 and kernel.dD1_ddq > 0.0):
            raise ConvergenceError(
                f"the soma does not notice its inputs at Q = {Q:g}, dq = {dq:g}", last_iterate=kernel
            )
        scale = math.sqrt(kernel.D0)
        shift = balanced_shift(kernel, self.task, self._shift * scale, self._step, self.channel)
        self._shift = shift / scale
        return kernel, Energetic.at(kernel, self.task, shift, self._step, self.channel), shift

    def weights(self, log_A: float, log_xi: float) -> tuple[float, float, float, Entropic]:
        """A_hat, q_hat, the M_hat that makes the mean weight W_bar [sp-1], and the moments of the weights."""
        from dendrocap.theory._kernels import entropic_centre

        if not (abs(log_A) < 300.0 and abs(log_xi) < 300.0):
            raise ConvergenceError("the conjugates left all bounds", last_iterate=(log_A, log_xi))
        root, xi = math.exp(0.5 * log_A), math.exp(log_xi)
        A_hat = (root / self.W_bar) ** 2
        if len(self.types) > 1:
            M_hat, entropic = all_types(self.types, root, xi, self.W_bar, self._step, self._centres)
        elif self.offset > 0.0:
            M_hat, entropic = self._weights_with_prior(A_hat, xi * A_hat)
        else:
            eta = self._centres[0] = entropic_centre(root, xi, self._step, self._centres.get(0, math.nan))
            M_hat = eta * root / self.W_bar
            entropic = Entropic.at(A_hat, xi * A_hat, M_hat, self._step)
        if not (math.isfinite(entropic.mean_squared) and entropic.variance > 0.0):
            raise ConvergenceError("the weights have no finite moments", last_iterate=(log_A, log_xi))
        return A_hat - self.offset, xi * A_hat, M_hat, entropic

    def _weights_with_prior(self, A: float, q_hat: float) -> tuple[float, Entropic]:
        """M_hat and the moments of weights with another prior than the usual one."""
        from dendrocap.theory._kernels import entropic_centre
        from dendrocap.theory.saturation._kernels import bounded_centre

        w_max, precision = self.prior.w_max, A - self.offset + self.prior.strength
        if w_max < math.inf:
            eta = bounded_centre(self.W_bar / w_max, precision * w_max**2, q_hat * w_max**2, self._step)
            return eta / w_max, Entropic.at(precision, q_hat, eta / w_max, self._step, w_max)
        root = math.sqrt(precision)
        M_hat = root * entropic_centre(root * self.W_bar, q_hat / precision, self._step)
        return M_hat, Entropic.at(precision, q_hat, M_hat, self._step)

    def without_patterns(self) -> tuple[float, Entropic]:
        """M_hat and the weights at load 0: of the usual prior, those of each type are exponential [zero-load]."""
        if self.offset > 0.0:
            return without_patterns(self.prior, self.W_bar)
        spread = self.W_bar**2 * math.fsum(one.share * one.strength**2 for one in self.types)
        return -1.0 / self.W_bar, Entropic(math.log(self.W_bar), self.W_bar, spread, spread, spread**2)

    def at(self, log_A: float, log_xi: float) -> CurvePoint:
        """The point with these unknowns."""
        A_hat, q_hat, M_hat, entropic = self.weights(log_A, log_xi)
        Q, dq = entropic.mean_squared + entropic.variance, entropic.variance
        kernel, energetic, shift = self.patterns(Q, dq)
        q_hat_asked, A_hat_asked = conjugates_asked(kernel, energetic)
        if not (0.0 < q_hat_asked < math.inf and math.isfinite(A_hat_asked)):
            raise ConvergenceError("the patterns ask for no finite conjugates", last_iterate=(log_A, log_xi))
        mismatch = math.exp(log_xi) * A_hat_asked / q_hat_asked - 1.0
        if self.offset > 0.0:
            mismatch += self.offset / (A_hat + self.offset)
        load = q_hat / q_hat_asked
        return CurvePoint(load, mismatch, Q, dq, A_hat, q_hat, M_hat, shift, kernel, entropic, energetic)

    def residual(self, x: Floats, condition: Condition) -> tuple[Floats, CurvePoint]:
        """What must vanish at (ln A, ln xi) = x, and the point there."""
        point = self.at(x[0], x[1])
        return np.array([point.mismatch, condition(point)]), point

    def jacobian(self, x: Floats, condition: Condition) -> Floats:
        """Its derivatives, by differences: accurate enough to steer Newton's method."""
        step, here = 1e-5, self.residual(x, condition)[0]
        return np.column_stack([(self.residual(x + step * unit, condition)[0] - here) / step for unit in np.eye(2)])


def conjugates_asked(kernel: PairKernel, energetic: Energetic) -> tuple[float, float]:
    """q_hat / alpha [sp-6] and (q_hat - 2 Q_hat) / alpha [sp-5] in which nothing cancels near capacity."""
    q_hat = energetic.f1_squared * kernel.dD1_ddq
    A_hat = -(energetic.f2 * kernel.dGamma0_dQ + energetic.f1_squared * kernel.dD1_dQ)
    return q_hat, A_hat


def solve_on_curve(
    neuron: NeuronSpec,
    task: TaskSpec,
    condition: Condition,
    first_load: float,
    *,
    coarsely: bool = True,
    types: Sequence[SynapseType] = ONLY_EXCITATORY,
    channel: Channel = HARD_MARGIN,
) -> CurveSolution | None:
    """The first point of the curve at which a condition, negative at small loads, becomes zero.

    Parameters
    ----------
    neuron, task
        The neuron and the task.
    condition : callable
        A smooth function of a `CurvePoint`.
    first_load : float
        Load at which the condition is certainly negative.
    coarsely : bool
        Whether the curve may be followed with only three digits. This is not possible if the condition comes close to
        zero without crossing it; the curve is then followed with nine digits, up to dq / Q = 1e-13.
    types : sequence of SynapseType
        The synapses of a branch.
    channel : Channel
        How patterns count.

    Returns
    -------
    CurveSolution or None
        None if the curve ends, at capacity, without a crossing.
    """
    coarse, fine, check = (Equations(neuron, task, nodes, types, channel) for nodes in (COARSE, NODES, CHECK))
    # First with few digits from load 0; if that leads nowhere with more, and if that fails from the other end.
    attempts = [(fine, False)] if not coarsely else [(coarse, False), (fine, False), (fine, True)]
    solution, failure = None, None
    for guide, from_capacity in attempts:
        try:
            x = _crossing(guide, condition, _end(guide, first_load, from_capacity), coarsely)
            if x is None:
                continue
            x, jacobian = _polish(fine, x, guide.jacobian(x, condition), condition)
            miss, point = check.residual(x, condition)
            error = _relative_change(check, x, _newton_step(jacobian, miss), point)
        except (ConvergenceError, np.linalg.LinAlgError) as caught:
            failure = caught
            continue
        evaluations = coarse.evaluations + fine.evaluations + check.evaluations
        solution = CurveSolution(point, float(np.max(np.abs(miss))), error, evaluations)
        if error < ACCEPTED:
            return solution
    if solution is None and failure is not None:
        raise ConvergenceError(f"the curve of solutions could not be followed: {failure}") from failure
    return solution


def _relative_change(equations: Equations, x: Floats, step: Floats, point: CurvePoint) -> float:
    """Largest relative change of Q and q when x moves by a step; infinite if there is no point."""
    try:
        *_, moved = equations.weights(*(x + step))
    except ConvergenceError:
        return math.inf
    Q, q = moved.mean_squared + moved.variance, moved.mean_squared
    return max(abs(Q / point.Q - 1.0), abs(q / point.entropic.mean_squared - 1.0))


class _Place(NamedTuple):
    """A point x = (ln A, ln xi), and the growth of the mismatch there at right angles to the curve."""

    x: Floats
    slope: float


class _End(NamedTuple):
    """A point x near one end of the curve, the direction from there, and 1 at load 0 or -1 at capacity."""

    x: Floats
    tangent: Floats
    sense: float


def _curve(equations: Equations, end: _End, tolerance: float, closest: float) -> Iterator[tuple[_Place, CurvePoint]]:
    """Places along the curve, from one end towards the other, and the points there.

    The curve may turn back in ln A, so steps are taken along it: ahead on a straight line, then back onto the curve
    at right angles.
    """
    largest = LARGEST * equations.W_bar**2
    direction, turn, length, step = end.tangent, np.zeros(2), 0.0, 1.0
    place, point = _onto_curve(equations, _Place(end.x, 1.0), _uphill(direction, end), step, tolerance)
    for _ in range(MOST_STEPS):
        replicas_met, weights_diverged = point.dq < closest * point.Q, largest < point.Q
        if replicas_met or weights_diverged:
            return
        yield place, point
        while True:
            # The last step's direction, turned on as it was turning; directions belong to the middles of steps.
            guess = direction + 0.5 * (length + step) * turn
            guess = guess / float(np.linalg.norm(guess))
            start = _Place(place.x + step * guess, place.slope)
            try:
                ahead, point = _onto_curve(equations, start, _uphill(guess, end), 0.7 * step, tolerance)
                move = ahead.x - place.x
                if move @ guess > STRAIGHT * float(np.linalg.norm(move)):
                    break
            except ConvergenceError:
                pass
            step *= 0.3
            if step < SHORTEST_STEP:
                raise ConvergenceError(f"stuck at load {point.load:g}", last_iterate=point)
        last, new_length = direction, float(np.linalg.norm(move))
        direction = move / new_length
        turn = (direction - last) / (0.5 * (length + new_length)) if length > 0.0 else turn
        place, length = ahead, new_length
        step = min(1.4 * step, LONGEST_STEP)
    raise ConvergenceError(f"no end within {MOST_STEPS} steps", last_iterate=point)


def _end(equations: Equations, first_load: float, from_capacity: bool) -> _End:
    """The end of the curve at load 0 or, if asked for or if no solution starts from there, at capacity."""
    W2, offset = equations.W_bar**2, equations.offset
    _, free = equations.without_patterns()
    q_hat, A_hat = conjugates_asked(*equations.patterns(free.mean_squared + free.variance, free.variance)[:2])
    if offset > 0.0 and not from_capacity:
        load = min(first_load, 0.1 / (W2 * max(q_hat, abs(A_hat))))
        if A_hat < 0.0:
            load = min(load, 0.1 * offset / -A_hat)
        A = offset + load * A_hat
        tangent = np.array([load * A_hat / A, offset / A])
        return _End(np.log([A * W2, load * q_hat / A]), tangent / float(np.linalg.norm(tangent)), 1.0)
    if A_hat > 0.0 and not from_capacity:
        # To first order in the load, both conjugates are proportional to it.
        load = min(first_load, 0.1 / (W2 * max(q_hat, A_hat)))
        return _End(np.log([load * A_hat * W2, q_hat / A_hat]), np.array([1.0, 0.0]), 1.0)
    # With A_hat < 0, few patterns already favour a larger mean square of the weights. A vanishing fraction of very
    # large weights provides it, so A_hat falls faster than any power of the load: the curve cannot start there.
    neuron, task = equations.neuron, equations.task
    jumps = any(level.nonlinearity.has_jumps for level in neuron.tree)
    if jumps or len(equations.types) > 1 or not is_hard(equations.channel):
        raise ConvergenceError("neither end of the curve of solutions is within reach")
    capacity = symmetric_capacity(replace(neuron, prior=equations.prior), task)
    dq = 10.0 * CLOSEST * capacity.Q
    x = np.log([capacity.A * W2 / dq, capacity.C / (capacity.A * dq)])
    return _End(x, np.array([-1.0, -1.0]) / math.sqrt(2.0), -1.0)


def _uphill(tangent: Floats, end: _End) -> Floats:
    """The direction at right angles to the curve in which the mismatch grows."""
    return end.sense * np.array([-tangent[1], tangent[0]])


def _onto_curve(
    equations: Equations, start: _Place, uphill: Floats, reach: float, tolerance: float
) -> tuple[_Place, CurvePoint]:
    """The point on a line, at most ``reach`` from its start, where both parts agree."""
    low, high = -math.inf, math.inf
    at, slope, last_at, last_miss = 0.0, start.slope, math.nan, math.nan
    for _ in range(60):
        point = equations.at(*(start.x + at * uphill))
        if point.mismatch < 0.0:
            low = at
        else:
            high = at
        # The logarithm is nearly linear in ln xi, and bounded where patterns ask for a negative A_hat.
        miss = math.log(max(1.0 + point.mismatch, 1e-3))
        secant = (miss - last_miss) / (at - last_at)
        slope = secant if 1e-4 < secant < 1e4 else slope
        change = -miss / slope
        if not low < at + change < high or abs(change) > reach:
            bracketed = math.isfinite(low + high)
            change = 0.5 * (low + high) - at if bracketed else math.copysign(0.5 * reach, -point.mismatch)
        if abs(change) < tolerance:
            return _Place(start.x + (at + change) * uphill, slope), point
        if abs(at + change) > reach:
            break
        last_at, last_miss, at = at, miss, at + change
    raise ConvergenceError("weights and patterns do not agree nearby", last_iterate=start)


def _crossing(equations: Equations, condition: Condition, end: _End, coarsely: bool) -> Floats | None:
    """x = (ln A, ln xi) where the condition first changes its sign, to about two digits; None if it never does."""
    tolerance, closest = (1e-3, CLOSEST) if coarsely else (1e-9, CLOSEST_DISTINCT)
    before: tuple[_Place, float] | None = None
    for place, point in _curve(equations, end, tolerance, closest):
        after = (place, condition(point))
        if before is not None and (before[1] < 0.0) != (after[1] < 0.0):
            return _between(equations, condition, end, tolerance, before, after)
        before = after
    return None


def _between(
    equations: Equations,
    condition: Condition,
    end: _End,
    tolerance: float,
    before: tuple[_Place, float],
    after: tuple[_Place, float],
) -> Floats:
    """The point of the curve between two others at which the condition changes its sign, to about two digits."""
    while True:
        chord, rise = after[0].x - before[0].x, after[1] - before[1]
        length, part = float(np.linalg.norm(chord)), -before[1] / rise
        if length < 0.02:
            return before[0].x + part * chord
        # Not the secant's own point but one towards the middle, so that both ends come closer.
        start = before[0].x + (0.96 * min(max(part, 0.05), 0.95) + 0.02) * chord
        uphill = _uphill(chord / length, end)
        place, point = _onto_curve(equations, _Place(start, after[0].slope), uphill, 0.7 * length, tolerance)
        value = condition(point)
        if abs(value) < 1e-3 * abs(rise):
            return place.x
        if (value < 0.0) == (before[1] < 0.0):
            before = (place, value)
        else:
            after = (place, value)


def _polish(equations: Equations, x: Floats, jacobian: Floats, condition: Condition) -> tuple[Floats, Floats]:
    """Newton's method; the given derivatives are used as long as they at least halve the step."""
    last = math.inf
    for _ in range(MOST_NEWTON):
        miss, _ = equations.residual(x, condition)
        step = _newton_step(jacobian, miss)
        if np.max(np.abs(step)) > 0.5 * last:
            if last < 1e-9:
                break  # nothing is left but rounding
            jacobian = equations.jacobian(x, condition)
            step = _newton_step(jacobian, miss)
        last = float(np.max(np.abs(step)))
        x = x + step * min(1.0, 0.5 / max(last, 1e-300))
        if last < 1e-11:
            break
    return x, jacobian


def _newton_step(jacobian: Floats, miss: Floats) -> Floats:
    return np.asarray(np.linalg.solve(jacobian, -miss), dtype=np.float64)
