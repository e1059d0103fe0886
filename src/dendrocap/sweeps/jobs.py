"""The jobs of sweeps: built-in jobs, theory functions, and functions of the user.

A job is a function with keyword arguments. Five of its parameters are filled in if the sweep does not give them:
``neuron``, ``task`` and ``recipe`` are built from flat parameters such as ``theta_d``, ``f_in`` and ``learning_rate``,
starting from the default of the parameter if it has one; ``seed`` is the seed of the cell, and ``rng`` a generator
derived from it. The function returns a mapping, a dataclass or a number, which becomes the metrics of the cell.
"""

from __future__ import annotations

import inspect
import math
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, cached_property
from importlib import import_module
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np

from dendrocap.errors import InvalidParameter
from dendrocap.sweeps.sweep import Cell, Sweep
from dendrocap.validation import refuse

# The types of a job's parameters, from its annotations, and conversion of values to them.
#
# A TOML file may contain 3 or 3.0, and a range of numbers may consist of floats. If the job annotates a parameter,
# whole numbers are converted to integers or floats as required, and values of the wrong type are refused before
# anything runs.

SCALARS = (bool, int, float, str, type(None))

WORDS = {bool: "True or False", int: "a whole number", float: "a finite number", str: "a text", type(None): "nothing"}


def types_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Annotations of a function or of the fields of a class; empty if they cannot be resolved."""
    try:
        return get_type_hints(function)
    except Exception:  # names that only type checkers know, or any error in a user's module
        return {}


def fitted(name: str, value: Any, hint: Any) -> Any:
    """The value, converted to the type of its parameter; raises if it cannot be; unchanged if the type is unknown."""
    if type(value) is hint:
        return value
    options = [option for option in _options(hint) if option in SCALARS]
    sequence = next((option for option in _options(hint) if _is_sequence(option)), None)
    if not options and sequence is None:
        return value
    if isinstance(value, list):
        if sequence is None:
            raise refuse(name, value, _words(options))
        inside = get_args(sequence)
        return [fitted(name, item, inside[0]) for item in value] if inside else value
    if len(_options(hint)) > len(options) + (sequence is not None):
        return value  # the annotation also allows other types, which plain data may represent
    if isinstance(value, bool | str):
        if type(value) in options:
            return value
    elif int in options and (isinstance(value, int) or value.is_integer()):
        return int(value)
    elif float in options:
        return float(value)
    raise refuse(name, value, _words(options) if options else "a list")


def _options(hint: Any) -> Sequence[Any]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _is_sequence(hint: Any) -> bool:
    origin = get_origin(hint) or hint
    return isinstance(origin, type) and issubclass(origin, Sequence) and origin is not str


def _words(options: Sequence[Any]) -> str:
    return " or ".join(WORDS[option] for option in options if option is not type(None))


# Names are resolved on use, so that each job loads only the layers that it needs.
BUILT_IN = {
    "capacity": "dendrocap.theory:critical_capacity",
    "saddle_point": "dendrocap.theory:saddle_point",
    "noise_error": "dendrocap.theory.noise:noise_errors",
    "learned_state": "dendrocap.theory:learned_state",
    "teacher_student": "dendrocap.sweeps.library:teacher_student",
    "train": "dendrocap.sweeps.library:train",
    "solve": "dendrocap.sweeps.library:solve",
    "bethe_free_entropy": "dendrocap.sweeps.library:bethe_free_entropy",
    "algorithmic_capacity": "dendrocap.sweeps.library:algorithmic_capacity",
    "learning_speed": "dendrocap.sweeps.library:learning_speed",
    "learned_weights": "dendrocap.sweeps.library:learned_weights",
    "robustness": "dendrocap.sweeps.library:robustness",
    "generalise": "dendrocap.sweeps.library:both_neurons",
    "image_error": "dendrocap.sweeps.library:image_error",
    "image_logistic": "dendrocap.sweeps.library:image_logistic",
}

# Objects that are built from flat parameters.
BUILT = ("neuron", "task", "recipe")

FILLED_IN = (*BUILT, "seed", "rng")


class Flat(NamedTuple):
    """How an object is built: the flat parameters that it takes, their types as far as they are known, and by what."""

    names: Sequence[str]
    types: dict[str, Any]
    build: Callable[..., Any]


@cache
def flat(name: str) -> Flat:
    """How a neuron, task or recipe is built; its modules are loaded only for jobs that need it."""
    if name == "recipe":
        from dendrocap.learning.recipe import RECIPE, ExponentialAnnealing, HalveOnPlateau, Recipe
        from dendrocap.learning.rules import SGD, Lorentzian

        kinds: Sequence[type] = (SGD, HalveOnPlateau, ExponentialAnnealing, Recipe)
        return Flat(RECIPE, _flat_types(kinds, surrogate_=Lorentzian), Recipe.from_flat)
    from dendrocap.model.dendritic_neuron import DendriticNeuron
    from dendrocap.model.flat import KINDS, NEURON, TASK, neuron_from_flat, task_from_flat
    from dendrocap.model.neuron import Inhibition, TaskSpec

    if name == "task":
        return Flat(TASK, _flat_types([TaskSpec]), task_from_flat)
    own = {"nonlinearity": str, "theta_d": float, "theta_s": float}
    return Flat(NEURON, {**_flat_types([*KINDS, DendriticNeuron], inhibitory_=Inhibition), **own}, neuron_from_flat)


def _flat_types(kinds: Sequence[type], **prefixed: type) -> dict[str, Any]:
    """Types of the fields of classes, the first that has a field first; the fields of some have a prefix."""
    plain = {name: hint for kind in reversed(kinds) for name, hint in types_of(kind).items()}
    return plain | {f"{first}{name}": hint for first, kind in prefixed.items() for name, hint in types_of(kind).items()}


@dataclass(frozen=True)
class Job:
    """A function, and the assignment of a cell's parameters to its arguments."""

    name: str
    function: Callable[..., Any]
    arguments: Mapping[str, inspect.Parameter]

    def __call__(self, cell: Cell) -> dict[str, Any]:
        """The metrics of a cell."""
        given = self.fitted(cell.parameters)
        for name, (names, _, build) in self.built.items():
            if name not in given:
                own = {key: given.pop(key) for key in names if key in given and key not in self.arguments}
                default = self.arguments[name].default
                given[name] = build(own, None if default is inspect.Parameter.empty else default)
        if "seed" in self.arguments:
            given["seed"] = cell.seed
        if "rng" in self.arguments and "rng" not in given:
            from dendrocap.model.patterns import generator_for

            given["rng"] = generator_for("job", cell.seed)
        return metrics_of(self.function(**given))

    @cached_property
    def built(self) -> dict[str, Flat]:
        """Those of its arguments that are built from flat parameters."""
        return {name: flat(name) for name in BUILT if name in self.arguments}

    @cached_property
    def types(self) -> dict[str, Any]:
        """Types of its parameters, from annotations, including those from which neuron, task and recipe are built."""
        built = {key: how.types[key] for how in self.built.values() for key in how.names if key in how.types}
        return {**built, **types_of(self.function)}

    def fitted(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters converted to the types that the function asks for; raises for a value of the wrong type."""
        types = self.types
        return {
            name: fitted(name, value, types[name]) if name in types else value for name, value in parameters.items()
        }

    def described(self) -> list[dict[str, str]]:
        """The parameters that a sweep can give, with type and default; those that are filled in are left out."""
        own = {name: p for name, p in self.arguments.items() if name not in FILLED_IN and p.kind is not p.VAR_KEYWORD}
        rows = {name: "needed" if p.default is p.empty else repr(p.default) for name, p in own.items()}
        for key in (key for how in self.built.values() for key in how.names):
            rows.setdefault(key, "")
        return [
            {"parameter": name, "type": _type_name(self.types.get(name)), "default": default}
            for name, default in rows.items()
        ]

    def accepts(self, names: frozenset[str]) -> None:
        """Raise for parameters that the function does not have, and for required ones that are missing."""
        known = set(self.arguments)
        for name, how in self.built.items():
            if name not in names:
                known |= set(how.names)
        open_ended = any(p.kind is p.VAR_KEYWORD for p in self.arguments.values())
        unknown = sorted(names - known)
        if unknown and not open_ended:
            allowed = ", ".join(sorted(known - set(FILLED_IN)))
            raise InvalidParameter(f"{unknown[0]} is not a parameter of the job {self.name}; allowed are {allowed}")
        for name, parameter in self.arguments.items():
            optional = parameter.default is not parameter.empty or parameter.kind is parameter.VAR_KEYWORD
            if not (optional or name in names or name in FILLED_IN):
                raise InvalidParameter(f"the job {self.name} needs a value for {name}")


def _type_name(kind: Any) -> str:
    return "" if kind is None else kind.__name__ if type(kind) is type else str(kind)


@cache
def job_named(name: str) -> Job:
    """The imported job with this name."""
    module_name, separator, attribute = BUILT_IN.get(name, name).partition(":")
    if not separator:
        raise InvalidParameter(
            f"job = {name!r} is not allowed: it must be one of {', '.join(BUILT_IN)}, or package.module:function"
        )
    try:
        function: Any = import_module(module_name)
        for part in attribute.split("."):
            function = getattr(function, part)
    except Exception as error:  # a user's module may raise anything
        here = "in this version of dendrocap" if name in BUILT_IN else f"with Python's path {sys.path}"
        raise InvalidParameter(f"the job {name} cannot be imported {here}: {error!r}") from error
    try:
        return Job(name, function, inspect.signature(function).parameters)
    except (TypeError, ValueError):
        raise InvalidParameter(f"the job {name} must be a function with named parameters, not {function!r}") from None


def check(sweep: Sweep) -> None:
    """Raise before anything runs if the job of a sweep cannot be imported or does not take its parameters."""
    job = job_named(sweep.job)
    job.accepts(frozenset(sweep.parameters) | frozenset(sweep.grid))
    job.fitted(sweep.parameters)
    for axis, values in sweep.grid.items():
        for value in values:
            job.fitted({axis: value})


def metrics_of(result: Any) -> dict[str, Any]:
    """The result of a job as named plain data.

    Of a dataclass, what is in its row, or else the fields that are numbers, strings, booleans or arrays of numbers are
    kept; a mapping must consist of such values; any other single value of this kind is called ``value``.
    """
    if isinstance(result, Mapping):
        return {str(name): _metric(name, value) for name, value in result.items()}
    if is_dataclass(result) and not isinstance(result, type):
        named = (
            result.as_row() if hasattr(result, "as_row") else {f.name: getattr(result, f.name) for f in fields(result)}
        )
        if hasattr(result, "estimate"):  # the name of the estimate of a capacity
            named["estimate"] = result.estimate
        return {name: _metric(name, value) for name, value in named.items() if _is_plain(value)}
    return {"value": _metric("value", result)}


def _is_plain(value: Any) -> bool:
    try:
        _metric("", value)
    except InvalidParameter:
        return False
    return True


def _metric(name: Any, value: Any) -> Any:
    """A metric as plain data; arrays become lists, and numbers keep all digits."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None:
        return math.nan
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple) and value:
        return [_metric(name, item) for item in value]
    raise InvalidParameter(f"the metric {name} = {value!r} is not a number, a text, a boolean or a list of these")
