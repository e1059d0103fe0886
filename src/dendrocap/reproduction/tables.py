"""The data behind the figures as CSV files, each with the words that say how it was made.

Numbers are written with all their digits, so that what is read back is what was computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dendrocap.files import reading, write_file

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Tables", "read_table", "write_table"]

Tables = Mapping[str, "pd.DataFrame"]


def write_table(path: Path, table: pd.DataFrame, origin: Sequence[str]) -> None:
    """Write a table behind comment lines that tell its origin; the file appears when it is complete."""
    write_file(path, "".join(f"# {line}\n" for line in origin) + table.to_csv(index=False, lineterminator="\n"))


def read_table(path: Path) -> pd.DataFrame:
    """The table in a file, without its comment lines."""
    import pandas as pd

    with reading(path, "a table that dendrocap wrote"):
        return pd.read_csv(path, comment="#", engine="python")  # whose numbers are Python's, exact to the last digit
