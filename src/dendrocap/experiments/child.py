"""A process that runs cells one at a time, and the communication with it.

The caller knows which cell the process holds, so the death of a process affects only one cell. This cell is run again
in a new process, and fails after three deaths. A cell that exceeds the time limit is stopped by terminating its
process; there is no other way to free the core.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from dendrocap.errors import WorkersLost
from dendrocap.experiments.cells import MOST_DEATHS
from dendrocap.experiments.environment import Environment
from dendrocap.experiments.worker import failure_line, job_question

__all__ = ["ONE_THREAD", "Child", "worker_environment"]

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
            code = f"from dendrocap.experiments.worker import main; main({self._idle})"
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
