"""Compiled training against slow twins and against the loss it descends."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal

from dendrocap import (
    Custom,
    DendriticNeuron,
    LinearNeuron,
    NeuronSpec,
    Polsky,
    ReLU,
    SaturatingReLU,
    Smooth,
    Step,
    Tabulated,
    pack_patterns,
    random_patterns,
)
from dendrocap.learning import (
    SGD,
    FlooredSlope,
    LocalRule,
    Lorentzian,
    SlopeOf,
    TrueSlope,
    cross_entropy,
    soft_error,
    three_factors,
)
from dendrocap.learning.engine import LANES, LaneLayout, aligned_zeros
from dendrocap.model import Patterns
from dendrocap.model.nonlinearities import BUILT_IN, TABLE
from tests.naive.learning import naive_epoch


def smooth_step(x):
    x = np.clip(x, 0.0, 1.0)
    return x * x * (3.0 - 2.0 * x)


def smooth_step_slope(x):
    return np.where((x > 0.0) & (x < 1.0), 6.0 * x * (1.0 - x), 0.0)


# A cubic between its breakpoints: its table holds it to the last bits, so the twin may call the function itself.
CUBIC = Custom(smooth_step, smooth_step_slope, breakpoints=(0.0, 1.0))
WITH_A_SLOPE = [kind() for kind in BUILT_IN.values() if kind is not Step]
NONLINEARITIES = [
    *(g for g in WITH_A_SLOPE if g.kernel().code != TABLE),
    Polsky(0.0, 4.0),
    Polsky(1.0, 15.0),
    Tabulated([0.0, 0.3, 1.0], [0.1, 0.2, 1.0], above="linear"),
    Smooth([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 0.1, 0.5, 0.8, 0.9, 1.0]),
    CUBIC,
]
SIZES = [(81, 27), (100, 27), (47, 16), (61, 17), (53, 7), (50, 3), (23, 2), (37, 1)]
SURROGATES = [TrueSlope(), Lorentzian(0.2, 0.5), FlooredSlope(0.3), SlopeOf(ReLU()), SlopeOf(CUBIC)]


def problem(nonlinearity, size, rng, n_patterns=30):
    n_inputs, n_branches = size
    neuron = DendriticNeuron(NeuronSpec(nonlinearity, theta_d=0.2, theta_s=0.3), n_inputs, n_branches)
    inputs, labels = random_patterns(n_patterns, n_inputs, rng=rng)
    weights = neuron.flat_weights(neuron.initial_weights(0.5, rng))
    return neuron, inputs, labels, weights, rng.permutation(n_patterns)


def compiled_epoch(neuron, inputs, labels, weights, order, rate=0.5, gamma_ce=3.0, **algorithm):
    engine = SGD(rate, gamma_ce, **algorithm).engine(neuron, Patterns(inputs, labels))
    engine.set_weights(weights)
    engine.epoch(order, rate)
    return engine


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("nonlinearity", NONLINEARITIES, ids=lambda g: f"{g.name}{g.breakpoints}")
def test_epoch_equals_naive_epoch(nonlinearity, size, rng):
    neuron, inputs, labels, weights, order = problem(nonlinearity, size, rng)
    engine = compiled_epoch(neuron, inputs, labels, weights, order, precision="float64")
    expected = naive_epoch(neuron, weights, inputs, labels, order, 0.5, 3.0)
    assert_allclose(engine.weights(), expected, rtol=0, atol=1e-12)
    assert np.max(np.abs(engine.weights() - weights)) > 1e-3
    signs = np.where(labels, 1.0, -1.0)
    assert_allclose(engine.margins(), signs * neuron.somatic_input(engine.weights(), inputs), rtol=0, atol=1e-12)


@pytest.mark.parametrize("surrogate", SURROGATES, ids=repr)
@pytest.mark.parametrize("nonlinearity", [Polsky(), Step(), CUBIC], ids=lambda g: g.name)
def test_surrogates_enter_the_epoch_as_written(nonlinearity, surrogate, rng):
    if isinstance(nonlinearity, Step) and isinstance(surrogate, TrueSlope):
        surrogate = SlopeOf(SaturatingReLU())
    neuron, inputs, labels, weights, order = problem(nonlinearity, (100, 27), rng)
    engine = compiled_epoch(neuron, inputs, labels, weights, order, precision="float64", surrogate=surrogate)
    expected = naive_epoch(
        neuron, weights, inputs, labels, order, 0.5, 3.0, lambda x: surrogate.signal(nonlinearity, x)
    )
    assert_allclose(engine.weights(), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("nonlinearity", NONLINEARITIES, ids=lambda g: f"{g.name}{g.breakpoints}")
def test_local_rule_with_default_factors_is_sgd(nonlinearity, rng):
    neuron, inputs, labels, weights, order = problem(nonlinearity, (53, 7), rng)
    rule = LocalRule(0.5, gamma_ce=3.0).engine(neuron, Patterns(pack_patterns(inputs), labels))
    rule.set_weights(weights)
    rule.epoch(order, 0.5)
    engine = compiled_epoch(neuron, inputs, labels, weights, order, precision="float64")
    assert_allclose(rule.weights(), engine.weights(), rtol=0, atol=1e-12)
    assert_allclose(rule.margins(), engine.margins(), rtol=0, atol=1e-12)


def test_each_factor_of_the_local_rule_can_be_replaced(rng):
    neuron, inputs, labels, weights, order = problem(Polsky(), (53, 7), rng)

    def after(**factors):
        rule = LocalRule(0.5, gamma_ce=3.0, **factors).engine(neuron, Patterns(inputs, labels))
        rule.set_weights(weights)
        rule.epoch(order, 0.5)
        return rule.weights()

    assert_array_equal(after(error=lambda margin: 0.0), weights)
    assert_array_equal(after(presynaptic=np.zeros_like), weights)
    bump = Lorentzian()
    expected = naive_epoch(neuron, weights, inputs, labels, order, 0.5, 3.0, lambda x: bump.signal(None, x))
    assert_allclose(after(dendritic_signal=lambda x: bump.signal(None, x)), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("nonlinearity", NONLINEARITIES, ids=lambda g: f"{g.name}{g.breakpoints}")
def test_float32_follows_float64(nonlinearity, rng):
    # One step adds at most rate * 5 / sqrt(N) to a weight; 100 steps on weights below 4 accumulate rounding of
    # 100 half-ulps, 100 * 2.4e-7, plus what a rounded branch input (1e-6) changes through the slope of g'.
    neuron, inputs, labels, weights, order = problem(nonlinearity, (999, 27), rng, n_patterns=100)
    single = compiled_epoch(neuron, inputs, labels, weights.astype(np.float32), order, 0.05)
    double = compiled_epoch(neuron, inputs, labels, weights.astype(np.float32), order, 0.05, precision="float64")
    assert single.weights().dtype == np.float32
    assert_allclose(single.weights(), double.weights(), rtol=0, atol=3e-5)
    assert_allclose(single.margins(), double.margins(), rtol=0, atol=3e-5)


def test_one_update_is_minus_the_gradient_of_the_loss(rng):
    neuron, inputs, labels, weights, _ = problem(Polsky(), (50, 3), rng)
    weights = weights + 0.1  # away from the clipping at zero
    step, rate = 1e-6, 1e-3
    for pattern in range(5):
        one, label = inputs[pattern : pattern + 1], labels[pattern : pattern + 1]
        engine = compiled_epoch(neuron, one, label, weights, np.array([0]), rate, precision="float64")
        sign = 2.0 * label[0] - 1.0

        def loss(w, one=one, sign=sign):
            return float(cross_entropy(sign * neuron.somatic_input(w, one)[0], 3.0))

        moves = step * np.eye(neuron.n_inputs)
        gradient = np.array([(loss(weights + move) - loss(weights - move)) / (2 * step) for move in moves])
        # Central differences: step^2 f''' / 6 is 1e-9 here (gamma^2 ~ 200), rounding 1e-16 / step is 1e-10.
        assert_allclose((engine.weights() - weights) / rate, -gradient, rtol=0, atol=1e-7)
        factors = three_factors(neuron, weights, inputs[pattern], int(label[0]), gamma_ce=3.0)
        assert_allclose(factors.product, (engine.weights() - weights) / rate, rtol=0, atol=1e-11)


def test_soft_error_is_the_slope_of_the_loss():
    margin = np.linspace(-2.0, 2.0, 41)
    slope = (cross_entropy(margin + 1e-6, 4.0) - cross_entropy(margin - 1e-6, 4.0)) / 2e-6
    assert_allclose(soft_error(margin, 4.0), -slope, rtol=0, atol=1e-9)
    printed = -margin / 2 + np.log(2 * np.cosh(4.0 * margin)) / 8.0
    assert_allclose(cross_entropy(margin, 4.0), printed, rtol=0, atol=1e-14)
    assert_array_equal(soft_error([-1e300, 1e300], 100.0), [1.0, 0.0])


@pytest.mark.parametrize("c", [4.0, 10.0])
def test_rescaling_invariance_of_the_linear_neuron(c, rng):
    # zeta / c, c gamma_ce, theta / c turn weights W into W / c; for c = 4 even the rounding scales along.
    inputs, labels = random_patterns(40, 99, rng=rng)
    neuron, small = LinearNeuron(0.5, 99), LinearNeuron(0.5 / c, 99)
    weights = neuron.flat_weights(neuron.initial_weights(0.5, rng))
    big_engine = SGD(0.1, 2.0, precision="float64").engine(neuron, Patterns(inputs, labels))
    small_engine = SGD(0.1 / c, 2.0 * c, precision="float64").engine(small, Patterns(inputs, labels))
    big_engine.set_weights(weights)
    small_engine.set_weights(weights / c)
    for _ in range(20):
        order = rng.permutation(40)
        big_engine.epoch(order, 0.1)
        small_engine.epoch(order, 0.1 / c)
    difference = np.abs(big_engine.weights() - c * small_engine.weights()).max()
    assert difference == 0.0 if c == 4.0 else difference < 1e-12
    assert np.abs(big_engine.weights() - weights).max() > 0.01


@settings(max_examples=40, deadline=None)
@given(
    n_inputs=st.integers(1, 70),
    branches=st.floats(0.0, 1.0),
    rate=st.floats(1e-6, 1e3),
    gamma_ce=st.floats(1e-3, 1e3),
    seed=st.integers(0, 2**32),
    precision=st.sampled_from(["float32", "float64"]),
)
def test_weights_never_become_negative(n_inputs, branches, rate, gamma_ce, seed, precision):
    generator = np.random.default_rng(seed)
    size = (n_inputs, 1 + int(branches * (n_inputs - 1)))
    neuron, inputs, labels, weights, order = problem(Polsky(), size, generator, n_patterns=12)
    engine = compiled_epoch(neuron, inputs, labels, weights, order, rate, gamma_ce, precision=precision)
    assert np.all(engine.weights() >= 0.0)
    assert np.all(np.isfinite(engine.weights()))


@settings(max_examples=60, deadline=None)
@given(n_inputs=st.integers(1, 300), branches=st.floats(0.0, 1.0))
def test_every_synapse_has_its_own_place_and_its_bit_sits_there(n_inputs, branches):
    neuron = DendriticNeuron(NeuronSpec(ReLU(), 0.2, 0.3), n_inputs, 1 + int(branches * (n_inputs - 1)))
    layout = LaneLayout(neuron)
    assert len(set(layout.places.tolist())) == n_inputs
    flat = np.arange(1.0, n_inputs + 1.0)
    lanes = layout.spread_weights(flat, np.float64)
    assert_array_equal(layout.gather_weights(lanes), flat)
    inputs, _ = random_patterns(3, n_inputs, rng=n_inputs)
    bits = layout.pack(inputs)
    shown = (bits[..., None] >> np.arange(LANES)) & 1
    assert_array_equal(shown * lanes, np.stack([layout.spread_weights(flat * row, np.float64) for row in inputs]))
    assert_array_equal(layout.pack(pack_patterns(inputs)), bits)


def test_patterns_take_one_bit_each():
    neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.05, 0.5), 10_000, 100)
    inputs, labels = random_patterns(200, 10_000, rng=0, packed=True)
    engine = SGD().engine(neuron, Patterns(inputs, labels))
    # 100 branches fill 112 lanes: 1.12 bits per input, 28 MB for 20,000 patterns.
    assert engine.pattern_bytes * 8 <= 1.13 * 200 * 10_000


def test_memory_of_weights_starts_at_a_cache_line():
    for dtype in (np.float32, np.float64):
        assert aligned_zeros((3, 5, LANES), dtype).ctypes.data % 64 == 0


def test_nan_in_the_weights_stays_visible(rng):
    neuron, inputs, labels, weights, order = problem(Polsky(), (50, 3), rng)
    weights[7] = np.nan
    engine = SGD().engine(neuron, Patterns(inputs, labels))
    engine.set_weights(weights)
    engine.epoch(order, 0.01)
    assert np.isnan(engine.weights()).any()


def test_float32_exponential_is_good_to_a_few_roundings():
    from dendrocap.learning._simd import exponential, load, pointer, store

    @njit
    def apply(x, y):
        for i in range(0, x.size, 16):
            store(pointer(y), i, exponential(load(pointer(x), i)))

    x = np.linspace(-87.0, 88.0, 16 * 20_000, dtype=np.float32)
    y = np.empty_like(x)
    apply(x, y)
    assert np.max(np.abs(y / np.exp(x.astype(np.float64)) - 1.0)) < 2e-7
