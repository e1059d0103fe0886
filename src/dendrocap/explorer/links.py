"""Parameters as the query of a web address, and back.

A link holds every parameter, those of an uploaded curve included. Numbers are written with all their digits, so that a
shared page shows the same values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from urllib.parse import parse_qs, urlencode

from dendrocap.errors import DendrocapError, InvalidParameter
from dendrocap.explorer.parameters import SLIDERS, Parameters
from dendrocap.validation import refuse

__all__ = ["from_arguments", "from_query", "to_query"]

LONGEST = 8000  # characters; a link with the longest curve needs half of it
# Parameters that are checked against each other.
TOGETHER = (("curve", "nonlinearity"), ("n_inputs", "n_branches"), ("train_inputs", "train_branches"))


def to_query(parameters: Parameters) -> str:
    """The query of a link to these parameters, without the question mark.

    Examples
    --------
    >>> to_query(Parameters())[:50]
    'nonlinearity=polsky&x_min=0.33&gamma=15.0&theta_d='
    """
    values = {parameter.name: getattr(parameters, parameter.name) for parameter in fields(parameters)}
    values["curve"] = "~".join(f"{x!r}_{y!r}" for x, y in parameters.curve)
    return urlencode({name: str(value) for name, value in values.items() if value != ""})


def from_query(query: str) -> tuple[Parameters, list[str]]:
    """What `from_arguments` makes of a query as one string."""
    arguments = parse_qs(query, keep_blank_values=True)
    return from_arguments({name: [value.encode() for value in values] for name, values in arguments.items()})


def from_arguments(arguments: Mapping[str, Sequence[bytes]]) -> tuple[Parameters, list[str]]:
    """The parameters of a link, and what was wrong with it; what is wrong keeps its default.

    Parameters
    ----------
    arguments : mapping from str to list of bytes
        As a web server hands them over.

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
            continue  # the server's own
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
            for name, value in found.items():  # one bad value must not cost the other
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


def _points(text: str) -> tuple[tuple[float, float], ...]:
    try:
        return tuple((float(x), float(y)) for x, y in (pair.split("_") for pair in text.split("~") if pair))
    except ValueError:
        raise refuse("curve", _short(text), "points like 0.0_0.0~1.0_1.0") from None


def _short(text: str) -> str:
    """Nobody wants to read a page of a bad link back."""
    return text if len(text) <= 40 else text[:40] + "…"
