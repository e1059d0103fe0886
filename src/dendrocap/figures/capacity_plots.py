"""Plots of the theory: results along a parameter, broken symmetry, and what solvers reach."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
from dendrocap.model import Linear

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["SOLVER_LOOKS", "breaking", "curves", "solvers"]

Rows = Sequence[Mapping[str, Any]]

# Dashes by steps of breaking; further numbers of steps share one.
STEP_DASHES = {0: SYMMETRIC["ls"], 1: ONE_STEP["ls"], "full": MANY_STEPS["ls"]}
MARKS = "os^vD"  # of the members of a family of lines
SYMBOLS = {name: label[label.index("$") :] for name, label in AXIS_LABELS.items() if "$" in label}
# The line of each column of a table of loads.
LOAD_LINES = {"alpha_rs": SYMMETRIC, "alpha_1": ONE_STEP, "alpha_full": MANY_STEPS, "alpha_at": UNSTABLE}
# Label, colour and marker per solver, in the order of the legend; Okabe and Ito's colours.
SOLVER_LOOKS = {
    "surrogate": ("annealed surrogate", "#D55E00", "o"),
    "replicated": ("replicated SGD", "#0072B2", "s"),
    "sharpening": ("sharpened g", "#009E73", "^"),
    "least-action": ("least action", "#E69F00", "v"),
    "message-passing": ("message passing", "#CC79A7", "D"),
    "sgd": ("plain SGD", "#56B4E9", "x"),
}


def curves(
    rows: Rows | pd.DataFrame,
    x: str,
    y: str,
    y_label: str | None = None,
    *,
    log: bool = False,
    legend: bool = True,
    family: Sequence[str] = (),
    ax: Axes | None = None,
) -> Figure:
    r"""A result of the theory against one parameter, one line per non-linearity.

    Parameters
    ----------
    rows : sequence of mappings, or DataFrame
        With ``nonlinearity``, the two columns and, if symmetry is broken, its steps in ``rsb``. Points without an
        answer, None, are left out. The linear neuron is dashed.
    x, y : str
        The columns to draw: a parameter, and a result.
    y_label : str, optional
        In place of the usual name of ``y``.
    log : bool
        Whether the parameter has a logarithmic axis.
    legend : bool
        Whether the lines are named.
    family : sequence of str
        Further parameters, each combination of which has a line of its own.
    ax : Axes, optional
        Where to draw; by default in a new figure. Errors in a column ``error`` are drawn as bars.

    Examples
    --------
    >>> import dendrocap as dc
    >>> from dendrocap import plot
    >>> found = [dc.critical_capacity(dc.NeuronSpec(dc.ReLU(), theta_d, 0.5)).alpha_c for theta_d in (0.1, 0.5)]
    >>> rows = [{"nonlinearity": "relu", "theta_d": x, "alpha_c": y} for x, y in zip((0.1, 0.5), found)]
    >>> figure = plot.curves(rows, "theta_d", "alpha_c")
    >>> figure.axes[0].get_xlabel()
    'dendritic threshold $\\theta_d$'
    """
    listed: Rows = rows if isinstance(rows, Sequence) else rows.to_dict("records")
    with drawing_axes(1, 2.6, ax) as (figure, axes):
        kinds: dict[tuple[Any, ...], list[Any]] = {}
        for row in listed:
            member = tuple(row[name] for name in family)
            kinds.setdefault((row["nonlinearity"], row.get("rsb", 0), member), []).append(row)
        members = list(dict.fromkeys(member for _, _, member in kinds))
        for (name, steps, member), own in kinds.items():
            line = [row for row in own if None not in (row[x], row[y])]
            if not line:
                continue
            label = LABELS[name] if steps == 0 else f"{LABELS[name]}, {steps} RSB"
            label = ", ".join(
                [label, *(f"{SYMBOLS[key]} = {value:g}" for key, value in zip(family, member, strict=True))]
            )
            dashes = "--" if name == Linear.name else STEP_DASHES.get(steps, "-.")
            place = members.index(member)
            look: dict[str, Any] = {"color": PALETTE[name], "ls": dashes, "label": label}
            if len(members) > 1:  # a family in shades of one colour, and with marks of its own
                look |= {"alpha": 1.0 - 0.6 * place / (len(members) - 1), "marker": MARKS[place % len(MARKS)], "ms": 3}
            axes.plot([row[x] for row in line], [row[y] for row in line], **look)
            bars = [row for row in line if row.get("error") is not None and math.isfinite(row["error"])]
            if bars:
                at, up, size = ([row[key] for row in bars] for key in (x, y, "error"))
                axes.errorbar(at, up, yerr=size, fmt="none", ecolor=PALETTE[name], alpha=look.get("alpha", 1.0), lw=0.7)
        axes.set(xlabel=AXIS_LABELS[x], ylabel=AXIS_LABELS[y] if y_label is None else y_label)
        if log:
            axes.set_xscale("log")
        if legend:
            axes.legend()
    return figure


def breaking(rows: Rows, learned: Rows = (), *, figure: Figure | None = None) -> Figure:
    """What replica symmetry breaking makes of the capacity, one panel per non-linearity, with the AT load.

    Parameters
    ----------
    rows : sequence of mappings
        With ``nonlinearity``, ``theta_d`` and the columns alpha_rs, alpha_1, alpha_full and alpha_at; numbers may be
        text, as they come from a CSV file. An infinite AT load is left out.
    learned : sequence of mappings
        What a learning rule reached: ``nonlinearity``, ``theta_d``, ``alpha``; drawn as dots.
    figure : Figure, optional
        Where to draw; by default a new one.

    Examples
    --------
    >>> from dendrocap import plot
    >>> loads = {"alpha_rs": 1.6, "alpha_1": 1.4, "alpha_full": 1.3, "alpha_at": 0.8}
    >>> figure = plot.breaking([{"nonlinearity": "polsky", "theta_d": 0.1, **loads}])
    >>> [line.get_label() for line in figure.axes[0].lines][:2]
    ['replica symmetric', 'one step of breaking']
    """
    names = list(dict.fromkeys(row["nonlinearity"] for row in rows))
    with drawing(2, 2.7, figure) as figure:
        panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
        for axes, name in zip(panels, names, strict=True):
            own = [row for row in rows if row["nonlinearity"] == name]
            for column, look in LOAD_LINES.items():
                _line(axes, own, column, color="0.5" if look is UNSTABLE else PALETTE[name], **look)
            dots = [(float(dot["theta_d"]), float(dot["alpha"])) for dot in learned if dot["nonlinearity"] == name]
            if dots:
                reached = axes.plot(*zip(*dots, strict=True), "o", color="k", ms=3.0, label="reached by learning")
                axes.legend(handles=reached, loc="upper left")
            axes.set(xscale="log", yscale="log", title=LABELS[name], xlabel=AXIS_LABELS["theta_d"])
        panels[0].set_ylabel(AXIS_LABELS["alpha"])
        panels[0].legend(loc="upper left")
    return figure


def solvers(reached: Rows, theory: Rows, *, ax: Axes | None = None) -> Figure:
    """Loads reached against the dendritic threshold, one line per solver, with the capacities of theory.

    Parameters
    ----------
    reached : sequence of mappings
        With ``solver``, ``theta_d`` and ``alpha``, the largest load solved, all within the same budget of time; 0 where
        nothing was solved.
    theory : sequence of mappings
        With ``theta_d``, ``alpha_rs``, ``alpha_full`` and ``alpha_at`` of one non-linearity; numbers may be text.
    ax : Axes, optional
        Where to draw; by default in a new figure.

    Examples
    --------
    >>> from dendrocap import plot
    >>> figure = plot.solvers(
    ...     reached=[{"solver": "surrogate", "theta_d": 0.1, "alpha": 1.2}],
    ...     theory=[{"theta_d": 0.1, "alpha_rs": 1.57, "alpha_full": 1.35, "alpha_at": 0.76}],
    ... )
    >>> figure.axes[0].lines[-1].get_label()
    'annealed surrogate'
    """
    with drawing_axes(1.6, 3.2, ax) as (figure, axes):
        for column in ("alpha_rs", "alpha_full", "alpha_at"):
            _line(axes, theory, column, color="0.35", lw=1.2, **LOAD_LINES[column])
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
