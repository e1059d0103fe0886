"""Fig. 1: the neuron and its dendritic non-linearity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dendrocap.figures.style import AXIS_LABELS, PALETTE, drawing
from dendrocap.model import Polsky, ReLU
from dendrocap.reproduction.claims import Measured
from dendrocap.reproduction.runs import Tables, exact

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FIGURE", "TABLES", "draw", "measure", "tables"]

TABLES = (CURVE,) = ("fig1",)
# Elements of the sketch of a neuron, and their colours.
BRANCHES, SYNAPSES = 4, 5
INK, SOFT, SYNAPSE, DENDRITE = "0.15", "0.45", PALETTE[ReLU.name], PALETTE[Polsky.name]


def tables() -> Tables:
    """The standard dendritic non-linearity and its slope."""
    import pandas as pd

    g = Polsky()
    x = np.unique(np.concatenate([np.linspace(-0.3, 1.3, 641), g.breakpoints]))
    return {CURVE: pd.DataFrame({"x_min": g.x_min, "gamma": g.gamma, "x": x, "g": g(x), "slope": g.derivative(x)})}


def draw(tables: Tables) -> Figure:
    """A neuron with a few of its branches, and g with its slope."""
    curve = tables[CURVE]
    with drawing(2, 2.7) as figure:
        sketch, function = figure.subplots(1, 2, width_ratios=(3, 2))
        _draw_neuron(sketch)
        function.plot(curve.x, curve.g, color=DENDRITE, label=r"$g(x)$")
        function.plot(
            curve.x,
            curve.slope / curve.slope.max(),
            color="0.6",
            lw=1.0,
            ls="--",
            label=rf"slope $g'(x)$ / {curve.slope.max():.3g}",
        )
        function.set(xlabel=r"branch input $x$ (units of 15 mV)", ylabel=AXIS_LABELS["branch_output"])
        x_min, gamma = curve.x_min.iloc[0], curve.gamma.iloc[0]
        function.set_title(rf"Polsky: $x_{{\min}} = {x_min:g}$, $\gamma = {gamma:g}$")
        function.legend(loc="center right")
    return figure


def _draw_neuron(axes: Any) -> None:
    from matplotlib.patches import Circle

    axes.set(xlim=(0.0, 10.0), ylim=(-0.4, 5.9))
    axes.set_aspect("equal")
    axes.axis("off")
    soma = (7.3, 2.5)
    heights = np.linspace(0.5, 4.5, BRANCHES)
    for row, height in enumerate(heights):
        axes.plot([1.0, 4.0], [height, height], color=INK, lw=2.2, solid_capstyle="round")
        for x in np.linspace(1.2, 3.0, SYNAPSES):
            axes.plot([x, x], [height + 0.08, height + 0.36], color=SYNAPSE, lw=1.0)
            axes.plot(x, height + 0.42, "o", color=SYNAPSE, ms=3.0)
        axes.add_patch(Circle((4.4, height), 0.36, facecolor="white", edgecolor=DENDRITE, lw=1.4))
        steep = np.linspace(-1.0, 1.0, 60)
        axes.plot(4.4 + 0.22 * steep, height - 0.16 + 0.34 / (1.0 + np.exp(-9.0 * steep)), color=DENDRITE, lw=1.0)
        axes.plot([4.76, soma[0] - 0.55], [height, soma[1] + 0.14 * (row - 1.5)], color=INK, lw=1.0)
    axes.add_patch(Circle(soma, 0.62, facecolor="0.92", edgecolor=INK, lw=1.6))
    axes.text(*soma, r"$\Sigma,\ \theta_s$", ha="center", va="center", fontsize=8)
    axes.annotate("", (9.3, soma[1]), (soma[0] + 0.62, soma[1]), arrowprops={"arrowstyle": "-|>", "color": INK})
    axes.text(9.35, soma[1], r"$\hat\sigma$", va="center", fontsize=10)
    axes.text(2.1, 5.25, r"$N/K$ inputs $\xi_{li}$, weights $W_{li} \geq 0$", ha="center", color=SYNAPSE)
    axes.text(4.4, -0.25, r"$g(\lambda_l)$", ha="center", color=DENDRITE, fontsize=8)
    axes.text(1.6, -0.25, r"$K$ branches, $\theta_d$", ha="center", color=SOFT)
    axes.text(8.2, 3.55, r"soma: $\Delta > 0$?", ha="center", color=SOFT)


def measure(tables: Tables) -> dict[str, Measured]:
    """Where g saturates, and its largest slope."""
    curve = tables[CURVE]
    at_one = float(np.interp(1.0, curve.x, curve.g))
    return {"largest_slope": Measured(float(curve.slope.max())), "value_at_one": Measured(at_one)}


FIGURE = exact("fig1", "neuron", "The neuron and its dendritic non-linearity", tables, draw, measure, seconds=1)
