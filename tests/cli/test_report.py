"""The page of ``dendrocap fit weights -o``."""

import json
import re
from html import unescape
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from dendrocap import NeuronSpec, Polsky, TaskSpec, Units, critical_capacity
from dendrocap.cli import app
from dendrocap.datasets import example_cell
from dendrocap.fitting import CapacityReport, report

runner = CliRunner()
OPTIONS = ["--tested", 3000, "--accuracy", "fast"]


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    """Three thresholds in each interval that the data allow: what they are for is tested with the fit."""
    monkeypatch.setattr(report, "N_THRESHOLDS", 3)


@pytest.fixture
def files(tmp_path, rng):
    x = np.linspace(0.5, 24.0, 30)
    y = 15.0 * Polsky(0.2, 20.0)(x / 15.0) + 0.3 * rng.standard_normal(x.size)
    curve, epsp = tmp_path / "curve.csv", tmp_path / "epsp.csv"
    lines = [f"{a},{b},0.3" for a, b in zip(x, y, strict=True)]
    curve.write_text("expected (mV),recorded (mV),SEM (mV)\n" + "\n".join(lines))
    truth = critical_capacity(NeuronSpec(Polsky(0.2, 20.0), 0.045, 0.1), TaskSpec(0.05, 0.05))
    weights_mv = Units().weight_mv(truth.weights.rvs(3000, random_state=rng))
    epsp.write_text("epsp (mV)\n" + "\n".join(map(repr, weights_mv[weights_mv > 0.0].tolist())))
    return curve, epsp


def test_the_report_holds_inputs_fits_lights_methods_and_numbers(files, tmp_path):
    page = tmp_path / "report.html"
    curve, epsp = files
    outcome = run("fit", "weights", epsp, "--curve", curve, *OPTIONS, "--bootstrap", 30, "-o", page)
    assert outcome.exit_code == 0, outcome.stderr
    text = page.read_text()
    for words in (
        "with standard errors", "in mV", "3000 pairs tested", "replica-symmetric estimate", "caution", "attenuation",
        "number of branches", "Methods", "arXiv:2407.07572",
    ):  # fmt: skip
        assert words in text, words
    assert text.count("data:image/png;base64,") == 2
    assert not re.search(r"""(src|href)=["']http""", text)
    numbers = json.loads(unescape(re.search(r"<pre>(.*)</pre>", text, re.DOTALL)[1]))
    assert numbers["synapses"]["alpha_c"] < numbers["synapses"]["paper_alpha_c"]
    assert f"{numbers['synapses']['n_amplitudes']} amplitudes" in text


def test_a_cell_gives_its_size(files, tmp_path):
    pytest.importorskip("morphio", reason="needs the extra morphology")
    target = tmp_path / "report.html"
    curve, epsp = files
    cell = ["--cell", example_cell(), "--synapses-per-um", 3]
    outcome = run("fit", "weights", epsp, "--curve", curve, *OPTIONS, "--bootstrap", 0, *cell, "-o", target, "--json")
    assert outcome.exit_code == 0, outcome.stderr
    (row,) = json.loads(outcome.stdout)
    assert len(row["cell"]["groups"]) == 3
    assert row["cell"]["groups"][0]["theta_d"] == row["theta_d"]
    assert target.read_text().count("data:image/png;base64,") == 3


@pytest.mark.parametrize("name", ["report.docx", "report.pdf"])
def test_a_bad_target_is_refused_before_any_work(files, name):
    outcome = run("fit", "weights", files[1], "-o", name)
    assert outcome.exit_code == 2
    assert name in outcome.stderr


@pytest.mark.parametrize("resolved", [True, False])
def test_a_curve_without_points_on_its_rise_is_a_bad_light(resolved):
    comparison = [SimpleNamespace(name="lognormal", delta_aic=0.0), SimpleNamespace(name="capacity", delta_aic=7.0)]
    explained = {"dendrites": SimpleNamespace(reachable=False), "compatible": False, "verdict": "out of reach"}
    lights = {}
    for attenuation in (0.2, None):
        units = Units(10_000, 100, attenuation=attenuation)
        fit = SimpleNamespace(units=units, comparison=comparison, **explained)
        curve = SimpleNamespace(resolved=resolved, points_on_rise=2)
        lights[attenuation] = CapacityReport(None, None, {}, None, "", fit, curve).validity
    assert lights[0.2]["resolution of the curve"].light == ("good" if resolved else "bad")
    assert "2 points between" in lights[0.2]["resolution of the curve"].words
    assert (lights[0.2]["attenuation"].light, lights[0.2]["attenuation"].words) == ("good", "0.2, as given")
    assert lights[None]["attenuation"].light == "caution"
    assert lights[0.2]["silent fraction within reach"].light == "bad"
    assert lights[0.2]["shape of the amplitudes"].words == "a lognormal is better by 7 units of AIC"
