"""``dendrocap fit``: fit the model to measured curves and amplitudes, in millivolts."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from dendrocap import __version__
from dendrocap.cli.options import ShapeOptions, TaskOptions
from dendrocap.cli.output import JsonFlag, PlotPath, draw, emit, message, plain, progress
from dendrocap.errors import InvalidParameter
from dendrocap.files import writable, write_file

if TYPE_CHECKING:
    from dendrocap.answers import Capacity
    from dendrocap.answers.validity import Flag
    from dendrocap.datasets import Amplitudes, Curve, Table
    from dendrocap.figures.pages import Section
    from dendrocap.fitting import CapacityReport, GroupShare, Interval, NonlinearityFit, ReconstructedNeuron, WeightFit
    from dendrocap.fitting.weights import Candidate
    from dendrocap.model import TaskSpec

Bootstrap = Annotated[int, typer.Option(help="Bootstrap replicates for the confidence intervals; 0 for none.")]

Seed = Annotated[int, typer.Option(help="Seed of the bootstrap.")]

Accuracy = Annotated[str, typer.Option(help="Accuracy of the capacity: best (half a minute) or fast.")]


# Options of commands that read measurements, and the notes on what was read.

DataFile = Annotated[
    Path, typer.Argument(help="Text or .xlsx file with numeric columns; headers with units and # comments are allowed.")
]


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """How files are read."""

    panel: ClassVar[str] = "Files"

    missing: Annotated[str, typer.Option(help="Empty cells and NaN: refuse, or drop their rows.")] = "refuse"
    mv_per_pa: Annotated[
        float | None, typer.Option(help="Millivolts per pA, for columns of currents; negative for inward currents.")
    ] = None
    sheet: Annotated[str | None, typer.Option(help="Sheet of the Excel workbook.")] = None

    def table(self, path: Path) -> Table:
        """The columns of a file."""
        from dendrocap.datasets import read_table

        return read_table(path, self.sheet)


@dataclass(frozen=True, kw_only=True)
class AmplitudeOptions:
    """Which column holds amplitudes, and how zeros are treated."""

    panel: ClassVar[str] = "Files"

    column: Annotated[str | None, typer.Option(help="Column of amplitudes, by name or number.")] = None
    zeros: Annotated[
        str, typer.Option(help="Amplitudes of zero: refuse, drop, or failures (tested pairs without a connection).")
    ] = "refuse"

    def amplitudes(self, path: Path, files: FileOptions) -> Amplitudes:
        """The amplitudes of a file."""
        return files.table(path).amplitudes(
            self.column, missing=files.missing, zeros=self.zeros, mv_per_pa=files.mv_per_pa
        )

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
        return files.table(path).curve(self.x, self.y, self.sem, missing=files.missing, mv_per_pa=files.mv_per_pa)

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
        if self.kind != "polsky" and found.points_on_rise < 3:
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
    if as_json:
        hidden = ("nonlinearity", "x", "y", "sem")
        rows = {name: value for name, value in asdict(found).items() if name not in hidden}
        rows["at_bounds"] = ", ".join(found.at_bounds)
        emit([{"nonlinearity": found.nonlinearity.name, "n_points": found.x.size, **rows}], as_json=True)
    else:
        emit(curve_table(found), title=f"{found.x.size} points, {found.nonlinearity.name}")
    draw(plot, lambda plots: plots.nonlinearity_fit(found))


def weights(
    amplitudes: DataFile,
    tested: Annotated[int | None, typer.Option(help="Number of pairs tested, connected or not.")] = None,
    p0: Annotated[str | None, typer.Option(help="Silent fraction: a number, 'tested' or 'free'.")] = None,
    method: Annotated[str, typer.Option(help="likelihood, or histogram for the paper's least squares.")] = "likelihood",
    detection: Annotated[float, typer.Option(help="Detection limit in mV; weaker connections look silent.")] = 0.0,
    bin_width: Annotated[float, typer.Option(help="Bin width of the histogram, in mV.")] = 0.1,
    numbers: AmplitudeOptions = AmplitudeOptions(),
    files: FileOptions = FileOptions(),
    task: TaskOptions = TaskOptions(f_in=0.05, f_out=0.05),
    shape: ShapeOptions = ShapeOptions(),
    curve: Annotated[Path | None, typer.Option(help="Measured curve from which g and the scale are fitted.")] = None,
    points: CurveOptions = CurveOptions(),
    n_inputs: Annotated[int, typer.Option("--n-inputs", "-N", help="Number of synapses N.")] = 10_000,
    n_branches: Annotated[int, typer.Option("--n-branches", "-K", help="Number of dendritic branches K.")] = 100,
    scale: Annotated[
        float | None, typer.Option(help="mV of a saturated dendrite; default: from --curve, or 15.")
    ] = None,
    attenuation: Annotated[
        float | None, typer.Option(help="Share of a local mV that arrives at the soma; by default 1 / sqrt(K).")
    ] = None,
    accuracy: Accuracy = "best",
    bootstrap: Bootstrap = 1000,
    seed: Seed = 0,
    level: Annotated[float, typer.Option(help="Confidence level.")] = 0.95,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
) -> None:
    """Fit EPSP amplitudes with the weights of a neuron at capacity; report its thresholds and capacity.

    Example: dendrocap fit weights epsp.csv --tested 8050 --p0 0.76 --x-min 0.2 --gamma 20 --plot fit.png
    """
    from dendrocap.fitting import fit_weights
    from dendrocap.model import Units
    from dendrocap.validation import choice, whole_number

    choice("--accuracy", accuracy, ("best", "fast"))
    measured: NonlinearityFit | None = None
    notes: list[str] = []  # printed only if the fit succeeds
    if curve is None:
        g, measured_scale = shape.g(), 15.0
    elif shape.x_min is not None or shape.gamma is not None or scale is not None:
        raise InvalidParameter("--curve cannot be combined with --x-min, --gamma or --scale: it determines them")
    else:
        read_curve = points.measured(curve, files)
        measured = points.fitted(read_curve)
        g, measured_scale = measured.nonlinearity, measured.scale
        notes += [points.note(read_curve, curve), f"g from {curve.name}: {g!r}, scale {measured_scale:.4g} mV"]
    read = numbers.amplitudes(amplitudes, files)
    notes.append(numbers.note(read, amplitudes))
    tested = numbers.tested(tested, read)
    with progress(whole_number("--bootstrap", bootstrap, 0), "bootstrap") as step:
        found = fit_weights(
            read.values,
            tested,
            p0=silent_fraction_option(p0, tested),
            method=method,
            detection_threshold_mv=detection,
            bin_width_mv=bin_width,
            nonlinearity=g,
            task=task.task(),
            units=Units(n_inputs, n_branches, measured_scale if scale is None else scale, attenuation),
            n_bootstrap=bootstrap,
            level=level,
            rng=whole_number("--seed", seed, 0),
            callback=step,
        )
    message("\n".join(notes))
    report = reported(found, measured, accuracy, seed)
    if as_json:
        emit([weights_row(found, report)], as_json=True)
    else:
        title = f"{found.amplitudes_mv.size} amplitudes, {found.nonlinearity!r}"
        emit(weights_table(found, report), title=f"{title}\n{fill(report.in_words, 80)}")
        emit([_candidate_row(row) for row in found.comparison], title="the visible amplitudes, by likelihood")
    message(found.verdict)
    if report.capacity is not None and report.capacity.remark:
        message(report.capacity.remark)
    draw(plot, lambda plots: plots.weight_fit(found, report))


def reported(fit: WeightFit, curve: NonlinearityFit | None, accuracy: str, seed: int) -> CapacityReport:
    """What the fitted neuron stores, computed with a progress bar."""
    from dendrocap.fitting import capacity_report

    with progress(100, "capacity") as step:
        return capacity_report(
            fit, curve, accuracy=accuracy, rng=seed, callback=lambda share, words: step(round(100 * share), note=words)
        )


def silent_fraction_option(text: str | None, tested: int | None) -> float | str:
    """The value of --p0: a number or a word; by default it follows from the data."""
    if text is None:
        return "free" if tested is None else "tested"
    try:
        return float(text)
    except ValueError:
        return text


def curve_table(fit: NonlinearityFit) -> list[dict[str, str]]:
    """A fitted curve as a table, one quantity per line."""
    from dendrocap.display import with_digits, with_error

    lines = []
    for name, unit in (("x_min", "of the scale"), ("gamma", ""), ("scale", "mV")):
        value, error = getattr(fit, name), getattr(fit, f"{name}_error")
        if math.isfinite(error):
            lines.append((name, with_error(value, error), unit))
        elif math.isfinite(value):
            why = "not determined by these points"
            if name in fit.at_bounds:
                why = "stopped at its bound"
            elif name == "scale":
                why = "mV, given" if fit.fixed_scale else "mV, where the curve ends"
            lines.append((name, with_digits(value, 3), why))
    lines.append(("R^2", f"{fit.r_squared:.3f}", ""))
    lines.append(("residuals, rms", with_digits(fit.rms_residual, 2), "mV"))
    return [dict(zip(("quantity", "value", "unit"), line, strict=True)) for line in lines]


def weights_row(fit: WeightFit, report: CapacityReport) -> dict[str, Any]:
    """A fit as one flat object."""
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
        "attenuation": fit.units.somatic_share,
        "scale_mv": fit.units.scale_mv,
        "reachable": fit.dendrites.reachable,
        "compatible": fit.compatible,
        "p_value": fit.p_value,
        "nearest_silent_fraction": fit.dendrites.solution.silent_fraction,
        "reachable_low": fit.dendrites.reach.low,
        "reachable_high": fit.dendrites.reach.high,
        "detected_fraction": fit.detected_fraction,
        "observed_fraction": fit.observed_fraction,
        "linear_kappa": fit.linear.kappa,
        **report.as_row(),
    }
    for candidate in fit.comparison:
        name = candidate.name.replace(", ", "_").replace(" ", "_")
        row |= {f"log_likelihood_{name}": candidate.log_likelihood, f"aic_{name}": candidate.aic}
    return row


def weights_table(fit: WeightFit, report: CapacityReport) -> list[dict[str, str]]:
    """A fit as a table, one quantity per line, within 80 columns."""
    from dendrocap.display import with_digits

    def plain(value: float) -> str:
        return with_digits(value, 3) if math.isfinite(value) else "none"

    quick = report.capacity is not None and report.capacity.accuracy == "fast"
    look = "quick look" if quick else "best estimate"
    where = "mV at soma" if fit.dendrites.reachable else "mV at soma, nearest"
    lines: list[tuple[str, Interval | str, str]] = [
        ("silent fraction p0", fit.silent_fraction, ""),
        ("W_star", fit.W_star_mv, "mV at soma"),
        ("dendritic threshold theta_d", fit.theta_d_mv, "mV at soma"),
        ("  the same in its branch", plain(report.local_theta_d_mv), "mV local"),
        ("somatic threshold theta_s", fit.theta_s_mv, where),
        ("p0 within reach of theta_s", f"{fit.dendrites.reach.low:.3f} to {fit.dendrites.reach.high:.3f}", "paper's"),
        (f"capacity, {look}", report.alpha_c, "patterns / synapse"),
        ("  replica symmetric (paper)", plain(report.paper_alpha_c), "patterns / synapse"),
        ("silent at capacity, the same", report.silent_fraction, ""),
        ("  replica symmetric (paper)", plain(report.paper_silent_fraction), ""),
        ("patterns stored", report.n_patterns, ""),
        ("information", report.bits_per_synapse, "bits / synapse"),
        ("branch input, mean", plain(report.preactivation_mv.mean()), "mV local"),
        ("branch input, sd", plain(report.preactivation_mv.std()), "mV local"),
        ("without dendrites: margin", plain(report.linear_kappa_mv), "mV at soma"),
        ("without dendrites: capacity", plain(report.linear_alpha_c), "patterns / synapse"),
    ]
    return [{"quantity": name, "value": str(value), "unit": unit} for name, value, unit in lines]


def _candidate_row(candidate: Candidate) -> dict[str, Any]:
    return {
        "distribution": candidate.name,
        "parameters": ", ".join(f"{name} {value:.3g}" for name, value in candidate.parameters),
        "AIC - best": f"{candidate.delta_aic:.1f}",
    }


# ``dendrocap cell``: what a reconstructed neuron can store, and the contribution of each part of its tree.


def cell(
    morphology: Annotated[Path, typer.Argument(help="Reconstruction: SWC, Neurolucida ASC or H5.")],
    synapses_per_um: Annotated[float, typer.Option(help="Excitatory synapses per micrometre of dendrite.")] = 1.0,
    terminal: Annotated[
        bool, typer.Option("--terminal", help="Use only terminal branches instead of all sections.")
    ] = False,
    shape: ShapeOptions = ShapeOptions(),
    theta_d: Annotated[float, typer.Option(help="Dendritic threshold.")] = 0.05,
    theta_s: Annotated[float, typer.Option(help="Somatic threshold.")] = 0.5,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            help="Parameters of one type, as in 'apical tuft:theta_d=0.1,synapses_per_um=0.5'; can be repeated."
        ),
    ] = None,
    task: TaskOptions = TaskOptions(),
    accuracy: Annotated[str, typer.Option(help="fast, or best for the best estimate.")] = "fast",
    seed: Annotated[int, typer.Option(help="Seed of the Monte Carlo samples of the best estimate.")] = 0,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
) -> None:
    """Compute the capacity of a reconstructed cell: its groups of branches, their synapses and their contributions.

    Example: dendrocap cell cell.swc --synapses-per-um 1.5 --plot cell.png
    """
    from dendrocap.fitting import cell_from_morphology, group_shares
    from dendrocap.validation import choice, whole_number

    choice("--accuracy", accuracy, ("fast", "best"))
    found = cell_from_morphology(
        morphology,
        synapses_per_um=synapses_per_um,
        branches="terminal" if terminal else "sections",
        nonlinearity=shape.g(),
        theta_d=theta_d,
        theta_s=theta_s,
        kinds=dict(_kind(text) for text in kind or ()),
    )
    steps = 1 + (len(found.groups) if len(found.groups) > 1 else 0)
    with progress(steps, "capacity") as step:
        whole, shares = group_shares(
            found, task.task(), accuracy=accuracy, seed=whole_number("--seed", seed, 0), callback=step
        )
    if as_json:
        emit([cell_row(found, whole, shares)], as_json=True)
    else:
        answer = f"{whole.patterns} patterns: {whole.in_words}"
        emit(group_table(whole, shares), title=f"{found.summary}\n{fill(answer, 80)}")
        message("'without' is the capacity of the cell without these branches")
    for remark in found.remarks:
        message(f"{found.source}: {remark}")
    if whole.remark:
        message(whole.remark)
    draw(plot, lambda plots: plots.cell(found, whole, shares))


def _kind(text: str) -> tuple[str, dict[str, float]]:
    """The type and the numbers of an option --kind."""
    from dendrocap.errors import InvalidParameter

    name, _, rest = text.partition(":")
    try:
        pairs = dict(part.split("=") for part in rest.split(","))
        return name.strip(), {key.strip(): float(value) for key, value in pairs.items()}
    except ValueError:
        raise InvalidParameter(
            f"--kind {text!r} is not allowed: write a type and its numbers, as in 'apical tuft:theta_d=0.1,f_in=0.2'"
        ) from None


def cell_row(found: ReconstructedNeuron, whole: Capacity, shares: list[GroupShare]) -> dict[str, Any]:
    """All numbers of a cell as one flat object."""
    groups = [
        {
            "name": share.group.name,
            "n_branches": share.group.n_branches,
            "length_um": share.group.length_um,
            "n_synapses": share.group.n_synapses,
            "theta_d": share.group.theta_d,
            "f_in": share.group.f_in,
            "silent_fraction": share.silent_fraction,
            "n_patterns_without": None if share.without is None else share.without.n_patterns,
        }
        for share in shares
    ]
    size = {"n_branches": found.n_branches, "length_um": found.length_um, "n_inputs": found.n_inputs}
    return {"source": found.source, **size, "remarks": list(found.remarks), "groups": groups, **whole.as_row()}


def group_table(whole: Capacity, shares: list[GroupShare]) -> list[dict[str, str]]:
    """The groups of a cell, one per line, within 80 columns."""
    from dendrocap.display import with_digits

    rows = []
    for share in shares:
        group, without = share.group, share.without
        left = "" if without is None else with_digits(float(without.n_patterns or 0), 2)
        adds = "" if without is None else with_digits(float((whole.n_patterns or 0) - (without.n_patterns or 0)), 2)
        rows.append(
            {
                "branches": group.name,
                "number": str(group.n_branches),
                "um": f"{group.length_um:,.0f}",
                "synapses": f"{group.n_synapses:,}",
                "silent": f"{100.0 * share.silent_fraction:.0f} %",
                "without": left,
                "adds": adds,
            }
        )
    return rows


# ``dendrocap report``: one printable report from the measurements of a laboratory.


def report(
    curve: DataFile,
    amplitudes: DataFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="File of the report, .html.")] = Path("report.html"),
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
    from dendrocap.figures.pages import Section, page
    from dendrocap.fitting import cell_from_morphology, fit_weights
    from dendrocap.model import Units
    from dendrocap.validation import choice, whole_number

    target = writable(out, (".html",), "--out")
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
    report_page = page(
        "lab_report",
        title=f"What a neuron with the synapses of {amplitudes.name} can store",
        answer=f"{found.in_words[0].upper()}{found.in_words[1:]}. {found.verdict[0].upper()}{found.verdict[1:]}.",
        sections=sections,
        lights=_lights(found, attenuation, fit, shape),
        methods=_methods(fit, found, shape, bootstrap),
        numbers=json.dumps(plain(row), indent=1, ensure_ascii=False),
        program=f"dendrocap {__version__}",
    )
    write_file(target, report_page)
    typer.echo(found.in_words)
    message(f"report: {target}")


def _fits(shape: NonlinearityFit, fit: WeightFit, found: CapacityReport) -> list[Section]:
    from dendrocap import plot
    from dendrocap.figures.pages import Section

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
    from dendrocap.figures.pages import Section
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
    from dendrocap.answers.validity import Flag

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
