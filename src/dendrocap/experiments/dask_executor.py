"""Cells on the workers of a Dask cluster, in batches.

The client deals batches to workers by name: a worker that cannot run the job is left out, and one that goes away gives
its cells back. Batches hold as many cells as fit into a quarter of a second by the times measured so far, so that
short cells do not drown in messages; a batch that takes longer gives back what it has not begun.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dendrocap.errors import InvalidParameter, MissingExtra, WorkersLost
from dendrocap.experiments.cells import MOST_DEATHS, Outcome, killed
from dendrocap.experiments.child import ONE_THREAD
from dendrocap.experiments.dask_worker import run_batch
from dendrocap.experiments.environment import Environment
from dendrocap.experiments.sweep import Cell
from dendrocap.experiments.worker import cell_line, outcome_from
from dendrocap.files import reading
from dendrocap.learning.many import available_cores
from dendrocap.validation import choice, real_number, whole_number

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["DaskExecutor"]

# Seconds to wait for the answer of a scheduler, between looks at the cluster, and between looks at results.
PATIENCE, CENSUS, GLANCE = 10.0, 1.0, 0.02
PROTOCOLS = ("tcp", "tls", "ucx", "ws", "wss", "inproc")
# Seconds that a batch should take; longer on large clusters, where the client deals at most so many a second.
BATCH, MOST_BATCHES = 0.25, 100.0
MOST_IN_BATCH = 500
CHATTY = ("distributed", "tornado", "asyncio")


class DaskExecutor:
    """Runs cells on the workers of a Dask cluster.

    Workers need dendrocap, and the module of a user's job, installed in the client's versions; one that does not have
    them is left out. They need no access to the store. Cells of a worker that dies are run again on another.

    Parameters
    ----------
    cluster : str, Path or distributed.Client
        Address of a running scheduler, such as ``"tcp://host:8786"``; the file that ``dask scheduler --scheduler-file``
        writes, as a Path; ``"local"`` for a cluster of processes on this machine that ends with the sweep; or a
        client of one's own.
    workers : int, optional
        Number of workers of a local cluster; by default one per core.
    wait_workers : float, optional
        Seconds to wait while the cluster has no worker, before the sweep is given up; by default as long as it takes.

    Examples
    --------
    >>> executor = DaskExecutor("local", workers=2)  # for run_sweep(..., executor=executor), which starts the cluster
    >>> executor.workers
    2
    """

    def __init__(
        self,
        cluster: str | Path | Client = "local",
        workers: int | None = None,
        *,
        wait_workers: float | None = None,
    ) -> None:
        if workers is not None and cluster != "local":
            raise InvalidParameter("workers is allowed with a local Dask cluster only: others have the size they have")
        if isinstance(cluster, str) and cluster != "local":
            protocol, separator, _ = cluster.partition("://")
            if not separator:
                raise InvalidParameter(f"{cluster} is not allowed: it must be local, or an address: tcp://host:8786")
            choice("protocol of the Dask scheduler", protocol, PROTOCOLS)
        self.workers = available_cores() if workers is None else whole_number("workers", workers, 1)
        self.wait_workers = None if wait_workers is None else real_number("wait_workers", wait_workers, 0.0)
        self.cluster = cluster
        self.running = 0

    def run(
        self,
        cells: Iterable[Cell | None],
        stop: threading.Event,
        *,
        timeout: float | None = None,
        notify: Callable[[str], Any] | None = None,
    ) -> Iterator[Outcome]:
        """Outcomes in the order in which they arrive."""
        suspects: list[Cell] = []
        guilty: list[Cell] = []
        try:
            with self._connected() as client:
                deal = _Deal(self, client, stop, timeout, notify or (lambda _: None))
                yield from deal.stream(cells, suspects.append)
                # Every cell that was at a dying worker is suspected, not only the one that killed it. One by one on
                # a worker of its own, each can show what it does, and the innocent are not lost.
                yield from deal.stream(suspects, guilty.append, singly=True)
                yield from (killed(cell, f"{MOST_DEATHS} Dask workers died while running it") for cell in guilty)
        except OSError as error:  # asked for something at the wrong moment
            raise WorkersLost(f"the connection to the Dask scheduler was lost: {error}") from error
        finally:
            self.running = 0

    @contextmanager
    def _connected(self) -> Iterator[Client]:
        """A client of the cluster; what was started here is ended here."""
        if not isinstance(self.cluster, str | Path):
            yield self.cluster
            return
        distributed = _distributed()
        _silence()
        if self.cluster == "local":
            try:
                cluster = self._local_cluster()
            except (OSError, RuntimeError) as error:
                raise WorkersLost(f"a local Dask cluster could not start: {error}") from error
            with cluster, distributed.Client(cluster, set_as_default=False) as client:
                yield client
            return
        address = self.cluster if isinstance(self.cluster, str) else _address_in(self.cluster, self.wait_workers)
        try:
            client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
        except TypeError as error:  # Dask's answer to a TLS address without certificates
            raise WorkersLost(
                f"{address} needs certificates, which Dask's settings do not name: set "
                f"DASK_DISTRIBUTED__COMM__TLS__CA_FILE, __CLIENT__CERT and __CLIENT__KEY ({error})"
            ) from error
        except (OSError, ValueError, RuntimeError) as error:
            raise WorkersLost(f"no Dask scheduler answers at {address}: {error}") from error
        with client:
            yield client

    def _local_cluster(self) -> Any:
        import dask
        from distributed import LocalCluster

        environ = {**dask.config.get("distributed.nanny.pre-spawn-environ"), **ONE_THREAD}
        with dask.config.set({"distributed.nanny.pre-spawn-environ": environ}):
            return LocalCluster(
                n_workers=self.workers,
                threads_per_worker=1,
                host="127.0.0.1",  # nobody else may send us code to run
                # Any free port: Dask starts its web server in any case, and its own choice, 8787, may be taken.
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
            )


@dataclass(frozen=True)
class _Batch:
    """Cells that lie at a worker."""

    cells: list[Cell]
    worker: str


class _Deal:
    """One run on a cluster: which worker has which cells, and which workers are fit to have any."""

    def __init__(
        self,
        executor: DaskExecutor,
        client: Client,
        stop: threading.Event,
        timeout: float | None,
        notify: Callable[[str], Any],
    ) -> None:
        self._executor, self._client, self._stop, self._notify = executor, client, stop, notify
        self._timeout = timeout
        self._name = uuid.uuid4().hex  # keys of another run must not be taken for ours
        self._batches = 0
        self._threads: dict[str, int] = {}  # of the workers that are there and not known to be unfit
        self._unfit: dict[str, str] = {}
        self._asked = 0.0
        self._deserted: float | None = None
        self._told = False
        self._pace: float | None = None  # seconds that a cell takes, lately
        self._flying: dict[Future[Any], _Batch] = {}
        self._again: deque[Cell] = deque()
        self._deaths: Counter[str] = Counter()

    def stream(
        self, cells: Iterable[Cell | None], suspect: Callable[[Cell], Any], *, singly: bool = False
    ) -> Iterator[Outcome]:
        """Outcomes of the cells, except of those during which workers died too often."""
        from distributed import as_completed

        todo = iter(cells)
        completed = as_completed(loop=self._client.loop, with_results=True, raise_errors=False)
        self._deaths.clear()
        self._asked = 0.0
        try:
            while not self._stop.is_set():
                if not self._again and (cell := next(todo, None)) is not None:
                    self._again.append(cell)
                if not (self._again or self._flying):
                    return
                self._look_around(suspect)
                self._deal_out(todo, completed, singly)
                if not completed.has_ready() and (self._stop.wait(GLANCE) or not completed.has_ready()):
                    continue
                yield from self._collected(completed.next_batch(block=False), suspect)
            yield from self._collected(completed.next_batch(block=False), suspect)
        finally:
            self._forget(list(self._flying))

    def _look_around(self, suspect: Callable[[Cell], Any]) -> None:
        """Who is there? Cells of workers that went away are dealt again."""
        if self._client.status != "running":
            raise WorkersLost(f"the connection to the Dask scheduler was lost: the client is {self._client.status}")
        now = time.monotonic()
        if now - self._asked < CENSUS:
            return
        self._asked = now
        present = self._client.nthreads()
        self._threads = {worker: threads for worker, threads in present.items() if worker not in self._unfit}
        gone = [future for future, batch in self._flying.items() if batch.worker not in present]
        for future in gone:
            self._worker_died(self._flying.pop(future), suspect)
        self._forget(gone)
        if present and not self._threads:
            reasons = "; ".join(dict.fromkeys(self._unfit[worker] for worker in present))
            raise WorkersLost(f"no Dask worker can run the cells: {reasons}")
        self._watch_for_workers(now)

    def _watch_for_workers(self, now: float) -> None:
        """Say when nobody is there, and when somebody is again; give up after the time that the user allows."""
        if self._threads:
            if self._told:
                self._notify(f"{_number(len(self._threads), 'Dask worker')} there: going on")
            self._deserted, self._told = None, False
            return
        self._deserted = now if self._deserted is None else self._deserted
        allowed, waited = self._executor.wait_workers, now - self._deserted
        if allowed is not None and waited >= allowed:
            raise WorkersLost(f"no Dask worker was there for {waited:.0f} s: start some, and run the sweep again")
        if not self._told and (waited >= CENSUS or allowed is not None):
            self._told = True
            patience = "" if allowed is None else f" at most {allowed:g} s"
            self._notify(f"no Dask worker is there: waiting{patience} for one to come")

    def _deal_out(self, todo: Iterator[Cell | None], completed: Any, singly: bool) -> None:
        """Keep two batches at every thread: a worker finds its next one waiting, and few are lost with it."""
        at_worker = Counter(batch.worker for batch in self._flying.values())
        for turn in range(1 if singly else 2):
            for worker, threads in self._threads.items():
                most = 1 if singly else (turn + 1) * threads
                while at_worker[worker] < most:
                    cells = self._take(todo, 1 if singly else self._size)
                    if not cells:
                        return
                    self._submit(cells, worker, completed)
                    at_worker[worker] += 1
        threads_in_use = sum(min(at_worker[worker], threads) for worker, threads in self._threads.items())
        self._executor.running = threads_in_use

    @property
    def _budget(self) -> float:
        """Seconds that a batch may take."""
        return max(BATCH, sum(self._threads.values()) / MOST_BATCHES)

    @property
    def _size(self) -> int:
        """Number of cells in a batch: one, until it is known how long they take."""
        if self._pace is None:
            return 1
        return max(1, min(MOST_IN_BATCH, int(self._budget / max(self._pace, 1e-9))))

    def _take(self, todo: Iterator[Cell | None], most: int) -> list[Cell]:
        cells: list[Cell] = []
        while len(cells) < most:
            cell = self._again.popleft() if self._again else next(todo, None)
            if cell is None:
                break
            cells.append(cell)
        return cells

    def _submit(self, cells: list[Cell], worker: str, completed: Any) -> None:
        self._batches += 1
        future = self._client.submit(
            run_batch,
            [cell_line(cell) for cell in cells],
            sorted({cell.job for cell in cells}),
            Environment.here().plain,
            self._name,
            self._budget,
            self._timeout,
            key=f"cells-{self._name}-{self._batches}",
            workers=[worker],
            allow_other_workers=False,
            pure=False,
        )
        self._flying[future] = _Batch(cells, worker)
        completed.add(future)

    def _collected(
        self, finished: Iterable[tuple[Future[Any], Any]], suspect: Callable[[Cell], Any]
    ) -> Iterator[Outcome]:
        """What finished batches say; cells that they did not come to are dealt again."""
        from distributed import KilledWorker

        for future, result in finished:
            batch = self._flying.pop(future, None)
            if batch is None:
                continue  # given up, as its worker had gone
            if future.status == "finished" and "answers" in result:
                answers = result["answers"]
                self._again.extend(batch.cells[len(answers) :])
                if answers:
                    each = result["seconds"] / len(answers)
                    self._pace = each if self._pace is None else 0.7 * self._pace + 0.3 * each
                environment = Environment(**result["environment"])
                for cell, line in zip(batch.cells, answers, strict=False):
                    yield outcome_from(cell, line, environment)
            elif future.status == "finished":
                self._leave_out(batch, result["refused"])
            elif future.status == "error" and not isinstance(result[1], KilledWorker):
                reason = " ".join(f"{type(result[1]).__name__}: {result[1]}".split())
                self._leave_out(batch, f"{reason}; is this version of dendrocap installed there?")
            else:
                self._worker_died(batch, suspect)

    def _leave_out(self, batch: _Batch, reason: str) -> None:
        """A worker that cannot run cells gets no more of them, and gives back what it has."""
        self._again.extend(batch.cells)
        if batch.worker not in self._unfit:
            self._unfit[batch.worker] = reason
            self._threads.pop(batch.worker, None)
            self._asked = 0.0  # is anybody left?
            self._notify(f"the Dask worker {batch.worker} is left out: {reason}")

    def _worker_died(self, batch: _Batch, suspect: Callable[[Cell], Any]) -> None:
        for cell in batch.cells:
            self._deaths[cell.key] += 1
            if self._deaths[cell.key] < MOST_DEATHS:
                self._again.append(cell)
            else:
                suspect(cell)

    def _forget(self, futures: list[Future[Any]]) -> None:
        """Tell the scheduler that nobody waits for these; workers then end the cells they are in."""
        if futures and self._client.status == "running":
            with suppress(OSError):
                self._client.cancel(futures)
        for future in futures:
            self._flying.pop(future, None)


def _address_in(path: Path, patience: float | None) -> str:
    """The address in a scheduler's file, which may take a moment to be written."""
    deadline = time.monotonic() + (PATIENCE if patience is None else patience)
    while not (path.is_file() and path.stat().st_size):
        if time.monotonic() > deadline:
            raise WorkersLost(f"{path} does not exist: is there a dask scheduler --scheduler-file {path}?")
        time.sleep(0.1)
    with reading(path, "a scheduler file of Dask"):
        return str(json.loads(path.read_text(encoding="utf-8"))["address"])


def _silence() -> None:
    """Keep Dask from logging what ends as one line of ours; also later, when its threads notice that all is over."""
    for name in [*CHATTY, *logging.root.manager.loggerDict]:
        if name.split(".")[0] in CHATTY:
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _number(count: int, what: str) -> str:
    return f"{count} {what} is" if count == 1 else f"{count} {what}s are"


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise MissingExtra(f"sweeps on Dask need more: pip install 'dendrocap[dask]' ({error})") from error
    return distributed
