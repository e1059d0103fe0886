"""Running a sweep: its cells, an executor and a store."""

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
from dendrocap.sweeps.jobs import check
from dendrocap.sweeps.plan import Plan, parse_shard
from dendrocap.sweeps.process import FAILED, Environment, Executor, ProcessExecutor, SerialExecutor
from dendrocap.sweeps.store import Counts, Store
from dendrocap.sweeps.sweep import Sweep
from dendrocap.validation import real_number


@dataclass(frozen=True)
class Progress(Displayed):
    """Progress of a sweep.

    Parameters
    ----------
    cells, done, failed : int
        Number of all cells, of finished and of failed ones, including earlier runs. A search adds cells as it proceeds.
    running : int
        Number of cells in progress.
    ran : int
        Number of outcomes of this run.
    seconds : float
        Seconds since the start of this run.
    """

    cells: int
    done: int
    failed: int
    running: int
    ran: int
    seconds: float


@dataclass(frozen=True)
class SweepReport(Displayed):
    """Result of a call of `run_sweep`.

    Parameters
    ----------
    sweep : Sweep
        The sweep.
    counts : Counts
        State of the store afterwards.
    ran : int
        Number of cells run by this call; the others were already in the store.
    seconds : float
        Duration of the call.
    interrupted : bool
        Whether the user stopped it with Ctrl-C.
    stopped : str
        Reason why the run ended early, such as too many failures; empty if it did not.

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
    """Run the cells of a sweep that a store does not hold yet.

    Every outcome is written as soon as it arrives, so the run can be killed at any moment and repeated.

    Parameters
    ----------
    sweep : Sweep
        The sweep to run.
    store : str or Path
        File of the results, created if it does not exist.
    executor : Executor, optional
        Where the cells run; by default in processes on this machine.
    workers : int, optional
        Number of processes, by default one per core; 1 runs the cells in this process, unless there is a timeout.
    retry_failed : bool
        Whether to run failed cells again.
    timeout : float, optional
        Seconds after which a cell is stored as failed and its process terminated; by default the timeout of the sweep.
    max_failures : int or str, optional
        The run ends when more cells than this have failed in it; ``"5%"`` is relative to the number of cells.
    shard : str, optional
        Run only one of several parts, such as ``"2/3"``, each into its own store.
    mixed, rerun_older : bool
        How to treat finished cells that were run with other versions of dendrocap, NumPy, Numba or Python: keep them
        beside new ones, or run them again. If neither is given, the sweep is refused.
    callback : callable, optional
        Called with a `Progress` at the start and after every cell.
    notify : callable, optional
        Called with messages for the user, about damaged rows, an excluded worker or a lack of workers. By default they
        are logged as warnings of ``dendrocap``.

    Raises
    ------
    InvalidParameter
        If the job cannot be imported or does not take the parameters of the sweep; nothing is run.
    StoreError
        If the store cannot be used, or its disk is full; stored cells are kept.
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
    """Run the cells of several sweeps that a store does not hold yet, as if they were one sweep.

    Workers start once and continue from one sweep to the next without waiting. The parameters are those of `run_sweep`;
    ``store`` can also be a store that is open for writing, which stays open. The reports are in the order of the
    sweeps, and their ``seconds`` are those of the whole call.

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
    """Set damaged rows aside, so that their cells are run again."""
    damaged = store.put_aside()
    if damaged:
        rows = "1 damaged row was" if damaged == 1 else f"{damaged} damaged rows were"
        warn(f"{store.path}: {rows} set aside and will be run again; check the disk")


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
    """A function from the number of cells to the allowed number of failures; None if any number is allowed."""
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
    """An event that is set by the first Ctrl-C, so that finished outcomes are written; a second one interrupts."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop  # only the main thread can handle Ctrl-C
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
