"""Figs. 1, 2, 5 and 10: the neuron, and its capacity and silent synapses along one parameter after the other."""

from __future__ import annotations

import math
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dendrocap.figures.style import AXIS_LABELS, PALETTE, drawing, footnote, house_style
from dendrocap.figures.theory import curve_key, curves, lines_of
from dendrocap.model import Custom, Linear, NeuronSpec, Nonlinearity, Polsky, ReLU, SaturatingReLU, Step, Tabulated
from dendrocap.reproduction.claims import Measured
from dendrocap.reproduction.runs import MODEL, Tables, exact
from dendrocap.reproduction.shared import (
    ALL,
    ASSUMED,
    BROKEN,
    DENDRITIC,
    along,
    along_shape,
    both,
    broken_name,
    furthest,
    of,
)
from dendrocap.theory import committee_ceiling, critical_capacity

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# Fig. 1 ---------------------------------------------------------------------------------------------------------------

# Elements of the sketch of a neuron, and their colours.
BRANCHES, SYNAPSES = 4, 5
INK, SOFT, SYNAPSE, DENDRITE = "0.15", "0.45", PALETTE[ReLU.name], PALETTE[Polsky.name]


def curve_of_g() -> Tables:
    """The standard dendritic non-linearity and its slope."""
    import pandas as pd

    g = Polsky()
    x = np.unique(np.concatenate([np.linspace(-0.3, 1.3, 641), g.breakpoints]))
    return {"fig1": pd.DataFrame({"x_min": g.x_min, "gamma": g.gamma, "x": x, "g": g(x), "slope": g.derivative(x)})}


def draw_neuron(tables: Tables) -> Figure:
    """A neuron with a few of its branches, and g with its slope."""
    curve = tables["fig1"]
    with drawing(2, 2.7) as figure:
        sketch, function = figure.subplots(1, 2, width_ratios=(3, 2))
        _sketch(sketch)
        function.plot(curve.x, curve.g, color=DENDRITE, label=r"$g(x)$")
        largest = curve.slope.max()
        slope = {"color": "0.6", "lw": 1.0, "ls": "--", "label": rf"slope $g'(x)$ / {largest:.3g}"}
        function.plot(curve.x, curve.slope / largest, **slope)
        function.set(xlabel=r"branch input $x$ (units of 15 mV)", ylabel=AXIS_LABELS["branch_output"])
        x_min, gamma = curve.x_min.iloc[0], curve.gamma.iloc[0]
        function.set_title(rf"Polsky: $x_{{\min}} = {x_min:g}$, $\gamma = {gamma:g}$")
        function.legend(loc="center right")
    return figure


def _sketch(axes: Any) -> None:
    from matplotlib.patches import Circle

    axes.set(xlim=(0.0, 10.0), ylim=(-0.4, 5.9))
    axes.set_aspect("equal")
    axes.axis("off")
    soma = (7.3, 2.5)
    heights = np.linspace(0.5, 4.5, BRANCHES)
    for row, height in enumerate(heights):
        axes.plot([1.0, 4.0], [height, height], color=INK, lw=2.2, solid_capstyle="round")
        for x in np.linspace(1.2, 3.0, SYNAPSES):
            axes.plot([x, x], [height + 0.08, height + 0.36], color=SYNAPSE, lw=1.0)
            axes.plot(x, height + 0.42, "o", color=SYNAPSE, ms=3.0)
        axes.add_patch(Circle((4.4, height), 0.36, facecolor="white", edgecolor=DENDRITE, lw=1.4))
        steep = np.linspace(-1.0, 1.0, 60)
        axes.plot(4.4 + 0.22 * steep, height - 0.16 + 0.34 / (1.0 + np.exp(-9.0 * steep)), color=DENDRITE, lw=1.0)
        axes.plot([4.76, soma[0] - 0.55], [height, soma[1] + 0.14 * (row - 1.5)], color=INK, lw=1.0)
    axes.add_patch(Circle(soma, 0.62, facecolor="0.92", edgecolor=INK, lw=1.6))
    axes.text(*soma, r"$\Sigma,\ \theta_s$", ha="center", va="center", fontsize=8)
    axes.annotate("", (9.3, soma[1]), (soma[0] + 0.62, soma[1]), arrowprops={"arrowstyle": "-|>", "color": INK})
    axes.text(9.35, soma[1], r"$\hat\sigma$", va="center", fontsize=10)
    axes.text(2.1, 5.25, r"$N/K$ inputs $\xi_{li}$, weights $W_{li} \geq 0$", ha="center", color=SYNAPSE)
    axes.text(4.4, -0.25, r"$g(\lambda_l)$", ha="center", color=DENDRITE, fontsize=8)
    axes.text(1.6, -0.25, r"$K$ branches, $\theta_d$", ha="center", color=SOFT)
    axes.text(8.2, 3.55, r"soma: $\Delta > 0$?", ha="center", color=SOFT)


def measure_g(tables: Tables) -> dict[str, Measured]:
    """Where g saturates, and its largest slope."""
    curve = tables["fig1"]
    at_one = float(np.interp(1.0, curve.x, curve.g))
    return {"largest_slope": Measured(float(curve.slope.max())), "value_at_one": Measured(at_one)}


NEURON = "The neuron and its dendritic non-linearity"
exact("fig1", "neuron", NEURON, curve_of_g, draw_neuron, measure_g, kind=MODEL, seconds=1)

# Tables along a parameter ---------------------------------------------------------------------------------------------

# Points of the replica-symmetric lines, and of those with broken symmetry, by parameter; of theta_d by figure.
POINTS = {
    "fig2a": (np.geomspace(1e-3, 5.0, 75), np.geomspace(0.02, 5.0, 13)),
    "fig5": (np.geomspace(0.01, 100.0, 81), np.geomspace(0.02, 10.0, 19)),
    "theta_s": (np.linspace(0.02, 0.98, 49), np.linspace(0.06, 0.94, 12)),
    "x_min": (np.linspace(0.0, 1.0, 51), np.linspace(0.0, 1.0, 11)),
    "gamma": (np.linspace(2.0, 40.0, 77), np.linspace(2.0, 40.0, 11)),
}


def tables_along(parameter: str, name: str) -> Tables:
    """Capacity and silent fraction along a parameter, with and without broken replica symmetry."""
    found = _along(parameter, name if parameter == "theta_d" else parameter)
    return dict(zip((name, broken_name(name)), found, strict=True))


@cache  # Figs. 2 and 10 show the same points
def _along(parameter: str, points: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    symmetric, broken = POINTS[points]
    if parameter in ("x_min", "gamma"):
        return along_shape(parameter, symmetric), along_shape(parameter, broken, **BROKEN)
    return along(ALL, **{parameter: symmetric}), along(DENDRITIC, **{parameter: broken}, **BROKEN)


def draw_along(parameter: str, name: str, tables: Tables, y: str = "alpha_c") -> Figure:
    """The paper's lines, those with broken symmetry, and the assumptions of both."""
    figure = curves(both(tables, name), parameter, y, log=parameter == "theta_d")
    footnote(figure, ASSUMED)
    return figure


# Fig. 2 ---------------------------------------------------------------------------------------------------------------

INSET, CEILING = "fig2a_inset", "fig2a_ceiling"
INSET_THRESHOLDS = (0.01, 0.05, 0.1)
INSET_COLOURS = (PALETTE[Step.name], PALETTE[Tabulated.name], PALETTE[Custom.name])
CEILING_BRANCHES = (30, 100)


def tables_a() -> Tables:
    """Capacity against the dendritic threshold, branch inputs at three of them, and the ceiling at finite K."""
    import pandas as pd

    inset = []
    for theta_d in INSET_THRESHOLDS:
        found = critical_capacity(NeuronSpec(Polsky(), theta_d, 0.5))
        mean, sd = found.preactivation_mean, found.preactivation_sd
        inset.append({"theta_d": theta_d, "mean": mean, "sd": sd, "linear_share": _linear_share(Polsky(), mean, sd)})
    ceiling = [
        {"n_branches": K, "natural": committee_ceiling(K), "base_ten": committee_ceiling(K) / math.sqrt(math.log(10.0))}
        for K in CEILING_BRANCHES
    ]
    return {**tables_along("theta_d", "fig2a"), INSET: pd.DataFrame(inset), CEILING: pd.DataFrame(ceiling)}


def _linear_share(g: Nonlinearity, mean: float, sd: float) -> float:
    """Share of the variance of g(x) that a straight line explains, for normal x."""
    z = np.linspace(-8.0, 8.0, 8001)
    weight = np.exp(-0.5 * z**2)
    weight /= weight.sum()
    values = g(mean + sd * z)
    centred = values - weight @ values
    return float((weight @ (centred * z)) ** 2 / (weight @ centred**2))


def draw_a(tables: Tables) -> Figure:
    """Fig. 2a, with the branch inputs at three thresholds in an inset."""
    figure = draw_along("theta_d", "fig2a", tables)
    with house_style():
        inset = figure.axes[0].inset_axes((0.06, 0.5, 0.5, 0.36))
        x = np.linspace(-0.4, 1.2, 400)
        inset.plot(x, Polsky()(x), color="k", lw=1.0)
        for row, colour in zip(tables[INSET].itertuples(), INSET_COLOURS, strict=True):
            density = np.exp(-0.5 * ((x - row.mean) / row.sd) ** 2)
            inset.plot(x, density, color=colour, lw=1.0, label=f"{row.theta_d:g}")
        inset.set_yticks([])
        inset.set_title("inputs of a branch (peak = 1), and $g$")
        inset.legend(title=r"$\theta_d$", handlelength=1.0, loc="upper left", borderaxespad=0.1, labelspacing=0.2)
    return figure


def measure_a(tables: Tables) -> dict[str, Measured]:
    """Limits, growth and order of the capacities."""
    inset, ceiling = tables[INSET], tables[CEILING].set_index("n_branches")
    capacity = tables["fig2a"].pivot(index="theta_d", columns="nonlinearity", values="alpha_c")
    dendritic = capacity[[g.name for g in DENDRITIC]]
    at_half = capacity.loc[(capacity.index.to_series() - 0.5).abs().idxmin()]
    lead = dendritic[SaturatingReLU.name] - 1.0
    return {
        "linear": Measured(furthest(capacity[Linear.name], 1.0)),
        "small_threshold": Measured(furthest(capacity.iloc[0], 1.0), note=f"at θ_d = {capacity.index[0]:g}"),
        "growth": Measured(
            float(dendritic.diff().min().min()),
            note=f"smallest step between neighbouring points; ReLU and saturating ReLU stay at 1 to six digits up to "
            f"θ_d = {float(capacity.index[lead > 1e-6].min()):.2g}",
        ),
        "polsky_over_saturating": Measured(float(at_half[Polsky.name] / at_half[SaturatingReLU.name])),
        "saturating_over_relu": Measured(float(at_half[SaturatingReLU.name] / at_half[ReLU.name])),
        **{
            f"ceiling_{K}": Measured(float(ceiling.natural[K]), note=f"log to base ten gives {ceiling.base_ten[K]:.2f}")
            for K in CEILING_BRANCHES
        },
        "linear_share_small": Measured(float(inset.linear_share.iloc[0])),
        "linear_share_falls": Measured(float(inset.linear_share.iloc[0] - inset.linear_share.iloc[-1])),
    }


def measure_b(tables: Tables) -> dict[str, Measured]:
    """How strongly the capacity depends on the somatic threshold."""
    polsky = of(tables["fig2b"], Polsky).alpha_c
    return {"spread": Measured(float(polsky.max() / polsky.min()))}


def measure_c(tables: Tables) -> dict[str, Measured]:
    """Whether the capacity falls with x_min, down to that of the saturating ReLU."""
    curve = of(tables["fig2c"], Polsky)
    polsky, saturating = curve.alpha_c, of(tables["fig2c"], SaturatingReLU).alpha_c
    rising = polsky.diff() > 0.0
    lowest = f"it has a minimum, {polsky.min():.4f}, at x_min = {curve.x_min[polsky.idxmin()]:.2g}"
    note = f"{lowest}, below the saturating ReLU ({saturating.iloc[-1]:.4f})" if rising.any() else ""
    return {
        "falls": Measured(float(-polsky.diff().max()), note=note),
        "meets_saturating": Measured(float(polsky.iloc[-1] / saturating.iloc[-1])),
    }


def measure_d(tables: Tables) -> dict[str, Measured]:
    """Whether the capacity rises with gamma."""
    polsky = of(tables["fig2d"], Polsky)
    falling = polsky.alpha_c.diff() < 0.0
    note = f"it falls up to γ = {polsky.gamma[falling].max():.3g}" if falling.any() else ""
    biological = polsky[(polsky.gamma >= 13.0) & (polsky.gamma <= 20.0)].alpha_c
    return {"rises": Measured(float(biological.diff().min()), note=note)}


AGAINST = "Critical capacity against"
exact("fig2a", "capacity-theta-d", f"{AGAINST} the dendritic threshold", tables_a, draw_a, measure_a, seconds=1)
for panel, parameter, words, measure in (
    ("fig2b", "theta_s", "the somatic threshold", measure_b),
    ("fig2c", "x_min", "the onset of the sigmoid", measure_c),
    ("fig2d", "gamma", "the steepness of the sigmoid", measure_d),
):
    exact(
        panel,
        f"capacity-{parameter.replace('_', '-')}",
        f"{AGAINST} {words}",
        partial(tables_along, parameter, panel),
        partial(draw_along, parameter, panel),
        measure,
        seconds=1,
    )

# Figs. 5 and 10 -------------------------------------------------------------------------------------------------------


def draw_5(tables: Tables) -> Figure:
    """Fig. 5."""
    figure = draw_along("theta_d", "fig5", tables, "silent_fraction")
    figure.axes[0].set_ylim(0.0, 1.0)
    return figure


def measure_5(tables: Tables) -> dict[str, Measured]:
    """Silent fractions, and the effect of symmetry breaking on them."""
    rs, broken = tables["fig5"], of(tables["fig5_rsb"], Polsky)
    polsky, relu, linear = (of(rs, g).silent_fraction for g in (Polsky, ReLU, Linear))
    peak = of(rs, ReLU).theta_d[relu.idxmax()]
    return {
        "linear": Measured(furthest(linear, 0.5)),
        "polsky_largest": Measured(float(polsky.max())),
        "polsky_stays": Measured(float(polsky.iloc[-1]), note=f"at θ_d = {rs.theta_d.max():g}"),
        "relu_returns": Measured(
            float(relu.max() - relu.iloc[-1]),
            note=f"largest {relu.max():.4f} at θ_d = {peak:.2g}, {relu.iloc[-1]:.4f} at {rs.theta_d.max():g}",
        ),
        "polsky_broken": Measured(
            float(np.interp(0.5, broken.theta_d, broken.silent_fraction)),
            note="one step of replica symmetry breaking, θ_d = 1/2, interpolated between computed points",
        ),
    }


PANELS = {parameter: f"fig10_{parameter}" for parameter in ("x_min", "gamma", "theta_s")}


def tables_10() -> Tables:
    """Silent fraction at capacity against x_min, gamma and theta_s, with and without broken replica symmetry."""
    found = {
        name: table for parameter, panel in PANELS.items() for name, table in tables_along(parameter, panel).items()
    }
    return {name: found[name] for name in (*PANELS.values(), *map(broken_name, PANELS.values()))}


def draw_10(tables: Tables) -> Figure:
    """Three panels with a common axis of silent fractions."""
    with drawing(2, 3.2) as figure:
        for axes, (parameter, panel) in zip(figure.subplots(1, 3, sharey=True), PANELS.items(), strict=True):
            rows = both(tables, panel)
            curves(rows, parameter, "silent_fraction", legend=False, ax=axes)
            axes.label_outer()
        figure.legend(
            handles=curve_key(lines_of(rows, parameter, "silent_fraction")), loc="outside upper left", ncols=3
        )
        footnote(figure, ASSUMED)
    return figure


def measure_10(tables: Tables) -> dict[str, Measured]:
    """Limits that the three panels must have."""
    polsky, saturating = (of(tables[PANELS["x_min"]], g).silent_fraction for g in (Polsky, SaturatingReLU))
    everywhere = [of(tables[PANELS["theta_s"]], type(g)).silent_fraction.min() for g in DENDRITIC]
    return {
        "meets_saturating": Measured(float(polsky.iloc[-1] / saturating.iloc[-1])),
        "more_than_linear": Measured(float(min(everywhere))),
    }


SILENT = "Silent synapses at capacity against"
tables_5 = partial(tables_along, "theta_d", "fig5")
exact("fig5", "sparsity", f"{SILENT} the dendritic threshold", tables_5, draw_5, measure_5, seconds=6)
exact("fig10", "sparsity-shape", f"{SILENT} x_min, γ and θ_s", tables_10, draw_10, measure_10, seconds=1)
