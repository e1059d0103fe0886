"""Conversion of parameters to the query of a web address, and back.

A link holds every parameter, including an uploaded curve. Numbers are written with all digits, so that a shared page
shows the same values. If two neurons are compared, the names of the second have the prefix ``b.``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from urllib.parse import parse_qs, parse_qsl, urlencode

from dendrocap.errors import DendrocapError, InvalidParameter
from dendrocap.explorer.parameters import SLIDERS, Parameters
from dendrocap.validation import refuse

__all__ = ["from_arguments", "from_query", "pair_from_arguments", "pair_query", "to_query"]

LONGEST = 16_000  # characters; a link with two of the longest curves needs most of it
SECOND_NEURON = "b."
# Parameters that must be checked together.
TOGETHER = (
    ("curve", "curve_unit", "nonlinearity", "nonlinearity_2"),
    ("n_inputs", "n_branches"),
    ("train_inputs", "train_branches"),
)


def to_query(parameters: Parameters) -> str:
    """The query of a link to these parameters, without the question mark.

    Examples
    --------
    >>> to_query(Parameters())[:50]
    'nonlinearity=polsky&x_min=0.33&gamma=15.0&theta_d='
    """
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
    """The one or two neurons of a link, and the problems found in it.

    Examples
    --------
    >>> first, second, _ = pair_from_arguments({"theta_d": [b"0.05"], "gamma": [b"20"], "b.theta_d": [b"1"]})
    >>> first.theta_d, second.theta_d, second.gamma
    (0.05, 1.0, 20.0)
    """
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
    """The parameters of a link, and the problems found in it; bad parameters keep their defaults.

    Parameters
    ----------
    arguments : mapping from str to list of bytes
        The arguments as a web server provides them.

    Examples
    --------
    >>> parameters, problems = from_arguments({"theta_d": [b"0.05"], "f_in": [b"7"]})
    >>> parameters.theta_d, problems
    (0.05, ['f_in = 7.0 is not allowed: it must be a finite number in [0.01, 0.99]'])
    """
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
