"""Plots of the theory: results along a parameter, broken symmetry, and loads reached by solvers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dendrocap.figures.style import (
    AXIS_LABELS,
    LABELS,
    MANY_STEPS,
    ONE_STEP,
    PALETTE,
    PAPER_LABEL,
    SYMMETRIC,
    UNSTABLE,
    drawing,
    drawing_axes,
    member_name,
    plain_ticks,
    validity_footer,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dendrocap.theory import Flag

__all__ = ["SOLVER_LOOKS", "breaking", "curve_key", "curves", "lines_of", "solvers"]

Rows = Sequence[Mapping[str, Any]]

BEST = ("best estimate", "quick estimate")
ERRORS = {"alpha_c": "error", "silent_fraction": "silent_error"}  # columns that hold the errors of other columns
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
    r"""A result of the theory against one parameter, one line per non-linearity and estimate.

    Parameters
    ----------
    rows : sequence of mappings, or DataFrame
        Rows with ``nonlinearity``, the two columns, and the name of the estimate in ``estimate`` or the steps of
        replica symmetry breaking in ``rsb``; without either they are taken as replica symmetric. Rows of best
        estimates, as returned by `Capacity.as_row`, are drawn with their errors and with the paper's estimate. Points
        without a solution, None, are left out.
    x, y : str
        The columns to draw: a parameter and a result.
    y_label : str, optional
        Label of the y axis, instead of the usual name of ``y``.
    log : bool
        Whether the axis of the parameter is logarithmic.
    legend : bool
        Whether to draw a legend. Without one, the estimate is named above the axes.
    family : sequence of str
        Further parameters; each combination of their values gets its own line.
    ax : Axes, optional
        Axes to draw into; by default a new figure, with the validity lights of best estimates as its footer.

    Examples
    --------
    >>> import dendrocap as dc
    >>> from dendrocap import plot
    >>> found = [dc.critical_capacity(dc.NeuronSpec(dc.ReLU(), theta_d, 0.5)).alpha_c for theta_d in (0.1, 0.5)]
    >>> rows = [{"nonlinearity": "relu", "theta_d": x, "alpha_c": y} for x, y in zip((0.1, 0.5), found)]
    >>> figure = plot.curves(rows, "theta_d", "alpha_c")
    >>> figure.axes[0].get_xlabel(), figure.axes[0].get_legend().get_title().get_text()
    ('dendritic threshold $\\theta_d$', "replica symmetric (the paper's estimate)")
    """
    listed: Rows = rows if isinstance(rows, Sequence) else rows.to_dict("records")
    lines = lines_of(listed, x, y, family)
    names = list(dict.fromkeys(line.estimate for line in lines))
    with drawing_axes(1.0 if len(names) == 1 else 1.35, 2.6 if len(names) == 1 else 3.3, ax) as (figure, axes):
        members = list(dict.fromkeys(line.member for line in lines))
        for line in lines:
            _draw_line(axes, line, x, family, members, named=len(names) > 1)
        axes.set(xlabel=AXIS_LABELS[x], ylabel=AXIS_LABELS[y] if y_label is None else y_label)
        if log:
            axes.set_xscale("log")
        if len(names) == 1 and legend:
            axes.legend(title=names[0])
        elif len(names) == 1:
            axes.set_title(names[0])
        elif legend and ax is None:
            figure.legend(handles=curve_key(lines, family), loc="outside upper left", ncols=2)
        elif legend:
            axes.legend(handles=curve_key(lines, family))
        heights = [abs(row[line.column]) for line in lines for row in line.rows]
        if len(names) > 1 and y == "alpha_c" and max(heights) > 4.0 * min(heights) > 0.0:
            axes.set_yscale("log")  # so that the paper's large numbers do not flatten the best estimates
            plain_ticks(axes.yaxis)
        lights = [_flags(row["validity"]) for row in listed if row.get("validity")]
        if lights and ax is None:
            validity_footer(figure, lights)
    return figure


class _Line(NamedTuple):
    """One line of a plot: its non-linearity and estimate, the column it shows, and its points."""

    nonlinearity: str
    estimate: str
    member: tuple[Any, ...]
    column: str
    error: str  # column with its errors; empty if there is none
    rows: list[Mapping[str, Any]]


def lines_of(rows: Rows, x: str, y: str, family: Sequence[str] = ()) -> list[_Line]:
    """The lines that `curves` draws: one per non-linearity, estimate and member of a family."""
    kinds: dict[tuple[str, str, tuple[Any, ...]], list[Mapping[str, Any]]] = {}
    for row in rows:
        member = tuple(row[name] for name in family)
        kinds.setdefault((row["nonlinearity"], _estimate(row), member), []).append(row)
    found = []
    for (g, estimate, member), own in kinds.items():
        paper, shown = f"paper_{y}", _with(own, x, y)
        if estimate not in BEST or paper not in own[0]:
            found.append(_Line(g, estimate, member, y, "", shown))
            continue
        found.append(_Line(g, PAPER_LABEL, member, paper, "", _with(own, x, paper)))
        if any(row["error"] != 0.0 or row[paper] != row[y] for row in shown):  # otherwise the paper's is exact
            found.append(_Line(g, estimate, member, y, ERRORS.get(y, ""), shown))
    return [line for line in found if line.rows]


def _with(rows: Rows, x: str, y: str) -> list[Mapping[str, Any]]:
    """The rows that have both columns."""
    return [row for row in rows if None not in (row[x], row[y])]


def _estimate(row: Mapping[str, Any]) -> str:
    """The name of a row's estimate for a legend."""
    if "accuracy" in row:
        return BEST[1] if row["accuracy"] == "fast" else BEST[0]
    from dendrocap.theory.estimates import SYMMETRIC as PAPERS
    from dendrocap.theory.estimates import estimate_name

    name = str(row["estimate"]) if row.get("estimate") else estimate_name(row.get("rsb", 0))
    return PAPER_LABEL if name == PAPERS else name


def _dashes(estimate: str) -> Any:
    if estimate == PAPER_LABEL:
        return SYMMETRIC["ls"]
    return (MANY_STEPS if estimate.endswith("full") else ONE_STEP)["ls"]


def _shade(members: Sequence[tuple[Any, ...]], member: tuple[Any, ...]) -> dict[str, Any]:
    """Members of a family differ in shade and width; markers are reserved for learned results."""
    if len(members) == 1:
        return {}
    place = members.index(member)
    share = place / (len(members) - 1)
    return {"alpha": 1.0 - 0.6 * share, "lw": 2.4 - 1.6 * share}


def _draw_line(
    axes: Any, line: _Line, x: str, family: Sequence[str], members: Sequence[tuple[Any, ...]], named: bool
) -> None:
    words = [LABELS[line.nonlinearity], line.estimate if named else "", member_name(family, line.member)]
    look = _shade(members, line.member) | {"color": PALETTE[line.nonlinearity], "ls": _dashes(line.estimate)}
    if named and line.estimate == PAPER_LABEL:  # the paper's estimate beside better ones
        look["lw"] = 0.6 * look.get("lw", 1.5)
    look["label"] = ", ".join(filter(None, words))
    axes.plot([row[x] for row in line.rows], [row[line.column] for row in line.rows], **look)
    bars = [row for row in line.rows if line.error and math.isfinite(row.get(line.error) or math.nan)]
    if bars:
        at, up, size = ([row[key] for row in bars] for key in (x, line.column, line.error))
        axes.errorbar(
            at, up, yerr=size, fmt="none", ecolor=look["color"], alpha=look.get("alpha", 1.0), lw=0.9, capsize=1.5
        )


def curve_key(lines: Sequence[_Line], family: Sequence[str] = ()) -> list[Any]:
    """The entries of a legend: one per colour, per kind of dash and per width, instead of one per line."""
    from matplotlib.lines import Line2D

    gs, names, members = (
        list(dict.fromkeys(of_line))
        for of_line in zip(*((line.nonlinearity, line.estimate, line.member) for line in lines), strict=True)
    )
    entries = [Line2D([], [], color=PALETTE[g], label=LABELS[g]) for g in gs]
    entries += [
        Line2D([], [], color="0.3", ls=_dashes(name), lw=0.9 if name == PAPER_LABEL else 1.5, label=name)
        for name in sorted(names, key=lambda name: name not in BEST)  # best estimates first
    ]
    if len(members) > 1:
        entries += [
            Line2D([], [], **_shade(members, member) | {"color": "0.3"}, label=member_name(family, member))
            for member in members
        ]
    return entries


def _flags(validity: Mapping[str, Any]) -> dict[str, Flag]:
    """The flags of a row, which holds them as plain strings."""
    from dendrocap.theory import Flag

    return {name: Flag(**words) for name, words in validity.items()}


def breaking(rows: Rows, learned: Rows = (), *, figure: Figure | None = None) -> Figure:
    """Effect of replica symmetry breaking on the capacity, one panel per non-linearity, with the AT load.

    Parameters
    ----------
    rows : sequence of mappings
        Rows with ``nonlinearity``, ``theta_d`` and the columns alpha_rs, alpha_1, alpha_full and alpha_at; numbers can
        be strings, as read from a CSV file. An infinite AT load is left out.
    learned : sequence of mappings
        Loads reached by a learning rule: ``nonlinearity``, ``theta_d``, ``alpha``; drawn as dots.
    figure : Figure, optional
        Figure to draw into; by default a new one.

    Examples
    --------
    >>> from dendrocap import plot
    >>> loads = {"alpha_rs": 1.6, "alpha_1": 1.4, "alpha_full": 1.3, "alpha_at": 0.8}
    >>> figure = plot.breaking([{"nonlinearity": "polsky", "theta_d": 0.1, **loads}])
    >>> [line.get_label() for line in figure.axes[0].lines][:2]
    ['replica symmetric', 'broken symmetry k = 1']
    """
    from matplotlib.lines import Line2D

    names = list(dict.fromkeys(row["nonlinearity"] for row in rows))
    with drawing(2, 2.7, figure) as figure:
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
        key += (
            [Line2D([], [], color="k", marker="o", ms=3.0, ls="none", label="reached by learning")] if learned else []
        )
        figure.legend(handles=key, loc="outside upper left", ncols=3)
    return figure


def solvers(reached: Rows, theory: Rows, best: Rows = (), *, ax: Axes | None = None) -> Figure:
    """Loads reached against the dendritic threshold, one line per solver, with the theoretical capacities.

    Parameters
    ----------
    reached : sequence of mappings
        Rows with ``solver``, ``theta_d`` and ``alpha``, the largest load solved, all within the same time limit; 0 if
        nothing was solved.
    theory : sequence of mappings
        Rows with ``theta_d``, ``alpha_rs``, ``alpha_full`` and ``alpha_at`` for one non-linearity; numbers can be text.
    best : sequence of mappings
        Rows with ``theta_d``, ``best`` and ``error``: the best estimate of the capacity of the neuron that learned.
    ax : Axes, optional
        Axes to draw into; by default a new figure.

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
