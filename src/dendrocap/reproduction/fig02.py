"""Fig. 2: critical capacity against the dendritic threshold (a), the somatic one (b), and the shape of g (c, d)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dendrocap.figures.style import PALETTE, footnote, house_style
from dendrocap.figures.theory import curves
from dendrocap.model import Custom, Linear, NeuronSpec, Nonlinearity, Polsky, ReLU, SaturatingReLU, Step, Tabulated
from dendrocap.reproduction.claims import Measured
from dendrocap.reproduction.runs import Tables, exact
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
    from matplotlib.figure import Figure

__all__ = ["FIGURES"]

A, INSET, CEILING, B, C, D = "fig2a", "fig2a_inset", "fig2a_ceiling", "fig2b", "fig2c", "fig2d"
TITLE = "Critical capacity against"
INSET_THRESHOLDS = (0.01, 0.05, 0.1)
INSET_COLOURS = (PALETTE[Step.name], PALETTE[Tabulated.name], PALETTE[Custom.name])
CEILING_BRANCHES = (30, 100)


def _drawn(tables: Tables, name: str, parameter: str) -> Figure:
    """A panel with the paper's lines, those with broken symmetry, and the assumptions of both."""
    figure = curves(both(tables, name), parameter, "alpha_c")
    footnote(figure, ASSUMED)
    return figure


# a: the dendritic threshold ------------------------------------------------------------------------------------------


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
    return {
        A: along(ALL, theta_d=np.geomspace(1e-3, 5.0, 75)),
        broken_name(A): along(DENDRITIC, theta_d=np.geomspace(0.02, 5.0, 13), **BROKEN),
        INSET: pd.DataFrame(inset),
        CEILING: pd.DataFrame(ceiling),
    }


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
    figure = curves(both(tables, A), "theta_d", "alpha_c", log=True)
    (axes,) = figure.axes
    footnote(figure, ASSUMED)
    with house_style():
        inset = axes.inset_axes((0.06, 0.5, 0.5, 0.36))
        x = np.linspace(-0.4, 1.2, 400)
        inset.plot(x, Polsky()(x), color="k", lw=1.0)
        for row, colour in zip(tables[INSET].itertuples(), INSET_COLOURS, strict=True):
            density = np.exp(-0.5 * ((x - row.mean) / row.sd) ** 2)
            inset.plot(x, density, color=colour, lw=1.0, label=f"{row.theta_d:g}")
        inset.set_yticks([])
        inset.set_title("inputs of a branch (peak = 1), and $g$")
        inset.legend(
            title=r"$\theta_d$",
            handlelength=1.0,
            loc="upper left",
            borderaxespad=0.1,
            labelspacing=0.2,
        )
    return figure


def measure_a(tables: Tables) -> dict[str, Measured]:
    """Limits, growth and order of the capacities."""
    inset, ceiling = tables[INSET], tables[CEILING].set_index("n_branches")
    capacity = tables[A].pivot(index="theta_d", columns="nonlinearity", values="alpha_c")
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


# b: the somatic threshold --------------------------------------------------------------------------------------------


def tables_b() -> Tables:
    """Capacity against the somatic threshold."""
    return {
        B: along(ALL, theta_s=np.linspace(0.02, 0.98, 49)),
        broken_name(B): along(DENDRITIC, theta_s=np.linspace(0.06, 0.94, 12), **BROKEN),
    }


def draw_b(tables: Tables) -> Figure:
    """Fig. 2b."""
    return _drawn(tables, B, "theta_s")


def measure_b(tables: Tables) -> dict[str, Measured]:
    """How strongly the capacity depends on the somatic threshold."""
    polsky = of(tables[B], Polsky).alpha_c
    return {"spread": Measured(float(polsky.max() / polsky.min()))}


# c: the onset of the sigmoid -----------------------------------------------------------------------------------------


def tables_c() -> Tables:
    """Capacity against the onset of the sigmoid."""
    return {
        C: along_shape("x_min", np.linspace(0.0, 1.0, 51)),
        broken_name(C): along_shape("x_min", np.linspace(0.0, 1.0, 11), **BROKEN),
    }


def draw_c(tables: Tables) -> Figure:
    """Fig. 2c."""
    return _drawn(tables, C, "x_min")


def measure_c(tables: Tables) -> dict[str, Measured]:
    """Whether the capacity falls with x_min, down to that of the saturating ReLU."""
    curve = of(tables[C], Polsky)
    polsky, saturating = curve.alpha_c, of(tables[C], SaturatingReLU).alpha_c
    rising = polsky.diff() > 0.0
    lowest = f"it has a minimum, {polsky.min():.4f}, at x_min = {curve.x_min[polsky.idxmin()]:.2g}"
    note = f"{lowest}, below the saturating ReLU ({saturating.iloc[-1]:.4f})" if rising.any() else ""
    return {
        "falls": Measured(float(-polsky.diff().max()), note=note),
        "meets_saturating": Measured(float(polsky.iloc[-1] / saturating.iloc[-1])),
    }


# d: the steepness of the sigmoid -------------------------------------------------------------------------------------


def tables_d() -> Tables:
    """Capacity against the steepness of the sigmoid."""
    return {
        D: along_shape("gamma", np.linspace(2.0, 40.0, 77)),
        broken_name(D): along_shape("gamma", np.linspace(2.0, 40.0, 11), **BROKEN),
    }


def draw_d(tables: Tables) -> Figure:
    """Fig. 2d."""
    return _drawn(tables, D, "gamma")


def measure_d(tables: Tables) -> dict[str, Measured]:
    """Whether the capacity rises with gamma."""
    polsky = of(tables[D], Polsky)
    falling = polsky.alpha_c.diff() < 0.0
    note = f"it falls up to γ = {polsky.gamma[falling].max():.3g}" if falling.any() else ""
    biological = polsky[(polsky.gamma >= 13.0) & (polsky.gamma <= 20.0)].alpha_c
    return {"rises": Measured(float(biological.diff().min()), note=note)}


FIGURES = (
    exact(A, "capacity-theta-d", f"{TITLE} the dendritic threshold", tables_a, draw_a, measure_a, seconds=1),
    exact(B, "capacity-theta-s", f"{TITLE} the somatic threshold", tables_b, draw_b, measure_b, seconds=1),
    exact(C, "capacity-x-min", f"{TITLE} the onset of the sigmoid", tables_c, draw_c, measure_c, seconds=1),
    exact(D, "capacity-gamma", f"{TITLE} the steepness of the sigmoid", tables_d, draw_d, measure_d, seconds=1),
)
