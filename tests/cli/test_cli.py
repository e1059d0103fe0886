"""The command line as a newcomer and as a script would use it."""

import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from dendrocap import Polsky, __version__
from dendrocap.cli import app
from dendrocap.cli.output import emit
from tests.drawing import points

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


def test_help_and_version():
    assert run("--version").stdout.strip() == f"dendrocap {__version__}"
    listing = run("--help")
    assert listing.exit_code == 0
    assert "nonlinearity" in listing.stdout
    assert "--json" in run("nonlinearity", "--help").stdout
    assert run("-h").exit_code == 0


def test_json_is_one_array_of_points_with_the_values_of_the_object():
    outcome = run("nonlinearity", "polsky", "--x-min", 0.2, "--gamma", 20, "--points", 5, "--json")
    rows = json.loads(outcome.stdout)
    g, x = Polsky(0.2, 20.0), np.linspace(-0.5, 1.5, 5)
    assert [row["x"] for row in rows] == x.tolist()
    assert [row["value"] for row in rows] == g(x).tolist()
    assert [row["derivative"] for row in rows] == g.derivative(x).tolist()
    assert {row["nonlinearity"] for row in rows} == {"polsky"}


def test_table_shows_every_point():
    outcome = run("nonlinearity", "saturating-relu", "--points", 3, "--from", 0, "--to", 1)
    assert outcome.exit_code == 0
    assert "0.5" in outcome.stdout
    assert "SaturatingReLU()" in outcome.stdout


def test_json_has_no_nan_and_no_infinity(capsys):
    emit([{"a": float("nan"), "b": np.float64("inf"), "c": np.int64(3)}], as_json=True)
    assert json.loads(capsys.readouterr().out) == [{"a": None, "b": None, "c": 3}]


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_plot_writes_a_figure_and_says_so_on_stderr(tmp_path, suffix, drawn):
    target = tmp_path / f"g.{suffix}"
    outcome = run("nonlinearity", "polsky", "--plot", target, "--json")
    x, y = points(drawn[target.name].axes[0].lines[0]).T
    np.testing.assert_allclose(y, Polsky()(x), rtol=1e-12)
    np.testing.assert_allclose(points(drawn[target.name].axes[1].lines[0])[:, 1], Polsky().derivative(x), rtol=1e-12)
    assert (x[0], x[-1]) == (-0.5, 1.5)
    assert str(target) in outcome.stderr
    json.loads(outcome.stdout)  # stdout carries data only


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonlinearity", "polsky", "--x-min", 1.5], ["x_min = 1.5", "[0, 1]"]),
        (["nonlinearity", "polsky", "--gamma", "steep"], ["--gamma"]),
        (["nonlinearity", "sigmoid"], ["sigmoid", "polsky"]),
        (["nonlinearity", "relu", "--gamma", 3], ["gamma", "relu"]),
        (["nonlinearity", "relu", "--points", 1], ["--points = 1", "[2, 1e+06]"]),
        (["nonlinearity", "relu", "--from", 1, "--to", 1], ["--to = 1.0", "> 1"]),
        (["nonlinearity", "relu", "--plot", "g.bmp"], ["g.bmp", ".png"]),
        (["nonlinearity", "relu", "--plot", "no/such/folder/g.png"], ["folder"]),
        (["nonlinearity"], ["NAME"]),
        (["nonlinearity", "relu", "--nope"], ["--nope"]),
        (["perceptron"], ["perceptron"]),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(arguments, words):
    outcome = run(*arguments)
    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    lines = outcome.stderr.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    for word in words:
        assert word.lower() in lines[0].lower()


def test_an_unwritable_figure_is_one_line_and_exit_code_one(tmp_path):
    target = tmp_path / "g.png"
    target.mkdir()
    outcome = run("nonlinearity", "relu", "--plot", target, "--json")
    assert outcome.exit_code == 1
    assert outcome.stderr.startswith("error: ")
    assert len(outcome.stderr.strip().splitlines()) == 1


def test_the_module_runs_as_a_script():
    command = [sys.executable, "-m", "dendrocap", "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.startswith("dendrocap ")
