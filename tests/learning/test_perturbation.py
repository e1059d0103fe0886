"""Interventions on a trained neuron."""

import numpy as np
import pytest

from dendrocap import (
    DendriticNeuron,
    InvalidParameter,
    LinearNeuron,
    NeuronSpec,
    Polsky,
    SaturatingReLU,
    perturb,
    random_patterns,
    solve,
)
from dendrocap.learning.learned import _flatter

NEURON = DendriticNeuron(NeuronSpec(Polsky(), theta_d=0.2, theta_s=0.5), n_inputs=99, n_branches=9)
PATTERNS = random_patterns(80, 99, rng=0)


@pytest.fixture(scope="module")
def result():
    return solve(NEURON, *PATTERNS, seed=0)


def test_nothing_changes_nothing(result):
    found = perturb(result, *PATTERNS)
    assert result.solved
    assert (found.misses, found.false_alarms) == (found.misses_before, found.false_alarms_before) == (0.0, 0.0)
    assert found.words == "nothing"


def test_rates_are_those_of_the_changed_neuron(result):
    changed = DendriticNeuron(NeuronSpec(Polsky(), theta_d=0.15, theta_s=0.5), 99, 9)
    fires = changed.predict(result.weights, PATTERNS.inputs).astype(bool)
    labels = PATTERNS.labels.astype(bool)
    found = perturb(result, *PATTERNS, theta_d=-0.25)
    assert found.misses == np.mean(~fires[labels])
    assert found.false_alarms == np.mean(fires[~labels])
    assert found.standard_error == 0.0


def test_less_inhibition_brings_false_alarms_and_failures_bring_misses(result):
    for arguments in ({"theta_d": -0.5}, {"theta_s": -0.5}):
        found = perturb(result, *PATTERNS, **arguments)
        assert found.false_alarms > 0.1
        assert found.misses <= found.false_alarms
    failing = perturb(result, *PATTERNS, failures=0.1, seed=1)
    assert failing.misses > failing.false_alarms
    assert failing.standard_error > 0.0
    silent = perturb(result, *PATTERNS, failures=1.0, seed=1)
    assert (silent.misses, silent.false_alarms) == (1.0, 0.0)


def test_without_nmda_branches_add_up_and_saturate(result):
    x = np.linspace(-1.0, 2.0, 301)
    np.testing.assert_allclose(_flatter(Polsky(), 1.0)(x), SaturatingReLU()(x), atol=1e-12)
    np.testing.assert_allclose(_flatter(Polsky(), 0.5)(x), 0.5 * (Polsky()(x) + SaturatingReLU()(x)), atol=1e-12)
    found = perturb(result, *PATTERNS, nmda_block=1.0)
    assert found.misses > 0.1  # the flatter g gives less output to the same input


def test_impossible_interventions_are_refused(result):
    for arguments, words in (
        ({"theta_d": -1.5}, "theta_d = -1.5"),
        ({"failures": 1.5}, "failures = 1.5"),
        ({"nmda_block": -0.1}, "nmda_block = -0.1"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            perturb(result, *PATTERNS, **arguments)
    with pytest.raises(InvalidParameter, match="both 0 and 1"):
        perturb(result, PATTERNS.inputs, np.ones(80, dtype=np.uint8))
    linear = solve(LinearNeuron(0.5, 99), *random_patterns(30, 99, rng=1), seed=1)
    assert perturb(linear, *random_patterns(30, 99, rng=1), theta_d=-0.9).false_alarms > 0.0
    with pytest.raises(InvalidParameter, match="without dendrites"):
        perturb(linear, *random_patterns(30, 99, rng=1), theta_s=-0.1)
