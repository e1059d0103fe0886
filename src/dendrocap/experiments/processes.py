"""Cells on the cores of this machine: one process per core, one cell per process at a time.

The client always knows which cell a process holds, so the death of a process is the matter of one cell: it is run
again in a new process, and given up after three deaths. A pool that breaks as a whole could not say whose fault it was.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from dendrocap.errors import WorkersLost
from dendrocap.experiments.cells import MOST_DEATHS, Outcome, killed
from dendrocap.experiments.sweep import Cell
from dendrocap.experiments.worker import READY, cell_line, outcome_from
from dendrocap.learning.many import available_cores
from dendrocap.validation import whole_number

__all__ = ["ONE_THREAD", "ProcessExecutor", "worker_environment"]

# One process per core leaves no cores for threads inside: BLAS and compiled loops get one each.
LIBRARIES = ("BLIS", "MKL", "NUMBA", "NUMEXPR", "OMP", "OPENBLAS")
ONE_THREAD = {**{f"{library}_NUM_THREADS": "1" for library in LIBRARIES}, "VECLIB_MAXIMUM_THREADS": "1"}

Results: TypeAlias = "queue.Queue[tuple[_Worker, Outcome | Exception | None]]"
# How long a wait for results may last before looking whether the user wants to stop.
GLANCE = 0.1


class ProcessExecutor:
    """Runs cells in processes of this machine.

    Parameters
    ----------
    workers : int, optional
        How many at a time; by default one per core.

    Examples
    --------
    >>> ProcessExecutor(workers=2).workers
    2
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = available_cores() if workers is None else whole_number("workers", workers, 1)
        self.running = 0

    def run(self, cells: Iterable[Cell], stop: threading.Event) -> Iterator[Outcome]:
        """Outcomes in the order in which they arrive; when asked to stop, those that are there already."""
        todo = iter(cells)
        results: Results = queue.Queue()
        workers = [_Worker(cell, results) for cell in islice(todo, self.workers)]
        self.running = len(workers)
        try:
            while self.running and not stop.is_set():
                try:
                    worker, result = results.get(timeout=GLANCE)
                except queue.Empty:
                    continue
                if isinstance(result, Exception):
                    raise result
                follower = next(todo, None)
                worker.take(follower)  # before the result is dealt with: no process waits for the store
                self.running -= follower is None
                if result is not None:
                    yield result
            while not results.empty():  # asked to stop: what is finished is not thrown away
                _, result = results.get()
                if isinstance(result, Outcome):
                    yield result
        finally:
            self.running = 0
            for worker in workers:
                worker.kill()
            for worker in workers:
                worker.join()


class _Worker:
    """A process, the thread that talks to it, and the cell that it holds.

    The thread lives as long as there are cells; the process is replaced when it dies.
    """

    def __init__(self, cell: Cell, results: Results) -> None:
        self._cells: queue.SimpleQueue[Cell | None] = queue.SimpleQueue()
        self._results = results
        self._process: subprocess.Popen[str] | None = None
        self._over = False
        self._changing = threading.Lock()
        self.take(cell)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def take(self, cell: Cell | None) -> None:
        """Give it the next cell, or None to send it home."""
        self._cells.put(cell)

    def kill(self) -> None:
        """End the process at once, in the middle of a cell if need be."""
        with self._changing:
            self._over = True
            process = self._process
        if process is not None:
            process.kill()
        self.take(None)

    def join(self) -> None:
        """Wait until it is gone."""
        self._thread.join()

    def _serve(self) -> None:
        try:
            while (cell := self._cells.get()) is not None:
                self._results.put((self, self._outcome(cell)))
        except Exception as error:  # the client's loop raises it
            self._results.put((self, error))
        finally:
            self._end()

    def _outcome(self, cell: Cell) -> Outcome | None:
        """The cell's outcome, after as many processes as it takes; None if nobody waits for it any more."""
        codes: list[int] = []
        while len(codes) < MOST_DEATHS:
            process = self._process or self._start()
            line = _answer(process, cell_line(cell))
            if line.endswith("\n"):
                return outcome_from(cell, line)
            if self._over:
                return None
            codes.append(self._end())
        return killed(cell, f"its process died {MOST_DEATHS} times, with exit codes {', '.join(map(str, codes))}")

    def _start(self) -> subprocess.Popen[str]:
        with self._changing:
            if self._over:
                raise WorkersLost("the sweep is over")
            self._process = process = subprocess.Popen(
                [sys.executable, "-P", "-c", "from dendrocap.experiments.worker import main; main()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                env=worker_environment(),
                start_new_session=True,  # Ctrl-C in the terminal reaches the client only
            )
        assert process.stdout is not None
        if process.stdout.readline() != READY and not self._over:
            raise WorkersLost(f"a worker process could not start: it ended with exit code {self._end()}")
        return process

    def _end(self) -> int:
        """Let go of the process, which has ended or now ends, and say how."""
        process, self._process = self._process, None
        if process is None:
            return 0
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):  # unsent words to a dead process
                    pipe.close()
        return process.wait()


def worker_environment() -> dict[str, str]:
    """The environment of a worker: one thread, and the modules that can be imported here."""
    path = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path)
    return {**os.environ, **ONE_THREAD, "PYTHONPATH": path}


def _answer(process: subprocess.Popen[str], line: str) -> str:
    """What the process replies to a line; without a line's end if it died."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(line)
        process.stdin.flush()
        return process.stdout.readline()
    except (OSError, ValueError):
        return ""
