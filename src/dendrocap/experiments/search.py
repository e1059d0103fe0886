"""A search axis: a sweep finds where a metric crosses a level instead of running every value.

The axis has the values of a full grid with spacing ``resolution``. A few of them, evenly spaced, are run first. Between
neighbours on different sides of the level, the value in the middle is run next, until the two are adjacent. The results
alone determine which values are run, so a search can be stopped, resumed and moved.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, overload

from dendrocap.display import Displayed
from dendrocap.errors import InvalidParameter
from dendrocap.validation import choice, real_number, refuse, whole_number

__all__ = ["Search"]

KEYS = ("find", "level", "from", "to", "resolution", "points")
MOST_VALUES = 100_000


@dataclass(frozen=True)
class Search(Displayed, Sequence[float | int]):
    """The values of an axis, and the metric whose crossing of a level is searched for.

    As a sequence it contains the values of the full grid.

    Parameters
    ----------
    axis : str
        Name of the axis.
    metric : str
        Name of the metric, which is averaged over seeds; True counts as 1.
    level : float
        The level to cross.
    low, high : float
        Ends of the axis.
    resolution : float
        Spacing of the values; a crossing is located between two neighbours.
    points : int
        Number of values that are run first. With more of them, crossings that lie close together are found.

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
        for key in table:
            choice(f"key in {where}", key, KEYS)
        for key in KEYS[:-1]:
            if key not in table:
                raise InvalidParameter(f"{where} lacks {key}: a search needs find, level, from, to and resolution")
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

    @overload
    def __getitem__(self, number: int) -> float | int: ...

    @overload
    def __getitem__(self, number: slice) -> Sequence[float | int]: ...

    def __getitem__(self, number: int | slice) -> Any:
        return self.values[number]

    @property
    def definition(self) -> dict[str, Any]:
        """The table from which `from_table` makes an equal search."""
        numbers = (self.metric, self.level, self.low, self.high, self.resolution, self.points)
        return dict(zip(KEYS, numbers, strict=True))

    @cached_property
    def values(self) -> tuple[float | int, ...]:
        """The values of the full grid; integers if all of them are."""
        count = int((self.high - self.low) / self.resolution + 1e-9) + 1
        # Rounded as in a range, so that the cells are the same as those of a grid typed by hand.
        values = [float(f"{self.low + number * self.resolution:.12g}") for number in range(count)]
        whole = all(value.is_integer() for value in values)
        return tuple(int(value) for value in values) if whole else tuple(values)

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
