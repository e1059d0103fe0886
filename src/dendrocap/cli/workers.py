"""Who runs the simulations of a command, and how they get on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from dendrocap.errors import InvalidParameter

if TYPE_CHECKING:
    from dendrocap.experiments import Executor, Progress

__all__ = ["Dask", "Workers", "chosen_executor", "described", "progress_bar"]

Workers = Annotated[int | None, typer.Option(help="Processes on this machine; by default one per core. 1 uses none.")]
Dask = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="tcp://HOST:PORT of a Dask scheduler, or local to start a cluster here."),
]


def chosen_executor(dask: str | None, workers: int | None) -> Executor | None:
    """A Dask cluster if one is asked for; None leaves the choice to the library."""
    if dask is None:
        return None
    from dendrocap.experiments import DaskExecutor

    if dask != "local" and "://" not in dask:
        raise InvalidParameter(f"--dask {dask} is not allowed: it must be local, or an address such as tcp://host:8786")
    return DaskExecutor(dask, workers)


@contextmanager
def progress_bar(name: str) -> Iterator[Callable[..., None]]:
    """A line on stderr with done, failed, running, rate and time left; silent where stderr is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[numbers]}"))
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal, refresh_per_second=5) as bar:
        task = bar.add_task(name, numbers="starting")

        def tell(now: Progress, label: str = name) -> None:
            bar.update(
                task, description=label, total=now.cells, completed=now.done + now.failed, numbers=described(now)
            )

        yield tell


def described(now: Progress) -> str:
    """The state of a sweep in one line."""
    numbers = f"{now.done}/{now.cells} done, {now.failed} failed, {now.running} running"
    if not now.ran or not now.seconds:
        return numbers
    rate = now.ran / now.seconds
    left = round((now.cells - now.done - now.failed) / rate)
    return f"{numbers}, {rate:.3g}/s, {left // 3600}:{left // 60 % 60:02}:{left % 60:02} left"
