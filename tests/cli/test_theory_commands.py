"""The theory commands: ranges, formats, figures, refusals."""

import csv
import io
import json
from time import sleep

import numpy as np
import pytest
from typer.testing import CliRunner

from dendrocap import (
    DendriticNeuron,
    InvalidParameter,
    NeuronSpec,
    Polsky,
    ReLU,
    TaskSpec,
    best_dendrite,
    capacity,
    critical_capacity,
    saddle_point,
)
from dendrocap.answers import grids
from dendrocap.cli import app
from dendrocap.cli.options import values
from tests.drawing import lines_of, points

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


def test_ranges():
    assert values("--a", "0.5") == [0.5]
    assert values("--a", "0.1,0.2") == [0.1, 0.2]
    assert values("--a", "0:1:3") == [0.0, 0.5, 1.0]
    np.testing.assert_allclose(values("--a", "0.01:1:3", log=True), [0.01, 0.1, 1.0])


@pytest.mark.parametrize("text", ["a", "1:2", "1:2:3:4", "1:2:x", "nan", "inf:1:2", "1,,2", "", "1:2:0"])
def test_bad_ranges_name_the_option(text):
    with pytest.raises(InvalidParameter, match="--theta-d"):
        values("--theta-d", text)


def test_without_a_size_the_best_estimate_comes_first_and_the_paper_s_is_named(monkeypatch):
    outcome = run("capacity", "-g", "relu", "--theta-d", 1.0, "--json")
    (row,) = json.loads(outcome.stdout)  # progress and messages are elsewhere
    spec = NeuronSpec(ReLU(), 1.0, 0.5)
    best, paper = capacity(spec), critical_capacity(spec)
    assert (row["alpha_c"], row["error"]) == (best.alpha_c, best.error)
    assert (row["silent_fraction"], row["silent_error"]) == (best.silent_fraction, best.silent_error)
    assert (row["paper_alpha_c"], row["paper_silent_fraction"]) == (paper.alpha_c, paper.silent_fraction)
    assert row["validity"]["branch size"]["light"] == "caution"
    assert list(row).index("alpha_c") < list(row).index("paper_alpha_c")
    monkeypatch.setattr(grids, "capacity", lambda *about, **how: best)
    table = run("capacity", "-g", "relu", "--theta-d", 1.0).stdout
    shown = best.texts()
    assert table.index(shown["capacity"]) < table.index(shown["silent"]) < table.index(shown["paper_capacity"])
    assert "the paper's replica-symmetric estimate" in table
    assert str(paper.alpha_c)[:6] not in table
    assert max(map(len, table.splitlines()[:6])) <= 80


def test_lights_that_are_not_good_are_words_each_once_with_how_many_points():
    outcome = run("capacity", "-N", 100, "-K", "4,10,50", "--accuracy", "fast")
    lines = outcome.stdout.splitlines()
    (short,) = [line for line in lines if line.startswith("branch size: bad")]
    assert (
        short == "branch size: bad: 2 synapses per branch; corrections of order 1/n are not included (at 1 of 3 points)"
    )
    (few,) = [line for line in lines if line.startswith("number of branches")]
    assert few.endswith("(at 3 of 3 points, for instance)")
    assert not [line for line in lines if ": good" in line]


def test_progress_of_long_points_goes_to_stderr(monkeypatch):
    from dendrocap.cli import output

    monkeypatch.setattr(output, "FIRST_LINE", 0.05)
    monkeypatch.setattr(output, "HEARTBEAT", 0.05)

    def slow(*about, callback, **how):
        for share in (0.2, 0.4, 0.6):
            callback(share, "two steps")
            sleep(0.1)
        return capacity(*about, accuracy="fast")

    monkeypatch.setattr(grids, "capacity", slow)
    outcome = run("capacity", "-g", "relu", "--theta-d", "1", "--json")
    assert json.loads(outcome.stdout)[0]["alpha_c"] > 1.0
    assert "solving 0.2/1, two steps" in outcome.stderr


def test_json_has_inputs_results_and_non_linearity():
    outcome = run("capacity", "--theta-d", "0.1,0.5", "-g", "polsky,relu", "--rsb", 0, "--json")
    rows = json.loads(outcome.stdout)
    assert len(rows) == 4
    solution = critical_capacity(NeuronSpec(Polsky(), 0.5, 0.5))
    row = next(row for row in rows if row["nonlinearity"] == "polsky" and row["theta_d"] == 0.5)
    assert row["estimate"] == "replica symmetric"
    for name in ("alpha_c", "silent_fraction", "W_bar", "Q", "M_bar", "mean_shift", "residual", "iterations"):
        assert row[name] == getattr(solution, name)
    assert row["f_in"] == 0.5
    assert row["gamma"] == 15.0
    assert rows[-1]["nonlinearity"] == "relu"
    assert rows[-1]["gamma"] is None


def test_what_a_command_names_first_varies_slowest():
    lines = {
        "capacity --theta-d 0.1,0.5 --inhibitory-drive 0.05,0.1 --inhibitory-share 0.2 --rsb 0,1": [
            "theta_d", "inhibitory_drive", "rsb",
        ],
        "saddle-point -g relu --theta-d 0.5,1 --alpha 0.1,0.2": ["alpha", "theta_d"],
        "noise -g linear --theta-d 0.5,1 --flips 0.1,0.2 --alpha 0.1,0.2": ["alpha", "flips", "theta_d"],
    }  # fmt: skip
    for line, names in lines.items():
        rows = json.loads(run(*line.split(), "--json").stdout)
        assert [[row[name] for name in names] for row in rows] == sorted([row[name] for name in names] for row in rows)


def test_csv_holds_the_same_numbers():
    arguments = ["capacity", "--theta-s", "0.2:0.8:3", "--accuracy", "fast"]
    rows = list(csv.DictReader(io.StringIO(run(*arguments, "--csv").stdout)))
    expected = json.loads(run(*arguments, "--json").stdout)
    assert [float(row["alpha_c"]) for row in rows] == [row["alpha_c"] for row in expected]


def test_some_failures_are_null_with_a_reason_and_a_message():
    outcome = run("capacity", "--theta-s", "0.5,2", "--accuracy", "fast", "--json")
    rows = json.loads(outcome.stdout)
    assert outcome.exit_code == 0
    assert rows[1]["alpha_c"] is None
    assert "strictly between" in rows[1]["reason"]
    assert "1 of 2 points" in outcome.stderr
    assert rows[0].keys() == rows[1].keys()


def test_plot_of_one_parameter(tmp_path, drawn):
    target = tmp_path / "c.png"
    arguments = ["capacity", "-g", "polsky,linear", "--theta-d", "0.01:1:5", "--log", "--accuracy", "fast"]
    outcome = run(*arguments, "--plot", target, "--json")
    rows = json.loads(outcome.stdout)
    (axes,) = drawn["c.png"].axes
    lines = lines_of(axes)
    assert axes.get_xscale() == "log"
    for name, label in (
        ("polsky", "Polsky, quick estimate"),
        ("linear", "linear, replica symmetric (the paper's estimate)"),
    ):
        own = [[row["theta_d"], row["alpha_c"]] for row in rows if row["nonlinearity"] == name]
        np.testing.assert_allclose(lines[label], own, rtol=1e-12)
    paper = [row["estimates"]["replica symmetric"] for row in rows if row["nonlinearity"] == "polsky"]
    np.testing.assert_allclose(lines["Polsky, replica symmetric (the paper's estimate)"][:, 1], paper, rtol=1e-12)


def test_saddle_points_along_the_load(tmp_path, drawn):
    target = tmp_path / "entropy.svg"
    outcome = run("saddle-point", "--alpha", "0:1:3", "--theta-d", 0.1, "--json", "--plot", target)
    rows = json.loads(outcome.stdout)
    assert [row["alpha"] for row in rows] == [0.0, 0.5, 1.0]
    exact = saddle_point(NeuronSpec(Polsky(), 0.1, 0.5), TaskSpec(), alpha=0.5)
    for name in ("Q", "q", "M_hat", "free_entropy", "stability", "error", "iterations"):
        assert rows[1][name] == getattr(exact, name)
    (axes,) = drawn["entropy.svg"].axes
    np.testing.assert_allclose(points(axes.lines[0]), [[row["alpha"], row["free_entropy"]] for row in rows], rtol=1e-12)
    beyond = run("saddle-point", "--alpha", 9, "--theta-d", 0.1)
    assert beyond.exit_code == 1
    assert "replica-symmetric capacity alpha_c = 1.5714" in beyond.stderr
    assert {row["estimate"] for row in rows} == {"replica symmetric"}
    assert "Replica symmetric" in run("saddle-point", "--theta-d", 0.1).stdout
    assert run("saddle-point", "--alpha", -1).exit_code == 2
    assert run("saddle-point", "--quantity", "M").exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--theta-s", "2"], 1, ["strictly between 0 and 1"]),
        (["-g", "step"], 1, ["infinite"]),
        (["--theta-d", "-1"], 2, ["theta_d = -1.0", ">= 0"]),
        (["--theta-d", "0"], 1, ["theta_d"]),
        (["--f-in", "1"], 2, ["f_in = 1.0", "(0, 1)"]),
        (["-g", "sigmoid"], 2, ["sigmoid", "polsky"]),
        (["--json", "--csv"], 2, ["--json", "--csv"]),
        (["--plot", "c.png"], 2, ["needs a parameter with several values"]),
        *((["--rsb=" + text], 2, ["--rsb"]) for text in ("-1", "1.5", "many", "", "1,,2")),
        (["-N", "100"], 2, ["must be given together"]),
        (["-N", "100", "-K", "200"], 1, ["n_branches = 200"]),
        (["-N", "100", "-K", "4", "--rsb", "1"], 2, ["--estimates"]),
        (["--rsb", "1", "--estimates"], 2, ["--estimates"]),
        (["-N", "100", "-K", "4", "--accuracy", "high"], 1, ["accuracy = 'high'"]),
        (["--branch-size", "0.1"], 1, ["branch_size"]),
    ],
)
def test_refusals_are_one_line(arguments, code, words):
    outcome = run("capacity", *arguments)
    assert outcome.exit_code == code
    assert len(outcome.stderr.strip().splitlines()) == 1
    for word in words:
        assert word in outcome.stderr


def test_steps_of_breaking_are_a_column():
    rows = json.loads(run("capacity", "-g", "relu", "--theta-d", "0.5,1", "--rsb", "0,1", "--json").stdout)
    assert [(row["theta_d"], row["rsb"]) for row in rows] == [(0.5, 0), (0.5, 1), (1.0, 0), (1.0, 1)]
    solution = critical_capacity(NeuronSpec(ReLU(), 1.0, 0.5), rsb=1)
    np.testing.assert_allclose(rows[-1]["alpha_c"], solution.alpha_c, rtol=1e-10)
    assert [row["estimate"] for row in rows[:2]] == ["replica symmetric", "broken symmetry k = 1"]
    assert rows[-1]["k"] == 1
    assert rows[0]["k"] == 0
    assert rows[1]["steps_error"] is None  # one step does not tell how far the limit is


def test_steps_of_breaking_are_lines_of_a_figure(tmp_path):
    target = tmp_path / "figure.svg"
    outcome = run("capacity", "-g", "relu", "--theta-d", "0.5,1", "--rsb", "0,1", "--plot", target)
    assert outcome.exit_code == 0
    assert "broken symmetry k = 1" in target.read_text()
    assert "replica symmetric (the paper's estimate)" in target.read_text()
    assert "replica symmetric" in outcome.stdout
    assert "broken symmetry k = 1" in outcome.stdout


def test_a_size_asks_for_the_best_estimate():
    outcome = run("capacity", "--theta-d", 0.5, "-N", 999, "-K", 27, "--accuracy", "fast", "--json")
    (row,) = json.loads(outcome.stdout)
    exact = capacity(DendriticNeuron(NeuronSpec(Polsky(), 0.5, 0.5), 999, 27), accuracy="fast")
    assert row["alpha_c"] == exact.alpha_c
    assert row["error"] is None  # a quick look has none
    assert row["paper_alpha_c"] == critical_capacity(NeuronSpec(Polsky(), 0.5, 0.5)).alpha_c
    assert row["n_patterns"] == 2200
    assert row["estimates"]["replica symmetric"] == row["paper_alpha_c"]
    assert row["validity"]["branch size"]["light"] == "good"
    table = run("capacity", "--theta-d", 0.5, "-N", 999, "-K", 27, "--accuracy", "fast").stdout
    assert "about 2.2" in table
    assert table.index("about 2.2") < table.index("4.95")
    assert "the paper's replica-symmetric estimate" in table
    assert "quick look" in table


def test_estimates_are_listed_with_what_they_assume():
    outcome = run("capacity", "-g", "linear", "--theta-d", 0.5, "-N", 100, "-K", 4, "--estimates")
    assert outcome.exit_code == 0
    assert "1 pattern per synapse (the solutions form a convex set" in outcome.stdout
    assert "the paper's: infinitely many long, equal branches" in outcome.stdout
    assert "branch size: caution" in outcome.stdout


def test_a_bad_size_does_not_look_fine():
    outcome = run("capacity", "-N", 10_000, "-K", "9999", "--accuracy", "fast")
    assert "1 synapses per branch" in outcome.stdout


def test_a_family_of_curves_over_sizes(tmp_path, drawn):
    target = tmp_path / "branches.png"
    arguments = ["capacity", "-N", 1000, "-K", "10:100:4", "--log", "--theta-d", "0.1,1", "--accuracy", "fast"]
    outcome = run(*arguments, "--plot", target, "--csv")
    rows = list(csv.DictReader(io.StringIO(outcome.stdout)))
    assert [row["n_branches"] for row in rows[:4]] == ["10.0", "22.0", "46.0", "100.0"]
    assert json.loads(rows[0]["estimates"])["replica symmetric"] > 1.0
    lines = lines_of(drawn["branches.png"].axes[0])
    for theta_d in ("0.1", "1"):
        own = [
            [float(row["n_branches"]), float(row["alpha_c"])] for row in rows if float(row["theta_d"]) == float(theta_d)
        ]
        np.testing.assert_allclose(lines[rf"Polsky, quick estimate, $\theta_d$ = {theta_d}"], own, rtol=1e-12)


def test_branches_of_finite_length_are_a_parameter():
    rows = json.loads(run("capacity", "--theta-d", 0.1, "--branch-size", "12,37", "--rsb", 1, "--json").stdout)
    np.testing.assert_allclose([row["alpha_c"] for row in rows], [1.604008, 1.497878], atol=1e-6)


def test_correlation_is_a_parameter_of_every_grid(tmp_path):
    target = tmp_path / "c.svg"
    arguments = ["-g", "linear", "--branch-correlation", "0,1,5", "--rsb", 0]
    rows = json.loads(run("capacity", *arguments, "--json", "--plot", target).stdout)
    # closed form: B = c0 I_1(B), alpha_c = 2 H(B)
    np.testing.assert_allclose([row["alpha_c"] for row in rows], [1.0, 0.782525174, 0.479858601], atol=1e-9)
    assert [row["branch_correlation"] for row in rows] == [0.0, 1.0, 5.0]
    assert "correlation within branches" in target.read_text()
    (point,) = json.loads(run("saddle-point", "--branch-correlation", 2, "--json").stdout)
    exact = saddle_point(NeuronSpec(Polsky(), 0.5, 0.5), TaskSpec(branch_correlation=2.0), alpha=0.5)
    assert point["free_entropy"] == exact.free_entropy
    best = run("capacity", "-N", 999, "-K", 27, "--branch-correlation", 2)
    assert best.exit_code == 1
    assert "accuracy='fast'" in best.stderr
    assert run("capacity", "--branch-correlation", -1).exit_code == 2


def test_best_dendrite():
    arguments = ["best-dendrite", "--slope-limit", 2, "--kappa", 0.3, "--theta-s", 0.4, "--rsb", 0]
    (row,) = json.loads(run(*arguments, "--json").stdout)
    found = best_dendrite(2.0, 0.5, theta_s=0.4, task=TaskSpec(kappa=0.3), rsb=0)
    assert (row["alpha_c"], row["y"][-1], row["estimate"]) == (found.alpha_c, found.height, "replica symmetric")
    assert row["others"]["Polsky"] == found.capacity_of(Polsky())
    table = run(*arguments).stdout
    assert "replica symmetric" in table
    assert found.shape in table
    assert "a further rise would store more" in table
    assert "unequal ones of the best dendrite store no more: equal ones are stable from kappa = 0.09" in table
    nothing = run("best-dendrite", "--kappa", 0)
    assert nothing.exit_code == 1
    assert "without a margin" in nothing.stderr
