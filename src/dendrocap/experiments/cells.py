"""Running one cell, wherever that happens to be, and what comes back from it."""

from __future__ import annotations

import platform
import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController

from dendrocap.experiments.environment import Environment
from dendrocap.experiments.jobs import job_named
from dendrocap.experiments.sweep import Cell

__all__ = ["DONE", "FAILED", "MOST_DEATHS", "Outcome", "killed", "run_cell"]

DONE, FAILED = "done", "failed"
# A cell during which a worker process dies is tried again so often in all: a dead worker is usually the machine's
# fault, three in a row are the cell's.
MOST_DEATHS = 3


@dataclass(frozen=True)
class Outcome:
    """What became of a cell.

    Parameters
    ----------
    cell : Cell
        The cell.
    status : {"done", "failed"}
        Whether it returned.
    metrics : mapping
        What it returned, as plain data.
    reason, traceback : str
        Why it failed, in one line and in full.
    seconds : float
        Time it took.
    host : str
        Where it ran.
    environment : Environment
        Under which versions.
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
    """Run a cell, in one thread; whatever it raises becomes part of the outcome, except Ctrl-C."""
    began = time.perf_counter()
    try:
        job = job_named(cell.job)
        with _thread_pools(len(sys.modules)).limit(limits=1):
            metrics = job(cell)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit too: no cell may end the sweep
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return Outcome(cell, FAILED, {}, reason, traceback.format_exc(), time.perf_counter() - began)
    return Outcome(cell, DONE, metrics, seconds=time.perf_counter() - began)


@lru_cache(maxsize=1)
def _thread_pools(modules: int) -> ThreadpoolController:
    """The thread pools of BLAS and its like, looked for again when more modules have been loaded.

    Sums that are split among threads depend on their number in the last digits. Workers that we start are bound to one
    thread by their environment; the client itself is not.
    """
    return ThreadpoolController()


def killed(cell: Cell, how: str) -> Outcome:
    """The outcome of a cell that takes its worker process down with it."""
    return Outcome(cell, FAILED, reason=f"WorkerKilled: {how}")
