"""Millivolts and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dendrocap import InvalidParameter, Units

QUANTITIES = ("weight", "theta_d", "theta_s", "branch_input")
positive = st.floats(1e-6, 1e6)


@given(value=positive, scale=st.floats(0.1, 1000.0), n=st.integers(1, 10**6), k=st.integers(1, 10**6))
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_round_trips_miss_by_one_rounding_at_most(quantity, value, scale, n, k):
    units = Units(max(n, k), min(n, k), scale)
    there, back = getattr(units, f"{quantity}_mv"), getattr(units, quantity)
    # One multiplication and one division, each off by half a unit in the last place.
    assert_allclose(back(there(value)), value, rtol=2 * np.finfo(float).eps)
    assert_allclose(there(back(value)), value, rtol=2 * np.finfo(float).eps)


def test_printed_conversions_of_the_paper():
    """Appendix on biological parameters: the three conversions, written out."""
    units = Units(n_inputs=2500, n_branches=10, scale_mv=15.0)
    assert units.weight_mv(4.0) == 15.0 * 4.0 / 50.0
    assert units.theta_d_mv(0.5) == 15.0 * 50.0 / 10.0 * 0.5
    assert units.theta_s_mv(0.5) == 15.0 * 10.0 * 0.5
    assert units.branch_input_mv(0.33) == 15.0 * 0.33


def test_a_branch_of_mean_weights_balances_its_threshold():
    """theta_d_mv is the mean summed weight of the active synapses of a branch, in millivolts of single weights."""
    units, f_in, theta_d = Units(10_000, 100), 0.05, 0.04
    active_sum_mv = units.weight_mv(theta_d / f_in) * f_in * units.n_inputs / units.n_branches
    assert_allclose(units.theta_d_mv(theta_d), active_sum_mv, rtol=1e-14)


def test_branch_axis_and_summed_weights_differ_by_the_root_of_the_number_of_branches():
    """Paper notes, 'Millivolts': a branch input of 1 is reached by summed weights of scale / sqrt K millivolts."""
    units = Units(10_000, 100)
    branch_size = units.n_inputs // units.n_branches
    W = 1.0 / np.sqrt(branch_size)  # weights all equal, all active: lambda = branch_size W / sqrt(branch_size) = 1
    assert_allclose(branch_size * units.weight_mv(W), units.branch_input_mv(1.0) / np.sqrt(100), rtol=1e-14)


def test_arrays_are_converted_elementwise():
    assert Units(100, 10, 10.0).weight_mv([1.0, 2.0]).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_inputs": 0}, "n_inputs = 0"),
        ({"n_inputs": 10, "n_branches": 11}, "n_branches = 11"),
        ({"scale_mv": 0.0}, "scale_mv = 0.0"),
        ({"scale_mv": float("nan")}, "scale_mv = nan"),
    ],
)
def test_impossible_units_are_refused(arguments, words):
    with pytest.raises(InvalidParameter, match=words):
        Units(**arguments)
