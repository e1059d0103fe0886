"""``dendrocap generalise``: compare the dendritic with the linear neuron on images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from dendrocap.cli.completion import binary_set_names
from dendrocap.cli.option_groups import RecipeOptions, SpecOptions, spread
from dendrocap.cli.output import JsonFlag, PlotPath, draw, emit, message, plot_target
from dendrocap.errors import InvalidParameter

__all__ = ["generalise"]

# Settings of each preset: training images, epochs, seeds. None means all images.
PRESETS: dict[str, tuple[int | None, int, int]] = {"quick": (2000, 20, 3), "paper": (None, 100, 10)}
BRANCHES = {"mnist": 7, "fashion-mnist": 7, "cifar10": 8, "cifar10-odd-even": 8, "digits": 4}


@dataclass(frozen=True, kw_only=True)
class ImageRecipe(RecipeOptions):
    """How the dendritic neuron is trained; the linear one has its own rule and the same schedule."""

    learning_rate: Annotated[float, typer.Option(help="Learning rate of the dendritic neuron, first epoch.")] = 0.03
    gamma_ce: Annotated[float, typer.Option(help="Steepness of the loss of the dendritic neuron.")] = 10.0
    max_epochs: Annotated[int | None, typer.Option(help="Epochs; overrides the preset.")] = None  # type: ignore[assignment]


@spread
def generalise(
    dataset: Annotated[
        str,
        typer.Argument(
            help="mnist, fashion-mnist, cifar10 (bird/ship), cifar10-odd-even, or digits, which needs no files.",
            autocompletion=binary_set_names,
        ),
    ],
    preset: Annotated[str, typer.Option(help="quick: 2,000 images, 20 epochs, 3 seeds; paper: all, 100, 10")] = "quick",
    neuron: SpecOptions = SpecOptions(theta_d=0.1),
    n_branches: Annotated[
        int | None,
        typer.Option("--n-branches", "-K", help="Branches K; by default 7 or 8, as in the paper's appendix."),
    ] = None,
    learning: ImageRecipe = ImageRecipe(),
    images: Annotated[int | None, typer.Option(help="Training images, balanced; overrides the preset.")] = None,
    seeds: Annotated[int | None, typer.Option(help="Number of seeds; overrides the preset.")] = None,
    linear_rate: Annotated[float, typer.Option(help="Learning rate of the linear neuron.")] = 0.1,
    linear_gamma_ce: Annotated[float, typer.Option(help="Steepness of the loss of the linear neuron.")] = 10.0,
    workers: Annotated[int | None, typer.Option(help="Number of parallel seeds; by default all cores.")] = None,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare training and test errors of the dendritic and the linear neuron, epoch by epoch.

    Example: dendrocap generalise mnist --preset quick --plot mnist.png
    """
    from dendrocap.cli.output import progress
    from dendrocap.datasets import BINARY_SETS
    from dendrocap.experiments.generalise import GeneralisationCurve, summary
    from dendrocap.experiments.generalise import generalise as run
    from dendrocap.validation import choice, whole_number

    choice("dataset", dataset, tuple(BINARY_SETS))
    n_train, max_epochs, n_seeds = PRESETS[choice("--preset", preset, tuple(PRESETS))]
    n_train = images if images is not None else None if dataset == "digits" else n_train  # digits has 1200 in all
    max_epochs = whole_number("--max-epochs", learning.max_epochs or max_epochs, 1)
    n_seeds = whole_number("--seeds", n_seeds if seeds is None else seeds, 1)
    if neuron.theta_d <= 0.0:
        raise InvalidParameter(f"--theta-d {neuron.theta_d} is not allowed: it must be > 0")
    target = plot_target(plot)
    kept: list[GeneralisationCurve] = []
    interrupted = False
    with progress(2 * n_seeds, f"training on {dataset}") as step:

        def keep(curve: GeneralisationCurve) -> None:
            if curve.epochs.size and curve.epochs[-1] == max_epochs:  # Ctrl-C leaves shorter curves
                kept.append(curve)
            step()

        try:
            curves = run(
                dataset,
                neuron.spec(),
                learning.recipe(max_epochs=max_epochs),
                n_branches=BRANCHES[dataset] if n_branches is None else n_branches,
                seeds=range(n_seeds),
                n_train=n_train,
                every=max(1, max_epochs // 20),
                workers=workers,
                callback=keep,
                linear_rate=linear_rate,
                linear_gamma_ce=linear_gamma_ce,
            )
        except KeyboardInterrupt:
            if not kept:
                raise
            curves, interrupted = sorted(kept, key=lambda curve: (curve.contender, curve.seed)), True
    rows = summary(curves)
    last = [row for row in rows if row["epoch"] == rows[-1]["epoch"]]
    emit(rows if as_json else last, as_json=as_json, title=f"{BINARY_SETS[dataset].meaning}, {n_seeds} seeds")
    draw(target, lambda plots: plots.generalisation(rows, BINARY_SETS[dataset].meaning))
    if interrupted:
        message(f"interrupted: {len(curves)} of {2 * n_seeds} runs are finished and shown")
        raise typer.Exit(130)
