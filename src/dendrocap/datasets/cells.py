"""Rows of cells from the bytes of a file: text in any common encoding and with any common separator, or Excel."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from dendrocap.errors import CorruptData, InvalidParameter, MissingExtra
from dendrocap.files import UNREADABLE

__all__ = ["DECIMAL_COMMA", "Row", "rows_of"]

SEPARATORS = (";", "\t", ",")
DECIMAL_COMMA = re.compile(r"^[+-]?\d*,\d+([eE][+-]?\d+)?$")
# First bytes of files that are not tables, each with a hint.
FOREIGN = {
    b"\xd0\xcf\x11\xe0": "an old Excel file (.xls): save it as .xlsx or CSV",
    b"%PDF": "a PDF: export the table as CSV",
    b"\x89PNG": "a picture: export the numbers as CSV",
    b"\xff\xd8\xff": "a picture: export the numbers as CSV",
    b"\x1f\x8b": "compressed: unpack it first",
    b"\x89HDF": "an HDF5 or MATLAB file: export the table as CSV",
    b"MATLAB": "a MATLAB file: export the table as CSV, with writematrix",
    b"ABF": "a recording of Axon: export the amplitudes as CSV",
}
CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
MOST_CELLS = 5_000_000


class Row(NamedTuple):
    """A line of a file: its number, counted from one, and its cells without surrounding blanks."""

    line: int
    cells: list[str]


def rows_of(content: bytes, path: Path, sheet: str | None = None) -> tuple[list[Row], bool]:
    """The rows that are neither empty nor comments, and whether their numbers may have decimal commas.

    A comma is a decimal mark only where something else separates the columns.
    """
    if content.startswith(b"PK\x03\x04"):
        return _sheet(content, path, sheet), False
    if sheet is not None:
        raise InvalidParameter(f"{path}: --sheet {sheet!r} is not allowed: the file is not an Excel workbook")
    lines = [
        (number, line.strip("\n\r "))
        for number, line in enumerate(_text(content, path).splitlines(), start=1)
        if line.strip(" \t;,\"'") and not line.lstrip().startswith(("#", "%"))
    ]
    separator = _separator([line for _, line in lines])
    if separator == " ":
        return [Row(number, line.split()) for number, line in lines], True
    rows = []
    for number, line in lines:
        try:
            # A single column has no separator; a character that never occurs leaves its lines whole.
            (cells,) = csv.reader([line], delimiter=separator or "\x1f", strict=False)
        except (csv.Error, ValueError) as error:
            raise CorruptData(f"{path}, line {number}: the line cannot be split into cells ({error})") from None
        rows.append(Row(number, [cell.strip() for cell in cells]))
    return rows, separator in (";", "\t")


def _separator(lines: list[str]) -> str | None:
    """The separator of the columns; None if there is only one column."""
    for mark in SEPARATORS[:2]:
        if any(mark in line for line in lines):
            return mark
    words = [line.split() for line in lines]
    numbers = [cells for cells in words if cells and all(_plain_number(cell) for cell in cells)]
    if any(len(cells) > 1 for cells in numbers):  # also "0,1 0,45"; the cells of "0.1, 0.45" are not numbers
        return " "
    if any("," in line for line in lines):
        return ","
    return " " if words and len(words[-1]) > 1 else None


def _plain_number(cell: str) -> bool:
    if DECIMAL_COMMA.match(cell):
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _text(content: bytes, path: Path) -> str:
    """The text of a file in UTF-8, UTF-16 or, if it is neither, Windows Latin-1."""
    for start, kind in FOREIGN.items():
        if content.startswith(start):
            raise CorruptData(f"{path}: the file is {kind}")
    zeros = (content[0:200:2].count(0), content[1:200:2].count(0))
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        tries = ["utf-16"]
    elif max(zeros) > 0.4 * len(content[:200]) / 2 and min(zeros) == 0:
        tries = ["utf-16-be" if zeros[0] else "utf-16-le"]  # no byte-order mark: every other byte is zero
    else:
        tries = ["utf-8-sig", "cp1252", "latin-1"]
    for encoding in tries:
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if CONTROL.search(text):
            break
        return text
    raise CorruptData(f"{path}: the file is not text; use a table as CSV or .xlsx")


def _sheet(content: bytes, path: Path, name: str | None) -> list[Row]:
    """The rows of a sheet: the named one, or the only one that is not empty."""
    try:
        import openpyxl
    except ImportError:
        raise MissingExtra(
            f"{path}: Excel files need openpyxl: run pip install '.[excel]' in the clone, or save the sheet as CSV"
        ) from None
    try:
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        sheets = {sheet.title: _cells_of(sheet.iter_rows(values_only=True)) for sheet in book.worksheets}
    except (*UNREADABLE, SyntaxError) as error:  # damaged XML raises SyntaxError
        raise CorruptData(f"{path}: the file is not a readable Excel workbook (.xlsx) ({error})") from None
    if name is not None and name not in sheets:
        raise InvalidParameter(f"{path}: there is no sheet {name!r}; the sheets are {', '.join(sheets)}")
    filled = {title: rows for title, rows in sheets.items() if rows and name in (None, title)}
    if len(filled) > 1:
        raise InvalidParameter(f"{path}: there are several sheets, {', '.join(filled)}; choose one with --sheet")
    return next(iter(filled.values()), [])


def _cells_of(rows: Iterable[Iterable[object]]) -> list[Row]:
    found: list[Row] = []
    n_cells = 0
    for number, row in enumerate(rows, start=1):
        cells = ["" if cell is None else str(cell).strip() for cell in row]
        n_cells += len(cells)
        if n_cells > MOST_CELLS:
            raise ValueError(f"more than {MOST_CELLS:,} cells")
        if any(cells) and not cells[0].startswith(("#", "%")):
            found.append(Row(number, cells))
    # Empty columns on the right are an artefact of formatting.
    width = max((at + 1 for row in found for at, cell in enumerate(row.cells) if cell), default=0)
    return [Row(row.line, row.cells[:width]) for row in found]
