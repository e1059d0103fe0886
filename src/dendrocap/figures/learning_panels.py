"""The paper's figures of learning: error and capacity, speed, robustness, and the weights that are learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dendrocap.figures.curves import AXIS_LABELS
from dendrocap.figures.style import COLUMN_WIDTH, PALETTE, house_style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["draw_algorithmic_capacity", "draw_learned_weights", "draw_learning_speed", "draw_noise"]

Tables = Mapping[str, "pd.DataFrame"]
ONE_LAYER = "one layer"
MARKERS = {ONE_LAYER: "s", "true slope": "o", "surrogate slope": "^"}


def draw_algorithmic_capacity(tables: Tables) -> Figure:
    """Fig. 3: training error against the load; largest load solved against theta_d, with the theory's lines."""
    from matplotlib.figure import Figure

    error, reached, theory = tables["fig3_error"], tables["fig3_capacity"], tables["fig3_theory"]
    colours = _shades(error)
    with house_style():
        figure = Figure(figsize=(2 * COLUMN_WIDTH, 3.4), layout="constrained")
        left, right = figure.subplots(1, 2)
        for rule, theta_d in _lines(error):
            own = error[(error.rule == rule) & (error.theta_d == theta_d)]
            dashed = "--" if rule == "surrogate slope" else "-"
            left.errorbar(
                own.alpha,
                100 * own.error,
                100 * own.standard_error.fillna(0.0),
                color=colours[rule, theta_d],
                ls=dashed,
                lw=1.1,
                marker=MARKERS[rule],
                ms=2.5,
                label=_label(rule, theta_d),
            )
        left.set_xlabel(AXIS_LABELS["alpha"])
        left.set_ylabel("training error (%)")
        left.set_ylim(bottom=-0.4)
        figure.legend(*left.get_legend_handles_labels(), fontsize=6.8, loc="outside upper center", ncols=5)
        right.plot(theory.theta_d, theory.alpha_rs, color=PALETTE["polsky"], label="replica symmetric")
        right.plot(theory.theta_d, theory.alpha_1rsb, color=PALETTE["polsky"], ls="--", label="one step of breaking")
        right.plot(theory.theta_d, theory.alpha_at, color="0.55", ls="-.", lw=1.0, label="RS becomes unstable")
        right.axhline(1.0, color="k", ls="--", lw=0.9, label="one layer, theory")
        for rule in ("true slope", "surrogate slope"):
            own = reached[reached.rule == rule]
            right.errorbar(
                own.theta_d,
                own.largest_solved,
                own.standard_error.fillna(0.0),
                color="k",
                ls="none",
                ms=4,
                marker=MARKERS[rule],
                mfc="k" if rule == "true slope" else "w",
                label=f"learned, {rule}",
            )
        linear = reached[reached.rule == ONE_LAYER]
        right.axhline(float(linear.largest_solved.iloc[0]), color="0.6", ls=":", lw=1.0, label="learned, one layer")
        right.set_xscale("log")
        right.set_ylim(-0.1, 4.0)
        right.set_xlabel(AXIS_LABELS["theta_d"])
        right.set_ylabel(r"load $\alpha$")
        right.legend(fontsize=6.3, loc="upper left")
    return figure


def draw_learning_speed(tables: Tables) -> Figure:
    """Fig. 4: error against epochs at a shared learning rate; epochs to zero error against the rate."""
    from matplotlib.figure import Figure

    curves, epochs = tables["fig4_curves"], tables["fig4_epochs"]
    colours = _shades(epochs)
    with house_style():
        figure = Figure(figsize=(2 * COLUMN_WIDTH, 2.8), layout="constrained")
        left, right = figure.subplots(1, 2)
        for rule, theta_d in _lines(epochs):
            colour, label = colours[rule, theta_d], _label(rule, theta_d)
            own = curves[(curves.rule == rule) & (curves.theta_d == theta_d)]
            left.plot(own.epoch, 100 * own.error, color=colour, label=label)
            band = 100 * own.standard_error.fillna(0.0)
            left.fill_between(own.epoch, 100 * own.error - band, 100 * own.error + band, color=colour, alpha=0.15, lw=0)
            times = epochs[(epochs.rule == rule) & (epochs.theta_d == theta_d) & np.isfinite(epochs.median_epochs)]
            right.plot(times.learning_rate, times.median_epochs, color=colour, marker=MARKERS[rule], ms=3, label=label)
        left.set_xscale("log")
        left.set_xlabel("epoch")
        left.set_ylabel("training error (%)")
        left.set_title(f"learning rate {curves.learning_rate.iloc[0]:g} for all", fontsize=8)
        left.legend(fontsize=7)
        right.set_xscale("log")
        right.set_yscale("log")
        right.set_xlabel(r"learning rate $\zeta$")
        right.set_ylabel("epochs to zero error (median)")
        right.set_title("each neuron at every rate", fontsize=8)
    return figure


def draw_noise(tables: Tables) -> Figure:
    """Fig. 7: errors that noise adds, all neurons trained alike (above) and each at its best (below)."""
    from matplotlib.figure import Figure

    table = tables["fig7"]
    colours = _shades(table)
    columns = (("inputs", r"flip probability $\rho$"), ("synapses", r"amplitude of synaptic noise $\sigma$"))
    rows = (("shared", "same settings, first zero error"), ("own", "own settings, trained on"))
    with house_style():
        figure = Figure(figsize=(2 * COLUMN_WIDTH, 4.4), layout="constrained")
        grid = figure.subplots(2, 2, sharex="col", sharey=True)
        for panels, (settings, title) in zip(grid, rows, strict=True):
            for axes, (noise, label) in zip(panels, columns, strict=True):
                part = table[(table.settings == settings) & (table.noise == noise)]
                for rule, theta_d in _lines(part):
                    own = part[(part.rule == rule) & (part.theta_d == theta_d)]
                    axes.errorbar(
                        own.level,
                        100 * own.increase,
                        100 * own.standard_error.fillna(0.0),
                        ms=2.5,
                        lw=1.1,
                        color=colours[rule, theta_d],
                        marker=MARKERS[rule],
                        label=_label(rule, theta_d),
                    )
                axes.set_title(title, fontsize=8)
                axes.locator_params(axis="x", nbins=5)
                if settings == "own":
                    axes.set_xlabel(label)
            panels[0].set_ylabel("errors added (%)")
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return figure


def draw_learned_weights(tables: Tables) -> Figure:
    """Silent fractions against the load, and distributions of weights at the largest load solved."""
    from matplotlib.figure import Figure

    runs, quantiles = tables["weights"], tables["weights_quantiles"]
    colours = _shades(runs)
    with house_style():
        figure = Figure(figsize=(2 * COLUMN_WIDTH, 2.9), layout="constrained")
        left, right = figure.subplots(1, 2)
        for rule, theta_d in _lines(runs):
            own = runs[(runs.rule == rule) & (runs.theta_d == theta_d)]
            means = own.groupby("alpha").near_zeros.mean()
            style = "--" if rule == "surrogate slope" else "-"
            left.plot(means.index, means, color=colours[rule, theta_d], ls=style, lw=1.0, label=_label(rule, theta_d))
            solved = own[own.last_errors == 0]
            left.plot(solved.alpha, solved.near_zeros, MARKERS[rule], color=colours[rule, theta_d], ms=3)
            learned = quantiles[(quantiles.rule == rule) & (quantiles.theta_d == theta_d)]
            if len(learned):
                first = learned[learned.seed == learned.seed.min()]
                mean = float(np.trapezoid(first.weight, first.probability))
                right.plot(first.weight / mean, first.probability, color=colours[rule, theta_d], ls=style, lw=1.2)
        left.axhline(0.5, color="k", ls=":", lw=0.9)
        left.set_xlabel(AXIS_LABELS["alpha"])
        left.set_ylabel("fraction of weights < 0.001 mean")
        left.set_ylim(0.0, 1.0)
        figure.legend(*left.get_legend_handles_labels(), fontsize=6.8, loc="outside upper center", ncols=5)
        left.set_title("dots: all patterns learned", fontsize=8)
        right.set_xlim(-0.1, 5.0)
        right.set_xlabel(r"weight / mean weight")
        right.set_ylabel("fraction of weights below")
        right.set_title("at the largest load solved", fontsize=8)
    return figure


def _lines(table: pd.DataFrame) -> list[tuple[str, float]]:
    """The neurons of a table: one layer first, then by rule and threshold."""
    order = tuple(MARKERS)
    return sorted(set(zip(table.rule, table.theta_d, strict=True)), key=lambda line: (order.index(line[0]), line[1]))


def _shades(table: pd.DataFrame) -> dict[tuple[str, float], Any]:
    """A colour for each neuron: black for one layer, the thresholds from light to dark."""
    from matplotlib import colormaps

    thresholds = sorted(set(table.theta_d[table.rule != ONE_LAYER]))
    ramp = colormaps["plasma"](np.linspace(0.85, 0.1, max(1, len(thresholds))))
    shade = dict(zip(thresholds, ramp, strict=False))
    return {(rule, theta_d): "k" if rule == ONE_LAYER else shade[theta_d] for rule, theta_d in _lines(table)}


def _label(rule: str, theta_d: float) -> str:
    if rule == ONE_LAYER:
        return ONE_LAYER
    return rf"$\theta_d = {theta_d:g}$" + (", surrogate" if rule == "surrogate slope" else "")
