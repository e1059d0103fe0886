"""The theory commands: what each computes over a grid of points, and what it prints and draws of the solutions."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dendrocap.cli.options import SHAPES, TASK, Flat, fact, flags_of, refuse_useless, settings, values
from dendrocap.cli.output import CsvFlag, JsonFlag, PlotPath, check_format, draw, emit, message, progress
from dendrocap.errors import InvalidParameter, NoSolution
from dendrocap.model.flat import INHIBITION

if TYPE_CHECKING:
    from dendrocap.answers import Capacity
    from dendrocap.model import NeuronSpec
    from dendrocap.theory import BestDendrite, CapacitySolution

ONE_OF = (("w_max", "ridge"), ("temperature", "output_noise"))
SIZES = ("n_inputs", "n_branches")
# Options of every grid besides its parameters.
COMMON: dict[str, tuple[Any, Any]] = {
    "log": (
        Annotated[bool, typer.Option("--log", help="Space ranges evenly in the logarithm.", rich_help_panel="Grid")],
        False,
    ),
    "plot": (PlotPath, None),
    "as_json": (JsonFlag, False),
    "as_csv": (CsvFlag, False),
}


def _several(name: str) -> Any:
    """The option of a parameter that takes several values."""
    option = fact(name)
    option.metavar, option.rich_help_panel = "VALUES", "Grid"
    return option


class Grid(Flat):
    """What the user asks of a grid: the parameters as texts with one or more values, and the form of the output.

    Parameters without a value are left out unless given.
    """

    def __init__(self, *, panel: str = "Grid", **given: Any) -> None:
        super().__init__(panel=panel, **{name: text for name, text in given.items() if name not in COMMON})
        self.log, self.plot, self.as_json, self.as_csv = (given.get(name, usual) for name, (_, usual) in COMMON.items())

    @staticmethod
    def options(usual: Flat) -> list[inspect.Parameter]:
        """The options as parameters that Typer understands."""
        texts = [(name, Annotated[str | None, _several(name)], text) for name, text in usual.given.items()]
        more = [(name, kind, default) for name, (kind, default) in COMMON.items()]
        keyword = inspect.Parameter.KEYWORD_ONLY
        return [inspect.Parameter(name, keyword, default=text, annotation=kind) for name, kind, text in texts + more]

    def has(self, *names: str) -> bool:
        """Whether one of the parameters has values."""
        return any(name in self.known for name in names)

    def numbers(self) -> dict[str, list[Any]]:
        """The values of the parameters that have some."""
        for pair in ONE_OF:
            if all(self.has(name) for name in pair):
                options = " and ".join(flags_of(name)[0] for name in pair)
                raise InvalidParameter(f"{options} are not allowed together: give one of them")
        found: dict[str, list[Any]] = {}
        for name, text in self.known.items():
            if name != "nonlinearity":
                option = flags_of(name)[0]
                found[name] = steps_of_breaking(text) if name == "rsb" else values(option, text, log=self.log)
                if name in SIZES:  # a range of sizes need not hold whole numbers
                    found[name] = [float(round(number)) for number in found[name]]
        return found

    def cases(self) -> list[tuple[Any, dict[str, list[Any]]]]:
        """Each non-linearity with the values of its parameters."""
        from dendrocap.model import named_nonlinearity

        numbers = self.numbers()
        functions = [named_nonlinearity(name.strip()) for name in self.given["nonlinearity"].split(",")]
        useless = [name for name in SHAPES if not any(hasattr(g, name) for g in functions)]
        refuse_useless(f"for {self.given['nonlinearity']}", *useless)
        strangers = [{name for name in SHAPES if not hasattr(g, name)} for g in functions]
        return [
            (g, {name: listed for name, listed in numbers.items() if name not in strange})
            for g, strange in zip(functions, strangers, strict=True)
        ]


# Parameters of neuron and task with their defaults. What a grid names first varies slowest.
MODEL: dict[str, Any] = {
    "nonlinearity": "polsky", "theta_d": "0.5", "theta_s": "0.5",
    **{name: f"{usual:g}" for name, usual in SHAPES.items()},
    "f_in": "0.5", "f_out": "0.5", "kappa": "0", "branch_correlation": "0",
}  # fmt: skip


def unset(*names: str) -> dict[str, Any]:
    """Parameters that are left out unless they are given."""
    return dict.fromkeys(names)


Columns = Callable[[Any], Mapping[str, Any]] | Sequence[str]


def run(
    grid: Grid,
    points: Callable[..., Iterable[Any]],
    columns: Columns,
    table: Columns,
    *,
    y: str | Mapping[str, str],
    y_label: str,
    notes: Callable[[list[Any]], Iterable[str]],
    long: bool = False,
) -> None:
    """Solve the ``points`` of a grid and print them.

    ``columns`` are those of JSON, CSV and figures, ``table`` those of the table: attributes of a solution, or a
    function of a solution or None. ``notes``, made from all solutions, are printed below the table. A figure shows the
    quantity ``y``, or several states side by side, given by their columns and names.
    """
    from dendrocap.answers.grids import check_values
    from dendrocap.model import NeuronSpec

    check_format(as_json=grid.as_json, as_csv=grid.as_csv)
    cases = grid.cases()
    varied = list(dict.fromkeys(name for _, numbers in cases for name, found in numbers.items() if len(found) > 1))
    along = [name for name in varied if name != "rsb"]  # steps of breaking become lines, not an axis
    if grid.plot and not along:
        raise InvalidParameter("--plot needs a parameter with several values, such as --theta-d 0.1:1:10")
    if not grid.plot:
        refuse_useless("without --plot", "quantity")
        if not any(":" in text for text in grid.known.values()):
            refuse_useless("without a range start:stop:count", "log")
    for g, numbers in cases:  # a value that is never allowed is bad input, not a point without an answer
        # The allowed range of inhibition depends on its other parameters: test each with those that leave most room.
        roomy = {"theta_d": max, "inhibitory_share": max, "inhibitory_drive": min}
        beside = {name: pick(numbers[name]) for name, pick in roomy.items() if name in numbers}
        for name, listed in numbers.items():
            for number in listed:
                check_values(NeuronSpec(g, 0.5, 0.5), {**beside, name: number})
    inputs = [name for name in grid.known if name != "nonlinearity"]
    rows: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []
    solved: list[Any] = []
    with progress(sum(math.prod(map(len, numbers.values())) for _, numbers in cases), "solving") as step:
        # A slow point reports its own progress.
        inner: dict[str, Any] = {"callback": lambda share, words: step(len(rows) + share, note=words)} if long else {}
        for g, numbers in cases:
            # Every threshold is a coordinate of the grid, which overrides the values given here.
            for point in points(NeuronSpec(g, 0.5, 0.5), **numbers, **inner):
                given = {name: point.case.get(name) for name in inputs}
                found = _columns(columns, point.solution)
                rows.append({"nonlinearity": g.name, **given, **found, "reason": point.reason})
                # The name of an estimate includes its steps of breaking.
                beside = {name: given[name] for name in along}
                shown.append({"g": g.name, **beside, **_columns(table, point.solution)})
                solved += [] if point.solution is None else [point.solution]
                step(len(rows))
    failed = [row for row in rows if row["reason"]]
    if not solved:
        raise NoSolution(failed[0]["reason"])
    if grid.as_json or grid.as_csv:
        emit(rows, as_json=grid.as_json, as_csv=grid.as_csv)
    else:
        emit(shown)
        for note in notes(solved):
            typer.echo(note)
    if failed:
        message(f"{len(failed)} of {len(rows)} points have no solution; the first: {failed[0]['reason']}")
    if grid.plot:
        axis = max(along, key=lambda name: len(dict.fromkeys(row[name] for row in rows)))
        family = [name for name in along if name != axis]
        kind = "curves" if isinstance(y, str) else "states"
        draw(grid.plot, lambda plots: getattr(plots, kind)(rows, axis, y, y_label, log=grid.log, family=family))


def _columns(wanted: Columns, solution: Any) -> Mapping[str, Any]:
    """Quantities of a solution; those that it does not have are None."""
    return wanted(solution) if callable(wanted) else {name: getattr(solution, name, None) for name in wanted}


def steps_of_breaking(text: str) -> list[int | str]:
    """The values of --rsb: whole numbers, or "full"."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part == "full" or part.isdecimal() for part in parts):
        raise InvalidParameter(f"--rsb {text} is not allowed: give whole numbers >= 0 or full, like 0,1,2,full")
    return [part if part == "full" else int(part) for part in parts]


# ``dendrocap capacity``: what a neuron can store.

CAPACITY_COLUMNS = (
    "alpha_c", "error", "paper_alpha_c", "n_patterns", "bits", "bits_per_synapse", "silent_fraction", "silent_error",
    "paper_silent_fraction", "W_bar", "mean_outputs", "n_on", "accuracy", "remark", "estimates", "validity",
)  # fmt: skip
HEADINGS = {
    "capacity": "capacity",
    "patterns": "patterns",
    "silent": "silent",
    "paper_capacity": "paper:\ncapacity",
    "paper_silent": "paper:\nsilent",
}
PAPERS = "paper: the paper's replica-symmetric estimate, for infinitely many long, equal branches."


def capacity(
    grid: Grid = Grid(**MODEL, **unset(*SIZES, "branch_size", *INHIBITION, "rsb", "w_max", "ridge")),
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
    if grid.has("n_inputs") != grid.has("n_branches"):
        raise InvalidParameter("--n-inputs and --n-branches must be given together")
    if not grid.has("rsb", "branch_size", "w_max", "ridge"):
        if accuracy == "fast":
            refuse_useless("with --accuracy fast, which draws no samples", "seed")
        _best(grid, estimates, accuracy, seed)
        return
    if estimates or grid.has(*SIZES):
        raise InvalidParameter(
            "--rsb and --branch-size cannot be combined with the best estimate, which goes through all of them: "
            "see --estimates; --w-max and --ridge cannot either, because it does not exist for them"
        )
    refuse_useless("for one given estimate", "accuracy", "seed")
    _certain(grid)


def _certain(grid: Grid) -> None:
    """Print the estimates that were asked for, each under its name."""
    from dendrocap.answers.grids import BROKEN_FIELDS, CAPACITY_FIELDS, capacity_points
    from dendrocap.theory.results import ASSUMES, estimate_name

    names = dict.fromkeys(map(estimate_name, steps_of_breaking(grid.given["rsb"] or "0")))
    saturated = ["saturated_fraction"] if grid.has("w_max") else []
    signs = _silent_by_sign if grid.has("inhibitory_share") else lambda solution: {}
    known = ["estimate", *(BROKEN_FIELDS if grid.has("rsb") else CAPACITY_FIELDS), *saturated]
    table = ["estimate", "alpha_c", "silent_fraction", *saturated, "Q"]
    lengths = ["Infinitely many equal branches of the given length; the paper's estimate is replica symmetric."]
    assumed = [f"{name}: {ASSUMES.get(name, f'infinitely many long, equal branches; {name}')}" for name in names]
    best = "For the best estimate, with its error, leave out --rsb, --branch-size, --w-max and --ridge."
    run(
        grid,
        capacity_points,
        lambda solution: {**_columns(known, solution), **signs(solution)},
        lambda solution: {**_columns(table, solution), **signs(solution)},
        y="alpha_c",
        y_label=r"critical capacity $\alpha_c = P_c / N$",
        notes=lambda solved: [*(lengths if grid.has("branch_size") else assumed), best],
    )


def _silent_by_sign(solution: CapacitySolution | None) -> dict[str, float | None]:
    """Silent fractions of excitatory and of inhibitory synapses."""
    found = {} if solution is None else {one.kind: one.silent_fraction for one in solution.populations[0].synapses}
    return {f"silent_{kind}": found.get(kind) for kind in ("excitatory", "inhibitory")}


def _best(grid: Grid, estimates: bool, accuracy: str, seed: int) -> None:
    """Best estimates over a grid."""
    from dendrocap.answers.grids import best_points

    headings = {name: words for name, words in HEADINGS.items() if grid.has("n_inputs") or name != "patterns"}
    nothing = dict.fromkeys(CAPACITY_COLUMNS)
    run(
        grid,
        partial(best_points, accuracy=accuracy, seed=seed),
        lambda solution: solution.as_row() if solution else nothing,
        lambda solution: {headings[name]: solution.texts().get(name, "") if solution else "" for name in headings},
        y="alpha_c",
        y_label=r"capacity $\alpha_c = P_c / N$",
        notes=lambda solved: [PAPERS, *((f"\n{one}" for one in solved) if estimates else _lights(solved))],
        long=True,
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


# ``dendrocap saddle-point``: typical solutions at a given load.

SADDLE_POINT = {
    "free_entropy": r"free entropy $\varphi$ (nats per synapse)",
    "Q": r"mean squared weight $Q$",
    "q": r"overlap of two solutions $q$",
    "stability": r"replicon $1 - \alpha \gamma_S \gamma_E$",
    "training_error": "training error",
}


def saddle_point(
    grid: Grid = Grid(alpha="0.5", **MODEL, **unset(*INHIBITION, "w_max", "ridge", "temperature", "output_noise")),
    quantity: Annotated[
        str, typer.Option(help="What --plot shows: free_entropy, Q, q, stability or training_error.")
    ] = "free_entropy",
) -> None:
    """Compute order parameters, free entropy and stability of the typical solutions (replica symmetric).

    The load goes from 0 up to the capacity; beyond it with a temperature or output noise. Every parameter takes a
    number, a list 0.1,0.2,0.5 or a range start:stop:count.

    Example: dendrocap saddle-point --alpha 0:4.9:40 --theta-d 0.5 --plot entropy.png

    Example: dendrocap saddle-point --alpha 0.1:10:40 --temperature 0.05,0.2 --quantity training_error --plot errors.png
    """
    from dendrocap.answers.grids import SADDLE_POINT_FIELDS, saddle_point_points
    from dendrocap.theory.results import SYMMETRIC
    from dendrocap.validation import choice

    choice("--quantity", quantity, tuple(SADDLE_POINT))
    error = ["training_error"] if grid.has("temperature", "output_noise") else []
    if quantity == "training_error" and not error:
        raise InvalidParameter(
            "--quantity training_error needs --temperature or --output-noise: else no pattern is wrong"
        )
    # With inhibition each type of synapse has its own conjugates.
    conjugates = [] if grid.has("inhibitory_share") else ["M_bar", "Q_hat", "q_hat", "M_hat"]
    run(
        grid,
        saddle_point_points,
        lambda solution: {"estimate": SYMMETRIC, **_columns([*SADDLE_POINT_FIELDS, *error], solution)},
        ["Q", "q", *conjugates, "free_entropy", "stability", *error],
        y=quantity,
        y_label=SADDLE_POINT[quantity],
        notes=lambda solved: [
            "Replica symmetric, as in the paper: infinitely many long, equal branches. Where the stability is "
            "negative, replica symmetry is broken and these numbers are approximations."
        ],
    )


# ``dendrocap learned-state``: the minimum of the loss that training approaches, below and above capacity.

LEARNED = {
    "training_error": "fraction of patterns wrong",
    "loss": "cross-entropy per pattern",
    "silent_fraction": "silent fraction of the learned state",
    "Q": r"mean squared weight $Q$",
}


def learned_state(
    grid: Grid = Grid(alpha="0.5", gamma_ce="10", **MODEL),
    quantity: Annotated[
        str, typer.Option(help="What --plot shows: training_error, loss, silent_fraction or Q.")
    ] = "training_error",
) -> None:
    """Errors, loss and weights at the minimum of the cross-entropy, which training approaches in the long run.

    Every parameter takes a number, a list 0.1,0.2,0.5 or a range start:stop:count.

    Example: dendrocap learned-state -g linear,relu --alpha 0.1:3:30 --gamma-ce 0.3,1,10 --plot learned.png
    """
    from dendrocap.answers.grids import learned_points
    from dendrocap.validation import choice

    choice("--quantity", quantity, tuple(LEARNED))
    more = ("B", "W_star", "W_bar", "log_tau", "mean_shift", "Gamma0", "Gamma1", "residual")
    run(
        grid,
        learned_points,
        ["estimate", *LEARNED, *more],
        [*LEARNED, "estimate"],
        y={quantity: ""},
        y_label=LEARNED[quantity],
        notes=lambda solved: [
            "The minimum of the cross-entropy, for infinitely many long, equal branches. Exact for linear g; replica "
            "symmetric otherwise: training may find lower losses with unequal branches, or stop above the minimum."
        ],
    )


# ``dendrocap local-entropy``: how many solutions lie at a distance from a typical one.

LOCAL = ("log_fraction", "entropy", "ball_entropy", "coupling", "stability", "Q", "q", "S", "t")
WHOLE = ("typical_distance", "typical_entropy", "residual")


def local_entropy(
    grid: Grid = Grid(alpha="0.3", **MODEL, reference_kappa=None, distance="0.01,0.03,0.1,0.3"),
) -> None:
    """How wide minima are: solutions at a distance from a typical solution, or from one with a margin.

    Every parameter takes a number, a list 0.1,0.2,0.5 or a range start:stop:count.

    Example: dendrocap local-entropy -g linear,polsky --alpha 0.3 --distance 0.001:0.5:20 --log --plot minima.png
    """
    from dendrocap.answers.grids import local_points

    fraction = (
        "log_fraction: ln of the share of solutions among all weights at this squared distance, per synapse; 0 if all "
        "are. Replica symmetric, infinitely many long, equal branches."
    )
    rough = ["unstable: replica symmetry does not hold there, and the number is rough."]
    shown = ("log_fraction", "entropy", "typical_distance", "typical_entropy", "estimate")
    run(
        grid,
        local_points,
        _at_distance,
        lambda solution: {name: _at_distance(solution)[name] for name in shown},
        y={"log_fraction": ""},
        y_label="ln(share of solutions) / N",
        notes=lambda solved: [fraction, *(rough if any(not one.physical.all() for one in solved) else [])],
    )


def _at_distance(solution: Any) -> Mapping[str, Any]:
    """All numbers of one distance."""
    if solution is None:
        return dict.fromkeys((*LOCAL, "physical", *WHOLE, "estimate"))
    stable = bool(solution.physical[0])
    numbers = {name: float(getattr(solution, name)[0]) for name in LOCAL}
    return {**numbers, "physical": stable, **_columns(WHOLE, solution)} | {
        "estimate": solution.estimate if stable else "unstable"
    }


# ``dendrocap noise``: errors of theoretical states under noise.

STATES = {
    "typical": "typical solution",
    "largest_margin": "largest margin",
    "learned": "learned state",
    "best_possible": "best possible",
}
NOISE_NOTES = (
    "Fraction of the learned patterns that are wrong under the noise, replica symmetric with equal branches; for "
    "linear g all but the bound are exact.",
    "best possible: no weights with equal branches do better at this load and noise; unequal branches may.",
    "learned: the minimum of the cross-entropy with --gamma-ce; it may have errors without noise.",
)
FOLLOW = "Thresholds follow the noise; -N and -K keep them fixed. For trained neurons: dendrocap perturb."


NOISES = {"alpha": "0.5", "flips": "0.01,0.05,0.1", "synaptic": "0", "gamma_ce": "10"}


def noise(grid: Grid = Grid(**NOISES, **MODEL | {"theta_d": "0.1"}, **unset(*SIZES))) -> None:
    """Compute errors under flipped inputs and noisy synapses: typical, largest-margin and learned states, and a bound.

    Every parameter takes a number, a list 0.1,0.2,0.5 or a range start:stop:count.

    Example: dendrocap noise -g linear,polsky --alpha 0.5 --flips 0.005:0.1:20 --plot noise.png
    """
    from dendrocap.answers.grids import noise_points

    if grid.has("n_inputs") != grid.has("n_branches"):
        raise InvalidParameter("-N and -K must be given together")
    follow = [] if grid.has("n_inputs") else [FOLLOW]
    run(
        grid,
        noise_points,
        lambda solution: {**_columns([*STATES, "estimate"], solution), "missing": getattr(solution, "reason", None)},
        lambda solution: {name.replace("_", " "): getattr(solution, name, None) for name in STATES},
        y=STATES,
        y_label="fraction of patterns wrong",
        notes=lambda solved: [*NOISE_NOTES, *follow, *_missing(solved)],
    )


def _missing(solved: list[Any]) -> list[str]:
    """The reasons for empty entries, each once."""
    next_state = rf"; (?=(?:{'|'.join(STATES)}): )"  # a reason may itself have a semicolon
    reasons = dict.fromkeys(part for one in solved for part in re.split(next_state, one.reason) if part)
    return [f"nan, {reason}" for reason in list(reasons)[:4]]


# ``dendrocap teacher-student``: generalisation errors of a student that learns from a teacher.

ERRORS = {"gibbs_error": "one student (Gibbs)", "bayes_error": "all students vote (Bayes)"}


def teacher_student(
    grid: Grid = Grid(alpha="1", **MODEL).but("branch_correlation"),
    teacher: Annotated[
        str | None,
        typer.Option(
            help="The neuron that gives the labels, as in 'polsky:theta_d=0.1,gamma=20'; what is left out is as in the "
            "student."
        ),
    ] = None,
    crossing: Annotated[
        bool,
        typer.Option("--crossing", help="Also find the load above which a student of the teacher's form is better."),
    ] = False,
) -> None:
    """Compute the generalisation errors of a student that learns the answers of a teacher.

    Every parameter of the student takes a number, a list 0.1,0.2,0.5 or a range start:stop:count.

    Example: dendrocap teacher-student -g linear,polsky --teacher polsky --alpha 0.1:2.5:25 --plot teacher.png
    """
    from dendrocap.answers.grids import taught_points
    from dendrocap.model import NeuronSpec, Polsky
    from dendrocap.model.flat import neuron_from_flat

    name, numbers = settings("--teacher", teacher or "", alone=True)
    flat = {**({"nonlinearity": name} if name else {}), **numbers}

    def taught(student: NeuronSpec) -> NeuronSpec:
        return neuron_from_flat(flat, student)  # type: ignore[return-value]

    taught(NeuronSpec(Polsky(), 0.5, 0.5))  # a bad option is reported before anything is computed
    more = ["Q", "q", "R", "Q_teacher", "q_hat", "R_hat", "A_hat", "M_hat", "residual"]

    def columns(names: Sequence[str], solution: Any) -> dict[str, Any]:
        found, load = solution or (None, None)
        return {**_columns(names, found), **({"crossing_load": load} if crossing else {})}

    note = (
        "Probability of a wrong answer to an unseen pattern, for students that make no error on the learned patterns "
        "and have infinitely many long, equal branches. Exact if student and teacher have the same form, replica "
        "symmetric otherwise."
    )
    load = ["crossing load: above it, a student of the teacher's form generalises better than this one."]
    run(
        grid,
        partial(taught_points, teacher=taught, crossing=crossing),
        partial(columns, ["estimate", *ERRORS, *more]),
        partial(columns, [*ERRORS, "q", "R", "estimate"]),
        y=ERRORS,
        y_label="generalisation error",
        notes=lambda solved: [note, *(load if crossing else [])],
    )


# ``dendrocap best-dendrite``: the dendrite that stores most under a limit on its slope.


def best_dendrite(
    slope_limit: Annotated[float, typer.Option(help="Largest slope of g, > 0; Polsky's function has 5.")] = 5.0,
    theta_d: Annotated[float, typer.Option(help="Dendritic threshold, > 0.")] = 0.5,
    theta_s: Annotated[
        float | None, typer.Option(help="Somatic threshold, in (0, 1); the best one if not given.")
    ] = None,
    rises: Annotated[int, typer.Option(help="Most rises of g.")] = 1,
    rsb: Annotated[int, typer.Option(help="Steps of replica symmetry breaking; 0 is the paper's estimate.")] = 1,
    task: Flat = TASK.but(kappa=0.2),
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
    draw(plot, lambda plots: plots.best_dendrite(best, others))


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
