"""Production of figures: simulate, tabulate, draw, measure; the failure of one figure does not affect the others."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dendrocap.datasets.images import data_set, is_here
from dendrocap.display import Displayed
from dendrocap.errors import DendrocapError, InvalidParameter
from dendrocap.figures.style import footnote, save
from dendrocap.files import reading, write_file
from dendrocap.reproduction import fig01, fig02, fig03, fig04, fig05, fig06, fig07, fig08, fig09, fig10, learned_weights
from dendrocap.reproduction.claims import Judged, judge, paper_claims
from dendrocap.reproduction.runs import FULL_SIZE, PRESETS, PaperFigure, RunSize, Tables, read_tables, write_table
from dendrocap.sweeps import Executor, Progress, Record, Store, run_sweeps
from dendrocap.sweeps.process import package_version
from dendrocap.validation import choice, whole_number

# The figures of the paper in order, and their selection by name.

FIGURES: tuple[PaperFigure, ...] = (
    fig01.FIGURE,
    *fig02.FIGURES,
    fig03.FIGURE,
    fig04.FIGURE,
    fig05.FIGURE,
    fig06.FIGURE,
    fig07.FIGURE,
    fig08.FIGURE,
    fig09.FIGURE,
    fig10.FIGURE,
    learned_weights.FIGURE,
)


def selected(names: Sequence[str]) -> tuple[PaperFigure, ...]:
    """The figures with these names, aliases or numbers, in the order of the paper; a number selects all its panels.

    Examples
    --------
    >>> [figure.name for figure in selected(["2", "speed", "fig9"])]
    ['fig2a', 'fig2b', 'fig2c', 'fig2d', 'fig4', 'fig9']
    """
    if not names:
        return FIGURES
    wanted: set[str] = set()
    for text in names:
        word = text.strip().lower()
        number = word.removeprefix("fig").removeprefix(".").strip()
        found = {f.name for f in FIGURES if word in (f.name, f.alias) or f.name == f"fig{number}"}
        if not found and number.isdecimal():
            found = {f.name for f in FIGURES if f.name.removeprefix(f"fig{number}") in ("a", "b", "c", "d")}
        if not found:
            known = ", ".join(f"{figure.name} ({figure.alias})" for figure in FIGURES)
            raise InvalidParameter(f"there is no figure {text!r}: choose among {known}")
        wanted |= found
    return tuple(figure for figure in FIGURES if figure.name in wanted)


DONE, FAILED, INTERRUPTED, MISSING = "done", "failed", "interrupted", "not run"

FORMATS = ("png", "pdf", "svg")

STORE = "results.db"


@dataclass(frozen=True)
class FigureOutcome(Displayed):
    """Outcome of a figure, stored beside it.

    Attributes
    ----------
    name : str
        Name of the figure.
    preset, settings, version, command : str
        How it was made.
    status : str
        "done", "failed", "interrupted", or "not run".
    reason : str
        Why it is not done, which image sets it lacks, or what went wrong in some of its runs.
    tables : tuple of str
        Names of its tables, each a CSV file.
    seconds : float
        Duration of the last call.
    core_seconds : float
        Total time of its simulations, including those stored before.
    """

    _displayed = ("name", "status", "preset", "seconds", "reason")

    name: str
    preset: str
    status: str
    reason: str = ""
    settings: str = ""
    version: str = ""
    command: str = ""
    tables: tuple[str, ...] = ()
    seconds: float = 0.0
    core_seconds: float = 0.0


@dataclass(frozen=True)
class Reproduction(Displayed):
    """A folder with figures, their data and the verdicts on the paper's claims.

    Attributes
    ----------
    folder : Path
        The folder.
    preset : str
        Size of the simulations.
    outcomes : tuple of FigureOutcome
        One for each figure of the paper, in order, including those of earlier calls with the same preset.
    judged : tuple of Judged
        One for each claim.
    interrupted : bool
        Whether the user interrupted the run.

    Examples
    --------
    >>> import tempfile
    >>> from dendrocap.reproduction import reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = reproduce(["fig2c"], out=folder)
    >>> [outcome.name for outcome in made.outcomes if outcome.status == "done"]
    ['fig2c']
    """

    folder: Path
    preset: str
    outcomes: tuple[FigureOutcome, ...]
    judged: tuple[Judged, ...]
    interrupted: bool = False

    def claims_of(self, name: str) -> list[Judged]:
        """The verdicts on the claims about a figure."""
        return [judged for judged in self.judged if judged.claim.figure == name]

    def path(self, name: str) -> Path:
        """The path of a file in the folder."""
        return self.folder / name


def reproduce(
    figures: Sequence[str] = (),
    *,
    preset: str | RunSize = "quick",
    out: str | Path = "reproduced",
    seeds: int | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    callback: Callable[[str, Progress | FigureOutcome], Any] | None = None,
) -> Reproduction:
    """Compute and draw figures of the paper, with their data and the verdicts on its claims.

    Finished simulations are kept in ``out`` and never run again, so an interrupted call can be repeated.

    Parameters
    ----------
    figures : sequence of str
        Names, numbers or aliases, such as "fig3", "2" or "speed"; all if empty.
    preset : str or RunSize
        "quick", or "paper" for the sizes of the paper.
    out : str or Path
        Output folder, created if it does not exist.
    seeds : int, optional
        Repetitions of every simulation, overriding the preset; a later call can add more.
    workers : int, optional
        Number of processes for simulations; by default one per core.
    executor : Executor, optional
        Another place to run simulations, such as a `DaskExecutor`.
    callback : callable, optional
        Called with the name of a figure and the `Progress` of its simulations after every run, and finally with its
        `FigureOutcome`.

    Raises
    ------
    InvalidParameter
        If there is no such figure or preset, or the folder cannot be used. Later errors of a figure become part of its
        outcome.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = reproduce(["fig2c"], out=folder)
    ...     sorted(path.name for path in made.folder.iterdir() if path.suffix != ".json")
    ['fig2c.csv', 'fig2c.pdf', 'fig2c.png', 'fig2c.svg', 'fig2c_rsb.csv']
    >>> [(judged.claim.id, judged.verdict) for judged in made.claims_of("fig2c")]
    [('x-min-lowers-capacity', 'differs'), ('x-min-one-is-saturating-relu', 'reproduced')]
    """
    wanted = selected(figures)
    size = PRESETS[choice("preset", preset, tuple(PRESETS))] if isinstance(preset, str) else preset
    if seeds is not None:
        seeds = whole_number("seeds", seeds, 1)
        size = replace(size, seeds=seeds, image_seeds=seeds)
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidParameter(f"the folder {folder} cannot be created: {error.strerror}") from error
    workshop = _Workshop(folder, size, workers, executor, callback)
    interrupted = False
    for figure in wanted:
        outcome = workshop.make(figure)
        write_file(folder / f"{outcome.name}.json", json.dumps(asdict(outcome), indent=1))
        if callback is not None:
            callback(figure.name, outcome)
        if outcome.status == INTERRUPTED:
            interrupted = True
            break
    return replace(stored(folder, size.name), interrupted=interrupted)


def stored(folder: str | Path, preset: str) -> Reproduction:
    """The stored results of a preset: outcomes, and verdicts measured from the tables in the folder.

    Examples
    --------
    >>> import tempfile
    >>> from dendrocap.reproduction import reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = reproduce(["fig2c"], out=folder)
    ...     again = stored(folder, "quick")
    >>> again.claims_of("fig2c") == made.claims_of("fig2c")
    True
    """
    folder = Path(folder)
    outcomes, judged = [], []
    for figure in FIGURES:
        outcome = _read_outcome(folder, figure, preset)
        measured, missing = {}, outcome.reason or outcome.status
        if outcome.status == DONE:
            try:
                measured = figure.measure(read_tables(folder, outcome.tables))
            except Exception as error:  # a damaged table must not affect the verdicts on the others
                missing = f"its tables cannot be measured: {error}"
                outcome = replace(outcome, status=FAILED, reason=missing)
        outcomes.append(outcome)
        judged += [
            judge(claim, measured.get(claim.measure), missing, full_size=preset == FULL_SIZE)
            for claim in paper_claims()
            if claim.figure == figure.name
        ]
    return Reproduction(folder, preset, tuple(outcomes), tuple(judged))


@dataclass(frozen=True)
class _Workshop:
    """The settings with which figures are made."""

    folder: Path
    size: RunSize
    workers: int | None
    executor: Executor | None
    callback: Callable[[str, Progress | FigureOutcome], Any] | None

    def make(self, figure: PaperFigure) -> FigureOutcome:
        """Make all files of a figure; on failure, return the reason."""
        began = time.monotonic()
        name, size = self.size.name, self.size
        command = f"dendrocap reproduce {figure.name} --preset {name}"
        if size.seeds != PRESETS[name].seeds:
            command += f" --seeds {size.seeds}"
        outcome = FigureOutcome(
            figure.name, name, FAILED, settings=figure.settings(size), version=package_version(), command=command
        )
        try:
            records, reason = self._simulate(figure)
            reason = "; ".join(filter(None, [_not_here(figure.datasets), reason]))
            tables = figure.tables(size, records)
            seeds = {record.seed for record in records}
            origin = [f"dendrocap {outcome.version}", command, outcome.settings]
            self._write(figure, tables, [*origin, f"seeds {min(seeds)} to {max(seeds)}"] if seeds else origin)
            spent = sum(record.seconds for record in records)
            outcome = replace(outcome, status=DONE, reason=reason, tables=tuple(tables), core_seconds=spent)
        except KeyboardInterrupt:
            outcome = replace(outcome, status=INTERRUPTED, reason="stopped by the user; the same command resumes it")
        except DendrocapError as error:
            outcome = replace(outcome, reason=str(error))
        except Exception as error:  # a failed figure must not affect the others
            outcome = replace(outcome, reason=f"{type(error).__name__}: {error}")
        return replace(outcome, seconds=time.monotonic() - began)

    def _simulate(self, figure: PaperFigure) -> tuple[list[Record], str]:
        """Run the missing simulations of a figure; returns all finished runs and a remark on failed and older ones."""
        sweeps = figure.sweeps(self.size)
        if not sweeps:
            return [], ""
        tell = None if self.callback is None else lambda now: self.callback(figure.name, now)  # type: ignore[misc]
        with Store(self.folder / STORE, write=True) as store:
            reports = run_sweeps(
                sweeps,
                store,
                executor=self.executor,
                workers=self.workers,
                retry_failed=True,
                mixed=True,
                callback=tell,
            )
            records = [record for sweep in sweeps for record in store.records(sweep)]
        if any(report.interrupted for report in reports):
            raise KeyboardInterrupt
        first = next((record.reason for record in records if record.status != DONE), "")
        if any(report.counts.failed == report.counts.cells for report in reports):
            raise DendrocapError(f"all runs of a simulation failed: {first}")
        return [record for record in records if record.status == DONE], remarks(records)

    def _write(self, figure: PaperFigure, tables: Tables, origin: list[str]) -> None:
        for name, table in tables.items():
            write_table(self.folder / f"{name}.csv", table, [f"{figure.title}: {name}", *origin])
        drawn = figure.draw(read_tables(self.folder, tables))  # draws the stored tables
        if figure.sweeps(self.size):
            footnote(drawn, f"{self.size.name} preset: {figure.settings(self.size)}")
        for suffix in FORMATS:
            save(drawn, self.folder / f"{figure.name}.{suffix}")


def remarks(records: Sequence[Record]) -> str:
    """A remark on the runs of a figure: how many failed, and whether versions of the package are mixed."""
    said, failed = [], [record for record in records if record.status != DONE]
    if failed:
        said.append(f"{len(failed)} of {len(records)} runs failed and are left out: {failed[0].reason}")
    versions = sorted({record.version for record in records if record.status == DONE})
    if len(versions) > 1:
        said.append(f"stored runs of different versions are combined: dendrocap {', '.join(versions)}")
    return "; ".join(said)


def _not_here(datasets: Sequence[str]) -> str:
    """The image sets that a figure lacks, and how to get them."""
    absent = [name for name in datasets if not is_here(name)]
    if not absent:
        return ""
    return (
        f"without {', '.join(data_set(name).title for name in absent)}, not on this machine: set DENDROCAP_DATA to a "
        f"folder that contains them, or run dendrocap datasets {' or '.join(absent)} --fetch"
    )


def _read_outcome(folder: Path, figure: PaperFigure, preset: str) -> FigureOutcome:
    path = folder / f"{figure.name}.json"
    nothing = FigureOutcome(
        figure.name, preset, MISSING, "not asked for", figure.settings(PRESETS[preset]) if preset in PRESETS else ""
    )
    if not path.exists():
        return nothing
    with reading(path, "a file written by dendrocap, delete it and repeat the command"):
        kept = json.loads(path.read_text(encoding="utf-8"))
        outcome = FigureOutcome(**{**kept, "tables": tuple(kept["tables"])})
    return outcome if outcome.preset == preset else nothing
