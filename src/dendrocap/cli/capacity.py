"""``dendrocap capacity``: what a neuron can store, at a point or over a grid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dendrocap.cli.option_groups import spread
from dendrocap.cli.output import CsvFlag, JsonFlag, PlotPath
from dendrocap.cli.ranges import values
from dendrocap.cli.theory_grid import GridOptions, fields_of, run
from dendrocap.display import with_error
from dendrocap.errors import InvalidParameter

if TYPE_CHECKING:
    from dendrocap.theory import Capacity

__all__ = ["capacity"]


@dataclass(frozen=True, kw_only=True)
class CapacityGrid(GridOptions):
    """A grid of capacities."""

    n_inputs: Annotated[
        str | None, typer.Option("--n-inputs", "-N", help="Synapses N; with K, the best estimate.", metavar="VALUES")
    ] = None
    n_branches: Annotated[str | None, typer.Option("--n-branches", "-K", help="Branches K.", metavar="VALUES")] = None
    branch_size: Annotated[
        str | None,
        typer.Option(help="Synapses per branch, for equal branches: not with N and K.", metavar="VALUES"),
    ] = None
    rsb: Annotated[
        str | None,
        typer.Option(
            "--rsb", help="Steps of replica symmetry breaking: 0,1,2,full.", metavar="STEPS", show_default="0"
        ),
    ] = None

    @property
    def sized(self) -> bool:
        """Whether the neuron has a size."""
        return self.n_inputs is not None or self.n_branches is not None

    @property
    def more(self) -> dict[str, list[Any]]:
        """Sizes, length of branches and steps of breaking, where given."""
        given = {
            name: values("--" + name.replace("_", "-"), text, log=self.log)
            for name in ("n_inputs", "n_branches", "branch_size")
            if (text := getattr(self, name)) is not None
        }
        sizes = {name: [float(round(number)) for number in listed] for name, listed in given.items()}
        return {**sizes, **({"branch_size": given["branch_size"]} if "branch_size" in given else {}), **super().more}


@spread
def capacity(
    grid: CapacityGrid,
    estimates: Annotated[
        bool,
        typer.Option("--estimates", help="Every estimate from the paper's number to the best, and what each assumes."),
    ] = False,
    accuracy: Annotated[
        str, typer.Option(help="Of the best estimate: best, or fast (one step of breaking, equal branches).")
    ] = "best",
    seed: Annotated[int, typer.Option(help="Of the Monte Carlo samples of the best estimate.")] = 0,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """What a neuron can store: patterns per synapse, silent synapses, weights.

    With --n-inputs and --n-branches, the best estimate for a neuron of that size with its error, and the paper's number
    beside it. Without them, the paper's quantity for infinitely many equal branches: replica symmetric, or with
    --rsb steps of symmetry breaking.

    Every parameter takes a number, a list 0.1,0.2,0.5 or a range start:stop:count.

    Example: dendrocap capacity --theta-d 0.5 -N 999 -K 27 --estimates

    Example: dendrocap capacity -N 10000 -K 10:1000:7 --log --theta-d 0.1,0.5,1 --plot branches.png

    Example: dendrocap capacity -g polsky,relu --theta-d 0.01:1:50 --log --rsb 0,1 --plot capacity.png
    """
    if grid.sized or estimates:
        _best(grid, estimates, accuracy, seed, plot=plot, as_json=as_json, as_csv=as_csv)
        return
    from dendrocap.theory.parameter_grids import BROKEN_FIELDS, CAPACITY_FIELDS, capacity_points

    shown = ["alpha_c", "silent_fraction", "B", "W_star", "Q", "preactivation_mean", "preactivation_sd"]
    if grid.branch_size is not None:
        shown = ["alpha_c", "silent_fraction", "W_bar", "Q", "preactivation_mean"]
    elif grid.steps:
        shown = ["alpha_c", "silent_fraction", "Q", "effective_levels", "quadrature_error", "steps_error"]
    run(
        grid,
        capacity_points,
        fields_of(BROKEN_FIELDS if grid.steps else CAPACITY_FIELDS),
        shown,
        as_json=as_json,
        as_csv=as_csv,
        plot=plot,
        y="alpha_c",
        y_label=r"critical capacity $\alpha_c = P_c / N$",
        notes=lambda rows: [INFINITE],
    )


INFINITE = (
    "Infinitely many equal branches; replica symmetric, as in the paper, where no --rsb is given. For a real neuron, "
    "--n-inputs and --n-branches give the best estimate."
)


def _best(grid: CapacityGrid, estimates: bool, accuracy: str, seed: int, **output: Any) -> None:
    """Best estimates over a grid."""
    from dendrocap.theory.parameter_grids import best_points

    if grid.sized and (grid.n_inputs is None or grid.n_branches is None):
        raise InvalidParameter("--n-inputs and --n-branches belong together: give both")
    if grid.steps or grid.branch_size is not None:
        raise InvalidParameter(
            "--rsb and --branch-size are not allowed with the best estimate, which goes through all of them: "
            "see --estimates"
        )
    solved: list[Capacity] = []

    def described(solution: Capacity | None) -> dict[str, Any]:
        if solution is None:
            return dict.fromkeys(COLUMNS)
        solved.append(solution)
        return {"capacity": with_error(solution.alpha_c, solution.error), **solution.as_row()}

    def notes(rows: list[dict[str, Any]]) -> Iterator[str]:
        if estimates:
            yield from (f"\n{one}" for one in solved)
            return
        bad = [(name, flag) for one in solved for name, flag in one.validity.items() if flag.light == "bad"]
        flags = [flag.words for name, flag in bad if name != "replica symmetry"]  # the table shows both values
        yield from (f"{words} ({flags.count(words)} of {len(rows)} points)" for words in dict.fromkeys(flags))
        yield from dict.fromkeys(one.remark for one in solved if one.remark)

    run(
        grid,
        partial(best_points, accuracy=accuracy, seed=seed),
        described,
        ["capacity", "paper_alpha_c", "n_patterns", "silent_fraction"],
        y="alpha_c",
        y_label=r"capacity $\alpha_c = P_c / N$" + (", equal branches" if accuracy == "fast" else ", best estimate"),
        notes=notes,
        long=True,
        **output,
    )


COLUMNS = (
    "capacity", "alpha_c", "error", "paper_alpha_c", "n_patterns", "bits", "bits_per_synapse", "silent_fraction",
    "W_bar", "mean_outputs", "n_on", "accuracy", "remark", "estimates", "validity",
)  # fmt: skip
