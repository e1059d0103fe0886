"""How a pattern responds to a loss: the average over patterns in a state that minimises one.

The rest of the neuron gives a pattern the somatic input t, normal over patterns. Learning moves it to x, which
minimises ``(x - t)^2 / (2 tau) + loss(x)`` [proximal]: tau measures the compliance of the weights. Averages are taken
over x, of which ``t = x + tau loss'(x)`` is an explicit function, so that no equation is solved per pattern.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dendrocap.numerics.quadrature import legendre_rule

__all__ = ["Averages", "CrossEntropy", "Loss", "NormalIntegral", "Responses", "effort", "responses"]

Floats = NDArray[np.float64]

NODES = 12  # per Gauss-Legendre panel
MOST = 700.0  # of an exponent
REACH = 9.0  # of t, in its standard deviations
# Ends of panels around a bend, in units of its width: each panel is no longer than its distance to the bend.
_HALF = 0.75 * 2.0 ** np.arange(9)
AROUND_A_BEND = np.concatenate([-_HALF[::-1], [0.0], _HALF])
# The same around the point where an exponential push ends: below it the push grows without bound, so panels stay short.
AROUND_A_PLATEAU = np.concatenate([-0.75 * np.arange(16.0, 0.0, -1.0), [0.0], _HALF])


class Loss(Protocol):
    """A decreasing function of the margin x, nowhere steeper than 1, that bends around zero.

    A steep loss may need a tau so large that only its logarithm can be represented.
    """

    def value(self, x: Floats) -> Floats:
        """The loss."""

    def push(self, x: Floats, log_tau: float) -> Floats:
        """-tau times the slope of the loss."""

    def stiffness(self, x: Floats, push: Floats) -> Floats:
        """tau times the curvature of the loss, from the push."""

    def bends(self, log_tau: float) -> Floats:
        """Points between which the response is smooth: around the bend of the loss, and where its push ends."""

    def farthest(self, log_tau: float) -> float:
        """Upper bound of the push on patterns whose margin is positive."""

    def jump(self, log_tau: float) -> tuple[float, float] | None:
        """The interval that x skips because both its ends are better; None if the response is continuous."""

    @property
    def code(self) -> tuple[int, float]:
        """What selects the loss in compiled loops: its number, and the scale on which it bends."""


@dataclass(frozen=True)
class CrossEntropy:
    """The loss of the learning rule [cross-entropy]."""

    gamma_ce: float

    @property
    def width(self) -> float:
        """The scale on which it bends."""
        return 0.5 / self.gamma_ce

    def value(self, x: Floats) -> Floats:
        """ln(1 + exp(-2 gamma x)) / (2 gamma)."""
        return np.asarray(np.logaddexp(0.0, -x / self.width) * self.width)

    def push(self, x: Floats, log_tau: float) -> Floats:
        """tau / (1 + exp(2 gamma x))."""
        return np.asarray(np.exp(np.minimum(log_tau - np.logaddexp(0.0, x / self.width), MOST)))

    def stiffness(self, x: Floats, push: Floats) -> Floats:
        """2 gamma times the push, times 1 / (1 + exp(-2 gamma x))."""
        from scipy.special import expit

        return np.asarray(push * expit(x / self.width) / self.width)

    def bends(self, log_tau: float) -> Floats:
        """Around zero, and around the margin up to which a steep loss pushes most patterns."""
        return np.concatenate([self.width * AROUND_A_BEND, self._plateau(log_tau) + self.width * AROUND_A_PLATEAU])

    def farthest(self, log_tau: float) -> float:
        """Where the push tau exp(-x / width) has fallen to one width, and that much beyond."""
        return min(math.exp(min(log_tau, MOST)), self._plateau(log_tau) + self.width)

    def jump(self, log_tau: float) -> None:
        """None: it is convex."""

    @property
    def code(self) -> tuple[int, float]:
        """Number and width."""
        from dendrocap.theory.states._kernels import CROSS_ENTROPY

        return CROSS_ENTROPY, self.width

    def _plateau(self, log_tau: float) -> float:
        return self.width * float(np.logaddexp(0.0, log_tau - math.log(self.width)))


@dataclass(frozen=True)
class NormalIntegral:
    """H(x), the probability that unit normal noise turns the margin x negative."""

    def value(self, x: Floats) -> Floats:
        """H(x)."""
        from scipy.special import ndtr

        return np.asarray(ndtr(-x))

    def push(self, x: Floats, log_tau: float) -> Floats:
        """tau G(x)."""
        return np.exp(log_tau - 0.5 * x * x) / math.sqrt(2.0 * math.pi)

    def stiffness(self, x: Floats, push: Floats) -> Floats:
        """tau x G(x)."""
        return x * push

    def bends(self, log_tau: float) -> Floats:
        """Around zero, and around the margin up to which patterns are pushed if that is cheap."""
        plateau = self.farthest(log_tau) - 1.0
        return np.concatenate([AROUND_A_BEND, plateau + AROUND_A_BEND / (1.0 + plateau)])

    def farthest(self, log_tau: float) -> float:
        """Where the push tau G(x) has fallen below one half."""
        return math.sqrt(2.0 * float(np.logaddexp(0.0, log_tau))) + 1.0

    def jump(self, log_tau: float) -> tuple[float, float] | None:
        """Below zero it is concave: if tau is large, some patterns are given up and others pushed far across."""
        from dendrocap.theory.states._kernels import equal_costs

        low, high = equal_costs(math.exp(log_tau))
        return (low, high) if high > low else None

    @property
    def code(self) -> tuple[int, float]:
        """Number and width."""
        from dendrocap.theory.states._kernels import NORMAL_INTEGRAL

        return NORMAL_INTEGRAL, 1.0


class Responses(NamedTuple):
    """Nodes and weights of an average over patterns: final margin x, push x - t, stiffness tau loss''(x)."""

    margin: Floats
    push: Floats
    stiffness: Floats
    weight: Floats

    @property
    def field(self) -> Floats:
        """t, the field of the pattern without the push."""
        return self.margin - self.push

    def averages(self) -> Averages:
        """What the equations need of them."""
        from dendrocap.theory.states._kernels import response_sums

        return Averages(*response_sums(self.push, self.stiffness, self.weight))


class Averages(NamedTuple):
    """Averages over patterns of the push p and of r = 1 / (1 + stiffness), the share of its growth that remains."""

    push: float
    square: float  # p^2
    given: float  # r p, the derivative of p in ln tau at a given field
    given_square: float  # r p^2
    bend: float  # r times the stiffness, minus the derivative of p in the field
    bend_push: float  # the same times p


def responses(loss: Loss, log_tau: float, mean: float, sd: float, cuts: Floats | None = None) -> Responses:
    """Patterns with normal fields t of given mean and standard deviation; ``cuts`` are additional panel ends in x."""
    return _responses(loss, log_tau, mean, sd, loss.jump(log_tau), cuts)


def effort(loss: Loss, log_tau: float, mean: float, sd: float) -> tuple[float, float]:
    """E push^2 over patterns with normal fields, and its derivative in ln tau."""
    jump = loss.jump(log_tau)
    averages = _responses(loss, log_tau, mean, sd, jump).averages()
    square, growth = averages.square, 2.0 * averages.given_square
    if jump is not None and jump[0] > mean - REACH * sd:
        # The field at which patterns are given up falls by the mean of both pushes, and those there are saved.
        given_up, saved = (float(loss.push(np.array(x), log_tau)) for x in jump)
        deviation = (jump[0] - given_up - mean) / sd
        at_jump = math.exp(-0.5 * deviation * deviation) / (math.sqrt(2.0 * math.pi) * sd)
        growth += at_jump * 0.5 * (given_up + saved) * (saved**2 - given_up**2)
    return square, growth


def _responses(
    loss: Loss, log_tau: float, mean: float, sd: float, jump: tuple[float, float] | None, cuts: Floats | None = None
) -> Responses:
    """Those on either side of a jump, if there is one."""
    from dendrocap.theory.states._kernels import response_nodes

    far = REACH * sd
    ends = (mean - far, max(mean + far, 0.0) + loss.farthest(log_tau))
    bends = loss.bends(log_tau) if cuts is None else np.concatenate([loss.bends(log_tau), cuts])
    pieces = [ends] if jump is None else [(ends[0], max(jump[0], ends[0])), (min(jump[1], ends[1]), ends[1])]
    rule = legendre_rule(NODES)
    found = [
        Responses(*response_nodes(*loss.code, log_tau, (mean, sd), piece, bends, rule))
        for piece in pieces
        if piece[0] < piece[1]
    ]
    return found[0] if len(found) == 1 else Responses(*(np.concatenate(part) for part in zip(*found, strict=True)))
