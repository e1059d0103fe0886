"""A worker process: cells come in as lines of JSON, outcomes go out as lines of JSON.

It is started by `dendrocap.experiments.processes` and lives until its input ends. Nothing is pickled, the main script
of the user is not imported again, and whatever a job prints goes to stderr.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Iterator
from typing import IO

from dendrocap.experiments.cells import Outcome, run_cell
from dendrocap.experiments.sweep import Cell

__all__ = ["cell_line", "main", "outcome_from"]

READY = "ready\n"


def cell_line(cell: Cell) -> str:
    """A cell on its way to a worker."""
    return json.dumps([cell.job, cell.parameters, cell.seed]) + "\n"


def outcome_line(outcome: Outcome) -> str:
    """An outcome on its way to the client, which knows the cell already."""
    return json.dumps({name: value for name, value in vars(outcome).items() if name != "cell"}) + "\n"


def outcome_from(cell: Cell, line: str) -> Outcome:
    """The outcome that a worker reported."""
    return Outcome(cell, **json.loads(line))


def main() -> None:
    """Serve until the client closes the pipe, or dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the client's business
    # Results leave on a descriptor of their own; a job that prints must not speak between them.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    answers.write(READY)
    answers.flush()
    for line in _lines_until_the_client_is_gone(sys.stdin):
        answers.write(outcome_line(run_cell(Cell(*json.loads(line)))))
        answers.flush()


def _lines_until_the_client_is_gone(source: IO[str]) -> Iterator[str]:
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
        yield lines.get()


if __name__ == "__main__":
    main()
