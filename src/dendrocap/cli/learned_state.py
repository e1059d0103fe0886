"""``dendrocap learned-state``: the minimum of the loss that training approaches, below and above capacity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer

from dendrocap.cli.option_groups import spread
from dendrocap.cli.output import CsvFlag, JsonFlag, PlotPath
from dendrocap.cli.theory_grid import GridOptions, fields_of, run

__all__ = ["learned_state"]

# Quantities that --plot can show, with their axis labels.
QUANTITIES = {
    "training_error": "fraction of patterns wrong",
    "loss": "cross-entropy per pattern",
    "silent_fraction": "silent fraction of the learned state",
    "Q": r"mean squared weight $Q$",
}
NOTE = (
    "The minimum of the cross-entropy, for infinitely many long, equal branches. Exact for linear g; replica symmetric "
    "otherwise: training may find lower losses with unequal branches, or stop above the minimum."
)


@dataclass(frozen=True, kw_only=True)
class LearnedGrid(GridOptions):
    """A grid of learned states."""

    parameters: ClassVar[tuple[str, ...]] = ("alpha", "gamma_ce", *GridOptions.parameters)

    alpha: Annotated[str, typer.Option(help="Load P / N, > 0, below or above capacity.", metavar="VALUES")] = "0.5"
    gamma_ce: Annotated[str, typer.Option(help="Steepness of the cross-entropy, > 0.", metavar="VALUES")] = "10"


@spread
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
    from dendrocap.theory.parameter_grids import learned_points
    from dendrocap.validation import choice

    y = choice("--quantity", quantity, tuple(QUANTITIES))
    run(
        grid,
        learned_points,
        fields_of(
            ["estimate", *QUANTITIES, "B", "W_star", "W_bar", "log_tau", "mean_shift", "Gamma0", "Gamma1", "residual"]
        ),
        fields_of([*QUANTITIES, "estimate"]),
        as_json=as_json,
        as_csv=as_csv,
        plot=plot,
        y={y: ""},
        y_label=QUANTITIES[y],
        notes=lambda: [NOTE],
    )
