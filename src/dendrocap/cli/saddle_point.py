"""``dendrocap saddle-point``: typical solutions at a given load, at a point or over a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import typer

from dendrocap.cli.option_groups import spread
from dendrocap.cli.output import CsvFlag, JsonFlag, PlotPath
from dendrocap.cli.theory_grid import GridOptions, PriorOptions, fields_of, run
from dendrocap.errors import InvalidParameter

__all__ = ["saddle_point"]

OF_CHANNELS = ("temperature", "output_noise")
# Quantities that --plot can show, with their axis labels.
QUANTITIES = {
    "free_entropy": r"free entropy $\varphi$ (nats per synapse)",
    "Q": r"mean squared weight $Q$",
    "q": r"overlap of two solutions $q$",
    "stability": r"replicon $1 - \alpha \gamma_S \gamma_E$",
    "training_error": "training error",
}
NOTE = (
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


@spread
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
    from dendrocap.theory.estimates import SYMMETRIC
    from dendrocap.theory.parameter_grids import SADDLE_POINT_FIELDS, saddle_point_points
    from dendrocap.validation import choice

    y = choice("--quantity", quantity, tuple(QUANTITIES))
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
        y_label=QUANTITIES[y],
        notes=lambda: [NOTE],
    )
