"""Grids of theoretical results in one call, as labelled arrays.

Any of the parameters can be a sequence; the result has one dimension for each. A point without a solution is NaN and
gives the reason in the variable ``reason``, so that one bad corner does not affect the rest of a grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dendrocap.answers.capacity import capacity
from dendrocap.errors import DendrocapError, InvalidParameter
from dendrocap.model import Bounded, DendriticNeuron, NeuronSpec, Nonlinearity, Ridge, TaskSpec
from dendrocap.model.flat import FACTS, INHIBITION, KINDS, SHAPE, TASK, inhibition_from_flat
from dendrocap.model.neuron import check_spec
from dendrocap.theory.critical_capacity import critical_capacity
from dendrocap.theory.learned import learned_state
from dendrocap.theory.local_entropy import CLOSEST, LocalCurve, on_curve
from dendrocap.theory.noise import Noise
from dendrocap.theory.noise_error import noise_errors
from dendrocap.theory.patterns import HARD_MARGIN, Channel, Probit, Temperature
from dendrocap.theory.saddle_point import saddle_point, stability_limit
from dendrocap.theory.teacher_student import crossing_load, teacher_student
from dendrocap.validation import Fact, facts_of, real_number, refuse

if TYPE_CHECKING:
    import xarray

# Quantities kept of each solution, with their units.
CAPACITY_FIELDS = {
    "alpha_c": "patterns per synapse",
    "silent_fraction": "1",
    "B": "W_star",
    "W_star": "model weight",
    "W_bar": "model weight",
    "Q": "model weight squared",
    "A": "1",
    "C": "model weight squared",
    "M_bar": "model weight",
    "mean_shift": "somatic input",
    "preactivation_mean": "branch input",
    "preactivation_sd": "branch input",
    "Gamma0": "somatic input squared",
    "Gamma1": "1",
    "residual": "1",
    "iterations": "count",
}

# The same with broken replica symmetry, which has no B and no single weight scale.
BROKEN_FIELDS = {name: unit for name, unit in CAPACITY_FIELDS.items() if name not in ("B", "W_star", "C")} | {
    "effective_levels": "count",
    "quadrature_error": "1",
    "steps_error": "1",
}

SADDLE_POINT_FIELDS = {
    "Q": "model weight squared",
    "q": "model weight squared",
    "dq": "model weight squared",
    "mean_shift": "somatic input",
    "dM": "model weight",
    "M_bar": "model weight",
    "Q_hat": "1 / model weight squared",
    "q_hat": "1 / model weight squared",
    "M_hat": "1 / model weight",
    "free_entropy": "nats per synapse",
    "entropic_term": "nats per synapse",
    "energetic_term": "nats per pattern",
    "stability": "1",
    "residual": "1",
    "error": "1",
    "iterations": "count",
}

# What can be varied, in the order in which it is named.
PARAMETERS: dict[str, Fact] = {"nonlinearity": Fact("non-linearity", unit="")} | {
    name: FACTS[name]
    for name in (
        "theta_d", "theta_s", *SHAPE, *TASK, *INHIBITION, "w_max", "ridge", "alpha", "rsb", "branch_size", "n_inputs",
        "n_branches", "flips", "synaptic", "gamma_ce", "temperature", "output_noise", "reference_kappa", "distance",
    )
    if name in FACTS
}  # fmt: skip

# Sizes of a neuron: used by the best estimate and by noise, not by the paper's quantities.
SIZES = ("n_inputs", "n_branches")

# Noise, the loss that a learned state minimises, and where solutions around another are counted.
OF_STATES = ("flips", "synaptic", "gamma_ce", "reference_kappa", "distance")

OF_CHANNELS = ("temperature", "output_noise")  # how patterns count at a saddle point

Case = dict[str, Any]


class Point(NamedTuple):
    """One point of a grid: its parameters, and its solution or the reason why there is none."""

    at: tuple[int, ...]
    case: Case
    solution: Any
    reason: str


def capacity_curve(
    neuron: NeuronSpec, task: TaskSpec | None = None, *, stability: bool = False, **parameters: Any
) -> xarray.Dataset:
    """Critical capacity over a grid of parameters.

    Parameters
    ----------
    neuron, task : NeuronSpec, TaskSpec
        All parameters that are not varied.
    stability : bool
        Whether to add ``alpha_at``, the load above which replica symmetry is unstable (`stability_limit`): infinite if
        it is stable up to capacity, NaN if it was not found.
    **parameters : sequence
        Values of ``theta_d``, ``theta_s``, ``x_min``, ``gamma``, ``f_in``, ``f_out``, ``kappa``,
        ``branch_correlation``, ``inhibitory_share``, ``inhibitory_drive``, ``inhibitory_f_in``, ``nonlinearity`` or
        ``rsb``, the steps of replica symmetry breaking, ``branch_size``, ``w_max``, the largest weight, or ``ridge``,
        the strength of a preference for small weights; each becomes a dimension, in the given order.

    Returns
    -------
    xarray.Dataset
        The numbers of `CapacitySolution`, or with ``rsb`` those of `BrokenCapacity`, and ``reason``, empty if there
        is a solution. Bounded weights also have a ``saturated_fraction``.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky
    >>> curve = capacity_curve(NeuronSpec(Polsky(), 0.5, 0.5), theta_d=[0.05, 0.5], theta_s=[0.5, 1.5])
    >>> curve.alpha_c.round(4).values.tolist()
    [[1.2997, nan], [4.9513, nan]]
    >>> "strictly between 0 and 1" in str(curve.reason[0, 1].item())
    True
    """
    check_spec(neuron)
    fields = BROKEN_FIELDS if "rsb" in parameters else CAPACITY_FIELDS
    if "w_max" in parameters or neuron.prior.w_max < math.inf:
        fields = {**fields, "saturated_fraction": "1"}
    curve = _dataset(capacity_points(neuron, task, **parameters), fields, parameters)
    if not stability:
        return curve
    limits = np.full(curve.alpha_c.shape, np.nan)
    for point in _points(lambda case: _limit_of_stability(neuron, task, case), parameters):
        limits[point.at] = np.nan if point.solution is None else point.solution
    return curve.assign(alpha_at=(curve.alpha_c.dims, limits, {"units": "patterns per synapse"}))


def _limit_of_stability(neuron: NeuronSpec, task: TaskSpec | None, case: Case) -> float:
    """The load at which replica symmetry becomes unstable, for any number of steps of breaking."""
    return stability_limit(*specified(neuron, task or TaskSpec(), case), branch_size=case.get("branch_size")).alpha


def capacity_points(neuron: NeuronSpec, task: TaskSpec | None = None, **parameters: Any) -> Iterator[Point]:
    """The points of `capacity_curve` one by one, as they are solved."""
    if "alpha" in parameters:
        known = [name for name in PARAMETERS if name not in ("alpha", *SIZES, *OF_CHANNELS)]
        raise refuse(
            "parameter", "alpha", f"one of {', '.join(known)}: a capacity is a load; saddle_point_curve takes alpha"
        )
    neighbours: dict[Any, Any] = {}  # the last solution with broken symmetry, by number of steps

    def solve(case: Case) -> Any:
        at, rsb = specified(neuron, task or TaskSpec(), case), case.get("rsb", 0)
        length = case.get("branch_size")
        if rsb == 0:
            return critical_capacity(*at, branch_size=length)
        kind = (rsb, length is None)  # only a neighbour of the same kind can be a starting point
        neighbours[kind] = critical_capacity(*at, rsb=rsb, branch_size=length, start=neighbours.get(kind))
        return neighbours[kind]

    return _points(solve, parameters)


def best_points(
    neuron: NeuronSpec,
    task: TaskSpec | None = None,
    *,
    accuracy: str = "best",
    seed: int = 0,
    callback: Callable[[float, str], object] | None = None,
    **parameters: Any,
) -> Iterator[Point]:
    """Best estimates of `capacity` over a grid, in which ``n_inputs`` and ``n_branches`` can also vary."""

    def solve(case: Case) -> Any:
        return capacity(*_sized(neuron, task, case), accuracy=accuracy, seed=seed, callback=callback)

    return _points(solve, parameters)


def noise_points(neuron: NeuronSpec, task: TaskSpec | None = None, **parameters: Any) -> Iterator[Point]:
    """Errors under noise of several states, over a grid with ``alpha``, ``flips``, ``synaptic`` and ``gamma_ce``."""

    def solve(case: Case) -> Any:
        own = {name: case[name] for name in ("alpha", "flips", "synaptic", "gamma_ce") if name in case}
        return noise_errors(*_sized(neuron, task, _without_states(case)), **own)

    return _points(solve, parameters)


def learned_points(neuron: NeuronSpec, task: TaskSpec | None = None, **parameters: Any) -> Iterator[Point]:
    """Learned states over a grid with ``alpha`` and ``gamma_ce``."""

    def solve(case: Case) -> Any:
        at = specified(neuron, task or TaskSpec(), _without_states(case))
        return learned_state(*at, alpha=case["alpha"], gamma_ce=case["gamma_ce"])

    return _points(solve, parameters)


def local_points(neuron: NeuronSpec, task: TaskSpec | None = None, **parameters: Any) -> Iterator[Point]:
    """Local entropies over a grid with ``alpha``, ``reference_kappa`` and ``distance``, which is best given last."""
    last: dict[Any, LocalCurve] = {}  # it knows its neighbours

    def solve(case: Case) -> Any:
        at = specified(neuron, task or TaskSpec(), _without_states(case))
        place = (*at, case["alpha"], case.get("reference_kappa"))
        if place not in last:
            last.clear()
            last[place] = LocalCurve(*place)
        return on_curve(last[place], case["distance"])

    return _points(solve, parameters)


def taught_points(
    neuron: NeuronSpec,
    task: TaskSpec | None = None,
    *,
    teacher: Callable[[NeuronSpec], NeuronSpec] | None = None,
    crossing: bool = False,
    **parameters: Any,
) -> Iterator[Point]:
    """Students over a grid with ``alpha``, with teachers made by ``teacher``; optionally with their crossing loads."""
    known: dict[Any, float] = {}  # it does not depend on the load

    def solve(case: Case) -> Any:
        student, at = specified(neuron, task or TaskSpec(), case)
        found = teacher_student(student, at, alpha=case["alpha"], teacher=None if teacher is None else teacher(student))
        if not crossing:
            return found, None
        pair = (found.neuron, found.teacher, at)
        if pair not in known:
            known[pair] = crossing_load(found.teacher, at, found.neuron)
        return found, known[pair]

    return _points(solve, parameters)


def _without_states(case: Case) -> Case:
    return {name: value for name, value in case.items() if name not in OF_STATES}


def _sized(neuron: NeuronSpec, task: TaskSpec | None, case: Case) -> tuple[NeuronSpec | DendriticNeuron, TaskSpec]:
    """The neuron with its size, if the case gives one, and the task."""
    sizes = {name: case[name] for name in SIZES if name in case}
    rest = {name: value for name, value in case.items() if name not in SIZES}
    spec, at = specified(neuron, task or TaskSpec(), rest)
    return DendriticNeuron(spec, *(_whole(name, sizes.get(name)) for name in SIZES)) if sizes else spec, at


def saddle_point_curve(neuron: NeuronSpec, task: TaskSpec | None = None, **parameters: Any) -> xarray.Dataset:
    """Order parameters and free entropy over a grid of parameters that includes ``alpha``.

    Parameters
    ----------
    neuron, task : NeuronSpec, TaskSpec
        All parameters that are not varied.
    **parameters : sequence
        ``alpha`` and any of the parameters of `capacity_curve`; also ``temperature`` or ``output_noise``, the T of a
        `Temperature` or the sigma of a `Probit`.

    Returns
    -------
    xarray.Dataset
        The numbers of `SaddlePoint` and ``reason``, empty if there is a solution. With a channel that allows
        errors also the ``training_error``.

    Examples
    --------
    >>> from dendrocap import Linear, NeuronSpec
    >>> curve = saddle_point_curve(NeuronSpec(Linear(), 0.5, 0.5), alpha=[0.0, 0.5, 1.5])
    >>> curve.Q.round(6).values.tolist()
    [2.0, 2.543081, nan]
    """
    check_spec(neuron)
    fields = SADDLE_POINT_FIELDS
    if any(name in parameters for name in OF_CHANNELS):
        fields = {**fields, "training_error": "1"}
    return _dataset(saddle_point_points(neuron, task, **parameters), fields, parameters)


def saddle_point_points(neuron: NeuronSpec, task: TaskSpec | None = None, **parameters: Any) -> Iterator[Point]:
    """The points of `saddle_point_curve` one by one, as they are solved."""
    if "alpha" not in parameters:
        raise InvalidParameter("alpha is missing: a saddle point belongs to a load alpha >= 0")

    def solve(case: Case) -> Any:
        own = {name: value for name, value in case.items() if name not in OF_CHANNELS}
        at = specified(neuron, task or TaskSpec(), own)
        return saddle_point(*at, alpha=case["alpha"], branch_size=case.get("branch_size"), channel=_channel(case))

    return _points(solve, parameters)


def specified(neuron: NeuronSpec, task: TaskSpec, case: Mapping[str, Any]) -> tuple[NeuronSpec, TaskSpec]:
    """The neuron and task with the parameters of one case."""
    known = [name for name in PARAMETERS if name not in (*SIZES, *OF_STATES, *OF_CHANNELS)]
    unknown = set(case) - set(known)
    if unknown:
        raise refuse("parameter", sorted(unknown)[0], "one of " + ", ".join(known))
    real_number("alpha", case.get("alpha", 0.0), 0.0)  # belongs to neither, but is checked in the same way
    shape = {name: case[name] for name in SHAPE if name in case}
    g = case.get("nonlinearity", neuron.nonlinearity)
    for name in shape:
        if name not in facts_of(type(g)):
            owners = " and ".join(kind.__name__ for kind in KINDS if name in facts_of(kind))
            raise InvalidParameter(f"{name} can be varied for {owners} only, not for {g!r}")
    g = replace(g, **shape) if shape else g
    theta = {name: case[name] for name in ("theta_d", "theta_s") if name in case}
    levels = {name: case[name] for name in ("f_in", "f_out", "kappa", "branch_correlation") if name in case}
    inhibition = inhibition_from_flat(case) or neuron.inhibition
    prior = _one_of(case, {"w_max": Bounded, "ridge": Ridge}, neuron.prior)
    return replace(neuron, nonlinearity=g, inhibition=inhibition, prior=prior, **theta), replace(task, **levels)


def _channel(case: Case) -> Channel:
    """How patterns count in one case."""
    channel: Channel = _one_of(case, {"temperature": Temperature, "output_noise": Probit}, HARD_MARGIN)
    return channel


def _one_of(case: Mapping[str, Any], kinds: Mapping[str, Callable[[float], Any]], usual: Any) -> Any:
    """What the one of several parameters that a case has makes; the usual thing if it has none."""
    given = [name for name in kinds if name in case]
    if len(given) > 1:
        raise InvalidParameter(f"{' and '.join(given)} are not allowed together: give one of them")
    return kinds[given[0]](case[given[0]]) if given else usual


def check_values(neuron: NeuronSpec, case: Mapping[str, Any]) -> None:
    """Raise for values that no point of a grid may have, whatever its other parameters are."""
    Noise(case.get("flips", 0.0), case.get("synaptic", 0.0))
    real_number("gamma_ce", case.get("gamma_ce", 1.0), 0.0, low_open=True)
    real_number("reference_kappa", case.get("reference_kappa", 0.0), 0.0)
    real_number("distance", case.get("distance", 1.0), CLOSEST)
    _channel(dict(case))
    others = (*SIZES, *OF_STATES, *OF_CHANNELS)
    specified(neuron, TaskSpec(), {name: value for name, value in case.items() if name not in others})


def _whole(name: str, value: float | None) -> int:
    """A size as a whole number; ranges of sizes are given as floats."""
    if value is None:
        raise InvalidParameter(f"a neuron with a size needs {' and '.join(SIZES)}: {name} is missing")
    return round(real_number(name, value, 1.0))


def _points(solve: Callable[[Case], Any], parameters: Mapping[str, Any]) -> Iterator[Point]:
    axes = {name: _axis(name, values) for name, values in parameters.items()}
    indices = product(*(range(len(values)) for values in axes.values()))
    for index, values in zip(indices, product(*axes.values()), strict=True):
        case = dict(zip(axes, values, strict=True))
        try:
            yield Point(index, case, solve(case), "")
        except DendrocapError as error:
            yield Point(index, case, None, str(error))


def _dataset(points: Iterator[Point], fields: Mapping[str, str], parameters: Mapping[str, Any]) -> xarray.Dataset:
    """All points as labelled arrays; ``fields`` names the quantities kept of each solution, with their units."""
    import xarray

    axes = {name: _axis(name, values) for name, values in parameters.items()}
    shape = tuple(len(values) for values in axes.values())
    numbers: dict[str, Any] = {
        field: np.zeros(shape, dtype=np.int64) if unit == "count" else np.full(shape, np.nan)
        for field, unit in fields.items()
    }
    reasons = np.full(shape, "", dtype=object)
    for point in points:
        reasons[point.at] = point.reason
        if point.solution is not None:
            for field, array in numbers.items():
                array[point.at] = getattr(point.solution, field, 0 if fields[field] == "count" else np.nan)
    data: dict[str, Any] = {field: (tuple(axes), array, {"units": fields[field]}) for field, array in numbers.items()}
    data["reason"] = (tuple(axes), reasons.astype(str), {"long_name": "why there is no answer"})
    coordinates = {name: (name, _labels(values), {"units": PARAMETERS[name].unit}) for name, values in axes.items()}
    return xarray.Dataset(data, coordinates)


def _axis(name: str, values: Any) -> Sequence[Any]:
    if name not in PARAMETERS:
        raise refuse("parameter", name, "one of " + ", ".join(PARAMETERS))
    if isinstance(values, Nonlinearity) or (np.ndim(values) == 0 and not isinstance(values, Sequence)):
        values = [values]
    if isinstance(values, str):
        values = [values]
    listed = list(values) if name in ("nonlinearity", "rsb") else np.asarray(values, dtype=np.float64).ravel().tolist()
    if not listed:
        raise refuse(name, values, "a number or a sequence of at least one")
    return listed


def _labels(values: Sequence[Any]) -> list[Any]:
    """Coordinates: numbers unchanged; non-linearities by name, or in full if names repeat."""
    if not isinstance(values[0], Nonlinearity):
        return [str(value) for value in values] if "full" in values else list(values)
    names = [g.name for g in values]
    return names if len(set(names)) == len(names) else [repr(g) for g in values]
