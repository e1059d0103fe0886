"""``dendrocap solve``: search for weights without errors, close to capacity."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dendrocap.cli import learning_options as options
from dendrocap.cli.option_groups import NeuronOptions, PatternOptions, spread
from dendrocap.cli.output import JsonFlag, message, progress

if TYPE_CHECKING:
    from dendrocap.learning import TrainingResult
    from dendrocap.model import DendriticNeuron, Patterns

__all__ = ["solve"]


@spread
def solve(
    neuron: NeuronOptions = NeuronOptions(theta_d=0.5),
    patterns: PatternOptions = PatternOptions(alpha=1.0),
    solver: Annotated[
        str,
        typer.Option(
            help="auto, sgd, surrogate, sharpening, least-action, replicated, message-passing, polished or selected."
        ),
    ] = "auto",
    kappa: Annotated[float, typer.Option(help="Margin asked for.", min=0.0)] = 0.0,
    anyway: Annotated[bool, typer.Option("--anyway", help="Search above the capacity, too.")] = False,
    time_limit: Annotated[float, typer.Option(help="Seconds after which the search ends.")] = 120.0,
    save: options.SavePath = None,
    as_json: JsonFlag = False,
) -> None:
    """Search for weights that classify every pattern correctly, within a time limit.

    With auto and random patterns theory comes first: the distance of the load from the capacity, and the chance of
    success. Above the capacity there is no search, unless --anyway asks for it.

    The reported errors are recounted from the weights. Ctrl-C ends the search early; the best weights found so far are
    reported and saved. The exit code is 1 if errors are left.

    Example: dendrocap solve --theta-d 0.5 --alpha 1.8 --time-limit 60 --save solution.npz
    """
    from dendrocap.learning.training import INTERRUPTED
    from dendrocap.validation import real_number

    real_number("time_limit", time_limit, 0.0)
    file = options.save_target(save)
    trained, learned = patterns.for_neuron(neuron)
    if solver == "auto" and patterns.data is None and _hopeless(trained, learned, patterns, kappa) and not anyway:
        message("no search: use --anyway to search all the same, or a smaller --alpha")
        raise typer.Exit(1)
    result = _follow(trained, learned, solver, kappa, time_limit, patterns.seed)
    summary = {"solver": getattr(result.algorithm, "name", repr(result.algorithm)), **options.run_summary(result)}
    summary |= {"kappa": result.kappa, "margin": result.margin}
    options.emit_run(summary, as_json=as_json, title=repr(trained))
    options.save(file, result, learned)
    if result.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    if not result.solved:
        raise typer.Exit(1)


def _hopeless(neuron: DendriticNeuron, learned: Patterns, patterns: PatternOptions, kappa: float) -> bool:
    """Report what theory expects, and return whether the load is above the capacity."""
    from dendrocap.errors import DendrocapError
    from dendrocap.experiments import solving_outlook
    from dendrocap.model import TaskSpec

    try:
        with progress(1.0, "capacity") as tell:
            task = TaskSpec(kappa=kappa, branch_correlation=patterns.branch_correlation)
            outlook = solving_outlook(
                neuron, len(learned.labels), task, callback=lambda share, words: tell(share, note=words)
            )
    except DendrocapError as reason:
        message(f"no estimate of the capacity: {reason}")
        return False
    message(outlook.words)
    return outlook.hopeless


def _follow(
    neuron: DendriticNeuron, patterns: Patterns, solver: str, kappa: float, time_limit: float, seed: int
) -> TrainingResult:
    """Solve with a progress bar."""
    from dendrocap import experiments

    began = time.monotonic()
    with progress(time_limit, "seconds") as tell:

        def show(record: Any) -> bool:
            best = record.best_errors / len(patterns.labels)
            tell(round(time.monotonic() - began, 1), note=f"error {record.error:.4f}, best {best:.4f}")
            return False

        # Whether to search at all has been decided.
        return experiments.solve(
            neuron, *patterns, solver=solver, kappa=kappa, time_limit=time_limit, seed=seed, anyway=True, callback=show
        )
