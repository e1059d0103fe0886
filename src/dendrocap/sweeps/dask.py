"""Running cells on the workers of a Dask cluster."""

from __future__ import annotations

import json
import logging
import math
import multiprocessing
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dendrocap.errors import InvalidParameter, MissingExtra, WorkersLost
from dendrocap.files import reading
from dendrocap.sweeps.process import (
    FAILED,
    ONE_THREAD,
    Batches,
    Environment,
    FuturesExecutor,
    Outcome,
    child_of_this_thread,
    run_lines,
)
from dendrocap.sweeps.sweep import Cell
from dendrocap.validation import choice, number_of_workers, real_number

if TYPE_CHECKING:
    from distributed import Client

# Seconds between counts of the workers, and to wait for the reply of a scheduler.
CENSUS, PATIENCE = 1.0, 10.0

PROTOCOLS = ("tcp", "tls", "ucx", "ws", "wss", "inproc")

CHATTY = ("distributed", "tornado", "asyncio", "concurrent")

GUARD = "if __name__ == '__main__':"


def run_on_worker(run: str, timeout: float | None, *batch: Any) -> dict[str, Any]:
    """As `run_lines`, with the address of the worker; the process beside it ends when the task is cancelled.

    A task is cancelled when its client asks for it, on Ctrl-C, and when its client dies.
    """
    from distributed import get_worker
    from distributed.worker import thread_state

    worker, key = get_worker(), thread_state.key

    def cancelled() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    child = child_of_this_thread(run, timeout)
    child.over = cancelled
    return {**run_lines(child, *batch), "worker": worker.address}


def objection(client: Mapping[str, Any]) -> str:
    """Why a worker cannot run cells of a client with this environment; empty if it can."""
    theirs, own = Environment(**client), Environment.here()
    return "" if theirs.matches(own) else f"it has {theirs.differing(own)}"


class DaskBatches(Batches):
    """The batches of a run on a cluster, whose scheduler distributes them and runs those of dead workers again."""

    def __init__(
        self, client: Client, timeout: float | None, notify: Callable[[str], Any], wait_workers: float | None
    ) -> None:
        pool = client.get_executor(pure=False, retries=2)
        super().__init__(partial(self._on_some_worker, pool, uuid.uuid4().hex, timeout), workers=0)
        self._client, self._notify, self._wait_workers = client, notify, wait_workers
        self._threads: dict[str, int] = {}  # of each worker that is present and not excluded
        self._unfit: dict[str, str] = {}
        self._only: dict[Future[dict[str, Any]], set[str]] = {}  # the workers that a batch may go to, if it matters
        self._asked, self._deserted, self._told = -math.inf, math.inf, False

    def _on_some_worker(self, pool: Any, *batch: Any) -> Future[dict[str, Any]]:
        only = list(self._threads) if self._unfit and self._threads else None
        future: Future[dict[str, Any]] = pool.submit(run_on_worker, *batch, workers=only)
        if only:
            self._only[future] = set(only)
            future.add_done_callback(self._only.pop)
        return future

    def places(self) -> int:
        """The threads of all workers, or one, so that an adaptive cluster without workers starts some."""
        if self._client.status != "running":
            raise WorkersLost(f"the connection to the Dask scheduler was lost: the client is {self._client.status}")
        if (now := time.monotonic()) - self._asked >= CENSUS:
            present = self._client.nthreads()
            if new := [worker for worker in present if worker not in self._threads and worker not in self._unfit]:
                here = Environment.here().plain
                for worker, why in self._client.run(objection, here, workers=new, on_error="return").items():
                    if why and not isinstance(why, OSError):  # which says that it has just left
                        self.refused(worker, why if isinstance(why, str) else repr(why))
            self._asked = now
            self._threads = {worker: threads for worker, threads in present.items() if worker not in self._unfit}
            if present and not self._threads:
                reasons = "; ".join(dict.fromkeys(self._unfit[worker] for worker in present))
                raise WorkersLost(f"no Dask worker can run the cells: {reasons}")
            for future, only in list(self._only.items()):
                if not only & self._threads.keys():  # all of them are gone: it is dealt out again
                    future.cancel()
            self._watch_for_workers(now)
        return max(1, sum(self._threads.values()))

    def _watch_for_workers(self, now: float) -> None:
        """Notify the user when there is no worker, and when there is one again; give up after ``wait_workers``."""
        if self._threads:
            if self._told:
                there = "1 Dask worker is" if len(self._threads) == 1 else f"{len(self._threads)} Dask workers are"
                self._notify(f"{there} available: the sweep continues")
            self._deserted, self._told = math.inf, False
            return
        self._deserted = min(self._deserted, now)
        allowed, waited = self._wait_workers, now - self._deserted
        if allowed is not None and waited >= allowed:
            raise WorkersLost(f"no Dask worker for {waited:.0f} s: start some and run the sweep again")
        if not self._told and (waited >= CENSUS or allowed is not None):
            self._told = True
            patience = "" if allowed is None else f" at most {allowed:g} s"
            self._notify(f"no Dask worker: waiting{patience} for one to start")

    def refused(self, worker: str, reason: str) -> None:
        """Exclude a worker that cannot run cells."""
        self._asked = -math.inf  # check at once whether any worker is left
        if worker not in self._unfit:
            self._unfit[worker] = reason
            self._threads.pop(worker, None)
            self._notify(f"the Dask worker {worker} is excluded: {reason}")

    def failed(self, batch: list[Cell], error: BaseException) -> list[Outcome]:
        """Run the cells of a batch one by one if too many workers died; only a cell that is alone is to blame."""
        from distributed import KilledWorker

        if isinstance(error, KilledWorker) and len(batch) == 1:
            reason = f"WorkerKilled: {error.allowed_failures + 1} Dask workers died while running it"
            return [Outcome(batch[0], FAILED, reason=reason)]
        if isinstance(error, KilledWorker):
            self._again.extend([cell] for cell in batch)
            return []
        return super().failed(batch, error)


class DaskExecutor(FuturesExecutor):
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
        self, cluster: str | Path | Client = "local", workers: int | None = None, *, wait_workers: float | None = None
    ) -> None:
        if workers is not None and cluster != "local":
            raise InvalidParameter("workers is only allowed with a local Dask cluster; others have a given size")
        if isinstance(cluster, str) and cluster != "local":
            protocol, separator, _ = cluster.partition("://")
            if not separator:
                raise InvalidParameter(f"{cluster} is not allowed: it must be local, or an address: tcp://host:8786")
            choice("protocol of the Dask scheduler", protocol, PROTOCOLS)
        if cluster == "local" and getattr(multiprocessing.current_process(), "_inheriting", False):
            raise WorkersLost(f"a worker of a local Dask cluster runs this script again: put its calls below {GUARD}")
        self.workers, self.running = number_of_workers(workers), 0
        self.wait_workers = None if wait_workers is None else real_number("wait_workers", wait_workers, 0.0)
        self.cluster = cluster

    @contextmanager
    def _batches(self, timeout: float | None, notify: Callable[[str], Any]) -> Iterator[Batches]:
        try:
            with self._connected() as client:
                yield DaskBatches(client, timeout, notify, self.wait_workers)
        except OSError as error:  # the connection broke during a request
            raise WorkersLost(f"the connection to the Dask scheduler was lost: {error}") from error

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
                guard = f"; a script must make the call below {GUARD}, because its workers import it"
                raise WorkersLost(f"a local Dask cluster could not start: {str(error).rstrip('.')}{guard}") from error
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
