"""Generalisation runs: what is compared, and that the comparison comes out as in the paper."""

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from dendrocap import SGD, InvalidParameter, Recipe
from dendrocap.cli import app
from dendrocap.datasets import binary_set
from dendrocap.learning import Training
from dendrocap.sweeps.library import balanced_error, contenders, generalisation_curve, generalise
from tests.drawing import lines_of


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
