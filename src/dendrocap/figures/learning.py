"""Plots of learning: a run, error against load, robustness to noise, images, and any sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dendrocap.figures.style import AXIS_LABELS, PALETTE, drawing, drawing_axes
from dendrocap.model import Linear, Polsky, ReLU

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dendrocap.learning import LoadPoint, NoiseRobustness, Perturbation, TrainingResult
    from dendrocap.sweeps.tables import Average

COLOURS = tuple(dict.fromkeys(PALETTE.values()))


def training(result: TrainingResult, *, figure: Figure | None = None) -> Figure:
    """Training error and learning rate, epoch by epoch.

    Parameters
    ----------
    result : TrainingResult
        As returned by `train`.

    Examples
    --------
    >>> import dendrocap as dc
    >>> from dendrocap import plot
    >>> neuron = dc.DendriticNeuron(dc.NeuronSpec(dc.Polsky(), 0.05, 0.5), n_inputs=99, n_branches=3)
    >>> inputs, labels = dc.random_patterns(30, 99, rng=1)
    >>> result = dc.train(neuron, inputs, labels, algorithm=dc.SGD(learning_rate=0.03), max_epochs=50, seed=1)
    >>> [axes.get_ylabel() for axes in plot.training(result).axes]
    ['fraction of patterns wrong', 'learning rate']
    """
    epochs = np.arange(1, result.epochs + 1)
    colour = PALETTE[result.neuron.kinds[0].nonlinearity.name]
    with drawing(1, 3.3, figure) as figure:
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
        errors = result.error_history / result.n_patterns
        top.plot(epochs, errors, color=colour, lw=0.8, alpha=0.6, label="after each epoch")
        top.plot(epochs, np.minimum.accumulate(errors), color=colour, label="best so far")
        bottom.plot(epochs, result.rate_history, color="0.3")
        top.set_ylabel("fraction of patterns wrong")
        bottom.set(ylabel="learning rate", xlabel="epoch")
        if len(epochs):
            top.set_yscale("symlog", linthresh=1.0 / result.n_patterns)
            top.set_ylim(bottom=0.0)
            bottom.set_yscale("log")
            top.legend()
    return figure


def error_curve(
    points: Sequence[LoadPoint], nonlinearity: str = Polsky.name, *, figure: Figure | None = None
) -> Figure:
    """Training error and success rate against the load.

    Parameters
    ----------
    points : sequence of LoadPoint
        The ``points`` returned by `training_error_curve` and `algorithmic_capacity`.
    nonlinearity : str
        Name of the neuron's g, which determines the colour.

    Examples
    --------
    >>> import dendrocap as dc
    >>> from dendrocap import plot
    >>> curve = dc.training_error_curve(
    ...     dc.LinearNeuron(theta_d=0.5, n_inputs=99),
    ...     [0.2, 0.4],
    ...     recipe=dc.Recipe(dc.SGD(learning_rate=0.1), dc.HalveOnPlateau(patience=10), max_epochs=50),
    ... )
    >>> [axes.get_ylabel() for axes in plot.error_curve(curve.points, "linear").axes]
    ['training error', 'success rate']
    """
    alphas = [point.alpha for point in points]
    errors = np.array([point.mean_error for point in points])
    spread = np.nan_to_num([point.error_of_mean for point in points])
    rates = np.array([point.success_rate for point in points])
    intervals = np.array([point.success_interval for point in points])
    colour = PALETTE[nonlinearity]
    with drawing(1, 3.3, figure) as figure:
        top, bottom = figure.subplots(2, 1, sharex=True)
        top.errorbar(alphas, errors, spread, color=colour, marker="o", ms=3)
        bottom.errorbar(alphas, rates, np.abs(intervals.T - rates), color=colour, marker="o", ms=3)
        top.set_ylabel(AXIS_LABELS["error"])
        bottom.set(ylabel="success rate", ylim=(-0.05, 1.05), xlabel=AXIS_LABELS["alpha"])
    return figure


def robustness(outcome: NoiseRobustness, nonlinearity: str = Polsky.name, *, figure: Figure | None = None) -> Figure:
    r"""Training error under input noise and under synaptic noise.

    Parameters
    ----------
    outcome : NoiseRobustness
        As returned by `noise_robustness`.
    nonlinearity : str
        Name of the neuron's g, which determines the colour.

    Examples
    --------
    >>> import dendrocap as dc
    >>> from dendrocap import plot
    >>> neuron = dc.LinearNeuron(theta_d=0.5, n_inputs=99)
    >>> inputs, labels = dc.random_patterns(30, 99, rng=1)
    >>> weights = neuron.initial_weights(0.5, rng=1)
    >>> outcome = dc.noise_robustness(
    ...     neuron, weights, inputs, labels, flip_probabilities=[0.1], noise_amplitudes=[0.5], seed=1
    ... )
    >>> [axes.get_xlabel() for axes in plot.robustness(outcome, "linear").axes]
    ['flip probability $\\rho$', 'amplitude of synaptic noise $\\sigma$']
    """
    panels = ((outcome.input_flips, "flip_probability"), (outcome.synaptic_noise, "noise_amplitude"))
    with drawing(2, 2.4, figure) as figure:
        for axes, (points, level) in zip(figure.subplots(1, 2, sharey=True), panels, strict=True):
            levels = [0.0, *(point.level for point in points)]
            errors = [outcome.baseline, *(point.error for point in points)]
            bars = [0.0, *(point.standard_error for point in points)]
            axes.errorbar(levels, errors, bars, color=PALETTE[nonlinearity], marker="o", ms=3)
            axes.set_xlabel(AXIS_LABELS[level])
        figure.axes[0].set_ylabel(AXIS_LABELS["error"])
    return figure


def perturbations(found: Sequence[Perturbation], *, ax: Axes | None = None) -> Figure:
    """Misses and false alarms of a trained neuron after each intervention.

    Parameters
    ----------
    found : sequence of Perturbation
        As returned by `perturb`.

    Examples
    --------
    >>> from dendrocap import plot
    >>> from dendrocap.learning import Perturbation
    >>> figure = plot.perturbations([Perturbation("theta_d -25 %", 0.0, 0.3, 0.0, 0.0, 0.0)])
    >>> figure.axes[0].get_xlabel()
    'patterns of each label answered wrongly (%)'
    """
    with drawing_axes(1.5, 0.9 + 0.42 * len(found), ax) as (figure, axes):
        at = np.arange(len(found))[::-1]
        bars = [100.0 * one.standard_error for one in found]
        for shift, name, colour in ((0.2, "misses", PALETTE[ReLU.name]), (-0.2, "false_alarms", PALETTE[Polsky.name])):
            values = [100.0 * getattr(one, name) for one in found]
            axes.barh(at + shift, values, 0.38, xerr=bars, color=colour, label=name.replace("_", " "))
        axes.set_yticks(at, [one.words for one in found])
        axes.set_xlabel("patterns of each label answered wrongly (%)")
        axes.set_xlim(0.0, max(5.0, axes.get_xlim()[1]))
        axes.legend(loc="lower right")
    return figure


def generalisation(rows: Sequence[Mapping[str, Any]], title: str = "", *, ax: Axes | None = None) -> Figure:
    """Training and test error against the epoch, one colour per neuron, with standard errors.

    Parameters
    ----------
    rows : sequence of mappings
        Rows printed by ``dendrocap generalise``: ``neuron``, ``epoch``, ``test_error`` and ``train_error``, and the
        standard errors of both with the suffix ``_se``.
    title : str
        Title of the axes.

    Examples
    --------
    >>> from dendrocap import plot
    >>> errors = {"test_error": 0.1, "test_error_se": 0.01, "train_error": 0.05, "train_error_se": float("nan")}
    >>> row = {"neuron": "linear", **errors}
    >>> figure = plot.generalisation([{**row, "epoch": 1}, {**row, "epoch": 2}], "MNIST")
    >>> [line.get_label() for line in figure.axes[0].lines]
    ['linear, test', 'linear, training']
    """
    with drawing_axes(1, 2.8, ax) as (figure, axes):
        for neuron in dict.fromkeys(row["neuron"] for row in rows):
            mine = [row for row in rows if row["neuron"] == neuron]
            colour = PALETTE[Linear.name if neuron == Linear.name else Polsky.name]
            epochs = [row["epoch"] for row in mine]
            for key, style, what in (("test_error", "-", "test"), ("train_error", ":", "training")):
                mean = 100.0 * np.array([row[key] for row in mine])
                error = 100.0 * np.nan_to_num([row[f"{key}_se"] for row in mine])  # a single seed has no standard error
                axes.plot(epochs, mean, style, color=colour, label=f"{neuron}, {what}")
                axes.fill_between(epochs, mean - error, mean + error, color=colour, alpha=0.15, lw=0)
        axes.set(xlabel="epoch", ylabel="error (%)", title=title)
        axes.set_ylim(bottom=0)
        axes.legend()
    return figure


def averages(
    points: Sequence[Average], x: str, y: str, by: str | None = None, title: str = "", *, ax: Axes | None = None
) -> Figure:
    """A metric of a sweep along one axis of its grid: means over seeds with standard errors.

    Parameters
    ----------
    points : sequence of Average
        As returned by ``dendrocap.sweeps.tables``.
    x, y : str
        Names of the axis and of the metric.
    by : str, optional
        The axis that distinguishes lines; non-linearities have the same colours in all figures.
    title : str
        Title of the axes; for a capacity, the name of its estimate.

    Examples
    --------
    >>> from dendrocap import plot
    >>> from dendrocap.sweeps.tables import Average
    >>> points = [Average("relu", x, 2.0 * x, 0.1, cells=3) for x in (0.1, 0.5)]
    >>> figure = plot.averages(points, "theta_d", "alpha_c", by="nonlinearity")
    >>> figure.axes[0].get_legend().get_texts()[0].get_text()
    'nonlinearity = relu'
    """
    with drawing_axes(1, 2.6, ax) as (figure, axes):
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
        axes.set(xlabel=x.replace("_", " "), ylabel=y.replace("_", " "))
        axes.set_title(title)
        if by:
            axes.legend()
    return figure
