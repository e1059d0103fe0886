"""Runs a batch of cells on a Dask worker, one after the other, in a child process.

A thread of a Dask worker cannot be stopped, so cells do not run in it. They run in a child process, which is terminated
when a cell takes too long, or when the batch is cancelled because the client was interrupted or killed. A cell that
kills its process does not harm the Dask worker, and cells of different threads do not affect one another.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from dendrocap.experiments.child import Child
from dendrocap.experiments.environment import Environment

__all__ = ["run_batch"]

# Seconds between checks of the clock and of the client; seconds without a batch after which a child exits.
GLANCE, IDLE = 0.1, 60.0

_children = threading.local()  # one child per thread of the worker


def run_batch(
    lines: Sequence[str],
    jobs: Sequence[str],
    expected: Mapping[str, Any],
    run: str,
    budget: float,
    timeout: float | None,
) -> dict[str, Any]:
    """Outcomes of the first cells of a batch, as many as fit into ``budget`` seconds, at least one.

    Before its first cell a worker must show that it can import the jobs and has the versions of the client.

    Returns
    -------
    dict
        ``answers``, one line for each cell that was run, ``environment``, and the total ``seconds``; or ``refused``,
        the reason why this worker cannot run the cells, and its address as ``worker``.
    """
    from distributed import get_worker

    child = _child_of_this_thread(run, timeout)
    answers: list[str] = []
    with _watched(child):
        child.start()
        client = Environment(**expected)
        if not client.matches(child.environment):
            return {"refused": f"it has {client.differing(child.environment)}", "worker": get_worker().address}
        for job in jobs:
            if objection := child.objection(job):
                return {"refused": objection, "worker": get_worker().address}
        began = time.monotonic()
        for line, following in zip(lines, [*lines[1:], None], strict=True):
            ahead = following if time.monotonic() - began < budget else None
            answer = child.outcome(line, ahead)
            if answer is None:
                break  # the batch was cancelled
            answers.append(answer)
            if ahead is None:
                break
    return {"answers": answers, "environment": child.environment.plain, "seconds": time.monotonic() - began}


def _child_of_this_thread(run: str, timeout: float | None) -> Child:
    """The child process for the cells of a run; the child of another run may hold other code and is closed."""
    if getattr(_children, "run", None) != run:
        if hasattr(_children, "child"):
            _children.child.kill()
            _children.child.close()
        _children.child, _children.run = Child(timeout, IDLE), run
    child: Child = _children.child
    return child


@contextmanager
def _watched(child: Child) -> Iterator[None]:
    """While the batch runs, a thread checks the time limit and whether the batch was cancelled."""
    finished, abandoned = threading.Event(), _abandoned()

    def watch() -> None:
        while not finished.wait(GLANCE):
            child.look()
            if abandoned():
                child.kill()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        finished.set()
        watcher.join()
        if abandoned():
            child.kill()
            child.close()
            _children.run = None


def _abandoned() -> Callable[[], bool]:
    """A function that returns whether the task of this thread was cancelled, by Ctrl-C or the death of its client."""
    from distributed import get_worker
    from distributed.worker import thread_state

    worker, key = get_worker(), thread_state.key

    def ask() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    return ask
