"""Results as tables and files."""

import csv
import json
import math
import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from dendrocap.errors import InvalidParameter, MissingExtra
from dendrocap.sweeps import Store, Sweep, run_sweep
from dendrocap.sweeps.process import DONE, FAILED, Outcome
from dendrocap.sweeps.tables import BOOKKEEPING, averages, export, rows
from tests.sweeps.comparing import draws

RAGGED = Sweep("capacity", grid={"theta_d": [0.1, 0.2], "kind": ["a", "b"]}, parameters={"limits": [1, 2]}, seeds=2)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "results.db"
    run_sweep(draws(40), path, workers=1)
    with Store(path) as opened:
        yield opened


@pytest.fixture
def ragged(tmp_path):
    """Half of the cells missing, one failed, one of the arrays shorter."""
    cells = list(RAGGED)
    with Store(tmp_path / "ragged.db", write=True) as opened:
        opened.add(RAGGED)
        opened.save(Outcome(cells[0], DONE, {"theta_d": 9.0, "list": [1, 2, 3], "whole": 3, "flag": True, "word": "x"}))
        opened.save(Outcome(cells[3], DONE, {"theta_d": 8.0, "list": [4], "whole": 4, "flag": False, "word": "y"}))
        opened.save(Outcome(cells[6], FAILED, reason="no"))
        yield opened


def test_a_dataframe_has_a_row_per_cell_with_every_bit(store):
    frame = store.to_dataframe()
    records = store.records()
    assert len(frame) == 40
    assert frame["sum"].tolist() == [record.metrics["sum"] for record in records]
    assert frame["mean"].tolist() == [record.parameters["mean"] for record in records]
    assert frame["positive"].dtype == bool
    assert frame["count"].dtype == np.int64
    assert json.loads(frame.attrs["definition"]) == draws(40).definition


def test_a_dataset_has_a_dimension_per_axis_and_one_for_the_seed(store):
    table = store.to_xarray()
    assert dict(table.sizes) == {"mean": 2, "scale": 2, "seed": 10, "numbers_0": 4}
    for record in store.records():
        at = {**record.parameters, "seed": record.seed}
        assert table["sum"].sel(at).item() == record.metrics["sum"]
        assert table["numbers"].sel(at).values.tolist() == record.metrics["numbers"]
        assert table["word"].sel(at).item() == record.metrics["word"]
    assert table["count"].dtype == np.int64
    assert table["positive"].dtype == bool
    assert (table["status"] == DONE).all()
    assert table.attrs["sweep"] == draws(40).digest


def test_missing_and_failed_cells_are_told_apart(ragged):
    table = ragged.to_xarray()
    assert table["status"].sel(theta_d=0.1, kind="a").values.tolist() == ["done", ""]
    assert table["status"].sel(theta_d=0.2, kind="b").values.tolist() == ["failed", ""]
    assert table["whole"].sel(theta_d=0.1, kind="b", seed=1).item() == 4.0
    assert np.isnan(table["whole"]).sum() == 6
    assert table["list"].sel(theta_d=0.1, kind="b", seed=1).values[0] == 4.0
    assert np.isnan(table["list"].sel(theta_d=0.1, kind="b", seed=1).values[1:]).all()
    assert table["result_theta_d"].max() == 9.0  # a metric does not hide the parameter of its name
    frame = ragged.to_dataframe()
    assert frame["status"].tolist() == [DONE, DONE, FAILED]
    assert frame["theta_d"].tolist() == [0.1, 0.1, 0.2]
    assert math.isnan(frame["whole"][2])


def test_metrics_that_repeat_a_parameter_are_left_out(tmp_path):
    sweep = Sweep("saddle_point", grid={"alpha": [0.1, 0.2]})
    with Store(tmp_path / "echo.db", write=True) as store:
        store.add(sweep)
        for cell in sweep:
            store.save(Outcome(cell, DONE, {"alpha": cell.parameters["alpha"], "q": 1.0}))
        assert list(store.to_dataframe().columns) == ["alpha", "seed", "q", *BOOKKEEPING]
        assert list(store.to_xarray().data_vars) == ["q", "status", "seconds"]


def test_metrics_that_make_no_array_are_kept_as_text(tmp_path):
    sweep = Sweep("capacity", grid={"theta_d": [0.1, 0.2, 0.3]})
    several = [{"odd": [[1], [2, 3]], "mixed": 1.5}, {"odd": [[4], [5]], "mixed": [1.5, 2.5]}, {"words": ["a", "b"]}]
    with Store(tmp_path / "odd.db", write=True) as store:
        store.add(sweep)
        for cell, metrics in zip(sweep, several, strict=True):
            store.save(Outcome(cell, DONE, metrics))
        table = store.to_xarray().isel(seed=0)
    assert table["odd"].values.tolist() == ["[[1], [2, 3]]", "[[4], [5]]", ""]
    assert table["mixed"].values.tolist() == ["1.5", "[1.5, 2.5]", ""]
    assert table["words"].values.tolist() == ["", "", '["a", "b"]']


def test_files_hold_what_the_tables_hold(store, tmp_path):
    sweep, records = store.sweep(), store.records()
    for suffix in ("csv", "parquet", "nc"):
        export(tmp_path / f"out.{suffix}", sweep, records)
    with (tmp_path / "out.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [float(line["sum"]) for line in lines] == [record.metrics["sum"] for record in records]
    assert [float(line["limit"]) for line in lines] == [record.metrics["limit"] for record in records]
    assert list(lines[0]) == list(rows(sweep, records)[0])
    frame = pd.read_parquet(tmp_path / "out.parquet")
    assert frame["sum"].tolist() == store.to_dataframe()["sum"].tolist()
    with xr.open_dataset(tmp_path / "out.nc", engine="h5netcdf") as table:
        assert table["sum"].equals(store.to_xarray()["sum"])
        assert table["positive"].values.tolist() == store.to_xarray()["positive"].values.tolist()
        assert table.attrs["sweep"] == sweep.digest
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "out.nc", "out.parquet"]


def test_incomplete_sweeps_can_be_exported_too(ragged, tmp_path):
    for suffix in ("csv", "parquet", "nc"):
        export(tmp_path / f"out.{suffix}", RAGGED, ragged.records())
        export(tmp_path / f"empty.{suffix}", RAGGED, [])
    with xr.open_dataset(tmp_path / "out.nc", engine="h5netcdf") as table:
        assert table["status"].equals(ragged.to_xarray()["status"])


def test_an_export_that_fails_leaves_the_old_file(store, tmp_path, monkeypatch):
    target = tmp_path / "out.csv"
    target.write_text("old")

    def breaks(*_):
        raise OSError("disk full")

    monkeypatch.setattr(csv.DictWriter, "writerows", breaks)
    with pytest.raises(OSError, match="disk full"):
        export(target, store.sweep(), store.records())
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    assert target.read_text() == "old"


@pytest.mark.parametrize(("name", "words"), [("out.xlsx", ".csv, .nc, .parquet"), ("no/out.csv", "does not exist")])
def test_bad_targets_are_refused(store, tmp_path, name, words):
    with pytest.raises(InvalidParameter, match=words):
        export(tmp_path / name, store.sweep(), store.records())


@pytest.mark.parametrize(("library", "suffix"), [("pyarrow", "parquet"), ("h5py", "nc"), ("h5netcdf", "nc")])
def test_without_the_libraries_the_message_names_the_extra(store, tmp_path, monkeypatch, library, suffix):
    pytest.importorskip("h5netcdf")  # which looks for h5py once, when it is first imported
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=rf"needs {library}: run pip install '\.\[tables\]'"):
        export(tmp_path / f"out.{suffix}", store.sweep(), store.records())
    export(tmp_path / "out.csv", store.sweep(), store.records())


def test_averages_are_over_seeds(store):
    points = averages(store.sweep(), store.records(), "mean", "sum", "scale")
    assert [(point.line, point.x, point.cells) for point in points] == [
        (scale, mean, 10) for scale in (1.0, 0.25) for mean in (0.5, 1.5)
    ]
    values = store.to_xarray()["sum"].sel(scale=0.25, mean=1.5).values
    assert points[-1].mean == pytest.approx(values.mean(), rel=1e-14)
    assert points[-1].standard_error == pytest.approx(values.std(ddof=1) / np.sqrt(10), rel=1e-12)
    chosen = averages(store.sweep(), store.records(), "mean", "sum", at={"scale": "0.250"})
    assert [point.mean for point in chosen] == [point.mean for point in points[2:]]


def test_axes_of_words_and_axes_with_one_value_can_be_chosen(ragged):
    points = averages(RAGGED, ragged.records(), "theta_d", "whole", at={"kind": "B"})
    assert [(point.x, point.mean, point.cells) for point in points] == [(0.1, 4.0, 1)]
    assert math.isnan(points[0].standard_error)
    single = Sweep("capacity", grid={"theta_d": [0.1, 0.2], "kind": ["b"]}, parameters={"limits": [1, 2]}, seeds=2)
    (point,) = averages(single, ragged.records(single), "theta_d", "whole")
    assert (point.x, point.mean) == (0.1, 4.0)
    with pytest.raises(InvalidParameter, match="choose one with theta_d=VALUE"):
        averages(RAGGED, ragged.records(), "kind", "whole", at={"theta_d": "small"})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("mean", "sum"), "several values: choose one with scale=VALUE from 1.0, 0.25"),
        (("mean", "sum", None, {"scale": "3"}), "choose one with scale=VALUE"),
        (("mean", "sum", "scale", {"mean": "0.5"}), "axis in at"),
        (("median", "sum", "scale"), "'median'"),
        (("mean", "product", "scale"), "known: count, limit, numbers"),
        (("mean", "word", "scale"), "cannot be drawn"),
        (("mean", "numbers", "scale"), "cannot be drawn"),
    ],
)
def test_averages_that_make_no_sense_are_refused(store, arguments, words):
    with pytest.raises(InvalidParameter, match=words):
        averages(store.sweep(), store.records(), *arguments)
