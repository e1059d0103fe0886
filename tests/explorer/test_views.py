"""The numbers of the page are those of the package."""

import math

import numpy as np
import pytest
from bokeh.models import Line
from hypothesis import given, settings

import dendrocap as dc
from dendrocap.display import with_error
from dendrocap.explorer.parameters import PRESETS, Parameters, preset
from dendrocap.explorer.plots import DARK, LIGHT, CapacityPlot
from dendrocap.explorer.views import NOTHING, along_question, difference, key_numbers, view
from dendrocap.fitting import fit_weights
from tests.explorer.desks import InstantDesk, pretended
from tests.explorer.test_links import any_parameters

MEASURED = {"nonlinearity": "tabulated", "curve": tuple((x / 20, (x / 20) ** 2) for x in range(21))}


def test_key_numbers_are_the_answer():
    parameters = Parameters(theta_d=0.05, f_in=0.2, f_out=0.3, kappa=0.1, n_inputs=2000, n_branches=40)
    neuron = dc.NeuronSpec(dc.Polsky(0.33, 15.0), 0.05, 0.5)
    task = dc.TaskSpec(0.2, 0.3, 0.1)
    answer, units = pretended(dc.DendriticNeuron(neuron, 2000, 40), task), dc.Units(2000, 40)
    numbers = key_numbers(view(parameters, best=answer))
    texts = answer.texts()
    for name in ("capacity", "paper_capacity", "patterns", "paper_patterns", "silent", "paper_silent"):
        assert numbers[name] == texts[name]
    assert numbers["theta_d_mv"] == f"{units.theta_d_mv(0.05):.3g} mV"
    assert numbers["theta_s_mv"] == f"{units.theta_s_mv(0.5):.3g} mV"
    linear = dc.critical_capacity(dc.NeuronSpec(dc.Linear(), 0.05, 0.5), task).alpha_c
    assert numbers["gain"] == f"{with_error(answer.alpha_c / linear, answer.error / linear)} ×"


def test_without_a_best_estimate_the_quick_look_stands_in():
    parameters = Parameters(n_inputs=999, n_branches=27)
    shown = view(parameters)
    assert shown.answer.alpha_c == dc.critical_capacity(parameters.neuron, rsb=1, branch_size=37).alpha_c
    assert key_numbers(shown)["capacity"] == "about 2.2"


@pytest.mark.parametrize("axis", ["theta_d", "theta_s"])
@pytest.mark.parametrize("g", [{}, {"nonlinearity": "relu"}, {"nonlinearity": "linear"}, MEASURED], ids=str)
def test_the_paper_s_curve_is_that_of_the_package_and_passes_through_the_neuron(axis, g):
    parameters = Parameters(axis=axis, kappa=0.2, **g)
    shown = view(parameters)
    curve = dc.capacity_curve(parameters.neuron, parameters.task, **{axis: shown.curve.paper_x})
    np.testing.assert_array_equal(shown.curve.paper, curve.alpha_c.values)
    np.testing.assert_array_equal(shown.curve.paper_silent, curve.silent_fraction.values)
    linear = dc.NeuronSpec(dc.Linear(), 0.5, 0.5)
    linear = dc.capacity_curve(linear, parameters.task, **{axis: shown.curve.linear_x})
    np.testing.assert_allclose(shown.curve.linear, linear.alpha_c.values, rtol=1e-9)
    at = np.interp(0.5, shown.curve.paper_x, shown.curve.paper)
    assert math.isclose(at, shown.answer.paper_alpha_c, rel_tol=0.02)


@pytest.mark.parametrize("axis", ["theta_d", "theta_s", "n_branches"])
def test_the_curve_with_broken_symmetry_has_one_step_and_the_real_length(axis):
    parameters = Parameters(axis=axis, n_inputs=999, n_branches=27)
    question = along_question(parameters)
    alpha, silent = InstantDesk().answer(question)
    x = np.array(question.x)
    at = 7
    if axis == "n_branches":
        found = dc.critical_capacity(parameters.neuron, rsb=1, branch_size=999 / x[at])
    else:
        neuron = dc.NeuronSpec(dc.Polsky(), **{"theta_d": 0.5, "theta_s": 0.5, axis: x[at]})
        found = dc.critical_capacity(neuron, rsb=1, branch_size=37)
    np.testing.assert_allclose([alpha[at], silent[at]], [found.alpha_c, found.silent_fraction], rtol=1e-8)
    moved = along_question(parameters.changed({axis: {"theta_d": 0.3, "theta_s": 0.3, "n_branches": 9}[axis]}))
    assert moved == question  # the same wherever on its axis the neuron is
    shown = view(parameters, broken=(alpha, silent))
    np.testing.assert_array_equal(shown.curve.broken_x, x)


INHIBITED = Parameters(inhibitory_share=0.2, inhibitory_drive=0.5, branch_correlation=1.0)


def test_inhibition_is_shown_for_infinitely_many_branches_whatever_the_size():
    neuron = dc.NeuronSpec(dc.Polsky(), 0.5, 0.5, inhibition=dc.Inhibition(0.2, 0.25))
    task = dc.TaskSpec(branch_correlation=1.0)
    assert (INHIBITED.neuron, INHIBITED.task, INHIBITED.cell) == (neuron, task, neuron)
    shown, numbers = view(INHIBITED), key_numbers(view(INHIBITED))
    one_step, paper = dc.critical_capacity(neuron, task, rsb=1), dc.critical_capacity(neuron, task)
    assert (shown.answer.alpha_c, shown.answer.paper_alpha_c) == (one_step.alpha_c, paper.alpha_c)
    assert list(shown.answer.estimates) == ["replica symmetric", "broken symmetry k = 1"]
    assert numbers["capacity"] == f"about {one_step.alpha_c:.2g}"
    assert numbers["paper_capacity"] == f"{paper.alpha_c:.2f}"
    assert numbers["patterns"] == numbers["paper_patterns"] == NOTHING  # of which size?
    small = INHIBITED.changed({"n_inputs": 200, "n_branches": 5})
    assert key_numbers(view(small))["capacity"] == numbers["capacity"]
    # EPSPs are those of excitatory synapses, whose mean weight is theta_d / (f_in (1 - share)).
    assert numbers["W_bar_mv"] == f"{INHIBITED.units.weight_mv(1.25):.3g} mV"
    linear = dc.NeuronSpec(dc.Linear(), 0.5, 0.5, inhibition=dc.Inhibition(0.2, 0.25))
    gain = one_step.alpha_c / dc.critical_capacity(linear, task).alpha_c
    assert numbers["gain"] == f"about {gain:.2g} ×"
    assert "infinitely many" in INHIBITED.warning
    assert difference(shown.answer, view(Parameters()).answer)["patterns"] == NOTHING


@pytest.mark.parametrize("axis", ["theta_d", "theta_s", "n_branches"])
def test_curves_with_inhibition_have_long_branches_and_keep_its_share_of_the_threshold(axis):
    parameters = INHIBITED.changed({"axis": axis})
    question = along_question(parameters)
    alpha, _ = InstantDesk().answer(question._replace(x=question.x[9:11]))
    x = question.x[10]
    own = parameters.changed({} if axis == "n_branches" else {axis: x})
    np.testing.assert_allclose(alpha[1], dc.critical_capacity(own.neuron, own.task, rsb=1).alpha_c, rtol=1e-8)
    curve = view(parameters).curve
    at = own.changed({} if axis == "n_branches" else {axis: float(curve.paper_x[1])})
    np.testing.assert_allclose(curve.paper[1], dc.critical_capacity(at.neuron, at.task).alpha_c, rtol=1e-10)


def test_errors_under_noise_are_those_of_the_package():
    neuron = dc.NeuronSpec(dc.Polsky(), 0.5, 0.5)
    typical = dc.saddle_point(neuron, alpha=0.5)
    wide = dc.maximal_margin(neuron, alpha=0.5, criterion="relative")
    for flips in (0.0, 0.01, 0.2):
        numbers = key_numbers(view(Parameters(flips=flips)))
        for name, state in (("typical_error_rs", typical), ("margin_error_rs", wide)):
            assert numbers[name] == f"{100.0 * dc.noise_error(state, flips=flips):.2g} %"
    for nowhere in ({"f_in": 0.3}, {"populations": "2"}, {"inhibitory_share": 0.1}):  # theory has no answer there
        assert {key_numbers(view(Parameters(**nowhere)))[f"{name}_error_rs"] for name in ("typical", "margin")} == {
            NOTHING
        }


def test_densities_hold_all_the_mass():
    for parameters in (Parameters(), Parameters(populations="2", length_2=0.5), INHIBITED):
        shown = view(parameters)
        for density in (shown.density, shown.paper_density):
            assert math.isclose(np.trapezoid(density, shown.dendrite_x), 1.0, abs_tol=2e-3)
        positive = np.trapezoid(shown.weight_density, shown.weight_mv)
        assert math.isclose(positive + shown.answer.silent_fraction, 1.0, abs_tol=1e-2)


def test_millivolts_are_never_in_powers_of_ten():
    numbers = key_numbers(view(Parameters(nonlinearity="relu", theta_d=0.001, theta_s=2.0, n_branches=10_000)))
    assert numbers["theta_s_mv"] == f"{dc.Units(10_000, 10_000).theta_s_mv(2.0):,.0f} mV"
    assert "e" not in numbers["theta_s_mv"] + numbers["theta_d_mv"]


def test_where_there_is_no_solution_the_page_says_why():
    shown = view(Parameters(theta_s=1.5))
    assert shown.answer is None
    assert "strictly between 0 and 1" in shown.problem
    assert key_numbers(shown)["capacity"] == "–"
    assert not np.all(np.isfinite(shown.curve.paper))


@settings(max_examples=10, deadline=None)
@given(any_parameters())
def test_every_setting_has_a_view(parameters):
    shown = view(parameters, detail="sketch")
    assert (shown.answer is None) == bool(shown.problem)
    assert shown.curve.paper_x[0] < shown.curve.paper_x[-1]
    key_numbers(shown)


def test_a_difference_has_the_error_of_both():
    one, other = (pretended(Parameters(theta_d=theta_d).cell) for theta_d in (0.5, 0.4))
    said = difference(one, other)
    assert said["capacity"] == with_error(other.alpha_c - one.alpha_c, math.hypot(one.error, other.error))
    assert said["capacity"].startswith("-")
    quick = view(Parameters()).answer
    assert difference(quick, other)["patterns"].startswith("about -")


def test_presets_come_from_where_they_say():
    paper = Parameters().changed(preset("paper"))
    assert round(view(paper).answer.paper_alpha_c, 5) == 4.95132
    linear = Parameters().changed(preset("linear"))
    assert round(view(linear).answer.alpha_c, 9) == 1.0
    data = dc.datasets.song2005()
    fit = fit_weights(
        data.amplitudes_mv, data.n_tested, p0=0.76, method="histogram", nonlinearity=dc.Polsky(0.2, 20.0),
        task=dc.TaskSpec(0.05, 0.05), units=dc.Units(), n_bootstrap=0,
    )  # fmt: skip
    song = Parameters().changed(preset("song2005"))
    solution = dc.critical_capacity(song.neuron, song.task)
    assert round(solution.silent_fraction, 6) == 0.76
    assert math.isclose(solution.W_star, fit.W_star, rel_tol=1e-9)
    assert set(PRESETS) == {"paper", "song2005", "linear"}


def test_a_preset_leaves_nothing_of_the_neuron_before():
    odd = Parameters(x_min=0.9, gamma=3.0, theta_d=3.0, theta_s=0.1, f_in=0.1, f_out=0.9, kappa=2.0, n_inputs=77,
                     n_branches=7, inhibitory_share=0.3)  # fmt: skip
    for name in PRESETS:
        assert odd.changed(preset(name)) == Parameters().changed(preset(name))


def test_correlated_inputs_reach_every_number():
    parameters = Parameters(branch_correlation=2.0, n_inputs=999, n_branches=27)
    shown = view(parameters)
    expected = dc.capacity(parameters.cell, dc.TaskSpec(branch_correlation=2.0), accuracy="fast")
    assert shown.answer.alpha_c == expected.alpha_c < view(Parameters(n_inputs=999, n_branches=27)).answer.alpha_c
    linear = dc.critical_capacity(dc.NeuronSpec(dc.Linear(), 0.5, 0.5), parameters.task).alpha_c
    assert linear == pytest.approx(0.662599811)
    assert key_numbers(shown)["gain"] == f"about {expected.alpha_c / linear:.2g} ×"
    assert "below branch_size = 3" in view(Parameters(branch_correlation=5.0, n_inputs=300, n_branches=100)).problem


def test_errors_under_flips_are_shown_where_they_are_known():
    known = {name: key_numbers(view(Parameters(**of)))["margin_error_rs"] for name, of in {
        "strong": {}, "mild": {"theta_d": 0.05}, "linear": {"nonlinearity": "linear"}, "sparse": {"f_in": 0.2},
        "margin": {"kappa": 0.3}, "two kinds": {"populations": "2"},
    }.items()}  # fmt: skip
    assert known == {
        "strong": "8.1 %", "mild": "0.34 %", "linear": "0.72 %", "sparse": NOTHING, "margin": NOTHING,
        "two kinds": NOTHING,
    }  # fmt: skip


@pytest.mark.parametrize(("axis", "own"), [("theta_d", True), ("theta_s", False), ("n_branches", True)])
def test_logarithmic_axes_have_plain_ticks_and_hold_all_that_is_drawn(axis, own):
    shown = view(Parameters(axis=axis, n_inputs=999, n_branches=27))
    plot = CapacityPlot(axis)
    plot.show(shown)
    assert (plot.figure.xaxis[0].ticker is plot.x_ticks) == own
    assert bool(plot.x_ticks.ticks) == own
    assert all(float(f"{tick:.0e}") == tick and f"{tick:.0e}"[0] in "125" for tick in plot.y_ticks.ticks)
    drawn = shown.curve.paper[np.isfinite(shown.curve.paper)]
    assert plot.figure.y_range.start < drawn.min()
    assert drawn.max() < plot.figure.y_range.end


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_lines_of_a_capacity_plot_follow_the_code_of_all_figures(theme):
    """Solid replica symmetric, dashed broken symmetry; dash-dot means instability, which is not drawn here."""
    plot = CapacityPlot("theta_d")
    plot.set_theme(theme)
    plot.show(view(Parameters(n_inputs=999, n_branches=27)))
    lines = {one.data_source.id: one.glyph for one in plot.figure.renderers if isinstance(one.glyph, Line)}
    named = {name: lines[getattr(plot, name).id] for name in ("paper", "broken", "linear", "other")}
    dashes = {name: tuple(line.line_dash) for name, line in named.items()}
    assert dashes["paper"] == ()
    assert dashes["broken"] == tuple(Line(line_dash="dashed").line_dash)
    assert len(set(dashes.values())) == len(dashes)
    assert tuple(Line(line_dash="dotdash").line_dash) not in dashes.values()
    assert tuple(Line(line_dash="dashdot").line_dash) not in dashes.values()
    # The neuron without dendrites differs in colour too.
    assert named["linear"].line_color not in {named[name].line_color for name in ("paper", "broken", "other")}


def test_a_share_of_inhibition_below_a_thousandth_is_none():
    """Its synapses would need strengths that overflow; the slider moves in steps of a hundredth."""
    few = Parameters(inhibitory_share=9.8e-284, inhibitory_drive=1.0)
    assert (few.inhibited, few.neuron) == (False, Parameters().neuron)
    assert Parameters(inhibitory_share=0.001).inhibited
