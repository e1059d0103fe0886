"""Runs on disk."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dendrocap import (
    Custom,
    DendriticNeuron,
    InvalidParameter,
    LinearNeuron,
    NeuronSpec,
    Polsky,
    ReLU,
    Tabulated,
    random_patterns,
)
from dendrocap.errors import CorruptData
from dendrocap.learning import SGD, HalveOnPlateau, load_run, save_run, train

NEURONS = [
    LinearNeuron(0.5, 50),
    DendriticNeuron(NeuronSpec(Polsky(0.2, 9.0), 0.1, 0.4), 50, 7),
    DendriticNeuron(NeuronSpec(ReLU(), 0.1, 0.4), 50, 7),
    DendriticNeuron(NeuronSpec(Tabulated([0.0, 0.4, 1.0], [0.0, 0.1, 1.0]), 0.1, 0.4), 50, 7),
]


@pytest.mark.parametrize("neuron", NEURONS, ids=repr)
def test_what_is_read_is_what_was_written(neuron, tmp_path):
    inputs, labels = random_patterns(70, 50, rng=0)
    result = train(neuron, inputs, labels, algorithm=SGD(0.1), schedule=HalveOnPlateau(4), seed=1, max_epochs=12)
    save_run(tmp_path / "run.npz", result, inputs, labels)
    stored = load_run(tmp_path / "run.npz")
    assert stored.neuron == neuron
    assert type(stored.neuron) is type(neuron)
    assert_array_equal(stored.inputs.unpack(), inputs)
    assert_array_equal(stored.labels, labels)
    assert_array_equal(stored.weights, result.weights)
    assert stored.errors == result.errors
    assert stored.state.pace == result.state.pace
    assert stored.state.random_state == result.state.random_state
    options = {"algorithm": SGD(0.1), "schedule": HalveOnPlateau(4), "max_epochs": 30}
    straight = train(neuron, inputs, labels, seed=1, **options)
    resumed = train(neuron, stored.inputs, stored.labels, resume=stored.state, **options)
    assert_array_equal(resumed.state.weights, straight.state.weights)


def test_a_function_cannot_be_stored(tmp_path):
    neuron = DendriticNeuron(NeuronSpec(Custom(np.tanh), 0.1, 0.1), 50, 7)
    inputs, labels = random_patterns(5, 50, rng=0)
    result = train(neuron, inputs, labels, seed=1, max_epochs=2)
    with pytest.raises(InvalidParameter, match="function cannot be stored"):
        save_run(tmp_path / "run.npz", result, inputs, labels)


def test_other_files_are_refused(tmp_path):
    np.savez(tmp_path / "other.npz", weights=np.ones(3))
    (tmp_path / "text.npz").write_text("not a zip file")
    np.savez(tmp_path / "newer.npz", about=np.array('{"format": 99}'))
    for name in ("other.npz", "text.npz"):
        with pytest.raises(CorruptData, match=f"{name} is not a run saved by dendrocap"):
            load_run(tmp_path / name)
    with pytest.raises(CorruptData, match=r"newer.npz has format 99, but 2 was expected"):
        load_run(tmp_path / "newer.npz")
