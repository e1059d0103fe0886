"""Averages over seeds along one axis of a sweep: what a plot of it shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dendrocap.display import Displayed
from dendrocap.errors import InvalidParameter
from dendrocap.experiments.store import Record
from dendrocap.experiments.sweep import Sweep
from dendrocap.numerics.statistics import standard_error
from dendrocap.validation import choice

__all__ = ["Average", "averages"]


@dataclass(frozen=True)
class Average(Displayed):
    """A metric at one place of the grid, averaged over seeds.

    Parameters
    ----------
    line : object
        Value of the axis that tells lines apart; None without one.
    x : object
        Value of the axis along which to draw.
    mean, standard_error : float
        Of the metric over those cells that are done and have it; the standard error of a single one is NaN.
    cells : int
        How many these are.
    """

    _displayed = ("mean", "standard_error", "line", "x", "cells")

    line: Any
    x: Any
    mean: float
    standard_error: float
    cells: int


def averages(
    sweep: Sweep,
    records: Iterable[Record],
    x: str,
    y: str,
    by: str | None = None,
    at: Mapping[str, str] | None = None,
) -> list[Average]:
    """The metric ``y`` along the axis ``x``, for each value of the axis ``by``.

    Parameters
    ----------
    sweep : Sweep
        What was run.
    records : iterable of Record
        What is stored of it.
    x, y, by : str
        Two axes of the grid, and a metric with one number per cell.
    at : mapping, optional
        Where to stand on the other axes, in words as one would type them; an axis with one value needs no word.
    """
    axes = [choice("axis", axis, tuple(sweep.grid)) for axis in (x, by) if axis is not None]
    chosen = {axis: _chosen(sweep, axis, at or {}) for axis in sweep.grid if axis not in axes}
    for axis in at or {}:
        choice("axis in at", axis, tuple(chosen))
    values: dict[tuple[Any, Any], list[float]] = {}
    known: set[str] = set()
    for record in records:
        known |= record.metrics.keys()
        if y in record.metrics and all(record.parameters[axis] == value for axis, value in chosen.items()):
            place = (record.parameters[by] if by else None, record.parameters[x])
            values.setdefault(place, []).append(_number(y, record.metrics[y]))
    if not values:
        raise InvalidParameter(f"no finished cell has the metric {y}; there is {', '.join(sorted(known)) or 'none'}")
    lines = sweep.grid[by] if by else [None]
    return [
        Average(line, at_x, float(np.mean(own)), standard_error(own), len(own))
        for line in lines
        for at_x in sweep.grid[x]
        if (own := values.get((line, at_x)))
    ]


def _chosen(sweep: Sweep, axis: str, at: Mapping[str, str]) -> Any:
    values = sweep.grid[axis]
    if axis not in at and len(values) == 1:
        return values[0]
    found = [value for value in values if axis in at and _same(value, at[axis])]
    if len(found) != 1:
        options = ", ".join(str(value) for value in values)
        raise InvalidParameter(f"the axis {axis} has several values: choose with {axis}=VALUE one of {options}")
    return found[0]


def _same(value: Any, text: str) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(text) == float(value)
        except ValueError:
            return False
    return str(value).lower() == text.lower()


def _number(name: str, value: Any) -> float:
    if isinstance(value, str | list):
        raise InvalidParameter(f"the metric {name} cannot be drawn: it is not one number per cell but {value!r}")
    return float(value)
