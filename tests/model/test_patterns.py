"""Random tasks and their packed form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from dendrocap import (
    DendriticNeuron,
    Inhibition,
    InvalidParameter,
    Linear,
    LinearNeuron,
    NeuronSpec,
    NoSolution,
    Polsky,
    ReLU,
    SaturatingReLU,
    TaskSpec,
    linear_feasibility,
    pack_patterns,
    random_patterns,
)
from dendrocap.learning import patterns_at_load
from dendrocap.model import PackedPatterns, Patterns
from dendrocap.model import patterns as patterns_module
from dendrocap.model.patterns import binary_labels, binary_patterns

binary = hnp.arrays(np.uint8, hnp.array_shapes(min_dims=2, max_dims=2, max_side=40), elements=st.integers(0, 1))


@given(binary)
def test_packing_loses_nothing(inputs):
    packed = pack_patterns(inputs)
    assert packed.shape == inputs.shape
    assert len(packed) == len(inputs)
    assert_array_equal(packed.unpack(), inputs)
    assert_array_equal(packed.unpack(slice(1, 3)), inputs[1:3])
    assert pack_patterns(packed) is packed


def test_packed_and_plain_patterns_from_one_seed_are_the_same(monkeypatch):
    monkeypatch.setattr(patterns_module, "BLOCK", 500)  # several blocks
    plain, packed = random_patterns(60, 37, 0.3, 0.7, rng=5), random_patterns(60, 37, 0.3, 0.7, rng=5, packed=True)
    assert_array_equal(packed.inputs.unpack(), plain.inputs)
    assert_array_equal(packed.labels, plain.labels)
    again = random_patterns(60, 37, 0.3, 0.7, rng=5)
    assert_array_equal(again.inputs, plain.inputs)


@pytest.mark.parametrize(("f_in", "f_out"), [(0.5, 0.5), (0.05, 0.9)])
def test_coding_levels_within_five_standard_errors(f_in, f_out, rng):
    inputs, labels = random_patterns(20_000, 50, f_in, f_out, rng=rng)
    assert abs(inputs.mean() - f_in) < 5 * np.sqrt(f_in * (1 - f_in) / inputs.size)
    assert abs(labels.mean() - f_out) < 5 * np.sqrt(f_out * (1 - f_out) / labels.size)


def test_signs_and_dense_inputs_whatever_form_the_patterns_have():
    inputs, labels = np.array([[1, 0, 1], [0, 0, 1]], dtype=np.uint8), np.array([0, 1], dtype=np.uint8)
    for patterns in (Patterns(inputs, labels), Patterns(pack_patterns(inputs), labels)):
        assert patterns.signs.tolist() == [-1.0, 1.0]
        assert_array_equal(patterns.dense, inputs)


def test_patterns_are_checked_together():
    assert binary_patterns([[True, False]], [1.0], 2).labels.dtype == np.uint8
    for inputs, labels, said in (
        (np.empty((0, 2)), [], "at least one pattern"),
        ([[1, 0]], [1, 0], r"labels.shape = \(2,\)"),
        ([[1, 0, 0]], [1], r"inputs.shape = \(1, 3\)"),
    ):
        with pytest.raises(InvalidParameter, match=said):
            binary_patterns(inputs, labels, 2)


def test_packed_memory_is_one_bit_per_input():
    inputs, _ = random_patterns(1000, 10_000, packed=True, rng=0)
    assert inputs.nbytes == 1000 * 10_000 // 8  # so 100,000 patterns take 125 MB


def test_booleans_and_floats_are_understood():
    assert pack_patterns(np.array([[True, False]])).unpack().tolist() == [[1, 0]]
    assert pack_patterns([[1.0, 0.0]]).unpack().tolist() == [[1, 0]]
    assert binary_labels([0, 1], 2).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: random_patterns(-1, 3), ["n_patterns = -1", ">= 0"]),
        (lambda: random_patterns(1, 0), ["n_inputs = 0", ">= 1"]),
        (lambda: random_patterns(1, 3, f_in=1.2), ["f_in = 1.2", "(0, 1)"]),
        (lambda: random_patterns(1, 3, f_out=0.0), ["f_out = 0.0", "(0, 1)"]),
        (lambda: pack_patterns([[0, 2]]), ["2", "0 or 1"]),
        (lambda: pack_patterns([[0.0, np.nan]]), ["nan", "0 or 1"]),
        (lambda: binary_labels([0, 1, 1], 2), ["labels.shape = (3,)", "(2,)"]),
        (lambda: PackedPatterns(np.zeros((2, 2), np.uint8), 17), ["(2, 2)", "(n_patterns, 3)"]),
    ],
)
def test_bad_values_are_named(make, words):
    with pytest.raises(InvalidParameter) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("f_in", "c0", "size"), [(0.5, 2.0, 20), (0.1, 1.0, 12), (0.3, 8.0, 10), (0.9, 0.3, 30), (0.05, 4.0, 20)]
)
def test_correlated_patterns_have_the_correlation_asked_for_within_branches_and_none_between(f_in, c0, size, rng):
    """Mean and covariances, within a branch and between branches, are right within five standard errors."""
    K, P = 3, 20_000
    inputs, _ = random_patterns(P, K * size, f_in, rng=rng, branch_correlation=c0, n_branches=K)
    c, v = c0 / size, f_in * (1.0 - f_in)
    counts = inputs.reshape(P, K, size).sum(axis=2).astype(float)
    # The count of a branch has the mean n f and the variance n v (1 + (n - 1) c); that is all pairs at once.
    mean, spread = counts.mean(axis=0), counts.std(axis=0)
    assert np.all(np.abs(mean - size * f_in) < 5 * spread / np.sqrt(P))
    squares = (counts - size * f_in) ** 2
    expected = size * v * (1.0 + (size - 1) * c)
    assert np.all(np.abs(squares.mean(axis=0) - expected) < 5 * squares.std(axis=0) / np.sqrt(P))
    assert abs(expected - size * v) > 5 * squares.std() / np.sqrt(P)  # independent inputs would fail
    for one, other in ((0, 1), (0, 2), (1, 2)):
        product = (counts[:, one] - size * f_in) * (counts[:, other] - size * f_in)
        assert abs(product.mean()) < 5 * product.std() / np.sqrt(P)
    single = (inputs[:, 0] - f_in) * (inputs[:, size - 1] - f_in)
    assert abs(single.mean() - c * v) < 5 * single.std() / np.sqrt(P)


def test_correlations_follow_the_branches_of_a_neuron():
    neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.1, 0.5), 50, 3)
    assert neuron.branch_sizes.tolist() == [17, 17, 16]
    by_number = random_patterns(40, 50, rng=1, branch_correlation=2.0, n_branches=3)
    by_sizes = random_patterns(40, 50, rng=1, branch_correlation=2.0, n_branches=[17, 17, 16], packed=True)
    assert_array_equal(by_number.inputs, by_sizes.inputs.unpack())
    assert_array_equal(by_number.labels, by_sizes.labels)
    task = TaskSpec(branch_correlation=2.0)
    assert_array_equal(patterns_at_load(neuron, 0.8, 1, task).inputs, by_number.inputs)


def test_without_correlation_patterns_are_what_they_were():
    """Drawn here as they always were: labels, then inputs, from the seed's child for patterns."""
    generator = np.random.default_rng(np.random.SeedSequence(5).spawn(1)[0])
    labels = generator.random(30) < 0.4
    expected = generator.random((30, 24), dtype=np.float32) < 0.3
    for more in ({}, {"branch_correlation": 0.0, "n_branches": 4}):
        drawn = random_patterns(30, 24, 0.3, 0.4, rng=5, **more)
        assert_array_equal(drawn.inputs, expected)
        assert_array_equal(drawn.labels, labels)
    assert_array_equal(random_patterns(30, 24, np.full(24, 0.3), 0.4, rng=5).inputs, expected)


def test_each_input_may_have_a_level_of_its_own(rng):
    f_in = np.repeat([0.1, 0.5, 0.8], [10, 20, 10])
    inputs, _ = random_patterns(5000, 40, f_in, rng=rng)
    assert np.all(np.abs(inputs.mean(axis=0) - f_in) < 5 * np.sqrt(f_in * (1 - f_in) / 5000))


@pytest.mark.parametrize("f_in", [0.5, 0.2])
@pytest.mark.parametrize("g", [Polsky(), ReLU(), SaturatingReLU(), Linear()], ids=lambda g: g.name)
def test_a_teacher_has_exponential_weights_and_balanced_branches(g, f_in, rng):
    n, K = 400, 30
    teacher = DendriticNeuron(NeuronSpec(g, 0.5, 0.5), n * K, K)
    weights = teacher.teacher_weights(f_in, rng)
    mean = weights.mean()
    # Exponential: the second moment is 2 n / (n + 1) of the squared mean, its standard error sqrt(20 / N).
    assert abs(np.mean(weights**2) / mean**2 - 2.0 * n / (n + 1.0)) < 5 * np.sqrt(20.0 / weights.size)
    assert_allclose(weights.mean(axis=1), mean, rtol=1e-12)
    inputs, _ = random_patterns(2000, n * K, f_in, rng=rng, packed=True)
    output = teacher.branch_output(teacher.branch_input(weights, inputs))
    # Mean over patterns and branches; inputs of other branches differ, so that all outputs are independent. Weights
    # other than Gaussian shift the mean by the skewness, below 0.2 / sqrt(n), times a slope of order one.
    assert abs(output.mean() - 0.5) < 5 * output.std() / np.sqrt(output.size) + 0.2 / np.sqrt(n)


def test_labels_of_a_teacher_and_its_one_seed():
    teacher = DendriticNeuron(NeuronSpec(Polsky(), 0.5, 0.5), 300, 10)
    drawn = random_patterns(200, 300, rng=3, teacher=teacher)
    weights = teacher.teacher_weights(rng=3)
    assert_array_equal(drawn.inputs, random_patterns(200, 300, rng=3).inputs)
    assert_array_equal(drawn.labels, teacher.predict(weights, drawn.inputs))
    again = random_patterns(50, 300, rng=4, teacher=(teacher, weights), packed=True)
    assert_array_equal(again.labels, teacher.predict(weights, again.inputs))
    assert 0 < drawn.labels.sum() < 200


def test_a_linear_neuron_learns_what_a_linear_teacher_says():
    """Below capacity a student that makes no error on many patterns of a teacher must agree with it on others."""
    teacher = LinearNeuron(0.5, 60)
    weights = teacher.teacher_weights(rng=0)
    learned = linear_feasibility(teacher, *random_patterns(600, 60, rng=1, teacher=(teacher, weights)))
    assert learned.feasible
    inputs, labels = random_patterns(4000, 60, rng=2, teacher=(teacher, weights))
    # Theory at load 10: 0.05; a student that learned nothing of it errs on half of all patterns.
    assert np.mean(teacher.predict(learned.weights, inputs) != labels) < 0.12


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: random_patterns(1, 20, branch_correlation=2.0), ["needs n_branches", "sizes"]),
        (lambda: random_patterns(1, 20, branch_correlation=-1.0, n_branches=2), ["branch_correlation = -1.0", ">= 0"]),
        (lambda: random_patterns(1, 20, branch_correlation=10.0, n_branches=2), ["10.0", "below N / K = 10", "equal"]),
        (lambda: random_patterns(1, 20, branch_correlation=1.0, n_branches=21), ["n_branches = 21", "[1, 20]"]),
        (lambda: random_patterns(1, 20, branch_correlation=1.0, n_branches=[9, 9]), ["18", "n_inputs = 20"]),
        (
            lambda: random_patterns(1, 4, [0.1, 0.2, 0.1, 0.1], branch_correlation=1.0, n_branches=2),
            ["branch_correlation = 1", "differ in f_in"],
        ),
        (lambda: random_patterns(1, 3, [0.5, 0.5]), ["f_in.shape = (2,)", "(3,)"]),
        (lambda: random_patterns(1, 2, [0.5, 1.0]), ["an entry of f_in = 1.0", "(0, 1)"]),
        (lambda: random_patterns(1, 2, teacher="me"), ["teacher = 'me'", "DendriticNeuron"]),
        (lambda: random_patterns(1, 2, teacher=LinearNeuron(0.5, 3)), ["teacher.n_inputs = 3", "n_inputs = 2"]),
        (lambda: random_patterns(1, 3, f_out=0.4, teacher=LinearNeuron(0.5, 3)), ["f_out = 0.4", "teacher"]),
        (
            lambda: random_patterns(
                1, 9, teacher=DendriticNeuron(NeuronSpec(Polsky(), 0.5, 0.5, inhibition=Inhibition(0.4, 0.1)), 9, 3)
            ),
            ["inhibition", "None for a teacher"],
        ),
        (lambda: DendriticNeuron(NeuronSpec(Polsky(), 0.5, 2.0), 9, 3).teacher_weights(), ["mean output 2"]),
    ],
)
def test_bad_correlations_and_teachers_are_named(make, words):
    with pytest.raises((InvalidParameter, NoSolution)) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


# Two neurons that have learned nothing disagree with this probability, in the limit of many and long branches.
DISAGREEMENT = {Linear: 0.333333, ReLU: 0.347018, SaturatingReLU: 0.356464, Polsky: 0.373162}


@pytest.mark.slow
@pytest.mark.parametrize("g", [Linear(), ReLU(), SaturatingReLU(), Polsky()], ids=lambda g: g.name)
def test_two_teachers_disagree_as_the_theory_of_generalisation_says(g):
    """arccos(C(q) / Gamma_0) / pi at load zero, theta_d = 1/2, where q / Q = 1/2."""
    n, K = 900, 60
    neuron = DendriticNeuron(NeuronSpec(g, 0.5, 0.5), n * K, K)
    inputs, _ = random_patterns(3000, n * K, rng=0, packed=True)
    answers = np.stack([neuron.predict(neuron.teacher_weights(rng=seed), inputs) for seed in range(12)])
    pairs = np.mean(answers[0::2] != answers[1::2], axis=1)
    error = pairs.std(ddof=1) / np.sqrt(len(pairs))
    # The mean weight is that of theta_d + m / sqrt(n), 3 % more at n = 900; it moves the fourth digit only.
    assert abs(pairs.mean() - DISAGREEMENT[type(g)]) < 4 * error + 1e-3
