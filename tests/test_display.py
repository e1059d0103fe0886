"""What a terminal and a notebook show of a result: the answer in a line or two, a small table, never an array."""

import dataclasses
import importlib
import inspect
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import dendrocap as dc
from dendrocap import datasets, fitting, learning, reproduction, sweeps, theory
from dendrocap.display import Displayed
from dendrocap.sweeps.generalise import GeneralisationCurve
from dendrocap.sweeps.tables import Average

PACKAGES = ("model", "theory", "learning", "fitting", "answers", "sweeps", "datasets", "reproduction")
# What a user writes down: evaluable, as dataclasses are.
VALUES = {
    "NeuronSpec", "TaskSpec", "DendriticNeuron", "LinearNeuron", "Units", "Cell", "Pace", "SGD", "LocalRule",
    "Linear", "ReLU", "SaturatingReLU", "Step", "Polsky", "PiecewiseLinear", "Smooth", "Tabulated", "Custom", "Recipe",
    "ReconstructedNeuron", "Branches", "Inhibition", "NonNegative", "Bounded", "Ridge", "Level", "Flag", "HardMargin",
    "Probit", "Temperature",
    "TrueSlope", "Lorentzian", "FlooredSlope", "SlopeOf", "Constant", "ExponentialAnnealing", "HalveOnPlateau",
    "AnnealedSurrogate", "MessagePassing", "PlainSGD", "ReplicatedSGD",
    "PolishedAnnealing", "SplitStart",
}  # fmt: skip
NEURON = dc.NeuronSpec(dc.ReLU(), theta_d=1.0, theta_s=0.5)
INHIBITED = dc.NeuronSpec(dc.ReLU(), 1.0, 0.5, inhibition=dc.Inhibition(share=0.2, drive=0.25))
SMALL = dc.LinearNeuron(0.5, 49)


@cache
def capacity():
    return dc.critical_capacity(NEURON)


@cache
def broken():
    return dc.critical_capacity(NEURON, rsb=1)


@cache
def point():
    return dc.saddle_point(NEURON, dc.TaskSpec(), alpha=0.3)


@cache
def short():
    return dc.critical_capacity(NEURON, branch_size=37)


@cache
def short_point():
    return dc.saddle_point(NEURON, alpha=0.3, branch_size=37)


@cache
def patterns():
    return dc.random_patterns(900, 49, rng=0)


@cache
def trained():
    return dc.train(SMALL, *patterns(), algorithm=dc.SGD(0.1), max_epochs=300, seed=0, stop_when_solved=False)


@cache
def measured():
    return dc.algorithmic_capacity(SMALL, recipe=dc.Recipe(dc.SGD(0.1), dc.HalveOnPlateau(20), 100), seeds=[0, 1])


@cache
def fit():
    data = datasets.song2005()
    return dc.fit_weights(data.amplitudes_mv, data.n_tested, nonlinearity=dc.Polsky(0.2, 20), n_bootstrap=20, rng=0)


@cache
def noise():
    return dc.noise_robustness(
        SMALL, trained().weights, *patterns(), flip_probabilities=[0.1], noise_amplitudes=[0.5], seed=1
    )


def a_curve():
    x = np.linspace(0.5, 25.0, 40)
    return dc.fit_nonlinearity(x, 15.0 * dc.Polsky(0.33, 15.0)(x / 15.0))


def error_curve():
    recipe = dc.Recipe(dc.SGD(0.1), dc.HalveOnPlateau(20), max_epochs=20)
    return dc.training_error_curve(SMALL, [0.2, 0.4], recipe=recipe, seeds=[0])


SWEEP = dc.Sweep("capacity", grid={"theta_d": np.linspace(0.1, 1.0, 50)}, parameters={"nonlinearity": "relu"}, seeds=99)
COUNTS = sweeps.Counts(cells=4950, done=4000, failed=1)
RECORD = sweeps.Record("k", "capacity", {"theta_d": 0.5}, 3, "done", {"alpha_c": 1.25, "history": [1.0] * 999},
                            "", "", 0.25, "host", sweeps.Environment("0.1.0"), "2026-01-01")  # fmt: skip
CLAIM = reproduction.paper_claims()[0]
GROUP = fitting.BranchGroup("basal", 20, 2400.0, 2400, dc.Polsky(), 0.05, None)

# One object of each class, and what its line must say.
EXAMPLES = [
    (lambda: dc.best_dendrite(5.0, 0.5, task=dc.TaskSpec(kappa=0.2), rsb=0), "slope 5: rise by 0.486"),
    (lambda: dc.maximal_margin(NEURON, alpha=0.3), "criterion='kappa', estimate='replica symmetric'"),
    (lambda: dc.learned_state(NEURON, alpha=0.3, gamma_ce=1.0), "estimate='replica symmetric'"),
    (lambda: dc.learned_state(NEURON, alpha=0.3, gamma_ce=1.0).margins, "gamma_ce=1, log_tau="),
    (lambda: dc.teacher_student(NEURON, alpha=0.3), "estimate='exact'"),
    (lambda: dc.broken_saddle_point(NEURON, alpha=1.1), "alpha=1.1, estimate='broken symmetry k = 1', free_entropy="),
    (lambda: dc.complexity_curve(NEURON, alpha=1.1, m=[0.2]), "alpha=1.1, estimate='broken symmetry k = 1'"),
    (lambda: dc.local_entropy(NEURON, alpha=0.3, distance=0.01), "alpha=0.3, typical_distance="),
    (
        lambda: dc.learning.MeasuredLocalEntropy(*np.array([[0.1], [-0.5], [-0.25], [3.0], [9]]), stopped="no more"),
        "largest_distance=0.1, stopped='no more'",
    ),
    (lambda: dc.critical_capacity(INHIBITED).populations[0].synapses[1], "kind='inhibitory', share=0.2"),
    (lambda: dc.saddle_point(INHIBITED, alpha=0.3).populations[0].synapses[0], "kind='excitatory', share=0.8"),
    (lambda: reproduction.full_size_verdicts()[CLAIM.id], "verdict="),
    (capacity, lambda: f"alpha_c={capacity().alpha_c:.6g}, estimate='replica symmetric'"),
    (lambda: theory.OtherSolution(1.25, 0.3, 2.0, 0.9, "minimum"), "alpha=1.25"),
    (lambda: dc.stability_limit(NEURON), "StabilityLimit(alpha="),
    (lambda: dc.capacity(dc.DendriticNeuron(NEURON, 999, 27), accuracy="fast"), "answer='about 1.5 patterns per syn"),
    (short, lambda: f"alpha_c={short().alpha_c:.6g}, estimate='replica symmetric', branch_size=37"),
    (lambda: short().populations[0], "mean_output=0.5, W_bar="),
    (short_point, lambda: f"free_entropy={short_point().free_entropy:.6g}, alpha=0.3"),
    (lambda: short_point().populations[0], "mean_output=0.5, W_bar="),
    (lambda: dc.branch_stability(NEURON), "stable=True, kappa_c="),
    (lambda: theory.zero_load(NEURON), "free_entropy="),
    (lambda: theory.committee_capacity(dc.ReLU(), rsb=1), "alpha_c=2.66428"),
    (broken, lambda: f"alpha_c={broken().alpha_c:.6g}, estimate='broken symmetry k = 1'"),
    (lambda: broken().weights, lambda: f"silent_fraction={broken().silent_fraction:.6g}, mean=2"),
    (lambda: capacity().weights, lambda: f"silent_fraction={capacity().silent_fraction:.6g}, mean=2, "),
    (lambda: point().weights, "Weights(mean=2, "),
    (lambda: theory.Weights(0.0, 0.0, 0.0, 2.0), "w_max=2"),
    (lambda: capacity().preactivation, "mu="),
    (point, lambda: f"alpha=0.3, free_entropy={point().free_entropy:.6g}"),
    (lambda: theory.silent_range(dc.Polsky(), 0.5, dc.TaskSpec()), "low="),
    (trained, lambda: f"solved=False, errors={trained().errors}, n_patterns=900, epochs=300"),
    (lambda: trained().state, "best_errors="),
    (lambda: dc.Training(SMALL, *patterns(), seed=0), "epochs=0"),
    (lambda: learning.EpochOutcome(np.ones(900), np.ones(49), 0.1), "margins=<900>, weights=<49>, learning_rate=0.1"),
    (lambda: learning.EpochRecord(3, 7, 0.07, 6, 0.01), "errors=7"),
    (measured, lambda: f"alpha={measured().alpha:.6g}, interval=("),
    (lambda: measured().points[0], "solved="),
    (lambda: measured().points[0].trials[0], "errors="),
    (error_curve, "mean_errors=<2>"),
    (lambda: dc.learning_speed(SMALL, recipe=dc.Recipe(dc.SGD(0.1), max_epochs=5), seeds=[0]), "median_epochs="),
    (lambda: learning.SavedRun(SMALL, dc.pack_patterns(patterns().inputs), patterns().labels, trained().weights, 7,
                               "SGD()", trained().error_history, trained().rate_history, trained().state),
     "errors=7, inputs=<900 x 49>"),
    (lambda: learning.BetheEstimate(-0.25, 0.1, 1.0, 2.0, 1.0, 80, 1e-5, True), "free_entropy=-0.25"),
    (lambda: dc.linear_feasibility(SMALL, *dc.random_patterns(10, 49, rng=0)), "feasible=True, margin="),
    (noise, lambda: f"baseline={noise().baseline:.6g}"),
    (lambda: noise().input_flips[0], "level=0.1"),
    (lambda: dc.weight_statistics(trained().weights), "near_zeros="),
    (lambda: dc.weight_statistics(trained().weights).compare(capacity().weights), "largest_distance="),
    (lambda: learning.three_factors(SMALL, np.ones((1, 49)), np.ones(49), label=1, gamma_ce=1.0), "error="),
    (fit, lambda: f"silent_fraction={fit().silent_fraction.value:.6g} ["),
    (lambda: fit().comparison[0], "delta_aic=0"),
    (lambda: fit().dendrites, "theta_d="),
    (lambda: fit().linear, "kappa="),
    (lambda: dc.capacity_report(fit(), accuracy="fast"), "patterns per synapse', patterns="),
    (lambda: GROUP, "name='basal', n_branches=20"),
    (lambda: fitting.GroupShare(GROUP, 0.4, None), "silent_fraction=0.4"),
    (lambda: learning.Perturbation("theta_d -25 %", 0.0, 0.3, 0.0, 0.0, 0.0), "false_alarms=0.3"),
    (lambda: datasets.Column("epsp", "mV", np.zeros(99), 1), "unit='mV', values=<99>"),
    (lambda: datasets.Amplitudes("epsp", "mV", np.zeros(99), 1, 2), "n_zeros=2"),
    (lambda: datasets.Curve(*[np.zeros(99)] * 3, None, "mV", ("x", "y"), 0), "unit='mV', x=<99>"),
    (a_curve, "x_min=0.33, gamma=15, scale=15"),
    (lambda: SWEEP, "grid={theta_d: <50>}, seeds=<99>"),
    (lambda: COUNTS, "cells=4950, done=4000"),
    (lambda: sweeps.Environment("0.1.0", "2.4.6"), "dendrocap='0.1.0', numpy='2.4.6'"),
    (lambda: sweeps.Search("alpha", "solved", 0.5, 0.1, 2.0, 0.1), "axis='alpha', metric='solved', level=0.5"),
    (lambda: sweeps.Crossing({"theta_d": 0.1}, 0.93, 0.9, 0.95, 27), "value=0.93, low=0.9, high=0.95"),
    (lambda: sweeps.Outlook(1.0, 2.0, 0.1, 0.9), "load=1, capacity=2, error=0.1, chance=0.9"),
    (lambda: sweeps.SweepReport(SWEEP, COUNTS, 17, 2.5, False), "Counts(cells=4950, done=4000, failed=1), ran=17"),
    (lambda: sweeps.Progress(10, 4, 1, 2, 3, 1.5), "done=4"),
    (lambda: RECORD, "status='done', metrics={alpha_c: 1.25"),
    (lambda: Average(None, 0.5, 1.25, 0.01, 3), "mean=1.25, standard_error=0.01"),
    (lambda: GeneralisationCurve("mnist", "linear", 0, *[np.zeros(999)] * 4), "test_error=<999>"),
    (lambda: datasets.song2005(), "amplitudes_mv=<931>, n_tested=8050"),
    (lambda: datasets.Table(Path("a.csv"), ("x",), ("mV",), ()), "units=(mV)"),
    (lambda: datasets.ImageSet("mine", "train", np.zeros((30, 784)), np.zeros(30)), "images=<30 x 784>"),
    (lambda: datasets.BinarySet("mnist", "odd & even", *[dc.pack_patterns(patterns().inputs), patterns().labels] * 2),
     "inputs=<900 x 49>"),
    (lambda: datasets.data_set("mnist"), "name='mnist'"),
    (lambda: dc.pack_patterns(patterns().inputs), "shape=(900, 49)"),
    (lambda: CLAIM, f"id={CLAIM.id!r}"),
    (lambda: reproduction.Measured(3.51, 0.02), "value=3.51, error=0.02"),
    (lambda: reproduction.judge(CLAIM, None, "not run"), "verdict="),
    (lambda: reproduction.FigureOutcome("fig8", "quick", "skipped", "no images " * 99), "status='skipped'"),
    (lambda: reproduction.Reproduction(Path("here"), "quick", (), ()), "preset='quick'"),
    (lambda: reproduction.PRESETS["quick"], "name='quick'"),
    (lambda: reproduction.selected()[0], "name="),
]  # fmt: skip


@cache
def shown():
    """The objects, and what their lines must say, by class."""
    made = [(make(), words() if callable(words) else words) for make, words in EXAMPLES]
    return {type(thing).__name__: (thing, words) for thing, words in made}


def public_classes():
    for package in PACKAGES:
        module = importlib.import_module(f"dendrocap.{package}")
        yield from (getattr(module, name) for name in module.__all__ if inspect.isclass(getattr(module, name)))


def test_every_public_class_is_a_value_or_displayed_and_has_an_example():
    undecided = {
        cls.__name__
        for cls in public_classes()
        if (dataclasses.is_dataclass(cls) or issubclass(cls, Displayed))
        and (cls.__name__ in VALUES) == (issubclass(cls, Displayed) and cls.__name__ in {*shown(), "Store"})
    }
    assert undecided == set()


def test_lines_say_the_answer_and_fit_two_lines():
    for name, (thing, words) in shown().items():
        line = repr(thing)
        assert line.startswith(f"{name}("), line
        assert words in line
        assert len(line) < 200, line
        assert "\n" not in line
        assert "array(" not in line
        assert "0x" not in line  # an address


def test_a_store_shows_its_place(tmp_path):
    with dc.Store(tmp_path / "results.db", write=True) as store:
        assert repr(store) == f"Store(path={str(store.path)[:47]}…)" or repr(store) == f"Store(path={store.path})"


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


def test_tables_are_sound_and_show_what_the_line_shows():
    for name, (thing, _) in shown().items():
        table = thing._repr_html_()
        parser = Checker()
        parser.feed(table)
        assert parser.open == []
        assert parser.cells[0] == name
        assert set(type(thing)._displayed) <= set(parser.cells), name
        assert len(table) < 4000
    assert "NeuronSpec(nonlinearity=ReLU()" in capacity()._repr_html_()  # what it was computed from


def test_tables_escape():
    images = shown()["BinarySet"][0]
    assert "odd &amp; even" in images._repr_html_()
    evil = reproduction.Measured(1.0, note="<script>alert(1)</script>")
    assert "<script>" not in evil._repr_html_()
    assert "&lt;script&gt;" in evil._repr_html_()


def test_values_can_be_evaluated():
    neuron = dc.DendriticNeuron(dc.NeuronSpec(dc.Polsky(), 0.5, 0.5), 99, 9)
    assert eval(repr(neuron), vars(dc)) == neuron
    assert eval(repr(dc.TaskSpec(0.3)), vars(dc)) == dc.TaskSpec(0.3)


def test_drawn_patterns_show_their_size():
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
