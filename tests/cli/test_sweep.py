"""``dendrocap sweep``, as a person and as a script would use it."""

import csv
import json

import pytest
from typer.testing import CliRunner

from dendrocap.cli import app
from dendrocap.cli.workers import described
from dendrocap.experiments import Progress, Store

runner = CliRunner()

TOML = """
job = "capacity"
[parameters]
nonlinearity = "linear"
theta_s = 0.5
[grid]
theta_d = [0.5, 0.25]
kappa = [0.0, 0.1]
"""
OWN = """
def half(number, rng):
    if number == 3:
        raise ValueError("three")
    return {"half": number / 2, "noise": rng.random()}
"""


def run(*arguments):
    return runner.invoke(app, ["sweep", *(str(argument) for argument in arguments)])


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a sweep, as the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # undone afterwards, unlike what the command adds
    (tmp_path / "theory.toml").write_text(TOML)
    return tmp_path


def test_run_status_export_and_plot(here):
    outcome = run("run", "theory.toml", "--workers", 1, "--json")
    assert outcome.exit_code == 0, outcome.stderr
    (row,) = json.loads(outcome.stdout)
    assert (row["name"], row["job"], row["cells"], row["done"], row["missing"]) == ("theory", "capacity", 4, 4, 0)
    assert "4 cells run" in outcome.stderr
    assert "0 cells run" in run("run", "theory.toml", "--workers", 1).stderr
    (told,) = json.loads(run("status", "--json").stdout)
    assert list(told.pop("versions").values()) == [4]
    assert told == row
    assert "4 cells with dendrocap " in run("status").stderr
    assert "capacity" in run("status").stdout
    outcome = run("export", "out.csv")
    assert (outcome.stdout, outcome.exit_code) == ("", 0)
    with (here / "out.csv").open(newline="") as file:
        exported = list(csv.DictReader(file))
    assert float(exported[0]["alpha_c"]) == pytest.approx(1.0, rel=1e-12)
    outcome = run("plot", "out.png", "--x", "theta_d", "--y", "alpha_c", "--by", "kappa", "--json")
    assert outcome.exit_code == 0, outcome.stderr
    assert (here / "out.png").stat().st_size > 1000
    assert [point["alpha_c"] for point in json.loads(outcome.stdout)] == [
        float(line["alpha_c"]) for line in sorted(exported, key=lambda line: float(line["kappa"]))
    ]
    assert run("plot", "out.svg", "--x", "theta_d", "--y", "alpha_c", "--at", "kappa=0.1").exit_code == 0


def test_a_job_beside_the_file_and_failed_cells(here):
    (here / "own_jobs_of_a_test.py").write_text(OWN)
    (here / "own.toml").write_text("job = 'own_jobs_of_a_test:half'\nseeds = 2\n[grid]\nnumber = [1, 2, 3]")
    outcome = run("run", here / "own.toml", "--store", "own.db", "--workers", 2)
    assert outcome.exit_code == 1
    assert "2 cells failed" in outcome.stderr
    failed = json.loads(run("status", "--store", "own.db", "--failed", "--json").stdout)
    assert [(group["cells"], group["reason"]) for group in failed] == [(2, "ValueError: three")]
    told = run("status", "--store", "own.db", "--traceback", failed[0]["first"])
    assert "'number': 3" in told.stdout
    assert "own_jobs_of_a_test.py" in told.stdout
    assert run("status", "--store", "own.db", "--traceback", "zzz").exit_code == 2
    (here / "own_jobs_of_a_test.py").write_text(OWN.replace("number == 3", "number == 4"))
    outcome = run("run", here / "own.toml", "--store", "own.db", "--workers", 2)
    assert (outcome.exit_code, "0 cells run" in outcome.stderr) == (1, True)
    outcome = run("run", here / "own.toml", "--store", "own.db", "--workers", 2, "--retry-failed")
    assert outcome.exit_code == 0, outcome.stderr
    with Store("own.db") as store:
        assert [record.metrics["half"] for record in store.records()] == [0.5, 0.5, 1.0, 1.0, 1.5, 1.5]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["run", "none.toml"], 2, "none.toml does not exist"),
        (["run", "bad.toml"], 2, "bad.toml: seeds = 0 is not allowed"),
        (["run", "unknown.toml"], 2, "theta_x is not a parameter of the job capacity"),
        (["run", "theory.toml", "--workers", "0"], 2, "workers = 0"),
        (["run", "theory.toml", "--dask", "host"], 2, "tcp://host:8786"),
        (["run", "theory.toml", "--dask", "tcp://h:1", "--workers", "2"], 2, "local Dask cluster only"),
        (["run", "theory.toml", "--store", "no/results.db"], 1, "does not exist"),
        (["run", "theory.toml", "--store", "text.db"], 2, "not a SQLite database"),
        (["status"], 1, "there is no store results.db"),
        (["export", "out.csv"], 1, "there is no store"),
        (["plot", "out.bmp", "--x", "a", "--y", "b"], 2, ".png"),
        (["plot", "out.png", "--x", "a", "--y", "b"], 1, "there is no store"),
    ],
)
def test_what_cannot_be_done_is_one_line(here, arguments, code, words):
    (here / "bad.toml").write_text("job = 'capacity'\nseeds = 0")
    (here / "unknown.toml").write_text("job = 'capacity'\n[grid]\ntheta_x = [1]")
    (here / "text.db").write_text("not a database" * 100)
    outcome = run(*arguments)
    assert outcome.exit_code == code
    assert outcome.stdout == ""
    (line,) = outcome.stderr.strip().splitlines()
    assert line.startswith("error: ")
    assert words in line


def test_places_are_checked(here):
    assert run("run", "theory.toml", "--workers", 1).exit_code == 0
    outcome = run("plot", "out.png", "--x", "theta_d", "--y", "alpha_c", "--at", "kappa")
    assert (outcome.exit_code, "AXIS=VALUE" in outcome.stderr) == (2, True)
    assert run("export", "out.csv", "--sweep", "zzz").exit_code == 2
    (row,) = json.loads(run("status", "--json").stdout)
    assert run("export", "out.csv", "--sweep", row["sweep"]).exit_code == 0


def test_the_progress_line_tells_done_failed_running_and_rate():
    assert described(Progress(100, 10, 1, 0, 0, 0.0)) == "10 done, 1 failed, 0 running"
    assert described(Progress(100, 30, 2, 4, ran=20, seconds=10.0)) == "30 done, 2 failed, 4 running, 2/s"
