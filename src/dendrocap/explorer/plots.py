"""The figures of the page, in Bokeh: made once per session, then fed with new data.

The first tab has the dendrite, the capacity and the weights at capacity, the second error and learned weights.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, FixedTicker, Label, LinearAxis, NumeralTickFormatter, Range1d, Span
from bokeh.plotting import figure
from numpy.typing import NDArray

from dendrocap.explorer.theme import LIGHT, Theme
from dendrocap.explorer.trainer import Progress, WeightTheory
from dendrocap.explorer.views import View
from dendrocap.figures.style import LABELS

__all__ = [
    "AxisTitles",
    "CapacityPlot",
    "DendritePlot",
    "ErrorPlot",
    "LearnedWeightPlot",
    "Plot",
    "WeightPlot",
    "bin_edges",
    "plain",
]

Floats = NDArray[np.float64]
BINS = 40  # of the learned weights

FONT = "DejaVu Sans, Verdana, sans-serif"
AxisTitles = {"theta_d": "dendritic threshold θ_d", "theta_s": "somatic threshold θ_s"}


class Plot:
    """A figure in the look of the house: no frame, no grid, and the colours of the theme."""

    def __init__(self, x_title: str, y_title: str, *, description: str, **options: Any) -> None:
        self.figure = figure(
            height=248,
            sizing_mode="stretch_width",
            toolbar_location="above",
            tools="pan,wheel_zoom,box_zoom,reset",
            x_axis_label=x_title,
            y_axis_label=y_title,
            name=description,
            **options,
        )
        # Scrolling scrolls the page.
        self.figure.toolbar.update(logo=None, autohide=True, active_scroll=None, active_drag=None)
        self.figure.update(toolbar_inner=True, outline_line_color=None, min_border_right=12)
        self.figure.grid.visible = False
        self.theme = LIGHT
        self._coloured: list[tuple[Any, dict[str, str]]] = []

    def set_theme(self, theme: Theme) -> None:
        """Repaint in the colours of a theme."""
        self.theme = theme
        plot = self.figure
        plot.background_fill_color = plot.border_fill_color = None  # the page shows through
        for axis in plot.axis:
            axis.axis_line_color = axis.major_tick_line_color = axis.minor_tick_line_color = theme.text
            axis.major_label_text_color = axis.axis_label_text_color = theme.text
            axis.major_label_text_font = axis.axis_label_text_font = FONT
            axis.axis_label_text_font_style = "normal"
            axis.axis_label_text_font_size, axis.major_label_text_font_size = "13px", "12px"
            axis.minor_tick_line_color = None
        for legend in plot.legend:
            legend.background_fill_color, legend.background_fill_alpha = theme.background, 0.7
            legend.border_line_color = None
            legend.label_text_color, legend.label_text_font, legend.label_text_font_size = theme.text, FONT, "12px"
            legend.padding, legend.spacing, legend.margin = 2, 8 if legend.orientation == "horizontal" else 0, 4
        for thing, colours in self._coloured:
            for attribute, name in colours.items():
                setattr(thing, attribute, getattr(theme, name, None) or theme.curves[name])

    def coloured(self, thing: Any, **colours: str) -> Any:
        """Remember which colours of the theme a glyph or label takes."""
        self._coloured.append((thing, colours))
        return thing


class DendritePlot(Plot):
    """g(x) with the density of branch inputs behind it."""

    def __init__(self) -> None:
        super().__init__(
            "summed branch input x (units of 15 mV)",
            "branch output g(x)",
            description="Dendritic non-linearity and distribution of branch inputs",
            x_range=Range1d(-0.3, 1.3),
            y_range=Range1d(0.0, 1.2),
        )
        plot = self.figure
        plot.extra_y_ranges = {"density": Range1d(0.0, 1.0)}
        self.curve = ColumnDataSource({"x": [], "g": []})
        self.density = ColumnDataSource({"x": [], "density": []})
        area = plot.varea(
            "x", 0, "density", source=self.density, y_range_name="density", fill_alpha=0.3, legend_label="branch inputs"
        )
        self.line = plot.line("x", "g", source=self.curve, line_width=2.5, legend_label="g").glyph
        self.threshold = Span(location=0.5, dimension="width", line_dash="dotted", line_width=1.2)
        self.threshold_label = Label(
            x=4, y=0.5, x_units="screen", text="θ_s, the mean output", text_font=FONT, text_font_size="11px"
        )
        plot.add_layout(self.threshold)
        plot.add_layout(self.threshold_label)
        plot.legend.update(location="top_left", orientation="horizontal")
        self.coloured(area.glyph, fill_color="inputs")
        self.coloured(self.threshold, line_color="faint")
        self.coloured(self.threshold_label, text_color="faint")
        self.set_theme(LIGHT)

    def show(self, view: View) -> None:
        """Draw this neuron."""
        x, y = view.dendrite_x, view.dendrite_y
        self.line.line_color = self.theme.curves[view.parameters.g.name]
        self.curve.data = {"x": x, "g": y}
        shown = x if view.density.size else x[:0]
        self.density.data = {"x": shown, "density": view.density}
        self.figure.x_range.update(start=float(x[0]), end=float(x[-1]))
        low, high = min(0.0, float(y.min())), max(float(y.max()), view.parameters.theta_s)
        self.figure.y_range.update(start=low, end=low + 1.3 * (high - low))
        peak = float(view.density.max()) if view.density.size else 1.0
        self.figure.extra_y_ranges["density"].update(start=0.0, end=1.6 * peak)
        self.threshold.location = self.threshold_label.y = view.parameters.theta_s


class CapacityPlot(Plot):
    """Capacity against a threshold, with the present neuron marked and the linear neuron dashed."""

    def __init__(self, axis: str) -> None:
        self.axis = axis
        super().__init__(
            AxisTitles[axis],
            "capacity α_c = P_c / N",
            description=f"Critical capacity against the {AxisTitles[axis]}",
            x_axis_type="log" if axis == "theta_d" else "linear",
            y_axis_type="log",
            x_range=Range1d(0.01, 2.0),
            y_range=Range1d(0.5, 10.0),
        )
        plot = self.figure
        self.curve = ColumnDataSource({"x": [], "alpha_c": []})
        self.linear = ColumnDataSource({"x": [], "alpha_c": []})
        self.point = ColumnDataSource({"x": [], "alpha_c": []})
        dashed = plot.line(
            "x", "alpha_c", source=self.linear, line_dash="dashed", line_width=2, legend_label=LABELS["linear"]
        ).glyph
        self.line = plot.line("x", "alpha_c", source=self.curve, line_width=2.5, legend_label="dendrites").glyph
        self.marker = plot.scatter("x", "alpha_c", source=self.point, size=12, line_width=2, legend_label="here").glyph
        plot.legend.update(location="top_left", orientation="horizontal")
        plot.yaxis.formatter = NumeralTickFormatter(format="0.[00]a")
        # Kept and given new ticks: with new tickers Bokeh would walk through the whole document at every move.
        self.x_ticks, self.y_ticks = FixedTicker(), FixedTicker()
        plot.yaxis.ticker = self.y_ticks
        if axis == "theta_d":
            plot.xaxis.ticker = self.x_ticks
            plot.xaxis.formatter = NumeralTickFormatter(format="0.[0000]")
        self.coloured(dashed, line_color="linear")
        self.coloured(self.marker, line_color="text")
        self.set_theme(LIGHT)

    def show(self, view: View) -> None:
        """Draw the curve through this neuron."""
        curve, parameters = view.curve, view.parameters
        self.line.line_color = self.marker.fill_color = self.theme.curves[parameters.g.name]
        self.curve.data = {"x": curve.x, "alpha_c": curve.alpha_c}
        self.linear.data = {"x": curve.linear_x, "alpha_c": curve.linear}
        solved = view.solution is not None
        at = [getattr(parameters, self.axis)] if solved else []
        self.point.data = {"x": at, "alpha_c": [view.solution.alpha_c] if view.solution is not None else []}
        known = np.concatenate([curve.alpha_c[np.isfinite(curve.alpha_c)], curve.linear])
        low, high = 0.8 * float(known.min()), 1.25 * float(known.max())
        # Room for the legend above.
        self.figure.y_range.update(start=low, end=high * (high / low) ** 0.25)
        self.figure.x_range.update(start=float(curve.x[0]), end=float(curve.x[-1]))
        self.y_ticks.ticks = plain(low, 2.0 * high)
        if self.axis == "theta_d":
            self.x_ticks.ticks = plain(0.999 * float(curve.x[0]), 1.001 * float(curve.x[-1]))


class WeightPlot(Plot):
    """Density of the weights at capacity, with the silent ones as a bar at zero."""

    def __init__(self) -> None:
        super().__init__(
            "synaptic weight W (mV)",
            "density (1 / mV)",
            description="Distribution of synaptic weights at capacity",
            x_range=Range1d(-0.05, 1.0),
            y_range=Range1d(0.0, 1.0),
        )
        plot = self.figure
        plot.extra_y_ranges = {"fraction": Range1d(0.0, 1.0)}
        plot.add_layout(LinearAxis(y_range_name="fraction", axis_label="silent fraction p₀"), "right")
        self.density = ColumnDataSource({"x": [], "density": []})
        self.atom = ColumnDataSource({"x": [], "top": [], "width": []})
        bar = plot.vbar(
            "x", "width", "top", source=self.atom, y_range_name="fraction", fill_alpha=0.85, line_color=None,
            legend_label="silent, right axis",
        ).glyph  # fmt: skip
        self.area = plot.varea("x", 0, "density", source=self.density, fill_alpha=0.25).glyph
        self.line = plot.line(
            "x", "density", source=self.density, line_width=2.5, legend_label="positive weights"
        ).glyph
        plot.legend.location = "top_right"
        self.coloured(bar, fill_color="silent")
        self.set_theme(LIGHT)

    def show(self, view: View) -> None:
        """Draw the weights of this neuron."""
        solution = view.solution
        self.line.line_color = self.area.fill_color = self.theme.curves[view.parameters.g.name]
        self.density.data = {"x": view.weight_mv, "density": view.weight_density}
        if solution is None:
            self.atom.data = {"x": [], "top": [], "width": []}
            return
        far = float(view.weight_mv[-1])
        self.atom.data = {"x": [-0.02 * far], "top": [solution.silent_fraction], "width": [0.03 * far]}
        self.figure.x_range.update(start=-0.05 * far, end=far)
        self.figure.y_range.update(start=0.0, end=1.15 * float(view.weight_density.max()))


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
        """Draw the run up to now."""
        for line in self.lines:
            line.line_color = self.theme.curves[name]
        best = np.minimum.accumulate(progress.error) if progress.error.size else progress.error
        self.error.data = {"epoch": progress.epochs, "error": progress.error, "best": best}
        self.figure.x_range.update(start=0, end=max(50, 1.05 * progress.epoch))
        top = float(progress.error.max()) if progress.error.size else 0.4
        self.figure.y_range.update(start=0.0, end=max(0.05, 1.2 * top))


class LearnedWeightPlot(Plot):
    """Histogram of the weights, with what the theory expects in each bin."""

    def __init__(self) -> None:
        super().__init__(
            "synaptic weight W / mean",
            "density",
            description="Histogram of the learned weights next to the theory",
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
        typical = self.figure.line("x", "y", source=self.at_load, line_width=2.2, legend_label="theory, this load")
        capacity = self.figure.line(
            "x", "y", source=self.at_capacity, line_width=2, line_dash="dashed", legend_label="theory, at capacity"
        )
        self.figure.legend.location = "top_right"
        self.coloured(bars, fill_color="learned")
        self.coloured(typical.glyph, line_color="polsky")
        self.coloured(capacity.glyph, line_color="text")
        self.set_theme(LIGHT)

    def show_theory(self, theory: WeightTheory, mean: float) -> None:
        """Draw what the theory expects, bin by bin: silent synapses fall into the first one."""
        edges = bin_edges(mean)
        for source, distribution in ((self.at_load, theory.at_load), (self.at_capacity, theory.at_capacity)):
            if distribution is None:
                source.data = {"x": [], "y": []}
                continue
            cumulative = np.asarray(distribution.cdf(edges))
            cumulative[0] = 0.0  # the silent ones, all at zero, belong to the first bin
            source.data = _outline(edges / mean, np.diff(cumulative) / np.diff(edges / mean))
        self._fit_range()

    def show(self, weights: Floats, mean: float) -> None:
        """Draw the weights as they are now."""
        edges = bin_edges(mean)
        counts, _ = np.histogram(weights, edges)
        width = np.diff(edges) / mean
        density = counts / (max(weights.size, 1) * width)
        self.learned.data = {"left": edges[:-1] / mean, "right": edges[1:] / mean, "top": density}
        self._fit_range()

    def _fit_range(self) -> None:
        # The silent synapses at capacity may leave the picture at the top: their number stands above it.
        columns: list[Any] = [self.learned.data["top"], self.at_load.data["y"], self.at_capacity.data["y"][2:], [1.0]]
        highest = max(float(np.max(column)) for column in columns if len(column))
        self.figure.y_range.update(start=0.0, end=1.1 * highest)


def _outline(edges: Floats, heights: Floats) -> dict[str, Floats]:
    """The steps of a histogram as one line."""
    x = np.repeat(edges, 2)[1:-1]
    return {"x": x, "y": np.repeat(heights, 2)}


def bin_edges(mean: float) -> Floats:
    """Bins of the histogram: up to five times the mean weight."""
    return np.linspace(0.0, 5.0 * mean, BINS + 1)


def plain(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, 20, ... between two numbers; where that is too many, 1, 10, 100, ...

    Examples
    --------
    >>> plain(0.8, 12.0)
    [1.0, 2.0, 5.0, 10.0]
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    digits = (1, 2, 5) if high / low < 300.0 else (1,)
    ticks = [float(f"{digit}e{decade}") for decade in decades for digit in digits]
    return [tick for tick in ticks if low <= tick <= high]
