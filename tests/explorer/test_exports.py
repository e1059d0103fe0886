"""What can be taken home: files that open, numbers that agree, scripts that run."""

import contextlib
import csv
import io
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from dendrocap.errors import NoSolution
from dendrocap.explorer.exports import EXPORTS, neuron_script, training_script
from dendrocap.explorer.links import from_query
from dendrocap.explorer.parameters import Parameters
from dendrocap.explorer.presets import preset
from dendrocap.explorer.trainer import Trainer
from dendrocap.explorer.views import key_numbers, view

CASES = [
    Parameters(kappa=0.3, f_out=0.2, theta_d=0.07),
    Parameters(nonlinearity="relu", axis="theta_s", theta_s=0.8),
    Parameters(nonlinearity="linear"),
    Parameters(nonlinearity="tabulated", curve=((0.0, 0.0), (0.5, 0.2), (1.0, 1.0))),
    Parameters().changed(preset("song2005")),
]


def run(script):
    names, printed = {}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(script, "script", "exec"), names)
    return names, printed.getvalue()


@pytest.mark.parametrize("parameters", CASES, ids=lambda parameters: parameters.nonlinearity)
def test_the_script_makes_what_the_page_shows(parameters):
    names, printed = run(neuron_script(parameters))
    shown = view(parameters)
    assert names["solution"].alpha_c == shown.solution.alpha_c
    np.testing.assert_array_equal(names["curve"].alpha_c.values, shown.curve.alpha_c)
    np.testing.assert_allclose(
        np.interp(shown.curve.linear_x, shown.curve.x, names["linear"].alpha_c.values),
        shown.curve.linear,
        rtol=2e-3,  # the page draws 40 of the 120 points where there is a margin
    )
    numbers = key_numbers(shown)
    for name in ("alpha_c", "n_patterns"):
        assert numbers[name] in printed
    for name in ("theta_d", "theta_s"):
        in_mv = getattr(names["units"], f"{name}_mv")(getattr(names["neuron"], name))
        assert np.isclose(float(numbers[f"{name}_mv"].split()[0].replace(",", "")), in_mv, rtol=5e-3)
        assert f"{in_mv:,.4g} mV" in printed
    assert numbers["silent_fraction"].replace(" ", "") in printed


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


def test_figures_open_and_name_the_capacity():
    parameters = Parameters()
    assert EXPORTS["neuron.png"].make(parameters).startswith(b"\x89PNG")
    svg = EXPORTS["neuron.svg"].make(parameters)
    ET.fromstring(svg)
    assert b"4.9513" in svg
    with pytest.raises(NoSolution, match="strictly between"):
        EXPORTS["neuron.png"].make(Parameters(theta_s=1.5))


@pytest.mark.parametrize("parameters", [*CASES, Parameters(theta_s=1.5)], ids=lambda one: str(one.theta_s))
def test_the_table_holds_every_curve_and_the_link(parameters):
    lines = EXPORTS["neuron.csv"].make(parameters).decode().splitlines()
    assert from_query(lines[0].split("?")[1]) == (parameters, [])
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    shown = view(parameters)
    alpha = [float(row["y"]) for row in rows if row["quantity"] == "alpha_c"]
    np.testing.assert_array_equal(alpha, shown.curve.alpha_c[np.isfinite(shown.curve.alpha_c)])
    quantities = {row["quantity"] for row in rows}
    assert {"g", "linear_alpha_c"} <= quantities
    assert ("density" in quantities) == (shown.solution is not None)
