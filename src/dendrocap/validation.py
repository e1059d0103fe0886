"""What a parameter is and may be: facts that stand at its field, and checks that all raise the same kind of message.

``theta_d = -1.0 is not allowed: it must be a finite number >= 0`` names the parameter, repeats its value and states
the allowed range.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Collection
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any, TypeVar

from dendrocap.errors import InvalidParameter

T = TypeVar("T")


def refuse(name: str, value: object, allowed: str) -> InvalidParameter:
    """The error for a bad value; the caller raises it."""
    return InvalidParameter(f"{name} = {value!r} is not allowed: it must be {allowed}")


def real_number(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    low_open: bool = False,
    high_open: bool = False,
) -> float:
    """``value`` as a finite float between ``low`` and ``high``."""
    allowed = _interval("a finite number", low, high, low_open, high_open)
    if isinstance(value, str | bytes | bool):
        raise refuse(name, value, allowed)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise refuse(name, value, allowed) from None
    too_low = number <= low if low_open else number < low
    too_high = number >= high if high_open else number > high
    if not math.isfinite(number) or too_low or too_high:
        raise refuse(name, value, allowed)
    return number


def whole_number(name: str, value: Any, low: int, high: int | None = None) -> int:
    """``value`` as an integer between ``low`` and ``high``."""
    allowed = _interval("a whole number", low, math.inf if high is None else high, False, False)
    if isinstance(value, bool):
        raise refuse(name, value, allowed)
    try:
        number = operator.index(value)
    except TypeError:
        raise refuse(name, value, allowed) from None
    if number < low or (high is not None and number > high):
        raise refuse(name, value, allowed)
    return number


def choice(name: str, value: T, allowed: Collection[T]) -> T:
    """``value`` if it is one of ``allowed``."""
    if value not in allowed:
        raise refuse(name, value, "one of " + ", ".join(repr(option) for option in allowed))
    return value


@dataclass(frozen=True)
class Fact:
    """What a parameter is. Checks, help of commands, units of grids, axis labels and sliders are made from it."""

    label: str  # a few words, as on an axis
    symbol: str = ""  # in LaTeX, without dollars
    unit: str = "1"
    within: str = ""  # what is allowed, such as [0, 1) or (0, inf)
    help: str = ""  # a sentence without a full stop
    usual: tuple[float, float] | None = None  # the range worth looking at: a slider's
    log: bool = False  # whether it is looked at on a logarithmic scale
    whole: bool = False

    @cached_property
    def _range(self) -> tuple[float, float, bool, bool]:
        """Both ends, and whether they are open."""
        if not self.within:
            return -math.inf, math.inf, True, True
        low, high = map(float, self.within[1:-1].split(","))
        return low, high, self.within[0] == "(", self.within[-1] == ")"

    def checked(self, name: str, value: Any) -> Any:
        """The value as a number, if it is allowed."""
        low, high, low_open, high_open = self._range
        if self.whole:
            return whole_number(name, value, int(low), None if math.isinf(high) else int(high))
        return real_number(name, value, low, high, low_open=low_open, high_open=high_open)

    @property
    def axis_label(self) -> str:
        """Label and symbol, for Matplotlib."""
        return f"{self.label} ${self.symbol}$" if self.symbol else self.label

    def told(self, default: Any = None) -> str:
        """One sentence for the help of an option: what it is, what is allowed, and its default."""
        allowed = _interval("", *self._range).strip() if self.within else ""
        told = ", ".join(filter(None, (self.help or self.label[0].upper() + self.label[1:], allowed)))
        return f"{told}." if default is None else f"{told}; default {default:g}."


def fact(*about: Any, **more: Any) -> dict[str, Fact]:
    """The metadata of a dataclass field, which `Fact` describes.

    Examples
    --------
    >>> from dendrocap import Polsky
    >>> onset = facts_of(Polsky)["x_min"]
    >>> onset.label, onset.unit, onset.within
    ('onset of the sigmoid', 'branch input', '[0, 1]')
    """
    return {"fact": Fact(*about, **more)}


def facts_of(kind: type[Any]) -> dict[str, Fact]:
    """The facts that stand at the fields of a dataclass."""
    known = fields(kind) if is_dataclass(kind) else ()
    return {field.name: field.metadata["fact"] for field in known if "fact" in field.metadata}


def check_fields(value: Any) -> None:
    """Replace the fields of a frozen dataclass by checked numbers; a field that may be missing stays None."""
    usual = {field.name: field.default for field in fields(value)}
    for name, known in facts_of(type(value)).items():
        given = getattr(value, name)
        if given is not None or usual[name] is not None:
            object.__setattr__(value, name, known.checked(name, given))


def _interval(kind: str, low: float, high: float, low_open: bool, high_open: bool) -> str:
    if math.isinf(low) and math.isinf(high):
        return kind
    if math.isinf(high):
        return f"{kind} {'>' if low_open else '>='} {low:g}"
    if math.isinf(low):
        return f"{kind} {'<' if high_open else '<='} {high:g}"
    return f"{kind} in {'(' if low_open else '['}{low:g}, {high:g}{')' if high_open else ']'}"


def available_cores() -> int:
    """Number of cores that this process may use, which the scheduler of a cluster may have limited."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def number_of_workers(workers: int | None) -> int:
    """The number asked for, or one per core."""
    return available_cores() if workers is None else whole_number("workers", workers, 1)
