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
    """Progress of a run: ``ran`` counts its outcomes; the other cells include those of earlier runs.

    A search adds cells as it proceeds.
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
    counts : Counts
        State of the sweeps in the store afterwards; a cell that several of them share counts once.
    ran : int
        Number of cells run by this call; the others were already in the store.
    seconds : float
        Duration of the call.
    interrupted : bool
        Whether the user stopped it with Ctrl-C.
    stopped : str
        Reason why the run ended early, such as too many failures; empty if it did not.
    """

    counts: Counts
    ran: int
    seconds: float
    interrupted: bool
    stopped: str = ""


def run_sweep(
    sweep: Sweep | Sequence[Sweep],
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
) -> SweepReport:
    """Run the cells of a sweep, or of several, that a store does not hold yet.

    Every outcome is written as soon as it arrives, so the run can be killed at any moment and repeated. Several sweeps
    run as if they were one.

    Parameters
    ----------
    sweep : Sweep or sequence of Sweep
        What to run.
    store : str, Path or Store
        File of the results, created if it does not exist; or a store that is open for writing, which stays open.
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
    >>> from dendrocap import Store, Sweep
    >>> sweep = Sweep("capacity", grid={"theta_d": [0.1, 0.5]}, parameters={"nonlinearity": "relu", "theta_s": 0.5})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = run_sweep(sweep, f"{folder}/relu.db", workers=1)
    ...     again = run_sweep(sweep, f"{folder}/relu.db", workers=1)
    ...     with Store(f"{folder}/relu.db") as store:
    ...         capacities = store.to_dataframe()["alpha_c"].round(5).tolist()
    >>> first.ran, again.ran, capacities
    (2, 0, [1.00206, 1.34306])
    """
    sweeps = [sweep] if isinstance(sweep, Sweep) else list(sweep)
    for one in sweeps:
        check(one)
    parse_shard(shard)
    if timeout is None:
        timeout = min((one.timeout for one in sweeps if one.timeout is not None), default=None)
    else:
        timeout = real_number("timeout", timeout, 0.0, low_open=True)
    if executor is None:
        executor = SerialExecutor() if workers == 1 and timeout is None else ProcessExecutor(workers)
    allowed = _allowed_failures(max_failures)
    tell, warn = callback or (lambda _: None), notify or logging.getLogger("dendrocap").warning
    began, ran, fresh_failures, stopped = time.monotonic(), 0, 0, ""
    opened = nullcontext(store) if isinstance(store, Store) else Store(store, write=True, exclusive=bool(shard))
    with opened as results, _ctrl_c() as stop:
        if damaged := results.discard_damaged():
            rows = "1 damaged row was" if damaged == 1 else f"{damaged} damaged rows were"
            warn(f"{results.path}: {rows} removed and will be run again; check the disk")
        for one in sweeps:
            results.add(one, shard)
        plan = Plan(sweeps, results, shard=shard, retry_failed=retry_failed, rerun_older=rerun_older)
        if not (mixed or rerun_older) and plan.has_work():
            _refuse_to_mix(results, plan)
        standing = plan.counts(settled=True)
        done, failed = standing.done, standing.failed
        tell(Progress(len(plan.wanted), done, failed, 0, 0, 0.0))
        with closing(executor.run(plan.todo(), stop, timeout=timeout, notify=warn)) as outcomes:  # type: ignore[type-var]
            for outcome in outcomes:
                results.save(outcome, replace=rerun_older)
                ran += 1
                plan.learn(outcome)
                done, failed = (done, failed + 1) if outcome.status == FAILED else (done + 1, failed)
                fresh_failures += outcome.status == FAILED
                running = min(executor.running, len(plan.wanted) - done - failed)
                tell(Progress(len(plan.wanted), done, failed, running, ran, time.monotonic() - began))
                if allowed is not None and not stop.is_set() and fresh_failures > allowed(len(plan.wanted)):
                    stopped = f"{fresh_failures} cells failed, more than max_failures = {max_failures} allows"
                    stop.set()
        return SweepReport(plan.counts(), ran, time.monotonic() - began, stop.is_set() and not stopped, stopped)


def _refuse_to_mix(store: Store, plan: Plan) -> None:
    here = Environment.here()
    older = {environment: cells for environment, cells in plan.environments().items() if not here.matches(environment)}
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
