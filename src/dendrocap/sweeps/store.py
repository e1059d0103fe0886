"""Storage of results in one SQLite file, with one transaction per finished cell.

A cell is in the file completely or not at all, whatever happens to the process, and only once: its key is the primary
key. The file can be read while it is written, but has only one writer. It contains only text and numbers. Every row
carries a checksum of its columns, so that a bit flipped on disk is noticed when the row is read, even if SQLite does
not notice it: a damaged row counts as missing, is reported, and its cell is run again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import platform
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self
from urllib.parse import quote

from dendrocap.display import Displayed
from dendrocap.errors import CorruptData, DendrocapError, InvalidParameter, StoreError
from dendrocap.files import reading
from dendrocap.sweeps.process import DONE, Environment, Outcome
from dendrocap.sweeps.sweep import Cell, Sweep, canonical

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

APPLICATION = int.from_bytes(b"dcap", "big")  # marks the database as ours, in the header of the file

# Stores of versions from the oldest on can be salvaged.
OLDEST_SCHEMA, SCHEMA_VERSION = 2, 3

# Columns of the tables; the last one is the checksum of the others.
TABLES = {
    "sweeps": ("digest TEXT PRIMARY KEY", "definition TEXT", "shard TEXT", "last_run TEXT", "checksum TEXT"),
    "cells": (
        "key TEXT PRIMARY KEY", "job TEXT", "parameters TEXT", "seed INTEGER", "status TEXT", "metrics TEXT",
        "reason TEXT", "traceback TEXT", "seconds REAL", "host TEXT", "environment TEXT", "finished TEXT",
        "checksum TEXT",
    ),
}  # fmt: skip

COLUMNS = tuple(column.split()[0] for column in TABLES["cells"])

KEY, STATUS, METRICS, ENVIRONMENT, FINISHED = (
    COLUMNS.index(name) for name in ("key", "status", "metrics", "environment", "finished")
)

# One transaction in the file itself: a store is either complete or an empty file.
CREATE = (
    "BEGIN IMMEDIATE",
    *(f"CREATE TABLE {table} ({' NOT NULL, '.join(columns)} NOT NULL)" for table, columns in TABLES.items()),
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
    "COMMIT",
)

# A finished cell is replaced only on request; a failed one is replaced by the outcome of a later attempt.
SAVE = (
    f"INSERT INTO cells VALUES ({', '.join('?' * len(COLUMNS))}) ON CONFLICT (key) DO UPDATE SET "
    f"{', '.join(f'{name} = excluded.{name}' for name in COLUMNS[1:])} WHERE cells.status = 'failed' OR ?"
)

# Keys are prefixes of SQLite's error names.
EXPLANATIONS = {
    "SQLITE_FULL": "cannot grow: the disk is full; stored cells are safe, so free some space and run again to resume",
    "SQLITE_IOERR": "cannot be written or read: the disk reports an error; stored cells are safe, so check the disk "
    "(is it full?) and run again to resume",
    "SQLITE_READONLY": "cannot be written: it is read-only",
    "SQLITE_CANTOPEN": "cannot be opened or created",
    "SQLITE_NOTADB": "is not a store: it is not a SQLite database",
    "SQLITE_CORRUPT": "is damaged: {salvage}",
    "SQLITE_BUSY": "is locked by another program, such as a run of a shard: wait for it to finish",
}

# Errors that SQLite raises for a damaged file, including undecodable names in it.
UNREADABLE = (sqlite3.Error, UnicodeDecodeError)

# Errors of file systems without locks; the file system of a cluster may be mounted without them.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


def checksum(columns: Iterable[Any]) -> str:
    """Sixteen characters that change with any bit of a row; texts can be given as the stored bytes."""
    content = b"\x1f".join(value if isinstance(value, bytes) else str(value).encode() for value in columns)
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def locked(path: Path) -> IO[str]:
    """A file beside the protected one, with a lock for a single writer that ends when it is closed or its holder dies.

    The mere existence of the file means nothing: a process that is killed leaves it behind, but not the lock.
    """
    place = path.with_name(path.name + ".lock")
    try:
        file = place.open("a+", encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}: {place}") from error
    try:
        try:
            import fcntl
        except ImportError:
            import msvcrt

            file.seek(1 << 30)  # a byte far behind the text, which others can still read
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.seek(0)
        holder = file.read().strip() or "unknown"
        file.close()
        if error.errno in NO_LOCKS:
            raise StoreError(
                f"{path} cannot be written safely: its file system has no locks ({error.strerror}); "
                "keep the store on a local disk and copy it afterwards"
            ) from error
        raise StoreError(
            f"{path} is being written by another sweep ({holder}): wait for it, or use another --store"
        ) from None
    with suppress(OSError):  # the disk is full; the name of the holder is only informative
        file.seek(0)
        file.truncate()
        file.write(f"process {os.getpid()} on {platform.node()}")
        file.flush()
    return file


@dataclass(frozen=True)
class Record(Displayed):
    """A stored cell: what it was, what came out, and how and when it was run."""

    _displayed = ("status", "metrics", "parameters", "seed", "seconds", "reason")

    key: str
    job: str
    parameters: Mapping[str, Any]
    seed: int
    status: str
    metrics: Mapping[str, Any]
    reason: str
    traceback: str
    seconds: float
    host: str
    environment: Environment
    finished: str

    @property
    def version(self) -> str:
        """Version of dendrocap that ran the cell."""
        return self.environment.dendrocap


@dataclass(frozen=True)
class Counts(Displayed):
    """How many cells a sweep has, how many of them are done, and how many have failed.

    Examples
    --------
    >>> Counts(cells=10, done=7, failed=1).missing
    2
    """

    cells: int
    done: int
    failed: int

    @property
    def missing(self) -> int:
        """Number of cells without a result."""
        return self.cells - self.done - self.failed


class Store(Displayed):
    """A file with the results of sweeps.

    Parameters
    ----------
    path : str or Path
        The file; with ``write`` it is created if it does not exist.
    write : bool
        Whether to write. There can be one writer and any number of readers at the same time.
    exclusive : bool
        Whether readers are excluded while it is written. This needs no memory shared between processes, which the file
        systems of clusters do not offer.

    Raises
    ------
    CorruptData
        If the file is not a store, is damaged, or was written by another version. The file is not changed.
    StoreError
        If it does not exist, cannot be written, or already has a writer.

    Examples
    --------
    >>> import tempfile
    >>> from dendrocap.sweeps import Sweep, run_sweep
    >>> sweep = Sweep("capacity", grid={"theta_d": [0.1, 0.5]}, parameters={"nonlinearity": "linear", "theta_s": 0.5})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = run_sweep(sweep, f"{folder}/results.db", workers=1)
    ...     with Store(f"{folder}/results.db") as store:
    ...         print(store.counts(sweep))
    ...         print([round(record.metrics["alpha_c"], 6) for record in store.records(sweep)])
    Counts(cells=2, done=2, failed=0)
    [1.0, 1.0]
    """

    _displayed = ("path",)

    def __init__(self, path: str | Path, *, write: bool = False, exclusive: bool = False) -> None:
        self.path = Path(path)
        self._told = False
        self._lock: IO[str] | None = None
        if not write and not self.path.is_file():
            raise StoreError(f"there is no store {self.path}")
        if write and not self.path.parent.is_dir():
            raise StoreError(f"{self.path} cannot be created: the folder {self.path.parent} does not exist")
        # Only the creation of a store uses a rollback journal. If there is one, from a process that was killed while it
        # created the store, SQLite will undo the creation.
        is_new = not _has_content(self.path) or _has_content(_beside(self.path, "-journal"))
        if is_new and not write:
            raise StoreError(f"{self.path} is empty: nothing has been stored in it yet")
        with self._plain_errors():
            if not is_new:
                self._inspect()
            if write:
                self._lock = locked(self.path)
            try:
                self._database = self._open_to_write(is_new, exclusive) if write else self._open_to_read()
            except BaseException:
                if self._lock is not None:
                    self._lock.close()
                raise

    def _inspect(self) -> None:
        """Raise if the file is damaged or no store of this version, without changing the file or its folder.

        Only pages and indices are looked at here; checksums check the content of rows.
        """
        with closing(_connect(self.path, _untouched(self.path))) as database:
            application, version = _header(database)
            if application != APPLICATION:
                raise CorruptData(f"{self.path} is a database, but not a store of dendrocap")
            if version != SCHEMA_VERSION:
                newer = version > SCHEMA_VERSION
                way_out = "use that version, or another store" if newer else self._salvage
                raise CorruptData(
                    f"{self.path} was written by {'a newer' if newer else 'an older'} dendrocap (schema {version}; "
                    f"this version supports {SCHEMA_VERSION}): {way_out}"
                )
            verdict = database.execute("PRAGMA integrity_check(1)").fetchone()[0].decode(errors="replace")
            if verdict != "ok":
                raise CorruptData(f"{self.path} is damaged ({' '.join(verdict.split())}): {self._salvage}")

    @property
    def _salvage(self) -> str:
        return f"dendrocap sweep salvage {self.path} -o NEW.db writes its intact rows to a new store"

    def _open_to_write(self, is_new: bool, exclusive: bool) -> sqlite3.Connection:
        database = _connect(self.path, "mode=rwc")
        try:
            if is_new:
                if database.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
                    raise CorruptData(f"{self.path} is a database, but not a store of dendrocap")
                for command in CREATE:
                    database.execute(command)
            if exclusive:
                database.execute("PRAGMA locking_mode = EXCLUSIVE")
            database.execute("PRAGMA journal_mode = WAL")
            # The log is synchronised when it is merged into the file, not at every cell. A killed process loses
            # nothing; a power failure can lose the last cells, which a resumed sweep runs again, but cannot damage
            # the file.
            database.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            database.close()
            raise
        return database

    def _open_to_read(self) -> sqlite3.Connection:
        look = ("PRAGMA query_only = 1", "SELECT count(*) FROM sqlite_master")
        try:  # for writing if possible, although nothing is written: otherwise SQLite does not clean up its files
            return _connect(self.path, "mode=rw", *look)
        except sqlite3.OperationalError:
            # A read-only folder has no room for the files that coordinate readers and writers; without a log there is
            # no writer to coordinate with.
            if _has_content(_beside(self.path, "-wal")):
                raise
            return _connect(self.path, "immutable=1", *look)

    def close(self) -> None:
        """Merge the log into the file and release the lock."""
        with suppress(sqlite3.Error):  # all outcomes are already saved
            self._database.close()
        if self._lock is not None:
            self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write everything in the block to the file, or nothing."""
        with self._plain_errors():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        """Translate SQLite's errors into messages that say what to do."""
        try:
            yield
        except UnicodeDecodeError as error:  # damaged names in the schema itself
            raise CorruptData(f"{self.path} is damaged: {self._salvage} ({error})") from error
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            words = next((words for code, words in EXPLANATIONS.items() if name.startswith(code)), "cannot be used")
            kind = CorruptData if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")) else StoreError
            raise kind(f"{self.path} {words.format(salvage=self._salvage)} ({error})") from error

    def add(self, sweep: Sweep, shard: str = "") -> None:
        """Record the sweep that is about to run, and its shard."""
        self.save_row("sweeps", (sweep.digest, json.dumps(sweep.definition), shard, _now()))

    def save(self, outcome: Outcome, *, replace: bool = False) -> None:
        """Save a finished cell, in its own transaction."""
        cell = outcome.cell
        row = (cell.key, cell.job, canonical(cell.parameters), cell.seed, outcome.status,
               json.dumps(outcome.metrics), _text(outcome.reason), _text(outcome.traceback), float(outcome.seconds),
               outcome.host, _environment_text(outcome.environment), _now())  # fmt: skip
        self.save_row("cells", row, replace=replace)

    def save_row(self, table: str, row: tuple[Any, ...], *, replace: bool = False) -> None:
        """Save the columns of a row; their checksum is added."""
        with self._plain_errors():
            if table == "cells":
                self._database.execute(SAVE, (*row, checksum(row), replace))
            else:
                self._database.execute("INSERT OR REPLACE INTO sweeps VALUES (?, ?, ?, ?, ?)", (*row, checksum(row)))

    def rows(self, table: str = "cells", order: str = "rowid") -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Number and columns of every row; texts are bytes, because a damaged text may not decode."""
        with self._plain_errors():
            for number, *row in self._database.execute(f"SELECT rowid, * FROM {table} ORDER BY {order}"):
                yield number, tuple(row)

    def intact(self, table: str = "cells", order: str = "rowid") -> Iterator[tuple[Any, ...]]:
        """The rows with a correct checksum; how many others there are is logged once, as a warning of ``dendrocap``."""
        damaged = 0
        for _, row in self.rows(table, order):
            if is_sound(row):
                yield row
            else:
                damaged += 1
        if damaged and not self._told:
            self._told = True
            logging.getLogger("dendrocap").warning(
                "%s: %s damaged and left out; the next dendrocap sweep run runs their cells again, %s",
                self.path, "1 row is" if damaged == 1 else f"{damaged} rows are", self._salvage,
            )  # fmt: skip

    def discard_damaged(self) -> int:
        """Delete damaged rows, so that their cells are run again, and return how many of them were cells."""
        damaged = {table: [(number,) for number, row in self.rows(table) if not is_sound(row)] for table in TABLES}
        if any(damaged.values()):
            with self.transaction():
                for table, numbers in damaged.items():
                    self._database.executemany(f"DELETE FROM {table} WHERE rowid = ?", numbers)
        return len(damaged["cells"])

    def statuses(self) -> dict[str, tuple[str, Environment]]:
        """Status and environment of every cell in the store, by key."""
        shared: dict[tuple[bytes, bytes], tuple[str, Environment]] = {}  # few values for all rows
        found = {}
        for row in self.intact():
            kind = (row[STATUS], row[ENVIRONMENT])
            if kind not in shared:
                shared[kind] = (row[STATUS].decode(), _environment(row[ENVIRONMENT].decode()))
            found[row[KEY].decode()] = shared[kind]
        return found

    def counts(self, sweep: Sweep) -> Counts:
        """How many cells of the sweep are done and how many have failed; for a search, of those needed so far."""
        from dendrocap.sweeps.plan import Plan

        return Plan([sweep], self, shard=self.shard(sweep)).counts()

    def shard(self, sweep: Sweep) -> str:
        """The part of a sweep that was run into this store, such as ``2/3``; empty if it is the whole."""
        with self._plain_errors():
            found = self._database.execute("SELECT shard FROM sweeps WHERE digest = ?", (sweep.digest,)).fetchone()
        return found[0].decode() if found else ""

    def records(self, sweep: Sweep | None = None) -> list[Record]:
        """The stored cells of a sweep, in its order; by default of the sweep run last."""
        wanted = self.sweep() if sweep is None else sweep
        places = {cell.key.encode(): place for place, cell in enumerate(wanted)}
        with reading(self.path, "an intact store"):
            found = {places[row[KEY]]: _record(row) for row in self.intact() if row[KEY] in places}
        return [found[place] for place in sorted(found)]

    def sweeps(self) -> list[Sweep]:
        """All sweeps that were run into this store, the latest first."""
        with reading(self.path, "an intact store"):
            rows = self.intact("sweeps", "last_run DESC, digest")
            return [Sweep.from_definition(json.loads(definition)) for _, definition, *_ in rows]

    def sweep(self, digest: str | None = None) -> Sweep:
        """The sweep with this digest, or a unique prefix of it; by default the one run last."""
        sweeps = self.sweeps()
        if not sweeps:
            raise StoreError(f"{self.path} holds no sweep yet")
        if digest is None:
            return sweeps[0]
        found = [sweep for sweep in sweeps if sweep.digest.startswith(digest)]
        if len(found) != 1:
            known = ", ".join(f"{sweep.digest} ({sweep.name})" for sweep in sweeps)
            raise InvalidParameter(f"sweep = {digest!r} is not allowed: {self.path} holds {known}")
        return found[0]

    def to_dataframe(self, sweep: Sweep | None = None) -> pd.DataFrame:
        """One row per stored cell; see `dendrocap.sweeps.tables.dataframe`."""
        from dendrocap.sweeps.tables import dataframe

        wanted = self.sweep() if sweep is None else sweep
        return dataframe(wanted, self.records(wanted))

    def to_xarray(self, sweep: Sweep | None = None) -> xr.Dataset:
        """One dimension per axis of the grid; see `dendrocap.sweeps.tables.dataset`."""
        from dendrocap.sweeps.tables import dataset

        wanted = self.sweep() if sweep is None else sweep
        return dataset(wanted, self.records(wanted))


def _connect(path: Path, options: str, *commands: str) -> sqlite3.Connection:
    """A connection that reads texts as bytes, after some commands."""
    database = sqlite3.connect(f"file:{quote(str(path.absolute()))}?{options}", uri=True, isolation_level=None)
    database.text_factory = bytes
    try:
        for command in commands:
            database.execute(command)
    except BaseException:
        database.close()
        raise
    return database


def _untouched(path: Path) -> str:
    """Options of a connection that changes nothing.

    ``immutable`` keeps SQLite from creating its own files, but is correct only without a log: the log may hold part of
    the data, and after a full disk the file may make no sense without it.
    """
    return "mode=ro" if _has_content(_beside(path, "-wal")) else "immutable=1"


def _header(database: sqlite3.Connection) -> list[int]:
    return [database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _text(words: str) -> str:
    """A text that a file can hold: a message may quote bytes that do not decode."""
    return words.encode("utf-8", "backslashreplace").decode()


def is_sound(row: tuple[Any, ...]) -> bool:
    """Whether the checksum of a row, read as bytes, is correct."""
    return bool(row[-1] == checksum(row[:-1]).encode())


def decoded(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Columns with their texts decoded."""
    return tuple(value.decode() if isinstance(value, bytes) else value for value in row)


def _record(row: tuple[Any, ...]) -> Record:
    values = dict(zip(COLUMNS, decoded(row[:-1]), strict=False))
    plain = {name: json.loads(values[name]) for name in ("parameters", "metrics")}
    return Record(**{**values, **plain, "environment": _environment(values["environment"])})


@lru_cache(maxsize=1000)
def _environment(text: str) -> Environment:
    return Environment(**json.loads(text))


@lru_cache(maxsize=1000)
def _environment_text(environment: Environment) -> str:
    return canonical(environment.plain)


# Care of stores: verify every row, salvage a damaged file, merge shards.


@dataclass(frozen=True)
class Verdict(Displayed):
    """Result of `verify_store`: rows of cells with a correct checksum, and rows of any kind with a wrong one."""

    cells: int
    damaged: int

    @property
    def sound(self) -> bool:
        """Whether every row is intact."""
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
    Verdict(cells=2, damaged=0)
    """
    with Store(path) as store:
        sound = Counter((table, is_sound(row)) for table in TABLES for _, row in store.rows(table))
    return Verdict(sound["cells", True], sound["cells", False] + sound["sweeps", False])


@dataclass(frozen=True)
class Salvage(Displayed):
    """Result of `salvage_store`.

    ``cells`` and ``sweeps`` were written to the new store; ``damaged`` rows could be read but have a wrong checksum;
    ``unreadable`` ones could not.
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
    found: Counter[str] = Counter()
    sound_rows, why = [], "it is empty"
    with closing(_connect(path, _untouched(path))) as database:
        try:
            application, schema = _header(database)
            columns = database.execute("PRAGMA table_info(cells)").fetchall()
        except UNREADABLE as error:
            raise CorruptData(f"{path}: no row could be read ({error})") from error
        if application != APPLICATION and not columns:
            raise CorruptData(f"{path} is not a store of dendrocap")
        if schema not in range(OLDEST_SCHEMA, SCHEMA_VERSION):
            schema = SCHEMA_VERSION  # a meaningless header is a damaged one
        for table in TABLES:
            for row in _readable(database, table):
                if isinstance(row, Exception):
                    why, found["unreadable"] = str(row), found["unreadable"] + 1
                elif (sound := _sound_row(table, row, schema)) is None:
                    found["damaged"] += 1
                else:
                    found[table] += 1
                    sound_rows.append((table, sound))
    if not sound_rows:
        raise CorruptData(f"{path}: no row could be read ({why})")
    with Store(target, write=True) as store, store.transaction():
        for table, sound in sound_rows:
            store.save_row(table, sound)
    return Salvage(found["cells"], found["sweeps"], found["damaged"], found["unreadable"])


def _readable(database: sqlite3.Connection, table: str) -> Iterator[tuple[Any, ...] | Exception]:
    """Rows by their numbers; where reading fails, the range is halved repeatedly, down to the error of a single row."""

    def between(low: int, high: int) -> Iterator[tuple[Any, ...] | Exception]:
        query = f"SELECT * FROM {table} NOT INDEXED WHERE rowid BETWEEN ? AND ?"
        try:
            yield from database.execute(query, (low, high)).fetchall()
        except UNREADABLE as error:
            if low == high:
                yield error
                return
            middle = (low + high) // 2
            yield from between(low, middle)
            yield from between(middle + 1, high)

    try:
        last = database.execute(f"SELECT max(rowid) FROM {table} NOT INDEXED").fetchone()[0] or 0
    except UNREADABLE:
        last = 2**20  # the last page cannot be read: assume the usual maximum of rows
    yield from between(0, last)


def _sound_row(table: str, row: tuple[Any, ...], schema: int) -> tuple[Any, ...] | None:
    """The columns of a row in the current format, without the checksum; None if the row is damaged."""
    if schema == SCHEMA_VERSION and not is_sound(row):
        return None
    try:
        values = decoded(row)
        if schema == SCHEMA_VERSION:
            return values[:-1]
        # Schema 2 had no checksums; a row whose key does not follow from its content is damaged.
        if table == "sweeps":
            sweep = Sweep.from_definition(json.loads(values[1]))
            return sweep.digest, json.dumps(sweep.definition), "", values[2]
        key, job, parameters, seed, status, metrics, *plain, version, finished = values
        cell = Cell(job, json.loads(parameters), seed)
        json.loads(metrics)
        if hashlib.sha256(canonical([job, cell.parameters, seed]).encode()).hexdigest()[:32] != key:
            return None
        environment = canonical(Environment(version).plain)
        return cell.key, job, parameters, seed, status, metrics, *plain, environment, finished
    except (ValueError, TypeError, LookupError, AttributeError, DendrocapError):
        return None


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
    sources, target = [Path(path) for path in paths], Path(target)
    if not sources:
        raise InvalidParameter("merge needs at least one store")
    if target.resolve() in (source.resolve() for source in sources):
        raise InvalidParameter(f"{target} cannot be both a source and the target")
    if target.exists():
        sources.insert(0, target)
    best: dict[bytes, tuple[bool, bytes, bytes, int]] = {}  # done, metrics, finished and source of the row to keep
    for number, source in enumerate(sources):
        with Store(source) as store:
            for row in store.intact():
                own = (row[STATUS] == DONE.encode(), row[METRICS], row[FINISHED], number)
                other = best.setdefault(row[KEY], own)
                if own[0] and other[0] and own[1] != other[1]:
                    raise StoreError(
                        f"{sources[other[3]]} and {source} contradict each other: they have different results for the "
                        f"cell {row[KEY].decode()[:12]}; were they run with the same versions and code? dendrocap "
                        "sweep status shows versions"
                    )
                if (own[0] and not other[0]) or (own[0] == other[0] is False and own[2] > other[2]):  # a later failure
                    best[row[KEY]] = own
    with Store(target, write=True) as merged, merged.transaction():
        for number, source in enumerate(sources):
            if source == target:
                continue
            with Store(source) as store:
                for row in store.intact():
                    if best[row[KEY]][3] == number:
                        merged.save_row("cells", decoded(row[:-1]))
                for sweep in reversed(store.sweeps()):
                    merged.add(sweep)
    return len(best)
