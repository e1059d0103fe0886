"""What a sweep can run: built-in tasks, theory functions, and functions of the user.

A task is a function with keyword arguments. Three names among its parameters are filled in if the sweep does not
give them: ``neuron`` and ``task`` are built from flat parameters such as ``theta_d`` and ``f_in``, and ``seed`` (a
`numpy.random.SeedSequence`) or ``rng`` (a generator) carries the cell's own randomness. What the function returns,
a mapping, a dataclass or a number, becomes the cell's metrics.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from dendrocap.errors import InvalidParameter
from dendrocap.experiments.sweep import Cell, Sweep
from dendrocap.model import DendriticNeuron, LinearNeuron, NeuronSpec, TaskSpec, named_nonlinearity

__all__ = ["BUILT_IN", "Task", "check", "metrics_of", "task_named"]

# Names are resolved on use: a layer that is not there yet costs an error message, not an import.
BUILT_IN = {
    "capacity": "dendrocap.theory:critical_capacity",
    "saddle_point": "dendrocap.theory:saddle_point",
    "train": "dendrocap.experiments.learning_tasks:train",
    "algorithmic_capacity": "dendrocap.experiments.learning_tasks:algorithmic_capacity",
    "learning_speed": "dendrocap.experiments.learning_tasks:learning_speed",
    "learned_weights": "dendrocap.experiments.learning_tasks:learned_weights",
    "robustness": "dendrocap.experiments.learning_tasks:robustness",
    "generalise": "dendrocap.experiments.image_tasks:generalise",
}

NEURON = ("nonlinearity", "x_min", "gamma", "theta_d", "theta_s", "n_inputs", "n_branches")
TASK = ("f_in", "f_out", "kappa")
FILLED_IN = ("neuron", "task", "seed", "rng")


@dataclass(frozen=True)
class Task:
    """A function, and which of a cell's parameters go where."""

    name: str
    function: Callable[..., Any]
    arguments: Mapping[str, inspect.Parameter]

    def __call__(self, cell: Cell) -> dict[str, Any]:
        """The metrics of a cell."""
        given, seed = dict(cell.parameters), cell.seed_sequence
        for name, build in (("neuron", neuron_from), ("task", task_from)):
            if self.wants(name, given):
                given[name] = build(given, self.arguments)
        if self.wants("seed", given):
            given["seed"] = seed
        if self.wants("rng", given):
            given["rng"] = np.random.default_rng(seed)
        return metrics_of(self.function(**given))

    def wants(self, name: str, given: Mapping[str, Any]) -> bool:
        """Whether the function has this parameter, and the sweep leaves it to us."""
        return name in self.arguments and name not in given

    def accepts(self, names: frozenset[str]) -> None:
        """Refuse parameters that the function does not have, and the lack of those that it needs."""
        known = set(self.arguments)
        for name, flat in (("neuron", NEURON), ("task", TASK)):
            if name in known and name not in names:
                known |= set(flat)
        open_ended = any(p.kind is p.VAR_KEYWORD for p in self.arguments.values())
        unknown = sorted(names - known)
        if unknown and not open_ended:
            allowed = ", ".join(sorted(known - set(FILLED_IN)))
            raise InvalidParameter(f"{unknown[0]} is not a parameter of the task {self.name}; it has {allowed}")
        for name, parameter in self.arguments.items():
            optional = parameter.default is not parameter.empty or parameter.kind is parameter.VAR_KEYWORD
            if not (optional or name in names or name in FILLED_IN):
                raise InvalidParameter(f"the task {self.name} needs a value for {name}")


@cache
def task_named(name: str) -> Task:
    """The task of this name, imported."""
    module_name, separator, attribute = BUILT_IN.get(name, name).partition(":")
    if not separator:
        raise InvalidParameter(
            f"task = {name!r} is not allowed: it must be one of {', '.join(BUILT_IN)}, or package.module:function"
        )
    try:
        function: Any = import_module(module_name)
        for part in attribute.split("."):
            function = getattr(function, part)
    except Exception as error:  # a user's module may raise anything
        here = "in this version of dendrocap" if name in BUILT_IN else f"with Python's path {sys.path}"
        raise InvalidParameter(f"the task {name} cannot be imported {here}: {error!r}") from error
    try:
        return Task(name, function, inspect.signature(function).parameters)
    except (TypeError, ValueError):
        raise InvalidParameter(f"the task {name} is not a function with named parameters but {function!r}") from None


def check(sweep: Sweep) -> None:
    """Refuse a sweep whose task cannot be imported or does not take its parameters, before anything runs."""
    task_named(sweep.task).accepts(frozenset(sweep.parameters) | frozenset(sweep.grid))


def neuron_from(given: dict[str, Any], arguments: Mapping[str, Any]) -> NeuronSpec | DendriticNeuron:
    """The neuron that flat parameters describe, which are taken out of ``given``.

    With ``n_inputs`` it has a finite size; ``nonlinearity = "one-layer"`` with it is the neuron without dendrites.
    """
    own: dict[str, Any] = {name: given.pop(name) for name in NEURON if name in given and name not in arguments}
    shape: dict[str, Any] = {name: own.pop(name) for name in ("x_min", "gamma") if name in own}
    kind, n_inputs = own.pop("nonlinearity", "polsky"), own.pop("n_inputs", None)
    for name in () if kind == "one-layer" else ("theta_d", "theta_s"):
        if name not in own:
            raise InvalidParameter(f"the neuron needs a value for {name}")
    if kind == "one-layer":
        return _one_layer(n_inputs, {**own, **shape})
    spec = NeuronSpec(named_nonlinearity(kind, **shape), own["theta_d"], own["theta_s"])
    if n_inputs is None:
        return spec
    if "n_branches" not in own:
        raise InvalidParameter("a neuron with n_inputs needs a value for n_branches")
    return DendriticNeuron(spec, n_inputs, own["n_branches"])


def _one_layer(n_inputs: int | None, own: Mapping[str, Any]) -> LinearNeuron:
    if n_inputs is None or set(own) != {"theta_d"}:
        raise InvalidParameter(
            f"nonlinearity = 'one-layer' takes theta_d and n_inputs alone, not {', '.join(sorted(own)) or 'neither'}"
        )
    return LinearNeuron(own["theta_d"], n_inputs)


def task_from(given: dict[str, Any], arguments: Mapping[str, Any]) -> TaskSpec:
    """The task that flat parameters describe, which are taken out of ``given``."""
    return TaskSpec(**{name: given.pop(name) for name in TASK if name in given and name not in arguments})


def metrics_of(result: Any) -> dict[str, Any]:
    """What a task returned, as named plain data.

    Of a dataclass those fields are kept that are numbers, texts, booleans or arrays of numbers; a mapping must
    consist of such values; anything else that is one is called ``value``.
    """
    if isinstance(result, Mapping):
        return {str(name): _metric(name, value) for name, value in result.items()}
    if is_dataclass(result) and not isinstance(result, type):
        named = {entry.name: getattr(result, entry.name) for entry in fields(result)}
        return {name: _metric(name, value) for name, value in named.items() if _is_plain(value)}
    return {"value": _metric("value", result)}


def _is_plain(value: Any) -> bool:
    try:
        _metric("", value)
    except InvalidParameter:
        return False
    return True


def _metric(name: Any, value: Any) -> Any:
    """A metric as plain data; arrays become lists, all of their numbers keep all digits."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None:
        return math.nan
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple) and value:
        return [_metric(name, item) for item in value]
    raise InvalidParameter(f"the metric {name} = {value!r} is not a number, a text, a boolean or a list of these")
