"""The page about the extensions: its numbers are what the functions give, its pictures and commands exist."""

import doctest
import re
import shlex

import pytest

from dendrocap.figures.style import PALETTE
from studies import what_extensions_say as pictures
from tests.documentation.sources import DOCS
from tests.documentation.test_which_function import walk

PAGE = DOCS / "theory" / "extensions.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_its_examples_give_what_it_says():
    outcome = doctest.testfile(str(PAGE), module_relative=False)
    assert outcome.attempted >= 8
    assert outcome.failed == 0


def test_its_sentences_quote_its_examples():
    for number in (
        "2.57 times",
        "7 % more",
        "0.34 %",
        "0.72 %",
        "8.1 %",
        "28.1 %",
        "48 %",
        "3.4 %",
        "81 %",
        "1.19 pat",
    ):
        assert number in TEXT


def test_simulated_numbers_are_those_of_the_table():
    for neuron, errors, silent in (("linear", "28.1", "47"), ("Polsky 0.5", "20", "27")):
        found = pictures.rows("trained_states", neuron=neuron, alpha=2.0, gamma_ce=1.0)
        columns = ("training_error", "silent_fraction")
        wrong, quiet = (100 * pictures.mean([float(row[name]) for row in found])[0] for name in columns)
        digits = len(errors.partition(".")[2])
        assert (f"{wrong:.{digits}f}", f"{quiet:.0f}") == (errors, silent)
        assert f"have {errors} and {silent} %" in TEXT


def test_it_has_five_pictures_each_of_which_is_drawn_by_the_study():
    named = re.findall(r"images/extensions/(\w+)\.png", TEXT)
    assert named == [figure.__name__ for figure in pictures.FIGURES]
    assert all((pictures.FOLDER / f"{name}.png").is_file() for name in named)


@pytest.mark.parametrize("command", re.findall(r"`dendrocap ([a-z-]+ -[^`]*)`", TEXT))
def test_its_commands_parse(command):
    path, context = walk(shlex.join(shlex.split(command)))
    assert path
    assert context.params


def test_marks_of_simulations_are_added_to_the_figures():
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.subplots()
    pictures.correlated_inputs(figure)
    assert len(axes.containers) == 2
    assert axes.containers[0].lines[0].get_color() == PALETTE["linear"]
    (low, high) = sorted(float(one.lines[0].get_ydata()[0]) for one in axes.containers)
    assert 0.4 < low < high < 0.75
    with pytest.raises(LookupError, match="no row"):
        pictures.rows("linear_programming", branch_correlation=77.0)
