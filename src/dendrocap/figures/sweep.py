"""A metric of a sweep against one axis of its grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dendrocap.experiments.averages import Average
from dendrocap.figures.style import COLUMN_WIDTH, PALETTE, house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_averages"]

COLOURS = tuple(dict.fromkeys(PALETTE.values()))


def draw_averages(points: Sequence[Average], x: str, y: str, by: str | None = None) -> Figure:
    """Means with standard errors, one line per value of ``by``; non-linearities have the colours of all figures."""
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(COLUMN_WIDTH, 2.6), layout="constrained")
        axes = figure.subplots()
        for number, line in enumerate(dict.fromkeys(point.line for point in points)):
            own = [point for point in points if point.line == line]
            axes.errorbar(
                [point.x for point in own],
                [point.mean for point in own],
                yerr=[point.standard_error for point in own],
                color=PALETTE.get(str(line).replace("-", "_"), COLOURS[number % len(COLOURS)]),
                marker="o",
                markersize=3,
                capsize=2,
                label=f"{by} = {line}" if by else None,
            )
        axes.set_xlabel(x.replace("_", " "))
        axes.set_ylabel(y.replace("_", " "))
        if by:
            axes.legend()
    return figure
