"""The dendritic transfer function, as in the inset of the paper's Fig. 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dendrocap.figures.style import COLUMN_WIDTH, LABELS, PALETTE, house_style
from dendrocap.model.nonlinearities import Nonlinearity, Polsky

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_nonlinearity"]


def draw_nonlinearity(g: Nonlinearity, start: float = -0.5, stop: float = 1.5) -> Figure:
    """g and its slope between ``start`` and ``stop``, with the kinks marked."""
    from matplotlib.figure import Figure

    x = np.unique(np.concatenate([np.linspace(start, stop, 801), np.clip(g.breakpoints, start, stop)]))
    # A jump is a break in the line, not a slope.
    values, slopes = g(x), g.derivative(x)
    if g.has_jumps:
        values = np.where(np.isin(x, g.breakpoints), np.nan, values)
    colour = PALETTE[g.name]
    with house_style():
        figure = Figure(figsize=(COLUMN_WIDTH, 3.3), layout="constrained")
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
        top.plot(x, values, color=colour, label=_label(g))
        bottom.plot(x, slopes, color=colour)
        for at in g.breakpoints:
            if start <= at <= stop:
                top.axvline(at, color="0.8", lw=0.7, zorder=0)
                bottom.axvline(at, color="0.8", lw=0.7, zorder=0)
        if isinstance(g, Polsky) and start < g.x_min < stop:
            top.annotate(r"$x_{\min}$", (g.x_min, 0.5), (-20, 6), textcoords="offset points", color="0.4")
        top.legend(loc="lower right")
        top.set_ylabel(r"branch output $g(x)$")
        bottom.set_ylabel(r"slope $g'(x)$")
        bottom.set_xlabel(r"summed branch input $x$ (units of 15 mV)")
        top.set_xlim(start, stop)
        bottom.locator_params(axis="x", nbins=6)
    return figure


def _label(g: Nonlinearity) -> str:
    if isinstance(g, Polsky):
        return rf"Polsky, $x_{{\min}} = {g.x_min:g}$, $\gamma = {g.gamma:g}$"
    return "linear" if g.name == "linear" else LABELS[g.name]
