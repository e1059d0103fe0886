"""Parameters on the command line: a number, a list ``0.1,0.2``, or a range ``0.01:1:50``."""

from __future__ import annotations

import math

import numpy as np

from dendrocap.errors import InvalidParameter

__all__ = ["values"]

FORMS = "a number, a list such as 0.1,0.2,0.5, or a range start:stop:count such as 0.01:1:50"
MOST = 1_000_000


def values(option: str, text: str, *, log: bool = False) -> list[float]:
    """The numbers that ``text`` denotes; with ``log`` a range is spaced evenly in the logarithm."""
    wrong = InvalidParameter(f"{option} {text} is not allowed: it must be {FORMS}")
    parts = text.split(":")
    try:
        if len(parts) == 1:
            found = [float(part) for part in text.split(",")]
        elif len(parts) == 3:
            start, stop, count = float(parts[0]), float(parts[1]), int(parts[2])
            if not (math.isfinite(start) and math.isfinite(stop)):
                raise wrong
            if not 1 <= count <= MOST:
                raise InvalidParameter(f"{option} {text} is not allowed: the count must be in [1, {MOST}]")
            if log and not (start > 0.0 and stop > 0.0):
                raise InvalidParameter(f"{option} {text} is not allowed: with --log both ends must be > 0")
            found = (np.geomspace if log else np.linspace)(start, stop, count).tolist()
        else:
            raise wrong
    except ValueError as error:
        if isinstance(error, InvalidParameter):
            raise
        raise wrong from None
    if not all(math.isfinite(number) for number in found):
        raise wrong
    return found
