"""A reader of one figure opens one module."""

import ast
from pathlib import Path

import pandas as pd
import pytest

from dendrocap import reproduction
from dendrocap.reproduction import FIGURES
from dendrocap.reproduction.shared import averaged

FOLDER = Path(reproduction.__file__).parent
MODULES = sorted([*FOLDER.glob("fig[0-9][0-9].py"), FOLDER / "learned_weights.py"])


def trees(path):
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def test_there_is_one_module_per_figure():
    assert [path.stem for path in MODULES] == [*(f"fig{number:02}" for number in range(1, 11)), "learned_weights"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_figure_imports_another(path):
    others = {f"dendrocap.reproduction.{other.stem}" for other in MODULES}
    for node in trees(path):
        if isinstance(node, ast.ImportFrom):
            names = {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            assert not names & others, f"{path.name} imports {names & others}"
            assert node.module not in ("dendrocap.reproduction.figure_runner", "dendrocap.reproduction.figure_runner")


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_a_figure_draws_and_measures_in_its_own_module(figure):
    assert figure.draw.__module__ == figure.measure.__module__
    assert Path(FOLDER, figure.draw.__module__.rpartition(".")[2] + ".py") in MODULES


def test_what_a_run_followed_is_named_in_one_place():
    words = {"true slope", "surrogate slope"}
    homes = {
        path.name
        for path in FOLDER.glob("*.py")
        for node in trees(path)
        if isinstance(node, ast.Constant) and node.value in words
    }
    assert homes == {"shared.py"}


def test_averages_over_seeds_stay_in_the_order_of_the_runs():
    rows = [{"theta_d": theta_d, "error": error} for theta_d in (0.5, 0.1) for error in (1.0, 3.0)]
    found = averaged(pd.DataFrame(rows), ["theta_d"], "error")
    assert found.theta_d.tolist() == [0.5, 0.1]
    assert found.error.tolist() == [2.0, 2.0]
    assert (found.seeds.tolist(), found.standard_error.tolist()) == ([2, 2], [1.0, 1.0])
