"""A sweep, an executor and a store brought together."""

from __future__ import annotations

import logging
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from dendrocap.display import Displayed
from dendrocap.errors import InvalidParameter, StoreError
from dendrocap.experiments.cells import FAILED
from dendrocap.experiments.environment import Environment
from dendrocap.experiments.executors import Executor, ProcessExecutor, SerialExecutor
from dendrocap.experiments.jobs import check
from dendrocap.experiments.plan import Plan, parse_shard
from dendrocap.experiments.store import Counts, Store
from dendrocap.experiments.sweep import Sweep
from dendrocap.validation import real_number

__all__ = ["Progress", "SweepReport", "run_sweep", "run_sweeps"]


@dataclass(frozen=True)
class Progress(Displayed):
    """Where a sweep stands.

    Parameters
    ----------
    cells, done, failed : int
        All cells, and how many of them have an outcome, earlier runs included. A search wants more as it goes on.
    running : int
        Cells being run.
    ran : int
        Outcomes of this run.
    seconds : float
        Since the beginning of this run.

    Examples
    --------
    >>> progress = Progress(cells=10, done=4, failed=1, running=2, ran=3, seconds=1.5)
    >>> f"{progress.done + progress.failed} of {progress.cells}, {progress.ran / progress.seconds:.0f} per second"
    '5 of 10, 2 per second'
    """

    cells: int
    done: int
    failed: int
    running: int
    ran: int
    seconds: float


@dataclass(frozen=True)
class SweepReport(Displayed):
    """What a call of `run_sweep` did.

    Parameters
    ----------
    sweep : Sweep
        What was asked for.
    counts : Counts
        How the store stands afterwards.
    ran : int
        Cells that were run now; the others were there already.
    seconds : float
        How long it took.
    interrupted : bool
        Whether the user stopped it with Ctrl-C.
    stopped : str
        Why it ended before its end otherwise, such as too many failures; empty if it did not.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dendrocap import Sweep
    >>> sweep = Sweep("capacity", grid={"theta_d": [0.1, 0.5]}, parameters={"nonlinearity": "linear", "theta_s": 0.5})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = run_sweep(sweep, Path(folder, "linear.db"), workers=1)
    >>> report.counts, report.ran, report.interrupted
    (Counts(cells=2, done=2, failed=0), 2, False)
    """

    _displayed = ("counts", "ran", "seconds", "interrupted", "stopped")

    sweep: Sweep
    counts: Counts
    ran: int
    seconds: float
    interrupted: bool
    stopped: str = ""


def run_sweep(
    sweep: Sweep,
    store: str | Path,
    *,
    executor: Executor | None = None,
    workers: int | None = None,
    retry_failed: bool = False,
    timeout: float | None = None,
    max_failures: int | str | None = None,
    shard: str = "",
    mixed: bool = False,
    rerun_older: bool = False,
    callback: Callable[[Progress], Any] | None = None,
    notify: Callable[[str], Any] | None = None,
) -> SweepReport:
    """Run what a store does not have yet of a sweep.

    Every outcome is written as soon as it arrives, so that at any moment the run can be killed and called again.

    Parameters
    ----------
    sweep : Sweep
        What to run.
    store : str or Path
        File of the results, made if it does not exist.
    executor : Executor, optional
        Who runs the cells; by default processes of this machine.
    workers : int, optional
        Number of processes, by default one per core; 1 runs the cells in this process, unless there is a timeout.
    retry_failed : bool
        Whether to run failed cells again.
    timeout : float, optional
        Seconds after which a cell is stored as failed and its process ended; by default what the sweep says.
    max_failures : int or str, optional
        The sweep ends when more cells than this fail in the run; ``"5%"`` is a part of all cells.
    shard : str, optional
        Run only one of several parts, ``"2/3"``, each into a store of its own.
    mixed, rerun_older : bool
        What to do with finished cells of other versions of dendrocap, NumPy, Numba or Python: keep them beside new
        ones, or run them again. Without a word the sweep is refused.
    callback : callable, optional
        Called with a `Progress` at the beginning and after every cell.
    notify : callable, optional
        Called with what the user should know: damaged rows, a worker that is left out, nobody to run cells. By
        default it is logged as a warning of ``dendrocap``.

    Raises
    ------
    InvalidParameter
        If the job cannot be imported or does not take the sweep's parameters; nothing is run.
    StoreError
        If the store cannot be used, or its disk fills up; what is stored stays.
    WorkersLost
        If the executor's processes cannot be reached, or none of them can run the job.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dendrocap import Store, Sweep
    >>> sweep = Sweep("capacity", grid={"theta_d": [0.1, 0.5]}, parameters={"nonlinearity": "relu", "theta_s": 0.5})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = run_sweep(sweep, Path(folder, "relu.db"), workers=1)
    ...     again = run_sweep(sweep, Path(folder, "relu.db"), workers=1)
    ...     with Store(Path(folder, "relu.db")) as store:
    ...         capacities = store.to_dataframe()["alpha_c"].round(5).tolist()
    >>> first.ran, again.ran, capacities
    (2, 0, [1.00206, 1.34306])
    """
    (report,) = run_sweeps(
        [sweep],
        store,
        executor=executor,
        workers=workers,
        retry_failed=retry_failed,
        timeout=timeout,
        max_failures=max_failures,
        shard=shard,
        mixed=mixed,
        rerun_older=rerun_older,
        callback=callback,
        notify=notify,
    )
    return report


def run_sweeps(
    sweeps: Sequence[Sweep],
    store: str | Path | Store,
    *,
    executor: Executor | None = None,
    workers: int | None = None,
    retry_failed: bool = False,
    timeout: float | None = None,
    max_failures: int | str | None = None,
    shard: str = "",
    mixed: bool = False,
    rerun_older: bool = False,
    callback: Callable[[Progress], Any] | None = None,
    notify: Callable[[str], Any] | None = None,
) -> list[SweepReport]:
    """Run what a store does not have yet of several sweeps, as if they were one.

    Workers start once and go from one sweep to the next without waiting. Parameters are those of `run_sweep`;
    a store that is open for writing may be given too, and stays open. The reports are in the order of the sweeps, and
    their ``seconds`` are those of the whole call.

    Examples
    --------
    >>> import tempfile
    >>> linear, relu = (
    ...     Sweep("capacity", grid={"theta_d": [0.1, 0.5]}, parameters={"nonlinearity": name, "theta_s": 0.5})
    ...     for name in ("linear", "relu")
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [report.ran for report in run_sweeps([linear, relu, linear], f"{folder}/results.db", workers=1)]
    [2, 2, 2]
    """
    for sweep in sweeps:
        check(sweep)
    parse_shard(shard)
    if timeout is None:
        timeout = min((sweep.timeout for sweep in sweeps if sweep.timeout is not None), default=None)
    else:
        timeout = real_number("timeout", timeout, 0.0, low_open=True)
    if executor is None:
        executor = SerialExecutor() if workers == 1 and timeout is None else ProcessExecutor(workers)
    allowed = _allowed_failures(max_failures)
    tell, warn = callback or (lambda _: None), notify or logging.getLogger("dendrocap").warning
    began, ran, fresh_failures, stopped = time.monotonic(), set(), 0, ""
    opened = nullcontext(store) if isinstance(store, Store) else Store(store, write=True, exclusive=bool(shard))
    with opened as results, _ctrl_c() as stop:
        _mend(results, warn)
        for sweep in sweeps:
            results.add(sweep, shard)
        plan = Plan(sweeps, results, shard=shard, retry_failed=retry_failed, rerun_older=rerun_older)
        if not (mixed or rerun_older) and plan.has_work():
            _refuse_to_mix(results, plan)
        done, failed = plan.standing()
        tell(Progress(len(plan.wanted), done, failed, 0, 0, 0.0))
        with closing(executor.run(plan.todo(), stop, timeout=timeout, notify=warn)) as outcomes:  # type: ignore[type-var]
            for outcome in outcomes:
                results.save(outcome, replace=rerun_older)
                ran.add(outcome.cell.key)
                plan.learn(outcome)
                done, failed = (done, failed + 1) if outcome.status == FAILED else (done + 1, failed)
                fresh_failures += outcome.status == FAILED
                running = min(executor.running, len(plan.wanted) - done - failed)
                tell(Progress(len(plan.wanted), done, failed, running, len(ran), time.monotonic() - began))
                if allowed is not None and not stop.is_set() and fresh_failures > allowed(len(plan.wanted)):
                    stopped = f"{fresh_failures} cells failed, more than max_failures = {max_failures} allows"
                    stop.set()
        seconds, interrupted = time.monotonic() - began, stop.is_set() and not stopped
        return [
            SweepReport(
                sweep,
                plan.counts(sweep),
                sum(key in ran for key in plan.keys(sweep)),
                seconds,
                interrupted,
                stopped,
            )
            for sweep in sweeps
        ]


def _mend(store: Store, warn: Callable[[str], Any]) -> None:
    """Put damaged rows aside, so that their cells are run again."""
    damaged = store.put_aside()
    if damaged:
        rows = "1 damaged row was" if damaged == 1 else f"{damaged} damaged rows were"
        warn(f"{store.path}: {rows} put aside and will be run again; is the disk in order?")


def _refuse_to_mix(store: Store, plan: Plan) -> None:
    here = Environment.here()
    older = plan.older()
    if older:
        which = "; ".join(here.differing(environment) for environment in older)
        raise StoreError(
            f"{store.path} holds {sum(older.values())} cells of this sweep that were run with {which}: --mixed "
            "(mixed=True) keeps them beside new ones, --rerun-older (rerun_older=True) runs them again"
        )


def _allowed_failures(limit: int | str | None) -> Callable[[int], float] | None:
    """How many failures are allowed among so many cells; None if any number is."""
    if limit is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(%?)", str(limit).strip())
    if isinstance(limit, bool) or found is None or not (float(found[1]) <= 100 if found[2] else found[1].isdecimal()):
        raise InvalidParameter(
            f"max_failures = {limit!r} is not allowed: it must be a whole number >= 0, or a percentage such as '5%'"
        )
    number = float(found[1])
    return (lambda cells: number / 100.0 * cells) if found[2] else (lambda cells: number)


@contextmanager
def _ctrl_c() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C sets, so that what is finished gets written; a second one breaks off."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop  # only the main thread may say what Ctrl-C does
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
