"""Running cells on a Dask cluster: how it is reached, and errors if it is not."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dendrocap.errors import InvalidParameter, MissingExtra, WorkersLost
from dendrocap.experiments.cells import MOST_DEATHS, Outcome, killed
from dendrocap.experiments.child import ONE_THREAD
from dendrocap.experiments.dask_dealing import Dealing
from dendrocap.experiments.sweep import Cell
from dendrocap.files import reading
from dendrocap.learning.many import available_cores
from dendrocap.validation import choice, real_number, whole_number

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["DaskExecutor"]

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
