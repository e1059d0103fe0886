"""Options that choose where simulations run, and the display of their progress."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dendrocap.cli.output import message, progress
from dendrocap.errors import InvalidParameter

if TYPE_CHECKING:
    from dendrocap.experiments import Executor, Progress

__all__ = ["Dask", "SchedulerFile", "WaitWorkers", "Workers", "chosen_executor", "described", "progress_bar"]

Workers = Annotated[int | None, typer.Option(help="Processes on this machine; default: one per core. 1 starts none.")]
Dask = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="tcp://HOST:PORT of a Dask scheduler, or local to start a cluster here."),
]
SchedulerFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The scheduler file of a Dask scheduler started with --scheduler-file."),
]
WaitWorkers = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Give up if the Dask cluster has no worker for this long; default: never."),
]

# Seconds before the first line and between lines in a log.
FIRST_LINE, HEARTBEAT = 5.0, 30.0


def chosen_executor(
    dask: str | None, workers: int | None, scheduler_file: Path | None = None, wait_workers: float | None = None
) -> Executor | None:
    """The Dask cluster that is asked for; None leaves the choice to the library."""
    if dask is not None and scheduler_file is not None:
        raise InvalidParameter("--dask and --scheduler-file cannot be combined: choose one")
    if dask is None and scheduler_file is None:
        if wait_workers is not None:
            raise InvalidParameter("--wait-workers requires --dask or --scheduler-file")
        return None
    from dendrocap.experiments import DaskExecutor

    if dask is not None and dask != "local" and "://" not in dask:
        raise InvalidParameter(f"--dask {dask} is not allowed: it must be local, or an address such as tcp://host:8786")
    return DaskExecutor(scheduler_file if dask is None else dask, workers, wait_workers=wait_workers)


@contextmanager
def progress_bar(name: str) -> Iterator[Callable[..., None]]:
    """A function that shows the state of a sweep: cells done, failed and running, rate and time left.

    In a terminal this is a progress bar. Elsewhere it is a line every half minute, even if nothing changes.
    """
    if not sys.stderr.isatty():
        with _heartbeat(name) as beat:
            yield beat
        return
    with progress(None, name) as show:

        def tell(now: Progress, label: str = name) -> None:
            show(now.done + now.failed, total=now.cells, label=label, note=described(now))

        yield tell


@contextmanager
def _heartbeat(name: str) -> Iterator[Callable[..., None]]:
    """Print lines from a separate thread, because a sweep that waits for a cell or for workers makes no calls."""
    latest: list[tuple[Progress, str, float]] = []
    over = threading.Event()

    def tell(now: Progress, label: str = name) -> None:
        latest[:] = [(now, label, time.monotonic())]

    def beat() -> None:
        pause = FIRST_LINE
        while not over.wait(pause):
            pause = HEARTBEAT
            if latest:
                now, label, at = latest[0]
                since = time.monotonic() - at
                message(f"{label} {now.done + now.failed}/{now.cells}, {described(now, since)}".strip())

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield tell
    finally:
        over.set()
        thread.join()


def described(now: Progress, since: float = 0.0) -> str:
    """The state of a sweep in a few words, ``since`` seconds after it was reported."""
    words = [f"{now.done} done", f"{now.failed} failed", f"{now.running} running"]
    seconds = now.seconds + since
    if now.ran and seconds:
        words.append(f"{now.ran / seconds:.3g}/s")
        if since:
            left = round((now.cells - now.done - now.failed) * seconds / now.ran)
            words.append(f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02} left")
    return ", ".join(words)
