"""Clients that are killed, interrupted, starved of disk or doubled: nothing is lost, nothing is there twice."""

import os
import random
import resource
import signal
import time

import psutil
import pytest

from dendrocap.errors import StoreError
from dendrocap.sweeps import Store, Sweep, run_sweep
from tests.sweeps.clients import PATIENCE, client, finished, sweep_file, wait_until
from tests.sweeps.comparing import JOBS, contents, draws, stored


@pytest.fixture
def undisturbed(tmp_path):
    """A sweep, and what it gives when nothing happens."""

    def run(sweep):
        run_sweep(sweep, tmp_path / "undisturbed.db", workers=1)
        return contents(tmp_path / "undisturbed.db", sweep)

    return run


@pytest.mark.slow
def test_ten_kills_at_random_moments_lose_nothing(tmp_path, undisturbed):
    sweep, store = draws(200), tmp_path / "results.db"
    file = sweep_file(tmp_path, sweep)
    chance = random.Random(os.environ.get("DENDROCAP_TEST_SEED", "20240710"))
    progress = [0]
    for kill in range(10):
        process = client(file, "--store", store, "--workers", 2)
        # Every second time at any moment, the start and the making of the store included; else in the midst of cells.
        # Either way before it can be over: ten times sixteen cells, and some that get through, are less than 200.
        goal = progress[-1] + chance.randrange(1, 16)
        latest = time.monotonic() + (chance.uniform(0.0, 1.0) if kill % 2 == 0 else PATIENCE)
        wait_until(lambda goal=goal, latest=latest: stored(store) >= goal or time.monotonic() > latest, process)
        time.sleep(chance.uniform(0.0, 0.01))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL, "the sweep was over before it could be killed"
        progress.append(stored(store))
        assert progress[-1] >= progress[-2]  # what was stored stays stored
    assert progress[-1] < 200, "the kills came too late to prove anything"
    code, _, errors = finished(client(file, "--store", store, "--workers", 2))
    assert code == 0, errors
    table = contents(store, sweep)
    assert stored(store) == 200
    assert table == undisturbed(sweep)


def test_one_kill_loses_nothing(tmp_path, undisturbed):
    sweep, store = draws(40), tmp_path / "results.db"
    file = sweep_file(tmp_path, sweep)
    process = client(file, "--store", store, "--workers", 2)
    wait_until(lambda: stored(store) >= 5, process)
    process.kill()
    process.communicate()
    before = stored(store)
    assert 5 <= before < 40
    report = run_sweep(sweep, store, workers=2)
    assert report.ran == 40 - before
    assert contents(store, sweep) == undisturbed(sweep)


def test_workers_do_not_outlive_a_killed_client(tmp_path):
    sweep = Sweep(f"{JOBS}:sleeps", parameters={"log": str(tmp_path / "pid")})
    process = client(sweep_file(tmp_path, sweep), "--store", tmp_path / "results.db", "--workers", 2)
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith("\n"), process)
    worker = psutil.Process(int((tmp_path / "pid").read_text()))
    process.kill()
    process.communicate()
    wait_until(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE)


def test_ctrl_c_writes_what_is_done_and_says_how_to_go_on(tmp_path, undisturbed):
    sweep, store = draws(200), tmp_path / "results.db"
    file = sweep_file(tmp_path, sweep)
    process = client(file, "--store", store, "--workers", 2, start_new_session=True)
    wait_until(lambda: stored(store) >= 5, process)
    os.killpg(process.pid, signal.SIGINT)  # to the whole group, as a terminal sends it
    code, _, errors = finished(process)
    assert code == 130, errors
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.db", "results.db.lock", "sweep.toml"]
    (line,) = errors.strip().splitlines()
    assert line.startswith(f"interrupted: {stored(store)} of 200 cells are stored; resume with: ")
    assert line.endswith(f"dendrocap sweep run {file} --store {store} --workers 2")
    assert 5 <= stored(store) < 200
    run_sweep(sweep, store, workers=2)
    assert contents(store, sweep) == undisturbed(sweep)


def test_a_disk_that_refuses_ends_the_sweep_with_one_line(tmp_path, undisturbed):
    """No file of the client may grow beyond 200 kB: the operating system refuses to write, as on a full disk."""
    sweep, store = draws(200), tmp_path / "results.db"
    file = sweep_file(tmp_path, sweep)

    def starve():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    code, out, errors = finished(client(file, "--store", store, "--workers", 2, preexec_fn=starve))
    assert code == 1
    assert out == ""
    (line,) = errors.strip().splitlines()
    assert line.startswith(
        f"error: {store} cannot be written or read: the disk reports an error; stored cells are safe"
    )
    with Store(store) as results:
        kept = results.counts(sweep).done
    assert 0 < kept < 200
    assert run_sweep(sweep, store, workers=1).ran == 200 - kept
    assert contents(store, sweep) == undisturbed(sweep)


def test_a_second_client_is_refused_and_takes_over_when_the_first_is_killed(tmp_path, undisturbed):
    sweep, store = draws(200), tmp_path / "results.db"
    file = sweep_file(tmp_path, sweep)
    first = client(file, "--store", store, "--workers", 2, pause=0.2)
    wait_until(lambda: stored(store) >= 1, first)
    code, _, errors = finished(client(file, "--store", store, "--workers", 2))
    assert code == 1
    assert f"is being written by another sweep (process {first.pid} on " in errors
    with pytest.raises(StoreError, match="another sweep"):
        run_sweep(sweep, store, workers=1)
    assert first.poll() is None, "the first client was over before the second came"
    first.kill()
    first.communicate()
    run_sweep(sweep, store, workers=2)
    assert stored(store) == 200
    assert contents(store, sweep) == undisturbed(sweep)
