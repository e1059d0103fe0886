"""A worker process: cells come in as lines of JSON, outcomes go out as lines of JSON.

It is started by `dendrocap.experiments.child` and lives until its input ends. Nothing is pickled, the main script
of the user is not imported again, and whatever a job prints goes to stderr. Its first line tells its versions; a
question about a job (`job_question`) is answered with the reason why it cannot be run here, if there is one.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Iterator
from typing import IO, Any

from dendrocap.errors import InvalidParameter
from dendrocap.experiments.cells import FAILED, Outcome, run_cell
from dendrocap.experiments.environment import Environment
from dendrocap.experiments.jobs import job_named
from dendrocap.experiments.sweep import Cell

__all__ = ["cell_line", "failure_line", "job_question", "main", "outcome_from"]

# What the two sides know already.
NOT_SENT = ("cell", "environment")


def cell_line(cell: Cell) -> str:
    """A cell on its way to a worker."""
    return json.dumps([cell.job, cell.parameters, cell.seed]) + "\n"


def job_question(job: str) -> str:
    """Whether a worker can run a job."""
    return json.dumps({"job": job}) + "\n"


def outcome_line(outcome: Outcome) -> str:
    """An outcome on its way to the client."""
    return json.dumps({name: value for name, value in vars(outcome).items() if name not in NOT_SENT}) + "\n"


def failure_line(reason: str, seconds: float = 0.0) -> str:
    """The outcome of a cell whose worker cannot speak for itself any more."""
    nobody = Cell("", {}, 0)
    return outcome_line(Outcome(nobody, FAILED, reason=reason, seconds=seconds))


def outcome_from(cell: Cell, line: str, environment: Environment) -> Outcome:
    """The outcome that a worker reported."""
    return Outcome(cell, **json.loads(line), environment=environment)


def main(idle: float | None = None) -> None:
    """Serve until the client closes the pipe, or dies, or has nothing to do for so many seconds."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the client's business
    # Results leave on a descriptor of their own; a job that prints must not speak between them.
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
        # The cause alone: the path of every worker would fill the screen.
        why = f"the job {request['job']} cannot be imported: {error.__cause__!r}" if error.__cause__ else str(error)
        return json.dumps(why) + "\n"
    return json.dumps("") + "\n"


def _lines_until_the_client_is_gone(source: IO[str], idle: float | None) -> Iterator[str]:
    """Lines of the input; when it ends, the process ends too, even in the middle of a cell.

    A client that was killed cannot stop its workers. They notice by the end of their input, read in a thread.
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
