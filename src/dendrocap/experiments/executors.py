"""Who runs the cells: this process, processes of this machine, or a Dask cluster.

An executor turns cells into outcomes and nothing else: it opens no store, and the order of outcomes is free. All of
them call the same `run_cell`, and a cell carries its own randomness, so that all of them give the same numbers.
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
    >>> everything: list[Executor] = [SerialExecutor(), ProcessExecutor(workers=2), DaskExecutor("local")]
    """

    running: int  # cells being run at the moment, for display

    def run(
        self,
        cells: Iterable[Cell | None],
        stop: threading.Event,
        *,
        timeout: float | None = None,
        notify: Callable[[str], Any] | None = None,
    ) -> Iterator[Outcome]:
        """One outcome per cell, in any order, as they come; soon after ``stop`` is set, those at hand and no more.

        None among the cells stands for one that depends on outcomes still to come: ask again after the next of them.
        A cell that takes longer than ``timeout`` seconds fails, and ``notify`` is called with what the user should
        know about the workers.
        """


class SerialExecutor:
    """Runs one cell after the other in this process; asked to stop, it finishes the cell that it is in.

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
        """Outcomes in the order of the cells."""
        if timeout is not None:
            raise InvalidParameter(
                f"timeout = {timeout:g} is not allowed in the client's own process, which cannot end a cell: "
                "use ProcessExecutor(1)"
            )
        self.running = 1
        try:
            for cell in cells:
                if stop.is_set() or cell is None:  # no outcome is still to come
                    return
                yield run_cell(cell)
        finally:
            self.running = 0
