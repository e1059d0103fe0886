"""The table of equations, docs/equations.md, as data: which tag stands for which formula and which code.

Read by the site, which links every tag to its row and every row to its code, and by the tests, which hold docstrings
and table to each other. Nothing here needs Sphinx.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parents[1] / "equations.md"
TAG = re.compile(r"\[([A-Za-z]+(?:-[A-Za-z0-9]+)*)\]")
# Names in the table are as short as they can be; these are the places where they are looked for.
PREFIXES = ("dendrocap", "dendrocap.theory", "dendrocap.learning", "dendrocap.datasets", "dendrocap.fitting")


@dataclass(frozen=True)
class Row:
    """One row of the table."""

    tags: tuple[str, ...]
    names: tuple[str, ...]  # code, as written in the last column


def read_rows(path: Path = TABLE) -> list[Row]:
    """All rows that open with a tag."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("| ["):
            cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
            rows.append(Row(tuple(TAG.findall(cells[0])), tuple(re.findall(r"`([^`]+)`", cells[-1]))))
    return rows


def code_by_tag(path: Path = TABLE) -> dict[str, tuple[str, ...]]:
    """Names of the functions that implement each tag."""
    return {tag: row.names for row in read_rows(path) for tag in row.tags}


def find_code(name: str) -> tuple[str, Any]:
    """The full name and the object that a short name in the table stands for."""
    for prefix in PREFIXES:
        full = f"{prefix}.{name}"
        parts = full.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            try:
                thing: Any = importlib.import_module(".".join(parts[:cut]))
            except ModuleNotFoundError:
                continue
            try:
                for part in parts[cut:]:
                    thing = getattr(thing, part)
            except AttributeError:
                break
            return full, thing
    raise LookupError(f"docs/equations.md names {name}, which does not exist")
