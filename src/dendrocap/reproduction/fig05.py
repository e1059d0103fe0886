"""Fig. 5: silent synapses at capacity against the dendritic threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dendrocap.figures.style import footnote
from dendrocap.figures.theory import curves
from dendrocap.model import Linear, Polsky, ReLU
from dendrocap.reproduction.claims import Measured
from dendrocap.reproduction.runs import Tables, exact
from dendrocap.reproduction.shared import ALL, ASSUMED, DENDRITIC, along, both, broken_name, furthest, of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FIGURE", "TABLES", "draw", "measure", "tables"]

SILENT = "fig5"
TABLES = (SILENT, BROKEN) = (SILENT, broken_name(SILENT))


def tables() -> Tables:
    """Silent fraction at capacity against the dendritic threshold, with and without broken replica symmetry."""
    return {
        SILENT: along(ALL, theta_d=np.geomspace(0.01, 100.0, 81)),
        BROKEN: along(DENDRITIC, theta_d=np.geomspace(0.02, 10.0, 19), rsb=[1]),
    }


def draw(tables: Tables) -> Figure:
    """The paper's lines, and those with one step of replica symmetry breaking."""
    figure = curves(both(tables, SILENT), "theta_d", "silent_fraction", log=True)
    figure.axes[0].set_ylim(0.0, 1.0)
    footnote(figure, ASSUMED)
    return figure


def measure(tables: Tables) -> dict[str, Measured]:
    """Silent fractions, and the effect of symmetry breaking on them."""
    rs, broken = tables[SILENT], of(tables[BROKEN], Polsky)
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


FIGURE = exact(
    "fig5", "sparsity", "Silent synapses at capacity against the dendritic threshold", tables, draw, measure, seconds=6
)
