"""What can be taken home: files that open, numbers that agree, scripts that run."""

import contextlib
import csv
import io
import re
import xml.etree.ElementTree as ET
from functools import partial

import numpy as np
import pytest

import dendrocap as dc
from dendrocap.errors import NoSolution
from dendrocap.explorer import files
from dendrocap.explorer.files import DRAWN, neuron_script, training_script
from dendrocap.explorer.parameters import Parameters, from_query, preset
from dendrocap.explorer.trainer import Trainer
from dendrocap.explorer.views import key_numbers, view
from dendrocap.learning import patterns_at_load
from tests.explorer.desks import InstantDesk, curve_of, pretended

CASES = [
    Parameters(kappa=0.3, f_out=0.2, theta_d=0.07),
    Parameters(nonlinearity="relu", axis="theta_s", theta_s=0.8),
    Parameters(nonlinearity="linear"),
    Parameters(axis="n_branches", n_inputs=999, n_branches=27),
    Parameters(populations="2", nonlinearity_2="saturating_relu", length_2=0.5),
    Parameters(nonlinearity="tabulated", curve=((0.0, 0.0), (0.5, 0.2), (1.0, 1.0))),
    Parameters().changed(preset("song2005")),
    Parameters(inhibitory_share=0.2),
    Parameters(inhibitory_share=0.3, inhibitory_drive=1.0, populations="2", axis="theta_s"),
]


@pytest.fixture(autouse=True)
def instant(monkeypatch):
    monkeypatch.setattr(files, "answered", InstantDesk().answer)


def run(script):
    names, printed = {}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(script, "script", "exec"), names)
    return names, printed.getvalue()


@pytest.mark.parametrize("parameters", CASES, ids=lambda parameters: f"{parameters.nonlinearity}-{parameters.axis}")
def test_the_script_makes_what_the_page_shows(parameters, monkeypatch):
    quick = partial(dc.capacity, accuracy="fast")
    monkeypatch.setattr(dc, "capacity", quick)  # a best estimate takes ten seconds: one test has it
    names, printed = run(neuron_script(parameters))
    shown = view(parameters, broken=curve_of(parameters))
    assert names["best"].alpha_c == shown.answer.alpha_c
    assert shown.answer.answer in printed
    assert shown.answer.paper in printed
    for name in ("theta_d", "theta_s"):
        in_mv = getattr(names["units"], f"{name}_mv")(getattr(parameters, name))
        assert np.isclose(float(key_numbers(shown)[f"{name}_mv"].split()[0].replace(",", "")), in_mv, rtol=5e-3)
        assert f"{in_mv:,.4g} mV" in printed
    assert len(names["best"].populations) == int(parameters.populations)
    if parameters.populations == "2" or parameters.inhibited:
        return
    broken = names["curve"].alpha_c.values.ravel()
    at = np.linspace(0, len(broken) - 1, len(shown.curve.broken_x)).astype(int)
    if parameters.nonlinearity in ("polsky", "relu"):  # others have fewer points on the page
        np.testing.assert_allclose(broken[at], shown.curve.broken, rtol=1e-7)
    if "paper" in names:
        ends = names["paper"].alpha_c.values[[0, -1]]
        np.testing.assert_allclose(ends, shown.curve.paper[[0, -1]], rtol=1e-12)


@pytest.mark.slow
def test_the_script_has_the_best_estimate():
    parameters = Parameters(n_inputs=200, n_branches=5, kappa=0.3)
    names, printed = run(neuron_script(parameters))
    assert names["best"].accuracy == "best"
    assert names["best"].answer in printed


@pytest.mark.parametrize("nonlinearity", ["polsky", "linear"])
def test_the_training_script_repeats_the_run_of_the_page(nonlinearity):
    parameters = Parameters(
        nonlinearity=nonlinearity, train_inputs=99, train_branches=9, load=0.6, pace=1000, seed=3, rate=0.3
    )
    trainer = Trainer()
    trainer.start(parameters)
    trainer.wait(60)
    names, _ = run(training_script(parameters))
    progress, result = trainer.progress(), names["result"]
    assert result.solved
    assert progress.epoch == result.epochs
    np.testing.assert_array_equal(progress.error, result.error_history / result.n_patterns)
    np.testing.assert_array_equal(progress.weights, names["finite"].flat_weights(result.weights))


def test_figures_open_and_name_the_best_estimate_first():
    parameters = Parameters()
    assert DRAWN["neuron.png"](parameters, None).startswith(b"\x89PNG")
    svg = DRAWN["neuron.svg"](parameters, None)
    ET.fromstring(svg)
    best = pretended(parameters.cell).texts()["capacity"]
    (title,) = (text for text in re.findall("<!--(.*?)-->", svg.decode()) if "alpha_c$ = " in text)
    assert title.index(best) < title.index("4.95")
    assert "replica symmetric" in title
    assert "branch size: good" in svg.decode()
    with pytest.raises(NoSolution, match="strictly between"):
        DRAWN["neuron.png"](Parameters(theta_s=1.5), None)
    assert DRAWN["neuron.png"](Parameters(axis="n_branches"), None).startswith(b"\x89PNG")


@pytest.mark.parametrize("parameters", CASES, ids=lambda one: f"{one.nonlinearity}-{one.axis}")
def test_the_table_holds_the_answer_every_curve_and_the_link(parameters):
    lines = DRAWN["neuron.csv"](parameters, None).decode().splitlines()
    assert from_query(lines[0].split("?")[1]) == (parameters, [])
    answer = pretended(parameters.cell, parameters.task)
    assert lines[1] == f"# {answer.in_words}"
    for name, flag in answer.validity.items():
        assert f"# validity, {name}: {flag}" in lines
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    shown = view(parameters, best=answer, broken=curve_of(parameters))
    for quantity, expected in (
        ("replica_symmetric_alpha_c", shown.curve.paper),
        ("broken_symmetry_alpha_c", shown.curve.broken),
        ("best_alpha_c", np.array([answer.alpha_c])),
        ("best_error", np.array([answer.error])),
    ):
        values = [float(row["y"]) for row in rows if row["quantity"] == quantity]
        np.testing.assert_array_equal(values, expected[np.isfinite(expected)])
    # No capacity or silent fraction of the paper's estimate without its name.
    named = {row["quantity"] for row in rows}
    assert {"g", "linear_alpha_c", "density"} <= named
    assert "alpha_c" not in named


def test_scripts_draw_correlated_patterns_as_the_page_does():
    parameters = Parameters(branch_correlation=4.0, load=0.2, train_inputs=60, train_branches=3)
    drawn = {}
    exec(training_script(parameters).partition("recipe = ")[0], drawn)
    expected = patterns_at_load(parameters.finite_neuron, 0.2, 0, parameters.task)
    assert (drawn["patterns"].inputs == expected.inputs).all()
    assert 'dc.capacity(cell, task, accuracy="fast")' in neuron_script(parameters)
    assert "dc.capacity(cell, task)" in neuron_script(Parameters(branch_correlation=4.0, nonlinearity="relu"))
