"""The parameters of the page, their ranges, and the neuron and task that they describe."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple
from urllib.parse import parse_qs, parse_qsl, urlencode

from dendrocap.errors import DendrocapError, InvalidParameter
from dendrocap.fitting import fit_nonlinearity
from dendrocap.learning.recipe import RECIPE_FACTS
from dendrocap.model import (
    Branches,
    DendriticNeuron,
    Inhibition,
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
from dendrocap.model.flat import FACTS
from dendrocap.validation import Fact, choice, facts_of, refuse

NONLINEARITIES = {kind.name: kind.label for kind in (Polsky, ReLU, SaturatingReLU, Linear)} | {
    "smooth": "my curve, smoothed",
    "fitted": "my curve, Polsky fit",
    "tabulated": "my curve, its points",
}

OF_CURVE = ("smooth", "fitted", "tabulated")  # need an uploaded curve

AXES = {
    "theta_d": "the dendritic threshold",
    "theta_s": "the somatic threshold",
    "n_branches": "the number of branches",
}

SLOPES = {"true": "the slope g'", "surrogate": "a surrogate slope"}
POPULATIONS = {"1": "all branches alike", "2": "two kinds of branches"}
UNITS = {"": "model units", "mV": "millivolts"}

# The time of a solution grows with the number of points of an uploaded curve, and a link must hold all of them.
MOST_POINTS = 64
LARGEST_VALUE = 1000.0  # of a curve in model units; catches millivolts given as model units before they overflow

OF_INHIBITION = (
    "With inhibition that learns, theory has infinitely many long, equal branches only: N and K set the millivolts, "
    "and no number of stored patterns is given."
)

SMALLEST_SHARE = 1e-3  # of inhibitory synapses; with fewer, each would have to be thousands of times as strong
SMALLEST_GAP = 1e-6  # between two points; closer ones are jumps, for which there is no capacity
Point = tuple[float, ...]  # x, y and, if known, the standard error of y


def slider(default: float, known: Fact, **changes: Any) -> Any:
    """A parameter with a slider, whose range applies to typed numbers and to links too."""
    known = replace(known, **changes)
    assert known.usual is not None
    low, high = known.usual
    return field(default=default, metadata={"fact": replace(known, within=f"[{low!r}, {high!r}]")})


ONSET = "Input at which the dendritic spike starts; at 1 the branch saturates"
STEEPNESS = "Steepness of the spike; recordings are near 15, 200 is nearly a step"


@dataclass(frozen=True)
class Parameters:
    """All parameters of the page; every valid combination has a link.

    Those that end in ``_2`` are of the apical branches.

    Examples
    --------
    >>> Parameters(theta_d=0.05).neuron
    NeuronSpec(nonlinearity=Polsky(x_min=0.33, gamma=15.0), theta_d=0.05, theta_s=0.5)
    """

    nonlinearity: str = "polsky"
    x_min: float = slider(0.33, FACTS["x_min"], usual=(0.0, 1.0), help=ONSET)
    gamma: float = slider(15.0, FACTS["gamma"], help=STEEPNESS)
    theta_d: float = slider(0.5, FACTS["theta_d"])
    theta_s: float = slider(0.5, FACTS["theta_s"])
    f_in: float = slider(0.5, FACTS["f_in"])
    f_out: float = slider(0.5, FACTS["f_out"])
    kappa: float = slider(
        0.0, FACTS["kappa"], help="Required distance of the soma from its threshold; makes answers robust"
    )
    branch_correlation: float = slider(0.0, FACTS["branch_correlation"])
    inhibitory_share: float = slider(0.0, FACTS["inhibitory_share"], label="inhibitory share")
    inhibitory_drive: float = slider(  # over the threshold of the branch
        0.5,
        FACTS["inhibitory_drive"],
        label="inhibitory drive, of the threshold",
        symbol="",
        usual=(0.0, 1.0),
        help="How much of the dendritic threshold inhibition makes; at 1 no fixed threshold is left",
    )
    flips: float = slider(
        0.01, FACTS["flips"], help="Each input flips with this probability after learning; the two errors follow"
    )
    n_inputs: int = slider(10_000, FACTS["n_inputs"])
    n_branches: int = slider(100, FACTS["n_branches"])
    populations: str = "1"
    nonlinearity_2: str = "polsky"
    x_min_2: float = slider(0.33, FACTS["x_min"], usual=(0.0, 1.0), help=ONSET)
    gamma_2: float = slider(15.0, FACTS["gamma"], help=STEEPNESS)
    theta_d_2: float = slider(0.2, FACTS["theta_d"])
    fraction_2: float = slider(0.4, FACTS["fraction"])
    length_2: float = slider(1.0, FACTS["length"])
    axis: str = "theta_d"
    curve: tuple[Point, ...] = field(default=(), repr=False)  # x, y and, if known, the standard error of y
    curve_unit: str = ""
    # The training run; the pace is the largest number of epochs per second.
    load: float = slider(0.8, FACTS["alpha"])
    train_inputs: int = slider(999, FACTS["n_inputs"], usual=(20, 2000))
    train_branches: int = slider(27, FACTS["n_branches"], usual=(1, 200))
    rate: float = slider(1.0, RECIPE_FACTS["learning_rate"])
    decay: float = slider(0.0, RECIPE_FACTS["decay"])
    slope: str = "surrogate"
    pace: int = slider(20, Fact("epochs per second, at most", usual=(1, 1000), log=True, whole=True))
    seed: int = slider(0, Fact("seed of patterns and run", usual=(0, 9999), whole=True))

    def __post_init__(self) -> None:
        choice("nonlinearity", self.nonlinearity, tuple(NONLINEARITIES))
        choice("nonlinearity_2", self.nonlinearity_2, tuple(NONLINEARITIES))
        choice("populations", self.populations, tuple(POPULATIONS))
        choice("curve_unit", self.curve_unit, tuple(UNITS))
        choice("axis", self.axis, tuple(AXES))
        choice("slope", self.slope, tuple(SLOPES))
        for name, known in SLIDERS.items():
            value = getattr(self, name)
            if known.whole and isinstance(value, float) and value.is_integer():
                value = int(value)  # browsers send all numbers as floats
            object.__setattr__(self, name, known.checked(name, value))
        if self.n_branches > self.n_inputs:
            raise refuse("n_branches", self.n_branches, f"at most n_inputs = {self.n_inputs}")
        if self.train_branches > self.train_inputs:
            raise refuse("train_branches", self.train_branches, f"at most train_inputs = {self.train_inputs}")
        if self.curve:
            self._check_curve()
        elif self.nonlinearity in OF_CURVE or self.nonlinearity_2 in OF_CURVE:
            raise InvalidParameter("there is no curve yet: upload one first")

    def _check_curve(self) -> None:
        if not 2 <= len(self.curve) <= MOST_POINTS:
            raise InvalidParameter(f"a curve of {len(self.curve)} points is not allowed: 2 to {MOST_POINTS} are")
        if {len(point) for point in self.curve} not in ({2}, {3}):
            raise InvalidParameter("only some points of the curve have a standard error: give all or none")
        x, y, *errors = zip(*self.curve, strict=True)
        largest = max(map(abs, (*x, *y)))
        if largest > LARGEST_VALUE and not self.curve_unit:
            raise refuse("curve", largest, f"numbers up to {LARGEST_VALUE:g}: in model units the saturation is 1")
        gap = min(after - before for before, after in pairwise(x))
        if 0.0 < gap < SMALLEST_GAP:
            raise InvalidParameter(f"points must be at least {SMALLEST_GAP:g} apart in x; two are {gap:g} apart")
        if errors and not all(0.0 < error < float("inf") for error in errors[0]):
            raise refuse("curve", min(errors[0]), "a positive and finite standard error for each point")
        fitted_curve(self.curve, self.curve_unit, "tabulated")
        if max(y) - min(y) < SMALLEST_GAP or max(y) <= 0.0:
            raise InvalidParameter("the curve is flat or never positive: no neuron can learn with it")
        for kind in {self.nonlinearity, self.nonlinearity_2} & set(OF_CURVE):
            fitted_curve(self.curve, self.curve_unit, kind)

    def changed(self, changes: Mapping[str, Any]) -> Parameters:
        """These parameters with some of them replaced; raises for unknown names."""
        known = {parameter.name for parameter in fields(self)}
        for name in changes:
            if name not in known:
                raise refuse("parameter", name, "one of " + ", ".join(sorted(known)))
        return replace(self, **changes)

    @cached_property
    def g(self) -> Nonlinearity:
        """The dendritic non-linearity, of the basal branches if there are two kinds."""
        return self._g(self.nonlinearity, self.x_min, self.gamma)

    @cached_property
    def g_2(self) -> Nonlinearity:
        """The non-linearity of the apical branches."""
        return self._g(self.nonlinearity_2, self.x_min_2, self.gamma_2)

    def _g(self, kind: str, x_min: float, gamma: float) -> Nonlinearity:
        if kind == "polsky":
            return Polsky(x_min, gamma)
        if kind in OF_CURVE:
            return fitted_curve(self.curve, self.curve_unit, kind).nonlinearity
        return {"relu": ReLU(), "saturating_relu": SaturatingReLU(), "linear": Linear()}[kind]

    @property
    def kinds(self) -> tuple[Nonlinearity, ...]:
        """The non-linearities of all kinds of branches."""
        return (self.g, self.g_2) if self.populations == "2" else (self.g,)

    @property
    def reach(self) -> tuple[float, float]:
        """The allowed range of theta_s: the range of the output of the branches."""
        low, high = usual(SLIDERS["theta_s"])
        return max(low, *(g.range[0] for g in self.kinds)), min(high, *(g.range[1] for g in self.kinds))

    @property
    def neuron(self) -> NeuronSpec:
        """The neuron for the theory."""
        if self.populations == "1":
            return NeuronSpec(self.g, self.theta_d, self.theta_s, inhibition=self.inhibition(self.theta_d))
        first, second = self.inhibition(self.theta_d), self.inhibition(self.theta_d_2)
        basal = Branches(self.g, self.theta_d, fraction=1.0 - self.fraction_2, inhibition=first)
        apical = Branches(self.g_2, self.theta_d_2, fraction=self.fraction_2, length=self.length_2, inhibition=second)
        return NeuronSpec(populations=(basal, apical), theta_s=self.theta_s)

    @property
    def inhibited(self) -> bool:
        """Whether there are inhibitory synapses, enough of them to matter."""
        return self.inhibitory_share >= SMALLEST_SHARE

    def inhibition(self, theta_d: float) -> Inhibition | None:
        """The inhibitory synapses of branches with this threshold; None without any."""
        return Inhibition(self.inhibitory_share, self.inhibitory_drive * theta_d) if self.inhibited else None

    @property
    def cell(self) -> DendriticNeuron | NeuronSpec:
        """The neuron whose capacity is asked for, with its size; with inhibition theory has none."""
        return self.neuron if self.inhibited else DendriticNeuron(self.neuron, self.n_inputs, self.n_branches)

    @property
    def branch_size(self) -> float:
        """Synapses per branch, as far as the theory knows them."""
        return math.inf if self.inhibited else self.n_inputs / self.n_branches

    @property
    def task(self) -> TaskSpec:
        """The task for the theory."""
        return TaskSpec(self.f_in, self.f_out, self.kappa, self.branch_correlation)

    @property
    def units(self) -> Units:
        """Conversion to millivolts; a curve in millivolts determines the scale."""
        kind = self.nonlinearity
        if kind in OF_CURVE and self.curve_unit:
            return Units(self.n_inputs, self.n_branches, scale_mv=fitted_curve(self.curve, self.curve_unit, kind).scale)
        return Units(self.n_inputs, self.n_branches)

    @property
    def warning(self) -> str:
        """Warnings about the curve and about inhibition, if there are any."""
        warnings = [OF_INHIBITION] if self.inhibited else []
        if self.nonlinearity in OF_CURVE:
            warnings.append(fitted_curve(self.curve, self.curve_unit, self.nonlinearity).warning)
        return " ".join(filter(None, warnings))

    @property
    def finite_neuron(self) -> DendriticNeuron:
        """The neuron to train."""
        if self.populations != "1":
            raise InvalidParameter(
                "two kinds of branches cannot be trained here: choose all branches alike, or use dendrocap.train"
            )
        if self.inhibited:
            raise InvalidParameter(
                "inhibition cannot be trained here: set the share of inhibitory synapses to 0, or use dendrocap.train"
            )
        if self.nonlinearity == "linear":
            return LinearNeuron(self.theta_d, self.train_inputs)
        return DendriticNeuron(self.neuron, self.train_inputs, self.train_branches)

    @property
    def uses_surrogate(self) -> bool:
        """Whether a surrogate replaces g' in learning; a linear neuron needs none."""
        return self.slope == "surrogate" and self.nonlinearity != "linear"


SLIDERS = facts_of(Parameters)


def usual(known: Fact) -> tuple[float, float]:
    """The range of a slider."""
    assert known.usual is not None
    return known.usual


class FittedCurve(NamedTuple):
    """A measured curve as a non-linearity, the value that equals 1 in the model, and a warning."""

    nonlinearity: Nonlinearity
    scale: float
    warning: str = ""


FITTED: dict[tuple[object, ...], FittedCurve] = {}
MOST_FITTED = 64


def fitted_curve(curve: tuple[Point, ...], unit: str, kind: str) -> FittedCurve:
    """A measured curve as interpolated points, smoothed, or fitted with Polsky's function; fitted once."""
    if (curve, unit, kind) not in FITTED:
        remember({"curve": curve, "curve_unit": unit, "nonlinearity": kind}, _fitted(curve, unit, kind))
    return FITTED[curve, unit, kind]


def remember(changes: Mapping[str, object], fitted: FittedCurve) -> None:
    """Keep a fit, such as one that another process made; the oldest of too many goes."""
    FITTED[changes["curve"], changes["curve_unit"], changes["nonlinearity"]] = fitted
    if len(FITTED) > MOST_FITTED:
        del FITTED[next(iter(FITTED))]


def _fitted(curve: tuple[Point, ...], unit: str, kind: str) -> FittedCurve:
    x, y, *errors = (list(column) for column in zip(*curve, strict=True))
    scale = None if unit else 1.0
    if kind == "tabulated":
        top = max(y) if unit and max(y) > 0.0 else 1.0
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            table = Tabulated(tuple(a / top for a in x), tuple(b / top for b in y))
        return FittedCurve(table, top, "; ".join(str(one.message) for one in caught))
    if kind == "fitted":
        found = fit_nonlinearity(x, y, "polsky", scale=scale)
    else:
        found = fit_nonlinearity(x, y, "smooth", scale=scale, sem=errors[0] if errors else None)
    return FittedCurve(found.nonlinearity, found.scale)


# Conversion of parameters to the query of a web address, and back.
#
# A link holds every parameter, including an uploaded curve. Numbers are written with all digits, so that a shared page
# shows the same values. If two neurons are compared, the names of the second have the prefix ``b.``.

LONGEST = 16_000  # characters; a link with two of the longest curves needs most of it
SECOND_NEURON = "b."

# Parameters that must be checked together.
TOGETHER = (
    ("curve", "curve_unit", "nonlinearity", "nonlinearity_2"),
    ("n_inputs", "n_branches"),
    ("train_inputs", "train_branches"),
)


def to_query(parameters: Parameters) -> str:
    """The query of a link to these parameters, without the question mark."""
    values = {parameter.name: getattr(parameters, parameter.name) for parameter in fields(parameters)}
    values["curve"] = "~".join("_".join(map(repr, point)) for point in parameters.curve)
    return urlencode({name: str(value) for name, value in values.items() if value != ""})


def pair_query(first: Parameters, second: Parameters | None) -> str:
    """The query of a link to two neurons; for the second only the differences."""
    if second is None:
        return to_query(first)
    one, other = (dict(parse_qsl(to_query(neuron), keep_blank_values=True)) for neuron in (first, second))
    differing = {name: other.get(name, "") for name in {**one, **other} if one.get(name) != other.get(name)}
    marked = {f"{SECOND_NEURON}{name}": text for name, text in (differing or {"theta_d": other["theta_d"]}).items()}
    return f"{to_query(first)}&{urlencode(marked)}"


def pair_from_arguments(arguments: Mapping[str, Sequence[bytes]]) -> tuple[Parameters, Parameters | None, list[str]]:
    """The one or two neurons of a link, and the problems found in it."""
    plain = {name: values for name, values in arguments.items() if not name.startswith(SECOND_NEURON)}
    marked = {name[len(SECOND_NEURON) :]: values for name, values in arguments.items() if name not in plain}
    first, problems = from_arguments(plain)
    if not marked:
        return first, None, problems
    second, more = from_arguments({**plain, **marked})
    return first, second, [*problems, *(problem for problem in more if problem not in problems)]


def from_query(query: str) -> tuple[Parameters, list[str]]:
    """Like `from_arguments`, for a query given as one string."""
    arguments = parse_qs(query, keep_blank_values=True)
    return from_arguments({name: [value.encode() for value in values] for name, values in arguments.items()})


def from_arguments(arguments: Mapping[str, Sequence[bytes]]) -> tuple[Parameters, list[str]]:
    """The parameters of a link, as a web server provides them, and its problems; bad parameters keep their defaults."""
    if sum(len(name) + sum(map(len, values)) for name, values in arguments.items()) > LONGEST:
        return Parameters(), [f"the link is longer than {LONGEST} characters and was not read"]
    parameters, problems, values = Parameters(), [], {}
    for name, given in arguments.items():
        if name.startswith("bokeh-"):
            continue  # a parameter of the server itself
        try:
            values[name] = _value(name, given)
        except DendrocapError as error:
            problems.append(str(error))
    together = {name for group in TOGETHER for name in group}
    for group in (*TOGETHER, *((name,) for name in values if name not in together)):
        found = {name: values[name] for name in group if name in values}
        try:
            parameters = parameters.changed(found)
        except DendrocapError as error:
            problems.append(str(error))
            for name, value in found.items():  # one bad value must not discard the other
                with suppress(DendrocapError):
                    parameters = parameters.changed({name: value})
    return parameters, problems


def _value(name: str, values: Sequence[bytes]) -> object:
    try:
        (text,) = (value.decode("utf-8") for value in values)
    except UnicodeDecodeError:
        raise InvalidParameter(f"{_short(name)} is not text in UTF-8") from None
    except ValueError:
        raise InvalidParameter(f"{_short(name)} is given {len(values)} times") from None
    if name in SLIDERS:
        try:
            return int(text) if SLIDERS[name].whole else float(text)
        except ValueError:
            raise refuse(name, _short(text), "a whole number" if SLIDERS[name].whole else "a number") from None
    if name == "curve":
        return _points(text)
    if name not in {parameter.name for parameter in fields(Parameters)}:
        raise InvalidParameter(f"{_short(name)} is not a parameter of this page")
    return _short(text)


def _points(text: str) -> tuple[tuple[float, ...], ...]:
    try:
        points = tuple(tuple(map(float, point.split("_"))) for point in text.split("~") if point)
    except ValueError:
        points = ((),)
    if any(len(point) not in (2, 3) for point in points):
        raise refuse("curve", _short(text), "points like 0.0_0.0~1.0_1.0, or with errors 0.0_0.0_0.1~1.0_1.0_0.1")
    return points


def _short(text: str) -> str:
    """At most 40 characters of a text from outside, for a message."""
    return text if len(text) <= 40 else text[:40] + "…"


# Named neurons as starting points, each with the source of its numbers.


class Preset(NamedTuple):
    """A named neuron: its label on the page, the source of its numbers, and what differs from the standard neuron."""

    label: str
    source: str
    changes: Callable[[], dict[str, Any]] = dict


# What a preset sets, so that none of an earlier neuron remains.
OF_A_PRESET = (
    *("nonlinearity", "x_min", "gamma", "theta_d", "theta_s", "f_in", "f_out", "kappa", "branch_correlation"),
    *("inhibitory_share", "inhibitory_drive", "n_inputs", "n_branches"),
)


def preset(name: str) -> dict[str, Any]:
    """The parameters that a preset sets."""
    changes = PRESETS[choice("preset", name, tuple(PRESETS))].changes()
    return {parameter: getattr(Parameters(), parameter) for parameter in OF_A_PRESET} | changes


@lru_cache(maxsize=1)
def _song2005() -> dict[str, Any]:
    """Fitted on first use, not copied: the numbers are those of ``dendrocap reproduce fig6``."""
    from dendrocap.fitting.song2005 import PRINTED, compare_with_paper

    dendrites = compare_with_paper(n_bootstrap=0).paper_way.dendrites
    g, task, units = PRINTED.nonlinearity, PRINTED.task, PRINTED.units
    size = {"n_inputs": units.n_inputs, "n_branches": units.n_branches}
    thresholds = {"theta_d": dendrites.theta_d, "theta_s": dendrites.theta_s}
    return {"x_min": g.x_min, "gamma": g.gamma, **thresholds, "f_in": task.f_in, "f_out": task.f_out, **size}


PRESETS = {
    "paper": Preset("paper", "Fig. 2 of the paper: x_min = 0.33, γ = 15, θ_d = θ_s = ½, f = ½"),
    "song2005": Preset(
        "Song 2005 fit",
        "least squares on the histogram of the 931 EPSPs of Song et al. (2005), as in `dendrocap reproduce fig6`",
        _song2005,
    ),
    "linear": Preset("linear", "a neuron without dendrites, f = ½", lambda: {"nonlinearity": "linear"}),
}
