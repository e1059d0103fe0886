"""From a cell's flat parameters to a function's arguments, and from its result to metrics."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from dendrocap import (
    DendriticNeuron,
    Inhibition,
    Linear,
    LinearNeuron,
    NeuronSpec,
    Polsky,
    TaskSpec,
    critical_capacity,
    learned_state,
    least_noise_error,
    noise_error,
    saddle_point,
)
from dendrocap.errors import InvalidParameter
from dendrocap.learning import SGD, HalveOnPlateau, Recipe
from dendrocap.model.flat import flat_neuron, flat_task
from dendrocap.model.patterns import generator_for
from dendrocap.sweeps import Store, Sweep, run_sweep
from dendrocap.sweeps.jobs import BUILT_IN, check, job_named, metrics_of
from dendrocap.sweeps.process import run_cell
from dendrocap.sweeps.sweep import Cell
from dendrocap.theory import CapacitySolution
from tests.sweeps.comparing import JOBS

HERE = "tests.sweeps.test_jobs"
SMALL = {"theta_d": 0.1, "theta_s": 0.5, "n_inputs": 99, "n_branches": 9, "max_epochs": 3, "alpha": 0.1}


def spy(**parameters):
    """What a function sees, as text."""
    return {name: repr(value) for name, value in parameters.items()}


def sees_neuron(neuron, task, alpha):
    return {"neuron": repr(neuron), "task": repr(task), "alpha": alpha}


def sees_randomness(seed, rng):
    return {"seed": seed, "random": rng.random()}


def only(sweep):
    (cell,) = sweep
    outcome = run_cell(cell)
    assert outcome.status == "done", outcome.traceback
    return outcome.metrics


def test_capacity_is_the_theory_s():
    sweep = Sweep("capacity", parameters={"theta_d": 0.1, "theta_s": 0.5, "gamma": 20.0, "f_out": 0.2, "kappa": 0.1})
    solution = critical_capacity(NeuronSpec(Polsky(gamma=20.0), 0.1, 0.5), TaskSpec(f_out=0.2, kappa=0.1))
    check(sweep)
    metrics = only(sweep)
    assert metrics["estimate"] == "replica symmetric"
    assert metrics["alpha_c"] == solution.alpha_c
    assert metrics["silent_fraction"] == solution.silent_fraction
    assert isinstance(solution, CapacitySolution)
    assert "neuron" not in metrics


def test_saddle_point_is_the_theory_s():
    sweep = Sweep("saddle_point", parameters={"theta_d": 0.2, "theta_s": 0.5, "alpha": 0.5})
    check(sweep)
    assert only(sweep)["q"] == saddle_point(NeuronSpec(Polsky(), 0.2, 0.5), TaskSpec(), alpha=0.5).q


@pytest.mark.parametrize(
    ("parameters", "neuron"),
    [
        ({"theta_d": 0.1, "theta_s": 0.5}, NeuronSpec(Polsky(), 0.1, 0.5)),
        (
            {"theta_d": 0.1, "theta_s": 0.5, "x_min": 0.2, "n_inputs": 99, "n_branches": 9},
            DendriticNeuron(NeuronSpec(Polsky(0.2), 0.1, 0.5), 99, 9),
        ),
        ({"nonlinearity": "linear", "theta_d": 0.5, "n_inputs": 99}, LinearNeuron(0.5, 99)),
    ],
)
def test_neuron_and_task_are_built_from_flat_parameters(parameters, neuron):
    metrics = only(Sweep(f"{HERE}:sees_neuron", parameters={**parameters, "alpha": 0.3, "f_in": 0.25}))
    assert metrics == {"neuron": repr(neuron), "task": repr(TaskSpec(f_in=0.25)), "alpha": 0.3}


def sees_recipe(recipe=Recipe(SGD(0.3), max_epochs=7)):  # noqa: B008
    return {"recipe": repr(recipe)}


def test_a_recipe_is_built_from_flat_parameters_on_top_of_its_default():
    assert only(Sweep(f"{HERE}:sees_recipe"))["recipe"] == repr(Recipe(SGD(0.3), max_epochs=7))
    changed = only(Sweep(f"{HERE}:sees_recipe", parameters={"patience": 5, "gamma_ce": 10.0}))
    assert changed["recipe"] == repr(Recipe(SGD(0.3, 10.0), HalveOnPlateau(5), max_epochs=7))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"theta_s": 0.5}, "theta_d"),
        ({"theta_d": 0.1, "theta_s": 0.5, "n_inputs": 9}, "n_branches"),
        ({"nonlinearity": "linear", "theta_d": 0.1}, "theta_s"),
        ({"nonlinearity": "linear", "theta_d": 0.1, "n_inputs": 9, "gamma": 2.0}, "gamma"),
        ({"nonlinearity": "sigmoid", "theta_d": 0.1, "theta_s": 0.5}, "sigmoid"),
    ],
)
def test_a_neuron_that_cannot_be_built_fails_its_cell(parameters, words):
    (cell,) = Sweep(f"{HERE}:sees_neuron", parameters={**parameters, "alpha": 1.0})
    outcome = run_cell(cell)
    assert outcome.status == "failed"
    assert outcome.reason.startswith("InvalidParameter: ")
    assert words in outcome.reason


def test_randomness_is_the_cell_s_own():
    metrics = only(Sweep(f"{HERE}:sees_randomness", seeds=[7]))
    assert metrics["seed"] == 7
    assert metrics["random"] == generator_for("job", 7).random() != generator_for("job", 8).random()


def test_a_function_with_open_parameters_takes_all():
    check(Sweep(f"{HERE}:spy", parameters={"anything": 1}))
    assert only(Sweep(f"{HERE}:spy", parameters={"anything": [1, 2]})) == {"anything": "[1, 2]"}


TYPED = f"{JOBS}:typed"
REFUSALS = [
    ("capacity", {"theta_x": 1.0}, "theta_x is not a parameter of the job capacity; allowed are above"),
    (f"{HERE}:sees_neuron", {"theta_d": 1.0}, "needs a value for alpha"),
    ("capcity", {}, "capacity, saddle_point"),
    ("no.such.module:f", {}, "cannot be imported"),
    (f"{HERE}:nothing", {}, "cannot be imported"),
    (f"{HERE}:HERE", {}, "must be a function"),
    ("builtins:max", {}, "must be a function with named parameters"),
    (TYPED, {"count": 2.5}, "count = 2.5 is not allowed: it must be a whole number"),
    (TYPED, {"count": "3"}, "count = '3' is not allowed: it must be a whole number"),
    (TYPED, {"count": True}, "count = True"),
    (TYPED, {"count": 1, "level": "high"}, "level = 'high' is not allowed: it must be a finite number"),
    (TYPED, {"count": 1, "names": 2}, "names = 2 is not allowed: it must be a text"),
    (TYPED, {"count": 1, "flag": 0}, "flag = 0 is not allowed: it must be True or False"),
    (TYPED, {"count": 1, "levels": 3}, "levels = 3"),
    ("train", {**SMALL, "n_inputs": 99.5}, "n_inputs = 99.5 is not allowed: it must be a whole number"),
    ("train", {**SMALL, "theta_d": "large"}, "theta_d = 'large'"),
    ("train", {**SMALL, "max_epochs": 0.5}, "max_epochs = 0.5"),
    ("train", {**SMALL, "stop_when_solved": 1}, "stop_when_solved = 1"),
    ("train", {**SMALL, "n_inputs": [99, 100]}, r"n_inputs = \[99, 100\]"),
]


@pytest.mark.parametrize(("job", "parameters", "words"), REFUSALS)
def test_what_cannot_run_is_refused_before_anything_runs(tmp_path, job, parameters, words):
    with pytest.raises(InvalidParameter, match=words):
        check(Sweep(job, parameters=parameters))
    if not any(isinstance(value, list) for value in parameters.values()):
        with pytest.raises(InvalidParameter, match=words):
            run_sweep(Sweep(job, grid={name: [value] for name, value in parameters.items()}), tmp_path / "r.db")
    assert list(tmp_path.iterdir()) == []


def test_values_get_the_type_of_their_parameter():
    def types(**parameters):
        return only(Sweep(TYPED, parameters=parameters))["types"]

    assert types(count=3.0, level=1) == "int float str bool"
    assert types(count=3, level=0.5, levels=[1, 2.5]) == "int float str bool float float"
    check(Sweep("train", parameters={**SMALL, "nonlinearity": "tabulated", "x": [0, 1], "y": [0, 1]}))


@pytest.mark.parametrize("n_inputs", [{"from": 99, "to": 297, "points": 3}, [99.0, 198.0]], ids=["range", "floats"])
def test_floats_that_are_whole_will_do_for_a_neuron_of_so_many_inputs(tmp_path, n_inputs):
    sweep = Sweep(
        "train",
        grid={"n_inputs": n_inputs},
        parameters={name: value for name, value in SMALL.items() if name != "n_inputs"},
    )
    assert run_sweep(sweep, tmp_path / "r.db", workers=1).counts.done == len(sweep) > 1


@pytest.mark.parametrize(
    ("table", "values"),
    [
        ({"from": 0, "to": 1, "points": 3}, (0.0, 0.5, 1.0)),
        ({"from": 1, "to": 100, "points": 3, "scale": "log"}, (1, 10, 100)),
        ({"from": 1.0, "to": 3.0, "points": 3}, (1.0, 2.0, 3.0)),
    ],
)
def test_a_range_is_whole_if_its_ends_are_typed_so_and_all_of_it_is(table, values):
    found = Sweep("capacity", grid={"gamma": table}).grid["gamma"]
    assert found == values
    assert [type(value) for value in found] == [type(value) for value in values]


def test_one_and_one_point_zero_are_the_same_cell(tmp_path):
    one, same = (Sweep(TYPED, grid={"count": [1, 2]}, parameters={"level": level}) for level in (1, 1.0))
    assert one.digest == same.digest
    assert [cell.key for cell in one] == [cell.key for cell in same]
    assert run_sweep(one, tmp_path / "r.db", workers=1).ran == 2
    assert run_sweep(same, tmp_path / "r.db", workers=1).ran == 0
    with Store(tmp_path / "r.db") as store:
        assert {record.metrics["types"] for record in store.records()} == {"int float str bool"}
    assert Cell("j", {"x": [1.0, {"y": 2.0}]}, 0).key == Cell("j", {"x": [1, {"y": 2}]}, 0).key
    assert Cell("j", {"x": True}, 0).key != Cell("j", {"x": 1}, 0).key
    assert Cell("j", {"x": 0.1}, 0).key != Cell("j", {"x": 0}, 0).key
    with pytest.raises(InvalidParameter, match="without repetitions"):
        Sweep("capacity", grid={"gamma": [1, 1.0]})


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_jobs_can_be_imported_or_say_why_not(name):
    try:
        assert callable(job_named(name).function)
    except InvalidParameter as error:
        assert "in this version of dendrocap" in str(error)  # noqa: PT017


def test_jobs_of_states_give_what_the_functions_give():
    thresholds = {"theta_d": 0.5, "theta_s": 0.5}
    (cell,) = Sweep("noise_error", parameters={**thresholds, "nonlinearity": "linear", "alpha": 0.5, "flips": 0.05})
    found = job_named("noise_error")(cell)
    linear = NeuronSpec(Linear(), 0.5, 0.5)
    assert found["typical"] == noise_error(saddle_point(linear, alpha=0.5), flips=0.05)
    assert found["best_possible"] == least_noise_error(linear, alpha=0.5, flips=0.05)
    assert found["estimate"] == "replica symmetric"
    (cell,) = Sweep("learned_state", parameters={**thresholds, "nonlinearity": "linear", "alpha": 2.0, "gamma_ce": 1.0})
    assert job_named("learned_state")(cell)["loss"] == learned_state(linear, alpha=2.0, gamma_ce=1.0).loss
    teacher = {"nonlinearity": "polsky", "gamma": 15}
    (cell,) = Sweep(
        "teacher_student", parameters={**thresholds, "nonlinearity": "linear", "alpha": 1, "teacher": teacher}
    )
    found = job_named("teacher_student")(cell)
    assert round(found["gibbs_error"], 6) == 0.292496  # a linear student of a Polsky teacher
    assert found["estimate"] == "replica symmetric"
    (cell,) = Sweep("teacher_student", parameters={**thresholds, "nonlinearity": "polsky", "alpha": 1})
    assert job_named("teacher_student")(cell)["estimate"] == "exact"


def test_cells_without_inhibition_and_correlation_keep_the_keys_that_they_had_before():
    flat = {**flat_neuron(DendriticNeuron(NeuronSpec(Polsky(), 0.5, 0.5), 999, 27)), **flat_task(TaskSpec())}
    (cell,) = Sweep("train", grid={"alpha": [0.5]}, parameters=flat)
    assert cell.key == "f072422e129580983dd2b97401e84f83"  # as a store of version 0.1.0 has it
    inhibited = NeuronSpec(Polsky(), 0.5, 0.5, inhibition=Inhibition(0.2, 0.25))
    more = {**flat, **flat_neuron(DendriticNeuron(inhibited, 999, 27))}
    assert {name: more[name] for name in more.keys() - flat.keys()} == {
        "inhibitory_share": 0.2,
        "inhibitory_drive": 0.25,
    }


def test_metrics_are_plain_data():
    @dataclass
    class Result:
        number: float
        array: np.ndarray
        neuron: NeuronSpec
        nothing: None

    result = metrics_of(Result(np.float32(0.1), np.arange(4).reshape(2, 2), NeuronSpec(Polsky(), 0.1, 0.5), None))
    assert math.isnan(result.pop("nothing"))
    assert result == {"number": float(np.float32(0.1)), "array": [[0, 1], [2, 3]]}
    assert metrics_of(np.float64(2.5)) == {"value": 2.5}
    assert math.isnan(metrics_of({"a": None})["a"])
    with pytest.raises(InvalidParameter, match="object"):
        metrics_of({"object": object()})
