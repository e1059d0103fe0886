"""``dendrocap train``: train one neuron, on random patterns or on your own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dendrocap.cli import learning_options as options
from dendrocap.cli.option_groups import NeuronOptions, PatternOptions, RecipeOptions, spread
from dendrocap.cli.output import JsonFlag, PlotPath, draw, plot_target, progress
from dendrocap.errors import TrainingFailed

if TYPE_CHECKING:
    from dendrocap.learning import EpochRecord, Training

__all__ = ["train"]


@spread
def train(
    neuron: NeuronOptions,
    patterns: PatternOptions,
    learning: RecipeOptions,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Resume a saved run: neuron, patterns and rate are taken from it."),
    ] = None,
    save: options.SavePath = None,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
) -> None:
    """Train a neuron by stochastic gradient descent and report the result.

    Ctrl-C ends the run early; the best weights found so far are reported and saved.

    Example: dendrocap train --theta-d 0.05 --alpha 1.0 --patience 1000 --max-epochs 20000 --save run.npz
    """
    from dendrocap.learning import Training

    target = plot_target(plot)
    file = options.save_target(save)
    recipe = learning.recipe()
    if resume is not None:
        from dendrocap.learning.storage import load_run

        before = load_run(resume)
        learned: tuple[Any, Any] = (before.inputs, before.labels)
        run = Training(before.neuron, *learned, recipe, resume=before.state)
    else:
        trained, learned = patterns.for_neuron(neuron)
        run = Training(trained, *learned, recipe, seed=patterns.seed)
    failure, interrupted = _follow(run)
    result = run.result()
    options.emit_run(options.run_summary(result), as_json=as_json, title=repr(run.neuron))
    options.save(file, result, learned)
    draw(target, lambda plots: plots.training(result))
    if interrupted:
        raise KeyboardInterrupt
    if failure is not None:
        raise failure


def _follow(run: Training) -> tuple[TrainingFailed | None, bool]:
    """Run to the end with a progress bar; returns the failure, if any, and whether the user interrupted the run."""
    with progress(run.recipe.max_epochs, "epoch") as tell:

        def show(record: EpochRecord) -> None:
            best = record.best_errors / run.n_patterns
            note = f"error {record.error:.4f}, best {best:.4f}, rate {record.learning_rate:.2g}"
            tell(record.epoch, note=note)

        try:
            run.drain(show)
        except TrainingFailed as failure:
            return failure, False
        except KeyboardInterrupt:
            return None, True
    return None, False
