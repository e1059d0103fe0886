"""Options that the learning commands share, and what they stand for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dendrocap.cli.output import emit
from dendrocap.errors import InvalidParameter

if TYPE_CHECKING:
    from dendrocap.learning import SGD, Schedule, TrainingResult
    from dendrocap.model import DendriticNeuron

__all__ = [
    "Alpha", "Branches", "DataPath", "Decay", "Epochs", "Gamma", "GammaCe", "Inputs", "LinearFlag",
    "NonlinearityName", "Patience", "Precision", "Rate", "SavePath", "Seed", "SurrogateCenter", "SurrogateWidth",
    "ThetaD", "ThetaS", "Workers", "XMin", "algorithm_from", "emit_run", "neuron_from", "read_task",
    "run_summary", "save_target", "schedule_from",
]  # fmt: skip

NonlinearityName = Annotated[str, typer.Option("--nonlinearity", help="polsky, relu, saturating-relu, step or linear.")]
XMin = Annotated[float | None, typer.Option(help="Polsky: where the sigmoid takes over, in [0, 1]; 0.33 if not given.")]
Gamma = Annotated[float | None, typer.Option(help="Polsky: steepness of the sigmoid, > 0; 15 if not given.")]
ThetaD = Annotated[float, typer.Option(help="Dendritic threshold, or the only one with --linear.")]
ThetaS = Annotated[float, typer.Option(help="Somatic threshold.")]
Inputs = Annotated[int, typer.Option("--inputs", "-N", help="Number of inputs N.")]
Branches = Annotated[int, typer.Option("--branches", "-K", help="Number of branches K.")]
LinearFlag = Annotated[bool, typer.Option("--linear", help="The one-layer neuron, without dendrites.")]
Alpha = Annotated[float, typer.Option(help="Load P / N of random patterns.")]
Rate = Annotated[float, typer.Option("--rate", help="First learning rate.")]
GammaCe = Annotated[float, typer.Option(help="Steepness of the cross-entropy.")]
SurrogateWidth = Annotated[
    float | None,
    typer.Option(help="Learn with 1/(1+((x-center)/width)^2) in place of g'(x); without it, g' itself."),
]
SurrogateCenter = Annotated[float, typer.Option(help="Centre of the surrogate.")]
Precision = Annotated[str, typer.Option(help="float32 or float64.")]
Patience = Annotated[
    int | None, typer.Option(help="Halve the rate after so many epochs without a new minimum; end at 1/(4096 N).")
]
Decay = Annotated[float, typer.Option(help="Without --patience: the rate shrinks by this fraction per epoch.")]
Epochs = Annotated[int, typer.Option("--epochs", help="Most epochs of a run.")]
Workers = Annotated[int | None, typer.Option(help="Runs at a time; by default the number of cores.")]
SavePath = Annotated[Path | None, typer.Option("--save", metavar="FILE", help="Write the run to a .npz file.")]

DataPath = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A .npz file with binary arrays inputs and labels, instead of --alpha."),
]
Seed = Annotated[int, typer.Option(help="Of patterns, first weights and shuffles.")]


def neuron_from(
    nonlinearity: str,
    x_min: float | None,
    gamma: float | None,
    theta_d: float,
    theta_s: float,
    inputs: int,
    branches: int,
    linear: bool,
) -> DendriticNeuron:
    """The neuron that the options describe."""
    from dendrocap.model import DendriticNeuron, LinearNeuron, NeuronSpec, named_nonlinearity

    given = {key: value for key, value in (("x_min", x_min), ("gamma", gamma)) if value is not None}
    if linear:
        if given:
            raise InvalidParameter("--linear has no dendrites: --x-min and --gamma are not allowed with it")
        return LinearNeuron(theta_d, inputs)
    return DendriticNeuron(NeuronSpec(named_nonlinearity(nonlinearity, **given), theta_d, theta_s), inputs, branches)


def algorithm_from(rate: float, gamma_ce: float, width: float | None, center: float, precision: str) -> SGD:
    """The learning rule that the options describe."""
    from dendrocap.learning import SGD, Lorentzian

    surrogate = None if width is None else Lorentzian(center, width)
    return SGD(rate, gamma_ce, surrogate, precision)


def schedule_from(patience: int | None, decay: float) -> Schedule:
    """The schedule that the options describe."""
    from dendrocap.learning import ExponentialAnnealing, HalveOnPlateau

    return ExponentialAnnealing(decay) if patience is None else HalveOnPlateau(patience)


def save_target(path: Path) -> Path:
    """The path of a run to be, refused before any work is done if it cannot be written."""
    if path.suffix != ".npz":
        raise InvalidParameter(f"--save {path} is not allowed: the name must end in .npz")
    if not path.parent.is_dir():
        raise InvalidParameter(f"--save {path} is not allowed: the folder {path.parent} does not exist")
    return path


def read_task(path: Path) -> Any:
    """Patterns and labels from a user's file."""
    import numpy as np

    from dendrocap.files import reading
    from dendrocap.model import Patterns

    what = "a .npz file with arrays inputs and labels"
    with reading(path, what), path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        return Patterns(stored["inputs"], stored["labels"])


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
