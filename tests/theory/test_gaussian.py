"""Gaussian averages: closed forms, quadrature, and an arbitrary-precision twin."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import ndtr

from dendrocap import Custom, InvalidParameter, Linear, Polsky, ReLU, SaturatingReLU, Step, Tabulated
from dendrocap.theory import gaussian_expectation, moments
from dendrocap.theory.dendrite import quadrature_moments

scales = st.floats(-4.0, 5.0).map(lambda e: 10.0**e)


def relative(found, exact):
    """Errors of the nine moments in units of what the equations compare them with."""
    sd, root_gain = np.sqrt(exact.variance), np.sqrt(exact.gain)
    units = [sd, exact.slope, exact.variance, exact.gain, exact.slope, sd * root_gain, sd * root_gain]
    units += [exact.gain, exact.gain]
    return np.abs(np.array(found) - np.array(exact)) / np.array(units)


@given(st.sampled_from([Linear(), ReLU(), SaturatingReLU()]), scales, st.floats(-4, 4), st.floats(0.01, 0.99))
def test_closed_forms_equal_quadrature(g, s, shift, theta):
    m = theta + shift * s
    exact = quadrature_moments(g, theta, s, m, order=24)
    assume(exact.slope > 1e-12)  # else g is flat, and there is nothing to compare with
    assert relative(moments(g, theta, s, m), exact).max() < 2e-11


@given(st.builds(Polsky, st.floats(0.0, 1.0), st.floats(0.5, 200.0)), scales, st.floats(-4, 4))
def test_doubling_the_nodes_changes_nothing(g, s, shift):
    m = 0.5 + shift * s
    exact = quadrature_moments(g, 0.5, s, m, order=32)
    assume(exact.slope > 1e-12)
    assert relative(moments(g, 0.5, s, m), exact).max() < 1e-11


def twin(g, theta, s, m):
    """The nine moments of Polsky's g at 30 digits."""
    x_min, gamma = mp.mpf(g.x_min), mp.mpf(g.gamma)
    knots = [0, *(x_min + u / gamma for u in (0, 1, 2, 4, 7, 11, 16, 24, 40))]
    inside = {min(max((k - m) / s, mp.mpf(-14)), mp.mpf(14)) for k in knots}
    cuts = sorted({mp.mpf(c) for c in range(-14, 15, 2)} | inside)

    def value(u):
        return max(u, mp.mpf(0)) if u < x_min else x_min + (1 - x_min) * mp.tanh(gamma * (u - x_min) / 2)

    def slope(u):
        if u < x_min:
            return mp.mpf(u > 0)
        return gamma * (1 - x_min) / 2 / mp.cosh(gamma * (u - x_min) / 2) ** 2

    def average(f):
        return mp.quad(lambda x: f(value(m + s * x) - theta, slope(m + s * x), x) * mp.npdf(x), cuts)

    forms = [
        lambda y, d, x: y, lambda y, d, x: d, lambda y, d, x: y * y, lambda y, d, x: d * d, lambda y, d, x: d * x,
        lambda y, d, x: y * d, lambda y, d, x: y * d * x, lambda y, d, x: d * d * x,
        lambda y, d, x: d * d * (x * x - 1),
    ]  # fmt: skip
    return [float(average(f)) for f in forms]


@pytest.mark.parametrize(
    ("g", "s", "m"), [(Polsky(), 0.02, 0.37), (Polsky(0.1, 200.0), 0.9, 0.05), (Polsky(0.6, 5.0), 1e3, -12.0)]
)
def test_quadrature_equals_arbitrary_precision(g, s, m):
    with mp.workdps(25):
        exact = type(moments(g, 0.5, s, m))(*twin(g, 0.5, mp.mpf(s), mp.mpf(m)))
    assert relative(moments(g, 0.5, s, m), exact).max() < 2e-12


def test_custom_and_tabulated_take_the_same_road():
    g = Polsky()
    twin = Custom(g, g.derivative, g.breakpoints)
    curve = Tabulated([0.0, 0.3, 0.5, 1.0], [0.0, 0.3, 0.9, 1.0])
    curve_twin = Custom(curve, curve.derivative, curve.knots)
    for s in (1e-3, 0.1, 1.0, 50.0):
        assert relative(moments(twin, 0.5, s, 0.4), moments(g, 0.5, s, 0.4)).max() < 1e-11
        assert relative(moments(curve_twin, 0.5, s, 0.4), moments(curve, 0.5, s, 0.4)).max() < 1e-11


@pytest.mark.parametrize("s", [1e-3, 0.3, 40.0])
def test_step_averages_to_the_normal_distribution_function(s):
    found = moments(Step(), 0.5, s, 0.2 * s)
    assert_allclose(found.mean + 0.5, ndtr(0.2), rtol=1e-14)
    assert_allclose(found.variance, 0.25, rtol=1e-14)


def test_expectation_estimates_its_error_and_betrays_a_missing_knot():
    exact = np.sqrt(2 / np.pi)
    good = gaussian_expectation(np.abs, knots=[0.0])
    assert abs(good.value - exact) <= max(good.error, 1e-15)
    assert good.error < 1e-14
    # An even panel grid would hit the kink at 0 by luck; at 0.3 it does not.
    bad = gaussian_expectation(lambda u: np.abs(u - 0.3))
    assert bad.error > 1e-6
    with pytest.raises(InvalidParameter, match=r"sd = 0\.0"):
        gaussian_expectation(np.abs, sd=0.0)
