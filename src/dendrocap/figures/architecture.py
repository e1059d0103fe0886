"""The neuron and its dendritic non-linearity: the paper's Fig. 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dendrocap.figures.style import COLUMN_WIDTH, PALETTE, house_style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["draw_architecture"]

BRANCHES, SYNAPSES = 4, 5
INK, SOFT, SYNAPSE = "0.15", "0.45", PALETTE["relu"]


def draw_architecture(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """A neuron with a few of its branches, and g with its slope; ``fig1`` has x, g, slope, x_min and gamma."""
    from matplotlib.figure import Figure

    curve = tables["fig1"]
    with house_style():
        figure = Figure(figsize=(2 * COLUMN_WIDTH, 2.7), layout="constrained")
        sketch, function = figure.subplots(1, 2, width_ratios=(3, 2))
        _draw_neuron(sketch)
        function.plot(curve.x, curve.g, color=PALETTE["polsky"], label=r"$g(x)$")
        function.plot(
            curve.x,
            curve.slope / curve.slope.max(),
            color="0.6",
            lw=1.0,
            ls="--",
            label=rf"slope $g'(x)$ / {curve.slope.max():.3g}",
        )
        function.set_xlabel(r"branch input $x$ (units of 15 mV)")
        function.set_ylabel(r"branch output $g(x)$")
        x_min, gamma = curve.x_min.iloc[0], curve.gamma.iloc[0]
        function.set_title(rf"Polsky: $x_{{\min}} = {x_min:g}$, $\gamma = {gamma:g}$")
        function.legend(loc="center right")
    return figure


def _draw_neuron(axes: Any) -> None:
    from matplotlib.patches import Circle

    axes.set_xlim(0.0, 10.0)
    axes.set_ylim(-0.4, 5.9)
    axes.set_aspect("equal")
    axes.axis("off")
    soma = (7.3, 2.5)
    heights = np.linspace(0.5, 4.5, BRANCHES)
    for row, height in enumerate(heights):
        axes.plot([1.0, 4.0], [height, height], color=INK, lw=2.2, solid_capstyle="round")
        for x in np.linspace(1.2, 3.0, SYNAPSES):
            axes.plot([x, x], [height + 0.08, height + 0.36], color=SYNAPSE, lw=1.0)
            axes.plot(x, height + 0.42, "o", color=SYNAPSE, ms=3.0)
        axes.add_patch(Circle((4.4, height), 0.36, facecolor="white", edgecolor=PALETTE["polsky"], lw=1.4))
        steep = np.linspace(-1.0, 1.0, 60)
        axes.plot(
            4.4 + 0.22 * steep, height - 0.16 + 0.34 / (1.0 + np.exp(-9.0 * steep)), color=PALETTE["polsky"], lw=1.0
        )
        axes.plot([4.76, soma[0] - 0.55], [height, soma[1] + 0.14 * (row - 1.5)], color=INK, lw=1.0)
    axes.add_patch(Circle(soma, 0.62, facecolor="0.92", edgecolor=INK, lw=1.6))
    axes.text(*soma, r"$\Sigma,\ \theta_s$", ha="center", va="center", fontsize=8)
    axes.annotate("", (9.3, soma[1]), (soma[0] + 0.62, soma[1]), arrowprops={"arrowstyle": "-|>", "color": INK})
    axes.text(9.35, soma[1], r"$\hat\sigma$", va="center", fontsize=10)
    axes.text(2.1, 5.25, r"$N/K$ inputs $\xi_{li}$, weights $W_{li} \geq 0$", ha="center", color=SYNAPSE, fontsize=7.5)
    axes.text(4.4, -0.25, r"$g(\lambda_l)$", ha="center", color=PALETTE["polsky"], fontsize=8)
    axes.text(1.6, -0.25, r"$K$ branches, $\theta_d$", ha="center", color=SOFT, fontsize=7.5)
    axes.text(8.2, 3.55, r"soma: $\Delta > 0$?", ha="center", color=SOFT, fontsize=7.5)
