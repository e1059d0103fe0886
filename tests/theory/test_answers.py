"""How an answer is written: best estimate first, the paper's under its name, digits that follow the error."""

import math
import re
from dataclasses import replace

import pytest
from numpy.testing import assert_allclose

import dendrocap as dc
from dendrocap.answers.answer import PAPER
from dendrocap.display import with_error

NEURON = dc.NeuronSpec(dc.Polsky(), theta_d=0.5, theta_s=0.5)
CELL = dc.DendriticNeuron(NEURON, n_inputs=999, n_branches=27)


@pytest.fixture(scope="module")
def quick():
    return dc.capacity(CELL, accuracy="fast")


@pytest.fixture
def answer(quick):
    """The same with an error, as the best estimate has one."""
    return replace(quick, error=0.0841, silent_error=0.0217)


def test_digits_follow_the_error(answer):
    shown = answer.texts()
    assert shown["capacity"] == "2.20 ± 0.08"
    assert shown["patterns"] == "2200 ± 80"
    assert shown["silent"] == "25 ± 2 %"
    assert shown["bits_per_synapse"] == "2.20 ± 0.08"
    assert replace(answer, error=0.3).texts()["capacity"] == "2.2 ± 0.3"


def test_a_quick_look_has_no_digits_to_quote(quick):
    shown = quick.texts()
    assert shown["capacity"] == "about 2.2"
    assert shown["silent"] == "about 25 %"
    assert math.isnan(quick.as_row()["error"])


def test_the_paper_s_numbers_come_second_and_named(answer):
    assert answer.in_words.index("2.20 ± 0.08") < answer.in_words.index(PAPER) < answer.in_words.index("4.95")
    assert answer.in_words.endswith("4.95, 79 % silent)")
    for text in (str(answer), repr(answer), answer._repr_html_()):
        assert text.index("2.20 ± 0.08") < text.index("4.95")
        assert re.search("replica.symmetric", text)
    assert "replica symmetric" in answer.title
    assert answer.title.index("2.20") < answer.title.index("4.95")


def test_the_paper_s_silent_fraction_is_the_replica_symmetric_one(answer):
    assert_allclose(answer.paper_silent_fraction, dc.critical_capacity(NEURON).silent_fraction, rtol=1e-12)
    assert_allclose(answer.as_row()["paper_silent_fraction"], 0.78702, atol=1e-5)


def test_where_the_paper_has_no_number_none_is_shown(answer):
    without = replace(answer, estimates={}, paper_silent_fraction=None)
    assert without.texts()["paper_capacity"] == without.texts()["paper_silent"] == "none"
    assert without.paper.endswith("none")


def test_what_is_exact_is_exact_in_a_quick_look_too():
    found = dc.capacity(dc.NeuronSpec(dc.Linear(), 0.5, 0.5), accuracy="fast")
    assert (found.error, found.silent_error) == (0.0, 0.0)
    assert found.answer == "1 pattern per synapse"


def test_the_error_of_the_silent_fraction_is_the_last_step_of_breaking():
    found = dc.capacity(dc.NeuronSpec(dc.ReLU(), 1.0, 0.5))
    states = [one.state.sides[0] for one in dc.critical_capacity(found.neuron, rsb="full").ladder]
    assert_allclose(found.silent_error, states[-1].A - states[-2].A, rtol=1e-12)
    sized = dc.capacity(dc.DendriticNeuron(found.neuron, 999, 27))
    one, two = (dc.critical_capacity(found.neuron, rsb=k, branch_size=37).silent_fraction for k in (1, 2))
    assert_allclose(sized.silent_error, one - two, rtol=1e-9)
    assert 0.01 < sized.silent_error < 0.03


def test_lights_do_not_look_fine_with_one_synapse_per_branch():
    cell = dc.DendriticNeuron(NEURON, 10_000, 9_999)
    lights = dc.capacity(cell, accuracy="fast").validity
    assert lights["branch size"].light == lights["active inputs per branch"].light == "bad"
    assert "quick look" in lights["number of branches"].words
    best = dc.capacity(cell)  # no search among thousands of branches with one synapse each
    assert "fewer than 4 synapses per branch" in best.remark
    assert best.answer.startswith("about")  # no error that could be quoted
    assert [name for name, flag in best.validity.items() if flag.light == "bad"] == [
        "branch size", "active inputs per branch", "symmetry of branches", "replica symmetry",
    ]  # fmt: skip
    assert best.validity["number of branches"].light == "caution"
    many = dc.capacity(dc.DendriticNeuron(NEURON, 100_000, 5_000))
    assert "more than 1001 branches" in many.remark
    assert math.isnan(many.error)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (2.3284, 0.0, "2.3284"),
        (1e5, 3e3, "100,000 ± 3,000"),
        (0.0, 0.02, "0.00 ± 0.02"),
        (0.99996, 0.0123, "1.000 ± 0.012"),
        (12.0, math.nan, "about 12"),
    ],
)
def test_numbers_with_errors(value, error, text):
    assert with_error(value, error) == text
