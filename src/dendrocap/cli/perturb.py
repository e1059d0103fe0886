"""``dendrocap perturb``: experiments on a trained neuron."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from dendrocap.cli.option_groups import NeuronOptions, PatternOptions, spread
from dendrocap.cli.output import JsonFlag, PlotPath, draw, emit, message, plot_target

__all__ = ["perturb"]


@spread
def perturb(
    run: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN]", help="A run saved by dendrocap train --save; by default a new one is solved."),
    ] = None,
    theta_d_change: Annotated[float, typer.Option("--theta-d-change", help="Change of theta_d, in per cent.")] = -25.0,
    theta_s_change: Annotated[float, typer.Option("--theta-s-change", help="Change of theta_s, in per cent.")] = -25.0,
    failures: Annotated[float, typer.Option(help="Share of synapses that fail, in per cent.")] = 20.0,
    nmda_block: Annotated[float, typer.Option(help="Blocked share of the NMDA part of g, in per cent.")] = 100.0,
    samples: Annotated[int, typer.Option(help="Number of random draws of failing synapses.")] = 20,
    neuron: NeuronOptions = NeuronOptions(theta_d=0.5),
    patterns: PatternOptions = PatternOptions(),
    plot: PlotPath = None,
    as_json: JsonFlag = False,
) -> None:
    """Block inhibition, synapses or NMDA receptors of a trained neuron, one at a time, and count its errors.

    Example: dendrocap perturb run.npz --theta-d-change -25 --failures 20 --plot perturbed.png
    """
    from dendrocap.learning import perturb as intervene

    target = plot_target(plot)
    result, learned = _trained(run, neuron, patterns)
    interventions: list[dict[str, float]] = [
        {},
        {"theta_d": theta_d_change / 100.0},
        {"theta_s": theta_s_change / 100.0},
        {"failures": failures / 100.0},
        {"nmda_block": nmda_block / 100.0},
    ]
    found = [
        intervene(result, *learned, **one, samples=samples, seed=patterns.seed)
        for one in interventions
        if not one or any(one.values())
    ]
    if as_json:
        emit([asdict(one) for one in found], as_json=True)
    else:
        rows = [
            {
                "intervention": one.words,
                "misses": f"{100.0 * one.misses:.1f} %",
                "false alarms": f"{100.0 * one.false_alarms:.1f} %",
                "standard error": f"{100.0 * one.standard_error:.1f} %" if one.standard_error else "",
            }
            for one in found
        ]
        emit(rows, title=f"{len(learned[1])} patterns learned, {result.errors} of them wrong")
    draw(target, lambda plots: plots.perturbations(found))


def _trained(run: Path | None, neuron: NeuronOptions, patterns: PatternOptions) -> tuple[Any, tuple[Any, Any]]:
    """A stored run, or one solved here, with its patterns."""
    if run is not None:
        from dendrocap.learning.storage import load_run

        stored = load_run(run)
        return stored, (stored.inputs, stored.labels)
    from dendrocap.experiments import solve

    trained, learned = patterns.for_neuron(neuron)
    result = solve(trained, *learned, seed=patterns.seed, anyway=True)  # errors that are left are reported
    message(f"solved: {result.errors} of {result.n_patterns} patterns wrong after {result.epochs} epochs")
    return result, learned
