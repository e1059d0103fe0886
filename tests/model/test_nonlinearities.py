"""Values, derivatives, limits and compiled twins of the dendritic non-linearities."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import dendrocap
from dendrocap import (
    SGD,
    Custom,
    DendriticNeuron,
    InvalidParameter,
    NeuronSpec,
    Nonlinearity,
    PiecewiseLinear,
    Polsky,
    SaturatingReLU,
    Smooth,
    Step,
    Tabulated,
    random_patterns,
    train,
)
from dendrocap.model import PiecewiseCubic, _compiled, nonlinearities

MEASURED = Tabulated([0.0, 0.2, 0.35, 0.5, 1.0], [0.0, 0.18, 0.4, 0.9, 1.0])
X = np.linspace(0.0, 1.5, 24)
AMONG = Smooth(X, Polsky(0.3, 12.0)(X) + 0.02 * np.cos(40.0 * X), sem=0.02)
STRAIGHT = PiecewiseLinear([-0.3, 0.0, 0.2, 0.7], [0.1, 0.1, 0.5, 0.8], above="linear")
BUILT_IN = [
    *(kind() for kind in nonlinearities.BUILT_IN.values()), Polsky(0.0, 200.0), Polsky(1.0), MEASURED, AMONG, STRAIGHT
]  # fmt: skip


class Arctangent(Nonlinearity):
    """What the recipe of CONTRIBUTING asks for, and nothing else."""

    breakpoints = ()
    range = (-np.pi / 2, np.pi / 2)

    def _value(self, x):
        return np.arctan(x)

    def _derivative(self, x):
        return 1.0 / (1.0 + x * x)


polskys = st.builds(Polsky, st.floats(0.0, 1.0), st.floats(0.1, 1e4))
points = st.floats(-1e6, 1e6)


def spread(g, n=4001):
    """Points on [-2, 2], dense around the knots, none of them on a breakpoint."""
    near = [b + s * 10.0**e for b in g.knots for e in (-6, -3, -1) for s in (-1, 1)]
    x = np.sort(np.concatenate([np.linspace(-2, 2, n), near]))
    return x[np.abs(x[:, None] - np.array([*g.breakpoints, np.inf])).min(axis=1) > 1e-9]


@given(polskys, points)
def test_polsky_equals_the_printed_formula(g, x):
    with np.errstate(over="ignore"):
        sigmoid = 2 * (1 - g.x_min) / (1 + np.exp(-g.gamma * (x - g.x_min))) - 1 + 2 * g.x_min
    printed = max(0.0, x) if x < g.x_min else sigmoid
    assert_allclose(g(x), printed, rtol=0, atol=1e-12)


@pytest.mark.parametrize("g", BUILT_IN, ids=repr)
def test_derivative_equals_a_finite_difference_away_from_breakpoints(g):
    x, h = spread(g), 1e-6
    x = x[np.abs(x[:, None] - np.array([*g.knots, np.inf])).min(axis=1) > 2 * h]
    difference = (g(x + h) - g(x - h)) / (2 * h)
    assert_allclose(g.derivative(x), difference, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("g", BUILT_IN, ids=repr)
def test_compiled_equals_exact(g):
    x = np.append(spread(g), [-1e6, 1e6, *g.breakpoints])
    kernel = g.kernel()
    if kernel.code == nonlinearities.TABLE and not isinstance(g, PiecewiseCubic):
        pytest.skip("approximated by a table, which another test compares")
    assert_allclose(_compiled.values(*kernel, x), g(x), rtol=1e-14, atol=1e-14)
    assert_allclose(_compiled.slopes(*kernel, x), g.derivative(x), rtol=1e-11, atol=1e-13)
    together = np.array([_compiled.value_and_slope(*kernel, at) for at in x])
    assert_allclose(together[:, 0], g(x), rtol=1e-14, atol=2e-14)
    assert_allclose(together[:, 1], g.derivative(x), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("g", BUILT_IN, ids=repr)
def test_table_agrees_with_exact(g):
    twin = Custom(g, g.derivative, g.breakpoints if g not in (MEASURED, AMONG) else g.knots)
    x = spread(g)
    kernel = twin.kernel()
    assert kernel.code == nonlinearities.TABLE
    assert_allclose(_compiled.values(*kernel, x), g(x), rtol=0, atol=5e-10)
    steepest = np.abs(g.derivative(x)).max()
    assert_allclose(_compiled.slopes(*kernel, x), g.derivative(x), rtol=0, atol=3e-6 * max(1.0, steepest))


@given(polskys)
def test_table_of_any_polsky_agrees_with_exact(g):
    kernel = Custom(g, g.derivative, g.breakpoints).kernel()
    x = np.append(np.linspace(-2, 2, 1001), np.minimum(g.x_min + np.linspace(0, 40, 101) / g.gamma, 32.0))
    assert_allclose(_compiled.values(*kernel, x), g(x), rtol=0, atol=1e-9)


def test_beyond_its_domain_a_table_goes_on_straight():
    square = Custom(lambda x: x**2, lambda x: 2 * x, domain=(-3.0, 4.0))
    x = np.array([-5.0, -3.0, 4.0, 6.0])
    assert_allclose(_compiled.values(*square.kernel(), x), [9 + 12, 9, 16, 16 + 16], rtol=1e-12)
    assert_allclose(_compiled.slopes(*square.kernel(), x), [-6, -6, 8, 8], rtol=1e-12)


def test_table_finds_a_narrow_bump():
    bump = Custom(lambda x: np.exp(-0.5 * ((x - 0.37) / 0.05) ** 2))
    x = np.linspace(0, 1, 2001)
    assert_allclose(_compiled.values(*bump.kernel(), x), bump(x), rtol=0, atol=5e-10)


@pytest.mark.parametrize("g", BUILT_IN, ids=repr)
def test_no_warning_far_out_and_range_is_respected(g):
    x = np.array([-1e6, -1e3, 0.0, 1e3, 1e6])
    low, high = g.range
    assert np.all(np.isfinite(g(x)))
    assert np.all(np.isfinite(g.derivative(x)))
    assert np.all((g(x) >= low) & (g(x) <= high))


@pytest.mark.parametrize("g", BUILT_IN, ids=repr)
def test_nan_stays_nan(g):
    assert np.isnan(g(np.nan))
    assert np.isnan(g.derivative(np.nan))


def test_polsky_limits():
    x = np.linspace(-3, 3, 601)
    assert_array_equal(Polsky(1.0, 15.0)(x), SaturatingReLU()(x))
    assert_array_equal(Polsky(1.0, 15.0).derivative(x), SaturatingReLU().derivative(x))
    away = x[np.abs(x) > 1e-3]
    assert_array_equal(Polsky(0.0, 1e9)(away), Step()(away))
    # and the approach: at u = gamma x the distance to the step is 1 - tanh(u / 2)
    assert_allclose(1 - Polsky(0.0, 1e3)(0.004), 1 - np.tanh(2.0), rtol=1e-12)


def test_polsky_is_continuous_and_its_slope_jumps_as_derived():
    g = Polsky(0.33, 15.0)
    eps = 1e-9
    assert g(0.33 + eps) - g(0.33 - eps) < 1e-8
    assert_allclose(g.derivative(0.33 - eps), 1.0)
    assert_allclose(g.derivative(0.33), 15.0 * 0.67 / 2)
    assert not g.has_jumps
    assert Step().has_jumps


def test_derivative_of_custom_without_one_is_accurate_on_both_sides_of_a_kink():
    g = Polsky()
    twin = Custom(g, breakpoints=g.breakpoints)
    x = np.array([-0.3, -1e-7, 1e-7, 0.1, 0.33 - 1e-9, 0.33, 0.33 + 1e-9, 0.4, 0.7])
    assert_allclose(twin.derivative(x), g.derivative(x), rtol=0, atol=5e-8)


@pytest.mark.parametrize("steepness", [1.0, 100.0, 1e5])
def test_derivative_of_custom_without_one_is_accurate_however_steep_it_is(steepness):
    twin = Custom(lambda x: np.tanh(steepness * x))
    u = np.linspace(-20.0, 20.0, 4001)
    assert_allclose(twin.derivative(u / steepness) / steepness, 1.0 / np.cosh(u) ** 2, rtol=0, atol=2e-10)


def test_steep_but_smooth_functions_are_not_suspected_of_kinks():
    for steep in (Custom(lambda x: np.tanh(1e5 * x)), Custom(lambda x: np.logaddexp(0.0, 3000.0 * x) / 3000.0)):
        assert len(steep.knots) > 2


def test_custom_range_tells_bounded_from_unbounded():
    assert Custom(np.tanh).range == (-1.0, 1.0)
    assert Custom(lambda x: x**2).range == (0.0, np.inf)
    assert Custom(lambda x: -np.logaddexp(0, x)).range == (-np.inf, 0.0)


def test_tabulated_is_monotone_passes_through_its_points_and_continues_as_told():
    x = np.linspace(-1, 2, 3001)
    assert np.all(np.diff(MEASURED(x)) >= 0)
    assert_allclose(MEASURED(MEASURED.x), MEASURED.y, rtol=0, atol=1e-15)
    assert MEASURED(7.0) == 1.0
    straight = Tabulated([0, 1, 2], [0, 1, 2], below="linear", above="linear")
    assert_allclose(straight(x), x, atol=1e-14)
    assert straight.range == (-np.inf, np.inf)
    assert straight.breakpoints == ()
    assert Tabulated([0, 1, 2], [0, 1, 2]).breakpoints == (0.0, 2.0)


def test_straight_pieces_are_straight():
    x = np.linspace(-2.0, 2.0, 101)
    assert_allclose(
        STRAIGHT(x), np.where(x < 0.7, np.interp(x, STRAIGHT.x, STRAIGHT.y), 0.8 + 0.6 * (x - 0.7)), atol=1e-15
    )
    assert STRAIGHT.breakpoints == (0.0, 0.2)  # no kink at -0.3, where it stays flat, nor at 0.7, where it goes on
    assert STRAIGHT.range == (0.1, np.inf)
    assert_allclose(PiecewiseLinear([0, 1], [0, 1])(x), SaturatingReLU()(x), atol=1e-15)


@pytest.mark.parametrize("g", [*BUILT_IN, Custom(np.tanh)], ids=repr)
def test_values_are_hashable_comparable_and_survive_pickling(g):
    copy = pickle.loads(pickle.dumps(g))
    assert copy == g
    assert hash(copy) == hash(g)
    x = np.linspace(-1, 1, 11)
    assert_array_equal(copy(x), g(x))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Polsky(x_min=1.5), ["x_min = 1.5", "[0, 1]"]),
        (lambda: Polsky(x_min=float("nan")), ["x_min = nan", "[0, 1]"]),
        (lambda: Polsky(gamma=0.0), ["gamma = 0.0", "> 0"]),
        (lambda: Polsky(gamma="steep"), ["gamma = 'steep'"]),
        (lambda: Tabulated([0, 1], [0, 1, 2]), ["2 and 3 points", "same length"]),
        (lambda: Tabulated([0, 1, 1], [0, 1, 2]), ["1.0, 1.0", "strictly increasing"]),
        (lambda: Tabulated([0, 1, np.nan], [0, 1, 2]), ["x", "finite"]),
        (lambda: PiecewiseLinear([0, 1, 1], [0, 1, 2]), ["1.0, 1.0", "strictly increasing"]),
        (lambda: Tabulated([0, 1], [0, 1], above="up"), ["above = 'up'", "'flat', 'linear'"]),
        (lambda: Custom(3), ["function = 3", "callable"]),
        (lambda: Custom(np.tanh, derivative=1), ["derivative = 1", "callable"]),
        (lambda: Custom(np.tanh, breakpoints=[np.inf]), ["breakpoints", "finite"]),
        (lambda: Custom(lambda x: 1.0), ["same shape"]),
        (lambda: Custom(np.tanh, domain=(1.0, 1.0)), ["domain[1] = 1.0", "> 1"]),
        (lambda: Custom(lambda x: np.sign(x - 0.123)).kernel(), ["jump near x = 0.123", "breakpoints"]),
        (lambda: Custom(lambda x: np.abs(x - 0.123)).knots, ["kink", "near x = 0.123", "breakpoints=[0.123"]),
        (lambda: Custom(np.abs).knots, ["near x = 0"]),  # where a cut falls by itself
        (lambda: Custom(np.tanh, lambda x: 1.0 - np.tanh(x)).knots, ["derivative", "per unit"]),
        (lambda: Custom(lambda x: np.sin(900.0 * x)).knots, ["polynomial pieces"]),
        (lambda: dendrocap.model.named_nonlinearity("sigmoid"), ["'sigmoid'", "'polsky'"]),
        (lambda: dendrocap.model.named_nonlinearity("relu", gamma=1.0), ["gamma", "relu", "none"]),
    ],
)
def test_bad_values_are_named(make, words):
    with pytest.raises(InvalidParameter) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


def test_a_non_linearity_without_a_code_trains_by_its_table():
    g = Arctangent()
    assert (g.kernel().code, g.name, g.label) == (nonlinearities.TABLE, "custom", "custom")
    x = np.linspace(-30.0, 30.0, 1001)
    assert_allclose(_compiled.values(*g.kernel(), x), g(x), rtol=0, atol=5e-10)
    neuron = DendriticNeuron(NeuronSpec(g, theta_d=0.2, theta_s=0.1), n_inputs=40, n_branches=4)
    assert train(neuron, *random_patterns(10, 40, rng=0), algorithm=SGD(0.1), seed=0).solved
