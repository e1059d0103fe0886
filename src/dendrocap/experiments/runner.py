"""A sweep, an executor and a store brought together."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from dendrocap.display import Displayed
from dendrocap.experiments.cells import DONE, FAILED
from dendrocap.experiments.executors import Executor, ProcessExecutor, SerialExecutor
from dendrocap.experiments.jobs import check
from dendrocap.experiments.store import Counts, Store
from dendrocap.experiments.sweep import Cell, Sweep

__all__ = ["Progress", "SweepReport", "run_sweep", "run_sweeps"]


@dataclass(frozen=True)
class Progress(Displayed):
    """Where a sweep stands.

    Parameters
    ----------
    cells, done, failed : int
        All cells, and how many of them have an outcome, earlier runs included.
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

    _displayed = ("counts", "ran", "seconds", "interrupted")

    sweep: Sweep
    counts: Counts
    ran: int
    seconds: float
    interrupted: bool


def run_sweep(
    sweep: Sweep,
    store: str | Path,
    *,
    executor: Executor | None = None,
    workers: int | None = None,
    retry_failed: bool = False,
    callback: Callable[[Progress], Any] | None = None,
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
        Number of processes, by default one per core; 1 runs the cells in this process.
    retry_failed : bool
        Whether to run failed cells again.
    callback : callable, optional
        Called with a `Progress` at the beginning and after every cell.

    Raises
    ------
    InvalidParameter
        If the job cannot be imported or does not take the sweep's parameters; nothing is run.
    StoreError
        If the store cannot be used, or its disk fills up; what is stored stays.
    WorkersLost
        If the executor's processes cannot be reached.

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
        [sweep], store, executor=executor, workers=workers, retry_failed=retry_failed, callback=callback
    )
    return report


def run_sweeps(
    sweeps: Sequence[Sweep],
    store: str | Path | Store,
    *,
    executor: Executor | None = None,
    workers: int | None = None,
    retry_failed: bool = False,
    callback: Callable[[Progress], Any] | None = None,
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
    if executor is None:
        executor = SerialExecutor() if workers == 1 else ProcessExecutor(workers)
    tell = callback or (lambda _: None)
    began, ran = time.monotonic(), set()
    opened = nullcontext(store) if isinstance(store, Store) else Store(store, write=True)
    with opened as results, _ctrl_c() as stop:
        for sweep in sweeps:
            results.add(sweep)
        known = results.statuses()
        wanted = {cell.key: cell for sweep in sweeps for cell in sweep}  # a cell that two sweeps share is run once
        done = sum(known.get(key) == DONE for key in wanted)
        failed = 0 if retry_failed else sum(known.get(key) == FAILED for key in wanted)
        todo = _missing(wanted, known, retry_failed)
        tell(Progress(len(wanted), done, failed, 0, 0, 0.0))
        with closing(executor.run(todo, stop)) as outcomes:  # type: ignore[type-var]
            for outcome in outcomes:
                results.save(outcome)
                ran.add(outcome.cell.key)
                done, failed = (done, failed + 1) if outcome.status == FAILED else (done + 1, failed)
                tell(Progress(len(wanted), done, failed, executor.running, len(ran), time.monotonic() - began))
        seconds = time.monotonic() - began
        return [
            SweepReport(sweep, results.counts(sweep), sum(cell.key in ran for cell in sweep), seconds, stop.is_set())
            for sweep in sweeps
        ]


def _missing(wanted: Mapping[str, Cell], known: Mapping[str, str], retry_failed: bool) -> Iterator[Cell]:
    for key, cell in wanted.items():
        status = known.get(key)
        if status is None or (status == FAILED and retry_failed):
            yield cell


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
