"""How a pattern that is right, nearly right or wrong counts: the channel from the somatic input to the label.

A set of weights counts with the product over patterns of eps + (1 - eps) H((kappa - Delta) / sigma), where Delta is the
somatic input in the direction of the label [channel]. ``noise`` sigma smears the step at the soma; a ``temperature`` T
lets a wrong pattern count with eps = exp(-1/T) rather than not at all. Any object with these two attributes will do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dendrocap.model import TaskSpec
from dendrocap.numerics.quadrature import legendre_rule
from dendrocap.validation import real_number, refuse

__all__ = [
    "HARD_MARGIN",
    "Channel",
    "HardMargin",
    "Probit",
    "Temperature",
    "check_channel",
    "is_hard",
    "noisy_error",
    "training_error",
]

Floats = NDArray[np.float64]


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


HARD_MARGIN = HardMargin()
FAR = 20.0  # deviations beyond which the tails of two answers are computed by quadrature
EXCESS = np.array([0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 45.0])  # panels there


def is_hard(channel: Channel) -> bool:
    """Whether a pattern is right or the weights do not count, as in the paper."""
    return channel.noise == 0.0 and channel.temperature == 0.0


def check_channel(channel: Channel, task: TaskSpec) -> None:
    """Refuse what is not a channel, or not derived."""
    if not isinstance(channel, Channel):
        raise refuse("channel", channel, "HardMargin(), Probit(sigma) or Temperature(T)")
    if channel.temperature > 0.0 and task.f_out != 0.5:
        raise refuse(
            "task.f_out",
            task.f_out,
            "1/2 for a temperature: with unequal labels it may pay to give up one of them, a state that is not "
            "derived; Probit(sigma) takes any f_out",
        )
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
    from dendrocap.theory._kernels import field_nodes, tempered_averages

    sd = math.sqrt(D1 + channel.noise**2)
    steepness = math.sqrt(D0) / sd

    def of_label(shift: float) -> float:
        if channel.temperature > 0.0:
            return float(tempered_averages(steepness, shift, 1.0 / channel.temperature, step)[5])
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
