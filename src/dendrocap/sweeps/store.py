"""Storage of results in one SQLite file, with one transaction per finished cell.

A cell is in the file completely or not at all, whatever happens to the process, and only once: its key is the primary
key. The file can be read while it is written, but has only one writer. It contains only text and numbers.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self
from urllib.parse import quote

from dendrocap.display import Displayed
from dendrocap.errors import CorruptData, InvalidParameter, StoreError
from dendrocap.files import reading
from dendrocap.sweeps.process import DONE, FAILED, Environment, Outcome
from dendrocap.sweeps.sweep import Sweep, canonical

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

# A file lock for a single writer; the operating system releases it when its holder dies.

# Errors of file systems without locks; the file system of a cluster may be mounted without them.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class FileLock:
    """An exclusive lock on a file beside the protected one.

    The lock is held on the open file; the mere existence of the file means nothing. A process that is killed leaves the
    file behind, but not the lock. The file is therefore never deleted.

    Parameters
    ----------
    path : Path
        The protected file; the lock is taken on ``path`` + ``.lock``.
    """

    def __init__(self, path: Path) -> None:
        self._protected = path
        self._file: IO[str] | None = None

    def acquire(self) -> None:
        """Take the lock; if it is taken, raise at once and name the holder."""
        place = self._protected.with_name(self._protected.name + ".lock")
        try:
            file = place.open("a+", encoding="utf-8")
        except OSError as error:
            raise StoreError(f"{self._protected} cannot be written: {error.strerror}: {place}") from error
        try:
            _lock(file)
        except OSError as error:
            if error.errno in NO_LOCKS:
                file.close()
                raise StoreError(
                    f"{self._protected} cannot be written safely: its file system has no locks ({error.strerror}); "
                    "keep the store on a local disk and copy it afterwards"
                ) from error
            file.seek(0)
            holder = file.read().strip() or "unknown"
            file.close()
            raise StoreError(
                f"{self._protected} is being written by another sweep ({holder}): wait for it, or use another --store"
            ) from None
        try:
            file.seek(0)
            file.truncate()
            file.write(f"process {os.getpid()} on {platform.node()}")
            file.flush()
        except OSError:
            pass  # the disk is full; the name of the holder is only informative
        self._file = file

    def release(self) -> None:
        """Release the lock."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _lock(file: IO[str]) -> None:
    """Lock an open file or raise OSError; the lock ends when the file is closed, for whatever reason."""
    try:
        import fcntl
    except ImportError:
        import msvcrt

        file.seek(1 << 30)  # a byte far behind the text, which others can still read
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


# The file of a store: it is created, opened, checked and closed such that it survives kills, full disks and bit rot.
#
# This module knows only the columns of a cell. Every row carries a checksum of its columns, so that a bit flipped on
# disk is noticed when the row is read, even if SQLite does not notice it.

APPLICATION = int.from_bytes(b"dcap", "big")  # marks the database as ours, in the header of the file

SCHEMA_VERSION = 3

SCHEMA = """
CREATE TABLE sweeps (
    digest TEXT PRIMARY KEY,
    definition TEXT NOT NULL,
    shard TEXT NOT NULL,
    last_run TEXT NOT NULL,
    checksum TEXT NOT NULL
);
CREATE TABLE cells (
    key TEXT PRIMARY KEY,
    job TEXT NOT NULL,
    parameters TEXT NOT NULL,
    seed INTEGER NOT NULL,
    status TEXT NOT NULL,
    metrics TEXT NOT NULL,
    reason TEXT NOT NULL,
    traceback TEXT NOT NULL,
    seconds REAL NOT NULL,
    host TEXT NOT NULL,
    environment TEXT NOT NULL,
    finished TEXT NOT NULL,
    checksum TEXT NOT NULL
);
CREATE TABLE damaged (
    content TEXT NOT NULL,
    noticed TEXT NOT NULL
);
"""

HEADER = ("application_id", "user_version")

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


def checksum(columns: Iterable[Any]) -> str:
    """Sixteen characters that change with any bit of a row; texts can be given as the stored bytes."""
    content = b"\x1f".join(value if isinstance(value, bytes) else str(value).encode() for value in columns)
    return hashlib.blake2b(content, digest_size=8).hexdigest()


class StoreFile(Displayed):
    """A SQLite file for results, open for one writer or for any number of readers.

    Parameters
    ----------
    path : str or Path
        The file; with ``write`` it is created if it does not exist.
    write : bool
        Whether to write. There can be one writer and any number of readers at the same time.
    exclusive : bool
        Whether readers are excluded while it is written. This needs no memory shared between processes, which the file
        systems of clusters do not offer.
    """

    _displayed = ("path",)

    def __init__(self, path: str | Path, *, write: bool = False, exclusive: bool = False) -> None:
        self.path = Path(path)
        self._exclusive = exclusive
        self._lock = FileLock(self.path) if write else None
        if not write and not self.path.is_file():
            raise StoreError(f"there is no store {self.path}")
        if write and not self.path.parent.is_dir():
            raise StoreError(f"{self.path} cannot be created: the folder {self.path.parent} does not exist")
        if not self._is_new:
            self._inspect()
        elif not write:
            raise StoreError(f"{self.path} is empty: nothing has been stored in it yet")
        if self._lock is not None:
            self._lock.acquire()
        try:
            with self._plain_errors():
                self._database = self._open_to_write() if write else self._open_to_read()
        except BaseException:
            if self._lock is not None:
                self._lock.release()
            raise

    def _inspect(self) -> None:
        """Raise if the file is not a store of a known version, without changing the file or its folder.

        ``immutable`` keeps SQLite from creating its own files, but is correct only without a log: the log may hold part
        of the data, and after a full disk the file may make no sense without it.
        """
        with self._plain_errors(), self._connection("mode=ro" if self._has_log else "immutable=1") as database:
            application, version = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in HEADER)
        if application != APPLICATION:
            raise CorruptData(f"{self.path} is a database, but not a store of dendrocap")
        if version != SCHEMA_VERSION:
            newer = version > SCHEMA_VERSION
            way_out = "use that version, or another store" if newer else self._salvage
            raise CorruptData(
                f"{self.path} was written by {'a newer' if newer else 'an older'} dendrocap (schema {version}; this "
                f"version supports {SCHEMA_VERSION}): {way_out}"
            )

    @property
    def _salvage(self) -> str:
        return f"dendrocap sweep salvage {self.path} -o NEW.db writes its intact rows to a new store"

    def _refuse_damage(self, database: sqlite3.Connection) -> None:
        """Raise if the pages or indices of the file are inconsistent; checksums check the content of rows."""
        verdict = database.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if verdict != "ok":
            raise CorruptData(f"{self.path} is damaged ({' '.join(verdict.split())}): {self._salvage}")

    def _open_to_write(self) -> sqlite3.Connection:
        is_new = self._is_new
        if not is_new:
            with self._connection("mode=ro" if self._has_log else "immutable=1") as database:
                self._refuse_damage(database)
        database = sqlite3.connect(self._address("mode=rwc"), uri=True, isolation_level=None)
        try:
            if is_new:
                if database.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
                    raise CorruptData(f"{self.path} is a database, but not a store of dendrocap")
                # One transaction in the file itself: a store is either complete or an empty file.
                database.executescript(
                    f"BEGIN IMMEDIATE; {SCHEMA} PRAGMA application_id = {APPLICATION}; "
                    f"PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
                )
            if self._exclusive:
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
        # Opened for writing if possible, although nothing is written: otherwise SQLite does not clean up its files.
        ways = ["mode=rw"] if self._has_log else ["mode=rw", "immutable=1"]
        for way in ways:
            database = sqlite3.connect(self._address(way), uri=True, isolation_level=None)
            try:
                database.execute("PRAGMA query_only = 1")
                self._refuse_damage(database)
            except BaseException as error:
                database.close()
                # A read-only folder has no room for the files that coordinate readers and writers; without a log there
                # is no writer to coordinate with.
                if isinstance(error, sqlite3.OperationalError) and way != ways[-1]:
                    continue
                raise
            return database
        raise AssertionError("unreachable")

    @property
    def _is_new(self) -> bool:
        """Whether there is no file yet, or only the remains of a process that was killed while it created the store.

        Only the creation of a store uses a rollback journal. If there is one, SQLite will undo the creation.
        """
        return not _has_content(self.path) or _has_content(self.path.with_name(self.path.name + "-journal"))

    @property
    def _has_log(self) -> bool:
        """Whether there is a log beside the file: a writer is active, or was killed."""
        return _has_content(self.path.with_name(self.path.name + "-wal"))

    def _address(self, options: str) -> str:
        return f"file:{quote(str(self.path.absolute()))}?{options}"

    @contextmanager
    def _connection(self, options: str) -> Iterator[sqlite3.Connection]:
        database = sqlite3.connect(self._address(options), uri=True)
        try:
            yield database
        finally:
            database.close()

    def close(self) -> None:
        """Merge the log into the file and release the lock."""
        with suppress(sqlite3.Error):  # all outcomes are already saved
            self._database.close()
        if self._lock is not None:
            self._lock.release()

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

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


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


# A finished cell is replaced only on request; a failed one is replaced by the outcome of a later attempt.
SAVE = """
INSERT INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET
    job = excluded.job, parameters = excluded.parameters, seed = excluded.seed,
    status = excluded.status, metrics = excluded.metrics, reason = excluded.reason, traceback = excluded.traceback,
    seconds = excluded.seconds, host = excluded.host, environment = excluded.environment,
    finished = excluded.finished, checksum = excluded.checksum
WHERE cells.status = 'failed' OR ?
"""

STATUS, ENVIRONMENT = 4, 10  # columns of a row


@dataclass(frozen=True)
class Record(Displayed):
    """A stored cell.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dendrocap import Sweep, run_sweep
    >>> sweep = Sweep("capacity", grid={"theta_d": [0.5]}, parameters={"nonlinearity": "linear", "theta_s": 0.5})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run_sweep(sweep, Path(folder, "one.db"), workers=1)
    ...     with Store(Path(folder, "one.db")) as store:
    ...         record = list(store.records())[0]
    >>> record.status, record.parameters["theta_d"], round(record.metrics["alpha_c"], 9)
    ('done', 0.5, 1.0)
    """

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
    """State of a sweep.

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


@dataclass(frozen=True)
class Survey:
    """The content of a store, after all checksums have been verified.

    Parameters
    ----------
    statuses : dict
        Status and environment of each cell, by key.
    damaged : tuple of int
        Numbers of the rows with a wrong checksum.
    """

    statuses: dict[str, tuple[str, Environment]]
    damaged: tuple[int, ...]

    def status(self, key: str) -> str | None:
        """Status of a cell; None if it is not stored."""
        found = self.statuses.get(key)
        return None if found is None else found[0]

    def counts(self, keys: Iterable[str]) -> Counts:
        """How many of the given cells are done, and how many have failed."""
        found = Counter(self.status(key) for key in keys)
        return Counts(found.total(), found[DONE], found[FAILED])

    def environments(self, keys: Iterable[str]) -> Counter[Environment]:
        """Number of finished cells for each environment."""
        entries = (self.statuses[key] for key in keys if key in self.statuses)
        return Counter(environment for status, environment in entries if status == DONE)


class Store(StoreFile):
    """A file with the results of sweeps.

    Parameters
    ----------
    path : str or Path
        The file; with ``write`` it is created if it does not exist.
    write : bool
        Whether to write. There can be one writer and any number of readers at the same time.
    exclusive : bool
        Whether readers are excluded while it is written, as is necessary on a file system shared by several machines.

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

    def add(self, sweep: Sweep, shard: str = "") -> None:
        """Record the sweep that is about to run, and its shard."""
        self.save_sweep_row((sweep.digest, json.dumps(sweep.definition), shard, _now()))

    def save(self, outcome: Outcome, *, replace: bool = False) -> None:
        """Save a finished cell, in its own transaction."""
        cell = outcome.cell
        row = (cell.key, cell.job, canonical(cell.parameters), cell.seed, outcome.status,
               json.dumps(outcome.metrics), _text(outcome.reason), _text(outcome.traceback), float(outcome.seconds),
               outcome.host, _environment_text(outcome.environment), _now())  # fmt: skip
        self.save_row(row, replace=replace)

    def save_sweep_row(self, row: tuple[Any, ...]) -> None:
        """Save the columns of a sweep; their checksum is added."""
        with self._plain_errors():
            self._database.execute("INSERT OR REPLACE INTO sweeps VALUES (?, ?, ?, ?, ?)", (*row, checksum(row)))

    def save_row(self, row: tuple[Any, ...], *, replace: bool = False) -> None:
        """Save the columns of a cell; their checksum is added."""
        with self._plain_errors():
            self._database.execute(SAVE, (*row, checksum(row), replace))

    def survey(self) -> Survey:
        """Status of every cell in the store, and the damaged rows."""
        statuses: dict[str, tuple[str, Environment]] = {}
        damaged: list[int] = []
        entries: dict[tuple[bytes, bytes], tuple[str, Environment]] = {}  # few values, shared by all rows
        for number, row in self.rows():
            if not is_sound(row):
                damaged.append(number)
                continue
            kind = (row[STATUS], row[ENVIRONMENT])
            if kind not in entries:
                entries[kind] = (row[STATUS].decode(), _environment(row[ENVIRONMENT].decode()))
            statuses[row[0].decode()] = entries[kind]
        return Survey(statuses, tuple(damaged))

    def put_aside(self) -> int:
        """Move damaged rows to a separate table, and return how many of them were cells."""
        unsound = [(table, n) for table in ("cells", "sweeps") for n, row in self.rows(table) if not is_sound(row)]
        if not unsound:
            return 0
        with self.transaction():
            for table, number in unsound:
                (row,) = (row for _, row in self.rows(table, "WHERE rowid = ?", (number,)))
                self._database.execute("INSERT INTO damaged VALUES (?, ?)", (repr(row), _now()))
                self._database.execute(f"DELETE FROM {table} WHERE rowid = ?", (number,))
        return sum(table == "cells" for table, _ in unsound)

    def counts(self, sweep: Sweep) -> Counts:
        """How many cells of the sweep are done and how many have failed; for a search, of those needed so far."""
        from dendrocap.sweeps.plan import Plan

        return Plan([sweep], self, shard=self.shard(sweep)).counts(sweep)

    def shard(self, sweep: Sweep) -> str:
        """The part of a sweep that was run into this store, such as ``2/3``; empty if it is the whole."""
        with self._plain_errors():
            found = self._database.execute("SELECT shard FROM sweeps WHERE digest = ?", (sweep.digest,)).fetchone()
        return str(found[0]) if found else ""

    def records(self, sweep: Sweep | None = None) -> list[Record]:
        """The stored cells of a sweep, in its order; by default of the sweep run last."""
        wanted = self.sweep() if sweep is None else sweep
        places = {cell.key.encode(): place for place, cell in enumerate(wanted)}
        found: dict[int, Record] = {}
        damaged = 0
        for _, row in self.rows():
            if not is_sound(row):
                damaged += 1
            elif row[0] in places:
                with reading(self.path, "an intact store"):
                    found[places[row[0]]] = _record(row)
        self.refuse_damaged(damaged)
        return [found[place] for place in sorted(found)]

    def refuse_damaged(self, damaged: int) -> None:
        """Raise if rows are damaged."""
        if damaged:
            rows = "1 row is damaged" if damaged == 1 else f"{damaged} rows are damaged"
            raise CorruptData(
                f"{self.path}: {rows}; the next dendrocap sweep run sets them aside and runs their cells again, "
                f"{self._salvage}"
            )

    def rows(
        self, table: str = "cells", condition: str = "", arguments: tuple[Any, ...] = ()
    ) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Number and columns of every row; texts are bytes, because a damaged text may not decode."""
        with self._plain_errors():
            self._database.text_factory = bytes
            try:
                for number, *row in self._database.execute(f"SELECT rowid, * FROM {table} {condition}", arguments):
                    yield number, tuple(row)
            finally:
                self._database.text_factory = str

    def sweeps(self) -> list[Sweep]:
        """All sweeps that were run into this store, the latest first."""
        rows = [row for _, row in self.rows("sweeps", "ORDER BY last_run DESC, digest")]
        if not all(map(is_sound, rows)):
            raise CorruptData(
                f"{self.path}: the description of a sweep is damaged; the next dendrocap sweep run sets it aside, "
                f"{self._salvage}"
            )
        with reading(self.path, "an intact store"):
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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _text(words: str) -> str:
    """A text that a file can hold: a message may quote bytes that do not decode."""
    return words.encode("utf-8", "backslashreplace").decode()


def is_sound(row: tuple[Any, ...]) -> bool:
    """Whether the checksum of a row, read as bytes, is correct."""
    return bool(row[-1] == checksum(row[:-1]).encode())


def _record(row: tuple[Any, ...]) -> Record:
    key, job, parameters, seed, status, metrics, *plain, environment, finished = decoded(row[:-1])
    reason, traceback, seconds, host = plain
    known = (reason, traceback, seconds, host, _environment(environment), finished)
    return Record(key, job, json.loads(parameters), seed, status, json.loads(metrics), *known)


def decoded(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Columns with their texts decoded."""
    return tuple(value.decode() if isinstance(value, bytes) else value for value in row)


@lru_cache(maxsize=1000)
def _environment(text: str) -> Environment:
    return Environment(**json.loads(text))


@lru_cache(maxsize=1000)
def _environment_text(environment: Environment) -> str:
    return canonical(environment.plain)
