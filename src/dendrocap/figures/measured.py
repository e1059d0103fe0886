"""Plots of measurements: synaptic strengths with the fitted neuron, reconstructed cells, a neuron at capacity."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.display import with_digits
from dendrocap.figures.style import (
    AXIS_LABELS,
    FONT_SIZE,
    LABELS,
    ONE_STEP,
    PALETTE,
    PAPER_LABEL,
    SYMMETRIC,
    behind,
    drawing,
    plain_ticks,
    validity_footer,
)
from dendrocap.model import DendriticNeuron, Linear, NeuronSpec, Nonlinearity, Polsky, ReLU, Tabulated, Units
from dendrocap.validation import choice

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dendrocap.answers import Capacity
    from dendrocap.fitting import CapacityReport, GroupShare, ReconstructedNeuron, WeightFit
    from dendrocap.theory import CapacityWeights
    from dendrocap.theory.solution import PopulationWeights

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
    inputs, scale, g = report.preactivation_mv, report.fit.units.scale_mv, report.fit.nonlinearity
    reach = (inputs.mean() - 3.5 * inputs.std(), inputs.mean() + 3.5 * inputs.std())
    x = np.linspace(min(reach[0], -0.3 * scale), max(reach[1], 1.2 * scale), 500)
    axes.plot(x, scale * g(x / scale), color=FIT, label="g")
    axes.set(ylabel="branch output g (local mV)", xlabel="summed branch input (local mV)")
    top = scale * float(np.max(g(x / scale)))
    axes.set_ylim(0.0, 1.4 * top)  # room for the legend
    axes.set_xlim(x[0], x[-1])
    behind(axes, x, [("branch inputs", inputs.pdf(x), {"color": BRANCHES, "alpha": 0.3})])


# Drawings of reconstructed neurons.

# Colours by Okabe and Ito; here they denote parts of a tree.
COLOURS = {"basal": "#0072B2", "apical trunk": "#000000", "apical oblique": "#009E73", "apical tuft": "#D55E00"}
BAR_UM = (20.0, 50.0, 100.0, 200.0, 500.0)


def cell(
    neuron: ReconstructedNeuron, whole: Capacity, shares: Sequence[GroupShare] = (), *, figure: Figure | None = None
) -> Figure:
    """A reconstructed neuron with its branches coloured by group, and a table of the contributions of the groups.

    Parameters
    ----------
    neuron : ReconstructedNeuron
        As returned by `cell_from_morphology`.
    whole : Capacity
        Capacity of the cell, for the title.
    shares : sequence of GroupShare
        As returned by `group_shares`.

    Examples
    --------
    >>> import dendrocap as dc
    >>> from dendrocap import plot
    >>> from dendrocap.datasets import example_cell
    >>> from dendrocap.fitting import group_shares
    >>> cell = dc.cell_from_morphology(example_cell(), synapses_per_um=2.0)
    >>> figure = plot.cell(cell, *group_shares(cell))
    >>> len(figure.axes)
    2
    """
    with drawing(2, 3.6, figure) as figure:
        tree, table = figure.subplots(1, 2, width_ratios=(2, 3))
        _draw_tree(tree, neuron)
        _draw_table(table, shares)
        figure.suptitle(f"{neuron.summary}\n{whole.title}", fontsize=8.5)
    return figure


def _draw_tree(axes: Any, neuron: ReconstructedNeuron) -> None:
    for name, colour in COLOURS.items():
        for group, points in neuron.outlines:
            if group == name:
                axes.plot(points[:, 0], points[:, 1], color=colour, lw=0.8)
    for group, points in neuron.outlines:
        if group == "soma":
            axes.plot(points[:, 0], points[:, 1], "o", color="0.3", ms=5.0)
    axes.set_aspect("equal")
    axes.axis("off")
    span = float(np.diff(axes.get_ylim())[0])
    bar = max((length for length in BAR_UM if length < 0.3 * span), default=BAR_UM[0])
    left, bottom = axes.get_xlim()[0], axes.get_ylim()[0]
    axes.plot([left, left], [bottom, bottom + bar], color="0.2", lw=2.0)
    axes.annotate(f"{bar:g} µm", (left, bottom + 0.5 * bar), (4, 0), textcoords="offset points", va="center")


def _draw_table(axes: Any, shares: Sequence[GroupShare]) -> None:
    axes.axis("off")
    if not shares:
        return
    header = ["", "branches", "mm", "synapses", "silent", "patterns\nwithout"]
    rows = [
        [
            share.group.name,
            f"{share.group.n_branches}",
            f"{share.group.length_um / 1000.0:.2f}",
            f"{share.group.n_synapses:,}",
            f"{100.0 * share.silent_fraction:.0f} %",
            "" if share.without is None else with_digits(float(share.without.n_patterns or 0), 2),
        ]
        for share in shares
    ]
    drawn = axes.table([header, *rows], loc="center", edges="horizontal", cellLoc="right", bbox=(0.0, 0.3, 1.0, 0.5))
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(FONT_SIZE)
    drawn.auto_set_column_width(list(range(len(header))))
    for number, share in enumerate(shares, start=1):
        drawn[number, 0].get_text().set_color(COLOURS[share.group.name])
        drawn[number, 0].get_text().set_weight("bold")
    for (row, _), box in drawn.get_celld().items():
        box.set_edgecolor("0.7" if row else "0.3")


# Plot of one neuron at capacity: its dendrites, its capacity and its weights.

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
    names = [f"inputs: {name}" if name else "branch inputs" for name in _names(answer)]
    densities = [kind.preactivation.pdf(x) for kind in kinds]
    looks = [
        {"facecolor": colour, "edgecolor": colour, "alpha": 0.35, "hatch": hatch}
        for colour, hatch in zip(POPULATION_COLOURS, POPULATION_HATCHES, strict=True)
    ]
    behind(axes, x, list(zip(names, densities, looks, strict=False)), room=1.9)
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


def weight_density(kind: PopulationWeights, weight: NDArray[np.float64]) -> NDArray[np.float64]:
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
        density = weight_density(kind, weight_mv / per_mv) / per_mv
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
