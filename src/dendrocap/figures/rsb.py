"""What replica symmetry breaking makes of the capacity, one panel per non-linearity."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dendrocap.figures.curves import AXIS_LABELS
from dendrocap.figures.style import COLUMN_WIDTH, LABELS, PALETTE, house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_breaking"]

# column of the table, label, line style
LINES = (
    ("alpha_rs", "replica symmetric", "-"),
    ("alpha_1", "1 step", "--"),
    ("alpha_full", "many steps", ":"),
    ("alpha_at", "RS becomes unstable", "-."),
)


def draw_breaking(rows: Sequence[Mapping[str, Any]], learned: Sequence[Mapping[str, Any]] = ()) -> Figure:
    """Capacities against the dendritic threshold with and without breaking, and the AT load.

    Parameters
    ----------
    rows : sequence of mappings
        With ``nonlinearity``, ``theta_d`` and the columns alpha_rs, alpha_1, alpha_full and alpha_at; numbers may be
        text, as they come from a CSV file. An infinite AT load is left out.
    learned : sequence of mappings
        What a learning rule reached: ``nonlinearity``, ``theta_d``, ``alpha``; drawn as dots.
    """
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(row["nonlinearity"] for row in rows))
    with house_style():
        figure = Figure(figsize=(2.0 * COLUMN_WIDTH, 2.7), layout="constrained")
        panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
        for axes, name in zip(panels, names, strict=True):
            own = [row for row in rows if row["nonlinearity"] == name]
            for column, label, style in LINES:
                line = [(float(row["theta_d"]), float(row[column])) for row in own]
                line = [point for point in line if math.isfinite(point[1])]
                if line:
                    color = "0.5" if column == "alpha_at" else PALETTE[name]
                    axes.plot(*zip(*line, strict=True), color=color, ls=style, label=label)
            dots = [(float(dot["theta_d"]), float(dot["alpha"])) for dot in learned if dot["nonlinearity"] == name]
            if dots:
                reached = axes.plot(*zip(*dots, strict=True), "o", color="k", ms=3.0, label="reached by learning")
                axes.legend(handles=reached, loc="upper left")
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_title(LABELS[name])
            axes.set_xlabel(AXIS_LABELS["theta_d"])
        panels[0].set_ylabel(r"load $\alpha = P / N$")
        panels[0].legend(loc="upper left")
    return figure
