"""What a Dask worker does with a batch of cells: hand them to a process of its own, one after the other.

A thread of a Dask worker cannot be stopped, so cells do not run in it. They run in a child process, which is ended
when a cell takes too long, or when nobody waits for the batch any more because the client was interrupted or killed. A
cell that kills its process does not harm the Dask worker, and cells of several threads do not disturb one another.
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

# Seconds between looks at the clock and at the client, and without a batch before a child ends by itself.
GLANCE, IDLE = 0.1, 60.0

_children = threading.local()  # one per thread of the worker


def run_batch(
    lines: Sequence[str],
    jobs: Sequence[str],
    expected: Mapping[str, Any],
    run: str,
    budget: float,
    timeout: float | None,
) -> dict[str, Any]:
    """Outcomes of the first cells of a batch, as many as ``budget`` seconds suffice for, at least one.

    Before its first cell a worker shows that it can import the jobs, and has the versions that the client expects.

    Returns
    -------
    dict
        ``answers``, one line for each cell that was run, ``environment``, and ``seconds`` in all; or ``refused``, the
        reason why this worker cannot run the cells, and its address as ``worker``.
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
                break  # nobody waits for it
            answers.append(answer)
            if ahead is None:
                break
    return {"answers": answers, "environment": child.environment.plain, "seconds": time.monotonic() - began}


def _child_of_this_thread(run: str, timeout: float | None) -> Child:
    """The process for the cells of a run; one of another run may hold other code and goes."""
    if getattr(_children, "run", None) != run:
        if hasattr(_children, "child"):
            _children.child.kill()
            _children.child.close()
        _children.child, _children.run = Child(timeout, IDLE), run
    child: Child = _children.child
    return child


@contextmanager
def _watched(child: Child) -> Iterator[None]:
    """While the batch lasts, somebody looks at the clock, and whether the batch is still wanted."""
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
    """A function that tells whether the task of this thread was cancelled: by Ctrl-C, or with its client's death."""
    from distributed import get_worker
    from distributed.worker import thread_state

    worker, key = get_worker(), thread_state.key

    def ask() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    return ask
