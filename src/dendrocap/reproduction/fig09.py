"""Fig. 9: growth of the capacity at large dendritic thresholds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dendrocap.figures.style import AXIS_LABELS, PALETTE, SYMMETRIC, drawing, footnote
from dendrocap.figures.theory import curve_key, lines_of
from dendrocap.figures.theory import curves as capacity_curves
from dendrocap.model import NeuronSpec, Nonlinearity, Polsky, ReLU, SaturatingReLU
from dendrocap.reproduction.claims import Measured, paper_claims
from dendrocap.reproduction.runs import Tables, exact
from dendrocap.reproduction.shared import ASSUMED, DENDRITIC, along, of
from dendrocap.theory import critical_capacity, large_threshold_slope, relu_large_threshold_capacity

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

NAME = "fig9"
TABLES = CURVES, SLOPES, BROKEN = (NAME, "fig9_slopes", "fig9_rsb")
# Large enough that a fit over decades shows the asymptote of saturating g, and the slow approach of the ReLU.
FAR = np.geomspace(1.0, 1e8, 81)
RELU_FIT = (1e2, 1e4)


def tables() -> Tables:
    """Capacity at large dendritic thresholds, replica symmetric and broken, with the exact asymptotes."""
    import pandas as pd

    curves = along(DENDRITIC, theta_d=FAR)
    limits = {g.name: large_threshold_slope(g) for g in DENDRITIC if _saturates(g)}
    curves["asymptote"] = [
        limits[name] * theta_d if name in limits else relu_large_threshold_capacity(theta_d)
        for name, theta_d in zip(curves.nonlinearity, curves.theta_d, strict=True)
    ]
    slopes = pd.DataFrame([_slopes(g, curves) for g in DENDRITIC])
    printed = {claim.measure: claim.printed for claim in paper_claims() if claim.figure == NAME}
    slopes["printed"] = slopes.nonlinearity.map(
        {ReLU.name: printed["relu_coefficient"], SaturatingReLU.name: printed["saturating_slope"]}
    )
    return {
        CURVES: curves,
        SLOPES: slopes,
        BROKEN: along(DENDRITIC, theta_d=np.geomspace(1.0, 30.0, 8), rsb=[1]),
    }


def _slopes(g: Nonlinearity, curves: pd.DataFrame) -> dict[str, Any]:
    own = of(curves, type(g))
    if not _saturates(g):
        fitted = own[(own.theta_d >= RELU_FIT[0]) & (own.theta_d <= RELU_FIT[1])]
        slope = float(np.polyfit(np.log(fitted.theta_d), fitted.alpha_c, 1)[0])
        # The limit is approached like 1 / ln theta_d: take the derivative of the asymptotic law at tiny corrections.
        far = [relu_large_threshold_capacity(math.exp(u)) for u in (690.0, 700.0)]
        limit = (far[1] - far[0]) / 10.0
        return {"nonlinearity": g.name, "fitted": slope, "exact": limit, "printed_sign": math.nan}
    fitted = own[(own.theta_d >= 10.0) & (own.theta_d <= 1e3)]
    slope = float(np.polyfit(fitted.theta_d, fitted.alpha_c, 1)[0])
    return {
        "nonlinearity": g.name,
        "fitted": slope,
        "exact": large_threshold_slope(g),
        "printed_sign": _slope_with_printed_sign(g, 1e4),
    }


def _slope_with_printed_sign(g: Nonlinearity, theta_d: float) -> float:
    """Capacity per theta_d from the reduced equation at its own B if its numerator were 2 Gamma_1 H(-B).

    The equations for W_bar and Q eliminate alpha_c Gamma_0 / Gamma_1, which leaves the same Q(B); only the load given
    by the equation itself is scaled by H(-B) / H(B).
    """
    found = critical_capacity(NeuronSpec(g, theta_d, 0.5))
    return found.alpha_c / theta_d * found.silent_fraction / (1.0 - found.silent_fraction)


def _saturates(g: Nonlinearity) -> bool:
    return math.isfinite(g.range[1])


def draw(tables: Tables) -> Figure:
    """Growth per unit of theta_d for saturating g, per unit of ln theta_d for the ReLU, and with breaking."""
    curves, slopes = tables[CURVES], tables[SLOPES].set_index("nonlinearity")
    with drawing(2, 3.4) as figure:
        left, middle, right = figure.subplots(1, 3)
        for name in (Polsky.name, SaturatingReLU.name):
            own = curves[(curves.nonlinearity == name) & (curves.theta_d <= 1e4)]
            left.plot(own.theta_d, own.alpha_c / own.theta_d, color=PALETTE[name])
            left.axhline(slopes.exact[name], color=PALETTE[name], ls=":", lw=1.0)
            left.annotate(
                f"{slopes.exact[name]:.4f}",
                (1e4, slopes.exact[name]),
                (-2, 4),
                textcoords="offset points",
                ha="right",
                color=PALETTE[name],
            )
        left.set(ylabel=r"$\alpha_c / \theta_d$", ylim=(0.0, 11.0))
        left.set_title(SYMMETRIC["label"])
        relu = of(curves, ReLU)
        middle.plot(
            relu.theta_d,
            np.gradient(relu.alpha_c, np.log(relu.theta_d)),
            color=PALETTE[ReLU.name],
        )
        middle.axhline(slopes.exact[ReLU.name], color=PALETTE[ReLU.name], ls=":", lw=1.0, label="exact limit")
        middle.axhline(
            slopes.printed[ReLU.name], color="0.5", ls="-", lw=1.0, label=f"printed, {slopes.printed[ReLU.name]:g}"
        )
        middle.set(ylabel=r"$d\alpha_c / d\ln\theta_d$", ylim=(0.0, 1.15))
        middle.set_title(SYMMETRIC["label"])
        middle.legend(loc="lower right")
        key = _draw_broken(right, tables)
        for axes in (left, middle, right):
            axes.set(xscale="log", xlabel=AXIS_LABELS["theta_d"])
        figure.legend(handles=key, loc="outside upper left", ncols=3)
        footnote(figure, ASSUMED)
    return figure


def _draw_broken(axes: Any, tables: Tables) -> list[Any]:
    """Capacities with and without breaking; returns the legend entries of all three panels."""
    far = tables[BROKEN].theta_d.max()
    symmetric, broken = (table[table.theta_d <= far].to_dict("records") for table in (tables[CURVES], tables[BROKEN]))
    rows = [*symmetric, *broken]
    capacity_curves(rows, "theta_d", "alpha_c", legend=False, ax=axes)
    axes.set_yscale("log")
    return curve_key(lines_of(rows, "theta_d", "alpha_c"))


def measure(tables: Tables) -> dict[str, Measured]:
    """Growth laws: fitted, exact, with the printed sign, and with broken replica symmetry."""
    curves, broken = tables[CURVES], tables[BROKEN]
    slopes = tables[SLOPES].set_index("nonlinearity")
    relu = of(curves, ReLU)
    local = np.gradient(relu.alpha_c, np.log(relu.theta_d))
    saturating = of(broken, SaturatingReLU)
    growth = np.polyfit(np.log(saturating.theta_d), np.log(saturating.alpha_c), 1)[0]
    return {
        "saturating_slope": Measured(
            float(slopes.exact[SaturatingReLU.name]),
            note=f"a fit to the replica-symmetric curve gives {slopes.fitted[SaturatingReLU.name]:.6g}",
        ),
        "printed_equation": Measured(
            float(slopes.printed_sign[SaturatingReLU.name]),
            note="the slope that the reduced equation gives with H(-B) in its numerator, as printed",
        ),
        "relu_coefficient": Measured(
            float(slopes.exact[ReLU.name]),
            note=f"tends to 1; it is {local[np.searchsorted(relu.theta_d, 30.0)]:.3f} at θ_d = 30 and {local[-1]:.3f} "
            f"at {relu.theta_d.max():.0e}; a fit between {RELU_FIT[0]:g} and {RELU_FIT[1]:g} gives "
            f"{slopes.fitted[ReLU.name]:.4f}",
        ),
        "relu_is_logarithmic": Measured(float(local[-1] / local[np.searchsorted(relu.theta_d, 1e3)])),
        "saturating_broken": Measured(
            float(growth),
            note=f"θ_d from {saturating.theta_d.min():g} to {saturating.theta_d.max():g}; replica symmetry gives 1",
        ),
    }


exact(NAME, "asymptotes", "Growth of the capacity at large dendritic thresholds", tables, draw, measure, seconds=5)
