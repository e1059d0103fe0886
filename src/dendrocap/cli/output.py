"""How commands print results: as a table, or as one JSON array."""

from __future__ import annotations

import csv
import json
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from dendrocap.errors import InvalidParameter
from dendrocap.files import writable

__all__ = [
    "CsvFlag",
    "JsonFlag",
    "PlotPath",
    "check_format",
    "draw",
    "emit",
    "message",
    "plain",
    "plot_target",
    "progress",
]

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
    """Print rows with common keys to stdout; ``columns`` limits the table, but not JSON or CSV."""
    check_format(as_json=as_json, as_csv=as_csv)
    if as_json:
        typer.echo(json.dumps([{key: plain(value) for key, value in row.items()} for row in rows], indent=1))
        return
    if as_csv:
        table = csv.DictWriter(sys.stdout, list(rows[0]) if rows else [], lineterminator="\n")
        table.writeheader()
        table.writerows({key: _in_a_cell(value) for key, value in row.items()} for row in rows)
        return
    from rich.console import Console
    from rich.table import Table

    shown = list(columns or (rows[0] if rows else ()))
    grid = Table()
    for key in shown:
        grid.add_column(key, justify="right")
    for row in rows:
        grid.add_row(*(_shown(row[key]) for key in shown))
    # A table that is piped into a file is not wrapped to the width of the terminal.
    console = Console(width=None if sys.stdout.isatty() else 12 * len(shown) + 160)
    if title:  # Rich would wrap a table's own title at the width of the table
        console.print(title, markup=False, highlight=False, soft_wrap=True)
    console.print(grid)


def check_format(*, as_json: bool, as_csv: bool) -> None:
    """Refuse two formats at once; slow commands call this before they start."""
    if as_json and as_csv:
        raise InvalidParameter("--json and --csv cannot be combined: choose one")


@contextmanager
def progress(total: float | None, label: str) -> Iterator[Callable[..., None]]:
    """A function that reports progress on stderr; call it after each of ``total`` steps.

    It takes the number of steps done, and the keywords ``note``, ``total`` and ``label``, all optional. In a terminal a
    progress bar appears after two seconds. Elsewhere a line is written after five seconds and then at growing
    intervals of up to one minute.
    """
    calls: list[tuple[float, float]] = []  # time and number of steps done, of the first and the latest call

    def step(completed: float | None = None, *, note: str = "", **words: Any) -> None:
        done = completed if completed is not None else calls[-1][1] + 1 if calls else 1
        calls[1:] = [(time.monotonic(), done)]
        known = {"total": total, "label": label, **words}
        parts = [_count(done, known["total"]), note, _time_left(calls[0], calls[-1], known["total"])]
        show(done, known["total"], known["label"], ", ".join(part for part in parts if part))

    with _bar(label) if sys.stderr.isatty() else _lines() as show:
        yield step


@contextmanager
def _bar(label: str) -> Iterator[Callable[[float, float | None, str, str], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[text]}"), TimeElapsedColumn()
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    line = bar.add_task(label, total=None, text="")

    def show(done: float, total: float | None, label: str, text: str) -> None:
        bar.update(line, completed=done, total=total, description=label, text=text)

    patience = threading.Timer(2.0, bar.start)
    patience.daemon = True
    patience.start()
    try:
        yield show
    finally:
        patience.cancel()
        bar.stop()


@contextmanager
def _lines() -> Iterator[Callable[[float, float | None, str, str], None]]:
    began = time.monotonic()
    due = began + 5.0

    def show(done: float, total: float | None, label: str, text: str) -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due:
            due = now + min(60.0, now - began)
            message(f"{label} {text}".strip())

    yield show


def _count(done: float, total: float | None) -> str:
    return f"{done:.10g}" if total is None else f"{done:.10g}/{total:.10g}"


def _time_left(first: tuple[float, float], last: tuple[float, float], total: float | None) -> str:
    seconds, steps = last[0] - first[0], last[1] - first[1]
    if total is None or steps <= 0:
        return ""
    left = round((total - last[1]) / steps * seconds)
    return f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02} left"


def message(text: str) -> None:
    """Print a message for the user on stderr, apart from the data."""
    typer.echo(text, err=True)


def plot_target(path: Path | None) -> Path | None:
    """The checked path of the figure to write, or None."""
    return path and writable(path, FIGURE_FORMATS, "--plot")


def draw(target: Path | None, figure: Callable[[Any], Any]) -> None:
    """Write the figure that ``figure`` draws with `dendrocap.plot`; does nothing without a target."""
    if target is not None:
        from dendrocap import plot

        plot.save(figure(plot), target)
        message(f"figure: {target}")


def plain(value: Any) -> Any:
    """A value for JSON, which has neither NaN nor infinity."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _in_a_cell(value: Any) -> Any:
    """A value for a CSV file; values with parts are written as JSON."""
    cell = plain(value)
    return json.dumps(cell, ensure_ascii=False) if isinstance(cell, dict | list) else cell


def _shown(value: Any) -> str:
    value = value.item() if hasattr(value, "item") else value
    return f"{value:.6g}" if isinstance(value, float) else str(value)
