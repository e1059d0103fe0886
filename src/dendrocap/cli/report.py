"""``dendrocap report``: one printable report from the measurements of a laboratory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dendrocap import __version__
from dendrocap.cli.cell import cell_row, group_table
from dendrocap.cli.fit import curve_table, reported, silent_fraction_option, weights_row, weights_table
from dendrocap.cli.measured_files import AmplitudeOptions, CurveOptions, DataFile, FileOptions
from dendrocap.cli.option_groups import TaskOptions, spread
from dendrocap.cli.output import message, plain, progress
from dendrocap.files import writable

if TYPE_CHECKING:
    from dendrocap.figures.lab_report import Section
    from dendrocap.fitting import CapacityReport, NonlinearityFit, WeightFit
    from dendrocap.model import TaskSpec
    from dendrocap.theory.validity import Flag

__all__ = ["report"]


@spread
def report(
    curve: DataFile,
    amplitudes: DataFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="File of the report: .html or .pdf.")] = Path("report.html"),
    cell: Annotated[Path | None, typer.Option(help="Reconstruction of the cell; it determines N and K.")] = None,
    synapses_per_um: Annotated[float, typer.Option(help="Synapses per micrometre of the reconstruction.")] = 1.0,
    tested: Annotated[int | None, typer.Option(help="Number of pairs tested, connected or not.")] = None,
    p0: Annotated[str | None, typer.Option(help="Silent fraction: a number, 'tested' or 'free'.")] = None,
    detection: Annotated[float, typer.Option(help="Detection limit in mV; weaker connections look silent.")] = 0.0,
    points: CurveOptions = CurveOptions(kind="smooth"),
    numbers: AmplitudeOptions = AmplitudeOptions(),
    files: FileOptions = FileOptions(),
    task: TaskOptions = TaskOptions(f_in=0.05, f_out=0.05),
    n_inputs: Annotated[int, typer.Option("--n-inputs", "-N", help="Number of synapses N.")] = 10_000,
    n_branches: Annotated[int, typer.Option("--n-branches", "-K", help="Number of dendritic branches K.")] = 100,
    attenuation: Annotated[
        float | None, typer.Option(help="Share of a local mV that arrives at the soma; by default 1 / sqrt(K).")
    ] = None,
    accuracy: Annotated[str, typer.Option(help="Accuracy of the capacity: best (half a minute) or fast.")] = "best",
    bootstrap: Annotated[int, typer.Option(help="Bootstrap replicates for the confidence intervals.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
) -> None:
    """Write one report from a dendritic curve, EPSP amplitudes and, optionally, a reconstruction.

    Example: dendrocap report curve.csv epsp.csv --tested 8050 --cell cell.swc -o report.html
    """
    from dendrocap.figures.lab_report import LabReport, Section
    from dendrocap.fitting import cell_from_morphology, fit_weights
    from dendrocap.model import Units
    from dendrocap.validation import choice, whole_number

    target = writable(out, (".html", ".pdf"), "--out")
    choice("--accuracy", accuracy, ("best", "fast"))
    read_curve = points.measured(curve, files)
    read = numbers.amplitudes(amplitudes, files)
    shape = points.fitted(read_curve)
    neuron = None
    if cell is not None:
        neuron = cell_from_morphology(cell, synapses_per_um=synapses_per_um, nonlinearity=shape.nonlinearity)
        n_inputs, n_branches = neuron.n_inputs, neuron.n_branches
    pairs = numbers.tested(tested, read)
    with progress(whole_number("--bootstrap", bootstrap, 0), "bootstrap") as step:
        fit = fit_weights(
            read.values,
            pairs,
            p0=silent_fraction_option(p0, pairs),
            detection_threshold_mv=detection,
            nonlinearity=shape.nonlinearity,
            task=task.task(),
            units=Units(n_inputs, n_branches, shape.scale, attenuation),
            n_bootstrap=bootstrap,
            rng=whole_number("--seed", seed, 0),
            callback=step,
        )
    found = reported(fit, shape, accuracy, seed)
    inputs = [points.note(read_curve, curve), numbers.note(read, amplitudes)]
    inputs += [] if pairs is None else [f"{pairs} pairs tested"]
    inputs += [] if neuron is None else [neuron.summary, *neuron.remarks]
    sections = [Section("Inputs as read", "\n".join(inputs)), *_fits(shape, fit, found)]
    row: dict[str, Any] = {"curve": {"scale_mv": shape.scale, "kind": shape.nonlinearity.name}}
    row |= {"synapses": weights_row(fit, found)}
    if neuron is not None:
        section, row["cell"] = _cell(neuron, task.task(), accuracy, seed, fit.dendrites.theta_d, found.theta_s)
        sections.append(section)
    LabReport(
        title=f"What a neuron with the synapses of {amplitudes.name} can store",
        answer=f"{found.in_words[0].upper()}{found.in_words[1:]}. {found.verdict[0].upper()}{found.verdict[1:]}.",
        sections=sections,
        lights=_lights(found, attenuation, fit, shape),
        methods=_methods(fit, found, shape, bootstrap),
        numbers=plain(row),
        program=f"dendrocap {__version__}",
    ).write(target)
    typer.echo(found.in_words)
    message(f"report: {target}")


def _fits(shape: NonlinearityFit, fit: WeightFit, found: CapacityReport) -> list[Section]:
    from dendrocap import plot
    from dendrocap.figures.lab_report import Section

    sources = [
        {"source": name, "capacity between": f"{ends[0]:.2f} and {ends[1]:.2f} times the estimate"}
        for name, ends in found.sources.items()
    ]
    rivals = "; ".join(f"{one.name} {one.delta_aic:.0f}" for one in fit.comparison)
    return [
        Section("Dendritic curve", "", curve_table(shape), plot.nonlinearity_fit(shape)),
        Section("Synapses and storage", "", weights_table(fit, found), plot.weight_fit(fit, found)),
        Section("Sources of the interval", "", sources),
        Section("Other distributions", f"Akaike's criterion, difference from the best: {rivals}."),
    ]


def _cell(neuron: Any, task: TaskSpec, accuracy: str, seed: int, theta_d: float, theta_s: float) -> tuple[Section, Any]:
    """The reconstruction at the fitted thresholds."""
    from dendrocap import plot
    from dendrocap.errors import ConvergenceError, NoSolution
    from dendrocap.figures.lab_report import Section
    from dendrocap.fitting import group_shares

    cell = neuron.with_thresholds(theta_d, theta_s)
    heading = "The reconstructed cell at the fitted thresholds"
    try:
        with progress(1 + len(cell.groups), "cell") as step:
            whole, shares = group_shares(cell, task, accuracy=accuracy, seed=seed, callback=step)
    except (NoSolution, ConvergenceError):
        return Section(heading, f"No capacity with broken symmetry was found at theta_s = {theta_s:.3g}."), None
    text = f"{whole.in_words}\n{whole.remark}"
    return (
        Section(heading, text, group_table(whole, shares), plot.cell(cell, whole, shares)),
        cell_row(cell, whole, shares),
    )


def _lights(
    found: CapacityReport, attenuation: float | None, fit: WeightFit, shape: NonlinearityFit
) -> dict[str, Flag]:
    from dendrocap.theory.validity import Flag

    lights = {} if found.capacity is None else dict(found.capacity.validity)
    few = shape.nonlinearity.name != "polsky" and shape.points_on_rise < 3
    words = f"{shape.points_on_rise} points between 10 % and 90 % of the rise; at least three determine its slope"
    lights["resolution of the curve"] = Flag("bad" if few else "good", words)
    used = fit.units.somatic_share
    if attenuation is None:
        words = f"{used:.3g} = 1 / sqrt(K) is assumed, as in the paper; if you can measure it, pass --attenuation"
        lights["attenuation"] = Flag("caution", words)
    else:
        lights["attenuation"] = Flag("good", f"{used:.3g}, as given")
    if fit.dendrites.reachable:
        lights["silent fraction within reach"] = Flag("good", found.verdict)
    else:
        lights["silent fraction within reach"] = Flag("caution" if fit.compatible else "bad", found.verdict)
    best = fit.comparison[0]
    if best.name.startswith("capacity"):
        lights["shape of the amplitudes"] = Flag("good", "no other distribution describes the amplitudes better")
    else:
        worse = next(one.delta_aic for one in fit.comparison if one.name == "capacity")
        lights["shape of the amplitudes"] = Flag("bad", f"a {best.name} is better by {worse:.0f} units of AIC")
    return lights


def _methods(fit: WeightFit, found: CapacityReport, shape: NonlinearityFit, bootstrap: int) -> str:
    kind = {"polsky": "the function of the paper", "smooth": "a monotone smoothing curve"}.get(
        shape.nonlinearity.name, "interpolation of the points"
    )
    accuracy = "fast" if found.capacity is None else found.capacity.accuracy
    estimate = "two steps of symmetry breaking and corrections for the number and the length of branches"
    if accuracy == "fast":
        estimate = "one step of symmetry breaking, for branches of the real length"
    return (
        f"The dendritic curve was described by {kind} (scale {shape.scale:.3g} mV). EPSP amplitudes (n = "
        f"{fit.amplitudes_mv.size}) were fitted by maximum likelihood with the distribution of weights of a neuron at "
        f"capacity, p0 = {fit.p0 if isinstance(fit.p0, str) else format(fit.p0, 'g')}, for N = {fit.units.n_inputs:,} "
        f"synapses on K = {fit.units.n_branches} branches, coding levels f_in = {fit.task.f_in:g} and f_out = "
        f"{fit.task.f_out:g}, and a dendro-somatic attenuation of {fit.units.somatic_share:.3g}. Thresholds follow "
        f"from the replica-symmetric equations; intervals of {100 * fit.level:g} % are bias-corrected percentiles of "
        f"{bootstrap} bootstrap samples. The capacity was computed with {estimate}; its interval holds the error of "
        "that estimate, all somatic thresholds that the data allow, and the errors of the curve."
    )
