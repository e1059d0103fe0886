"""What the studies share: CSV tables, sweeps that fill them, Markdown tables, and loads reached."""

from __future__ import annotations

import csv
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dendrocap.files import new_file

if TYPE_CHECKING:
    from dendrocap.sweeps import Progress, Record, Sweep

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"

Row = Mapping[str, Any]


def stored(path: Path) -> list[dict[str, str]]:
    """The rows of a table, none if it does not exist."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: Iterable[Row]) -> None:
    """A whole table in place of the one that is there, in one step."""
    several = list(rows)
    with new_file(path) as unfinished, unfinished.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(several[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(several)


def add(path: Path, keys: Sequence[str], rows: Iterable[Row]) -> None:
    """Add the rows whose values in the columns ``keys`` are new to a table; it is written in one step."""
    old = stored(path)
    have = {_place(row, keys) for row in old}
    if new := [row for row in rows if _place(row, keys) not in have]:
        write(path, [*old, *new])


def complete(
    path: Path, job: Callable[..., Row], settings: Iterable[Sequence[Any]], workers: int = 1, **fixed: Any
) -> None:
    """Run a job at the settings that a table lacks, and add their rows.

    The job's parameters without a default are the first columns of the table; the job returns the other columns. If it
    returns lists, each of their items gives a row. The settings are the cells of a sweep in a store, so a run that was
    stopped continues there. At the end the table is written in one step, and the store is deleted: a row that is
    deleted from the table is computed again, and so is a cell that failed.
    """
    keys = [
        name for name, parameter in inspect.signature(job).parameters.items() if parameter.default is parameter.empty
    ]
    have = {_place(row, keys) for row in stored(path)}
    wanted = [dict(zip(keys, setting, strict=True)) for setting in settings]
    missing = {at: place for place in wanted if (at := _place(place, keys)) not in have}
    if missing:
        sweeps = [_one_cell(job, place | fixed) for place in missing.values()]
        add(path, keys, [row for record in swept(sweeps, path.stem, workers) for row in _rows(record, keys)])
        _store(path.stem).unlink()


def _place(row: Row, keys: Sequence[str]) -> tuple[str, ...]:
    """The values of a row in some columns; numbers are compared with six digits, however they are written."""
    return tuple(_number(row[key]) for key in keys)


def _number(value: Any) -> str:
    try:
        return f"{float(value):g}"
    except ValueError:
        return str(value)


def _one_cell(job: Callable[..., Row], parameters: Row) -> Sweep:
    """A sweep of one cell; the module of the job has its own name even if it is run as a script."""
    from dendrocap.sweeps import Sweep

    name = f"{sys.modules[job.__module__].__spec__.name}:{job.__name__}"  # type: ignore[union-attr]
    others = {key: value for key, value in parameters.items() if key != "seed"}
    return Sweep(name, parameters=others, seeds=[parameters.get("seed", 0)])


def _rows(record: Record, keys: Sequence[str]) -> Iterator[Row]:
    parameters = {**record.parameters, "seed": record.seed}
    places = {key: parameters[key] for key in keys}
    row = {key: at if isinstance(at, str) else f"{at:g}" for key, at in places.items()} | dict(record.metrics)
    several = {name: values for name, values in row.items() if isinstance(values, list)}
    for items in zip(*several.values(), strict=True) if several else [()]:
        yield row | dict(zip(several, items, strict=True))


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
    from dendrocap.sweeps import Store, run_sweep

    store = _store(name)
    store.parent.mkdir(parents=True, exist_ok=True)
    run_sweep(sweeps, store, workers=workers, callback=_show)
    with Store(store) as results:
        for sweep in sweeps:
            for record in results.records(sweep):
                if record.status == "done":
                    yield record
                else:
                    print(f"failed: {dict(record.parameters)}, seed {record.seed}: {record.reason}", file=sys.stderr)


def _store(name: str) -> Path:
    return ROOT / "build" / "studies" / f"{name}.db"


def _show(progress: Progress) -> None:
    print(f"{progress.done + progress.failed} of {progress.cells} cells, {progress.seconds:.0f} s", file=sys.stderr)


def loads_reached(budget: float = 120.0) -> dict[float, float]:
    """Largest load reached at each theta_d by the best solver, N = 999, K = 27, two of three seeds, within a budget."""
    return {theta_d: load for theta_d, (load, _) in best_solvers(budget).items()}


def best_solvers(budget: float = 120.0) -> dict[float, tuple[float, str]]:
    """For each theta_d the largest load of `loads_reached`, and the solver that reached it."""
    from studies import solvers  # which writes its table with what stands above

    found: dict[float, tuple[float, str]] = {}
    for (solver, theta_d), row in solvers.summary([*stored(solvers.TABLE), *later_runs()], budget).items():
        found[theta_d] = max(found.get(theta_d, (0.0, solver)), (row["alpha"], solver))
    return dict(sorted(found.items()))


def later_runs() -> list[dict[str, str]]:
    """Runs of polished annealing and others without a margin, N = 999, K = 27."""
    from studies import solver_loads

    return [row for row in stored(solver_loads.RUNS) if (row["n_inputs"], row["kappa"]) == ("999", "0")]
