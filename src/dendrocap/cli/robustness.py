"""``dendrocap robustness``: what noise does to a trained neuron."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dendrocap.cli import learning_options as options
from dendrocap.cli.output import JsonFlag, PlotPath, emit, message, plot_target

__all__ = ["robustness"]


def robustness(
    run: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN]", help="A run saved by dendrocap train --save; without it, one is trained."),
    ] = None,
    nonlinearity: options.NonlinearityName = "polsky",
    x_min: options.XMin = None,
    gamma: options.Gamma = None,
    theta_d: options.ThetaD = 0.05,
    theta_s: options.ThetaS = 0.5,
    inputs: options.Inputs = 999,
    branches: options.Branches = 27,
    linear: options.LinearFlag = False,
    alpha: options.Alpha = 0.5,
    rate: options.Rate = 0.1,
    gamma_ce: options.GammaCe = 10.0,
    surrogate_width: options.SurrogateWidth = None,
    surrogate_center: options.SurrogateCenter = 0.4,
    precision: options.Precision = "float32",
    patience: options.Patience = None,
    decay: options.Decay = 1e-4,
    epochs: options.Epochs = 2000,
    beyond_zero: Annotated[
        bool, typer.Option("--beyond-zero", help="Go on to --epochs after the last error is gone.")
    ] = False,
    flips: Annotated[str, typer.Option(help="Flip probabilities, separated by commas.")] = "0.01,0.05,0.1",
    noise: Annotated[str, typer.Option(help="Amplitudes of synaptic noise, separated by commas.")] = "0.2,0.5,1",
    samples: Annotated[int, typer.Option(help="Samples of the noise per point.")] = 20,
    seed: Annotated[int, typer.Option(help="Of patterns, training and noise.")] = 0,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
) -> None:
    """Measure the training error with flipped inputs and with perturbed synapses.

    Example: dendrocap robustness run.npz --flips 0.01,0.05 --noise 0.2
    """
    from dendrocap.learning import noise_robustness, random_task, train

    target = plot_target(plot) if plot else None
    levels = {name: _numbers(name, text) for name, text in (("--flips", flips), ("--noise", noise))}
    if run is not None:
        from dendrocap.learning.storage import load_run

        stored = load_run(run)
        neuron, task, weights = stored.neuron, (stored.inputs, stored.labels), stored.weights
    else:
        neuron = options.neuron_from(nonlinearity, x_min, gamma, theta_d, theta_s, inputs, branches, linear)
        task = random_task(neuron, alpha, seed)  # type: ignore[assignment]
        result = train(
            neuron,
            *task,
            algorithm=options.algorithm_from(rate, gamma_ce, surrogate_width, surrogate_center, precision),
            schedule=options.schedule_from(patience, decay),
            max_epochs=epochs,
            seed=seed,
            stop_when_solved=not beyond_zero,
        )
        weights = result.weights
        message(f"trained: {result.errors} of {result.n_patterns} patterns wrong after {result.epochs} epochs")
    outcome = noise_robustness(
        neuron,
        weights,
        *task,
        flip_probabilities=levels["--flips"],
        noise_amplitudes=levels["--noise"],
        samples=samples,
        seed=seed,
    )
    rows = [
        {
            "kind": kind,
            "level": point.level,
            "error": point.error,
            "standard_error": point.standard_error,
            "increase": point.increase,
        }
        for kind, points in (("input flips", outcome.input_flips), ("synaptic noise", outcome.synaptic_noise))
        for point in points
    ]
    emit(rows, as_json=as_json, title=f"{neuron!r}, error {outcome.baseline:.4g} without noise")
    if target:
        from dendrocap import plot as plots

        plots.save(plots.robustness(outcome, neuron.nonlinearity.name), target)
        message(f"figure: {target}")


def _numbers(name: str, text: str) -> list[float]:
    from dendrocap.validation import refuse

    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise refuse(name, text, "numbers separated by commas") from None
