"""The data behind the figures as CSV files, each with the words that say how it was made.

Numbers are written with all their digits, so that what is read back is what was computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dendrocap.files import reading, write_file
from dendrocap.reproduction.paper_figure import Tables

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_table", "read_tables", "write_table"]


def write_table(path: Path, table: pd.DataFrame, origin: Sequence[str]) -> None:
    """Write a table behind comment lines that say where it comes from; the file appears when it is complete."""
    write_file(path, "".join(f"# {line}\n" for line in origin) + table.to_csv(index=False, lineterminator="\n"))


def read_table(path: Path) -> pd.DataFrame:
    """The table in a file, without its comment lines."""
    import pandas as pd

    with reading(path, "a table that dendrocap wrote"):
        return pd.read_csv(path, comment="#", engine="python")  # whose numbers are Python's, exact to the last digit


def read_tables(folder: str | Path, names: Iterable[str]) -> Tables:
    r"""Stored tables by their names, such as those of a figure: what its ``draw`` and ``measure`` take.

    Examples
    --------
    >>> import tempfile
    >>> from dendrocap.reproduction import fig01, read_tables, reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = reproduce(["fig1"], out=folder)
    ...     tables = read_tables(folder, fig01.TABLES)
    >>> list(tables), fig01.draw(tables).axes[1].get_title()
    (['fig1'], 'Polsky: $x_{\\min} = 0.33$, $\\gamma = 15$')
    """
    return {name: read_table(Path(folder) / f"{name}.csv") for name in names}
