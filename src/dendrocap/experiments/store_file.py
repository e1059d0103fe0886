"""The file of a store: it is created, opened, checked and closed such that it survives kills, full disks and bit rot.

This module knows only the columns of a cell. Every row carries a checksum of its columns, so that a bit flipped on disk
is noticed when the row is read, even if SQLite does not notice it.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from dendrocap.display import Displayed
from dendrocap.errors import CorruptData, StoreError
from dendrocap.experiments.lock import FileLock

__all__ = ["StoreFile", "checksum"]

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
