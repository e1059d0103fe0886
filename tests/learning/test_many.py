"""Many runs at once are the same runs."""

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dendrocap import DendriticNeuron, InvalidParameter, LinearNeuron, NeuronSpec, Polsky, random_patterns
from dendrocap.learning import SGD, HalveOnPlateau, Lorentzian, Recipe, train, train_many
from dendrocap.learning.protocols import in_parallel
from dendrocap.validation import available_cores

ROOT = Path(__file__).parents[2]
NEURONS = [LinearNeuron(0.5, 100), DendriticNeuron(NeuronSpec(Polsky(), 0.1, 0.5), 100, 7)]
ALGORITHMS = [SGD(0.1, 10.0), SGD(0.2, 10.0, Lorentzian())]


def weights_of(neuron):
    return train(neuron, *random_patterns(90, 100, rng=0), algorithm=SGD(0.1), seed=3, max_epochs=20).weights


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_equal_single_runs_bit_for_bit(workers):
    inputs, labels = random_patterns(90, 100, rng=0)
    schedule = HalveOnPlateau(5)
    recipes = [Recipe(algorithm, schedule, max_epochs=60) for algorithm in ALGORITHMS]
    together = train_many(NEURONS, inputs, labels, recipes=recipes, seeds=[0, 1], workers=workers)
    alone = [
        train(neuron, inputs, labels, algorithm=algorithm, seed=seed, schedule=schedule, max_epochs=60)
        for neuron in NEURONS
        for algorithm in ALGORITHMS
        for seed in (0, 1)
    ]
    assert len(together) == len(alone) == 8
    for one, other in zip(together, alone, strict=True):
        assert_array_equal(one.weights, other.weights)
        assert_array_equal(one.error_history, other.error_history)
        assert (one.neuron, one.algorithm) == (other.neuron, other.algorithm)


def test_a_failed_run_does_not_disturb_the_others():
    inputs, labels = random_patterns(40, 100, rng=0)
    good, bad = train_many(NEURONS[1], inputs, labels, recipes=[Recipe(SGD(0.1)), Recipe(SGD(1e4))], seeds=[0])
    assert good.solved
    assert bad.stopped == "dead"


def test_an_interruption_reaches_runs_that_are_under_way():
    started, stopped = threading.Event(), threading.Event()

    def function(which, stop):
        if which == 0:
            started.wait(10)
            raise KeyboardInterrupt
        started.set()
        inputs, labels = random_patterns(300, 100, rng=0)
        result = train(NEURONS[0], inputs, labels, seed=0, max_epochs=10**9, callback=stop)
        if result.stopped == "asked to stop":
            stopped.set()

    with pytest.raises(KeyboardInterrupt):
        in_parallel(function, [0, 1], workers=2)
    assert stopped.is_set()


def test_results_are_told_in_order():
    told = []
    assert in_parallel(lambda x, stop: 2 * x, [3, 1, 2], workers=2, callback=told.append) == [6, 2, 4]
    assert told == [6, 2, 4]
    assert in_parallel(lambda x, stop: x, [], workers=2) == []
    assert available_cores() >= 1


def test_another_process_computes_the_same_bits():
    code = (
        "from tests.learning.test_many import NEURONS, weights_of\n"
        "print([weights_of(neuron).tobytes().hex() for neuron in NEURONS])"
    )
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert outcome.stdout.strip() == str([weights_of(neuron).tobytes().hex() for neuron in NEURONS])


@pytest.mark.parametrize(
    "options",
    [
        {"seeds": []},
        {"seeds": [0], "workers": 0},
        {"seeds": [0], "recipes": []},
        {"seeds": [-1]},
        {"seeds": [np.random.default_rng(0)]},
    ],
)
def test_bad_requests_are_refused(options):
    with pytest.raises(InvalidParameter):
        train_many(NEURONS[0], np.ones((2, 100)), [0, 1], **options)
