"""Who runs the cells: this process, processes on this machine, or the workers of a pool."""

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
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor as FuturesPool
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from functools import cache, lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from threadpoolctl import ThreadpoolController

from dendrocap.display import Displayed
from dendrocap.errors import InvalidParameter, WorkersLost
from dendrocap.sweeps.jobs import job_named
from dendrocap.sweeps.sweep import Cell
from dendrocap.validation import number_of_workers, whole_number

# The environment of a cell: versions that its numbers may depend on, and the width of the processor's vectors.

# Prefixes of NumPy's names of instruction sets, and the width of their registers in bits.
REGISTERS = (
    (("AVX512", "X86_V4"), 512),
    (("AVX", "X86_V3"), 256),
    (("SSE", "X86_V2", "NEON", "ASIMD", "VSX", "VX", "LSX"), 128),
)


@dataclass(frozen=True)
class Environment(Displayed):
    """Versions and processor under which a cell was run; ``vector_bits`` is the width of the vectors, 0 if unknown.

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
    """The outcome of a cell: its metrics if it is done, or why it failed, in a line and in full."""

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


# A worker process: it reads cells and writes outcomes, one line of text each.
#
# Nothing is pickled and the user's main script is not imported again. A line is the key of a cell, a space and JSON; an
# answer has the key of its request, so that an answer to another request is noticed. The first line reports versions.

# Fields that both sides already have.
NOT_SENT = ("cell", "environment")


def cell_line(cell: Cell) -> str:
    """A cell as a message to a worker."""
    return f"{cell.key} {json.dumps([cell.job, cell.parameters, cell.seed])}\n"


def outcome_text(outcome: Outcome) -> str:
    """An outcome as JSON."""
    return json.dumps({name: value for name, value in vars(outcome).items() if name not in NOT_SENT})


def outcome_from(cell: Cell, text: str, environment: Environment) -> Outcome:
    """The outcome that a worker reported."""
    return Outcome(cell, **json.loads(text), environment=environment)


def main(idle: float | None = None) -> None:
    """Serve until the client closes the pipe, dies, or sends nothing for ``idle`` seconds."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the client handles Ctrl-C
    # The conversation gets descriptors of its own: a job may read from stdin, which is empty, and print, to stderr.
    requests, answers = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    answers.write(json.dumps(Environment.here().plain) + "\n")
    answers.flush()
    own = os.getpid()
    for line in _lines_until_the_client_is_gone(requests, idle):
        name, _, request = line.partition(" ")
        answer = _answer(Cell(*json.loads(request)))
        if os.getpid() != own:  # a copy of this process that the job has made
            os._exit(0)
        answers.write(f"{name} {answer}\n")
        answers.flush()


def _answer(cell: Cell) -> str:
    """The outcome of a cell as JSON, or the reason why this process cannot run its job."""
    try:
        job_named(cell.job)
    except InvalidParameter as error:
        # Only the cause: the Python path of every worker would fill the screen.
        why = f"the job {cell.job} cannot be imported: {error.__cause__!r}" if error.__cause__ else str(error)
        return json.dumps({"refused": why})
    return outcome_text(run_cell(cell))


def _lines_until_the_client_is_gone(source: IO[str], idle: float | None) -> Iterator[str]:
    """Lines of the input; when it ends, the process ends too, even during a cell.

    A client that was killed cannot stop its workers. They notice the end of their input, which a thread reads.
    """
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()

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


# The side of the client: a process that runs cells one at a time.
#
# The caller knows which cell the process holds, so the death of a process affects only one cell. This cell is run
# again in a new process, and fails after three deaths. A cell that exceeds the time limit is stopped by terminating
# its process; there is no other way to free the core.

# One process per core leaves no cores for threads: BLAS and compiled loops get one thread each.
LIBRARIES = ("BLIS", "MKL", "NUMBA", "NUMEXPR", "OMP", "OPENBLAS")

ONE_THREAD = {**{f"{library}_NUM_THREADS": "1" for library in LIBRARIES}, "VECLIB_MAXIMUM_THREADS": "1"}

# Seconds between looks at the clock, at the process and at the request to stop.
GLANCE = 0.1

# Seconds to wait before each attempt to start a process; after the last one it counts as impossible.
PAUSES = (0.0, 0.2, 1.0)


class Child:
    """A process that answers lines with lines, replaced when it dies, ended for good when ``over`` becomes true.

    ``timeout`` is the time limit of a cell. A process that is asked nothing for ``idle`` seconds exits, and the next
    question starts another.
    """

    def __init__(
        self, timeout: float | None = None, idle: float | None = None, over: Callable[[], bool] = lambda: False
    ) -> None:
        self._timeout, self._idle, self.over = math.inf if timeout is None else timeout, idle, over
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._expired = False
        self._ahead = ""  # the line that was already sent
        self.environment = Environment.here()

    def start(self) -> None:
        """Start the process if it is not running; ``environment`` then holds its versions."""
        if self._process is not None and (self._ahead or self._process.poll() is None):
            return  # a process that has died with a cell, rather than exited after idling, is that cell's
        if self.over():
            return
        code = 0
        for pause in PAUSES:
            self.end()
            time.sleep(pause)
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", f"from dendrocap.sweeps.process import main; main({self._idle})"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                env=worker_environment(),
                start_new_session=True,  # Ctrl-C in the terminal reaches only the client
            )
            self._answers = queue.SimpleQueue()
            threading.Thread(target=_read, args=(self._process.stdout, self._answers), daemon=True).start()
            if hello := self._next(math.inf):
                self.environment = Environment(**json.loads(hello))
                return
            code = self.end()
            if self.over():
                return
        raise WorkersLost(f"a worker process could not start: it ended with exit code {code}")

    def outcome(self, line: str, ahead: str = "", patience: float = math.inf) -> str | None:
        """The outcome of a cell as JSON, from a new process if necessary; None if it is over, or takes too long.

        ``ahead`` is the cell that will be asked for next; it is sent early, so that the process need not wait for it.
        """
        codes: list[int] = []
        while len(codes) < MOST_DEATHS:
            answer = self._ask(line, min(self._timeout, patience), ahead)
            if answer:
                return answer
            code = self.end()
            if self.over() or (self._expired and patience < self._timeout):
                return None
            if self._expired:
                reason = f"CellTimeout: it took longer than {self._timeout:g} s, and its process was terminated"
                return _failure(reason, self._timeout)
            codes.append(code)
        died = f"its process died {MOST_DEATHS} times, with exit codes {', '.join(map(str, codes))}"
        return _failure(f"WorkerKilled: {died}")

    def end(self) -> int:
        """End the process and all that its cells have started, and return its exit code."""
        process, self._process, self._ahead = self._process, None, ""
        if process is None:
            return 0
        if not (self._expired or self.over()):
            with suppress(subprocess.TimeoutExpired):  # it is ending by itself, with an exit code of its own
                process.wait(GLANCE)
        if hasattr(os, "killpg"):  # the processes that a cell started form a group with it
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        with suppress(OSError):  # unsent data for a dead process
            process.stdin.close()  # type: ignore[union-attr]
        return process.wait()

    def __del__(self) -> None:
        with suppress(Exception):  # the thread that it served has ended, or everything does
            self.end()

    def _ask(self, line: str, allowed: float, ahead: str = "") -> str:
        """The answer to a line; empty if the process died or answered another one, if time is up, or all is over."""
        self.start()
        if self._process is None or self._process.stdin is None:
            return ""
        with suppress(OSError, ValueError):  # a dead process answers nothing either
            self._process.stdin.write(("" if line == self._ahead else line) + ahead)
            self._process.stdin.flush()
        self._ahead = ahead
        name, _, answer = self._next(time.monotonic() + allowed).partition(" ")
        return answer if name == line.partition(" ")[0] else ""

    def _next(self, deadline: float) -> str:
        """The next line; empty if there is none, because the process has died, time is up, or all is over.

        The process is watched and not only the pipe, which processes that a cell started may hold open.
        """
        assert self._process is not None
        while True:
            self._expired = time.monotonic() > deadline
            gone = self._expired or self._process.poll() is not None or self.over()
            try:
                return self._answers.get(timeout=GLANCE)
            except queue.Empty:
                if gone:
                    return ""


def _read(pipe: IO[str], lines: queue.SimpleQueue[str]) -> None:
    """Put whole lines of a pipe into a queue, and an empty one at its end."""
    with pipe:
        for line in pipe:
            lines.put(line if line.endswith("\n") else "")
    lines.put("")


def _failure(reason: str, seconds: float = 0.0) -> str:
    """The outcome of a cell whose worker can no longer report it."""
    return outcome_text(Outcome(Cell("", {}, 0), FAILED, reason=reason, seconds=seconds))


def worker_environment() -> dict[str, str]:
    """The environment of a worker: one thread, and the import path of this process."""
    path = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path)
    return {**os.environ, **ONE_THREAD, "PYTHONPATH": path}


# Batches of cells: a worker runs the first cells of a batch, as many as fit into a quarter of a second, and the others
# are dealt out again. Batches grow while they are faster than that. Outcomes do not depend on what runs where.

# Target duration of a batch in seconds; longer with many workers, to which at most so many batches are dealt a second.
BATCH, MOST_BATCHES = 0.25, 100.0

MOST_IN_BATCH = 500

# Seconds after which a cell that shares its batch is stopped, to be run alone: no cell waits behind a long one.
STUCK = 5.0

# Seconds without a batch after which the process beside a worker exits.
IDLE = 60.0


def run_lines(child: Child, lines: Sequence[str], budget: float) -> dict[str, Any]:
    """Outcomes of the first cells of a batch, as many as fit into ``budget`` seconds, in a process.

    Returns
    -------
    dict
        ``answers``, one text for each cell that was run, ``environment``, whether the batch was ``fast``, and whether
        its next cell is ``stuck``; or ``refused``, the reason why this worker cannot run the cells.
    """
    child.start()
    began, answers, stuck = time.monotonic(), [], False
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        ahead = following if time.monotonic() - began < budget and not child.over() else ""
        answer = child.outcome(line, ahead, math.inf if len(lines) == 1 else STUCK)
        if answer is None:
            stuck = not child.over()
            break
        if answer.startswith('{"refused"'):
            found: dict[str, Any] = json.loads(answer)
            return found
        answers.append(answer)
        if not ahead:
            break
    fast = len(answers) == len(lines) and time.monotonic() - began < budget / 2
    return {"answers": answers, "environment": child.environment.plain, "stuck": stuck, "fast": fast}


_children = threading.local()  # one child per thread of a worker


def child_of_this_thread(run: str, timeout: float | None) -> Child:
    """The process for the cells of a run; that of another run may hold other code and is ended."""
    if getattr(_children, "run", None) != run:
        if hasattr(_children, "child"):
            _children.child.end()
        _children.child, _children.run = Child(timeout, IDLE), run
    child: Child = _children.child
    return child


def run_batch(run: str, timeout: float | None, *batch: Any) -> dict[str, Any]:
    """As `run_lines`, in a process beside the worker of a pool."""
    return run_lines(child_of_this_thread(run, timeout), *batch)


class Batches:
    """The batches of a run: which are being run, and which cells are to be dealt out again.

    ``submit`` takes the lines of a batch and the seconds it may take, and returns a `concurrent.futures.Future` of what
    `run_lines` returns; ``workers`` is how many batches run at a time.
    """

    def __init__(self, submit: Callable[..., Future[dict[str, Any]]], workers: int) -> None:
        self._submit, self._workers = submit, workers
        self._flying: dict[Future[dict[str, Any]], list[Cell]] = {}
        self._finished: queue.SimpleQueue[Future[dict[str, Any]]] = queue.SimpleQueue()
        self._again: deque[list[Cell]] = deque()
        self._size = 1
        self.running = 0
        self.over = threading.Event()  # set when no outcome is wanted any more

    def outcomes(self, cells: Iterable[Cell | None], stop: threading.Event) -> Iterator[Outcome]:
        """Yield outcomes as they arrive; after a request to stop, those of the batches that can be ended."""
        todo = iter(cells)
        try:
            while not stop.is_set():
                self._deal_out(todo)
                if not self._flying:
                    return
                try:
                    ready = self._collected(self._finished.get(timeout=GLANCE))
                except queue.Empty:
                    continue
                self._deal_out(todo)  # before they are stored, so that no worker waits for the disk
                yield from ready
            self.over.set()
            ended, _ = wait([future for future in self._flying if not future.cancel()], timeout=10 * GLANCE)
            for future in ended:
                yield from self._collected(future)
        finally:
            self.over.set()
            self.running = 0
            for future in self._flying:
                future.cancel()

    def places(self) -> int:
        """How many batches can run now."""
        return self._workers

    def _deal_out(self, todo: Iterator[Cell | None]) -> None:
        """Give every worker a batch, and one more of short cells in reserve."""
        places = self.places()
        budget = max(BATCH, places / MOST_BATCHES)
        while len(self._flying) < places * (1 if self._size == 1 else 2):
            batch = self._again.popleft() if self._again else []
            if not batch:
                while len(batch) < self._size and (cell := next(todo, None)) is not None:
                    batch.append(cell)
            if not batch:
                break
            try:
                future = self._submit([cell_line(cell) for cell in batch], budget)
            except RuntimeError as error:  # the pool is closed or broken
                raise WorkersLost(f"the workers take no cells: {error}") from error
            self._flying[future] = batch
            future.add_done_callback(self._finished.put)
        self.running = min(len(self._flying), places)

    def _collected(self, future: Future[dict[str, Any]]) -> list[Outcome]:
        """The outcomes of a finished batch; cells that it did not reach will be dealt out again."""
        batch = self._flying.pop(future)
        if future.cancelled():
            self._again.append(batch)
            return []
        if (error := future.exception()) is not None:
            return self.failed(batch, error)
        found, here = future.result(), Environment.here()
        environment = Environment(**found.get("environment", here.plain))
        why = found.get("refused") or ("" if here.matches(environment) else f"it has {here.differing(environment)}")
        if why:
            self._again.append(batch)
            self.refused(found.get("worker", ""), why)
            return []
        answers = found["answers"]
        rest = batch[len(answers) :]
        if rest:
            self._size = max(1, len(answers) // 2)
        elif found["fast"] and len(batch) == self._size:
            self._size = min(2 * self._size, MOST_IN_BATCH)
        if found["stuck"]:
            self._again.append([rest.pop(0)])
        self._again.extend(rest[at : at + self._size] for at in range(0, len(rest), self._size))
        return [outcome_from(cell, text, environment) for cell, text in zip(batch, answers, strict=False)]

    def failed(self, batch: list[Cell], error: BaseException) -> list[Outcome]:
        """What follows when a batch raises: the pool is unusable."""
        if isinstance(error, WorkersLost):
            raise error
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise WorkersLost(f"the workers cannot run the cells: {reason}; is this version of dendrocap installed there?")

    def refused(self, worker: str, reason: str) -> None:
        """What follows when a worker cannot run a batch."""
        raise WorkersLost(f"a worker cannot run the cells: {reason}")


# Executors that run cells: in this process, in processes on this machine, or on the workers of a pool or cluster.
#
# An executor only turns cells into outcomes: it opens no store, and may return outcomes in any order. All executors
# call `run_cell`, and a cell determines its own randomness, so all executors give the same numbers.


class Executor(Protocol):
    """Anything that turns cells into outcomes."""

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
    """Runs cells one after the other in this process; when asked to stop, it finishes the current cell."""

    running = 0

    def run(self, cells: Iterable[Cell | None], stop: threading.Event, **options: Any) -> Iterator[Outcome]:
        """As `Executor.run`, in the order of the cells and without a time limit."""
        if options.get("timeout") is not None:
            raise InvalidParameter(
                f"timeout = {options['timeout']:g} is not allowed for cells that run in this process, which cannot be "
                "stopped: use ProcessExecutor(1)"
            )
        self.running = 1
        try:
            for cell in cells:
                if stop.is_set() or cell is None:  # no outcome is pending, so none can follow
                    return
                yield run_cell(cell)
        finally:
            self.running = 0


class FuturesExecutor:
    """Runs cells on the workers of a `concurrent.futures.Executor`, such as those of loky, mpi4py or submitit.

    Workers need dendrocap, and the module of a user's job, in the client's versions. Each runs its cells in a process
    beside it, which is ended when a cell takes too long.

    Parameters
    ----------
    pool : concurrent.futures.Executor
        The pool; it stays open.
    workers : int
        Number of its workers.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as pool:
    ...     executor = FuturesExecutor(pool, workers=2)  # for run_sweep(..., executor=executor)
    """

    def __init__(self, pool: FuturesPool, workers: int) -> None:
        self.pool, self.workers, self.running = pool, whole_number("workers", workers, 1), 0

    def run(
        self,
        cells: Iterable[Cell | None],
        stop: threading.Event,
        *,
        timeout: float | None = None,
        notify: Callable[[str], Any] | None = None,
    ) -> Iterator[Outcome]:
        """As `Executor.run`."""
        try:
            with self._batches(timeout, notify or (lambda _: None)) as batches:
                for outcome in batches.outcomes(cells, stop):
                    self.running = batches.running
                    yield outcome
        finally:
            self.running = 0

    @contextmanager
    def _batches(self, timeout: float | None, notify: Callable[[str], Any]) -> Iterator[Batches]:
        """How this run deals out its cells."""
        yield Batches(partial(self.pool.submit, run_batch, uuid.uuid4().hex, timeout), self.workers)


class ProcessExecutor(FuturesExecutor):
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
        self.workers, self.running = number_of_workers(workers), 0

    @contextmanager
    def _batches(self, timeout: float | None, notify: Callable[[str], Any]) -> Iterator[Batches]:
        children: queue.LifoQueue[Child] = queue.LifoQueue()

        def run(*batch: Any) -> dict[str, Any]:
            child = children.get()
            try:
                return run_lines(child, *batch)
            finally:
                children.put(child)

        with ThreadPoolExecutor(self.workers) as pool:
            batches = Batches(partial(pool.submit, run), self.workers)
            for _ in range(self.workers):
                children.put(Child(timeout, over=batches.over.is_set))
            try:
                yield batches
            finally:
                batches.over.set()
        while not children.empty():
            children.get().end()
