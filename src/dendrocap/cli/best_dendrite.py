"""``dendrocap best-dendrite``: the dendrite that stores most under a limit on its slope."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dendrocap.cli.option_groups import TaskOptions, spread
from dendrocap.cli.output import JsonFlag, PlotPath, draw, emit, plot_target, progress

if TYPE_CHECKING:
    from dendrocap.theory import BestDendrite

__all__ = ["best_dendrite"]


@spread
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
