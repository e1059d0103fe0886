"""``dendrocap sweep``: run a grid of experiments, inspect it and export its results."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dendrocap.cli import same_again
from dendrocap.cli.options import (
    Dask,
    SchedulerFile,
    WaitWorkers,
    Workers,
    chosen_executor,
    names_in,
    refuse_useless,
    sweep_state,
)
from dendrocap.cli.output import FIGURE_FORMATS, JsonFlag, draw, emit, message, progress, to_write
from dendrocap.display import with_error
from dendrocap.errors import InvalidParameter
from dendrocap.files import writable

if TYPE_CHECKING:
    from dendrocap.sweeps import Counts, Crossing, Progress, Record, Sweep

StorePath = Annotated[Path, typer.Option("--store", metavar="FILE", help="The file that holds the results.")]
Digest = Annotated[
    str | None,
    typer.Option("--sweep", metavar="DIGEST", help="The sweep of the store; by default the one run last."),
]


def run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A TOML file that describes the sweep.")],
    store: StorePath = Path("results.db"),
    workers: Workers = None,
    dask: Dask = None,
    scheduler_file: SchedulerFile = None,
    wait_workers: WaitWorkers = None,
    timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="A cell that takes longer fails; default: as in FILE, or no limit."),
    ] = None,
    max_failures: Annotated[
        str | None, typer.Option(metavar="N|P%", help="Stop when more than N cells, or P% of all, have failed.")
    ] = None,
    shard: Annotated[
        str, typer.Option(metavar="I/N", help="Run only part I of N, into a separate store: see sweep merge.")
    ] = "",
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run failed cells again.")] = False,
    mixed: Annotated[bool, typer.Option("--mixed", help="Keep finished cells of other versions.")] = False,
    rerun_older: Annotated[bool, typer.Option("--rerun-older", help="Run cells of other versions again.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Run the cells of a sweep that the store does not hold yet.

    Finished cells are never run again: after Ctrl-C, a crash or a power cut, the same command resumes.
    Your own jobs, module:function, are also searched for in the folder of FILE.

    Example: dendrocap sweep run fig3.toml --store fig3.db --workers 8
    """
    from dendrocap.sweeps import read_sweep, run_sweep
    from dendrocap.sweeps.plan import parse_shard

    number, shards = parse_shard(shard)
    wanted = read_sweep(file)
    own_store = store.with_name(f"{store.stem}.{number}-of-{shards}{store.suffix}") if shard else store
    sys.path.insert(0, str(file.parent.absolute()))  # as Python does for the folder of a script
    with progress(None, f"{wanted.name} {shard}".strip()) as tell:

        def show(now: Progress) -> None:
            tell(now.done + now.failed, total=now.cells, note=sweep_state(now))

        report = run_sweep(
            wanted,
            own_store,
            executor=chosen_executor(dask, workers, scheduler_file, wait_workers),
            workers=workers,
            retry_failed=retry_failed,
            timeout=timeout,
            max_failures=max_failures,
            shard=shard,
            mixed=mixed,
            rerun_older=rerun_older,
            callback=show,
            notify=message,
        )
    counts = report.counts
    emit([_row(wanted, counts, shard)], as_json=as_json)
    stored = f"{counts.done + counts.failed} of {counts.cells} cells are stored"
    if report.interrupted:
        message(f"interrupted: {stored}; resume with: {same_again()}")
        raise typer.Exit(130)
    if report.stopped:
        message(f"stopped: {report.stopped}; {stored}: {_line('status', '--failed', '--store', own_store)} shows why")
        raise typer.Exit(1)
    there = counts.cells - report.ran
    message(f"{report.ran} cells run in {report.seconds:.1f} s, {there} were already in {own_store}")
    if wanted.search is not None and not shard:
        message(
            f"{counts.cells} cells instead of {len(wanted)}, {len(wanted) / counts.cells:.1f} times fewer than the "
            f"full grid: {_line('status', '--crossings', '--store', store)} shows where {wanted.search.metric} crosses "
            f"{wanted.search.level:g}"
        )
    if counts.failed:
        message(f"{counts.failed} cells failed: {_line('status', '--failed', '--store', own_store)} shows why")
        raise typer.Exit(1)


def status(
    store: StorePath = Path("results.db"),
    failed: Annotated[bool, typer.Option("--failed", help="Count failed cells by reason.")] = False,
    traceback: Annotated[
        str | None, typer.Option(metavar="CELL", help="Show the traceback of a failed cell, given a prefix of its key.")
    ] = None,
    crossings: Annotated[
        bool, typer.Option("--crossings", help="Show where the metric of an adaptive sweep crosses its level.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check every row; exit code 1 if one is damaged, 2 if the file is.")
    ] = False,
    digest: Digest = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the progress of the sweeps in a store, and the versions used; also works while they run."""
    from dendrocap.sweeps import Store
    from dendrocap.sweeps.plan import Plan

    if sum((failed, traceback is not None, crossings, verify)) > 1:
        raise InvalidParameter("choose one of --failed, --traceback, --crossings and --verify")
    if verify:
        refuse_useless("with --verify, which checks the whole file", "digest")
        _verify(store, as_json)
        return
    with Store(store) as results:
        if failed or crossings or traceback is not None:
            wanted = results.sweep(digest)
            records = results.records(wanted)
        if traceback is not None:
            refuse_useless("with --traceback", "as_json")
            _show_traceback(records, traceback)
            return
        if failed:
            emit(_grouped([one for one in records if one.status == "failed"]), as_json=as_json, title=str(store))
            return
        if crossings:
            _crossings(wanted, records, as_json)
            return
        rows, mixes = [], []
        for one in results.sweeps() if digest is None else [results.sweep(digest)]:
            plan = Plan([one], results, shard=results.shard(one))
            mix = {str(environment): cells for environment, cells in plan.environments().items()}
            rows.append({**_row(one, plan.counts(), results.shard(one)), "versions": mix})
            mixes += [f"{one.digest}: {cells} cells with {environment}" for environment, cells in mix.items()]
    shown = [key for key in rows[0] if key != "versions"] if rows else None
    emit(rows, as_json=as_json, title=str(store), columns=shown)
    if not as_json:
        message("\n".join(mixes))


def _verify(store: Path, as_json: bool) -> None:
    from dendrocap.sweeps import verify_store

    verdict = verify_store(store)
    emit([{"store": str(store), **asdict(verdict), "sound": verdict.sound}], as_json=as_json)
    if not verdict.sound:
        message(
            f"damaged rows: {verdict.damaged}; the next dendrocap sweep run removes them and reruns their cells, "
            f"{_line('salvage', store)} -o NEW.db writes the others to a new store"
        )
        raise typer.Exit(1)


def _crossings(wanted: Sweep, records: list[Record], as_json: bool) -> None:
    from dendrocap.sweeps import crossings

    found = crossings(wanted, records)
    assert wanted.search is not None
    axis = wanted.search.axis
    rows = [
        {**one.others, axis: one.value if as_json else _rounded(one), "between": one.low, "and": one.high}
        | {"cells": one.cells}
        for one in found
    ]
    title = (
        f"{axis} at which {wanted.search.metric}, averaged over {len(wanted.seeds)} seeds, crosses "
        f"{wanted.search.level:g}; outside the two bounds it differs from it by more than two standard errors"
    )
    emit(rows, as_json=as_json, title=title)


def salvage(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="A store that is damaged or of an older format.")],
    out: Annotated[Path, to_write("--out", "-o", words="The store to write.")],
    as_json: JsonFlag = False,
) -> None:
    """Write the intact rows of a damaged store to a new one; the old file is not changed."""
    from dendrocap.sweeps import salvage_store

    saved = salvage_store(store, out)
    emit([asdict(saved)], as_json=as_json)
    lost = saved.damaged + saved.unreadable
    message(f"{saved.cells} cells: {out}" + ("; run the sweep again to replace the missing cells" if lost else ""))


def merge(
    stores: Annotated[list[Path], typer.Argument(metavar="STORE...", help="Stores of shards, or other stores.")],
    out: Annotated[Path, to_write("--out", "-o", words="The store with all cells.")],
    as_json: JsonFlag = False,
) -> None:
    """Merge the cells of several stores into one.

    Merging again changes nothing. Stores with different results for the same cell are refused.

    Example: dendrocap sweep merge fig3.*-of-8.db -o fig3.db
    """
    from dendrocap.sweeps import Store, merge_stores

    cells = merge_stores(stores, out)
    with Store(out) as merged:
        rows = [_row(one, merged.counts(one), "") for one in merged.sweeps()]
    emit(rows, as_json=as_json, title=str(out))
    message(f"{cells} cells of {len(stores)} stores: {out}")


def jobs(
    job: Annotated[
        str | None,
        typer.Argument(
            metavar="[JOB]", help="A job; by default all.", autocompletion=names_in("dendrocap.sweeps.jobs", "BUILT_IN")
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """List the built-in jobs, or the parameters of one and their types."""
    from dendrocap.sweeps.jobs import BUILT_IN, job_named

    if job is not None:
        emit(job_named(job).described(), as_json=as_json, title=job)
        return
    about = {name: (job_named(name).function.__doc__ or "").strip().splitlines()[0] for name in BUILT_IN}
    emit([{"job": name, "runs": words} for name, words in about.items()], as_json=as_json)


def export(
    target: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A table: .csv, .parquet, .nc (NetCDF); or a figure: .png, .pdf, .svg."),
    ],
    x: Annotated[str | None, typer.Option("--x", help="Figure: the axis of the grid to draw along.")] = None,
    y: Annotated[str | None, typer.Option("--y", help="Figure: the metric to draw, averaged over seeds.")] = None,
    by: Annotated[
        str | None, typer.Option("--by", help="Figure: another axis, with one line for each of its values.")
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option("--at", metavar="AXIS=VALUE", help="Figure: value of another axis; can be repeated."),
    ] = None,
    store: StorePath = Path("results.db"),
    digest: Digest = None,
    as_json: JsonFlag = False,
) -> None:
    """Write the results of a sweep to a table, or draw a metric against an axis of the grid and tabulate it.

    Figures show the standard error over seeds. Parquet and NetCDF need an extra: run pip install '.[tables]' in the
    clone.

    Example: dendrocap sweep export capacity.png --x theta_d --y alpha_c --by nonlinearity
    """
    from dendrocap.sweeps import Store
    from dendrocap.sweeps.tables import WRITERS, averages
    from dendrocap.sweeps.tables import export as write

    drawn = target.suffix.lower() in FIGURE_FORMATS
    writable(target, FIGURE_FORMATS if drawn else (*WRITERS, *FIGURE_FORMATS))
    if not drawn:
        refuse_useless("for a table", "x", "y", "by", "at")
    elif x is None or y is None:
        raise InvalidParameter("a figure needs --x, an axis of the grid, and --y, a metric")
    with Store(store) as results:
        wanted = results.sweep(digest)
        records = results.records(wanted)
    if x is None or y is None:
        write(target, wanted, records)
        emit([{"cells": len(records), "of": len(wanted), "file": str(target)}], as_json=as_json)
        return
    places = [text.partition("=") for text in at or ()]
    for axis, equals, _ in places:
        if not equals:
            raise InvalidParameter(f"--at {axis} is not allowed: it must be AXIS=VALUE")
    points = averages(wanted, records, x, y, by, {axis: value for axis, _, value in places})
    known = dict.fromkeys(str(record.metrics["estimate"]) for record in records if "estimate" in record.metrics)
    estimate = {"estimate": " and ".join(known)} if known else {}  # the estimate of a capacity
    title = ": ".join(filter(None, [wanted.name, *estimate.values()]))
    rows = [
        {**({} if by is None else {by: point.line}), x: point.x, y: point.mean}
        | {"standard_error": point.standard_error, "cells": point.cells, **estimate}
        for point in points
    ]
    emit(rows, as_json=as_json, title=title)
    draw(target, lambda plots: plots.averages(points, x, y, by, *estimate.values()))


def _line(*words: object) -> str:
    """A command line for the user to type."""
    return shlex.join(["dendrocap", "sweep", *map(str, words)])


def _row(wanted: Sweep, counts: Counts, shard: str) -> dict[str, Any]:
    about = {"sweep": wanted.digest, "name": wanted.name, "job": wanted.job, "shard": shard or "all"}
    return about | {name: getattr(counts, name) for name in ("cells", "done", "failed", "missing")}


def _rounded(crossing: Crossing) -> str:
    """The crossing, with as many digits as its bounds justify."""
    half = (crossing.high - crossing.low) / 2
    return with_error(crossing.value, half).split(" ±")[0] if half >= 0 else "nowhere"


def _grouped(records: list[Record]) -> list[dict[str, Any]]:
    """Failed cells by reason, the most frequent first; reasons that differ only in their numbers are merged."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(re.sub(r"-?\d+(\.\d+)?(e[-+]?\d+)?", "#", record.reason), []).append(record)
    return [
        {"cells": len(own), "reason": own[0].reason, "first": own[0].key[:12]}
        for own in sorted(groups.values(), key=len, reverse=True)
    ]


def _show_traceback(records: list[Record], key: str) -> None:
    found = [record for record in records if record.key.startswith(key) and record.status == "failed"]
    if not key or len(found) != 1:
        failed = ", ".join(record.key[:12] for record in records if record.status == "failed")
        known = f"the beginning of the key of one failed cell: {failed[:400]}" if failed else "no cell has failed"
        raise InvalidParameter(f"--traceback {key} is not allowed: {known}")
    (record,) = found
    typer.echo(
        f"{record.reason}\n{dict(record.parameters)}, seed {record.seed}, on {record.host}\n{record.environment}"
    )
    typer.echo(record.traceback or "no traceback: the process of the cell was terminated from outside")
