"""Figures of learning: a run, error against load, and robustness to noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dendrocap.figures.style import COLUMN_WIDTH, PALETTE, house_style
from dendrocap.learning import LoadPoint, NoiseRobustness, TrainingResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_error_curve", "draw_robustness", "draw_training"]


def draw_training(result: TrainingResult) -> Figure:
    """Training error and learning rate, epoch by epoch."""
    from matplotlib.figure import Figure

    epochs = np.arange(1, result.epochs + 1)
    colour = PALETTE[result.neuron.nonlinearity.name]
    with house_style():
        figure = Figure(figsize=(COLUMN_WIDTH, 3.3), layout="constrained")
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
        errors = result.error_history / result.n_patterns
        top.plot(epochs, errors, color=colour, lw=0.8, alpha=0.6, label="after each epoch")
        top.plot(epochs, np.minimum.accumulate(errors), color=colour, label="best so far")
        bottom.plot(epochs, result.rate_history, color="0.3")
        top.set_ylabel("fraction of patterns wrong")
        bottom.set_ylabel("learning rate")
        bottom.set_xlabel("epoch")
        if len(epochs):
            top.set_yscale("symlog", linthresh=1.0 / result.n_patterns)
            top.set_ylim(bottom=0.0)
            bottom.set_yscale("log")
            top.legend()
    return figure


def draw_error_curve(points: Sequence[LoadPoint], nonlinearity: str) -> Figure:
    """Training error and success rate against the load."""
    from matplotlib.figure import Figure

    alphas = [point.alpha for point in points]
    errors = np.array([point.mean_error for point in points])
    spread = np.nan_to_num([point.error_of_mean for point in points])
    rates = np.array([point.success_rate for point in points])
    intervals = np.array([point.success_interval for point in points])
    colour = PALETTE[nonlinearity]
    with house_style():
        figure = Figure(figsize=(COLUMN_WIDTH, 3.3), layout="constrained")
        top, bottom = figure.subplots(2, 1, sharex=True)
        top.errorbar(alphas, errors, spread, color=colour, marker="o", ms=3)
        bars = np.abs(intervals.T - rates)
        bottom.errorbar(alphas, rates, bars, color=colour, marker="o", ms=3)
        top.set_ylabel("training error")
        bottom.set_ylabel("success rate")
        bottom.set_ylim(-0.05, 1.05)
        bottom.set_xlabel(r"load $\alpha = P/N$")
    return figure


def draw_robustness(outcome: NoiseRobustness, nonlinearity: str) -> Figure:
    """Training error under input noise and under synaptic noise."""
    from matplotlib.figure import Figure

    panels = (
        (outcome.input_flips, r"flip probability $\rho$"),
        (outcome.synaptic_noise, r"amplitude of synaptic noise $\sigma$"),
    )
    with house_style():
        figure = Figure(figsize=(2 * COLUMN_WIDTH, 2.4), layout="constrained")
        for axes, (points, label) in zip(figure.subplots(1, 2, sharey=True), panels, strict=True):
            levels = [0.0, *(point.level for point in points)]
            errors = [outcome.baseline, *(point.error for point in points)]
            bars = [0.0, *(point.standard_error for point in points)]
            axes.errorbar(levels, errors, bars, color=PALETTE[nonlinearity], marker="o", ms=3)
            axes.set_xlabel(label)
        figure.axes[0].set_ylabel("training error")
    return figure
