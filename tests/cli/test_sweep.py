"""``dendrocap sweep``, as a person and as a script would use it."""

import csv
import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from dendrocap.cli import app, same_again
from dendrocap.cli.options import sweep_state
from dendrocap.sweeps import Environment, Progress, Store, Sweep, run_sweep
from dendrocap.sweeps.jobs import job_named
from dendrocap.sweeps.store import decoded
from dendrocap.sweeps.sweep import canonical
from tests.drawing import points

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


def test_run_status_export_and_plot(here, drawn):
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
    assert ("out.csv" in outcome.stdout, outcome.exit_code) == (True, 0)
    with (here / "out.csv").open(newline="") as file:
        exported = list(csv.DictReader(file))
    assert float(exported[0]["alpha_c"]) == pytest.approx(1.0, rel=1e-12)
    outcome = run("export", "out.png", "--x", "theta_d", "--y", "alpha_c", "--by", "kappa", "--json")
    assert outcome.exit_code == 0, outcome.stderr
    shown = {bars.get_label(): points(bars.lines[0]) for bars in drawn["out.png"].axes[0].containers}
    for kappa in (0.0, 0.1):
        own = sorted([float(row["theta_d"]), float(row["alpha_c"])] for row in exported if float(row["kappa"]) == kappa)
        np.testing.assert_allclose(sorted(shown[f"kappa = {kappa}"].tolist()), own, rtol=1e-12)
    assert [point["alpha_c"] for point in json.loads(outcome.stdout)] == [
        float(line["alpha_c"]) for line in sorted(exported, key=lambda line: float(line["kappa"]))
    ]
    drawn = run("export", "out.svg", "--x", "theta_d", "--y", "alpha_c", "--at", "kappa=0.1")
    assert drawn.exit_code == 0
    assert "replica symmetric" in drawn.stdout
    assert "replica symmetric" in (here / "out.svg").read_text()


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
        (["run", "theory.toml", "--dask", "foo://host:1"], 2, "'foo'"),
        (["run", "theory.toml", "--dask", "local", "--scheduler-file", "s.json"], 2, "cannot be combined"),
        (["run", "theory.toml", "--wait-workers", "3"], 2, "requires --dask or --scheduler-file"),
        (["run", "theory.toml", "--shard", "3/2"], 2, "shard = '3/2'"),
        (["run", "theory.toml", "--timeout", "0"], 2, "timeout = 0"),
        (["run", "theory.toml", "--max-failures", "some"], 2, "max_failures = 'some'"),
        (["status", "--verify"], 1, "there is no store"),
        (["salvage", "text.db", "-o", "new.db"], 2, "no row could be read"),
        (["merge", "none.db", "-o", "new.db"], 1, "there is no store"),
        (["merge", "theory.toml", "-o", "no/new.db"], 2, "the folder no does not exist"),
        (["salvage", "text.db", "-o", "/proc/new.db"], 1, "/proc/new.db"),
        (["run", "theory.toml", "--dask", "tcp://h:1", "--workers", "2"], 2, "only allowed with a local Dask cluster"),
        (["run", "theory.toml", "--store", "no/results.db"], 1, "does not exist"),
        (["run", "theory.toml", "--store", "text.db"], 2, "not a SQLite database"),
        (["status"], 1, "there is no store results.db"),
        (["export", "out.csv"], 1, "there is no store"),
        (["export", "out.bmp", "--x", "a", "--y", "b"], 2, ".png"),
        (["export", "out.csv", "--x", "a", "--by", "b"], 2, "--x and --by do nothing for a table: leave them out"),
        (["export", "out.png", "--x", "a"], 2, "a figure needs --x"),
        (["status", "--failed", "--verify"], 2, "choose one of"),
        (["status", "--verify", "--sweep", "abc"], 2, "--sweep does nothing with --verify"),
        (["export", "out.png", "--x", "a", "--y", "b"], 1, "there is no store"),
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
    outcome = run("export", "out.png", "--x", "theta_d", "--y", "alpha_c", "--at", "kappa")
    assert (outcome.exit_code, "AXIS=VALUE" in outcome.stderr) == (2, True)
    assert run("export", "out.csv", "--sweep", "zzz").exit_code == 2
    (row,) = json.loads(run("status", "--json").stdout)
    assert run("export", "out.csv", "--sweep", row["sweep"]).exit_code == 0


def test_the_progress_line_tells_done_failed_running_and_rate():
    assert sweep_state(Progress(100, 10, 1, 0, 0, 0.0)) == "10 done, 1 failed, 0 running"
    assert sweep_state(Progress(100, 30, 2, 4, ran=20, seconds=10.0)) == "30 done, 2 failed, 4 running, 2/s"


def test_a_cell_in_the_client_s_own_process_counts_as_running(tmp_path):
    seen = []
    sweep = Sweep("capacity", {"theta_d": [0.1, 0.2, 0.3]}, {"nonlinearity": "linear", "theta_s": 0.5})
    run_sweep(sweep, tmp_path / "r.db", workers=1, callback=lambda now: seen.append(now.running))
    assert seen == [0, 1, 1, 0]


def test_failures_are_grouped_by_reason_whatever_their_numbers(here):
    (here / "own_jobs_of_a_test.py").write_text(
        "def picky(number):\n    raise (ValueError if number % 3 else TypeError)(f'{number / 7} is bad')\n"
    )
    (here / "own.toml").write_text("job = 'own_jobs_of_a_test:picky'\n[grid]\nnumber = {from=1, to=300, points=300}")
    sys.modules.pop("own_jobs_of_a_test", None)
    job_named.cache_clear()
    assert run("run", "own.toml", "--workers", 1).exit_code == 1
    groups = json.loads(run("status", "--failed", "--json").stdout)
    assert [(group["cells"], group["reason"].split(":")[0]) for group in groups] == [
        (200, "ValueError"),
        (100, "TypeError"),
    ]


def test_the_command_to_go_on_is_the_one_that_was_given():
    with pytest.raises(SystemExit):
        get_command(app).main(["sweep", "run", "a b.toml", "--timeout", "2.5"])
    assert same_again() == "dendrocap sweep run 'a b.toml' --timeout 2.5"


def test_an_adaptive_sweep_from_file_to_crossings(here):
    (here / "relu.toml").write_text(
        "job = 'capacity'\n[parameters]\nnonlinearity = 'relu'\n[grid]\ntheta_s = [0.5, 0.6]\n"
        "theta_d = { find = 'alpha_c', level = 1.2, from = 0.1, to = 1.0, resolution = 0.02 }\n"
    )
    outcome = run("run", "relu.toml", "--workers", 1)
    assert outcome.exit_code == 0, outcome.stderr
    assert re.search(r"(\d+) cells instead of 92, \d.\d times fewer than the full grid", outcome.stderr)
    rows = json.loads(run("status", "--crossings", "--json").stdout)
    assert [row["theta_s"] for row in rows] == [0.5, 0.6]
    assert all(row["between"] <= row["theta_d"] <= row["and"] for row in rows)
    (status,) = json.loads(run("status", "--json").stdout)
    assert (status["missing"], status["cells"]) == (0, sum(row["cells"] for row in rows))
    assert run("run", "theory.toml", "--workers", 1).exit_code == 0
    assert run("status", "--crossings").exit_code == 2  # of the last sweep, which searches nothing


def test_jobs_are_listed_with_their_parameters(here):
    assert {"train", "capacity"} <= {row["job"] for row in json.loads(run("jobs", "--json").stdout)}
    rows = {row["parameter"]: row for row in json.loads(run("jobs", "train", "--json").stdout)}
    assert (rows["alpha"]["type"], rows["alpha"]["default"]) == ("float", "needed")
    assert rows["n_inputs"]["type"] == "int"
    assert "seed" not in rows
    assert run("jobs", "nothing").exit_code == 2
    assert "parameter ┃" in run("jobs", "train").stdout  # a table, unless JSON is asked for


def test_versions_that_changed_are_told_and_have_their_options(here):
    (here / "small.toml").write_text(TOML.replace("[0.5, 0.25]", "[0.5]"))
    assert run("run", "small.toml", "--workers", 1).exit_code == 0
    older = canonical(replace(Environment.here(), numpy="1.0").plain)
    with Store("results.db", write=True) as store:
        for _, row in list(store.rows()):
            values = decoded(row[:-1])
            store.save_row("cells", (*values[:10], older, values[11]), replace=True)
    outcome = run("run", "theory.toml", "--workers", 1)
    assert (outcome.exit_code, "2 cells of this sweep that were run with numpy" in outcome.stderr) == (1, True)
    assert run("run", "theory.toml", "--workers", 1, "--mixed").exit_code == 0
    assert len(json.loads(run("status", "--json").stdout)[0]["versions"]) == 2
    assert "4 cells run" not in run("run", "theory.toml", "--workers", 1).stderr
    outcome = run("run", "theory.toml", "--workers", 1, "--rerun-older")
    assert "2 cells run" in outcome.stderr
