"""What a weight may be before it has seen a pattern: its prior.

The theory asks two numbers of a prior: up to which ``w_max`` weights go, from zero on, and with which ``strength``
small ones are preferred. A weight then has the density exp(-strength W^2 / 2) on 0 <= W <= w_max [prior]. Any object
with these two attributes will do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from dendrocap.validation import real_number

__all__ = ["Bounded", "NonNegative", "Prior", "Ridge", "is_usual"]


@runtime_checkable
class Prior(Protocol):
    """What a weight may be: a density exp(-strength W^2 / 2) on 0 <= W <= w_max.

    Examples
    --------
    >>> isinstance(Bounded(w_max=3.0), Prior), isinstance(3.0, Prior)
    (True, False)
    """

    @property
    def w_max(self) -> float:
        """Largest weight; infinite if there is none."""

    @property
    def strength(self) -> float:
        """How strongly small weights are preferred; 0 if they are not."""


@dataclass(frozen=True)
class NonNegative:
    """Weights of any size from zero on: the paper's.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky
    >>> NeuronSpec(Polsky(), 0.5, 0.5).prior
    NonNegative()
    """

    w_max: ClassVar[float] = math.inf
    strength: ClassVar[float] = 0.0


@dataclass(frozen=True)
class Bounded:
    """Weights that saturate: none is larger than ``w_max``.

    Parameters
    ----------
    w_max : float
        Largest weight. The mean weight theta_d / f_in must be smaller.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Linear, critical_capacity
    >>> found = critical_capacity(NeuronSpec(Linear(), 0.5, 0.5, prior=Bounded(w_max=3.0)))
    >>> round(found.alpha_c, 4), round(found.silent_fraction, 4), round(found.saturated_fraction, 4)
    (0.8943, 0.4218, 0.1311)
    """

    w_max: float
    strength: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "w_max", real_number("w_max", self.w_max, 0.0, low_open=True))


@dataclass(frozen=True)
class Ridge:
    """Weights of any size from zero on, of which small ones are preferred.

    Parameters
    ----------
    strength : float
        Each set of weights counts with exp(-strength sum W^2 / 2).

    Examples
    --------
    >>> from dendrocap import NeuronSpec, ReLU, saddle_point
    >>> neuron = NeuronSpec(ReLU(), theta_d=0.5, theta_s=0.5, prior=Ridge(strength=2.0))
    >>> plain = NeuronSpec(ReLU(), theta_d=0.5, theta_s=0.5)
    >>> saddle_point(neuron, alpha=0.5).Q < saddle_point(plain, alpha=0.5).Q
    True
    """

    strength: float
    w_max: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "strength", real_number("strength", self.strength, 0.0))


def is_usual(prior: Prior) -> bool:
    """Whether weights are bounded by zero alone, as in the paper."""
    return prior.w_max == math.inf and prior.strength == 0.0
