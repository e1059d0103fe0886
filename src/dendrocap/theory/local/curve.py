"""The curve of local entropies around one reference, followed from its two ends.

Where solutions are most numerous they know nothing of the reference beyond the patterns, and everything is known from
the saddle point. Close to the reference the field that holds them there is stronger than the patterns, and what these
ask for can be computed from overlaps that are known. Unknowns are the conjugates of the solutions counted, in units
that change evenly with the logarithm of the distance. The weights they describe have overlaps, the patterns ask for
conjugates at these overlaps, and both must agree up to the coupling gamma, which enters A_hat and S_hat alike
[fp-coupling].
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model.neuron import NeuronSpec, TaskSpec
from dendrocap.theory.constraint_curve import needs_constraint_curve
from dendrocap.theory.local.ball import Ball
from dendrocap.theory.local.franz_parisi import Conjugates, FranzParisi, Overlaps, PatternSide, WeightSide
from dendrocap.theory.newton import Solved, newton
from dendrocap.theory.roots import bracketed_root
from dendrocap.theory.saddle_point import SaddlePoint, saddle_point
from dendrocap.validation import real_number, refuse

__all__ = ["CLOSEST", "LocalCurve", "LocalPoint"]

Floats = NDArray[np.float64]

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


class _Place(NamedTuple):
    """A solution of the equations."""

    log_distance: float
    x: Floats


class LocalCurve:
    """Local entropies around a typical solution; what was found is kept for the next distance.

    Parameters
    ----------
    neuron, task, alpha, reference_kappa
        As in `local_entropy`.
    """

    def __init__(self, neuron: NeuronSpec, task: TaskSpec, alpha: float, reference_kappa: float | None = None) -> None:
        self.neuron, self.task, self.alpha = neuron, task, real_number("alpha", alpha, 0.0)
        _check(neuron, task)
        kappa = task.kappa if reference_kappa is None else real_number("reference_kappa", reference_kappa, 0.0)
        own = TaskSpec(task.f_in, task.f_out, kappa, task.branch_correlation)
        self.W_bar = neuron.tree[0].theta / task.f_in
        self.typical = saddle_point(neuron, task, alpha=self.alpha)
        self.reference: SaddlePoint = self.typical if own == task else saddle_point(neuron, own, alpha=self.alpha)
        self._ball = Ball(self.reference)
        self._shifted = task.f_out != 0.5
        overlap = self.W_bar**2
        self._places: list[_Place] = []
        self._jacobian: Floats | None = None
        self._entered = False  # whether a place close to the reference was looked for
        if self.alpha > 0.0:
            self._coarse, self._fine = (FranzParisi(self.reference, task, nodes) for nodes in (COARSE, FINE))
            self._maximum = self._decoupled()
            overlap = self._maximum.weights.S
        self.typical_distance = (self.typical.Q + self.reference.Q - 2.0 * overlap) / self.reference.Q
        self.stable = min(self.typical.stability, self.reference.stability) > 0.0
        if self.alpha > 0.0 and self.stable:  # next to an unstable maximum there may be no other solution
            start = self._unknowns(self._maximum.conjugates, self._maximum.overlaps.mean_shift)
            self._places.append(_Place(math.log(self.typical_distance), start))
        self._from_maximum = bool(self._places)

    def at(self, distance: float) -> LocalPoint:
        """The local entropy at one distance."""
        if distance > self.typical_distance * (1.0 + AT_MAXIMUM):
            raise NoSolution(
                f"distance = {distance:g} is larger than {self.typical_distance:.8g}, the typical distance of "
                "solutions from the reference at this load: beyond it are fewer again, which is not computed"
            )
        ball = self._ball.at(distance)
        if self.alpha == 0.0:
            return LocalPoint(
                ball.entropy, ball.entropy, ball.coupling, 1.0, ball.Q, ball.q, ball.S, self.W_bar**2, 0.0
            )
        if distance > self.typical_distance * (1.0 - AT_MAXIMUM):
            return self._described(distance, self._maximum, ball.entropy, 0.0)
        x = self._followed(math.log(distance))
        solved = self._solve(self._fine, x, math.log(distance))
        if not solved.residual < ACCEPTED:
            raise self._lost(distance)
        return self._described(distance, self._state(self._fine, solved.x), ball.entropy, solved.residual)

    def _described(self, distance: float, state: _State, ball_entropy: float, residual: float) -> LocalPoint:
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

    def _residuals(self, potential: FranzParisi, x: Floats, log_distance: float) -> Floats:
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

    def _add(self, log_distance: float, guess: Floats) -> bool:
        """Solve at a distance and remember it; whether that worked."""
        solved = self._solve(self._coarse, guess, log_distance)
        if not solved.residual < ACCEPTED:
            return False
        self._jacobian = solved.jacobian
        self._places.append(_Place(log_distance, solved.x))
        return True

    def _solve(self, potential: FranzParisi, x: Floats, log_distance: float) -> Solved:
        return newton(
            lambda at: self._residuals(potential, at, log_distance), x, jacobian=self._jacobian, target=0.1 * ACCEPTED
        )

    def _followed(self, log_distance: float) -> Floats:
        """Unknowns at a distance, from the nearest places known, in steps that shrink where they fail."""
        if not self._entered and all(abs(place.log_distance - log_distance) > STRIDE for place in self._places):
            self._enter(log_distance)
        stride = STRIDE
        while True:
            nearest = min(self._places, key=lambda place: abs(place.log_distance - log_distance))
            gap = log_distance - nearest.log_distance
            if gap == 0.0:
                return nearest.x
            # a straight line from a single place is too short for a full step
            stride = stride if len(self._places) > 1 else min(stride, FIRST)
            target = log_distance if abs(gap) <= stride else nearest.log_distance + math.copysign(stride, gap)
            if self._add(target, self._predicted(target)):
                stride = min(2.0 * stride, STRIDE)
                continue
            stride, self._jacobian = 0.5 * stride, None
            if stride < SHORTEST:
                if not self._from_maximum:
                    raise self._lost(math.exp(target))
                # At small loads the maximum is too flat to leave it.
                self._from_maximum = False
                del self._places[0]
                if not self._places:
                    self._enter(log_distance)
                stride = STRIDE

    def _enter(self, log_distance: float) -> None:
        """A place close to the reference, at the distance wanted if that is small; closer if none is found there."""
        near, self._entered = min(log_distance, math.log(NEAR)), True
        while near > math.log(CLOSEST):
            self._jacobian = None
            if self._add(near, self._close_by(math.exp(near))):
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

    def _predicted(self, log_distance: float) -> Floats:
        """A polynomial through the three nearest places."""
        known = sorted(self._places, key=lambda place: abs(place.log_distance - log_distance))[:3]
        guess = np.zeros_like(known[0].x)
        for place in known:
            others = [one.log_distance for one in known if one is not place]
            share = math.prod((log_distance - one) / (place.log_distance - one) for one in others)
            guess += share * place.x
        return guess

    def _lost(self, distance: float) -> ConvergenceError:
        unstable = f"replica symmetry is unstable at alpha = {self.alpha:g}, see stability_limit; try smaller distances"
        why = "the curve could not be followed" if self.stable else unstable
        return ConvergenceError(f"no solutions were found at distance = {distance:.6g}: {why}", distance)


def _check(neuron: NeuronSpec, task: TaskSpec) -> None:
    """Refuse what has not been derived."""
    real_number("theta_d", neuron.tree[0].theta, 0.0, low_open=True)
    if neuron.n_levels > 1:
        raise refuse("neuron.n_levels", neuron.n_levels, "1: the local entropy of deeper trees has not been derived")
    if needs_constraint_curve(neuron, task):
        raise refuse("neuron.nonlinearity", neuron.nonlinearity, "a function that never falls")
