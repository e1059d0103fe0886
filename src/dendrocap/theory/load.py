"""Replica-symmetric solutions at any load: one set of equations, followed from load 0 or from capacity.

Each population of branches has two unknowns, ln A and ln xi, with A = (q_hat - 2 Q_hat) W_bar^2 and xi = q_hat W_bar^2
/ A. They determine its weights up to their scale; the mean output then its mean input, and with it the scale.
Populations meet at the soma, where covariances add [pop-soma], and each must be consistent with what the patterns ask
of it [pop-sp]. Where the mean input is not a function of the norm, for a g that is not monotone, it is another unknown.

Along the solutions ln A goes from minus infinity at load 0 to plus infinity at capacity. Near either end everything is
known to first order. A prior that keeps weights finite without patterns allows A_hat of either sign, or none at load 0:
a constant is then added to A_hat in both unknowns [curve-prior], and the solutions start at ln xi = minus infinity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model.neuron import NeuronSpec, TaskSpec
from dendrocap.numerics._compiled import tail
from dendrocap.numerics.types import Floats
from dendrocap.theory._laws import FIELD_STEP
from dendrocap.theory.dendrite import (
    NODES,
    BranchKernel,
    PairKernel,
    SomaticCovariance,
    all_mean_inputs,
    check_reachable,
)
from dendrocap.theory.neuron_kernel import (
    Population,
    PopulationKernel,
    composed,
    like_branches,
    needs_populations,
    populations_of,
)
from dendrocap.theory.patterns import HARD_MARGIN, Channel, Energetic, Probit, Temperature, is_hard
from dendrocap.theory.solver import Place, followed, measured, monotone_root, newton
from dendrocap.theory.symmetric import needs_constraint_curve, symmetric_state
from dendrocap.theory.weights import Entropic, Law, OwnPrior, law_of
from dendrocap.validation import real_number

ACCEPTED = 1e-9  # largest estimated relative error of a solution

COARSE, CHECK = 7, 16  # nodes per panel while solutions are followed, and for the numbers that are returned

WAY, CLOSELY = 1e-5, 1e-9  # residuals on the way to a load, and to a condition that may come close to zero

LONGEST = 2.0  # step in the logarithm of the load, or of its distance from capacity

ROUNDING = 1e-16  # smaller fields of the patterns leave the weights as they are

CLOSE, APART = 0.8, 0.99  # parts of the capacity beyond which solutions are followed from there, and in A, not the load

NEAREST = 1e-8  # distance from capacity, relative, at which a load does not determine the solution

MET, FARTHEST = 1e-13, 32.0  # dq / Q at which replicas cannot be told apart, and a place beyond that

LARGEST = 300.0  # of ln A and ln xi

DEAD = Entropic(-math.inf, 0.0, 0.0, 0.0, 0.0)  # weights that are all zero

# Of walks by arc length: dq / Q at which they start near capacity and end there, ln A at which weights are so few that
# the load vanishes too, steps, and the distance within which an end belongs to a branch followed from its other end.
NEAR_CAPACITY, ENDED, LEAST_LOG_A, LARGEST_LOG = 1e-6, 1e-8, -12.0, 60.0

LONGEST_WALK, SHORTEST_WALK, MOST_STEPS, PROBE = 0.5, 1e-4, 250, 1e-5

STRAIGHT, VISITED, LOOSE = 0.9, 0.6, 1e-8

# Synapses per branch or noise that are as good as infinite, and the part of the way from there that is skipped.
FAR, FIRST = 1e6, 0.03


def balanced_shift(
    kernel: SomaticCovariance,
    task: TaskSpec,
    guess: float = 0.0,
    step: float = FIELD_STEP,
    channel: Channel = HARD_MARGIN,
) -> float:
    """The mean shift at which both classes push equally hard, ``E sigma f' = 0`` [sp-4].

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


class Dendrite(NamedTuple):
    """The branches of one population; derivatives in the mean input are zero where it just follows Q."""

    m: float
    output: float
    output_Q: float
    output_m: float
    pair: PairKernel
    Gamma0_m: float = 0.0
    D1_m: float = 0.0


class Side(NamedTuple):
    """One population: norms and conjugates in units of excitatory weights, and its contribution to the soma."""

    W_bar: float  # of the excitatory weights
    Q: float
    dq: float
    A_hat: float
    q_hat: float
    M_hat: float  # of the excitatory weights
    types: tuple[tuple[float, Entropic], ...]  # M_hat and averages at a mean excitatory weight of one
    variance_squared: float
    dendrite: Dendrite


class Point(NamedTuple):
    """All populations and the patterns."""

    sides: tuple[Side, ...]
    energetic: Energetic
    shift: float
    D0: float
    D1: float
    asked: Floats  # of each population: q_hat and A_hat at load 1, what a load does not change of A_hat, and its weight


class _Soma(NamedTuple):
    """Covariance and difference at the soma, for the average over patterns."""

    D0: float
    D1: float


class Equations:
    """What must vanish, for one set of populations.

    Either every population has its own mean output, or ``split`` gives the distances of the mean inputs from a common
    one, which is the last unknown: only the average output is then prescribed. A ``law`` other than the usual one is
    that of weights of mean one, in the one population of long branches.
    """

    def __init__(
        self,
        populations: Sequence[Population],
        task: TaskSpec,
        nodes: int = NODES,
        *,
        law: OwnPrior | None = None,
        channel: Channel = HARD_MARGIN,
        split: Sequence[float] | None = None,
    ) -> None:
        self.populations, self.task, self.channel, self.split = tuple(populations), task, channel, split
        self.law: OwnPrior = Law() if law is None else law
        self.evaluations = 0
        self.unit = math.sqrt(populations[0].v) * populations[0].W_bar(0.0)  # of the common mean input
        self._step = FIELD_STEP * NODES / nodes
        self._shift = 0.0  # of the last call, in units of sqrt(D0)
        self._centres = [[math.nan] * len(population.types) for population in populations]  # likewise
        self._kernels: list[PopulationKernel | list[BranchKernel]] = [
            [BranchKernel(g, output, nodes) for g, output in one.levels]
            if math.isinf(one.branch_size) and split is None
            else PopulationKernel(one, nodes)
            for one in populations
        ]

    def point(self, x: Floats) -> Point:
        """All quantities at the unknowns (ln A_p, ln xi_p) and, with a split, the common mean input in its unit."""
        self.evaluations += 1
        P = len(self.populations)
        means = [None] * P if self.split is None else [float(x[-1]) * self.unit + part for part in self.split]
        sides = tuple(self._side(p, float(x[2 * p]), float(x[2 * p + 1]), m) for p, m in enumerate(means))
        fractions = [population.fraction for population in self.populations]
        pairs = [side.dendrite.pair for side in sides]
        soma = _Soma(
            math.fsum(part * pair.D0 for part, pair in zip(fractions, pairs, strict=True)),
            math.fsum(part * pair.D1 for part, pair in zip(fractions, pairs, strict=True)),
        )
        if not (soma.D0 > 0.0 and soma.D1 > 0.0):
            raise ConvergenceError("the soma does not notice its inputs", last_iterate=sides)
        shift = balanced_shift(soma, self.task, self._shift * math.sqrt(soma.D0), self._step, self.channel)
        self._shift = shift / math.sqrt(soma.D0)
        energetic = Energetic.at(soma, self.task, shift, self._step, self.channel)
        f2, f1 = energetic.f2, energetic.f1_squared
        # Effects of the mean input: energy, entropy of the weights, output. Tied inputs change together.
        turns = [
            (
                f2 * side.dendrite.Gamma0_m + f1 * side.dendrite.D1_m,
                2.0 * population.length * population.W_slope * side.M_hat,
                side.dendrite.output_m,
            )
            for population, side in zip(self.populations, sides, strict=True)
        ]
        if self.split is not None:
            turns = [tuple(np.average(turns, axis=0, weights=fractions).tolist())] * P
        asked = np.empty((P, 4))
        for row, (population, side, (energy, entropy, output)) in enumerate(
            zip(self.populations, sides, turns, strict=True)
        ):  # [sp-5], [sp-6], [pop-sp]
            here, pair = side.dendrite, side.dendrite.pair
            along, turn = 1.0, -here.output_Q / output if output else math.nan
            if self.split is not None:
                # A curve E g = theta turns back where E g' = 0: along it both Q and m change [sp-along].
                size = math.hypot(self.unit * output, side.Q * here.output_Q)
                along, turn = self.unit * output / size, -self.unit * here.output_Q / size
            A_asked = -(along * (f2 * pair.dGamma0_dQ + f1 * pair.dD1_dQ) + turn * energy)
            length = population.length
            asked[row] = f1 * pair.dD1_ddq / length, A_asked / length, turn * entropy / length, along
        return Point(sides, energetic, shift, *soma, asked)

    def _side(self, p: int, log_A: float, log_xi: float, m: float | None) -> Side:
        without_patterns, population = log_xi == -math.inf, self.populations[p]
        if not (without_patterns or (abs(log_A) < LARGEST and abs(log_xi) < LARGEST)):
            raise ConvergenceError("the conjugates left all bounds", last_iterate=(log_A, log_xi))
        A, q_hat = math.exp(log_A), math.exp(log_A + log_xi)
        types: list[tuple[float, Entropic]] = []
        for one, centre in zip(population.types, self._centres[p], strict=True):  # [inhibition-load]
            if one.strength == 0.0:
                types.append((0.0, DEAD))
            elif without_patterns:
                types.append(self.law.without_patterns(one.strength))
            else:
                types.append(self.law.balanced(one.strength, A - self.law.offset, q_hat, self._step, centre))
        if not without_patterns:
            self._centres[p] = [M_hat for M_hat, _ in types]
        shares = [one.share for one in population.types]
        variance = math.fsum(share * at.variance for share, (_, at) in zip(shares, types, strict=True))
        ratio = math.fsum(share * at.mean_squared for share, (_, at) in zip(shares, types, strict=True)) + variance
        square = math.fsum(share * at.variance_squared for share, (_, at) in zip(shares, types, strict=True))
        if not (math.isfinite(ratio) and variance > 0.0):
            raise ConvergenceError("the weights have no finite moments", last_iterate=(log_A, log_xi))
        W, dendrite = self._dendrite(p, ratio, variance, m)
        return Side(
            W_bar=W,
            Q=ratio * W**2,
            dq=variance * W**2,
            A_hat=(A - self.law.offset) / W**2,
            q_hat=q_hat / W**2,
            M_hat=types[0][0] / W,
            types=tuple(types),
            variance_squared=square * W**4,
            dendrite=dendrite,
        )

    def _dendrite(self, p: int, ratio: float, variance: float, m: float | None) -> tuple[float, Dendrite]:
        """Mean weight and dendrites for weights of these moments in its units."""
        population, kernel = self.populations[p], self._kernels[p]
        if isinstance(kernel, list):  # the mean input follows Q and changes nothing else
            W, v = population.W_bar(0.0), population.v
            pair = composed(kernel, population.variance(0.0, ratio * W**2), v * variance * W**2, v)
            return W, Dendrite(pair.means[0], population.mean_output, 0.0, 1.0, pair)
        output = population.mean_output if m is None else None
        m = kernel.mean_input(ratio) if m is None else m
        W = population.W_bar(m)
        if not W > 0.0:
            raise ConvergenceError("no weights have this mean input", last_iterate=m)
        norm = kernel.norm(m, ratio * W**2, output)
        overlap = kernel.overlap(m, ratio * W**2, variance * W**2, norm)
        pair = PairKernel(
            D0=norm.Gamma0 - overlap.D1,
            D1=overlap.D1,
            dD1_ddq=overlap.C_q,
            dD1_dQ=overlap.D1_Q,
            dGamma0_dQ=norm.Gamma0_Q,
            d2D0_dq2=overlap.C_qq,
            mean_slope=norm.output_m,
            means=(m,),
        )
        return W, Dendrite(m, norm.output, norm.output_Q, norm.output_m, pair, norm.Gamma0_m, overlap.D1_m)

    def residuals(self, x: Floats, log_load: float) -> Floats:
        """The residuals at this load."""
        return self.misses(self.point(x), math.exp(log_load))

    def misses(self, point: Point, load: float) -> Floats:
        """How far a point is from the solution at a load."""
        found = []
        for side, (q_asked, A_asked, A_fixed, along) in zip(point.sides, point.asked.tolist(), strict=True):
            if not q_asked > 0.0:
                raise ConvergenceError("the patterns ask for no overlap", last_iterate=point)
            A = side.A_hat + self.law.offset / side.W_bar**2
            found += [math.log(load * q_asked / side.q_hat), (load * A_asked + A_fixed - along * side.A_hat) / A]
        if self.split is not None:
            off = sum(
                one.fraction * (side.dendrite.output - one.mean_output)
                for one, side in zip(self.populations, point.sides, strict=True)
            )
            found.append(off / math.sqrt(point.D0 + point.D1))
        return np.array(found)

    def load(self, point: Point) -> float:
        """The load at which the patterns ask for this q_hat of the first population."""
        return float(point.sides[0].q_hat / point.asked[0, 0])

    def first_order(self, point: Point) -> tuple[Floats, Floats, Floats]:
        """q_hat and A_hat per unit of load without patterns, and A_hat there, in units of 1 / W_bar^2."""
        W2 = np.array([side.W_bar**2 for side in point.sides])
        q_hat, A_hat, fixed, along = point.asked.T
        return q_hat * W2, A_hat * W2 / along, fixed * W2 / along

    def log_volume(self, point: Point, load: float) -> float:
        """phi: logarithm of the volume of solutions per weight [free-entropy]."""
        phi = load * point.energetic.term
        for population, side in zip(self.populations, point.sides, strict=True):
            # q q_hat / 2 - Q Q_hat, in a form in which terms of order 1 / dq^2 have cancelled
            own = 0.5 * (side.Q * side.A_hat - side.dq * side.q_hat)
            for one, (M_hat, at) in zip(population.types, side.types, strict=True):
                own += one.share * (at.term + math.log(side.W_bar / one.scale) - M_hat * at.mean)
            phi += population.share * own
        return phi

    def stability(self, point: Point, load: float) -> float:
        """The replicon: one minus the largest eigenvalue of the response of the overlaps to themselves [pop-at]."""
        gain = np.array(
            [
                load / population.length * side.variance_squared
                for population, side in zip(self.populations, point.sides, strict=True)
            ]
        )
        pairs = [side.dendrite.pair for side in point.sides]
        slope, bend = np.array([pair.dD1_ddq for pair in pairs]), np.array([pair.d2D0_dq2 for pair in pairs])
        share = np.array([population.fraction for population in self.populations])
        matrix = np.outer(gain * slope, share * slope) * point.energetic.f2_squared
        matrix += np.diag(gain * bend * point.energetic.f1_squared)
        return 1.0 - float(np.max(np.linalg.eigvals(matrix).real))


class Found(NamedTuple):
    """A solution, evaluated with a finer rule than it was found with."""

    x: Floats
    point: Point
    load: float
    residual: float
    error: float  # relative change of Q and q in another Newton step
    evaluations: int
    equations: Equations

    @property
    def free_entropy(self) -> float:
        """Logarithm of the volume of the cloud per weight."""
        return self.equations.log_volume(self.point, self.load)

    @property
    def stability(self) -> float:
        """The replicon."""
        return self.equations.stability(self.point, self.load)


class Start(NamedTuple):
    """A solution near one end, its load, and the direction from there."""

    x: Floats
    load: float
    slope: Floats


Condition = Callable[[Equations, Point, float], float]


def unstable(equations: Equations, point: Point, load: float) -> float:
    """Positive where replica symmetry is broken."""
    return -equations.stability(point, load)


class Solutions:
    """The solutions of one neuron and task at all loads."""

    def __init__(
        self,
        neuron: NeuronSpec,
        task: TaskSpec,
        branch_size: float | None = None,
        channel: Channel = HARD_MARGIN,
    ) -> None:
        self.neuron, self.task, self.branch_size, self.channel = neuron, task, branch_size, channel
        self.law: OwnPrior | None = None
        self.alike = not needs_populations(neuron, branch_size)
        self.curved = self.alike and needs_constraint_curve(neuron, task)
        if self.curved and neuron.tree[0].nonlinearity.has_jumps:
            raise NoSolution(
                f"{neuron.tree[0].nonlinearity!r} jumps and is not monotone: its finite-load theory is not derived; "
                "give a g that is continuous or never falls"
            )
        self.split: Sequence[float] | None = (0.0,) if self.curved else None
        if self.alike:
            real_number("theta_d", neuron.tree[0].theta, 0.0, low_open=True)
            check_reachable(neuron)
            self.populations: tuple[Population, ...] = (like_branches(neuron, task),)
            law, W = law_of(neuron.prior), self.populations[0].W_bar(0.0)
            law.check(W)
            self.law = law.scaled(W)
        else:
            self.populations = populations_of(neuron, task, branch_size)
        self._made: list[Equations] = []
        self._why = ""  # no capacity is known
        self._walks: tuple[float, list[list[tuple[Floats, Point, float]]]] | None = None

    @property
    def evaluations(self) -> int:
        """Number of evaluations of all equations made."""
        return sum(one.evaluations for one in self._made)

    def equations(self, nodes: int) -> Equations:
        """The equations with this many nodes per panel."""
        made = Equations(self.populations, self.task, nodes, law=self.law, channel=self.channel, split=self.split)
        self._made.append(made)
        return made

    @cached_property
    def capacity(self) -> tuple[float, list[Floats]]:
        """The load at which solutions vanish, infinite if none is known, and where the replicas meet there.

        The second holds ln (A W_bar^2 Q / dq) and ln (C Q / (A dq)) of each population at dq = Q, and the mean input;
        several if there are several stationary loads.
        """
        if not is_hard(self.channel) or any(level.has_jumps for one in self.populations for level, _ in one.levels):
            return math.inf, []
        try:
            state = symmetric_state(self.populations, self.task, law_of(self.neuron.prior))
        except (ConvergenceError, NoSolution) as error:
            if self.neuron.populations:
                raise
            self._why = f": {error}"
            return math.inf, []  # solutions may exist all the same
        best = state.sides[0]

        def meeting(A: float, C: float, W_bar: float, dq: float) -> list[float]:
            return [math.log(A * W_bar**2 / dq), math.log(C / (A * dq))]

        if not self.curved:
            sides = zip(state.sides, state.gaps, strict=True)
            ends = [[x for side, gap in sides for x in meeting(side.A, side.C, side.W_bar, best.Q * gap)]]
        else:
            f_in, unit = self.populations[0].f_in, self.equations(NODES).unit
            others = [(other.B, other.Q, other.M_bar * f_in) for other in state.others]
            ends = []
            for t, Q, m in [(best.t, best.Q, best.m), *others]:
                i0, i1, _ = tail(t)
                ends.append([*meeting(i0, (i0 * best.W_bar / i1) ** 2, best.W_bar, Q), m / unit])
        return state.alpha, [np.array(end) for end in ends]

    # Both ends -------------------------------------------------------------------------------------------------------

    def without_patterns(self, equations: Equations, m: float | None = None) -> tuple[Floats, Point]:
        """Load 0, exactly: every weight has the density that the prior gives it [zero-load]."""
        log_A = math.log(equations.law.offset) if equations.law.offset > 0.0 else -math.inf
        x = np.array([log_A, -math.inf] * len(self.populations) + ([] if m is None else [m / equations.unit]))
        return x, equations.point(x)

    def from_zero(self, equations: Equations, alpha: float, m: float | None = None) -> Start | None:
        """A solution at a small load below ``alpha``, to first order; None if A_hat would be negative.

        Few patterns then already favour a larger mean square of the weights. A vanishing fraction of very large
        weights provides it, so A_hat falls faster than any power of the load: there is no expansion.
        """
        x, point = self.without_patterns(equations, m)
        offset, q_hat, A_hat, fixed = equations.law.offset, *equations.first_order(point)
        load = min(0.5 * alpha, 0.1 / float(np.max(np.maximum(q_hat, np.abs(A_hat)))))
        if offset > 0.0 and A_hat[0] < 0.0:
            load = min(load, -0.1 * offset / float(A_hat[0]))
        A = offset + load * A_hat + fixed
        if not np.all(A > 0.0):
            return None
        rising = load * A_hat / A
        slope = np.zeros(x.size)
        slope[: 2 * A.size] = np.array([rising, 1.0 - rising]).T.ravel()
        x[: 2 * A.size] = np.log([A, load * q_hat / A]).T.ravel()
        if np.any(fixed):
            x = newton(partial(equations.residuals, log_load=math.log(load)), x, target=WAY, reach=2.0).x
        return Start(x, load, np.clip(slope, 0.0, 1.0))

    @cached_property
    def _evenly(self) -> Floats:
        """How unknowns change towards capacity with the logarithm of the distance of two solutions."""
        return np.array([1.0, 1.0] * len(self.populations) + [0.0] * self.curved)

    def from_capacity(self, equations: Equations, alpha: float) -> Start | None:
        """A solution closer to capacity than ``alpha``; None if no capacity is known."""
        alpha_c, ends = self.capacity
        for closeness in (1e-2, 1e-3, 1e-4) if ends else ():
            x = ends[0] - self._evenly * math.log(max(closeness * (1.0 - alpha / alpha_c), MET))
            y = np.append(x[1:], math.log(alpha_c))
            solved = newton(_at_A(equations, float(x[0])), y, target=1e-8, reach=2.0)
            load = math.exp(solved.x[-1])
            if solved.residual < 1e-5 and load < alpha_c:
                return Start(np.append(x[0], solved.x[:-1]), load, self._evenly)
        return None

    def from_far(self, equations: Equations, alpha: float) -> Start | None:
        """The solution at ``alpha``, followed from one with long branches or with much noise."""
        channel = self.channel
        far = max(channel.noise, channel.temperature) if self.alike else self.branch_size or math.inf
        if not 0.0 < far < FAR:
            return None

        def solutions(part: float) -> Solutions:
            if not self.alike:
                return Solutions(self.neuron, self.task, far / part**2)
            wide = Probit(far / part**2) if channel.noise else Temperature(far / part**2)
            return Solutions(self.neuron, self.task, None, wide)

        def family(part: float) -> Callable[[Floats], Floats]:
            return partial(solutions(part).equations(NODES).residuals, log_load=math.log(alpha))

        start = solutions(FIRST).at(alpha)
        *_, place = followed(family, start.x, FIRST, 1.0, target=WAY, on_the_way=WAY)
        if place.at < 1.0:
            what = "of noise or temperature" if self.alike else "synapses per branch"
            raise ConvergenceError(
                f"typical solutions at load {alpha:g} were found down to {far / place.at**2:.4g} {what} only", place
            )
        return Start(place.x, alpha, self._evenly)

    # The way between them --------------------------------------------------------------------------------------------

    def place(self, load: float) -> float:
        """Place of a load on the way, along which unknowns change evenly: from minus to plus infinity at capacity."""
        alpha_c = self.capacity[0]
        return math.log(load if math.isinf(alpha_c) else load / (alpha_c - load))

    def log_load(self, place: float) -> float:
        """The logarithm of the load at a place."""
        alpha_c = self.capacity[0]
        return place if math.isinf(alpha_c) else math.log(alpha_c) - float(np.logaddexp(0.0, -place))

    def _followed(self, equations: Equations, start: Start, goal: float, accuracy: float) -> Iterator[Place]:
        def family(at: float) -> Callable[[Floats], Floats]:
            return partial(equations.residuals, log_load=self.log_load(at))

        return _way(family, start.x, self.place(start.load), goal, start.slope, accuracy)

    def at(self, alpha: float) -> Found:
        """The solution at a load; for a g that is not monotone see `branches`."""
        check = self.equations(CHECK)
        x, zero = self.without_patterns(check)
        q_hat, A_hat, fixed = check.first_order(zero)
        bounded = alpha == 0.0 or check.law.offset > 0.0 or np.all(A_hat >= 0.0)
        if bounded and alpha * float(np.max(np.maximum(q_hat, np.abs(A_hat)))) < ROUNDING and np.all(fixed == 0.0):
            sides = [
                side._replace(q_hat=alpha * row[0], A_hat=alpha * row[1])
                for side, row in zip(zero.sides, zero.asked.tolist(), strict=True)
            ]
            return Found(x, zero._replace(sides=tuple(sides)), alpha, 0.0, 0.0, self.evaluations, check)
        real_number("alpha", alpha, 0.0, low_open=True)  # without patterns, short branches have no finite weights
        alpha_c = self.capacity[0]
        if alpha >= alpha_c:
            hint = "; channel=Temperature(T) allows for wrong patterns" if self.alike else ""
            raise NoSolution(
                f"alpha = {alpha:g} is not below the replica-symmetric capacity alpha_c = {alpha_c:.10g}{hint}"
            )
        if alpha > (1.0 - NEAREST) * alpha_c:
            raise ConvergenceError(
                f"alpha = {alpha:.12g} is too close to the replica-symmetric capacity {alpha_c:.12g} for solutions to "
                "be told apart: see critical_capacity"
            )
        ways = [(self.from_zero, COARSE), (self.from_capacity, COARSE), (self.from_zero, NODES), (self.from_far, NODES)]
        if alpha > CLOSE * alpha_c:
            ways[:2] = ways[1::-1]
        goal, best = self.place(alpha), None
        failure = ConvergenceError(f"neither end of the curve of solutions is within reach{self._why}")
        for start_of, nodes in ways:
            try:
                equations = self.equations(nodes)
                start = start_of(equations, alpha)
                if start is None:
                    continue
                *_, last = self._followed(equations, start, goal, WAY)
                if last.at != goal:
                    reached = math.exp(self.log_load(last.at))
                    raise ConvergenceError(
                        f"solutions were followed to load {reached:.6g} only, not to {alpha:g}", last
                    )
                found = self.polished(last.x, alpha, jacobian=last.jacobian)
            except ConvergenceError as error:
                failure = error
                continue
            if found.error < ACCEPTED:
                return found
            best = found
        if best is None:
            raise failure
        return best

    def all_at(self, alpha: float) -> list[Found]:
        """All solutions at a load for a g that is not monotone; those at load 0 differ in the mean input."""
        if alpha == 0.0:
            check, (one,) = self.equations(CHECK), self.populations
            sd = math.sqrt(one.variance(0.0, 2.0 * one.W_bar(0.0) ** 2))
            means = all_mean_inputs(one.nonlinearity, one.mean_output, sd)
            free = [self.without_patterns(check, m) for m in means]
            return [Found(x, point, 0.0, 0.0, 0.0, self.evaluations, check) for x, point in free]
        return self.everywhere(lambda equations, point, load: math.log(load / alpha), alpha)

    def polished(
        self, x: Floats, load: float, condition: Condition | None = None, jacobian: Floats | None = None
    ) -> Found:
        """The solution near x at a load, or at the load near it at which a condition vanishes."""
        fine, check = self.equations(NODES), self.equations(CHECK)

        def missed(equations: Equations, y: Floats) -> tuple[Floats, Point]:
            if condition is None:
                point = equations.point(y)
                return equations.misses(point, load), point
            point, at = equations.point(y[:-1]), math.exp(y[-1])
            return np.append(equations.misses(point, at), condition(equations, point, at)), point

        def misses(y: Floats) -> Floats:
            return missed(fine, y)[0]

        start = x if condition is None else np.append(x, math.log(load))
        solved = newton(misses, start, jacobian=jacobian, most=30, reach=5.0)
        y, error, jacobian = solved.x, math.inf, solved.jacobian
        miss, point = missed(check, y)
        if jacobian is None:
            jacobian = measured(misses, y, misses(y))
        if jacobian is not None and solved.residual < ACCEPTED:
            y, before = y - np.linalg.pinv(jacobian) @ miss, point
            miss, point = missed(check, y)
            changes = [
                abs(new / old - 1.0)
                for one, other in zip(before.sides, point.sides, strict=True)
                for old, new in ((one.Q, other.Q), (one.Q - one.dq, other.Q - other.dq))
            ]
            error = max(changes)
        x, load = (y, load) if condition is None else (y[:-1], math.exp(y[-1]))
        return Found(x, point, load, float(np.max(np.abs(miss))), error, self.evaluations, check)

    def first(self, condition: Condition) -> Found | None:
        """The first solution, coming from small loads, at which a condition that is negative there vanishes."""
        equations, (alpha_c, _) = self.equations(NODES), self.capacity
        start, sense = self.from_zero(equations, alpha_c), 1.0
        if start is None:
            start, sense = self.from_capacity(equations, alpha_c), -1.0
        if start is None:
            raise ConvergenceError(f"neither end of the curve of solutions is within reach{self._why}")
        last: tuple[Floats, float, float] | None = None
        for x, load in self._all_the_way(equations, start, sense):
            point = equations.point(x)
            value = condition(equations, point, load)
            if last is not None and (value < 0.0) != (last[2] < 0.0):
                part = last[2] / (last[2] - value)
                return self.polished(last[0] + part * (x - last[0]), last[1] * (load / last[1]) ** part, condition)
            if sense > 0.0 and all(side.dq < MET * side.Q for side in point.sides):
                break
            last = x, load, value
        if not value < 0.0:
            raise ConvergenceError(f"stuck at load {load:g}", last_iterate=point)
        return None

    def _all_the_way(self, equations: Equations, start: Start, sense: float) -> Iterator[tuple[Floats, float]]:
        """Solutions from small loads to capacity, or back; next to capacity A determines them, not the load."""
        (alpha_c, ends), load = self.capacity, start.load
        apart, evenly = APART * alpha_c, self._evenly
        for by_load in (True, False)[:: int(sense)]:
            if by_load:
                goal = min(self.place(apart), FARTHEST) if sense > 0.0 else -FARTHEST
                for place in self._followed(equations, start, goal, CLOSELY):
                    x, load = place.x, math.exp(self.log_load(place.at))
                    yield x, load
                if place.at != goal and sense > 0.0:
                    raise ConvergenceError(f"stuck at load {load:g}", last_iterate=x)
            elif ends:
                y, slope = np.append(start.x[1:], math.log(load)), np.append(evenly[1:], 0.0)
                lead, family = float(start.x[0]), partial(_at_A, equations)
                for place in _way(family, y, lead, lead + sense * 2.0 * FARTHEST, slope, CLOSELY):
                    x, load = np.append(place.at, place.x[:-1]), math.exp(place.x[-1])
                    yield x, load
                    if sense < 0.0 and load < apart:
                        break
            start = Start(x, load, evenly)

    # Where a load does not determine the solution ---------------------------------------------------------------------

    def everywhere(self, condition: Condition, least: float) -> list[Found]:
        """All solutions, on branches from load ``least`` to capacity, at which a condition changes its sign.

        A g that is not monotone has several of them, which may turn back in the load: they are followed by arc length.
        """
        found: list[Found] = []
        for path in self._branches(least):
            values = [condition(self._guide, point, load) for _, point, load in path]
            for (x, _, load), (y, _, other), before, after in zip(path, path[1:], values, values[1:], strict=False):
                if (before < 0.0) == (after < 0.0):
                    continue
                part = before / (before - after)
                try:
                    one = self.polished(x + part * (y - x), load * (other / load) ** part, condition)
                except ConvergenceError:
                    continue
                if one.residual < LOOSE and not any(_same(one, known) for known in found):
                    found.append(one)
        return found

    @cached_property
    def _guide(self) -> Equations:
        return self.equations(COARSE)

    def _branches(self, least: float) -> list[list[tuple[Floats, Point, float]]]:
        """Each branch, from one end to the other; kept for other questions."""
        if self._walks is not None and self._walks[0] <= least:
            return self._walks[1]
        visited: list[Floats] = []
        paths = []
        for start in self._ends(self._guide, least):
            # Skip branches already followed from their other end, and mirror images or periods of others.
            distances = [(float(np.linalg.norm(start.x - x)), float(np.max(np.abs(start.x - x)[:2]))) for x in visited]
            if any(whole < VISITED or conjugates < 1e-7 for whole, conjugates in distances):
                continue
            paths.append([(x, point, self._guide.load(point)) for x, point in _walked(self._guide, start, 0.5 * least)])
            visited += [start.x, *(x for x, *_ in paths[-1])]
        self._walks = least, paths
        return paths

    def _ends(self, equations: Equations, least: float) -> Iterator[Start]:
        """Points near both ends of the branches of one population."""
        one = self.populations[0]
        sd = math.sqrt(one.variance(0.0, 2.0 * one.W_bar(0.0) ** 2))
        for m in all_mean_inputs(one.nonlinearity, one.mean_output, sd):
            start = self.from_zero(equations, least, m)
            if start is not None:
                yield start
        for x in self.capacity[1]:
            inwards = np.array([-1.0, -1.0, 0.0])
            yield Start(x + math.log(NEAR_CAPACITY) * inwards, math.nan, inwards)


def _way(
    family: Callable[[float], Callable[[Floats], Floats]],
    x: Floats,
    start: float,
    goal: float,
    slope: Floats,
    accuracy: float,
) -> Iterator[Place]:
    return followed(family, x, start, goal, slope=slope, target=accuracy, on_the_way=accuracy, longest=LONGEST)


def _at_A(equations: Equations, log_A: float) -> Callable[[Floats], Floats]:
    """The equations at a given A of the first population; the load is the last unknown."""
    return lambda y: equations.residuals(np.append(log_A, y[:-1]), float(y[-1]))


def _walked(equations: Equations, start: Start, least: float) -> Iterator[tuple[Floats, Point]]:
    """Places along a branch from one of its ends to the other, or as far as it can be followed, and the points."""

    def missed(x: Floats) -> tuple[Floats, Point]:
        point = equations.point(x)
        return equations.misses(point, equations.load(point))[1:], point

    def onto(x: Floats, reach: float) -> tuple[Floats, Point, Floats]:
        """The place on the branch near x, by steps at right angles to it, and its direction there."""
        origin, (miss, point) = x, missed(x)
        jacobian = np.column_stack([(missed(x + PROBE * unit)[0] - miss) / PROBE for unit in np.eye(x.size)])
        inverse, direction = np.linalg.pinv(jacobian), np.linalg.svd(jacobian)[2][-1]
        for _ in range(12):
            change = -inverse @ miss
            if not float(np.linalg.norm(x + change - origin)) <= reach:
                break
            x = x + change
            miss, point = missed(x)
            if float(np.max(np.abs(change))) < 1e-7:
                return x, point, direction
        raise ConvergenceError("no solution nearby", last_iterate=origin)

    step, direction = LONGEST_WALK, start.slope
    try:
        x, point, tangent = onto(start.x, 2.0)
    except ConvergenceError:
        return
    for _ in range(MOST_STEPS):
        yield x, point
        side = point.sides[0]
        tangent = math.copysign(1.0, float(tangent @ direction)) * tangent
        back = tangent[0] < 0.0 and (x[0] < LEAST_LOG_A or equations.load(point) < least)
        if back or side.dq < ENDED * side.Q or np.max(np.abs(x[:2])) > LARGEST_LOG:
            return
        while True:
            try:
                ahead, there, turned = onto(x + step * tangent, 0.5 * step)
                move = ahead - x
                if move @ tangent > STRAIGHT * float(np.linalg.norm(move)):
                    break
            except ConvergenceError:
                pass
            step *= 0.4
            if step < SHORTEST_WALK:
                return
        x, point, direction, tangent, step = ahead, there, move, turned, min(1.5 * step, LONGEST_WALK)


def _same(one: Found, other: Found) -> bool:
    here, there = one.point.sides[0], other.point.sides[0]
    apart = abs(here.dendrite.m - there.dendrite.m)
    return abs(here.Q - there.Q) < 1e-6 * here.Q and apart < 1e-5 * math.sqrt(here.Q)
