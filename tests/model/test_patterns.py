"""Random tasks and their packed form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from dendrocap import InvalidParameter, PackedPatterns, Patterns, pack_patterns, random_patterns
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
