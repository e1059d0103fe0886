"""Files to take home: the figure, the curves as a table, the script."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dendrocap.errors import NoSolution
from dendrocap.explorer.links import to_query
from dendrocap.explorer.parameters import Parameters
from dendrocap.explorer.scripts import neuron_script, training_script
from dendrocap.explorer.views import View, key_numbers, view

__all__ = ["EXPORTS", "Export"]


@dataclass(frozen=True)
class Export:
    """A file that can be made from parameters alone."""

    content_type: str
    make: Callable[[Parameters], bytes]


def figure_file(parameters: Parameters, suffix: str) -> bytes:
    """The neuron as a figure in the look of the house: "png" or "svg"."""
    from dendrocap import plot

    shown = view(parameters)
    if shown.solution is None:
        raise NoSolution(shown.problem)
    curve = shown.curve
    figure = plot.neuron_at_capacity(
        shown.solution,
        shown.dendrite_x,
        curve.axis,
        (curve.x, curve.alpha_c),
        (curve.linear_x, curve.linear),
        shown.weight_mv,
        parameters.units,
    )
    target = io.BytesIO()
    plot.save(figure, target, suffix)
    return target.getvalue()


def curves_table(parameters: Parameters) -> bytes:
    """All curves of the page in one table of four columns: figure, quantity, x, y.

    Lines that begin with ``#`` hold the link and the numbers. Points without an answer are left out.
    """
    shown = view(parameters)
    target = io.StringIO()
    target.write(f"# dendrocap explore, /?{to_query(parameters)}\n")
    for name, text in key_numbers(shown).items():
        target.write(f"# {name} = {text}\n")
    rows = csv.writer(target, lineterminator="\n")
    rows.writerow(("figure", "quantity", "x", "y"))
    for figure, quantity, x, y in _curves(shown):
        for at, value in zip(x.tolist(), y.tolist(), strict=True):
            if np.isfinite(value):
                rows.writerow((figure, quantity, repr(at), repr(value)))
    return target.getvalue().encode()


def _curves(shown: View) -> list[tuple[str, str, np.ndarray, np.ndarray]]:
    curve = shown.curve
    curves = [
        ("dendrite", "g", shown.dendrite_x, shown.dendrite_y),
        ("capacity", "alpha_c", curve.x, curve.alpha_c),
        ("capacity", "silent_fraction", curve.x, curve.silent_fraction),
        ("capacity", "linear_alpha_c", curve.linear_x, curve.linear),
    ]
    if shown.solution is not None:
        curves.insert(1, ("dendrite", "branch_input_density", shown.dendrite_x, shown.density))
        curves.append(("weights_mv", "density", shown.weight_mv, shown.weight_density))
        silent = np.array([shown.solution.silent_fraction])
        curves.append(("weights_mv", "silent_fraction", np.zeros(1), silent))
    return curves


EXPORTS = {
    "neuron.png": Export("image/png", lambda parameters: figure_file(parameters, "png")),
    "neuron.svg": Export("image/svg+xml", lambda parameters: figure_file(parameters, "svg")),
    "neuron.csv": Export("text/csv; charset=utf-8", curves_table),
    "neuron.py": Export("text/x-python; charset=utf-8", lambda parameters: neuron_script(parameters).encode()),
    "training.py": Export("text/x-python; charset=utf-8", lambda parameters: training_script(parameters).encode()),
}
