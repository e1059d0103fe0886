"""What the learning commands share besides their option groups: other options and the summary of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dendrocap.cli.output import emit
from dendrocap.errors import InvalidParameter

if TYPE_CHECKING:
    from dendrocap.learning import TrainingResult

__all__ = ["SavePath", "Workers", "emit_run", "run_summary", "save_target"]

Workers = Annotated[int | None, typer.Option(help="Runs at a time; by default the number of cores.")]
SavePath = Annotated[Path | None, typer.Option("--save", metavar="FILE", help="Write the run to a .npz file.")]


def save_target(path: Path) -> Path:
    """The path of a run to be, refused before any work is done if it cannot be written."""
    if path.suffix != ".npz":
        raise InvalidParameter(f"--save {path} is not allowed: the name must end in .npz")
    if not path.parent.is_dir():
        raise InvalidParameter(f"--save {path} is not allowed: the folder {path.parent} does not exist")
    return path


def run_summary(result: TrainingResult) -> dict[str, Any]:
    """What a run is reported by."""
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


def emit_run(summary: dict[str, Any], *, as_json: bool, title: str) -> None:
    """Print one run; it has more quantities than a terminal has columns, so people get them one below the other."""
    rows = [summary] if as_json else [{"quantity": name, "value": value} for name, value in summary.items()]
    emit(rows, as_json=as_json, title=title)
