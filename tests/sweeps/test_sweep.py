"""A sweep as data: its cells, its names, its randomness, its file."""

import json

import numpy as np
import pytest

from dendrocap.errors import CorruptData, InvalidParameter
from dendrocap.sweeps import Sweep, read_sweep
from tests.sweeps import some_jobs

TOML = """
job = "capacity"
seeds = 3

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
        {"job": "saddle_point"},
        {"grid": {"theta_d": [0.1, 0.25]}},
        {"parameters": {"theta_s": 0.6}},
        {"seeds": 3},
    ],
)
def test_any_change_of_substance_changes_the_digest(change):
    plain = {"job": "capacity", "grid": {"theta_d": [0.1, 0.2]}, "parameters": {"theta_s": 0.5}, "seeds": 2}
    assert Sweep(**plain).digest != Sweep(**{**plain, **change}).digest


def test_the_digest_is_the_same_in_every_version():
    """Stores name their results by it: a change of this number orphans them."""
    sweep = Sweep("capacity", grid={"theta_d": [0.1, 0.5]}, seeds=2)
    assert sweep.digest == "523e00c9"
    assert next(iter(sweep)).key == "9a4805c6ad86fdd069a0f8beacc8f1dd"


def test_a_cell_keeps_its_name_and_seed_when_the_sweep_grows():
    small = Sweep("capacity", grid={"theta_d": [0.1, 0.2]}, seeds=2)
    large = Sweep("capacity", grid={"theta_d": [0.05, 0.2, 0.1]}, seeds=[5, 1, 0])
    seeds = {cell.key: cell.seed for cell in large}
    shared = [cell for cell in small if cell.key in seeds]
    assert len(shared) == 4
    assert all(cell.seed == seeds[cell.key] for cell in shared)


def test_cells_have_different_names():
    sweep = Sweep("capacity", grid={"theta_d": np.linspace(0, 1, 50), "theta_s": np.linspace(0, 1, 20)}, seeds=5)
    assert len({cell.key for cell in sweep}) == len(sweep) == 5000


SEARCH = {"find": "solved", "level": 0.5, "from": 0.1, "to": 4.0, "resolution": 0.1}


def searching(**change):
    return {"grid": {"alpha": {key: value for key, value in {**SEARCH, **change}.items() if value is not None}}}


REFUSALS = [
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
    ({"grid": {"seed": [1]}}, "write seeds = 10"),
    ({"grid": {"not a name": [1]}}, "a Python name"),
    ({"parameters": {"theta_d": 0.5}, "grid": {"theta_d": [1.0]}}, "is in both grid and parameters"),
    ({"parameters": {"theta_d": object()}}, "a finite number"),
    ({"seeds": 0}, "seeds = 0"),
    ({"seeds": [1, 1]}, "without repetitions"),
    ({"seeds": []}, "at least one"),
    ({"seeds": [-1]}, ">= 0"),
    ({"name": 3}, "name = 3"),
    ({"grid": {"a": range(10_000), "b": range(10_000)}}, "at most 10000000"),
    ({"job": lambda: 0}, "can import"),
    ({"job": 3}, "can import"),
    (searching(level=None), "lacks level"),
    (searching(resolution=0.0), "resolution = 0.0"),
    (searching(resolution=10.0), "resolution = 10.0"),
    (searching(resolution=1e-9), "at least"),
    (searching(to=0.05), "to = 0.05"),
    (searching(find=3), "the name of a metric"),
    (searching(points=1), "points = 1"),
    (searching(width=1), "'width'"),
    ({"grid": {"load": SEARCH, "place": SEARCH}}, "place cannot be searched together with load"),
]


@pytest.mark.parametrize(("change", "words"), REFUSALS)
def test_bad_sweeps_are_refused_with_the_value(change, words):
    with pytest.raises(InvalidParameter, match=words):
        Sweep(**{"job": "capacity", **change})


def test_functions_stand_for_their_names():
    assert Sweep(some_jobs.draw, grid={"mean": [1.0]}).job == "tests.sweeps.some_jobs:draw"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("job = ", "not a TOML file"),
        ("[grid]\ntheta_d = [0.1]", "needs a job"),
        ("job = 'capacity'\nsedes = 3", "'sedes'"),
        ("job = 'capacity'\nseeds = 0", "bad.toml: seeds = 0"),
    ],
)
def test_bad_files_are_refused_by_name(tmp_path, text, words):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises((CorruptData, InvalidParameter), match=words):
        read_sweep(path)
    with pytest.raises(InvalidParameter, match="does not exist"):
        read_sweep(tmp_path / "none.toml")
