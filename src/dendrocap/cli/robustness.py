"""``dendrocap robustness``: errors of a trained neuron under noise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dendrocap.cli.option_groups import NeuronOptions, PatternOptions, RecipeOptions, spread
from dendrocap.cli.output import JsonFlag, PlotPath, draw, emit, message, plot_target

__all__ = ["robustness"]


@spread
def robustness(
    run: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN]", help="A run saved by dendrocap train --save; by default a new one is trained."),
    ] = None,
    neuron: NeuronOptions = NeuronOptions(),
    patterns: PatternOptions = PatternOptions(),
    learning: RecipeOptions = RecipeOptions(learning_rate=0.1, gamma_ce=10.0, max_epochs=2000),
    beyond_zero: Annotated[
        bool, typer.Option("--beyond-zero", help="Continue to --max-epochs after the error has reached zero.")
    ] = False,
    flips: Annotated[str, typer.Option(help="Flip probabilities, separated by commas.")] = "0.01,0.05,0.1",
    noise: Annotated[str, typer.Option(help="Amplitudes of synaptic noise, separated by commas.")] = "0.2,0.5,1",
    samples: Annotated[int, typer.Option(help="Number of noise samples per point.")] = 20,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
) -> None:
    """Measure the training error with flipped inputs and with perturbed synapses.

    Example: dendrocap robustness run.npz --flips 0.01,0.05 --noise 0.2
    """
    from dendrocap.learning import noise_robustness, train

    target = plot_target(plot)
    levels = {name: _numbers(name, text) for name, text in (("--flips", flips), ("--noise", noise))}
    if run is not None:
        from dendrocap.learning.storage import load_run

        stored = load_run(run)
        trained, weights = stored.neuron, stored.weights
        learned: tuple[Any, Any] = (stored.inputs, stored.labels)
    else:
        trained, learned = patterns.for_neuron(neuron)
        recipe = learning.recipe(stop_when_solved=not beyond_zero)
        result = train(trained, *learned, recipe, seed=patterns.seed)
        weights = result.weights
        message(f"trained: {result.errors} of {result.n_patterns} patterns wrong after {result.epochs} epochs")
    outcome = noise_robustness(
        trained,
        weights,
        *learned,
        flip_probabilities=levels["--flips"],
        noise_amplitudes=levels["--noise"],
        samples=samples,
        seed=patterns.seed,
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
    emit(rows, as_json=as_json, title=f"{trained!r}, error {outcome.baseline:.4g} without noise")
    draw(target, lambda plots: plots.robustness(outcome, trained.nonlinearity.name))


def _numbers(name: str, text: str) -> list[float]:
    from dendrocap.validation import refuse

    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise refuse(name, text, "numbers separated by commas") from None
