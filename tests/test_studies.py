"""The studies: pages say what the stored tables say, and every script runs on a tiny setting."""

import ast
import math
import re
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dendrocap import DendriticNeuron, NeuronSpec, Polsky
from dendrocap import solving as outlook
from dendrocap.finite_size import best_split
from dendrocap.solving import solver_by_theory
from studies import capacity_of_a_real_neuron as real_neuron
from studies import (
    classifiers,
    mutation,
    pages,
    rsb_capacity,
    solvers,
)
from studies import free_entropy_of_unequal_branches as entropy
from studies import linear_programming as programming
from studies import solving_extensions as solving
from studies import tables as shared
from studies.tables import ROOT, best_solvers, complete, loads_reached, stored, write

DOCS = ROOT / "docs"
PAGES = "".join(path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md")) if "_build" not in path.parts)


def test_tables_of_pages_can_be_made_and_are_asked_for():
    assert set(re.findall(r"```\{stored-table\} (\S+)\n", PAGES)) == set(pages.TABLES)
    assert min(len(make()) for make in pages.TABLES.values()) >= 5
    assert "\n".join(classifiers.images_table(stored(classifiers.TABLE))) in PAGES  # a notebook too has this one


def numbers(row):
    return {name: float(value) for name, value in row.items() if value != "" and name not in ("validity", "settled")}


@pytest.mark.parametrize(("theta_d", "found"), best_solvers().items())
def test_solve_uses_the_solver_that_reached_most(theta_d, found):
    load, solver = found
    neuron = DendriticNeuron(NeuronSpec(Polsky(), theta_d, theta_s=0.5), n_inputs=999, n_branches=27)
    assert solver_by_theory(neuron, round(999 * load)).name == solver


@pytest.mark.slow
def test_solvers_are_asked_for_the_load_that_two_of_three_seeds_reach(tmp_path, monkeypatch):
    monkeypatch.setattr(shared, "ROOT", tmp_path)
    monkeypatch.setattr(solvers, "LARGEST_LOAD", 3.0)
    sweep = solvers.search("surrogate", 0.5, budget=0.2, step=1.0, size=(60, 4))
    records = list(shared.swept([sweep], "solvers"))
    assert {record.parameters["alpha"] for record in records} == {1.0, 2.0, 3.0}
    assert [record.seed for record in records] == [0, 1, 2] * 3
    assert not any(record.metrics["solved"] for record in records[6:])  # 3 N patterns are beyond what can be stored


@pytest.mark.slow
def test_a_row_of_the_capacities_with_broken_symmetry_is_computed_again():
    (row,) = (
        row for row in stored(rsb_capacity.TABLE) if row["theta_d"] == "0.48431254" and row["nonlinearity"] == "relu"
    )
    again = rsb_capacity.computed("relu", float(row["theta_d"]))
    for name in row.keys() - {"nonlinearity", "full_error", "levels", "reason"}:
        assert float(again[name]) == pytest.approx(float(row[name]), rel=1e-6, abs=1e-6), name


@pytest.mark.parametrize("split", entropy.SPLITS[1:])
def test_message_passing_gains_from_a_split_what_theory_says(split):
    rows = stored(entropy.TABLE)
    assert sum(row["settled"] == "no" for row in rows) < 0.2 * len(rows)
    rise, error = entropy.averages(rows, split, "free_entropy", minus_equal=True)
    expected = entropy.theory(split)["free_entropy"] - entropy.theory(0.0)["free_entropy"]
    assert entropy.theory(split)["stability"] > 0.0
    assert abs(rise - expected) < 2.0 * error
    assert error < 0.15 * max(expected, 0.02)


@pytest.mark.slow
def test_message_passing_repeats_a_stored_task():
    rows = {(row["seed"], row["split"]): row for row in stored(entropy.TABLE)}
    for split in (0.0, 1.0):
        found = entropy.measured(0, split)
        stored_row = rows["0", f"{split:g}"]
        for name in entropy.COMPARED:
            assert_allclose(float(found[name]), float(stored_row[name]), rtol=2e-3)


@pytest.fixture
def few_samples(monkeypatch):
    for name in ("COARSE", "MEDIUM", "FINE"):
        monkeypatch.setattr(best_split, name, (32, 4))
    monkeypatch.setattr(best_split, "SPLITS", (1.0, 2.0))


@pytest.mark.slow
def test_estimates_of_a_small_neuron(few_samples):
    row = real_neuron.estimates(0.5, n_inputs=70, n_branches=7)
    assert numbers(row)["replica_symmetric"] == pytest.approx(4.951315)
    drawn = real_neuron.draw([{**row, "theta_d": "0.5"}, {**row, "theta_d": "1"}], {0.5: 1.95})
    assert len(drawn.axes[0].get_legend().get_texts()) == 4


def test_one_small_task_of_message_passing():
    row = numbers(entropy.measured(0, 1.0, n_inputs=100, n_branches=4, load=0.2))
    assert row["overlap"] < row["mean_square"]
    assert math.isfinite(row["free_entropy"])


ASKED = []


def summed(x: int, y: float, seed: int, more: int = 0):
    """A job of tables."""
    ASKED.append((x, y, seed))
    if x == 13:
        raise ValueError("no luck")
    return {"sum": x + y + more, "item": ["a", "b"]} if x == 2 else {"sum": x + y + more, "item": ""}


@pytest.fixture
def growing(tmp_path, monkeypatch):
    """A table with one row, written by hand, and the folder of its store."""
    monkeypatch.setattr(shared, "ROOT", tmp_path)
    ASKED.clear()
    path = tmp_path / "table.csv"
    write(path, [{"x": "1", "y": "2.0", "seed": "0", "sum": "by hand", "item": ""}])
    return path


def test_a_table_grows_and_keeps_what_it_has(growing, capsys):
    complete(growing, summed, [(1, 2.0, 0), (3, 0.5, 0), (3, 0.5, 0), (2, 1.0, 7)], more=10)
    assert ASKED == [(3, 0.5, 0), (2, 1.0, 7)]
    assert growing.read_text(encoding="utf-8").splitlines() == [
        "x,y,seed,sum,item", "1,2.0,0,by hand,", "3,0.5,0,13.5,", "2,1,7,13.0,a", "2,1,7,13.0,b"
    ]  # fmt: skip
    complete(growing, summed, [(3, 0.5, 0), (2, 1.0, 7)], more=10)  # nothing is missing any more
    assert len(ASKED) == 2


def test_a_run_that_was_killed_goes_on_from_its_store(growing, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        patch.setattr(shared, "add", lambda *_: sys.exit("killed before the table is written"))
        with pytest.raises(SystemExit):
            complete(growing, summed, [(3, 0.5, 0)])
    complete(growing, summed, [(3, 0.5, 0), (4, 0.5, 0)])
    assert ASKED == [(3, 0.5, 0), (4, 0.5, 0)]
    assert [row["x"] for row in stored(growing)] == ["1", "3", "4"]


def test_a_table_that_cannot_be_written_is_not_lost(growing):
    before = growing.read_bytes()
    with pytest.raises(ValueError, match="other"):
        write(growing, [{"x": "1"}, {"x": "2", "other": "3"}])
    assert growing.read_bytes() == before


def test_linear_programming_agrees_with_theory():
    """The means lie within two standard errors, as the page says; and the script runs on a tiny setting."""
    rows = stored(programming.TABLE)
    for setting in programming.SETTINGS:
        mean, error, n_tasks = programming.average(rows, setting)
        assert n_tasks >= 16
        assert abs(mean - programming.at_finite_size(*setting)) < 2.0 * error
        if len(programming.SETTINGS[setting]) > 1:
            mean, error = programming.extrapolated(rows, setting)
            assert error < 0.02
            assert abs(mean - programming.theory(*setting, math.inf)) < 2.0 * error
    few = programming.stored_patterns(0, 2.0, 0.25, 0.25, n_inputs=16, n_branches=2)
    assert 0 < few < 1.5 * 16 * programming.theory(2.0, 0.25, 0.25, 8)


@pytest.mark.parametrize("name", solving.CASES)
def test_every_extension_is_solved_at_a_small_load(name):
    assert solving.measured(name, 0.3, 0, size=(120, 6), epochs=2000)["errors"] == 0


def test_mutants_change_one_place_of_what_runs_and_nothing_else():
    source = (
        'from x import y\n__all__ = ["f"]\n\n\n'
        'def f(a: int = 1, é=2) -> bool:\n    """Text: 3 < 4."""\n'
        '    if not (a <= é and True):\n        a += -2.5\n    return f"{a < 3}" + "text" if a in y else a * 7\n'
    )
    found = mutation.mutants("f.py", source)
    assert {(one.original, one.mutated) for one in found} == {
        ("1", "2"), ("2", "3"), ("not (a <= é and True)", "(a <= é and True)"), ("a <= é and True", "(a <= é or True)"),
        ("a <= é", "(a < é)"), ("a <= é", "(a >= é)"), ("True", "False"), ("a += -2.5", "a -= -2.5"), ("-2.5", "(2.5)"),
        ("2.5", "5.0"), ("a in y", "(a not in y)"), ("a * 7", "(a / 7)"), ("7", "8"),
        ('return f"{a < 3}" + "text" if a in y else a * 7', "return None"),
        ('f"{a < 3}" + "text" if a in y else a * 7', """(a * 7 if a in y else f'{a < 3}' + 'text')"""),
    }  # fmt: skip
    for one in found:
        assert one.within == ("f" if one.line > 4 else "")
        assert one.applied(source) != source
        ast.parse(one.applied(source))


def test_the_chance_of_a_search_is_that_of_the_stored_searches():
    """`solving_outlook` judges by the shares of the best estimate that were reached, to two digits."""
    best = {float(row["theta_d"]): float(row["best"]) for row in stored(real_neuron.TABLE)}
    shares = [load / best[theta_d] for theta_d, load in loads_reached().items()]
    assert len(shares) == 6
    assert (round(np.mean(shares), 2), round(np.std(shares, ddof=1), 2)) == (outlook.REACHED, outlook.SPREAD)
