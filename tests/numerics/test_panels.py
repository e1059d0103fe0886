"""Panels between knots, and rules on them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dendrocap.numerics import hermite_rule, legendre_rule, trapezoidal_rule
from dendrocap.numerics._compiled import panels

knots = st.lists(st.floats(-20.0, 20.0), max_size=6, unique=True).map(sorted).map(lambda x: np.array(x, dtype=float))


@given(
    knots, st.floats(-5.0, 5.0), st.floats(0.1, 10.0), st.floats(-9.0, 0.0), st.floats(0.1, 9.0), st.floats(0.5, 4.0)
)
def test_panels_cover_the_range_end_at_knots_and_are_narrow(knots, origin, unit, low, length, widest):
    high = low + length
    edges = np.empty(2 * knots.size + math.ceil(length / widest) + 3)
    edges = edges[: 1 + panels(knots, origin, unit, low, high, widest, edges)]
    assert (edges[0], edges[-1]) == (low, high)
    assert np.all(np.diff(edges) > 0.0)
    assert np.max(np.diff(edges)) <= widest * (1.0 + 1e-12)
    for at in (knots - origin) / unit:
        assert not low < at < high or at in edges


@pytest.mark.parametrize("n", [2, 5, 16])
def test_gauss_rules_are_exact_to_twice_their_size(n):
    power = 2 * n - 2
    x, w = legendre_rule(n)
    assert_allclose(w @ x**power, 2.0 / (power + 1), rtol=1e-13)
    x, w = hermite_rule(n)
    assert_allclose(w @ x**power, math.prod(range(1, power, 2)), rtol=1e-12)  # (2n - 3)!!


def test_trapezoidal_rule_converges_exponentially_for_smooth_functions():
    errors = []
    for n in (11, 21, 41):
        x, w = trapezoidal_rule(n)
        errors.append(abs(w @ np.cos(x) - math.exp(-0.5)))
    assert errors[1] < 1e-6
    assert errors[2] < 1e-6  # what lies beyond five deviations is left
    assert errors[0] > 10.0 * errors[1]
