"""How commands print results: a table for people, or one JSON array for machines."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from dendrocap.errors import InvalidParameter

__all__ = ["JsonFlag", "PlotPath", "emit", "message", "plot_target"]

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON array of objects instead of a table.")]
PlotPath = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Also draw a figure: .png, .pdf or .svg.")
]
FIGURE_FORMATS = (".png", ".pdf", ".svg")


def emit(rows: Sequence[Mapping[str, Any]], *, as_json: bool, title: str = "") -> None:
    """Print rows that share their keys to stdout."""
    if as_json:
        typer.echo(json.dumps([{key: _plain(value) for key, value in row.items()} for row in rows], indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title or None, title_justify="left")
    for key in rows[0] if rows else ():
        table.add_column(key, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(_shown(value) for value in row.values()))
    Console().print(table)


def message(text: str) -> None:
    """Tell the user something that is not data."""
    typer.echo(text, err=True)


def plot_target(path: Path) -> Path:
    """The path of a figure to be, refused before any work is done if it cannot be written."""
    if path.suffix.lower() not in FIGURE_FORMATS:
        raise InvalidParameter(f"--plot {path} is not allowed: the name must end in {', '.join(FIGURE_FORMATS)}")
    if not path.parent.is_dir():
        raise InvalidParameter(f"--plot {path} is not allowed: the folder {path.parent} does not exist")
    return path


def _plain(value: Any) -> Any:
    """A value as JSON knows it; JSON has no NaN and no infinity."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _shown(value: Any) -> str:
    value = value.item() if hasattr(value, "item") else value
    return f"{value:.6g}" if isinstance(value, float) else str(value)
