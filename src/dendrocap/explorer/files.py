"""Exported files: the figure, the curves as a table, and short scripts that can be run unchanged."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePath
from typing import NamedTuple

import numpy as np

from dendrocap.datasets.lab_files import Table, parse_table
from dendrocap.errors import CorruptData, InvalidParameter
from dendrocap.explorer.background import Tell, answered
from dendrocap.explorer.parameters import MOST_POINTS, FittedCurve, Parameters, fitted_curve, to_query
from dendrocap.explorer.trainer import MOST_EPOCHS
from dendrocap.explorer.views import Best, View, along_question, curve_axis, key_numbers, view
from dendrocap.fitting import fit_weights
from dendrocap.numerics.types import Floats
from dendrocap.theory.results import ONE, SHORT_ONE, SYMMETRIC


def best_view(parameters: Parameters, tell: Tell) -> View:
    """The neuron with its best estimate and full curves."""
    broken = answered(along_question(parameters), tell)
    return view(parameters, best=answered(Best(parameters.cell, parameters.task), tell), broken=broken)


def figure_file(suffix: str, parameters: Parameters, tell: Tell) -> bytes:
    """The neuron as a figure in the style of the package: "png" or "svg"."""
    from dendrocap import plot

    if parameters.inhibited and parameters.axis == "n_branches":  # which has no number then
        parameters = parameters.changed({"axis": "theta_d"})
    shown = best_view(parameters, tell)
    assert shown.answer is not None
    curve = shown.curve
    lines = {
        SYMMETRIC: (curve.paper_x, curve.paper),
        ONE if parameters.inhibited else SHORT_ONE: (curve.broken_x, curve.broken),
        "linear": (curve.linear_x, curve.linear),
    }
    target = io.BytesIO()
    plot.save(plot.neuron_at_capacity(shown.answer, lines, curve.axis, parameters.units), target, suffix)
    return target.getvalue()


def curves_table(parameters: Parameters, tell: Tell) -> bytes:
    """All curves of the page in one table with four columns: figure, quantity, x, y.

    Lines that begin with ``#`` hold the link, the answer and its validity. Points without a solution are left out.
    """
    shown = best_view(parameters, tell)
    answer = shown.answer
    assert answer is not None
    target = io.StringIO()
    target.write(f"# dendrocap explore, /?{to_query(parameters)}\n# {answer.in_words}\n")
    for name, text in key_numbers(shown).items():
        target.write(f"# {name} = {text}\n")
    for name, flag in answer.validity.items():
        target.write(f"# validity, {name}: {flag}\n")
    rows = csv.writer(target, lineterminator="\n")
    rows.writerow(("figure", "quantity", "x", "y"))
    for figure, quantity, x, y in _curves(shown):
        for at, value in zip(x.tolist(), y.tolist(), strict=True):
            if np.isfinite(value):
                rows.writerow((figure, quantity, repr(at), repr(value)))
    return target.getvalue().encode()


def _curves(shown: View) -> list[tuple[str, str, np.ndarray, np.ndarray]]:
    """All lines of the page; those of the paper's estimate are named as such."""
    curve, answer = shown.curve, shown.answer
    assert answer is not None
    here = np.array([getattr(shown.parameters, curve.axis)])
    lines = [
        ("dendrite", "g", shown.dendrite_x, shown.dendrite_y[0]),
        ("dendrite", "branch_input_density", shown.dendrite_x, shown.density),
        ("capacity", "best_alpha_c", here, np.array([answer.alpha_c])),
        ("capacity", "best_error", here, np.array([answer.error])),
        ("capacity", "broken_symmetry_alpha_c", curve.broken_x, curve.broken),
        ("capacity", "broken_symmetry_silent_fraction", curve.broken_x, curve.broken_silent),
        ("capacity", "replica_symmetric_alpha_c", curve.paper_x, curve.paper),
        ("capacity", "replica_symmetric_silent_fraction", curve.paper_x, curve.paper_silent),
        ("capacity", "linear_alpha_c", curve.linear_x, curve.linear),
        ("weights_mv", "density", shown.weight_mv, shown.weight_density),
        ("weights_mv", "silent_fraction", np.zeros(1), np.array([answer.silent_fraction])),
    ]
    if shown.paper_density.size:
        lines += [
            ("dendrite", "replica_symmetric_branch_input_density", shown.dendrite_x, shown.paper_density),
            ("weights_mv", "replica_symmetric_density", shown.weight_mv, shown.paper_weight_density),
        ]
    if len(shown.dendrite_y) > 1:
        lines.append(("dendrite", "g_apical", shown.dendrite_x, shown.dendrite_y[1]))
    return lines


def neuron_script(parameters: Parameters) -> str:
    """A script that computes the numbers and curves of the page."""
    units = parameters.units
    mean = "mean weight {units.weight_mv(best.W_bar):,.4g}"
    if parameters.inhibited:
        mean = "mean EPSP {units.weight_mv(best.populations[0].synapses[0].W_bar):,.4g}"
    return f"""import numpy as np

{_head(parameters)}{_cell_line(parameters)}
units = dc.Units({parameters.n_inputs}, {parameters.n_branches}, scale_mv={units.scale_mv!r})

{_best_line(parameters)}
print(best)  # the answer, all estimates from the paper's to the best, and their validity
print(f"dendritic threshold {{units.theta_d_mv({parameters.theta_d!r}):,.4g}} mV, "
      f"somatic threshold {{units.theta_s_mv(neuron.theta_s):,.4g}} mV, "
      f"{mean} mV, all at the soma")
for branches in best.populations:  # their .synapses[0].weights and .preactivation are distributions with a pdf
    print(f"{{branches.fraction:.0%}} of branches: mean output {{branches.mean_output:.2g}}, "
          f"{{branches.silent_fraction:.0%}} silent")
{_curve_lines(parameters)}"""


def _cell_line(parameters: Parameters) -> str:
    """The line that gives the neuron its size, which theory leaves out with inhibition."""
    if parameters.inhibited:
        return "cell = neuron  # with inhibition that learns, theory has infinitely many long branches only"
    return f"cell = dc.DendriticNeuron(neuron, n_inputs={parameters.n_inputs}, n_branches={parameters.n_branches})"


def _best_line(parameters: Parameters) -> str:
    """The line that computes the capacity; for correlated inputs and bounded g only the quick look exists."""
    bounded = all(np.isfinite(g.range).all() for g in parameters.kinds)
    if parameters.branch_correlation and bounded:
        return 'best = dc.capacity(cell, task, accuracy="fast")  # for correlated inputs only the quick look exists'
    return 'best = dc.capacity(cell, task)  # takes about ten seconds; accuracy="fast" takes milliseconds'


def _curve_lines(parameters: Parameters) -> str:
    """The lines of a script that compute the curves of the page along its axis."""
    axis = parameters.axis
    x = curve_axis(parameters, 2)
    grid = f"np.{'linspace' if axis == 'theta_s' else 'geomspace'}({x[0]!r}, {x[1]!r}, 24)"
    if parameters.populations == "2" or parameters.inhibited:
        return ""
    if axis == "n_branches":
        return f"""
n_branches = {grid}
curve = dc.capacity_curve(neuron, task, branch_size=cell.n_inputs / n_branches, rsb=[1])  # equal branches
"""
    return f"""
{axis} = {grid}
size = cell.n_inputs / cell.n_branches
curve = dc.capacity_curve(neuron, task, {axis}={axis}, rsb=[1], branch_size=[size])  # broken symmetry, equal branches
paper = dc.capacity_curve(neuron, task, {axis}={axis})  # the paper's: replica symmetric, infinitely long branches
"""


def training_script(parameters: Parameters) -> str:
    """A script that repeats the training run, bit for bit."""
    surrogate = ", surrogate=dc.Lorentzian()" if parameters.uses_surrogate else ""
    finite = f"dc.DendriticNeuron(neuron, n_inputs={parameters.train_inputs}, n_branches={parameters.train_branches})"
    if parameters.nonlinearity == "linear":
        finite = f"dc.LinearNeuron(neuron.theta_d, n_inputs={parameters.train_inputs})"
    n_patterns = max(1, round(parameters.load * parameters.train_inputs))
    arguments = f"{n_patterns}, finite.n_inputs, task.f_in, task.f_out, rng=seed"
    if parameters.branch_correlation:
        arguments += """,
    branch_correlation=task.branch_correlation, n_branches=finite.branch_sizes.tolist(),
"""
    return f"""{_head(parameters)}
finite = {finite}
seed = {parameters.seed}
patterns = dc.random_patterns({arguments})
recipe = dc.Recipe(
    dc.SGD(learning_rate={parameters.rate!r}{surrogate}),
    dc.ExponentialAnnealing(decay={parameters.decay!r}),
    max_epochs={MOST_EPOCHS},
)
result = dc.train(finite, *patterns, recipe, seed=seed, on_failure="return")
print(f"{{result.stopped}} after {{result.epochs}} epochs; {{result.errors}} of {{result.n_patterns}} patterns wrong")

statistics = dc.weight_statistics(finite.flat_weights(result.weights))
print(f"{{statistics.near_zeros:.1%}} of the weights are below a thousandth of their mean")
"""


def _inhibition(parameters: Parameters, theta_d: float) -> str:
    """The argument for the inhibitory synapses of branches with this threshold."""
    inhibition = parameters.inhibition(theta_d)
    if inhibition is None:
        return ""
    return f", inhibition=dc.Inhibition(share={inhibition.share!r}, drive={inhibition.drive!r})"


def _head(parameters: Parameters) -> str:
    """The lines that define neuron and task."""
    given = f"dc.{parameters.g!r}, theta_d={parameters.theta_d!r}, theta_s={parameters.theta_s!r}"
    neuron = f"dc.NeuronSpec({given}{_inhibition(parameters, parameters.theta_d)})"
    if parameters.populations == "2":
        basal, apical = parameters.neuron.populations
        of_basal, of_apical = (_inhibition(parameters, kind.theta_d) for kind in (basal, apical))
        neuron = f"""dc.NeuronSpec(
    populations=(
        dc.Branches(dc.{basal.nonlinearity!r}, {basal.theta_d!r}, {basal.fraction!r}{of_basal}),
        dc.Branches(
            dc.{apical.nonlinearity!r}, {apical.theta_d!r}, {apical.fraction!r}, length={apical.length!r}{of_apical}
        ),
    ),
    theta_s={parameters.theta_s!r},
)"""
    return f"""import dendrocap as dc

neuron = {neuron}
task = dc.{parameters.task!r}
"""


SCRIPTS: dict[str, Callable[[Parameters], str]] = {"neuron.py": neuron_script, "training.py": training_script}
DRAWN: dict[str, Callable[[Parameters, Tell], bytes]] = {
    "neuron.png": partial(figure_file, "png"),
    "neuron.svg": partial(figure_file, "svg"),
    "neuron.csv": curves_table,
}
CONTENT_TYPES = {
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".csv": "text/csv; charset=utf-8",
    ".py": "text/x-python; charset=utf-8",
}


class Drawn(NamedTuple):
    """A question: an exported file, which needs the best estimate."""

    name: str
    parameters: Parameters

    def answer(self, tell: Tell) -> bytes:
        """Its content."""
        return DRAWN[self.name](self.parameters, tell)


# Measurements in uploaded files: checked, limited in size, never executed or unpickled.

LARGEST_FILE = 100_000  # bytes
LARGEST_BOOK = 10_000_000  # bytes of a spreadsheet, which is compressed, as it is read
DIGITS = 6  # digits kept of each point, so that links stay short and agree with the page
AMPLITUDES = ("epsp", "amplitude", "mv")  # hints in the header of the right column
SMOOTHABLE = 6  # minimum number of points for a smooth curve
N_BOOTSTRAP = 200


class Uploaded(NamedTuple):
    """What a file holds: the parameters that it sets, a message about it, amplitudes, and the fitted curve."""

    changes: dict[str, object]
    said: str
    amplitudes_mv: Floats | None = None
    fitted: FittedCurve | None = None


class Upload(NamedTuple):
    """A question: what a file holds for a neuron with these parameters; "curve" or "amplitudes" of connections."""

    holds: str
    content: bytes
    name: str
    n_tested: int | None
    parameters: Parameters

    def answer(self, tell: Tell) -> Uploaded:
        """What it holds."""
        if self.holds == "curve":
            return read_curve(self.content, self.name)
        return fit_amplitudes(read_amplitudes(self.content, self.name), self.n_tested, self.parameters)


def read_curve(content: bytes, name: str) -> Uploaded:
    """A curve: branch input, branch output and, optionally, standard errors.

    With a unit in the header (mV, uV, V) values are converted to millivolts; without one they are in model units, where
    a branch saturates at 1.
    """
    with _read(content, name) as (name, table):
        measured = table.curve()
        if not 2 <= measured.x.size <= MOST_POINTS:
            raise CorruptData(f"{name} has {measured.x.size} points; 2 to {MOST_POINTS} are allowed")
        columns = [measured.x, measured.y] + ([] if measured.sem is None else [measured.sem])
        points = tuple(tuple(map(_rounded, point)) for point in np.column_stack(columns).tolist())
        unit = "mV" if measured.unit else ""
        # Interpolated noise would increase the capacity.
        kind = "smooth" if len(points) >= SMOOTHABLE else "tabulated"
        Parameters(curve=points, curve_unit=unit, nonlinearity="tabulated")
        fitted = fitted_curve(points, unit, kind)
    errors = ", with standard errors" if measured.sem is not None else ""
    if measured.sd is not None:
        errors = "; standard deviations without a column n of trial numbers are ignored"
    said = f"{len(points)} points read from {name} in {measured.unit or 'model units'}{errors}"
    return Uploaded({"curve": points, "curve_unit": unit, "nonlinearity": kind}, said, fitted=fitted)


def read_amplitudes(content: bytes, name: str) -> Floats:
    """EPSP amplitudes in millivolts, one per connection."""
    with _read(content, name) as (_, table):
        return table.column(hints=AMPLITUDES).values


def fit_amplitudes(amplitudes_mv: Floats, n_tested: int | None, parameters: Parameters) -> Uploaded:
    """The thresholds at which a neuron at capacity has the measured weights."""
    if parameters.populations != "1":
        raise InvalidParameter("EPSPs can only be fitted with one kind of branches: remove the apical ones first")
    fit = fit_weights(
        amplitudes_mv, n_tested, p0="free" if n_tested is None else "tested", nonlinearity=parameters.g,
        task=parameters.task, units=parameters.units, n_bootstrap=N_BOOTSTRAP, rng=0,
    )  # fmt: skip
    # The mean weight always determines theta_d; the silent fraction determines theta_s if it can be reached.
    changes: dict[str, object] = {"theta_d": fit.dendrites.theta_d}
    theta_s = "no θ_s reaches that silent fraction, so θ_s is unchanged"
    if fit.dendrites.reachable:
        changes["theta_s"], theta_s = fit.dendrites.theta_s, f"θ_s = {fit.theta_s_mv.value:.3g} mV"
    p0 = fit.silent_fraction
    said = (
        f"{amplitudes_mv.size} EPSPs fitted (the paper's replica-symmetric weights): silent {p0.value:.0%} "
        f"[{p0.low:.0%}, {p0.high:.0%}], θ_d = {fit.theta_d_mv.value:.3g} [{fit.theta_d_mv.low:.3g}, "
        f"{fit.theta_d_mv.high:.3g}] mV; {theta_s}"
    )
    return Uploaded(changes, said, amplitudes_mv)


@contextmanager
def _read(content: bytes, name: str) -> Iterator[tuple[str, Table]]:
    """The file name without folders, and the cells of the file; what is wrong with them names the file."""
    name = PurePath(name.replace("\\", "/")).name[:60] or "the file"
    if len(content) > LARGEST_FILE:
        raise CorruptData(f"{name} has {len(content):,} bytes; at most {LARGEST_FILE:,} are allowed")
    try:
        if zipfile.is_zipfile(io.BytesIO(content)):
            with zipfile.ZipFile(io.BytesIO(content)) as book:
                if sum(part.file_size for part in book.infolist()) > LARGEST_BOOK:
                    raise CorruptData(f"{name} holds more than {LARGEST_BOOK:,} bytes; save its sheet as CSV")
        yield name, parse_table(content, Path(name))
    except zipfile.BadZipFile as error:
        raise CorruptData(f"{name} is damaged ({error})") from None
    except InvalidParameter as error:
        raise CorruptData(f"{name}: {str(error).removeprefix(f'{name}: ').removeprefix(f'{name} ')}") from None


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
