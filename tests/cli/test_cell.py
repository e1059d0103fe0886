"""``dendrocap cell`` from a reconstruction to a table, to JSON and to a figure."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from dendrocap import capacity, cell_from_morphology
from dendrocap.cli import app
from dendrocap.datasets import example_cell
from tests.drawing import points

pytest.importorskip("morphio", reason="needs the extra morphology")

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, ["cell", *(str(argument) for argument in arguments)])


def test_a_cell_gives_a_table_a_figure_and_json(tmp_path, drawn):
    target = tmp_path / "cell.png"
    outcome = run(example_cell(), "--synapses-per-um", 2, "--plot", target)
    assert outcome.exit_code == 0, outcome.stderr
    assert "apical tuft" in outcome.stdout
    assert max(len(line) for line in outcome.stdout.splitlines()) <= 80
    assert "the paper's replica-symmetric estimate" in " ".join(outcome.stdout.split())
    branches = [points(line) for line in drawn["cell.png"].axes[0].lines[:5]]  # the reconstruction, from above
    assert sum(np.hypot(*np.diff(ends, axis=0)[0]) for ends in branches) == pytest.approx(
        2 * np.hypot(100, 40) + 200 + 2 * np.hypot(60, 80), rel=1e-6
    )
    kind = "apical tuft:theta_d=0.1,f_in=0.3"
    (row,) = json.loads(run(example_cell(), "--synapses-per-um", 2, "--kind", kind, "--json").stdout)
    cell = cell_from_morphology(example_cell(), synapses_per_um=2, kinds={"apical tuft": {"theta_d": 0.1, "f_in": 0.3}})
    assert row["n_patterns"] == capacity(cell, accuracy="fast").n_patterns
    assert row["groups"][-1]["theta_d"] == 0.1
    assert row["n_inputs"] == cell.n_inputs


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["cell.txt"], ".swc"),
        (["cell.swc"], "there is no file"),
        ([example_cell(), "--kind", "basal"], "--kind 'basal'"),
        ([example_cell(), "--kind", "basal:theta_d=x"], "--kind"),
        ([example_cell(), "--accuracy", "good"], "--accuracy = 'good'"),
        ([example_cell(), "--synapses-per-um", 0], "synapses_per_um = 0.0"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(arguments, words):
    outcome = run(*arguments)
    assert outcome.exit_code == 2
    assert words in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1
