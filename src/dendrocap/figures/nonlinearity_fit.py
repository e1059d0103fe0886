"""A measured dendritic curve with the function fitted to it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dendrocap.figures.style import COLUMN_WIDTH, PALETTE, house_style
from dendrocap.fitting import NonlinearityFit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_nonlinearity_fit"]


def draw_nonlinearity_fit(fit: NonlinearityFit, unit: str = "mV") -> Figure:
    """Data, fitted curve, and residuals below."""
    from matplotlib.figure import Figure

    colour = PALETTE[fit.nonlinearity.name]
    x = np.linspace(0.0, 1.05 * float(fit.x.max()), 600)
    with house_style():
        figure = Figure(figsize=(COLUMN_WIDTH, 3.3), layout="constrained")
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        top.plot(x, x, color="0.8", lw=0.8, ls=":", label="linear sum")
        top.plot(x, fit.predict(x), color=colour, label=_label(fit, unit))
        top.plot(fit.x, fit.y, "o", color="0.25", ms=3.5, label="measured")
        bottom.axhline(0.0, color="0.8", lw=0.8)
        bottom.plot(fit.x, fit.y - fit.predict(fit.x), "o", color="0.25", ms=3.0)
        top.set_ylim(0.0, 1.1 * max(float(fit.y.max()), fit.scale))
        top.set_xlim(0.0, x[-1])
        top.set_ylabel(f"recorded output ({unit})")
        bottom.set_ylabel("residual")
        bottom.set_xlabel(f"expected sum of inputs ({unit})")
        top.legend(loc="lower right")
    return figure


def _label(fit: NonlinearityFit, unit: str) -> str:
    if math.isnan(fit.x_min):
        return "table"
    return rf"$x_{{\min}} = {fit.x_min:.2f}$, $\gamma = {fit.gamma:.1f}$, {fit.scale:.1f} {unit}"
