"""``dendrocap saddle-point``: typical solutions at a given load, at a point or over a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer

from dendrocap.cli.option_groups import spread
from dendrocap.cli.output import CsvFlag, JsonFlag, PlotPath
from dendrocap.cli.theory_grid import GridOptions, fields_of, run

__all__ = ["saddle_point"]

# Quantities that --plot can show, with their axis labels.
QUANTITIES = {
    "free_entropy": r"free entropy $\varphi$ (nats per synapse)",
    "Q": r"mean squared weight $Q$",
    "q": r"overlap of two solutions $q$",
    "stability": r"replicon $1 - \alpha \gamma_S \gamma_E$",
}
NOTE = (
    "Replica symmetric, as in the paper: infinitely many long, equal branches. Where the stability is negative, "
    "replica symmetry is broken and these numbers are approximations."
)


@dataclass(frozen=True, kw_only=True)
class LoadGrid(GridOptions):
    """A grid of saddle points."""

    parameters: ClassVar[tuple[str, ...]] = ("alpha", *GridOptions.parameters)

    alpha: Annotated[str, typer.Option(help="Load P / N, from 0 up to the capacity.", metavar="VALUES")] = "0.5"


@spread
def saddle_point(
    grid: LoadGrid,
    quantity: Annotated[str, typer.Option(help="What --plot shows: free_entropy, Q, q or stability.")] = "free_entropy",
    plot: PlotPath = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Compute order parameters, free entropy and stability of the typical solutions (replica symmetric).

    Every parameter takes a number, a list 0.1,0.2,0.5 or a range start:stop:count.

    Example: dendrocap saddle-point --alpha 0:4.9:40 --theta-d 0.5 --plot entropy.png
    """
    from dendrocap.theory.estimates import SYMMETRIC
    from dendrocap.theory.parameter_grids import SADDLE_POINT_FIELDS, saddle_point_points
    from dendrocap.validation import choice

    y = choice("--quantity", quantity, tuple(QUANTITIES))
    fields = fields_of(SADDLE_POINT_FIELDS)
    run(
        grid,
        saddle_point_points,
        lambda solution: {"estimate": SYMMETRIC, **fields(solution)},
        fields_of(["Q", "q", "M_bar", "Q_hat", "q_hat", "M_hat", "free_entropy", "stability"]),
        as_json=as_json,
        as_csv=as_csv,
        plot=plot,
        y=y,
        y_label=QUANTITIES[y],
        notes=lambda: [NOTE],
    )
