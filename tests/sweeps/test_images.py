"""Neurons on images: what is compared, as functions, jobs and a command, and a logistic regression beside them."""

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from typer.testing import CliRunner

from dendrocap import SGD, InvalidParameter, Recipe
from dendrocap.cli import app
from dendrocap.datasets import binary_set
from dendrocap.learning import Training
from dendrocap.sweeps import Sweep
from dendrocap.sweeps.jobs import check
from dendrocap.sweeps.library import (
    RECIPE,
    balanced_error,
    contenders,
    generalisation_curve,
    generalise,
    positive_logistic,
)
from dendrocap.sweeps.process import run_cell
from tests.drawing import lines_of


def only(job, **parameters):
    sweep = Sweep(job, parameters=parameters)
    check(sweep)
    (cell,) = sweep
    outcome = run_cell(cell)
    assert outcome.status == "done", outcome.traceback
    return outcome.metrics


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_curves_follow_the_epochs_and_repeat_with_their_seed(small_sets):
    digits = binary_set("mnist", rng=3)
    dendritic, linear = contenders(digits.n_inputs, recipe=Recipe(max_epochs=7), n_branches=7)
    assert dendritic.neuron.n_inputs == linear.neuron.n_inputs == 1568
    for contender in (dendritic, linear):
        curve = generalisation_curve(digits, contender, seed=5, every=3)
        again = generalisation_curve(digits, contender, seed=5, every=3)
        assert curve.epochs.tolist() == [3, 6, 7]
        assert_array_equal(curve.test_error, again.test_error)
        assert np.all((curve.train_error >= 0) & (curve.train_error <= 1))
    curves = generalise("mnist", recipe=Recipe(max_epochs=2), n_branches=7, seeds=[0, 1], workers=2)
    assert [(curve.contender, curve.seed) for curve in curves] == [
        ("dendritic, K = 7", 0), ("linear", 0), ("dendritic, K = 7", 1), ("linear", 1)
    ]  # fmt: skip


def test_balanced_error_counts_both_classes_alike(small_sets):
    assert balanced_error(np.array([False] * 8 + [True, False]), np.array([0] * 8 + [1, 1])) == 0.25  # 0.1 of all
    clothes = binary_set("fashion-mnist", rng=0)
    shares = [np.mean(clothes.test_labels == label) for label in (0, 1)]
    assert shares[0] != shares[1]
    linear = contenders(1568, recipe=Recipe(max_epochs=1), n_branches=7)[1]
    curve = generalisation_curve(clothes, linear, seed=0)
    run = Training(linear.neuron, clothes.inputs, clothes.labels, linear.recipe, seed=0)
    run.drain()
    wrong = linear.neuron.predict(run.state().weights, clothes.test_inputs) != clothes.test_labels
    missed = [np.mean(wrong[clothes.test_labels == label]) for label in (0, 1)]
    assert curve.balanced_test_error[0] == pytest.approx(sum(missed) / 2.0, rel=1e-12)
    assert curve.test_error[0] == pytest.approx(np.dot(shares, missed), rel=1e-12)
    assert curve.balanced_test_error[0] != curve.test_error[0]
    with pytest.raises(InvalidParameter, match="'svhn'"):
        generalise("svhn", n_branches=7, seeds=[0])


def test_jobs_give_what_the_comparison_gives(small_sets):
    how = {"dataset": "mnist", "max_epochs": 3, "n_train": 20}
    recipe = replace(RECIPE, max_epochs=3)
    dendritic, linear = generalise("mnist", recipe=recipe, n_branches=7, seeds=[0], n_train=20, workers=1)
    both = only("generalise", **how, n_branches=7)
    assert both["epochs"] == [1, 2, 3]
    assert both["dendritic_test_error"] == dendritic.test_error.tolist()
    assert both["linear_train_error"] == linear.train_error.tolist()
    one = only("image_error", **how, n_branches=7)
    other = only("image_error", **how, nonlinearity="linear", learning_rate=0.1, gamma_ce=10.0)
    assert one["test_error"] == dendritic.test_error.tolist()
    for name in ("test_error", "balanced_test_error"):
        assert both[f"linear_{name}"] == other[name] == getattr(linear, name).tolist()


def test_held_out_images_are_training_images_that_take_no_part_in_training():
    digits = binary_set("digits", rng=0)
    inner = digits.held_out(0.25)
    assert np.array_equal(np.vstack([inner.inputs.bits, inner.test_inputs.bits]), digits.inputs.bits)
    assert np.array_equal(np.concatenate([inner.labels, inner.test_labels]), digits.labels)
    how = {"dataset": "digits", "n_branches": 4, "max_epochs": 2, "every": 2}
    assert only("image_error", **how) != only("image_error", **how, held_out=0.25)
    with pytest.raises(InvalidParameter, match="share"):
        digits.held_out(1.0)


def test_logistic_regression_sees_the_same_images():
    digits = binary_set("digits", rng=0)
    fitted = positive_logistic(digits.inputs.unpack(), digits.labels, penalty=10.0)
    found = only("image_logistic", dataset="digits", penalty=10.0)
    assert found["test_error"] == np.mean(fitted.predict(digits.test_inputs.unpack()) != digits.test_labels)
    assert found["train_error"] < found["test_error"]


def test_command_prints_the_last_epoch_or_all_of_them(small_sets, tmp_path, drawn):
    target = tmp_path / "curve.png"
    arguments = ["generalise", "mnist", "--images", 40, "--max-epochs", 4, "--seeds", 2]
    table = run(*arguments, "--plot", target)
    assert table.exit_code == 0, table.stderr
    assert "dendritic" in table.stdout
    rows = json.loads(run(*arguments, "--json").stdout)
    for label, line in lines_of(drawn["curve.png"].axes[0]).items():
        neuron, _, what = label.rpartition(", ")
        error = {"test": "test_error", "training": "train_error"}[what]
        own = [[row["epoch"], 100.0 * row[error]] for row in rows if row["neuron"] == neuron]
        np.testing.assert_allclose(line, own, rtol=1e-12)
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4] * 2
    assert all(np.isfinite(row["test_error_se"]) for row in rows)


def test_ctrl_c_shows_the_runs_that_were_finished(small_sets, monkeypatch):
    def until_interrupted(dataset, neuron, recipe, *, callback, **how):
        images = binary_set(dataset, rng=0)
        for at, epochs in enumerate((recipe.max_epochs, 1)):
            contender = contenders(images.n_inputs, neuron, replace(recipe, max_epochs=epochs), n_branches=7)[at]
            callback(generalisation_curve(images, contender, seed=0))
        raise KeyboardInterrupt

    monkeypatch.setattr("dendrocap.sweeps.library.generalise", until_interrupted)
    outcome = run("generalise", "mnist", "--max-epochs", 3, "--seeds", 2, "--json")
    assert outcome.exit_code == 130
    assert {row["neuron"] for row in json.loads(outcome.stdout)} == {"dendritic, K = 7"}  # the other was cut short
    assert "1 of 4 runs" in outcome.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["svhn"], 2, ["svhn"]),
        (["mnist", "--preset", "huge"], 2, ["huge", "quick"]),
        (["mnist", "--images", 10_000], 2, ["n_train = 10000"]),
        (["mnist", "--seeds", 0], 2, ["--seeds = 0"]),
        (["mnist", "--theta-d", 0], 2, ["--theta-d"]),
    ],
)
def test_bad_input_is_one_line(small_sets, arguments, code, words):
    outcome = run("generalise", *arguments)
    assert outcome.exit_code == code
    assert len(outcome.stderr.strip().splitlines()) == 1
    for word in words:
        assert word in outcome.stderr


def test_datasets_command(small_sets, monkeypatch, tmp_path):
    rows = json.loads(run("datasets", "--json").stdout)
    assert {row["name"]: bool(row["found_in"]) for row in rows} == {
        "mnist": True, "fashion-mnist": True, "cifar10": True, "digits": True
    }  # fmt: skip
    outcome = run("datasets", "mnist")
    assert outcome.exit_code == 2
    assert "differs from the original" in outcome.stderr
    monkeypatch.setenv("DENDROCAP_DATA", str(tmp_path / "nowhere"))
    missing = run("datasets", "cifar10")
    assert missing.exit_code == 1
    assert "dendrocap datasets cifar10 --fetch" in missing.stderr
    assert run("datasets", "svhn", "--fetch").exit_code == 2
    bundled = run("datasets", "digits", "--fetch")
    assert (bundled.exit_code, "part of scikit-learn" in bundled.stderr) == (0, True)
    digits = run("generalise", "digits", "--max-epochs", 2, "--seeds", 1, "--json")
    assert digits.exit_code == 0, digits.stderr
    assert [row["neuron"] for row in json.loads(digits.stdout)] == ["dendritic, K = 4"] * 2 + ["linear"] * 2


@pytest.mark.slow
def test_dendrites_generalise_better_on_real_digits(real_data):
    """The paper's Fig. 8 at 4,000 images and 30 epochs: five seeds, a difference beyond three standard errors.

    For Fashion-MNIST and CIFAR-10, at full length, see docs/data.md.
    """
    recipe = Recipe(SGD(0.01, 10.0), max_epochs=30)
    how = {"n_branches": 7, "n_train": 4000, "every": 30, "linear_gamma_ce": 1.0}
    curves = generalise("mnist", recipe=recipe, seeds=range(5), **how)
    last = {kind: [c.test_error[-1] for c in curves if c.contender.startswith(kind)] for kind in ("dend", "lin")}
    gains = np.array(last["lin"]) - np.array(last["dend"])
    assert gains.mean() > 3 * gains.std(ddof=1) / np.sqrt(len(gains)), last


def loss(x, inputs, labels, l2):
    margins = (2.0 * labels - 1.0) * (inputs @ x[:-1] + x[-1])
    return np.logaddexp(0.0, -margins).mean() + 0.5 * l2 * x[:-1] @ x[:-1]


@pytest.mark.parametrize("penalty", [0.2, 20.0])
def test_no_step_into_the_allowed_region_lowers_the_loss(rng, penalty):
    inputs = rng.integers(0, 2, (200, 12)).astype(float)
    labels = (inputs @ rng.normal(size=12) + rng.normal(size=200) > 0.0).astype(int)
    fitted = positive_logistic(inputs, labels, penalty=penalty)
    x = np.append(fitted.weights, fitted.bias)
    assert fitted.weights.min() == 0.0  # some sign is wrong for every random task of this size
    assert_allclose(fitted.loss, loss(x, inputs, labels, penalty / 200), rtol=1e-5)
    for _ in range(200):
        step = 0.03 * rng.normal(size=13)
        other = np.append(np.maximum(x[:-1] + step[:-1], 0.0), x[-1] + step[-1])
        assert loss(other, inputs, labels, penalty / 200) > fitted.loss - 1e-6
    with pytest.raises(InvalidParameter, match="penalty = 0"):
        positive_logistic(inputs, labels, penalty=0.0)


def test_with_both_versions_of_every_input_the_sign_is_no_restriction(rng):
    """Weights v of any sign on x are max(v, 0) on x and max(-v, 0) on 1 - x, with the same squared norm."""
    single = rng.integers(0, 2, (300, 8)).astype(float)
    labels = (single @ rng.normal(size=8) + rng.normal(size=300) > 0.0).astype(int)
    both = np.hstack([single, 1.0 - single])
    bounded = positive_logistic(both, labels, penalty=3.0)
    free = minimize(loss, np.zeros(9), args=(single, labels, 0.01), method="BFGS", options={"gtol": 1e-8})
    # A free bias makes up for the constant that the complements add, and a pair that shares its weight gains nothing.
    assert bounded.loss <= free.fun + 1e-7
    assert np.minimum(bounded.weights[:8], bounded.weights[8:]).max() < 1e-3
    assert_allclose(bounded.loss, free.fun, rtol=1e-5)


def test_it_separates_real_digits_better_than_chance_and_keeps_its_word_on_the_gradient():
    digits = binary_set("digits", rng=0)
    fitted = positive_logistic(digits.inputs.unpack(), digits.labels, penalty=1.0)
    wrong = np.mean(fitted.predict(digits.test_inputs.unpack()) != digits.test_labels)
    assert 0.05 < wrong < 0.2
    assert fitted.gradient < 1e-4
