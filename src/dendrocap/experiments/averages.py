"""Averages over seeds along one axis of a sweep, as shown in its plot."""

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
    """A metric at one point of the grid, averaged over seeds.

    Parameters
    ----------
    line : object
        Value of the axis that distinguishes lines; None without such an axis.
    x : object
        Value of the axis to draw along.
    mean, standard_error : float
        Mean over the finished cells that have the metric, and its standard error; NaN for a single cell.
    cells : int
        Number of these cells.
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
        The sweep that was run.
    records : iterable of Record
        Its stored cells.
    x, y, by : str
        Two axes of the grid, and a metric that is one number per cell.
    at : mapping, optional
        Value of each of the other axes, as a string; not needed for an axis with a single value.
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
        raise InvalidParameter(f"no finished cell has the metric {y}; known: {', '.join(sorted(known)) or 'none'}")
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
        raise InvalidParameter(f"the axis {axis} has several values: choose one with {axis}=VALUE from {options}")
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
        raise InvalidParameter(f"the metric {name} cannot be drawn: it must be one number per cell, not {value!r}")
    return float(value)
