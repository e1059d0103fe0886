"""Groups of options that several commands share.

A group is a frozen dataclass whose fields are options. A command declares a group as a parameter, and `spread` replaces
it by one option per field, under its own heading in the help::

    @spread
    def solve(neuron: NeuronOptions = NeuronOptions(theta_d=0.5), ...): ...

The default of the parameter holds the defaults of the options. Fields have the names of flat parameters
(`dendrocap.model.flat`, `Recipe.from_flat`), so a group becomes an object without repeating them.
"""

from __future__ import annotations

import copy
import inspect
import math
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args, get_type_hints

import numpy as np
import typer

from dendrocap.cli.output import emit, message, progress
from dendrocap.errors import InvalidParameter
from dendrocap.files import writable

if TYPE_CHECKING:
    from dendrocap.datasets import Amplitudes, Curve, Table
    from dendrocap.fitting import NonlinearityFit
    from dendrocap.learning import Recipe, TrainingResult
    from dendrocap.model import DendriticNeuron, NeuronSpec, Nonlinearity, Patterns, TaskSpec
    from dendrocap.sweeps import Executor, Progress


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """The command with one option per field of each parameter that is a group."""
    asked = inspect.signature(command, eval_str=True).parameters
    groups: dict[str, Any] = {name: one.annotation for name, one in asked.items() if is_dataclass(one.annotation)}
    options: list[inspect.Parameter] = []
    for name, one in asked.items():
        options += _options(one) if name in groups else [one.replace(kind=one.KEYWORD_ONLY)]

    @wraps(command)
    def called(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    called.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    called.__annotations__ = {option.name: option.annotation for option in options}
    return called


def _options(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """The fields of a group as parameters that Typer understands."""
    group, usual = parameter.annotation, parameter.default
    hints = get_type_hints(group, include_extras=True)
    options = []
    for field in fields(group):
        kind, option = get_args(hints[field.name])
        option = copy.copy(option)
        option.rich_help_panel = group.panel
        default = field.default if usual is parameter.empty else getattr(usual, field.name)
        options.append(
            inspect.Parameter(
                field.name,
                parameter.KEYWORD_ONLY,
                default=parameter.empty if default is MISSING else default,
                annotation=Annotated[kind, option],
            )
        )
    return options


def _given(group: Any) -> dict[str, Any]:
    """The fields that are set, by the user or by a default; None counts as not set."""
    return {name: value for name, value in vars(group).items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class ShapeOptions:
    """The dendritic non-linearity."""

    panel: ClassVar[str] = "Neuron"

    nonlinearity: Annotated[
        str, typer.Option("--nonlinearity", "-g", help="polsky, relu, saturating-relu, step or linear.")
    ] = "polsky"
    x_min: Annotated[float | None, typer.Option(help="Polsky: where the sigmoid starts, in [0, 1]; default 0.33.")] = (
        None
    )
    gamma: Annotated[float | None, typer.Option(help="Polsky: steepness of the sigmoid, > 0; default 15.")] = None

    def g(self) -> Nonlinearity:
        """The non-linearity that the options describe."""
        from dendrocap.model.flat import nonlinearity_from_flat

        return nonlinearity_from_flat(_given(self))


@dataclass(frozen=True, kw_only=True)
class SpecOptions(ShapeOptions):
    """A neuron of unspecified size."""

    theta_d: Annotated[float, typer.Option(help="Dendritic threshold.")] = 0.05
    theta_s: Annotated[float, typer.Option(help="Somatic threshold.")] = 0.5

    def spec(self) -> NeuronSpec:
        """The neuron that the options describe."""
        from dendrocap.model.flat import neuron_from_flat

        return neuron_from_flat(_given(self))  # type: ignore[return-value]


@dataclass(frozen=True, kw_only=True)
class NeuronOptions(SpecOptions):
    """A neuron that can be trained."""

    theta_d: Annotated[float, typer.Option(help="Dendritic threshold, or the only one with --linear.")] = 0.05
    n_inputs: Annotated[int, typer.Option("--n-inputs", "-N", help="Number of inputs N.")] = 999
    n_branches: Annotated[int, typer.Option("--n-branches", "-K", help="Number of branches K.")] = 27
    linear: Annotated[bool, typer.Option("--linear", help="Use the linear neuron, without dendrites.")] = False
    inhibitory_share: Annotated[
        float | None, typer.Option(help="Share of a branch's synapses that are inhibitory and plastic, in [0, 1).")
    ] = None
    inhibitory_drive: Annotated[float | None, typer.Option(help="Mean inhibitory input, from 0 to theta_d.")] = None
    inhibitory_f_in: Annotated[
        float | None,
        typer.Option("--inhibitory-f-in", help="Coding level of inhibitory inputs; by default that of the others."),
    ] = None

    def neuron(self, **changes: Any) -> DendriticNeuron:
        """The neuron that the options describe, with some flat parameters replaced."""
        from dendrocap.model.flat import INHIBITION, finite_neuron, neuron_from_flat

        flat = {**_given(self), **changes}
        if flat.pop("linear"):
            if "x_min" in flat or "gamma" in flat:
                raise InvalidParameter("--linear has no dendrites: --x-min and --gamma cannot be combined with it")
            kept = {name: flat[name] for name in ("theta_d", "n_inputs", *INHIBITION) if name in flat}
            flat = {"nonlinearity": "linear", **kept}
        return finite_neuron(neuron_from_flat(flat))


@dataclass(frozen=True, kw_only=True)
class TaskOptions:
    """The statistics of patterns and labels."""

    panel: ClassVar[str] = "Task"

    f_in: Annotated[float, typer.Option("--f-in", help="Input coding level, in (0, 1).")] = 0.5
    f_out: Annotated[float, typer.Option("--f-out", help="Output coding level, in (0, 1).")] = 0.5
    kappa: Annotated[float, typer.Option(help="Margin; a negative margin tolerates missing the threshold.")] = 0.0

    def task(self) -> TaskSpec:
        """The task that the options describe."""
        from dendrocap.model.flat import task_from_flat

        return task_from_flat(_given(self))


BranchCorrelation = Annotated[
    float, typer.Option(help="c0 >= 0: two inputs of one branch have correlation c0 K / N, which must be below 1.")
]


@dataclass(frozen=True, kw_only=True)
class InputOptions:
    """Random inputs, at loads chosen by the command."""

    panel: ClassVar[str] = "Patterns"

    branch_correlation: BranchCorrelation = 0.0

    def task(self) -> TaskSpec:
        """The task that the options describe."""
        from dendrocap.model.flat import task_from_flat

        return task_from_flat(_given(self))


@dataclass(frozen=True, kw_only=True)
class PatternOptions:
    """Patterns to learn: random ones at a given load, or those of a file."""

    panel: ClassVar[str] = "Patterns"

    alpha: Annotated[float, typer.Option(help="Load P / N of random patterns.")] = 0.5
    data: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A .npz file with binary arrays inputs and labels, instead of --alpha."),
    ] = None
    branch_correlation: BranchCorrelation = 0.0
    seed: Annotated[int, typer.Option(help="Seed of patterns, initial weights, shuffles and noise.")] = 0

    def for_neuron(self, options: NeuronOptions) -> tuple[DendriticNeuron, Patterns]:
        """The patterns that the options describe, and a neuron with the same number of inputs."""
        from dendrocap.learning import patterns_at_load

        if self.data is None:
            neuron = options.neuron()
            task = InputOptions(branch_correlation=self.branch_correlation).task()
            return neuron, patterns_at_load(neuron, self.alpha, self.seed, task)
        if self.branch_correlation:
            raise InvalidParameter(
                f"--branch-correlation {self.branch_correlation:g} is not allowed with --data, because the inputs come "
                "from the file: leave out one of the two"
            )
        patterns = read_patterns(self.data)
        return options.neuron(n_inputs=patterns.inputs.shape[1]), patterns


def read_patterns(path: Path) -> Patterns:
    """Patterns and labels from a user's file."""
    import numpy as np

    from dendrocap.files import reading
    from dendrocap.model import Patterns

    what = "a .npz file with arrays inputs and labels"
    with reading(path, what), path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        patterns = Patterns(stored["inputs"], stored["labels"])
    if len(patterns.inputs.shape) != 2:
        raise InvalidParameter(f"--data {path} has inputs of shape {patterns.inputs.shape}, not (n_patterns, n_inputs)")
    return patterns


@dataclass(frozen=True, kw_only=True)
class _RuleOptions:
    """The learning rule and its limit on epochs."""

    panel: ClassVar[str] = "Learning"

    learning_rate: Annotated[float, typer.Option(help="Learning rate in the first epoch.")] = 0.01
    gamma_ce: Annotated[float, typer.Option(help="Steepness of the cross-entropy.")] = 100.0
    surrogate_width: Annotated[
        float | None,
        typer.Option(help="Learn with 1/(1+((x-center)/width)^2) in place of g'(x); by default with g' itself."),
    ] = None
    surrogate_center: Annotated[
        float | None, typer.Option(help="With --surrogate-width: the centre; 0.4 if not given.")
    ] = None
    precision: Annotated[str, typer.Option(help="float32 or float64.")] = "float32"
    max_epochs: Annotated[int, typer.Option(help="Maximum number of epochs of a run.")] = 1000

    def recipe(self, **more: Any) -> Recipe:
        """The training recipe that the options describe, with further flat parameters."""
        from dendrocap.learning import Recipe

        return Recipe.from_flat({**_given(self), **more})


@dataclass(frozen=True, kw_only=True)
class RecipeOptions(_RuleOptions):
    """How to train."""

    patience: Annotated[
        int | None, typer.Option(help="Halve the rate after this many epochs without a new minimum; end at 1/(4096 N).")
    ] = None
    decay: Annotated[
        float | None,
        typer.Option(help="Without --patience: the rate shrinks by this fraction per epoch; default 0.0001."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class PlateauOptions(_RuleOptions):
    """How to train with a rate that is halved on plateaus."""

    patience: Annotated[
        int, typer.Option(help="Epochs without a new minimum before the rate is halved; affects the result strongly.")
    ]
    max_epochs: Annotated[int, typer.Option(help="Maximum number of epochs of a run.")] = 20_000


# Options and output that the learning commands share, besides their option groups.

Workers = Annotated[int | None, typer.Option(help="Number of parallel runs; by default the number of cores.")]

SavePath = Annotated[Path | None, typer.Option("--save", metavar="FILE", help="Write the run to a .npz file.")]


def save_target(path: Path | None) -> Path | None:
    """The checked path of the run to save, or None."""
    return path and writable(path, (".npz",), "--save")


def save(target: Path | None, result: TrainingResult, patterns: tuple[Any, Any]) -> None:
    """Write a run and its patterns; does nothing without a target."""
    if target is not None:
        from dendrocap.learning import save_run

        save_run(target, result, *patterns)
        message(f"run: {target}")


def run_summary(result: TrainingResult) -> dict[str, Any]:
    """The quantities reported for a run."""
    first = {name: getattr(result, name) for name in ("solved", "errors", "n_patterns", "error")}
    rest = {name: getattr(result, name) for name in ("epochs", "best_epoch", "stopped", "seconds")}
    return {**first, "alpha": result.n_patterns / result.neuron.n_inputs, **rest}


def emit_run(summary: dict[str, Any], *, as_json: bool, title: str) -> None:
    """Print one run; the table has one quantity per line, because they do not fit side by side."""
    rows = [summary] if as_json else [{"quantity": name, "value": value} for name, value in summary.items()]
    emit(rows, as_json=as_json, title=title)


# Options of commands that read measurements, and the notes on what was read.

DataFile = Annotated[
    Path, typer.Argument(help="Text or .xlsx file with numeric columns; headers with units and # comments are allowed.")
]


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """How files are read."""

    panel: ClassVar[str] = "Files"

    missing: Annotated[str, typer.Option(help="Empty cells and NaN: refuse, or drop their rows.")] = "refuse"
    mv_per_pa: Annotated[
        float | None, typer.Option(help="Millivolts per pA, for columns of currents; negative for inward currents.")
    ] = None
    sheet: Annotated[str | None, typer.Option(help="Sheet of the Excel workbook.")] = None

    def table(self, path: Path) -> Table:
        """The columns of a file."""
        from dendrocap.datasets import read_table

        return read_table(path, self.sheet)


@dataclass(frozen=True, kw_only=True)
class AmplitudeOptions:
    """Which column holds amplitudes, and how zeros are treated."""

    panel: ClassVar[str] = "Files"

    column: Annotated[str | None, typer.Option(help="Column of amplitudes, by name or number.")] = None
    zeros: Annotated[
        str, typer.Option(help="Amplitudes of zero: refuse, drop, or failures (tested pairs without a connection).")
    ] = "refuse"

    def amplitudes(self, path: Path, files: FileOptions) -> Amplitudes:
        """The amplitudes of a file."""
        return files.table(path).amplitudes(
            self.column, missing=files.missing, zeros=self.zeros, mv_per_pa=files.mv_per_pa
        )

    def note(self, found: Amplitudes, path: Path) -> str:
        """A description of what was read."""
        notes = [f"{found.values.size} amplitudes from column {found.name!r} of {path.name}, {_unit(found.unit)}"]
        notes += [f"{found.n_missing} missing left out"] * bool(found.n_missing)
        counted = "counted as failures" if self.zeros == "failures" else "left out"
        notes += [f"{found.n_zeros} zeros {counted}"] * bool(found.n_zeros)
        return "; ".join(notes)

    def tested(self, given: int | None, found: Amplitudes) -> int | None:
        """Pairs tested: as given, or all rows if zeros are failures."""
        if given is None and self.zeros == "failures" and found.n_zeros:
            return found.values.size + found.n_zeros
        return given


@dataclass(frozen=True, kw_only=True)
class CurveOptions:
    """Which columns hold the curve, and how it is fitted."""

    panel: ClassVar[str] = "Curve"

    x: Annotated[str | None, typer.Option(help="Column of inputs, by name or number.")] = None
    y: Annotated[str | None, typer.Option(help="Column of outputs, by name or number.")] = None
    sem: Annotated[str | None, typer.Option(help="Column of standard errors, by name or number, or none.")] = None
    kind: Annotated[
        str, typer.Option(help="polsky; smooth for curves of another shape; tabulated to interpolate the points.")
    ] = "polsky"

    def measured(self, path: Path, files: FileOptions) -> Curve:
        """The points of a file."""
        return files.table(path).curve(self.x, self.y, self.sem, missing=files.missing, mv_per_pa=files.mv_per_pa)

    def note(self, found: Curve, path: Path) -> str:
        """A description of what was read."""
        x, y = found.names
        errors = "no errors"
        if found.sem is not None:
            errors = "with standard errors"
        elif found.sd is not None:
            errors = "standard deviations are not used without the number of trials: add a column n"
        notes = [f"{found.x.size} points, {y!r} against {x!r} of {path.name}, {_unit(found.unit)}, {errors}"]
        notes += [f"{found.n_missing} rows with missing values left out"] * bool(found.n_missing)
        return "; ".join(notes)

    def fitted(self, curve: Curve, scale: float | None = None) -> NonlinearityFit:
        """The fitted curve."""
        from dendrocap.fitting import fit_nonlinearity

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            found = fit_nonlinearity(curve.x, curve.y, self.kind, sem=curve.sem, scale=scale)
        for warning in caught:
            message(f"warning: {warning.message}")
        if self.kind != "polsky" and found.points_on_rise < 3:
            message(
                f"warning: only {found.points_on_rise} points lie on the rise of the curve, too few to determine its "
                "slope; capacities computed from it may be wrong by a third. Measure more points there"
            )
        return found


def _unit(stated: str) -> str:
    """A description of the unit that a file states, and its conversion."""
    if not stated:
        return "no unit stated: read as mV"
    return "in mV" if stated == "mV" else f"converted from {stated} to mV"


# Parameters on the command line: a number, a list ``0.1,0.2``, or a range ``0.01:1:50``.

FORMS = "a number, a list such as 0.1,0.2,0.5, or a range start:stop:count such as 0.01:1:50"

MOST = 1_000_000


def values(option: str, text: str, *, log: bool = False) -> list[float]:
    """The numbers that ``text`` denotes; with ``log`` a range is spaced evenly in the logarithm."""
    wrong = InvalidParameter(f"{option} {text} is not allowed: it must be {FORMS}")
    parts = text.split(":")
    try:
        if len(parts) == 1:
            found = [float(part) for part in text.split(",")]
        elif len(parts) == 3:
            start, stop, count = float(parts[0]), float(parts[1]), int(parts[2])
            if not (math.isfinite(start) and math.isfinite(stop)):
                raise wrong
            if not 1 <= count <= MOST:
                raise InvalidParameter(f"{option} {text} is not allowed: the count must be in [1, {MOST}]")
            if log and not (start > 0.0 and stop > 0.0):
                raise InvalidParameter(f"{option} {text} is not allowed: with --log both ends must be > 0")
            found = (np.geomspace if log else np.linspace)(start, stop, count).tolist()
        else:
            raise wrong
    except ValueError as error:
        if isinstance(error, InvalidParameter):
            raise
        raise wrong from None
    if not all(math.isfinite(number) for number in found):
        raise wrong
    return found


# Names for shell completion: jobs, image sets and figures. Each list is loaded on demand.


def job_names() -> list[str]:
    """Built-in jobs of sweeps."""
    from dendrocap.sweeps.jobs import BUILT_IN

    return list(BUILT_IN)


def image_set_names() -> list[str]:
    """Image sets that can be fetched and verified."""
    from dendrocap.datasets import CATALOGUE

    return list(CATALOGUE)


def binary_set_names() -> list[str]:
    """Binary classification tasks made from image sets."""
    from dendrocap.datasets import BINARY_SETS

    return list(BINARY_SETS)


def figure_names() -> list[str]:
    """Figures of the paper and their aliases."""
    from dendrocap.reproduction import FIGURES

    return [name for figure in FIGURES for name in (figure.name, figure.alias)]


# Options that choose where simulations run, and the display of their progress.

SweepWorkers = Annotated[
    int | None, typer.Option(help="Processes on this machine; default: one per core. 1 starts none.")
]

Dask = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="tcp://HOST:PORT of a Dask scheduler, or local to start a cluster here."),
]

SchedulerFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The scheduler file of a Dask scheduler started with --scheduler-file."),
]

WaitWorkers = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Give up if the Dask cluster has no worker for this long; default: never."),
]

# Seconds before the first line and between lines in a log.
FIRST_LINE, HEARTBEAT = 5.0, 30.0


def chosen_executor(
    dask: str | None, workers: int | None, scheduler_file: Path | None = None, wait_workers: float | None = None
) -> Executor | None:
    """The Dask cluster that is asked for; None leaves the choice to the library."""
    if dask is not None and scheduler_file is not None:
        raise InvalidParameter("--dask and --scheduler-file cannot be combined: choose one")
    if dask is None and scheduler_file is None:
        if wait_workers is not None:
            raise InvalidParameter("--wait-workers requires --dask or --scheduler-file")
        return None
    from dendrocap.sweeps import DaskExecutor

    if dask is not None and dask != "local" and "://" not in dask:
        raise InvalidParameter(f"--dask {dask} is not allowed: it must be local, or an address such as tcp://host:8786")
    return DaskExecutor(scheduler_file if dask is None else dask, workers, wait_workers=wait_workers)


@contextmanager
def progress_bar(name: str) -> Iterator[Callable[..., None]]:
    """A function that shows the state of a sweep: cells done, failed and running, rate and time left.

    In a terminal this is a progress bar. Elsewhere it is a line every half minute, even if nothing changes.
    """
    if not sys.stderr.isatty():
        with _heartbeat(name) as beat:
            yield beat
        return
    with progress(None, name) as show:

        def tell(now: Progress, label: str = name) -> None:
            show(now.done + now.failed, total=now.cells, label=label, note=described(now))

        yield tell


@contextmanager
def _heartbeat(name: str) -> Iterator[Callable[..., None]]:
    """Print lines from a separate thread, because a sweep that waits for a cell or for workers makes no calls."""
    latest: list[tuple[Progress, str, float]] = []
    over = threading.Event()

    def tell(now: Progress, label: str = name) -> None:
        latest[:] = [(now, label, time.monotonic())]

    def beat() -> None:
        pause = FIRST_LINE
        while not over.wait(pause):
            pause = HEARTBEAT
            if latest:
                now, label, at = latest[0]
                since = time.monotonic() - at
                message(f"{label} {now.done + now.failed}/{now.cells}, {described(now, since)}".strip())

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield tell
    finally:
        over.set()
        thread.join()


def described(now: Progress, since: float = 0.0) -> str:
    """The state of a sweep in a few words, ``since`` seconds after it was reported."""
    words = [f"{now.done} done", f"{now.failed} failed", f"{now.running} running"]
    seconds = now.seconds + since
    if now.ran and seconds:
        words.append(f"{now.ran / seconds:.3g}/s")
        if since:
            left = round((now.cells - now.done - now.failed) * seconds / now.ran)
            words.append(f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02} left")
    return ", ".join(words)
