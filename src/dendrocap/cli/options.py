"""Groups of options that several commands share.

A command declares a group as a parameter, and `spread` replaces it by one option for each of its parts, under its own
heading in the help. A group is a `Flat`, the flat parameters of a neuron, a task or a recipe, told by the facts that
stand at their fields, or a frozen dataclass whose fields are options::

    def solve(neuron: Flat = NEURON.but(theta_d=0.5), patterns: PatternOptions = PatternOptions(alpha=1.0), ...): ...

The default of the parameter holds the defaults of the options.
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
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, get_args, get_type_hints

import typer

from dendrocap.errors import InvalidParameter
from dendrocap.learning.recipe import RECIPE_FACTS, Recipe
from dendrocap.model import flat
from dendrocap.model.flat import INHIBITION, KINDS, MEASURED

if TYPE_CHECKING:
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


def names_of(*groups: Any) -> list[str]:
    """Names of all options of some groups."""
    return [
        name
        for group in groups
        for name in (group.given if isinstance(group, Flat) else [field.name for field in fields(group)])
    ]


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


# What is known of flat parameters, and the defaults of those that a non-linearity has.
FACTS = {**flat.FACTS, **RECIPE_FACTS}
SHAPES = {field.name: field.default for kind in KINDS for field in fields(kind) if field.name in FACTS}  # type: ignore[arg-type]
FUNCTIONS = ", ".join(kind.name.replace("_", "-") for kind in KINDS if kind.name not in MEASURED)
SHORT = {"nonlinearity": "-g", "n_inputs": "-N", "n_branches": "-K"}
UNKNOWN = {"nonlinearity": f"One of {FUNCTIONS}.", "linear": "Use the linear neuron, without dendrites."}


def flags_of(name: str) -> list[str]:
    """How the option of a parameter is spelled."""
    return ["--" + name.replace("_", "-"), *([SHORT[name]] if name in SHORT else [])]


def fact(name: str, default: Any = None) -> Any:
    """The option of a flat parameter."""
    words = FACTS[name].told(default) if name in FACTS else UNKNOWN[name]
    return typer.Option(*flags_of(name)[: 1 if name == "linear" else 2], help=words)


class Flat:
    """Flat parameters: those that a command offers with their defaults, and then those that the user gave."""

    def __init__(self, *, panel: str = "", **given: Any) -> None:
        self.panel, self.given = panel, given

    def but(self, *without: str, **other: Any) -> Self:
        """The same with other defaults, and without some parameters."""
        kept = {name: value for name, value in (self.given | other).items() if name not in without}
        return type(self)(panel=self.panel, **kept)

    @staticmethod
    def options(usual: Flat) -> list[inspect.Parameter]:
        """The options as parameters that Typer understands; a default of ... makes one required."""
        made = []
        for name, default in usual.given.items():
            option = fact(name, SHAPES.get(name))
            option.rich_help_panel = usual.panel
            kind: Any = type(default)
            if default is None or default is ...:
                kind = int if FACTS[name].whole else float
            annotation: Any = Annotated[kind | None if default is None else kind, option]
            default = inspect.Parameter.empty if default is ... else default
            made.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation))
        return made

    @property
    def known(self) -> dict[str, Any]:
        """Those that are set, by the user or by a default."""
        return {name: value for name, value in self.given.items() if value is not None}

    def g(self) -> Nonlinearity:
        """The non-linearity that they describe."""
        return flat.nonlinearity_from_flat(self.known)

    def spec(self) -> NeuronSpec:
        """The neuron of unspecified size that they describe."""
        return flat.neuron_from_flat(self.known)  # type: ignore[return-value]

    def neuron(self, **changes: Any) -> DendriticNeuron:
        """The neuron that they describe, with some replaced."""
        known = {**self.known, **changes}
        if known.pop("linear", False):
            useless = ("nonlinearity", *SHAPES, "theta_s", "n_branches")
            refuse_useless("with --linear, a neuron without dendrites", *useless)
            kept = {name: known[name] for name in ("theta_d", "n_inputs", *INHIBITION) if name in known}
            known = {"nonlinearity": "linear", **kept}
        return flat.finite_neuron(flat.neuron_from_flat(known))

    def task(self) -> TaskSpec:
        """The task that they describe."""
        return flat.task_from_flat(self.known)

    def recipe(self, **more: Any) -> Recipe:
        """The training recipe that they describe, with further flat parameters."""
        return Recipe.from_flat({**self.known, **more})


FUNCTION = Flat(panel="Neuron", nonlinearity="polsky", **dict.fromkeys(SHAPES))
SPEC = FUNCTION.but(theta_d=0.05, theta_s=0.5)
NEURON = SPEC.but(n_inputs=999, n_branches=27, linear=False, **dict.fromkeys(INHIBITION))
TASK = Flat(panel="Task", f_in=0.5, f_out=0.5, kappa=0.0)
INPUTS = Flat(panel="Patterns", branch_correlation=0.0)
RECIPE = Flat(panel="Learning", **{name: Recipe().flat().get(name) for name in RECIPE_FACTS}).but(
    "stop_when_solved", decay=None
)


@dataclass(frozen=True, kw_only=True)
class PatternOptions:
    """Patterns to learn: random ones at a given load, or those of a file."""

    panel: ClassVar[str] = "Patterns"

    alpha: Annotated[float, fact("alpha")] = 0.5
    data: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A .npz file with binary arrays inputs and labels, instead of --alpha."),
    ] = None
    branch_correlation: Annotated[float, fact("branch_correlation")] = 0.0
    seed: Annotated[int, typer.Option(help="Seed of patterns, initial weights, shuffles and noise.")] = 0

    def for_neuron(self, options: Flat) -> tuple[DendriticNeuron, Patterns]:
        """The patterns that the options describe, and a neuron with the same number of inputs."""
        from dendrocap.learning import patterns_at_load

        if self.data is None:
            neuron = options.neuron()
            task = INPUTS.but(branch_correlation=self.branch_correlation).task()
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
