"""Cells on a Dask cluster: which one, how it is reached, and what is said when it is not."""

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

# Seconds to wait for the answer of a scheduler.
PATIENCE = 10.0
PROTOCOLS = ("tcp", "tls", "ucx", "ws", "wss", "inproc")
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
                deal = Dealing(client, stop, timeout, notify or (lambda _: None), self.wait_workers)
                for outcome in deal.stream(cells, suspects.append):
                    self.running = deal.running
                    yield outcome
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


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise MissingExtra(f"sweeps on Dask need more: pip install '.[dask]' in the clone ({error})") from error
    return distributed
