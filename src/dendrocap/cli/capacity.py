"""``dendrocap capacity``: the critical capacity at a point or over a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from dendrocap.cli.option_groups import spread
from dendrocap.cli.output import CsvFlag, JsonFlag, PlotPath
from dendrocap.cli.theory_grid import GridOptions, run

__all__ = ["capacity"]


@dataclass(frozen=True, kw_only=True)
class CapacityGrid(GridOptions):
    """A grid of capacities."""

    rsb: Annotated[
        str | None,
        typer.Option(
            "--rsb", help="Steps of replica symmetry breaking: 0,1,2,full.", metavar="STEPS", show_default="0"
        ),
    ] = None


@spread
def capacity(
    grid: CapacityGrid,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Critical capacity, silent fraction and weights at capacity.

    Replica symmetric, an upper bound, unless --rsb asks for steps of replica symmetry breaking.

    Every parameter takes a number, a list 0.1,0.2,0.5 or a range start:stop:count.

    Example: dendrocap capacity -g polsky,relu --theta-d 0.01:1:50 --log --plot capacity.png

    Example: dendrocap capacity -g relu --theta-d 0.1:2:9 --rsb 0,1,2
    """
    from dendrocap.theory.parameter_grids import BROKEN_FIELDS, CAPACITY_FIELDS, capacity_points

    shown = ["alpha_c", "silent_fraction", "B", "W_star", "Q", "preactivation_mean", "preactivation_sd"]
    if grid.steps:
        shown = ["alpha_c", "silent_fraction", "Q", "effective_levels", "quadrature_error", "steps_error"]
    run(
        grid,
        capacity_points,
        list(BROKEN_FIELDS if grid.steps else CAPACITY_FIELDS),
        shown,
        as_json=as_json,
        as_csv=as_csv,
        plot=plot,
        y="alpha_c",
        y_label=r"critical capacity $\alpha_c = P_c / N$",
    )
