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
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model.neuron import NeuronSpec, TaskSpec
from dendrocap.numerics._compiled import tail
from dendrocap.numerics.types import Floats
from dendrocap.theory._laws import FIELD_STEP
from dendrocap.theory.dendrite import NODES, BranchKernel, PairKernel, SomaticCovariance, all_mean_inputs, prepared
from dendrocap.theory.neuron_kernel import (
    ONLY_EXCITATORY,
    AtLoad,
    Norm,
    Overlap,
    Population,
    PopulationKernel,
    SynapseType,
    TreeKernel,
    TypicalSynapses,
    all_types,
    at_load,
    mean_weight,
    populations_of,
)
from dendrocap.theory.patterns import HARD_MARGIN, Channel, Energetic, is_hard
from dendrocap.theory.solver import monotone_root, newton
from dendrocap.theory.symmetric import symmetric_capacity, symmetric_state
from dendrocap.theory.typical_solution import PopulationSaddlePoint, TypicalWeights
from dendrocap.theory.weights import Entropic, law_of
from dendrocap.validation import real_number

# The replica-symmetric free entropy and its derivatives, at any order parameters.
#
# ``phi = q q_hat / 2 - Q Q_hat - W_bar M_hat + G_S + alpha G_E`` [free-entropy]. The entropic term G_S describes a
# weight in the random field of the other weights and the patterns, the energetic term G_E a pattern. The saddle-point
# solver uses a reduced form of the equations; here they have their printed form, one derivative each, so that the two
# can be checked against each other.


@dataclass(frozen=True)
class OrderParameters:
    """Order parameters of the cloud of solutions, with their conjugates.

    Attributes
    ----------
    Q, q : float
        Mean square of the weights, and overlap of two solutions.
    mean_shift : float
        Shift of the mean somatic input by the deviation dM of the weights from their balance.
    Q_hat, q_hat, M_hat : float
        Conjugates of Q, q, and of the balance of the mean weight.
    """

    Q: float
    q: float
    mean_shift: float
    Q_hat: float
    q_hat: float
    M_hat: float


def balanced_shift(
    kernel: SomaticCovariance,
    task: TaskSpec,
    guess: float = 0.0,
    step: float = FIELD_STEP,
    channel: Channel = HARD_MARGIN,
) -> float:
    """The mean shift at which both classes push equally hard, ``E sigma f' = 0``.

    G_E is concave in the shift, so there is one solution; by symmetry it is 0 if half of the labels are 1.
    """
    if task.f_out == 0.5:
        return 0.0
    sd = math.sqrt(kernel.D1 + channel.noise**2)

    def push(shift: float) -> tuple[float, float]:
        energetic = Energetic.at(kernel, task, shift, step, channel)
        return energetic.push * sd, -energetic.f2 * sd

    # The variance of what solutions do not share sets the scale on which the push of a class changes.
    return monotone_root(push, guess, sd).at


def free_entropy(
    neuron: NeuronSpec,
    task: TaskSpec,
    alpha: float,
    order: OrderParameters,
    *,
    nodes: int = NODES,
    channel: Channel = HARD_MARGIN,
) -> float:
    """phi: logarithm of the volume of solutions per weight, at given order parameters [free-entropy]."""
    entropic, energetic, _ = _terms(neuron, task, order, nodes, channel)
    W_bar = neuron.with_usual_prior.tree[0].theta / task.f_in
    return (
        0.5 * order.q * order.q_hat
        - order.Q * order.Q_hat
        - W_bar * order.M_hat
        + entropic.term
        + alpha * energetic.term
    )


def free_entropy_gradient(
    neuron: NeuronSpec,
    task: TaskSpec,
    alpha: float,
    order: OrderParameters,
    *,
    nodes: int = NODES,
    channel: Channel = HARD_MARGIN,
) -> OrderParameters:
    """Derivatives of the free entropy, all zero at the saddle point [sp-1] to [sp-6].

    Each attribute of the result is the derivative with respect to the order parameter of that name.
    """
    entropic, energetic, kernel = _terms(neuron, task, order, nodes, channel)
    W_bar = neuron.with_usual_prior.tree[0].theta / task.f_in
    # G_E obeys dG_E/dD0 = E f''/2 and dG_E/dD1 = E (f'' + f'^2)/2. Then at fixed dq = Q - q the variance D0 + D1
    # enters with E f''/2, and D1 at fixed variance with E f'^2/2.
    along_dq = 0.5 * energetic.f1_squared * kernel.dD1_ddq
    along_Q = 0.5 * (energetic.f2 * kernel.dGamma0_dQ + energetic.f1_squared * kernel.dD1_dQ)
    return OrderParameters(
        Q=-order.Q_hat + alpha * (along_Q + along_dq),
        q=0.5 * order.q_hat - alpha * along_dq,
        mean_shift=-alpha * energetic.push,
        Q_hat=-order.Q + entropic.mean_squared + entropic.variance,
        q_hat=0.5 * (order.q - entropic.mean_squared),
        M_hat=-W_bar + entropic.mean,
    )


def _terms(
    neuron: NeuronSpec, task: TaskSpec, order: OrderParameters, nodes: int, channel: Channel
) -> tuple[Entropic, Energetic, PairKernel]:
    step = FIELD_STEP * NODES / nodes
    kernel = TreeKernel(neuron.with_usual_prior, task, nodes).at(order.Q, order.Q - order.q)
    entropic = law_of(neuron.prior).averages(order.q_hat - 2.0 * order.Q_hat, order.q_hat, order.M_hat, step)
    return entropic, Energetic.at(kernel, task, order.mean_shift, step, channel), kernel


ACCEPTED = 1e-9  # largest estimated relative error of a solution

COARSE, CHECK = 7, 16  # nodes per panel while following the curve, and for the numbers that are returned

LONGEST_STEP, SHORTEST_STEP = 3.0, 1e-3  # along the curve

STRAIGHT = 0.9  # smallest cosine of the angle between two steps

LARGEST = 1e10  # mean square of the weights, in units of W_bar^2, at which the search ends

MOST_STEPS, MOST_NEWTON = 300, 30

CLOSEST = 1e-24  # relative distance dq / Q of the replicas at which the curve is taken to have ended, at capacity

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
        self.law = law_of(self.prior)
        self.law.check(self.W_bar)
        self.offset = self.law.offset
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
        if not (abs(log_A) < 300.0 and abs(log_xi) < 300.0):
            raise ConvergenceError("the conjugates left all bounds", last_iterate=(log_A, log_xi))
        root, xi = math.exp(0.5 * log_A), math.exp(log_xi)
        A_hat = (root / self.W_bar) ** 2
        if len(self.types) > 1:
            M_hat, entropic = all_types(self.types, root, xi, self.W_bar, self._step, self._centres)
        else:
            M_hat, entropic = self.law.balanced(
                self.W_bar, A_hat - self.offset, xi * A_hat, self._step, self._centres.get(0, math.nan)
            )
            self._centres[0] = M_hat
        if not (math.isfinite(entropic.mean_squared) and entropic.variance > 0.0):
            raise ConvergenceError("the weights have no finite moments", last_iterate=(log_A, log_xi))
        return A_hat - self.offset, xi * A_hat, M_hat, entropic

    def without_patterns(self) -> tuple[float, Entropic]:
        """M_hat and the weights at load 0: of the usual prior, those of each type are exponential [zero-load]."""
        if self.offset > 0.0:
            return self.law.without_patterns(self.W_bar)
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


# Replica-symmetric solutions at finite load for non-monotone g: all branches, and which one is typical.
#
# The mean input m is an unknown beside Q, restricted to the curve E g = theta_s [constraint-curve]; stationarity is
# along that curve [sp-along]. The unknowns are ln A and ln xi of the weights, as on the solution curve of a monotone
# g, and m. Two equations leave curves in this space, the branches of solutions. They are followed by arc length from
# their known ends: from the stationary loads at capacity, and from load 0. Of several solutions at one load the
# typical one has the largest free entropy.

NEAR_CAPACITY, MET = 1e-6, 1e-8  # dq / Q at which a branch is joined near capacity, and at which it has ended there

LEAST_LOAD = 1e-3

STEP, LOAD_BRANCHES_SHORTEST_STEP, LOAD_BRANCHES_MOST_STEPS = 0.5, 1e-4, 250

LEAST_LOG_A = -12.0  # below this, a vanishing fraction of the weights is very large, and the load vanishes too

LARGEST_LOG = 60.0  # of A and xi

VISITED = 0.6  # distance within which an end belongs to a branch already followed from its other end


class BranchSolution(NamedTuple):
    """A solution, and the logarithm of the volume of its cloud per weight."""

    solution: CurveSolution
    free_entropy: float


class BranchEquations(Equations):
    """The reduced equations with the mean input as a third unknown, x = (ln A, ln xi, m in units of sqrt(v) W_bar)."""

    def __init__(self, neuron: NeuronSpec, task: TaskSpec, nodes: int = NODES) -> None:
        super().__init__(neuron, task, nodes)
        self.g, self.theta = neuron.tree[0].nonlinearity, neuron.theta_s
        self.v = task.f_in * (1.0 - task.f_in)
        self.unit = math.sqrt(self.v) * self.W_bar
        self._branch = BranchKernel(self.g, self.theta, nodes)

    def place(self, x: Floats) -> tuple[Floats, CurvePoint]:
        """The residuals on a branch, and the point with these unknowns."""
        A_hat, q_hat, M_hat, entropic = self.weights(float(x[0]), float(x[1]))
        Q, dq, m = entropic.mean_squared + entropic.variance, entropic.variance, float(x[2]) * self.unit
        kernel, energetic, shift, excess, along, asked = self.patterns_at(Q, dq, m)
        q_hat_asked = energetic.f1_squared * kernel.dD1_ddq
        if not (0.0 < q_hat_asked < math.inf and math.isfinite(asked)):
            raise ConvergenceError("the patterns ask for no finite conjugates", last_iterate=x)
        mismatch = along - math.exp(float(x[1])) * asked / (Q * q_hat_asked)  # [sp-along]
        load = q_hat / q_hat_asked
        point = CurvePoint(load, mismatch, Q, dq, A_hat, q_hat, M_hat, shift, kernel, entropic, energetic)
        return np.array([excess, mismatch]), point

    def residuals(self, x: Floats) -> Floats:
        """The residuals on a branch."""
        return self.place(x)[0]

    def patterns_at(self, Q: float, dq: float, m: float) -> tuple[PairKernel, Energetic, float, float, float, float]:
        """Kernel, averages, shift, E g - theta, dlnQ along the curve, and Q_hat's counterpart along it."""
        self.evaluations += 1
        V, s = self.v * Q, math.sqrt(self.v * Q)
        own = prepared(self.g)(self.theta, s, m)
        pair = self._branch.pair(V, self.v * dq, m, self.theta)
        # The direction along E g = theta in (ln V, m / s), at right angles to the gradient of E g.
        by_V, by_m = 0.5 * s * own.slope_x, s * own.slope
        size = math.hypot(by_V, by_m)
        if not (pair.D0 > 0.0 and pair.D1 > 0.0 and pair.dD1_ddV > 0.0 and size > 0.0):
            raise ConvergenceError(
                f"the soma does not notice its inputs at Q = {Q:g}, m = {m:g}", last_iterate=(Q, dq, m)
            )
        along, across = -by_m / size, by_V / size
        dGamma0 = s * own.cross_x * along + 2.0 * s * own.cross * across
        dD1 = V * pair.dD1_dV * along + s * pair.dD1_dm * across
        kernel = PairKernel(
            D0=pair.D0,
            D1=pair.D1,
            dD1_ddq=self.v * pair.dD1_ddV,
            dD1_dQ=dD1 / (Q * along) if along else math.inf,
            dGamma0_dQ=dGamma0 / (Q * along) if along else math.inf,
            d2D0_dq2=self.v**2 * pair.d2D0_dc2,
            mean_slope=own.slope,
            means=(m,),
        )
        scale = math.sqrt(kernel.D0)
        shift = balanced_shift(kernel, self.task, self._shift * scale, self._step)
        self._shift = shift / scale
        energetic = Energetic.at(kernel, self.task, shift, self._step)
        asked = -(energetic.f2 * dGamma0 + energetic.f1_squared * dD1)
        return kernel, energetic, shift, own.mean / math.sqrt(own.variance), along, asked

    def ends(self) -> Iterator[tuple[Floats, Floats]]:
        """Points near the ends of branches, and the directions from there."""
        W2 = self.W_bar**2
        for m in all_mean_inputs(self.g, self.theta, math.sqrt(2.0 * self.v * W2)):
            kernel, energetic, _, _, along, asked = self.patterns_at(2.0 * W2, W2, m)
            q_hat, A_hat = energetic.f1_squared * kernel.dD1_ddq, asked / (2.0 * W2 * along)
            if A_hat > 0.0:  # to first order in the load, both conjugates are proportional to it
                load = min(0.02, 0.1 / (W2 * max(q_hat, A_hat)))
                yield np.array([math.log(load * A_hat * W2), math.log(q_hat / A_hat), m / self.unit]), np.eye(3)[0]
        try:
            capacity = symmetric_capacity(self.neuron, self.task)
        except NoSolution:  # infinite
            return
        for B, Q, M_bar in [(capacity.B, capacity.Q, capacity.M_bar)] + [
            (other.B, other.Q, other.M_bar) for other in capacity.others
        ]:
            i0, i1, _ = tail(B)
            C, dq = (i0 * self.W_bar / i1) ** 2, NEAR_CAPACITY * Q
            x = np.array([math.log(i0 * W2 / dq), math.log(C / (i0 * dq)), M_bar * self.task.f_in / self.unit])
            yield x, np.array([-1.0, -1.0, 0.0]) / math.sqrt(2.0)


def load_branch_solutions(neuron: NeuronSpec, task: TaskSpec, alpha: float) -> list[BranchSolution]:
    """All solutions found at one load, the one with the largest free entropy first."""
    found = _solutions(neuron, task, lambda point: math.log(point.load / alpha))
    solutions = [BranchSolution(one, log_volume(one.point, alpha, neuron, task)) for one in found]
    return sorted(solutions, key=lambda one: -one.free_entropy)


def stability_limits(neuron: NeuronSpec, task: TaskSpec) -> list[CurveSolution]:
    """All points where a branch becomes unstable, by load."""
    return sorted(_solutions(neuron, task, lambda point: -point.stability), key=lambda one: one.point.load)


def log_volume(point: CurvePoint, alpha: float, neuron: NeuronSpec, task: TaskSpec) -> float:
    """The free entropy of a point at load alpha [free-entropy]."""
    # q q_hat / 2 - Q Q_hat, in a form in which terms of order 1 / dq^2 have cancelled
    W_bar = neuron.with_usual_prior.tree[0].theta / task.f_in
    constraints = 0.5 * (point.Q * point.A_hat - point.dq * point.q_hat) - W_bar * point.M_hat
    return constraints + point.entropic.term + alpha * point.energetic.term


def _solutions(neuron: NeuronSpec, task: TaskSpec, condition: Callable[[CurvePoint], float]) -> list[CurveSolution]:
    """All points on branches where a condition changes its sign, each once."""
    if neuron.tree[0].nonlinearity.has_jumps:
        raise NoSolution(
            f"{neuron.tree[0].nonlinearity!r} jumps and is not monotone: its finite-load theory is not derived; "
            "give a g that is continuous or never falls"
        )
    guide, fine, check = (BranchEquations(neuron, task, nodes) for nodes in (COARSE, NODES, CHECK))
    solutions: list[CurveSolution] = []

    def full(equations: BranchEquations, x: Floats) -> Floats:
        miss, point = equations.place(x)
        return np.append(miss, condition(point))

    visited: list[Floats] = []
    starts: list[Floats] = []
    for start, direction in guide.ends():
        # Skip branches already followed from their other end, and mirror images or periods of others.
        repeated = any(float(np.max(np.abs(start - other)[:2])) < 1e-7 for other in starts)
        if repeated or any(float(np.linalg.norm(start - x)) < VISITED for x in visited):
            continue
        starts.append(start)
        path = list(_followed(guide, start, direction))
        visited += [x for x, _ in path]
        for (x0, point0), (x1, point1) in pairwise(path):
            before, after = condition(point0), condition(point1)
            if (before < 0.0) == (after < 0.0):
                continue
            guess = x0 + (x1 - x0) * before / (before - after)
            solved = newton(lambda x: full(fine, x), guess, target=1e-11)
            if not solved.residual < 1e-8 or (solved.jacobian is None and solved.residual > 1e-11):
                continue
            miss = full(check, solved.x)
            _, point = check.place(solved.x)
            error = _load_branches_relative_change(check, solved.x, miss, point, condition)
            one = CurveSolution(point, float(np.max(np.abs(miss))), error, 0)
            if not any(_same(one.point, other.point) for other in solutions):
                solutions.append(one)
    evaluations = guide.evaluations + fine.evaluations + check.evaluations
    return [CurveSolution(one.point, one.residual, one.error, evaluations) for one in solutions]


def _same(one: CurvePoint, other: CurvePoint) -> bool:
    scale = math.sqrt(one.Q)
    return abs(one.Q - other.Q) < 1e-6 * one.Q and abs(one.kernel.means[0] - other.kernel.means[0]) < 1e-5 * scale


def _load_branches_relative_change(
    equations: BranchEquations, x: Floats, miss: Floats, point: CurvePoint, condition: Callable[[CurvePoint], float]
) -> float:
    """Relative change of Q and q in one more Newton step with the finer rule."""
    jacobian, step = np.empty((3, 3)), 1e-5
    for column in range(3):
        moved, there = equations.place(x + step * np.eye(3)[column])
        jacobian[:, column] = (np.append(moved, condition(there)) - miss) / step
    try:
        change = np.linalg.solve(jacobian, -miss)
        *_, entropic = equations.weights(*(x + change)[:2])
    except (np.linalg.LinAlgError, ConvergenceError):
        return math.inf
    Q, q = entropic.mean_squared + entropic.variance, entropic.mean_squared
    return max(abs(Q / point.Q - 1.0), abs(q / point.entropic.mean_squared - 1.0))


def _followed(equations: BranchEquations, start: Floats, direction: Floats) -> Iterator[tuple[Floats, CurvePoint]]:
    """Points along a branch from one of its ends to the other, or as far as it can be followed."""
    try:
        x, point = _onto(equations, start, reach=2.0)
    except ConvergenceError:
        return
    step = STEP
    for _ in range(LOAD_BRANCHES_MOST_STEPS):
        yield x, point
        if (
            point.dq < MET * point.Q
            or point.load < LEAST_LOAD
            or x[0] < LEAST_LOG_A
            or np.max(np.abs(x[:2])) > LARGEST_LOG
        ):
            return
        try:
            tangent = _tangent(equations, x, direction)
        except ConvergenceError:
            return
        while True:
            try:
                ahead, there = _onto(equations, x + step * tangent, reach=0.5 * step)
                move = ahead - x
                if move @ tangent > STRAIGHT * float(np.linalg.norm(move)):
                    break
            except ConvergenceError:
                pass
            step *= 0.4
            if step < LOAD_BRANCHES_SHORTEST_STEP:
                return
        direction = move / float(np.linalg.norm(move))
        x, point, step = ahead, there, min(1.5 * step, STEP)


def _jacobian(equations: BranchEquations, x: Floats, here: Floats) -> Floats:
    step = 1e-5
    return np.column_stack([(equations.residuals(x + step * unit) - here) / step for unit in np.eye(3)])


def _tangent(equations: BranchEquations, x: Floats, direction: Floats) -> Floats:
    """The direction of the branch at x that follows the last one."""
    jacobian = _jacobian(equations, x, equations.residuals(x))
    tangent = np.cross(jacobian[0], jacobian[1])
    size = float(np.linalg.norm(tangent))
    if not (math.isfinite(size) and size > 0.0):
        return direction
    return np.asarray(math.copysign(1.0, float(tangent @ direction)) * tangent / size)


def _onto(equations: BranchEquations, start: Floats, reach: float) -> tuple[Floats, CurvePoint]:
    """The point on a branch near ``start``, by steps at right angles to the branch."""
    x, (miss, point) = start, equations.place(start)
    inverse = np.linalg.pinv(_jacobian(equations, x, miss))
    for _ in range(12):
        change = -inverse @ miss
        if float(np.linalg.norm(x + change - start)) > reach:
            break
        x = x + change
        miss, point = equations.place(x)
        if float(np.max(np.abs(change))) < 1e-7:
            return x, point
    raise ConvergenceError("no solution nearby", last_iterate=start)


# Typical solutions below capacity of several populations of branches, of any length, with replica symmetry.
#
# Each population has two unknowns, ln A and ln xi, which determine its weights up to their scale, as in
# `solution_curve`; the mean output then determines its mean input, and with it the scale. Populations meet at the
# soma, where covariances add [pop-soma], and each must be consistent with the patterns [pop-sp]. Solutions are
# followed from capacity, where they are known, to the requested load.

CLOSE = 1e-7  # dq / Q of the replicas at the end near capacity where solutions start

FINITE_LOAD_LONGEST_STEP, FINITE_LOAD_SHORTEST_STEP = 2.5, 1e-3  # in ln A

WAY_TARGET = 1e-5  # residual at which Newton's method stops at intermediate points

SMALLEST_LOAD = 1e-3  # the descent ends below this load


class _Side(NamedTuple):
    """One population: weights with given conjugates, norms and conjugates in units of excitatory weights."""

    m: float
    W_bar: float  # of the excitatory weights
    Q: float
    dq: float
    A_hat: float
    q_hat: float
    M_hat: float  # of the excitatory weights
    types: tuple[AtLoad | None, ...]  # at a mean excitatory weight of one
    variance_squared: float
    norm: Norm
    overlap: Overlap


class _Point(NamedTuple):
    """All populations and the patterns."""

    sides: tuple[_Side, ...]
    energetic: Energetic
    shift: float
    D0: float
    D1: float
    asked: (
        Floats  # q_hat / alpha and A_hat of each population, per unit of load, and what a load does not change of A_hat
    )


class _Soma(NamedTuple):
    """Covariance and difference at the soma, for the average over patterns."""

    D0: float
    D1: float


class _FiniteLoad:
    """The equations of a set of populations.

    Either every population has its own mean output, or ``split`` gives the distances of the mean inputs from a common
    one, which is the last unknown: only the average output is then prescribed.
    """

    def __init__(
        self,
        populations: Sequence[Population],
        task: TaskSpec,
        nodes: int = NODES,
        split: Sequence[float] | None = None,
    ) -> None:
        self.populations, self.task, self.split = tuple(populations), task, split
        self.evaluations = 0
        self._kernels = [PopulationKernel(population, nodes) for population in populations]
        self._step = FIELD_STEP * NODES / nodes
        self._shift = 0.0

    def _side(self, p: int, log_A: float, log_xi: float, m: float | None = None) -> _Side:
        if not (abs(log_A) < 300.0 and abs(log_xi) < 300.0):
            raise ConvergenceError("the conjugates left all bounds", last_iterate=(log_A, log_xi))
        population, kernel = self.populations[p], self._kernels[p]
        root, xi = math.exp(0.5 * log_A), math.exp(log_xi)
        types = at_load(population.types, root, xi, self._step)
        live = [(one.share, at.entropic) for one, at in zip(population.types, types, strict=True) if at is not None]
        variance = sum(share * one.variance for share, one in live)
        ratio = sum(share * one.mean_squared for share, one in live) + variance
        if not (math.isfinite(ratio) and variance > 0.0):
            raise ConvergenceError("the weights have no finite moments", last_iterate=(log_A, log_xi))
        assert types[0] is not None  # excitation is never dead
        output = population.mean_output if m is None else None
        m = kernel.mean_input(ratio) if m is None else m
        W = population.W_bar(m)
        if not W > 0.0:
            raise ConvergenceError("no weights have this mean input", last_iterate=(log_A, log_xi, m))
        Q, dq, A_hat = ratio * W**2, variance * W**2, (root / W) ** 2
        norm = kernel.norm(m, Q, output)
        return _Side(
            m=m,
            W_bar=W,
            Q=Q,
            dq=dq,
            A_hat=A_hat,
            q_hat=xi * A_hat,
            M_hat=types[0].M_hat / W,
            types=types,
            variance_squared=sum(share * one.variance_squared for share, one in live) * W**4,
            norm=norm,
            overlap=kernel.overlap(m, Q, dq, norm),
        )

    def point(self, x: Floats) -> _Point:
        """All quantities at the unknowns (ln A_p, ln xi_p) and, with a split, the common mean input."""
        self.evaluations += 1
        means = [None] * len(self.populations) if self.split is None else [float(x[-1]) + part for part in self.split]
        sides = tuple(self._side(p, x[2 * p], x[2 * p + 1], m) for p, m in enumerate(means))
        D0 = sum(
            population.fraction * (side.norm.Gamma0 - side.overlap.D1)
            for population, side in zip(self.populations, sides, strict=True)
        )
        D1 = sum(
            population.fraction * side.overlap.D1 for population, side in zip(self.populations, sides, strict=True)
        )
        if not (D0 > 0.0 and D1 > 0.0):
            raise ConvergenceError("the soma does not notice its inputs", last_iterate=sides)
        soma = _Soma(D0, D1)
        shift = balanced_shift(soma, self.task, self._shift * math.sqrt(D0), self._step)
        self._shift = shift / math.sqrt(D0)
        energetic = Energetic.at(soma, self.task, shift, self._step)
        # Effects of the mean input: energy, entropy of the weights, output. Tied inputs change together.
        turns = np.array(
            [
                (
                    energetic.f2 * side.norm.Gamma0_m + energetic.f1_squared * side.overlap.D1_m,
                    2.0 * population.length * population.W_slope * side.M_hat,
                    side.norm.output_m,
                )
                for population, side in zip(self.populations, sides, strict=True)
            ]
        )
        if self.split is not None:
            turns[:] = np.average(turns, axis=0, weights=[population.fraction for population in self.populations])
        asked = []
        for population, side, (energy, entropy, output) in zip(self.populations, sides, turns, strict=True):  # [pop-sp]
            norm, overlap = side.norm, side.overlap
            m_Q = -norm.output_Q / output
            asked += [
                energetic.f1_squared * overlap.C_q / population.length,
                -(energetic.f2 * norm.Gamma0_Q + energetic.f1_squared * overlap.D1_Q + m_Q * energy)
                / population.length,
                m_Q * entropy / population.length,
            ]
        return _Point(sides, energetic, shift, D0, D1, np.array(asked))

    def residuals(self, x: Floats, log_load: float) -> Floats:
        """The residuals at this load."""
        point, load = self.point(x), math.exp(log_load)
        found = []
        for side, (q_asked, A_asked, A_fixed) in zip(point.sides, point.asked.reshape(-1, 3), strict=True):
            found += [
                math.log(load * q_asked / side.q_hat),
                (load * A_asked + A_fixed) / side.A_hat - 1.0,
            ]
        if self.split is not None:
            pairs = zip(self.populations, point.sides, strict=True)
            found.append(
                sum(population.fraction * (side.norm.output - population.mean_output) for population, side in pairs)
            )
        return np.array(found)

    def stability(self, point: _Point, load: float) -> float:
        """The replicon: one minus the largest eigenvalue of the response of the overlaps to themselves [pop-at]."""
        P = len(self.populations)
        matrix = np.empty((P, P))
        for row, (population, side) in enumerate(zip(self.populations, point.sides, strict=True)):
            gain = load / population.length * side.variance_squared
            for column, (other, there) in enumerate(zip(self.populations, point.sides, strict=True)):
                matrix[row, column] = (
                    gain * side.overlap.C_q * point.energetic.f2_squared * other.fraction * there.overlap.C_q
                )
            matrix[row, row] += gain * side.overlap.C_qq * point.energetic.f1_squared
        return 1.0 - float(np.max(np.linalg.eigvals(matrix).real))


def _path(equations: _FiniteLoad) -> tuple[Floats, float]:
    """Unknowns (ln A_p, ln xi_p) close to capacity, and the logarithm of the capacity."""
    capacity = symmetric_state(equations.populations, equations.task)
    x = []
    for side, gap in zip(capacity.sides, capacity.gaps, strict=True):
        dq = CLOSE * capacity.sides[0].Q * gap
        x += [math.log(side.A * side.W_bar**2 / dq), math.log(side.C / (side.A * dq))]
    return np.array(x), math.log(capacity.alpha)


def _descend(
    equations: _FiniteLoad, until: Callable[[float, _Point], bool]
) -> tuple[tuple[Floats, float], tuple[Floats, float]]:
    """Two neighbouring points (unknowns, ln load) on the descent from capacity between which a condition is met."""
    x, log_load = _path(equations)
    y = np.append(x[1:], log_load)
    lead, step = float(x[0]), 0.5
    path: list[tuple[float, Floats]] = []

    def residuals(y: Floats, lead: float) -> Floats:
        return equations.residuals(np.concatenate([[lead], y[:-1]]), float(y[-1]))

    jacobian: Floats | None = None
    while True:
        guess = y
        if len(path) > 1:
            (lead0, y0), (lead1, y1) = path[-2:]
            guess = y1 + (y1 - y0) * (lead - lead1) / (lead1 - lead0)
        solved = newton(partial(residuals, lead=lead), guess, jacobian=jacobian, target=WAY_TARGET, most=15, reach=2.0)
        jacobian = solved.jacobian
        if not solved.residual < 100.0 * WAY_TARGET:
            step, jacobian = 0.4 * step, None
            if step < FINITE_LOAD_SHORTEST_STEP or not path:
                raise ConvergenceError("the solutions could not be followed down from capacity", last_iterate=path)
            lead = path[-1][0] - step
            continue
        path.append((lead, solved.x))
        y = solved.x
        point = equations.point(np.concatenate([[lead], y[:-1]]))
        if until(float(y[-1]), point):
            places = [(np.concatenate([[at], z[:-1]]), float(z[-1])) for at, z in path[-2:]]
            return places[0], places[-1]
        if y[-1] < math.log(SMALLEST_LOAD):
            raise NoSolution(f"nothing was found down to load {SMALLEST_LOAD:g}")
        step = min(1.6 * step, FINITE_LOAD_LONGEST_STEP)
        lead -= step


def population_saddle_point(
    neuron: NeuronSpec, task: TaskSpec, alpha: float, branch_size: float | None = None
) -> PopulationSaddlePoint:
    """The typical solutions at a load; `saddle_point` calls this if branches differ or are short."""
    populations = populations_of(neuron, task, branch_size)
    equations, log_load = _FiniteLoad(populations, task), math.log(real_number("alpha", alpha, 0.0, low_open=True))
    try:
        alpha_c = symmetric_state(populations, task).alpha
    except NoSolution:
        if neuron.populations or branch_size is None:
            raise
        # Short branches may have no replica-symmetric capacity; their solutions at a load are followed from long ones.
        x = _shortened(neuron, task, branch_size, log_load)
        return _polished(equations, neuron, branch_size, x, log_load)
    if alpha >= alpha_c:
        raise NoSolution(f"alpha = {alpha:g} is not below the replica-symmetric capacity alpha_c = {alpha_c:.10g}")
    if len(populations) == 1 and branch_size in (None, math.inf):
        place = _on_curve(equations, lambda point: math.log(point.load / alpha), 0.5 * alpha)
        if place is not None:
            return _polished(equations, neuron, branch_size, place[:-1], log_load)
    coarse = _FiniteLoad(populations, task, COARSE)
    (x0, load0), (x1, load1) = _descend(coarse, lambda at, _: at <= log_load)
    equations.evaluations += coarse.evaluations
    part = 0.0 if load0 == load1 else (log_load - load0) / (load1 - load0)
    return _polished(equations, neuron, branch_size, x0 + part * (x1 - x0), log_load)


def _on_curve(equations: _FiniteLoad, condition: Callable[[CurvePoint], float], first_load: float) -> Floats | None:
    """Unknowns of a single population of long branches and ln load, where its curve of solutions meets a condition.

    Its curve is that of a neuron with equal branches, which is followed faster. None if it fails.
    """
    (population,) = equations.populations
    share = population.types[0].share
    neuron = NeuronSpec(population.nonlinearity, population.theta_d, population.mean_output)
    # There chi is c0 v (theta_d / f_in)^2, here common v W_bar^2.
    like = replace(equations.task, f_in=population.f_in, branch_correlation=population.common / share**2)
    try:
        found = solve_on_curve(
            neuron, like, condition, first_load, coarsely=math.isfinite(first_load), types=population.types
        )
    except ConvergenceError:
        return None
    if found is None:
        return None
    equations.evaluations += found.evaluations
    point, W_bar = found.point, population.W_bar(0.0)
    return np.log([point.A_hat * W_bar**2, point.q_hat / point.A_hat, point.load])


def split_saddle_point(
    neuron: NeuronSpec, task: TaskSpec, alpha: float, split: Sequence[float], branch_size: float | None = None
) -> PopulationSaddlePoint:
    """The typical solutions of equal branches whose mean inputs have prescribed distances from a common one.

    Parameters
    ----------
    neuron : NeuronSpec
        Branches of one kind.
    alpha : float
        Load, below the replica-symmetric capacity of equal branches.
    split : sequence of float
        The distances, one for each of equally large shares of the branches.
    branch_size : float, optional
        Synapses per branch.

    Notes
    -----
    Message passing keeps distances of this kind, so the two can be compared. Populations with prescribed mean
    outputs are different: each has its own multiplier, and at the same outputs they have a larger free entropy.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky, TaskSpec
    >>> point = split_saddle_point(NeuronSpec(Polsky(), 0.5, 0.5), TaskSpec(), 0.4, (-0.5, 0.5), branch_size=50)
    >>> round(point.free_entropy, 4), [round(one.mean_output, 2) for one in point.populations]
    (0.7401, [0.28, 0.72])
    """
    start = population_saddle_point(neuron, task, alpha, branch_size)
    (one,) = populations_of(neuron, task, branch_size)
    parts = [replace(one, fraction=1.0 / len(split))] * len(split)
    x, log_load = np.append(np.tile(start.x, len(split)), start.populations[0].preactivation_mean), math.log(alpha)
    at, step = 0.0, 1.0
    while True:
        equations = _FiniteLoad(parts, task, split=[min(at + step, 1.0) * distance for distance in split])
        solved = newton(partial(equations.residuals, log_load=log_load), x, target=1e-8, most=15, reach=2.0)
        if solved.residual < 1e-6:
            x, at = solved.x, min(at + step, 1.0)
            if at == 1.0:
                return _polished(equations, neuron, branch_size, x, log_load)
        else:
            step *= 0.4
            if step < FINITE_LOAD_SHORTEST_STEP:
                raise ConvergenceError(f"the solutions were followed to {at:.3g} of the split only", last_iterate=x)


def _shortened(neuron: NeuronSpec, task: TaskSpec, branch_size: float, log_load: float) -> Floats:
    """Unknowns at a load, followed from long branches to short ones."""
    x = population_saddle_point(neuron, task, math.exp(log_load)).x
    at, step = 0.0, 0.5
    while at < 1.0:
        ahead = min(at + step, 1.0)
        equations = _FiniteLoad(populations_of(neuron, task, branch_size / ahead**2), task)
        solved = newton(partial(equations.residuals, log_load=log_load), x, target=1e-8, most=15, reach=2.0)
        if solved.residual < 1e-6:
            x, at = solved.x, ahead
            continue
        step *= 0.4
        if step < FINITE_LOAD_SHORTEST_STEP:
            raise ConvergenceError(
                f"typical solutions at load {math.exp(log_load):g} were found down to {branch_size / at**2:.4g} "
                "synapses per branch only",
                last_iterate=x,
            )
    return x


def _polished(
    equations: _FiniteLoad, neuron: NeuronSpec, branch_size: float | None, x: Floats, log_load: float
) -> PopulationSaddlePoint:
    solved = newton(lambda at: equations.residuals(at, log_load), x, most=30)
    if not solved.residual < ACCEPTED:
        raise ConvergenceError(f"the equations are missed by {solved.residual:.1e}", last_iterate=solved.x)
    return _described(equations, neuron, branch_size, solved.x, math.exp(log_load), solved.residual)


def _described(
    equations: _FiniteLoad, neuron: NeuronSpec, branch_size: float | None, x: Floats, alpha: float, residual: float
) -> PopulationSaddlePoint:
    point, populations = equations.point(x), equations.populations
    kinds = tuple(_typical(*pair) for pair in zip(populations, point.sides, strict=True))
    entropy = 0.0
    for population, side, kind in zip(populations, point.sides, kinds, strict=True):
        # q q_hat / 2 - Q Q_hat, in a form in which terms of order 1 / dq^2 have cancelled
        constraints = 0.5 * (side.Q * side.A_hat - side.dq * side.q_hat)
        constraints -= sum(one.share * one.W_bar * one.M_hat for one in kind.synapses if one.W_bar > 0.0)
        entropy += population.share * (constraints + kind.entropic_term)

    def average(values: Sequence[float]) -> float:
        return math.fsum(population.share * value for population, value in zip(populations, values, strict=True))

    return PopulationSaddlePoint(
        neuron=neuron,
        task=equations.task,
        branch_size=math.inf if branch_size is None else branch_size,
        alpha=alpha,
        free_entropy=entropy + alpha * point.energetic.term,
        energetic_term=point.energetic.term,
        Q=average([kind.Q for kind in kinds]),
        q=average([kind.q for kind in kinds]),
        W_bar=average([kind.W_bar for kind in kinds]),
        mean_shift=point.shift,
        stability=equations.stability(point, alpha),
        populations=kinds,
        residual=residual,
        iterations=equations.evaluations,
        x=x,
    )


def _typical(population: Population, side: _Side) -> TypicalWeights:
    """The public description of one population, each type of its synapses in units of its own weights."""
    synapses = []
    for one, at in zip(population.types, side.types, strict=True):
        unit = side.W_bar / one.scale  # a mean excitatory weight in units of this type's own weights
        synapses.append(
            TypicalSynapses(
                kind=one.kind,
                share=one.share,
                f_in=one.f_in or population.f_in,
                W_bar=0.0 if at is None else at.entropic.mean * unit,
                Q=0.0 if at is None else (at.entropic.mean_squared + at.entropic.variance) * unit**2,
                q=0.0 if at is None else at.entropic.mean_squared * unit**2,
                dq=0.0 if at is None else at.entropic.variance * unit**2,
                A_hat=side.A_hat * one.scale**2,
                q_hat=side.q_hat * one.scale**2,
                M_hat=-math.inf if at is None else at.M_hat / unit,
                entropic_term=-math.inf if at is None else at.entropic.term + math.log(unit),
            )
        )
    dq = math.fsum(one.share * one.dq for one in synapses)
    Q = math.fsum(one.share * one.Q for one in synapses)
    V = population.variance(side.m, side.Q)
    return TypicalWeights(
        fraction=population.fraction,
        length=population.length,
        mean_output=side.norm.output,
        W_bar=mean_weight(synapses),
        Q=Q,
        q=Q - dq,
        dq=dq,
        entropic_term=sum(one.share * one.entropic_term for one in synapses),
        synapses=tuple(synapses),
        preactivation_mean=side.m,
        preactivation_sd=math.sqrt(V),
        common_variance=population.common_variance(side.m),
        preactivation_covariance=V - population.v * side.dq,
    )


def population_stability_limit(
    neuron: NeuronSpec, task: TaskSpec, branch_size: float | None = None
) -> PopulationSaddlePoint:
    """The solution at the load where replica symmetry becomes unstable, coming from small loads."""
    populations = populations_of(neuron, task, branch_size)
    equations = _FiniteLoad(populations, task)
    start = None
    if len(populations) == 1 and branch_size in (None, math.inf):
        start = _on_curve(equations, lambda point: -point.stability, math.inf)
    if start is None:
        (x0, load0), (x1, load1) = _descend(equations, lambda at, point: equations.stability(point, math.exp(at)) > 0.0)
        start = np.append(0.5 * (x0 + x1), 0.5 * (load0 + load1))

    def residuals(y: Floats) -> Floats:
        point = equations.point(y[:-1])
        return np.append(equations.residuals(y[:-1], float(y[-1])), equations.stability(point, math.exp(y[-1])))

    solved = newton(residuals, start, most=30)
    if not solved.residual < ACCEPTED:
        raise ConvergenceError(f"the equations are missed by {solved.residual:.1e}", last_iterate=solved.x)
    return _described(equations, neuron, branch_size, solved.x[:-1], math.exp(solved.x[-1]), solved.residual)
