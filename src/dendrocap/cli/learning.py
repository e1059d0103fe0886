"""``dendrocap train``: train one neuron, on random patterns or on your own."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dendrocap.cli import options
from dendrocap.cli.options import (
    InputOptions,
    NeuronOptions,
    PatternOptions,
    PlateauOptions,
    RecipeOptions,
    SpecOptions,
    names_in,
)
from dendrocap.cli.output import JsonFlag, PlotPath, draw, emit, message, plot_target, progress
from dendrocap.errors import InvalidParameter, TrainingFailed

if TYPE_CHECKING:
    from dendrocap.learning import AlgorithmicCapacity, EpochRecord, LoadPoint, Training, TrainingResult
    from dendrocap.learning.training import Trial
    from dendrocap.model import DendriticNeuron, Patterns


def train(
    neuron: NeuronOptions,
    patterns: PatternOptions,
    learning: RecipeOptions,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Resume a saved run: neuron, patterns and rate are taken from it."),
    ] = None,
    save: options.SavePath = None,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
) -> None:
    """Train a neuron by stochastic gradient descent and report the result.

    Ctrl-C ends the run early; the best weights found so far are reported and saved.

    Example: dendrocap train --theta-d 0.05 --alpha 1.0 --patience 1000 --max-epochs 20000 --save run.npz
    """
    from dendrocap.learning import Training

    target = plot_target(plot)
    file = options.save_target(save)
    recipe = learning.recipe()
    if resume is not None:
        from dendrocap.learning.training import load_run

        before = load_run(resume)
        learned: tuple[Any, Any] = (before.inputs, before.labels)
        run = Training(before.neuron, *learned, recipe, resume=before.state)
    else:
        trained, learned = patterns.for_neuron(neuron)
        run = Training(trained, *learned, recipe, seed=patterns.seed)
    failure, interrupted = _followed_training(run)
    result = run.result()
    options.emit_run(options.run_summary(result), as_json=as_json, title=repr(run.neuron))
    options.save(file, result, learned)
    draw(target, lambda plots: plots.training(result))
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


# ``dendrocap solve``: search for weights without errors, close to capacity.


def solve(
    neuron: NeuronOptions = NeuronOptions(theta_d=0.5),
    patterns: PatternOptions = PatternOptions(alpha=1.0),
    solver: Annotated[
        str, typer.Option(help="auto, sgd, surrogate, replicated, message-passing or polished.")
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
    result = _followed_search(trained, learned, solver, kappa, time_limit, patterns.seed)
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
    from dendrocap import sweeps

    began = time.monotonic()
    with progress(time_limit, "seconds") as tell:

        def show(record: Any) -> bool:
            best = record.best_errors / len(patterns.labels)
            tell(round(time.monotonic() - began, 1), note=f"error {record.error:.4f}, best {best:.4f}")
            return False

        # Whether to search at all has been decided.
        return sweeps.solve(
            neuron, *patterns, solver=solver, kappa=kappa, time_limit=time_limit, seed=seed, anyway=True, callback=show
        )


# ``dendrocap algorithmic-capacity``: the largest load that training solves.


def algorithmic_capacity(
    neuron: NeuronOptions,
    learning: PlateauOptions,
    inputs: InputOptions,
    start: Annotated[float, typer.Option("--from", help="Smallest load.")] = 0.1,
    stop: Annotated[float, typer.Option("--to", help="Largest load.")] = 2.0,
    resolution: Annotated[float, typer.Option(help="Spacing of the loads tried.")] = 0.1,
    method: Annotated[
        str, typer.Option(help="bisection; scan, up to the first failure; or curve, all loads from --from to --to.")
    ] = "bisection",
    tolerance: Annotated[float, typer.Option(help="Largest error that counts as solved.")] = 0.0,
    seeds: Annotated[int, typer.Option(help="Independent measurements.")] = 3,
    workers: options.Workers = None,
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

    target = plot_target(plot)
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
                    learning.patience,
                )
        except KeyboardInterrupt:
            if not kept:
                raise
            interrupted, verdict = True, "interrupted: finished runs"
    points = load_points(kept, tolerance)
    emit([_row(point, as_json) for point in points], as_json=as_json, title=verdict)
    if as_json and verdict:
        message(verdict)
    draw(target, lambda plots: plots.error_curve(points, measured.nonlinearity.name))
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


# ``dendrocap perturb``: experiments on a trained neuron.


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
        from dendrocap.learning.training import load_run

        stored = load_run(run)
        return stored, (stored.inputs, stored.labels)
    from dendrocap.solving import solve

    trained, learned = patterns.for_neuron(neuron)
    result = solve(trained, *learned, seed=patterns.seed, anyway=True)  # errors that are left are reported
    message(f"solved: {result.errors} of {result.n_patterns} patterns wrong after {result.epochs} epochs")
    return result, learned


# ``dendrocap robustness``: errors of a trained neuron under noise.


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
        from dendrocap.learning.training import load_run

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


# ``dendrocap generalise``: compare the dendritic with the linear neuron on images.

# Settings of each preset: training images, epochs, seeds. None means all images.
PRESETS: dict[str, tuple[int | None, int, int]] = {"quick": (2000, 20, 3), "paper": (None, 100, 10)}

BRANCHES = {"mnist": 7, "fashion-mnist": 7, "cifar10": 8, "cifar10-odd-even": 8, "digits": 4}


@dataclass(frozen=True, kw_only=True)
class ImageRecipe(RecipeOptions):
    """How the dendritic neuron is trained; the linear one has its own rule and the same schedule."""

    learning_rate: Annotated[float, typer.Option(help="Learning rate of the dendritic neuron, first epoch.")] = 0.03
    gamma_ce: Annotated[float, typer.Option(help="Steepness of the loss of the dendritic neuron.")] = 10.0
    max_epochs: Annotated[int | None, typer.Option(help="Epochs; overrides the preset.")] = None  # type: ignore[assignment]


def generalise(
    dataset: Annotated[
        str,
        typer.Argument(
            help="mnist, fashion-mnist, cifar10 (bird/ship), cifar10-odd-even, or digits, which needs no files.",
            autocompletion=names_in("dendrocap.datasets", "BINARY_SETS"),
        ),
    ],
    preset: Annotated[str, typer.Option(help="quick: 2,000 images, 20 epochs, 3 seeds; paper: all, 100, 10")] = "quick",
    neuron: SpecOptions = SpecOptions(theta_d=0.1),
    n_branches: Annotated[
        int | None,
        typer.Option("--n-branches", "-K", help="Branches K; by default 7 or 8, as in the paper's appendix."),
    ] = None,
    learning: ImageRecipe = ImageRecipe(),
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
    from dendrocap.cli.output import progress
    from dendrocap.datasets import BINARY_SETS
    from dendrocap.sweeps.generalise import GeneralisationCurve, summary
    from dendrocap.sweeps.generalise import generalise as run
    from dendrocap.validation import choice, whole_number

    choice("dataset", dataset, tuple(BINARY_SETS))
    n_train, max_epochs, n_seeds = PRESETS[choice("--preset", preset, tuple(PRESETS))]
    n_train = images if images is not None else None if dataset == "digits" else n_train  # digits has 1200 in all
    max_epochs = whole_number("--max-epochs", learning.max_epochs or max_epochs, 1)
    n_seeds = whole_number("--seeds", n_seeds if seeds is None else seeds, 1)
    if neuron.theta_d <= 0.0:
        raise InvalidParameter(f"--theta-d {neuron.theta_d} is not allowed: it must be > 0")
    target = plot_target(plot)
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
    draw(target, lambda plots: plots.generalisation(rows, BINARY_SETS[dataset].meaning))
    if interrupted:
        message(f"interrupted: {len(curves)} of {2 * n_seeds} runs are finished and shown")
        raise typer.Exit(130)
