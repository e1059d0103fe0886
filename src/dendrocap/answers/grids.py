"""Grids of theoretical results in one call, as labelled arrays.

Any of the parameters can be a sequence; the result has one dimension for each. A point without a solution is NaN and
gives the reason in the variable ``reason``, so that one bad corner does not affect the rest of a grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
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
from dendrocap.theory.noise import Noise, noise_errors
from dendrocap.theory.patterns import HARD_MARGIN, Probit, Temperature
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
    "k": "count",
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

# Parameters of neuron and task, which every question takes.
SHAPES = tuple(name for name in SHAPE if name in FACTS)
OF_THE_MODEL = ("nonlinearity", "theta_d", "theta_s", *SHAPES, *TASK, *INHIBITION, "w_max", "ridge")

SIZES = ("n_inputs", "n_branches")

PRIORS: dict[str, Callable[[float], Any]] = {"w_max": Bounded, "ridge": Ridge}

CHANNELS: dict[str, Callable[[float], Any]] = {"temperature": Temperature, "output_noise": Probit}

# What can be varied, in the order in which it is named.
PARAMETERS: dict[str, Fact] = {"nonlinearity": Fact("non-linearity", unit="")} | {
    name: FACTS[name]
    for name in (
        *OF_THE_MODEL[1:], "alpha", "rsb", "branch_size", *SIZES, "flips", "synaptic", "gamma_ce", *CHANNELS,
        "reference_kappa", "distance",
    )
}  # fmt: skip

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
        The numbers of `CapacitySolution`, with ``rsb`` also those of breaking, and ``reason``, empty if there
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

    def limit(at: NeuronSpec, task: TaskSpec, rsb: object = 0, branch_size: float | None = None) -> float:
        return stability_limit(at, task, branch_size=branch_size).alpha  # the same for any number of steps

    limits = np.full(curve.alpha_c.shape, np.nan)
    for point in _points(limit, ("rsb", "branch_size"), neuron, task, parameters):
        limits[point.at] = np.nan if point.solution is None else point.solution
    return curve.assign(alpha_at=(curve.alpha_c.dims, limits, {"units": "patterns per synapse"}))


def capacity_points(neuron: NeuronSpec, task: TaskSpec | None = None, **parameters: Any) -> Iterator[Point]:
    """The points of `capacity_curve` one by one, as they are solved."""
    own = ("rsb", "branch_size")
    if "alpha" in parameters:
        known = ", ".join([*OF_THE_MODEL, *own])
        raise refuse("parameter", "alpha", f"one of {known}: a capacity is a load; saddle_point_curve takes alpha")
    neighbours: dict[Any, Any] = {}  # the last solution with broken symmetry, by number of steps

    def solve(at: NeuronSpec, task: TaskSpec, rsb: int | str = 0, branch_size: float | None = None) -> Any:
        if rsb == 0:
            return critical_capacity(at, task, branch_size=branch_size)
        kind = (rsb, branch_size is None)  # only a neighbour of the same kind can be a starting point
        start = neighbours.get(kind)
        neighbours[kind] = critical_capacity(at, task, rsb=rsb, branch_size=branch_size, start=start)
        return neighbours[kind]

    return _points(solve, own, neuron, task, parameters)


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
    solve = partial(capacity, accuracy=accuracy, seed=seed, callback=callback)
    return _points(solve, SIZES, neuron, task, parameters)


def noise_points(neuron: NeuronSpec, task: TaskSpec | None = None, **parameters: Any) -> Iterator[Point]:
    """Errors under noise of several states, over a grid with ``alpha``, ``flips``, ``synaptic`` and ``gamma_ce``."""
    return _points(noise_errors, (*SIZES, "alpha", "flips", "synaptic", "gamma_ce"), neuron, task, parameters)


def learned_points(neuron: NeuronSpec, task: TaskSpec | None = None, **parameters: Any) -> Iterator[Point]:
    """Learned states over a grid with ``alpha`` and ``gamma_ce``."""
    return _points(learned_state, ("alpha", "gamma_ce"), neuron, task, parameters)


def local_points(neuron: NeuronSpec, task: TaskSpec | None = None, **parameters: Any) -> Iterator[Point]:
    """Local entropies over a grid with ``alpha``, ``reference_kappa`` and ``distance``, which is best given last."""
    curve = lru_cache(maxsize=1)(LocalCurve)  # it knows its neighbours

    def solve(at: NeuronSpec, task: TaskSpec, alpha: float, distance: float, reference_kappa: Any = None) -> Any:
        return on_curve(curve(at, task, alpha, reference_kappa), distance)

    return _points(solve, ("alpha", "reference_kappa", "distance"), neuron, task, parameters)


def taught_points(
    neuron: NeuronSpec,
    task: TaskSpec | None = None,
    *,
    teacher: Callable[[NeuronSpec], NeuronSpec] | None = None,
    crossing: bool = False,
    **parameters: Any,
) -> Iterator[Point]:
    """Students over a grid with ``alpha``, with teachers made by ``teacher``; optionally with their crossing loads."""
    crossed = lru_cache(maxsize=None)(crossing_load)  # it does not depend on the load

    def solve(student: NeuronSpec, task: TaskSpec, alpha: float) -> Any:
        found = teacher_student(student, task, alpha=alpha, teacher=None if teacher is None else teacher(student))
        return found, crossed(found.teacher, task, found.neuron) if crossing else None

    return _points(solve, ("alpha",), neuron, task, parameters)


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
    if any(name in parameters for name in CHANNELS):
        fields = {**fields, "training_error": "1"}
    return _dataset(saddle_point_points(neuron, task, **parameters), fields, parameters)


def saddle_point_points(neuron: NeuronSpec, task: TaskSpec | None = None, **parameters: Any) -> Iterator[Point]:
    """The points of `saddle_point_curve` one by one, as they are solved."""
    if "alpha" not in parameters:
        raise InvalidParameter("alpha is missing: a saddle point belongs to a load alpha >= 0")

    def solve(at: NeuronSpec, task: TaskSpec, alpha: float, branch_size: float | None = None, **channel: float) -> Any:
        channel_of = _one_of(channel, CHANNELS, HARD_MARGIN)
        return saddle_point(at, task, alpha=alpha, branch_size=branch_size, channel=channel_of)

    return _points(solve, ("alpha", "branch_size", *CHANNELS), neuron, task, parameters)


def check_values(neuron: NeuronSpec, case: Mapping[str, Any]) -> None:
    """Raise for values that no point of a grid may have, whatever its other parameters are."""
    Noise(case.get("flips", 0.0), case.get("synaptic", 0.0))
    real_number("alpha", case.get("alpha", 0.0), 0.0)
    real_number("gamma_ce", case.get("gamma_ce", 1.0), 0.0, low_open=True)
    real_number("reference_kappa", case.get("reference_kappa", 0.0), 0.0)
    real_number("distance", case.get("distance", 1.0), CLOSEST)
    _one_of(case, CHANNELS, HARD_MARGIN)
    _specified(neuron, TaskSpec(), {name: value for name, value in case.items() if name in OF_THE_MODEL})


def _points(
    solve: Callable[..., Any], own: Collection[str], neuron: NeuronSpec, task: TaskSpec | None, parameters: Case
) -> Iterator[Point]:
    """``solve(neuron, task, **own)`` at every point; ``own`` names the parameters that belong to neither."""
    axes = {name: _axis(name, values) for name, values in parameters.items()}
    indices = product(*(range(len(values)) for values in axes.values()))
    for index, values in zip(indices, product(*axes.values()), strict=True):
        case = dict(zip(axes, values, strict=True))
        try:
            unknown = sorted(set(case).difference(OF_THE_MODEL, own))
            if unknown:
                raise refuse("parameter", unknown[0], "one of " + ", ".join([*OF_THE_MODEL, *own]))
            at: NeuronSpec | DendriticNeuron
            at, for_task = _specified(neuron, task or TaskSpec(), case)
            if any(name in case for name in SIZES):
                at = DendriticNeuron(at, *(_whole(name, case.get(name)) for name in SIZES))
            rest = {name: case[name] for name in own if name in case and name not in SIZES}
            yield Point(index, case, solve(at, for_task, **rest), "")
        except DendrocapError as error:
            yield Point(index, case, None, str(error))


def _specified(neuron: NeuronSpec, task: TaskSpec, case: Mapping[str, Any]) -> tuple[NeuronSpec, TaskSpec]:
    """The neuron and task with the parameters of one case."""
    g = case.get("nonlinearity", neuron.nonlinearity)
    shape = {name: case[name] for name in SHAPES if name in case}
    for name in shape:
        if name not in facts_of(type(g)):
            owners = " and ".join(kind.__name__ for kind in KINDS if name in facts_of(kind))
            raise InvalidParameter(f"{name} can be varied for {owners} only, not for {g!r}")
    g = replace(g, **shape) if shape else g
    theta = {name: case[name] for name in ("theta_d", "theta_s") if name in case}
    levels = {name: case[name] for name in TASK if name in case}
    inhibition = inhibition_from_flat(case) or neuron.inhibition
    prior = _one_of(case, PRIORS, neuron.prior)
    return replace(neuron, nonlinearity=g, inhibition=inhibition, prior=prior, **theta), replace(task, **levels)


def _one_of(case: Mapping[str, Any], kinds: Mapping[str, Callable[[float], Any]], usual: Any) -> Any:
    """What the one of several parameters that a case has makes; the usual thing if it has none."""
    given = [name for name in kinds if name in case]
    if len(given) > 1:
        raise InvalidParameter(f"{' and '.join(given)} are not allowed together: give one of them")
    return kinds[given[0]](case[given[0]]) if given else usual


def _whole(name: str, value: float | None) -> int:
    """A size as a whole number; ranges of sizes are given as floats."""
    if value is None:
        raise InvalidParameter(f"a neuron with a size needs {' and '.join(SIZES)}: {name} is missing")
    return round(real_number(name, value, 1.0))


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
