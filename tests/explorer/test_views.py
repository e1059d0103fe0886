"""The numbers of the page are those of the package."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

import dendrocap as dc
from dendrocap.explorer.parameters import Parameters
from dendrocap.explorer.presets import PRESETS, preset
from dendrocap.explorer.validity import sentences, validity
from dendrocap.explorer.views import key_numbers, view
from dendrocap.fitting import fit_weights
from tests.explorer.test_links import any_parameters

MEASURED = {"nonlinearity": "tabulated", "curve": tuple((x / 20, (x / 20) ** 2) for x in range(21))}


def test_key_numbers_are_the_solution():
    parameters = Parameters(theta_d=0.05, f_in=0.2, f_out=0.3, kappa=0.1, n_inputs=2000, n_branches=40)
    neuron = dc.NeuronSpec(dc.Polsky(0.33, 15.0), 0.05, 0.5)
    solution = dc.critical_capacity(neuron, dc.TaskSpec(0.2, 0.3, 0.1))
    units = dc.Units(2000, 40)
    numbers = key_numbers(view(parameters))
    assert numbers["alpha_c"] == f"{solution.alpha_c:.4f}"
    assert int(numbers["n_patterns"].replace(",", "")) == round(2000 * solution.alpha_c)
    assert numbers["silent_fraction"] == f"{100 * solution.silent_fraction:.2f} %"
    assert numbers["theta_d_mv"] == f"{units.theta_d_mv(0.05):.3g} mV"
    assert numbers["theta_s_mv"] == f"{units.theta_s_mv(0.5):.3g} mV"
    linear = dc.critical_capacity(dc.NeuronSpec(dc.Linear(), 0.05, 0.5), dc.TaskSpec(0.2, 0.3, 0.1)).alpha_c
    assert numbers["gain"] == f"{solution.alpha_c / linear:.2f} ×"


@pytest.mark.parametrize("axis", ["theta_d", "theta_s"])
@pytest.mark.parametrize("g", [{}, {"nonlinearity": "relu"}, {"nonlinearity": "linear"}, MEASURED], ids=str)
def test_curves_are_those_of_the_package_and_pass_through_the_neuron(axis, g):
    parameters = Parameters(axis=axis, kappa=0.2, **g)
    shown = view(parameters)
    curve = dc.capacity_curve(parameters.neuron, parameters.task, **{axis: shown.curve.x})
    np.testing.assert_array_equal(shown.curve.alpha_c, curve.alpha_c.values)
    linear = dc.NeuronSpec(dc.Linear(), 0.5, 0.5)
    linear = dc.capacity_curve(linear, parameters.task, **{axis: shown.curve.linear_x})
    np.testing.assert_allclose(shown.curve.linear, linear.alpha_c.values, rtol=1e-9)
    at = np.interp(0.5, shown.curve.x, shown.curve.alpha_c)
    assert math.isclose(at, shown.solution.alpha_c, rel_tol=0.02)


def test_densities_hold_all_the_mass():
    shown = view(Parameters())
    assert math.isclose(np.trapezoid(shown.density, shown.dendrite_x), 1.0, abs_tol=2e-3)
    positive = np.trapezoid(shown.weight_density, shown.weight_mv)
    assert math.isclose(positive + shown.solution.silent_fraction, 1.0, abs_tol=2e-3)


def test_millivolts_are_never_in_powers_of_ten():
    numbers = key_numbers(view(Parameters(nonlinearity="relu", theta_d=0.001, theta_s=2.0, n_branches=10_000)))
    assert numbers["theta_s_mv"] == "3,000 mV"
    assert numbers["theta_d_mv"] == "0.00015 mV"


def test_where_there_is_no_solution_the_page_says_why():
    shown = view(Parameters(theta_s=1.5))
    assert shown.solution is None
    assert "strictly between 0 and 1" in shown.problem
    assert key_numbers(shown)["alpha_c"] == "–"
    assert np.all(np.isfinite(shown.curve.alpha_c)) is np.False_


@settings(max_examples=25)
@given(any_parameters())
def test_every_setting_has_a_view(parameters):
    shown = view(parameters)
    assert (shown.solution is None) == bool(shown.problem)
    assert shown.curve.x[0] < shown.curve.x[-1]
    key_numbers(shown)


def test_presets_come_from_where_they_say():
    paper = Parameters().changed(preset("paper"))
    assert round(view(paper).solution.alpha_c, 5) == 4.95132
    linear = Parameters().changed(preset("linear"))
    assert round(view(linear).solution.alpha_c, 9) == 1.0
    data = dc.datasets.song2005()
    fit = fit_weights(
        data.amplitudes_mv, data.n_tested, p0=0.76, method="histogram", nonlinearity=dc.Polsky(0.2, 20.0),
        task=dc.TaskSpec(0.05, 0.05), units=dc.Units(), n_bootstrap=0,
    )  # fmt: skip
    song = Parameters().changed(preset("song2005"))
    solution = view(song).solution
    assert round(solution.silent_fraction, 6) == 0.76
    assert math.isclose(solution.W_star, fit.W_star, rel_tol=1e-9)
    assert set(PRESETS) == {"paper", "song2005", "linear"}


def test_a_preset_leaves_nothing_of_the_neuron_before():
    odd = Parameters(x_min=0.9, gamma=3.0, theta_d=3.0, theta_s=0.1, f_in=0.1, f_out=0.9, kappa=2.0, n_inputs=77,
                     n_branches=7)  # fmt: skip
    for name in PRESETS:
        assert odd.changed(preset(name)) == Parameters().changed(preset(name))


def test_validity_is_stability_and_one_step_of_breaking():
    neuron, task = dc.NeuronSpec(dc.Polsky(), 0.5, 0.5), dc.TaskSpec()
    found = validity(neuron, task)
    assert found.stability_limit == dc.stability_limit(neuron, task).alpha
    assert found.broken == dc.critical_capacity(neuron, task, rsb=1).alpha_c
    assert validity(dc.NeuronSpec(dc.Linear(), 0.5, 0.5), task).stable


@pytest.mark.parametrize(
    ("settings", "kinds", "words"),
    [
        ({}, ["warning", "fine"], "16 √(ln K) / π = 10.9"),
        ({"n_branches": 2}, ["warning", "warning"], "π = 4.24"),  # 4.95 lies above it
        ({"n_branches": 2, "f_out": 0.4}, ["warning", "warning"], "derived for f_out = ½"),
        ({"n_branches": 2, "theta_d": 1.0}, ["warning", "warning"], "lies above it"),
        ({"n_branches": 1}, ["warning", "warning"], "K = 1"),
        ({"nonlinearity": "linear"}, ["fine", "fine"], "linear neuron has no branches"),
    ],
)
def test_the_note_speaks_of_stability_and_of_finite_trees(settings, kinds, words):
    said = sentences(Parameters(**settings))
    assert [sentence["kind"] for sentence in said] == kinds
    assert words in said[1]["text"]


def test_the_note_is_silent_where_there_is_no_solution():
    assert sentences(Parameters(theta_s=1.5)) == []
