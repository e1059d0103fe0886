"""What the solvers reach, between the lines that theory draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dendrocap.figures.curves import AXIS_LABELS
from dendrocap.figures.style import COLUMN_WIDTH, house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_solution_weights", "draw_solvers"]

# column of the table, label, line style
LINES = (
    ("alpha_rs", "replica symmetric", "-"),
    ("alpha_full", "symmetry broken", "--"),
    ("alpha_at", "RS becomes unstable", ":"),
)
# label, colour and marker per solver, in the order of the legend; Okabe and Ito's colours
LOOKS = {
    "surrogate": ("annealed surrogate", "#D55E00", "o"),
    "replicated": ("replicated SGD", "#0072B2", "s"),
    "sharpening": ("sharpened g", "#009E73", "^"),
    "least-action": ("least action", "#E69F00", "v"),
    "message-passing": ("message passing", "#CC79A7", "D"),
    "sgd": ("plain SGD", "#56B4E9", "x"),
}


def draw_solvers(reached: Sequence[Mapping[str, Any]], theory: Sequence[Mapping[str, Any]]) -> Figure:
    """Loads reached against the dendritic threshold, one line per solver, with the capacities of theory.

    Parameters
    ----------
    reached : sequence of mappings
        With ``solver``, ``theta_d`` and ``alpha``, the largest load solved, all within the same budget of time; 0 where
        nothing was solved.
    theory : sequence of mappings
        With ``theta_d``, ``alpha_rs``, ``alpha_full`` and ``alpha_at`` of one non-linearity; numbers may be text.
    """
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(1.6 * COLUMN_WIDTH, 3.2), layout="constrained")
        axes = figure.subplots()
        for column, label, style in LINES:
            line = [(float(row["theta_d"]), float(row[column])) for row in theory]
            axes.plot(*zip(*line, strict=True), color="0.35", ls=style, lw=1.2, label=label)
        for solver, (label, color, marker) in LOOKS.items():
            dots = sorted((float(row["theta_d"]), float(row["alpha"])) for row in reached if row["solver"] == solver)
            if dots:
                axes.plot(
                    *zip(*dots, strict=True), color=color, marker=marker, ms=4.0, lw=0.8, clip_on=False, label=label
                )
        axes.set_xscale("log")
        axes.set_xlim(0.008, 1.3)
        axes.set_ylim(0.0, 3.0)
        axes.set_xlabel(AXIS_LABELS["theta_d"])
        axes.set_ylabel(r"load $\alpha = P / N$")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def draw_solution_weights(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Histograms of the weights that the solvers found, in units of the mean weight, one panel per solver.

    Parameters
    ----------
    rows : sequence of mappings
        With ``solver``, and ``left``, ``right`` and ``density`` of a bin; numbers may be text.
    """
    from matplotlib.figure import Figure

    solvers = list(dict.fromkeys(row["solver"] for row in rows))
    with house_style():
        figure = Figure(figsize=(2.0 * COLUMN_WIDTH, 3.4), layout="constrained")
        panels = figure.subplots(2, 3, sharex=True, sharey=True).ravel()
        for axes, solver in zip(panels, solvers, strict=False):
            own = [row for row in rows if row["solver"] == solver]
            edges = [*(float(row["left"]) for row in own), float(own[-1]["right"])]
            label, color, _ = LOOKS[solver]
            axes.stairs([float(row["density"]) for row in own], edges, fill=True, color=color, alpha=0.7)
            axes.set_title(label, fontsize=8)
        for axes in panels[len(solvers) :]:
            axes.axis("off")
        for axes in panels[3:]:
            axes.set_xlabel("weight / mean weight")
        for axes in panels[::3]:
            axes.set_ylabel("density")
    return figure
