"""The command line as a newcomer and as a script would use it."""

import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from dendrocap import Linear, NeuronSpec, __version__, saddle_point
from dendrocap.cli import app
from dendrocap.cli.output import emit
from tests.documentation.sources import script
from tests.drawing import points

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


def test_help_and_version():
    assert run("--version").stdout.strip() == f"dendrocap {__version__}"
    listing = run("--help")
    assert listing.exit_code == 0
    assert "teacher-student" in listing.stdout
    assert "--json" in run("capacity", "--help").stdout
    assert run("-h").exit_code == run("sweep", "-h").exit_code == run("sweep", "run", "-h").exit_code == 0


def test_there_are_few_commands_and_options():
    reference = script("_ext/command_line.py")
    listed = dict(reference.commands(reference.load("dendrocap.cli:app"), ("dendrocap",)))
    leaves = {path: command for path, command in listed.items() if not hasattr(command, "commands")}
    options = [one for command in leaves.values() for one in command.params if one.param_type_name == "option"]
    assert len(leaves) <= 24
    assert len(options) <= 340


def test_a_command_imports_no_other(tmp_path):
    code = (
        "import sys; from dendrocap.cli import app; app(['saddle-point', '-h'], standalone_mode=False); "
        "slow = ('dendrocap.cli.', 'dendrocap.theory.', 'scipy.', 'numba.'); "
        "print([name for name in sys.modules if name.startswith(slow)])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert set(eval(printed.splitlines()[-1])) == {f"dendrocap.cli.{name}" for name in ("options", "output", "theory")}


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_json_has_the_numbers_of_python_and_a_figure_is_told_on_stderr(tmp_path, suffix, drawn):
    target = tmp_path / f"entropy.{suffix}"
    outcome = run("saddle-point", "-g", "linear", "--alpha", "0.2,0.4", "--plot", target, "--json")
    rows = json.loads(outcome.stdout)  # stdout carries data only
    expected = [saddle_point(NeuronSpec(Linear(), 0.5, 0.5), alpha=row["alpha"]).free_entropy for row in rows]
    assert [row["free_entropy"] for row in rows] == expected
    shown = points(drawn[target.name].axes[0].lines[0])
    np.testing.assert_allclose(shown, [[row["alpha"], row["free_entropy"]] for row in rows], rtol=1e-12)
    assert str(target) in outcome.stderr
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_json_has_no_nan_and_no_infinity(capsys):
    emit([{"a": float("nan"), "b": np.float64("inf"), "c": np.int64(3)}], as_json=True)
    assert json.loads(capsys.readouterr().out) == [{"a": None, "b": None, "c": 3}]


TWO = ["saddle-point", "-g", "linear", "--alpha", "0.2,0.4"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["capacity", "--x-min", 1.5], 2, ["x_min = 1.5", "[0, 1]"]),
        (["train", "--gamma", "steep"], 2, ["--gamma"]),
        (["capacity", "-g", "sigmoid"], 2, ["sigmoid", "polsky"]),
        (["train", "-g", "relu", "--gamma", 3], 2, ["gamma", "relu"]),
        (["fit", "nonlinearity"], 2, ["CURVE"]),
        (["capacity", "--nope"], 2, ["--nope"]),
        (["perceptron"], 2, ["perceptron"]),
        ([*TWO, "--plot", "g.bmp"], 2, ["g.bmp", ".png"]),
        ([*TWO, "--plot", "no/such/folder/g.png"], 2, ["folder"]),
        # a file that cannot be written is refused before any work
        ([*TWO, "--plot", "folder.png"], 1, ["folder.png: is a directory"]),
        (["train", "--save", "/proc/run.npz"], 1, ["/proc/run.npz"]),
        (["train", "--save", "x" * 260 + ".npz"], 1, ["file name too long"]),
        (["solve", "--save", "/proc/run.npz"], 1, ["/proc/run.npz"]),
    ],
)
def test_bad_input_is_one_line_and_the_right_exit_code(tmp_path, monkeypatch, arguments, code, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.png").mkdir()
    outcome = run(*arguments)
    assert (outcome.exit_code, outcome.stdout) == (code, "")
    (line,) = outcome.stderr.strip().splitlines()
    assert line.startswith("error: ")
    for word in words:
        assert word.lower() in line.lower()


def test_the_module_runs_as_a_script():
    command = [sys.executable, "-m", "dendrocap", "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.startswith("dendrocap ")
