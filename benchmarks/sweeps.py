"""What a sweep costs beside its cells.

``python -m benchmarks.sweeps`` prints three tables: trivial cells on each executor, a hundred thousand of them in
one process (CPU and memory), and cells of 5 ms on a scheduler with two workers, the overhead of which is what the
workers' time exceeds the time inside cells by. Name one of ``trivial``, ``memory`` and ``cluster`` to get it alone,
and a number to change how many cells there are.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dendrocap.sweeps import DaskExecutor, Executor, ProcessExecutor, SerialExecutor, Store, Sweep, run_sweep

ROOT = Path(__file__).parents[1]
TARGETS = {"serial": 500.0, "2 processes": 300.0, "local Dask, 2 workers": 100.0}
WORKERS = 2


def empty(number: int) -> float:
    """A cell that does nothing."""
    return float(number)


def short(number: int) -> float:
    """A cell of 5 ms that leaves the core to others: what is measured is the way to it and back."""
    time.sleep(0.005)
    return float(number)


def seconds(executor: Executor, cells: int, job: str = "empty") -> tuple[float, float]:
    """How long a sweep takes, and how long its cells take."""
    with tempfile.TemporaryDirectory() as folder:
        sweep = Sweep(f"benchmarks.sweeps:{job}", grid={"number": range(cells)})
        began = time.perf_counter()
        report = run_sweep(sweep, Path(folder) / "results.db", executor=executor)
        took = time.perf_counter() - began
        assert report.counts.done == cells, report
        with Store(Path(folder) / "results.db") as store:
            return took, sum(record.seconds for record in store.records(sweep))


def trivial(cells: int = 5000) -> None:
    executors: dict[str, tuple[Callable[[], Executor], int]] = {
        "serial": (SerialExecutor, cells),
        "2 processes": (lambda: ProcessExecutor(WORKERS), cells),
        "local Dask, 2 workers": (lambda: DaskExecutor("local", workers=WORKERS), 4 * cells),
    }
    print(f"{'executor':<24}{'start/s':>9}{'ms/cell':>9}{'cells/s':>9}{'target':>9}")
    for name, (executor, number) in executors.items():
        start, _ = seconds(executor(), 2)
        each = (seconds(executor(), number + 2)[0] - start) / number
        verdict = "met" if 1.0 / each >= TARGETS[name] else "missed"
        print(f"{name:<24}{start:>9.2f}{1e3 * each:>9.2f}{1.0 / each:>9.0f}{TARGETS[name]:>9.0f}  {verdict}")


def memory(cells: int = 100_000) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sweep = Sweep("benchmarks.sweeps:empty", grid={"number": range(cells)})
        began = time.process_time()
        run_sweep(sweep, Path(folder) / "results.db", executor=SerialExecutor())
        each = (time.process_time() - began) / cells
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"serial, {cells} trivial cells: {1e3 * each:.3f} ms of CPU per cell, {peak:.0f} MB at most")


def cluster(cells: int = 10_000) -> None:
    with scheduler_and_workers() as address:
        executor = DaskExecutor(address)
        seconds(executor, 2, "short")  # connections and imports
        took, inside = seconds(DaskExecutor(address), cells, "short")
    overhead = WORKERS * took / inside - 1.0
    print(
        f"scheduler and {WORKERS} workers, {cells} cells of {1e3 * inside / cells:.2f} ms: {took:.1f} s, "
        f"{cells / took:.0f} cells/s, overhead {100 * overhead:.1f} %"
    )


@contextmanager
def scheduler_and_workers() -> Iterator[str]:
    """The address of a scheduler with workers, all of them processes of their own on the loopback interface."""
    path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT)])
    here = ("--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "scheduler.json")

        def start(*arguments: str) -> subprocess.Popen[bytes]:
            command = [sys.executable, "-m", "dask", *arguments, *here, "--scheduler-file", str(file)]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            return subprocess.Popen(command, cwd=folder, env={**os.environ, "PYTHONPATH": path}, **quiet)  # type: ignore[call-overload, no-any-return]

        processes = [start("scheduler", "--port", "0")]
        while not (file.exists() and file.stat().st_size):
            time.sleep(0.05)
        processes += [start("worker", "--nthreads", "1", "--no-nanny") for _ in range(WORKERS)]
        address = json.loads(file.read_text())["address"]
        try:
            with DaskExecutor(address)._connected() as client:
                client.wait_for_workers(WORKERS)
            yield address
        finally:
            for process in processes:
                process.kill()
                process.wait()


TABLES: dict[str, Callable[..., None]] = {"trivial": trivial, "memory": memory, "cluster": cluster}


def main() -> None:
    cells = [int(word) for word in sys.argv[1:] if word.isdigit()]
    for name in [word for word in sys.argv[1:] if word in TABLES] or TABLES:
        TABLES[name](*cells)


if __name__ == "__main__":
    # Workers import this module by its name.
    os.environ["PYTHONPATH"] = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT)])
    sys.path.insert(0, str(ROOT))
    main()
