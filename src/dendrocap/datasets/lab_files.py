"""Columns of numbers from files in the formats used in laboratories.

Separators can be commas, semicolons, tabs or blanks, with decimal commas if commas have no other use; Excel sheets are
read too. Comment and title lines are skipped; headers, and units in them or in the line below, are recognised.
Ambiguous content and units that are no voltages are refused with a reason: nothing is guessed.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dendrocap.display import Displayed
from dendrocap.errors import CorruptData, InvalidParameter, MissingExtra
from dendrocap.files import UNREADABLE
from dendrocap.numerics.types import Floats
from dendrocap.validation import choice

# Rows of cells from the bytes of a file: text in any common encoding and with any common separator, or Excel.

SEPARATORS = (";", "\t", ",")

DECIMAL_COMMA = re.compile(r"^[+-]?\d*,\d+([eE][+-]?\d+)?$")

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
    """The text of a file in UTF-8, UTF-16 with its mark or, if it is neither, Windows Latin-1."""
    marked = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    for encoding in ("utf-16",) if marked else ("utf-8-sig", "cp1252", "latin-1"):
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if not CONTROL.search(text):
            return text
        break
    raise CorruptData(f"{path}: the file is not text; save the table as CSV or .xlsx")


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


# Units in the headers of laboratory files, and their conversion to millivolts.
#
# A unit that is not a voltage is recognised, so that the error can name it.

VOLTAGES = {"V": 1e3, "mV": 1.0, "uV": 1e-3, "nV": 1e-6, "volt": 1e3, "millivolt": 1.0, "microvolt": 1e-3}

ELECTRICAL = {*VOLTAGES, "fA", "pA", "nA", "uA"}

OTHERS = frozenset((
    "s", "sec", "ms", "us", "min", "h", "Hz", "kHz", "m", "mm", "um", "nm", "A", "mA", "uA", "nA", "pA", "fA", "Ohm",
    "kOhm", "MOhm", "GOhm", "Ω", "kΩ", "MΩ", "GΩ", "S", "mS", "uS", "nS", "pS", "F", "uF", "nF", "pF", "C", "pC", "fC",
    "M", "mM", "uM", "nM", "mol", "K", "°C", "W", "J", "%", "a.u.", "au", "arb.", "arb", "norm.", "norm", "normalised",
    "normalized", "dB", "fold", "picoampere", "nanoampere",
))  # fmt: skip

# Words in brackets that describe the quantity of a column, not its unit.
REMARKS = frozenset((
    "mean", "average", "avg", "median", "peak", "max", "min", "sem", "se", "sd", "std", "n", "control", "ctrl", "soma",
    "somatic", "dendrite", "dendritic", "local", "basal", "apical", "expected", "measured", "observed", "recorded",
    "linear", "sum", "arithmetic", "input", "output", "x", "y", "g",
))  # fmt: skip

BRACKETS = re.compile(r"[(\[{]([^()\[\]{}]*)[)\]}]")

LAST_WORD = re.compile(r"((?:[\s_,/]|\bin\s)+)([^\s_,/()\[\]{}]+)\s*$")


def stated_unit(header: str) -> str:
    """The unit that a header states, as in ``EPSP (mV)``, ``epsp_uV`` or ``EPSP / mV``; empty if it states none.

    Text in brackets is a unit, even an unknown one, unless it is a word such as ``mean``. Without brackets, only a
    known unit of at least two letters counts: ``cell_m`` is a name. A final V may be volts or a layer; a question mark
    makes it an unknown unit, which is refused.

    Examples
    --------
    >>> [stated_unit(header) for header in ("EPSP (µV)", "epsp_mV", "EPSC [pA]", "EPSP (mean)", "slope (mV/ms)")]
    ['uV', 'mV', 'pA', '', 'mV/ms']
    """
    inside = [_spelled(part) for part in BRACKETS.findall(header)]
    units = [part for part in inside if part and part.lower().strip(".") not in REMARKS]
    if units:
        known = [unit for unit in dict.fromkeys(units) if is_unit(unit)]
        return known[0] if len(known) == 1 else " ".join(units)
    last = LAST_WORD.search(BRACKETS.sub("", header))
    unit = _spelled(last.group(2)) if last else ""
    if last and unit == "V":
        return unit if last.group(1).strip(" ") in ("_", "/") else "V?"
    if unit.lower() in ("mv", "uv", "nv"):  # also in capitals, so that the error can name it
        return unit
    return unit if len(unit) > 1 and is_unit(unit) and unit.lower() not in REMARKS else ""


def is_unit(text: str) -> bool:
    """Whether a text is a known unit of any kind, with or without brackets."""
    unit = _spelled(text.strip("()[]{} "))
    return unit in VOLTAGES or unit in OTHERS


def mv_per_unit(unit: str) -> float:
    """Millivolts per unit as `stated_unit` returns it; an empty one means millivolts, all but voltages are refused."""
    unit = _spelled(unit.strip("()[]{} "))
    if not unit or unit in VOLTAGES:
        return VOLTAGES[unit] if unit else 1.0
    if unit in OTHERS:
        raise InvalidParameter(f"the unit {unit!r} is not a voltage; choose another column, or convert it to mV")
    near = next((known for known in VOLTAGES if known.lower() == unit.lower()), "")
    hint = f"did you mean {near}?" if near else "write V, mV or uV in brackets, as in EPSP (mV)"
    raise InvalidParameter(f"the unit {unit!r} is unknown; {hint}")


def _spelled(text: str) -> str:
    """A unit in the spelling of the tables: u for micro, singular, names in lower case."""
    unit = text.strip().replace("µ", "u").replace("μ", "u").replace("Ω", "Ω").replace(" ", "")
    name = unit.lower().rstrip("s")
    if len(name) > 2 and (name in VOLTAGES or name in OTHERS):
        return name
    # A final lower-case v or a is a typing error; a capital M does not mean milli.
    if len(unit) == 2 and unit[0] in "munpf" and unit[1] in "va" and unit != "ma":
        return unit[0] + unit[1].upper()
    return "V" if unit == "v" else unit


MISSING = frozenset(("", "nan", "na", "n/a", "#n/a", "#div/0!", "null", "none", "-", "--", "—", "."))

THOUSANDS = re.compile(r"^[+-]?\d{1,3}([.,'\s]\d{3})+([.,]\d+)?$")

BOUND = re.compile(r"^[<>~≈±]\s*\d")

WITH_UNIT = re.compile(r"^[+-]?\d[\d.,]*\s*[munµμ]?[VA]$")

SEM_WORDS, SD_WORDS = frozenset(("sem", "se", "stderr", "err", "error")), frozenset(("sd", "std", "stdev", "stddev"))

AMPLITUDES = ("epsp", "epsc", "ampl", "weight")

WAY_OUT = "; leave missing values empty and choose --missing drop, or correct the file"


@dataclass(frozen=True)
class Column(Displayed):
    """Numbers of one column, converted to millivolts if the file states their unit."""

    name: str
    unit: str  # as stated in the file; empty if there is none
    values: Floats = field(repr=False, compare=False)
    n_missing: int  # cells without a number, which were left out


@dataclass(frozen=True)
class Amplitudes(Column):
    """Amplitudes of connections, all positive."""

    n_zeros: int  # amplitudes of zero, which were left out or counted as failures


@dataclass(frozen=True)
class Curve(Displayed):
    """A measured input-output curve; both axes are in millivolts if the file states a unit."""

    _displayed = ("names", "unit", "x", "y", "n_missing")

    x: Floats = field(repr=False, compare=False)
    y: Floats = field(repr=False, compare=False)
    # Standard error of each y: from its own column, or from standard deviations and a column n of trial numbers.
    sem: Floats | None = field(repr=False, compare=False)
    # Standard deviations with unknown numbers of trials; they can be drawn, but are not standard errors.
    sd: Floats | None = field(repr=False, compare=False)
    unit: str  # that of y
    names: tuple[str, str]
    n_missing: int  # rows that were left out because of a missing value


@dataclass(frozen=True)
class Table(Displayed):
    r"""The cells of a file by column, with the stated units; a column is converted to numbers on request.

    Examples
    --------
    >>> text = b"expected (mV);recorded (uV);SEM (uV)\n1,0;1100;40\n2,0;2600;50\n"
    >>> curve = parse_table(text, Path("curve.csv")).curve()
    >>> curve.x.tolist(), curve.y.tolist(), curve.sem.tolist()  # all in millivolts
    ([1.0, 2.0], [1.1, 2.6], [0.04, 0.05])
    """

    _displayed = ("path", "names", "units")

    path: Path
    names: tuple[str, ...]
    units: tuple[str, ...]
    rows: tuple[Row, ...] = field(repr=False, compare=False)
    decimal_commas: bool = False

    def column(self, name: str | None = None, hints: Sequence[str] = (), *, missing: str = "refuse") -> Column:
        """The column with this name or number; by default the only column, or the only one that matches a hint.

        Parameters
        ----------
        name : str, optional
            Header of the column, or its number in the file, counted from 1.
        hints : sequence of str
            Parts of headers to search for if there are several columns.
        missing : {"refuse", "drop"}
            How to treat empty cells and entries such as "NaN".
        """
        at = self._the_only(hints) if name is None else self._index(name)
        values = self._values(at)
        kept = self._kept(np.isnan(values), [at], missing)
        return Column(self.names[at], self.units[at], values[kept], int(np.sum(~kept)))

    def amplitudes(self, name: str | None = None, *, missing: str = "refuse", zeros: str = "refuse") -> Amplitudes:
        """The column of amplitudes, all positive; by default the one whose header contains EPSP, amplitude or weight.

        ``name`` and ``missing`` are as for `column`. Amplitudes of zero are refused, counted as pairs tested without
        finding a connection (``zeros="failures"``), or left out ("drop"); their number is reported in both cases.
        """
        choice("--zeros", zeros, ("refuse", "failures", "drop"))
        at = self._the_only(AMPLITUDES) if name is None else self._index(name)
        values = self._values(at)
        kept = self._kept(np.isnan(values), [at], missing)
        lines, values = np.array([row.line for row in self.rows])[kept], values[kept]
        for bad, allowed, hint in (
            (values < 0.0, False, "amplitudes must be positive"),
            (values == 0.0, zeros != "refuse", "use --zeros failures for pairs without a connection, otherwise drop"),
        ):
            if np.any(bad) and not allowed:
                first = int(np.argmax(bad))
                raise CorruptData(
                    f"{self.path}, line {lines[first]}: an amplitude of {values[first]:g} is not allowed "
                    f"({int(bad.sum())} of {bad.size} values): {hint}"
                )
        positive = values[values > 0.0]
        if not positive.size:
            raise CorruptData(f"{self.path}: column {self.names[at]!r} contains no positive amplitude")
        return Amplitudes(self.names[at], self.units[at], positive, int(np.sum(~kept)), values.size - positive.size)

    def curve(
        self,
        x: str | None = None,
        y: str | None = None,
        sem: str | None = None,
        *,
        missing: str = "refuse",
    ) -> Curve:
        """Two columns as a curve, with standard errors of the second if there are any.

        Columns are given by name or number: by default the only two that hold neither errors nor numbers of trials, and
        the one whose header says that it holds standard errors or deviations; ``sem="none"`` ignores it.
        """
        if (x is None) != (y is None):
            raise InvalidParameter(f"{self.path}: give both --x and --y; there are {self._listing()}")
        if x is not None and y is not None:
            first, second = self._index(x), self._index(y)
        else:
            plain = [at for at in self._numeric() if not self._kind(at)]
            if len(plain) != 2:
                raise InvalidParameter(
                    f"{self.path}: choose two columns with --x and --y; there are {self._listing()}. "
                    "If the file has decimal commas, separate its columns with semicolons"
                )
            first, second = plain
        units = self.units[first], self.units[second]
        if bool(units[0]) != bool(units[1]):
            lacking = self.names[second if units[0] else first]
            raise InvalidParameter(
                f"{self.path}: column {lacking!r} has no unit, but the other one has; write it into the header, as in "
                f"{lacking} (mV)"
            )
        inputs, outputs = self._values(first), self._values(second)
        errors, kind, used = self._errors(sem, first, second)
        lost = np.isnan(inputs) | np.isnan(outputs)
        kept = self._kept(lost if errors is None else lost | np.isnan(errors), [first, second, *used], missing)
        if errors is not None:
            errors = errors[kept]
            if not np.all(errors > 0.0):
                at = int(np.argmax(~(errors > 0.0)))
                line = [row.line for row, keep in zip(self.rows, kept, strict=True) if keep][at]
                raise CorruptData(
                    f"{self.path}, line {line}: a standard error of {errors[at]:g} is not allowed: it must be "
                    "positive; correct it, or ignore the column with --sem none"
                )
        return Curve(
            inputs[kept],
            outputs[kept],
            errors if kind == "sem" else None,
            errors if kind == "sd" else None,
            units[1],
            (self.names[first], self.names[second]),
            int(np.sum(~kept)),
        )

    def _errors(self, wanted: str | None, x: int, y: int) -> tuple[Floats | None, str, list[int]]:
        """Errors of y, whether they are standard errors or deviations, and their columns."""
        if wanted is not None and wanted.lower() == "none":
            return None, "", []
        found = [at for at in self._numeric() if self._kind(at) in ("sem", "sd") and at not in (x, y)]
        if wanted is not None:
            found = [self._index(wanted)]
        elif len(found) > 1:
            mine = [at for at in found if at == y + 1 or _bare(self.names[y]) in _words(self.names[at])]
            if len(mine) != 1:
                raise InvalidParameter(
                    f"{self.path}: several columns may hold the errors of {self.names[y]!r}; there are "
                    f"{self._listing()}; choose one with --sem, or --sem none"
                )
            found = mine
        if not found:
            return None, "", []
        (at,) = found
        # An error without a unit has the unit of its quantity.
        errors = self._values(at) * (1.0 if self.units[at] else self._factor(y))
        counts = [other for other in self._numeric() if self._kind(other) == "n" and other not in (x, y)]
        if self._kind(at) != "sd":
            return errors, "sem", [at]
        if len(counts) != 1:
            return errors, "sd", [at]
        trials = self._values(counts[0])
        with np.errstate(divide="ignore", invalid="ignore"):
            return errors / np.sqrt(trials), "sem", [at, counts[0]]

    def _kind(self, at: int) -> str:
        """The kind of a column according to its header: "sem", "sd", "n" (numbers of trials), or empty."""
        words = _words(self.names[at])
        if words & SEM_WORDS:
            return "sem"
        if words & SD_WORDS:
            return "sd"
        return "n" if words <= {"n", "trials", "sweeps"} and words else ""

    def _factor(self, at: int) -> float:
        """Millivolts per unit of a column."""
        try:
            return mv_per_unit(self.units[at])
        except InvalidParameter as error:
            raise InvalidParameter(f"{self.path}: column {self.names[at]!r}: {error}") from None

    def _values(self, at: int) -> Floats:
        """Numbers of a column in millivolts, NaN where one is missing."""
        numbers = [_number(self.path, row, at, self.decimal_commas) for row in self.rows]
        return np.array(numbers) * (1.0 if self._kind(at) == "n" else self._factor(at))

    def _kept(self, lost: NDArray[np.bool_], columns: list[int], missing: str) -> NDArray[np.bool_]:
        """Rows to keep; raises if values are missing and not dropped, or if a column has no numbers at all."""
        choice("--missing", missing, ("refuse", "drop"))
        if np.any(lost) and missing == "refuse":
            row = self.rows[int(np.argmax(lost))]
            at = next((at for at in columns if row.cells[at].lower() in MISSING), columns[0])
            raise CorruptData(
                f"{self.path}, line {row.line}: {row.cells[at]!r} in column {self.names[at]!r} is not a number "
                f"({int(lost.sum())} of {lost.size} are missing); leave out such rows with --missing drop"
            )
        if np.all(lost):
            raise CorruptData(f"{self.path}: column {self.names[columns[0]]!r} contains no numbers")
        return ~lost

    def _numeric(self) -> list[int]:
        return [
            at for at in range(len(self.names)) if any(_is_number(row.cells[at]) for row in self.rows)
        ]  # fmt: skip

    def _the_only(self, hints: Sequence[str]) -> int:
        numeric = self._numeric()
        if len(numeric) == 1:
            return numeric[0]
        hinted = [
            at for at in numeric if not self._kind(at) and any(hint in self.names[at].lower() for hint in hints)
        ]  # fmt: skip
        if len(hinted) == 1:
            return hinted[0]
        raise InvalidParameter(
            f"{self.path}: choose a column with --column; there are {self._listing()}. "
            "If the file has decimal commas, separate its columns with semicolons"
        )

    def _index(self, name: str) -> int:
        exact = [at for at, title in enumerate(self.names) if title == name]
        found = exact or [at for at, title in enumerate(self.names) if title.lower() == name.lower()]
        if len(found) > 1:
            raise InvalidParameter(f"{self.path}: two columns have the name {name!r}; choose one by its number")
        if found:
            return found[0]
        if name.isdecimal() and 1 <= int(name) <= len(self.names):
            return int(name) - 1
        raise InvalidParameter(f"{self.path}: there is no column {name!r}; there are {self._listing()}")

    def _listing(self) -> str:
        numeric = self._numeric()
        listed = [self.names[at] if self.names[at] == str(at + 1) else f"{at + 1} {self.names[at]}" for at in numeric]
        return f"{len(numeric)} columns of numbers: {', '.join(listed[:12])}{', ...' if len(listed) > 12 else ''}"


def read_table(path: Path, sheet: str | None = None) -> Table:
    r"""Read the columns of a file; empty lines and lines that begin with ``#`` or ``%`` are skipped.

    Parameters
    ----------
    path : Path
        Text in UTF-8, UTF-16 or Latin-1, or an Excel workbook (.xlsx; extra ``excel``).
    sheet : str, optional
        Sheet of a workbook; by default the only one that is not empty.

    Raises
    ------
    CorruptData
        If there are no numbers or a line does not fit the others; the message names file and line. A cell that is not a
        number raises when its column is requested.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "epsp.csv")
    ...     _ = file.write_text("# slice 4\ncell;epsp (mV)\na;0,83\nb;1,34\n")
    ...     table = read_table(file)
    >>> table.column().name, table.column().values.tolist()
    ('epsp (mV)', [0.83, 1.34])
    """
    return parse_table(path.read_bytes(), path, sheet)


def parse_table(content: bytes, path: Path, sheet: str | None = None) -> Table:
    """The columns of a file given by its content; ``path`` is its name in messages."""
    rows, decimal_commas = rows_of(content, path, sheet)
    if not rows:
        raise CorruptData(f"{path}: the file contains no data")
    # Lines without numbers before the first one with numbers: the last of them holds names, or units below the names.
    texts = []
    while rows and not any(_is_number(cell) for cell in rows[0].cells):
        texts.append(rows.pop(0))
    if not rows:
        raise CorruptData(f"{path}: the file contains no numbers")
    units: list[str] = []
    if len(texts) >= 2 and all(is_unit(cell) or not cell for cell in texts[-1].cells) and any(texts[-1].cells):
        units = [cell.strip("()[]{} ") for cell in texts.pop().cells]
    elif len(texts) >= 2 and len(texts[-1].cells) == len(texts[-2].cells) > 1 and all(texts[-2].cells):
        raise CorruptData(
            f"{path}, line {texts[-1].line}: {', '.join(texts[-1].cells)!r:.60} below the names of the columns are not "
            "known units; begin lines of titles and remarks with #"
        )
    width = len(texts[-1].cells) if texts else len(rows[0].cells)
    rows = [_fitted(path, row, width) for row in rows]
    names = [name or str(at + 1) for at, name in enumerate(texts[-1].cells)] if texts else _numbers(width)
    if decimal_commas:
        _refuse_mixed_marks(path, rows)
    stated = [unit or stated_unit(name) for unit, name in zip((units + [""] * width)[:width], names, strict=True)]
    for at, name in enumerate(names):
        units_below = {row.cells[at] for row in rows}
        if _words(name) & {"unit", "units"} or all(_spelled(cell) in ELECTRICAL for cell in units_below):
            if len(units_below) > 1:
                raise InvalidParameter(f"{path}: column {name!r} states several units; convert the numbers to one unit")
            stated = [unit or next(iter(units_below)) for unit in stated]
    table = Table(path, tuple(names), tuple(stated), tuple(rows), decimal_commas)
    if not table._numeric():
        raise CorruptData(f"{path}: the file contains no column of numbers")
    return table


def _numbers(width: int) -> list[str]:
    return [str(at + 1) for at in range(width)]


def _fitted(path: Path, row: Row, width: int) -> Row:
    """A row with the width of the others; empty cells at its end are added or removed."""
    cells = row.cells[:width] if not any(row.cells[width:]) else row.cells
    if len(cells) > width:
        raise CorruptData(
            f"{path}, line {row.line}: {len(cells)} values instead of {width} (if this is a decimal comma, separate "
            "the columns with semicolons or write 0.45 instead of 0,45; if it is a title, begin the line with #)"
        )
    if len(cells) < width and (width - len(cells) > 1 or any(_is_number(cell) for cell in cells) is False):
        raise CorruptData(f"{path}, line {row.line}: {len(cells)} values instead of {width}; begin remarks with #")
    return Row(row.line, cells + [""] * (width - len(cells)))


def _refuse_mixed_marks(path: Path, rows: Sequence[Row]) -> None:
    """Refuse a file with both 0,45 and 0.45: one of the two is not a decimal mark."""
    cells = [(row.line, cell) for row in rows for cell in row.cells]
    commas = next((at for at in cells if DECIMAL_COMMA.match(at[1])), None)
    points = next((at for at in cells if "." in at[1] and "," not in at[1] and _is_number(at[1])), None)
    if commas and points:
        raise CorruptData(
            f"{path}, line {commas[0]}: {commas[1]!r} has a decimal comma, but {points[1]!r} in line {points[0]} has a "
            "decimal point; write all numbers with the same mark"
        )


def _number(path: Path, row: Row, at: int, decimal_commas: bool) -> float:
    """The number in a cell, NaN if it is missing."""
    cell = row.cells[at]
    if cell.lower() in MISSING:
        return math.nan
    where = f"{path}, line {row.line}: {cell!r}"
    if DECIMAL_COMMA.match(cell):
        if not decimal_commas:
            raise CorruptData(
                f"{where} has a decimal comma or a thousands separator; write {cell.replace(',', '.')!r} or "
                f"{cell.replace(',', '')!r}, or separate the columns with semicolons"
            )
        cell = cell.replace(",", ".")
    try:
        value = float(cell.replace("\N{MINUS SIGN}", "-")) if "_" not in cell else None
    except ValueError:
        value = None
    if value is None:
        if THOUSANDS.match(cell):
            raise CorruptData(f"{where} has thousands separators; write the number without them")
        if BOUND.match(cell):
            raise CorruptData(f"{where} is a bound or an estimate, not a number{WAY_OUT}")
        if WITH_UNIT.match(cell):
            raise CorruptData(f"{where} is not a number; write the unit into the header, as in EPSP (mV)")
        raise CorruptData(f"{where} is not a number{WAY_OUT}")
    if not math.isfinite(value):
        raise CorruptData(f"{where} is not a finite number{WAY_OUT}")
    return value


def _is_number(cell: str) -> bool:
    """Whether a cell is meant as a number, even if it is refused when its column is requested."""
    if any(meant.match(cell) for meant in (DECIMAL_COMMA, THOUSANDS, BOUND, WITH_UNIT)):
        return True
    try:
        float(cell.replace("\N{MINUS SIGN}", "-"))
    except ValueError:
        return False
    return "_" not in cell


def _words(name: str) -> set[str]:
    """The words of a header in lower case; s.e.m. is one word."""
    return set(re.split(r"[^a-z0-9]+", name.lower().replace(".", ""))) - {""}


def _bare(name: str) -> str:
    """The first word of a header, without its unit."""
    return next(iter(re.split(r"[^a-z0-9]+", name.lower().strip())), "")
