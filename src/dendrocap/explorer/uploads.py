"""Measurements in uploaded files: checked, limited in size, never executed or unpickled."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dendrocap.datasets.columns import Table, parse_table
from dendrocap.errors import CorruptData, InvalidParameter
from dendrocap.explorer.parameters import MOST_POINTS, Parameters

__all__ = ["LARGEST_FILE", "UploadedCurve", "read_amplitudes", "read_curve"]

LARGEST_FILE = 100_000  # bytes
DIGITS = 6  # digits kept of each point, so that links stay short and agree with the page
AMPLITUDES = ("epsp", "amplitude", "mv")  # hints in the header of the right column
SMOOTHABLE = 6  # minimum number of points for a smooth curve


class UploadedCurve(NamedTuple):
    """A measured curve: the parameters that it sets, and a message about it."""

    changes: dict[str, object]
    said: str


def read_curve(content: bytes, name: str) -> UploadedCurve:
    r"""Read a curve from a text file: branch input, branch output and, optionally, standard errors.

    With a unit in the header (mV, uV, V) values are converted to millivolts; without one they are in model units, where
    a branch saturates at 1.

    Parameters
    ----------
    content : bytes
        Content of the file.
    name : str
        Its name, for messages.

    Raises
    ------
    CorruptData
        If it is too large, is not text, does not contain a curve, or x does not increase.

    Examples
    --------
    >>> uploaded = read_curve(b"x,y\n0,0\n0.5,0.2\n1,1\n", "curve.csv")
    >>> uploaded.changes["curve"], uploaded.changes["nonlinearity"]
    (((0.0, 0.0), (0.5, 0.2), (1.0, 1.0)), 'tabulated')
    """
    name, table = _table(content, name)
    try:
        measured = table.curve()
        if not 2 <= measured.x.size <= MOST_POINTS:
            raise CorruptData(f"{name} has {measured.x.size} points; 2 to {MOST_POINTS} are allowed")
        columns = [measured.x, measured.y] + ([] if measured.sem is None else [measured.sem])
        points = tuple(tuple(map(_rounded, point)) for point in np.column_stack(columns).tolist())
        unit = "mV" if measured.unit else ""
        changes: dict[str, object] = {"curve": points, "curve_unit": unit, "nonlinearity": "tabulated"}
        Parameters().changed(changes)
        if len(points) >= SMOOTHABLE:  # interpolated noise would increase the capacity
            changes["nonlinearity"] = "smooth"
            Parameters().changed(changes)
    except InvalidParameter as error:
        raise CorruptData(f"{name}: {str(error).removeprefix(f'{name}: ')}") from None
    errors = ", with standard errors" if measured.sem is not None else ""
    if measured.sd is not None:
        errors = "; standard deviations without a column n of trial numbers are ignored"
    said = f"{len(points)} points read from {name} in {measured.unit or 'model units'}{errors}"
    return UploadedCurve(changes, said)


def read_amplitudes(content: bytes, name: str) -> NDArray[np.float64]:
    r"""Read EPSP amplitudes in millivolts from a text file, one per connection.

    Raises
    ------
    CorruptData
        If the file is too large, is not text, or contains no such column.

    Examples
    --------
    >>> read_amplitudes(b"epsp (uV)\n800\n1200\n", "epsp.csv").tolist()
    [0.8, 1.2]
    """
    name, table = _table(content, name)
    try:
        return table.column(hints=AMPLITUDES).values
    except InvalidParameter as error:
        raise CorruptData(f"{name}: {str(error).removeprefix(f'{name}: ')}") from None


def _table(content: bytes, name: str) -> tuple[str, Table]:
    """The file name without folders, and the cells of the file."""
    name = PurePath(name.replace("\\", "/")).name[:60] or "the file"
    if len(content) > LARGEST_FILE:
        raise CorruptData(f"{name} has {len(content):,} bytes; at most {LARGEST_FILE:,} are allowed")
    try:
        return name, parse_table(content, Path(name))
    except InvalidParameter as error:
        raise CorruptData(f"{name}: {str(error).removeprefix(f'{name}: ')}") from None


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
