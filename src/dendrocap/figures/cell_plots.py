"""Drawings of reconstructed neurons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dendrocap.display import with_digits
from dendrocap.figures.style import FONT_SIZE, drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dendrocap.fitting import GroupShare, ReconstructedNeuron
    from dendrocap.theory import Capacity

__all__ = ["cell"]

# Colours by Okabe and Ito; here they denote parts of a tree.
COLOURS = {"basal": "#0072B2", "apical trunk": "#000000", "apical oblique": "#009E73", "apical tuft": "#D55E00"}
BAR_UM = (20.0, 50.0, 100.0, 200.0, 500.0)


def cell(
    neuron: ReconstructedNeuron, whole: Capacity, shares: Sequence[GroupShare] = (), *, figure: Figure | None = None
) -> Figure:
    """A reconstructed neuron with its branches coloured by group, and a table of the contributions of the groups.

    Parameters
    ----------
    neuron : ReconstructedNeuron
        As returned by `cell_from_morphology`.
    whole : Capacity
        Capacity of the cell, for the title.
    shares : sequence of GroupShare
        As returned by `group_shares`.
    figure : Figure, optional
        Figure to draw into; by default a new one.

    Examples
    --------
    >>> import dendrocap as dc
    >>> from dendrocap import plot
    >>> from dendrocap.datasets import example_cell
    >>> from dendrocap.fitting import group_shares
    >>> cell = dc.cell_from_morphology(example_cell(), synapses_per_um=2.0)
    >>> figure = plot.cell(cell, *group_shares(cell))
    >>> len(figure.axes)
    2
    """
    with drawing(2, 3.6, figure) as figure:
        tree, table = figure.subplots(1, 2, width_ratios=(2, 3))
        _draw_tree(tree, neuron)
        _draw_table(table, shares)
        figure.suptitle(f"{neuron.summary}\n{whole.title}", fontsize=8.5)
    return figure


def _draw_tree(axes: Any, neuron: ReconstructedNeuron) -> None:
    for name, colour in COLOURS.items():
        for group, points in neuron.outlines:
            if group == name:
                axes.plot(points[:, 0], points[:, 1], color=colour, lw=0.8)
    for group, points in neuron.outlines:
        if group == "soma":
            axes.plot(points[:, 0], points[:, 1], "o", color="0.3", ms=5.0)
    axes.set_aspect("equal")
    axes.axis("off")
    span = float(np.diff(axes.get_ylim())[0])
    bar = max((length for length in BAR_UM if length < 0.3 * span), default=BAR_UM[0])
    left, bottom = axes.get_xlim()[0], axes.get_ylim()[0]
    axes.plot([left, left], [bottom, bottom + bar], color="0.2", lw=2.0)
    axes.annotate(f"{bar:g} µm", (left, bottom + 0.5 * bar), (4, 0), textcoords="offset points", va="center")


def _draw_table(axes: Any, shares: Sequence[GroupShare]) -> None:
    axes.axis("off")
    if not shares:
        return
    header = ["", "branches", "mm", "synapses", "silent", "patterns\nwithout"]
    rows = [
        [
            share.group.name,
            f"{share.group.n_branches}",
            f"{share.group.length_um / 1000.0:.2f}",
            f"{share.group.n_synapses:,}",
            f"{100.0 * share.silent_fraction:.0f} %",
            "" if share.without is None else with_digits(float(share.without.n_patterns or 0), 2),
        ]
        for share in shares
    ]
    drawn = axes.table([header, *rows], loc="center", edges="horizontal", cellLoc="right", bbox=(0.0, 0.3, 1.0, 0.5))
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(FONT_SIZE)
    drawn.auto_set_column_width(list(range(len(header))))
    for number, share in enumerate(shares, start=1):
        drawn[number, 0].get_text().set_color(COLOURS[share.group.name])
        drawn[number, 0].get_text().set_weight("bold")
    for (row, _), box in drawn.get_celld().items():
        box.set_edgecolor("0.7" if row else "0.3")
