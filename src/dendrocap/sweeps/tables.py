"""Stored cells as tables: rows, a pandas DataFrame, an xarray Dataset, and files in these formats.

Files in Parquet and NetCDF need the extra ``tables``.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dendrocap.display import Displayed
from dendrocap.errors import InvalidParameter, MissingExtra
from dendrocap.files import new_file, writable
from dendrocap.numerics import standard_error
from dendrocap.sweeps.store import Record
from dendrocap.sweeps.sweep import Sweep
from dendrocap.validation import choice

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

_NOTHING = object()


def rows(sweep: Sweep, records: Iterable[Record]) -> list[dict[str, Any]]:
    """One flat mapping per record: parameters, seed, metrics, and how the cell was run.

    All rows have the same keys; a metric that a cell lacks, for example because it failed, is NaN. A metric with the
    name of a parameter gets the prefix ``result_``, or is left out if it only repeats the parameter.
    """
    records = list(records)
    names = metric_names(sweep, records)
    missing = dict.fromkeys(names.values(), math.nan)
    return [{**record.parameters, "seed": record.seed, **missing, **_row(record, names)} for record in records]


def _row(record: Record, names: Mapping[str, str]) -> dict[str, Any]:
    """The metrics that a cell has, under the names that are shown, and how it was run."""
    metrics = {names[name]: value for name, value in record.metrics.items() if name in names}
    return metrics | {name: getattr(record, name) for name in BOOKKEEPING} | {"environment": str(record.environment)}


def metric_names(sweep: Sweep, records: Iterable[Record]) -> dict[str, str]:
    """Every metric that does not just repeat a parameter, and the name under which it is shown."""
    taken = {*sweep.parameters, *sweep.grid, "seed", *BOOKKEEPING}
    names: dict[str, str] = {}
    for record in records:
        for name, value in record.metrics.items():
            if name not in names and value != record.parameters.get(name, _NOTHING):
                names[name] = f"result_{name}" if name in taken else name
    return names


def dataframe(sweep: Sweep, records: Iterable[Record]) -> pd.DataFrame:
    """One row per record; its ``attrs`` hold the definition of the sweep."""
    import pandas as pd

    frame = pd.DataFrame(rows(sweep, records))
    frame.attrs = _attributes(sweep)
    return frame


def dataset(sweep: Sweep, records: Iterable[Record]) -> xr.Dataset:
    """One dimension per axis of the grid, and one for the seed; one variable per metric.

    Missing and failed cells are NaN, or empty strings; the variable ``status`` distinguishes them. A metric that is an
    array adds its own dimensions.
    """
    import xarray as xr

    dimensions = {**sweep.grid, "seed": sweep.seeds}
    place = {cell.key: number for number, cell in enumerate(sweep)}
    at = {place[record.key]: record for record in records if record.key in place}
    shape = tuple(len(values) for values in dimensions.values())
    names = metric_names(sweep, at.values())
    found = {i: _row(record, names) for i, record in at.items()}
    variables = {}
    for name, array_of in {**dict.fromkeys(names.values(), _array), **BOOKKEEPING}.items():
        if array_of is not None:
            array = array_of([found[i].get(name) if i in found else None for i in range(len(sweep))])
            own = [f"{name}_{axis}" for axis in range(array.ndim - 1)]
            variables[name] = ([*dimensions, *own], array.reshape(shape + array.shape[1:]))
    coordinates = {name: np.asarray(values) for name, values in dimensions.items()}
    return xr.Dataset(variables, coordinates, _attributes(sweep))


def export(path: str | Path, sweep: Sweep, records: Sequence[Record]) -> None:
    """Write records to a file in the format given by its suffix; the file appears when it is complete."""
    path = writable(Path(path), WRITERS)
    with new_file(path) as unfinished:
        WRITERS[path.suffix.lower()](unfinished, sweep, records)


def _write_csv(path: Path, sweep: Sweep, records: Sequence[Record]) -> None:
    table = rows(sweep, records)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(table[0]) if table else [*sweep.parameters, *sweep.grid, "seed"])
        writer.writeheader()
        writer.writerows(table)


def _write_parquet(path: Path, sweep: Sweep, records: Sequence[Record]) -> None:
    _needs("pyarrow")
    dataframe(sweep, records).to_parquet(path, index=False)


def _write_netcdf(path: Path, sweep: Sweep, records: Sequence[Record]) -> None:
    _needs("h5netcdf")
    _needs("h5py")
    dataset(sweep, records).to_netcdf(path, engine="h5netcdf")


WRITERS: dict[str, Callable[[Path, Sweep, Sequence[Record]], None]] = {
    ".csv": _write_csv,
    ".nc": _write_netcdf,
    ".parquet": _write_parquet,
}


def _attributes(sweep: Sweep) -> dict[str, str]:
    return {"sweep": sweep.digest, "name": sweep.name, "definition": json.dumps(sweep.definition)}


def _array(values: list[Any]) -> NDArray[Any]:
    """Values of one metric as an array; a missing value, None, becomes NaN or an empty string.

    Shorter lists are padded with NaN. Values that are not numbers of one rank are stored as text, without loss.
    """
    try:
        present = [np.asarray(value) for value in values if value is not None]
    except ValueError:  # lists of lists of different lengths
        return _texts(values)
    if len({entry.ndim for entry in present}) > 1 or any(entry.dtype.kind not in "biuf" for entry in present):
        return _texts(values)
    shape = tuple(max(sizes) for sizes in zip(*(entry.shape for entry in present), strict=True))
    if len(present) == len(values) and all(entry.shape == shape for entry in present):
        return np.stack(present)
    full = np.full((len(values), *shape), np.nan)
    for number, value in enumerate(values):
        if value is not None:
            place: tuple[Any, ...] = (number, *(slice(size) for size in np.shape(value)))
            full[place] = value
    return full


def _texts(values: list[Any]) -> NDArray[Any]:
    words = ["" if value is None else value if isinstance(value, str) else json.dumps(value) for value in values]
    return np.array(words, dtype=object)


# How a cell was run: columns of every table; of some, datasets have a variable, made by this function.
BOOKKEEPING: dict[str, Callable[[list[Any]], NDArray[Any]] | None] = {
    "status": _texts, "reason": None, "seconds": _array, "host": None, "version": None, "environment": None,
}  # fmt: skip


def _needs(library: str) -> None:
    try:
        import_module(library)
    except ImportError as error:
        raise MissingExtra(f"this needs {library}: run pip install '.[tables]' in the clone ({error})") from error


# Averages over seeds along one axis of a sweep, as shown in its plot.


@dataclass(frozen=True)
class Average(Displayed):
    """A metric at one point of the grid, averaged over the finished cells that have it: the seeds.

    ``line`` is the value of the axis that distinguishes lines, if there is one; a single cell has no standard error.
    """

    _displayed = ("mean", "standard_error", "line", "x", "cells")

    line: Any
    x: Any
    mean: float
    standard_error: float
    cells: int


def averages(
    sweep: Sweep, records: Iterable[Record], x: str, y: str, by: str | None = None, at: Mapping[str, str] | None = None
) -> list[Average]:
    """The metric ``y`` along the axis ``x``, for each value of the axis ``by``.

    ``at`` holds the value of each of the other axes, as a string; an axis with a single value needs none.
    """
    axes = [choice("axis", axis, tuple(sweep.grid)) for axis in (x, by) if axis is not None]
    chosen = {axis: _chosen(sweep, axis, at or {}) for axis in sweep.grid if axis not in axes}
    for axis in at or {}:
        choice("axis in at", axis, tuple(chosen))
    records = list(records)
    values: dict[tuple[Any, Any], list[float]] = {}
    for record in records:
        if y in record.metrics and all(record.parameters[axis] == value for axis, value in chosen.items()):
            place = (record.parameters[by] if by else None, record.parameters[x])
            values.setdefault(place, []).append(_number(y, record.metrics[y]))
    if not values:
        known = sorted({name for record in records for name in record.metrics})
        raise InvalidParameter(f"no finished cell has the metric {y}; known: {', '.join(known) or 'none'}")
    return [
        Average(line, at_x, float(np.mean(own)), standard_error(own), len(own))
        for line in (sweep.grid[by] if by else [None])
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
