"""Exported files: the figure, the curves as a table, and short scripts that can be run unchanged."""

from __future__ import annotations

import csv
import io
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dendrocap.datasets.lab_files import Table, parse_table
from dendrocap.errors import CorruptData, InvalidParameter, NoSolution
from dendrocap.explorer.background import Best, Desk
from dendrocap.explorer.parameters import MOST_POINTS, Parameters, to_query
from dendrocap.explorer.trainer import MOST_EPOCHS
from dendrocap.explorer.views import View, along_question, curve_axis, key_numbers, view
from dendrocap.theory.results import ONE, SHORT_ONE, SYMMETRIC

DRAWING = threading.Lock()  # Matplotlib's settings are global


@dataclass(frozen=True)
class Export:
    """A file computed from parameters; best estimates come from the desk, which may take a while."""

    content_type: str
    make: Callable[[Parameters, Desk], bytes]


def best_view(parameters: Parameters, desk: Desk) -> View:
    """The neuron with its best estimate and full curves."""
    broken = desk.wait(along_question(parameters)).answer
    status = desk.wait(Best(parameters.cell, parameters.task))
    if status.problem:
        raise NoSolution(status.problem)
    return view(parameters, best=status.answer, broken=broken)


def figure_file(parameters: Parameters, desk: Desk, suffix: str) -> bytes:
    """The neuron as a figure in the style of the package: "png" or "svg"."""
    from dendrocap import plot

    if parameters.inhibited and parameters.axis == "n_branches":  # which has no number then
        parameters = parameters.changed({"axis": "theta_d"})
    shown = best_view(parameters, desk)
    assert shown.answer is not None
    curve = shown.curve
    lines = {
        SYMMETRIC: (curve.paper_x, curve.paper),
        ONE if parameters.inhibited else SHORT_ONE: (curve.broken_x, curve.broken),
        "linear": (curve.linear_x, curve.linear),
    }
    target = io.BytesIO()
    with DRAWING:
        plot.save(plot.neuron_at_capacity(shown.answer, lines, curve.axis, parameters.units), target, suffix)
    return target.getvalue()


def curves_table(parameters: Parameters, desk: Desk) -> bytes:
    """All curves of the page in one table with four columns: figure, quantity, x, y.

    Lines that begin with ``#`` hold the link, the answer and its validity. Points without a solution are left out.
    """
    shown = best_view(parameters, desk)
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
    """A script that computes the numbers and curves of the page.

    Examples
    --------
    >>> print(neuron_script(Parameters()).splitlines()[4])
    neuron = dc.NeuronSpec(dc.Polsky(x_min=0.33, gamma=15.0), theta_d=0.5, theta_s=0.5)
    """
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


EXPORTS = {
    "neuron.png": Export("image/png", lambda parameters, desk: figure_file(parameters, desk, "png")),
    "neuron.svg": Export("image/svg+xml", lambda parameters, desk: figure_file(parameters, desk, "svg")),
    "neuron.csv": Export("text/csv; charset=utf-8", curves_table),
    "neuron.py": Export("text/x-python; charset=utf-8", lambda parameters, _: neuron_script(parameters).encode()),
    "training.py": Export(
        "text/x-python; charset=utf-8", lambda parameters, desk: training_script(parameters).encode()
    ),
}

# Measurements in uploaded files: checked, limited in size, never executed or unpickled.

LARGEST_FILE = 100_000  # bytes

DIGITS = 6  # digits kept of each point, so that links stay short and agree with the page

AMPLITUDES = ("epsp", "amplitude", "mv")  # hints in the header of the right column

SMOOTHABLE = 6  # minimum number of points for a smooth curve


class UploadedCurve(NamedTuple):
    """A measured curve: the parameters that it sets, and a message about it."""

    changes: dict[str, object]
    said: str


def read_curve(content: bytes, name: str) -> UploadedCurve:
    r"""Read a curve from a text file: branch input, branch output and, optionally, standard errors.

    With a unit in the header (mV, uV, V) values are converted to millivolts; without one they are in model units, where
    a branch saturates at 1.

    Parameters
    ----------
    content : bytes
        Content of the file.
    name : str
        Its name, for messages.

    Raises
    ------
    CorruptData
        If it is too large, is not text, does not contain a curve, or x does not increase.

    Examples
    --------
    >>> uploaded = read_curve(b"x,y\n0,0\n0.5,0.2\n1,1\n", "curve.csv")
    >>> uploaded.changes["curve"], uploaded.changes["nonlinearity"]
    (((0.0, 0.0), (0.5, 0.2), (1.0, 1.0)), 'tabulated')
    """
    name, table = _table(content, name)
    try:
        measured = table.curve()
        if not 2 <= measured.x.size <= MOST_POINTS:
            raise CorruptData(f"{name} has {measured.x.size} points; 2 to {MOST_POINTS} are allowed")
        columns = [measured.x, measured.y] + ([] if measured.sem is None else [measured.sem])
        points = tuple(tuple(map(_rounded, point)) for point in np.column_stack(columns).tolist())
        unit = "mV" if measured.unit else ""
        changes: dict[str, object] = {"curve": points, "curve_unit": unit, "nonlinearity": "tabulated"}
        Parameters().changed(changes)
        if len(points) >= SMOOTHABLE:  # interpolated noise would increase the capacity
            changes["nonlinearity"] = "smooth"
            Parameters().changed(changes)
    except InvalidParameter as error:
        raise CorruptData(f"{name}: {str(error).removeprefix(f'{name}: ')}") from None
    errors = ", with standard errors" if measured.sem is not None else ""
    if measured.sd is not None:
        errors = "; standard deviations without a column n of trial numbers are ignored"
    said = f"{len(points)} points read from {name} in {measured.unit or 'model units'}{errors}"
    return UploadedCurve(changes, said)


def read_amplitudes(content: bytes, name: str) -> NDArray[np.float64]:
    r"""Read EPSP amplitudes in millivolts from a text file, one per connection.

    Raises
    ------
    CorruptData
        If the file is too large, is not text, or contains no such column.

    Examples
    --------
    >>> read_amplitudes(b"epsp (uV)\n800\n1200\n", "epsp.csv").tolist()
    [0.8, 1.2]
    """
    name, table = _table(content, name)
    try:
        return table.column(hints=AMPLITUDES).values
    except InvalidParameter as error:
        raise CorruptData(f"{name}: {str(error).removeprefix(f'{name}: ')}") from None


def _table(content: bytes, name: str) -> tuple[str, Table]:
    """The file name without folders, and the cells of the file."""
    name = PurePath(name.replace("\\", "/")).name[:60] or "the file"
    if len(content) > LARGEST_FILE:
        raise CorruptData(f"{name} has {len(content):,} bytes; at most {LARGEST_FILE:,} are allowed")
    try:
        return name, parse_table(content, Path(name))
    except InvalidParameter as error:
        raise CorruptData(f"{name}: {str(error).removeprefix(f'{name}: ')}") from None


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
