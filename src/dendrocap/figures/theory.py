"""Plots of the theory: results along a parameter, states side by side, dendritic responses, trained branches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dendrocap.figures.style import (
    AXIS_LABELS,
    LABELS,
    MANY_STEPS,
    ONE_STEP,
    PALETTE,
    PAPER_LABEL,
    SYMMETRIC,
    drawing,
    drawing_axes,
    member_name,
    plain_ticks,
    validity_footer,
)
from dendrocap.model import Nonlinearity, Polsky
from dendrocap.validation import whole_number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dendrocap.answers import Flag
    from dendrocap.fitting import NonlinearityFit
    from dendrocap.theory import BestDendrite

Rows = Sequence[Mapping[str, Any]]
BEST = ("best estimate", "quick estimate")
ERRORS = {"alpha_c": "error", "silent_fraction": "silent_error"}  # columns that hold the errors of other columns


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
    from dendrocap.theory.results import SYMMETRIC as PAPERS
    from dendrocap.theory.results import estimate_name

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
    from dendrocap.answers import Flag

    return {name: Flag(**words) for name, words in validity.items()}


# Plots of the branches of a trained classifier.


def receptive_fields(fields: Any, *, title: str = "", columns: int = 8, figure: Figure | None = None) -> Figure:
    """The receptive field of every branch as an image, all on the same scale.

    Parameters
    ----------
    fields : array, shape (n_branches, height, width)
        Weight of every pixel minus that of its complement, such as ``classifier.receptive_fields((28, 28))[0]``.
    title : str
        Title of the figure.
    columns : int
        Number of images per row.

    Examples
    --------
    >>> import numpy as np
    >>> from dendrocap import plot
    >>> len(plot.receptive_fields(np.ones((3, 4, 4))).axes)  # three images and their scale
    4
    """
    pictures = np.asarray(fields, dtype=np.float64)
    columns = min(whole_number("columns", columns, 1), len(pictures))
    rows = -(-len(pictures) // columns)
    # Clipped, because a few strong pixels would make all others pale.
    top = float(np.quantile(np.abs(pictures), 0.995)) or float(np.abs(pictures).max()) or 1.0
    with drawing(columns / 4.0, 0.3 + 1.05 * rows, figure) as figure:
        panels = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
        for at, axes in enumerate(panels):
            axes.set(xticks=[], yticks=[])
            for spine in axes.spines.values():
                spine.set_visible(False)
            if at >= len(pictures):
                axes.remove()
                continue
            image = axes.imshow(pictures[at], cmap="PuOr_r", vmin=-top, vmax=top, interpolation="nearest")
            axes.set_title(f"branch {at}", pad=2.0)
        bar = figure.colorbar(image, ax=panels[: len(pictures)].tolist(), shrink=0.8, extend="both")
        bar.set_label("weight: above − not above")
        if title:
            figure.suptitle(title, fontsize=9)
    return figure


def branch_weights(
    synapses: pd.DataFrame, *, title: str = "", n_features: int = 15, figure: Figure | None = None
) -> Figure:
    """Weight of the strongest features on each branch: for being above the threshold minus for not being above it.

    Parameters
    ----------
    synapses : DataFrame
        Synapses of one neuron, from ``classifier.synapses_``: ``branch``, ``feature``, ``complement``, ``weight``.
    title : str
        Title of the table.
    n_features : int
        Number of features.

    Examples
    --------
    >>> import pandas as pd
    >>> from dendrocap import plot
    >>> table = {"branch": [0, 1], "feature": ["age", "dose"], "complement": [False, True], "weight": [0.2, 0.5]}
    >>> [label.get_text() for label in plot.branch_weights(pd.DataFrame(table)).axes[0].get_yticklabels()]
    ['dose', 'age']
    """
    n_features = whole_number("n_features", n_features, 1)
    total = synapses.groupby("feature")["weight"].sum().sort_values(ascending=False, kind="stable")
    shown = total.index[:n_features]
    signed = synapses.assign(signed=np.where(synapses["complement"], -1.0, 1.0) * synapses["weight"])
    n_branches = int(synapses["branch"].max()) + 1
    table = signed.pivot_table(index="feature", columns="branch", values="signed", aggfunc="sum", fill_value=0.0)
    table = table.reindex(index=shown, columns=range(n_branches), fill_value=0.0)
    top = float(np.abs(table.to_numpy()).max()) or 1.0
    given = None if figure is None else figure.subplots()
    with drawing_axes(1.0 + 0.04 * n_branches, 0.9 + 0.17 * len(shown), given) as (figure, axes):
        image = axes.imshow(
            table.to_numpy(), cmap="PuOr_r", vmin=-top, vmax=top, aspect="auto", interpolation="nearest"
        )
        axes.set_yticks(range(len(shown)), [str(name) for name in shown])
        axes.set(xlabel="branch", title=title)
        figure.colorbar(image, ax=axes).set_label("weight: above − not above")
    return figure


# Plots of dendritic responses: a function, and a function fitted to a measured curve.


def nonlinearity(g: Nonlinearity, start: float = -0.5, stop: float = 1.5, *, figure: Figure | None = None) -> Figure:
    """A dendritic non-linearity and its slope, with the kinks marked.

    Parameters
    ----------
    g : Nonlinearity
        The function to draw; a jump is a gap in the line.
    start, stop : float
        Range of inputs, in units of 15 mV.

    Examples
    --------
    >>> import dendrocap as dc
    >>> from dendrocap import plot
    >>> [axes.get_ylabel() for axes in plot.nonlinearity(dc.Polsky()).axes]
    ['branch output $g(x)$', "slope $g'(x)$"]
    """
    x = np.unique(np.concatenate([np.linspace(start, stop, 801), np.clip(g.breakpoints, start, stop)]))
    # A jump is a break in the line, not a slope.
    values, slopes = g(x), g.derivative(x)
    if g.has_jumps:
        values = np.where(np.isin(x, g.breakpoints), np.nan, values)
    colour = PALETTE[g.name]
    label = rf"Polsky, $x_{{\min}} = {g.x_min:g}$, $\gamma = {g.gamma:g}$" if isinstance(g, Polsky) else LABELS[g.name]
    with drawing(1, 3.3, figure) as figure:
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
        top.plot(x, values, color=colour, label=label)
        bottom.plot(x, slopes, color=colour)
        for at in g.breakpoints:
            if start <= at <= stop:
                top.axvline(at, color="0.8", lw=0.7, zorder=0)
                bottom.axvline(at, color="0.8", lw=0.7, zorder=0)
        if isinstance(g, Polsky) and start < g.x_min < stop:
            top.annotate(r"$x_{\min}$", (g.x_min, 0.5), (-20, 6), textcoords="offset points", color="0.4")
        top.legend(loc="lower right")
        top.set_ylabel(AXIS_LABELS["branch_output"])
        bottom.set(ylabel=r"slope $g'(x)$", xlabel=r"summed branch input $x$ (units of 15 mV)")
        top.set_xlim(start, stop)
        bottom.locator_params(axis="x", nbins=6)
    return figure


def nonlinearity_fit(fit: NonlinearityFit, unit: str = "mV", *, figure: Figure | None = None) -> Figure:
    r"""A measured dendritic curve with the fitted function, and the residuals below.

    Parameters
    ----------
    fit : NonlinearityFit
        As returned by `fit_nonlinearity`.
    unit : str
        Unit of the measured curve.

    Examples
    --------
    >>> import numpy as np
    >>> import dendrocap as dc
    >>> from dendrocap import plot
    >>> x = np.linspace(0.5, 24.0, 20)
    >>> figure = plot.nonlinearity_fit(dc.fit_nonlinearity(x, 15 * dc.Polsky()(x / 15)))
    >>> figure.axes[0].lines[1].get_label()
    '$x_{\\min} = 0.33$, $\\gamma = 15.0$, 15.0 mV'
    """
    name = fit.nonlinearity.name
    colour = PALETTE[name]
    x = np.linspace(min(0.0, float(fit.x.min())), 1.05 * float(fit.x.max()), 600)
    label = rf"$x_{{\min}} = {fit.x_min:.2f}$, $\gamma = {fit.gamma:.1f}$, {fit.scale:.1f} {unit}"
    with drawing(1, 3.3, figure) as figure:
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        top.plot(x, x, color="0.8", lw=0.8, ls=":", label="linear sum")
        top.plot(x, fit.predict(x), color=colour, label=LABELS[name] if math.isnan(fit.x_min) else label)
        points: dict[str, Any] = {"fmt": "o", "color": "0.25", "elinewidth": 0.8, "yerr": fit.sem}
        top.errorbar(fit.x, fit.y, ms=3.5, label="measured" if fit.sem is None else "measured, SEM", **points)
        bottom.axhline(0.0, color="0.8", lw=0.8)
        bottom.errorbar(fit.x, fit.y - fit.predict(fit.x), ms=3.0, **points)
        top.set(
            ylim=(min(0.0, 1.1 * float(fit.y.min())), 1.1 * max(float(fit.y.max()), fit.scale)),
            xlim=(x[0], x[-1]),
            ylabel=f"recorded output ({unit})",
        )
        bottom.set(ylabel="residual", xlabel=f"expected sum of inputs ({unit})")
        top.legend(loc="lower right")
    return figure


# The best dendrite beside others under the same limits.


def best_dendrite(
    best: BestDendrite, others: Mapping[str, Nonlinearity] | None = None, *, figure: Figure | None = None
) -> Figure:
    """The best dendrite and others scaled to its limits, and what a further rise would bring at each input.

    Parameters
    ----------
    best : BestDendrite
        What to draw.
    others : mapping of str to Nonlinearity, optional
        Dendrites to compare with, by name.

    Examples
    --------
    >>> import dendrocap as dc
    >>> from dendrocap import plot
    >>> best = dc.best_dendrite(5.0, 0.5, task=dc.TaskSpec(kappa=0.2), rsb=0)
    >>> len(plot.best_dendrite(best, {"Polsky": dc.Polsky()}).axes)
    2
    """
    g, s = best.nonlinearity, best.solution.preactivation_sd
    ends = [other.knots[-1] / best.stretch(other) for other in (others or {}).values()]
    end = max(g.x[-1], *(min(one, 4.0 / best.slope_limit) for one in ends), 1.0 / best.slope_limit)
    x = np.unique(np.concatenate([np.linspace(-0.3 * end, 1.9 * end, 900), g.x]))
    with drawing(2, 2.9, figure) as figure:
        left, right = figure.subplots(1, 2)
        for name, other in (others or {}).items():
            low, high = other.range
            scaled = (other(best.stretch(other) * x) - low) / (high - low)
            label = rf"{name}, $\alpha_c$ = {best.capacity_of(other):.3g}"
            left.plot(x, scaled, "--", color=PALETTE[other.name], label=label)
        label = rf"best, $\alpha_c$ = {best.alpha_c:.3g}"
        left.plot(x, g(x), color=PALETTE[g.name], lw=2, label=label, zorder=1.5)
        left.axhline(best.theta_s, color="0.6", lw=0.8, ls=":")
        left.annotate(r"$\theta_s$", (x[0], best.theta_s), (1, 2), textcoords="offset points", color="0.4")
        left.set(xlabel="summed branch input $x$", ylabel=AXIS_LABELS["branch_output"], title=best.estimate)
        left.legend(loc="lower right", bbox_to_anchor=(1.0, 0.02))
        far = np.linspace(best.solution.preactivation_mean - 4.0 * s, best.solution.preactivation_mean + 4.0 * s, 500)
        far = np.unique(np.concatenate([far, x]))
        gain = best.gain_of_a_rise(far)
        right.axhline(0.0, color="0.6", lw=0.8)
        right.plot(far, gain, color=PALETTE[g.name])
        rising = np.asarray(g.derivative(far)) > 0.0
        right.fill_between(far, 0.0, gain, where=rising, color=PALETTE[g.name], alpha=0.25, label="where it rises")
        right.set(xlabel="summed branch input $x$", ylabel=r"$\partial \ln \alpha_c / \partial$ height")
        right.set_title("what a rise is worth", fontsize=9)
        right.legend()
    return figure


# Plots of several states side by side: errors under noise, learned states, students.

# Colour and dash of each state; colours by Okabe and Ito. None has broken symmetry, so none is dashed.
LOOKS = (("#0072B2", "-"), ("#009E73", "-"), ("#D55E00", "-"), ("#000000", ":"))


def states(
    rows: Rows | pd.DataFrame,
    x: str,
    columns: Mapping[str, str],
    y_label: str,
    *,
    log: bool = False,
    family: Sequence[str] = (),
    figure: Figure | None = None,
) -> Figure:
    """Several quantities against one parameter, one panel per non-linearity.

    Parameters
    ----------
    rows : sequence of mappings, or DataFrame
        Rows with ``nonlinearity``, ``estimate`` (exact, or replica symmetric), the parameter and the columns. Points
        without a solution, None or NaN, are left out.
    x : str
        The parameter.
    columns : mapping from str to str
        The columns to draw, with their names in the legend; a single column has no legend.
    y_label : str
        Label of the y axis, common to all columns.
    log : bool
        Whether the axis of the parameter is logarithmic.
    family : sequence of str
        Further parameters; each combination of their values gets its own shade.

    Examples
    --------
    >>> import dendrocap as dc
    >>> from dendrocap import plot
    >>> found = [dc.teacher_student(dc.NeuronSpec(dc.Linear(), 0.5, 0.5), alpha=alpha) for alpha in (0.5, 1.0)]
    >>> rows = [{"nonlinearity": "linear", "estimate": one.estimate, "alpha": one.alpha, "error": one.gibbs_error}
    ...         for one in found]
    >>> plot.states(rows, "alpha", {"error": "one student"}, "generalisation error").axes[0].get_title()
    'linear, exact'
    """
    listed: Rows = rows if isinstance(rows, Sequence) else rows.to_dict("records")
    kinds = list(dict.fromkeys(row["nonlinearity"] for row in listed))
    members = list(dict.fromkeys(tuple(row[name] for name in family) for row in listed))
    with drawing(1.0 if len(kinds) == 1 else 2.1, 2.9, figure) as figure:
        panels = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
        for kind, axes in zip(kinds, panels, strict=True):
            own = [row for row in listed if row["nonlinearity"] == kind]
            for (column, label), (colour, dash) in zip(columns.items(), LOOKS, strict=False):
                for place, member in enumerate(members):
                    points = [row for row in own if tuple(row[name] for name in family) == member and _is(row, column)]
                    if not points:
                        continue
                    axes.plot(
                        [row[x] for row in points],
                        [row[column] for row in points],
                        color=colour,
                        ls=dash,
                        alpha=1.0 - 0.65 * place / max(len(members) - 1, 1),
                        label=", ".join(filter(None, (label, member_name(family, member)))),
                    )
            estimates = dict.fromkeys(row["estimate"] for row in own if row.get("estimate"))
            axes.set_title(", ".join((LABELS[kind], " or ".join(estimates))), fontsize=8)
            axes.set(xlabel=AXIS_LABELS[x])
            if log:
                axes.set_xscale("log")
        panels[0].set_ylabel(y_label)
        negative = any(_is(row, column) and row[column] < 0.0 for row in listed for column in columns)
        panels[0].set_ylim(**{"top" if negative else "bottom": 0.0})
        handles = {
            text: handle for axes in panels for handle, text in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        figure.legend(handles.values(), handles, loc="outside lower center", ncols=2)
    return figure


def _is(row: Mapping[str, Any], column: str) -> bool:
    return row.get(column) is not None and not math.isnan(row[column])
