"""The limit of many steps of breaking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Limit", "extrapolated"]


class Limit(NamedTuple):
    """The extrapolated value and its uncertainty."""

    value: float
    error: float


def extrapolated(by_steps: Sequence[float]) -> Limit:
    """The limit of capacities with 0, 1, ... k >= 2 steps.

    The distance from the limit falls as a power of the number of steps, like (k + 1/2)^-p. With k >= 3 the power is
    fitted to the last three values, with two steps p = 3 is assumed. The error is half of the distance between
    the last value and its limit, because the power is not known exactly.

    Examples
    --------
    >>> limit = extrapolated([3.0, *(2.0 + (k + 0.5) ** -3.5 for k in (1, 2, 3, 4))])
    >>> round(limit.value, 9)
    2.0
    """
    k = len(by_steps) - 1
    last = by_steps[-2] - by_steps[-1]
    power = 3.0
    if k >= 3:
        before = by_steps[-3] - by_steps[-2]
        low, high = 1.0, 12.0  # the ratio of differences grows with the power
        for _ in range(60):
            power = 0.5 * (low + high)
            ratio = _drop(k - 2, power) / _drop(k - 1, power)
            low, high = (power, high) if ratio < before / last else (low, power)
    tail = last / _drop(k - 1, power) * (k + 0.5) ** -power
    return Limit(by_steps[-1] - tail, 0.5 * tail)


def _drop(k: int, power: float) -> float:
    return float((k + 0.5) ** -power - (k + 1.5) ** -power)
