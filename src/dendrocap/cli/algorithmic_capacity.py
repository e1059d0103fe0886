"""``dendrocap algorithmic-capacity``: the largest load that training solves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dendrocap.cli import learning_options as options
from dendrocap.cli.option_groups import InputOptions, NeuronOptions, PlateauOptions, spread
from dendrocap.cli.output import JsonFlag, PlotPath, draw, emit, message, plot_target, progress

if TYPE_CHECKING:
    from dendrocap.learning import AlgorithmicCapacity, LoadPoint
    from dendrocap.learning.trials import Trial

__all__ = ["algorithmic_capacity"]


@spread
def algorithmic_capacity(
    neuron: NeuronOptions,
    learning: PlateauOptions,
    inputs: InputOptions,
    start: Annotated[float, typer.Option("--from", help="Smallest load.")] = 0.1,
    stop: Annotated[float, typer.Option("--to", help="Largest load.")] = 2.0,
    resolution: Annotated[float, typer.Option(help="Spacing of the loads tried.")] = 0.1,
    method: Annotated[
        str, typer.Option(help="bisection; scan, up to the first failure; or curve, all loads from --from to --to.")
    ] = "bisection",
    tolerance: Annotated[float, typer.Option(help="Largest error that counts as solved.")] = 0.0,
    seeds: Annotated[int, typer.Option(help="Independent measurements.")] = 3,
    workers: options.Workers = None,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
) -> None:
    """Measure the largest load P / N that training solves, and report every load tried.

    Prints one row per load. The capacity is in the title of the table, or on stderr with --json.

    Example: dendrocap algorithmic-capacity --theta-d 0.05 --patience 1000 --from 0.8 --to 1.6
    """
    import numpy as np

    from dendrocap import learning as protocols
    from dendrocap.learning.algorithmic_capacity import load_points
    from dendrocap.validation import choice, whole_number

    target = plot_target(plot)
    choice("--method", method, ("bisection", "scan", "curve"))
    several = range(whole_number("--seeds", seeds, 1))
    measured = neuron.neuron()
    how: dict[str, Any] = {"recipe": learning.recipe(), "task": inputs.task(), "seeds": several}
    how |= {"tolerance": tolerance, "workers": workers}
    kept: list[Trial] = []
    interrupted = False
    with progress(seeds, "seed") as tell:
        try:
            if method == "curve":
                alphas = np.round(np.arange(start, stop + 1e-9, resolution), 12)

                def keep_run(trial: Trial) -> None:
                    kept.append(trial)
                    tell(total=len(alphas) * seeds, label="run")

                protocols.training_error_curve(measured, alphas, callback=keep_run, **how)
                verdict = ""
            else:

                def keep_seed(trials: tuple[Trial, ...]) -> None:
                    kept.extend(trials)
                    tell()

                limits = (start, stop)
                verdict = _verdict(
                    protocols.algorithmic_capacity(
                        measured, limits=limits, resolution=resolution, method=method, callback=keep_seed, **how
                    ),
                    learning.patience,
                )
        except KeyboardInterrupt:
            if not kept:
                raise
            interrupted, verdict = True, "interrupted: finished runs"
    points = load_points(kept, tolerance)
    emit([_row(point, as_json) for point in points], as_json=as_json, title=verdict)
    if as_json and verdict:
        message(verdict)
    draw(target, lambda plots: plots.error_curve(points, measured.nonlinearity.name))
    if interrupted:
        raise typer.Exit(130)


def _verdict(found: AlgorithmicCapacity, patience: int) -> str:
    low, high = found.interval
    return (
        f"algorithmic capacity {found.alpha:.3g} ({low:.3g} to {high:.3g} at 95 %), all {len(found.seeds)} seeds up to "
        f"{found.all_solved:.3g}, tolerance {found.tolerance:g}, patience {patience}"
        + (": the largest load tried, hence a lower bound" if found.reaches_limit else "")
    )


def _row(point: LoadPoint, complete: bool) -> dict[str, Any]:
    """A load for JSON, or the part of it that fits a terminal."""
    epochs = sum(trial.epochs for trial in point.trials) / len(point.trials)
    if not complete:
        return {
            "alpha": point.alpha,
            "solved": f"{point.solved} of {len(point.trials)}",
            "mean error": point.mean_error,
            "epochs": round(epochs),
        }
    low, high = point.success_interval
    return {
        "alpha": point.alpha,
        "solved": point.solved,
        "seeds": len(point.trials),
        "success_rate": point.success_rate,
        "success_low": low,
        "success_high": high,
        "mean_error": point.mean_error,
        "error_of_mean": point.error_of_mean,
        "epochs": epochs,
    }
