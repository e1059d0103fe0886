"""The Bokeh figures of the first tab: created once per session, then updated with new data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, FixedTicker, LinearAxis, NumeralTickFormatter, Range1d, Span, Whisker
from bokeh.plotting import figure

from dendrocap.answers import Capacity
from dendrocap.explorer.parameters import AXES, OF_CURVE, Parameters
from dendrocap.explorer.trainer import Progress, WeightTheory
from dendrocap.explorer.views import View
from dendrocap.figures.style import PALETTE
from dendrocap.model import Linear
from dendrocap.numerics.types import Floats

# Colours of the page and of its plots, light and dark, from the palette of the figures.


@dataclass(frozen=True)
class Theme:
    """Colours of the page, of axes and labels, of guide lines, and of curves, branch inputs and silent synapses."""

    background: str
    text: str
    faint: str
    curves: dict[str, str]


_SHARED = {"inputs": PALETTE["tabulated"], "silent": PALETTE["step"], "learned": PALETTE["custom"]}
LIGHT = Theme("#ffffff", "#1b1b1b", "#767676", PALETTE | _SHARED)

# Black, the blue of ReLU, the wine of a measured curve and violet are hardly visible on a dark page: lighter colours
# replace them.
DARK = Theme(
    "#15181c",
    "#e8e6e3",
    "#9a9a9a",
    PALETTE | _SHARED | {"linear": "#e8e6e3", "relu": "#56B4E9", "smooth": "#F0E442", "piecewise_linear": "#9A86FF"},
)

BINS = 40  # bins of a histogram of weights

# Of the neuron without dendrites. Dashes and dots in turn mean instability in all figures of the package.
LONG_DASHES = [16, 4]
FONT = "DejaVu Sans, Verdana, sans-serif"

AXIS_TITLES = {
    "theta_d": "dendritic threshold θ<sub>d</sub>",
    "theta_s": "somatic threshold θ<sub>s</sub>",
    "n_branches": "number of branches K, with the same N synapses",
}


def _source(*columns: str) -> ColumnDataSource:
    return ColumnDataSource({name: [] for name in columns})


class Plot:
    """A figure in the style of the page: no frame, no grid, and the colours of the theme."""

    def __init__(self, x_title: str, y_title: str, *, right_title: str = "", description: str, **options: Any) -> None:
        # The page itself writes the titles of the axes in HTML, which has real subscripts.
        self.titles = {"x": x_title, "y": y_title, "right": right_title}
        self.figure = figure(
            height=248,
            min_height=190,
            sizing_mode="stretch_both",
            toolbar_location="above",
            tools="pan,wheel_zoom,box_zoom,reset",
            name=description,
            **options,
        )
        # The mouse wheel scrolls the page, not the plot.
        self.figure.toolbar.update(logo=None, autohide=True, active_scroll=None, active_drag=None)
        self.figure.update(toolbar_inner=True, outline_line_color=None, min_border_right=12)
        self.figure.grid.visible = False
        self.theme = LIGHT
        self._coloured: list[tuple[Any, dict[str, str]]] = []

    def drawn(self, kind: str, *columns: Any, follow: str = "", **look: Any) -> Any:
        """A new glyph; ``follow`` names the colour of the theme that its line or area takes."""
        for short, name in (("label", "legend_label"), ("width", "line_width"), ("dash", "line_dash")):
            if short in look:
                look[name] = look.pop(short)
        glyph = getattr(self.figure, kind)(*columns, **look).glyph
        what = "fill_color" if kind in ("varea", "quad", "vbar") and "fill_color" not in look else "line_color"
        return self.coloured(glyph, **{what: follow}) if follow else glyph

    def set_theme(self, theme: Theme) -> None:
        """Repaint in the colours of a theme."""
        self.theme = theme
        plot = self.figure
        plot.background_fill_color = plot.border_fill_color = None  # transparent
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
            legend.label_text_color, legend.label_text_font, legend.label_text_font_size = theme.text, FONT, "11px"
            legend.glyph_width, legend.label_standoff = 16, 3
            legend.padding, legend.spacing, legend.margin = 2, 4 if legend.orientation == "horizontal" else 0, 4
        for thing, colours in self._coloured:
            for attribute, name in colours.items():
                setattr(thing, attribute, getattr(theme, name, None) or theme.curves[name])

    def coloured(self, thing: Any, **colours: str) -> Any:
        """Register the theme colours of a glyph or label."""
        self._coloured.append((thing, colours))
        return thing


class DendritePlot(Plot):
    """g(x) of each kind of branch, the density of branch inputs behind it and measured points in front."""

    def __init__(self) -> None:
        super().__init__(
            "branch input <i>x</i> (1 = saturation)",
            "branch output <i>g</i>(<i>x</i>)",
            description="Dendritic non-linearity and distribution of branch inputs",
            x_range=Range1d(-0.3, 1.3),
            y_range=Range1d(0.0, 1.2),
        )
        plot = self.figure
        plot.extra_y_ranges = {"density": Range1d(0.0, 1.0)}
        self.curve, self.second, self.other = (_source("x", "g") for _ in range(3))
        self.density, self.paper = (_source("x", "density") for _ in range(2))
        self.measured = _source("x", "y", "low", "high")
        behind = {"y_range_name": "density"}
        inputs, paper = (
            {"source": self.density, "label": "branch inputs"},
            {"source": self.paper, "label": "replica symmetric"},
        )
        self.drawn("varea", "x", 0, "density", follow="inputs", fill_alpha=0.3, **inputs, **behind)
        self.drawn("line", "x", "density", follow="faint", width=1.2, line_alpha=0.9, **paper, **behind)
        self.drawn("line", "x", "g", follow="text", source=self.other, width=1.5, dash="dotted")
        self.line = self.drawn("line", "x", "g", source=self.curve, width=2.5, label="g")
        self.second_line = self.drawn("line", "x", "g", source=self.second, width=2.5, dash=[8, 4])
        self.threshold = Span(location=0.5, dimension="width", line_dash="dotted", line_width=1.2)
        whiskers = Whisker(base="x", lower="low", upper="high", source=self.measured, upper_head=None, lower_head=None)
        for layout, colour in ((self.threshold, "faint"), (whiskers, "text")):
            plot.add_layout(self.coloured(layout, line_color=colour))
        self.drawn("scatter", "x", "y", follow="text", source=self.measured, size=6, width=1.5, fill_color=None)
        plot.legend.update(location="top_left", orientation="horizontal")
        self.set_theme(LIGHT)

    def show(self, view: View, other: View | None = None) -> None:
        """Draw this neuron and, if given, the one it is compared with."""
        x, y = view.dendrite_x, view.dendrite_y
        kinds = view.parameters.kinds
        self.line.line_color = self.theme.curves[kinds[0].name]
        self.second_line.line_color = self.theme.curves[kinds[-1].name]
        self.curve.data = {"x": x, "g": y[0]}
        self.second.data = {"x": x, "g": y[1]} if len(y) > 1 else {"x": [], "g": []}
        self.other.data = {"x": [], "g": []} if other is None else {"x": x, "g": other.parameters.g(x)}
        for source, density in ((self.density, view.density), (self.paper, view.paper_density)):
            source.data = {"x": x if density.size else x[:0], "density": density}
        points = _measured(view.parameters)
        self.measured.data = dict(zip(("x", "y", "low", "high"), points.T, strict=True))
        self.figure.x_range.update(start=float(x[0]), end=float(x[-1]))
        everything = np.concatenate([*y, points[:, 1:].ravel()])
        low, high = min(0.0, float(everything.min())), max(float(everything.max()), view.parameters.theta_s)
        self.figure.y_range.update(start=low, end=low + 1.3 * (high - low))
        peak = max(
            (float(density.max()) for density in (view.density, view.paper_density) if density.size), default=1.0
        )
        self.figure.extra_y_ranges["density"].update(start=0.0, end=1.6 * peak)
        self.threshold.location = view.parameters.theta_s


def _measured(parameters: Parameters) -> Floats:
    """The uploaded points in model units, if in use: x, y and both ends of the error bar."""
    if parameters.nonlinearity not in OF_CURVE:
        return np.empty((0, 4))
    scale = parameters.units.scale_mv if parameters.curve_unit else 1.0
    points = np.array(parameters.curve) / scale
    error = points[:, 2] if points.shape[1] > 2 else np.zeros(len(points))
    return np.column_stack([points[:, 0], points[:, 1], points[:, 1] - error, points[:, 1] + error])


class CapacityPlot(Plot):
    """Capacity against a parameter: broken symmetry dashed, the paper's estimate solid, this neuron marked."""

    def __init__(self, axis: str) -> None:
        self.axis = axis
        super().__init__(
            AXIS_TITLES[axis],
            "capacity α<sub>c</sub> = P<sub>c</sub> / N",
            description=f"Capacity against {AXES[axis]}",
            x_axis_type="linear" if axis == "theta_s" else "log",
            y_axis_type="log",
            x_range=Range1d(0.01, 2.0),
            y_range=Range1d(0.5, 10.0),
        )
        plot = self.figure
        self.paper, self.broken, self.linear, self.other = (_source("x", "alpha_c") for _ in range(4))
        self.point, self.best = (_source("x", "alpha_c", "low", "high") for _ in range(2))
        at = ("x", "alpha_c")
        self.broken_line = self.drawn(
            "line", *at, source=self.broken, dash="dashed", width=2.5, label="broken symmetry"
        )
        self.paper_line = self.drawn("line", *at, source=self.paper, width=1.3, label="replica symmetric (paper)")
        self.drawn("line", *at, follow="faint", source=self.other, dash="dotted", width=1.5)
        self.drawn("line", *at, follow="linear", source=self.linear, dash=LONG_DASHES, width=1.3, label=Linear.label)
        for source in (self.point, self.best):
            bars = Whisker(base="x", lower="low", upper="high", source=source, line_width=2)
            bars.upper_head.size = bars.lower_head.size = 8
            plot.add_layout(bars)
            for part in (bars, bars.upper_head, bars.lower_head):
                self.coloured(part, line_color="text")
        self.drawn("scatter", *at, follow="text", source=self.best, size=8, width=1.5, fill_color=None)
        self.marker = self.drawn("scatter", *at, follow="text", source=self.point, size=12, width=2, label="here")
        plot.legend.update(location="top_left", orientation="horizontal", ncols=2)
        plot.yaxis.formatter = NumeralTickFormatter(format="0.[00]a")
        # Tickers are kept and given new ticks: new tickers make Bokeh traverse the whole document at every change.
        self.x_ticks, self.y_ticks = FixedTicker(), FixedTicker()
        plot.yaxis.ticker = self.y_ticks
        if axis != "theta_s":
            plot.xaxis.ticker = self.x_ticks
            plot.xaxis.formatter = NumeralTickFormatter(format="0.[0000]" if axis == "theta_d" else "0,0")
        self.set_theme(LIGHT)

    def show(self, view: View, other: View | None = None, best: Sequence[tuple[float, Capacity]] = ()) -> None:
        """Draw the curves of this neuron, the neuron it is compared with, and best estimates along the axis."""
        curve, parameters, answer = view.curve, view.parameters, view.answer
        colour = self.theme.curves[parameters.g.name]
        self.paper_line.line_color = self.broken_line.line_color = self.marker.fill_color = colour
        self.paper.data = {"x": curve.paper_x, "alpha_c": curve.paper}
        if curve.broken_x.size:
            self.broken.data = {"x": curve.broken_x, "alpha_c": curve.broken}
        # The previous curve stays, faded, until the new one is computed.
        self.broken_line.line_alpha = 1.0 if curve.broken_x.size else 0.3
        self.linear.data = {"x": curve.linear_x, "alpha_c": curve.linear}
        compared = other is not None and other.curve.axis == curve.axis
        self.other.data = (
            {"x": other.curve.broken_x, "alpha_c": other.curve.broken}
            if compared and other is not None
            else {"x": [], "alpha_c": []}
        )
        self.point.data = _points([] if answer is None else [(getattr(parameters, self.axis), answer)])
        self.best.data = _points(best)
        known = np.concatenate(
            [curve.paper, np.asarray(self.broken.data["alpha_c"]), curve.linear, *(
                np.asarray(source.data[end]) for source in (self.point, self.best) for end in ("low", "high")
            )]
        )  # fmt: skip
        known = known[np.isfinite(known) & (known > 0.0)]
        low, high = 0.8 * float(known.min()), 1.25 * float(known.max())
        # Leave room for the legend above.
        self.figure.y_range.update(start=low, end=high * (high / low) ** 0.4)
        self.figure.x_range.update(start=float(curve.paper_x[0]), end=float(curve.paper_x[-1]))
        self.y_ticks.ticks = plain(low, 2.0 * high)
        if self.axis != "theta_s":
            self.x_ticks.ticks = plain(0.999 * float(curve.paper_x[0]), 1.001 * float(curve.paper_x[-1]))


def _points(at: Sequence[tuple[float, Capacity]]) -> dict[str, list[float]]:
    """Estimates with their error bars; a quick look has no error bar."""
    errors = [0.0 if math.isnan(answer.error) else answer.error for _, answer in at]
    values = [answer.alpha_c for _, answer in at]
    return {
        "x": [x for x, _ in at],
        "alpha_c": values,
        "low": [value - error for value, error in zip(values, errors, strict=True)],
        "high": [value + error for value, error in zip(values, errors, strict=True)],
    }


class WeightPlot(Plot):
    """Density of the weights at capacity, with silent synapses as bars at zero and measured EPSPs behind."""

    def __init__(self) -> None:
        super().__init__(
            "synaptic weight W at the soma (mV)",
            "density (1 / mV)",
            right_title="silent fraction p<sub>0</sub>",
            description="Distribution of synaptic weights at capacity",
            x_range=Range1d(-0.05, 1.0),
            y_range=Range1d(0.0, 1.0),
        )
        plot = self.figure
        plot.extra_y_ranges = {"fraction": Range1d(0.0, 1.0)}
        plot.add_layout(LinearAxis(y_range_name="fraction"), "right")
        self.density, self.paper, self.other = (_source("x", "density") for _ in range(3))
        self.atom, self.paper_atom = (_source("x", "top", "width") for _ in range(2))
        self.measured = _source("left", "right", "top")
        ends, silent = ("left", "right", 0, "top"), {"y_range_name": "fraction"}
        density = ("x", "density")
        self.drawn("quad", *ends, follow="text", source=self.measured, fill_alpha=0.25, line_color=None)
        bar = {"fill_alpha": 0.85, "line_color": None, "label": "silent, right axis"}
        self.drawn("vbar", "x", "width", "top", follow="silent", source=self.atom, **bar, **silent)
        hollow = {"fill_color": None, "width": 1.3}
        self.drawn("vbar", "x", "width", "top", follow="faint", source=self.paper_atom, **hollow, **silent)
        self.area = self.drawn("varea", "x", 0, "density", source=self.density, fill_alpha=0.25)
        self.line = self.drawn("line", *density, source=self.density, width=2.5, dash="dashed", label="weights")
        self.drawn("line", *density, follow="faint", source=self.paper, width=1.3, label="replica symmetric (paper)")
        self.drawn("line", *density, follow="text", source=self.other, width=1.5, dash="dotted")
        plot.legend.location = "top_right"
        self.set_theme(LIGHT)

    def show(self, view: View, other: View | None = None, amplitudes_mv: Floats | None = None) -> None:
        """Draw the weights of this neuron, of the one it is compared with, and measured amplitudes."""
        answer = view.answer
        self.line.line_color = self.area.fill_color = self.theme.curves[view.parameters.g.name]
        self.density.data = {"x": view.weight_mv, "density": view.weight_density}
        shown = view.weight_mv if view.paper_weight_density.size else view.weight_mv[:0]
        self.paper.data = {"x": shown, "density": view.paper_weight_density}
        self.other.data = (
            {"x": [], "density": []} if other is None else {"x": other.weight_mv, "density": other.weight_density}
        )
        nothing: dict[str, Any] = {"x": [], "top": [], "width": []}
        self.measured.data = {"left": [], "right": [], "top": []}
        if answer is None:
            self.atom.data = self.paper_atom.data = nothing
            return
        far = float(view.weight_mv[-1])
        top = float(view.weight_density.max())
        if amplitudes_mv is not None:
            # Only existing connections have an amplitude; the remaining probability is that of silent ones.
            heights, edges = np.histogram(amplitudes_mv, bins=BINS, range=(0.0, far))
            heights = heights / (amplitudes_mv.size * (edges[1] - edges[0])) * (1.0 - answer.silent_fraction)
            self.measured.data = {"left": edges[:-1], "right": edges[1:], "top": heights}
            top = max(top, float(heights.max()))
        # Beside zero, or at zero where there are weights on both sides.
        below = min(float(view.weight_mv[0]), 0.0)
        bar = {"x": [0.0 if below else -0.02 * far], "width": [0.03 * (far - below)]}
        self.atom.data = bar | {"top": [answer.silent_fraction]}
        paper = answer.paper_silent_fraction
        self.paper_atom.data = nothing if paper is None else bar | {"top": [paper]}
        self.figure.x_range.update(start=below - 0.05 * (far - below), end=far)
        self.figure.y_range.update(start=0.0, end=1.15 * top)


def plain(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, 20, ... between two numbers; if that is too many, 1, 10, 100, ..."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    digits = (1, 2, 5) if high / low < 300.0 else (1,)
    ticks = [float(f"{digit}e{decade}") for decade in decades for digit in digits]
    return [tick for tick in ticks if low <= tick <= high]


# The figures of the second tab: error and learned weights.


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
        self.error = _source("epoch", "error", "best")
        self.lines = (
            self.drawn("line", "epoch", "error", source=self.error, line_alpha=0.7, label="after each epoch"),
            self.drawn("line", "epoch", "best", source=self.error, width=2.5, label="best so far"),
        )
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
        self.learned = _source("left", "right", "top")
        self.at_load = _source("x", "y")
        self.at_capacity = _source("x", "y")
        ends = ("left", "right", 0, "top")
        self.drawn(
            "quad", *ends, follow="learned", source=self.learned, fill_alpha=0.45, line_color=None, label="learned"
        )
        typical = {"width": 2.2, "label": "replica symmetric, this load"}
        self.drawn("line", "x", "y", follow="polsky", source=self.at_load, **typical)
        capacity = {"width": 2, "dash": "dashed", "label": "broken symmetry, at capacity"}
        self.drawn("line", "x", "y", follow="text", source=self.at_capacity, **capacity)
        self.figure.legend.location = "top_right"
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
