"""A sweep is data: a job, a grid of parameters, and seeds.

This module runs nothing. A sweep knows its cells, and a cell knows its key and its seed. Both follow from the content
of the cell, never from when or where it is run. Therefore all executors give the same results, and a sweep that is
extended later finds the cells that already exist.
"""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

from dendrocap.display import Displayed
from dendrocap.errors import CorruptData, InvalidParameter
from dendrocap.validation import choice, real_number, refuse, whole_number

# A search axis: a sweep finds where a metric crosses a level instead of running every value.
#
# The axis has the values of a full grid with spacing ``resolution``. A few of them, evenly spaced, are run first.
# Between neighbours on different sides of the level, the value in the middle is run next, until the two are adjacent.
# The results alone determine which values are run, so a search can be stopped, resumed and moved.

SEARCH_KEYS = ("find", "level", "from", "to", "resolution", "points")

MOST_VALUES = 100_000


@dataclass(frozen=True)
class Search(Displayed, Sequence[float | int]):
    """The values of an axis, and the metric whose crossing of a level is searched for.

    As a sequence it contains the values of the full grid, from ``low`` to ``high`` in steps of ``resolution``. The
    metric is averaged over seeds; True counts as 1. ``points`` values, evenly spaced, are run first: with more of them,
    crossings that lie close together are found.

    Examples
    --------
    >>> search = Search("alpha", "solved", level=0.5, low=0.1, high=2.0, resolution=0.1, points=3)
    >>> len(search), sorted(search.needed({}))
    (20, [0, 10, 19])
    >>> sorted(search.needed({0: 1.0, 10: 1.0, 19: 0.0}))
    [0, 10, 14, 19]
    """

    axis: str
    metric: str
    level: float
    low: float
    high: float
    resolution: float
    points: int = 5

    @classmethod
    def from_table(cls, axis: str, table: Mapping[str, Any]) -> Search:
        """The search described by a table of a TOML file."""
        where = f"grid.{axis}"
        _check_keys(where, table, SEARCH_KEYS, SEARCH_KEYS[:-1], "a search needs find, level, from, to and resolution")
        metric = table["find"]
        if not isinstance(metric, str) or not metric:
            raise refuse(f"{where}.find", metric, "the name of a metric, such as 'solved'")
        low = real_number(f"{where}.from", table["from"])
        high = real_number(f"{where}.to", table["to"], low, low_open=True)
        resolution = real_number(f"{where}.resolution", table["resolution"], 0.0, high - low, low_open=True)
        if (high - low) / resolution > MOST_VALUES:
            raise refuse(f"{where}.resolution", table["resolution"], f"at least {(high - low) / MOST_VALUES:g}")
        return cls(
            axis,
            metric,
            real_number(f"{where}.level", table["level"]),
            low,
            high,
            resolution,
            whole_number(f"{where}.points", table.get("points", cls.points), 2),
        )

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, number: int | slice) -> Any:
        return self.values[number]

    @property
    def definition(self) -> dict[str, Any]:
        """The table from which `from_table` makes an equal search."""
        numbers = (self.metric, self.level, self.low, self.high, self.resolution, self.points)
        return dict(zip(SEARCH_KEYS, numbers, strict=True))

    @cached_property
    def values(self) -> tuple[float | int, ...]:
        """The values of the full grid; integers if all of them are."""
        count = int((self.high - self.low) / self.resolution + 1e-9) + 1
        return tuple(_rounded(self.low + number * self.resolution for number in range(count)))

    def needed(self, known: Mapping[int, float]) -> set[int]:
        """Indices of the values to run, given the metric at some of them; a NaN counts as unknown."""
        last = len(self.values) - 1
        first = min(self.points, last + 1)
        needed = {round(number * last / (first - 1)) for number in range(first)} if last else {0}
        while middles := {
            (left + right) // 2
            for left, right in self._neighbours(needed)
            if right - left > 1 and self.crosses(known, left, right)
        }:
            needed |= middles
        return needed

    def crosses(self, known: Mapping[int, float], left: int, right: int) -> bool:
        """Whether the metric is on different sides of the level at two values."""
        one, other = (known.get(number, math.nan) - self.level for number in (left, right))
        return not math.isnan(one) and not math.isnan(other) and (one >= 0.0) != (other >= 0.0)

    def brackets(self, known: Mapping[int, float]) -> list[tuple[int, int]]:
        """Neighbouring values between which the metric crosses the level."""
        return [pair for pair in self._neighbours(self.needed(known)) if self.crosses(known, *pair)]

    @staticmethod
    def _neighbours(numbers: set[int]) -> list[tuple[int, int]]:
        return list(pairwise(sorted(numbers)))


KEYS = ("job", "name", "seeds", "timeout", "parameters", "grid")

# Keys of a sweep that do not affect its results.
BESIDE = ("name", "timeout")

RANGE_KEYS = ("from", "to", "points", "scale")

# A sweep is held in memory cell by cell; a larger one is a typing error or should be split into several files.
MOST_CELLS = 10_000_000

# Whole numbers up to here are exact as floats.
LARGEST_EXACT = 2**53


@dataclass(frozen=True)
class Cell:
    """One run of a sweep: a job, its arguments, and the number that is the root of its randomness.

    Examples
    --------
    >>> cell = Cell("capacity", {"nonlinearity": "relu", "theta_d": 1}, seed=0)
    >>> same = Cell("capacity", {"theta_d": 1.0, "nonlinearity": "relu"}, seed=0)
    >>> cell.key == same.key
    True
    """

    job: str
    parameters: Mapping[str, Any]
    seed: int

    @cached_property
    def key(self) -> str:
        """Name of the result; equal cells of any two sweeps have the same key."""
        return _digest([self.job, self.parameters, self.seed])[:32]


@dataclass(frozen=True, init=False)
class Sweep(Displayed):
    """A job on a grid of parameters, repeated with several seeds.

    Parameters
    ----------
    job : str or function
        A built-in job (see `dendrocap.sweeps.jobs`), ``"package.module:function"``, or a function that can
        be imported under its name.
    grid : mapping
        Values of each parameter that varies; cells are all combinations. Values are numbers, strings or booleans. A
        table with ``from``, ``to`` and ``points`` is a range; one with ``find``, ``level``, ``from``, ``to`` and
        ``resolution`` is searched for the place where a metric crosses a level (`dendrocap.sweeps.Search`).
    parameters : mapping
        Parameters that stay fixed: numbers, strings, booleans or lists of them.
    seeds : int or iterable of int
        Number of independent repetitions of each combination, or a list of their numbers. The number alone determines
        the randomness of a cell: combinations with the same number see the same random patterns.
    name : str
        A label; it does not enter the digest.
    timeout : float, optional
        Seconds after which a cell is stored as failed and its process terminated; it does not enter the digest.

    Examples
    --------
    >>> sweep = Sweep("capacity", grid={"theta_d": [0.1, 0.5]}, parameters={"nonlinearity": "linear", "theta_s": 0.5})
    >>> len(sweep), sweep.digest
    (2, '8aeec911')
    >>> [dict(cell.parameters)["theta_d"] for cell in sweep]
    [0.1, 0.5]
    """

    _displayed = ("name", "job", "grid", "seeds", "digest")

    job: str
    grid: Mapping[str, Sequence[Any]]
    parameters: Mapping[str, Any]
    seeds: Sequence[int]
    name: str
    timeout: float | None

    # Written by hand, because it accepts more than the fields hold: a function as job, a number of seeds, a range.
    def __init__(
        self,
        job: str | Callable[..., Any],
        grid: Mapping[str, Iterable[Any]] | None = None,
        parameters: Mapping[str, Any] | None = None,
        seeds: int | Iterable[int] = (0,),
        name: str = "",
        timeout: float | None = None,
    ) -> None:
        axes = {axis: _axis(axis, values) for axis, values in _table("grid", {} if grid is None else grid)}
        searched = [axis for axis, values in axes.items() if isinstance(values, Search)]
        if len(searched) > 1:
            raise InvalidParameter(f"grid.{searched[1]} cannot be searched together with {searched[0]}")
        fixed = {key: _plain(key, value) for key, value in _table("parameters", parameters or {})}
        for attribute, value in {
            "job": _job_name(job),
            "grid": axes,
            "parameters": fixed,
            "seeds": _seeds(seeds),
            "name": name,
            "timeout": None if timeout is None else real_number("timeout", timeout, 0.0, low_open=True),
        }.items():
            object.__setattr__(self, attribute, value)
        twice = sorted(fixed.keys() & self.grid.keys())
        if twice:
            raise InvalidParameter(f"{twice[0]} is in both grid and parameters: give it once")
        if not isinstance(name, str):
            raise refuse("name", name, "a text")
        if len(self) > MOST_CELLS:
            raise refuse("number of cells", len(self), f"at most {MOST_CELLS}")

    @property
    def search(self) -> Search | None:
        """The axis that is searched instead of scanned, or None."""
        return next((axis for axis in self.grid.values() if isinstance(axis, Search)), None)

    def __len__(self) -> int:
        return math.prod(len(values) for values in self.grid.values()) * len(self.seeds)

    def __iter__(self) -> Iterator[Cell]:
        """The cells; the seed varies fastest, then the last axis of the grid. A search yields all cells it may need."""
        for values in product(*self.grid.values()):
            yield from self.at(dict(zip(self.grid, values, strict=True)))

    def at(self, place: Mapping[str, Any]) -> Iterator[Cell]:
        """The cells at one point of the grid, one for each seed."""
        parameters = {**self.parameters, **place}
        for seed in self.seeds:
            yield Cell(self.job, parameters, seed)

    def share(self, cell: Cell, shards: int) -> int:
        """The shard, counted from 1, that runs a cell; all cells of one search line belong to the same shard."""
        if self.search is not None:
            others = {name: value for name, value in cell.parameters.items() if name != self.search.axis}
            cell = Cell(cell.job, others, 0)
        return int(cell.key, 16) % shards + 1

    @cached_property
    def digest(self) -> str:
        """Eight characters that identify the sweep: same sweep, same digest, same results."""
        return _digest({key: value for key, value in self.definition.items() if key not in BESIDE})[:8]

    @property
    def definition(self) -> dict[str, Any]:
        """The sweep as plain data, from which `from_definition` makes an equal one."""
        return {
            "job": self.job,
            "grid": {
                name: axis.definition if isinstance(axis, Search) else list(axis) for name, axis in self.grid.items()
            },
            "parameters": dict(self.parameters),
            "seeds": list(self.seeds),
            "name": self.name,
            **({} if self.timeout is None else {"timeout": self.timeout}),
        }

    @classmethod
    def from_definition(cls, definition: Mapping[str, Any]) -> Sweep:
        """The sweep described by a mapping, such as a parsed TOML file."""
        for key in definition:
            choice("key in the sweep", key, KEYS)
        if "job" not in definition:
            raise InvalidParameter("a sweep needs a job, such as job = 'capacity'")
        return cls(**definition)


def read_sweep(path: str | Path) -> Sweep:
    r"""Read a sweep from a TOML file; its name is that of the file unless the file gives another.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> text = 'job = "capacity"\nparameters = {nonlinearity = "relu"}\ngrid = {theta_d = [0.1, 0.2, 0.5]}'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "relu.toml")
    ...     _ = file.write_text(text)
    ...     sweep = read_sweep(file)
    >>> sweep.name, len(sweep)
    ('relu', 3)
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            definition = tomllib.load(file)
    except FileNotFoundError:
        raise InvalidParameter(f"{path} does not exist: it must be a TOML file that describes a sweep") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CorruptData(f"{path} is not a TOML file: {error}") from None
    try:
        return Sweep.from_definition({"name": path.stem, **definition})
    except InvalidParameter as error:
        raise InvalidParameter(f"{path}: {error}") from None


def canonical(value: Any) -> str:
    """Plain data as JSON in a unique form; floats are written with all digits."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _digest(value: Any) -> str:
    return hashlib.sha256(canonical(_numbers(value)).encode()).hexdigest()


def _numbers(value: Any) -> Any:
    """Plain data in which 1.0 is replaced by 1, so that the notation of a number does not change the cell."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) <= LARGEST_EXACT else value
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_numbers(item) for item in value]
    return value


def _job_name(job: str | Callable[..., Any]) -> str:
    if isinstance(job, str) and job:
        return job
    module, name = getattr(job, "__module__", None), getattr(job, "__qualname__", "<")
    if not callable(job) or module in (None, "__main__") or "<" in name:
        raise refuse("job", job, "the name of a job, or a function that workers can import: put it in a module")
    return f"{module}:{name}"


def _table(name: str, table: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(table, Mapping):
        raise refuse(name, table, "a table of parameters")
    for key, value in table.items():
        if not isinstance(key, str) or not key.isidentifier():
            raise refuse(f"name in {name}", key, "a Python name")
        if key == "seed":
            raise InvalidParameter(f"seed is not allowed in {name}: write seeds = 10, or list them")
        yield key, value


def _axis(name: str, values: Any) -> tuple[Any, ...] | Search:
    """The values of one axis, from a list, or from the table of a range or a search."""
    if isinstance(values, Search):
        return values
    if isinstance(values, Mapping) and "find" in values:
        return Search.from_table(name, values)
    if isinstance(values, Mapping):
        values = _range(name, values)
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise refuse(f"grid.{name}", values, "a list of values, or a table with from, to and points")
    axis = tuple(_plain(f"grid.{name}", value) for value in values)
    if not axis or any(isinstance(value, list | dict) for value in axis):
        raise refuse(f"grid.{name}", list(axis), "a list of at least one number, text or boolean")
    if len({canonical(_numbers(value)) for value in axis}) < len(axis):
        raise refuse(f"grid.{name}", list(axis), "without repetitions: use seeds to repeat a cell")
    return axis


def _range(name: str, table: Mapping[str, Any]) -> list[float] | list[int]:
    _check_keys(f"grid.{name}", table, RANGE_KEYS, RANGE_KEYS[:3], "a range needs from, to and points")
    scale = choice(f"grid.{name}.scale", table.get("scale", "linear"), ("linear", "log"))
    low = 0.0 if scale == "log" else -math.inf
    start = real_number(f"grid.{name}.from", table["from"], low, low_open=True)
    stop = real_number(f"grid.{name}.to", table["to"], low, low_open=True)
    points = whole_number(f"grid.{name}.points", table["points"], 2, MOST_CELLS)
    spaced = np.geomspace(start, stop, points) if scale == "log" else np.linspace(start, stop, points)
    return _rounded(spaced, whole=all(isinstance(table[key], int) for key in ("from", "to")))


def _rounded(numbers: Iterable[float], *, whole: bool = True) -> list[float] | list[int]:
    """Numbers with 12 digits, so that 0.1 .. 1.0 in ten steps equals a list typed by hand; integers if all may be."""
    values = [float(f"{number:.12g}") for number in numbers]
    return [int(value) for value in values] if whole and all(value.is_integer() for value in values) else values


def _check_keys(where: str, table: Mapping[str, Any], known: Sequence[str], needed: Sequence[str], words: str) -> None:
    for key in table:
        choice(f"key in {where}", key, known)
    for key in needed:
        if key not in table:
            raise InvalidParameter(f"{where} lacks {key}: {words}")


def _plain(name: str, value: Any) -> Any:
    """A parameter as plain data that JSON can hold without loss."""
    if hasattr(value, "tolist"):  # NumPy scalars and arrays
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(name, item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(f"{name}.{key}", item) for key, item in value.items()}
    if isinstance(value, bool | str | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise refuse(name, value, "a finite number, a text, a boolean, or a list or table of these")


def _seeds(seeds: Any) -> tuple[int, ...]:
    if hasattr(seeds, "__iter__"):
        several = tuple(whole_number("seeds", seed, 0) for seed in seeds)
        if not several or len(set(several)) < len(several):
            raise refuse("seeds", list(several), "at least one number, without repetitions")
        return several
    return tuple(range(whole_number("seeds", seeds, 1, MOST_CELLS)))
