"""Maintenance of stores: verify every row, salvage a damaged file, merge shards."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dendrocap.display import Displayed
from dendrocap.errors import CorruptData, DendrocapError, InvalidParameter, StoreError
from dendrocap.files import new_file
from dendrocap.sweeps.process import DONE, Environment
from dendrocap.sweeps.store import APPLICATION, SCHEMA_VERSION, Store, checksum, decoded, is_sound
from dendrocap.sweeps.sweep import Cell, Sweep, canonical

# Columns of a cell's row; in schema 2 the column ENVIRONMENT held only the version of dendrocap.
STATUS, METRICS, ENVIRONMENT, FINISHED = 4, 5, 10, 11

OLDEST_SCHEMA = 2

# Errors that SQLite raises for a damaged file, including undecodable names in it.
UNREADABLE = (sqlite3.Error, UnicodeDecodeError)


@dataclass(frozen=True)
class Verdict(Displayed):
    """Result of `verify_store`.

    Parameters
    ----------
    cells : int
        Number of rows with a correct checksum.
    damaged : int
        Number of rows with a wrong checksum.
    put_aside : int
        Number of damaged rows that earlier runs have set aside.

    Examples
    --------
    >>> Verdict(cells=2000, damaged=0, put_aside=1).sound
    True
    """

    cells: int
    damaged: int
    put_aside: int

    @property
    def sound(self) -> bool:
        """Whether every row in use is intact."""
        return self.damaged == 0


def verify_store(path: str | Path) -> Verdict:
    """Check the structure of a store and the checksum of every row; an unreadable file raises `CorruptData`.

    Examples
    --------
    >>> import tempfile
    >>> from dendrocap import Sweep, run_sweep
    >>> sweep = Sweep("capacity", grid={"theta_d": [0.1, 0.5]}, parameters={"nonlinearity": "linear", "theta_s": 0.5})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run_sweep(sweep, f"{folder}/results.db", workers=1)
    ...     verify_store(f"{folder}/results.db")
    Verdict(cells=2, damaged=0, put_aside=0)
    """
    with Store(path) as store:
        survey = store.survey()
        bad = sum(not is_sound(row) for _, row in store.rows("sweeps"))
        aside = sum(1 for _ in store.rows("damaged"))
    return Verdict(len(survey.statuses), len(survey.damaged) + bad, aside)


@dataclass(frozen=True)
class Salvage(Displayed):
    """Result of `salvage_store`.

    Parameters
    ----------
    cells, sweeps : int
        Number of rows written to the new store.
    damaged : int
        Number of rows that could be read but have a wrong checksum.
    unreadable : int
        Number of stretches of the file that could not be read.
    """

    cells: int
    sweeps: int
    damaged: int
    unreadable: int


def salvage_store(path: str | Path, target: str | Path) -> Salvage:
    """Write the intact rows of a damaged store, or of one in an older format, to a new file; the old file is unchanged.

    Examples
    --------
    >>> import tempfile
    >>> from dendrocap import Sweep, run_sweep
    >>> sweep = Sweep("capacity", grid={"theta_d": [0.1, 0.5]}, parameters={"nonlinearity": "linear", "theta_s": 0.5})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run_sweep(sweep, f"{folder}/old.db", workers=1)
    ...     salvage_store(f"{folder}/old.db", f"{folder}/new.db")
    Salvage(cells=2, sweeps=1, damaged=0, unreadable=0)
    """
    path, target = Path(path), Path(target)
    if not path.is_file():
        raise StoreError(f"there is no store {path}")
    if target.exists():
        raise InvalidParameter(f"{target} exists already: give the name of a new file")
    with _raw(path) as database, _new_store(target) as store:
        schema = _schema(path, database)
        found = _Readable(database)
        saved = {"cells": 0, "sweeps": 0}
        damaged = 0
        for table in saved:
            for row in found.rows(table):
                sound = _sound_row(table, row, schema)
                if sound is None:
                    damaged += 1
                    continue
                saved[table] += 1
                if table == "cells":
                    store.save_row(sound)
                else:
                    store.save_sweep_row(sound)
        if not any(saved.values()):
            raise CorruptData(f"{path}: no row could be read ({found.first_error or 'it is empty'})")
    return Salvage(saved["cells"], saved["sweeps"], damaged, found.gaps)


def merge_stores(paths: Sequence[str | Path], target: str | Path) -> int:
    """Merge the cells of several stores, such as the shards of a sweep, into one, and return the number of its cells.

    A finished cell is preferred to a failed one. Merging again changes nothing, and an existing target keeps its cells.
    If two stores have different results for the same cell, an error is raised and nothing is written.

    Examples
    --------
    >>> import tempfile
    >>> from dendrocap import Sweep, run_sweep
    >>> sweep = Sweep("capacity", grid={"theta_d": [0.1, 0.5]}, parameters={"nonlinearity": "linear", "theta_s": 0.5})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shards = [f"{folder}/{number}.db" for number in (1, 2)]
    ...     for number, shard in enumerate(shards, 1):
    ...         _ = run_sweep(sweep, shard, workers=1, shard=f"{number}/2")
    ...     merge_stores(shards, f"{folder}/all.db")
    2
    """
    sources = [Path(path) for path in paths]
    target = Path(target)
    if not sources:
        raise InvalidParameter("merge needs at least one store")
    if target.resolve() in (source.resolve() for source in sources):
        raise InvalidParameter(f"{target} cannot be both a source and the target")
    if target.exists():
        sources.insert(0, target)
    best: dict[str, tuple[bytes, bytes, bytes, int]] = {}  # status, metrics, finished and source of the row to keep
    for number, source in enumerate(sources):
        with Store(source) as store:
            survey = store.survey()
            store.refuse_damaged(len(survey.damaged))
            for _, row in store.rows():
                own = (row[STATUS], row[METRICS], row[FINISHED], number)
                best[row[0]] = _preferred(row[0].decode(), best.get(row[0], own), own, sources)
    with Store(target, write=True) as merged, merged.transaction():
        for number, source in enumerate(sources):
            if source == target:
                continue
            with Store(source) as store:
                for _, row in store.rows():
                    if best[row[0]][3] == number:
                        merged.save_row(decoded(row[:-1]))
                for sweep in reversed(store.sweeps()):
                    merged.add(sweep)
    return len(best)


def _preferred(
    key: str, one: tuple[bytes, bytes, bytes, int], other: tuple[bytes, bytes, bytes, int], sources: Sequence[Path]
) -> tuple[bytes, bytes, bytes, int]:
    """The row of a cell to keep: a finished one or, of two failures, the later one."""
    if one[0] == other[0] == DONE.encode():
        if one[1] != other[1]:
            raise StoreError(
                f"{sources[one[3]]} and {sources[other[3]]} contradict each other: they have different results for the "
                f"cell {key[:12]}; were they run with the same versions and code? dendrocap sweep status shows versions"
            )
        return one
    if one[0] != other[0]:
        return one if one[0] == DONE.encode() else other
    return max(one, other, key=lambda row: (row[2], -row[3]))


class _Readable:
    """The rows of a damaged database that can still be read, and the number of gaps between them."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self.gaps = 0
        self.first_error = ""

    def rows(self, table: str) -> Iterator[tuple[Any, ...]]:
        """Rows by their numbers; where reading fails, the range is halved repeatedly."""
        try:
            last = self._database.execute(f"SELECT max(rowid) FROM {table} NOT INDEXED").fetchone()[0]
        except UNREADABLE as error:
            self._note(error)
            last = 2**20  # the last page cannot be read: assume the usual maximum of rows
        yield from self._between(table, 0, last or 0)

    def _between(self, table: str, low: int, high: int) -> Iterator[tuple[Any, ...]]:
        query = f"SELECT * FROM {table} NOT INDEXED WHERE rowid BETWEEN ? AND ?"
        try:
            found = self._database.execute(query, (low, high)).fetchall()
        except UNREADABLE as error:
            self._note(error)
            if high - low < 1:
                self.gaps += 1
                return
            middle = (low + high) // 2
            yield from self._between(table, low, middle)
            yield from self._between(table, middle + 1, high)
        else:
            yield from found

    def _note(self, error: Exception) -> None:
        self.first_error = self.first_error or str(error)


def _raw(path: Path) -> closing[sqlite3.Connection]:
    """A connection that changes and assumes nothing; texts are read as bytes."""
    log = path.with_name(path.name + "-wal")
    options = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
    database = sqlite3.connect(f"file:{quote(str(path.absolute()))}?{options}", uri=True)
    database.text_factory = bytes
    return closing(database)


def _schema(path: Path, database: sqlite3.Connection) -> int:
    """The version of the format; a meaningless header is taken for a damaged header of the current version."""
    try:
        application, schema = (
            database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        columns = len(database.execute("PRAGMA table_info(cells)").fetchall())
    except UNREADABLE as error:
        raise CorruptData(f"{path}: no row could be read ({error})") from error
    if application != APPLICATION and not columns:
        raise CorruptData(f"{path} is not a store of dendrocap")
    return int(schema) if schema in range(OLDEST_SCHEMA, SCHEMA_VERSION) else SCHEMA_VERSION


def _sound_row(table: str, row: tuple[Any, ...], schema: int) -> tuple[Any, ...] | None:
    """The columns of a row in the current format, without the checksum; None if the row is damaged."""
    if schema == SCHEMA_VERSION and row[-1] != checksum(row[:-1]).encode():
        return None
    try:
        values = decoded(row)
        if schema == SCHEMA_VERSION:
            return values[:-1]
        if table == "sweeps":
            sweep = Sweep.from_definition(json.loads(values[1]))
            return sweep.digest, json.dumps(sweep.definition), "", values[2]
        # Schema 2 had no checksums; a row whose key does not follow from its content is damaged.
        key, job, parameters, seed, status, metrics, *plain, version, finished = values
        cell = Cell(job, json.loads(parameters), seed)
        json.loads(metrics)
        if hashlib.sha256(canonical([job, cell.parameters, seed]).encode()).hexdigest()[:32] != key:
            return None
        environment = canonical(Environment(version).plain)
        return cell.key, job, parameters, seed, status, metrics, *plain, environment, finished
    except (ValueError, TypeError, LookupError, AttributeError, DendrocapError):
        return None


@contextmanager
def _new_store(target: Path) -> Iterator[Store]:
    """A store that appears under its name when it is complete."""
    if not target.parent.is_dir():
        raise StoreError(f"{target} cannot be created: the folder {target.parent} does not exist")
    with new_file(target) as unfinished:
        lock = unfinished.with_name(unfinished.name + ".lock")
        try:
            with Store(unfinished, write=True) as store, store.transaction():
                yield store
        finally:
            lock.unlink(missing_ok=True)
