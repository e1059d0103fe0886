"""The neuron against its equations, its symmetries, and its refusals."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from dendrocap import (
    Branches,
    DendriticNeuron,
    Inhibition,
    InvalidParameter,
    Level,
    Linear,
    LinearNeuron,
    NeuronSpec,
    Polsky,
    ReLU,
    SaturatingReLU,
    TaskSpec,
    pack_patterns,
    random_patterns,
)
from dendrocap.model import Patterns
from dendrocap.model import dendritic_neuron as neuron_module
from tests.naive.neuron import naive_somatic_input

specs = st.builds(
    NeuronSpec,
    st.sampled_from([Polsky(), Polsky(0.1, 40.0), ReLU(), SaturatingReLU(), Linear()]),
    st.floats(0.0, 2.0),
    st.floats(0.0, 1.0),
)
sizes = st.integers(1, 12).flatmap(lambda k: st.tuples(st.integers(k, 40), st.just(k)))


def problem(spec, size, seed):
    neuron = DendriticNeuron(spec, *size)
    rng = np.random.default_rng(seed)
    inputs, _ = random_patterns(7, neuron.n_inputs, rng=rng)
    return neuron, neuron.initial_weights(0.5, rng), inputs, rng


@given(specs, sizes, st.integers(0, 2**32 - 1))
def test_somatic_input_equals_the_naive_sum(spec, size, seed):
    neuron, weights, inputs, _ = problem(spec, size, seed)
    cuts = neuron.branch_starts[1:]
    naive = [
        naive_somatic_input(
            neuron.nonlinearity, neuron.theta_d, spec.theta_s,
            np.split(neuron.flat_weights(weights), cuts), np.split(row, cuts),
        )
        for row in inputs
    ]  # fmt: skip
    assert_allclose(neuron.somatic_input(weights, inputs), naive, rtol=1e-10, atol=1e-10)
    # Where the naive sum is not within rounding of the threshold, the answers agree too.
    clear = np.abs(naive) > 1e-9
    assert_array_equal(neuron.predict(weights, inputs)[clear], (np.array(naive) > 0)[clear])


@given(specs, sizes, st.integers(0, 2**32 - 1))
def test_permuting_synapses_within_a_branch_changes_nothing(spec, size, seed):
    neuron, weights, inputs, rng = problem(spec, size, seed)
    flat = neuron.flat_weights(weights)
    order = np.concatenate(
        [start + rng.permutation(n) for start, n in zip(neuron.branch_starts, neuron.branch_sizes, strict=True)]
    )
    before, after = neuron.somatic_input(flat, inputs), neuron.somatic_input(flat[order], inputs[:, order])
    assert_allclose(after, before, rtol=1e-10, atol=1e-10)


@given(specs, st.integers(1, 8), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_permuting_branches_changes_nothing(spec, n_branches, branch_size, seed):
    neuron, weights, inputs, rng = problem(spec, (n_branches * branch_size, n_branches), seed)
    order = rng.permutation(n_branches)
    shuffled = inputs.reshape(-1, n_branches, branch_size)[:, order].reshape(inputs.shape)
    assert_allclose(
        neuron.somatic_input(weights[order], shuffled), neuron.somatic_input(weights, inputs), rtol=1e-10, atol=1e-10
    )


def test_unequal_branches_share_the_inputs_in_order():
    neuron = DendriticNeuron(NeuronSpec(ReLU(), 0.1, 0.1), 11, 3)
    assert neuron.branch_sizes.tolist() == [4, 4, 3]
    assert neuron.branch_starts.tolist() == [0, 4, 8]
    flat = np.arange(11.0)
    shaped = neuron.shaped_weights(flat)
    assert shaped.shape == neuron.weights_shape == (3, 4)
    assert shaped[2].tolist() == [8.0, 9.0, 10.0, 0.0]
    assert_array_equal(neuron.flat_weights(shaped), flat)


def test_groups_of_inputs_stay_on_one_branch():
    neuron = DendriticNeuron(NeuronSpec(ReLU(), 0.1, 0.1), 6144, 72, group_size=2)
    assert sorted(set(neuron.branch_sizes.tolist())) == [84, 86]
    assert neuron.branch_sizes.sum() == 6144
    assert np.all(neuron.branch_starts % 2 == 0)


def test_packed_patterns_and_small_blocks_give_the_same_answers(monkeypatch, rng):
    neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.1, 0.5), 101, 7)
    inputs, _ = random_patterns(50, 101, rng=rng)
    weights = neuron.initial_weights(0.5, rng)
    whole = neuron.branch_input(weights, inputs)
    monkeypatch.setattr(neuron_module, "BLOCK", 3 * 101)
    # BLAS may sum a block of another height in another order.
    assert_allclose(neuron.branch_input(weights, inputs), whole, rtol=1e-13, atol=1e-13)
    assert_allclose(neuron.branch_input(weights, pack_patterns(inputs)), whole, rtol=1e-13, atol=1e-13)


def test_initial_weights_balance_the_dendritic_threshold(rng):
    neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.3, 0.5), 40_000, 4)
    inputs, _ = random_patterns(200, 40_000, f_in=0.2, rng=rng)
    weights = neuron.initial_weights(0.2, rng)
    branch_input = neuron.branch_input(weights, inputs)
    # Weights and inputs are independent, so a branch input has variance
    # E[W^2] f - (E[W] f)^2 = (4/3) theta^2/f - theta^2; its mean over n = 800 draws is 0 within 5 sigma.
    # (The sample of weights is shared by all patterns; with 10,000 per branch its share is counted in full.)
    sd = 0.3 * np.sqrt(4 / (3 * 0.2) - 1)
    weight_share = 0.2 * (2 * 0.3 / 0.2) / np.sqrt(12) / np.sqrt(4)
    assert abs(branch_input.mean()) < 5 * np.hypot(sd / np.sqrt(800), weight_share)
    assert_allclose(branch_input.std(), sd, rtol=0.2)


def test_linear_neuron_is_one_linear_branch_without_somatic_threshold(rng):
    linear = LinearNeuron(0.5, 99)
    inputs, _ = random_patterns(20, 99, rng=rng)
    weights = linear.initial_weights(0.5, rng)
    expected = inputs @ weights[0] / np.sqrt(99) - np.sqrt(99) * 0.5
    assert_allclose(linear.somatic_input(weights, inputs), expected, rtol=1e-12)
    assert_array_equal(linear.predict(weights, inputs), expected > 0)
    assert_allclose(linear.branch_input(weights, inputs)[:, 0], expected, rtol=1e-12)
    assert pickle.loads(pickle.dumps(linear)) == linear
    assert repr(linear) == "LinearNeuron(theta_d=0.5, n_inputs=99)"


def test_a_spec_may_have_several_populations():
    assert TWO_KINDS.n_populations == 2
    assert eval(repr(TWO_KINDS)) == TWO_KINDS
    assert replace(TWO_KINDS, theta_s=0.4).populations == HALVES


def test_a_spec_may_have_several_levels():
    deep = NeuronSpec(levels=(Level(Polsky(), 0.1), Level(ReLU(), 0.4)), theta_s=0.5)
    assert deep.n_levels == 2
    assert [(level.theta, level.nonlinearity) for level in deep.tree] == [(0.1, Polsky()), (0.4, ReLU())]
    assert hash(deep) == hash(NeuronSpec(levels=(Level(Polsky(), 0.1), Level(ReLU(), 0.4)), theta_s=0.5))
    single = NeuronSpec(Polsky(), 0.1, 0.5)
    assert [level.theta for level in single.tree] == [0.1]


HALVES = (Branches(Polsky(), 0.1, fraction=0.5, mean_output=0.1), Branches(ReLU(), 0.2, fraction=0.5, length=2.0))
TWO_KINDS = NeuronSpec(populations=HALVES, theta_s=0.5)
SPEC = NeuronSpec(Polsky(), 0.1, 0.5)
NEURON = DendriticNeuron(SPEC, 10, 3)
GOOD = NEURON.initial_weights(0.5, 0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: NeuronSpec(Polsky(), -0.1, 0.5), ["theta_d = -0.1", ">= 0"]),
        (lambda: NeuronSpec(Polsky(), float("nan"), 0.5), ["theta_d = nan"]),
        (lambda: NeuronSpec(Polsky(), 0.1, float("inf")), ["theta_s = inf", "finite"]),
        (lambda: NeuronSpec("polsky", 0.1, 0.5), ["nonlinearity = 'polsky'"]),
        (lambda: NeuronSpec([], 0.1, 0.5), ["nonlinearity = []", "levels=", "populations="]),
        (lambda: NeuronSpec([Polsky()] * 2, [0.1, 0.2], 0.5), ["nonlinearity = [", "levels=", "populations="]),
        (lambda: NeuronSpec(levels=(Level(Polsky(), -1.0),), theta_s=0.5), ["theta = -1"]),
        (lambda: NeuronSpec(levels=(Polsky(),), theta_s=0.5), ["levels", "a sequence of Level"]),
        (lambda: NeuronSpec(Polsky(), 0.1, 0.5, populations=HALVES), ["either nonlinearity and theta_d"]),
        (lambda: NeuronSpec(theta_d=0.1, theta_s=0.5, populations=HALVES), ["either nonlinearity and theta_d"]),
        (lambda: NeuronSpec(Polsky(), theta_s=0.5), ["either nonlinearity and theta_d"]),
        (lambda: NeuronSpec(Polsky(), 0.1), ["theta_s = None"]),
        (lambda: NeuronSpec(populations=HALVES[:1], theta_s=0.5), ["the sum of all fractions = 0.5", "1"]),
        (lambda: Branches(Polsky(), 0.1, 1.5), ["fraction = 1.5", "(0, 1]"]),
        (lambda: Branches(Polsky(), 0.1, 0.5, length=0.0), ["length = 0.0"]),
        (lambda: Branches(Polsky(), 0.1, 0.5, mean_output="largest"), ["mean_output = 'largest'", "best"]),
        (lambda: Branches("polsky", 0.1, 0.5), ["nonlinearity = 'polsky'"]),
        (lambda: DendriticNeuron(TWO_KINDS, 10, 2).nonlinearity, ["2 populations", "all be alike"]),
        (lambda: TaskSpec(f_in=0.0), ["f_in = 0.0", "(0, 1)"]),
        (lambda: TaskSpec(f_out=1.0), ["f_out = 1.0", "(0, 1)"]),
        (lambda: TaskSpec(kappa=float("inf")), ["kappa = inf", "finite"]),
        (lambda: NeuronSpec(ReLU(), 0.5, -0.1), ["theta_s = -0.1", ">= 0", "below 0"]),
        (lambda: DendriticNeuron(SPEC, 10, 11), ["n_branches = 11", "[1, 10]"]),
        (lambda: DendriticNeuron(SPEC, 0, 1), ["n_inputs = 0", ">= 1"]),
        (lambda: DendriticNeuron(SPEC, 10.0, 2), ["n_inputs = 10.0", "whole number"]),
        (lambda: DendriticNeuron(SPEC, True, 1), ["n_inputs = True"]),
        (lambda: DendriticNeuron(SPEC, 10, 2, group_size=3), ["group_size = 3", "divisor of n_inputs = 10"]),
        (lambda: DendriticNeuron(SPEC, 10, 6, group_size=2), ["n_branches = 6", "[1, 5]"]),
        (lambda: DendriticNeuron(Polsky(), 10, 2), ["spec", "NeuronSpec"]),
        (lambda: DendriticNeuron(NeuronSpec(levels=[Level(ReLU(), 0.1)] * 2, theta_s=0.5), 10, 2), ["n_levels = 2"]),
        (lambda: NEURON.predict(GOOD[:2], np.zeros((1, 10))), ["(2, 4)", "(3, 4)", "(10,)"]),
        (lambda: TaskSpec(branch_correlation=-0.1), ["branch_correlation = -0.1"]),
        (lambda: Inhibition(share=1.0, drive=0.1), ["share = 1.0"]),
        (lambda: Inhibition(share=0.2, drive=-0.1), ["drive = -0.1"]),
        (lambda: Inhibition(share=0.0, drive=0.1), ["drive = 0.1", "share = 0"]),
        (lambda: Inhibition(share=0.2, drive=0.1, f_in=0.0), ["f_in = 0.0"]),
        (lambda: NeuronSpec(ReLU(), 0.5, 0.5, inhibition=0.2), ["inhibition = 0.2", "Inhibition(share="]),
        (lambda: NeuronSpec(ReLU(), 0.5, 0.5, inhibition=Inhibition(0.2, 0.6)), ["drive = 0.6", "theta_d = 0.5"]),
        (
            lambda: NeuronSpec(populations=[Branches(ReLU(), 0.5, 1.0)], theta_s=0.5, inhibition=Inhibition(0.2, 0.1)),
            ["inhibition", "populations", "Branches("],
        ),
        (lambda: NEURON.predict(-np.ones(10), np.zeros((1, 10))), ["weights[0] = -1.0", ">= 0"]),
        (lambda: NEURON.predict(np.full(10, np.nan), np.zeros((1, 10))), ["weights[0] = nan"]),
        (lambda: NEURON.predict(np.ones((3, 4)), np.zeros((1, 10))), ["short branch", "0"]),
        (lambda: NEURON.predict(np.ones(10, dtype=complex), np.zeros((1, 10))), ["complex"]),
        (lambda: NEURON.predict(GOOD, np.zeros((1, 9))), ["(1, 9)", "(n_patterns, 10)"]),
        (lambda: NEURON.predict(GOOD, np.full((1, 10), 0.5)), ["0.5", "0 or 1"]),
        (lambda: NEURON.predict(GOOD, np.full((1, 10), "a")), ["inputs.dtype"]),
        (lambda: NEURON.predict(GOOD, np.zeros((1, 1, 10))), ["(1, 1, 10)"]),
        (lambda: NEURON.initial_weights(f_in=1.0), ["f_in = 1.0"]),
    ],
)
def test_bad_values_are_named(make, words):
    with pytest.raises(InvalidParameter) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


def test_errors_are_wrong_answers_and_zero_is_one():
    neuron = LinearNeuron(theta_d=0.5, n_inputs=4)
    inputs = [[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]]  # Delta = 0.5, 0, -0.5
    for labels, wrong in (([1, 1, 0], 1), ([1, 0, 0], 1), ([0, 0, 1], 3)):
        patterns = Patterns(np.array(inputs), np.array(labels))
        assert neuron.errors(np.ones(4), patterns) == wrong
        assert neuron.errors(np.ones(4), Patterns(pack_patterns(inputs), patterns.labels)) == wrong
