"""The cells of some sweeps that remain to be run, given a store; a search adds cells as results arrive."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from dendrocap.display import Displayed
from dendrocap.errors import InvalidParameter
from dendrocap.numerics import standard_error
from dendrocap.sweeps.process import DONE, FAILED, Environment, Outcome
from dendrocap.sweeps.store import Counts, Record, Store
from dendrocap.sweeps.sweep import Cell, Sweep


class Plan:
    """The cells of some sweeps, or of one shard of them, and which of them remain to be run.

    A cell that two sweeps share is run once. Failed cells are run again with ``retry_failed``, finished cells of other
    versions with ``rerun_older``.
    """

    def __init__(
        self,
        sweeps: Sequence[Sweep],
        store: Store,
        *,
        shard: str = "",
        retry_failed: bool = False,
        rerun_older: bool = False,
    ) -> None:
        self._part = parse_shard(shard)
        self._stored = store.statuses()
        self._retry_failed, self._rerun_older = retry_failed, rerun_older
        self._lines: dict[str, list[SearchLine]] = {}  # by the keys of their cells
        self._queue: deque[Cell] = deque()
        self.wanted: dict[str, Cell] = {}
        different = {sweep.digest: sweep for sweep in sweeps}.values()
        for sweep in different:
            if sweep.search is None:
                self.wanted.update((cell.key, cell) for cell in sweep if self._is_ours(sweep, cell))
        self._plain = list(self.wanted)
        for sweep in different:
            if sweep.search is not None:
                self._begin_search(sweep, store)

    def _begin_search(self, sweep: Sweep, store: Store) -> None:
        known = {
            record.key: record.metrics.get(sweep.search.metric)  # type: ignore[union-attr]
            for record in store.records(sweep)
            if self.settled(record.key)
        }
        for line in search_lines(sweep):
            if self._is_ours(sweep, next(iter(line.cells(0)))):
                for key in known.keys() & line.keys():
                    line.learn(key, known[key])
                self._want(line)

    def _want(self, line: SearchLine) -> None:
        """Add the cells that a search needs now."""
        for cell in line.needed():
            if line in (lines := self._lines.setdefault(cell.key, [])):
                continue
            lines.append(line)
            if cell.key not in self.wanted:  # another sweep may also want it
                self.wanted[cell.key] = cell
                if not self.settled(cell.key):
                    self._queue.append(cell)

    def _is_ours(self, sweep: Sweep, cell: Cell) -> bool:
        number, shards = self._part
        return shards == 1 or sweep.share(cell, shards) == number

    def settled(self, key: str) -> bool:
        """Whether a cell has an outcome that can be kept."""
        status, environment = self._stored.get(key, ("", Environment.here()))
        if status == DONE:
            return not self._rerun_older or Environment.here().matches(environment)
        return status == FAILED and not self._retry_failed

    def todo(self) -> Iterator[Cell | None]:
        """Yield cells to run; None if the next cells depend on outcomes still to come."""
        for key in self._plain:
            if not self.settled(key):
                yield self.wanted[key]
        while self._lines:
            yield self._queue.popleft() if self._queue else None

    def learn(self, outcome: Outcome) -> None:
        """Record an outcome."""
        key = outcome.cell.key
        self._stored[key] = (outcome.status, outcome.environment)
        for line in self._lines.get(key, ()):
            line.learn(key, outcome.metrics.get(line.search.metric))
            self._want(line)

    def has_work(self) -> bool:
        """Whether any cell remains to be run."""
        return bool(self._queue) or any(not self.settled(key) for key in self._plain)

    def counts(self, *, settled: bool = False) -> Counts:
        """How many of the wanted cells are done and have failed; if ``settled``, without those to be run again."""
        keys = (key for key in self.wanted if key in self._stored and (not settled or self.settled(key)))
        found = Counter(self._stored[key][0] for key in keys)
        return Counts(len(self.wanted), found[DONE], found[FAILED])

    def environments(self) -> Counter[Environment]:
        """Number of finished wanted cells for each environment."""
        found = (self._stored[key] for key in self.wanted if key in self._stored)
        return Counter(environment for status, environment in found if status == DONE)


class SearchLine:
    """One line along the searched axis of a sweep: a combination of values of the other axes, with all seeds."""

    def __init__(self, sweep: Sweep, others: Mapping[str, Any]) -> None:
        assert sweep.search is not None
        self.sweep, self.search, self.others = sweep, sweep.search, others
        self._cells: dict[int, list[Cell]] = {}
        self._values: dict[str, float] = {}

    def cells(self, number: int) -> list[Cell]:
        """The cells at one value of the axis, one for each seed."""
        if number not in self._cells:
            place = {**self.others, self.search.axis: self.search.values[number]}
            self._cells[number] = list(self.sweep.at(place))
        return self._cells[number]

    def keys(self) -> set[str]:
        """Keys of all cells that it may need."""
        return {cell.key for number in range(len(self.search.values)) for cell in self.cells(number)}

    def learn(self, key: str, value: Any) -> None:
        """Record the metric of a cell; None and values that are not numbers count as unknown."""
        try:
            self._values[key] = math.nan if value is None else float(value)
        except (TypeError, ValueError):
            raise InvalidParameter(
                f"grid.{self.search.axis}.find = {self.search.metric!r} is not allowed: the metric must be one number "
                f"per cell, not {value!r}"
            ) from None

    def values(self, number: int) -> list[float]:
        """The metric of the seeds that have it, once all seeds have an outcome; empty before."""
        keys = [cell.key for cell in self._cells.get(number, ())]
        if not keys or any(key not in self._values for key in keys):
            return []
        return [value for key in keys if not math.isnan(value := self._values[key])]

    def known(self) -> dict[int, float]:
        """The metric, averaged over seeds, by index of the value."""
        found = {number: self.values(number) for number in self._cells}
        return {number: math.fsum(values) / len(values) for number, values in found.items() if values}

    def needed(self) -> list[Cell]:
        """The cells that are needed, given the known values."""
        return [cell for number in sorted(self.search.needed(self.known())) for cell in self.cells(number)]


def search_lines(sweep: Sweep) -> Iterator[SearchLine]:
    """One line for each combination of the axes that are not searched."""
    assert sweep.search is not None
    others = {name: values for name, values in sweep.grid.items() if name != sweep.search.axis}
    for values in product(*others.values()):
        yield SearchLine(sweep, dict(zip(others, values, strict=True)))


def parse_shard(text: str) -> tuple[int, int]:
    """The two numbers of ``i/n``; (1, 1) for an empty string."""
    if not text:
        return 1, 1
    number, separator, shards = text.partition("/")
    if not (separator and number.isdecimal() and shards.isdecimal() and 1 <= int(number) <= int(shards)):
        raise InvalidParameter(f"shard = {text!r} is not allowed: it must be i/n with i from 1 to n, such as 2/3")
    return int(number), int(shards)


# The places where the metric of an adaptive sweep crosses its level.

# Number of standard errors by which an average must differ from the level to be clearly above or below.
CLEAR = 2.0


@dataclass(frozen=True)
class Crossing(Displayed):
    """A place at which a metric, averaged over seeds, crosses a level; NaN if there is none.

    ``value`` is interpolated between two neighbours on the searched axis, ``others`` are the values of the other axes.
    ``low`` and ``high`` are the nearest values that were run at which the metric is above or below the level by more
    than two standard errors over seeds. An average over few seeds may cross anywhere between them, and more than once.
    If the seeds agree, the two values are neighbours. ``cells`` were run for it.
    """

    _displayed = ("value", "low", "high", "others", "cells")

    others: Mapping[str, Any]
    value: float
    low: float
    high: float
    cells: int


def crossings(sweep: Sweep, records: Iterable[Record]) -> list[Crossing]:
    """All crossings that a search has found; a line without a crossing gives one with NaN.

    Examples
    --------
    >>> import tempfile
    >>> from dendrocap import Store, Sweep, run_sweep
    >>> where = {"find": "alpha_c", "level": 1.2, "from": 0.1, "to": 1.0, "resolution": 0.05}
    >>> sweep = Sweep("capacity", {"theta_d": where}, {"nonlinearity": "relu", "theta_s": 0.5})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = run_sweep(sweep, f"{folder}/relu.db", workers=1)
    ...     with Store(f"{folder}/relu.db") as store:
    ...         (found,) = crossings(sweep, store.records(sweep))
    >>> report.ran, len(sweep), found.low, found.high
    (7, 19, 0.3, 0.35)
    """
    if sweep.search is None:
        raise InvalidParameter("the sweep searches no axis: add { find = METRIC, level = ..., ... } to its grid")
    known = {record.key: record.metrics.get(sweep.search.metric) for record in records}
    found: list[Crossing] = []
    for line in search_lines(sweep):
        own = line.keys() & known.keys()
        for key in own:
            line.learn(key, known[key])
        cells = sum(cell.key in own for cell in line.needed())
        pairs = line.search.brackets(line.known())
        found += [_crossing(line, *pair, cells) for pair in pairs] or [
            Crossing(line.others, math.nan, math.nan, math.nan, cells)
        ]
    return found


def _crossing(line: SearchLine, left: int, right: int, cells: int) -> Crossing:
    search, known = line.search, line.known()
    low, high = (float(search.values[number]) for number in (left, right))
    part = (search.level - known[left]) / (known[right] - known[left])
    ordered = sorted(known)
    below = [number for number in ordered if number <= left and _is_clear(line, number)]
    beyond = [number for number in ordered if number >= right and _is_clear(line, number)]
    return Crossing(
        line.others,
        low + part * (high - low),
        float(search.values[below[-1] if below else 0]),
        float(search.values[beyond[0] if beyond else -1]),
        cells,
    )


def _is_clear(line: SearchLine, number: int) -> bool:
    """Whether the metric differs from the level by more than chance over seeds; always True for one seed."""
    values = line.values(number)
    error = standard_error(values)
    return math.isnan(error) or abs(line.known()[number] - line.search.level) > CLEAR * error
