"""Commands about states: noise, learned states, students. Numbers, figures, refusals."""

import csv
import io
import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from dendrocap import (
    DendriticNeuron,
    InvalidParameter,
    Linear,
    NeuronSpec,
    learned_state,
    local_entropy,
    maximal_margin,
    noise_error,
)
from dendrocap.cli import app
from dendrocap.theory.noise import noise_errors

LINEAR = NeuronSpec(Linear(), 0.5, 0.5)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def rows_of(*arguments):
    outcome = run(*arguments, "--json")
    assert outcome.exit_code == 0, outcome.stderr
    return json.loads(outcome.stdout)


def test_errors_under_flips_are_the_known_ones():
    rows = rows_of("noise", "-g", "linear", "--theta-d", 0.5, "--flips", "0.01,0.05,0.1")
    np.testing.assert_allclose([row["typical"] for row in rows], [0.138772, 0.236618, 0.292287], atol=5e-7)
    np.testing.assert_allclose([row["largest_margin"] for row in rows], [0.0072, 0.1261, 0.2141], atol=1e-4)
    np.testing.assert_allclose([row["best_possible"] for row in rows], [0.0056, 0.0869, 0.1599], atol=1e-4)
    for row in rows:
        assert row["best_possible"] < min(row["typical"], row["largest_margin"], row["learned"])
        learned = noise_error(learned_state(LINEAR, alpha=0.5, gamma_ce=10.0), flips=row["flips"])
        assert row["learned"] == learned
        assert (row["estimate"], row["missing"], row["reason"]) == ("replica symmetric", "", "")


def test_a_size_keeps_the_thresholds_and_has_no_bound():
    (row,) = rows_of("noise", "-g", "linear", "--theta-d", 0.5, "--flips", 0, "--synaptic", 1, "-N", 999, "-K", 27)
    assert round(row["typical"], 4) == 0.4364
    assert row["best_possible"] is None
    assert "leave out the size" in row["missing"]
    (free,) = rows_of("noise", "-g", "linear", "--theta-d", 0.5, "--flips", 0, "--synaptic", 1)
    assert round(free["typical"], 6) == 0.343079


def test_above_capacity_what_does_not_exist_is_empty_and_said():
    (row,) = rows_of("noise", "-g", "linear", "--theta-d", 0.5, "--alpha", 2, "--flips", 0.01)
    assert row["typical"] is row["largest_margin"] is None
    assert 0.0 < row["best_possible"] < row["learned"]
    table = run("noise", "-g", "linear", "--theta-d", 0.5, "--alpha", 2, "--flips", 0.01).stdout
    assert "typical: " in table
    assert "replica symmetric" in table
    said = [line for line in table.splitlines() if line.startswith("nan, ")]
    assert [line.split(":")[0] for line in said] == ["nan, typical", "nan, largest_margin"]


def test_several_states_of_one_neuron_are_those_of_the_functions():
    found = noise_errors(LINEAR, alpha=0.5, flips=0.05, synaptic=0.2, gamma_ce=1.0)
    margin = maximal_margin(LINEAR, alpha=0.5, criterion="relative")
    assert found.largest_margin == noise_error(margin, flips=0.05, synaptic=0.2)
    sized = noise_errors(DendriticNeuron(LINEAR, 999, 27), alpha=0.5, flips=0.05)
    assert sized.typical == pytest.approx(noise_errors(LINEAR, alpha=0.5, flips=0.05).typical)  # flips at 1/2 drift not
    assert math.isnan(sized.best_possible)
    with pytest.raises(InvalidParameter, match="multiple of n_branches = 27"):
        noise_errors(DendriticNeuron(LINEAR, 1000, 27), alpha=0.5, flips=0.05)
    with pytest.raises(InvalidParameter, match="gamma_ce = 0"):
        noise_errors(LINEAR, alpha=0.5, flips=0.05, gamma_ce=0.0)


def test_learned_states_over_a_grid(tmp_path):
    target = tmp_path / "learned.svg"
    arguments = ["-g", "linear,polsky", "--alpha", "0.5,2", "--gamma-ce", "1,10", "--plot", target]
    rows = rows_of("learned-state", *arguments)
    assert [(row["nonlinearity"], row["alpha"], row["gamma_ce"]) for row in rows[:3]] == [
        ("linear", 0.5, 1.0),
        ("linear", 0.5, 10.0),
        ("linear", 2.0, 1.0),
    ]
    exact = learned_state(LINEAR, alpha=2.0, gamma_ce=1.0)
    assert (rows[2]["training_error"], rows[2]["loss"]) == (exact.training_error, exact.loss)
    assert {row["nonlinearity"]: row["estimate"] for row in rows} == {"linear": "exact", "polsky": "replica symmetric"}
    drawn = target.read_text()
    assert "linear, exact" in drawn
    assert "Polsky, replica symmetric" in drawn
    table = run("learned-state", "-g", "linear").stdout
    assert "Exact for linear g" in table
    printed = list(csv.DictReader(io.StringIO(run("learned-state", "-g", "linear", "--csv").stdout)))
    assert float(printed[0]["loss"]) == learned_state(LINEAR, alpha=0.5, gamma_ce=10.0).loss


def test_students_of_their_own_kind_and_of_another(tmp_path):
    target = tmp_path / "teacher.svg"
    rows = rows_of(
        "teacher-student", "-g", "linear,polsky", "--teacher", "polsky", "--alpha", "0.5,2", "--plot", target
    )
    np.testing.assert_allclose(
        [row["gibbs_error"] for row in rows], [0.322553, 0.259181, 0.338174, 0.228906], atol=5e-7
    )
    assert [row["bayes_error"] for row in rows[:2]] == [None, None]
    assert round(rows[2]["bayes_error"], 8) == 0.25421121
    assert [row["estimate"] for row in rows] == ["replica symmetric"] * 2 + ["exact"] * 2
    assert "linear, replica symmetric" in target.read_text()
    (row,) = rows_of("teacher-student", "-g", "linear", "--teacher", "polsky", "--crossing")
    assert round(row["crossing_load"], 2) == 1.19


def test_local_entropies_over_a_grid(tmp_path):
    figure = tmp_path / "minima.svg"
    rows = rows_of(
        "local-entropy", "-g", "linear,polsky", "--alpha", 0.4, "--distance", "0.01,0.1,0.9", "--plot", figure
    )  # fmt: skip
    found = local_entropy(LINEAR, alpha=0.4, distance=[0.01, 0.1])
    np.testing.assert_allclose([row["log_fraction"] for row in rows[:2]], found.log_fraction, rtol=1e-6)
    assert rows[2]["log_fraction"] is None
    assert "typical distance" in rows[2]["reason"]
    assert all(row["estimate"] == "replica symmetric" for row in rows if not row["reason"])
    assert figure.read_text(encoding="utf-8").count("replica symmetric") == 2
    wide = rows_of("local-entropy", "-g", "linear", "--alpha", 0.4, "--distance", 0.1, "--reference-kappa", "0.1,0.3")
    assert rows[1]["log_fraction"] < wide[0]["log_fraction"] < wide[1]["log_fraction"] < 0.0
    unstable = run("local-entropy", "--alpha", 1.5, "--distance", 0.01)
    assert "unstable: replica symmetry does not hold" in unstable.stdout


def test_the_teacher_is_as_the_student_where_nothing_is_said():
    (same,) = rows_of("teacher-student", "--alpha", 0.5)
    assert round(same["gibbs_error"], 6) == 0.338174
    (other,) = rows_of("teacher-student", "--alpha", 0.5, "--teacher", "theta_d=0.05")
    assert other["estimate"] == "replica symmetric"
    (student,) = rows_of("teacher-student", "-g", "linear", "--alpha", 0.5, "--teacher", "linear:theta_s=1")
    assert student["estimate"] == "replica symmetric"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["local-entropy", "--distance", "0"], 2, ["distance = 0.0", ">= 1e-05"]),
        (["noise", "--flips", "2"], 2, ["flips = 2.0", "[0, 1]"]),
        (["noise", "--synaptic", "-1"], 2, ["synaptic = -1.0", ">= 0"]),
        (["noise", "--gamma-ce", "0"], 2, ["gamma_ce = 0.0", "> 0"]),
        (["noise", "--alpha", "-1"], 2, ["alpha = -1.0"]),
        (["noise", "--f-in", "0.1"], 1, ["f_in = 0.1", "n_branches and branch_size"]),
        (["noise", "-N", "999"], 2, ["-N and -K must be given together"]),
        (["noise", "-N", "1000", "-K", "27"], 1, ["multiple of n_branches = 27"]),
        (["noise", "--json", "--csv"], 2, ["--json", "--csv"]),
        (["learned-state", "--gamma-ce", "0"], 2, ["gamma_ce = 0.0", "> 0"]),
        (["learned-state", "--kappa", "1"], 1, ["kappa = 1.0"]),
        (["learned-state", "--quantity", "q"], 2, ["--quantity", "training_error"]),
        (["teacher-student", "--f-out", "0.1"], 1, ["f_out = 0.1", "1/2"]),
        (["teacher-student", "--teacher", "sigmoid"], 2, ["sigmoid", "polsky"]),
        (["teacher-student", "--teacher", "linear:gamma=3"], 2, ["gamma"]),
        (["teacher-student", "--teacher", "linear:theta_s=x"], 2, ["--teacher", "polsky:theta_d=0.1"]),
    ],
)
def test_refusals_are_one_line_and_say_what_is_allowed(arguments, code, words):
    outcome = run(*arguments)
    assert outcome.exit_code == code
    assert len(outcome.stderr.strip().splitlines()) == 1
    for word in words:
        assert word in outcome.stderr


def test_inhibition_is_checked_before_anything_is_computed():
    one = run("capacity", "--inhibitory-share", 0.2)
    assert (one.exit_code, "inhibitory_drive" in one.stderr) == (2, True)
    strong = run("capacity", "--inhibitory-share", 0.2, "--inhibitory-drive", "0.1,0.7", "--theta-d", "0.3,0.5")
    assert (strong.exit_code, "at most theta_d = 0.5" in strong.stderr) == (2, True)
    assert run("capacity", "--inhibitory-share", 1.5, "--inhibitory-drive", 0.1).exit_code == 2
    assert (
        run("capacity", "--inhibitory-share", "0.2", "--inhibitory-drive", 0.1, "--inhibitory-f-in", 2).exit_code == 2
    )


def test_capacity_with_inhibition_and_silent_synapses_of_either_sign():
    inhibition = ["--inhibitory-share", 0.2, "--inhibitory-drive", 0.25]
    symmetric, broken = rows_of("capacity", *inhibition, "--rsb", "0,1")
    np.testing.assert_allclose([symmetric["alpha_c"], broken["alpha_c"]], [6.9805240, 2.2879592], atol=1e-6)
    assert (round(broken["silent_excitatory"], 3), round(broken["silent_inhibitory"], 3)) == (0.258, 0.136)
    assert (broken["inhibitory_share"], broken["inhibitory_drive"]) == (0.2, 0.25)
    (point,) = rows_of("saddle-point", *inhibition, "--alpha", 0.5)
    assert round(point["free_entropy"], 6) == 0.892432
    table = run("saddle-point", *inhibition, "--alpha", 0.5).stdout
    assert "free_entropy" in table
    assert "None" not in table
    assert "silent_inhibitory" not in rows_of("capacity", "-g", "relu", "--rsb", 0)[0]
    sized = run("capacity", *inhibition, "-N", 999, "-K", 27)
    assert sized.exit_code == 1
    assert "a neuron with a size" in sized.stderr


def test_a_neuron_with_inhibition_is_trained_and_solved(tmp_path):
    inhibition = ["--inhibitory-share", 0.2, "--inhibitory-drive", 0.1]
    from dendrocap.learning import load_run

    for command in (["train", "--max-epochs", 3], ["solve", "--time-limit", 2, "--alpha", 0.3]):
        saved = tmp_path / f"{command[0]}.npz"
        outcome = run(*command, "-N", 60, "-K", 3, "--theta-d", 0.5, *inhibition, "--save", saved)
        assert outcome.exit_code in (0, 1), outcome.stderr
        stored = load_run(saved)
        assert stored.neuron.spec.inhibition.share == 0.2
        weights, mask = stored.neuron.flat_weights(stored.weights), stored.neuron.inhibitory
        assert mask.sum() == 12
        assert (weights[mask] <= 0.0).all()
        assert (weights[~mask] >= 0.0).all()
    linear = run("train", "--linear", "-N", 60, "--theta-d", 0.5, *inhibition, "--max-epochs", 2)
    assert linear.exit_code == 0
    assert run("train", "-N", 60, "-K", 3, "--theta-d", 0.05, *inhibition).exit_code == 2  # more than it can take away


# Priors and channels --------------------------------------------------------------------------------------------------


def test_bounded_weights_and_ridges():
    near, far = rows_of("capacity", "-g", "relu", "--w-max", "3,1000")
    assert (round(near["alpha_c"], 6), round(near["saturated_fraction"], 6)) == (1.139066, 0.15671)
    assert (near["w_max"], near["estimate"]) == (3.0, "replica symmetric")
    assert round(far["alpha_c"], 6) == 1.343065
    (ridge,) = rows_of("capacity", "-g", "relu", "--ridge", 3)
    assert "saturated_fraction" not in ridge
    assert ridge["alpha_c"] == pytest.approx(far["alpha_c"])
    (typical,) = rows_of("saddle-point", "-g", "relu", "--ridge", 2, "--alpha", 0.6)
    assert "training_error" not in typical
    sized = run("capacity", "--w-max", 3, "-N", 100, "-K", 4)
    assert (sized.exit_code, "--w-max and --ridge cannot either" in sized.stderr) == (2, True)
    both = run("capacity", "--w-max", 3, "--ridge", 1)
    assert (both.exit_code, "--w-max and --ridge are not allowed together" in both.stderr) == (2, True)
    assert "prior = Bounded(w_max=3.0) is not allowed" in run("capacity", "--w-max", 3, "--rsb", 1).stderr
    assert run("capacity", "--w-max", 0).exit_code == 2
    small = run("capacity", "--w-max", 0.5)
    assert (small.exit_code != 0, "w_max must be larger than the mean" in small.stderr) == (True, True)


def test_errors_above_capacity(tmp_path):
    warm, hot = rows_of("saddle-point", "-g", "relu", "--alpha", 2, "--temperature", "0.2,1")
    assert round(warm["training_error"], 6) == 0.123681
    assert warm["training_error"] < hot["training_error"] < 0.5
    (noisy,) = rows_of("saddle-point", "-g", "relu", "--alpha", 2, "--output-noise", 0.1)
    assert round(noisy["training_error"], 6) == 0.364058
    plot = tmp_path / "errors.png"
    options = ["-g", "relu", "--alpha", "0.5,1,2", "--temperature", 0.2, "--quantity", "training_error"]
    assert run("saddle-point", *options, "--plot", plot).exit_code == 0
    assert plot.stat().st_size > 1000
    without = run("saddle-point", "--quantity", "training_error", "--alpha", "0.1,0.2", "--plot", plot)
    assert (without.exit_code, "needs --temperature or --output-noise" in without.stderr) == (2, True)
    assert run("saddle-point", "--temperature", -1).exit_code == 2
    assert run("saddle-point", "--temperature", 0.1, "--output-noise", 0.1).exit_code == 2
