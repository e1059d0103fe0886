"""``dendrocap sweep``: run a grid of experiments, look at it, take the results home."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dendrocap.cli.output import JsonFlag, draw, emit, message, plot_target
from dendrocap.cli.workers import Dask, Workers, chosen_executor, progress_bar
from dendrocap.errors import InvalidParameter

if TYPE_CHECKING:
    from dendrocap.experiments import Counts, Sweep

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
    workers: Workers = None,
    dask: Dask = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run failed cells again.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Run what the store does not have yet of a sweep.

    Finished cells are never run again: after Ctrl-C, a crash or a power cut, the same command goes on.
    Jobs of your own, module:function, are also looked for beside FILE.

    Example: dendrocap sweep run fig3.toml --store fig3.db --workers 8
    """
    from dendrocap.experiments import read_sweep, run_sweep

    wanted = read_sweep(file)
    sys.path.insert(0, str(file.parent.absolute()))  # as Python does with the folder of a script
    with progress_bar(wanted.name) as tell:
        report = run_sweep(
            wanted,
            store,
            executor=chosen_executor(dask, workers),
            workers=workers,
            retry_failed=retry_failed,
            callback=tell,
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
    from dendrocap.experiments.cell_tables import export as write

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

    plot_target(target)
    with Store(store) as results:
        wanted = results.sweep(digest)
        records = results.records(wanted)
        points = averages(wanted, records, x, y, by, _places(at or ()))
    known = dict.fromkeys(str(record.metrics["estimate"]) for record in records if "estimate" in record.metrics)
    said = {"estimate": " and ".join(known)} if known else {}  # of a capacity, which estimate it is
    title = ": ".join(filter(None, [wanted.name, *said.values()]))
    emit([{**_point_row(point, x, y, by), **said} for point in points], as_json=as_json, title=title)
    draw(target, lambda plots: plots.averages(points, x, y, by, *said.values()))


def _row(wanted: Sweep, counts: Counts) -> dict[str, Any]:
    return {
        "sweep": wanted.digest,
        "name": wanted.name,
        "job": wanted.job,
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
