"""What the studies share: CSV tables that grow row by row, sweeps in a store, Markdown tables, and loads reached."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dendrocap.experiments import Progress, Record, Sweep

import numpy as np

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"

Row = Mapping[str, Any]


def stored(path: Path) -> list[dict[str, str]]:
    """The rows of a table, none if it does not exist."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def append(path: Path, row: Row) -> None:
    """One more row; a new table starts with the names of its columns."""
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(row), lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)
    print(*row.values(), flush=True)


def write(path: Path, rows: Iterable[Row]) -> None:
    """A whole table in place of the one that is there."""
    several = list(rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(several[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(several)


def fill(path: Path, settings: Iterable[Sequence[Any]], keys: Sequence[str], compute: Callable[..., Row]) -> None:
    """Compute the rows that a table lacks; it may be stopped and started again."""
    for setting in settings:
        wanted = tuple(value if isinstance(value, str) else f"{value:g}" for value in setting)
        if not any(tuple(row[key] for key in keys) == wanted for row in stored(path)):
            append(path, {**dict(zip(keys, wanted, strict=True)), **compute(*setting)})


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows)]


def straight_line(x: Sequence[float], y: Sequence[float], errors: Sequence[float]) -> tuple[float, float]:
    """What a line through points with standard errors has at zero, with its own standard error."""
    rows = np.column_stack([np.ones(len(x)), x]) / np.asarray(errors)[:, None]
    covariance = np.linalg.inv(rows.T @ rows)
    intercept = (covariance @ rows.T @ (np.asarray(y) / np.asarray(errors)))[0]
    return float(intercept), float(np.sqrt(covariance[0, 0]))


def uncertain(value: str | float, error: str | float, digits: int = 2) -> str:
    """A number and its error."""
    return f"{float(value):.{digits}f} ± {float(error):.{digits}f}"


def in_brackets(value: str | float, error: str | float, digits: int = 2) -> str:
    """A number with its error in units of the last digit."""
    return f"{float(value):.{digits}f}({round(float(error) * 10**digits)})"


def swept(sweeps: Sequence[Sweep], name: str, workers: int = 1) -> Iterator[Record]:
    """The finished cells of some sweeps; those that the study's store lacks are run first, and may be stopped."""
    from dendrocap.experiments import Store, run_sweeps

    store = ROOT / "build" / "studies" / f"{name}.db"
    store.parent.mkdir(parents=True, exist_ok=True)
    run_sweeps(sweeps, store, workers=workers, callback=_show)
    with Store(store) as results:
        for sweep in sweeps:
            for record in results.records(sweep):
                if record.status == "done":
                    yield record
                else:
                    print(f"failed: {dict(record.parameters)}, seed {record.seed}: {record.reason}", file=sys.stderr)


def _show(progress: Progress) -> None:
    print(f"{progress.done + progress.failed} of {progress.cells} cells, {progress.seconds:.0f} s", file=sys.stderr)


def loads_reached(budget: float = 120.0) -> dict[float, float]:
    """Largest load that `solve` reached at each theta_d, N = 999, K = 27, two of three seeds, within a budget."""
    from studies import solvers  # which writes its table with what stands above

    found = solvers.summary(stored(solvers.TABLE), budget)
    return {theta_d: row["alpha"] for (solver, theta_d), row in sorted(found.items()) if solver == "surrogate"}
