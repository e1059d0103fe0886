"""A result of the theory against one parameter, one line per non-linearity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dendrocap.figures.style import COLUMN_WIDTH, LABELS, PALETTE, house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["AXIS_LABELS", "curves_on", "draw_curves"]

AXIS_LABELS = {
    "theta_d": r"dendritic threshold $\theta_d$",
    "theta_s": r"somatic threshold $\theta_s$",
    "x_min": r"onset of the sigmoid $x_{\min}$",
    "gamma": r"steepness $\gamma$",
    "f_in": r"input coding level $f_{\mathrm{in}}$",
    "f_out": r"output coding level $f_{\mathrm{out}}$",
    "kappa": r"margin $\kappa$",
    "alpha": r"load $\alpha = P / N$",
}
# Replica symmetry is drawn solid, the limit of many steps dotted.
STEP_STYLES = {0: "-", 1: "--", "full": ":"}


def draw_curves(rows: Sequence[Mapping[str, Any]], x: str, y: str, y_label: str, *, log: bool = False) -> Figure:
    """``y`` against ``x``, both keys of the rows, with the linear neuron dashed where it is among them."""
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(COLUMN_WIDTH, 2.6), layout="constrained")
        axes = figure.subplots()
        curves_on(axes, rows, x, y, y_label)
        if log:
            axes.set_xscale("log")
        axes.legend()
    return figure


def curves_on(axes: Any, rows: Sequence[Mapping[str, Any]], x: str, y: str, y_label: str) -> None:
    """The same on axes of one's own, without a legend."""
    for name, steps in dict.fromkeys((row["nonlinearity"], row.get("rsb", 0)) for row in rows):
        own = [row for row in rows if (row["nonlinearity"], row.get("rsb", 0)) == (name, steps)]
        line = [(row[x], row[y]) for row in own if None not in (row[x], row[y])]
        if not line:
            continue
        label = LABELS[name] if steps == 0 else f"{LABELS[name]}, {steps} RSB"
        style = "--" if name == "linear" else STEP_STYLES.get(steps, "-.")
        axes.plot(*zip(*line, strict=True), color=PALETTE[name], label=label, ls=style)
    axes.set_xlabel(AXIS_LABELS[x])
    axes.set_ylabel(y_label)
