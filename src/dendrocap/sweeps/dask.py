"""Running cells on a Dask cluster: how it is reached, and errors if it is not."""

from __future__ import annotations

import json
import logging
import math
import threading
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dendrocap.errors import InvalidParameter, MissingExtra, WorkersLost
from dendrocap.files import reading
from dendrocap.learning.protocols import available_cores
from dendrocap.sweeps.process import (
    MOST_DEATHS,
    ONE_THREAD,
    Child,
    Environment,
    Outcome,
    cell_line,
    killed,
    outcome_from,
)
from dendrocap.sweeps.sweep import Cell
from dendrocap.validation import choice, real_number, whole_number

if TYPE_CHECKING:
    from distributed import Client, Future

# Runs a batch of cells on a Dask worker, one after the other, in a child process.
#
# A thread of a Dask worker cannot be stopped, so cells do not run in it. They run in a child process, which is
# terminated when a cell takes too long, or when the batch is cancelled because the client was interrupted or killed. A
# cell that kills its process does not harm the Dask worker, and cells of different threads do not affect one another.

# Seconds between checks of the clock and of the client; seconds without a batch after which a child exits.
WORKER_GLANCE, IDLE = 0.1, 60.0

_children = threading.local()  # one child per thread of the worker


def run_batch(
    lines: Sequence[str],
    jobs: Sequence[str],
    expected: Mapping[str, Any],
    run: str,
    budget: float,
    timeout: float | None,
) -> dict[str, Any]:
    """Outcomes of the first cells of a batch, as many as fit into ``budget`` seconds, at least one.

    Before its first cell a worker must show that it can import the jobs and has the versions of the client.

    Returns
    -------
    dict
        ``answers``, one line for each cell that was run, ``environment``, and the total ``seconds``; or ``refused``,
        the reason why this worker cannot run the cells, and its address as ``worker``.
    """
    from distributed import get_worker

    child = _child_of_this_thread(run, timeout)
    answers: list[str] = []
    with _watched(child):
        child.start()
        client = Environment(**expected)
        if not client.matches(child.environment):
            return {"refused": f"it has {client.differing(child.environment)}", "worker": get_worker().address}
        for job in jobs:
            if objection := child.objection(job):
                return {"refused": objection, "worker": get_worker().address}
        began = time.monotonic()
        for line, following in zip(lines, [*lines[1:], None], strict=True):
            ahead = following if time.monotonic() - began < budget else None
            answer = child.outcome(line, ahead)
            if answer is None:
                break  # the batch was cancelled
            answers.append(answer)
            if ahead is None:
                break
    return {"answers": answers, "environment": child.environment.plain, "seconds": time.monotonic() - began}


def _child_of_this_thread(run: str, timeout: float | None) -> Child:
    """The child process for the cells of a run; the child of another run may hold other code and is closed."""
    if getattr(_children, "run", None) != run:
        if hasattr(_children, "child"):
            _children.child.kill()
            _children.child.close()
        _children.child, _children.run = Child(timeout, IDLE), run
    child: Child = _children.child
    return child


@contextmanager
def _watched(child: Child) -> Iterator[None]:
    """While the batch runs, a thread checks the time limit and whether the batch was cancelled."""
    finished, abandoned = threading.Event(), _abandoned()

    def watch() -> None:
        while not finished.wait(WORKER_GLANCE):
            child.look()
            if abandoned():
                child.kill()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        finished.set()
        watcher.join()
        if abandoned():
            child.kill()
            child.close()
            _children.run = None


def _abandoned() -> Callable[[], bool]:
    """A function that returns whether the task of this thread was cancelled, by Ctrl-C or the death of its client."""
    from distributed import get_worker
    from distributed.worker import thread_state

    worker, key = get_worker(), thread_state.key

    def ask() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    return ask


# Distribution of cells to the workers of a Dask cluster, in batches.
#
# The client assigns batches to named workers: a worker that cannot run the job is excluded, and the cells of a worker
# that disappears are reassigned. A batch holds as many cells as fit into a quarter of a second, according to the times
# measured so far, so that short cells do not cause too many messages. A batch that takes longer returns the cells that
# it has not started. If it is stuck in a single long cell, its cells are reassigned one by one, so that no cell waits
# behind another.

# Seconds between checks of the cluster, and between checks for results.
CENSUS, GLANCE = 1.0, 0.02

# Target duration of a batch in seconds; longer on large clusters, where the client assigns at most this many a second.
BATCH, MOST_BATCHES = 0.25, 100.0

MOST_IN_BATCH = 500

# Seconds after which a batch counts as stuck.
STUCK = 5.0


@dataclass(frozen=True)
class _Batch:
    """Cells assigned to a worker or, if there is no worker yet, to the scheduler."""

    cells: list[Cell]
    worker: str | None
    since: float = field(default_factory=time.monotonic)


class Dealing:
    """One run on a cluster: which worker has which cells, and which workers are able to run them.

    Parameters
    ----------
    client : distributed.Client
        Connection to the cluster.
    stop : threading.Event
        Set when no more cells should start.
    timeout : float or None
        Time limit of a cell in seconds.
    notify : callable
        Called with messages about workers for the user.
    wait_workers : float or None
        Seconds to wait while there is no worker; None waits without limit.
    """

    def __init__(
        self,
        client: Client,
        stop: threading.Event,
        timeout: float | None,
        notify: Callable[[str], Any],
        wait_workers: float | None,
    ) -> None:
        self._client, self._stop, self._timeout, self._notify = client, stop, timeout, notify
        self._wait_workers = wait_workers
        self._name = uuid.uuid4().hex  # distinguishes our keys from those of other runs
        self._batches = 0
        self._threads: dict[str, int] = {}  # number of threads of each worker that is present and not excluded
        self._unfit: dict[str, str] = {}
        self._asked = -math.inf
        self._deserted: float | None = None
        self._told = False
        self._pace: float | None = None  # recent number of seconds per cell
        self._flying: dict[Future[Any], _Batch] = {}  # per worker in the order of submission
        self._again: deque[Cell] = deque()
        self._alone: set[str] = set()  # keys of cells that must not share a batch
        self._deaths: Counter[str] = Counter()
        self.running = 0

    def stream(
        self, cells: Iterable[Cell | None], suspect: Callable[[Cell], Any], *, singly: bool = False
    ) -> Iterator[Outcome]:
        """Yield outcomes of the cells, except of those during which workers died too often.

        With ``singly`` a worker has one cell at a time, so that its death can be attributed to this cell.
        """
        from distributed import as_completed

        todo = iter(cells)
        completed = as_completed(loop=self._client.loop, with_results=True, raise_errors=False)
        self._deaths.clear()
        self._asked = -math.inf
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
        """Look for workers; reassign the cells of workers that have disappeared, and cells that are stuck."""
        if self._client.status != "running":
            raise WorkersLost(f"the connection to the Dask scheduler was lost: the client is {self._client.status}")
        now = time.monotonic()
        if now - self._asked < CENSUS:
            return
        self._asked = now
        present = self._client.nthreads()
        self._threads = {worker: threads for worker, threads in present.items() if worker not in self._unfit}
        gone = [future for future, batch in self._flying.items() if batch.worker not in (None, *present)]
        for future in gone:
            self._worker_died(self._flying.pop(future), suspect)
        self._forget(gone)
        if present and not self._threads:
            reasons = "; ".join(dict.fromkeys(self._unfit[worker] for worker in present))
            raise WorkersLost(f"no Dask worker can run the cells: {reasons}")
        self._watch_for_workers(now)
        self._free_the_stuck(now)

    def _watch_for_workers(self, now: float) -> None:
        """Notify the user when there is no worker, and when there is one again; give up after ``wait_workers``."""
        if self._threads:
            if self._told:
                there = "1 Dask worker is" if len(self._threads) == 1 else f"{len(self._threads)} Dask workers are"
                self._notify(f"{there} available: the sweep continues")
            self._deserted, self._told = None, False
            return
        self._deserted = now if self._deserted is None else self._deserted
        allowed, waited = self._wait_workers, now - self._deserted
        if allowed is not None and waited >= allowed:
            raise WorkersLost(f"no Dask worker for {waited:.0f} s: start some and run the sweep again")
        if not self._told and (waited >= CENSUS or allowed is not None):
            self._told = True
            patience = "" if allowed is None else f" at most {allowed:g} s"
            self._notify(f"no Dask worker: waiting{patience} for one to start")

    def _free_the_stuck(self, now: float) -> None:
        """Take back the cells that wait behind a long cell, in its batch or after it, and reassign them one by one."""
        limit = max(STUCK, 4.0 * self._budget)
        before: Counter[str | None] = Counter()
        stuck: list[Future[Any]] = []
        for future, batch in self._flying.items():
            waiting = before[batch.worker] >= self._threads.get(batch.worker or "", 1)
            before[batch.worker] += 1
            if now - batch.since > limit and (waiting or len(batch.cells) > 1):
                stuck.append(future)
                self._again.extend(batch.cells)
                self._alone.update(cell.key for cell in batch.cells)
        self._forget(stuck)

    def _deal_out(self, todo: Iterator[Cell | None], completed: Any, singly: bool) -> None:
        """Give every thread one batch, and one more batch of short cells in reserve; long cells are not queued.

        While there is no worker, one cell is submitted to the scheduler, so that an adaptive cluster starts a worker.
        """
        at_worker = Counter(batch.worker for batch in self._flying.values())
        rounds = 2 if not singly and self._pace is not None and self._pace < BATCH else 1
        places = {worker: 1 if singly else threads for worker, threads in self._threads.items()}
        if not self._threads and not self._flying:
            self._submit(self._take(todo, 1), None, completed)
        for turn in range(1, rounds + 1):
            for worker, threads in places.items():
                while at_worker[worker] < turn * threads:
                    cells = self._take(todo, 1 if singly else self._size)
                    if not cells:
                        break
                    self._submit(cells, worker, completed)
                    at_worker[worker] += 1
        self.running = sum(min(at_worker[worker], threads) for worker, threads in places.items())

    @property
    def _budget(self) -> float:
        """Target duration of a batch in seconds."""
        return max(BATCH, sum(self._threads.values()) / MOST_BATCHES)

    @property
    def _size(self) -> int:
        """Number of cells in a batch: one until their duration is known."""
        if self._pace is None:
            return 1
        return max(1, min(MOST_IN_BATCH, int(self._budget / max(self._pace, 1e-9))))

    def _take(self, todo: Iterator[Cell | None], most: int) -> list[Cell]:
        cells: list[Cell] = []
        while len(cells) < most:
            if self._again and cells and self._again[0].key in self._alone:
                break
            cell = self._again.popleft() if self._again else next(todo, None)
            if cell is None:
                break
            cells.append(cell)
            if cell.key in self._alone:
                break
        return cells

    def _submit(self, cells: list[Cell], worker: str | None, completed: Any) -> None:
        if not cells:
            return
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
            workers=None if worker is None else [worker],
            allow_other_workers=False,
            pure=False,
        )
        self._flying[future] = _Batch(cells, worker)
        completed.add(future)

    def _collected(
        self, finished: Iterable[tuple[Future[Any], Any]], suspect: Callable[[Cell], Any]
    ) -> Iterator[Outcome]:
        """Outcomes of finished batches; cells that a batch did not reach are reassigned."""
        from distributed import KilledWorker

        for future, result in finished:
            batch = self._flying.pop(future, None)
            if batch is None:
                continue  # taken back earlier
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
                self._leave_out(batch, result["worker"], result["refused"])
            elif future.status == "error" and not isinstance(result[1], KilledWorker):
                reason = " ".join(f"{type(result[1]).__name__}: {result[1]}".split())
                self._leave_out(batch, batch.worker, f"{reason}; is this version of dendrocap installed there?")
            else:
                self._worker_died(batch, suspect)

    def _leave_out(self, batch: _Batch, worker: str | None, reason: str) -> None:
        """Exclude a worker that cannot run cells, and reassign the cells it has."""
        self._again.extend(batch.cells)
        self._asked = -math.inf  # check at once whether any worker is left
        if worker is not None and worker not in self._unfit:
            self._unfit[worker] = reason
            self._threads.pop(worker, None)
            self._notify(f"the Dask worker {worker} is excluded: {reason}")

    def _worker_died(self, batch: _Batch, suspect: Callable[[Cell], Any]) -> None:
        for cell in batch.cells:
            self._deaths[cell.key] += 1
            if self._deaths[cell.key] < MOST_DEATHS:
                self._again.append(cell)
            else:
                suspect(cell)

    def _forget(self, futures: list[Future[Any]]) -> None:
        """Cancel these futures at the scheduler; their workers then stop the cells in progress."""
        if futures and self._client.status == "running":
            with suppress(OSError):
                self._client.cancel(futures)
        for future in futures:
            self._flying.pop(future, None)


# Seconds to wait for the reply of a scheduler.
PATIENCE = 10.0

PROTOCOLS = ("tcp", "tls", "ucx", "ws", "wss", "inproc")

CHATTY = ("distributed", "tornado", "asyncio")


class DaskExecutor:
    """Runs cells on the workers of a Dask cluster.

    Workers need dendrocap, and the module of a user's job, in the client's versions; other workers are excluded. They
    need no access to the store. Cells of a worker that dies are run again on another.

    Parameters
    ----------
    cluster : str, Path or distributed.Client
        Address of a running scheduler, such as ``"tcp://host:8786"``; the file written by ``dask scheduler
        --scheduler-file``, as a Path; ``"local"`` for a cluster of processes on this machine that ends with the sweep;
        or your own client.
    workers : int, optional
        Number of workers of a local cluster; by default one per core.
    wait_workers : float, optional
        Seconds to wait while the cluster has no worker before the sweep is abandoned; by default without limit.

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
            raise InvalidParameter("workers is only allowed with a local Dask cluster; others have a given size")
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
        """Yield outcomes in the order in which they arrive."""
        suspects: list[Cell] = []
        guilty: list[Cell] = []
        try:
            with self._connected() as client:
                deal = Dealing(client, stop, timeout, notify or (lambda _: None), self.wait_workers)
                for outcome in deal.stream(cells, suspects.append):
                    self.running = deal.running
                    yield outcome
                # Every cell of a worker that died is suspected, not only the one that killed it. Each of them is now
                # run alone on a worker, so that only cells that really kill their worker fail.
                yield from deal.stream(suspects, guilty.append, singly=True)
                yield from (killed(cell, f"{MOST_DEATHS} Dask workers died while running it") for cell in guilty)
        except OSError as error:  # the connection broke during a request
            raise WorkersLost(f"the connection to the Dask scheduler was lost: {error}") from error
        finally:
            self.running = 0

    @contextmanager
    def _connected(self) -> Iterator[Client]:
        """A client of the cluster; a cluster that is started here is also closed here."""
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
        except TypeError as error:  # raised by Dask for a TLS address without certificates
            raise WorkersLost(
                f"{address} needs certificates, which Dask's configuration does not name: set "
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
                host="127.0.0.1",  # so that no other machine can send code to run
                # Any free port: Dask always starts its web server, and its default port, 8787, may be taken.
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
            )


def _address_in(path: Path, patience: float | None) -> str:
    """The address in a scheduler file, which may take a moment to appear."""
    deadline = time.monotonic() + (PATIENCE if patience is None else patience)
    while not (path.is_file() and path.stat().st_size):
        if time.monotonic() > deadline:
            raise WorkersLost(f"{path} does not exist: did you start dask scheduler --scheduler-file {path}?")
        time.sleep(0.1)
    with reading(path, "a scheduler file of Dask"):
        return str(json.loads(path.read_text(encoding="utf-8"))["address"])


def _silence() -> None:
    """Keep Dask from logging errors that we report in one line, including later ones from its threads."""
    for name in [*CHATTY, *logging.root.manager.loggerDict]:
        if name.split(".")[0] in CHATTY:
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise MissingExtra(f"Dask sweeps need an extra: run pip install '.[dask]' in the clone ({error})") from error
    return distributed
