"""The types of a job's parameters, from its annotations, and conversion of values to them.

A TOML file may contain 3 or 3.0, and a range of numbers may consist of floats. If the job annotates a parameter, whole
numbers are converted to integers or floats as required, and values of the wrong type are refused before anything runs.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from dendrocap.learning.local_rule import SGD
from dendrocap.learning.recipe import Recipe
from dendrocap.learning.schedules import ExponentialAnnealing, HalveOnPlateau
from dendrocap.learning.surrogates import Lorentzian
from dendrocap.model.dendritic_neuron import DendriticNeuron
from dendrocap.model.flat import KINDS
from dendrocap.model.neuron import Inhibition, TaskSpec
from dendrocap.validation import refuse

__all__ = ["fitted", "flat_types", "types_of"]

SCALARS = (bool, int, float, str, type(None))
WORDS = {bool: "True or False", int: "a whole number", float: "a finite number", str: "a text", type(None): "nothing"}


@cache
def flat_types() -> dict[str, Any]:
    """Types of the known flat parameters of neurons, tasks and recipes."""
    found: dict[str, Any] = {"nonlinearity": str, "theta_d": float, "theta_s": float}
    for kind in (*KINDS, DendriticNeuron, TaskSpec, SGD, HalveOnPlateau, ExponentialAnnealing, Recipe):
        for name, hint in types_of(kind).items():
            found.setdefault(name, hint)
    bump = {f"surrogate_{name}": hint for name, hint in types_of(Lorentzian).items()}
    return {**found, **bump, **{f"inhibitory_{name}": hint for name, hint in types_of(Inhibition).items()}}


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
