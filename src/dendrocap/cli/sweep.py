"""``dendrocap sweep``: run a grid of experiments, look at it, take the results home."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dendrocap.cli.output import JsonFlag, emit, message, plot_target
from dendrocap.errors import InvalidParameter

if TYPE_CHECKING:
    from dendrocap.experiments import Counts, Executor, Progress, Sweep

__all__ = ["sweep"]

StorePath = Annotated[Path, typer.Option("--store", metavar="FILE", help="The file with the results.")]
Digest = Annotated[
    str | None,
    typer.Option("--sweep", metavar="DIGEST", help="Which sweep of the store; by default the one run last."),
]

sweep = typer.Typer(
    name="sweep",
    help="Thousands of runs on one machine or a cluster, resumable at any time.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@sweep.command()
def run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A TOML file that describes the sweep.")],
    store: StorePath = Path("results.db"),
    jobs: Annotated[
        int | None, typer.Option(help="Processes on this machine; by default one per core. 1 uses none.")
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="tcp://HOST:PORT of a Dask scheduler, or local to start a cluster here."),
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run failed cells again.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Run what the store does not have yet of a sweep.

    Finished cells are never run again: after Ctrl-C, a crash or a power cut, the same command goes on.
    Tasks of your own, module:function, are also looked for beside FILE.

    Example: dendrocap sweep run fig3.toml --store fig3.db --jobs 8
    """
    from dendrocap.experiments import read_sweep, run_sweep

    wanted = read_sweep(file)
    sys.path.insert(0, str(file.parent.absolute()))  # as Python does with the folder of a script
    with _progress_bar(wanted.name) as tell:
        report = run_sweep(
            wanted, store, executor=_executor(jobs, dask), jobs=jobs, retry_failed=retry_failed, progress=tell
        )
    emit([_row(wanted, report.counts)], as_json=as_json)
    counts = report.counts
    if report.interrupted:
        again = shlex.join(["dendrocap", "sweep", "run", str(file), "--store", str(store)])
        message(f"interrupted: {counts.done + counts.failed} of {counts.cells} cells are stored; go on with: {again}")
        raise typer.Exit(130)
    message(f"{report.ran} cells run in {report.seconds:.1f} s, {counts.cells - report.ran} were in {store} already")
    if counts.failed:
        message(f"{counts.failed} cells failed: dendrocap sweep status --failed --store {store} tells why")
        raise typer.Exit(1)


@sweep.command()
def status(
    store: StorePath = Path("results.db"),
    failed: Annotated[bool, typer.Option("--failed", help="List the failed cells of a sweep, with reasons.")] = False,
    digest: Digest = None,
    as_json: JsonFlag = False,
) -> None:
    """Tell how far the sweeps in a store have come; also while they run."""
    from dendrocap.experiments import Store

    with Store(store) as results:
        if failed:
            wanted = results.sweep(digest)
            records = [record for record in results.records(wanted) if record.status == "failed"]
            rows = [
                {**{axis: r.parameters[axis] for axis in wanted.grid}, "seed": r.seed, "reason": r.reason}
                for r in records
            ]
        else:
            sweeps = results.sweeps() if digest is None else [results.sweep(digest)]
            rows = [_row(one, results.counts(one)) for one in sweeps]
    emit(rows, as_json=as_json, title=str(store))


@sweep.command()
def export(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="To be written: .csv, .parquet or .nc (NetCDF).")],
    store: StorePath = Path("results.db"),
    digest: Digest = None,
) -> None:
    """Write the results of a sweep to a table.

    Parquet and NetCDF need an extra: pip install 'dendrocap[tables]'.
    """
    from dendrocap.experiments import Store
    from dendrocap.experiments.tables import export as write

    with Store(store) as results:
        wanted = results.sweep(digest)
        records = results.records(wanted)
    write(target, wanted, records)
    message(f"{len(records)} of {len(wanted)} cells: {target}")


@sweep.command()
def plot(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="The figure to be: .png, .pdf or .svg.")],
    x: Annotated[str, typer.Option("--x", help="Axis of the grid along which to draw.")],
    y: Annotated[str, typer.Option("--y", help="Metric to draw, averaged over seeds.")],
    by: Annotated[str | None, typer.Option("--by", help="Another axis: one line for each of its values.")] = None,
    at: Annotated[
        list[str] | None, typer.Option("--at", metavar="AXIS=VALUE", help="Which value of the other axes; repeatable.")
    ] = None,
    store: StorePath = Path("results.db"),
    digest: Digest = None,
    as_json: JsonFlag = False,
) -> None:
    """Draw a metric against an axis of the grid, with the standard error over seeds, and tabulate it.

    Example: dendrocap sweep plot capacity.png --x theta_d --y alpha_c --by nonlinearity
    """
    from dendrocap.experiments import Store
    from dendrocap.experiments.averages import averages

    target = plot_target(target)
    with Store(store) as results:
        wanted = results.sweep(digest)
        points = averages(wanted, results.records(wanted), x, y, by, _places(at or ()))
    emit([_point_row(point, x, y, by) for point in points], as_json=as_json, title=wanted.name)
    from dendrocap.figures.style import save
    from dendrocap.figures.sweep import draw_averages

    save(draw_averages(points, x, y, by), target)
    message(f"figure: {target}")


def _executor(jobs: int | None, dask: str | None) -> Executor | None:
    if dask is None:
        return None
    from dendrocap.experiments import DaskExecutor

    if dask != "local" and "://" not in dask:
        raise InvalidParameter(f"--dask {dask} is not allowed: it must be local, or an address such as tcp://host:8786")
    return DaskExecutor(dask, jobs)


def _row(wanted: Sweep, counts: Counts) -> dict[str, Any]:
    return {
        "sweep": wanted.digest,
        "name": wanted.name,
        "task": wanted.task,
        "cells": counts.cells,
        "done": counts.done,
        "failed": counts.failed,
        "missing": counts.missing,
    }


def _point_row(point: Any, x: str, y: str, by: str | None) -> dict[str, Any]:
    line = {} if by is None else {by: point.line}
    return {**line, x: point.x, y: point.mean, "standard_error": point.standard_error, "cells": point.cells}


def _places(texts: list[str] | tuple[str, ...]) -> dict[str, str]:
    for text in texts:
        if "=" not in text:
            raise InvalidParameter(f"--at {text} is not allowed: it must be AXIS=VALUE")
    return {axis: value for axis, _, value in (text.partition("=") for text in texts)}


@contextmanager
def _progress_bar(name: str) -> Iterator[Callable[[Progress], None]]:
    """A line on stderr with done, failed, running, rate and time left; silent where stderr is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[numbers]}"))
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal, refresh_per_second=5) as bar:
        task = bar.add_task(name, numbers="starting")

        def tell(now: Progress) -> None:
            bar.update(task, total=now.cells, completed=now.done + now.failed, numbers=described(now))

        yield tell


def described(now: Progress) -> str:
    """The state of a sweep in one line."""
    numbers = f"{now.done}/{now.cells} done, {now.failed} failed, {now.running} running"
    if not now.ran or not now.seconds:
        return numbers
    rate = now.ran / now.seconds
    left = round((now.cells - now.done - now.failed) / rate)
    return f"{numbers}, {rate:.3g}/s, {left // 3600}:{left // 60 % 60:02}:{left % 60:02} left"
