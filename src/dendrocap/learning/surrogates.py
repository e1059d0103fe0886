"""Surrogates for the slope g' in the learning rule.

Where g is flat, g' = 0 and gradient descent learns nothing: a pattern whose branches are all silent or all saturated is
never corrected. A surrogate replaces g' in the update, but does not change the answers of the neuron. The rule is then
no longer gradient descent on a loss.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dendrocap.model.nonlinearities import Kernel, Nonlinearity
from dendrocap.validation import check_fields, fact, refuse

# Codes for compiled loops. From OTHER_SLOPE on, the remainder of the code identifies a non-linearity.
TRUE_SLOPE, LORENTZIAN, FLOORED = range(3)
OTHER_SLOPE = 100


class Surrogate(ABC):
    """Base class of dendritic signals, the second of the three factors of the local rule.

    Examples
    --------
    >>> from dendrocap import Polsky
    >>> surrogate: Surrogate = Lorentzian(center=0.4, width=0.3)
    >>> bool(surrogate.signal(Polsky(), np.array([2.0]))[0] > 0.0)
    True
    """

    @abstractmethod
    def signal(self, nonlinearity: Nonlinearity, branch_input: ArrayLike) -> Any:
        """The replacement for g' at these branch inputs."""

    @abstractmethod
    def kernel(self) -> Kernel:
        """Code and parameters for compiled loops."""


@dataclass(frozen=True)
class TrueSlope(Surrogate):
    """g' itself, the rule of the paper.

    Examples
    --------
    >>> from dendrocap import ReLU
    >>> TrueSlope().signal(ReLU(), np.array([-1.0, 1.0])).tolist()
    [0.0, 1.0]
    """

    def signal(self, nonlinearity: Nonlinearity, branch_input: ArrayLike) -> Any:
        return nonlinearity.derivative(branch_input)

    def kernel(self) -> Kernel:
        return Kernel(TRUE_SLOPE, np.empty(0))


@dataclass(frozen=True)
class Lorentzian(Surrogate):
    """A broad bump, 1 / (1 + ((x - center) / width)^2), which is positive everywhere.

    Parameters
    ----------
    center : float
        Input at which a branch learns most; for `Polsky`, slightly above ``x_min``, where g is steep.
    width : float
        Half width at half maximum, positive. The defaults are suited to `Polsky` with ``theta_d`` from 0.3 to 1;
        smaller thresholds, where branch inputs vary less, need smaller widths (docs/results/learning.md).

    Examples
    --------
    >>> from dendrocap import Polsky
    >>> Lorentzian(center=0.25, width=0.5).signal(Polsky(), [0.25, 0.75]).tolist()
    [1.0, 0.5]
    """

    center: float = field(
        default=0.4,
        metadata=fact("centre of the surrogate", unit="branch input", help="With --surrogate-width: the centre"),
    )
    width: float = field(
        default=0.3,
        metadata=fact(
            "width of the surrogate", "", "branch input", "(0, inf)",
            "Learn with 1/(1+((x-center)/width)^2) in place of g'(x), which is used if not given",
        ),
    )  # fmt: skip

    def __post_init__(self) -> None:
        check_fields(self)

    def signal(self, nonlinearity: Nonlinearity, branch_input: ArrayLike) -> Any:
        return 1.0 / (1.0 + ((np.asarray(branch_input, dtype=np.float64) - self.center) / self.width) ** 2)

    def kernel(self) -> Kernel:
        return Kernel(LORENTZIAN, np.array([self.center, self.width]))


@dataclass(frozen=True)
class FlooredSlope(Surrogate):
    """g', but at least ``floor``, a positive number.

    Examples
    --------
    >>> from dendrocap import ReLU
    >>> FlooredSlope(0.3).signal(ReLU(), np.array([-1.0, 1.0])).tolist()
    [0.3, 1.0]
    """

    floor: float = field(default=0.3, metadata=fact("least slope", within="(0, inf)"))

    def __post_init__(self) -> None:
        check_fields(self)

    def signal(self, nonlinearity: Nonlinearity, branch_input: ArrayLike) -> Any:
        return np.maximum(nonlinearity.derivative(branch_input), self.floor)

    def kernel(self) -> Kernel:
        return Kernel(FLOORED, np.array([self.floor]))


@dataclass(frozen=True)
class SlopeOf(Surrogate):
    """The slope of another non-linearity, which can be user-defined (`Custom`, `Tabulated`).

    Parameters
    ----------
    nonlinearity : Nonlinearity
        Its derivative becomes the dendritic signal.

    Examples
    --------
    >>> from dendrocap import ReLU, Step
    >>> SlopeOf(ReLU()).signal(Step(), [-1.0, 1.0]).tolist()
    [0.0, 1.0]
    """

    nonlinearity: Nonlinearity

    def __post_init__(self) -> None:
        if not isinstance(self.nonlinearity, Nonlinearity):
            raise refuse("nonlinearity", self.nonlinearity, "a Nonlinearity")

    def signal(self, nonlinearity: Nonlinearity, branch_input: ArrayLike) -> Any:
        return self.nonlinearity.derivative(branch_input)

    def kernel(self) -> Kernel:
        code, parameters = self.nonlinearity.kernel()
        return Kernel(OTHER_SLOPE + code, parameters)
