"""Workers that cannot run the job are excluded, too many failures end a sweep, and waiting is reported."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dendrocap.errors import CorruptData, InvalidParameter, WorkersLost
from dendrocap.sweeps import DaskExecutor, Store, Sweep, run_sweep
from tests.sweeps.clients import client, environment, finished, sweep_file, wait_until
from tests.sweeps.clusters import Cluster
from tests.sweeps.comparing import JOBS, contents, draws, stored

DOCS = Path(__file__).parents[2] / "docs" / "sweeps.md"


def bare_folder(folder):
    """A folder for PYTHONPATH in which the job's module cannot be imported, though dendrocap can."""
    bare = folder / "bare" / "tests"
    bare.mkdir(parents=True)
    (bare / "__init__.py").write_text("raise ImportError('this machine has no tests')\n")
    return str(bare.parent)


def old_numpy(folder):
    """A folder for PYTHONPATH that makes NumPy look older than it is."""
    place = folder / "old"
    place.mkdir()
    (place / "sitecustomize.py").write_text("import numpy; numpy.__version__ = '1.0.0'\n")
    return str(place)


@pytest.mark.dask
@pytest.mark.parametrize("fault", ["module", "version"])
def test_a_bad_worker_gets_no_cells_and_is_named_once(tmp_path, cluster, fault):
    usual = environment()["PYTHONPATH"]
    path = bare_folder(tmp_path) if fault == "module" else old_numpy(tmp_path)
    cluster.add_worker(PYTHONPATH=f"{path}:{usual}")
    before = cluster.wait_for(3)
    sweep, told = draws(200), []
    report = run_sweep(sweep, tmp_path / "results.db", executor=DaskExecutor(cluster.address), notify=told.append)
    assert (report.counts.done, report.counts.failed) == (200, 0)
    (words,) = told
    reason = "this machine has no tests" if fault == "module" else r"numpy 1.0.0 \(here \d"
    assert re.search(rf"the Dask worker ({'|'.join(before)}) is excluded: .*{reason}", words)
    run_sweep(sweep, tmp_path / "serial.db", workers=1)
    assert contents(tmp_path / "results.db", sweep) == contents(tmp_path / "serial.db", sweep)


@pytest.mark.dask
def test_if_no_good_worker_is_left_the_command_ends_with_one_line_and_code_1(tmp_path, lone_scheduler):
    lone_scheduler.add_worker(PYTHONPATH=old_numpy(tmp_path) + ":" + str(tmp_path))
    lone_scheduler.wait_for(1)
    file = sweep_file(tmp_path, draws(40))
    code, out, errors = finished(client(file, "--store", tmp_path / "r.db", "--dask", lone_scheduler.address))
    assert (code, out) == (1, "")
    told, error = errors.strip().splitlines()
    assert "is excluded" in told
    assert error.startswith("error: no Dask worker can run the cells: ")
    assert stored(tmp_path / "r.db") == 0


@pytest.mark.dask
def test_without_workers_it_says_so_and_gives_up_when_asked_to(tmp_path, lone_scheduler):
    file = sweep_file(tmp_path, draws(40))
    arguments = (file, "--store", tmp_path / "r.db", "--scheduler-file", lone_scheduler.file)
    code, out, errors = finished(client(*arguments, "--wait-workers", 1.5))
    assert (code, out) == (1, "")
    told, error = errors.strip().splitlines()
    assert told == "no Dask worker: waiting at most 1.5 s for one to start"
    assert error.startswith("error: no Dask worker for ")


@pytest.mark.dask
def test_workers_may_come_later(tmp_path, lone_scheduler):
    told = []

    def notify(words):
        told.append(words)
        if len(told) == 1:
            lone_scheduler.add_worker()

    executor = DaskExecutor(lone_scheduler.file)  # the file, as a Path
    assert run_sweep(draws(40), tmp_path / "r.db", executor=executor, notify=notify).counts.done == 40
    assert told == ["no Dask worker: waiting for one to start", "1 Dask worker is available: the sweep continues"]


@pytest.mark.dask
def test_a_killed_scheduler_is_one_line(tmp_path, cluster):
    """No traceback of the libraries below before it."""
    store = tmp_path / "r.db"
    process = client(sweep_file(tmp_path, draws(400)), "--store", store, "--dask", cluster.address)
    wait_until(lambda: stored(store) >= 10, process)
    cluster.scheduler.kill()
    code, out, errors = finished(process)
    assert (code, out) == (1, "")
    (line,) = errors.strip().splitlines()
    assert line.startswith("error: the connection to the Dask scheduler was lost")


@pytest.mark.dask
def test_tls_without_certificates_is_told_in_words(tmp_path):
    with pytest.raises(WorkersLost, match=r"needs certificates.*DASK_DISTRIBUTED__COMM__TLS__CA_FILE"):
        run_sweep(draws(4), tmp_path / "r.db", executor=DaskExecutor("tls://127.0.0.1:1"))


@pytest.mark.dask
def test_a_scheduler_file_that_is_missing_or_none_is_named(tmp_path):
    with pytest.raises(WorkersLost, match=r"nowhere.json does not exist: did you start dask scheduler"):
        run_sweep(draws(4), tmp_path / "r.db", executor=DaskExecutor(tmp_path / "nowhere.json", wait_workers=0.2))
    (tmp_path / "text.json").write_text("{}")
    with pytest.raises(CorruptData, match="scheduler file of Dask"):
        run_sweep(draws(4), tmp_path / "r.db", executor=DaskExecutor(tmp_path / "text.json"))


def failing(count=40):
    return Sweep(f"{JOBS}:returns_nonsense", grid={"number": range(count)})


@pytest.mark.parametrize(("limit", "failures"), [(3, 4), ("3", 4), ("10%", 5), (0, 1)])
def test_too_many_failures_end_a_sweep(tmp_path, limit, failures):
    report = run_sweep(failing(), tmp_path / "r.db", workers=1, max_failures=limit)
    assert (report.ran, report.counts.failed, report.interrupted) == (failures, failures, False)
    assert report.stopped == f"{failures} cells failed, more than max_failures = {limit} allows"
    again = run_sweep(failing(), tmp_path / "r.db", workers=1, max_failures=100)
    assert (again.counts.failed, again.stopped) == (40, "")


@pytest.mark.parametrize("limit", ["many", -1, "101%", 1.5, True, "5 %%"])
def test_limits_that_are_none_are_refused(tmp_path, limit):
    with pytest.raises(InvalidParameter, match=r"max_failures = .* a whole number >= 0, or a percentage such as '5%'"):
        run_sweep(failing(), tmp_path / "r.db", workers=1, max_failures=limit)


def test_the_command_stops_with_code_1_and_says_where_to_look(tmp_path):
    code, _, errors = finished(
        client(sweep_file(tmp_path, failing()), "--store", tmp_path / "r.db", "--workers", 2, "--max-failures", "10%")
    )
    assert code == 1
    (line,) = errors.strip().splitlines()
    assert re.match(
        r"stopped: \d+ cells failed, more than max_failures = 10% allows; \d+ of 40 cells are stored: ", line
    )
    with Store(tmp_path / "r.db") as store:
        assert 5 <= store.counts(failing()).failed < 40


@pytest.mark.dask
@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_an_encrypted_cluster_as_the_page_describes_it(tmp_path, monkeypatch):
    """One certificate, which is also its own authority; scheduler, workers and client learn of it from variables."""
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=dendrocap -keyout key.pem -out cert.pem"
    assert make in DOCS.read_text(encoding="utf-8")
    subprocess.run(make.split(), cwd=tmp_path, check=True, capture_output=True)
    names = ["CA_FILE", *(f"{role}__{part}" for role in ("SCHEDULER", "WORKER", "CLIENT") for part in ("CERT", "KEY"))]
    for name in names:
        variable = f"DASK_DISTRIBUTED__COMM__TLS__{name}"
        assert variable in DOCS.read_text(encoding="utf-8")
        monkeypatch.setenv(variable, str(tmp_path / ("key.pem" if name.endswith("KEY") else "cert.pem")))
    secure = Cluster(tmp_path, workers=1, protocol="tls")
    try:
        assert secure.address.startswith("tls://")
        file = sweep_file(tmp_path, draws(40))
        code, out, errors = finished(client(file, "--store", tmp_path / "r.db", "--dask", secure.address, "--json"))
        assert (code, '"done": 40' in out) == (0, True), errors
    finally:
        secure.stop()
