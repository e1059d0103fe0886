"""Who runs the cells: this process, processes of this machine, or a Dask cluster.

An executor turns cells into outcomes and nothing else: it opens no store, and the order of outcomes is free. All of
them call the same `run_cell`, and a cell carries its own randomness, so that all of them give the same numbers.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

from dendrocap.errors import InvalidParameter, MissingExtra, WorkersLost
from dendrocap.experiments.cells import MOST_DEATHS, Outcome, killed, run_cell
from dendrocap.experiments.processes import ONE_THREAD, ProcessExecutor
from dendrocap.experiments.sweep import Cell
from dendrocap.learning.many import available_cores
from dendrocap.validation import whole_number

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["DaskExecutor", "Executor", "ProcessExecutor", "SerialExecutor"]

# Seconds to wait for the answer of a scheduler, between looks at the size of the cluster, and between looks at results.
PATIENCE, CENSUS, GLANCE = 10.0, 1.0, 0.002


class Executor(Protocol):
    """Anything that turns cells into outcomes.

    Examples
    --------
    >>> everything: list[Executor] = [SerialExecutor(), ProcessExecutor(workers=2), DaskExecutor("local")]
    """

    running: int  # cells being run at the moment, for display

    def run(self, cells: Iterable[Cell], stop: threading.Event) -> Iterator[Outcome]:
        """One outcome per cell, in any order, as they come; soon after ``stop`` is set, those at hand and no more."""


class SerialExecutor:
    """Runs one cell after the other in this process; asked to stop, it finishes the cell that it is in.

    Examples
    --------
    >>> import threading
    >>> from dendrocap import Sweep
    >>> sweep = Sweep("capacity", grid={"theta_d": [0.5]}, parameters={"nonlinearity": "linear", "theta_s": 0.5})
    >>> outcomes = list(SerialExecutor().run(sweep, threading.Event()))
    >>> len(outcomes)
    1
    """

    running = 0

    def run(self, cells: Iterable[Cell], stop: threading.Event) -> Iterator[Outcome]:
        """Outcomes in the order of the cells."""
        for cell in cells:
            if stop.is_set():
                return
            self.running = 1
            outcome = run_cell(cell)
            self.running = 0
            yield outcome


class DaskExecutor:
    """Runs cells on the workers of a Dask cluster.

    Workers need dendrocap, and the module of a user's job, installed; they need no access to the store. A cell whose
    worker dies is run again on another by the scheduler.

    Parameters
    ----------
    cluster : str or distributed.Client
        Address of a running scheduler, such as ``"tcp://host:8786"``; ``"local"`` for a cluster of processes on this
        machine that ends with the sweep; or a client of one's own.
    workers : int, optional
        Number of workers of a local cluster; by default one per core.

    Examples
    --------
    >>> executor = DaskExecutor("local", workers=2)  # for run_sweep(..., executor=executor), which starts the cluster
    >>> executor.workers
    2
    """

    def __init__(self, cluster: str | Client = "local", workers: int | None = None) -> None:
        if workers is not None and cluster != "local":
            raise InvalidParameter("workers is allowed with a local Dask cluster only: others have the size they have")
        self.workers = available_cores() if workers is None else whole_number("workers", workers, 1)
        self.cluster = cluster
        self.running = 0

    def run(self, cells: Iterable[Cell], stop: threading.Event) -> Iterator[Outcome]:
        """Outcomes in the order in which they arrive."""
        suspects: list[Cell] = []
        try:
            with self._connected() as client:
                yield from self._stream(client, cells, stop, suspects.append)
                # The scheduler suspects every cell that was waiting at a dying worker, not only the one that killed
                # it. Alone on the cluster, each of them can show what it does; the innocent are not lost.
                for cell in suspects:
                    guilty: list[Cell] = []
                    yield from self._stream(client, [cell], stop, guilty.append)
                    yield from (
                        killed(one, f"at least {MOST_DEATHS} Dask workers died while running it") for one in guilty
                    )
        except OSError as error:  # asked for something at the wrong moment
            raise WorkersLost(f"the connection to the Dask scheduler was lost: {error}") from error
        finally:
            self.running = 0

    def _stream(
        self, client: Client, cells: Iterable[Cell], stop: threading.Event, suspect: Callable[[Cell], Any]
    ) -> Iterator[Outcome]:
        """Outcomes of the cells, except of those that are suspected of killing workers."""
        from distributed import as_completed

        todo = iter(cells)
        flying: dict[Future[Outcome], Cell] = {}
        completed = as_completed(loop=client.loop, with_results=True, raise_errors=False)
        size = _ClusterSize(client)
        run = uuid.uuid4().hex  # keys of another run must not be taken for ours
        exhausted = False
        try:
            while not stop.is_set():
                # Twice as many cells as threads: a worker finds its next cell waiting, and few are lost with it.
                while not exhausted and len(flying) < 2 * max(1, size.threads):
                    cell = next(todo, None)
                    if cell is None:
                        exhausted = True
                        break
                    future = client.submit(run_cell, cell, key=f"cell-{cell.key}-{run}", pure=False)
                    flying[future] = cell
                    completed.add(future)
                self.running = min(len(flying), size.threads)
                if exhausted and not flying:
                    return
                if not completed.has_ready() and (stop.wait(GLANCE) or not completed.has_ready()):
                    _refuse_if_gone(client)
                    continue
                yield from _outcomes(completed.next_batch(block=False), flying, suspect)
            yield from _outcomes(completed.next_batch(block=False), flying, suspect)
        finally:
            if client.status == "running":
                with suppress(OSError):
                    client.cancel(list(flying))

    @contextmanager
    def _connected(self) -> Iterator[Client]:
        """A client of the cluster; what was started here is ended here."""
        if not isinstance(self.cluster, str):
            yield self.cluster
            return
        distributed = _distributed()
        if self.cluster == "local":
            try:
                cluster = self._local_cluster()
            except (OSError, RuntimeError) as error:
                raise WorkersLost(f"a local Dask cluster could not start: {error}") from error
            with cluster, distributed.Client(cluster, set_as_default=False) as client:
                yield client
            return
        try:
            client = distributed.Client(self.cluster, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:
            raise WorkersLost(f"no Dask scheduler answers at {self.cluster}: {error}") from error
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
                scheduler_kwargs={"allowed_failures": MOST_DEATHS - 1},
                silence_logs=logging.CRITICAL,
            )


class _ClusterSize:
    """Number of threads of a cluster that may grow and shrink, asked for now and then."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._asked = -CENSUS
        self._threads = 0

    @property
    def threads(self) -> int:
        now = time.monotonic()
        if now - self._asked > CENSUS:
            self._threads, self._asked = sum(self._client.nthreads().values()), now
        return self._threads


def _outcomes(
    batch: Iterable[tuple[Future[Outcome], Any]], flying: dict[Future[Outcome], Cell], suspect: Callable[[Cell], Any]
) -> Iterator[Outcome]:
    """What a batch of finished futures says; `run_cell` raises nothing, so any error is the cluster's."""
    from distributed import KilledWorker

    for future, result in batch:
        cell = flying.pop(future)
        if future.status == "finished":
            yield result
        elif future.status == "error" and isinstance(result[1], KilledWorker):
            suspect(cell)
        elif future.status == "error":
            raise WorkersLost(
                f"a Dask worker cannot run cells: {result[1]!r}; is this version of dendrocap installed there?"
            ) from result[1]
        else:
            raise WorkersLost("the connection to the Dask scheduler was lost")


def _refuse_if_gone(client: Client) -> None:
    if client.status != "running":
        raise WorkersLost(f"the connection to the Dask scheduler was lost: the client is {client.status}")


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise MissingExtra(f"sweeps on Dask need more: pip install 'dendrocap[dask]' ({error})") from error
    return distributed
