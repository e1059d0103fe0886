"""Dask as the cluster engine: real scheduler and workers, on the loopback interface only."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest

from dendrocap.errors import WorkersLost
from dendrocap.sweeps import DaskExecutor, ProcessExecutor, SerialExecutor, Store, Sweep, run_sweep
from tests.sweeps import some_jobs
from tests.sweeps.clients import client, environment, finished, sweep_file, wait_until
from tests.sweeps.comparing import JOBS, TRAININGS, contents, draws, stored

pytestmark = pytest.mark.dask


@pytest.mark.parametrize("sweep", [draws(80), TRAININGS], ids=["draws", "trainings"])
def test_serial_processes_and_dask_give_equal_tables(tmp_path, cluster, sweep):
    executors = {
        "serial": SerialExecutor(),
        "processes": ProcessExecutor(2),
        "cluster": DaskExecutor(cluster.address),
        "local": DaskExecutor("local", workers=2),
    }
    for name, executor in executors.items():
        report = run_sweep(sweep, tmp_path / f"{name}.db", executor=executor)
        assert (report.counts.done, report.ran) == (len(sweep), len(sweep))
    tables = [contents(tmp_path / f"{name}.db", sweep) for name in executors]
    assert all(table == tables[0] for table in tables)


def test_a_killed_worker_loses_nothing(tmp_path, cluster):
    assert cluster.address.startswith("tcp://127.0.0.1:")
    sweep, seen = draws(200), []

    def kill_one(now):
        seen.append(now)
        if now.ran == 60:
            cluster.workers[0].kill()

    report = run_sweep(sweep, tmp_path / "disturbed.db", executor=DaskExecutor(cluster.address), callback=kill_one)
    assert cluster.workers[0].wait(60) == -9
    assert (report.counts.done, report.counts.failed, report.ran) == (200, 0, 200)
    run_sweep(sweep, tmp_path / "undisturbed.db", workers=1)
    assert contents(tmp_path / "disturbed.db", sweep) == contents(tmp_path / "undisturbed.db", sweep)


def test_a_lost_scheduler_is_an_error_and_the_sweep_can_go_on_elsewhere(tmp_path, cluster):
    sweep, store = draws(200), tmp_path / "results.db"

    def kill_scheduler(now):
        if now.ran == 20:
            cluster.scheduler.kill()

    with pytest.raises(WorkersLost, match="Dask scheduler was lost"):
        run_sweep(sweep, store, executor=DaskExecutor(cluster.address), callback=kill_scheduler)
    kept = stored(store)
    assert 20 <= kept < 200
    assert run_sweep(sweep, store, workers=2).ran == 200 - kept


def test_a_cell_that_kills_its_workers_fails_and_no_other_is_lost(tmp_path):
    sweep = Sweep(f"{JOBS}:kills_at_two", grid={"number": range(12)}, parameters={"log": str(tmp_path / "log")})
    report = run_sweep(sweep, tmp_path / "results.db", executor=DaskExecutor("local", workers=2))
    assert (report.counts.done, report.counts.failed) == (11, 1)
    with Store(tmp_path / "results.db") as store:
        (failed,) = [record for record in store.records() if record.status == "failed"]
    assert failed.parameters["number"] == 2
    assert failed.reason.startswith("WorkerKilled: its process died 3 times")
    attempts = (tmp_path / "log").read_text().split()
    assert sorted(attempts) == sorted(["2", "2", *(str(n) for n in range(12))])  # and no Dask worker with it


def test_ctrl_c_in_a_local_cluster_keeps_what_is_done(tmp_path):
    sweep, store = draws(400), tmp_path / "results.db"
    process = client(sweep_file(tmp_path, sweep), "--store", store, "--dask", "local", start_new_session=True)
    wait_until(lambda: stored(store) >= 10, process)
    os.killpg(process.pid, signal.SIGINT)  # to the whole group, as a terminal sends it
    code, _, errors = finished(process)
    assert code == 130, errors
    assert f"interrupted: {stored(store)} of 400 cells are stored; resume with: " in errors
    assert 10 <= stored(store) < 400


def test_a_client_of_one_s_own_is_used_and_left_open(tmp_path, cluster):
    from distributed import Client

    with Client(cluster.address, set_as_default=False) as own:
        run_sweep(draws(8), tmp_path / "results.db", executor=DaskExecutor(own))
        assert own.status == "running"


def test_a_local_cluster_listens_on_the_loopback_interface_only(tmp_path):
    listening = set()

    def look(now):
        family = [psutil.Process(), *psutil.Process().children(recursive=True)]
        connections = [connection for process in family for connection in process.net_connections("inet")]
        listening.update(c.laddr.ip for c in connections if c.status == psutil.CONN_LISTEN)

    run_sweep(draws(4), tmp_path / "results.db", executor=DaskExecutor("local", workers=2), callback=look)
    assert listening == {"127.0.0.1"}


def test_workers_that_cannot_run_cells_are_an_error_and_not_failed_cells(tmp_path, cluster, monkeypatch):
    """As where dendrocap is missing: what fails is not the cell, which would be part of an outcome."""
    monkeypatch.setattr("dendrocap.sweeps.dask.run_on_worker", some_jobs.cannot_run)
    with pytest.raises(WorkersLost, match=r"ModuleNotFoundError.*is this version of dendrocap installed there"):
        run_sweep(draws(8), tmp_path / "results.db", executor=DaskExecutor(cluster.address))
    assert stored(tmp_path / "results.db") == 0


def test_no_scheduler_at_the_address(tmp_path, monkeypatch):
    monkeypatch.setattr("dendrocap.sweeps.dask.PATIENCE", 1.0)
    with pytest.raises(WorkersLost, match=r"no Dask scheduler answers at tcp://127.0.0.1:1"):
        run_sweep(draws(4), tmp_path / "results.db", executor=DaskExecutor("tcp://127.0.0.1:1"))


def test_a_cluster_that_grows_by_need_is_given_a_reason_to(tmp_path):
    """An adaptive cluster without workers starts some only if something waits at its scheduler."""
    from distributed import Client, LocalCluster

    with LocalCluster(
        n_workers=0, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
    ) as growing:
        growing.adapt(minimum=0, maximum=2, interval="100 ms")
        with Client(growing, set_as_default=False) as own:
            report = run_sweep(draws(40), tmp_path / "r.db", executor=DaskExecutor(own), notify=lambda words: None)
    assert report.counts.done == 40


def test_clients_and_workers_killed_by_turns_lose_nothing_and_double_nothing(tmp_path, lone_scheduler):
    """Workers have nannies, which start them again; the scheduler is one and the same for all clients."""
    chance = random.Random(os.environ.get("DENDROCAP_TEST_SEED", "7"))
    nannies = [lone_scheduler.add_worker(nanny=True) for _ in range(2)]
    lone_scheduler.wait_for(2)
    sweep, store = draws(600), tmp_path / "results.db"
    file = sweep_file(tmp_path, sweep)
    progress = [0]
    for nanny in (*nannies, nannies[0]):
        process = client(file, "--store", store, "--dask", lone_scheduler.address)
        goal = progress[-1] + chance.randrange(1, 100)
        wait_until(lambda goal=goal: stored(store) >= goal, process)
        family = psutil.Process(nanny.pid).children(recursive=True)
        for member in chance.sample(family, min(2, len(family))):  # workers, or the processes of their cells
            with suppress(psutil.NoSuchProcess):
                member.kill()
        time.sleep(chance.uniform(0.0, 0.5))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL, "the sweep was over before it could be killed"
        progress.append(stored(store))
        assert progress[-1] >= progress[-2]
    nannies[0].kill()
    code, _, errors = finished(client(file, "--store", store, "--dask", lone_scheduler.address))
    assert code == 0, errors
    assert stored(store) == 600
    run_sweep(sweep, tmp_path / "undisturbed.db", workers=1)
    assert contents(store, sweep) == contents(tmp_path / "undisturbed.db", sweep)


def test_a_script_without_the_main_guard_is_told_about_it(tmp_path):
    """The workers of a local cluster import the script, and would run it again."""
    (tmp_path / "script.py").write_text(
        "from dendrocap.sweeps import DaskExecutor, run_sweep\n"
        "from tests.sweeps.comparing import draws\n"
        f"run_sweep(draws(8), {str(tmp_path / 'r.db')!r}, executor=DaskExecutor('local', workers=1))\n"
    )
    run = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert run.returncode == 1
    assert "if __name__ == '__main__':" in run.stderr.strip().splitlines()[-1]
