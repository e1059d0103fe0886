"""What can be set on the page: the parameters, their ranges, and the neuron and task that they describe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from dendrocap.errors import InvalidParameter
from dendrocap.model import (
    DendriticNeuron,
    Linear,
    LinearNeuron,
    NeuronSpec,
    Nonlinearity,
    Polsky,
    ReLU,
    SaturatingReLU,
    Tabulated,
    TaskSpec,
    Units,
)
from dendrocap.validation import choice, real_number, refuse, whole_number

__all__ = ["AXES", "MOST_POINTS", "NONLINEARITIES", "SLIDERS", "SLOPES", "Parameters", "Slider"]

NONLINEARITIES = {
    "polsky": "Polsky",
    "relu": "ReLU",
    "saturating_relu": "saturating ReLU",
    "linear": "linear",
    "tabulated": "uploaded curve",
}
AXES = {"theta_d": "dendritic threshold", "theta_s": "somatic threshold"}
SLOPES = {"true": "the slope g'", "surrogate": "a surrogate slope"}
# The time of a solution grows with the number of points of an uploaded curve, and a link holds them all.
MOST_POINTS = 64
LARGEST_VALUE = 1000.0  # of an uploaded curve; millivolts taken for the model's units are caught before they overflow
SMALLEST_GAP = 1e-6  # between two points of it; closer ones are jumps, which have no capacity


@dataclass(frozen=True)
class Slider:
    """A number with its range, which holds for the slider, for typed values and for links.

    Parameters
    ----------
    symbol, meaning : str
        As on the page; ``symbol`` may hold <sub>.
    low, high, step : float
        Range and resolution of the slider; typed numbers may lie anywhere between.
    log : bool
        Whether the slider moves in the logarithm; ``step`` is then a factor minus one.
    whole : bool
        Whether only whole numbers make sense.
    """

    symbol: str
    meaning: str
    low: float
    high: float
    step: float
    log: bool = False
    whole: bool = False

    def checked(self, name: str, value: Any) -> Any:
        """The value, if it is in the range."""
        if not self.whole:
            return real_number(name, value, self.low, self.high)
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # browsers know one kind of number
        return whole_number(name, value, int(self.low), int(self.high))


SLIDERS = {
    "x_min": Slider("x<sub>min</sub>", "onset of the sigmoid", 0.0, 1.0, 0.01),
    "gamma": Slider("γ", "steepness", 0.5, 200.0, 0.02, log=True),
    "theta_d": Slider("θ<sub>d</sub>", "dendritic threshold", 0.001, 10.0, 0.02, log=True),
    "theta_s": Slider("θ<sub>s</sub>", "somatic threshold", 0.001, 2.0, 0.005),
    "f_in": Slider("f<sub>in</sub>", "active inputs", 0.01, 0.99, 0.01),
    "f_out": Slider("f<sub>out</sub>", "active labels", 0.01, 0.99, 0.01),
    "kappa": Slider("κ", "margin", 0.0, 5.0, 0.05),
    "n_inputs": Slider("N", "synapses", 10, 100_000, 0.05, log=True, whole=True),
    "n_branches": Slider("K", "branches", 1, 10_000, 0.05, log=True, whole=True),
    "load": Slider("α", "load P / N", 0.05, 5.0, 0.05),
    "train_inputs": Slider("N", "synapses", 20, 2000, 0.02, log=True, whole=True),
    "train_branches": Slider("K", "branches", 1, 200, 0.05, log=True, whole=True),
    "rate": Slider("ζ", "first learning rate", 0.001, 10.0, 0.05, log=True),
    "decay": Slider("dζ", "its decay per epoch", 0.0, 0.1, 0.001),
    "pace": Slider("pace", "epochs per second, at most", 1, 1000, 0.05, log=True, whole=True),
    "seed": Slider("seed", "of patterns and run", 0, 9999, 1, whole=True),
}


@dataclass(frozen=True)
class Parameters:
    """All that the page shows follows from these; every combination that passes the checks has a link.

    Parameters
    ----------
    nonlinearity : str
        One of `NONLINEARITIES`.
    x_min, gamma : float
        Of Polsky's function.
    theta_d, theta_s, f_in, f_out, kappa : float
        Thresholds, coding levels and margin.
    n_inputs, n_branches : int
        N and K, for millivolts, the number of patterns and the ceiling at finite K.
    axis : {"theta_d", "theta_s"}
        What the capacity is drawn against.
    curve : tuple of (x, y)
        The points of an uploaded curve, in the model's units.
    load, train_inputs, train_branches, rate, decay, slope, pace, seed
        Of the training run: alpha, N, K, learning rate and its decay, what stands for g' in learning, most epochs per
        second, and the seed of patterns and run.

    Examples
    --------
    >>> Parameters(theta_d=0.05).neuron
    NeuronSpec(nonlinearity=Polsky(x_min=0.33, gamma=15.0), theta_d=0.05, theta_s=0.5)
    """

    nonlinearity: str = "polsky"
    x_min: float = 0.33
    gamma: float = 15.0
    theta_d: float = 0.5
    theta_s: float = 0.5
    f_in: float = 0.5
    f_out: float = 0.5
    kappa: float = 0.0
    n_inputs: int = 10_000
    n_branches: int = 100
    axis: str = "theta_d"
    curve: tuple[tuple[float, float], ...] = field(default=(), repr=False)
    load: float = 0.8
    train_inputs: int = 999
    train_branches: int = 27
    rate: float = 1.0
    decay: float = 0.0
    slope: str = "surrogate"
    pace: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        choice("nonlinearity", self.nonlinearity, tuple(NONLINEARITIES))
        choice("axis", self.axis, tuple(AXES))
        choice("slope", self.slope, tuple(SLOPES))
        for name, slider in SLIDERS.items():
            object.__setattr__(self, name, slider.checked(name, getattr(self, name)))
        if self.n_branches > self.n_inputs:
            raise refuse("n_branches", self.n_branches, f"at most n_inputs = {self.n_inputs}")
        if self.train_branches > self.train_inputs:
            raise refuse("train_branches", self.train_branches, f"at most train_inputs = {self.train_inputs}")
        if self.curve:
            self._check_curve()
        elif self.nonlinearity == "tabulated":
            raise InvalidParameter("there is no curve yet: upload one first")

    def _check_curve(self) -> None:
        if not 2 <= len(self.curve) <= MOST_POINTS:
            raise InvalidParameter(f"a curve of {len(self.curve)} points is not allowed: 2 to {MOST_POINTS} are")
        x, y = zip(*self.curve, strict=True)
        largest = max(map(abs, (*x, *y)))
        if largest > LARGEST_VALUE:
            raise refuse("curve", largest, f"numbers up to {LARGEST_VALUE:g}: what the model calls 1 is a saturation")
        gap = min(after - before for before, after in pairwise(x))
        if 0.0 < gap < SMALLEST_GAP:
            raise InvalidParameter(f"points at a distance of {gap:g} in x are not allowed: at least {SMALLEST_GAP:g}")
        self._tabulated()
        if max(y) - min(y) < SMALLEST_GAP or max(y) <= 0.0:
            raise InvalidParameter("a curve that is flat or never positive is not allowed: no neuron can learn with it")

    def changed(self, changes: Mapping[str, Any]) -> Parameters:
        """These parameters with some of them replaced; unknown names are refused."""
        known = {parameter.name for parameter in fields(self)}
        for name in changes:
            if name not in known:
                raise refuse("parameter", name, "one of " + ", ".join(sorted(known)))
        return replace(self, **changes)

    @cached_property
    def g(self) -> Nonlinearity:
        """The dendritic non-linearity."""
        if self.nonlinearity == "polsky":
            return Polsky(self.x_min, self.gamma)
        if self.nonlinearity == "tabulated":
            return self._tabulated()
        return {"relu": ReLU(), "saturating_relu": SaturatingReLU(), "linear": Linear()}[self.nonlinearity]

    def _tabulated(self) -> Tabulated:
        x, y = zip(*self.curve, strict=True)
        return Tabulated(x, y)

    @property
    def neuron(self) -> NeuronSpec:
        """The neuron of the theory."""
        return NeuronSpec(self.g, self.theta_d, self.theta_s)

    @property
    def task(self) -> TaskSpec:
        """What it is asked to store."""
        return TaskSpec(self.f_in, self.f_out, self.kappa)

    @property
    def units(self) -> Units:
        """Conversion to millivolts."""
        return Units(self.n_inputs, self.n_branches)

    @property
    def finite_neuron(self) -> DendriticNeuron:
        """The neuron that is trained."""
        if self.nonlinearity == "linear":
            return LinearNeuron(self.theta_d, self.train_inputs)
        return DendriticNeuron(self.neuron, self.train_inputs, self.train_branches)

    @property
    def uses_surrogate(self) -> bool:
        """Whether something stands for g' in learning; a linear neuron has no need of it."""
        return self.slope == "surrogate" and self.nonlinearity != "linear"
