"""``dendrocap report``."""

import json
import re
from html import unescape
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from dendrocap import NeuronSpec, Polsky, TaskSpec, Units, critical_capacity
from dendrocap.cli import app
from dendrocap.cli.lab import _lights
from dendrocap.datasets import example_cell

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


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
    options = ["--tested", 3000, "--bootstrap", 30, "--accuracy", "fast", "--kind", "polsky"]
    outcome = run("report", *files, *options, "-o", page)
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
    options = ["--tested", 3000, "--bootstrap", 0, "--accuracy", "fast", "--kind", "polsky"]
    outcome = run("report", *files, *options, "--cell", example_cell(), "--synapses-per-um", 3, "-o", target)
    assert outcome.exit_code == 0, outcome.stderr
    assert target.read_text().count("data:image/png;base64,") == 3


@pytest.mark.parametrize("name", ["report.docx", "report.pdf"])
def test_a_bad_target_is_refused_before_any_work(files, name):
    outcome = run("report", *files, "-o", name)
    assert outcome.exit_code == 2
    assert name in outcome.stderr


@pytest.mark.parametrize(
    ("name", "points", "light"), [("smooth", 2, "bad"), ("smooth", 3, "good"), ("polsky", 2, "good")]
)
def test_a_curve_without_points_on_its_rise_is_a_bad_light(name, points, light):
    shape = SimpleNamespace(nonlinearity=SimpleNamespace(name=name), points_on_rise=points)
    fit = SimpleNamespace(
        units=Units(10_000, 100, attenuation=0.2),
        dendrites=SimpleNamespace(reachable=False),
        compatible=False,
        comparison=[SimpleNamespace(name="lognormal", delta_aic=0.0), SimpleNamespace(name="capacity", delta_aic=7.0)],
    )
    found = SimpleNamespace(capacity=None, verdict="out of reach")
    lights = _lights(found, 0.2, fit, shape)
    assert lights["resolution of the curve"].light == light
    assert f"{points} points between" in lights["resolution of the curve"].words
    assert (lights["attenuation"].light, lights["attenuation"].words) == ("good", "0.2, as given")
    assert _lights(found, None, fit, shape)["attenuation"].light == "caution"
    assert lights["silent fraction within reach"].light == "bad"
    assert lights["shape of the amplitudes"].words == "a lognormal is better by 7 units of AIC"
