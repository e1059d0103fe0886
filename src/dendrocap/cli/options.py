"""Groups of options that several commands share.

A group is a frozen dataclass whose fields are options. A command declares a group as a parameter, and `spread` replaces
it by one option per field, under its own heading in the help::

    def solve(neuron: NeuronOptions = NeuronOptions(theta_d=0.5), ...): ...

The default of the parameter holds the defaults of the options. Fields have the names of flat parameters
(`dendrocap.model.flat`, `Recipe.from_flat`), so a group becomes an object without repeating them.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args, get_type_hints

import typer

from dendrocap.errors import InvalidParameter

if TYPE_CHECKING:
    from dendrocap.learning import Recipe
    from dendrocap.model import DendriticNeuron, NeuronSpec, Nonlinearity, Patterns, TaskSpec
    from dendrocap.sweeps import Executor, Progress

# Options that the user gave to the command that runs, by the name of their parameter, as they are spelled.
_asked: dict[str, str] = {}


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """The command with one option per field of each parameter that is a group."""
    parameters = inspect.signature(command, eval_str=True).parameters
    spreads = {name: options for name, one in parameters.items() if (options := _options(one)) is not None}
    options = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for name, one in parameters.items():
        options += spreads.get(name, [one.replace(kind=one.KEYWORD_ONLY)])

    @wraps(command)
    def called(context: typer.Context, **given: Any) -> None:
        _asked.clear()
        for option in context.command.params:
            source = option.name and context.get_parameter_source(option.name)
            if source and source.name == "COMMANDLINE":
                _asked[str(option.name)] = max(option.opts, key=len)
        for name, own in spreads.items():
            given[name] = parameters[name].annotation(**{option.name: given.pop(option.name) for option in own})
        command(**given)

    called.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    called.__annotations__ = {option.name: option.annotation for option in options}
    return called


def refuse_useless(because: str, *names: str) -> None:
    """Refuse those of the named options that the user gave although they do nothing in this call."""
    found = [_asked[name] for name in names if name in _asked]
    if found:
        does, it = ("do", "them") if len(found) > 1 else ("does", "it")
        raise InvalidParameter(f"{' and '.join(found)} {does} nothing {because}: leave {it} out")


def names_of(*groups: type) -> list[str]:
    """Names of all options of some groups."""
    return [field.name for group in groups for field in fields(group)]


def _options(parameter: inspect.Parameter) -> list[inspect.Parameter] | None:
    """The options of a group as parameters that Typer understands; None if the parameter is an option itself."""
    group: Any = parameter.annotation
    usual = parameter.default
    if hasattr(group, "options"):
        return list(group.options(usual))
    if not is_dataclass(group):
        return None
    panel: str = parameter.annotation.panel
    hints = get_type_hints(group, include_extras=True)
    options = []
    for field in fields(group):
        kind, option = get_args(hints[field.name])
        option = copy.copy(option)
        option.rich_help_panel = panel
        default = field.default if usual is parameter.empty else getattr(usual, field.name)
        default = parameter.empty if default is MISSING else default
        annotation: Any = Annotated[kind, option]
        options.append(inspect.Parameter(field.name, parameter.KEYWORD_ONLY, default=default, annotation=annotation))
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
            useless = ("nonlinearity", "x_min", "gamma", "theta_s", "n_branches")
            refuse_useless("with --linear, a neuron without dendrites", *useless)
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
        refuse_useless("with --data, whose patterns are given", "alpha", "branch_correlation", "n_inputs")
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
            import numpy as np

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


def settings(option: str, text: str, *, alone: bool = False) -> tuple[str, dict[str, float]]:
    """A name and its numbers, as in ``apical tuft:theta_d=0.1,f_in=0.2``; the name may be left out, or be ``alone``."""
    name, _, rest = text.rpartition(":") if "=" in text else (text, "", "")
    pairs = [part.partition("=") for part in rest.split(",") if rest]
    try:
        if not (pairs or alone):
            raise ValueError
        return name.strip(), {key.strip(): float(value) for key, _, value in pairs}
    except ValueError:
        raise InvalidParameter(
            f"{option} {text!r} is not allowed: write a name and its numbers, as in 'polsky:theta_d=0.1,gamma=20'"
        ) from None


def names_in(module: str, table: str) -> Callable[[], list[str]]:
    """Names for shell completion, looked up on demand: the keys of a table of a module."""
    return lambda: list(getattr(import_module(module), table))


# Options that choose where simulations run, and the display of their progress.

Workers = Annotated[int | None, typer.Option(help="Processes on this machine; default: one per core. 1 starts none.")]

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


def sweep_state(now: Progress) -> str:
    """The state of a sweep in a few words."""
    rate = [f"{now.ran / now.seconds:.3g}/s"] if now.ran and now.seconds else []
    return ", ".join([f"{now.done} done", f"{now.failed} failed", f"{now.running} running", *rate])
