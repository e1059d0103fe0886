"""Adaptive sweeps: the same cells as a full grid, fewer of them, and the same answer."""

import math
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dendrocap.errors import InvalidParameter
from dendrocap.sweeps import (
    DaskExecutor,
    ProcessExecutor,
    Search,
    SerialExecutor,
    Store,
    Sweep,
    crossings,
    merge_stores,
    read_sweep,
    run_sweep,
)
from tests.sweeps.comparing import JOBS, contents

LOADS = {"find": "solved", "level": 0.5, "from": 0.1, "to": 4.0, "resolution": 0.1}
PLACES = [0.55, 1.23, 3.14]


def steps(axis=LOADS, places=PLACES, width=0.0, seeds=1):
    return Sweep(f"{JOBS}:step", grid={"place": places, "load": axis}, parameters={"width": width}, seeds=seeds)


def full(width=0.0, seeds=1):
    return steps([round(0.1 + 0.1 * i, 12) for i in range(40)], width=width, seeds=seeds)


def found(path, sweep):
    with Store(path) as store:
        return crossings(sweep, store.records(sweep))


def brute_force(path, sweep, place):
    """Crossings of the average over seeds on the full grid."""
    with Store(path) as store:
        table = store.to_xarray(sweep)["solved"].astype(float).sel(place=place).mean("seed")
    above = table.values >= 0.5
    loads = table["load"].values
    return [(loads[i], loads[i + 1]) for i in np.flatnonzero(above[1:] != above[:-1])]


def test_a_search_finds_what_the_full_grid_shows_with_fewer_cells(tmp_path):
    sweep = steps()
    assert len(sweep) == 120
    report = run_sweep(sweep, tmp_path / "search.db", workers=1)
    assert report.counts.missing == report.counts.failed == 0
    assert report.ran == report.counts.cells <= 3 * 9
    run_sweep(full(), tmp_path / "full.db", workers=1)
    for place, crossing in zip(PLACES, found(tmp_path / "search.db", sweep), strict=True):
        assert [(crossing.low, crossing.high)] == brute_force(tmp_path / "full.db", full(), place)
        assert crossing.low <= place <= crossing.high
        assert crossing.others == {"place": place}
    assert sum(crossing.cells for crossing in found(tmp_path / "search.db", sweep)) == report.ran


def test_its_cells_are_those_of_the_full_grid(tmp_path):
    sweep = steps(width=0.3, seeds=4)
    run_sweep(sweep, tmp_path / "search.db", workers=1)
    run_sweep(full(width=0.3, seeds=4), tmp_path / "full.db", workers=1)
    everything = {row[0]: row for row in contents(tmp_path / "full.db", full(width=0.3, seeds=4))}
    own = contents(tmp_path / "search.db", sweep)
    assert 0 < len(own) < len(everything) / 3
    assert all(everything[row[0]] == row for row in own)
    # and a full grid goes on from them, as a search from a full grid
    assert run_sweep(full(width=0.3, seeds=4), tmp_path / "search.db", workers=1).ran == 480 - len(own)
    assert run_sweep(sweep, tmp_path / "full.db", workers=1).ran == 0


@pytest.mark.parametrize("executor", [SerialExecutor(), ProcessExecutor(2), ProcessExecutor(7)], ids=["1", "2", "7"])
def test_which_cells_are_run_does_not_depend_on_who_runs_them(tmp_path, executor):
    sweep = steps(width=0.3, seeds=3)
    run_sweep(sweep, tmp_path / "one.db", workers=1)
    run_sweep(sweep, tmp_path / "other.db", executor=executor)
    assert contents(tmp_path / "one.db", sweep) == contents(tmp_path / "other.db", sweep)


@pytest.mark.dask
def test_which_cells_are_run_does_not_depend_on_dask_either(tmp_path):
    sweep = steps(width=0.3, seeds=3)
    run_sweep(sweep, tmp_path / "one.db", workers=1)
    run_sweep(sweep, tmp_path / "other.db", executor=DaskExecutor("local", workers=2))
    assert contents(tmp_path / "one.db", sweep) == contents(tmp_path / "other.db", sweep)


def test_a_search_goes_on_where_it_was_stopped(tmp_path):
    sweep = steps(width=0.3, seeds=3)
    run_sweep(sweep, tmp_path / "whole.db", workers=1)
    ran = 0
    for _ in range(100):
        stop = threading.Event()

        class Brief(SerialExecutor):
            def run(self, cells, stop=stop, **options):
                for number, outcome in enumerate(super().run(cells, stop, **options)):
                    yield outcome
                    if number == 6:
                        return

        ran += (report := run_sweep(sweep, tmp_path / "bits.db", executor=Brief())).ran
        if report.ran < 7:
            break
    assert ran == report.counts.cells
    assert contents(tmp_path / "whole.db", sweep) == contents(tmp_path / "bits.db", sweep)


def test_shards_of_a_search_are_whole_lines(tmp_path):
    sweep = steps(places=[0.5 + 0.1 * i for i in range(12)])
    paths = [tmp_path / f"{number}.db" for number in (1, 2)]
    ran = [
        run_sweep(sweep, path, workers=1, shard=f"{number}/2").counts.cells
        for number, path in enumerate(paths, start=1)
    ]
    assert min(ran) > 0
    merge_stores(paths, tmp_path / "all.db")
    run_sweep(sweep, tmp_path / "whole.db", workers=1)
    assert contents(tmp_path / "all.db", sweep) == contents(tmp_path / "whole.db", sweep)
    assert sum(ran) == run_sweep(sweep, tmp_path / "all.db", workers=1).counts.cells


def test_failed_cells_stop_nothing_and_are_left_out_of_the_average(tmp_path):
    sweep = Sweep(
        f"{JOBS}:fails_at_two",
        grid={"number": {"find": "value", "level": 2.0, "from": 0, "to": 8, "resolution": 1, "points": 9}},
    )
    report = run_sweep(sweep, tmp_path / "r.db", workers=1)
    assert (report.counts.done, report.counts.failed) == (8, 1)
    (crossing,) = found(tmp_path / "r.db", sweep)
    assert math.isnan(crossing.value)


def test_a_metric_that_is_no_number_is_refused_in_words(tmp_path):
    sweep = Sweep(f"{JOBS}:draw", grid={"mean": {**LOADS, "find": "word"}}, parameters={"scale": 1e-9})
    run_sweep(sweep, tmp_path / "numbers.db", workers=1)  # words that are numbers will do
    sweep = Sweep(f"{JOBS}:draw", grid={"mean": {**LOADS, "find": "numbers"}})
    with pytest.raises(InvalidParameter, match=r"grid.mean.find = 'numbers' is not allowed: the metric must be one"):
        run_sweep(sweep, tmp_path / "r.db", workers=1)


def test_few_seeds_leave_the_crossing_open_between_wider_bounds(tmp_path):
    """The average over six seeds crosses several times; only where seeds agree is its side clear."""
    bounds = {}
    for seeds in (6, 60):
        sweep = steps({**LOADS, "points": 9}, places=[2.0], width=0.6, seeds=seeds)
        run_sweep(sweep, tmp_path / "r.db", workers=1)
        bounds[seeds] = found(tmp_path / "r.db", sweep)
        assert all(one.low <= one.value <= one.high for one in bounds[seeds])
        assert all(one.low <= 2.0 <= one.high for one in bounds[seeds])
    assert bounds[6][0].high - bounds[6][0].low > 2 * (bounds[60][0].high - bounds[60][0].low)


def test_a_file_can_say_it_and_the_definition_says_it_again(tmp_path):
    (tmp_path / "s.toml").write_text(
        "job = 'train'\n[grid]\n"
        "alpha = { find = 'solved', level = 0.5, from = 0.1, to = 2.0, resolution = 0.05, points = 3 }"
    )
    sweep = read_sweep(tmp_path / "s.toml")
    assert sweep.search == Search("alpha", "solved", 0.5, 0.1, 2.0, 0.05, 3)
    assert len(sweep.grid["alpha"]) == 39
    assert Sweep.from_definition(sweep.definition) == sweep
    assert sweep.digest != Sweep("train", grid={"alpha": list(sweep.grid["alpha"])}).digest
    whole = Sweep("train", grid={"n_inputs": {**LOADS, "from": 10, "to": 50, "resolution": 10}})
    assert list(whole.grid["n_inputs"]) == [10, 20, 30, 40, 50]
    assert replace(sweep, name="other") == replace(sweep, name="other", seeds=[0])
    assert replace(sweep, name="other").digest == sweep.digest


def test_crossings_of_a_sweep_without_a_search_are_refused():
    with pytest.raises(InvalidParameter, match="searches no axis"):
        crossings(full(), [])


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=2, max_size=60), st.integers(2, 8))
def test_every_bracket_is_a_crossing_between_neighbours(truth, points):
    """Whatever the results are: a search ends, and its brackets are crossings of the full grid."""
    search = Search("x", "y", 0.5, 0.0, float(len(truth) - 1), 1.0, points)
    known = {}
    while missing := search.needed(known) - known.keys():
        known |= {number: float(truth[number]) for number in missing}
    for left, right in search.brackets(known):
        assert right == left + 1
        assert truth[left] != truth[right]
    if truth[0] != truth[-1]:
        assert search.brackets(known)


@settings(deadline=None)
@given(st.integers(2, 200), st.data())
def test_one_crossing_costs_the_logarithm_of_the_gap(size, data):
    place = data.draw(st.integers(1, size - 1))
    points = data.draw(st.integers(2, 8))
    search = Search("x", "y", 0.5, 0.0, float(size - 1), 1.0, points)
    known = {}
    while missing := search.needed(known) - known.keys():
        known |= {number: float(number < place) for number in missing}
    assert search.brackets(known) == [(place - 1, place)]
    gap = math.ceil((size - 1) / (min(points, size) - 1)) + 1
    assert len(known) <= points + math.ceil(math.log2(gap))
