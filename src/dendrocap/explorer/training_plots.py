"""The figures of the second tab: error and learned weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, Range1d
from numpy.typing import NDArray

from dendrocap.explorer.plots import BINS, Plot
from dendrocap.explorer.theme import LIGHT
from dendrocap.explorer.trainer import Progress, WeightTheory

__all__ = ["ErrorPlot", "LearnedWeightPlot", "bin_edges"]

Floats = NDArray[np.float64]


class ErrorPlot(Plot):
    """Fraction of patterns wrong after each epoch."""

    def __init__(self) -> None:
        super().__init__(
            "epoch",
            "fraction of patterns wrong",
            description="Training error against epoch",
            x_range=Range1d(0, 50),
            y_range=Range1d(0.0, 0.5),
        )
        self.error = ColumnDataSource({"epoch": [], "error": [], "best": []})
        thin = self.figure.line("epoch", "error", source=self.error, line_alpha=0.7, legend_label="after each epoch")
        thick = self.figure.line("epoch", "best", source=self.error, line_width=2.5, legend_label="best so far")
        self.lines = (thin.glyph, thick.glyph)
        self.figure.legend.location = "top_right"
        self.set_theme(LIGHT)

    def show(self, progress: Progress, name: str) -> None:
        """Draw the run so far."""
        for line in self.lines:
            line.line_color = self.theme.curves[name]
        best = np.minimum.accumulate(progress.error) if progress.error.size else progress.error
        self.error.data = {"epoch": progress.epochs, "error": progress.error, "best": best}
        self.figure.x_range.update(start=0, end=max(50, 1.05 * progress.epoch))
        top = float(progress.error.max()) if progress.error.size else 0.4
        self.figure.y_range.update(start=0.0, end=max(0.05, 1.2 * top))


class LearnedWeightPlot(Plot):
    """Histogram of the weights, with the theoretical expectation in each bin."""

    def __init__(self) -> None:
        super().__init__(
            "synaptic weight W / mean",
            "density",
            description="Histogram of the learned weights and theory",
            x_range=Range1d(-0.05, 5.0),
            y_range=Range1d(0.0, 2.0),
        )
        self.learned = ColumnDataSource({"left": [], "right": [], "top": []})
        self.at_load = ColumnDataSource({"x": [], "y": []})
        self.at_capacity = ColumnDataSource({"x": [], "y": []})
        bars = self.figure.quad(
            left="left", right="right", bottom=0, top="top", source=self.learned, fill_alpha=0.45, line_color=None,
            legend_label="learned",
        ).glyph  # fmt: skip
        typical = self.figure.line(
            "x", "y", source=self.at_load, line_width=2.2, legend_label="replica symmetric, this load"
        )
        capacity = self.figure.line(
            "x",
            "y",
            source=self.at_capacity,
            line_width=2,
            line_dash="dashed",
            legend_label="broken symmetry, at capacity",
        )
        self.figure.legend.location = "top_right"
        self.coloured(bars, fill_color="learned")
        self.coloured(typical.glyph, line_color="polsky")
        self.coloured(capacity.glyph, line_color="text")
        self.set_theme(LIGHT)

    def show_theory(self, theory: WeightTheory, mean: float) -> None:
        """Draw the theoretical expectation in each bin; silent synapses fall into the first bin."""
        edges = bin_edges(mean)
        for source, distribution in ((self.at_load, theory.at_load), (self.at_capacity, theory.at_capacity)):
            if distribution is None:
                source.data = {"x": [], "y": []}
                continue
            cumulative = np.asarray(distribution.cdf(edges))
            cumulative[0] = 0.0  # silent synapses, all at zero, belong to the first bin
            source.data = _outline(edges / mean, np.diff(cumulative) / np.diff(edges / mean))
        self._fit_range()

    def show(self, weights: Floats, mean: float) -> None:
        """Draw the current weights."""
        edges = bin_edges(mean)
        counts, _ = np.histogram(weights, edges)
        width = np.diff(edges) / mean
        density = counts / (max(weights.size, 1) * width)
        self.learned.data = {"left": edges[:-1] / mean, "right": edges[1:] / mean, "top": density}
        self._fit_range()

    def _fit_range(self) -> None:
        # The bar of silent synapses at capacity may exceed the range: the page shows its number above.
        columns: list[Any] = [self.learned.data["top"], self.at_load.data["y"], self.at_capacity.data["y"][2:], [1.0]]
        highest = max(float(np.max(column)) for column in columns if len(column))
        self.figure.y_range.update(start=0.0, end=1.1 * highest)


def _outline(edges: Floats, heights: Floats) -> dict[str, Floats]:
    """The outline of a histogram as one line."""
    x = np.repeat(edges, 2)[1:-1]
    return {"x": x, "y": np.repeat(heights, 2)}


def bin_edges(mean: float) -> Floats:
    """Bins of the histogram: up to five times the mean weight."""
    return np.linspace(0.0, 5.0 * mean, BINS + 1)
