"""A sweep as data: its cells, its names, its randomness, its file."""

import json

import numpy as np
import pytest

from dendrocap.errors import CorruptData, InvalidParameter
from dendrocap.experiments import Sweep, read_sweep
from tests.experiments import some_tasks

TOML = """
task = "capacity"
seeds = 3
entropy = 7

[parameters]
theta_s = 0.5
nonlinearity = "polsky"

[grid]
theta_d = { from = 0.1, to = 0.5, points = 5 }
gamma = { from = 1, to = 100, points = 3, scale = "log" }
f_out = [0.5, 0.1]
"""


def test_a_file_and_an_object_describe_the_same_sweep(tmp_path):
    path = tmp_path / "fig.toml"
    path.write_text(TOML)
    sweep = read_sweep(path)
    same = Sweep(
        "capacity",
        grid={"f_out": (0.5, 0.1), "gamma": np.array([1.0, 10.0, 100.0]), "theta_d": [0.1, 0.2, 0.3, 0.4, 0.5]},
        parameters={"nonlinearity": "polsky", "theta_s": np.float64(0.5)},
        seeds=[0, 1, 2],
        entropy=7,
        name="another name",
    )
    assert sweep.name == "fig"
    assert len(sweep) == len(list(sweep)) == 5 * 3 * 2 * 3
    assert sweep.digest == same.digest
    assert {cell.key for cell in sweep} == {cell.key for cell in same}
    assert Sweep.from_definition(json.loads(json.dumps(sweep.definition))) == sweep


@pytest.mark.parametrize(
    "change",
    [
        {"task": "saddle_point"},
        {"grid": {"theta_d": [0.1, 0.25]}},
        {"parameters": {"theta_s": 0.6}},
        {"seeds": 3},
        {"entropy": 1},
    ],
)
def test_any_change_of_substance_changes_the_digest(change):
    plain = {"task": "capacity", "grid": {"theta_d": [0.1, 0.2]}, "parameters": {"theta_s": 0.5}, "seeds": 2}
    assert Sweep(**plain).digest != Sweep(**{**plain, **change}).digest


def test_the_digest_is_the_same_in_every_version():
    """Stores name their results by it: a change of this number orphans them."""
    sweep = Sweep("capacity", grid={"theta_d": [0.1, 0.5]}, seeds=2)
    assert sweep.digest == "fca0b98f"
    assert next(iter(sweep)).key == "0e4ae86775da75b6ae4a8f3019d48651"
    assert next(iter(sweep)).seed_sequence.generate_state(2).tolist() == [2348678714, 483372448]


def test_a_cell_keeps_its_name_and_randomness_when_the_sweep_grows():
    small = Sweep("capacity", grid={"theta_d": [0.1, 0.2]}, seeds=2)
    large = Sweep("capacity", grid={"theta_d": [0.05, 0.2, 0.1]}, seeds=[5, 1, 0])
    randomness = {cell.key: cell.seed_sequence.generate_state(4).tolist() for cell in large}
    shared = [cell for cell in small if cell.key in randomness]
    assert len(shared) == 4
    assert all(cell.seed_sequence.generate_state(4).tolist() == randomness[cell.key] for cell in shared)


def test_cells_are_different_children_of_one_seed_sequence():
    sweep = Sweep("capacity", grid={"theta_d": np.linspace(0, 1, 50), "theta_s": np.linspace(0, 1, 20)}, seeds=5)
    children = [cell.seed_sequence for cell in sweep]
    assert {child.entropy for child in children} == {0}
    assert len({child.spawn_key for child in children}) == 5000
    first = np.array([np.random.default_rng(child).random() for child in children])
    # Kolmogorov's distance of 5000 uniform numbers exceeds 2.23 / sqrt(5000) once in 10^4 seeds.
    assert np.abs(np.sort(first) - (np.arange(5000) + 0.5) / 5000).max() < 2.23 / np.sqrt(5000) + 1e-4
    other = Sweep("capacity", grid=sweep.grid, seeds=5, entropy=1)
    assert first[0] != np.random.default_rng(next(iter(other)).seed_sequence).random()


def test_functions_stand_for_their_names():
    assert Sweep(some_tasks.draw, grid={"mean": [1.0]}).task == "tests.experiments.some_tasks:draw"
    with pytest.raises(InvalidParameter, match="can import"):
        Sweep(lambda: 0)
    with pytest.raises(InvalidParameter, match="can import"):
        Sweep(3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"grid": {"theta_d": []}}, r"grid.theta_d = \[\]"),
        ({"grid": {"theta_d": 0.5}}, "a list of values"),
        ({"grid": {"theta_d": "0.5"}}, "a list of values"),
        ({"grid": {"theta_d": [0.1, 0.1]}}, "without repetitions"),
        ({"grid": {"theta_d": [[0.1], [0.2]]}}, "at least one number"),
        ({"grid": {"theta_d": [float("nan")]}}, "grid.theta_d = nan"),
        ({"grid": {"theta_d": [None]}}, "grid.theta_d = None"),
        ({"grid": {"theta_d": {"from": 1, "to": 2}}}, "lacks points"),
        ({"grid": {"theta_d": {"from": 1, "to": 2, "points": 3, "step": 1}}}, "'step'"),
        ({"grid": {"theta_d": {"from": 0, "to": 2, "points": 3, "scale": "log"}}}, "> 0"),
        ({"grid": {"theta_d": {"from": 1, "to": 2, "points": 1}}}, "points = 1"),
        ({"grid": [0.5]}, "a table of parameters"),
        ({"grid": {"seed": [1]}}, "say seeds = 10"),
        ({"grid": {"not a name": [1]}}, "a Python name"),
        ({"parameters": {"theta_d": 0.5}, "grid": {"theta_d": [1.0]}}, "both in grid and in parameters"),
        ({"parameters": {"theta_d": object()}}, "a finite number"),
        ({"seeds": 0}, "seeds = 0"),
        ({"seeds": [1, 1]}, "none of them twice"),
        ({"seeds": []}, "at least one"),
        ({"seeds": [-1]}, ">= 0"),
        ({"entropy": -1}, "entropy = -1"),
        ({"name": 3}, "name = 3"),
        ({"grid": {"a": range(10_000), "b": range(10_000)}}, "at most 10000000"),
    ],
)
def test_bad_sweeps_are_refused_with_the_value(change, words):
    with pytest.raises(InvalidParameter, match=words):
        Sweep(**{"task": "capacity", **change})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("task = ", "not a TOML file"),
        ("[grid]\ntheta_d = [0.1]", "needs a task"),
        ("task = 'capacity'\nsedes = 3", "'sedes'"),
        ("task = 'capacity'\nseeds = 0", "bad.toml: seeds = 0"),
    ],
)
def test_bad_files_are_refused_by_name(tmp_path, text, words):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises((CorruptData, InvalidParameter), match=words):
        read_sweep(path)
    with pytest.raises(InvalidParameter, match="does not exist"):
        read_sweep(tmp_path / "none.toml")
