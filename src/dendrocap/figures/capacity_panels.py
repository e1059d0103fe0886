"""The paper's figures of the replica theory: capacity and silent fraction, and their growth at large thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dendrocap.figures.curves import AXIS_LABELS, curves_on, draw_curves
from dendrocap.figures.style import COLUMN_WIDTH, LABELS, PALETTE, house_style
from dendrocap.model import Polsky

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = [
    "draw_asymptotes",
    "draw_capacity_against_gamma",
    "draw_capacity_against_theta_d",
    "draw_capacity_against_theta_s",
    "draw_capacity_against_x_min",
    "draw_sparsity",
    "draw_sparsity_shape",
]

Tables = Mapping[str, "pd.DataFrame"]
CAPACITY, SILENT = r"critical capacity $\alpha_c$", r"silent fraction $p_0$"
INSET_COLOURS = (PALETTE["step"], PALETTE["tabulated"], PALETTE["custom"])


def draw_capacity_against_theta_d(tables: Tables) -> Figure:
    """Fig. 2a, with the branch inputs at three thresholds in an inset."""
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(1.3 * COLUMN_WIDTH, 3.3), layout="constrained")
        axes = figure.subplots()
        curves_on(axes, _rows(tables["fig2a"]), "theta_d", "alpha_c", CAPACITY)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(0.8, 60.0)
        axes.legend(loc="upper left", bbox_to_anchor=(0.0, 0.62))
        inset = axes.inset_axes((0.1, 0.66, 0.44, 0.33))
        x = np.linspace(-0.4, 1.2, 400)
        inset.plot(x, Polsky()(x), color="k", ls="--", lw=1.0)
        for row, colour in zip(tables["fig2a_inset"].itertuples(), INSET_COLOURS, strict=True):
            density = np.exp(-0.5 * ((x - row.mean) / row.sd) ** 2)
            inset.plot(x, density, color=colour, lw=1.0, label=f"{row.theta_d:g}")
        inset.set_yticks([])
        inset.tick_params(labelsize=6)
        inset.set_title(r"branch input $\lambda$ (peak = 1), and $g$", fontsize=6.5)
        inset.legend(
            title=r"$\theta_d$",
            fontsize=6,
            title_fontsize=6,
            handlelength=1.0,
            loc="upper left",
            borderaxespad=0.1,
            labelspacing=0.2,
        )
    return figure


def draw_capacity_against_theta_s(tables: Tables) -> Figure:
    """Fig. 2b."""
    return draw_curves(_rows(tables["fig2b"]), "theta_s", "alpha_c", CAPACITY)


def draw_capacity_against_x_min(tables: Tables) -> Figure:
    """Fig. 2c."""
    return draw_curves(_rows(tables["fig2c"]), "x_min", "alpha_c", CAPACITY)


def draw_capacity_against_gamma(tables: Tables) -> Figure:
    """Fig. 2d."""
    return draw_curves(_rows(tables["fig2d"]), "gamma", "alpha_c", CAPACITY)


def draw_sparsity(tables: Tables) -> Figure:
    """Fig. 5, with one step of replica symmetry breaking beside it."""
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(1.3 * COLUMN_WIDTH, 2.9), layout="constrained")
        axes = figure.subplots()
        curves_on(axes, _rows(tables["fig5"]), "theta_d", "silent_fraction", SILENT + " at capacity")
        for name in dict.fromkeys(tables["fig5_rsb"].nonlinearity):
            own = tables["fig5_rsb"][tables["fig5_rsb"].nonlinearity == name]
            axes.plot(own.theta_d, own.silent_fraction, color=PALETTE[name], ls=":", lw=1.2)
        axes.plot([], [], color="0.3", label="replica symmetric")
        axes.plot([], [], color="0.3", ls=":", label="one step of breaking")
        axes.set_xscale("log")
        axes.set_ylim(0.0, 1.0)
        figure.legend(loc="outside upper center", ncols=3)
    return figure


def draw_sparsity_shape(tables: Tables) -> Figure:
    """Fig. 10: three panels that share their axis of silent fractions."""
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(2 * COLUMN_WIDTH, 2.6), layout="constrained")
        panels = figure.subplots(1, 3, sharey=True)
        for axes, parameter in zip(panels, ("x_min", "gamma", "theta_s"), strict=True):
            label = SILENT + " at capacity" if parameter == "x_min" else ""
            curves_on(axes, _rows(tables[f"fig10_{parameter}"]), parameter, "silent_fraction", label)
        handles, labels = panels[-1].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=4)
    return figure


def draw_asymptotes(tables: Tables) -> Figure:
    """Fig. 9: growth per unit of theta_d for saturating g, per unit of ln theta_d for the ReLU, and with breaking."""
    from matplotlib.figure import Figure

    curves, slopes = tables["fig9"], tables["fig9_slopes"].set_index("nonlinearity")
    with house_style():
        figure = Figure(figsize=(2 * COLUMN_WIDTH, 2.7), layout="constrained")
        left, middle, right = figure.subplots(1, 3)
        for name in ("polsky", "saturating_relu"):
            own = curves[(curves.nonlinearity == name) & (curves.theta_d <= 1e4)]
            left.plot(own.theta_d, own.alpha_c / own.theta_d, color=PALETTE[name], label=LABELS[name])
            left.axhline(slopes.exact[name], color=PALETTE[name], ls=":", lw=1.0)
            left.annotate(
                f"{slopes.exact[name]:.4f}",
                (1e4, slopes.exact[name]),
                (-2, 4),
                textcoords="offset points",
                ha="right",
                fontsize=7,
                color=PALETTE[name],
            )
        left.set_ylabel(r"$\alpha_c / \theta_d$")
        left.set_ylim(0.0, 11.0)
        left.legend(loc="center right")
        relu = curves[curves.nonlinearity == "relu"]
        middle.plot(relu.theta_d, np.gradient(relu.alpha_c, np.log(relu.theta_d)), color=PALETTE["relu"], label="ReLU")
        middle.axhline(slopes.exact["relu"], color=PALETTE["relu"], ls=":", lw=1.0, label="exact limit")
        middle.axhline(
            slopes.printed["relu"], color="0.5", ls="--", lw=1.0, label=f"printed, {slopes.printed['relu']:g}"
        )
        middle.set_ylabel(r"$d\alpha_c / d\ln\theta_d$")
        middle.set_ylim(0.0, 1.15)
        middle.legend(loc="lower right")
        _draw_broken(right, tables["fig9_rsb"], curves)
        for axes in (left, middle, right):
            axes.set_xscale("log")
            axes.set_xlabel(AXIS_LABELS["theta_d"])
    return figure


def _draw_broken(axes: Any, broken: pd.DataFrame, curves: pd.DataFrame) -> None:
    for name in dict.fromkeys(broken.nonlinearity):
        own = broken[broken.nonlinearity == name]
        symmetric = curves[(curves.nonlinearity == name) & (curves.theta_d <= own.theta_d.max())]
        axes.plot(symmetric.theta_d, symmetric.alpha_c, color=PALETTE[name])
        axes.plot(own.theta_d, own.alpha_c, color=PALETTE[name], ls=":")
    axes.plot([], [], color="0.3", label="replica symmetric")
    axes.plot([], [], color="0.3", ls=":", label="one step of breaking")
    axes.set_yscale("log")
    axes.set_ylim(1.0, 2000.0)  # leaves room for the legend
    axes.set_ylabel(CAPACITY)
    axes.legend(loc="upper left")


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]
