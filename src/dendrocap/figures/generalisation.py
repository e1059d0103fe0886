"""Training and test error against epochs, dendritic against linear neuron: the paper's Fig. 8."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dendrocap.figures.style import COLUMN_WIDTH, PALETTE, house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_generalisation"]


def draw_generalisation(rows: Sequence[Mapping[str, Any]], title: str) -> Figure:
    """Errors of each neuron with their standard errors; rows as printed by ``dendrocap generalise``."""
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(COLUMN_WIDTH, 2.8), layout="constrained")
        axes = figure.subplots()
        for neuron in dict.fromkeys(row["neuron"] for row in rows):
            mine = [row for row in rows if row["neuron"] == neuron]
            colour = PALETTE["linear" if neuron == "linear" else "polsky"]
            epochs = [row["epoch"] for row in mine]
            for key, style, what in (("test_error", "-", "test"), ("train_error", ":", "training")):
                mean = 100.0 * np.array([row[key] for row in mine])
                error = 100.0 * np.nan_to_num([row[f"{key}_se"] for row in mine])  # a single seed has no error
                axes.plot(epochs, mean, style, color=colour, label=f"{neuron}, {what}")
                axes.fill_between(epochs, mean - error, mean + error, color=colour, alpha=0.15, lw=0)
        axes.set_xlabel("epoch")
        axes.set_ylabel("error (%)")
        axes.set_title(title)
        axes.set_ylim(bottom=0)
        axes.legend()
    return figure
