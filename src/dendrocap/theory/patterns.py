"""How a pattern that is right, nearly right or wrong counts: the channel from the somatic input to the label.

A set of weights counts with the product over patterns of eps + (1 - eps) H((kappa - Delta) / sigma), where Delta is the
somatic input in the direction of the label [channel]. ``noise`` sigma smears the step at the soma; a ``temperature`` T
lets a wrong pattern count with eps = exp(-1/T) rather than not at all. Any object with these two attributes will do.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from dendrocap.model import TaskSpec
from dendrocap.numerics import legendre_rule
from dendrocap.numerics._compiled import tail
from dendrocap.numerics.types import Floats
from dendrocap.theory._laws import FIELD_STEP
from dendrocap.theory.dendrite import SomaticCovariance
from dendrocap.theory.solver import monotone_root
from dendrocap.validation import real_number, refuse


@runtime_checkable
class Channel(Protocol):
    """How patterns count.

    Examples
    --------
    >>> isinstance(Temperature(T=0.1), Channel), isinstance(0.1, Channel)
    (True, False)
    """

    @property
    def noise(self) -> float:
        """Standard deviation of the noise that is added to the somatic input."""

    @property
    def temperature(self) -> float:
        """T: a wrong pattern makes a set of weights less likely by exp(-1/T); 0 if it excludes it."""


@dataclass(frozen=True)
class HardMargin:
    """Weights with a single wrong pattern do not count: the paper's.

    Examples
    --------
    >>> HardMargin().noise, HardMargin().temperature
    (0.0, 0.0)
    """

    noise: ClassVar[float] = 0.0
    temperature: ClassVar[float] = 0.0


@dataclass(frozen=True)
class Probit:
    """Gaussian noise at the soma: weights count with the probability that all noisy answers are right.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, in units of the somatic input.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, ReLU, saddle_point
    >>> neuron = NeuronSpec(ReLU(), theta_d=0.5, theta_s=0.5)
    >>> noisy = saddle_point(neuron, alpha=2.0, channel=Probit(sigma=0.1))  # the capacity is 1.34
    >>> round(noisy.training_error, 4), round(noisy.noisy_error, 4)
    (0.3641, 0.3619)
    """

    sigma: float
    temperature: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", real_number("sigma", self.sigma, 0.0))

    @property
    def noise(self) -> float:
        """sigma."""
        return self.sigma


@dataclass(frozen=True)
class Temperature:
    """The Gibbs measure of the number of wrong patterns: weights count with exp(-number / T).

    Parameters
    ----------
    T : float
        Temperature. At low ones weights have as few wrong patterns as possible, at high ones any weights will do.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, ReLU, saddle_point
    >>> neuron = NeuronSpec(ReLU(), theta_d=0.5, theta_s=0.5)
    >>> warm = saddle_point(neuron, alpha=2.0, channel=Temperature(T=0.2))  # the capacity is 1.34
    >>> round(warm.training_error, 4)
    0.1237
    """

    T: float
    noise: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "T", real_number("T", self.T, 0.0))

    @property
    def temperature(self) -> float:
        """T."""
        return self.T


class OwnChannel(ABC):
    """A channel of a user's own, in plain Python: each pattern counts with exp(-energy), by its margin beyond kappa.

    The energy may jump or bend at a margin of 0 only.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, ReLU, saddle_point
    >>> class Perceptron(OwnChannel):
    ...     def energy(self, margin):
    ...         return np.maximum(-margin, 0.0) / 0.05
    >>> neuron = NeuronSpec(ReLU(), theta_d=0.5, theta_s=0.5)
    >>> round(saddle_point(neuron, alpha=2.0, channel=Perceptron()).training_error, 4)  # the capacity is 1.34
    0.3099
    """

    noise: ClassVar[float] = 0.0
    temperature: ClassVar[float] = 0.0

    @abstractmethod
    def energy(self, margin: Floats) -> Floats:
        """The cost of patterns with these margins beyond kappa."""

    def averages(self, steepness: float, shift: float, sd: float, step: float) -> Floats:
        """`pattern_sums` at a = steepness z + shift, where K(a) is the mean of exp(-energy) over sd (y - a), y normal.

        R = -K' / K is the mean of y with these weights, and dR / da is one minus its variance.
        """
        from dendrocap.theory._laws import field_nodes

        a, weight = field_nodes(-shift / steepness, 1.0 / steepness, 0.5 * step)
        rough = np.linspace(np.minimum(-REACH, a), np.maximum(REACH, a + REACH), 400)
        log_mass = -0.5 * rough**2 - self.energy(sd * (rough - a))
        counts = log_mass > log_mass.max(axis=0) - FAINT
        first, last = np.argmax(counts, axis=0), 399 - np.argmax(counts[::-1], axis=0)
        each = np.arange(a.size)
        low, high = rough[np.maximum(first - 1, 0), each], rough[np.minimum(last + 1, 399), each]
        middle = np.clip(a, low, high)  # eight panels on either side; the one between them is empty
        edges = np.concatenate([np.linspace(low, middle, 9), np.linspace(middle, high, 9)])
        nodes, parts = legendre_rule(24)
        half = 0.5 * np.diff(edges, axis=0)
        y = (edges[:-1] + half)[:, None] + half[:, None] * nodes[:, None]
        log_mass = -0.5 * y**2 - self.energy(sd * (y - a))
        top = log_mass.max(axis=(0, 1))
        mass = np.exp(log_mass - top) * half[:, None] * parts[:, None]
        norm = mass.sum(axis=(0, 1))
        R = (mass * y).sum(axis=(0, 1)) / norm
        bend = 1.0 - (mass * (y - R) ** 2).sum(axis=(0, 1)) / norm
        wrong = np.where(y < a, mass, 0.0).sum(axis=(0, 1)) / norm
        log_K = top + np.log(norm) - 0.5 * math.log(2.0 * math.pi)
        return np.array([weight @ one for one in (log_K, R, R**2, bend, bend**2, wrong)])


HARD_MARGIN = HardMargin()

FAINT = 45.0  # logarithm of a density that does not count

FAR = 20.0  # deviations beyond which the tails of two answers are computed by quadrature

EXCESS = np.array([0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 45.0])  # panels there


def is_hard(channel: Channel) -> bool:
    """Whether a pattern is right or the weights do not count, as in the paper."""
    return channel.noise == 0.0 and channel.temperature == 0.0 and not isinstance(channel, OwnChannel)


def check_channel(channel: Channel) -> None:
    """Refuse what is not a channel, or not derived."""
    if not isinstance(channel, Channel):
        raise refuse("channel", channel, "HardMargin(), Probit(sigma), Temperature(T) or a theory.OwnChannel")
    if channel.temperature > 0.0 and channel.noise > 0.0:
        raise refuse("channel", channel, "noise or a temperature, not both")


def training_error(channel: Channel, D0: float, D1: float, task: TaskSpec, mean_shift: float, step: float) -> float:
    """Probability that a pattern misses its margin in weights drawn from the measure, without noise [train-error].

    D0 and D1 are the covariance at the soma of two sets of weights and what the variance has beyond it.
    """
    return _error(channel, D0, D1, task, mean_shift, step, again=False)


def noisy_error(channel: Channel, D0: float, D1: float, task: TaskSpec, mean_shift: float, step: float) -> float:
    """Probability that one more answer to a pattern, with noise of its own, is wrong [noisy-answer]."""
    return _error(channel, D0, D1, task, mean_shift, step, again=True)


def _error(
    channel: Channel, D0: float, D1: float, task: TaskSpec, mean_shift: float, step: float, *, again: bool
) -> float:
    if is_hard(channel):
        return 0.0
    from dendrocap.theory._laws import field_nodes

    sd = math.sqrt(D1 + channel.noise**2)
    steepness = math.sqrt(D0) / sd

    def of_label(shift: float) -> float:
        if channel.noise == 0.0:
            return float(_pattern_averages(channel, steepness, shift, sd, step)[5])
        a, weight = field_nodes(-shift / steepness, 1.0 / steepness, step)
        of_field = _noisy_error if again else _clean_error
        return float(weight @ of_field(a, D1 / (D1 + channel.noise**2)))

    up = of_label((task.kappa - mean_shift) / sd)
    down = up if mean_shift == 0.0 else of_label((task.kappa + mean_shift) / sd)
    return task.f_out * up + (1.0 - task.f_out) * down


def _clean_error(a: Floats, share: float) -> Floats:
    """Probability that the input itself is below its threshold if it exceeds it together with its noise.

    With noise it has unit variance, of which the input has this share; the threshold lies a deviations above the mean.
    """
    from scipy.special import ndtr, owens_t

    slope, near = math.sqrt((1.0 - share) / share), a < FAR
    error = np.empty_like(a)
    below = 0.5 * (ndtr(-a[near]) - ndtr(-a[near] / math.sqrt(share))) + owens_t(a[near], slope)
    error[near] = below / ndtr(-a[near])
    error[~near] = _far_error(a[~near], slope, 1.0 / slope)
    return error


def _noisy_error(a: Floats, correlation: float) -> Floats:
    """Probability that a second noisy answer is wrong if a first one is right.

    Both exceed their threshold, which lies a deviations above the mean, with this correlation. Owen's function gives
    the probability that one does and the other does not.
    """
    from scipy.special import ndtr, owens_t

    slope = math.sqrt((1.0 - correlation) / (1.0 + correlation))
    near = a < FAR
    error = np.empty_like(a)
    error[near] = 2.0 * owens_t(a[near], slope) / ndtr(-a[near])
    error[~near] = _far_error(a[~near], slope, correlation / math.sqrt(1.0 - correlation**2))
    return error


def _far_error(a: Floats, slope: float, fall: float) -> Floats:
    """E of Phi(slope a - fall t), where a normal number exceeds a by t: far out all probabilities underflow.

    Then t is of the order 1 / a.
    """
    from scipy.special import ndtr

    nodes, weights = legendre_rule(12)
    middle, half = 0.5 * (EXCESS[1:] + EXCESS[:-1])[:, None], 0.5 * np.diff(EXCESS)[:, None]
    x, part = (middle + half * nodes).ravel(), (half * weights).ravel()
    t = x / a[:, None]
    density = part * np.exp(-x - 0.5 * t * t)
    wrong = ndtr(slope * a[:, None] - fall * t)
    return np.asarray(np.sum(density * wrong, axis=1) / np.sum(density, axis=1))


# Averages over the two labels, for replica-symmetric and broken solutions.


@dataclass(frozen=True)
class LabelAverages:
    """Averages over the label sigma of Gaussian tails at tau = sigma d - k [cap-labels]."""

    shift: float  # d = Delta / sqrt(Gamma_0), which balances the two labels
    mass: float  # E H(tau)
    second: float  # E I_2(tau)


def label_averages(f_out: float, k: float) -> LabelAverages:
    """Averages over the label at margin k, in units of sqrt(Gamma_0), at the shift that balances both labels."""

    def imbalance(d: float) -> tuple[float, float]:
        up, down = tail(d - k), tail(-d - k)
        value = f_out * up[1] - (1.0 - f_out) * down[1]
        return value, -f_out * up[0] - (1.0 - f_out) * down[0]

    d = 0.0 if f_out == 0.5 else monotone_root(imbalance, 0.0, 1.0).at
    up, down = tail(d - k), tail(-d - k)
    return LabelAverages(d, f_out * up[0] + (1.0 - f_out) * down[0], f_out * up[2] + (1.0 - f_out) * down[2])


def label_starts(f_out: float, margin: float, shift: float) -> tuple[Floats, Floats]:
    """Initial fields of a pattern for labels +1 and -1, kappa - sigma Delta, and their frequencies; merged at 1/2."""
    if f_out == 0.5:
        return np.array([margin]), np.ones(1)
    return np.array([margin - shift, margin + shift]), np.array([f_out, 1.0 - f_out])


@dataclass(frozen=True)
class Energetic:
    """Averages over patterns of f(h) = ln H(h / sqrt(D1)) at h = kappa - sigma mean_shift + sqrt(D0) z.

    Through another channel, f is the logarithm of the average weight of a pattern over what solutions do not share
    [channel-average]: noise adds to D1, and a temperature makes H to eps + (1 - eps) H.

    Attributes
    ----------
    term : float
        G_E, the average of f.
    push : float
        E sigma f', which vanishes at the saddle point; it is -dG_E / d mean_shift.
    f1_squared, f2, f2_squared : float
        Averages of f'^2, f'' and f''^2.
    """

    term: float
    push: float
    f1_squared: float
    f2: float
    f2_squared: float

    @classmethod
    def at(
        cls,
        kernel: SomaticCovariance,
        task: TaskSpec,
        mean_shift: float,
        step: float = FIELD_STEP,
        channel: Channel = HARD_MARGIN,
    ) -> Energetic:
        """For the overlaps of ``kernel``."""
        variance = kernel.D1 + channel.noise**2
        sd = math.sqrt(variance)
        steepness = math.sqrt(kernel.D0) / sd
        up = _pattern_averages(channel, steepness, (task.kappa - mean_shift) / sd, sd, step)
        down = up
        if mean_shift != 0.0:
            down = _pattern_averages(channel, steepness, (task.kappa + mean_shift) / sd, sd, step)
        mixed = task.f_out * up + (1.0 - task.f_out) * down
        log_tail, _, second, curvature, curvature_squared = (float(average) for average in mixed[:5])
        return cls(
            term=log_tail,
            push=-float(task.f_out * up[1] - (1.0 - task.f_out) * down[1]) / sd,
            f1_squared=second / variance,
            f2=-curvature / variance,
            f2_squared=curvature_squared / variance**2,
        )


def _pattern_averages(channel: Channel, steepness: float, shift: float, sd: float, step: float) -> Floats:
    """Averages over patterns of one label."""
    if isinstance(channel, OwnChannel):
        return channel.averages(steepness, shift, sd, step)
    from dendrocap.theory._laws import energetic_averages

    penalty = 1.0 / channel.temperature if channel.temperature > 0.0 else math.inf
    return energetic_averages(steepness, shift, step, penalty)


# How a pattern responds to a loss: the average over patterns in a state that minimises one.
#
# The rest of the neuron gives a pattern the somatic input t, normal over patterns. Learning moves it to x, which
# minimises ``(x - t)^2 / (2 tau) + loss(x)`` [proximal]: tau measures the compliance of the weights. Averages are
# taken over x, of which ``t = x + tau loss'(x)`` is an explicit function, so that no equation is solved per pattern.

NODES = 12  # per Gauss-Legendre panel

MOST = 700.0  # of an exponent

REACH = 9.0  # of t, in its standard deviations

# Ends of panels around a bend, in units of its width: each panel is no longer than its distance to the bend.
_HALF = 0.75 * 2.0 ** np.arange(9)

AROUND_A_BEND = np.concatenate([-_HALF[::-1], [0.0], _HALF])

# The same around the point where an exponential push ends: below it the push grows without bound, so panels stay short.
AROUND_A_PLATEAU = np.concatenate([-0.75 * np.arange(16.0, 0.0, -1.0), [0.0], _HALF])


# A loss is a decreasing function of the margin x, nowhere steeper than 1, that bends around zero. A steep one may need
# a tau so large that only its logarithm can be represented. ``push`` is -tau times its slope, ``stiffness`` tau times
# its curvature, from the push. Between the points ``bends`` the response is smooth; ``farthest`` bounds the push on
# patterns whose margin is positive; ``jump`` is the interval that x skips because both its ends are better, if there is
# one; and ``code`` selects the loss in compiled loops: its number, and the scale on which it bends.


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
        from dendrocap.theory._laws import CROSS_ENTROPY

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
        from dendrocap.theory._laws import equal_costs

        low, high = equal_costs(math.exp(log_tau))
        return (low, high) if high > low else None

    @property
    def code(self) -> tuple[int, float]:
        """Number and width."""
        from dendrocap.theory._laws import NORMAL_INTEGRAL

        return NORMAL_INTEGRAL, 1.0


Loss = CrossEntropy | NormalIntegral


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
        from dendrocap.theory._laws import response_sums

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
    from dendrocap.theory._laws import response_nodes

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
