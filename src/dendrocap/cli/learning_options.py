"""Options and output that the learning commands share, besides their option groups."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dendrocap.cli.output import emit, message
from dendrocap.files import writable

if TYPE_CHECKING:
    from dendrocap.learning import TrainingResult

__all__ = ["SavePath", "Workers", "emit_run", "run_summary", "save", "save_target"]

Workers = Annotated[int | None, typer.Option(help="Number of parallel runs; by default the number of cores.")]
SavePath = Annotated[Path | None, typer.Option("--save", metavar="FILE", help="Write the run to a .npz file.")]


def save_target(path: Path | None) -> Path | None:
    """The checked path of the run to save, or None."""
    return path and writable(path, (".npz",), "--save")


def save(target: Path | None, result: TrainingResult, patterns: tuple[Any, Any]) -> None:
    """Write a run and its patterns; does nothing without a target."""
    if target is not None:
        from dendrocap.learning import save_run

        save_run(target, result, *patterns)
        message(f"run: {target}")


def run_summary(result: TrainingResult) -> dict[str, Any]:
    """The quantities reported for a run."""
    first = {name: getattr(result, name) for name in ("solved", "errors", "n_patterns", "error")}
    rest = {name: getattr(result, name) for name in ("epochs", "best_epoch", "stopped", "seconds")}
    return {**first, "alpha": result.n_patterns / result.neuron.n_inputs, **rest}


def emit_run(summary: dict[str, Any], *, as_json: bool, title: str) -> None:
    """Print one run; the table has one quantity per line, because they do not fit side by side."""
    rows = [summary] if as_json else [{"quantity": name, "value": value} for name, value in summary.items()]
    emit(rows, as_json=as_json, title=title)
