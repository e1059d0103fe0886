"""Grids agree with single points, and failures are told."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dendrocap import Bounded, InvalidParameter, Linear, NeuronSpec, Polsky, ReLU, TaskSpec
from dendrocap.answers import capacity_curve, saddle_point_curve
from dendrocap.answers.grids import taught_points
from dendrocap.theory import critical_capacity, saddle_point

NEURON = NeuronSpec(Polsky(), 0.5, 0.5)


def test_every_point_is_the_single_solution():
    values = {"theta_d": [0.1, 0.4], "gamma": [10.0, 15.0], "kappa": [0.0, 0.3], "f_out": [0.2]}
    curve = capacity_curve(NEURON, TaskSpec(f_in=0.3), **values)
    assert curve.alpha_c.dims == ("theta_d", "gamma", "kappa", "f_out")
    for i, theta_d in enumerate(values["theta_d"]):
        for j, gamma in enumerate(values["gamma"]):
            for k, kappa in enumerate(values["kappa"]):
                single = critical_capacity(NeuronSpec(Polsky(gamma=gamma), theta_d, 0.5), TaskSpec(0.3, 0.2, kappa))
                point = curve.isel(theta_d=i, gamma=j, kappa=k, f_out=0)
                for name in ("alpha_c", "silent_fraction", "Q", "M_bar", "iterations"):
                    assert point[name].item() == getattr(single, name)
    assert (curve.reason == "").all()
    assert curve.alpha_c.attrs["units"] == "patterns per synapse"
    assert curve.theta_d.attrs["units"]


def test_nonlinearities_are_a_dimension_too():
    curve = capacity_curve(NEURON, nonlinearity=[Polsky(), ReLU()], theta_s=np.array([0.3, 0.5]))
    assert curve.nonlinearity.values.tolist() == ["polsky", "relu"]
    single = critical_capacity(NeuronSpec(ReLU(), 0.5, 0.3)).alpha_c
    assert curve.alpha_c.sel(nonlinearity="relu", theta_s=0.3).item() == single
    twice = capacity_curve(NEURON, nonlinearity=[Polsky(), Polsky(gamma=20)])
    assert "gamma=20" in str(twice.nonlinearity.values[1])


def test_failures_are_nan_with_a_reason():
    curve = capacity_curve(NEURON, theta_s=[0.5, 1.2], nonlinearity=[Polsky(), ReLU()])
    bad = curve.sel(theta_s=1.2, nonlinearity="polsky")
    assert np.isnan(bad.alpha_c)
    assert "strictly between 0 and 1" in str(bad.reason.item())
    assert np.isfinite(curve.alpha_c.sel(theta_s=1.2, nonlinearity="relu"))
    shaped = capacity_curve(NeuronSpec(ReLU(), 0.5, 0.5), gamma=[3.0])
    assert "Polsky only" in str(shaped.reason.item(0))


def test_saddle_points_over_load_and_threshold():
    curve = saddle_point_curve(NEURON, alpha=[0.0, 0.6, 1.8], theta_d=[0.1, 0.5])
    single = saddle_point(NeuronSpec(Polsky(), 0.5, 0.5), TaskSpec(), alpha=1.8)
    assert curve.Q.sel(alpha=1.8, theta_d=0.5).item() == single.Q
    assert curve.free_entropy.sel(alpha=1.8, theta_d=0.5).item() == single.free_entropy
    assert np.isnan(curve.Q.sel(alpha=1.8, theta_d=0.1))
    assert "alpha_c = 1.5714" in str(curve.reason.sel(alpha=1.8, theta_d=0.1).item())
    with pytest.raises(InvalidParameter, match="alpha is missing"):
        saddle_point_curve(NEURON, theta_d=[0.1])


@pytest.mark.parametrize(
    ("values", "words"), [({"theta": [1.0]}, ["'theta'", "theta_d"]), ({"theta_d": []}, ["theta_d", "at least one"])]
)
def test_bad_grids_are_refused(values, words):
    with pytest.raises(InvalidParameter) as caught:
        capacity_curve(NEURON, **values)
    for word in words:
        assert word in str(caught.value)


def test_a_capacity_has_no_load_as_a_parameter():
    with pytest.raises(InvalidParameter, match=r"alpha.*saddle_point_curve takes alpha"):
        capacity_curve(NeuronSpec(ReLU(), 0.5, 0.5), alpha=[1.0])


def test_the_line_of_stability_is_a_field():
    curve = capacity_curve(NeuronSpec(ReLU(), 0.5, 0.5), theta_d=[0.5, 1.0], theta_s=[0.5, -1.0], stability=True)
    assert_allclose(curve.alpha_at[:, 0], [0.793798, 0.733866], atol=1e-6)
    assert np.all(np.isnan(curve.alpha_at[:, 1]))
    linear = capacity_curve(NeuronSpec(Linear(), 0.5, 0.5), theta_d=[0.5], stability=True)
    assert np.isinf(linear.alpha_at.item())
    assert "alpha_at" not in capacity_curve(NeuronSpec(ReLU(), 0.5, 0.5), theta_d=[0.5])


def test_crossing_loads_are_found_only_where_they_are_asked_for():
    (plain,) = (point.solution for point in taught_points(NEURON, alpha=[0.5]))
    (asked,) = (point.solution for point in taught_points(NeuronSpec(Linear(), 0.5, 0.5), teacher=lambda _: NEURON,
                                                        crossing=True, alpha=[0.5]))  # fmt: skip
    assert plain[1] is None
    assert round(asked[1], 2) == 1.19


def test_grids_of_priors_and_channels():
    curve = capacity_curve(NeuronSpec(ReLU(), 0.5, 0.5), w_max=[2.0, 1e4])
    assert_allclose(curve.alpha_c.values, [0.8275396, 1.3430645], atol=6e-8)
    assert_allclose(curve.saturated_fraction.values, [0.3538881, 0.0], atol=6e-8)
    assert curve.w_max.attrs["units"] == "model weight"
    assert "saturated_fraction" not in capacity_curve(NeuronSpec(ReLU(), 0.5, 0.5), theta_d=[0.5])
    bounded = capacity_curve(NeuronSpec(ReLU(), 0.5, 0.5, prior=Bounded(2.0)), theta_d=[0.5, 2.0])
    assert_allclose(bounded.saturated_fraction.values, [0.3538881, np.nan], atol=6e-8)
    assert "w_max must be larger than the mean" in str(bounded.reason[1].item())
    warm = saddle_point_curve(NeuronSpec(ReLU(), 0.5, 0.5), alpha=[2.0], temperature=[0.2, 1.0], ridge=[0.0, 1.0])
    assert warm.training_error.dims == ("alpha", "temperature", "ridge")
    assert_allclose(warm.training_error.values[0, 0, 0], 0.1236806, atol=6e-8)
    noisy = saddle_point_curve(NeuronSpec(ReLU(), 0.5, 0.5), alpha=[2.0], output_noise=[0.1])
    assert_allclose(noisy.training_error.values[0, 0], 0.3640583, atol=6e-8)
    with pytest.raises(InvalidParameter, match="parameter"):
        capacity_curve(NeuronSpec(ReLU(), 0.5, 0.5), alpha=[1.0])
    refused = capacity_curve(NeuronSpec(ReLU(), 0.5, 0.5), temperature=[1.0])
    assert "parameter = 'temperature' is not allowed" in str(refused.reason[0].item())
