"""``dendrocap train``: train one neuron, on random patterns or on one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dendrocap.cli import learning_options as options
from dendrocap.cli.output import JsonFlag, PlotPath, message, plot_target, progress
from dendrocap.errors import TrainingFailed

if TYPE_CHECKING:
    from dendrocap.learning import Training

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
    data: options.DataPath = None,
    rate: options.Rate = 0.01,
    gamma_ce: options.GammaCe = 100.0,
    surrogate_width: options.SurrogateWidth = None,
    surrogate_center: options.SurrogateCenter = 0.4,
    precision: options.Precision = "float32",
    patience: options.Patience = None,
    decay: options.Decay = 1e-4,
    epochs: options.Epochs = 1000,
    seed: options.Seed = 0,
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
            task = options.read_task(data)
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
    options.emit_run(options.run_summary(result), as_json=as_json, title=repr(neuron))
    if file:
        from dendrocap.learning.storage import save_run

        save_run(file, result, *task)
        message(f"run: {file}")
    if target:
        from dendrocap import plot as plots

        plots.save(plots.training(result), target)
        message(f"figure: {target}")
    if interrupted:
        raise KeyboardInterrupt
    if failure is not None:
        raise failure


def _follow(run: Training, epochs: int) -> tuple[TrainingFailed | None, bool]:
    """Run to the end under a progress bar; how it failed, if it did, and whether the user interrupted it."""
    with progress(epochs, "epoch") as tell:
        try:
            for record in run:
                best = record.best_errors / run.n_patterns
                note = f"error {record.error:.4f}, best {best:.4f}, rate {record.learning_rate:.2g}"
                tell(record.epoch, note=note)
        except TrainingFailed as failure:
            return failure, False
        except KeyboardInterrupt:
            run.stop()
            return None, True
    return None, False
