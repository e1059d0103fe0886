"""The studies: pages say what the stored tables say, and every script runs on a tiny setting."""

import math

import pytest
from numpy.testing import assert_allclose

from dendrocap.theory.finite import best_split
from studies import branches_of_solutions as solutions
from studies import capacity_of_a_real_neuron as real_neuron
from studies import classifiers
from studies import free_entropy_of_unequal_branches as entropy
from studies import how_many_branches as branches
from studies.tables import ROOT, append, fill, loads_reached, stored

RESULTS = ROOT / "docs" / "results" / "real_neuron.md"
BRANCHES = ROOT / "docs" / "theory" / "how_many_branches.md"
CLASSIFIERS = ROOT / "docs" / "results" / "classifiers.md"


def numbers(row):
    return {name: float(value) for name, value in row.items() if value != "" and name not in ("validity", "settled")}


def tables():
    many = branches.found()
    return {
        "capacity": (RESULTS, real_neuron.table(stored(real_neuron.TABLE), loads_reached())),
        "entropy": (RESULTS, entropy.table(stored(entropy.TABLE))),
        "solutions": (RESULTS, solutions.table(stored(solutions.TABLE))),
        "branches": (BRANCHES, branches.table(many)),
        "factors": (BRANCHES, branches.factors(many, "0.5")),
    }


@pytest.mark.parametrize("name", ["capacity", "entropy", "solutions", "branches", "factors"])
def test_pages_hold_the_stored_tables(name):
    page, lines = tables()[name]
    assert len(lines) > 5
    text = page.read_text(encoding="utf-8").splitlines()
    assert not [line for line in lines if line not in text]


@pytest.mark.parametrize("name", [*classifiers.DATA, "neurons", "wirings"])
def test_the_page_of_classifiers_holds_the_stored_tables(name):
    rows = stored(classifiers.TABLE)
    if name == "neurons":
        lines = classifiers.neurons_table(stored(classifiers.NEURONS))
    elif name == "wirings":
        lines = classifiers.wirings_table(stored(classifiers.WIRED))
    else:
        lines = classifiers.table(rows, name)
        seeds = {(row["classifier"], row["seed"]) for row in rows if row["data"] == name}
        assert len(seeds) == classifiers.DATA[name][0] * len(classifiers.models(0))
    pages = [CLASSIFIERS, ROOT / "docs" / "compare.md"] if name == "mnist" else [CLASSIFIERS]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert "\n".join(lines) in text


def test_a_comparison_of_classifiers_on_a_tiny_setting(tmp_path, monkeypatch, capsys):
    few = {name: classifiers.models(0)[name] for name in ("Dendritic", "positive LogisticRegression", "kNN")}
    monkeypatch.setattr(classifiers, "models", lambda seed: few)
    monkeypatch.setitem(classifiers.DATA, "wine", (1, "wine"))
    classifiers.compute(["wine"], tmp_path / "t.csv")
    rows = stored(tmp_path / "t.csv")
    classifiers.compute(["wine"], tmp_path / "t.csv")  # nothing is missing any more
    assert stored(tmp_path / "t.csv") == rows
    assert [float(row["error"]) < 0.15 for row in rows] == [True] * 3
    assert len(classifiers.table(rows, "wine")) == 2 + 3


def test_best_estimates_lie_between_learning_and_the_bounds_they_must_keep():
    rows = {float(row["theta_d"]): numbers(row) for row in stored(real_neuron.TABLE)}
    assert tuple(rows) == real_neuron.THRESHOLDS
    for theta_d, row in rows.items():
        assert row["best"] > row["equal"] - row["error"]
        assert 0.0 < row["error"] < 0.06 * row["best"]
        assert row["off"] < 0.5 < row["on"]
        if theta_d in loads_reached():
            assert loads_reached()[theta_d] < row["best"] + row["error"]


def test_loads_reached_are_those_of_the_solvers_page():
    assert loads_reached() == {0.01: 1.25, 0.05: 1.35, 0.1: 1.55, 0.3: 1.85, 0.5: 1.95, 1.0: 2.1}


def test_no_number_of_branches_runs_away():
    for row in map(numbers, branches.found()):
        assert row["equal"] - row["error"] < row["best"] < 1.1 * row.get("unequal", row["short"])
        assert row["error"] < 0.1 * row["best"]


@pytest.mark.parametrize("split", entropy.SPLITS[1:])
def test_message_passing_gains_from_a_split_what_theory_says(split):
    rows = stored(entropy.TABLE)
    assert sum(row["settled"] == "no" for row in rows) < 0.2 * len(rows)
    rise, error = entropy.averages(rows, split, "free_entropy", minus_equal=True)
    expected = entropy.theory(split)["free_entropy"] - entropy.theory(0.0)["free_entropy"]
    assert entropy.theory(split)["stability"] > 0.0
    assert abs(rise - expected) < 2.0 * error
    assert error < 0.15 * max(expected, 0.02)


def test_solutions_have_two_kinds_of_branches():
    """Weights of solutions below capacity are not those at capacity, but mean weight and spread come close."""
    rows = [numbers(row) for row in stored(solutions.TABLE)]
    solved = [row for row in rows if row["errors"] == 0.0]
    assert len(solved) >= 4
    for row in solved:
        assert row["load"] < row["theory_alpha"]
        assert row["spread"] > 0.25
        assert_allclose(row["W_bar"], row["theory_W_bar"], rtol=0.1)
        assert_allclose(row["spread"], row["theory_spread"], rtol=0.1)


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


def test_estimates_of_a_small_neuron(few_samples):
    row = real_neuron.estimates(0.5, n_inputs=70, n_branches=7)
    assert numbers(row)["replica_symmetric"] == pytest.approx(4.9513)
    drawn = real_neuron.draw([{**row, "theta_d": "0.5"}, {**row, "theta_d": "1"}], {0.5: 1.95})
    assert len(drawn.axes[0].get_legend().get_texts()) == 4


def test_branches_of_a_small_neuron(few_samples):
    row = branches.estimates(0.5, 7, n_inputs=70)
    assert row["validity"] == "caution"
    rows = [{**row, "theta_d": "0.5", "n_branches": n_branches} for n_branches in ("7", "14")]
    assert len(branches.table(rows)) == len(branches.factors(rows, "0.5")) == 4
    assert len(branches.draw(rows).axes[0].get_lines()) > 3


def test_one_small_task_of_message_passing():
    row = numbers(entropy.measured(0, 1.0, n_inputs=100, n_branches=4, load=0.2))
    assert row["overlap"] < row["mean_square"]
    assert math.isfinite(row["free_entropy"])


def test_one_small_solution():
    row = numbers(solutions.measured(0, 0.5, 1.0, n_inputs=300, n_branches=15, budget=20.0))
    assert row["errors"] == 0
    assert row["off"] < 0.5 < row["on"]
    shown = {**{name: f"{value:g}" for name, value in row.items()}, "theta_d": "0.5", "load": "1", "seed": "0"}
    assert len(solutions.table([shown])) == 3


def test_a_table_grows_and_keeps_what_it_has(tmp_path, capsys):
    path, asked = tmp_path / "table.csv", []

    def compute(x, y):
        asked.append((x, y))
        return {"sum": x + y}

    append(path, {"x": "1", "y": "2", "sum": "3"})
    fill(path, [(1, 2.0), (0.5, 2)], ("x", "y"), compute)
    assert asked == [(0.5, 2)]
    assert stored(path) == [{"x": "1", "y": "2", "sum": "3"}, {"x": "0.5", "y": "2", "sum": "2.5"}]
