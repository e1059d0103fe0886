"""What a seed means: fixed and independent children, one for each purpose."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dendrocap import InvalidParameter, LinearNeuron, random_patterns
from dendrocap.model.patterns import CHILDREN, generator_for


def numbers(purpose, seed):
    return generator_for(purpose, seed).random(4)


@pytest.mark.parametrize("purpose", CHILDREN)
def test_a_purpose_has_its_child_of_the_seed(purpose):
    """Files, tables and published numbers depend on these children: they never change."""
    children = np.random.SeedSequence(7).spawn(5)
    assert_array_equal(numbers(purpose, 7), np.random.default_rng(children[CHILDREN[purpose]]).random(4))
    assert CHILDREN == {"patterns": 0, "run": 1, "noise": 2, "job": 3, "teacher": 4}


def test_purposes_and_seeds_are_told_apart():
    drawn = [tuple(numbers(purpose, seed)) for purpose in CHILDREN for seed in range(50)]
    assert len(set(drawn)) == len(drawn)


def test_a_seed_sequence_is_not_used_up():
    root = np.random.SeedSequence(3, spawn_key=(5,))
    assert_array_equal(numbers("run", root), numbers("run", root))
    assert root.n_children_spawned == 0
    assert_array_equal(numbers("run", np.random.SeedSequence(3)), numbers("run", 3))
    assert np.any(numbers("run", root) != numbers("run", 3))


def test_a_generator_is_used_as_it_stands():
    generator = np.random.default_rng(1)
    assert generator_for("noise", generator) is generator


def test_no_seed_is_new_every_time():
    assert np.any(numbers("run", None) != numbers("run", None))


@pytest.mark.parametrize("seed", [-1, 1.5, "7", True])
def test_other_seeds_are_refused(seed):
    with pytest.raises(InvalidParameter, match="seed"):
        generator_for("run", seed)


def test_patterns_and_first_weights_of_one_seed_are_independent():
    """Both are uniform numbers; from one generator they would be the same ones."""
    neuron = LinearNeuron(0.5, 400)
    inputs, _ = random_patterns(1, 400, f_in=0.5, rng=2)
    weights = neuron.flat_weights(neuron.initial_weights(0.5, 2))
    assert_array_equal(weights, generator_for("run", 2).uniform(0.0, 2.0, 400))
    correlation = np.corrcoef(inputs[0], weights)[0, 1]
    assert abs(correlation) < 4.0 / np.sqrt(400)
