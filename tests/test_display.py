"""What a terminal and a notebook show of a result: the answer in a line or two, a small table, never an array."""

import dataclasses
import importlib
import inspect
import re
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest

import dendrocap as dc
from dendrocap import datasets, fitting, learning, sweeps
from dendrocap.display import Displayed

PACKAGES = ("model", "theory", "learning", "fitting", "answers", "sweeps", "datasets", "reproduction")
NEURON = dc.NeuronSpec(dc.ReLU(), theta_d=1.0, theta_s=0.5)
SMALL = dc.LinearNeuron(0.5, 49)
SWEEP = dc.Sweep("capacity", grid={"theta_d": np.linspace(0.1, 1.0, 50)}, parameters={"nonlinearity": "relu"}, seeds=99)


@cache
def patterns():
    return dc.random_patterns(900, 49, rng=0)


@cache
def trained():
    return dc.train(SMALL, *patterns(), algorithm=dc.SGD(0.1), max_epochs=30, seed=0, stop_when_solved=False)


def fit():
    data = datasets.song2005()
    return dc.fit_weights(data.amplitudes_mv, data.n_tested, nonlinearity=dc.Polsky(0.2, 20), n_bootstrap=20, rng=0)


# Results of all packages, and what their lines must say.
EXAMPLES = [
    (lambda: dc.critical_capacity(NEURON), "estimate='replica symmetric'"),
    (lambda: dc.critical_capacity(NEURON, rsb=1), "estimate='broken symmetry k = 1'"),
    (lambda: dc.critical_capacity(NEURON, branch_size=37), "estimate='replica symmetric', branch_size=37"),
    (lambda: dc.critical_capacity(NEURON).weights, "silent_fraction="),
    (lambda: dc.saddle_point(NEURON, alpha=0.3), "alpha=0.3, free_entropy="),
    (lambda: dc.capacity(dc.DendriticNeuron(NEURON, 999, 27), accuracy="fast"), "answer='about 1.5 patterns per syn"),
    (lambda: dc.learned_state(NEURON, alpha=0.3, gamma_ce=1.0), "estimate='replica symmetric'"),
    (lambda: dc.teacher_student(NEURON, alpha=0.3), "estimate='exact'"),
    (trained, "solved=False, errors="),
    (lambda: trained().state, "best_errors="),
    (lambda: dc.Training(SMALL, *patterns(), seed=0), "epochs=0"),
    (lambda: learning.EpochOutcome(np.ones(900), np.ones(49), 0.1), "margins=<900>, weights=<49>, learning_rate=0.1"),
    (lambda: learning.Trial(0.5, 0, 100, 7, 3, 2, "solved"), "errors=7, n_patterns=100"),
    (lambda: dc.weight_statistics(trained().weights), "near_zeros="),
    (fit, "silent_fraction="),
    (lambda: datasets.song2005(), "amplitudes_mv=<931>, n_tested=8050"),
    (lambda: datasets.BinarySet("mnist", "odd & even", *[dc.pack_patterns(patterns().inputs), patterns().labels] * 2),
     "<900 x 49>"),
    (lambda: SWEEP, "grid={theta_d: <50>}, seeds=<99>"),
    (lambda: sweeps.Counts(cells=4950, done=4000, failed=1), "cells=4950, done=4000"),
]  # fmt: skip


def displayed_classes():
    for package in PACKAGES:
        module = importlib.import_module(f"dendrocap.{package}")
        things = (getattr(module, name) for name in module.__all__)
        yield from (thing for thing in things if inspect.isclass(thing) and issubclass(thing, Displayed))


def test_what_a_class_shows_is_there():
    found = list(displayed_classes())
    assert len(found) > 50
    for cls in found:
        fields = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
        set_by_init = {*getattr(cls.__init__, "__code__", cls.__repr__.__code__).co_names}
        assert {name for name in cls._displayed if not hasattr(cls, name)} <= fields | set_by_init, cls


class Checker(HTMLParser):
    """Tags must be closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.cells = [], []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.cells.append(data)


@pytest.mark.parametrize(("make", "words"), EXAMPLES, ids=[words for _, words in EXAMPLES])
def test_lines_say_the_answer_and_tables_what_the_line_says(make, words):
    thing = make()
    line, table = repr(thing), thing._repr_html_()
    assert line.startswith(f"{type(thing).__name__}(")
    assert words in line
    assert len(line) < 200
    assert not re.search(r"\n|array\(|0x", line)  # an array, an address
    parser = Checker()
    parser.feed(table)
    assert parser.open == []
    assert parser.cells[0] == type(thing).__name__
    assert {*type(thing)._displayed} <= {*parser.cells}
    assert len(table) < 4000


def test_tables_name_what_was_given_and_escape_it():
    @dataclasses.dataclass
    class Evil(Displayed):
        note: str
        neuron: object
        _displayed = ("note",)

    table = Evil("<script>alert(1)</script>", NEURON)._repr_html_()
    assert "<script>" not in table
    assert "&lt;script&gt;" in table
    assert "NeuronSpec(nonlinearity=ReLU()" in table


def test_values_can_be_evaluated_and_patterns_show_their_size():
    neuron = dc.DendriticNeuron(dc.NeuronSpec(dc.Polsky(), 0.5, 0.5), 99, 9)
    for value in (neuron, dc.TaskSpec(0.3), dc.Inhibition(0.2, 0.1), dc.SGD(0.1)):
        assert eval(repr(value), vars(dc)) == value
    assert repr(patterns()) == "Patterns(inputs=<900 x 49>, labels=<900>)"


@pytest.mark.parametrize(
    ("value", "line"),
    [(1.0, "1"), (1.23456789, "1.23457"), (1.2345e-12, "1.2e-12"), (float("nan"), "nan"), (np.float64(0.5), "0.5"),
     (None, "None"), (True, "True"), ("a 'word'", '"a \'word\'"'), (np.zeros((2, 3)), "<2 x 3>"), ((), "()"),
     (fitting.Interval(0.5, 0.4, 0.6), "0.5 [0.4, 0.6]"), (fitting.Interval(0.5, np.nan, np.nan), "0.5")],
)  # fmt: skip
def test_digits_and_sizes(value, line):
    @dataclasses.dataclass
    class Answer(Displayed):
        x: object
        _displayed = ("x",)

    assert repr(Answer(value)) == f"Answer(x={line})"
    assert re.search(r"<td[^>]*>", Answer(value)._repr_html_())
