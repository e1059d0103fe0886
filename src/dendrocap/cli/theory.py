"""Code shared by the theory commands: their options, their grid of points, and its table and figure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from dendrocap.cli.options import TaskOptions, values
from dendrocap.cli.output import CsvFlag, JsonFlag, PlotPath, check_format, draw, emit, message, plot_target, progress
from dendrocap.errors import InvalidParameter, NoSolution

if TYPE_CHECKING:
    from dendrocap.answers import Capacity
    from dendrocap.model import NeuronSpec
    from dendrocap.theory import BestDendrite, PopulationCapacity


@dataclass(frozen=True, kw_only=True)
class GridOptions:
    """Non-linearities, and the values of each parameter as strings."""

    panel: ClassVar[str] = "Grid"
    parameters: ClassVar[tuple[str, ...]] = (
        "theta_d", "theta_s", "x_min", "gamma", "f_in", "f_out", "kappa", "branch_correlation",
    )  # fmt: skip

    nonlinearity: Annotated[
        str,
        typer.Option("--nonlinearity", "-g", help="One or more of polsky, relu, saturating-relu, linear: a,b,c."),
    ] = "polsky"
    theta_d: Annotated[str, typer.Option(help="Dendritic threshold.", metavar="VALUES")] = "0.5"
    theta_s: Annotated[str, typer.Option(help="Somatic threshold, inside the range of g.", metavar="VALUES")] = "0.5"
    x_min: Annotated[str, typer.Option(help="Polsky: where the sigmoid takes over, in [0, 1].", metavar="VALUES")] = (
        "0.33"
    )
    gamma: Annotated[str, typer.Option(help="Polsky: steepness, > 0.", metavar="VALUES")] = "15"
    f_in: Annotated[str, typer.Option("--f-in", help="Input coding level, in (0, 1).", metavar="VALUES")] = "0.5"
    f_out: Annotated[str, typer.Option("--f-out", help="Output coding level, in (0, 1).", metavar="VALUES")] = "0.5"
    kappa: Annotated[str, typer.Option(help="Margin, >= 0.", metavar="VALUES")] = "0"
    branch_correlation: Annotated[
        str,
        typer.Option(help="c0 >= 0: two inputs of one branch have the correlation c0 K / N.", metavar="VALUES"),
    ] = "0"
    inhibitory_share: Annotated[
        str | None,
        typer.Option(help="Share of a branch's synapses that are inhibitory and plastic, in [0, 1).", metavar="VALUES"),
    ] = None
    inhibitory_drive: Annotated[
        str | None,
        typer.Option(help="Mean inhibitory input, from 0 to theta_d.", metavar="VALUES"),
    ] = None
    inhibitory_f_in: Annotated[
        str | None,
        typer.Option(
            "--inhibitory-f-in", help="Coding level of inhibitory inputs; f_in if not given.", metavar="VALUES"
        ),
    ] = None
    log: Annotated[bool, typer.Option("--log", help="Space ranges evenly in the logarithm.")] = False

    @property
    def steps(self) -> tuple[int | str, ...]:
        """The steps of replica symmetry breaking asked for; empty if the command has no such option."""
        asked = getattr(self, "rsb", None)
        return () if asked is None else steps_of_breaking(asked)

    @property
    def more(self) -> dict[str, list[Any]]:
        """Values of the optional parameters that were given."""
        from dendrocap.model.flat import INHIBITION

        return {**self.given(INHIBITION), **({"rsb": list(self.steps)} if self.steps else {})}

    def given(self, names: Iterable[str]) -> dict[str, list[float]]:
        """Values of those parameters among ``names`` that were given."""
        texts = {name: getattr(self, name, None) for name in names}
        return {
            name: values("--" + name.replace("_", "-"), text, log=self.log)
            for name, text in texts.items()
            if text is not None
        }

    def given_one(self, names: Iterable[str]) -> dict[str, list[float]]:
        """The same of parameters of which a neuron or a task has one at most."""
        found = self.given(names)
        if len(found) > 1:
            options = " and ".join("--" + name.replace("_", "-") for name in found)
            raise InvalidParameter(f"{options} are not allowed together: give one of them")
        return found

    @property
    def inputs(self) -> list[str]:
        """Names of the input columns."""
        return [*self.parameters, *self.more]

    def cases(self) -> list[tuple[Any, dict[str, list[Any]]]]:
        """Each non-linearity with the values of its parameters."""
        from dendrocap.model import Polsky, named_nonlinearity

        numbers: dict[str, list[Any]] = {**self.given(self.parameters), **self.more}
        found = []
        for name in self.nonlinearity.split(","):
            g = named_nonlinearity(name.strip())
            shape_free = {key: numbers[key] for key in numbers if key not in ("x_min", "gamma")}
            found.append((g, numbers if isinstance(g, Polsky) else shape_free))
        return found


@dataclass(frozen=True, kw_only=True)
class PriorOptions(GridOptions):
    """A grid whose weights may have another prior."""

    w_max: Annotated[
        str | None,
        typer.Option(
            "--w-max",
            help="Largest weight, above theta_d / f_in; none if not given. Replica symmetric.",
            metavar="VALUES",
        ),
    ] = None
    ridge: Annotated[
        str | None,
        typer.Option(
            help="Strength >= 0 with which small weights are preferred, exp(-ridge W^2 / 2). Replica symmetric.",
            metavar="VALUES",
        ),
    ] = None

    @property
    def more(self) -> dict[str, list[Any]]:
        """Those of the prior too."""
        return {**super().more, **self.given_one(["w_max", "ridge"])}


def run(
    grid: GridOptions,
    points: Callable[..., Iterable[Any]],
    described: Callable[[Any], Mapping[str, Any]],
    shown: Callable[[Any], Mapping[str, Any]],
    *,
    as_json: bool,
    as_csv: bool,
    plot: Path | None,
    y: str | Mapping[str, str],
    y_label: str,
    notes: Callable[[], Iterable[str]] = lambda: (),
    long: bool = False,
) -> None:
    """Solve the ``points`` of a grid and print them.

    ``described`` maps a solution, or None, to the columns of JSON, CSV and figures; ``shown`` maps it to those of the
    table; ``notes`` are printed below the table. A figure shows the quantity ``y``, or several states side by side,
    given by their columns and names.
    """
    from dendrocap.answers.grids import check_values
    from dendrocap.model import NeuronSpec

    check_format(as_json=as_json, as_csv=as_csv)
    target = plot_target(plot) if plot else None
    cases = grid.cases()
    varied = _varied(cases)
    along = [name for name in varied if name != "rsb"]  # steps of breaking become lines, not an axis
    if target and not along:
        raise InvalidParameter("--plot needs a parameter with several values, such as --theta-d 0.1:1:10")
    for g, numbers in cases:  # a value that is never allowed is bad input, not a point without an answer
        # The allowed range of inhibition depends on its other parameters: test each with those that leave most room.
        roomy = {"theta_d": max, "inhibitory_share": max, "inhibitory_drive": min}
        beside = {name: pick(numbers[name]) for name, pick in roomy.items() if name in numbers}
        for name, listed in numbers.items():
            for number in listed:
                check_values(NeuronSpec(g, 0.5, 0.5), {**beside, name: number})
    rows: list[dict[str, Any]] = []
    table: list[dict[str, Any]] = []
    with progress(sum(math.prod(map(len, numbers.values())) for _, numbers in cases), "solving") as step:
        # A slow point reports its own progress.
        inner: dict[str, Any] = {"callback": lambda share, words: step(len(rows) + share, note=words)} if long else {}
        for g, numbers in cases:
            # Every threshold is a coordinate of the grid, which overrides the values given here.
            for point in points(NeuronSpec(g, 0.5, 0.5), **numbers, **inner):
                given = {name: point.case.get(name) for name in grid.inputs}
                rows.append(
                    {"nonlinearity": g.name} | given | dict(described(point.solution)) | {"reason": point.reason}
                )
                # The name of an estimate includes its steps of breaking.
                table.append({"g": g.name} | {name: given[name] for name in along} | dict(shown(point.solution)))
                step(len(rows))
    failed = [row for row in rows if row["reason"]]
    if len(failed) == len(rows):
        raise NoSolution(failed[0]["reason"])
    if as_json or as_csv:
        emit(rows, as_json=as_json, as_csv=as_csv)
    else:
        emit(table)
        for note in notes():
            typer.echo(note)
    if failed:
        message(f"{len(failed)} of {len(rows)} points have no solution; the first: {failed[0]['reason']}")
    if target:
        from dendrocap import plot as plots

        axis = max(along, key=lambda name: len(dict.fromkeys(row[name] for row in rows)))
        family = [name for name in along if name != axis]
        if isinstance(y, str):
            figure = plots.curves(rows, axis, y, y_label, log=grid.log, family=family)
        else:
            figure = plots.states(rows, axis, y, y_label, log=grid.log, family=family)
        plots.save(figure, target)
        message(f"figure: {target}")


def fields_of(names: Iterable[str]) -> Callable[[Any], dict[str, Any]]:
    """A function that maps a solution to some of its attributes; missing attributes are None."""
    listed = list(names)
    return lambda solution: {name: getattr(solution, name, None) for name in listed}


def recording(solved: list[Any], describe: Callable[[Any], Mapping[str, Any]]) -> Callable[[Any], Mapping[str, Any]]:
    """``describe``, which also appends every solution to ``solved``, for the notes below a table."""

    def described(solution: Any) -> Mapping[str, Any]:
        if solution is not None:
            solved.append(solution)
        return describe(solution)

    return described


def steps_of_breaking(text: str) -> tuple[int | str, ...]:
    """The values of --rsb: whole numbers, or "full"."""
    steps: list[int | str] = []
    for part in text.split(","):
        word = part.strip()
        if word != "full" and not word.isdecimal():
            raise InvalidParameter(f"--rsb {text} is not allowed: give whole numbers >= 0 or full, like 0,1,2,full")
        steps.append(word if word == "full" else int(word))
    return tuple(steps)


def _varied(cases: Sequence[tuple[Any, dict[str, list[Any]]]]) -> list[str]:
    names = dict.fromkeys(name for _, numbers in cases for name, found in numbers.items() if len(found) > 1)
    return list(names)


# ``dendrocap capacity``: what a neuron can store, at a point or over a grid.


@dataclass(frozen=True, kw_only=True)
class CapacityGrid(PriorOptions):
    """A grid of capacities."""

    n_inputs: Annotated[
        str | None,
        typer.Option("--n-inputs", "-N", help="Number of synapses N, with -K; default: infinite.", metavar="VALUES"),
    ] = None
    n_branches: Annotated[
        str | None,
        typer.Option("--n-branches", "-K", help="Number of branches K, with -N; default: infinite.", metavar="VALUES"),
    ] = None
    branch_size: Annotated[
        str | None,
        typer.Option(
            help="Instead of the best estimate: equal branches of this many synapses, see --rsb.", metavar="VALUES"
        ),
    ] = None
    rsb: Annotated[
        str | None,
        typer.Option(
            "--rsb",
            help="Instead of the best estimate: steps of replica symmetry breaking, 0,1,2,full; 0 as in the paper.",
            metavar="STEPS",
        ),
    ] = None

    @property
    def sized(self) -> bool:
        """Whether the neuron has a size."""
        return self.n_inputs is not None or self.n_branches is not None

    @property
    def certain(self) -> bool:
        """Whether one given estimate is asked for instead of the best; with another prior only one exists."""
        return bool(self.steps) or self.branch_size is not None or self.w_max is not None or self.ridge is not None

    @property
    def more(self) -> dict[str, list[Any]]:
        """The sizes, the length of branches and the parameters common to all grids, if given."""
        from dendrocap.answers.grids import SIZES

        sizes = self.given(SIZES)
        whole = {name: [float(round(number)) for number in listed] for name, listed in sizes.items()}
        return {**whole, **self.given(["branch_size"]), **super().more}


def capacity(
    grid: CapacityGrid,
    estimates: Annotated[
        bool,
        typer.Option("--estimates", help="Show all estimates from the paper's to the best, and what each assumes."),
    ] = False,
    accuracy: Annotated[
        str,
        typer.Option(
            help="Accuracy of the best estimate: best, seconds per point; or fast, milliseconds (one step of breaking, "
            "equal branches, no error)."
        ),
    ] = "best",
    seed: Annotated[int, typer.Option(help="Seed of the Monte Carlo samples of the best estimate.")] = 0,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """What a neuron can store: patterns per synapse and silent synapses.

    The best estimate comes first, with its error; the paper's replica-symmetric number is shown beside it. Give the
    size of the neuron with --n-inputs and --n-branches; by default it has infinitely many, infinitely long branches.
    --rsb and --branch-size select one given estimate instead; so do --w-max and --ridge, the replica-symmetric one.

    Every parameter takes a number, a list 0.1,0.2,0.5 or a range start:stop:count.

    Example: dendrocap capacity --theta-d 0.5 -N 999 -K 27 --estimates

    Example: dendrocap capacity -N 10000 -K 10:1000:7 --log --theta-d 0.1,0.5,1 --plot branches.png

    Example: dendrocap capacity -g polsky,relu --theta-d 0.01:1:50 --log --rsb 0,1 --plot capacity.png

    Example: dendrocap capacity --theta-d 0.5 --w-max 1.5,2,3,6
    """
    output: dict[str, Any] = {"as_json": as_json, "as_csv": as_csv, "plot": plot}
    if grid.sized and (grid.n_inputs is None or grid.n_branches is None):
        raise InvalidParameter("--n-inputs and --n-branches must be given together")
    if grid.certain and (grid.sized or estimates):
        raise InvalidParameter(
            "--rsb and --branch-size cannot be combined with the best estimate, which goes through all of them: "
            "see --estimates; --w-max and --ridge cannot either, because it does not exist for them"
        )
    if grid.certain:
        _certain(grid, **output)
    else:
        _best(grid, estimates, accuracy, seed, **output)


def _certain(grid: CapacityGrid, **output: Any) -> None:
    """Print the estimates that were asked for, each under its name."""
    from dendrocap.answers.grids import BROKEN_FIELDS, CAPACITY_FIELDS, capacity_points
    from dendrocap.theory.results import ASSUMES, estimate_name

    names = [estimate_name(steps) for steps in grid.steps or (0,)]
    saturated = [] if grid.w_max is None else ["saturated_fraction"]
    table = fields_of(["estimate", "alpha_c", "silent_fraction", *saturated, "Q"])
    known = fields_of(["estimate", *(BROKEN_FIELDS if grid.steps else CAPACITY_FIELDS), *saturated])
    signs = _silent_by_sign if grid.inhibitory_share is not None else lambda solution: {}

    def notes() -> Iterator[str]:
        for name in dict.fromkeys(names):
            if grid.branch_size is None:
                yield f"{name}: {ASSUMES.get(name, f'infinitely many long, equal branches; {name}')}"
        if grid.branch_size is not None:
            yield "Infinitely many equal branches of the given length; the paper's estimate is replica symmetric."
        yield "For the best estimate, with its error, leave out --rsb, --branch-size, --w-max and --ridge."

    run(
        grid,
        capacity_points,
        lambda solution: {**known(solution), **signs(solution)},
        lambda solution: {**table(solution), **signs(solution)},
        y="alpha_c",
        y_label=r"critical capacity $\alpha_c = P_c / N$",
        notes=notes,
        **output,
    )


def _silent_by_sign(solution: PopulationCapacity | None) -> dict[str, float | None]:
    """Silent fractions of excitatory and of inhibitory synapses."""
    found = {} if solution is None else {one.kind: one.silent_fraction for one in solution.populations[0].synapses}
    return {f"silent_{kind}": found.get(kind) for kind in ("excitatory", "inhibitory")}


def _best(grid: CapacityGrid, estimates: bool, accuracy: str, seed: int, **output: Any) -> None:
    """Best estimates over a grid."""
    from dendrocap.answers.grids import best_points

    solved: list[Capacity] = []
    headings = {name: words for name, words in HEADINGS.items() if grid.sized or name != "patterns"}

    def shown(solution: Capacity | None) -> dict[str, str]:
        texts = {} if solution is None else solution.texts()
        return {words: texts.get(name, "") for name, words in headings.items()}

    def described(solution: Capacity | None) -> dict[str, Any]:
        return dict.fromkeys(CAPACITY_COLUMNS) if solution is None else solution.as_row()

    run(
        grid,
        partial(best_points, accuracy=accuracy, seed=seed),
        recording(solved, described),
        shown,
        y="alpha_c",
        y_label=r"capacity $\alpha_c = P_c / N$",
        notes=lambda: [PAPERS, *((f"\n{one}" for one in solved) if estimates else _lights(solved))],
        long=True,
        **output,
    )


def _lights(solved: Sequence[Capacity]) -> Iterator[str]:
    """Assumptions of the answers that do not hold: each once, with the number of points."""
    from dendrocap.answers.validity import LIGHTS

    kinds = [(LIGHTS.index(flag.light), name, flag) for one in solved for name, flag in one.validity.items()]
    for light, name in sorted(dict.fromkeys((light, name) for light, name, _ in kinds if light), reverse=True):
        words = [str(flag) for level, other, flag in kinds if (level, other) == (light, name)]
        where = f" (at {len(words)} of {len(solved)} points" if len(solved) > 1 else ""
        where += ", for instance)" if len(set(words)) > 1 else ")" if where else ""
        yield f"{name}: {words[0]}{where}"
    yield from dict.fromkeys(one.remark for one in solved if one.remark)


PAPERS = "paper: the paper's replica-symmetric estimate, for infinitely many long, equal branches."

HEADINGS = {
    "capacity": "capacity",
    "patterns": "patterns",
    "silent": "silent",
    "paper_capacity": "paper:\ncapacity",
    "paper_silent": "paper:\nsilent",
}

CAPACITY_COLUMNS = (
    "alpha_c", "error", "paper_alpha_c", "n_patterns", "bits", "bits_per_synapse", "silent_fraction", "silent_error",
    "paper_silent_fraction", "W_bar", "mean_outputs", "n_on", "accuracy", "remark", "estimates", "validity",
)  # fmt: skip

# ``dendrocap saddle-point``: typical solutions at a given load, at a point or over a grid.

OF_CHANNELS = ("temperature", "output_noise")

# Quantities that --plot can show, with their axis labels.
SADDLE_POINT_QUANTITIES = {
    "free_entropy": r"free entropy $\varphi$ (nats per synapse)",
    "Q": r"mean squared weight $Q$",
    "q": r"overlap of two solutions $q$",
    "stability": r"replicon $1 - \alpha \gamma_S \gamma_E$",
    "training_error": "training error",
}

SADDLE_POINT_NOTE = (
    "Replica symmetric, as in the paper: infinitely many long, equal branches. Where the stability is negative, "
    "replica symmetry is broken and these numbers are approximations."
)


@dataclass(frozen=True, kw_only=True)
class LoadGrid(PriorOptions):
    """A grid of saddle points."""

    parameters: ClassVar[tuple[str, ...]] = ("alpha", *GridOptions.parameters)

    alpha: Annotated[
        str,
        typer.Option(
            help="Load P / N, from 0 up to the capacity; beyond it with a temperature or output noise.",
            metavar="VALUES",
        ),
    ] = "0.5"
    temperature: Annotated[
        str | None,
        typer.Option(help="T >= 0: a wrong pattern counts with exp(-1/T), rather than not at all.", metavar="VALUES"),
    ] = None
    output_noise: Annotated[
        str | None,
        typer.Option(help="Standard deviation >= 0 of Gaussian noise at the soma.", metavar="VALUES"),
    ] = None

    @property
    def more(self) -> dict[str, list[Any]]:
        """Those of prior and channel too."""
        return {**super().more, **self.given_one(OF_CHANNELS)}


def saddle_point(
    grid: LoadGrid,
    quantity: Annotated[
        str, typer.Option(help="What --plot shows: free_entropy, Q, q, stability or training_error.")
    ] = "free_entropy",
    plot: PlotPath = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Compute order parameters, free entropy and stability of the typical solutions (replica symmetric).

    Every parameter takes a number, a list 0.1,0.2,0.5 or a range start:stop:count.

    Example: dendrocap saddle-point --alpha 0:4.9:40 --theta-d 0.5 --plot entropy.png

    Example: dendrocap saddle-point --alpha 0.1:10:40 --temperature 0.05,0.2 --quantity training_error --plot errors.png
    """
    from dendrocap.answers.grids import SADDLE_POINT_FIELDS, saddle_point_points
    from dendrocap.theory.results import SYMMETRIC
    from dendrocap.validation import choice

    y = choice("--quantity", quantity, tuple(SADDLE_POINT_QUANTITIES))
    error = ["training_error"] if set(OF_CHANNELS) & set(grid.more) else []
    if y == "training_error" and not error:
        raise InvalidParameter(
            "--quantity training_error needs --temperature or --output-noise: else no pattern is wrong"
        )
    fields = fields_of([*SADDLE_POINT_FIELDS, *error])
    # With inhibition each type of synapse has its own conjugates.
    conjugates = [] if grid.inhibitory_share is not None else ["M_bar", "Q_hat", "q_hat", "M_hat"]
    run(
        grid,
        saddle_point_points,
        lambda solution: {"estimate": SYMMETRIC, **fields(solution)},
        fields_of(["Q", "q", *conjugates, "free_entropy", "stability", *error]),
        as_json=as_json,
        as_csv=as_csv,
        plot=plot,
        y=y,
        y_label=SADDLE_POINT_QUANTITIES[y],
        notes=lambda: [SADDLE_POINT_NOTE],
    )


# ``dendrocap learned-state``: the minimum of the loss that training approaches, below and above capacity.

# Quantities that --plot can show, with their axis labels.
LEARNED_QUANTITIES = {
    "training_error": "fraction of patterns wrong",
    "loss": "cross-entropy per pattern",
    "silent_fraction": "silent fraction of the learned state",
    "Q": r"mean squared weight $Q$",
}

LEARNED_NOTE = (
    "The minimum of the cross-entropy, for infinitely many long, equal branches. Exact for linear g; replica symmetric "
    "otherwise: training may find lower losses with unequal branches, or stop above the minimum."
)


@dataclass(frozen=True, kw_only=True)
class LearnedGrid(GridOptions):
    """A grid of learned states."""

    parameters: ClassVar[tuple[str, ...]] = ("alpha", "gamma_ce", *GridOptions.parameters)

    alpha: Annotated[str, typer.Option(help="Load P / N, > 0, below or above capacity.", metavar="VALUES")] = "0.5"
    gamma_ce: Annotated[str, typer.Option(help="Steepness of the cross-entropy, > 0.", metavar="VALUES")] = "10"


def learned_state(
    grid: LearnedGrid,
    quantity: Annotated[
        str, typer.Option(help="What --plot shows: training_error, loss, silent_fraction or Q.")
    ] = "training_error",
    plot: PlotPath = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Errors, loss and weights at the minimum of the cross-entropy, which training approaches in the long run.

    Every parameter takes a number, a list 0.1,0.2,0.5 or a range start:stop:count.

    Example: dendrocap learned-state -g linear,relu --alpha 0.1:3:30 --gamma-ce 0.3,1,10 --plot learned.png
    """
    from dendrocap.answers.grids import learned_points
    from dendrocap.validation import choice

    y = choice("--quantity", quantity, tuple(LEARNED_QUANTITIES))
    run(
        grid,
        learned_points,
        fields_of(
            [
                "estimate",
                *LEARNED_QUANTITIES,
                "B",
                "W_star",
                "W_bar",
                "log_tau",
                "mean_shift",
                "Gamma0",
                "Gamma1",
                "residual",
            ]
        ),
        fields_of([*LEARNED_QUANTITIES, "estimate"]),
        as_json=as_json,
        as_csv=as_csv,
        plot=plot,
        y={y: ""},
        y_label=LEARNED_QUANTITIES[y],
        notes=lambda: [LEARNED_NOTE],
    )


# ``dendrocap local-entropy``: how many solutions lie at a distance from a typical one.

COLUMNS = ("log_fraction", "entropy", "ball_entropy", "coupling", "stability", "Q", "q", "S", "t")

WHOLE = ("typical_distance", "typical_entropy", "residual")

NOTE = (
    "log_fraction: ln of the share of solutions among all weights at this squared distance, per synapse; 0 if all are. "
    "Replica symmetric, infinitely many long, equal branches."
)

UNSTABLE = "unstable: replica symmetry does not hold there, and the number is rough."


@dataclass(frozen=True, kw_only=True)
class LocalGrid(GridOptions):
    """A grid of loads and distances."""

    parameters: ClassVar[tuple[str, ...]] = ("alpha", *GridOptions.parameters, "reference_kappa", "distance")

    alpha: Annotated[str, typer.Option(help="Load P / N, >= 0, below capacity.", metavar="VALUES")] = "0.3"
    distance: Annotated[
        str,
        typer.Option(
            help="Squared distance from the reference, relative to its squared norm, >= 1e-5.", metavar="VALUES"
        ),
    ] = "0.01,0.03,0.1,0.3"
    reference_kappa: Annotated[
        str | None,
        typer.Option(help="Margin of the reference, >= 0; --kappa if not given.", metavar="VALUES"),
    ] = None


def local_entropy(
    grid: LocalGrid,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """How wide minima are: solutions at a distance from a typical solution, or from one with a margin.

    Every parameter takes a number, a list 0.1,0.2,0.5 or a range start:stop:count.

    Example: dendrocap local-entropy -g linear,polsky --alpha 0.3 --distance 0.001:0.5:20 --log --plot minima.png
    """
    from dendrocap.answers.grids import local_points

    solved: list[Any] = []
    run(
        grid,
        local_points,
        recording(solved, _described),
        _shown,
        as_json=as_json,
        as_csv=as_csv,
        plot=plot,
        y={"log_fraction": ""},
        y_label="ln(share of solutions) / N",
        notes=lambda: [NOTE, *([UNSTABLE] if any(not one.physical.all() for one in solved) else [])],
    )


def _described(solution: Any) -> Mapping[str, Any]:
    """All numbers of one distance."""
    if solution is None:
        return dict.fromkeys((*COLUMNS, "physical", *WHOLE, "estimate"))
    numbers = {name: float(getattr(solution, name)[0]) for name in COLUMNS}
    whole = {name: getattr(solution, name) for name in WHOLE}
    stable = bool(solution.physical[0])
    return {**numbers, "physical": stable, **whole, "estimate": solution.estimate if stable else "unstable"}


def _shown(solution: Any) -> Mapping[str, Any]:
    """What a table has room for."""
    full = _described(solution)
    return {name: full[name] for name in ("log_fraction", "entropy", "typical_distance", "typical_entropy", "estimate")}


# ``dendrocap noise``: errors under noise of theoretical states, at a point or over a grid.

STATES = {
    "typical": "typical solution",
    "largest_margin": "largest margin",
    "learned": "learned state",
    "best_possible": "best possible",
}

NOTES = (
    "Fraction of the learned patterns that are wrong under the noise, replica symmetric with equal branches; for "
    "linear g all but the bound are exact.",
    "best possible: no weights with equal branches do better at this load and noise; unequal branches may.",
    "learned: the minimum of the cross-entropy with --gamma-ce; it may have errors without noise.",
)

FOLLOW = "Thresholds follow the noise; -N and -K keep them fixed. For trained neurons: dendrocap robustness."


@dataclass(frozen=True, kw_only=True)
class NoiseGrid(GridOptions):
    """A grid of loads and noises."""

    parameters: ClassVar[tuple[str, ...]] = ("alpha", "flips", "synaptic", "gamma_ce", *GridOptions.parameters)

    theta_d: Annotated[str, typer.Option(help="Dendritic threshold.", metavar="VALUES")] = "0.1"
    alpha: Annotated[str, typer.Option(help="Load P / N, > 0.", metavar="VALUES")] = "0.5"
    flips: Annotated[str, typer.Option(help="Probability that an input flips, in [0, 1].", metavar="VALUES")] = "0"
    synaptic: Annotated[
        str,
        typer.Option(help="Amplitude of synaptic noise, >= 0: each weight times 1 + amplitude z.", metavar="VALUES"),
    ] = "0"
    gamma_ce: Annotated[
        str, typer.Option(help="Steepness of the loss that the learned state minimises, > 0.", metavar="VALUES")
    ] = "10"
    n_inputs: Annotated[int | None, typer.Option("--n-inputs", "-N", help="Synapses N, with -K: a multiple of it.")] = (
        None
    )
    n_branches: Annotated[int | None, typer.Option("--n-branches", "-K", help="Branches K, with -N.")] = None

    @property
    def more(self) -> dict[str, list[Any]]:
        """The size, if given, and the parameters common to all grids."""
        sizes = {"n_inputs": self.n_inputs, "n_branches": self.n_branches}
        return {**{name: [size] for name, size in sizes.items() if size is not None}, **super().more}


def noise(
    grid: NoiseGrid = NoiseGrid(flips="0.01,0.05,0.1"),
    plot: PlotPath = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Compute errors under flipped inputs and noisy synapses: typical, largest-margin and learned states, and a bound.

    Every parameter takes a number, a list 0.1,0.2,0.5 or a range start:stop:count.

    Example: dendrocap noise -g linear,polsky --alpha 0.5 --flips 0.005:0.1:20 --plot noise.png
    """
    if (grid.n_inputs is None) != (grid.n_branches is None):
        raise InvalidParameter("-N and -K must be given together")
    from dendrocap.answers.grids import noise_points

    solved: list[Any] = []
    fields = fields_of([*STATES, "estimate"])
    missing = fields_of(["reason"])
    run(
        grid,
        noise_points,
        recording(solved, lambda solution: {**fields(solution), "missing": missing(solution)["reason"]}),
        lambda solution: {name.replace("_", " "): getattr(solution, name, None) for name in STATES},
        as_json=as_json,
        as_csv=as_csv,
        plot=plot,
        y=STATES,
        y_label="fraction of patterns wrong",
        notes=lambda: [*NOTES, *([FOLLOW] if grid.n_inputs is None else []), *_missing(solved)],
    )


def _missing(solved: list[Any]) -> list[str]:
    """The reasons for empty entries, each once."""
    next_state = rf"; (?=(?:{'|'.join(STATES)}): )"  # a reason may itself have a semicolon
    reasons = dict.fromkeys(part for one in solved for part in re.split(next_state, one.reason) if part)
    return [f"nan, {reason}" for reason in list(reasons)[:4]]


# ``dendrocap teacher-student``: generalisation errors of a student that learns from a teacher.

ERRORS = {"gibbs_error": "one student (Gibbs)", "bayes_error": "all students vote (Bayes)"}

TEACHER_STUDENT_NOTE = (
    "Probability of a wrong answer to an unseen pattern, for students that make no error on the learned patterns and "
    "have infinitely many long, equal branches. Exact if student and teacher have the same form, replica symmetric "
    "otherwise."
)

CROSSING = "crossing load: above it, a student of the teacher's form generalises better than this one."


@dataclass(frozen=True, kw_only=True)
class StudentGrid(GridOptions):
    """A grid of students."""

    parameters: ClassVar[tuple[str, ...]] = ("alpha", *GridOptions.parameters)

    alpha: Annotated[str, typer.Option(help="Patterns learned per synapse, >= 0.", metavar="VALUES")] = "1"


@dataclass(frozen=True, kw_only=True)
class TeacherOptions:
    """The neuron that gives the labels; options that are not given are those of the student."""

    panel: ClassVar[str] = "Teacher (by default as the student)"

    teacher: Annotated[str | None, typer.Option(help="Its g: polsky, relu, saturating-relu or linear.")] = None
    teacher_theta_d: Annotated[float | None, typer.Option(help="Its dendritic threshold, > 0.")] = None
    teacher_theta_s: Annotated[float | None, typer.Option(help="Its somatic threshold, inside the range of g.")] = None
    teacher_x_min: Annotated[float | None, typer.Option(help="Polsky: where its sigmoid starts.")] = None
    teacher_gamma: Annotated[float | None, typer.Option(help="Polsky: its steepness, > 0.")] = None

    def of(self, student: NeuronSpec) -> NeuronSpec:
        """The teacher of a student."""
        from dendrocap.model.flat import neuron_from_flat

        names = {"teacher": "nonlinearity"}
        given = {names.get(key, key.removeprefix("teacher_")): value for key, value in vars(self).items()}
        flat = {name: value for name, value in given.items() if value is not None}
        return neuron_from_flat(flat, student)  # type: ignore[return-value]


def teacher_student(
    grid: StudentGrid,
    teacher: TeacherOptions = TeacherOptions(),
    crossing: Annotated[
        bool,
        typer.Option("--crossing", help="Also find the load above which a student of the teacher's form is better."),
    ] = False,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Compute the generalisation errors of a student that learns the answers of a teacher.

    Every parameter of the student takes a number, a list 0.1,0.2,0.5 or a range start:stop:count.

    Example: dendrocap teacher-student -g linear,polsky --teacher polsky --alpha 0.1:2.5:25 --plot teacher.png
    """
    from dendrocap.answers.grids import taught_points

    teacher.of(_any_student())  # a bad option is reported before anything is computed
    names = ["estimate", *ERRORS, "Q", "q", "R", "Q_teacher", "q_hat", "R_hat", "A_hat", "M_hat", "residual"]

    def described(listed: list[str]) -> Any:
        fields = fields_of(listed)

        def of(solution: Any) -> dict[str, Any]:
            found, load = (None, None) if solution is None else solution
            return {**fields(found), **({"crossing_load": load} if crossing else {})}

        return of

    run(
        grid,
        lambda neuron, **numbers: taught_points(neuron, teacher=teacher.of, crossing=crossing, **numbers),
        described(names),
        described([*ERRORS, "q", "R", "estimate"]),
        as_json=as_json,
        as_csv=as_csv,
        plot=plot,
        y=ERRORS,
        y_label="generalisation error",
        notes=lambda: [TEACHER_STUDENT_NOTE, *([CROSSING] if crossing else [])],
    )


def _any_student() -> NeuronSpec:
    from dendrocap.model import NeuronSpec, Polsky

    return NeuronSpec(Polsky(), 0.5, 0.5)


# ``dendrocap best-dendrite``: the dendrite that stores most under a limit on its slope.


def best_dendrite(
    slope_limit: Annotated[float, typer.Option(help="Largest slope of g, > 0; Polsky's function has 5.")] = 5.0,
    theta_d: Annotated[float, typer.Option(help="Dendritic threshold, > 0.")] = 0.5,
    theta_s: Annotated[
        float | None, typer.Option(help="Somatic threshold, in (0, 1); the best one if not given.")
    ] = None,
    rises: Annotated[int, typer.Option(help="Most rises of g.")] = 1,
    rsb: Annotated[int, typer.Option(help="Steps of replica symmetry breaking; 0 is the paper's estimate.")] = 1,
    task: TaskOptions = TaskOptions(kappa=0.2),
    plot: PlotPath = None,
    as_json: JsonFlag = False,
) -> None:
    """Find the dendrite that stores most, among those that never fall and are nowhere steeper than a limit.

    Its output goes from 0 to 1 at most, and every pattern must keep the margin --kappa, > 0. Saturating ReLU and
    Polsky's function stand beside it, scaled to the same height and the same steepest slope.

    Example: dendrocap best-dendrite --slope-limit 5 --kappa 0.2 --plot dendrite.png
    """
    from dendrocap.model import Polsky, SaturatingReLU
    from dendrocap.theory import best_dendrite as find

    target = plot_target(plot)
    others = {"saturating ReLU": SaturatingReLU(), "Polsky": Polsky()}
    with progress(1.0, "looking for the best dendrite") as tell:
        best = find(
            slope_limit, theta_d, task=task.task(), theta_s=theta_s, rises=rises, rsb=rsb,
            callback=lambda share, words: tell(0.8 * share, note=words),
        )  # fmt: skip
        loads = {"best": best.alpha_c}
        for number, (name, g) in enumerate(others.items()):
            tell(0.8 + 0.1 * number, note=name)
            loads[name] = best.capacity_of(g)
        equal = best.branch_stability()
    if as_json:
        emit([_row(best, loads, equal.kappa_c)], as_json=True)
    else:
        rows = [{"dendrite": name, "alpha_c": load, "best / this": best.alpha_c / load} for name, load in loads.items()]
        emit(rows, title=best.estimate)
        typer.echo(f"best: {best.shape}; theta_s = {best.theta_s:.4g}, its height {best.height:.4g}")
        if best.more_rises_help:
            typer.echo("a further rise would store more: --rises")
        verdict = "no more" if equal.stable else "more"
        typer.echo(
            "Numbers are for long, equal branches. With broken symmetry, unequal ones of the best dendrite store "
            f"{verdict}: equal ones are stable from kappa = {equal.kappa_c:.3g} on."
        )
    draw(target, lambda plots: plots.best_dendrite(best, others))


def _row(best: BestDendrite, loads: dict[str, float], kappa_c: float) -> dict[str, object]:
    return {
        "alpha_c": best.alpha_c,
        "estimate": best.estimate,
        "x": list(best.nonlinearity.x),
        "y": list(best.nonlinearity.y),
        "theta_s": best.theta_s,
        "by_rises": list(best.by_rises),
        "further_rise": best.further_rise,
        "residual": best.residual,
        "equal_branches_from_kappa": kappa_c,
        "others": {name: load for name, load in loads.items() if name != "best"},
    }
