"""Links hold all parameters, and a bad one costs nothing but the bad value."""

from dataclasses import fields
from itertools import accumulate
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dendrocap.errors import InvalidParameter
from dendrocap.explorer.parameters import (
    AXES,
    MOST_POINTS,
    SLIDERS,
    SLOPES,
    Parameters,
    from_arguments,
    from_query,
    pair_from_arguments,
    pair_query,
    to_query,
)

NUMBERS = {
    name: st.integers(*map(int, known.usual)) if known.whole else st.floats(*known.usual)
    for name, known in SLIDERS.items()
    if name not in ("n_branches", "train_branches")
}


@st.composite
def any_parameters(draw):
    values = {name: draw(strategy) for name, strategy in NUMBERS.items()}
    values["n_branches"] = draw(st.integers(1, min(values["n_inputs"], 10_000)))
    values["train_branches"] = draw(st.integers(1, min(values["train_inputs"], 200)))
    values["axis"], values["slope"] = draw(st.sampled_from(list(AXES))), draw(st.sampled_from(list(SLOPES)))
    steps = draw(st.lists(st.floats(0.01, 5.0), min_size=2, max_size=6))
    values["curve"] = tuple((x, float(number)) for number, x in enumerate(accumulate(steps)))
    values["nonlinearity"] = draw(st.sampled_from(["polsky", "relu", "saturating_relu", "linear", "tabulated"]))
    if not draw(st.booleans()):
        values["inhibitory_share"] = 0.0
    values["populations"] = draw(st.sampled_from(["1", "1", "2"]))
    values["nonlinearity_2"] = draw(st.sampled_from(["polsky", "relu", "tabulated"]))
    values["curve_unit"] = draw(st.sampled_from(["", "mV"]))
    return Parameters(**values)


@given(any_parameters())
def test_a_link_brings_back_every_parameter_to_the_last_bit(parameters):
    again, problems = from_query(to_query(parameters))
    assert problems == []
    assert again == parameters


def test_a_link_names_every_parameter():
    query = to_query(Parameters(curve=((0.0, 0.0), (1.0, 1.0)), curve_unit="mV"))
    assert {part.split("=")[0] for part in query.split("&")} == {parameter.name for parameter in fields(Parameters)}


@given(st.dictionaries(st.text(max_size=12), st.lists(st.binary(max_size=12), max_size=3), max_size=5))
def test_no_link_breaks_the_page(arguments):
    parameters, _ = from_arguments(arguments)
    assert isinstance(parameters, Parameters)


@given(st.dictionaries(st.sampled_from([p.name for p in fields(Parameters)]), st.text(max_size=20), max_size=5))
def test_no_value_of_a_known_parameter_breaks_the_page(values):
    parameters, problems = from_arguments({name: [text.encode()] for name, text in values.items()})
    assert isinstance(parameters, Parameters)
    for name, text in values.items():
        if name in SLIDERS and not any(name in problem for problem in problems):
            assert float(text) == getattr(parameters, name)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("theta_d=7e9", "theta_d = 7000000000.0 is not allowed: it must be a finite number in [0.001, 10]"),
        ("theta_d=nan", "theta_d = nan is not allowed"),
        ("theta_d=fast", "theta_d = 'fast' is not allowed: it must be a number"),
        ("n_inputs=12.5", "n_inputs = '12.5' is not allowed: it must be a whole number"),
        ("theta_d=1&theta_d=2", "theta_d is given 2 times"),
        ("nonlinearity=tanh", "nonlinearity = 'tanh' is not allowed: it must be one of 'polsky'"),
        ("nonlinearity=tabulated", "upload one first"),
        ("n_inputs=50", "n_branches = 100 is not allowed: it must be at most n_inputs = 50"),
        ("speed=3", "speed is not a parameter of this page"),
        ("curve=0_0~0_1", "strictly increasing"),
        ("curve=0_0~1", "points like 0.0_0.0~1.0_1.0"),
        ("curve=0_0~1_nan", "finite numbers"),
        ("curve=0_0~1e-9_1", "two are 1e-09 apart"),
        ("curve=0_0~1_0", "flat or never positive"),
        ("curve=0_0~1_1e9", "numbers up to 1000"),
        ("curve=0_0_1~1_1", "only some points of the curve have a standard error"),
        ("curve=0_0_1~1_1_0", "a positive and finite standard error"),
        ("curve=0_0~1_1&curve_unit=pA", "curve_unit = 'pA' is not allowed"),
        ("populations=3", "populations = '3' is not allowed"),
        ("fraction_2=1", "fraction_2 = 1.0 is not allowed"),
        ("curve=" + "~".join(f"{i}_{i}" for i in range(MOST_POINTS + 1)), "65 points"),
        ("theta_d=" + "1" * 17_000, "longer than 16000 characters"),
    ],
)
def test_bad_links_say_what_is_wrong_and_keep_the_rest(query, words):
    parameters, problems = from_query(query + ("" if len(query) > 16_000 else "&f_in=0.25"))
    assert len(problems) == 1
    assert words in problems[0]
    expected = Parameters(f_in=0.5 if len(query) > 16_000 else 0.25)
    assert parameters.changed({"curve": (), "curve_unit": ""}) == expected


def test_parameters_refuse_names_they_do_not_have():
    with pytest.raises(InvalidParameter, match="parameter = 'speed' is not allowed"):
        Parameters().changed({"speed": 1.0})


@given(any_parameters(), any_parameters())
def test_a_link_to_two_neurons_brings_back_both(first, second):
    found = parse_qs(pair_query(first, second), keep_blank_values=True)
    arguments = {name: [value.encode() for value in values] for name, values in found.items()}
    again, other, problems = pair_from_arguments(arguments)
    assert problems == []
    assert (again, other) == (first, second)


def test_a_link_to_one_neuron_has_no_second():
    assert pair_query(Parameters(), None) == to_query(Parameters())
    assert pair_from_arguments({"theta_d": [b"0.3"]})[1] is None
    _, same, _ = pair_from_arguments({"b.theta_d": [b"0.5"]})
    assert same == Parameters()
