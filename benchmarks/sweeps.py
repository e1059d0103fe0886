"""What a sweep costs beside the cells: cells per second when a cell does nothing.

Targets: >= 500 cells/s serially, >= 300 on two processes, <= 10 ms per cell on a local Dask cluster. Starting the
processes is timed apart, with a sweep of two cells.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from dendrocap.experiments import DaskExecutor, Executor, ProcessExecutor, SerialExecutor, Sweep, run_sweep

TARGETS = {"serial": 500.0, "2 processes": 300.0, "local Dask, 2 workers": 100.0}


def empty(number: int) -> float:
    """A cell that does nothing."""
    return float(number)


def seconds(executor: Executor, cells: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        sweep = Sweep("benchmarks.sweeps:empty", grid={"number": range(cells)})
        began = time.perf_counter()
        report = run_sweep(sweep, Path(folder) / "results.db", executor=executor)
        assert report.counts.done == cells, report
        return time.perf_counter() - began


def main() -> None:
    executors: dict[str, tuple[Callable[[], Executor], int]] = {
        "serial": (SerialExecutor, 5000),
        "2 processes": (lambda: ProcessExecutor(2), 5000),
        "local Dask, 2 workers": (lambda: DaskExecutor("local", workers=2), 2000),
    }
    print(f"{'executor':<24}{'start/s':>9}{'ms/cell':>9}{'cells/s':>9}{'target':>9}")
    for name, (executor, cells) in executors.items():
        start = seconds(executor(), 2)
        each = (seconds(executor(), cells + 2) - start) / cells
        verdict = "met" if 1.0 / each >= TARGETS[name] else "missed"
        print(f"{name:<24}{start:>9.2f}{1e3 * each:>9.2f}{1.0 / each:>9.0f}{TARGETS[name]:>9.0f}  {verdict}")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))  # workers import this module by its name
    main()
