"""``dendrocap fit``: from measured curves and amplitudes to the model, in millivolts."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dendrocap.cli.option_groups import ShapeOptions, TaskOptions, spread
from dendrocap.cli.output import JsonFlag, PlotPath, draw, emit, message, plot_target, progress
from dendrocap.errors import InvalidParameter

if TYPE_CHECKING:
    from dendrocap.fitting import CapacityReport, NonlinearityFit, WeightFit
    from dendrocap.fitting.alternatives import Candidate

__all__ = ["fit"]

fit = typer.Typer(no_args_is_help=True, help="Fit measured dendritic curves and synaptic strengths.")

DataFile = Annotated[Path, typer.Argument(help="Text with columns of numbers; headers, units and # comments are fine.")]
Bootstrap = Annotated[int, typer.Option(help="Bootstrap replicates for the confidence intervals; 0 for none.")]
Seed = Annotated[int, typer.Option(help="Seed of the bootstrap.")]


@fit.command("nonlinearity")
def fit_nonlinearity_command(
    curve: DataFile,
    x: Annotated[str | None, typer.Option(help="Column of the input, by name or number.")] = None,
    y: Annotated[str | None, typer.Option(help="Column of the output, by name or number.")] = None,
    kind: Annotated[str, typer.Option(help="polsky, or tabulated to take the points as they are.")] = "polsky",
    scale: Annotated[float | None, typer.Option(help="Keep the scale fixed at this value, in mV.")] = None,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
) -> None:
    """Fit a dendritic input-output curve: x_min, gamma, and the scale that the model calls 1.

    Example: dendrocap fit nonlinearity curve.csv --plot curve.png
    """
    target = plot_target(plot)
    found = _fitted_curve(curve, x, y, kind, scale)
    rows = {name: value for name, value in asdict(found).items() if name not in ("nonlinearity", "x", "y")}
    rows["at_bounds"] = ", ".join(found.at_bounds)
    emit([{"nonlinearity": found.nonlinearity.name, "n_points": found.x.size, **rows}], as_json=as_json)
    draw(target, lambda plots: plots.nonlinearity_fit(found))


@fit.command("weights")
@spread
def fit_weights_command(
    amplitudes: DataFile,
    tested: Annotated[int | None, typer.Option(help="Pairs tested, connected or not.")] = None,
    column: Annotated[str | None, typer.Option(help="Column of the amplitudes, by name or number.")] = None,
    p0: Annotated[str | None, typer.Option(help="Silent fraction: a number, 'tested' or 'free'.")] = None,
    method: Annotated[str, typer.Option(help="likelihood, or histogram for the paper's least squares.")] = "likelihood",
    detection: Annotated[float, typer.Option(help="mV below which a connection looks silent.")] = 0.0,
    bin_width: Annotated[float, typer.Option(help="Of the histogram, in mV.")] = 0.1,
    task: TaskOptions = TaskOptions(f_in=0.05, f_out=0.05),
    shape: ShapeOptions = ShapeOptions(),
    curve: Annotated[
        Path | None, typer.Option(help="Measured curve to fit for g and the scale, instead of naming one.")
    ] = None,
    n_inputs: Annotated[int, typer.Option("--n-inputs", "-N", help="N, synapses of the neuron.")] = 10_000,
    n_branches: Annotated[int, typer.Option("--n-branches", "-K", help="K, its dendritic branches.")] = 100,
    scale: Annotated[float | None, typer.Option(help="mV of a saturated dendrite; 15 if no curve tells it.")] = None,
    bootstrap: Bootstrap = 1000,
    seed: Seed = 0,
    level: Annotated[float, typer.Option(help="Confidence level.")] = 0.95,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
) -> None:
    """Fit EPSP amplitudes by the weights of a neuron at capacity, and find its thresholds and what it stores.

    Example: dendrocap fit weights epsp.csv --tested 8050 --p0 0.76 --x-min 0.2 --gamma 20 --plot fit.png
    """
    from dendrocap.datasets import read_table
    from dendrocap.fitting import capacity_report, fit_weights
    from dendrocap.model import Units
    from dendrocap.validation import whole_number

    target = plot_target(plot)
    if curve is None:
        g, measured_scale = shape.g(), 15.0
    elif shape.x_min is not None or shape.gamma is not None or scale is not None:
        raise InvalidParameter("--curve is not allowed together with --x-min, --gamma or --scale: it determines them")
    else:
        fitted_curve = _fitted_curve(curve, None, None, "polsky", None)
        g, measured_scale = fitted_curve.nonlinearity, fitted_curve.scale
        message(f"g from {curve}: {g!r}, scale {measured_scale:.4g} mV")
    values = read_table(amplitudes).column(column, hints=("epsp", "ampl", "weight")).values
    with progress(whole_number("--bootstrap", bootstrap, 0), "bootstrap") as step:
        found = fit_weights(
            values,
            tested,
            p0=_silent_fraction(p0, tested),
            method=method,
            detection_threshold_mv=detection,
            bin_width_mv=bin_width,
            nonlinearity=g,
            task=task.task(),
            units=Units(n_inputs, n_branches, measured_scale if scale is None else scale),
            n_bootstrap=bootstrap,
            level=level,
            rng=whole_number("--seed", seed, 0),
            callback=step,
        )
    report = capacity_report(found)
    if as_json:
        emit([_weights_row(found, report)], as_json=True)
    else:
        emit(_weights_table(found, report), title=f"{found.amplitudes_mv.size} amplitudes, {found.nonlinearity!r}")
        emit([_candidate_row(row) for row in found.comparison], title="the visible amplitudes, by likelihood")
    message(f"silent fraction: {found.dendrites.verdict}")
    draw(target, lambda plots: plots.weight_fit(found, report))


@fit.command("song2005")
def song2005_command(
    bootstrap: Bootstrap = 1000, seed: Seed = 0, plot: PlotPath = None, as_json: JsonFlag = False
) -> None:
    """The paper's fit (Fig. 6) to the 931 amplitudes of Song et al. (2005), as printed and from the raw data.

    Example: dendrocap fit song2005 --plot fig6.png
    """
    from dendrocap.experiments.song2005_fit import PRINTED, compare_with_paper
    from dendrocap.validation import whole_number

    target = plot_target(plot)
    with progress(3 * whole_number("--bootstrap", bootstrap, 0), "bootstrap") as step:
        found = compare_with_paper(bootstrap, whole_number("--seed", seed, 0), step)
    columns = ["label", "p0", "W_star", "W_star_mv", "theta_d_mv", "theta_s", "theta_s_mv", "silent_fraction"]
    emit([asdict(reading) for reading in found.readings], as_json=as_json, columns=columns)
    message(found.caption)
    if target:
        from dendrocap.fitting import capacity_report
        from dendrocap.theory import CapacityWeights

        fit = found.paper_way
        printed = CapacityWeights(fit.B, float(PRINTED.units.weight_mv(PRINTED.W_star)))
        others = [(f"printed, {printed.W_star:.2f} mV", printed)]
        report = capacity_report(fit)
        draw(target, lambda plots: plots.weight_fit(fit, report, others=others, caption=found.caption))


def _fitted_curve(path: Path, x: str | None, y: str | None, kind: str, scale: float | None) -> NonlinearityFit:
    from dendrocap.datasets import read_table
    from dendrocap.fitting import fit_nonlinearity

    curve = read_table(path).curve(x, y)
    return fit_nonlinearity(curve.x, curve.y, kind, scale=scale)


def _silent_fraction(text: str | None, tested: int | None) -> float | str:
    """The option --p0: a number or a word; without it, whatever the data allow."""
    if text is None:
        return "free" if tested is None else "tested"
    try:
        return float(text)
    except ValueError:
        return text


def _weights_row(fit: WeightFit, report: CapacityReport) -> dict[str, Any]:
    """All of a fit in one flat object."""
    row: dict[str, Any] = {"n_amplitudes": fit.amplitudes_mv.size, "n_hidden": fit.n_hidden, "n_tested": fit.n_tested}
    for name in ("silent_fraction", "W_star_mv", "theta_d_mv", "theta_s_mv"):
        row |= {f"{name}{end}": value for end, value in zip(("", "_low", "_high"), getattr(fit, name), strict=True)}
    row |= {
        "B": fit.B,
        "W_star": fit.W_star,
        "theta_d": fit.dendrites.theta_d,
        "theta_s": fit.dendrites.theta_s,
        "theta_s_solutions": list(fit.dendrites.theta_s_solutions),
        "theta_s_sets_mv": [list(ends) for ends in fit.theta_s_sets_mv],
        "reachable": fit.dendrites.reachable,
        "reachable_low": fit.dendrites.reach.low,
        "reachable_high": fit.dendrites.reach.high,
        "nearest_silent_fraction": fit.dendrites.solution.silent_fraction,
        "detected_fraction": fit.detected_fraction,
        "observed_fraction": fit.observed_fraction,
        "alpha_c": report.alpha_c,
        "n_patterns": report.n_patterns,
        "bits_per_synapse": report.bits_per_synapse,
        "preactivation_mean_mv": report.preactivation_mv.mean(),
        "preactivation_sd_mv": report.preactivation_mv.std(),
        "inactive_branches": report.inactive_branches,
        "linear_kappa": fit.linear.kappa,
        "linear_kappa_mv": fit.linear.kappa_mv,
        "linear_alpha_c": report.linear_alpha_c,
    }
    for candidate in fit.comparison:
        name = candidate.name.replace(", ", "_").replace(" ", "_")
        row |= {f"log_likelihood_{name}": candidate.log_likelihood, f"aic_{name}": candidate.aic}
    return row


def _weights_table(fit: WeightFit, report: CapacityReport) -> list[dict[str, Any]]:
    """What a person wants to see, one quantity per line."""
    lines: list[tuple[str, float | str, float | str, float | str, str]] = [
        ("silent fraction p0", *fit.silent_fraction, ""),
        ("W_star", *fit.W_star_mv, "mV"),
        ("dendritic threshold theta_d", *fit.theta_d_mv, "mV"),
        ("somatic threshold theta_s", *fit.theta_s_mv, "mV" if fit.dendrites.reachable else "mV, nearest"),
        ("silent fraction of that neuron", report.silent_fraction, "", "", ""),
        ("reachable silent fractions", "", fit.dendrites.reach.low, fit.dendrites.reach.high, ""),
        ("capacity alpha_c", report.alpha_c, "", "", "patterns / synapse"),
        ("patterns stored", report.n_patterns, "", "", ""),
        ("information", report.bits_per_synapse, "", "", "bits / synapse"),
        ("branch input, mean", report.preactivation_mv.mean(), "", "", "mV"),
        ("branch input, sd", report.preactivation_mv.std(), "", "", "mV"),
        ("without dendrites: margin kappa", report.linear_kappa_mv, "", "", "mV"),
        ("without dendrites: capacity", report.linear_alpha_c, "", "", "patterns / synapse"),
    ]
    return [dict(zip(("quantity", "value", "low", "high", "unit"), line, strict=True)) for line in lines]


def _candidate_row(candidate: Candidate) -> dict[str, Any]:
    return {
        "distribution": candidate.name,
        "parameters": ", ".join(f"{name} {value:.4g}" for name, value in candidate.parameters),
        "log likelihood": candidate.log_likelihood,
        "AIC": candidate.aic,
        "AIC - best": candidate.delta_aic,
    }
