"""Columns of numbers from files as laboratories write them.

Separators may be commas, semicolons, tabs or blanks; lines may be comments; a header, a line or a column of units are
understood. What could be read in two ways is refused with the reason: a decimal comma turns 0,45 into two columns.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dendrocap.display import Displayed
from dendrocap.errors import CorruptData, InvalidParameter

__all__ = ["Table", "parse_table", "read_table"]

Floats = NDArray[np.float64]

# Millivolts per unit. Micro has two code points.
UNITS = {"mv": 1.0, "millivolt": 1.0, "v": 1e3, "volt": 1e3, "uv": 1e-3, "µv": 1e-3, "μv": 1e-3}
SEPARATORS = (";", "\t", ",")
DECIMAL_COMMA = re.compile(r"^[+-]?\d*,\d+([eE][+-]?\d+)?$")
UNIT_IN_NAME = re.compile(r"[\s_(\[]+(\w+)[)\]]?\s*$")


@dataclass(frozen=True)
class Table(Displayed):
    r"""Named columns of numbers, in millivolts where a unit was given.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "curve.csv")
    ...     _ = file.write_text("expected (mV),recorded (uV)\n1.0,1100\n2.0,2600\n")
    ...     table = read_table(file)
    >>> x, y = table.pair()
    >>> x.tolist(), y.tolist()  # both in millivolts
    ([1.0, 2.0], [1.1, 2.6])
    """

    path: Path
    names: tuple[str, ...]
    columns: tuple[Floats, ...]

    def column(self, name: str | None, hints: Sequence[str] = ()) -> Floats:
        """The column of this name or number; without one, the only column, or the only one that a hint points to."""
        if name is not None:
            return self.columns[self._index(name)]
        if len(self.columns) == 1:
            return self.columns[0]
        hinted = [at for at, title in enumerate(self.names) if any(hint in title.lower() for hint in hints)]
        if len(hinted) == 1:
            return self.columns[hinted[0]]
        raise InvalidParameter(
            f"{self.path}: which column is meant? There are {self._listing()}; choose one with --column. "
            "If the file has decimal commas, write points instead"
        )

    def pair(self, first: str | None = None, second: str | None = None) -> tuple[Floats, Floats]:
        """Two columns, by name or number; without names, the only two."""
        if first is None and second is None and len(self.columns) == 2:
            return self.columns[0], self.columns[1]
        if first is None or second is None:
            raise InvalidParameter(
                f"{self.path}: which two columns are meant? There are {self._listing()}; choose them with --x and --y. "
                "If the file has decimal commas, write points instead"
            )
        return self.columns[self._index(first)], self.columns[self._index(second)]

    def _index(self, name: str) -> int:
        lowered = [title.lower() for title in self.names]
        if name.lower() in lowered:
            return lowered.index(name.lower())
        if name.isdigit() and 1 <= int(name) <= len(self.columns):
            return int(name) - 1
        raise InvalidParameter(f"{self.path}: there is no column {name!r}; there are {self._listing()}")

    def _listing(self) -> str:
        return f"{len(self.names)} columns of numbers: {', '.join(self.names)}"


def read_table(path: Path) -> Table:
    r"""The columns of numbers in a file; lines that begin with ``#`` or ``%`` and empty lines do not count.

    Raises
    ------
    CorruptData
        If there are no numbers, a line does not fit the others, or numbers have decimal commas; the message names
        file and line.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "epsp.csv")
    ...     _ = file.write_text("# slice 4\ncell;epsp;unit\na;0.83;mV\nb;1.34;mV\n")
    ...     table = read_table(file)
    >>> table.names, table.column(None).tolist()
    (('epsp',), [0.83, 1.34])
    """
    return parse_table(path.read_bytes(), path)


def parse_table(content: bytes, path: Path) -> Table:
    """The columns of numbers in the content of a file; ``path`` is its name in messages."""
    rows = _rows(content, path)
    if not rows:
        raise CorruptData(f"{path}: the file holds no data")
    header: list[str] | None = None
    units: list[str] = []
    # Lines without any number, before the first one with: the last or only one names, the one after gives units.
    text_lines = []
    while rows and not any(_is_number(cell) for cell in rows[0][1]):
        text_lines.append(rows.pop(0)[1])
    if not rows:
        raise CorruptData(f"{path}: the file holds no numbers")
    if len(text_lines) >= 2 and all(cell.lower() in UNITS or not cell for cell in text_lines[-1]):
        units = text_lines.pop()
    if text_lines:
        header = text_lines[-1]
    width = len(header) if header is not None else len(rows[0][1])
    for line, cells in rows:
        if len(cells) != width:
            comma = " (a decimal comma? write 0.45, not 0,45)" if len(cells) > width else ""
            raise CorruptData(f"{path}, line {line}: {len(cells)} values where {width} were expected{comma}")
    names = header if header is not None else [str(number + 1) for number in range(width)]
    return _table(path, names, units or [""] * width, rows)


def _table(path: Path, names: list[str], units: list[str], rows: list[tuple[int, list[str]]]) -> Table:
    """Columns of numbers with their factors; columns of words are left out, one of units is applied to its row."""
    width = len(names)
    row_factor = np.ones(len(rows))
    numeric = []
    for at in range(width):
        cells = [cells[at] for _, cells in rows]
        if all(cell.lower() in UNITS for cell in cells):
            row_factor *= [UNITS[cell.lower()] for cell in cells]
        elif any(_is_number(cell) for cell in cells):
            numeric.append(at)
    if not numeric:
        raise CorruptData(f"{path}: the file holds no column of numbers")
    columns = []
    for at in numeric:
        values = np.array([_number(path, line, cells[at]) for line, cells in rows])
        columns.append(values * row_factor * _factor(units[at] if at < len(units) else "", names[at]))
    return Table(path, tuple(names[at] for at in numeric), tuple(columns))


def _rows(content: bytes, path: Path) -> list[tuple[int, list[str]]]:
    """Numbered lines, cut into cells."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CorruptData(f"{path}: the file is not text in UTF-8") from None
    lines = [
        (number, line.strip())
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith(("#", "%"))
    ]
    separator = next((mark for mark in SEPARATORS if any(mark in line for _, line in lines)), None)
    if separator is None and lines and len(lines[-1][1].split()) > 1:
        return [(number, line.split()) for number, line in lines]
    # A single column has no separator; one that never occurs leaves its lines whole, blanks in a header included.
    return [
        (number, [cell.strip() for cell in next(csv.reader([line], delimiter=separator or "\x1f"))])
        for number, line in lines
    ]


def _number(path: Path, line: int, cell: str) -> float:
    if DECIMAL_COMMA.match(cell):
        raise CorruptData(f"{path}, line {line}: {cell!r} has a decimal comma; write {cell.replace(',', '.')!r}")
    try:
        value = float(cell)
    except ValueError:
        raise CorruptData(f"{path}, line {line}: {cell!r} is not a number") from None
    if not math.isfinite(value):
        raise CorruptData(f"{path}, line {line}: {cell!r} is not a finite number")
    return value


def _is_number(cell: str) -> bool:
    """Whether a cell is meant as a number, be it one with a decimal comma or no finite one."""
    if DECIMAL_COMMA.match(cell):
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _factor(unit: str, name: str) -> float:
    """Millivolts per unit of a column, from the line of units or from its name, as in ``EPSP (mV)`` or ``epsp_uV``."""
    if unit:
        return UNITS[unit.lower()]
    found = UNIT_IN_NAME.search(name)
    return UNITS.get(found.group(1).lower(), 1.0) if found else 1.0
