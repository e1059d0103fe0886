"""Executors that run cells: in this process, in processes on this machine, or on a Dask cluster.

An executor only turns cells into outcomes: it opens no store, and may return outcomes in any order. All executors call
`run_cell`, and a cell determines its own randomness, so all executors give the same numbers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from dendrocap.errors import InvalidParameter
from dendrocap.experiments.cells import Outcome, run_cell
from dendrocap.experiments.dask_executor import DaskExecutor
from dendrocap.experiments.processes import ProcessExecutor
from dendrocap.experiments.sweep import Cell

__all__ = ["DaskExecutor", "Executor", "ProcessExecutor", "SerialExecutor"]


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
