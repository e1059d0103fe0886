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
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args, get_type_hints

import typer

from dendrocap.errors import InvalidParameter

if TYPE_CHECKING:
    from dendrocap.learning import Recipe
    from dendrocap.model import DendriticNeuron, NeuronSpec, Nonlinearity, Patterns, TaskSpec

__all__ = [
    "InputOptions",
    "NeuronOptions",
    "PatternOptions",
    "PlateauOptions",
    "RecipeOptions",
    "ShapeOptions",
    "SpecOptions",
    "TaskOptions",
    "read_patterns",
    "spread",
]


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
