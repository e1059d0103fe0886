"""From the name of a figure to its files: simulate, tabulate, draw, measure; one figure's failure is its own."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dendrocap.datasets.images import locate
from dendrocap.errors import CorruptData, DendrocapError, InvalidParameter, MissingData
from dendrocap.experiments import Executor, Progress, Record, Store, Sweep, run_sweeps
from dendrocap.experiments.cells import package_version
from dendrocap.figures.style import footnote, save
from dendrocap.reproduction.catalogue import FIGURES, PaperFigure, selected
from dendrocap.reproduction.claims import Judged, judge, paper_claims
from dendrocap.reproduction.presets import PRESETS, Preset
from dendrocap.reproduction.tables import read_table, write_table
from dendrocap.validation import choice, whole_number

__all__ = [
    "DONE",
    "FAILED",
    "INTERRUPTED",
    "MISSING",
    "SKIPPED",
    "FigureOutcome",
    "Reproduction",
    "reproduce",
    "stored",
]

DONE, SKIPPED, FAILED, INTERRUPTED, MISSING = "done", "skipped", "failed", "interrupted", "not run"
FORMATS = ("png", "pdf", "svg")
STORE = "results.db"


@dataclass(frozen=True)
class FigureOutcome:
    """What became of a figure, as it is kept beside it.

    Attributes
    ----------
    name : str
        Of the figure.
    preset, settings, version, command : str
        How it was made.
    status : str
        "done", "skipped" (its data are not on this machine), "failed", "interrupted", or "not run".
    reason : str
        Why it is not done, or what was wrong with some of its runs.
    tables : tuple of str
        Names of its tables, each a CSV file.
    seconds : float
        How long the last call took.
    core_seconds : float
        Time of all simulations behind it, also of those that were stored before.

    Examples
    --------
    >>> FigureOutcome(name="fig8", preset="quick", status="skipped", reason="the images are not on this machine").status
    'skipped'
    """

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
class Reproduction:
    """A folder with figures, their data, and what became of the paper's claims.

    Attributes
    ----------
    folder : Path
        Where everything is.
    preset : str
        How large the simulations were.
    outcomes : tuple of FigureOutcome
        One for each figure of the paper, in its order; those of earlier calls with the same preset included.
    judged : tuple of Judged
        One for each claim.
    interrupted : bool
        Whether the user stopped it.

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
        """What became of the claims about a figure."""
        return [judged for judged in self.judged if judged.claim.figure == name]

    def path(self, name: str) -> Path:
        """A file of the folder."""
        return self.folder / name


def reproduce(
    figures: Sequence[str] = (),
    *,
    preset: str | Preset = "quick",
    out: str | Path = "reproduced",
    seeds: int | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[str, Progress], Any] | None = None,
    started: Callable[[PaperFigure], Any] | None = None,
    finished: Callable[[FigureOutcome], Any] | None = None,
) -> Reproduction:
    """Make figures of the paper anew, with their data and the verdicts on its claims.

    Finished simulations are kept in ``out`` and never run again, so that a call which was stopped can be repeated.

    Parameters
    ----------
    figures : sequence of str
        Names, numbers or words, such as "fig3", "2" or "speed"; all if empty.
    preset : str or Preset
        "quick", or "paper" for the sizes of the print.
    out : str or Path
        Folder for everything, made if it does not exist.
    seeds : int, optional
        Repetitions of every simulation, in place of the preset's; more can be added by a later call.
    workers : int, optional
        Processes of this machine for simulations; by default one per core.
    executor : Executor, optional
        Who else runs simulations, such as a `DaskExecutor`.
    progress, started, finished : callable, optional
        Told how simulations get on, and which figure is begun and done.

    Raises
    ------
    InvalidParameter
        If there is no such figure or preset, or the folder cannot be used. Whatever goes wrong with a figure later is
        part of its outcome.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = reproduce(["fig2c"], out=folder)
    ...     sorted(path.name for path in made.folder.iterdir() if path.suffix != ".json")
    ['fig2c.csv', 'fig2c.pdf', 'fig2c.png', 'fig2c.svg']
    >>> [(judged.claim.id, judged.verdict) for judged in made.claims_of("fig2c")]
    [('x-min-lowers-capacity', 'differs'), ('x-min-one-is-saturating-relu', 'reproduced')]
    """
    wanted = selected(figures)
    if isinstance(preset, str):
        preset = PRESETS[choice("preset", preset, tuple(PRESETS))]
    if seeds is not None:
        seeds = whole_number("seeds", seeds, 1)
        preset = replace(preset, seeds=seeds, image_seeds=seeds)
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidParameter(f"the folder {folder} cannot be made: {error.strerror}") from error
    interrupted = False
    for figure in wanted:
        if started is not None:
            started(figure)
        workshop = _Workshop(folder, preset, workers, executor, progress)
        outcome = workshop.make(figure)
        _write_outcome(folder, outcome)
        if finished is not None:
            finished(outcome)
        if outcome.status == INTERRUPTED:
            interrupted = True
            break
    made = stored(folder, preset.name)
    return Reproduction(made.folder, made.preset, made.outcomes, made.judged, interrupted)


def stored(folder: str | Path, preset: str) -> Reproduction:
    """What a folder holds of a preset: outcomes, and verdicts measured on the tables in it.

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
                measured = figure.measure({name: read_table(folder / f"{name}.csv") for name in outcome.tables})
            except Exception as error:  # a damaged table must not cost the verdicts on the others
                missing = f"its tables cannot be measured: {error}"
        outcomes.append(outcome)
        judged += [
            judge(claim, measured.get(claim.measure), missing)
            for claim in paper_claims()
            if claim.figure == figure.name
        ]
    return Reproduction(folder, preset, tuple(outcomes), tuple(judged))


@dataclass(frozen=True)
class _Workshop:
    """Where a figure is made."""

    folder: Path
    preset: Preset
    workers: int | None
    executor: Executor | None
    progress: Callable[[str, Progress], Any] | None

    def make(self, figure: PaperFigure) -> FigureOutcome:
        """All files of a figure, or the reason why not."""
        began = time.monotonic()
        how: dict[str, Any] = {
            "name": figure.name,
            "preset": self.preset.name,
            "settings": figure.settings(self.preset),
            "version": package_version(),
            "command": f"dendrocap reproduce {figure.name} --preset {self.preset.name}"
            + (f" --seeds {self.preset.seeds}" if self.preset.seeds != PRESETS[self.preset.name].seeds else ""),
        }
        try:
            for dataset in figure.datasets:
                locate(dataset)
            sweeps = figure.sweeps(self.preset)
            reason = self._simulate(figure, sweeps)
            with self._results() as results:
                tables = figure.tables(self.preset, results)
                how["core_seconds"] = sum(record.seconds for sweep in sweeps for record in results(sweep))
            seeds = sorted({seed for sweep in sweeps for seed in sweep.seeds})
            origin = [f"dendrocap {package_version()}", how["command"], how["settings"]]
            self._write(figure, tables, [*origin, f"seeds {seeds[0]} to {seeds[-1]}"] if seeds else origin)
            outcome = FigureOutcome(**how, status=DONE, reason=reason, tables=tuple(tables))
        except KeyboardInterrupt:
            outcome = FigureOutcome(**how, status=INTERRUPTED, reason="stopped by the user; the same command goes on")
        except MissingData as error:
            outcome = FigureOutcome(**how, status=SKIPPED, reason=str(error))
        except DendrocapError as error:
            outcome = FigureOutcome(**how, status=FAILED, reason=str(error))
        except Exception as error:  # a figure's failure, whatever it is, must not cost the others
            outcome = FigureOutcome(**how, status=FAILED, reason=f"{type(error).__name__}: {error}")
        return FigureOutcome(**{**asdict(outcome), "seconds": time.monotonic() - began})

    def _simulate(self, figure: PaperFigure, sweeps: Sequence[Sweep]) -> str:
        """Run what is missing; tells about runs that failed."""
        if not sweeps:
            return ""
        told = None if self.progress is None else lambda now: self.progress(figure.name, now)  # type: ignore[misc]
        reports = run_sweeps(
            sweeps, self.folder / STORE, executor=self.executor, workers=self.workers, retry_failed=True, callback=told
        )
        if any(report.interrupted for report in reports):
            raise KeyboardInterrupt
        failed = sum(report.counts.failed for report in reports)
        if not failed:
            return ""
        with Store(self.folder / STORE) as store:
            first = next(r.reason for sweep in sweeps for r in store.records(sweep) if r.status != DONE)
        if any(report.counts.failed == report.counts.cells for report in reports):
            raise DendrocapError(f"all runs of a simulation failed: {first}")
        return f"{failed} of {sum(report.counts.cells for report in reports)} runs failed and are left out: {first}"

    @contextmanager
    def _results(self) -> Iterator[Callable[[Sweep], list[Record]]]:
        """A function that gives the finished cells of a sweep."""
        if not (self.folder / STORE).is_file():
            yield lambda sweep: []
            return
        with Store(self.folder / STORE) as store:
            yield lambda sweep: [record for record in store.records(sweep) if record.status == DONE]

    def _write(self, figure: PaperFigure, tables: dict[str, Any], origin: list[str]) -> None:
        for name, table in tables.items():
            write_table(self.folder / f"{name}.csv", table, [f"{figure.title}: {name}", *origin])
        # What is drawn is what is stored.
        drawn = figure.draw({name: read_table(self.folder / f"{name}.csv") for name in tables})
        if figure.sweeps(self.preset):
            footnote(drawn, f"{self.preset.name} preset: {figure.settings(self.preset)}")
        for suffix in FORMATS:
            save(drawn, self.folder / f"{figure.name}.{suffix}")


def _write_outcome(folder: Path, outcome: FigureOutcome) -> None:
    path = folder / f"{outcome.name}.json"
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(json.dumps(asdict(outcome), indent=1), encoding="utf-8")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _read_outcome(folder: Path, figure: PaperFigure, preset: str) -> FigureOutcome:
    path = folder / f"{figure.name}.json"
    nothing = FigureOutcome(
        figure.name, preset, MISSING, "not asked for", figure.settings(PRESETS[preset]) if preset in PRESETS else ""
    )
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        outcome = FigureOutcome(**{**kept, "tables": tuple(kept["tables"])})
    except FileNotFoundError:
        return nothing
    except (ValueError, TypeError, KeyError) as error:
        raise CorruptData(f"{path} is not what dendrocap wrote: delete it and repeat ({error})") from error
    return outcome if outcome.preset == preset else nothing
