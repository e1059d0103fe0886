"""One neuron at capacity: its dendrites, its capacity against a threshold, and its weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dendrocap.figures.curves import AXIS_LABELS
from dendrocap.figures.style import COLUMN_WIDTH, LABELS, PALETTE, house_style
from dendrocap.model import Units
from dendrocap.theory import CapacitySolution

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_neuron"]

Floats = NDArray[np.float64]


def draw_neuron(
    solution: CapacitySolution,
    branch_input: Floats,
    axis: str,
    curve: tuple[Floats, Floats],
    linear: tuple[Floats, Floats],
    weight_mv: Floats,
    units: Units,
) -> Figure:
    """Three panels: g over the branch inputs, capacity against a threshold, and weights in millivolts.

    Parameters
    ----------
    solution : CapacitySolution
        The neuron, marked on the curve.
    branch_input : array
        Where g and the density of branch inputs are drawn.
    axis : {"theta_d", "theta_s"}
        The threshold of the second panel.
    curve, linear : (array, array)
        Thresholds and capacities, with and without dendrites.
    weight_mv : array
        Where the density of weights is drawn.
    units : Units
        Millivolts of a weight.
    """
    from matplotlib.figure import Figure

    g = solution.neuron.levels[0].nonlinearity
    colour = PALETTE[g.name]
    with house_style():
        figure = Figure(figsize=(2.9 * COLUMN_WIDTH, 2.7), layout="constrained")
        dendrite, capacity, weights = figure.subplots(1, 3)
        _draw_dendrite(dendrite, solution, branch_input, colour)
        capacity.plot(*curve, color=colour, label=LABELS[g.name])
        capacity.plot(*linear, color=PALETTE["linear"], ls="--", label=LABELS["linear"])
        at = solution.neuron.levels[0].theta if axis == "theta_d" else solution.neuron.theta_s
        capacity.plot([at], [solution.alpha_c], "o", color=colour, mec="0.1", ms=6)
        if axis == "theta_d":
            capacity.set_xscale("log")
        capacity.set_yscale("log")
        capacity.set_xlabel(AXIS_LABELS[axis])
        capacity.set_ylabel(r"critical capacity $\alpha_c = P_c / N$")
        capacity.set_title(rf"$\alpha_c = {solution.alpha_c:.4f}$")
        capacity.legend()
        _draw_weights(weights, solution, weight_mv, units, colour)
    return figure


def _draw_dendrite(axes: Any, solution: CapacitySolution, x: Floats, colour: str) -> None:
    values = solution.neuron.levels[0].nonlinearity(x)
    axes.plot(x, values, color=colour, label="g")
    top = max(float(values.max()), solution.neuron.theta_s)
    axes.set_ylim(min(0.0, float(values.min())), 1.3 * top)
    axes.axhline(solution.neuron.theta_s, color="0.5", lw=0.8, ls=":")
    axes.annotate(r"$\theta_s$", (x[0], solution.neuron.theta_s), (2, 2), textcoords="offset points", color="0.4")
    drive = axes.twinx()
    density = solution.preactivation.pdf(x)
    drive.fill_between(x, density, color=PALETTE["tabulated"], alpha=0.3, lw=0.0, label="branch inputs")
    drive.set_ylim(0.0, 1.6 * float(density.max()))
    drive.set_yticks([])
    axes.set_zorder(drive.get_zorder() + 1)  # g stays in sight
    axes.patch.set_visible(False)
    handles = [*axes.get_legend_handles_labels()[0], *drive.get_legend_handles_labels()[0]]
    axes.legend(handles, ["g", "branch inputs"], loc="upper left")
    axes.set_xlim(x[0], x[-1])
    axes.set_xlabel("summed branch input (units of 15 mV)")
    axes.set_ylabel(r"branch output $g(x)$")


def _draw_weights(axes: Any, solution: CapacitySolution, weight_mv: Floats, units: Units, colour: str) -> None:
    per_mv = units.mv_per_weight
    density = solution.weights.pdf(weight_mv / per_mv) / per_mv
    axes.fill_between(weight_mv, density, color=colour, alpha=0.25, lw=0.0)
    axes.plot(weight_mv, density, color=colour)
    far, top = float(weight_mv[-1]), float(density.max())
    axes.set_xlim(-0.06 * far, far)
    axes.set_ylim(0.0, 1.15 * top)
    axes.set_xlabel("synaptic weight (mV)")
    axes.set_ylabel("density (1 / mV)")
    silent = axes.twinx()
    silent.bar([-0.025 * far], [solution.silent_fraction], width=0.03 * far, color=PALETTE["step"])
    silent.set_ylim(0.0, 1.0)
    silent.set_ylabel(r"silent fraction $p_0$")
    silent.spines["right"].set_visible(True)
    axes.set_title(rf"$p_0 = {solution.silent_fraction:.4f}$")
