"""The learning commands: train, solve, measure what training reaches, and perturb what was learned."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from dendrocap.cli.options import (
    INPUTS,
    NEURON,
    RECIPE,
    SPEC,
    Flat,
    PatternOptions,
    Workers,
    names_in,
    names_of,
    refuse_useless,
    values,
)
from dendrocap.cli.output import JsonFlag, PlotPath, draw, emit, message, progress, to_write
from dendrocap.errors import InvalidParameter, TrainingFailed

if TYPE_CHECKING:
    from dendrocap.learning import AlgorithmicCapacity, EpochRecord, LoadPoint, Training, TrainingResult
    from dendrocap.learning.training import Trial
    from dendrocap.model import DendriticNeuron, Patterns


SavePath = Annotated[Path | None, to_write("--save", suffixes=(".npz",), words="Write the run to a .npz file.")]


def train(
    neuron: Flat = NEURON,
    patterns: PatternOptions = PatternOptions(),
    learning: Flat = RECIPE,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Resume a saved run: neuron, patterns and rate are taken from it."),
    ] = None,
    save: SavePath = None,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
) -> None:
    """Train a neuron by stochastic gradient descent and report the result.

    Ctrl-C ends the run early; the best weights found so far are reported and saved.

    Example: dendrocap train --theta-d 0.05 --alpha 1.0 --patience 1000 --max-epochs 20000 --save run.npz
    """
    from dendrocap.learning import Training

    recipe = learning.recipe()
    if resume is not None:
        from dendrocap.learning.training import load_run

        refuse_useless("with --resume, which continues a run", *names_of(NEURON, PatternOptions))
        before = load_run(resume)
        learned: tuple[Any, Any] = (before.inputs, before.labels)
        run = Training(before.neuron, *learned, recipe, resume=before.state)
    else:
        trained, learned = patterns.for_neuron(neuron)
        run = Training(trained, *learned, recipe, seed=patterns.seed)
    failure, interrupted = _followed_training(run)
    result = run.result()
    _report(run.neuron, result, learned, save, {}, as_json)
    draw(plot, lambda plots: plots.training(result))
    if interrupted:
        raise KeyboardInterrupt
    if failure is not None:
        raise failure


def _followed_training(run: Training) -> tuple[TrainingFailed | None, bool]:
    """Run to the end with a progress bar; returns the failure, if any, and whether the user interrupted the run."""
    with progress(run.recipe.max_epochs, "epoch") as tell:

        def show(record: EpochRecord) -> None:
            best = record.best_errors / run.n_patterns
            note = f"error {record.error:.4f}, best {best:.4f}, rate {record.learning_rate:.2g}"
            tell(record.epoch, note=note)

        try:
            run.drain(show)
        except TrainingFailed as failure:
            return failure, False
        except KeyboardInterrupt:
            return None, True
    return None, False


def _report(
    neuron: DendriticNeuron,
    result: TrainingResult,
    learned: tuple[Any, Any],
    file: Path | None,
    more: Any,
    as_json: bool,
) -> None:
    """Print one run, with one quantity per line in a table, and save it if asked to."""
    first = {name: getattr(result, name) for name in ("solved", "errors", "n_patterns", "error")}
    rest = {name: getattr(result, name) for name in ("epochs", "best_epoch", "stopped", "seconds")}
    summary = {**first, "alpha": result.n_patterns / result.neuron.n_inputs, **rest, **more}
    rows = [summary] if as_json else [{"quantity": name, "value": value} for name, value in summary.items()]
    emit(rows, as_json=as_json, title=repr(neuron))
    if file is not None:
        from dendrocap.learning import save_run

        save_run(file, result, *learned)
        message(f"run: {file}")


# ``dendrocap solve``: search for weights without errors, close to capacity.


def solve(
    neuron: Flat = NEURON.but(theta_d=0.5),
    patterns: PatternOptions = PatternOptions(alpha=1.0),
    solver: Annotated[
        str, typer.Option(help="auto, sgd, surrogate, replicated, message-passing or polished.")
    ] = "auto",
    kappa: Annotated[float, typer.Option(help="Margin asked for.", min=0.0)] = 0.0,
    anyway: Annotated[bool, typer.Option("--anyway", help="Search above the capacity, too.")] = False,
    time_limit: Annotated[float, typer.Option(help="Seconds after which the search ends.")] = 120.0,
    save: SavePath = None,
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
    if solver != "auto" or patterns.data is not None:
        refuse_useless("unless theory decides whether to search: with auto and random patterns", "anyway")
    trained, learned = patterns.for_neuron(neuron)
    if solver == "auto" and patterns.data is None and _hopeless(trained, learned, patterns, kappa) and not anyway:
        message("no search: use --anyway to search all the same, or a smaller --alpha")
        raise typer.Exit(1)
    result = _followed_search(trained, learned, solver, kappa, time_limit, patterns.seed)
    own: dict[str, Any] = {"kappa": result.kappa, "margin": result.margin}
    own["solver"] = getattr(result.algorithm, "name", repr(result.algorithm))
    _report(trained, result, learned, save, own, as_json)
    if result.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    if not result.solved:
        raise typer.Exit(1)


def _hopeless(neuron: DendriticNeuron, learned: Patterns, patterns: PatternOptions, kappa: float) -> bool:
    """Report what theory expects, and return whether the load is above the capacity."""
    from dendrocap.errors import DendrocapError
    from dendrocap.model import TaskSpec
    from dendrocap.solving import solving_outlook

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


def _followed_search(
    neuron: DendriticNeuron, patterns: Patterns, solver: str, kappa: float, time_limit: float, seed: int
) -> TrainingResult:
    """Solve with a progress bar."""
    from dendrocap.solving import solve

    began = time.monotonic()
    with progress(time_limit, "seconds") as tell:

        def show(record: Any) -> bool:
            best = record.best_errors / len(patterns.labels)
            tell(round(time.monotonic() - began, 1), note=f"error {record.error:.4f}, best {best:.4f}")
            return False

        # Whether to search at all has been decided.
        return solve(
            neuron, *patterns, solver=solver, kappa=kappa, time_limit=time_limit, seed=seed, anyway=True, callback=show
        )


# ``dendrocap algorithmic-capacity``: the largest load that training solves.


def algorithmic_capacity(
    neuron: Flat = NEURON,
    learning: Flat = RECIPE.but("decay", patience=..., max_epochs=20_000),
    inputs: Flat = INPUTS,
    start: Annotated[float, typer.Option("--from", help="Smallest load.")] = 0.1,
    stop: Annotated[float, typer.Option("--to", help="Largest load.")] = 2.0,
    resolution: Annotated[float, typer.Option(help="Spacing of the loads tried.")] = 0.1,
    method: Annotated[
        str, typer.Option(help="bisection; scan, up to the first failure; or curve, all loads from --from to --to.")
    ] = "bisection",
    tolerance: Annotated[float, typer.Option(help="Largest error that counts as solved.")] = 0.0,
    seeds: Annotated[int, typer.Option(help="Independent measurements.")] = 3,
    workers: Workers = None,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
) -> None:
    """Measure the largest load P / N that training solves, and report every load tried.

    Prints one row per load. The capacity is in the title of the table, or on stderr with --json.

    Example: dendrocap algorithmic-capacity --theta-d 0.05 --patience 1000 --from 0.8 --to 1.6
    """
    import numpy as np

    from dendrocap import learning as protocols
    from dendrocap.learning.protocols import load_points
    from dendrocap.validation import choice, whole_number

    choice("--method", method, ("bisection", "scan", "curve"))
    several = range(whole_number("--seeds", seeds, 1))
    measured = neuron.neuron()
    how: dict[str, Any] = {"recipe": learning.recipe(), "task": inputs.task(), "seeds": several}
    how |= {"tolerance": tolerance, "workers": workers}
    kept: list[Trial] = []
    interrupted = False
    with progress(seeds, "seed") as tell:
        try:
            if method == "curve":
                alphas = np.round(np.arange(start, stop + 1e-9, resolution), 12)

                def keep_run(trial: Trial) -> None:
                    kept.append(trial)
                    tell(total=len(alphas) * seeds, label="run")

                protocols.training_error_curve(measured, alphas, callback=keep_run, **how)
                verdict = ""
            else:

                def keep_seed(trials: tuple[Trial, ...]) -> None:
                    kept.extend(trials)
                    tell()

                limits = (start, stop)
                verdict = _verdict(
                    protocols.algorithmic_capacity(
                        measured, limits=limits, resolution=resolution, method=method, callback=keep_seed, **how
                    ),
                    learning.given["patience"],
                )
        except KeyboardInterrupt:
            if not kept:
                raise
            interrupted, verdict = True, "interrupted: finished runs"
    points = load_points(kept, tolerance)
    emit([_row(point, as_json) for point in points], as_json=as_json, title=verdict)
    if as_json and verdict:
        message(verdict)
    draw(plot, lambda plots: plots.error_curve(points, measured.nonlinearity.name))
    if interrupted:
        raise typer.Exit(130)


def _verdict(found: AlgorithmicCapacity, patience: int) -> str:
    low, high = found.interval
    return (
        f"algorithmic capacity {found.alpha:.3g} ({low:.3g} to {high:.3g} at 95 %), all {len(found.seeds)} seeds up to "
        f"{found.all_solved:.3g}, tolerance {found.tolerance:g}, patience {patience}"
        + (": the largest load tried, hence a lower bound" if found.reaches_limit else "")
    )


def _row(point: LoadPoint, complete: bool) -> dict[str, Any]:
    """A load for JSON, or the part of it that fits a terminal."""
    epochs = sum(trial.epochs for trial in point.trials) / len(point.trials)
    if not complete:
        return {
            "alpha": point.alpha,
            "solved": f"{point.solved} of {len(point.trials)}",
            "mean error": point.mean_error,
            "epochs": round(epochs),
        }
    low, high = point.success_interval
    return {
        "alpha": point.alpha,
        "solved": point.solved,
        "seeds": len(point.trials),
        "success_rate": point.success_rate,
        "success_low": low,
        "success_high": high,
        "mean_error": point.mean_error,
        "error_of_mean": point.error_of_mean,
        "epochs": epochs,
    }


# ``dendrocap perturb``: errors of a trained neuron after a change.

# Options of changes, with the parameter of `dendrocap.perturb` and by what the option is divided.
CHANGES = {
    "theta_d_change": ("theta_d", 100.0),
    "theta_s_change": ("theta_s", 100.0),
    "failures": ("failures", 100.0),
    "nmda_block": ("nmda_block", 100.0),
    "flips": ("flips", 1.0),
    "synaptic": ("synaptic_noise", 1.0),
}


@dataclass(frozen=True, kw_only=True)
class ChangeOptions:
    """What is changed, one at a time; each takes a number, a list or a range, and 0 leaves it out."""

    panel: ClassVar[str] = "Changes"

    theta_d_change: Annotated[str, typer.Option(metavar="VALUES", help="Change of theta_d, in per cent.")] = "-25"
    theta_s_change: Annotated[str, typer.Option(metavar="VALUES", help="Change of theta_s, in per cent.")] = "-25"
    failures: Annotated[str, typer.Option(metavar="VALUES", help="Share of synapses that fail, in per cent.")] = "20"
    nmda_block: Annotated[
        str, typer.Option(metavar="VALUES", help="Blocked share of the NMDA part of g, in per cent.")
    ] = "100"
    flips: Annotated[str, typer.Option(metavar="VALUES", help="Probability that an input flips, in [0, 1].")] = "0"
    synaptic: Annotated[
        str, typer.Option(metavar="VALUES", help="Amplitude of synaptic noise: each weight times 1 + amplitude z.")
    ] = "0"


def perturb(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run saved by dendrocap train or solve --save.")],
    changes: ChangeOptions = ChangeOptions(),
    samples: Annotated[int, typer.Option(help="Number of draws of what is random: failures, flips and noise.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of these draws.")] = 0,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
) -> None:
    """Change inputs, inhibition, synapses or NMDA receptors of a trained neuron, one at a time, and count its errors.

    Example: dendrocap perturb run.npz --theta-d-change -25 --failures 20 --plot perturbed.png

    Example: dendrocap perturb run.npz --flips 0.01,0.05 --synaptic 0.2,0.5
    """
    from dendrocap.learning import perturb as intervene
    from dendrocap.learning.training import load_run

    stored = load_run(run)
    wanted: list[dict[str, float]] = [{}]
    for name, (change, per) in CHANGES.items():
        listed = values("--" + name.replace("_", "-"), getattr(changes, name))
        wanted += [{change: value / per} for value in listed if value]
    if not any({"failures", "flips", "synaptic_noise"} & one.keys() for one in wanted):
        refuse_useless("without failures, flips and noise", "samples", "seed")
    found = [intervene(stored, stored.inputs, stored.labels, **one, samples=samples, seed=seed) for one in wanted]
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
        emit(rows, title=f"{len(stored.labels)} patterns learned, {stored.errors} of them wrong")
    draw(plot, lambda plots: plots.perturbations(found))


# ``dendrocap generalise``: compare the dendritic with the linear neuron on images.

# Settings of each preset: training images, epochs, seeds. None means all images.
PRESETS: dict[str, tuple[int | None, int, int]] = {"quick": (2000, 20, 3), "paper": (None, 100, 10)}

BRANCHES = {"mnist": 7, "fashion-mnist": 7, "cifar10": 8, "cifar10-odd-even": 8, "digits": 4}


# The recipe of the dendritic neuron; the linear one has its own rate and steepness, and the same schedule.
IMAGES = {"learning_rate": 0.03, "gamma_ce": 10.0, "max_epochs": None}


def generalise(
    dataset: Annotated[
        str,
        typer.Argument(
            help="mnist, fashion-mnist, cifar10 (bird/ship), cifar10-odd-even, or digits, which needs no files.",
            autocompletion=names_in("dendrocap.datasets", "BINARY_SETS"),
        ),
    ],
    preset: Annotated[str, typer.Option(help="quick: 2,000 images, 20 epochs, 3 seeds; paper: all, 100, 10")] = "quick",
    neuron: Flat = SPEC.but(theta_d=0.1),
    n_branches: Annotated[
        int | None,
        typer.Option("--n-branches", "-K", help="Branches K; by default 7 or 8, as in the paper's appendix."),
    ] = None,
    learning: Flat = RECIPE.but("surrogate_width", "surrogate_center", "decay", **IMAGES),
    images: Annotated[int | None, typer.Option(help="Training images, balanced; overrides the preset.")] = None,
    seeds: Annotated[int | None, typer.Option(help="Number of seeds; overrides the preset.")] = None,
    linear_rate: Annotated[float, typer.Option(help="Learning rate of the linear neuron.")] = 0.1,
    linear_gamma_ce: Annotated[float, typer.Option(help="Steepness of the loss of the linear neuron.")] = 10.0,
    workers: Annotated[int | None, typer.Option(help="Number of parallel seeds; by default all cores.")] = None,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare training and test errors of the dendritic and the linear neuron, epoch by epoch.

    Example: dendrocap generalise mnist --preset quick --plot mnist.png
    """
    from dendrocap.datasets import BINARY_SETS
    from dendrocap.sweeps.library import GeneralisationCurve, summary
    from dendrocap.sweeps.library import generalise as run
    from dendrocap.validation import choice, whole_number

    choice("dataset", dataset, tuple(BINARY_SETS))
    n_train, max_epochs, n_seeds = PRESETS[choice("--preset", preset, tuple(PRESETS))]
    n_train = images if images is not None else None if dataset == "digits" else n_train  # digits has 1200 in all
    max_epochs = whole_number("--max-epochs", learning.known.get("max_epochs", max_epochs), 1)
    n_seeds = whole_number("--seeds", n_seeds if seeds is None else seeds, 1)
    if neuron.given["theta_d"] <= 0.0:
        raise InvalidParameter(f"--theta-d {neuron.given['theta_d']} is not allowed: it must be > 0")
    kept: list[GeneralisationCurve] = []
    interrupted = False
    with progress(2 * n_seeds, f"training on {dataset}") as step:

        def keep(curve: GeneralisationCurve) -> None:
            if curve.epochs.size and curve.epochs[-1] == max_epochs:  # Ctrl-C leaves shorter curves
                kept.append(curve)
            step()

        try:
            curves = run(
                dataset,
                neuron.spec(),
                learning.recipe(max_epochs=max_epochs),
                n_branches=BRANCHES[dataset] if n_branches is None else n_branches,
                seeds=range(n_seeds),
                n_train=n_train,
                every=max(1, max_epochs // 20),
                workers=workers,
                callback=keep,
                linear_rate=linear_rate,
                linear_gamma_ce=linear_gamma_ce,
            )
        except KeyboardInterrupt:
            if not kept:
                raise
            curves, interrupted = sorted(kept, key=lambda curve: (curve.contender, curve.seed)), True
    rows = summary(curves)
    last = [row for row in rows if row["epoch"] == rows[-1]["epoch"]]
    emit(rows if as_json else last, as_json=as_json, title=f"{BINARY_SETS[dataset].meaning}, {n_seeds} seeds")
    draw(plot, lambda plots: plots.generalisation(rows, BINARY_SETS[dataset].meaning))
    if interrupted:
        message(f"interrupted: {len(curves)} of {2 * n_seeds} runs are finished and shown")
        raise typer.Exit(130)
