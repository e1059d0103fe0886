"""Training as a job: the same as by hand, with the seed of the cell."""

import inspect
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

from dendrocap import DendriticNeuron, LinearNeuron, NeuronSpec, Polsky, random_patterns, solve
from dendrocap.learning import SGD, ExponentialAnnealing, HalveOnPlateau, bethe_free_entropy, noise_robustness, train
from dendrocap.learning import algorithmic_capacity as measure_capacity
from dendrocap.sweeps import Counts, ProcessExecutor, SerialExecutor, Store, Sweep, library, run_sweep
from dendrocap.sweeps.jobs import check
from dendrocap.sweeps.process import run_cell
from tests.sweeps.comparing import TRAININGS, contents

POLSKY = {"theta_d": 0.1, "theta_s": 0.5, "n_inputs": 120, "n_branches": 9, "max_epochs": 60}
LINEAR = {"nonlinearity": "linear", "theta_d": 0.5, "n_inputs": 60, "max_epochs": 200, "learning_rate": 1.0}


def only(job, **parameters):
    sweep = Sweep(job, parameters=parameters, seeds=[5])
    check(sweep)
    (cell,) = sweep
    outcome = run_cell(cell)
    assert outcome.status == "done", outcome.traceback
    return outcome.metrics


@pytest.mark.parametrize(
    ("given", "schedule"), [({"patience": 3}, HalveOnPlateau(3)), ({"decay": 0.01}, ExponentialAnnealing(0.01))]
)
def test_train_is_a_run_of_the_engine_on_the_cell_s_own_patterns(given, schedule):
    metrics = only("train", alpha=0.5, learning_rate=0.1, gamma_ce=10.0, f_in=0.3, **POLSKY, **given)
    neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.1, 0.5), 120, 9)
    result = train(
        neuron,
        *random_patterns(60, 120, 0.3, 0.5, 5),
        algorithm=SGD(0.1, 10.0),
        schedule=schedule,
        max_epochs=60,
        seed=5,
    )
    assert metrics == {
        "solved": result.solved,
        "error": result.error,
        "errors": result.errors,
        "n_patterns": 60,
        "epochs": result.epochs,
        "best_epoch": result.best_epoch,
        "stopped": result.stopped,
        "silent_fraction": float(np.mean(neuron.flat_weights(result.weights) == 0.0)),
    }


def test_a_surrogate_can_be_asked_for():
    parameters = {**POLSKY, "alpha": 0.5, "learning_rate": 0.1, "gamma_ce": 10.0}
    true_slope = only("train", **parameters)
    surrogate = only("train", surrogate_width=0.5, **parameters)
    assert true_slope["epochs"] != surrogate["epochs"] or true_slope["error"] != surrogate["error"]


def test_robustness_has_one_error_per_strength_of_the_noise():
    metrics = only("robustness", alpha=0.3, flip_probabilities=[0.0, 0.2], samples=5, **LINEAR)
    neuron = LinearNeuron(0.5, 60)
    learned = random_patterns(18, 60, rng=5)
    result = train(neuron, *learned, algorithm=SGD(1.0, 10.0), max_epochs=200, seed=5)
    expected = noise_robustness(
        neuron,
        result.weights,
        *learned,
        flip_probabilities=[0.0, 0.2],
        samples=5,
        seed=5,
    )
    assert metrics["flip_error"] == [point.error for point in expected.input_flips]
    assert metrics["noise_error"] == [point.error for point in expected.synaptic_noise]
    assert metrics["flip_error"][0] == metrics["error"]
    assert metrics["flip_error"][1] > metrics["error"]
    assert len(metrics["noise_standard_error"]) == 3


def test_algorithmic_capacity_lies_between_its_limits():
    metrics = only("algorithmic_capacity", limits=[0.1, 3.0], resolution=0.1, **LINEAR)
    assert 0.1 <= metrics["largest_solved"] < 2.0  # the capacity of the linear neuron is 1, for infinite size
    assert metrics["reaches_limit"] is False
    assert metrics["runs"] >= 4  # bisection of 30 loads
    assert metrics["epochs"] >= metrics["runs"]


@pytest.mark.parametrize("job", ["train", "robustness", "algorithmic_capacity"])
def test_training_needs_a_neuron_of_finite_size(job):
    load = {} if job == "algorithmic_capacity" else {"alpha": 0.5}
    (cell,) = Sweep(job, parameters={"theta_d": 0.1, "theta_s": 0.5, "max_epochs": 1, **load})
    assert "give n_inputs and n_branches" in run_cell(cell).reason


def test_trainings_agree_bit_for_bit_between_executors(tmp_path):
    run_sweep(TRAININGS, tmp_path / "serial.db", executor=SerialExecutor())
    run_sweep(TRAININGS, tmp_path / "two.db", executor=ProcessExecutor(2))
    assert contents(tmp_path / "serial.db", TRAININGS) == contents(tmp_path / "two.db", TRAININGS)


def test_learning_speed_samples_the_errors_of_the_run():
    parameters = {**POLSKY, "max_epochs": 400, "alpha": 0.3, "learning_rate": 0.1, "gamma_ce": 100.0}
    metrics = only("learning_speed", **parameters)
    neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.1, 0.5), 120, 9)
    result = train(
        neuron,
        *random_patterns(36, 120, 0.5, 0.5, 5),
        algorithm=SGD(0.1, 100.0),
        schedule=ExponentialAnnealing(1e-4),
        max_epochs=400,
        seed=5,
    )
    assert result.solved
    assert metrics["epochs"] == result.epochs
    history = dict(enumerate(result.error_history / 36, start=1))
    for epoch, error in zip(metrics["sampled_epochs"], metrics["sampled_error"], strict=True):
        assert error == history.get(epoch, 0.0)  # solved runs stay solved
    assert metrics["sampled_epochs"][0] == 1
    assert metrics["sampled_epochs"][-1] == 400


def test_learned_weights_are_those_at_the_end_of_the_run():
    parameters = {**POLSKY, "max_epochs": 2000, "alpha": 0.3, "learning_rate": 0.1, "gamma_ce": 10.0}
    metrics = only("learned_weights", patience=20, quantiles=5, **parameters)
    result = train(
        DendriticNeuron(NeuronSpec(Polsky(), 0.1, 0.5), 120, 9),
        *random_patterns(36, 120, 0.5, 0.5, 5),
        algorithm=SGD(0.1, 10.0),
        schedule=HalveOnPlateau(20),
        max_epochs=2000,
        seed=5,
        stop_when_solved=False,
    )
    weights = np.asarray(result.state.weights, dtype=float)
    assert metrics["last_errors"] == result.error_history[-1]
    assert metrics["last_rate"] == result.rate_history[-1] < 1e-3
    assert metrics["near_zeros"] == np.mean(weights < 1e-3 * weights.mean())
    assert metrics["mean_weight"] == pytest.approx(weights.mean())
    np.testing.assert_allclose(metrics["weight_quantiles"], np.quantile(weights, [0.0, 0.25, 0.5, 0.75, 1.0]))
    # The law of the theory with as many silent weights and the same mean, against the steps of the sample.
    B = norm.ppf(metrics["near_zeros"])
    unit = norm.pdf(B) - B * norm.sf(B)  # mean of max(z - B, 0) for a standard Gaussian z
    ordered = np.sort(weights)
    law, steps = norm.cdf(ordered * unit / weights.mean() + B), np.arange(weights.size + 1) / weights.size
    gaps = np.maximum(np.abs(steps[1:] - law), np.abs(steps[:-1] - law))
    expected = gaps[ordered >= 1e-3 * weights.mean()].max()
    assert metrics["distance"] == pytest.approx(expected, abs=1e-9)
    assert 0.02 < expected < 0.45


def test_several_sweeps_run_as_one_and_share_cells(tmp_path):
    first = Sweep("capacity", {"theta_d": [0.1, 0.5]}, {"nonlinearity": "linear", "theta_s": 0.5})
    second = Sweep("capacity", {"theta_d": [0.5, 1.0]}, {"nonlinearity": "linear", "theta_s": 0.5})
    told = []
    report = run_sweep([first, second], tmp_path / "r.db", workers=1, callback=told.append)
    assert (report.ran, report.counts) == (3, Counts(3, 3, 0))
    assert (told[-1].cells, told[-1].done) == (3, 3)
    assert run_sweep([first, second], tmp_path / "r.db", workers=1).ran == 0
    with Store(tmp_path / "open.db", write=True) as store:  # one that is open is used, and stays open
        assert run_sweep([first, second], store, workers=1).ran == 3
        assert len(store.records(first)) == store.counts(first).done == len(first)


@pytest.mark.parametrize("kappa", [0.0, 0.2])
def test_solve_is_a_search_on_the_cell_s_own_patterns(kappa):
    parameters = {"theta_d": 0.5, "theta_s": 0.5, "n_inputs": 120, "n_branches": 9, "alpha": 0.4, "kappa": kappa}
    metrics = only("solve", solver="surrogate", **parameters)
    neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.5, 0.5), 120, 9)
    result = solve(neuron, *random_patterns(48, 120, rng=5), solver="surrogate", seed=5, time_limit=None, kappa=kappa)
    assert result.solved
    assert (metrics["solved"], metrics["epochs"], metrics["n_patterns"]) == (True, result.epochs, 48)
    assert metrics["silent_fraction"] == np.mean(neuron.flat_weights(result.weights) == 0.0)
    easy = only("solve", **{**parameters, "theta_d": 0.05, "kappa": 0.0})
    assert (metrics["solver"], easy["solver"]) == ("surrogate", "sgd")


def test_the_cpu_time_of_a_search_ends_it(monkeypatch):
    clock = SimpleNamespace(
        process_time=count().__next__
    )  # a second from look to look: before, after each epoch, at the end
    monkeypatch.setattr(library, "time", clock)
    hopeless = {"theta_d": 0.5, "theta_s": 0.5, "n_inputs": 60, "n_branches": 3, "alpha": 5.0}
    metrics = only("solve", solver="surrogate", cpu_seconds=6, **hopeless)
    assert (metrics["solved"], metrics["epochs"], metrics["cpu_seconds"]) == (False, 7, 8)


def test_free_entropy_of_a_cell_is_that_of_its_patterns():
    parameters = {"theta_d": 0.5, "theta_s": 0.5, "n_inputs": 200, "n_branches": 10, "alpha": 0.1, "f_in": 0.4}
    metrics = only("bethe_free_entropy", kappa=0.1, tolerance=0.1, **parameters)
    neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.5, 0.5), 200, 10)
    found = bethe_free_entropy(neuron, *random_patterns(20, 200, 0.4, rng=5), kappa=0.1, tolerance=0.1)
    assert (metrics["free_entropy"], metrics["converged"]) == (found.free_entropy, True)
    assert metrics["iterations"] == found.iterations > 2
    unsettled = only("bethe_free_entropy", max_iterations=2, **parameters)
    assert (unsettled["converged"], unsettled["iterations"]) == (False, 2)


def test_jobs_start_from_the_settings_of_the_functions_that_they_run():
    for job, function in (
        (library.algorithmic_capacity, measure_capacity),
        (library.robustness, noise_robustness),
    ):
        own, wanted = (inspect.signature(each).parameters for each in (job, function))
        shared = {name for name in own if name in wanted and own[name].kind is inspect.Parameter.KEYWORD_ONLY}
        assert len(shared) > 2
        for name in shared - {"seeds", "workers"}:
            assert tuple(np.atleast_1d(own[name].default)) == tuple(np.atleast_1d(wanted[name].default)), name
