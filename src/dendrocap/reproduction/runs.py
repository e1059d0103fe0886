"""Figures: how they are registered, simulated, tabulated, drawn and measured, and how large their simulations are.

The failure of one figure does not affect the others. Each table states how it was made. Numbers are written with all
digits, so that they are read back exactly.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from dendrocap.datasets.images import data_set, is_here
from dendrocap.display import Displayed
from dendrocap.errors import DendrocapError, InvalidParameter
from dendrocap.figures.style import footnote, save
from dendrocap.files import reading, write_file
from dendrocap.reproduction.claims import ORIGINS, PAPER, Judged, Measured, all_claims, judge
from dendrocap.sweeps import Executor, Progress, Record, Store, Sweep, run_sweep
from dendrocap.sweeps.process import package_version
from dendrocap.validation import choice, refuse, whole_number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

DONE, FAILED, INTERRUPTED, MISSING = "done", "failed", "interrupted", "not run"
FORMATS = ("png", "pdf", "svg")
STORE = "results.db"
HERE = Path(__file__).parent
# Where stored tables are: in an installed package, where pyproject.toml puts them, or in the clone it runs from.
RESULTS = {
    "paper": (HERE / "results" / "paper", HERE.parents[2] / "docs" / "results" / "paper"),
    "studies": (HERE / "results" / "studies", HERE.parents[2] / "studies"),
}
# What a figure shows: the neuron, results of the theory, measured data, training on random patterns, or on images.
KINDS = MODEL, THEORY, DATA, PATTERNS, IMAGES = ("model", "theory", "data", "patterns", "images")
Records = Sequence[Record]  # the finished cells of a figure's sweeps
Tables = Mapping[str, "pd.DataFrame"]  # by name


# Sizes: `quick` takes minutes, `paper` has those of the paper. The theory is exact in both. Simulations of the quick
# preset have fewer synapses, but as many per branch as in the paper (37), on which finite-size effects depend most.
@dataclass(frozen=True)
class RunSize(Displayed):
    """Sizes of all simulations, by default those of the paper."""

    _displayed = ("name", "n_inputs", "n_branches", "seeds", "patience")

    name: str
    # Of every simulation with random patterns, and its repetitions.
    n_inputs: int = 999
    n_branches: int = 27
    seeds: int = 10
    # Dendritic thresholds trained with the true slope of g, and with a surrogate.
    thresholds: tuple[float, ...] = (0.01, 0.05, 0.1, 0.3, 0.5, 1.0)
    surrogate_thresholds: tuple[float, ...] = (0.1, 0.5, 1.0)
    # Patterns per synapse at which the training error is measured; epochs without improvement before the rate is
    # halved, and maximum number of epochs, at each of them.
    loads: tuple[float, ...] = (0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2.0, 2.2)
    patience: int = 1000
    capacity_epochs: int = 10_000
    # Learning rates among which the best is chosen for each neuron, and maximum epochs of the speed measurement.
    speed_rates: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
    speed_epochs: int = 3000
    # Epochs of the runs whose robustness is measured, learning rates and steepnesses of the loss among which the most
    # robust neuron is chosen, and samples of noise per neuron and strength.
    noise_epochs: int = 2000
    noise_rates: tuple[float, ...] = (0.1, 1.0)
    noise_gammas: tuple[float, ...] = (0.3, 1.0, 3.0, 10.0, 30.0)
    noise_samples: int = 10
    weight_epochs: int = 30_000  # at most, of the runs whose weights are measured
    # Number of training images, None for all; epochs and runs on images.
    images: int | None = None
    image_epochs: int = 100
    image_seeds: int = 10
    bootstrap: int = 1000  # samples for the error bars of the fit to measured synapses

    @property
    def words(self) -> str:
        """The size of a simulation as text, for captions."""
        return f"N = {self.n_inputs}, K = {self.n_branches}, {self.seeds} seeds"

    def with_seeds(self, seeds: int) -> RunSize:
        """The same with another number of repetitions of every simulation."""
        return replace(self, seeds=seeds, image_seeds=seeds)


QUICK = RunSize(
    "quick",
    n_inputs=333,
    n_branches=9,
    seeds=3,
    thresholds=(0.01, 0.05, 0.1, 0.3, 1.0),
    surrogate_thresholds=(0.1, 1.0),
    loads=(0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6),
    patience=200,
    capacity_epochs=3000,
    speed_rates=(0.01, 0.1, 1.0),
    speed_epochs=2000,
    noise_epochs=500,
    noise_rates=(0.1,),
    noise_gammas=(1.0, 10.0),
    noise_samples=5,
    weight_epochs=6000,
    images=2000,
    image_epochs=20,
    image_seeds=2,
    bootstrap=200,
)
FULL_SIZE = "paper"
PRESETS = {size.name: size for size in (QUICK, RunSize(FULL_SIZE))}


# The register of figures.


@dataclass(frozen=True)
class PaperFigure(Displayed):
    """A figure of the paper, or of ours.

    Examples
    --------
    >>> from dendrocap.reproduction import PRESETS, selected
    >>> (figure,) = selected(["fig2c"])
    >>> figure.alias, figure.settings(PRESETS["quick"])
    ('capacity-x-min', 'no simulation, the same in all presets')
    >>> list(figure.tables(PRESETS["quick"], []))
    ['fig2c', 'fig2c_rsb']
    """

    _displayed = ("name", "title", "minutes")

    name: str
    alias: str  # another name by which it is selected
    title: str
    kind: str  # one of KINDS
    tables: Callable[[RunSize, Records], Tables]  # its data, from the finished cells of its sweeps
    draw: Callable[[Tables], Figure]
    measure: Callable[[Tables], dict[str, Measured]]  # what claims refer to
    settings: Callable[[RunSize], str]  # describes its size
    minutes: dict[str, float]  # measured running time on two cores in each preset
    sweeps: Callable[[RunSize], list[Sweep]] = lambda size: []
    datasets: tuple[str, ...] = ()  # image sets that it shows if they are on this machine
    origin: str = PAPER  # or OURS

    def __post_init__(self) -> None:
        choice(f"kind of {self.name}", self.kind, KINDS)
        choice(f"origin of {self.name}", self.origin, ORIGINS)

    def read(self, folder: str | Path) -> Tables:
        r"""Its tables in a folder, for ``draw`` and ``measure``.

        Examples
        --------
        >>> from dendrocap.reproduction import selected, stored_results
        >>> (fig9,) = selected(["fig9"])
        >>> fig9.read(stored_results("paper"))["fig9_slopes"].set_index("nonlinearity").exact.round(3).to_dict()
        {'polsky': 9.058, 'saturating_relu': 3.518, 'relu': 0.999}
        """
        return read_tables(folder, _read_outcome(Path(folder), self.name).tables)


REGISTERED: dict[str, PaperFigure] = {}


def register(figure: PaperFigure) -> PaperFigure:
    """Add a figure to those that are made, reported and tested; modules of this package do it when they are loaded."""
    REGISTERED[figure.name] = figure
    return figure


def exact(
    name: str,
    alias: str,
    title: str,
    tables: Callable[[], Tables],
    draw: Callable[[Tables], Figure],
    measure: Callable[[Tables], dict[str, Measured]],
    *,
    kind: str = THEORY,
    origin: str = PAPER,
    seconds: float,
) -> PaperFigure:
    """Register a figure that follows from the equations alone, independent of the preset."""
    return register(
        PaperFigure(
            name,
            alias,
            title,
            kind,
            tables=lambda size, records: tables(),
            draw=draw,
            measure=measure,
            settings=lambda size: "no simulation, the same in all presets",
            minutes=dict.fromkeys(PRESETS, seconds / 60),
            origin=origin,
        )
    )


@cache
def _load_figures() -> None:
    for module in iter_modules([str(HERE)]):
        import_module(f"{__package__}.{module.name}")


def _place(figure: PaperFigure) -> tuple[bool, float, str]:
    """The paper's figures come first, by their numbers."""
    number = re.match(r"fig(\d+)", figure.name)
    return figure.origin != PAPER, float(number[1]) if number else math.inf, figure.name


def selected(names: Sequence[str] = ()) -> tuple[PaperFigure, ...]:
    """The figures with these names, aliases or numbers, in the order of the paper; a number selects all its panels.

    Examples
    --------
    >>> [figure.name for figure in selected(["2", "speed", "fig9"])]
    ['fig2a', 'fig2b', 'fig2c', 'fig2d', 'fig4', 'fig9']
    """
    _load_figures()
    figures = tuple(sorted(REGISTERED.values(), key=_place))
    wanted: set[str] = set()
    for text in names:
        word = text.strip().lower()
        number = word.removeprefix("fig").removeprefix(".").strip()
        found = {f.name for f in figures if word in (f.name, f.alias) or f.name == f"fig{number}"}
        if not found and number.isdecimal():
            found = {f.name for f in figures if f.name.removeprefix(f"fig{number}") in ("a", "b", "c", "d")}
        if not found:
            known = ", ".join(f"{figure.name} ({figure.alias})" for figure in figures)
            raise InvalidParameter(f"there is no figure {text!r}: choose among {known}")
        wanted |= found
    return tuple(figure for figure in figures if figure.name in wanted) if names else figures


# Making figures.


@dataclass(frozen=True)
class FigureOutcome(Displayed):
    """Outcome of a figure, stored beside it."""

    _displayed = ("name", "status", "preset", "seconds", "reason")

    name: str
    preset: str
    status: str  # DONE, FAILED, INTERRUPTED or MISSING
    reason: str = ""  # why it is not done, which image sets it lacks, or what went wrong in some of its runs
    settings: str = ""
    version: str = ""
    command: str = ""
    tables: tuple[str, ...] = ()  # their names, each a CSV file
    seconds: float = 0.0  # duration of the last call
    core_seconds: float = 0.0  # of its simulations, including those stored before


@dataclass(frozen=True)
class Reproduction(Displayed):
    """A folder with figures, their data and the verdicts on claims."""

    folder: Path
    preset: str
    outcomes: tuple[FigureOutcome, ...]  # one for each figure, those of earlier calls with the same preset included
    judged: tuple[Judged, ...]  # one for each claim of the paper
    ours: tuple[Judged, ...] = ()  # one for each claim of ours
    interrupted: bool = False  # by the user

    def claims_of(self, name: str) -> list[Judged]:
        """The verdicts on the claims about a figure."""
        return [judged for judged in (*self.judged, *self.ours) if judged.claim.figure == name]

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
        "quick", or "paper" for the sizes of the paper, or sizes of your own with a name of their own.
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
    if size.name in PRESETS and size.with_seeds(1) != PRESETS[size.name].with_seeds(1):
        raise refuse("preset", size, f"sizes with a name of their own, other than {size.name!r}")
    if seeds is not None:
        size = size.with_seeds(whole_number("seeds", seeds, 1))
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
    >>> from dendrocap.reproduction import stored, stored_results
    >>> [judged.verdict for judged in stored(stored_results("paper"), "paper").claims_of("fig2c")]
    ['differs', 'reproduced']
    """
    folder = Path(folder)
    outcomes, judged = [], []
    for figure in selected():
        outcome = _read_outcome(folder, figure.name)
        if outcome.preset != preset:
            settings = figure.settings(PRESETS[preset]) if preset in PRESETS else ""
            outcome = FigureOutcome(figure.name, preset, MISSING, "not asked for", settings)
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
            for claim in all_claims()
            if claim.figure == figure.name
        ]
    papers, ours = (tuple(one for one in judged if one.claim.origin == origin) for origin in ORIGINS)
    return Reproduction(folder, preset, tuple(outcomes), papers, ours)


def _read_outcome(folder: Path, name: str) -> FigureOutcome:
    path = folder / f"{name}.json"
    if not path.exists():
        return FigureOutcome(name, "", MISSING)
    with reading(path, "a file written by dendrocap, delete it and repeat the command"):
        kept = json.loads(path.read_text(encoding="utf-8"))
        return FigureOutcome(**{**kept, "tables": tuple(kept["tables"])})


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
        size, command = self.size, _command(figure.name, self.size)
        outcome = FigureOutcome(
            figure.name, size.name, FAILED, settings=figure.settings(size), version=package_version(), command=command
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
            report = run_sweep(
                sweeps,
                store,
                executor=self.executor,
                workers=self.workers,
                retry_failed=True,
                mixed=True,
                callback=tell,
            )
            found = [store.records(sweep) for sweep in sweeps]
        records = [record for own in found for record in own]
        if report.interrupted:
            raise KeyboardInterrupt
        first = next((record.reason for record in records if record.status != DONE), "")
        if any(own and all(record.status != DONE for record in own) for own in found):
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


def _command(name: str, size: RunSize) -> str:
    """The command, or for sizes that no preset has the call, that makes a figure."""
    preset = PRESETS.get(size.name)
    if preset is not None:
        seeds = "" if size.seeds == preset.seeds else f" --seeds {size.seeds}"
        return f"dendrocap reproduce {name} --preset {size.name}{seeds}"
    mine = {
        one.name: getattr(size, one.name) for one in fields(size) if getattr(size, one.name) != getattr(QUICK, one.name)
    }
    changes = ", ".join(f"{key}={value!r}" for key, value in mine.items())
    return f'reproduce(["{name}"], preset=replace(PRESETS["quick"], {changes}))'


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


# Tables.


def write_table(path: Path, table: pd.DataFrame, origin: Sequence[str]) -> None:
    """Write a table after comment lines that state its origin; the file appears when it is complete."""
    write_file(path, "".join(f"# {line}\n" for line in origin) + table.to_csv(index=False, lineterminator="\n"))


def read_table(path: Path) -> pd.DataFrame:
    """Read the table in a file, without its comment lines."""
    import pandas as pd

    with reading(path, "a table written by dendrocap"):
        return pd.read_csv(path, comment="#", engine="python")  # the Python engine reads numbers exactly


def read_tables(folder: str | Path, names: Iterable[str]) -> Tables:
    """Stored tables by name, such as those of a figure."""
    return {name: read_table(Path(folder) / f"{name}.csv") for name in names}


def stored_results(of: str) -> Path:
    """Folder of the stored tables that come with the package.

    Parameters
    ----------
    of : {"paper", "studies"}
        The paper's figures at full size, or the studies behind the pages of the documentation.

    Raises
    ------
    InvalidParameter
        If this copy of the package has none.

    Examples
    --------
    >>> stored_results("paper").joinpath("fig9.csv").is_file()
    True
    """
    places = RESULTS[choice("of", of, tuple(RESULTS))]
    for folder in places:
        if folder.is_dir():
            return folder
    raise InvalidParameter(
        f"the stored tables are missing: neither {' nor '.join(map(str, places))} exists; install the package from a "
        "clone of the repository with pip install ."
    )
