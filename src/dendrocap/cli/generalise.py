"""``dendrocap generalise``: dendritic against linear neuron on images."""

from __future__ import annotations

from typing import Annotated

import typer

from dendrocap.cli.output import JsonFlag, PlotPath, emit, message, plot_target
from dendrocap.errors import InvalidParameter

__all__ = ["generalise"]

# What stands for a preset: training images, epochs, seeds. None is all images.
PRESETS: dict[str, tuple[int | None, int, int]] = {"quick": (2000, 20, 3), "paper": (None, 100, 10)}
BRANCHES = {"mnist": 7, "fashion-mnist": 7, "cifar10": 8, "cifar10-odd-even": 8}


def generalise(
    task: Annotated[str, typer.Argument(help="mnist, fashion-mnist, cifar10 (bird/ship) or cifar10-odd-even.")],
    preset: Annotated[str, typer.Option(help="quick: 2,000 images, 20 epochs, 3 seeds; paper: all, 100, 10")] = "quick",
    branches: Annotated[
        int | None, typer.Option(help="Branches K; 7 or 8 as in the paper's appendix if not given.")
    ] = None,
    images: Annotated[int | None, typer.Option(help="Training images, balanced; overrides the preset.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs; overrides the preset.")] = None,
    seeds: Annotated[int | None, typer.Option(help="Number of seeds; overrides the preset.")] = None,
    theta_d: Annotated[float, typer.Option(help="Dendritic threshold.")] = 0.1,
    theta_s: Annotated[float, typer.Option(help="Somatic threshold.")] = 0.5,
    learning_rate: Annotated[float, typer.Option(help="Of the dendritic neuron.")] = 0.03,
    gamma_ce: Annotated[float, typer.Option(help="Steepness of the loss of the dendritic neuron.")] = 10.0,
    linear_rate: Annotated[float, typer.Option(help="Learning rate of the linear neuron.")] = 0.1,
    linear_gamma_ce: Annotated[float, typer.Option(help="Steepness of the loss of the linear neuron.")] = 10.0,
    workers: Annotated[int | None, typer.Option(help="Seeds at a time; all cores if not given.")] = None,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
) -> None:
    """Training and test error of the dendritic and the linear neuron, epoch by epoch.

    Example: dendrocap generalise mnist --preset quick --plot mnist.png
    """
    from dendrocap.cli.output import progress
    from dendrocap.datasets import TASKS
    from dendrocap.experiments.generalisation import GeneralisationCurve, summary
    from dendrocap.experiments.generalisation import generalise as run
    from dendrocap.validation import choice, whole_number

    choice("task", task, tuple(TASKS))
    n_train, max_epochs, n_seeds = PRESETS[choice("--preset", preset, tuple(PRESETS))]
    n_train = images if images is not None else n_train
    max_epochs = whole_number("--epochs", max_epochs if epochs is None else epochs, 1)
    n_seeds = whole_number("--seeds", n_seeds if seeds is None else seeds, 1)
    if theta_d <= 0.0:
        raise InvalidParameter(f"--theta-d {theta_d} is not allowed: it must be > 0")
    target = plot_target(plot) if plot else None
    kept: list[GeneralisationCurve] = []
    interrupted = False
    with progress(2 * n_seeds, f"training on {task}") as step:

        def keep(curve: GeneralisationCurve) -> None:
            if curve.epochs.size and curve.epochs[-1] == max_epochs:  # Ctrl-C cuts others short
                kept.append(curve)
            step()

        try:
            curves = run(
                task,
                n_branches=BRANCHES[task] if branches is None else branches,
                seeds=range(n_seeds),
                max_epochs=max_epochs,
                n_train=n_train,
                every=max(1, max_epochs // 20),
                workers=workers,
                done=keep,
                theta_d=theta_d,
                theta_s=theta_s,
                learning_rate=learning_rate,
                gamma_ce=gamma_ce,
                linear_rate=linear_rate,
                linear_gamma_ce=linear_gamma_ce,
            )
        except KeyboardInterrupt:
            if not kept:
                raise
            curves, interrupted = sorted(kept, key=lambda curve: (curve.contender, curve.seed)), True
    rows = summary(curves)
    last = [row for row in rows if row["epoch"] == rows[-1]["epoch"]]
    emit(rows if as_json else last, as_json=as_json, title=f"{TASKS[task].meaning}, {n_seeds} seeds")
    if target:
        from dendrocap import plot as plots

        plots.save(plots.generalisation(rows, TASKS[task].meaning), target)
        message(f"figure: {target}")
    if interrupted:
        message(f"interrupted: {len(curves)} of {2 * n_seeds} runs were finished and are shown")
        raise typer.Exit(130)
