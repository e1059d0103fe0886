"""Under which versions a cell was run, and what happens when they change in the middle of a sweep."""

from dataclasses import replace

import pytest

from dendrocap.errors import StoreError
from dendrocap.sweeps import Environment, ProcessExecutor, Store, Sweep, run_sweep
from tests.sweeps.comparing import JOBS, contents, draws

OTHER = replace(Environment.here(), numpy="1.0.0", vector_bits=128)


def half_done_elsewhere(path, sweep, count=10, environment=OTHER):
    """A store in which the first cells were run under other versions."""
    from dendrocap.sweeps.process import run_cell

    with Store(path, write=True) as store:
        store.add(sweep)
        for cell, _ in zip(sweep, range(count), strict=False):
            store.save(replace(run_cell(cell), environment=environment))
    return path


def environments(path):
    with Store(path) as store:
        return [record.environment for record in store.records()]


def test_every_cell_knows_its_versions_wherever_it_ran(tmp_path):
    import numba
    import numpy as np

    run_sweep(draws(8), tmp_path / "serial.db", workers=1)
    run_sweep(draws(8), tmp_path / "processes.db", executor=ProcessExecutor(2))
    assert set(environments(tmp_path / "serial.db")) == set(environments(tmp_path / "processes.db"))
    (here,) = set(environments(tmp_path / "serial.db"))
    assert (here.numpy, here.numba) == (np.__version__, numba.__version__)
    assert here.vector_bits in (0, 128, 256, 512)
    with Store(tmp_path / "serial.db") as store:
        assert set(store.to_dataframe().environment) == {str(here)}


def test_cells_of_other_versions_are_not_mixed_without_a_word(tmp_path):
    sweep = draws(20)
    path = half_done_elsewhere(tmp_path / "r.db", sweep)
    with pytest.raises(StoreError, match=r"10 cells .* run with numpy 1.0.0 \(here .*\): --mixed .* --rerun-older"):
        run_sweep(sweep, path, workers=1)
    assert len(environments(path)) == 10
    assert run_sweep(sweep, path, workers=1, mixed=True).ran == 10
    assert environments(path).count(OTHER) == 10
    assert run_sweep(sweep, path, workers=1).ran == 0  # nothing left to be mixed


def test_they_can_be_run_again(tmp_path):
    sweep = draws(20)
    path = half_done_elsewhere(tmp_path / "r.db", sweep)
    report = run_sweep(sweep, path, workers=1, rerun_older=True)
    assert (report.ran, report.counts.done) == (20, 20)
    assert set(environments(path)) == {Environment.here()}
    assert run_sweep(sweep, path, workers=1, rerun_older=True).ran == 0
    run_sweep(sweep, tmp_path / "fresh.db", workers=1)
    assert contents(path, sweep) == contents(tmp_path / "fresh.db", sweep)


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({}, True),
        ({"vector_bits": 128}, True),  # told by status; a cluster has machines of several kinds
        ({"python": Environment.here().python.rsplit(".", 1)[0] + ".99"}, True),
        ({"python": "3.99.1"}, False),
        ({"dendrocap": "0.0.0"}, False),
        ({"numba": "0.1"}, False),
    ],
)
def test_what_counts_as_another_version(tmp_path, change, same):
    other = replace(Environment.here(), **change)
    assert Environment.here().matches(other) is same
    path = half_done_elsewhere(tmp_path / "r.db", draws(20), environment=other)
    if same:
        assert run_sweep(draws(20), path, workers=1).counts.done == 20
    else:
        with pytest.raises(StoreError, match="--mixed"):
            run_sweep(draws(20), path, workers=1)


def test_a_search_sees_older_cells_only_if_it_may(tmp_path):
    axis = {"find": "solved", "level": 0.5, "from": 0.1, "to": 2.0, "resolution": 0.1}
    sweep = Sweep(f"{JOBS}:step", grid={"place": [0.5], "load": axis})
    path = half_done_elsewhere(tmp_path / "r.db", sweep, 20)
    assert run_sweep(sweep, path, workers=1).ran == 0
    report = run_sweep(sweep, path, workers=1, rerun_older=True)
    assert report.ran == report.counts.cells < 10
