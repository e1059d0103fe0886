"""One seed, one run: the same patterns, first weights and shuffles by whatever door one comes in."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from dendrocap import (
    SGD,
    DendriticNeuron,
    NeuronSpec,
    Polsky,
    Recipe,
    Store,
    Sweep,
    noise_robustness,
    random_patterns,
    run_sweep,
    train,
    training_error_curve,
)
from dendrocap.cli import app
from dendrocap.learning import load_run
from dendrocap.model.flat import flat_neuron

NEURON = DendriticNeuron(NeuronSpec(Polsky(), theta_d=0.1, theta_s=0.5), n_inputs=99, n_branches=9)
ALPHA, SEED = 0.6, 4
# Decay and surrogate are those of the explorer's page.
RECIPE = Recipe(SGD(0.1), max_epochs=300)


@dataclass
class Run:
    epochs: int
    errors: int
    weights: np.ndarray | None = None


@pytest.fixture(scope="module")
def by_hand():
    result = train(NEURON, *random_patterns(59, 99, rng=SEED), algorithm=SGD(0.1), max_epochs=300, seed=SEED)
    assert result.epochs > 5
    return result


def from_the_command_line(folder):
    words = f"train -N 99 -K 9 --theta-d 0.1 --alpha {ALPHA} --learning-rate 0.1 --max-epochs 300 --seed {SEED} --json"
    outcome = CliRunner().invoke(app, [*words.split(), "--save", str(folder / "run.npz")])
    (row,) = json.loads(outcome.stdout)
    return Run(row["epochs"], row["errors"], load_run(folder / "run.npz").weights)


def from_a_protocol(folder):
    (trial,) = training_error_curve(NEURON, [ALPHA], recipe=RECIPE, seeds=[SEED]).points[0].trials
    return Run(trial.epochs, trial.errors)


def from_a_sweep(folder):
    parameters = {**flat_neuron(NEURON), **RECIPE.flat(), "alpha": ALPHA}
    sweep = Sweep("tests.test_one_seed:job", parameters=parameters, seeds=[SEED])
    built_in = Sweep("train", parameters=parameters, seeds=[SEED])
    run_sweep(sweep, folder / "own.db", workers=1)
    run_sweep(built_in, folder / "built_in.db", workers=1)
    with Store(folder / "own.db") as own, Store(folder / "built_in.db") as store:
        (weights,), (record,) = ([*one.records()] for one in (own, store))
    return Run(record.metrics["epochs"], record.metrics["errors"], np.array(weights.metrics["weights"]))


def job(neuron, recipe, alpha, seed):
    """A function of a user, who hands the seed on."""
    patterns = random_patterns(round(alpha * neuron.n_inputs), neuron.n_inputs, rng=seed)
    return {"weights": train(neuron, *patterns, recipe, seed=seed).weights}


def from_the_explorer(folder):
    pytest.importorskip("panel")
    from dendrocap.explorer.parameters import Parameters
    from dendrocap.explorer.trainer import Trainer

    page = {"theta_d": 0.1, "train_inputs": 99, "train_branches": 9, "load": ALPHA, "rate": 0.1, "seed": SEED}
    trainer = Trainer()
    trainer.start(Parameters(**page, decay=1e-4, slope="true", pace=1000))
    trainer.wait(60)
    progress = trainer.progress()
    return Run(progress.epoch, progress.best_errors, NEURON.shaped_weights(progress.weights))


@pytest.mark.parametrize("door", [from_the_command_line, from_a_protocol, from_a_sweep, from_the_explorer])
def test_the_same_seed_is_the_same_run(door, by_hand, tmp_path):
    run = door(tmp_path)
    assert (run.epochs, run.errors) == (by_hand.epochs, by_hand.errors)
    if run.weights is not None:
        assert_array_equal(run.weights, by_hand.weights)


def test_the_same_seed_is_the_same_noise(tmp_path):
    neuron, patterns = NEURON, random_patterns(30, 99, rng=SEED)
    weights = train(neuron, *patterns, Recipe(SGD(0.1, 10.0)), seed=SEED).weights
    expected = noise_robustness(
        neuron, weights, *patterns, flip_probabilities=[0.1], noise_amplitudes=[0.5], samples=3, seed=SEED
    )
    errors = [expected.input_flips[0].error, expected.synaptic_noise[0].error]
    noise = {"alpha": 0.3, "flip_probabilities": [0.1], "noise_amplitudes": [0.5], "samples": 3}
    run_sweep(
        Sweep("robustness", parameters={**flat_neuron(neuron), **noise}, seeds=[SEED]), tmp_path / "n.db", workers=1
    )
    with Store(tmp_path / "n.db") as store:
        (record,) = store.records()
    assert [*record.metrics["flip_error"], *record.metrics["noise_error"]] == errors
