"""Running cells on the cores of this machine: one process per core, one cell per process at a time."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from dendrocap.errors import WorkersLost
from dendrocap.experiments.cells import Outcome
from dendrocap.experiments.child import Child
from dendrocap.experiments.sweep import Cell
from dendrocap.experiments.worker import cell_line, outcome_from
from dendrocap.learning.many import available_cores
from dendrocap.validation import whole_number

__all__ = ["ProcessExecutor"]

Results: TypeAlias = "queue.Queue[tuple[_Worker, Outcome | Exception | None]]"
# Longest wait for results, in seconds, before the clock and the request to stop are checked.
GLANCE = 0.1


class ProcessExecutor:
    """Runs cells in processes on this machine.

    Parameters
    ----------
    workers : int, optional
        Number of processes; by default one per core.

    Examples
    --------
    >>> ProcessExecutor(workers=2).workers
    2
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = available_cores() if workers is None else whole_number("workers", workers, 1)
        self.running = 0

    def run(
        self,
        cells: Iterable[Cell | None],
        stop: threading.Event,
        *,
        timeout: float | None = None,
        notify: Callable[[str], Any] | None = None,
    ) -> Iterator[Outcome]:
        """Yield outcomes in the order in which they arrive; after a request to stop, those that are ready."""
        todo = iter(cells)
        results: Results = queue.Queue()
        workers: list[_Worker] = []
        idle: list[_Worker] = []
        looked = time.monotonic()

        def hand_out() -> None:
            while (idle or len(workers) < self.workers) and (cell := next(todo, None)) is not None:
                if not idle:
                    workers.append(_Worker(results, timeout))
                    idle.append(workers[-1])
                idle.pop().take(cell)
            self.running = len(workers) - len(idle)

        try:
            while not stop.is_set():
                hand_out()
                if not self.running:
                    return
                if time.monotonic() - looked > GLANCE:
                    looked = time.monotonic()
                    for worker in workers:
                        worker.child.look()
                try:
                    worker, result = results.get(timeout=GLANCE)
                except queue.Empty:
                    continue
                if isinstance(result, Exception):
                    raise result
                idle.append(worker)
                hand_out()  # before the result is processed, so that no process waits for the store
                if result is not None:
                    yield result
            while not results.empty():  # after a request to stop, finished outcomes are kept
                _, result = results.get()
                if isinstance(result, Outcome):
                    yield result
        finally:
            self.running = 0
            for worker in workers:
                worker.child.kill()
                worker.take(None)
            for worker in workers:
                worker.join()


class _Worker:
    """A process, and the thread that communicates with it while there are cells."""

    def __init__(self, results: Results, timeout: float | None) -> None:
        self._cells: queue.SimpleQueue[Cell | None] = queue.SimpleQueue()
        self._results = results
        self.child = Child(timeout)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def take(self, cell: Cell | None) -> None:
        """Give it the next cell, or None to end it."""
        self._cells.put(cell)

    def join(self) -> None:
        """Wait until it has ended."""
        self._thread.join()

    def _serve(self) -> None:
        try:
            while (cell := self._cells.get()) is not None:
                self._results.put((self, self._outcome(cell)))
        except Exception as error:  # raised again in the loop of the client
            self._results.put((self, error))
        finally:
            self.child.close()

    def _outcome(self, cell: Cell) -> Outcome | None:
        objection = self.child.objection(cell.job)
        if objection:
            raise WorkersLost(f"a worker process cannot run the job: {objection}")
        line = self.child.outcome(cell_line(cell))
        return None if line is None else outcome_from(cell, line, self.child.environment)
