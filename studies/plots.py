"""Drawings of stored tables of the studies: broken symmetry, and what solvers reach and find."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dendrocap.figures.style import (
    AXIS_LABELS,
    LABELS,
    MANY_STEPS,
    ONE_STEP,
    PALETTE,
    SYMMETRIC,
    UNSTABLE,
    drawing,
    drawing_axes,
)
from dendrocap.figures.theory import Rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The line style of each column of a table of loads.
LOAD_LINES = {"alpha_rs": SYMMETRIC, "alpha_1": ONE_STEP, "alpha_full": MANY_STEPS, "alpha_at": UNSTABLE}

# Label, colour and marker per solver, in the order of the legend; Okabe and Ito's colours.
SOLVER_LOOKS = {
    "surrogate": ("annealed surrogate", "#D55E00", "o"),
    "replicated": ("replicated SGD", "#0072B2", "s"),
    "sharpening": ("sharpened g", "#009E73", "^"),
    "least-action": ("least action", "#E69F00", "v"),
    "message-passing": ("message passing", "#CC79A7", "D"),
    "sgd": ("plain SGD", "#56B4E9", "x"),
    "polished": ("polished annealing", "#000000", "*"),
    "selected": ("selected annealing", "#882255", "P"),
}


def breaking(rows: Rows, learned: Rows = ()) -> Figure:
    """Effect of replica symmetry breaking on the capacity, one panel per non-linearity, with the AT load."""
    from matplotlib.lines import Line2D

    names = list(dict.fromkeys(row["nonlinearity"] for row in rows))
    with drawing(2, 2.7) as figure:
        panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
        for axes, name in zip(panels, names, strict=True):
            own = [row for row in rows if row["nonlinearity"] == name]
            for column, look in LOAD_LINES.items():
                _line(axes, own, column, color="0.5" if look is UNSTABLE else PALETTE[name], **look)
            dots = [(float(dot["theta_d"]), float(dot["alpha"])) for dot in learned if dot["nonlinearity"] == name]
            if dots:
                axes.plot(*zip(*dots, strict=True), "o", color="k", ms=3.0, label="reached by learning")
            axes.set(xscale="log", yscale="log", title=LABELS[name], xlabel=AXIS_LABELS["theta_d"])
        panels[0].set_ylabel(AXIS_LABELS["alpha"])
        key = [Line2D([], [], color="0.3", **look) for look in LOAD_LINES.values()]
        if learned:
            key.append(Line2D([], [], color="k", marker="o", ms=3.0, ls="none", label="reached by learning"))
        figure.legend(handles=key, loc="outside upper left", ncols=3)
    return figure


def solvers(reached: Rows, theory: Rows, best: Rows = ()) -> Figure:
    """Loads reached against the dendritic threshold, one line per solver, with the theoretical capacities."""
    with drawing_axes(1.6, 3.2) as (figure, axes):
        for column in ("alpha_rs", "alpha_full", "alpha_at"):
            _line(axes, theory, column, color="0.35", lw=1.2, **LOAD_LINES[column])
        if best:
            place, load, error = ([float(row[name]) for row in best] for name in ("theta_d", "best", "error"))
            low, high = ([at + side * e for at, e in zip(load, error, strict=True)] for side in (-1.0, 1.0))
            axes.fill_between(place, low, high, color="0.8", lw=0.0, label="best estimate, this neuron")
        for solver, (label, color, marker) in SOLVER_LOOKS.items():
            dots = sorted((float(row["theta_d"]), float(row["alpha"])) for row in reached if row["solver"] == solver)
            if dots:
                axes.plot(
                    *zip(*dots, strict=True), color=color, marker=marker, ms=4.0, lw=0.8, clip_on=False, label=label
                )
        axes.set(
            xscale="log", xlim=(0.008, 1.3), ylim=(0.0, 3.0), xlabel=AXIS_LABELS["theta_d"], ylabel=AXIS_LABELS["alpha"]
        )
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _line(axes: Any, rows: Rows, column: str, **look: Any) -> None:
    """The finite loads of a column against the dendritic threshold."""
    points = [(float(row["theta_d"]), float(row[column])) for row in rows]
    points = [point for point in points if math.isfinite(point[1])]
    if points:
        axes.plot(*zip(*points, strict=True), **look)


def solver_weights(rows: Rows) -> Figure:
    """Histograms of the weights found by solvers, in units of the mean weight, one panel per solver."""
    names = list(dict.fromkeys(row["solver"] for row in rows))
    with drawing(2, 3.4) as figure:
        panels = figure.subplots(2, 3, sharex=True, sharey=True).ravel()
        for axes, solver in zip(panels, names, strict=False):
            own = [row for row in rows if row["solver"] == solver]
            edges = [*(float(row["left"]) for row in own), float(own[-1]["right"])]
            label, color, _ = SOLVER_LOOKS[solver]
            axes.stairs([float(row["density"]) for row in own], edges, fill=True, color=color, alpha=0.7)
            axes.set_title(label, fontsize=8)
        for axes in panels[len(names) :]:
            axes.axis("off")
        for axes in panels[3:]:
            axes.set_xlabel("weight / mean weight")
        for axes in panels[::3]:
            axes.set_ylabel("density")
    return figure
