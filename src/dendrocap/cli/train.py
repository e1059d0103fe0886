"""``dendrocap train``: train one neuron, on random patterns or on one's own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dendrocap.cli import learning_options as options
from dendrocap.cli.output import JsonFlag, PlotPath, emit, message, plot_target
from dendrocap.errors import InvalidParameter, TrainingFailed

if TYPE_CHECKING:
    from dendrocap.learning import Training, TrainingResult

__all__ = ["train"]


def train(
    nonlinearity: options.NonlinearityName = "polsky",
    x_min: options.XMin = None,
    gamma: options.Gamma = None,
    theta_d: options.ThetaD = 0.05,
    theta_s: options.ThetaS = 0.5,
    inputs: options.Inputs = 999,
    branches: options.Branches = 27,
    linear: options.LinearFlag = False,
    alpha: options.Alpha = 0.5,
    data: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A .npz file with binary arrays inputs and labels, instead of --alpha."),
    ] = None,
    rate: options.Rate = 0.01,
    gamma_ce: options.GammaCe = 100.0,
    surrogate_width: options.SurrogateWidth = None,
    surrogate_center: options.SurrogateCenter = 0.4,
    precision: options.Precision = "float32",
    patience: options.Patience = None,
    decay: options.Decay = 1e-4,
    epochs: options.Epochs = 1000,
    seed: Annotated[int, typer.Option(help="Of patterns, first weights and shuffles.")] = 0,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Go on with a saved run: neuron, task and rate are taken from it."),
    ] = None,
    save: options.SavePath = None,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
) -> None:
    """Train a neuron by stochastic gradient descent and report how it went.

    Ctrl-C ends the run early; the best weights found until then are reported and saved.

    Example: dendrocap train --theta-d 0.05 --alpha 1.0 --patience 1000 --epochs 20000 --save run.npz
    """
    from dendrocap.learning import Training, random_task

    target = plot_target(plot) if plot else None
    file = options.save_target(save) if save else None
    algorithm = options.algorithm_from(rate, gamma_ce, surrogate_width, surrogate_center, precision)
    start: dict[str, Any]
    task: Any
    if resume is not None:
        from dendrocap.learning.storage import load_run

        run_before = load_run(resume)
        neuron, task = run_before.neuron, (run_before.inputs, run_before.labels)
        start = {"resume": run_before.state}
    else:
        if data is not None:
            task = _read_task(data)
            inputs = task[0].shape[1]
        neuron = options.neuron_from(nonlinearity, x_min, gamma, theta_d, theta_s, inputs, branches, linear)
        if data is None:
            task = random_task(neuron, alpha, seed)
        start = {"seed": seed}
    run = Training(
        neuron, *task, algorithm=algorithm, schedule=options.schedule_from(patience, decay), max_epochs=epochs, **start
    )
    failure, interrupted = _follow(run, epochs)
    result = run.result()
    summary = _summary(result)
    # One run has more quantities than a terminal has columns: people get them one below the other.
    rows = [summary] if as_json else [{"quantity": name, "value": value} for name, value in summary.items()]
    emit(rows, as_json=as_json, title=repr(neuron))
    if file:
        from dendrocap.learning.storage import save_run

        save_run(file, result, *task)
        message(f"run: {file}")
    if target:
        from dendrocap.figures.style import save as save_figure
        from dendrocap.figures.training import draw_training

        save_figure(draw_training(result), target)
        message(f"figure: {target}")
    if interrupted:
        raise KeyboardInterrupt
    if failure is not None:
        raise failure


def _follow(run: Training, epochs: int) -> tuple[TrainingFailed | None, bool]:
    """Run to the end under a progress bar; how it failed, if it did, and whether the user interrupted it."""
    from rich.progress import TextColumn

    columns = [TextColumn("error {task.fields[error]:.4f}, best {task.fields[best]:.4f}, rate {task.fields[rate]:.2g}")]
    with options.progress_bar(*columns) as progress:
        task = progress.add_task("epoch", total=epochs, completed=run.epochs, error=1.0, best=1.0, rate=0.0)
        shown = 0.0
        try:
            for record in run:
                # Drawing takes longer than an epoch: ten times a second is enough.
                if time.monotonic() - shown < 0.1:
                    continue
                shown = time.monotonic()
                progress.update(
                    task,
                    completed=record.epoch,
                    error=record.error,
                    best=record.best_errors / run.n_patterns,
                    rate=record.learning_rate,
                )
        except TrainingFailed as failure:
            return failure, False
        except KeyboardInterrupt:
            run.stop()
            return None, True
    return None, False


def _summary(result: TrainingResult) -> dict[str, Any]:
    return {
        "solved": result.solved,
        "errors": result.errors,
        "n_patterns": result.n_patterns,
        "error": result.error,
        "alpha": result.n_patterns / result.neuron.n_inputs,
        "epochs": result.epochs,
        "best_epoch": result.best_epoch,
        "stopped": result.stopped,
        "seconds": result.seconds,
    }


def _read_task(path: Path) -> Any:
    import zipfile

    import numpy as np

    from dendrocap.model import Patterns

    try:
        with np.load(path, allow_pickle=False) as stored:
            return Patterns(stored["inputs"], stored["labels"])
    except (KeyError, ValueError, zipfile.BadZipFile, AttributeError, TypeError) as error:
        raise InvalidParameter(f"--data {path} is not a .npz file with arrays inputs and labels: {error}") from None
