"""Plot of one neuron at capacity: its dendrites, its capacity and its weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.figures.style import (
    AXIS_LABELS,
    LABELS,
    ONE_STEP,
    PALETTE,
    PAPER_LABEL,
    SYMMETRIC,
    drawing,
    plain_ticks,
    validity_footer,
)
from dendrocap.model import DendriticNeuron, Linear, NeuronSpec, Nonlinearity, Units
from dendrocap.validation import choice

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dendrocap.theory import Capacity
    from dendrocap.theory.branches.solution import PopulationWeights

__all__ = ["neuron_at_capacity"]

Curve = tuple[ArrayLike, ArrayLike]
POPULATION_COLOURS = ("#56B4E9", "#009E73", "#CC79A7", "#E69F00")  # not used for dendrites in this figure
POPULATION_HATCHES = ("", "////", "....", "xxxx")


def neuron_at_capacity(
    answer: Capacity,
    curve: Mapping[str, Curve],
    axis: str,
    units: Units,
    *,
    figure: Figure | None = None,
) -> Figure:
    r"""Three panels: g over the branch inputs, capacity against a threshold, and weights in millivolts.

    Parameters
    ----------
    answer : Capacity
        The capacity of the neuron. Its best estimate is drawn as a point with its error, its populations of branches
        separately, its validity lights below.
    curve : mapping of str to (array, array)
        Thresholds and capacities by the name of the estimate, as in ``answer.estimates``: "replica symmetric" is drawn
        solid, every other estimate dashed. "linear" is the neuron without dendrites. NaN leaves a gap.
    axis : {"theta_d", "theta_s", "n_branches"}
        The horizontal axis of the second panel; ``n_branches`` requires an answer with a size.
    units : Units
        Conversion of weights to millivolts.
    figure : Figure, optional
        Figure to draw into; by default a new one.

    Examples
    --------
    >>> import numpy as np
    >>> import dendrocap as dc
    >>> from dendrocap import plot
    >>> neuron = dc.NeuronSpec(dc.Polsky(), theta_d=0.5, theta_s=0.5)
    >>> answer = dc.capacity(dc.DendriticNeuron(neuron, n_inputs=999, n_branches=27), accuracy="fast")
    >>> theta_d = np.array([0.1, 0.5])
    >>> curve = {
    ...     "replica symmetric": (theta_d, dc.capacity_curve(neuron, theta_d=theta_d).alpha_c),
    ...     "broken symmetry k = 1": (theta_d, dc.capacity_curve(neuron, theta_d=theta_d, rsb=[1]).alpha_c[:, 0]),
    ... }
    >>> figure = plot.neuron_at_capacity(answer, curve, "theta_d", dc.Units(n_inputs=999, n_branches=27))
    >>> figure.get_suptitle()
    '$\\alpha_c$ = about 2.2 (replica symmetric, as in the paper: 4.95)'
    """
    choice("axis", axis, ("theta_d", "theta_s", "n_branches"))
    with drawing(2.9, 3.1, figure) as figure:
        dendrite, capacity, weights = figure.subplots(1, 3)
        _draw_dendrite(dendrite, answer, units)
        _draw_capacity(capacity, answer, curve, axis)
        _draw_weights(weights, answer, units)
        figure.suptitle(answer.title, fontsize=10.0)
        validity_footer(figure, [answer.validity])
    return figure


def _spec(answer: Capacity) -> NeuronSpec:
    return answer.neuron.spec if isinstance(answer.neuron, DendriticNeuron) else answer.neuron


def _nonlinearities(answer: Capacity) -> list[Nonlinearity]:
    """g of each population; populations that were found, not given, have the same g."""
    spec = _spec(answer)
    if spec.populations:
        return [kind.nonlinearity for kind in spec.populations]
    return [spec.tree[0].nonlinearity] * max(1, len(answer.populations))


def _colour(answer: Capacity) -> str:
    return PALETTE[_nonlinearities(answer)[0].name]


def _names(answer: Capacity) -> list[str]:
    """The names of the populations of branches, from their differences."""
    kinds = answer.populations
    if len(kinds) == 1:
        return [""]
    return [f"{100.0 * kind.fraction:.0f} % of branches, mean output {kind.mean_output:.2g}" for kind in kinds]


def _draw_dendrite(axes: Any, answer: Capacity, units: Units) -> None:
    spec, kinds = _spec(answer), answer.populations
    ends = [kind.preactivation_mean + side * 3.5 * kind.preactivation_sd for kind in kinds for side in (-1.0, 1.0)]
    x = np.linspace(min(-0.5, *ends) if ends else -0.5, max(1.5, *ends) if ends else 1.5, 400)
    top, low = spec.theta_s, 0.0
    for g in dict.fromkeys(_nonlinearities(answer)):
        values = g(x)
        axes.plot(x, values, color=PALETTE[g.name], label=f"g, {LABELS[g.name]}")
        low, top = min(low, float(values.min())), max(top, float(values.max()))
    axes.axhline(spec.theta_s, color="0.5", lw=0.8, ls=(0.0, (1.0, 2.0)))
    axes.annotate(r"$\theta_s$", (x[0], spec.theta_s), (2, 2), textcoords="offset points", color="0.4")
    behind = axes.twinx()
    densities = [kind.preactivation.pdf(x) for kind in kinds]
    for density, name, colour, hatch in zip(
        densities, _names(answer), POPULATION_COLOURS, POPULATION_HATCHES, strict=False
    ):
        label = f"inputs: {name}" if name else "branch inputs"
        behind.fill_between(x, density, facecolor=colour, edgecolor=colour, alpha=0.35, hatch=hatch, lw=0, label=label)
    if densities:
        behind.set(ylim=(0.0, 1.9 * max(float(density.max()) for density in densities)))
    behind.set(yticks=[])
    behind.spines["left"].set_visible(False)
    axes.set_zorder(behind.get_zorder() + 1)
    axes.patch.set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    more, names = behind.get_legend_handles_labels()
    axes.legend([*handles, *more], [*labels, *names], loc="upper left")
    axes.set(
        xlim=(x[0], x[-1]),
        ylim=(low, low + (1.3 + 0.08 * len(kinds)) * (top - low)),
        xlabel=f"summed branch input (units of {units.scale_mv:g} mV)",
        ylabel=AXIS_LABELS["branch_output"],
    )


def _draw_capacity(axes: Any, answer: Capacity, curve: Mapping[str, Curve], axis: str) -> None:
    colour, spec = _colour(answer), _spec(answer)
    paper = SYMMETRIC["label"]
    broken = [name for name in curve if name not in (paper, Linear.name)]
    if Linear.name in curve:
        axes.plot(*curve[Linear.name], color=PALETTE[Linear.name], ls="-", lw=0.8, label="linear neuron (exact)")
    if paper in curve:
        axes.plot(*curve[paper], color=colour, ls=SYMMETRIC["ls"], lw=0.9, label=PAPER_LABEL)
    for name in broken:
        axes.plot(*curve[name], color=colour, ls=ONE_STEP["ls"], lw=1.8, label=name)
    at = (spec.populations or spec.tree)[0]
    places = {
        "theta_s": spec.theta_s,
        "theta_d": getattr(at, "theta_d", getattr(at, "theta", None)),
        "n_branches": getattr(answer.neuron, "n_branches", None),
    }
    place = places[axis]
    size = answer.error if math.isfinite(answer.error) else None
    label = "this neuron, " + ("quick estimate" if answer.accuracy == "fast" else "best estimate")
    axes.errorbar([place], [answer.alpha_c], yerr=size, fmt="o", color=colour, mec="0.1", ms=6, capsize=3, label=label)
    if axis != "theta_s":
        axes.set_xscale("log")
    axes.set(yscale="log", xlabel=AXIS_LABELS[axis], ylabel=r"capacity $\alpha_c = P_c / N$")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** 0.45)  # room for the legend above
    plain_ticks(axes.yaxis)
    axes.legend(loc="upper left")


def _weight_density(kind: PopulationWeights, weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Density of weights that are not zero; inhibitory ones are negative."""
    density = np.zeros_like(weight)
    for synapses in kind.synapses:
        own = weight > 0.0 if synapses.kind == "excitatory" else weight < 0.0
        if synapses.weights is not None:
            density[own] = synapses.share * synapses.weights.pdf(np.abs(weight[own]))
    return density


def _draw_weights(axes: Any, answer: Capacity, units: Units) -> None:
    per_mv, kinds = units.mv_per_weight, answer.populations
    ends = {
        kind: max((one.W_bar + 4.0 * math.sqrt(one.Q) for each in kinds for one in each.synapses if one.kind == kind),
                  default=0.0) * per_mv
        for kind in ("inhibitory", "excitatory")
    }  # fmt: skip
    below, far = ends["inhibitory"], ends["excitatory"] or per_mv
    weight_mv = np.linspace(0.0, far, 400)[1:]
    if below:
        weight_mv = np.concatenate([np.linspace(-below, 0.0, 400)[:-1], weight_mv])
    silent = axes.twinx()
    highest = 0.0
    for i, (kind, name) in enumerate(zip(kinds, _names(answer), strict=True)):
        density = _weight_density(kind, weight_mv / per_mv) / per_mv
        colour = POPULATION_COLOURS[i % len(POPULATION_COLOURS)] if name else _colour(answer)
        label = {"label": name.split(",")[0]} if name else {}
        axes.fill_between(weight_mv, density, color=colour, alpha=0.2, lw=0.0)
        axes.plot(weight_mv, density, color=colour, **label)
        width = 0.05 * (far + below) / len(kinds)
        silent.bar([(i - len(kinds)) * width], [kind.silent_fraction], 0.9 * width, align="edge", color=colour)
        highest = max(highest, float(density.max()))
    if len(kinds) > 1:
        axes.legend(loc="upper right")
    axes.set(
        xlim=(-below - 0.07 * (far + below), far),
        ylim=(0.0, 1.15 * highest if highest else 1.0),
        xlabel="synaptic weight (mV)",
        ylabel=AXIS_LABELS["density_mv"],
    )
    silent.set(ylim=(0.0, 1.0), ylabel=r"silent fraction $p_0$ (bars)")
    silent.spines["right"].set_visible(True)
    shown = answer.texts()
    axes.set_title(
        f"silent: {shown['silent']}\n(replica symmetric, as in the paper: {shown['paper_silent']})", fontsize=8.0
    )
