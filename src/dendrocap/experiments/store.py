"""Storage of results in one SQLite file, with one transaction per finished cell.

A cell is in the file completely or not at all, whatever happens to the process, and only once: its key is the primary
key. The file can be read while it is written, but has only one writer. It contains only text and numbers.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dendrocap.display import Displayed
from dendrocap.errors import CorruptData, InvalidParameter, StoreError
from dendrocap.experiments.cells import DONE, FAILED, Outcome
from dendrocap.experiments.environment import Environment
from dendrocap.experiments.store_file import StoreFile, checksum
from dendrocap.experiments.sweep import Sweep, canonical
from dendrocap.files import reading

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["Counts", "Record", "Store", "Survey", "decoded", "is_sound"]

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
        from dendrocap.experiments.plan import Plan

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
        """One row per stored cell; see `dendrocap.experiments.cell_tables.dataframe`."""
        from dendrocap.experiments.cell_tables import dataframe

        wanted = self.sweep() if sweep is None else sweep
        return dataframe(wanted, self.records(wanted))

    def to_xarray(self, sweep: Sweep | None = None) -> xr.Dataset:
        """One dimension per axis of the grid; see `dendrocap.experiments.cell_tables.dataset`."""
        from dendrocap.experiments.cell_tables import dataset

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
