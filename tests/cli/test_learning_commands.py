"""The learning commands, from the terminal's side."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from dendrocap import LinearNeuron, random_patterns
from dendrocap.cli import app
from dendrocap.learning import SGD, Training, load_run, patterns_at_load, perturb
from dendrocap.learning import train as train_directly
from tests.drawing import lines_of, points

runner = CliRunner()
SMALL = ("-N", 100, "-K", 7, "--theta-d", 0.1)


def run(*arguments):
    return runner.invoke(app, [word for argument in arguments for word in str(argument).split()])


def rows_of(outcome):
    assert outcome.exit_code == 0, outcome.stderr
    return json.loads(outcome.stdout)


def test_train_reports_what_python_would():
    (row,) = rows_of(
        run("train", "--linear", "-N", 100, "--theta-d", 0.5, "--alpha", 0.4, "--learning-rate", 1, "--json")
    )
    neuron = LinearNeuron(0.5, 100)
    result = train_directly(neuron, *patterns_at_load(neuron, 0.4, 0), algorithm=SGD(1.0), seed=0)
    assert (row["solved"], row["errors"], row["epochs"]) == (True, 0, result.epochs)
    assert (row["n_patterns"], row["alpha"], row["stopped"]) == (40, 0.4, "solved")


def test_train_for_people_and_with_every_option(tmp_path, drawn):
    figure, file = tmp_path / "run.png", tmp_path / "run.npz"
    outcome = run(
        "train", *SMALL, "--alpha", 1.5, "--x-min", 0.2, "--gamma", 20, "--patience", 3, "--surrogate-width", 0.3,
        "--precision", "float64", "--max-epochs", 15, "--seed", 4, "--save", file, "--plot", figure,
    )  # fmt: skip
    assert outcome.exit_code == 0
    assert "max_epochs reached" in outcome.stdout
    error, rate = drawn["run.png"].axes
    saved = load_run(file)
    after, best = lines_of(error).values()
    np.testing.assert_allclose(after[:, 1], saved.error_history / len(saved.labels), rtol=1e-12)
    np.testing.assert_array_equal(best[:, 1], np.minimum.accumulate(after[:, 1]))
    np.testing.assert_allclose(points(rate.lines[0])[:, 1], saved.rate_history, rtol=1e-6)
    assert str(file) in outcome.stderr
    stored = load_run(file)
    assert stored.neuron.nonlinearity.gamma == 20.0
    assert stored.state.weights.dtype == np.float64
    assert len(stored.state.error_history) == 15
    wrong = np.count_nonzero(stored.neuron.predict(stored.weights, stored.inputs) != stored.labels)
    assert wrong == stored.errors


def test_a_saved_run_goes_on_as_if_it_had_never_stopped(tmp_path):
    options = ("train", *SMALL, "--alpha", 1.2, "--json")
    whole, half, rest = (tmp_path / name for name in ("whole.npz", "half.npz", "rest.npz"))
    run(*options, "--max-epochs", 30, "--save", whole)
    run(*options, "--max-epochs", 11, "--save", half)
    rows_of(run("train", "--resume", half, "--max-epochs", 30, "--save", rest, "--json"))
    one, other = load_run(whole), load_run(rest)
    np.testing.assert_array_equal(one.state.weights, other.state.weights)
    np.testing.assert_array_equal(one.weights, other.weights)
    assert one.state.error_history == other.state.error_history


def test_train_on_data_from_a_file(tmp_path):
    inputs, labels = random_patterns(20, 60, rng=0)
    np.savez(tmp_path / "task.npz", inputs=inputs, labels=labels)
    (row,) = rows_of(run("train", "--linear", "--learning-rate", 1, "--data", tmp_path / "task.npz", "--json"))
    assert (row["n_patterns"], row["solved"]) == (20, True)


def test_capacity_lists_the_loads_tried_and_states_tolerance_and_patience(tmp_path, drawn):
    options = ("algorithmic-capacity --patience 20 --max-epochs 300 --learning-rate 0.1 --seeds 2", *SMALL)
    loads = ("--from", 0.2, "--to", 1.8, "--resolution", 0.4)
    outcome = run(*options, *loads, "--json", "--plot", tmp_path / "curve.pdf")
    rows = rows_of(outcome)
    assert set(rows[0]) >= {"alpha", "solved", "seeds", "success_low", "success_high", "mean_error"}
    assert "algorithmic capacity" in outcome.stderr
    assert "tolerance 0, patience 20" in outcome.stderr
    error, success = drawn["curve.pdf"].axes
    np.testing.assert_allclose(points(error.lines[0]), [[row["alpha"], row["mean_error"]] for row in rows], rtol=1e-12)
    shares = [[row["alpha"], row["solved"] / row["seeds"]] for row in rows]
    np.testing.assert_allclose(points(success.lines[0]), shares, rtol=1e-12)
    scan = rows_of(run(*options, *loads, "--method", "scan", "--json"))
    assert scan[0]["alpha"] == 0.2
    curve = rows_of(run(*options, *loads, "--method", "curve", "--workers", 1, "--json"))
    assert [row["alpha"] for row in curve] == [0.2, 0.6, 1.0, 1.4, 1.8]
    assert all(row["seeds"] == 2 for row in curve)
    assert "of 2" in run(*options, *loads).stdout


def test_changes_of_a_saved_run_are_one_command(tmp_path, drawn):
    file, target = tmp_path / "run.npz", tmp_path / "perturbed.png"
    rows_of(run("train", *SMALL, "--alpha", 0.4, "--learning-rate", 0.1, "--save", file, "--json"))
    outcome = run("perturb", file, "--plot", target)
    assert outcome.exit_code == 0, outcome.stderr
    assert "NMDA" in outcome.stdout
    assert max(len(line) for line in outcome.stdout.splitlines()) <= 80
    misses, alarms = (c for c in drawn["perturbed.png"].axes[0].containers if not c.get_label().startswith("_"))
    rows = rows_of(run("perturb", file, "--json"))
    for bars, name in ((misses, "misses"), (alarms, "false_alarms")):
        np.testing.assert_allclose([bar.get_width() for bar in bars], [100 * row[name] for row in rows], rtol=1e-9)
    rows = rows_of(run("perturb", file, "--failures", 0, "--theta-d-change", "-25,-50", "--flips", 0.2, "--json"))
    assert [row["words"] for row in rows] == [
        "nothing", "theta_d -25 %", "theta_d -50 %", "theta_s -25 %", "100 % of the NMDA part blocked",
        "20 % of inputs flip",
    ]  # fmt: skip
    assert rows[0]["misses"] == 0.0 < rows[-1]["misses"]
    stored = load_run(file)
    by_hand = perturb(stored, stored.inputs, stored.labels, flips=0.2, samples=20, seed=0)
    assert (rows[-1]["misses"], rows[-1]["false_alarms"]) == (by_hand.misses, by_hand.false_alarms)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("train", "--theta-d", -1), 2, "theta_d = -1.0"),
        (("train", "--alpha", 0), 2, "alpha = 0.0"),
        (("train", "--nonlinearity", "cubic"), 2, "cubic"),
        (("train", "--seed", -1), 2, "seed = -1"),
        (("train", "--linear", "--gamma", 3), 2, "--gamma does nothing with --linear"),
        (("train", "--save", "run.txt"), 2, "must end in .npz"),
        (("train", "--save", "nowhere/run.npz"), 2, "does not exist"),
        (("train", "--nonlinearity", "step"), 2, "surrogate = None"),
        (("train", "--resume", "pyproject.toml"), 2, "is not a run saved by dendrocap"),
        (("train", "--data", "pyproject.toml"), 2, "is not a .npz file"),
        (("train", "--data", "missing.npz"), 1, "missing.npz"),
        (("train", *SMALL, "--learning-rate", 1e4), 1, "all branches are dead"),
        (("algorithmic-capacity",), 2, "--patience"),
        (("algorithmic-capacity", "--patience", 5, "--method", "guess"), 2, "guess"),
        (("algorithmic-capacity", "--patience", 5, "--seeds", 0), 2, "--seeds = 0"),
        (("solve", *SMALL, "--solver", "magic"), 2, "magic"),
        (("solve", *SMALL, "--time-limit", -1), 2, "time_limit"),
        (("solve", *SMALL, "--save", "run.txt"), 2, "must end in .npz"),
        (("train", "-N", 60, "-K", 3, "--branch-correlation", 20), 2, "below N / K = 20"),
        (("train", "-N", 20, "-K", 2, "--patience", 3, "--decay", 0.1), 2, "patience and decay cannot be combined"),
        (("perturb",), 2, "RUN"),
        (("perturb", "run.npz", "-N", 5000), 2, "-N"),
        (("generalise", "digits", "--max-epochs", 0), 2, "--max-epochs = 0"),
        (("perturb", "missing.npz"), 1, "missing.npz"),
    ],
)
def test_mistakes_end_in_one_line_and_the_right_code(arguments, code, said):
    outcome = run(*arguments)
    assert outcome.exit_code == code
    assert outcome.stderr.splitlines()[-1].startswith("error: ")
    assert said in outcome.stderr
    assert "Traceback" not in outcome.stderr


@pytest.mark.parametrize(
    ("command", "epochs"), [("train --learning-rate 0.1 --max-epochs 1000", 20), ("solve --solver surrogate", 12)]
)
def test_ctrl_c_keeps_the_best_weights_found_so_far(tmp_path, monkeypatch, command, epochs):
    file, epoch = tmp_path / "run.npz", Training.__next__

    def interrupted(self):
        if self.epochs == epochs:
            raise KeyboardInterrupt  # as Python does when the compiled epoch returns
        return epoch(self)

    monkeypatch.setattr(Training, "__next__", interrupted)
    outcome = run(command, *SMALL, "--alpha", 3, "--json", "--save", file)
    assert outcome.exit_code == 130
    (row,) = json.loads(outcome.stdout)
    stored = load_run(file)
    assert (row["stopped"], row["epochs"]) == ("interrupted", epochs)
    assert np.count_nonzero(stored.neuron.predict(stored.weights, stored.inputs) != stored.labels) == row["errors"]
    if command.startswith("train"):
        assert stored.errors == row["errors"] == min(stored.state.error_history)


def test_ctrl_c_in_a_measurement_shows_the_runs_that_were_finished(monkeypatch):
    epoch, started = Training.__next__, []

    def interrupted(self):
        if self.epochs == 0:
            started.append(self)
        if len(started) == 3:
            raise KeyboardInterrupt
        return epoch(self)

    monkeypatch.setattr(Training, "__next__", interrupted)
    how = "--patience 5 --max-epochs 30 --method curve --from 0.1 --to 0.4 --seeds 1 --workers 1"
    outcome = run("algorithmic-capacity", *SMALL, how, "--json")
    assert outcome.exit_code == 130
    assert [row["alpha"] for row in json.loads(outcome.stdout)] == [0.1, 0.2]


def test_solve_names_the_solver_and_saves_what_it_reports(tmp_path):
    file = tmp_path / "solution.npz"
    (row,) = rows_of(run("solve", *SMALL, "--alpha", 1.0, "--seed", 3, "--json", "--save", file))
    assert (row["solver"], row["solved"], row["errors"], row["stopped"]) == ("surrogate", True, 0, "solved")
    stored = load_run(file)
    assert np.all(stored.neuron.predict(stored.weights, stored.inputs) == stored.labels)
    (row,) = rows_of(run("solve", *SMALL, "--alpha", 0.5, "--json"))
    assert row["solver"] == "sgd"
    (row,) = rows_of(run("solve", *SMALL, "--alpha", 0.3, "--solver", "polished", "--json"))
    assert row["solver"] == "polished"


def test_solve_says_so_when_errors_are_left(tmp_path):
    """Opposite labels on one pattern: at the time limit one error is reported, and the exit code is 1."""
    file = tmp_path / "task.npz"
    inputs, labels = random_patterns(5, 100, rng=1)
    np.savez(file, inputs=np.vstack([inputs, inputs[:1]]), labels=np.append(labels, 1 - labels[0]))
    outcome = run("solve", *SMALL[2:], "--data", file, "--time-limit", 0.3, "--json")
    assert outcome.exit_code == 1
    (row,) = json.loads(outcome.stdout)
    assert (row["solved"], row["errors"], row["n_patterns"]) == (False, 1, 6)
    assert row["stopped"] == "time limit reached"


def test_train_says_that_a_solution_cannot_be_resumed(tmp_path):
    file = tmp_path / "run.npz"
    run("solve", *SMALL, "--alpha", 0.3, "--solver", "sgd", "--save", file)
    outcome = run("train", "--resume", file)
    assert outcome.exit_code == 2
    assert "a run of PlainSGD(" in outcome.stderr
    assert "cannot be resumed" in outcome.stderr


def test_inputs_may_be_correlated_within_branches(tmp_path):
    small = ["-N", "60", "-K", "3", "--branch-correlation", "8"]
    for command in (["train", "--max-epochs", "2"], ["solve", "--time-limit", "1"]):
        saved = tmp_path / f"{command[0]}.npz"
        assert run(*command, *small, "--alpha", "2", "--save", saved).exit_code in (0, 1)
        expected = random_patterns(120, 60, branch_correlation=8.0, n_branches=3, rng=0)
        assert (load_run(saved).inputs.unpack() == expected.inputs).all()
    measured = run("algorithmic-capacity", *small, "--patience", "2", "--max-epochs", "5", "--seeds", "1", "--json")
    independent = run(
        "algorithmic-capacity", *small[:4], "--patience", "2", "--max-epochs", "5", "--seeds", "1", "--json"
    )
    assert json.loads(measured.stdout) != json.loads(independent.stdout)


def test_solve_gives_up_in_words_above_the_capacity():
    """The load is five times the fast estimate; the error says what the capacity is and how to search all the same."""
    linear = ("--linear", "-N", 60, "--theta-d", 0.5, "--alpha", 5, "--time-limit", 0.2)
    outcome = run("solve", *linear)
    assert outcome.exit_code == 1
    assert "above it no weights without errors are expected" in outcome.stderr
    assert "--anyway" in outcome.stderr
    tried = run("solve", *linear, "--anyway", "--json")
    assert tried.exit_code == 1
    assert json.loads(tried.stdout)[0]["stopped"] == "time limit reached"


def test_solve_finds_margins():
    (row,) = rows_of(run("solve", *SMALL, "--alpha", 0.2, "--kappa", 0.1, "--json"))
    assert (row["solved"], row["kappa"]) == (True, 0.1)
    assert row["margin"] > 0.1
