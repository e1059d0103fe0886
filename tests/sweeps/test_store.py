"""The store: what it keeps, what it refuses, and that refusing leaves no trace."""

import json
import math
import os
import sqlite3

import pytest

from dendrocap.errors import CorruptData, InvalidParameter, StoreError
from dendrocap.sweeps import Counts, Store, Sweep
from dendrocap.sweeps.process import DONE, FAILED, Outcome
from dendrocap.sweeps.store import APPLICATION, SCHEMA_VERSION

SWEEP = Sweep("capacity", grid={"theta_d": [0.1, 0.2, 0.3]}, seeds=2, name="three")


def saved(path, outcomes=(), sweep=SWEEP):
    with Store(path, write=True) as store:
        store.add(sweep)
        for outcome in outcomes:
            store.save(outcome)
    return path


def some_outcomes():
    cells = list(SWEEP)
    return [
        Outcome(cells[0], DONE, {"a": 0.1 + 0.2, "b": [1, 2], "c": "word", "d": True, "e": math.inf}, seconds=1.5),
        Outcome(cells[3], FAILED, {}, "ValueError: no", "Traceback ..."),
    ]


def save_all(store, text):
    for cell in SWEEP:
        store.save(Outcome(cell, DONE, {"text": text}))


def traces(folder):
    """All files of a folder, to the last bit."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_is_saved_comes_back_to_the_last_bit(tmp_path):
    path = saved(tmp_path / "results.db", some_outcomes())
    with Store(path) as store:
        one, other = store.records()
        assert store.counts(SWEEP) == Counts(cells=6, done=1, failed=1)
        assert store.counts(SWEEP).missing == 4
        assert store.sweep() == SWEEP
    assert one.metrics == some_outcomes()[0].metrics
    assert type(one.metrics["d"]) is bool
    assert (one.parameters, one.seed, one.status, one.seconds) == ({"theta_d": 0.1}, 0, DONE, 1.5)
    assert (other.reason, other.traceback, other.status) == ("ValueError: no", "Traceback ...", FAILED)
    assert other.seed == 1
    assert one.host
    assert one.version
    assert sorted(traces(tmp_path)) == ["results.db", "results.db.lock"]  # SQLite's own files are gone


def test_done_cells_are_never_replaced_and_failed_ones_are(tmp_path):
    cell = next(iter(SWEEP))
    path = saved(tmp_path / "results.db", [Outcome(cell, FAILED, reason="first")])
    saved(path, [Outcome(cell, FAILED, reason="second")])
    with Store(path) as store:
        assert [record.reason for record in store.records()] == ["second"]
    saved(path, [Outcome(cell, DONE, {"a": 1})])
    saved(path, [Outcome(cell, DONE, {"a": 2}), Outcome(cell, FAILED, reason="third")])
    with Store(path) as store:
        assert [(record.status, record.metrics) for record in store.records()] == [(DONE, {"a": 1})]


def test_a_store_holds_several_sweeps_which_share_their_cells(tmp_path):
    larger = Sweep("capacity", grid={"theta_d": [0.1, 0.2, 0.3, 0.4]}, seeds=2, name="four")
    path = saved(tmp_path / "results.db", some_outcomes())
    saved(path, sweep=larger)
    with Store(path) as store:
        assert [sweep.name for sweep in store.sweeps()] == ["four", "three"]
        assert store.sweep(SWEEP.digest[:4]) == SWEEP
        assert store.counts(larger) == Counts(8, 1, 1)
        with pytest.raises(InvalidParameter, match="three"):
            store.sweep("zzz")
    with Store(saved(tmp_path / "other.db", sweep=SWEEP)) as store:
        assert store.records() == []


def test_an_empty_file_becomes_a_store_but_is_none_yet(tmp_path):
    path = tmp_path / "results.db"
    path.touch()
    with pytest.raises(StoreError, match="is empty"):
        Store(path)
    with Store(path, write=True) as store:
        assert store.sweeps() == []
        with pytest.raises(StoreError, match="holds no sweep yet"):
            store.sweep()


def newer(path):
    saved(path, some_outcomes())
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    database.close()


def foreign(path):
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE recipes (cake TEXT)")
    database.close()


def text(path):
    path.write_text("theta_d,alpha_c\n0.1,1.0\n" * 100)


def cut_short(path):
    saved(path, some_outcomes())
    path.write_bytes(path.read_bytes()[:-4096])


def overwritten(path):
    saved(path, some_outcomes())
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (newer, f"newer dendrocap .schema {SCHEMA_VERSION + 1}"),
        (foreign, "not a store of dendrocap"),
        (text, "not a SQLite database"),
        (cut_short, "is damaged"),
        (overwritten, "is damaged"),
    ],
)
@pytest.mark.parametrize("write", [False, True])
def test_what_is_no_sound_store_is_refused_and_left_alone(tmp_path, spoil, words, write):
    path = tmp_path / "results.db"
    spoil(path)
    before = traces(tmp_path)
    with pytest.raises(CorruptData, match=words) as caught:
        Store(path, write=write)
    assert str(path) in str(caught.value)
    assert traces(tmp_path) == before
    path.unlink()
    saved(path)  # the lock is free


def test_a_store_says_what_it_is(tmp_path):
    database = sqlite3.connect(saved(tmp_path / "results.db"))
    assert database.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
    assert database.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    database.close()


def test_missing_stores_and_folders_are_named(tmp_path):
    with pytest.raises(StoreError, match="there is no store"):
        Store(tmp_path / "results.db")
    with pytest.raises(StoreError, match="does not exist"):
        Store(tmp_path / "nowhere" / "results.db", write=True)
    assert list(tmp_path.iterdir()) == []


def test_one_writer_and_any_number_of_readers(tmp_path):
    path = tmp_path / "results.db"
    with Store(path, write=True) as writer:
        writer.add(SWEEP)
        writer.save(some_outcomes()[0])
        with pytest.raises(StoreError, match=f"another sweep .process {os.getpid()} on "):
            Store(path, write=True)
        with Store(path) as reader:
            assert reader.counts(SWEEP).done == 1
            writer.save(some_outcomes()[1])
            assert reader.counts(SWEEP).failed == 1
            with pytest.raises(StoreError, match="read-only"):
                reader.save(some_outcomes()[0])
    saved(path)  # and then the next


def test_a_full_disk_is_one_clear_error_and_the_store_still_opens(tmp_path):
    """SQLite's own limit on pages raises what a full disk raises, SQLITE_FULL."""
    path = tmp_path / "results.db"
    long = "x" * 3000
    with Store(path, write=True) as store:
        store.add(SWEEP)
        pages = store._database.execute("PRAGMA page_count").fetchone()[0]
        store._database.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(StoreError, match="the disk is full; stored cells are safe"):
            save_all(store, long)
    with Store(path) as store:
        assert 0 < store.counts(SWEEP).done < len(SWEEP)
    with Store(path, write=True) as store:
        save_all(store, long)
        assert store.counts(SWEEP).done == len(SWEEP)


def snapshot(source, target):
    """The files as a killed process, or a full disk, would leave them."""
    target.mkdir()
    for path in source.iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    return target / "results.db"


@pytest.mark.parametrize("write", [False, True])
def test_a_log_that_is_folded_in_by_half_is_no_damage(tmp_path, write):
    """A disk that fills up while the log is copied into the file leaves a file that is nonsense without the log."""
    whole, half = tmp_path / "whole", tmp_path / "half"
    whole.mkdir()
    with Store(whole / "results.db", write=True) as store:
        store.add(SWEEP)
        save_all(store, "x" * 3000)
        path = snapshot(whole, half)
    first_page = (whole / "results.db").read_bytes()[:4096]  # it tells how many pages there should be
    path.write_bytes(first_page + path.read_bytes()[4096:])
    with Store(path, write=write) as store:
        assert store.counts(SWEEP).done == len(SWEEP)


@pytest.mark.parametrize("foreign", [False, True])
def test_a_store_whose_making_was_interrupted_is_made_again(tmp_path, foreign):
    """The files of a transaction in a rollback journal, before it is committed."""
    (tmp_path / "before").mkdir()
    database = sqlite3.connect(tmp_path / "before" / "results.db", isolation_level=None)
    if foreign:
        database.execute("CREATE TABLE recipes (cake TEXT)")
    database.executescript("PRAGMA cache_size = 1; BEGIN; CREATE TABLE cells (text TEXT);")
    for _ in range(100):
        database.execute("INSERT INTO cells VALUES (?)", ("x" * 3000,))
    path = snapshot(tmp_path / "before", tmp_path / "after")
    database.close()
    assert path.stat().st_size > 4096
    assert (path.parent / "results.db-journal").stat().st_size > 0
    with pytest.raises(StoreError, match="is empty"):
        Store(path)
    if foreign:
        with pytest.raises(CorruptData, match="not a store of dendrocap"):
            Store(path, write=True)
    else:
        saved(path, some_outcomes())
        with Store(path) as store:
            assert store.counts(SWEEP).done == 1


def test_a_read_only_store_can_be_read_and_refuses_a_writer(tmp_path, monkeypatch):
    """Simulated, because root may write everywhere: every connection is made as if the file system forbade writing."""
    path = saved(tmp_path / "results.db", some_outcomes())
    connect = sqlite3.connect

    def connect_read_only(address, **options):
        return connect(address.replace("mode=rwc", "mode=ro").replace("mode=rw", "mode=ro"), **options)

    monkeypatch.setattr(sqlite3, "connect", connect_read_only)
    with pytest.raises(StoreError, match="cannot be written: it is read-only"):
        saved(path, sweep=Sweep("capacity", name="another"))
    with Store(path) as store:
        assert store.counts(SWEEP).done == 1


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder without write access")
def test_a_folder_that_cannot_be_written_is_named():
    with pytest.raises(StoreError, match=r"/proc/results.db cannot be written"):
        Store("/proc/results.db", write=True)


def test_nothing_in_the_file_is_code(tmp_path):
    """Text and numbers only: opening a store from elsewhere runs nothing."""
    database = sqlite3.connect(saved(tmp_path / "results.db", some_outcomes()))
    kinds = {
        kind
        for table in ("sweeps", "cells")
        for (columns,) in database.execute(f"SELECT group_concat(name) FROM pragma_table_info('{table}')")
        for column in columns.split(",")
        for (kind,) in database.execute(f"SELECT DISTINCT typeof({column}) FROM {table}")
    }
    assert kinds <= {"text", "real", "integer"}
    for (metrics,) in database.execute("SELECT metrics FROM cells"):
        json.loads(metrics)
    database.close()
