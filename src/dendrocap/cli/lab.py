"""Commands for recordings: dendritic curves, synaptic strengths and reconstructed cells, in millivolts."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from dendrocap import __version__
from dendrocap.cli.options import FUNCTION, SPEC, TASK, Flat, fact, names_of, refuse_useless, settings
from dendrocap.cli.output import JsonFlag, PlotPath, draw, emit, message, plain, progress, to_write
from dendrocap.errors import ConvergenceError, NoSolution

if TYPE_CHECKING:
    from dendrocap.answers import Capacity
    from dendrocap.datasets import Amplitudes, Curve, Table
    from dendrocap.fitting import CapacityReport, GroupShare, NonlinearityFit, ReconstructedNeuron

DataFile = Annotated[
    Path, typer.Argument(help="Text or .xlsx file with numeric columns; headers with units and # comments are allowed.")
]
Density = Annotated[float, typer.Option(help="Excitatory synapses per micrometre of dendrite.")]


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """How files are read."""

    panel: ClassVar[str] = "Files"

    missing: Annotated[str, typer.Option(help="Empty cells and NaN: refuse, or drop their rows.")] = "refuse"
    sheet: Annotated[str | None, typer.Option(help="Sheet of the Excel workbook.")] = None

    def table(self, path: Path) -> Table:
        """The columns of a file."""
        from dendrocap.datasets import read_table

        return read_table(path, self.sheet)


@dataclass(frozen=True, kw_only=True)
class AmplitudeOptions(FileOptions):
    """How files are read, which column holds amplitudes, and how zeros are treated."""

    column: Annotated[str | None, typer.Option(help="Column of amplitudes, by name or number.")] = None
    zeros: Annotated[
        str, typer.Option(help="Amplitudes of zero: refuse, drop, or failures (tested pairs without a connection).")
    ] = "refuse"

    def amplitudes(self, path: Path) -> Amplitudes:
        """The amplitudes of a file."""
        return self.table(path).amplitudes(self.column, missing=self.missing, zeros=self.zeros)

    def note(self, found: Amplitudes, path: Path) -> str:
        """A description of what was read."""
        notes = [f"{found.values.size} amplitudes from column {found.name!r} of {path.name}, {_unit(found.unit)}"]
        notes += [f"{found.n_missing} missing left out"] * bool(found.n_missing)
        counted = "counted as failures" if self.zeros == "failures" else "left out"
        notes += [f"{found.n_zeros} zeros {counted}"] * bool(found.n_zeros)
        return "; ".join(notes)

    def tested(self, given: int | None, found: Amplitudes) -> int | None:
        """Pairs tested: as given, or all rows if zeros are failures."""
        if given is None and self.zeros == "failures" and found.n_zeros:
            return found.values.size + found.n_zeros
        return given


@dataclass(frozen=True, kw_only=True)
class CurveOptions:
    """Which columns hold the curve, and how it is fitted."""

    panel: ClassVar[str] = "Curve"

    x: Annotated[str | None, typer.Option(help="Column of inputs, by name or number.")] = None
    y: Annotated[str | None, typer.Option(help="Column of outputs, by name or number.")] = None
    sem: Annotated[str | None, typer.Option(help="Column of standard errors, by name or number, or none.")] = None
    kind: Annotated[
        str, typer.Option(help="polsky; smooth for curves of another shape; tabulated to interpolate the points.")
    ] = "polsky"

    def measured(self, path: Path, files: FileOptions) -> Curve:
        """The points of a file."""
        return files.table(path).curve(self.x, self.y, self.sem, missing=files.missing)

    def note(self, found: Curve, path: Path) -> str:
        """A description of what was read."""
        x, y = found.names
        errors = "no errors"
        if found.sem is not None:
            errors = "with standard errors"
        elif found.sd is not None:
            errors = "standard deviations are not used without the number of trials: add a column n"
        notes = [f"{found.x.size} points, {y!r} against {x!r} of {path.name}, {_unit(found.unit)}, {errors}"]
        notes += [f"{found.n_missing} rows with missing values left out"] * bool(found.n_missing)
        return "; ".join(notes)

    def fitted(self, curve: Curve, scale: float | None = None) -> NonlinearityFit:
        """The fitted curve."""
        from dendrocap.fitting import fit_nonlinearity

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            found = fit_nonlinearity(curve.x, curve.y, self.kind, sem=curve.sem, scale=scale)
        for warning in caught:
            message(f"warning: {warning.message}")
        if not found.resolved:
            message(
                f"warning: only {found.points_on_rise} points lie on the rise of the curve, too few to determine its "
                "slope; capacities computed from it may be wrong by a third. Measure more points there"
            )
        return found


def _unit(stated: str) -> str:
    """A description of the unit that a file states, and its conversion."""
    if not stated:
        return "no unit stated: read as mV"
    return "in mV" if stated == "mV" else f"converted from {stated} to mV"


def nonlinearity(
    curve: DataFile,
    points: CurveOptions = CurveOptions(),
    files: FileOptions = FileOptions(),
    scale: Annotated[float | None, typer.Option(help="Fix the scale at this value, in mV.")] = None,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
) -> None:
    """Fit a dendritic input-output curve: x_min, gamma, and the scale in mV that equals 1 in the model.

    Example: dendrocap fit nonlinearity curve.csv --kind smooth --plot curve.png
    """
    read = points.measured(curve, files)
    found = points.fitted(read, scale)
    message(points.note(read, curve))
    rows: Any = [found.as_row()] if as_json else found.as_table()
    emit(rows, as_json=as_json, title=f"{found.x.size} points, {found.nonlinearity.name}")
    draw(plot, lambda plots: plots.nonlinearity_fit(found))


def weights(
    amplitudes: DataFile,
    tested: Annotated[int | None, typer.Option(help="Number of pairs tested, connected or not.")] = None,
    p0: Annotated[str | None, typer.Option(help="Silent fraction: a number, 'tested' or 'free'.")] = None,
    method: Annotated[str, typer.Option(help="likelihood, or histogram for the paper's least squares.")] = "likelihood",
    detection: Annotated[float, typer.Option(help="Detection limit in mV; weaker connections look silent.")] = 0.0,
    bin_width: Annotated[float, typer.Option(help="Bin width of the histogram, in mV.")] = 0.1,
    numbers: AmplitudeOptions = AmplitudeOptions(),
    task: Flat = TASK.but(f_in=0.05, f_out=0.05),
    shape: Flat = FUNCTION,
    curve: Annotated[Path | None, typer.Option(help="Measured curve from which g and the scale are fitted.")] = None,
    points: CurveOptions = CurveOptions(),
    cell: Annotated[Path | None, typer.Option(help="Reconstruction of the cell; it determines N and K.")] = None,
    synapses_per_um: Density = 1.0,
    n_inputs: Annotated[int, fact("n_inputs")] = 10_000,
    n_branches: Annotated[int, fact("n_branches")] = 100,
    scale: Annotated[
        float | None, typer.Option(help="mV of a saturated dendrite; default: from --curve, or 15.")
    ] = None,
    attenuation: Annotated[
        float | None, typer.Option(help="Share of a local mV that arrives at the soma; by default 1 / sqrt(K).")
    ] = None,
    accuracy: Annotated[str, typer.Option(help="Accuracy of the capacity: best (half a minute) or fast.")] = "best",
    bootstrap: Annotated[
        int, typer.Option(help="Bootstrap replicates for the confidence intervals; 0 for none.")
    ] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    level: Annotated[float, typer.Option(help="Confidence level.")] = 0.95,
    out: Annotated[
        Path | None,
        to_write(
            "--out", "-o", suffixes=(".html",), words="Also write one page: inputs, fits, figures, lights, methods."
        ),
    ] = None,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
) -> None:
    """Fit EPSP amplitudes with the weights of a neuron at capacity; report its thresholds and capacity.

    With a reconstruction, it also tells what each group of branches contributes at the fitted thresholds.

    Example: dendrocap fit weights epsp.csv --tested 8050 --p0 0.76 --x-min 0.2 --gamma 20 --plot fit.png

    Example: dendrocap fit weights epsp.csv --tested 8050 --curve curve.csv --cell cell.swc -o report.html
    """
    from dendrocap.fitting import capacity_report, cell_from_morphology, fit_weights
    from dendrocap.model import Units
    from dendrocap.validation import choice, whole_number

    choice("--accuracy", accuracy, ("best", "fast"))
    if curve is None:
        refuse_useless("without --curve", *names_of(CurveOptions))
    else:
        refuse_useless("with --curve, which determines g and the scale", *names_of(FUNCTION), "scale")
    if cell is None:
        refuse_useless("without --cell", "synapses_per_um")
    else:
        refuse_useless("with --cell, which determines N and K", "n_inputs", "n_branches")
    if curve is None and not bootstrap:
        refuse_useless("without a bootstrap or a curve to resample", "seed", "level")
    if method == "likelihood" and not (plot or out):
        refuse_useless("without --method histogram or a figure", "bin_width")
    measured: NonlinearityFit | None = None
    notes: list[str] = []  # printed only if the fit succeeds
    if curve is not None:
        read_curve = points.measured(curve, numbers)
        measured = points.fitted(read_curve)
        notes += [points.note(read_curve, curve)]
        notes += [f"g from {curve.name}: {measured.nonlinearity!r}, scale {measured.scale:.4g} mV"]
    g = shape.g() if measured is None else measured.nonlinearity
    neuron = None
    if cell is not None:
        neuron = cell_from_morphology(cell, synapses_per_um=synapses_per_um, nonlinearity=g)
        n_inputs, n_branches = neuron.n_inputs, neuron.n_branches
        notes += [neuron.summary, *neuron.remarks]
    read = numbers.amplitudes(amplitudes)
    notes.append(numbers.note(read, amplitudes))
    tested = numbers.tested(tested, read)
    notes += [] if tested is None else [f"{tested} pairs tested"]
    with progress(whole_number("--bootstrap", bootstrap, 0), "bootstrap") as step:
        fit = fit_weights(
            read.values,
            tested,
            p0=_silent_fraction(p0, tested),
            method=method,
            detection_threshold_mv=detection,
            bin_width_mv=bin_width,
            nonlinearity=g,
            task=task.task(),
            units=Units(
                n_inputs, n_branches, measured.scale if measured else 15.0 if scale is None else scale, attenuation
            ),
            n_bootstrap=bootstrap,
            level=level,
            rng=whole_number("--seed", seed, 0),
            callback=step,
        )
    message("\n".join(notes))
    with progress(1.0, "capacity") as tell:
        found = capacity_report(
            fit, measured, accuracy=accuracy, rng=seed, callback=lambda share, words: tell(share, note=words)
        )
    groups = None
    if neuron is not None:
        fitted = neuron.with_thresholds(fit.dendrites.theta_d, found.theta_s)
        try:
            groups = (fitted, *_groups(fitted, task, accuracy, seed))
        except (NoSolution, ConvergenceError):
            message(f"the cell has no capacity with broken symmetry at theta_s = {found.theta_s:.3g}")
    if as_json:
        emit([found.as_row() | ({"cell": _cell_row(groups)} if cell else {})], as_json=True)
    else:
        title = f"{fit.amplitudes_mv.size} amplitudes, {fit.nonlinearity!r}"
        emit(found.as_table(), title=f"{title}\n{fill(found.in_words, 80)}")
        rivals = [
            {
                "distribution": one.name,
                "parameters": ", ".join(f"{name} {value:.3g}" for name, value in one.parameters),
                "AIC - best": f"{one.delta_aic:.1f}",
            }
            for one in fit.comparison
        ]
        emit(rivals, title="the visible amplitudes, by likelihood")
        if groups is not None:
            _emit_groups(*groups)
    message(found.verdict)
    if found.capacity is not None and found.capacity.remark:
        message(found.capacity.remark)
    draw(plot, lambda plots: plots.weight_fit(fit, found))
    if out is not None:
        _write_page(out, amplitudes.name, notes, found, groups)


def _silent_fraction(text: str | None, tested: int | None) -> float | str:
    """The value of --p0: a number or a word; by default it follows from the data."""
    if text is None:
        return "free" if tested is None else "tested"
    try:
        return float(text)
    except ValueError:
        return text


Groups = tuple["ReconstructedNeuron", "Capacity", "list[GroupShare]"]


def _groups(neuron: ReconstructedNeuron, task: Flat, accuracy: str, seed: int) -> tuple[Any, Any]:
    """The capacity of a cell and the shares of its groups, computed with a progress bar."""
    from dendrocap.fitting import group_shares

    with progress(1 + (len(neuron.groups) if len(neuron.groups) > 1 else 0), "capacity of the cell") as step:
        return group_shares(neuron, task.task(), accuracy=accuracy, seed=seed, callback=step)


def _cell_row(groups: Groups | None) -> dict[str, Any] | None:
    return None if groups is None else groups[0].as_row(*groups[1:])


def _emit_groups(neuron: ReconstructedNeuron, whole: Capacity, shares: list[GroupShare]) -> None:
    answer = f"{whole.patterns} patterns: {whole.in_words}"
    emit([share.as_line(whole) for share in shares], title=f"{neuron.summary}\n{fill(answer, 80)}")
    message("'without' is the capacity of the cell without these branches")


def _write_page(path: Path, name: str, notes: list[str], found: CapacityReport, groups: Groups | None) -> None:
    """One page with everything, to be printed."""
    from dendrocap import plot
    from dendrocap.figures.pages import Section, page
    from dendrocap.files import write_file

    fit, curve = found.fit, found.curve
    sources = [
        {"source": source, "capacity between": f"{ends[0]:.2f} and {ends[1]:.2f} times the estimate"}
        for source, ends in found.sources.items()
    ]
    rivals = "; ".join(f"{one.name} {one.delta_aic:.0f}" for one in fit.comparison)
    sections = [Section("Inputs as read", "\n".join(notes))]
    if curve is not None:
        sections.append(Section("Dendritic curve", "", curve.as_table(), plot.nonlinearity_fit(curve)))
    sections += [
        Section("Synapses and storage", "", found.as_table(), plot.weight_fit(fit, found)),
        Section("Sources of the interval", "", sources),
        Section("Other distributions", f"Akaike's criterion, difference from the best: {rivals}."),
    ]
    if groups is not None:
        _, whole, shares = groups
        lines = [share.as_line(whole) for share in shares]
        text = f"{whole.in_words}\n{whole.remark}"
        sections.append(Section("The reconstructed cell at the fitted thresholds", text, lines, plot.cell(*groups)))
    row = {"curve": curve and curve.as_row(), "synapses": found.as_row(), "cell": _cell_row(groups)}
    text = page(
        "lab_report",
        title=f"What a neuron with the synapses of {name} can store",
        answer=f"{found.in_words[0].upper()}{found.in_words[1:]}. {found.verdict[0].upper()}{found.verdict[1:]}.",
        sections=sections,
        lights=found.validity,
        methods=found.methods,
        numbers=json.dumps(plain(row), indent=1, ensure_ascii=False),
        program=f"dendrocap {__version__}",
    )
    write_file(path, text)
    message(f"report: {path}")


# ``dendrocap cell``: what a reconstructed neuron can store, and the contribution of each part of its tree.


def cell(
    morphology: Annotated[Path, typer.Argument(help="Reconstruction: SWC, Neurolucida ASC or H5.")],
    synapses_per_um: Density = 1.0,
    terminal: Annotated[
        bool, typer.Option("--terminal", help="Use only terminal branches instead of all sections.")
    ] = False,
    spec: Flat = SPEC,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            help="Parameters of one type, as in 'apical tuft:theta_d=0.1,synapses_per_um=0.5'; can be repeated."
        ),
    ] = None,
    task: Flat = TASK,
    accuracy: Annotated[str, typer.Option(help="fast, or best for the best estimate.")] = "fast",
    seed: Annotated[int, typer.Option(help="Seed of the Monte Carlo samples of the best estimate.")] = 0,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
) -> None:
    """Compute the capacity of a reconstructed cell: its groups of branches, their synapses and their contributions.

    Example: dendrocap cell cell.swc --synapses-per-um 1.5 --plot cell.png
    """
    from dendrocap.fitting import cell_from_morphology
    from dendrocap.validation import choice, whole_number

    if choice("--accuracy", accuracy, ("fast", "best")) == "fast":
        refuse_useless("with --accuracy fast, which draws no samples", "seed")
    found = cell_from_morphology(
        morphology,
        synapses_per_um=synapses_per_um,
        branches="terminal" if terminal else "sections",
        nonlinearity=spec.spec().nonlinearity,
        theta_d=spec.given["theta_d"],
        theta_s=spec.given["theta_s"],
        kinds=dict(settings("--kind", text) for text in kind or ()),
    )
    whole, shares = _groups(found, task, accuracy, whole_number("--seed", seed, 0))
    if as_json:
        emit([found.as_row(whole, shares)], as_json=True)
    else:
        _emit_groups(found, whole, shares)
    for remark in found.remarks:
        message(f"{found.source}: {remark}")
    if whole.remark:
        message(whole.remark)
    draw(plot, lambda plots: plots.cell(found, whole, shares))
