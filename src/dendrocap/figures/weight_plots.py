"""Plots of synaptic weights: measured strengths with the fitted neuron, and weights found by solvers."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dendrocap.figures.capacity_plots import SOLVER_LOOKS
from dendrocap.figures.style import AXIS_LABELS, PALETTE, behind, drawing
from dendrocap.model import Polsky, ReLU, Tabulated

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dendrocap.fitting import CapacityReport, WeightFit
    from dendrocap.theory import CapacityWeights

__all__ = ["solver_weights", "weight_fit"]

DATA = "0.78"
FIT, OTHER, BRANCHES = PALETTE[Polsky.name], PALETTE[ReLU.name], PALETTE[Tabulated.name]


def weight_fit(
    fit: WeightFit,
    report: CapacityReport,
    *,
    others: Sequence[tuple[str, CapacityWeights]] = (),
    caption: str = "",
    figure: Figure | None = None,
) -> Figure:
    """Silent fraction as a bar at zero, histogram and fitted density with its band, and the input of the branches.

    The title gives the best estimate of the capacity with its interval, and the paper's estimate.

    Parameters
    ----------
    fit : WeightFit
        The fit, drawn with the confidence band of its bootstrap.
    report : CapacityReport
        Report of the same fit, for the distribution of branch inputs and g.
    others : sequence of (label, CapacityWeights)
        Further distributions in millivolts, drawn as dashed lines.
    caption : str
        Text below the figure.
    figure : Figure, optional
        Figure to draw into; by default a new one.

    Examples
    --------
    >>> import numpy as np
    >>> import dendrocap as dc
    >>> from dendrocap import plot
    >>> amplitudes_mv = np.random.default_rng(1).gamma(1.5, 0.4, size=300)
    >>> fit = dc.fit_weights(amplitudes_mv, 3000, n_bootstrap=10)
    >>> figure = plot.weight_fit(fit, dc.capacity_report(fit, accuracy="fast"))
    >>> figure.axes[1].get_xlabel()
    'EPSP amplitude (mV)'
    """
    with drawing(2.1, 2.9 + (0.95 if caption else 0.0), figure) as figure:
        silent, density, branches = figure.subplots(1, 3, width_ratios=(0.9, 5.0, 4.0))
        _draw_silent(silent, fit)
        _draw_density(density, fit, others)
        _draw_branches(branches, report)
        figure.suptitle(report.title, fontsize=9)
        if caption:
            figure.supxlabel("\n".join(textwrap.wrap(caption, 112)), x=0.02, ha="left", color="0.25")
    return figure


def _draw_silent(axes: Any, fit: WeightFit) -> None:
    p0 = fit.silent_fraction
    axes.bar([0.0], [p0.value], width=0.6, color=FIT, alpha=0.85)
    if np.isfinite(p0.low) and p0.low < p0.high:
        axes.errorbar([0.0], [p0.value], [[p0.value - p0.low], [p0.high - p0.value]], color="0.1", capsize=3)
    if np.isfinite(fit.observed_fraction):
        axes.plot([-0.5, 0.5], [1.0 - fit.observed_fraction] * 2, color="0.35", lw=1.4, ls=":")
        axes.annotate("not seen", (0.0, 1.0 - fit.observed_fraction), (0, 6), textcoords="offset points",
                      ha="center", color="0.35")  # fmt: skip
    axes.set(xlim=(-0.6, 0.6), ylim=(0.0, 1.0))
    axes.set_xticks([0.0], ["0"])
    axes.set_ylabel(r"silent fraction $p_0$")


def _draw_density(axes: Any, fit: WeightFit, others: Sequence[tuple[str, CapacityWeights]]) -> None:
    edges, heights = fit.histogram
    axes.stairs(heights, edges, fill=True, color=DATA, label=f"{fit.amplitudes_mv.size} EPSPs, area as fitted")
    # Cut the axis, because the tail of a few outliers would compress everything else.
    far = float(np.quantile(fit.amplitudes_mv, 0.99)) * 1.1
    w = np.linspace(1e-6 + fit.detection_threshold_mv, far, 400)
    low, high = fit.density_band(w)
    if np.all(np.isfinite(low)):
        axes.fill_between(w, low, high, color=FIT, alpha=0.3, lw=0.0, label=f"{100 * fit.level:g} % band")
    scale = rf"$p_0 = {fit.silent_fraction.value:.3g}$, $W_\star = {fit.W_star_mv.value:.2f}$ mV"
    axes.plot(w, fit.weights_mv.pdf(w), color=FIT, label=scale)
    for number, (label, weights) in enumerate(others):
        axes.plot(w, weights.pdf(w), color=(OTHER, BRANCHES)[number % 2], ls="--", lw=1.1, label=label)
    beyond = int(np.sum(fit.amplitudes_mv > far))
    if beyond:
        axes.annotate(f"{beyond} beyond →", (1.0, 0.04), xycoords="axes fraction", ha="right", color="0.35")
    axes.set_xlim(0.0, far)
    axes.set_ylim(bottom=0.0)
    axes.set(xlabel=AXIS_LABELS["epsp_mv"], ylabel=AXIS_LABELS["density_mv"])
    axes.legend(loc="upper right")


def _draw_branches(axes: Any, report: CapacityReport) -> None:
    inputs, scale = report.preactivation_mv, report.scale_mv
    reach = (inputs.mean() - 3.5 * inputs.std(), inputs.mean() + 3.5 * inputs.std())
    x = np.linspace(min(reach[0], -0.3 * scale), max(reach[1], 1.2 * scale), 500)
    axes.plot(x, scale * report.nonlinearity(x / scale), color=FIT, label="g")
    axes.set(ylabel="branch output g (local mV)", xlabel="summed branch input (local mV)")
    top = scale * float(np.max(report.nonlinearity(x / scale)))
    axes.set_ylim(0.0, 1.4 * top)  # room for the legend
    axes.set_xlim(x[0], x[-1])
    behind(axes, x, inputs.pdf(x), BRANCHES, "branch inputs")


def solver_weights(rows: Sequence[Mapping[str, Any]], *, figure: Figure | None = None) -> Figure:
    """Histograms of the weights found by solvers, in units of the mean weight, one panel per solver.

    Parameters
    ----------
    rows : sequence of mappings
        Rows with ``solver``, and ``left``, ``right`` and ``density`` of a bin; numbers can be strings.
    figure : Figure, optional
        Figure to draw into; by default a new one.

    Examples
    --------
    >>> from dendrocap import plot
    >>> figure = plot.solver_weights([{"solver": "sgd", "left": 0.0, "right": 2.0, "density": 0.5}])
    >>> figure.axes[0].get_title()
    'plain SGD'
    """
    names = list(dict.fromkeys(row["solver"] for row in rows))
    with drawing(2, 3.4, figure) as figure:
        panels = figure.subplots(2, 3, sharex=True, sharey=True).ravel()
        for axes, solver in zip(panels, names, strict=False):
            own = [row for row in rows if row["solver"] == solver]
            edges = [*(float(row["left"]) for row in own), float(own[-1]["right"])]
            label, color, _ = SOLVER_LOOKS[solver]
            axes.stairs([float(row["density"]) for row in own], edges, fill=True, color=color, alpha=0.7)
            axes.set_title(label, fontsize=8)
        for axes in panels[len(names) :]:
            axes.axis("off")
        for axes in panels[3:]:
            axes.set_xlabel("weight / mean weight")
        for axes in panels[::3]:
            axes.set_ylabel("density")
    return figure
