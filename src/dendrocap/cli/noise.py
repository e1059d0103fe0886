"""``dendrocap noise``: errors under noise of theoretical states, at a point or over a grid."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import typer

from dendrocap.cli.option_groups import spread
from dendrocap.cli.output import CsvFlag, JsonFlag, PlotPath
from dendrocap.cli.theory_grid import GridOptions, fields_of, recording, run
from dendrocap.errors import InvalidParameter

__all__ = ["noise"]

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


@spread
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
    from dendrocap.theory.parameter_grids import noise_points

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
