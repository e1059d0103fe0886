"""Flat parameters and objects: each is the other, seen from its side."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dendrocap import (
    Custom,
    DendriticNeuron,
    InvalidParameter,
    Level,
    Linear,
    LinearNeuron,
    NeuronSpec,
    PiecewiseLinear,
    Polsky,
    ReLU,
    SaturatingReLU,
    Smooth,
    Step,
    Tabulated,
    TaskSpec,
)
from dendrocap.model.flat import (
    NEURON,
    TASK,
    finite_neuron,
    flat_neuron,
    flat_nonlinearity,
    flat_task,
    neuron_from_flat,
    nonlinearity_from_flat,
    task_from_flat,
)

numbers = st.floats(0.0, 10.0)
nonlinearities = st.one_of(
    st.sampled_from(
        [ReLU(), SaturatingReLU(), Step(), Linear(), PiecewiseLinear([0, 1, 3], [0, 2, 2], above="linear")]
    ),
    st.builds(Polsky, x_min=st.floats(0.0, 1.0), gamma=st.floats(0.1, 100.0)),
    st.sampled_from(
        [Smooth(range(8), [0, 0, 1, 2, 2, 4, 4, 5]), Smooth([1, 0, 2], [1, 0, 3], sem=0.1, above="linear")]
    ),
    st.builds(
        lambda steps, y, below: Tabulated([sum(steps[: i + 1]) for i in range(3)], y, below=below),
        st.lists(st.floats(0.1, 2.0), min_size=3, max_size=3),
        st.lists(st.floats(-2.0, 2.0), min_size=3, max_size=3),
        st.sampled_from(["flat", "linear"]),
    ),
)
specs = st.builds(NeuronSpec, nonlinearities, numbers, numbers)
neurons = st.one_of(
    specs,
    st.builds(
        lambda spec, k, groups, size: DendriticNeuron(spec, size * (k + groups), k, size),
        specs,
        st.integers(1, 20),
        st.integers(0, 100),
        st.integers(1, 3),
    ),
    st.builds(LinearNeuron, numbers, st.integers(1, 1000)),
)
levels = st.floats(0.01, 0.99)


@given(neurons)
def test_a_neuron_comes_back_from_json_as_it_was(neuron):
    flat = flat_neuron(neuron)
    assert set(flat) <= set(NEURON)
    back = neuron_from_flat(json.loads(json.dumps(flat)))
    assert back == neuron
    assert type(back) is type(neuron)


@given(st.builds(TaskSpec, levels, levels, numbers, st.just(0.0) | numbers))
def test_a_task_comes_back_from_json_as_it_was(task):
    left_out = set() if task.branch_correlation else {"branch_correlation"}  # so that older sweeps keep their names
    assert set(flat_task(task)) == set(TASK) - left_out
    assert task_from_flat(json.loads(json.dumps(flat_task(task)))) == task


@given(nonlinearities)
def test_a_nonlinearity_comes_back_from_json_as_it_was(g):
    assert nonlinearity_from_flat(json.loads(json.dumps(flat_nonlinearity(g)))) == g


def test_what_is_not_given_is_as_in_the_default():
    usual = NeuronSpec(Polsky(gamma=20.0), 0.1, 0.5)
    assert neuron_from_flat({}, usual) == usual
    assert neuron_from_flat({"theta_d": 0.3, "x_min": 0.2}, usual) == NeuronSpec(Polsky(0.2, 20.0), 0.3, 0.5)
    assert neuron_from_flat({"nonlinearity": "relu"}, usual) == NeuronSpec(ReLU(), 0.1, 0.5)
    assert task_from_flat({"f_out": 0.2}, TaskSpec(f_in=0.1)) == TaskSpec(f_in=0.1, f_out=0.2)


def test_linear_branches_are_not_the_linear_neuron():
    flat = {"nonlinearity": "linear", "theta_d": 0.5, "theta_s": 0.5, "n_inputs": 9, "n_branches": 3}
    assert neuron_from_flat(flat) == DendriticNeuron(NeuronSpec(Linear(), 0.5, 0.5), 9, 3)


@pytest.mark.parametrize(
    ("flat", "words"),
    [
        ({"theta_s": 0.5}, "the neuron needs a value for theta_d"),
        ({"theta_d": 0.5}, "the neuron needs a value for theta_s"),
        ({"theta_d": 0.5, "theta_s": 0.5, "n_inputs": 9}, "n_branches"),
        ({"theta_d": 0.5, "theta_s": 0.5, "colour": 1}, "colour is not a parameter of a neuron"),
        (
            {"nonlinearity": "linear", "theta_d": 0.5, "theta_s": 0.5, "n_inputs": 9},
            "theta_s is not a parameter",
        ),
        ({"nonlinearity": "relu", "gamma": 2.0, "theta_d": 0.5, "theta_s": 0.5}, "gamma is not a parameter of relu"),
        ({"nonlinearity": "tabulated", "theta_d": 0.5, "theta_s": 0.5}, "needs values for x and y"),
        (
            {"nonlinearity": "tabulated", "gamma": 2.0, "theta_d": 0.5, "theta_s": 0.5},
            "gamma is not a parameter of",
        ),
    ],
)
def test_what_describes_no_neuron_is_refused(flat, words):
    with pytest.raises(InvalidParameter, match=words):
        neuron_from_flat(flat)


def test_what_has_no_flat_parameters_is_refused():
    with pytest.raises(InvalidParameter, match="function cannot be stored"):
        flat_nonlinearity(Custom(abs))
    with pytest.raises(InvalidParameter, match="n_levels = 2"):
        flat_neuron(NeuronSpec(levels=[Level(ReLU(), 0.1)] * 2, theta_s=0.5))
    with pytest.raises(InvalidParameter, match="f_ni is not a parameter of a task"):
        task_from_flat({"f_ni": 0.1})
    with pytest.raises(InvalidParameter, match="give n_inputs and n_branches"):
        finite_neuron(NeuronSpec(ReLU(), 0.1, 0.5))
