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
    units = Units.as_printed(n_inputs=2500, n_branches=10, scale_mv=15.0)
    assert units.weight_mv(4.0) == 15.0 * 4.0 / 50.0
    assert units.theta_d_mv(0.5) == 15.0 * 50.0 / 10.0 * 0.5
    assert units.theta_s_mv(0.5) == 15.0 * 10.0 * 0.5
    assert units.branch_input_mv(0.33) == 15.0 * 0.33


def test_without_a_measurement_only_the_somatic_threshold_differs_from_the_printed_conversions():
    usual, printed = Units(2500, 16), Units.as_printed(2500, 16)
    assert usual.weight_mv(4.0) == printed.weight_mv(4.0)
    assert usual.theta_d_mv(0.5) == printed.theta_d_mv(0.5)
    assert_allclose(usual.theta_s_mv(0.5), printed.theta_s_mv(0.5) / 4.0, rtol=1e-15)
    explicit = Units(2500, 16, attenuation=0.25)
    for quantity in ("weight_mv", "theta_d_mv", "theta_s_mv"):
        assert_allclose(getattr(explicit, quantity)(0.7), getattr(usual, quantity)(0.7), rtol=1e-15)


@given(st.floats(0.01, 1.0), st.integers(2, 500), st.integers(1, 400))
def test_one_chain_from_synapse_to_spike(attenuation, K, branch_size):
    """EPSPs in a branch add up to its input, inputs minus threshold are lambda, and saturated branches to theta_s."""
    N = K * branch_size
    units = Units(N, K, 12.0, attenuation)
    W, theta_d, n_active = 2.5, 0.1, 3
    lam = np.sqrt(K / N) * n_active * W - np.sqrt(N / K) * theta_d  # the model's branch input
    local = n_active * units.local_weight_mv(W) - units.local_theta_d_mv(theta_d)
    assert_allclose(local, units.branch_input_mv(lam), rtol=1e-9, atol=1e-9)
    somatic = n_active * units.weight_mv(W) - units.theta_d_mv(theta_d)
    assert_allclose(somatic, attenuation * local, rtol=1e-9, atol=1e-9)
    # A somatic threshold of 1 is what all branches make together when each is saturated, at 12 mV locally.
    assert_allclose(units.theta_s_mv(1.0), K * attenuation * 12.0, rtol=1e-12)


def test_five_synapses_of_a_millivolt_do_not_make_fifty_millivolts_at_the_soma():
    units = Units(10_000, 100)
    W = units.weight(1.0)
    assert_allclose(5 * units.weight_mv(W), 5.0)
    assert_allclose(5 * units.local_weight_mv(W), 50.0)  # in the branch, attenuated tenfold on the way
    assert units.theta_s_mv(1.0) == 150.0


def test_a_branch_of_mean_weights_balances_its_threshold():
    """theta_d_mv is the mean summed weight of the active synapses of a branch, in millivolts of single weights."""
    units, f_in, theta_d = Units(10_000, 100), 0.05, 0.04
    active_sum_mv = units.weight_mv(theta_d / f_in) * f_in * units.n_inputs / units.n_branches
    assert_allclose(units.theta_d_mv(theta_d), active_sum_mv, rtol=1e-14)


def test_arrays_are_converted_elementwise():
    units = Units(400, 10, 8.0)  # no factor is one
    for there in ("weight_mv", "theta_d_mv", "theta_s_mv", "branch_input_mv"):
        back = there.removesuffix("_mv")
        converted = getattr(units, there)([1.0, 2.0])
        assert converted.tolist() == [getattr(units, there)(1.0), getattr(units, there)(2.0)]
        assert converted[0] != 1.0
        assert_allclose(getattr(units, back)(converted), [1.0, 2.0], rtol=1e-14)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_inputs": 0}, "n_inputs = 0"),
        ({"n_inputs": 10, "n_branches": 11}, "n_branches = 11"),
        ({"scale_mv": 0.0}, "scale_mv = 0.0"),
        ({"scale_mv": float("nan")}, "scale_mv = nan"),
        ({"attenuation": 0.0}, "attenuation = 0.0"),
        ({"attenuation": 1.5}, "attenuation = 1.5"),
    ],
)
def test_impossible_units_are_refused(arguments, words):
    with pytest.raises(InvalidParameter, match=words):
        Units(**arguments)
