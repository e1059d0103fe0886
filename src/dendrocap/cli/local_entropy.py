"""``dendrocap local-entropy``: how many solutions lie at a distance from a typical one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import typer

from dendrocap.cli.option_groups import spread
from dendrocap.cli.output import CsvFlag, JsonFlag, PlotPath
from dendrocap.cli.theory_grid import GridOptions, recording, run

__all__ = ["local_entropy"]

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


@spread
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
    from dendrocap.theory.parameter_grids import local_points

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
