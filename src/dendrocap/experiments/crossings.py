"""The places where the metric of an adaptive sweep crosses its level."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dendrocap.display import Displayed
from dendrocap.errors import InvalidParameter
from dendrocap.experiments.plan import SearchLine, search_lines
from dendrocap.experiments.store import Record
from dendrocap.experiments.sweep import Sweep
from dendrocap.numerics.statistics import standard_error

__all__ = ["Crossing", "crossings"]

# Number of standard errors by which an average must differ from the level to be clearly above or below.
CLEAR = 2.0


@dataclass(frozen=True)
class Crossing(Displayed):
    """A place at which a metric, averaged over seeds, crosses a level.

    Parameters
    ----------
    others : mapping
        Values of the other axes.
    value : float
        Value of the searched axis at the crossing, interpolated between two neighbours; NaN if there is none.
    low, high : float
        The nearest values that were run at which the metric is above or below the level by more than two standard
        errors over seeds. An average over few seeds may cross anywhere between them, and more than once. If the seeds
        agree, the two values are neighbours.
    cells : int
        Number of cells that were run for it.
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
