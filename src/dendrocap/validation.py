"""Checks of user input, which all raise the same kind of message.

``theta_d = -1.0 is not allowed: it must be a finite number >= 0`` names the parameter, repeats its value and states
the allowed range.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Collection
from typing import Any, TypeVar

from dendrocap.errors import InvalidParameter

__all__ = ["choice", "real_number", "refuse", "whole_number"]

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


def _interval(kind: str, low: float, high: float, low_open: bool, high_open: bool) -> str:
    if math.isinf(low) and math.isinf(high):
        return kind
    if math.isinf(high):
        return f"{kind} {'>' if low_open else '>='} {low:g}"
    if math.isinf(low):
        return f"{kind} {'<' if high_open else '<='} {high:g}"
    return f"{kind} in {'(' if low_open else '['}{low:g}, {high:g}{')' if high_open else ']'}"
