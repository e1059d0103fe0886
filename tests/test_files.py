"""All writers leave a file complete or untouched; all readers raise CorruptData for a damaged one."""

import io
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from dendrocap import (
    SGD,
    DendriticClassifier,
    LinearNeuron,
    Store,
    Sweep,
    random_patterns,
    read_sweep,
    run_sweep,
    train,
)
from dendrocap.cli.options import read_patterns
from dendrocap.datasets.images import read_batch, read_idx
from dendrocap.datasets.lab_files import read_table as read_columns
from dendrocap.errors import CorruptData
from dendrocap.figures.style import save
from dendrocap.files import new_file, reading, write_file
from dendrocap.learning import load_run, save_run
from dendrocap.reproduction import runs as curves
from dendrocap.sweeps.tables import export

SWEEP = Sweep("capacity", grid={"theta_d": [0.1, 0.5]}, parameters={"nonlinearity": "linear", "theta_s": 0.5})


def write_run(path):
    patterns = random_patterns(8, 20, rng=0)
    save_run(path, train(LinearNeuron(0.5, 20), *patterns, algorithm=SGD(1.0), seed=0), *patterns)


def write_classifier(path):
    X = np.random.default_rng(0).random((30, 4))
    DendriticClassifier(n_branches=2, max_iter=300, random_state=0).fit(X, X[:, 0] > 0.5).save(path)


def write_figure(path):
    figure = Figure()
    figure.subplots().plot([0, 1])
    save(figure, path)


def write_curve(path):
    import pandas as pd

    curves.write_table(path, pd.DataFrame({"x": [1.0, 2.0]}), ["made by a test"])


def write_export(path):
    store = path.with_name(".store.db")
    run_sweep(SWEEP, store, workers=1)
    with Store(store) as opened:
        records = opened.records()
    for file in path.parent.glob(".store*"):
        file.unlink()
    export(path, SWEEP, records)


WRITERS = {
    "run.npz": write_run,
    "classifier.npz": write_classifier,
    "figure.png": write_figure,
    "figure.pdf": write_figure,
    "curve.csv": write_curve,
    "sweep.csv": write_export,
    "sweep.parquet": write_export,
    "sweep.nc": write_export,
    "report.md": lambda path: write_file(path, "# Report\n"),
}


@pytest.mark.parametrize(("name", "write"), WRITERS.items(), ids=list(WRITERS))
def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch, name, write):
    path = tmp_path / name
    path.write_bytes(b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            write(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    write(path)
    assert path.read_bytes() != b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_the_old_file(tmp_path):
    """The operating system refuses to let a file grow beyond 10 kB, in the middle of a write."""
    path = tmp_path / "notes.txt"
    path.write_text("old")
    code = f"from dendrocap.files import write_file; write_file({str(path)!r}, 'x' * 100_000)"

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

    command = [sys.executable, "-B", "-c", code]
    outcome = subprocess.run(command, preexec_fn=limit, capture_output=True, text=True)
    assert "File too large" in outcome.stderr
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link_and_threads_do_not_meet(tmp_path):
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "target.txt")
    write_file(link, "two\nlines\n")
    assert link.is_symlink()
    assert (tmp_path / "target.txt").read_bytes() == b"two\nlines\n"
    with new_file(link) as here:
        there = []
        thread = threading.Thread(target=lambda: there.append(new_file(link).__enter__()))
        thread.start()
        thread.join()
        assert here != there[0]
        here.write_text("end")


def whole_zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("something.txt", "else")


def cut(path, write):
    write(path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def flipped(path, write):
    """One byte in the middle is another: a checksum, or a reader, must notice."""
    write(path)
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0xFF
    path.write_bytes(content)


def empty(path, write):
    path.write_bytes(b"")


def wrong_zip(path, write):
    whole_zip(path)


def wrong_json(path, write):
    stream = io.BytesIO()
    arrays = {name: np.zeros(2) for name in ("weights", "classes")}
    np.savez(stream, about=np.array('{"format": 1, "neuron": ['), **arrays)
    path.write_bytes(stream.getvalue())


def wrong_fields(path, write):
    stream = io.BytesIO()
    np.savez(stream, about=np.array('["format"]'), weights=np.zeros(2), classes=np.zeros(2))
    path.write_bytes(stream.getvalue())


def one_array(path, write):
    with path.open("wb") as file:
        np.save(file, np.zeros(3))


def other_text(path, write):
    path.write_bytes(b"\xff\xfe\x00 no text in UTF-8")


def write_data(path):
    np.savez(path, inputs=np.zeros((3, 4)), labels=np.zeros(3))


ZIPS = (cut, flipped, empty, wrong_zip, wrong_json, wrong_fields, one_array, other_text)
READERS = [
    ("run.npz", load_run, write_run, ZIPS),
    ("classifier.npz", DendriticClassifier.load, write_classifier, ZIPS),
    ("data.npz", read_patterns, write_data, ZIPS),
    ("columns.csv", read_columns, None, (empty, other_text)),
    ("curve.csv", curves.read_table, None, (empty, other_text)),
    ("images", lambda path: read_idx(path, 3), None, (empty, wrong_zip, other_text)),
    ("images.gz", lambda path: read_idx(path, 3), None, (empty, wrong_zip, other_text)),
    ("batch.bin", read_batch, None, (empty, wrong_zip, other_text)),
    ("batch.bin.xz", read_batch, None, (empty, wrong_zip, other_text)),
    ("batches.tar.gz", lambda path: read_batch(path, "data_batch_1.bin"), None, (empty, wrong_zip, other_text)),
    ("results.db", Store, lambda path: run_sweep(SWEEP, path, workers=1), (cut, wrong_zip, other_text)),
    ("sweep.toml", read_sweep, None, (wrong_zip, other_text)),
]
CASES = [
    pytest.param(name, read, write, spoil, id=f"{name}-{spoil.__name__}")
    for name, read, write, ways in READERS
    for spoil in ways
]


@pytest.mark.parametrize(("name", "read", "write", "spoil"), CASES)
def test_a_damaged_file_is_corrupt_data(tmp_path, name, read, write, spoil):
    path = tmp_path / name
    spoil(path, write)
    with pytest.raises(CorruptData, match=name):
        read(path)


@pytest.mark.parametrize("table", ["cells", "sweeps"])
def test_rows_of_a_store_with_other_texts_in_them_are_left_out(tmp_path, table, caplog):
    import sqlite3

    path = tmp_path / "results.db"
    run_sweep(SWEEP, path, workers=1)
    column = {"cells": "metrics", "sweeps": "definition"}[table]
    with sqlite3.connect(path) as database:
        database.execute(f"UPDATE {table} SET {column} = '{{'")
    database.close()
    with Store(path) as store:
        assert len(store.records(SWEEP)) == (0 if table == "cells" else len(SWEEP))
        assert len(store.sweeps()) == (0 if table == "sweeps" else 1)
    assert re.search(r"results\.db: .*damaged.*salvage", caplog.text)


def test_a_missing_file_is_missing_not_corrupt(tmp_path):
    for read in (load_run, DendriticClassifier.load, read_columns, read_patterns):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "nowhere.npz")
    with pytest.raises(PermissionError), reading(Path("x"), "anything"):
        raise PermissionError(13, "Permission denied")
