"""``dendrocap solve``: look for weights without errors, close to capacity."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dendrocap.cli import learning_options as options
from dendrocap.cli.output import JsonFlag, message, progress

if TYPE_CHECKING:
    from dendrocap.learning import TrainingResult
    from dendrocap.model import DendriticNeuron

__all__ = ["solve"]


def solve(
    nonlinearity: options.NonlinearityName = "polsky",
    x_min: options.XMin = None,
    gamma: options.Gamma = None,
    theta_d: options.ThetaD = 0.5,
    theta_s: options.ThetaS = 0.5,
    inputs: options.Inputs = 999,
    branches: options.Branches = 27,
    linear: options.LinearFlag = False,
    alpha: options.Alpha = 1.0,
    data: options.DataPath = None,
    solver: Annotated[
        str,
        typer.Option(help="auto, sgd, surrogate, sharpening, least-action, replicated or message-passing."),
    ] = "auto",
    time_limit: Annotated[float, typer.Option(help="Seconds after which the search ends.")] = 120.0,
    seed: options.Seed = 0,
    save: options.SavePath = None,
    as_json: JsonFlag = False,
) -> None:
    """Look for weights that answer every pattern correctly, within a time limit.

    The errors reported are recounted from the weights. Ctrl-C ends the search early; the best weights found until
    then are reported and saved. Exit code 1 says that some errors were left.

    Example: dendrocap solve --theta-d 0.5 --alpha 1.8 --time-limit 60 --save solution.npz
    """
    from dendrocap.learning import random_task
    from dendrocap.learning.training import INTERRUPTED

    file = options.save_target(save) if save else None
    if data is not None:
        task = options.read_task(data)
        inputs = task[0].shape[1]
    neuron = options.neuron_from(nonlinearity, x_min, gamma, theta_d, theta_s, inputs, branches, linear)
    if data is None:
        task = random_task(neuron, alpha, seed)
    result = _follow(neuron, task, solver, time_limit, seed)
    summary = {"solver": getattr(result.algorithm, "name", repr(result.algorithm)), **options.run_summary(result)}
    options.emit_run(summary, as_json=as_json, title=repr(neuron))
    if file:
        from dendrocap.learning.storage import save_run

        save_run(file, result, *task)
        message(f"run: {file}")
    if result.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    if not result.solved:
        raise typer.Exit(1)


def _follow(neuron: DendriticNeuron, task: Any, solver: str, time_limit: float, seed: int) -> TrainingResult:
    """Solve under a progress bar."""
    from dendrocap.learning import solve as search

    began = time.monotonic()
    with progress(time_limit, "seconds") as tell:

        def show(record: Any) -> bool:
            best = record.best_errors / len(task[1])
            tell(round(time.monotonic() - began, 1), note=f"error {record.error:.4f}, best {best:.4f}")
            return False

        return search(neuron, *task, solver=solver, time_limit=time_limit, seed=seed, callback=show)
