"""Numbers as their parameter wants them, one cell for one number, and wrong types before anything runs."""

import pytest

from dendrocap.errors import InvalidParameter
from dendrocap.sweeps import Store, Sweep, run_sweep
from dendrocap.sweeps.jobs import check
from dendrocap.sweeps.process import run_cell
from dendrocap.sweeps.sweep import Cell
from tests.sweeps.comparing import JOBS

NEURON = {"theta_d": 0.1, "theta_s": 0.5, "n_branches": 9, "max_epochs": 3, "alpha": 0.1}


def types(**parameters):
    (cell,) = Sweep(f"{JOBS}:typed", parameters=parameters)
    outcome = run_cell(cell)
    assert outcome.status == "done", outcome.reason
    return outcome.metrics["types"]


def test_a_range_between_whole_numbers_runs(tmp_path):
    """The file that failed in every cell."""
    sweep = Sweep("train", grid={"n_inputs": {"from": 99, "to": 297, "points": 3}}, parameters=NEURON)
    assert sweep.grid["n_inputs"] == (99, 198, 297)
    assert all(isinstance(value, int) for value in sweep.grid["n_inputs"])
    assert run_sweep(sweep, tmp_path / "r.db", workers=1).counts.done == 3


@pytest.mark.parametrize(
    ("table", "values"),
    [
        ({"from": 0, "to": 1, "points": 3}, (0.0, 0.5, 1.0)),
        ({"from": 1, "to": 100, "points": 3, "scale": "log"}, (1, 10, 100)),
        ({"from": 1.0, "to": 3.0, "points": 3}, (1.0, 2.0, 3.0)),
    ],
)
def test_a_range_is_whole_if_its_ends_are_typed_so_and_all_of_it_is(table, values):
    found = Sweep("capacity", grid={"gamma": table}).grid["gamma"]
    assert found == values
    assert [type(value) for value in found] == [type(value) for value in values]


def test_values_get_the_type_of_their_parameter():
    assert types(count=3.0, level=1) == "int float str bool"
    assert types(count=3, level=0.5, levels=[1, 2.5]) == "int float str bool float float"


def test_a_float_that_is_whole_will_do_for_a_neuron_of_so_many_inputs(tmp_path):
    sweep = Sweep("train", grid={"n_inputs": [99.0, 198.0]}, parameters=NEURON)
    assert run_sweep(sweep, tmp_path / "r.db", workers=1).counts.done == 2


def test_one_and_one_point_zero_are_the_same_cell(tmp_path):
    one, same = (Sweep(f"{JOBS}:typed", grid={"count": [1, 2]}, parameters={"level": level}) for level in (1, 1.0))
    assert one.digest == same.digest
    assert [cell.key for cell in one] == [cell.key for cell in same]
    assert run_sweep(one, tmp_path / "r.db", workers=1).ran == 2
    assert run_sweep(same, tmp_path / "r.db", workers=1).ran == 0
    with Store(tmp_path / "r.db") as store:
        assert {record.metrics["types"] for record in store.records()} == {"int float str bool"}
    assert Cell("j", {"x": [1.0, {"y": 2.0}]}, 0).key == Cell("j", {"x": [1, {"y": 2}]}, 0).key
    assert Cell("j", {"x": True}, 0).key != Cell("j", {"x": 1}, 0).key
    assert Cell("j", {"x": 0.1}, 0).key != Cell("j", {"x": 0}, 0).key
    with pytest.raises(InvalidParameter, match="without repetitions"):
        Sweep("capacity", grid={"gamma": [1, 1.0]})


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ({"count": [1, 2.5]}, "count = 2.5 is not allowed: it must be a whole number"),
        ({"count": ["3"]}, "count = '3' is not allowed: it must be a whole number"),
        ({"count": [True]}, "count = True"),
        ({"count": [1], "level": ["high"]}, "level = 'high' is not allowed: it must be a finite number"),
        ({"count": [1], "names": [2]}, "names = 2 is not allowed: it must be a text"),
        ({"count": [1], "flag": [0]}, "flag = 0 is not allowed: it must be True or False"),
    ],
)
def test_wrong_types_are_refused_before_anything_runs(tmp_path, grid, words):
    with pytest.raises(InvalidParameter, match=words):
        run_sweep(Sweep(f"{JOBS}:typed", grid=grid), tmp_path / "r.db", workers=1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_inputs": 99.5}, "n_inputs = 99.5 is not allowed: it must be a whole number"),
        ({"n_inputs": 99, "theta_d": "large"}, "theta_d = 'large'"),
        ({"n_inputs": 99, "max_epochs": 0.5}, "max_epochs = 0.5"),
        ({"n_inputs": 99, "stop_when_solved": 1}, "stop_when_solved = 1"),
        ({"n_inputs": [99, 100]}, r"n_inputs = \[99, 100\]"),
    ],
)
def test_flat_parameters_of_neurons_and_recipes_are_checked_too(parameters, words):
    with pytest.raises(InvalidParameter, match=words):
        check(Sweep("train", parameters={**NEURON, **parameters}))


def test_lists_are_taken_where_a_sequence_is_wanted():
    check(Sweep("train", parameters={**NEURON, "n_inputs": 99, "nonlinearity": "tabulated", "x": [0, 1], "y": [0, 1]}))
    with pytest.raises(InvalidParameter, match="levels = 3"):
        check(Sweep(f"{JOBS}:typed", parameters={"count": 1, "levels": 3}))
