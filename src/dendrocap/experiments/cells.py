"""Running one cell, in any process, and its outcome."""

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
# A cell whose worker process dies is retried, at most MOST_DEATHS times in total: one death is usually the fault of the
# machine, three in a row are the fault of the cell.
MOST_DEATHS = 3


@dataclass(frozen=True)
class Outcome:
    """The outcome of a cell.

    Parameters
    ----------
    cell : Cell
        The cell.
    status : {"done", "failed"}
        Whether the cell returned a result.
    metrics : mapping
        Its result as plain data.
    reason, traceback : str
        Reason of the failure, in one line and in full.
    seconds : float
        Running time.
    host : str
        Name of the machine.
    environment : Environment
        Versions under which it ran.
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


def killed(cell: Cell, how: str) -> Outcome:
    """The outcome of a cell that repeatedly kills its worker process."""
    return Outcome(cell, FAILED, reason=f"WorkerKilled: {how}")
