"""Plots of several states side by side: errors under noise, learned states, students."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dendrocap.figures.style import AXIS_LABELS, LABELS, drawing, member_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["states"]

Rows = Sequence[Mapping[str, Any]]

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
    figure : Figure, optional
        Figure to draw into; by default a new one.

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
