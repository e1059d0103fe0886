"""Plots of dendritic responses: a function, and a function fitted to a measured curve."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dendrocap.figures.style import AXIS_LABELS, LABELS, PALETTE, drawing
from dendrocap.model import Nonlinearity, Polsky

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dendrocap.fitting import NonlinearityFit

__all__ = ["nonlinearity", "nonlinearity_fit"]


def nonlinearity(g: Nonlinearity, start: float = -0.5, stop: float = 1.5, *, figure: Figure | None = None) -> Figure:
    """A dendritic non-linearity and its slope, with the kinks marked.

    Parameters
    ----------
    g : Nonlinearity
        The function to draw; a jump is a gap in the line.
    start, stop : float
        Range of inputs, in units of 15 mV.
    figure : Figure, optional
        Figure to draw into; by default a new one.

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
    figure : Figure, optional
        Figure to draw into; by default a new one.

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
