"""One neuron at capacity: the best estimate first, the paper's named, and the lights below."""

import math

import numpy as np
import pytest
from matplotlib.figure import Figure

import dendrocap as dc
from dendrocap import plot
from dendrocap.answers.validity import LIGHTS, Flag
from dendrocap.figures.style import LIGHT_MARKS, ONE_STEP, PAPER_LABEL, SYMMETRIC, validity_footer
from dendrocap.theory.results import ONE
from dendrocap.theory.results import SYMMETRIC as RS

THETA_D = np.array([0.1, 0.5, 1.0])
CURVE = {RS: (THETA_D, [1.6, 5.0, 9.5]), ONE: (THETA_D, [1.4, 2.1, math.nan]), "linear": (THETA_D, [1.0, 1.0, 1.0])}
UNITS = dc.Units(999, 27)
POLSKY = dc.NeuronSpec(dc.Polsky(), theta_d=0.5, theta_s=0.5)


@pytest.fixture(scope="module")
def quick():
    return dc.capacity(dc.DendriticNeuron(POLSKY, 999, 27), accuracy="fast")


def test_title_lines_and_lights_are_those_of_the_answer(quick):
    figure = plot.neuron_at_capacity(quick, CURVE, "theta_d", UNITS)
    assert figure.get_suptitle() == quick.title
    dendrite, capacity, weights, *_ = figure.axes
    looks = {line.get_label(): (line.get_linestyle(), line.get_linewidth()) for line in capacity.lines}
    assert looks[PAPER_LABEL][0] == SYMMETRIC["ls"]
    assert looks[ONE][0] == ONE_STEP["ls"]
    assert looks[PAPER_LABEL][1] < looks[ONE][1]
    assert quick.texts()["paper_silent"] in weights.get_title()
    assert weights.get_title().index(quick.silent) < weights.get_title().index("replica symmetric")
    footer = [text.get_text().replace(r"$\theta_s$", "theta_s") for text in figure.legends[0].get_texts()]
    assert footer == [f"{name}: {flag.light}" for name, flag in quick.validity.items()]
    assert dendrite.get_legend().get_texts()[0].get_text() == "g, Polsky"


def test_the_best_estimate_is_a_point_with_its_error():
    answer = dc.capacity(dc.NeuronSpec(dc.ReLU(), theta_d=1.0, theta_s=0.5))  # two seconds
    figure = plot.neuron_at_capacity(answer, {}, "theta_s", UNITS)
    (bars,) = figure.axes[1].containers
    assert bars.get_label() == "this neuron, best estimate"
    assert bars[0].get_xydata().tolist() == [[0.5, answer.alpha_c]]
    low, high = bars[2][0].get_segments()[0][:, 1]
    assert (low, high) == pytest.approx((answer.alpha_c - answer.error, answer.alpha_c + answer.error))


def test_populations_are_drawn_one_by_one():
    kinds = [dc.Branches(g, 0.5, fraction=0.5, mean_output=t) for g, t in ((dc.Polsky(), 0.3), (dc.ReLU(), 0.7))]
    neuron = dc.DendriticNeuron(dc.NeuronSpec(populations=kinds, theta_s=0.5), 999, 27)
    figure = Figure()
    assert plot.neuron_at_capacity(dc.capacity(neuron, accuracy="fast"), {}, "theta_s", UNITS, figure=figure) is figure
    named = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert named == [
        "g, Polsky",
        "g, ReLU",
        "inputs: 50 % of branches, mean output 0.3",
        "inputs: 50 % of branches, mean output 0.7",
    ]
    assert len(figure.axes[2].lines) == 2


def test_a_neuron_of_infinite_size_has_a_population_too():
    answer = dc.capacity(POLSKY, accuracy="fast")
    assert [kind.silent_fraction for kind in answer.populations] == [answer.silent_fraction]
    assert plot.neuron_at_capacity(answer, CURVE, "theta_d", UNITS).axes[2].lines


def test_an_unknown_axis_is_refused(quick):
    with pytest.raises(dc.InvalidParameter, match="theta_d"):
        plot.neuron_at_capacity(quick, CURVE, "gamma", UNITS)


def test_the_footer_of_a_grid_shows_the_worst_light_and_how_often():
    figure = Figure(figsize=(3.4, 2.6), layout="constrained")
    sizes = [{"branch size": Flag(light, "words")} for light in ("good", "bad", "caution", "bad")]
    validity_footer(figure, sizes)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["branch size: bad at 2 of 4 points"]


def test_lights_differ_in_colour_and_shape():
    assert tuple(LIGHT_MARKS) == LIGHTS
    shapes, colours = zip(*LIGHT_MARKS.values(), strict=True)
    assert len(set(shapes)) == len(set(colours)) == len(LIGHTS)
