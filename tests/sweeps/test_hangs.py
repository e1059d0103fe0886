"""Cells that never end: they fail after their time, and their process is freed wherever it is."""

import os
import signal
import threading

import psutil
import pytest

from dendrocap.errors import InvalidParameter
from dendrocap.sweeps import DaskExecutor, ProcessExecutor, Store, Sweep, read_sweep, run_sweep
from tests.sweeps.clients import client, finished, sweep_file, wait_until
from tests.sweeps.comparing import JOBS, contents, draws, stored


def hanging(folder, count=8):
    return Sweep(f"{JOBS}:hangs_at_two", grid={"number": range(count)}, parameters={"log": str(folder / "pid")})


def is_gone(pid):
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def written_pid(folder):
    path = folder / "pid"
    return int(path.read_text()) if path.exists() and path.read_text().endswith("\n") else None


def check_one_timed_out(path, count, seconds):
    with Store(path) as store:
        records = store.records()
    (failed,) = [record for record in records if record.status == "failed"]
    assert failed.parameters["number"] == 2
    assert failed.reason == f"CellTimeout: it took longer than {seconds} s, and its process was terminated"
    assert len(records) == count


@pytest.mark.slow
def test_a_hung_cell_fails_and_its_process_is_ended(tmp_path):
    report = run_sweep(hanging(tmp_path), tmp_path / "results.db", executor=ProcessExecutor(2), timeout=1.5)
    assert (report.counts.done, report.counts.failed) == (7, 1)
    check_one_timed_out(tmp_path / "results.db", 8, 1.5)
    assert is_gone(written_pid(tmp_path))


@pytest.mark.slow
def test_what_a_hung_cell_has_started_ends_with_it(tmp_path):
    sweep = Sweep(f"{JOBS}:starts_a_child_and_hangs", parameters={"log": str(tmp_path / "pid")})
    assert run_sweep(sweep, tmp_path / "results.db", workers=1, timeout=1.5).counts.failed == 1
    wait_until(lambda: is_gone(written_pid(tmp_path)))


def test_one_worker_with_a_timeout_is_a_process(tmp_path):
    assert run_sweep(hanging(tmp_path, 4), tmp_path / "results.db", workers=1, timeout=0.7).counts.failed == 1
    with pytest.raises(InvalidParameter, match="timeout = 0"):
        run_sweep(draws(4), tmp_path / "other.db", timeout=0)


def test_no_cell_waits_for_one_that_shared_its_batch_and_hangs(monkeypatch):
    monkeypatch.setattr("dendrocap.sweeps.process.STUCK", 0.3)
    sweep = Sweep(f"{JOBS}:hangs_at_two", grid={"number": [*range(3, 40), 2, *range(40, 67)]})
    stop, others = threading.Event(), set()
    for outcome in ProcessExecutor(2).run(sweep, stop):
        others.add(outcome.cell.parameters["number"])
        if len(others) == 64:
            stop.set()
    assert others == set(range(3, 67))


def test_the_file_of_a_sweep_can_say_the_timeout_and_results_do_not_depend_on_it(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(f"job = '{JOBS}:hangs_at_two'\ntimeout = 1.0\n[grid]\nnumber = [1, 2]")
    sweep = read_sweep(path)
    assert sweep.timeout == 1.0
    assert sweep.digest == Sweep(f"{JOBS}:hangs_at_two", grid={"number": [1, 2]}).digest
    assert Sweep.from_definition(sweep.definition) == sweep
    assert run_sweep(sweep, tmp_path / "results.db", workers=2).counts.failed == 1
    fast = draws(40)
    run_sweep(fast, tmp_path / "with.db", workers=2, timeout=60)
    run_sweep(fast, tmp_path / "without.db", workers=1)
    assert contents(tmp_path / "with.db", fast) == contents(tmp_path / "without.db", fast)


@pytest.mark.dask
def test_a_hung_cell_on_dask_fails_and_frees_its_worker(tmp_path, cluster):
    executor = DaskExecutor(cluster.address)
    report = run_sweep(hanging(tmp_path, 20), tmp_path / "results.db", executor=executor, timeout=2.0)
    assert (report.counts.done, report.counts.failed) == (19, 1)
    check_one_timed_out(tmp_path / "results.db", 20, 2)
    assert is_gone(written_pid(tmp_path))
    assert run_sweep(draws(40), tmp_path / "next.db", executor=DaskExecutor(cluster.address)).counts.done == 40


@pytest.mark.dask
def test_no_cell_waits_behind_a_hung_one(tmp_path, cluster):
    """Without a timeout: the cells that share its batch, or lie behind it at its worker, are run by the other."""
    grid = {"number": range(400)}
    sweep = Sweep(f"{JOBS}:hangs_at_two", grid=grid, parameters={"at": 200, "log": str(tmp_path / "pid")})
    store = tmp_path / "results.db"
    process = client(sweep_file(tmp_path, sweep), "--store", store, "--dask", cluster.address)
    wait_until(lambda: stored(store) == 399, process)
    process.send_signal(signal.SIGINT)
    code, _, errors = finished(process)
    assert (code, "interrupted: 399 of 400 cells are stored" in errors) == (130, True)
    wait_until(lambda: is_gone(written_pid(tmp_path)))


@pytest.mark.dask
@pytest.mark.parametrize("kill", [False, True], ids=["ctrl-c", "kill"])
def test_a_hung_cell_does_not_hold_the_cluster_when_its_client_is_gone(tmp_path, cluster, kill):
    """Without a timeout: cells that are no longer needed are terminated, and the next sweep has both workers."""
    sweep = hanging(tmp_path)
    process = client(sweep_file(tmp_path, sweep), "--store", tmp_path / "results.db", "--dask", cluster.address)
    wait_until(lambda: written_pid(tmp_path) is not None, process)
    process.send_signal(signal.SIGKILL if kill else signal.SIGINT)
    code, _, errors = finished(process)
    assert code == (-signal.SIGKILL if kill else 130)
    if not kill:
        assert f"--dask {cluster.address}" in errors
    wait_until(lambda: is_gone(written_pid(tmp_path)))
    where = Sweep(f"{JOBS}:where", seeds=40)
    run_sweep(where, tmp_path / "next.db", executor=DaskExecutor(cluster.address))
    with Store(tmp_path / "next.db") as store:
        processes = {record.metrics["pid"] for record in store.records()}
    assert len(processes) == 2
    assert os.getpid() not in processes
