"""Bits that flip on the disk: noticed, reported, put aside and run again; never a wrong number."""

import hashlib
import json
import random
import re
import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest

from dendrocap.errors import CorruptData, InvalidParameter, StoreError
from dendrocap.sweeps import Store, run_sweep, salvage_store, verify_store
from dendrocap.sweeps.store import APPLICATION, SCHEMA_VERSION
from dendrocap.sweeps.sweep import canonical
from tests.sweeps.clients import client, finished
from tests.sweeps.comparing import contents, draws, stored

SWEEP = draws(80)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A store, and what is in it."""
    path = tmp_path_factory.mktemp("sound") / "results.db"
    run_sweep(SWEEP, path, workers=1)
    return path, contents(path, SWEEP)


def flip(path, place, bit):
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.write_bytes(content)


def flip_in_row(path, column, bit=2):
    """Flip a bit in the middle of a column of some row, found by its content."""
    database = sqlite3.connect(path)
    value = str(database.execute(f"SELECT {column} FROM cells WHERE rowid = 40").fetchone()[0]).encode()
    database.close()
    place = path.read_bytes().index(value) + len(value) // 2
    flip(path, place, bit)


def copy(path, folder):
    return Path(shutil.copy(path, folder / "results.db"))


@pytest.mark.slow
def test_no_flipped_bit_changes_a_number_unnoticed(tmp_path, sound):
    """Anywhere in the file: either nothing that is read has changed, or it is said; and all of it can be had back."""
    path, table = sound
    chance = random.Random(5)
    size = path.stat().st_size
    noticed = 0
    for _ in range(400):
        damaged = copy(path, tmp_path)
        flip(damaged, chance.randrange(size), chance.randrange(8))
        with suppress(CorruptData, StoreError):
            with Store(damaged) as store:
                assert store.sweeps() in ([SWEEP], [])
            if verify_store(damaged).sound:
                assert contents(damaged, SWEEP) == table
                continue  # in unused space
            assert len(contents(damaged, SWEEP)) >= 79
        noticed += 1
        try:
            run_sweep(SWEEP, damaged, workers=1, notify=lambda words: None)
        except (CorruptData, StoreError):
            rescued = tmp_path / "rescued.db"
            try:
                salvage_store(damaged, rescued)
            except CorruptData:
                assert not rescued.exists()  # the header itself: then there is nothing to go by
                continue
            run_sweep(SWEEP, rescued, workers=1, mixed=True)
            assert contents(rescued, SWEEP) == table
            rescued.unlink()
        else:
            assert contents(damaged, SWEEP) == table
    assert noticed > 200  # most of the file is rows


@pytest.mark.parametrize("column", ["metrics", "parameters", "seconds", "status", "reason", "environment", "finished"])
def test_a_damaged_row_counts_as_missing_is_reported_and_run_again(tmp_path, sound, column, caplog):
    path, table = sound
    damaged = copy(path, tmp_path)
    if column in ("seconds", "reason"):  # stored in binary, and empty
        database = sqlite3.connect(damaged)
        value = 4.6e18 if column == "seconds" else "x"
        database.execute(f"UPDATE cells SET {column} = ? WHERE rowid = 40", (value,))
        database.commit()
        database.close()
    else:
        flip_in_row(damaged, column)
    assert verify_store(damaged).damaged == 1
    with Store(damaged) as store:
        assert len(store.records()) == store.counts(SWEEP).done == 79
        assert store.counts(SWEEP).missing == 1
        assert int((store.to_xarray()["status"] == "").sum()) == 1
    (said,) = caplog.messages  # once for each store that is opened
    assert re.search(r"1 row is damaged and left out; the next .* sweep salvage", said)
    told = []
    report = run_sweep(SWEEP, damaged, workers=1, notify=told.append)
    assert report.ran == 1
    assert told == [f"{damaged}: 1 damaged row was removed and will be run again; check the disk"]
    assert contents(damaged, SWEEP) == table
    verdict = verify_store(damaged)
    assert (verdict.cells, verdict.damaged, verdict.sound) == (80, 0, True)


def test_a_damaged_description_of_a_sweep_is_replaced_too(tmp_path, sound, caplog):
    path, table = sound
    damaged = copy(path, tmp_path)
    place = damaged.read_bytes().index(b'"seeds": [0, 1')
    flip(damaged, place + 10, 0)
    with Store(damaged) as store, pytest.raises(StoreError, match="holds no sweep yet"):
        store.sweep()
    assert "1 row is damaged" in caplog.text
    assert not verify_store(damaged).sound
    assert run_sweep(SWEEP, damaged, workers=1).ran == 0
    assert contents(damaged, SWEEP) == table


def test_a_broken_page_is_refused_and_the_other_rows_are_salvaged(tmp_path, sound):
    path, table = sound
    damaged = copy(path, tmp_path)
    content = bytearray(damaged.read_bytes())
    page = len(content) // 4096 // 2
    content[page * 4096 : page * 4096 + 8] = b"\xff" * 8  # the header of a page
    damaged.write_bytes(content)
    before = damaged.read_bytes()
    with pytest.raises(CorruptData, match=r"damaged.*dendrocap sweep salvage .* -o NEW.db"):
        run_sweep(SWEEP, damaged, workers=1)
    saved = salvage_store(damaged, tmp_path / "new.db")
    assert 40 < saved.cells < 80
    assert saved.unreadable > 0
    assert damaged.read_bytes() == before
    assert run_sweep(SWEEP, tmp_path / "new.db", workers=1).ran == 80 - saved.cells
    assert contents(tmp_path / "new.db", SWEEP) == table


def test_the_commands_say_what_is_wrong_and_what_to_do(tmp_path, sound):
    damaged = copy(sound[0], tmp_path)
    code, out, errors = finished(client("--store", damaged, "--verify", "--json", command="status"))
    assert (code, errors) == (0, "")
    assert '"damaged": 0' in out
    flip_in_row(damaged, "metrics")
    code, _, errors = finished(client("--store", damaged, "--verify", command="status"))
    assert (code, "damaged rows: 1; the next" in errors) == (1, True)
    code, out, errors = finished(client(tmp_path / "out.csv", "--store", damaged, command="export"))
    assert (code, errors.startswith(f"{damaged}: 1 row is damaged and left out")) == (0, True)
    assert "79" in out
    code, _, errors = finished(client(damaged, "-o", tmp_path / "new.db", command="salvage"))
    assert (code, errors) == (0, f"79 cells: {tmp_path / 'new.db'}; run the sweep again to replace the missing cells\n")
    assert stored(tmp_path / "new.db") == 79


def test_salvage_writes_no_file_that_exists_and_reads_none_that_is_no_store(tmp_path, sound):
    with pytest.raises(InvalidParameter, match="exists already"):
        salvage_store(sound[0], sound[0])
    (tmp_path / "text.db").write_text("no database" * 1000)
    with pytest.raises(CorruptData, match="no row could be read"):
        salvage_store(tmp_path / "text.db", tmp_path / "new.db")
    with pytest.raises(StoreError, match="there is no store"):
        salvage_store(tmp_path / "none.db", tmp_path / "new.db")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["text.db"]


SCHEMA_2 = """
CREATE TABLE sweeps (digest TEXT PRIMARY KEY, definition TEXT NOT NULL, last_run TEXT NOT NULL);
CREATE TABLE cells (
    key TEXT PRIMARY KEY, job TEXT NOT NULL, parameters TEXT NOT NULL, seed INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed')), metrics TEXT NOT NULL, reason TEXT NOT NULL,
    traceback TEXT NOT NULL, seconds REAL NOT NULL, host TEXT NOT NULL, version TEXT NOT NULL, finished TEXT NOT NULL
);
"""


def as_schema_2(source, target):
    """The store as it was before checksums: keys in which 1.0 is not 1, and the version of dendrocap alone."""
    new, old = sqlite3.connect(source), sqlite3.connect(target)
    old.executescript(f"{SCHEMA_2} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = 2;")
    for row in new.execute("SELECT * FROM cells"):
        key = hashlib.sha256(canonical([row[1], json.loads(row[2]), row[3]]).encode()).hexdigest()[:32]
        old.execute(f"INSERT INTO cells VALUES ({','.join('?' * 12)})", (key, *row[1:10], "0.0.1", row[11]))
    for digest, definition, _, last_run, _ in new.execute("SELECT * FROM sweeps"):
        old.execute("INSERT INTO sweeps VALUES (?, ?, ?)", (digest, definition, last_run))
    old.commit()
    old.close()
    new.close()


def test_a_store_of_the_last_format_is_refused_with_the_way_out_and_salvaged(tmp_path):
    sweep, old = draws(8), tmp_path / "old.db"
    run_sweep(sweep, tmp_path / "source.db", workers=1)
    as_schema_2(tmp_path / "source.db", old)
    with pytest.raises(
        CorruptData, match=rf"older dendrocap \(schema 2; this version supports {SCHEMA_VERSION}\): .* salvage"
    ):
        Store(old)
    saved = salvage_store(old, tmp_path / "new.db")
    assert (saved.cells, saved.sweeps, saved.damaged) == (8, 1, 0)
    report = run_sweep(sweep, tmp_path / "new.db", workers=1)
    assert (report.ran, report.counts.done) == (0, 8)
    assert contents(tmp_path / "new.db", sweep) == contents(tmp_path / "source.db", sweep)
    with Store(tmp_path / "new.db") as store:
        assert {str(record.environment) for record in store.records()} == {
            "dendrocap 0.0.1, numpy unknown, numba unknown, python unknown, vectors unknown"
        }
