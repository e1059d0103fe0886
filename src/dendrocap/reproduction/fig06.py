"""Fig. 6: the measured synapses of Song et al. (2005) and the fitted distribution."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from dendrocap.answers.grids import capacity_points
from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.figures.style import AXIS_LABELS, ONE_STEP, PALETTE, drawing
from dendrocap.fitting.song2005 import (
    PRINTED,
    READING_ATTENUATED,
    READING_MILLIVOLTS,
    READING_MODEL,
    READING_W_STAR,
    compare_with_paper,
)
from dendrocap.model import NeuronSpec, Polsky, ReLU, Tabulated
from dendrocap.reproduction.claims import Measured
from dendrocap.reproduction.runs import DATA, PaperFigure, Records, RunSize, Tables, register
from dendrocap.theory import CapacityWeights, critical_capacity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLES = READINGS, HISTOGRAM, DENSITY, RIVALS, THETA_S, BROKEN, FIT = (
    "fig6_readings",
    "fig6_histogram",
    "fig6_density",
    "fig6_rivals",
    "fig6_theta_s",
    "fig6_theta_s_broken",
    "fig6_fit",
)


def tables(size: RunSize, records: Records) -> Tables:
    """The fit to the amplitudes of Song et al. in all readings, with the histogram and the densities of the figure."""
    import pandas as pd
    from scipy.special import ndtri

    comparison = compare_with_paper(n_bootstrap=size.bootstrap)
    fit = comparison.paper_way
    edges, heights = fit.histogram
    w = np.linspace(1e-6, float(np.quantile(fit.amplitudes_mv, 0.99)) * 1.1, 400)
    low, high = fit.density_band(w)
    printed = CapacityWeights(float(ndtri(PRINTED.p0)), float(PRINTED.units.weight_mv(PRINTED.W_star)))
    density = {
        "epsp_mv": w,
        "raw_data": fit.weights_mv.pdf(w),
        "raw_data_low": low,
        "raw_data_high": high,
        "printed": printed.pdf(w),
        "likelihood": comparison.likelihood.weights_mv.pdf(w),
    }
    # In the paper W_star determines theta_d; only theta_s is then free to reach its p0.
    own_theta_d = PRINTED.task.f_in * PRINTED.W_star * CapacityWeights(float(ndtri(PRINTED.p0)), 1.0).mean()
    scan = [
        {
            "theta_d": own_theta_d,
            "theta_d_mv": float(PRINTED.units.theta_d_mv(own_theta_d)),
            "theta_s": point.case["theta_s"],
            "silent_fraction": point.solution.silent_fraction,
        }
        for point in capacity_points(
            NeuronSpec(PRINTED.nonlinearity, own_theta_d, 0.5), PRINTED.task, theta_s=np.linspace(0.002, 0.998, 250)
        )
        if not point.reason
    ]
    return {
        READINGS: pd.DataFrame([asdict(reading) for reading in comparison.readings]),
        HISTOGRAM: pd.DataFrame({"left_mv": edges[:-1], "right_mv": edges[1:], "density": heights}),
        DENSITY: pd.DataFrame(density),
        RIVALS: pd.DataFrame(
            [
                {"fit": label, "name": rival.name, "aic": rival.aic, "delta_aic": rival.delta_aic}
                for label, fitted in comparison.fits.items()
                for rival in fitted.comparison
            ]
        ),
        THETA_S: pd.DataFrame(scan),
        BROKEN: pd.DataFrame(_with_broken_symmetry(own_theta_d)),
        FIT: pd.DataFrame(
            [
                {
                    "amplitudes": fit.amplitudes_mv.size,
                    "p0": fit.silent_fraction.value,
                    "not_seen": 1.0 - fit.observed_fraction,
                    "W_star": fit.W_star,
                    "W_star_mv": fit.W_star_mv.value,
                    "W_star_mv_low": fit.W_star_mv.low,
                    "W_star_mv_high": fit.W_star_mv.high,
                    "theta_d_mv": fit.theta_d_mv.value,
                    "theta_s_mv": fit.theta_s_mv.value,
                    "printed_W_star": PRINTED.W_star,
                    "printed_p0": PRINTED.p0,
                }
            ]
        ),
    }


def _with_broken_symmetry(theta_d: float) -> list[dict[str, float]]:
    """Silent fractions with one step of symmetry breaking, for branches of the paper's length."""
    branch_size = PRINTED.units.n_inputs / PRINTED.units.n_branches
    rows = []
    for theta_s in np.linspace(0.02, 0.98, 33):
        spec = NeuronSpec(PRINTED.nonlinearity, theta_d, float(theta_s))
        try:
            found = critical_capacity(spec, PRINTED.task, rsb=1, branch_size=branch_size)
        except (ConvergenceError, NoSolution):
            continue
        rows.append({"theta_s": float(theta_s), "silent_fraction": found.silent_fraction, "alpha_c": found.alpha_c})
    return rows


def draw(tables: Tables) -> Figure:
    """Measured amplitudes, the printed fit in model units, and the same fit to the raw data."""
    bins, density, fit = tables[HISTOGRAM], tables[DENSITY], tables[FIT].iloc[0]
    with drawing(2, 3.3) as figure:
        left, right = figure.subplots(1, 2, width_ratios=(5, 4))
        edges = [*bins.left_mv, bins.right_mv.iloc[-1]]
        left.stairs(bins.density, edges, fill=True, color="0.8", label=f"{fit.amplitudes:.0f} EPSPs, area $1 - p_0$")
        left.fill_between(
            density.epsp_mv, density.raw_data_low, density.raw_data_high, color=PALETTE[Polsky.name], alpha=0.25, lw=0
        )
        left.plot(
            density.epsp_mv,
            density.raw_data,
            color=PALETTE[Polsky.name],
            label=rf"fitted here, $W_\star = {fit.W_star:.2f}$ = {fit.W_star_mv:.2f} mV",
        )
        left.plot(
            density.epsp_mv,
            density.printed,
            color=PALETTE[ReLU.name],
            ls="--",
            label=rf"printed, $W_\star = {fit.printed_W_star:g}$ in the model's units",
        )
        left.plot(
            density.epsp_mv, density.likelihood, color=PALETTE[Tabulated.name], ls=":", label="fitted here, likelihood"
        )
        left.set_xlim(0.0, float(density.epsp_mv.max()))
        left.set_ylim(bottom=0.0)
        left.set(xlabel=AXIS_LABELS["epsp_mv"], ylabel=AXIS_LABELS["density_mv"])
        left.legend()
        scan = tables[THETA_S]
        colour, broken = PALETTE[Polsky.name], tables[BROKEN]
        label = f"replica symmetric, at most {scan.silent_fraction.max():.3f}"
        right.plot(scan.theta_s, scan.silent_fraction, color=colour, label=label)
        right.plot(
            broken.theta_s, broken.silent_fraction, color=colour, ls=ONE_STEP["ls"], label="one step of breaking"
        )
        right.axhline(fit.printed_p0, color="0.4", ls=":", lw=1.0, label=f"printed {fit.printed_p0:g}")
        readings = tables[READINGS].set_index("label")
        for label, mark in ((READING_MODEL, "s"), (READING_MILLIVOLTS, "^"), (READING_ATTENUATED, "o")):
            one = readings.loc[label]
            words = label.removeprefix("printed, ").replace("sqrt(K)", r"$\sqrt{K}$").replace("theta_s", r"$\theta_s$")
            right.plot([one.theta_s], [one.silent_fraction], mark, color="0.2", ms=4.0, label=words)
        right.set(xlabel=AXIS_LABELS["theta_s"], ylabel=AXIS_LABELS["silent_fraction"], ylim=(0.0, 1.0))
        right.legend(loc="center", bbox_to_anchor=(0.5, 0.52))
        figure.suptitle(
            rf"Song et al. (2005): {fit.amplitudes:.0f} EPSPs, {100 * fit.not_seen:.0f} % of pairs not connected; "
            rf"fit at $p_0 = {fit.p0:g}$, printed $\theta_d$ = {scan.theta_d_mv.iloc[0]:.2f} mV",
            fontsize=8.5,
        )
    return figure


def measure(tables: Tables) -> dict[str, Measured]:
    """The silent fractions that follow from the printed parameters, and the fit repeated on the raw amplitudes."""
    readings = tables[READINGS].set_index("label")
    fit, rivals = tables[FIT].iloc[0], tables[RIVALS]
    behind = rivals[rivals.name == "capacity"].set_index("fit").delta_aic
    best_rival = rivals.name[rivals.delta_aic.idxmin()]
    scan = tables[THETA_S].silent_fraction
    reach = (float(scan.min()), float(scan.max()))
    model, literal = readings.loc[READING_MODEL], readings.loc[READING_MILLIVOLTS]
    attenuated = readings.loc[READING_ATTENUATED]
    as_millivolts = readings.loc[READING_W_STAR]
    return {
        "W_star": Measured(
            float(fit.W_star),
            note=f"{fit.W_star_mv:.3g} mV, 95 % interval {fit.W_star_mv_low:.3g} to {fit.W_star_mv_high:.3g}, from "
            f"{fit.amplitudes:.0f} amplitudes in bins of 0.1 mV",
        ),
        "W_star_is_millivolts": Measured(
            float(as_millivolts.theta_d_mv), note="θ_d in mV that the printed relation gives if 5.56 is in millivolts"
        ),
        "theta_d_mv": Measured(
            float(tables[THETA_S].theta_d_mv.iloc[0]),
            note="from the printed relation, with W⋆ = 5.56 in the model's units",
        ),
        "p0_as_model_units": Measured(float(model.silent_fraction), note=f"θ_s = {model.theta_s:g}: K θ_s = 63"),
        "p0_as_millivolts": Measured(
            float(literal.silent_fraction),
            note=f"θ_s = {literal.theta_s:g}: 15 K θ_s = 63 mV, as converted in the paper",
        ),
        "p0_attenuated": Measured(
            float(attenuated.silent_fraction),
            note=f"θ_s = {attenuated.theta_s:g}: 15 √K θ_s = 63 mV at the soma, where W⋆ and θ_d are given too",
        ),
        "p0_at_own_theta_d": Measured(
            reach[1], reachable=reach, note="largest over all θ_s, at the θ_d that belongs to the printed W⋆ and p₀"
        ),
        "agreement": Measured(
            float(behind.min()),
            note=f"the best of the rivals is {best_rival}; "
            + ", ".join(f"{units:.0f} ({label})" for label, units in behind.items()),
        ),
        "connection_probability": Measured(float(1.0 - fit.not_seen)),
    }


register(
    PaperFigure(
        "fig6",
        "synapses",
        "Measured synapses of Song et al. (2005) and the fitted distribution",
        DATA,
        tables=tables,
        draw=draw,
        measure=measure,
        settings=lambda size: f"931 amplitudes, {size.bootstrap} bootstrap samples",
        minutes={"quick": 0.1, "paper": 0.2},
    )
)
