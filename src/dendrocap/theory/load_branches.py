"""Replica-symmetric solutions at finite load for non-monotone g: all branches, and which one is typical.

The mean input m is an unknown beside Q, restricted to the curve E g = theta_s [constraint-curve]; stationarity is along
that curve [sp-along]. The unknowns are ln A and ln xi of the weights, as on the solution curve of a monotone g, and m.
Two equations leave curves in this space, the branches of solutions. They are followed by arc length from their known
ends: from the stationary loads at capacity, and from load 0. Of several solutions at one load the typical one
has the largest free entropy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model.neuron import NeuronSpec, TaskSpec
from dendrocap.numerics._compiled import tail
from dendrocap.theory.free_entropy import Energetic, balanced_shift
from dendrocap.theory.gaussian import prepared
from dendrocap.theory.kernels import NODES, BranchKernel, PairKernel
from dendrocap.theory.mean_inputs import all_mean_inputs
from dendrocap.theory.newton import newton
from dendrocap.theory.replica_symmetric import symmetric_capacity
from dendrocap.theory.solution_curve import CHECK, COARSE, CurvePoint, CurveSolution, Equations

__all__ = ["BranchSolution", "load_branch_solutions", "log_volume", "stability_limits"]

Floats = NDArray[np.float64]

NEAR_CAPACITY, MET = 1e-6, 1e-8  # dq / Q at which a branch is joined near capacity, and at which it has ended there
LEAST_LOAD = 1e-3
STEP, SHORTEST_STEP, MOST_STEPS = 0.5, 1e-4, 250
STRAIGHT = 0.9  # smallest cosine between two steps
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
            (other.B, other.Q, other.M_bar) for other in capacity.other_solutions
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
            error = _relative_change(check, solved.x, miss, point, condition)
            one = CurveSolution(point, float(np.max(np.abs(miss))), error, 0)
            if not any(_same(one.point, other.point) for other in solutions):
                solutions.append(one)
    evaluations = guide.evaluations + fine.evaluations + check.evaluations
    return [CurveSolution(one.point, one.residual, one.error, evaluations) for one in solutions]


def _same(one: CurvePoint, other: CurvePoint) -> bool:
    scale = math.sqrt(one.Q)
    return abs(one.Q - other.Q) < 1e-6 * one.Q and abs(one.kernel.means[0] - other.kernel.means[0]) < 1e-5 * scale


def _relative_change(
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
    for _ in range(MOST_STEPS):
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
            if step < SHORTEST_STEP:
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
