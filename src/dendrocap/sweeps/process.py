"""Running cells on the cores of this machine: one process per core, one cell per process at a time."""

from __future__ import annotations

import json
import math
import os
import platform
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any, Protocol, TypeAlias

import numpy as np
from threadpoolctl import ThreadpoolController

from dendrocap.display import Displayed
from dendrocap.errors import InvalidParameter, WorkersLost
from dendrocap.learning.protocols import available_cores
from dendrocap.sweeps.jobs import job_named
from dendrocap.sweeps.sweep import Cell
from dendrocap.validation import whole_number

# The environment of a cell: versions that its numbers may depend on, and the width of the processor's vectors.

# Prefixes of NumPy's names of instruction sets, and the width of their registers in bits.
REGISTERS = (
    (("AVX512", "X86_V4"), 512),
    (("AVX", "X86_V3"), 256),
    (("SSE", "X86_V2", "NEON", "ASIMD", "VSX", "VX", "LSX"), 128),
)


@dataclass(frozen=True)
class Environment(Displayed):
    """Versions and processor under which a cell was run.

    Parameters
    ----------
    dendrocap, numpy, numba, python : str
        Versions.
    vector_bits : int
        Width of the widest vector registers that NumPy reports; 0 if unknown.

    Examples
    --------
    >>> from dataclasses import replace
    >>> here = Environment.here()
    >>> here.matches(here), here.matches(replace(here, numpy="1.0"))
    (True, False)
    """

    dendrocap: str
    numpy: str = ""
    numba: str = ""
    python: str = ""
    vector_bits: int = 0

    @staticmethod
    @cache
    def here() -> Environment:
        """The environment of this process."""
        return Environment(
            package_version(), np.__version__, _version("numba"), platform.python_version(), _vector_bits()
        )

    def matches(self, other: Environment) -> bool:
        """Whether cells of both environments can be combined: equal versions, of Python only major and minor."""
        return self._decisive == other._decisive

    @property
    def _decisive(self) -> tuple[str, ...]:
        return self.dendrocap, self.numpy, self.numba, ".".join(self.python.split(".")[:2])

    @property
    def plain(self) -> dict[str, Any]:
        """Plain data from which ``Environment(**plain)`` makes an equal environment."""
        return asdict(self)

    def differing(self, other: Environment) -> str:
        """The differences of another environment as a string: ``numpy 2.1.0 (here 2.4.6)``."""
        names = [f.name for f in fields(self) if f.name != "vector_bits"]
        pairs = [(name, getattr(other, name) or "unknown", getattr(self, name)) for name in names]
        return ", ".join(f"{name} {theirs} (here {ours})" for name, theirs, ours in pairs if theirs != ours)

    def __str__(self) -> str:
        """One line for tables."""
        words = [f"{f.name} {getattr(self, f.name) or 'unknown'}" for f in fields(self) if f.name != "vector_bits"]
        return ", ".join([*words, f"{self.vector_bits}-bit vectors" if self.vector_bits else "vectors unknown"])


@cache
def package_version() -> str:
    """Version of dendrocap in this process."""
    return version("dendrocap")


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def _vector_bits() -> int:
    try:
        found = np.show_config(mode="dicts")["SIMD Extensions"]
        names = [*found.get("baseline", ()), *found.get("found", ())]
    except (KeyError, TypeError):
        return 0
    return next((bits for begins, bits in REGISTERS if any(name.startswith(begins) for name in names)), 0)


# Running one cell, in any process, and its outcome.

DONE, FAILED = "done", "failed"

# A cell whose worker process dies is retried, at most MOST_DEATHS times in total: one death is usually the fault of the
# machine, three in a row are the fault of the cell.
MOST_DEATHS = 3


@dataclass(frozen=True)
class Outcome:
    """The outcome of a cell.

    Parameters
    ----------
    cell : Cell
        The cell.
    status : {"done", "failed"}
        Whether the cell returned a result.
    metrics : mapping
        Its result as plain data.
    reason, traceback : str
        Reason of the failure, in one line and in full.
    seconds : float
        Running time.
    host : str
        Name of the machine.
    environment : Environment
        Versions under which it ran.
    """

    cell: Cell
    status: str
    metrics: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    traceback: str = ""
    seconds: float = 0.0
    host: str = field(default_factory=platform.node)
    environment: Environment = field(default_factory=Environment.here)


def run_cell(cell: Cell) -> Outcome:
    """Run a cell in one thread; every exception becomes part of the outcome, except Ctrl-C."""
    began = time.perf_counter()
    try:
        job = job_named(cell.job)
        with _thread_pools(len(sys.modules)).limit(limits=1):
            metrics = job(cell)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # including SystemExit: no cell may end the sweep
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return Outcome(cell, FAILED, {}, reason, traceback.format_exc(), time.perf_counter() - began)
    return Outcome(cell, DONE, metrics, seconds=time.perf_counter() - began)


@lru_cache(maxsize=1)
def _thread_pools(modules: int) -> ThreadpoolController:
    """The thread pools of BLAS and similar libraries, searched for again after more modules have been loaded.

    The last digits of a sum that is split among threads depend on their number. The environment of our workers limits
    them to one thread; that of the client does not.
    """
    return ThreadpoolController()


def killed(cell: Cell, how: str) -> Outcome:
    """The outcome of a cell that repeatedly kills its worker process."""
    return Outcome(cell, FAILED, reason=f"WorkerKilled: {how}")


# A worker process: it reads cells as lines of JSON and writes outcomes as lines of JSON.
#
# `dendrocap.sweeps.process` starts it, and it runs until its input ends. Nothing is pickled, the user's main script
# is not imported again, and the output of a job goes to stderr. Its first line reports its versions. It answers a
# question about a job (`job_question`) with the reason why it cannot run the job, if there is one.

# Fields that both sides already have.
NOT_SENT = ("cell", "environment")


def cell_line(cell: Cell) -> str:
    """A cell as a message to a worker."""
    return json.dumps([cell.job, cell.parameters, cell.seed]) + "\n"


def job_question(job: str) -> str:
    """The question whether a worker can run a job."""
    return json.dumps({"job": job}) + "\n"


def outcome_line(outcome: Outcome) -> str:
    """An outcome as a message to the client."""
    return json.dumps({name: value for name, value in vars(outcome).items() if name not in NOT_SENT}) + "\n"


def failure_line(reason: str, seconds: float = 0.0) -> str:
    """The outcome of a cell whose worker can no longer report it."""
    no_cell = Cell("", {}, 0)
    return outcome_line(Outcome(no_cell, FAILED, reason=reason, seconds=seconds))


def outcome_from(cell: Cell, line: str, environment: Environment) -> Outcome:
    """The outcome that a worker reported."""
    return Outcome(cell, **json.loads(line), environment=environment)


def main(idle: float | None = None) -> None:
    """Serve until the client closes the pipe, dies, or sends nothing for ``idle`` seconds."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the client handles Ctrl-C
    # Results use a separate file descriptor, so that a job that prints cannot corrupt them.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    answers.write(json.dumps(Environment.here().plain) + "\n")
    answers.flush()
    for line in _lines_until_the_client_is_gone(sys.stdin, idle):
        request = json.loads(line)
        answers.write(outcome_line(run_cell(Cell(*request))) if isinstance(request, list) else _about(request))
        answers.flush()


def _about(request: dict[str, Any]) -> str:
    try:
        job_named(request["job"])
    except InvalidParameter as error:
        # Only the cause: the Python path of every worker would fill the screen.
        why = f"the job {request['job']} cannot be imported: {error.__cause__!r}" if error.__cause__ else str(error)
        return json.dumps(why) + "\n"
    return json.dumps("") + "\n"


def _lines_until_the_client_is_gone(source: IO[str], idle: float | None) -> Iterator[str]:
    """Lines of the input; when it ends, the process ends too, even during a cell.

    A client that was killed cannot stop its workers. They notice the end of their input, which a thread reads.
    """
    lines: queue.Queue[str] = queue.Queue()

    def read() -> None:
        for line in source:
            lines.put(line)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            yield lines.get(timeout=idle)
        except queue.Empty:
            return


if __name__ == "__main__":
    main()

# A process that runs cells one at a time, and the communication with it.
#
# The caller knows which cell the process holds, so the death of a process affects only one cell. This cell is run
# again in a new process, and fails after three deaths. A cell that exceeds the time limit is stopped by terminating
# its process; there is no other way to free the core.

# One process per core leaves no cores for threads: BLAS and compiled loops get one thread each.
LIBRARIES = ("BLIS", "MKL", "NUMBA", "NUMEXPR", "OMP", "OPENBLAS")

ONE_THREAD = {**{f"{library}_NUM_THREADS": "1" for library in LIBRARIES}, "VECLIB_MAXIMUM_THREADS": "1"}


class Child:
    """A process that answers lines with lines, replaced when it dies.

    One thread asks. Other threads may enforce the time limit (`look`) or terminate the process for good (`kill`).

    Parameters
    ----------
    timeout : float, optional
        Time limit of a cell in seconds.
    idle : float, optional
        Seconds without a question after which the process exits; the next question starts another.
    """

    def __init__(self, timeout: float | None = None, idle: float | None = None) -> None:
        self._timeout = timeout
        self._idle = idle
        self._process: subprocess.Popen[str] | None = None
        self._changing = threading.Lock()
        self._over = False
        self._deadline = math.inf
        self._expired = False
        self._jobs: dict[str, str] = {}
        self._ahead: str | None = None  # the line that was already sent
        self.environment = Environment.here()

    def objection(self, job: str) -> str:
        """Why the process cannot run a job, such as a module that it cannot import; empty if it can run it."""
        if job not in self._jobs:
            answer = self._ask(job_question(job), math.inf)
            if not answer.endswith("\n"):
                code = self._end()
                return "" if self._over else f"its process ended with exit code {code} while importing the job {job}"
            self._jobs[job] = json.loads(answer)
        return self._jobs[job]

    def outcome(self, line: str, ahead: str | None = None) -> str | None:
        """The outcome of a cell, both as lines, after restarting the process if necessary; None after `kill`.

        ``ahead`` is the cell that will be asked for next; it is sent early, so that the process need not wait for it.
        """
        codes: list[int] = []
        allowed = math.inf if self._timeout is None else self._timeout
        while len(codes) < MOST_DEATHS:
            answer = self._ask(line, allowed, ahead)
            if answer.endswith("\n"):
                return answer
            code = self._end()
            if self._over:
                return None
            if self._expired:
                reason = f"CellTimeout: it took longer than {self._timeout:g} s, and its process was terminated"
                return failure_line(reason, allowed)
            codes.append(code)
        died = f"its process died {MOST_DEATHS} times, with exit codes {', '.join(map(str, codes))}"
        return failure_line(f"WorkerKilled: {died}")

    def look(self) -> None:
        """Terminate the process if its cell has exceeded the time limit."""
        with self._changing:
            if time.monotonic() > self._deadline and self._process is not None:
                self._expired = True
                self._deadline = math.inf
                _kill(self._process)

    def kill(self) -> None:
        """Terminate the process at once, even during a cell, and start no other."""
        with self._changing:
            self._over = True
            if self._process is not None:
                _kill(self._process)

    def close(self) -> None:
        """Close the process; only for the thread that asks."""
        self._end()

    def start(self) -> None:
        """Start the process if it is not running; ``environment`` then holds its versions."""
        if self._process is not None and self._process.poll() is not None:
            self._end()  # it has exited after idling
        if self._process is not None:
            return
        with self._changing:
            if self._over:
                raise WorkersLost("the sweep is over")
            code = f"from dendrocap.sweeps.process import main; main({self._idle})"
            self._process = process = subprocess.Popen(
                [sys.executable, "-P", "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                env=worker_environment(),
                start_new_session=True,  # Ctrl-C in the terminal reaches only the client
            )
        assert process.stdout is not None
        hello = process.stdout.readline()
        if not hello.endswith("\n"):
            code_of_exit = self._end()
            if not self._over:
                raise WorkersLost(f"a worker process could not start: it ended with exit code {code_of_exit}")
            return
        self.environment = Environment(**json.loads(hello))

    def _ask(self, line: str, allowed: float, ahead: str | None = None) -> str:
        """The reply of the process to a line; it lacks the newline if the process died."""
        self.start()
        process = self._process
        if process is None:
            return ""
        assert process.stdin is not None
        assert process.stdout is not None
        with self._changing:
            self._expired, self._deadline = False, time.monotonic() + allowed
        try:
            process.stdin.write(("" if line == self._ahead else line) + (ahead or ""))
            process.stdin.flush()
            self._ahead = ahead
            answer = process.stdout.readline()
        except (OSError, ValueError):
            answer = ""
        with self._changing:
            self._deadline = math.inf
        return answer

    def _end(self) -> int:
        """Close the process, terminating it if it still runs, and return its exit code."""
        process, self._process = self._process, None
        self._jobs.clear()
        self._ahead = None
        if process is None:
            return 0
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):  # unsent data for a dead process
                    pipe.close()
        return process.wait()


def worker_environment() -> dict[str, str]:
    """The environment of a worker: one thread, and the import path of this process."""
    path = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path)
    return {**os.environ, **ONE_THREAD, "PYTHONPATH": path}


def _kill(process: subprocess.Popen[str]) -> None:
    """Terminate a process and the processes that its cell started; they form one process group."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


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


# Executors that run cells: in this process, in processes on this machine, or on a Dask cluster.
#
# An executor only turns cells into outcomes: it opens no store, and may return outcomes in any order. All executors
# call `run_cell`, and a cell determines its own randomness, so all executors give the same numbers.


class Executor(Protocol):
    """Anything that turns cells into outcomes.

    Examples
    --------
    >>> import threading
    >>> from dendrocap import Sweep
    >>> sweep = Sweep("capacity", grid={"theta_d": [0.1, 0.5]}, parameters={"nonlinearity": "linear", "theta_s": 0.5})
    >>> executor: Executor = SerialExecutor()
    >>> [outcome.status for outcome in executor.run(sweep, threading.Event())]
    ['done', 'done']
    """

    running: int  # number of cells in progress, for display

    def run(
        self,
        cells: Iterable[Cell | None],
        stop: threading.Event,
        *,
        timeout: float | None = None,
        notify: Callable[[str], Any] | None = None,
    ) -> Iterator[Outcome]:
        """Yield one outcome per cell, in any order; after ``stop`` is set, only those that are ready.

        A None among the cells means that the next cell depends on outcomes still to come: ask again after the next
        outcome. A cell that takes longer than ``timeout`` seconds fails. ``notify`` is called with messages about the
        workers for the user.
        """


class SerialExecutor:
    """Runs cells one after the other in this process; when asked to stop, it finishes the current cell.

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

    def run(
        self,
        cells: Iterable[Cell | None],
        stop: threading.Event,
        *,
        timeout: float | None = None,
        notify: Callable[[str], Any] | None = None,
    ) -> Iterator[Outcome]:
        """Yield outcomes in the order of the cells."""
        if timeout is not None:
            raise InvalidParameter(
                f"timeout = {timeout:g} is not allowed for cells that run in this process, which cannot be stopped: "
                "use ProcessExecutor(1)"
            )
        self.running = 1
        try:
            for cell in cells:
                if stop.is_set() or cell is None:  # no outcome is pending, so none can follow
                    return
                yield run_cell(cell)
        finally:
            self.running = 0
