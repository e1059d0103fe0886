"""A worker process: it reads cells as lines of JSON and writes outcomes as lines of JSON.

`dendrocap.experiments.child` starts it, and it runs until its input ends. Nothing is pickled, the user's main script
is not imported again, and the output of a job goes to stderr. Its first line reports its versions. It answers a
question about a job (`job_question`) with the reason why it cannot run the job, if there is one.
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
