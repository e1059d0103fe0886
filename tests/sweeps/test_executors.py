"""Executors agree bit for bit, and no cell takes another one down with it."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import Executor as FuturesPool
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import pytest

from dendrocap.errors import InvalidParameter, MissingExtra, WorkersLost
from dendrocap.sweeps import (
    DaskExecutor,
    Environment,
    FuturesExecutor,
    ProcessExecutor,
    SerialExecutor,
    Store,
    Sweep,
    run_sweep,
)
from dendrocap.sweeps import process as child_module
from dendrocap.sweeps.process import run_cell
from tests.sweeps.comparing import JOBS, contents, draws
from tests.sweeps.some_jobs import PAUSE


def numbered(job, count=5, **parameters):
    return Sweep(f"{JOBS}:{job}", grid={"number": range(count)}, parameters=parameters)


def records(path):
    with Store(path) as store:
        return store.records()


def test_serial_and_two_processes_give_equal_tables(tmp_path):
    sweep = draws(40)
    run_sweep(sweep, tmp_path / "serial.db", executor=SerialExecutor())
    run_sweep(sweep, tmp_path / "two.db", executor=ProcessExecutor(2))
    table = contents(tmp_path / "serial.db", sweep)
    assert table == contents(tmp_path / "two.db", sweep)
    assert len({metrics for *_, metrics in table}) == len(sweep)  # no two cells share their randomness


@pytest.mark.parametrize("executor", [SerialExecutor(), ProcessExecutor(2)], ids=["serial", "processes"])
def test_a_cell_that_raises_is_kept_with_its_reason(tmp_path, executor):
    sweep = numbered("fails_at_two")
    report = run_sweep(sweep, tmp_path / "results.db", executor=executor)
    assert (report.counts.done, report.counts.failed, report.ran) == (4, 1, 5)
    (failed,) = [record for record in records(tmp_path / "results.db") if record.status == "failed"]
    assert failed.parameters == {"number": 2}
    assert failed.reason == "ValueError: two is too many"
    assert "some_jobs.py" in failed.traceback
    assert failed.metrics == {}


def test_finished_cells_are_not_run_again_and_failed_ones_only_when_asked(tmp_path):
    path, marker = tmp_path / "results.db", tmp_path / "marker"
    sweep = numbered("succeeds_later", marker=str(marker))
    assert run_sweep(sweep, path, workers=1).counts.failed == 5
    marker.touch()
    report = run_sweep(sweep, path, workers=1)
    assert (report.ran, report.counts.failed) == (0, 5)
    report = run_sweep(sweep, path, workers=1, retry_failed=True)
    assert (report.ran, report.counts.done, report.counts.failed) == (5, 5, 0)
    larger = numbered("succeeds_later", 7, marker=str(marker))
    assert run_sweep(larger, path, workers=1, retry_failed=True).ran == 2


@pytest.mark.parametrize("executor", [SerialExecutor(), ProcessExecutor(2)], ids=["serial", "processes"])
def test_no_cell_ends_the_sweep(tmp_path, executor):
    run_sweep(numbered("leaves", 2), tmp_path / "leaves.db", executor=executor)
    assert [record.reason for record in records(tmp_path / "leaves.db")] == ["SystemExit: 3"] * 2
    run_sweep(numbered("returns_nonsense", 2), tmp_path / "nonsense.db", executor=executor)
    assert all("the metric object" in record.reason for record in records(tmp_path / "nonsense.db"))


def test_what_a_cell_prints_does_not_disturb_its_result(tmp_path, capfd):
    run_sweep(numbered("prints", 3), tmp_path / "results.db", executor=ProcessExecutor(1))
    assert [record.metrics for record in records(tmp_path / "results.db")] == [{"value": n} for n in range(3)]
    printed = capfd.readouterr()
    assert printed.out == ""
    assert "in the middle of the conversation" in printed.err


@pytest.mark.parametrize("numbers", [range(8), [*range(3, 60), 2, *range(60, 70)]], ids=["alone", "in a batch"])
def test_a_cell_that_kills_its_process_three_times_fails_and_no_other_is_lost(tmp_path, numbers):
    log = tmp_path / "log"
    sweep = Sweep(f"{JOBS}:kills_at_two", grid={"number": numbers}, parameters={"log": str(log)})
    report = run_sweep(sweep, tmp_path / "results.db", executor=ProcessExecutor(2))
    assert (report.counts.missing, report.counts.failed) == (0, 1)
    (failed,) = [record for record in records(tmp_path / "results.db") if record.status == "failed"]
    assert failed.parameters["number"] == 2
    code = -signal.SIGKILL
    assert failed.reason == f"WorkerKilled: its process died 3 times, with exit codes {code}, {code}, {code}"
    assert sorted(log.read_text().split()) == sorted(["2", "2", *map(str, numbers)])


def test_a_cell_whose_process_dies_once_is_run_again(tmp_path):
    sweep = numbered("kills_once", marker=str(tmp_path / "marker"))
    run_sweep(sweep, tmp_path / "two.db", executor=ProcessExecutor(2))
    assert (tmp_path / "marker").exists()
    run_sweep(sweep, tmp_path / "serial.db", executor=SerialExecutor())
    assert contents(tmp_path / "two.db", sweep) == contents(tmp_path / "serial.db", sweep)


def test_workers_are_other_processes_with_one_thread_each(tmp_path):
    sweep = Sweep(f"{JOBS}:where", seeds=20)
    run_sweep(sweep, tmp_path / "results.db", executor=ProcessExecutor(2))
    found = [record.metrics for record in records(tmp_path / "results.db")]
    assert os.getpid() not in {metrics["pid"] for metrics in found}
    assert {metrics[name] for metrics in found for name in metrics if name != "pid"} == {"1"}


def test_cells_have_one_thread_in_the_client_too(tmp_path):
    """Whatever the machine and the caller allow, and the caller's setting is given back."""
    from threadpoolctl import threadpool_info, threadpool_limits

    with threadpool_limits(2):
        allowed = [pool["num_threads"] for pool in threadpool_info()]
        run_sweep(Sweep(f"{JOBS}:blas_threads"), tmp_path / "results.db", executor=SerialExecutor())
        assert [pool["num_threads"] for pool in threadpool_info()] == allowed
    assert max(allowed) == 2
    assert [record.metrics for record in records(tmp_path / "results.db")] == [{"value": 1}]


def test_workers_load_compiled_code_from_the_cache(tmp_path):
    sweep = numbered("compiled", 1)
    for cell in sweep:
        assert run_cell(cell).status == "done"  # fills the cache, if it was empty
    run_sweep(sweep, tmp_path / "results.db", executor=ProcessExecutor(1))
    (record,) = records(tmp_path / "results.db")
    assert record.metrics["misses"] == 0
    assert record.metrics["hits"] > 0


def test_asked_to_stop_an_executor_hands_over_what_is_finished_and_ends(monkeypatch):
    """The event is what Ctrl-C sets."""
    monkeypatch.setenv(PAUSE, "0.01")
    for executor in (SerialExecutor(), ProcessExecutor(2)):
        stop = threading.Event()
        outcomes = executor.run(draws(200), stop)
        some = [next(outcomes) for _ in range(3)]
        stop.set()
        some += outcomes
        assert 3 <= len(some) <= 20  # the batches in flight end early
        assert len({outcome.cell.key for outcome in some}) == len(some)
        assert executor.running == 0


class Immediate(FuturesPool):
    """A pool that has finished a batch as soon as it is given one."""

    def submit(self, function, *arguments):
        future = Future()
        future.set_result(function(*arguments))
        return future


def test_what_arrived_before_the_stop_is_not_thrown_away(monkeypatch):
    monkeypatch.setattr(child_module, "_children", threading.local())  # whose process ends with the test
    monkeypatch.setattr(child_module, "BATCH", 60.0)  # so that every batch is a fast one
    stop = threading.Event()
    outcomes = FuturesExecutor(Immediate(), 2).run(draws(40), stop)
    first = next(outcomes)
    stop.set()
    assert len({outcome.cell.key for outcome in [first, *outcomes]}) == 8  # two at first, then three batches of two


def test_any_pool_runs_the_cells_and_a_broken_one_is_an_error(tmp_path):
    with ThreadPoolExecutor(2) as pool:
        run_sweep(numbered("kills_at_two"), tmp_path / "pool.db", executor=FuturesExecutor(pool, 2))
    run_sweep(numbered("kills_at_two"), tmp_path / "two.db", executor=ProcessExecutor(2))
    sweep = numbered("kills_at_two")
    assert contents(tmp_path / "pool.db", sweep) == contents(tmp_path / "two.db", sweep)
    with pytest.raises(WorkersLost, match="the workers take no cells: cannot schedule"):
        run_sweep(numbered("prints"), tmp_path / "closed.db", executor=FuturesExecutor(pool, 2))


def test_a_pool_with_other_versions_is_an_error(tmp_path, monkeypatch):
    other = replace(Environment.here(), numpy="1.0.0").plain
    answer = {"answers": [], "stuck": False, "fast": False, "environment": other}
    monkeypatch.setattr(child_module, "run_lines", lambda *batch: answer)
    with pytest.raises(WorkersLost, match=r"a worker cannot run the cells: it has numpy 1.0.0 \(here"):
        run_sweep(draws(4), tmp_path / "results.db", executor=FuturesExecutor(Immediate(), 1))


@pytest.mark.parametrize("job", ["copies_itself", "reads_stdin"])
def test_a_cell_cannot_disturb_the_conversation(tmp_path, job):
    """Neither a copy of its process that returns too, nor reading what was meant for the process."""
    run_sweep(numbered(job, 6), tmp_path / "results.db", executor=ProcessExecutor(1))
    assert [record.metrics for record in records(tmp_path / "results.db")] == [{"value": n} for n in range(6)]


@pytest.mark.slow
def test_a_process_whose_children_hold_its_pipe_is_missed_all_the_same(tmp_path):
    sweep = numbered("leaves_a_child_and_dies", 1)
    assert run_sweep(sweep, tmp_path / "results.db", executor=ProcessExecutor(1)).counts.failed == 1


def test_workers_that_cannot_start_are_an_error_and_not_failed_cells(tmp_path, monkeypatch):
    monkeypatch.setattr(child_module, "worker_environment", lambda: {"PYTHONHOME": str(tmp_path)})
    with pytest.raises(WorkersLost, match="could not start"):
        run_sweep(draws(4), tmp_path / "results.db", executor=ProcessExecutor(1))
    assert records(tmp_path / "results.db") == []


def test_progress_counts_everything(tmp_path):
    seen = []
    run_sweep(numbered("fails_at_two"), tmp_path / "results.db", executor=ProcessExecutor(2), callback=seen.append)
    assert [(now.done + now.failed, now.ran, now.cells) for now in seen] == [(n, n, 5) for n in range(6)]
    assert seen[-1].failed == 1
    assert max(now.running for now in seen) <= 2
    again = []
    run_sweep(numbered("fails_at_two"), tmp_path / "results.db", workers=1, retry_failed=True, callback=again.append)
    assert [(now.done, now.failed, now.ran) for now in again] == [(4, 0, 0), (4, 1, 1)]


def test_a_sweep_runs_outside_the_main_thread_too(tmp_path):
    reports = []
    thread = threading.Thread(target=lambda: reports.append(run_sweep(draws(8), tmp_path / "results.db", workers=2)))
    thread.start()
    thread.join(60)
    assert reports[0].counts.done == 8


def test_sweeps_load_nothing_that_they_may_not_need():
    heavy = ("numba", "matplotlib", "distributed", "dask", "pandas", "xarray", "pyarrow", "scipy", "typer")
    code = f"import sys, dendrocap.sweeps; print([name for name in {heavy!r} if name in sys.modules])"
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert outcome.stdout.strip() == "[]"


REFUSALS = [
    (lambda: ProcessExecutor(0), "workers = 0"),
    (lambda: FuturesExecutor(None, 0), "workers = 0"),
    (lambda: DaskExecutor("tcp://127.0.0.1:8786", workers=3), "workers is only allowed with a local Dask cluster"),
    (lambda: DaskExecutor("foo://127.0.0.1:1"), "protocol of the Dask scheduler = 'foo' is not allowed"),
    (lambda: DaskExecutor("127.0.0.1:1"), "tcp://host:8786"),
    (lambda: next(SerialExecutor().run(draws(4), threading.Event(), timeout=1.0)), r"timeout = 1 .*ProcessExecutor"),
]


@pytest.mark.parametrize(("call", "words"), REFUSALS)
def test_what_no_executor_can_be_is_refused(call, words):
    with pytest.raises(InvalidParameter, match=words):
        call()


def test_without_dask_the_message_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[dask\]'"):
        run_sweep(draws(4), tmp_path / "results.db", executor=DaskExecutor("local"))
