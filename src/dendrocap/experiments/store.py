"""Results in one SQLite file: one transaction per finished cell.

A cell is in the file entirely or not at all, whatever happens to the process, and it is there once: its key is the
primary key. The file may be read while it is being written, but has one writer. Everything in it is text and numbers.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from dendrocap.display import Displayed
from dendrocap.errors import CorruptData, InvalidParameter, StoreError
from dendrocap.experiments.cells import DONE, FAILED, Outcome
from dendrocap.experiments.lock import FileLock
from dendrocap.experiments.sweep import Sweep, canonical
from dendrocap.files import reading

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["Counts", "Record", "Store"]

APPLICATION = int.from_bytes(b"dcap", "big")  # in the header of the file: this database is ours
SCHEMA_VERSION = 2
SCHEMA = """
CREATE TABLE sweeps (
    digest TEXT PRIMARY KEY,
    definition TEXT NOT NULL,
    last_run TEXT NOT NULL
);
CREATE TABLE cells (
    key TEXT PRIMARY KEY,
    job TEXT NOT NULL,
    parameters TEXT NOT NULL,
    seed INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
    metrics TEXT NOT NULL,
    reason TEXT NOT NULL,
    traceback TEXT NOT NULL,
    seconds REAL NOT NULL,
    host TEXT NOT NULL,
    version TEXT NOT NULL,
    finished TEXT NOT NULL
);
"""
# A finished cell is never replaced; a failed one by whatever a later try gives.
SAVE = """
INSERT INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET
    status = excluded.status, metrics = excluded.metrics, reason = excluded.reason, traceback = excluded.traceback,
    seconds = excluded.seconds, host = excluded.host, version = excluded.version, finished = excluded.finished
WHERE cells.status = 'failed'
"""


@dataclass(frozen=True)
class Record(Displayed):
    """A cell as it is stored.

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
    version: str
    finished: str


@dataclass(frozen=True)
class Counts(Displayed):
    """How far a sweep has come.

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
        """Cells without any result."""
        return self.cells - self.done - self.failed


class Store(Displayed):
    """The results of sweeps, in a file.

    Parameters
    ----------
    path : str or Path
        The file; with ``write`` it is made if it does not exist.
    write : bool
        Whether to write. There can be one writer, and any number of readers beside it.

    Raises
    ------
    CorruptData
        If the file is not a store, is damaged, or was written by another version. The file is left as it is.
    StoreError
        If it does not exist, cannot be written, or has a writer already.

    Examples
    --------
    >>> import tempfile
    >>> from dendrocap.experiments import Sweep, run_sweep
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

    def __init__(self, path: str | Path, *, write: bool = False) -> None:
        self.path = Path(path)
        self._lock = FileLock(self.path) if write else None
        if not write and not self.path.is_file():
            raise StoreError(f"there is no store {self.path}")
        if write and not self.path.parent.is_dir():
            raise StoreError(f"{self.path} cannot be made: the folder {self.path.parent} does not exist")
        if not self._is_new:
            self._inspect()
        elif not write:
            raise StoreError(f"{self.path} is empty: nothing was stored in it yet")
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
        """Refuse a file that is not a store that we understand, without changing a byte of it or of its folder.

        ``immutable`` keeps SQLite from making files of its own, but is right only without a log: part of the truth
        may be there, and a full disk can leave a file that makes no sense without it.
        """
        with self._plain_errors(), self._connection("mode=ro" if self._has_log else "immutable=1") as database:
            application, version = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in HEADER)
        if application != APPLICATION:
            raise CorruptData(f"{self.path} is a database, but not a store of dendrocap")
        if version != SCHEMA_VERSION:
            age = "a newer" if version > SCHEMA_VERSION else "an older"
            raise CorruptData(
                f"{self.path} was written by {age} dendrocap (schema {version}, known here is {SCHEMA_VERSION}): "
                "use that version, or another store"
            )

    def _refuse_damage(self, database: sqlite3.Connection) -> None:
        verdict = database.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise CorruptData(f"{self.path} is damaged ({' '.join(verdict.split())}): restore it from a copy")

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
                # One transaction in the file itself: a store exists completely or is an empty file.
                database.executescript(
                    f"BEGIN IMMEDIATE; {SCHEMA} PRAGMA application_id = {APPLICATION}; "
                    f"PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
                )
            database.execute("PRAGMA journal_mode = WAL")
            # The log is synced when it is folded into the file, not at every cell. A killed process loses nothing; a
            # power failure can take the last cells, which a resumed sweep runs again, but cannot damage the file.
            database.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            database.close()
            raise
        return database

    def _open_to_read(self) -> sqlite3.Connection:
        # Opened for writing where possible, though nothing is written: only so does SQLite tidy up after itself.
        ways = ["mode=rw"] if self._has_log else ["mode=rw", "immutable=1"]
        for way in ways:
            database = sqlite3.connect(self._address(way), uri=True, isolation_level=None)
            try:
                database.execute("PRAGMA query_only = 1")
                self._refuse_damage(database)
            except BaseException as error:
                database.close()
                # A folder that cannot be written has no place for the files by which readers and writers agree;
                # without a log there is no writer to agree with.
                if isinstance(error, sqlite3.OperationalError) and way != ways[-1]:
                    continue
                raise
            return database
        raise AssertionError("unreachable")

    @property
    def _is_new(self) -> bool:
        """Whether there is nothing yet, or what a process leaves that was killed while it made the store.

        Only the making uses a rollback journal. If there is one, SQLite will undo what was done.
        """
        return not _has_content(self.path) or _has_content(self.path.with_name(self.path.name + "-journal"))

    @property
    def _has_log(self) -> bool:
        """Whether transactions wait beside the file: there is a writer, or one was killed."""
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
        """Fold the log into the file and let others write."""
        with suppress(sqlite3.Error):  # everything saved is saved already
            self._database.close()
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def add(self, sweep: Sweep) -> None:
        """Write down what is about to be run."""
        with self._plain_errors():
            self._database.execute(
                "INSERT OR REPLACE INTO sweeps VALUES (?, ?, ?)", (sweep.digest, json.dumps(sweep.definition), _now())
            )

    def save(self, outcome: Outcome) -> None:
        """Write down a finished cell, in a transaction of its own."""
        cell = outcome.cell
        row = (cell.key, cell.job, canonical(cell.parameters), cell.seed, outcome.status,
               json.dumps(outcome.metrics), outcome.reason, outcome.traceback, outcome.seconds, outcome.host,
               outcome.version, _now())  # fmt: skip
        with self._plain_errors():
            self._database.execute(SAVE, row)

    def statuses(self) -> dict[str, str]:
        """The status of every cell in the store, by key."""
        with self._plain_errors():
            return dict(self._database.execute("SELECT key, status FROM cells"))

    def counts(self, sweep: Sweep) -> Counts:
        """How many of the sweep's cells are done, how many failed."""
        known = self.statuses()
        found = [known.get(cell.key) for cell in sweep]
        return Counts(len(found), found.count(DONE), found.count(FAILED))

    def records(self, sweep: Sweep | None = None) -> list[Record]:
        """The stored cells of a sweep, in its order; by default of the sweep that was run last."""
        with self._plain_errors():
            rows = {row[0]: row for row in self._database.execute("SELECT * FROM cells")}
        wanted = self.sweep() if sweep is None else sweep
        with reading(self.path, "a sound store"):
            return [_record(rows[cell.key]) for cell in wanted if cell.key in rows]

    def sweeps(self) -> list[Sweep]:
        """Every sweep that was run into this store, the latest first."""
        with self._plain_errors():
            rows = self._database.execute("SELECT definition FROM sweeps ORDER BY last_run DESC, digest").fetchall()
        with reading(self.path, "a sound store"):
            return [Sweep.from_definition(json.loads(definition)) for (definition,) in rows]

    def sweep(self, digest: str | None = None) -> Sweep:
        """The sweep with this digest (or the beginning of it); by default the one that was run last."""
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
        """One row per stored cell; see `dendrocap.experiments.cell_tables.dataframe`."""
        from dendrocap.experiments.cell_tables import dataframe

        wanted = self.sweep() if sweep is None else sweep
        return dataframe(wanted, self.records(wanted))

    def to_xarray(self, sweep: Sweep | None = None) -> xr.Dataset:
        """One dimension per axis of the grid; see `dendrocap.experiments.cell_tables.dataset`."""
        from dendrocap.experiments.cell_tables import dataset

        wanted = self.sweep() if sweep is None else sweep
        return dataset(wanted, self.records(wanted))

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        """SQLite's errors, in words that say what to do."""
        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            words = next((words for code, words in EXPLANATIONS.items() if name.startswith(code)), "cannot be used")
            kind = CorruptData if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")) else StoreError
            raise kind(f"{self.path} {words} ({error})") from error


HEADER = ("application_id", "user_version")
# By the beginning of SQLite's name of the error.
EXPLANATIONS = {
    "SQLITE_FULL": "cannot grow: the disk is full; what is stored is safe, so make room and run again to go on",
    "SQLITE_IOERR": "cannot be written or read: the disk refuses; what is stored is safe, so look at the disk (is it "
    "full?) and run again to go on",
    "SQLITE_READONLY": "cannot be written: it is read-only",
    "SQLITE_CANTOPEN": "cannot be opened or made",
    "SQLITE_NOTADB": "is not a store: it is not a SQLite database",
    "SQLITE_CORRUPT": "is damaged: restore it from a copy",
    "SQLITE_BUSY": "is locked by another program",
}


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _record(row: tuple[Any, ...]) -> Record:
    key, job, parameters, seed, status, metrics, *rest = row
    return Record(key, job, json.loads(parameters), seed, status, json.loads(metrics), *rest)
