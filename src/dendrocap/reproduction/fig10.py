"""Fig. 10: silent synapses at capacity against x_min, gamma and theta_s."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dendrocap.figures.style import drawing, footnote
from dendrocap.figures.theory import curve_key, curves, lines_of
from dendrocap.model import Polsky, SaturatingReLU
from dendrocap.reproduction.claims import Measured
from dendrocap.reproduction.runs import Tables, exact
from dendrocap.reproduction.shared import ALL, ASSUMED, BROKEN, DENDRITIC, along, along_shape, both, broken_name, of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FIGURE", "TABLES", "draw", "measure", "tables"]

PARAMETERS = ("x_min", "gamma", "theta_s")
PANELS = BY_X_MIN, BY_GAMMA, BY_THETA_S = tuple(f"fig10_{parameter}" for parameter in PARAMETERS)
TABLES = (*PANELS, *map(broken_name, PANELS))


def tables() -> Tables:
    """Silent fraction at capacity against x_min, gamma and theta_s, with and without broken replica symmetry."""
    return {
        BY_X_MIN: along_shape("x_min", np.linspace(0.0, 1.0, 51)),
        BY_GAMMA: along_shape("gamma", np.linspace(2.0, 40.0, 77)),
        BY_THETA_S: along(ALL, theta_s=np.linspace(0.02, 0.98, 49)),
        broken_name(BY_X_MIN): along_shape("x_min", np.linspace(0.0, 1.0, 11), **BROKEN),
        broken_name(BY_GAMMA): along_shape("gamma", np.linspace(2.0, 40.0, 11), **BROKEN),
        broken_name(BY_THETA_S): along(DENDRITIC, theta_s=np.linspace(0.06, 0.94, 12), **BROKEN),
    }


def draw(tables: Tables) -> Figure:
    """Three panels with a common axis of silent fractions."""
    with drawing(2, 3.2) as figure:
        panels = figure.subplots(1, 3, sharey=True)
        for axes, parameter, name in zip(panels, PARAMETERS, PANELS, strict=True):
            curves(both(tables, name), parameter, "silent_fraction", legend=False, ax=axes)
            axes.label_outer()
        lines = lines_of(both(tables, BY_THETA_S), "theta_s", "silent_fraction")
        figure.legend(handles=curve_key(lines), loc="outside upper left", ncols=3)
        footnote(figure, ASSUMED)
    return figure


def measure(tables: Tables) -> dict[str, Measured]:
    """Limits that the three panels must have."""
    polsky, saturating = (of(tables[BY_X_MIN], g).silent_fraction for g in (Polsky, SaturatingReLU))
    everywhere = [of(tables[BY_THETA_S], type(g)).silent_fraction.min() for g in DENDRITIC]
    return {
        "meets_saturating": Measured(float(polsky.iloc[-1] / saturating.iloc[-1])),
        "more_than_linear": Measured(float(min(everywhere))),
    }


FIGURE = exact(
    "fig10", "sparsity-shape", "Silent synapses at capacity against x_min, γ and θ_s", tables, draw, measure, seconds=1
)
