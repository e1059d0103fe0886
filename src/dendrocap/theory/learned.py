"""Learned states: the weights that minimise the cross-entropy of all patterns, at any load.

At temperature zero the weights have the same form as at capacity, an atom at zero and half a Gaussian of shape B, and
each pattern responds to its field according to [proximal]. Two unknowns remain, B and chi, the compliance of the
weights; they make the loss

    L(Q, chi) = alpha E min_x [(x - t)^2 / (2 tau) + loss(x)] - C(Q) / (2 chi),   tau = Gamma_1 chi     [learned-loss]

stationary: a maximum in chi, a minimum in Q. There is one for a linear neuron, whose loss is convex; it is exact. For
other g the state is replica symmetric, with equal branches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError
from dendrocap.model import Linear, NeuronSpec, TaskSpec
from dendrocap.numerics._compiled import tail
from dendrocap.numerics.types import Floats
from dendrocap.theory import scope
from dendrocap.theory.dendrite import TreeResponse, check_capacity_inputs, tree_response
from dendrocap.theory.neuron_kernel import shape_at
from dendrocap.theory.patterns import MOST, CrossEntropy, Responses, responses
from dendrocap.theory.results import SYMMETRIC
from dendrocap.theory.solver import bracketed_root, monotone_root
from dendrocap.theory.weights import CapacityWeights, Preactivation
from dendrocap.validation import real_number

EXACT = "exact"

B_GRID = (-1.5, -0.5, 0.5, 1.25, 2.0)  # where the shape of the weights is looked for first

B_LIMITS = (-8.0, 30.0)

MOST_STEPS = 20  # of Newton's method

AROUND = np.array([-8.0, -4.0, -1.5, 0.0, 1.5, 4.0, 8.0])  # cuts around a step, in deviations


@dataclass(frozen=True)
class LearnedMargins(Displayed):
    """The distribution of margins sigma Delta over the patterns of a learned state [learned-margins].

    Parameters
    ----------
    gamma_ce, log_tau : float
        The loss, and ln of the distance by which it can push a pattern.
    sd : float
        Standard deviation of the fields before the push.
    means, shares : tuple of float
        Means and shares of the fields for the labels 1 and 0.

    Examples
    --------
    >>> import math
    >>> margins = LearnedMargins(gamma_ce=1.0, log_tau=math.log(2.0), sd=1.0, means=(0.0, 0.0), shares=(0.5, 0.5))
    >>> print(f"{margins.cdf(0.0):.4f} of the patterns are wrong")  # their field is below -tau / 2
    0.1587 of the patterns are wrong
    """

    _displayed = ("mean", "gamma_ce", "log_tau", "sd")

    gamma_ce: float
    log_tau: float
    sd: float
    means: tuple[float, float]
    shares: tuple[float, float]

    def pdf(self, margin: ArrayLike) -> Any:
        """Density of the margins."""
        x = np.asarray(margin, dtype=np.float64)
        loss = CrossEntropy(self.gamma_ce)
        push = loss.push(x, self.log_tau)
        field, stretch = x - push, 1.0 + loss.stiffness(x, push)
        normal = [np.exp(-0.5 * ((field - mean) / self.sd) ** 2) for mean in self.means]
        total = sum(share * one for share, one in zip(self.shares, normal, strict=True))
        return (stretch * total / (math.sqrt(2.0 * math.pi) * self.sd))[()]

    def cdf(self, margin: ArrayLike) -> Any:
        """Share of patterns with at most this margin."""
        from scipy.special import ndtr

        x = np.asarray(margin, dtype=np.float64)
        field = x - CrossEntropy(self.gamma_ce).push(x, self.log_tau)
        total = sum(s * ndtr((field - mean) / self.sd) for s, mean in zip(self.shares, self.means, strict=True))
        return np.asarray(total)[()]

    def mean(self) -> float:
        """Mean margin."""
        return sum(share * float(each.weight @ each.margin) for share, each in self._responses())

    def mean_loss(self) -> float:
        """Mean loss of a pattern."""
        loss = CrossEntropy(self.gamma_ce)
        return sum(share * float(each.weight @ loss.value(each.margin)) for share, each in self._responses())

    def _responses(self) -> list[tuple[float, Responses]]:
        loss = CrossEntropy(self.gamma_ce)
        pairs = zip(self.shares, self.means, strict=True)
        return [(share, responses(loss, self.log_tau, mean, self.sd)) for share, mean in pairs]


@dataclass(frozen=True)
class LearnedState(Displayed):
    """The state of minimal cross-entropy.

    Attributes
    ----------
    alpha, gamma_ce : float
        Load, and steepness of the loss.
    training_error, loss : float
        Fraction of patterns wrong, and cross-entropy per pattern as defined by `cross_entropy`.
    silent_fraction, B, W_star, W_bar, Q : float
        Properties of the weights, as in `CapacitySolution`.
    log_tau : float
        ln of tau = Gamma_1 chi: the displacement of a pattern by a unit force.
    estimate : str
        "exact" for a linear neuron, otherwise "replica symmetric": equal branches, symmetry unbroken.
    mean_shift, Gamma0, Gamma1 : float
        Mean and variance of the somatic input, and gain of a small difference of weights.
    preactivation_mean, preactivation_sd : float
        Parameters of a branch's summed input.
    residual : float
        Relative mismatch of the equation for the norm.
    neuron, task
        The inputs.

    Examples
    --------
    >>> from dendrocap import Linear, NeuronSpec, learned_state, noise_error
    >>> state = learned_state(NeuronSpec(Linear(), theta_d=0.5, theta_s=0.5), alpha=2.0, gamma_ce=1.0)
    >>> print(f"{state.training_error:.3f} wrong, {state.silent_fraction:.2f} silent, {state.estimate}")
    0.281 wrong, 0.48 silent, exact
    >>> noise_error(state) == state.training_error
    True
    """

    _displayed = ("alpha", "gamma_ce", "training_error", "loss", "silent_fraction", "estimate", "Q", "residual")

    alpha: float
    gamma_ce: float
    training_error: float
    loss: float
    silent_fraction: float
    B: float
    W_star: float
    W_bar: float
    Q: float
    log_tau: float
    estimate: str
    mean_shift: float
    Gamma0: float
    Gamma1: float
    preactivation_mean: float
    preactivation_sd: float
    residual: float
    neuron: NeuronSpec
    task: TaskSpec

    @property
    def weights(self) -> CapacityWeights:
        """The distribution of weights."""
        return CapacityWeights(self.B, self.W_star)

    @property
    def preactivation(self) -> Preactivation:
        """The distribution of a branch's summed input."""
        return Preactivation(self.preactivation_mean, self.preactivation_sd)

    @property
    def margins(self) -> LearnedMargins:
        """The distribution of margins over patterns."""
        f_out, shift = self.task.f_out, self.mean_shift
        spread = math.sqrt(self.Gamma0)
        return LearnedMargins(self.gamma_ce, self.log_tau, spread, (shift, -shift), (f_out, 1.0 - f_out))

    def somatic_inputs(
        self, sign: float, offset: float, along: float, across: float, sd: float
    ) -> tuple[Floats, Floats, Floats]:
        """Patterns of a label, as far as noise is concerned: fields, pushes and weights."""
        loss, log_tau, mean = CrossEntropy(self.gamma_ce), self.log_tau, sign * self.mean_shift
        spread = math.sqrt(self.Gamma0)
        # The noisy mean rises with the margin; roughly where it passes multiples of sd, panels end.
        top = mean + 9.0 * spread + loss.farthest(log_tau)
        x = np.sort(np.concatenate([np.linspace(mean - 9.0 * spread, top, 200), loss.bends(log_tau)]))
        field = x - loss.push(x, log_tau) - mean
        cuts = np.interp(AROUND * sd, offset + along * field + across * (x - mean - field), x)
        found = responses(loss, log_tau, mean, spread, cuts)
        return found.field - mean, found.push, found.weight


def learned_state(neuron: NeuronSpec, task: TaskSpec | None = None, *, alpha: float, gamma_ce: float) -> LearnedState:
    """The state that training by the cross-entropy approaches, below and above capacity.

    Parameters
    ----------
    neuron : NeuronSpec
        A neuron with one level of equal branches, and a g without jumps. The mean weight stays ``theta_d / f_in``.
    task : TaskSpec, optional
        Coding levels; the margin must be 0, because the loss has none.
    alpha : float
        Patterns per synapse.
    gamma_ce : float
        Steepness of the cross-entropy, as in `SGD`.

    Returns
    -------
    LearnedState
        Errors, loss, margins and weights; it can be passed to `noise_error`.

    Notes
    -----
    Solves [learned-C] and [learned-A]. Exact for a linear neuron; for others a replica-symmetric estimate with equal
    branches, which training may improve on with unequal branches.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, ReLU, TaskSpec
    >>> relu = NeuronSpec(ReLU(), theta_d=0.5, theta_s=0.5)
    >>> learned_state(relu, TaskSpec(), alpha=0.5, gamma_ce=3.0).training_error < 1e-4
    True
    """
    task = scope.check("learned_state", neuron, task)
    alpha = real_number("alpha", alpha, 0.0, low_open=True)
    gamma_ce = real_number("gamma_ce", gamma_ce, 0.0, low_open=True)
    check_capacity_inputs(neuron)
    problem = _Problem(neuron, task, alpha, CrossEntropy(gamma_ce))
    best = min(problem.minima(), key=lambda point: point.loss)
    return problem.described(best)


class _Point(NamedTuple):
    """The state of the equations at one B, with the best chi."""

    B: float
    Q: float
    C: float
    tree: TreeResponse
    log_tau: float
    shift: float
    slope: float  # derivative of the loss in Q, relative to its parts
    loss: float  # per pattern


class _Problem:
    """The equations of one neuron, task, load and loss."""

    def __init__(self, neuron: NeuronSpec, task: TaskSpec, alpha: float, loss: CrossEntropy) -> None:
        self.neuron, self.task, self.alpha, self.loss = neuron, task, alpha, loss
        self.W_bar = neuron.tree[0].theta / task.f_in
        self._means: tuple[float, ...] | None = None
        self._relative = (0.0, 0.0)  # ln tau and shift of the last point, in units of sqrt(Gamma_0)

    def minima(self) -> list[_Point]:
        """All minima of the loss along the norm of the weights."""
        points = [self.point(B) for B in B_GRID]
        while points[0].slope > 0.0 and B_LIMITS[0] < points[0].B:
            points.insert(0, self.point(points[0].B - 1.0))
        while points[-1].slope < 0.0 and B_LIMITS[1] > points[-1].B:
            points.append(self.point(points[-1].B + 1.0))
        brackets = [(a.B, b.B) for a, b in pairwise(points) if a.slope <= 0.0 < b.slope]
        if not brackets:
            raise ConvergenceError(f"the loss of {self.neuron} has no minimum along the norm of the weights", points)
        return [
            self.point(bracketed_root(lambda B: self.point(B).slope, low, high, xtol=1e-11).at)
            for low, high in brackets
        ]

    def point(self, B: float) -> _Point:
        """All quantities at one B."""
        shape = shape_at(B)
        Q, C = self.W_bar**2 * shape.Q, self.W_bar**2 * shape.C
        tree = tree_response(self.neuron, self.task, Q, self._means)
        self._means = tree.means
        sd = math.sqrt(tree.Gamma0)
        target = C * tree.Gamma1 / self.alpha

        log_tau, shift = self.settled(sd, target)
        self._relative = (log_tau - math.log(sd), shift / sd)
        bend = loss = 0.0
        for share, _, each in self.patterns(log_tau, shift, sd):
            bend += share * each.averages().bend
            loss += share * float(each.weight @ self.loss.value(each.margin))
        # [learned-A] is twice the derivative of [learned-loss] along Q; here it is multiplied by chi.
        parts = (self.alpha * tree.dGamma0 / tree.Gamma1 * bend, -C * tree.dGamma1 / tree.Gamma1, -shape.A)
        slope = sum(parts) / sum(abs(part) for part in parts)
        return _Point(B, Q, C, tree, log_tau, shift, slope, loss)

    def settled(self, sd: float, target: float) -> tuple[float, float]:
        """ln tau and the mean shift: E push^2 has the value wanted [learned-C], and labels balance [learned-shift]."""
        log_tau, shift = self._relative[0] + math.log(sd), self._relative[1] * sd
        if self.task.f_out == 0.5:
            return self.log_tau(log_tau, lambda _: 0.0, sd, target), 0.0

        together = self.together(log_tau, shift, sd, target)
        if together is not None:
            return together
        # One after the other, each of which is monotone.
        balanced = [shift]

        def balance_at(log_tau: float) -> float:
            balanced.append(self.balanced(log_tau, balanced[-1], sd))
            return balanced[-1]

        log_tau = self.log_tau(log_tau, balance_at, sd, target)
        return log_tau, balance_at(log_tau)

    def together(self, log_tau: float, shift: float, sd: float, target: float) -> tuple[float, float] | None:
        """Both by Newton's method from a point nearby; None if it does not get there."""
        for _ in range(MOST_STEPS):
            square = balance = square_tau = square_shift = balance_tau = balance_shift = 0.0
            for share, sign, each in self.patterns(log_tau, shift, sd):
                found = each.averages()
                square += share * found.square
                balance += sign * share * found.push
                # At a given field the push changes by push / (1 + stiffness) with ln tau; with the field it gives way.
                square_tau += share * 2.0 * found.given_square
                balance_tau += sign * share * found.given
                square_shift -= sign * share * 2.0 * found.bend_push
                balance_shift -= share * found.bend
            excess = square * math.log(square / target) if square > 0.0 else math.nan
            determinant = square_tau * balance_shift - square_shift * balance_tau
            if not (math.isfinite(excess) and determinant < 0.0):
                return None
            by_tau = (square_shift * balance - balance_shift * excess) / determinant
            by_shift = (balance_tau * excess - square_tau * balance) / determinant
            # Steep losses have a large ln tau, on which all depends slowly.
            part = min(1.0, 1.0 / max(abs(by_tau) / (1.0 + 0.5 * abs(log_tau)), abs(by_shift) / sd, 1e-300))
            log_tau, shift = log_tau + part * by_tau, shift + part * by_shift
            if max(abs(by_tau), abs(by_shift) / sd) < 1e-8:  # leaves an error of 1e-16
                return log_tau, shift
        return None

    def log_tau(self, guess: float, shift_at: Callable[[float], float], sd: float, target: float) -> float:
        """[learned-C] E push^2 = C Gamma_1 / alpha; the push of a pattern grows with tau."""

        def excess(log_tau: float) -> tuple[float, float]:
            square = growth = 0.0
            for share, _, each in self.patterns(log_tau, shift_at(log_tau), sd):
                found = each.averages()
                square += share * found.square
                growth += share * 2.0 * found.given_square
            return math.log(square / target), growth / square

        return monotone_root(excess, guess, 0.5).at

    def balanced(self, log_tau: float, guess: float, sd: float) -> float:
        """The mean shift at which both labels are pushed alike [learned-shift]."""

        def imbalance(shift: float) -> tuple[float, float]:
            value = slope = 0.0
            for share, sign, each in self.patterns(log_tau, shift, sd):
                found = each.averages()
                value += sign * share * found.push
                slope -= share * found.bend
            return value, slope

        return monotone_root(imbalance, guess, sd).at

    def patterns(self, log_tau: float, shift: float, sd: float) -> list[tuple[float, float, Responses]]:
        """Labels with their shares and signs; one stands for both where they are alike."""
        f_out = self.task.f_out
        labels = [(1.0, 1.0)] if f_out == 0.5 else [(f_out, 1.0), (1.0 - f_out, -1.0)]
        return [(share, sign, responses(self.loss, log_tau, sign * shift, sd)) for share, sign in labels]

    def described(self, point: _Point) -> LearnedState:
        """The public result."""
        tree = point.tree
        A = tail(point.B)[0]
        sd, f_out = math.sqrt(tree.Gamma0), self.task.f_out
        # A pattern is wrong if its field is below -tau / 2, where the push leaves it at zero.
        tau = math.exp(min(point.log_tau, MOST))
        wrong = [tail((0.5 * tau + sign * point.shift) / sd)[0] for sign in (1.0, -1.0)]
        return LearnedState(
            alpha=self.alpha,
            gamma_ce=self.loss.gamma_ce,
            training_error=f_out * wrong[0] + (1.0 - f_out) * wrong[1],
            loss=point.loss,
            silent_fraction=tail(-point.B)[0],
            B=point.B,
            W_star=math.sqrt(point.C) / A,
            W_bar=self.W_bar,
            Q=point.Q,
            log_tau=point.log_tau,
            estimate=EXACT if isinstance(self.neuron.tree[0].nonlinearity, Linear) else SYMMETRIC,
            mean_shift=point.shift,
            Gamma0=tree.Gamma0,
            Gamma1=tree.Gamma1,
            preactivation_mean=tree.means[0],
            preactivation_sd=tree.sd,
            residual=abs(point.slope),
            neuron=self.neuron,
            task=self.task,
        )
