"""How commands print results: a table for people, or one JSON array for machines."""

from __future__ import annotations

import csv
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from dendrocap.errors import InvalidParameter

__all__ = ["CsvFlag", "JsonFlag", "PlotPath", "emit", "message", "plot_target", "progress"]

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON array of objects instead of a table.")]
CsvFlag = Annotated[bool, typer.Option("--csv", help="Print comma-separated values instead of a table.")]
PlotPath = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Also draw a figure: .png, .pdf or .svg.")
]
FIGURE_FORMATS = (".png", ".pdf", ".svg")


def emit(
    rows: Sequence[Mapping[str, Any]],
    *,
    as_json: bool = False,
    as_csv: bool = False,
    title: str = "",
    columns: Sequence[str] | None = None,
) -> None:
    """Print rows that share their keys to stdout; ``columns`` limits what the table shows, never the data."""
    if as_json and as_csv:
        raise InvalidParameter("--json and --csv exclude each other: choose one")
    if as_json:
        typer.echo(json.dumps([{key: _plain(value) for key, value in row.items()} for row in rows], indent=1))
        return
    if as_csv:
        table = csv.DictWriter(sys.stdout, list(rows[0]) if rows else [], lineterminator="\n")
        table.writeheader()
        table.writerows({key: _plain(value) for key, value in row.items()} for row in rows)
        return
    from rich.console import Console
    from rich.table import Table

    shown = list(columns or (rows[0] if rows else ()))
    grid = Table()
    for key in shown:
        grid.add_column(key, justify="right")
    for row in rows:
        grid.add_row(*(_shown(row[key]) for key in shown))
    # Piped into a file, a table is as wide as it needs to be.
    console = Console(width=None if sys.stdout.isatty() else 12 * len(shown) + 160)
    if title:  # a title of the table itself would be folded to the table's width
        console.print(title, markup=False, highlight=False, soft_wrap=True)
    console.print(grid)


@contextmanager
def progress(total: int, label: str) -> Iterator[Callable[[], None]]:
    """A function to call after each of ``total`` steps; a bar appears on stderr once they have taken two seconds."""
    from rich.console import Console
    from rich.progress import Progress

    started, done = time.monotonic(), 0
    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(label, total=total)

    def step() -> None:
        nonlocal done
        done += 1
        if time.monotonic() - started > 2.0:
            bar.start()
            bar.update(task, completed=done)

    try:
        yield step
    finally:
        if bar.live.is_started:
            bar.stop()


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
