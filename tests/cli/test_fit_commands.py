"""``dendrocap fit`` from a file to a table, to JSON and to a figure."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from dendrocap import NeuronSpec, Polsky, TaskSpec, Units, capacity_report, critical_capacity, fit_weights
from dendrocap.cli import app
from dendrocap.fitting import report
from tests.drawing import points

runner = CliRunner()
FAST = ["--accuracy", "fast"]


def run(*arguments):
    return runner.invoke(app, ["fit", *(str(argument) for argument in arguments)])


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    """Three thresholds in each interval that the data allow: what they are for is tested with the fit."""
    monkeypatch.setattr(report, "N_THRESHOLDS", 3)


@pytest.fixture
def curve_csv(tmp_path, rng):
    x = np.linspace(0.5, 24.0, 24)
    y = np.abs(15.0 * Polsky(0.28, 16.0)(x / 15.0) + 0.1 * rng.standard_normal(x.size))
    path = tmp_path / "curve.csv"
    path.write_text(
        "# one branch\nexpected (mV),recorded (mV)\n" + "\n".join(f"{a},{b}" for a, b in zip(x, y, strict=True))
    )
    return path


@pytest.fixture
def amplitudes(rng):
    truth = critical_capacity(NeuronSpec(Polsky(0.2, 20.0), 0.045, 0.1), TaskSpec(0.05, 0.05))
    weights_mv = Units().weight_mv(truth.weights.rvs(4000, random_state=rng))
    return weights_mv[weights_mv > 0.0]


@pytest.fixture
def epsp_csv(tmp_path, amplitudes):
    path = tmp_path / "epsp.csv"
    path.write_text("cell;epsp;unit\n" + "\n".join(f"c{n};{w!r};mV" for n, w in enumerate(amplitudes.tolist())))
    return path


def test_a_curve_gives_parameters_errors_and_a_figure(curve_csv, tmp_path, drawn):
    target = tmp_path / "curve.png"
    outcome = run("nonlinearity", curve_csv, "--json", "--plot", target)
    (row,) = json.loads(outcome.stdout)
    for name, truth in (("x_min", 0.28), ("gamma", 16.0), ("scale", 15.0)):
        assert abs(row[name] - truth) < 6.0 * row[f"{name}_error"]
    assert row["n_points"] == 24
    assert row["r_squared"] > 0.99
    above, below = drawn["curve.png"].axes
    x, y = points(above.lines[1]).T  # the fit
    np.testing.assert_allclose(y, row["scale"] * Polsky(row["x_min"], row["gamma"])(x / row["scale"]), rtol=1e-9)
    measured = np.loadtxt(curve_csv, delimiter=",", skiprows=2)
    np.testing.assert_allclose(points(above.lines[2]), measured, rtol=1e-12)
    residuals = measured[:, 1] - np.interp(measured[:, 0], x, y)
    np.testing.assert_allclose(points(below.lines[1])[:, 1], residuals, atol=2e-3)
    assert str(target) in outcome.stderr
    assert "gamma" in run("nonlinearity", curve_csv).stdout


def test_a_table_and_a_fixed_scale_can_be_asked_for(curve_csv):
    (row,) = json.loads(run("nonlinearity", curve_csv, "--kind", "tabulated", "--json").stdout)
    assert row["nonlinearity"] == "tabulated"
    assert row["gamma"] is None
    (row,) = json.loads(run("nonlinearity", curve_csv, "--scale", 15, "--json").stdout)
    assert row["scale"] == 15.0
    assert row["scale_error"] is None


def test_json_holds_the_numbers_of_the_python_fit(epsp_csv, amplitudes):
    options = ["--tested", 4000, "--x-min", 0.2, "--gamma", 20, "--bootstrap", 20, "--seed", 3, *FAST]
    (row,) = json.loads(run("weights", epsp_csv, *options, "--json").stdout)
    fit = fit_weights(amplitudes, 4000, nonlinearity=Polsky(0.2, 20.0), n_bootstrap=20, rng=3)
    found = capacity_report(fit, accuracy="fast")
    for name in ("silent_fraction", "W_star_mv", "theta_d_mv"):
        assert [row[name], row[f"{name}_low"], row[f"{name}_high"]] == list(getattr(fit, name))
    assert row["theta_s"] == fit.dendrites.theta_s
    assert row["theta_s_sets_mv"] == [list(ends) for ends in fit.theta_s_sets_mv]
    assert [row["alpha_c"], row["alpha_c_low"], row["alpha_c_high"]] == list(found.alpha_c)
    assert row["bits_per_synapse"] == found.bits_per_synapse.value
    assert row["paper_alpha_c"] == found.paper_alpha_c > row["alpha_c"]
    assert row["capacity"]["validity"]["replica symmetry"]["light"] == "bad"
    assert row["aic_lognormal"] > row["aic_capacity"]
    assert row["linear_kappa_mv"] == fit.linear.kappa_mv


def test_the_table_shows_both_explanations_and_the_rivals(epsp_csv, tmp_path, amplitudes, drawn):
    target = tmp_path / "fit.svg"
    outcome = run("weights", epsp_csv, "--tested", 4000, "--bootstrap", 20, "--plot", target, *FAST)
    assert outcome.exit_code == 0
    for word in ("theta_s", "bits / synapse", "without dendrites: margin", "lognormal", "exponential", "within reach"):
        assert word in outcome.stdout
    assert "silent fraction" in outcome.stderr
    assert "the paper's replica-symmetric estimate" in " ".join(outcome.stdout.split())
    assert max(len(line) for line in outcome.stdout.splitlines()) <= 80
    silent, density, branch, _ = drawn["fit.svg"].axes
    fit = fit_weights(amplitudes, 4000, nonlinearity=Polsky(), n_bootstrap=20)
    assert silent.patches[0].get_height() == pytest.approx(fit.silent_fraction.value, rel=1e-12)
    w, f = points(density.lines[0]).T
    np.testing.assert_allclose(f, fit.weights_mv.pdf(w), rtol=1e-9)
    x, g = points(branch.lines[0]).T
    np.testing.assert_allclose(g, 15.0 * Polsky()(x / 15.0), rtol=1e-9)


def test_a_measured_curve_gives_g_and_the_scale(epsp_csv, curve_csv):
    outcome = run("weights", epsp_csv, "--tested", 4000, "--curve", curve_csv, "--bootstrap", 0, "--json", *FAST)
    assert "Polsky(x_min=0.2" in outcome.stderr
    (row,) = json.loads(outcome.stdout)
    (curve,) = json.loads(run("nonlinearity", curve_csv, "--json").stdout)
    units = Units(scale_mv=curve["scale"])
    assert row["W_star"] == pytest.approx(float(units.weight(row["W_star_mv"])), rel=1e-12)


def test_an_unreachable_fraction_is_said_on_stderr_and_in_the_data(epsp_csv):
    outcome = run("weights", epsp_csv, "--p0", 0.95, "--bootstrap", 0, "--json", *FAST)
    assert outcome.exit_code == 0
    assert "out of reach" in outcome.stderr
    (row,) = json.loads(outcome.stdout)
    assert row["reachable"] is False
    assert row["theta_s_solutions"] == []
    assert row["compatible"] is False
    assert row["nearest_silent_fraction"] == pytest.approx(row["reachable_high"])


@pytest.mark.parametrize(
    ("text", "arguments", "words"),
    [
        ("epsp\n0,45\n0,5\n", ["--tested", 100], ["decimal comma"]),
        ("epsp\n0.5\nnan\n", ["--tested", 100], ["line 3", "nan"]),
        ("epsp\n0.5\n-0.5\n", ["--tested", 100], ["line 3", "-0.5", "positive"]),
        ("epsp\n0.5\n0.5\n", ["--tested", 100], ["two different"]),
        ("epsp\n0.5\n0\n", ["--tested", 100], ["line 3", "--zeros failures"]),
        ("EPSC (pA)\n5\n7\n", ["--tested", 100], ["'pA' is not a voltage"]),
        ("charge (fC)\n5\n7\n", ["--tested", 100], ["'fC' is not a voltage"]),
        ("epsp\n0.5\n0.7\n", ["--tested", 100, "--zeros", "maybe"], ["--zeros = 'maybe'"]),
        ("epsp\n0.5\n0.7\n", ["--tested", 100, "--missing", "maybe"], ["--missing = 'maybe'"]),
        ("epsp\n0.5\n0.7\n", ["--tested", 100, "--attenuation", 2], ["attenuation = 2.0"]),
        ("epsp\n0.5\n0.7\n", ["--tested", 100, "--accuracy", "good"], ["--accuracy = 'good'"]),
        ("epsp\n0.5\n0.7\n", ["--tested", 100, "--sheet", "data"], ["not an Excel workbook"]),
        ("epsp\n", ["--tested", 100], ["no numbers"]),
        ("", ["--tested", 100], ["no data"]),
        ("a,b\n1,2\n3,4\n", ["--tested", 100], ["choose a column"]),
        ("epsp\n0.5\n0.7\n", ["--tested", 2], ["n_tested = 2"]),
        ("epsp\n0.5\n0.7\n", ["--tested", 100, "--p0", "half"], ["p0 = 'half'"]),
        ("epsp\n0.5\n0.7\n", ["--tested", 100, "--column", "x"], ["no column 'x'"]),
        ("epsp\n0.5\n0.7\n", ["--tested", 100, "--plot", "f.bmp"], ["f.bmp"]),
        ("epsp\n0.5\n0.7\n", ["--tested", 100, "--bootstrap", -1], ["--bootstrap = -1"]),
        ("epsp\n0.5\n0.7\n", ["--tested", 100, "--curve", "c.csv", "--gamma", 3], ["--curve"]),
        ("epsp\n0.5\n0.7\n", ["--tested", 100, "--f-in", 1.5], ["f_in = 1.5"]),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(tmp_path, text, arguments, words):
    path = tmp_path / "epsp.csv"
    path.write_text(text)
    outcome = run("weights", path, *arguments)
    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    (line,) = outcome.stderr.strip().splitlines()
    assert line.startswith("error: ")
    for word in words:
        assert word in line


def test_a_constant_curve_and_a_missing_file_are_one_line(tmp_path):
    path = tmp_path / "curve.csv"
    path.write_text("x,y\n1,2\n2,2\n3,2\n4,2\n")
    outcome = run("nonlinearity", path)
    assert outcome.exit_code == 2
    assert "constant" in outcome.stderr
    outcome = run("nonlinearity", tmp_path / "nowhere.csv")
    assert outcome.exit_code == 1
    assert len(outcome.stderr.strip().splitlines()) == 1


def test_wide_amplitudes_without_tested_pairs_end_with_the_reason(tmp_path, rng):
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(map(repr, rng.lognormal(0.0, 1.2, 300).tolist())))
    outcome = run("weights", path, "--bootstrap", 0)
    assert outcome.exit_code == 1
    assert "n_tested" in outcome.stderr


def test_what_was_read_is_said(tmp_path):
    path = tmp_path / "epsc.csv"
    path.write_text("EPSP (uV);cell\n500;a\n625;b\n0;c\n;d\n1500;e\n350;f\n")
    options = ["--missing", "drop", "--zeros", "failures", "--p0", 0.7, "--bootstrap", 0, *FAST]
    outcome = run("weights", path, *options, "--json")
    assert outcome.exit_code == 0, outcome.stderr
    for words in ("4 amplitudes", "converted from uV to mV", "1 missing left out", "1 zeros counted as failures"):
        assert words in outcome.stderr
    (row,) = json.loads(outcome.stdout)
    assert row["n_tested"] == 5


def test_attenuation_changes_millivolts_at_the_soma_alone(epsp_csv):
    options = ["--tested", 4000, "--bootstrap", 0, "--json", *FAST]
    (usual,) = json.loads(run("weights", epsp_csv, *options).stdout)
    (given,) = json.loads(run("weights", epsp_csv, *options, "--attenuation", 0.1).stdout)
    assert usual["attenuation"] == given["attenuation"] == pytest.approx(0.1)
    assert usual["W_star"] == pytest.approx(given["W_star"], rel=1e-12)
    (weak,) = json.loads(run("weights", epsp_csv, *options, "--attenuation", 0.05).stdout)
    assert weak["W_star"] == pytest.approx(2.0 * usual["W_star"], rel=1e-12)  # twice as large in the branch


def test_a_noisy_table_is_warned_about_and_a_smooth_curve_is_not(curve_csv, tmp_path):
    noisy = tmp_path / "noisy.csv"
    x = np.linspace(0.5, 24.0, 24)
    y = 15.0 * Polsky(0.28, 16.0)(x / 15.0) + 1.5 * (-1.0) ** np.arange(24)
    noisy.write_text("x (mV),y (mV)\n" + "\n".join(f"{a},{b}" for a, b in zip(x, y, strict=True)))
    assert "warning" in run("nonlinearity", noisy, "--kind", "tabulated").stderr
    outcome = run("nonlinearity", noisy, "--kind", "smooth", "--json")
    assert "warning" not in outcome.stderr
    assert json.loads(outcome.stdout)[0]["nonlinearity"] == "smooth"
