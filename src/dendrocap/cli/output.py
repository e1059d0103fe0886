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
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from dendrocap.errors import InvalidParameter
from dendrocap.files import writable

FIGURE_FORMATS = (".png", ".pdf", ".svg")


def to_write(*flags: str, suffixes: tuple[str, ...] = (), words: str) -> Any:
    """An option that names a file to write: that this is possible is proved before the command begins."""

    def checked(context: typer.Context, path: Path | None) -> Path | None:
        return path and (path if context.resilient_parsing else writable(path, suffixes, flags[0]))

    return typer.Option(*flags, metavar="FILE", help=words, callback=checked)


JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON array of objects instead of a table.")]
CsvFlag = Annotated[bool, typer.Option("--csv", help="Print comma-separated values instead of a table.")]
PlotPath = Annotated[
    Path | None, to_write("--plot", suffixes=FIGURE_FORMATS, words="Also draw a figure: .png, .pdf or .svg.")
]

# Seconds until a progress bar appears in a terminal, and until the first and between further lines in a log.
PATIENCE, FIRST_LINE, HEARTBEAT = 2.0, 5.0, 30.0


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


@dataclass
class _Work:
    """What is known of the progress of some work."""

    total: float | None
    label: str
    done: float = 0.0
    note: str = ""
    first: tuple[float, float] | None = None  # time and steps done at the first report

    def words(self) -> str:
        """Steps done, the note, and the time left at the average speed since the first report."""
        parts = [f"{self.done:.10g}" if self.total is None else f"{self.done:.10g}/{self.total:.10g}", self.note]
        if self.total is not None and self.first is not None and self.done > self.first[1]:
            seconds, steps = time.monotonic() - self.first[0], self.done - self.first[1]
            parts.append(f"{timedelta(seconds=round((self.total - self.done) / steps * seconds))} left")
        return ", ".join(part for part in parts if part)


@contextmanager
def progress(total: float | None, label: str) -> Iterator[Callable[..., None]]:
    """A function that reports progress on stderr; call it after each of ``total`` steps.

    It takes the number of steps done, and the keywords ``note``, ``total`` and ``label``, all optional. In a terminal a
    progress bar appears after two seconds. Elsewhere there is a line after five seconds and then every half minute,
    even if nothing changes.
    """
    work = _Work(total, label)
    with _bar(work) if sys.stderr.isatty() else _heartbeat(work) as show:

        def tell(completed: float | None = None, **known: Any) -> None:
            work.done = work.done + 1 if completed is None else completed
            vars(work).update(known)
            work.first = work.first or (time.monotonic(), work.done)
            show()

        yield tell


@contextmanager
def _bar(work: _Work) -> Iterator[Callable[[], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[text]}"), TimeElapsedColumn()
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    line = bar.add_task(work.label, total=None, text="")
    patience = threading.Timer(PATIENCE, bar.start)
    patience.daemon = True
    patience.start()
    try:
        yield lambda: bar.update(line, completed=work.done, total=work.total, description=work.label, text=work.words())
    finally:
        patience.cancel()
        bar.stop()


@contextmanager
def _heartbeat(work: _Work) -> Iterator[Callable[[], None]]:
    """Write lines from a thread of its own, because work that waits makes no calls."""
    over = threading.Event()

    def beat() -> None:
        pause = FIRST_LINE
        while not over.wait(pause):
            pause = HEARTBEAT
            if work.first is not None:
                message(f"{work.label} {work.words()}".strip())

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield lambda: None
    finally:
        over.set()
        thread.join()


def message(text: str) -> None:
    """Print a message for the user on stderr, apart from the data."""
    typer.echo(text, err=True)


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
