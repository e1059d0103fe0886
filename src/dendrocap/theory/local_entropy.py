"""Local entropy: how many solutions lie at a distance from a typical one, replica symmetric.

The reference is a typical solution of the task, or of the same task with a larger margin. The potential of Franz and
Parisi is the logarithm of the volume of solutions at a given distance from it, averaged over references and patterns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model.neuron import NeuronSpec, TaskSpec
from dendrocap.numerics import legendre_rule
from dendrocap.numerics.types import Floats
from dendrocap.theory import scope
from dendrocap.theory.dendrite import BranchInput, BranchKernel, MixedPair, PairKernel, common_variance, mixed_pair
from dendrocap.theory.neuron_kernel import TreeKernel
from dendrocap.theory.results import SYMMETRIC
from dendrocap.theory.saddle_point import SaddlePoint, saddle_point
from dendrocap.theory.solver import Place, Solved, bracketed_root, followed, newton
from dendrocap.validation import real_number

# The replica-symmetric Franz-Parisi potential: solutions at a distance from a reference solution, and its derivatives.
#
# Both sides of the calculation have one form. A reference x, a weight of the reference solution or the distance of a
# pattern from its margin, is a unit Gaussian kept positive in a random field z that all references share. The
# solutions counted see the field h = a_0 + a z + b x + c y, in which y is what they share beyond the reference
# [fp-fields].

NODES = 12  # per Gauss-Legendre panel of averages over exponentially distributed references

BALL_ACCEPTED = 1e-9  # largest mismatch of the equations of a ball

NARROW = 1e-20  # relative variance of the field of such a reference, which has none


class Overlaps(NamedTuple):
    """Order parameters of the solutions counted.

    Q is their mean squared weight, dq = Q - q what two of them do not share, S the overlap with the reference, t that
    with other solutions of the reference's kind, mean_shift the mean of the somatic input.
    """

    Q: float
    dq: float
    S: float
    t: float
    mean_shift: float = 0.0


class Conjugates(NamedTuple):
    """Conjugates: A_hat = q_hat - 2 Q_hat, rest = q_hat - t_hat^2 / q_hat of the reference, pull = S_hat - t_hat."""

    A_hat: float
    rest: float
    pull: float
    t_hat: float
    M_hat: float


class WeightSide(NamedTuple):
    """Averages over the weights of reference and counted solutions, at given conjugates [fp-weights]."""

    term: float  # G_S
    mean: float
    Q: float
    dq: float
    S: float
    t: float
    variance_squared: float  # mean square of the variance of a weight, for the replicon


class PatternSide(NamedTuple):
    """Averages over patterns, at given overlaps [fp-patterns], with what they ask of the conjugates at unit load."""

    term: float  # G_E
    push: float  # dG_E / d mean_shift, in units of the deviation of the counted solutions
    A_hat: float  # -2 dG_E/dQ at fixed Q - q
    q_hat: float  # -2 dG_E/dq
    S_hat: float
    t_hat: float  # -dG_E/dt
    gamma_E: float  # what the patterns add to the replicon, as in [at]


class FranzParisi:
    """The potential around one solution of ``reference``, for a task that may differ from its own in the margin."""

    def __init__(self, reference: SaddlePoint, task: TaskSpec, nodes: int) -> None:
        neuron = reference.neuron
        assert reference.kernel is not None  # its branches are alike
        self.reference, self.task, self.kernel = reference, task, reference.kernel
        self.W_bar = neuron.tree[0].theta / task.f_in
        self.v = task.f_in * (1.0 - task.f_in)
        self._chi = common_variance(neuron, task)
        self._rule = legendre_rule(nodes)
        self._tree = TreeKernel(neuron, task)
        self._branch = BranchKernel(neuron.tree[0].nonlinearity, neuron.theta_s)
        self._input = self._branch_input(reference.Q, self.kernel)

    def _branch_input(self, Q: float, kernel: PairKernel) -> BranchInput:
        return BranchInput(kernel.means[0], math.sqrt(self.v * Q + self._chi))

    def weights(self, at: Conjugates) -> WeightSide:
        """What weights with these conjugates have in common."""
        from dendrocap.theory._laws import coupled_averages, taught_averages

        own = self.reference
        root, other = math.sqrt(at.A_hat), math.sqrt(own.A_hat)
        if other > 0.0:
            field = (
                at.M_hat / root,
                at.t_hat / (math.sqrt(own.q_hat) * root),
                at.pull / (root * other),
                math.sqrt(max(at.rest, 0.0)) / root,  # negative on the way to a solution only
            )
            log_norm, mean, squared, variance, variance_squared, product, separate, _ = coupled_averages(
                own.M_hat / other, math.sqrt(own.q_hat) / other, field, True, self._rule
            ).tolist()
        else:  # without patterns the reference is exponentially distributed, and solutions share nothing beyond it
            rate = math.sqrt(NARROW * at.A_hat) / (at.pull * self.W_bar)
            log_norm, mean, squared, variance, variance_squared, product = taught_averages(
                at.M_hat / root, NARROW, rate, legendre_rule(NODES)
            )
            other, separate = 1.0 / self.W_bar, mean
        return WeightSide(
            term=log_norm - 0.5 * math.log(at.A_hat),
            mean=mean / root,
            Q=(squared + variance) / at.A_hat,
            dq=variance / at.A_hat,
            variance_squared=variance_squared / at.A_hat**2,
            S=product / (root * other),
            t=separate / (root * other),
        )

    def patterns(self, at: Overlaps) -> PatternSide:
        """What patterns ask of weights with these overlaps, per unit of load."""
        kernel = self._tree.at(at.Q, at.dq)
        mine = self._branch_input(at.Q, kernel)
        with_reference, with_others = (self._pair(mine, overlap) for overlap in (at.S, at.t))
        S_soma, t_soma = with_reference.covariance, with_others.covariance
        sd, sd_reference = math.sqrt(kernel.D1), math.sqrt(self.kernel.D1)
        beyond = (S_soma - t_soma) / sd_reference
        # What counted solutions share beyond the reference; by Bessel's inequality it is not negative.
        rest = max(kernel.D0 - t_soma**2 / self.kernel.D0 - beyond**2, 0.0)
        steepness = math.sqrt(self.kernel.D0) / sd_reference
        along = t_soma / math.sqrt(self.kernel.D0) - beyond * steepness
        averages, push = np.zeros(8), 0.0
        for sign, share in self._labels():
            centre = (sign * self.reference.mean_shift - self.reference.task.kappa) / sd_reference
            start = sign * at.mean_shift - self.task.kappa - beyond * centre
            found = self._averages(centre, steepness, (start, along, beyond, math.sqrt(rest)), sd)
            averages += share * found
            push += share * sign * float(found[1])
        term, _, squared, bend, bend_squared, product, separate, centred = averages.tolist()
        f1_squared, f2 = squared / kernel.D1, bend / kernel.D1
        # Labels of the reference change where it touches its margin [fp-S]; other references push on average [fp-t].
        along_S = (product - centred - beyond / sd * bend) / (sd * sd_reference)
        along_t = -(separate - centred) / (sd * sd_reference)
        d_mean = self._branch.response(self.v * at.Q + self._chi).d_mean
        S_Q, t_Q = (self.v * (0.5 * pair.curvature + d_mean * pair.cross) for pair in (with_reference, with_others))
        return PatternSide(
            term=term,
            push=push / sd,
            A_hat=-(f2 * kernel.dGamma0_dQ + f1_squared * kernel.dD1_dQ) - 2.0 * (along_S * S_Q + along_t * t_Q),
            q_hat=f1_squared * kernel.dD1_ddq,
            S_hat=along_S * self.v * with_reference.slopes,
            t_hat=-along_t * self.v * with_others.slopes,
            gamma_E=(kernel.dD1_ddq / kernel.D1) ** 2 * bend_squared + kernel.d2D0_dq2 * f1_squared,
        )

    def ball(self, distance: float, start: Floats | None = None) -> tuple[float, float, WeightSide, Floats]:
        """Entropy of all weights at a distance that have the prescribed mean, the coupling, and the weights [fp-ball].

        It is what the local entropy is compared with, and the local entropy itself at load 0.
        """
        W, squared = self.W_bar, distance * self.reference.Q
        if distance >= 1.0:
            # Beyond the distance of random weights a single weight can make up the rest at no cost [zero-load].
            log_W = math.log(W)
            return 1.0 + log_W, 0.0, WeightSide(log_W, W, 2.0 * W**2, W**2, W**2, W**2, W**4), np.empty(0)

        def weights(x: Floats) -> WeightSide:
            coupling = math.exp(x[0])
            return self.weights(Conjugates(coupling, 0.0, coupling, 0.0, float(x[1])))

        def residuals(x: Floats) -> Floats:
            found = weights(x)
            away = found.Q + self.reference.Q - 2.0 * found.S
            return np.array([(found.mean / W - 1.0) / math.sqrt(distance), math.log(away / squared)])

        starts = [np.array([-math.log(squared), field]) for field in (-1.0 / W, 0.0)]
        for x in starts if start is None else [start, *starts]:
            solved = newton(residuals, x, target=1e-12)
            if solved.residual < BALL_ACCEPTED:
                coupling, found = math.exp(solved.x[0]), weights(solved.x)
                entropy = found.term - float(solved.x[1]) * W + 0.5 * coupling * (squared - self.reference.Q)
                return entropy, coupling, found, solved.x
        raise ConvergenceError(f"no ball of squared radius {distance:g} was found", solved)

    def _labels(self) -> list[tuple[float, float]]:
        """Signs of labels and their shares; one is enough where both look the same."""
        if self.task.f_out == 0.5:
            return [(1.0, 1.0)]
        return [(1.0, self.task.f_out), (-1.0, 1.0 - self.task.f_out)]

    def _averages(self, centre: float, steepness: float, field: tuple[float, ...], sd: float) -> Floats:
        from dendrocap.theory._laws import coupled_averages

        a0, a, b, c = (one / sd for one in field)
        return np.asarray(coupled_averages(centre, steepness, (a0, a, b, c), False, self._rule))

    def _pair(self, mine: BranchInput, overlap: float) -> MixedPair:
        if not overlap > 0.0:
            raise ConvergenceError("solutions of one task cannot have a negative overlap", overlap)
        return mixed_pair(self._branch, mine, self._branch, self._input, self.v * overlap + self._chi)

    def entropy(self, alpha: float, overlaps: Overlaps, conjugates: Conjugates) -> float:
        """The potential at any order parameters; its stationary point is the local entropy [fp-potential]."""
        return self.value(alpha, conjugates, overlaps, self.weights(conjugates), self.patterns(overlaps))

    def value(
        self, alpha: float, conjugates: Conjugates, overlaps: Overlaps, weights: WeightSide, patterns: PatternSide
    ) -> float:
        """The same, where both sides are known."""
        q_hat = conjugates.rest + conjugates.t_hat**2 / self.reference.q_hat
        return (
            0.5 * (overlaps.Q * conjugates.A_hat - overlaps.dq * q_hat)
            - (conjugates.pull + conjugates.t_hat) * overlaps.S
            + conjugates.t_hat * overlaps.t
            - self.W_bar * conjugates.M_hat
            + weights.term
            + alpha * patterns.term
        )


# The curve of local entropies around one reference, followed from its two ends.
#
# Where solutions are most numerous they know nothing of the reference beyond the patterns, and everything is known
# from the saddle point. Close to the reference the field that holds them there is stronger than the patterns, and what
# these ask for can be computed from overlaps that are known. Unknowns are the conjugates of the solutions counted, in
# units that change evenly with the logarithm of the distance. The weights they describe have overlaps, the patterns
# ask for conjugates at these overlaps, and both must agree up to the coupling gamma, which enters A_hat and S_hat
# alike [fp-coupling].

CLOSEST = 1e-5  # smallest distance; below it differences of overlaps run out of digits

COARSE, FINE = 6, 9  # nodes per panel while the curve is followed, and for the numbers that are returned

FIRST, STRIDE, SHORTEST = 0.1, 0.5, 2e-3  # steps of the logarithm of the distance

NEAR = 0.02  # largest distance that is reached without following

AT_MAXIMUM = 1e-7  # relative distance from the maximum below which the maximum is taken

ACCEPTED = 1e-8  # largest mismatch of the equations


class LocalPoint(NamedTuple):
    """Solutions at one distance, in the order and meaning of `LocalEntropy`."""

    entropy: float
    ball_entropy: float
    coupling: float
    stability: float
    Q: float
    q: float
    S: float
    t: float
    residual: float


class _State(NamedTuple):
    """Both sides of the equations for given unknowns."""

    conjugates: Conjugates
    overlaps: Overlaps
    weights: WeightSide
    patterns: PatternSide


class LocalCurve:
    """Local entropies around a typical solution, as in `local_entropy`; what was found is kept for other distances."""

    def __init__(
        self, neuron: NeuronSpec, task: TaskSpec | None, alpha: float, reference_kappa: float | None = None
    ) -> None:
        task = scope.check("local_entropy", neuron, task)
        self.neuron, self.task, self.alpha = neuron, task, real_number("alpha", alpha, 0.0)
        real_number("theta_d", neuron.tree[0].theta, 0.0, low_open=True)
        kappa = task.kappa if reference_kappa is None else real_number("reference_kappa", reference_kappa, 0.0)
        own = TaskSpec(task.f_in, task.f_out, kappa, task.branch_correlation)
        self.W_bar = neuron.tree[0].theta / task.f_in
        self.typical = saddle_point(neuron, task, alpha=self.alpha)
        self.reference: SaddlePoint = self.typical if own == task else saddle_point(neuron, own, alpha=self.alpha)
        self._coarse, self._fine = (FranzParisi(self.reference, task, nodes) for nodes in (COARSE, FINE))
        self._ball: Floats | None = None  # the unknowns of the last one
        self._shifted = task.f_out != 0.5
        self._places: list[Place] = []
        self._jacobian: Floats | None = None
        self._entered = False  # whether a place close to the reference was looked for
        overlap = self.W_bar**2
        if self.alpha > 0.0:
            self._maximum = self._decoupled()
            overlap = self._maximum.weights.S
        self.typical_distance = (self.typical.Q + self.reference.Q - 2.0 * overlap) / self.reference.Q
        self.stable = min(self.typical.stability, self.reference.stability) > 0.0
        if self.alpha > 0.0 and self.stable:  # next to an unstable maximum there may be no other solution
            start = self._unknowns(self._maximum.conjugates, self._maximum.overlaps.mean_shift)
            self._places.append(Place(math.log(self.typical_distance), start))
        self._from_maximum = bool(self._places)

    def at(self, distance: float) -> LocalPoint:
        """The local entropy at one distance."""
        if distance > self.typical_distance * (1.0 + AT_MAXIMUM):
            raise NoSolution(
                f"distance = {distance:g} is larger than {self.typical_distance:.8g}, the typical distance of "
                "solutions from the reference at this load: beyond it are fewer again, which is not computed"
            )
        ball_entropy, coupling, ball, x = self._fine.ball(distance, self._ball)
        self._ball = x if x.size else None
        if self.alpha == 0.0:
            mean_squared = ball.Q - ball.dq
            return LocalPoint(
                ball_entropy, ball_entropy, coupling, 1.0, ball.Q, mean_squared, ball.S, self.W_bar**2, 0.0
            )
        state, residual = self._maximum, 0.0
        if distance <= self.typical_distance * (1.0 - AT_MAXIMUM):
            solved = self._solve(self._fine, self._followed(math.log(distance)), math.log(distance))
            if not solved.residual < ACCEPTED:
                raise self._lost(distance)
            state, residual = self._state(self._fine, solved.x), solved.residual
        weights, patterns = state.weights, state.patterns
        return LocalPoint(
            entropy=self._fine.value(self.alpha, state.conjugates, state.overlaps, weights, patterns),
            ball_entropy=ball_entropy,
            coupling=state.conjugates.A_hat - self.alpha * patterns.A_hat,
            stability=1.0 - self.alpha * weights.variance_squared * patterns.gamma_E,
            Q=weights.Q,
            q=weights.Q - weights.dq,
            S=weights.S,
            t=weights.t,
            residual=residual,
        )

    # Unknowns -------------------------------------------------------------------------------------------------------

    def _unknowns(self, at: Conjugates, mean_shift: float) -> Floats:
        """ln A, and the others in powers of A that make them even: rest, pull - A, t_hat, M_hat (W_bar = 1)."""
        W, scale = self.W_bar, math.sqrt(self._coarse.kernel.D0)
        A = at.A_hat * W**2
        root = math.sqrt(A)
        x = [
            math.log(A),
            at.rest * W**2 / root,
            (at.pull * W**2 - A) / root,
            at.t_hat * W**2 / root,
            at.M_hat * W / root,
        ]
        return np.array([*x, mean_shift / scale] if self._shifted else x)

    def _conjugates(self, x: Floats) -> tuple[Conjugates, float]:
        W, A = self.W_bar, math.exp(x[0])
        root = math.sqrt(A)
        mean_shift = float(x[5]) * math.sqrt(self._coarse.kernel.D0) if self._shifted else 0.0
        return Conjugates(
            A_hat=A / W**2,
            rest=float(x[1]) * root / W**2,
            pull=(A + root * float(x[2])) / W**2,
            t_hat=root * float(x[3]) / W**2,
            M_hat=root * float(x[4]) / W,
        ), mean_shift

    def _state(self, potential: FranzParisi, x: Floats) -> _State:
        return self._sides(potential, *self._conjugates(x))

    def _sides(self, potential: FranzParisi, conjugates: Conjugates, mean_shift: float) -> _State:
        weights = potential.weights(conjugates)
        overlaps = Overlaps(weights.Q, weights.dq, weights.S, weights.t, mean_shift)
        return _State(conjugates, overlaps, weights, potential.patterns(overlaps))

    def _residuals(self, potential: FranzParisi, log_distance: float, x: Floats) -> Floats:
        """Mean weight, distance, and what weights and patterns say of rest, t_hat, coupling and mean shift."""
        conjugates, _, weights, patterns = self._state(potential, x)
        distance = math.exp(log_distance)
        found = (weights.Q + self.reference.Q - 2.0 * weights.S) / self.reference.Q
        A_hat, q_hat, S_hat, t_hat = (
            self.alpha * one for one in (patterns.A_hat, patterns.q_hat, patterns.S_hat, patterns.t_hat)
        )
        from_norm = conjugates.A_hat - A_hat
        from_overlap = conjugates.pull + conjugates.t_hat - S_hat
        result = [
            (weights.mean / self.W_bar - 1.0) / math.sqrt(distance),
            found / distance - 1.0,
            (q_hat - t_hat**2 / self.reference.q_hat - conjugates.rest) / conjugates.A_hat,
            (t_hat - conjugates.t_hat) / math.sqrt(self.reference.q_hat * conjugates.A_hat),
            (from_norm - from_overlap) / conjugates.A_hat,
        ]
        return np.array([*result, patterns.push] if self._shifted else result)

    # Following ------------------------------------------------------------------------------------------------------

    def _decoupled(self) -> _State:
        """The maximum: typical solutions, which see the reference through the patterns alone, S = t."""
        own, other = self.typical, self.reference
        t_hat = other.q_hat
        if own is not other:

            def at(t_hat: float) -> Conjugates:
                return Conjugates(own.A_hat, max(own.q_hat - t_hat**2 / other.q_hat, 0.0), 0.0, t_hat, own.M_hat)

            def excess(t_hat: float) -> float:
                state = self._sides(self._fine, at(t_hat), own.mean_shift)
                return self.alpha * state.patterns.t_hat / t_hat - 1.0

            most = math.sqrt(own.q_hat * other.q_hat)
            t_hat = bracketed_root(excess, 0.01 * most, most).at
        rest = max(own.q_hat - t_hat**2 / other.q_hat, 0.0)
        return self._sides(self._fine, Conjugates(own.A_hat, rest, 0.0, t_hat, own.M_hat), own.mean_shift)

    def _solve(self, potential: FranzParisi, x: Floats, log_distance: float) -> Solved:
        return newton(
            partial(self._residuals, potential, log_distance), x, jacobian=self._jacobian, target=0.1 * ACCEPTED
        )

    def _followed(self, log_distance: float) -> Floats:
        """Unknowns at a distance, followed from the nearest place known."""
        if not self._entered and all(abs(place.at - log_distance) > STRIDE for place in self._places):
            self._enter(log_distance)
        while True:
            known = sorted(self._places, key=lambda place: abs(place.at - log_distance))
            slope: Floats | float = 0.0
            if len(known) > 1:
                slope = (known[0].x - known[1].x) / (known[0].at - known[1].at)
            way = followed(
                lambda at: partial(self._residuals, self._coarse, at),
                known[0].x,
                known[0].at,
                log_distance,
                slope=slope,
                jacobian=known[0].jacobian,
                target=0.1 * ACCEPTED,
                on_the_way=0.1 * ACCEPTED,
                first=STRIDE if len(known) > 1 else FIRST,  # a straight line from a single place is short
                longest=STRIDE,
                shortest=SHORTEST,
            )
            self._places += list(way)[1:]
            last = self._places[-1] if known[0].at != log_distance else known[0]
            if last.at == log_distance:
                self._jacobian = last.jacobian
                return last.x
            if not self._from_maximum:
                raise self._lost(math.exp(last.at))
            # At small loads the maximum is too flat to leave it.
            self._from_maximum = False
            del self._places[0]
            if not self._places:
                self._enter(log_distance)

    def _enter(self, log_distance: float) -> None:
        """A place close to the reference, at the distance wanted if that is small; closer if none is found there."""
        near, self._entered = min(log_distance, math.log(NEAR)), True
        while near > math.log(CLOSEST):
            self._jacobian = None
            solved = self._solve(self._coarse, self._close_by(math.exp(near)), near)
            if solved.residual < ACCEPTED:
                self._places.append(Place(near, *solved))
                return
            near -= 1.0
        if not self._places:
            raise self._lost(math.exp(near))

    def _close_by(self, distance: float) -> Floats:
        """A guess for small distances: weights that a coupling 1 / D scatters around the reference, D per synapse."""
        own, squared = self.reference, distance * self.reference.Q
        patterns = self._coarse.patterns(Overlaps(own.Q, squared, own.Q - 0.5 * squared, own.q, own.mean_shift))
        A_hat, q_hat, S_hat, t_hat = (
            self.alpha * one for one in (patterns.A_hat, patterns.q_hat, patterns.S_hat, patterns.t_hat)
        )
        coupling = max(1.0 / squared - A_hat, 0.5 / squared)
        rest = max(q_hat - t_hat**2 / own.q_hat, 0.0)
        at = Conjugates(A_hat + coupling, rest, S_hat + coupling - t_hat, t_hat, 0.5 * own.M_hat)
        return self._unknowns(at, own.mean_shift)

    def _lost(self, distance: float) -> ConvergenceError:
        unstable = f"replica symmetry is unstable at alpha = {self.alpha:g}, see stability_limit; try smaller distances"
        why = "the curve could not be followed" if self.stable else unstable
        return ConvergenceError(f"no solutions were found at distance = {distance:.6g}: {why}", distance)


DEFAULT_POINTS, DEFAULT_CLOSEST = 24, 0.02  # of the curve if no distance is given, in units of the typical distance


@dataclass(frozen=True)
class LocalEntropy(Displayed):
    """Solutions around a typical one, by their distance from it.

    Attributes
    ----------
    distance : array
        Squared distance from the reference, ``|W - W_ref|^2 / |W_ref|^2``, in the order asked for.
    entropy : array
        Logarithm of the volume of solutions at this distance, per synapse.
    ball_entropy : array
        The same of all weights with the prescribed means, whether they solve the task or not.
    log_fraction : array
        ``entropy - ball_entropy``: logarithm of the share of solutions among those weights, per synapse. It does not
        depend on the unit of weights, so that neurons can be compared by it.
    coupling : array
        gamma = 2 d entropy / d (squared distance per synapse), the field that holds solutions at this distance.
    stability : array
        The replicon of the solutions counted: negative where replica symmetry is broken.
    physical : array of bool
        Whether replica symmetry is stable, for the reference and the solutions counted. Where it is not, numbers are
        rough, and may even exceed ``typical_entropy``, which is impossible.
    Q, q, S, t : array
        Mean squared weight, overlap of two solutions at this distance, with the reference, and with other solutions of
        the reference's kind.
    typical_distance, typical_entropy : float
        Where the entropy is largest, and its value there: the free entropy of all solutions.
    residual : float
        Largest relative mismatch of the equations.
    alpha : float
        Patterns per synapse.
    reference : SaddlePoint
        Of whose typical solutions one is the reference.
    neuron, task
        The inputs; solutions that are counted have the margin ``task.kappa``.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky, local_entropy
    >>> found = local_entropy(NeuronSpec(Polsky(), 0.5, 0.5), alpha=0.5, distance=[0.1, 0.2])
    >>> found.log_fraction.round(4).tolist(), found.estimate
    ([-0.1872, -0.2617], 'replica symmetric')
    """

    _displayed = ("alpha", "typical_distance", "typical_entropy", "estimate", "residual")

    distance: Floats
    entropy: Floats
    ball_entropy: Floats
    coupling: Floats
    stability: Floats
    Q: Floats
    q: Floats
    S: Floats
    t: Floats
    typical_distance: float
    typical_entropy: float
    residual: float
    alpha: float
    reference: SaddlePoint
    neuron: NeuronSpec
    task: TaskSpec

    @property
    def log_fraction(self) -> Floats:
        """Logarithm of the share of solutions among all weights at the same distance, per synapse."""
        return self.entropy - self.ball_entropy

    @property
    def physical(self) -> NDArray[np.bool_]:
        """Where replica symmetry is stable."""
        return (self.stability > 0.0) & (self.reference.stability > 0.0)

    @property
    def estimate(self) -> str:
        """What this estimate is called, and where it is not stable."""
        unstable = int(np.count_nonzero(~self.physical))
        return f"{SYMMETRIC}, unstable at {unstable} of {self.physical.size} distances" if unstable else SYMMETRIC


def local_entropy(
    neuron: NeuronSpec,
    task: TaskSpec | None = None,
    *,
    alpha: float,
    distance: ArrayLike | None = None,
    reference_kappa: float | None = None,
) -> LocalEntropy:
    """Entropy of the solutions at a distance from a typical solution: the Franz-Parisi potential.

    Parameters
    ----------
    neuron : NeuronSpec
        With one level of equal branches and a g that never falls.
    task : TaskSpec, optional
        Coding levels and margin; 1/2, 1/2 and 0 if not given.
    alpha : float
        Patterns per synapse, from 0 up to the capacity.
    distance : float or sequence of float, optional
        Squared distances relative to the squared norm of the reference, from 1e-5 up to the typical distance. Two dozen
        of them, evenly spaced in the logarithm, if not given.
    reference_kappa : float, optional
        Margin of the reference, a typical solution of the task with this margin; ``task.kappa`` if not given.

    Raises
    ------
    NoSolution
        If ``alpha`` is not below the capacity of the task or of the reference's, or a distance is larger than the
        typical one.
    ConvergenceError
        Where the equations have no solution that could be found; where replica symmetry is unstable there may be none.

    Notes
    -----
    Solves [fp-weights] and [fp-patterns], stationary points of [fp-potential]. Replica symmetric: above the load of
    `stability_limit` it is an approximation, and ``stability`` shows at which distances.

    Examples
    --------
    >>> from dendrocap import Linear
    >>> linear = NeuronSpec(Linear(), theta_d=0.5, theta_s=0.5)
    >>> found = local_entropy(linear, alpha=0.5, distance=[0.1, 0.2])
    >>> found.log_fraction.round(4).tolist()
    [-0.2361, -0.3452]
    >>> wide = local_entropy(linear, alpha=0.5, distance=[0.1, 0.2], reference_kappa=0.3)  # a solution with a margin
    >>> bool((wide.log_fraction > found.log_fraction).all())
    True
    """
    return on_curve(LocalCurve(neuron, task, alpha, reference_kappa), distance)


def on_curve(curve: LocalCurve, distance: ArrayLike | None = None) -> LocalEntropy:
    """The local entropy at some distances on a curve that is known."""
    if distance is None:
        asked = curve.typical_distance * np.geomspace(DEFAULT_CLOSEST, 1.0, DEFAULT_POINTS)
    else:
        asked = np.array(
            [real_number("distance", one, CLOSEST) for one in np.atleast_1d(np.asarray(distance)).tolist()]
        )
    found = np.empty((asked.size, len(LocalPoint._fields)))
    for i in np.argsort(-asked, kind="stable"):  # inwards, each from the one before
        found[i] = curve.at(float(asked[i]))
    columns = dict(zip(LocalPoint._fields, found.T, strict=True))
    residual = float(np.max(columns.pop("residual")))
    return LocalEntropy(
        distance=asked,
        **columns,
        typical_distance=curve.typical_distance,
        typical_entropy=curve.typical.free_entropy,
        residual=residual,
        alpha=curve.alpha,
        reference=curve.reference,
        neuron=curve.neuron,
        task=curve.task,
    )
