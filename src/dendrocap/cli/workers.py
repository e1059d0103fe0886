"""Who runs the simulations of a command, and how they get on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from dendrocap.cli.output import progress
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
    """A function that shows where a sweep stands: done, failed, running, rate and time left."""
    with progress(None, name) as show:

        def tell(now: Progress, label: str = name) -> None:
            show(now.done + now.failed, total=now.cells, label=label, note=described(now))

        yield tell


def described(now: Progress) -> str:
    """The state of a sweep in a few words."""
    numbers = f"{now.done} done, {now.failed} failed, {now.running} running"
    return f"{numbers}, {now.ran / now.seconds:.3g}/s" if now.ran and now.seconds else numbers
