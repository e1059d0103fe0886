"""The figures that follow from the equations alone: tables, and the measurements that test the paper's claims on them.

All have f_in = f_out = 1/2, no margin, and theta_s = theta_d = 1/2 unless they vary, as in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dendrocap.errors import ConvergenceError
from dendrocap.model import Linear, NeuronSpec, Nonlinearity, Polsky, ReLU, SaturatingReLU, TaskSpec
from dendrocap.reproduction.claims import Measured, paper_claims
from dendrocap.reproduction.tables import Tables
from dendrocap.theory import (
    committee_ceiling,
    critical_capacity,
    large_threshold_slope,
    relu_large_threshold_capacity,
    stability_limit,
)
from dendrocap.theory.parameter_grids import capacity_points

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "algorithmic_theory",
    "asymptotes",
    "capacity_against_gamma",
    "capacity_against_theta_d",
    "capacity_against_theta_s",
    "capacity_against_x_min",
    "measure_asymptotes",
    "measure_gamma",
    "measure_sketch",
    "measure_sparsity",
    "measure_sparsity_shape",
    "measure_theta_d",
    "measure_theta_s",
    "measure_x_min",
    "sketch",
    "sparsity",
    "sparsity_shape",
]

Floats = NDArray[np.float64]
DENDRITIC: tuple[Nonlinearity, ...] = (Polsky(), SaturatingReLU(), ReLU())
ALL = (*DENDRITIC, Linear())
KEPT = ("alpha_c", "silent_fraction", "preactivation_mean", "preactivation_sd")

INSET_THRESHOLDS = (0.01, 0.05, 0.1)
CEILING_BRANCHES = (30, 100)
# Far enough that a fit over decades sees the asymptote of saturating g, and the slow approach of the ReLU.
FAR = np.geomspace(1.0, 1e8, 81)
RELU_FIT = (1e2, 1e4)


# fig1 ---------------------------------------------------------------------------------------------------------------


def sketch() -> dict[str, pd.DataFrame]:
    """The standard dendritic non-linearity and its slope."""
    import pandas as pd

    g = Polsky()
    x = np.unique(np.concatenate([np.linspace(-0.3, 1.3, 641), g.breakpoints]))
    return {"fig1": pd.DataFrame({"x_min": g.x_min, "gamma": g.gamma, "x": x, "g": g(x), "slope": g.derivative(x)})}


def measure_sketch(tables: Tables) -> dict[str, Measured]:
    """Where g saturates, and its largest slope."""
    curve = tables["fig1"]
    at_one = float(np.interp(1.0, curve.x, curve.g))
    return {"largest_slope": Measured(float(curve.slope.max())), "value_at_one": Measured(at_one)}


# fig2 ---------------------------------------------------------------------------------------------------------------


def capacity_against_theta_d() -> dict[str, pd.DataFrame]:
    """Capacity against the dendritic threshold, branch inputs at three of them, and the ceiling at finite K."""
    import pandas as pd

    thresholds = np.geomspace(1e-3, 5.0, 75)
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
        "fig2a": _curves(ALL, theta_d=thresholds),
        "fig2a_inset": pd.DataFrame(inset),
        "fig2a_ceiling": pd.DataFrame(ceiling),
    }


def measure_theta_d(tables: Tables) -> dict[str, Measured]:
    """Limits, growth and order of the capacities."""
    curves, inset, ceiling = tables["fig2a"], tables["fig2a_inset"], tables["fig2a_ceiling"].set_index("n_branches")
    capacity = curves.pivot(index="theta_d", columns="nonlinearity", values="alpha_c")
    smallest = capacity.iloc[0]
    dendritic = capacity[[g.name for g in DENDRITIC]]
    at_half = capacity.loc[(capacity.index.to_series() - 0.5).abs().idxmin()]
    first_lead = dendritic["saturating_relu"] - 1.0
    return {
        "one_layer": Measured(_furthest(capacity["linear"], 1.0)),
        "small_threshold": Measured(_furthest(smallest, 1.0), note=f"at θ_d = {capacity.index[0]:g}"),
        "growth": Measured(
            float(dendritic.diff().min().min()),
            note=f"smallest step between neighbouring points; ReLU and saturating ReLU stay at 1 to six digits up to "
            f"θ_d = {float(capacity.index[first_lead > 1e-6].min()):.2g}",
        ),
        "polsky_over_saturating": Measured(float(at_half["polsky"] / at_half["saturating_relu"])),
        "saturating_over_relu": Measured(float(at_half["saturating_relu"] / at_half["relu"])),
        "ceiling_30": Measured(float(ceiling.natural[30]), note=f"log to base ten gives {ceiling.base_ten[30]:.2f}"),
        "ceiling_100": Measured(float(ceiling.natural[100]), note=f"log to base ten gives {ceiling.base_ten[100]:.2f}"),
        "linear_share_small": Measured(float(inset.linear_share.iloc[0])),
        "linear_share_falls": Measured(float(inset.linear_share.iloc[0] - inset.linear_share.iloc[-1])),
    }


def capacity_against_theta_s() -> dict[str, pd.DataFrame]:
    """Capacity against the somatic threshold."""
    return {"fig2b": _curves(ALL, theta_s=np.linspace(0.02, 0.98, 49))}


def measure_theta_s(tables: Tables) -> dict[str, Measured]:
    """How strongly the capacity depends on the somatic threshold."""
    polsky = _of(tables["fig2b"], "polsky").alpha_c
    return {"spread": Measured(float(polsky.max() / polsky.min()))}


def capacity_against_x_min() -> dict[str, pd.DataFrame]:
    """Capacity against the onset of the sigmoid."""
    return {"fig2c": _shape_curves("x_min", np.linspace(0.0, 1.0, 51))}


def measure_x_min(tables: Tables) -> dict[str, Measured]:
    """Whether the capacity falls with x_min, down to that of the saturating ReLU."""
    curve = _of(tables["fig2c"], "polsky")
    polsky, saturating = curve.alpha_c, _of(tables["fig2c"], "saturating_relu").alpha_c
    rising = polsky.diff() > 0.0
    lowest = f"it has a minimum, {polsky.min():.4f}, at x_min = {curve.x_min[polsky.idxmin()]:.2g}"
    note = f"{lowest}, below the saturating ReLU ({saturating.iloc[-1]:.4f})" if rising.any() else ""
    return {
        "falls": Measured(float(-polsky.diff().max()), note=note),
        "meets_saturating": Measured(float(polsky.iloc[-1] / saturating.iloc[-1])),
    }


def capacity_against_gamma() -> dict[str, pd.DataFrame]:
    """Capacity against the steepness of the sigmoid."""
    return {"fig2d": _shape_curves("gamma", np.linspace(2.0, 40.0, 77))}


def measure_gamma(tables: Tables) -> dict[str, Measured]:
    """Whether the capacity rises with gamma."""
    polsky = _of(tables["fig2d"], "polsky")
    falling = polsky.alpha_c.diff() < 0.0
    note = f"it falls up to γ = {polsky.gamma[falling].max():.3g}" if falling.any() else ""
    biological = polsky[(polsky.gamma >= 13.0) & (polsky.gamma <= 20.0)].alpha_c
    return {"rises": Measured(float(biological.diff().min()), note=note)}


# fig5 and fig10 -----------------------------------------------------------------------------------------------------


def sparsity() -> dict[str, pd.DataFrame]:
    """Silent fraction at capacity against the dendritic threshold, with and without broken replica symmetry."""
    return {
        "fig5": _curves(ALL, theta_d=np.geomspace(0.01, 100.0, 81)),
        "fig5_rsb": _curves(DENDRITIC, theta_d=np.geomspace(0.02, 10.0, 19), rsb=[1]),
    }


def measure_sparsity(tables: Tables) -> dict[str, Measured]:
    """Silent fractions, and what breaking makes of them."""
    rs, broken = tables["fig5"], tables["fig5_rsb"]
    polsky, relu, linear = (_of(rs, name).silent_fraction for name in ("polsky", "relu", "linear"))
    peak = _of(rs, "relu").theta_d[relu.idxmax()]
    broken_polsky = _of(broken, "polsky")
    return {
        "one_layer": Measured(_furthest(linear, 0.5)),
        "polsky_largest": Measured(float(polsky.max())),
        "polsky_stays": Measured(float(polsky.iloc[-1]), note=f"at θ_d = {rs.theta_d.max():g}"),
        "relu_returns": Measured(
            float(relu.max() - relu.iloc[-1]),
            note=f"largest {relu.max():.4f} at θ_d = {peak:.2g}, {relu.iloc[-1]:.4f} at {rs.theta_d.max():g}",
        ),
        "polsky_broken": Measured(
            float(np.interp(0.5, broken_polsky.theta_d, broken_polsky.silent_fraction)),
            note="one step of replica symmetry breaking, θ_d = 1/2, interpolated between computed points",
        ),
    }


def sparsity_shape() -> dict[str, pd.DataFrame]:
    """Silent fraction at capacity against x_min, gamma and theta_s."""
    return {
        "fig10_x_min": _shape_curves("x_min", np.linspace(0.0, 1.0, 51)),
        "fig10_gamma": _shape_curves("gamma", np.linspace(2.0, 40.0, 77)),
        "fig10_theta_s": _curves(ALL, theta_s=np.linspace(0.02, 0.98, 49)),
    }


def measure_sparsity_shape(tables: Tables) -> dict[str, Measured]:
    """Limits that the three panels must have."""
    by_x_min, by_theta_s = tables["fig10_x_min"], tables["fig10_theta_s"]
    polsky, saturating = (_of(by_x_min, name).silent_fraction for name in ("polsky", "saturating_relu"))
    everywhere = np.array([_of(by_theta_s, g.name).silent_fraction.min() for g in DENDRITIC])
    return {
        "meets_saturating": Measured(float(polsky.iloc[-1] / saturating.iloc[-1])),
        "more_than_one_layer": Measured(float(everywhere.min())),
    }


# fig9 ---------------------------------------------------------------------------------------------------------------


def asymptotes() -> dict[str, pd.DataFrame]:
    """Capacity at large dendritic thresholds, replica symmetric and broken, with the exact asymptotes."""
    import pandas as pd

    curves = _curves(DENDRITIC, theta_d=FAR)
    limits = {g.name: large_threshold_slope(g) for g in DENDRITIC if _saturates(g)}
    curves["asymptote"] = [
        limits[name] * theta_d if name in limits else relu_large_threshold_capacity(theta_d)
        for name, theta_d in zip(curves.nonlinearity, curves.theta_d, strict=True)
    ]
    slopes = pd.DataFrame([_slopes(g, curves) for g in DENDRITIC])
    printed = {claim.measure: claim.printed for claim in paper_claims() if claim.figure == "fig9"}
    slopes["printed"] = slopes.nonlinearity.map(
        {"relu": printed["relu_coefficient"], "saturating_relu": printed["saturating_slope"]}
    )
    return {
        "fig9": curves,
        "fig9_slopes": slopes,
        "fig9_rsb": _curves(DENDRITIC, theta_d=np.geomspace(1.0, 30.0, 8), rsb=[1]),
    }


def measure_asymptotes(tables: Tables) -> dict[str, Measured]:
    """Growth laws: fitted, exact, with the sign that is printed, and with broken replica symmetry."""
    curves, broken = tables["fig9"], tables["fig9_rsb"]
    slopes = tables["fig9_slopes"].set_index("nonlinearity")
    relu = _of(curves, "relu")
    local = np.gradient(relu.alpha_c, np.log(relu.theta_d))
    saturating = _of(broken, "saturating_relu")
    growth = np.polyfit(np.log(saturating.theta_d), np.log(saturating.alpha_c), 1)[0]
    return {
        "saturating_slope": Measured(
            float(slopes.exact["saturating_relu"]),
            note=f"a fit to the curve gives {slopes.fitted['saturating_relu']:.6g}",
        ),
        "printed_equation": Measured(
            float(slopes.printed_sign["saturating_relu"]),
            note="the slope that the reduced equation gives with H(-B) in its numerator, as printed",
        ),
        "relu_coefficient": Measured(
            float(slopes.exact["relu"]),
            note=f"tends to 1; it is {local[np.searchsorted(relu.theta_d, 30.0)]:.3f} at θ_d = 30 and {local[-1]:.3f} "
            f"at {relu.theta_d.max():.0e}; a fit between {RELU_FIT[0]:g} and {RELU_FIT[1]:g} gives "
            f"{slopes.fitted['relu']:.4f}",
        ),
        "relu_is_logarithmic": Measured(float(local[-1] / local[np.searchsorted(relu.theta_d, 1e3)])),
        "saturating_broken": Measured(
            float(growth),
            note=f"θ_d from {saturating.theta_d.min():g} to {saturating.theta_d.max():g}; replica symmetry gives 1",
        ),
    }


def _slopes(g: Nonlinearity, curves: pd.DataFrame) -> dict[str, Any]:
    own = _of(curves, g.name)
    if not _saturates(g):
        fitted = own[(own.theta_d >= RELU_FIT[0]) & (own.theta_d <= RELU_FIT[1])]
        slope = float(np.polyfit(np.log(fitted.theta_d), fitted.alpha_c, 1)[0])
        # The limit, approached like 1 / ln theta_d: the derivative of the asymptotic law where corrections are tiny.
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
    """Capacity per theta_d that the reduced equation gives at its own B, were its numerator 2 Gamma_1 H(-B).

    The equations for W_bar and Q eliminate alpha_c Gamma_0 / Gamma_1, which leaves the same Q(B); only the load that
    the equation itself gives is scaled by H(-B) / H(B).
    """
    found = critical_capacity(NeuronSpec(g, theta_d, 0.5))
    return found.alpha_c / theta_d * found.silent_fraction / (1.0 - found.silent_fraction)


# the lines of fig3 --------------------------------------------------------------------------------------------------


def algorithmic_theory() -> pd.DataFrame:
    """Capacities over the thresholds of the simulations: replica symmetric, broken, and where the first is unstable."""
    import pandas as pd

    thresholds = np.geomspace(0.01, 1.0, 21)
    symmetric = _curves([Polsky()], theta_d=thresholds).alpha_c
    broken = _curves([Polsky()], theta_d=thresholds, rsb=[1]).alpha_c
    unstable = [stability_limit(NeuronSpec(Polsky(), float(theta_d), 0.5), TaskSpec()).alpha for theta_d in thresholds]
    return pd.DataFrame({"theta_d": thresholds, "alpha_rs": symmetric, "alpha_1rsb": broken, "alpha_at": unstable})


# shared -------------------------------------------------------------------------------------------------------------


def _curves(gs: Sequence[Nonlinearity], **along: Any) -> pd.DataFrame:
    """Solutions at capacity of several non-linearities along one parameter."""
    import pandas as pd

    rows = []
    for g in gs:
        for point in capacity_points(NeuronSpec(g, 0.5, 0.5), **along):
            if point.reason:
                raise ConvergenceError(f"{g!r} at {point.case}: {point.reason}")
            found = {name: float(getattr(point.solution, name)) for name in KEPT}
            rows.append({"nonlinearity": g.name, **point.case, **found})
    return pd.DataFrame(rows)


def _shape_curves(parameter: str, values: Floats) -> pd.DataFrame:
    """The standard neuron along a parameter of its g, and those without that parameter as constants beside it."""
    import pandas as pd

    tables = [_curves([Polsky()], **{parameter: values})]
    for g in (SaturatingReLU(), Linear()):
        constant = _curves([g], theta_d=[0.5]).drop(columns="theta_d")
        tables.append(constant.merge(pd.DataFrame({parameter: values}), how="cross"))
    return pd.concat(tables, ignore_index=True)


def _saturates(g: Nonlinearity) -> bool:
    return math.isfinite(g.range[1])


def _linear_share(g: Nonlinearity, mean: float, sd: float) -> float:
    """Share of the variance of g(x) that a straight line explains, for normal x."""
    z = np.linspace(-8.0, 8.0, 8001)
    weight = np.exp(-0.5 * z**2)
    weight /= weight.sum()
    values = g(mean + sd * z)
    centred = values - weight @ values
    return float((weight @ (centred * z)) ** 2 / (weight @ centred**2))


def _of(table: pd.DataFrame, name: str) -> pd.DataFrame:
    return table[table.nonlinearity == name].reset_index(drop=True)


def _furthest(values: Any, target: float) -> float:
    """The value that is furthest from its target."""
    array = np.asarray(values, dtype=np.float64)
    return float(array[np.argmax(np.abs(array - target))])
