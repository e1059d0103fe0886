"""A recipe: a checked value, a way to train, flat parameters; learning rates against formulas and a slow twin."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dendrocap import SGD, ExponentialAnnealing, HalveOnPlateau, InvalidParameter, LinearNeuron, Lorentzian, Recipe
from dendrocap.learning import Constant, FlooredSlope, LocalRule, PlainSGD, Training, train
from dendrocap.learning.recipe import RECIPE
from dendrocap.model import random_patterns
from tests.naive.learning import naive_plateau_rates

positive = st.floats(1e-3, 1e3)
rules = st.builds(
    SGD,
    positive,
    positive,
    st.none() | st.builds(Lorentzian, st.floats(-2.0, 2.0), positive),
    st.sampled_from(["float32", "float64"]),
)
schedules = st.builds(ExponentialAnnealing, st.floats(0.0, 0.9)) | st.builds(HalveOnPlateau, st.integers(1, 10_000))
recipes = st.builds(Recipe, rules, schedules, st.integers(0, 10**6), st.booleans())


@given(recipes, recipes)
def test_a_recipe_comes_back_from_json_as_it_was(recipe, other):
    flat = recipe.flat()
    assert set(flat) <= set(RECIPE)
    assert Recipe.from_flat(json.loads(json.dumps(flat))) == recipe
    assert Recipe.from_flat({}, default=other) == other


def test_what_is_not_given_is_as_in_the_default():
    usual = Recipe(SGD(0.3, 10.0), HalveOnPlateau(7), max_epochs=5, stop_when_solved=False)
    changed = Recipe.from_flat({"decay": 0.01, "surrogate_width": 0.2}, usual)
    assert changed == Recipe(SGD(0.3, 10.0, Lorentzian(width=0.2)), ExponentialAnnealing(0.01), 5, False)
    assert Recipe.from_flat({}) == Recipe() == Recipe(SGD(), ExponentialAnnealing(), 1000, True)


def test_training_by_a_recipe_is_training_by_its_parts():
    neuron, patterns = LinearNeuron(0.5, 99), random_patterns(90, 99, rng=0)
    recipe = Recipe(SGD(0.1), HalveOnPlateau(5), max_epochs=30, stop_when_solved=False)
    parts = {"algorithm": SGD(0.1), "schedule": HalveOnPlateau(5), "max_epochs": 30, "stop_when_solved": False}
    result, expected = train(neuron, *patterns, recipe, seed=1), train(neuron, *patterns, seed=1, **parts)
    assert_array_equal(result.weights, expected.weights)
    run = Training(neuron, *patterns, recipe, seed=1)
    assert [record.errors for record in run] == expected.error_history.tolist()


def rates_of(schedule, errors, learning_rate=0.1, n_inputs=999):
    pace, rates = schedule.start(learning_rate, n_inputs), []
    for epoch, error in enumerate(errors, start=1):
        rates.append(pace.learning_rate)
        pace = schedule.after_epoch(pace, epoch, error)
        if pace.finished:
            break
    return rates, pace


def test_annealing_follows_the_printed_formula():
    rates, pace = rates_of(ExponentialAnnealing(1e-4), [0.5] * 1000)
    assert rates == pytest.approx([0.1 * (1.0 - 1e-4) ** t for t in range(1000)], rel=1e-12)
    assert not pace.finished


@given(
    errors=st.lists(st.integers(0, 5), min_size=1, max_size=80), patience=st.integers(1, 5), factor=st.floats(0.1, 0.9)
)
def test_halving_equals_its_twin(errors, patience, factor):
    rates, _ = rates_of(HalveOnPlateau(patience, factor, floor=0.01), errors)
    assert rates == naive_plateau_rates(errors, 0.1, patience, factor, 0.01)


def test_halving_ends_below_one_over_4096_n():
    rates, pace = rates_of(HalveOnPlateau(patience=1), [0.5] * 100)
    assert pace.finished
    assert rates[-1] >= 1.0 / (4096 * 999) > rates[-1] / 2
    # The first epoch is a new minimum; 0.1 / 2^18 = 3.8e-7 is the last rate above 2.44e-7.
    assert len(rates) == 20


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ExponentialAnnealing(1.0), "decay = 1.0"),
        (lambda: HalveOnPlateau(0), "patience = 0"),
        (lambda: HalveOnPlateau(5, factor=1.0), "factor = 1.0"),
        (lambda: HalveOnPlateau(5, floor=-1.0), "floor = -1.0"),
        (lambda: Recipe("sgd"), "algorithm = 'sgd'"),
        (lambda: Recipe(PlainSGD(), HalveOnPlateau(5)), "sets its own rates"),
        (lambda: train(LinearNeuron(0.5, 9), [[1] * 9], [1], Recipe(), max_epochs=5), "cannot be combined"),
        (lambda: Recipe(schedule=0.1), "schedule = 0.1"),
        (lambda: Recipe(max_epochs=-1), "max_epochs = -1"),
        (lambda: Recipe(stop_when_solved=1), "stop_when_solved = 1"),
        (lambda: Recipe.from_flat({"rate": 1.0}), "rate is not a parameter of a recipe"),
        (lambda: Recipe.from_flat({"patience": 3, "decay": 0.1}), "cannot be combined"),
        (lambda: Recipe.from_flat({"surrogate_center": 0.3}), "surrogate_center needs"),
        (lambda: Recipe.from_flat({"learning_rate": -1.0}), "learning_rate = -1"),
        (lambda: Recipe(LocalRule()).flat(), "to be described by flat parameters"),
        (lambda: Recipe(SGD(surrogate=FlooredSlope())).flat(), "to be described by flat parameters"),
        (lambda: Recipe(schedule=Constant()).flat(), "to be described by flat parameters"),
        (lambda: Recipe(schedule=HalveOnPlateau(3, factor=0.9)).flat(), "to be described by flat parameters"),
    ],
)
def test_bad_recipes_are_refused_with_the_value(make, words):
    with pytest.raises(InvalidParameter, match=words):
        make()
