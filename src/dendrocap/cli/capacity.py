"""``dendrocap capacity``: what a neuron can store, at a point or over a grid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dendrocap.cli.option_groups import spread
from dendrocap.cli.output import CsvFlag, JsonFlag, PlotPath
from dendrocap.cli.theory_grid import PriorOptions, fields_of, recording, run
from dendrocap.errors import InvalidParameter

if TYPE_CHECKING:
    from dendrocap.theory import Capacity, PopulationCapacity

__all__ = ["capacity"]


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
        from dendrocap.theory.parameter_grids import SIZES

        sizes = self.given(SIZES)
        whole = {name: [float(round(number)) for number in listed] for name, listed in sizes.items()}
        return {**whole, **self.given(["branch_size"]), **super().more}


@spread
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
    from dendrocap.theory.estimates import ASSUMES, estimate_name
    from dendrocap.theory.parameter_grids import BROKEN_FIELDS, CAPACITY_FIELDS, capacity_points

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
    from dendrocap.theory.parameter_grids import best_points

    solved: list[Capacity] = []
    headings = {name: words for name, words in HEADINGS.items() if grid.sized or name != "patterns"}

    def shown(solution: Capacity | None) -> dict[str, str]:
        texts = {} if solution is None else solution.texts()
        return {words: texts.get(name, "") for name, words in headings.items()}

    def described(solution: Capacity | None) -> dict[str, Any]:
        return dict.fromkeys(COLUMNS) if solution is None else solution.as_row()

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
    from dendrocap.theory.validity import LIGHTS

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
COLUMNS = (
    "alpha_c", "error", "paper_alpha_c", "n_patterns", "bits", "bits_per_synapse", "silent_fraction", "silent_error",
    "paper_silent_fraction", "W_bar", "mean_outputs", "n_on", "accuracy", "remark", "estimates", "validity",
)  # fmt: skip
