"""The figures with real data: measured synapses, and images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from dendrocap.experiments import Sweep
from dendrocap.experiments.song2005_fit import PRINTED, READING_MILLIVOLTS, READING_MODEL, compare_with_paper
from dendrocap.model import NeuronSpec
from dendrocap.reproduction.claims import Measured
from dendrocap.reproduction.learning_figures import Results
from dendrocap.reproduction.tables import Tables
from dendrocap.theory import CapacityWeights
from dendrocap.theory.curves import capacity_points

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["images", "measure_images", "measure_synapses", "synapses"]


# fig6 ---------------------------------------------------------------------------------------------------------------


def synapses(bootstrap: int) -> dict[str, pd.DataFrame]:
    """The fit to the amplitudes of Song et al. in all readings, with the histogram and the densities of the figure."""
    import pandas as pd
    from scipy.special import ndtri

    comparison = compare_with_paper(n_bootstrap=bootstrap)
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
    # The print fixes theta_d through W_star; only theta_s is then free to reach its p0.
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
        "fig6_readings": pd.DataFrame([asdict(reading) for reading in comparison.readings]),
        "fig6_histogram": pd.DataFrame({"left_mv": edges[:-1], "right_mv": edges[1:], "density": heights}),
        "fig6_density": pd.DataFrame(density),
        "fig6_rivals": pd.DataFrame([{"name": c.name, "aic": c.aic, "delta_aic": c.delta_aic} for c in fit.comparison]),
        "fig6_theta_s": pd.DataFrame(scan),
        "fig6_fit": pd.DataFrame(
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


def measure_synapses(tables: Tables) -> dict[str, Measured]:
    """The printed parameters put through the equations, and the fit repeated on the raw amplitudes."""
    readings = tables["fig6_readings"].set_index("label")
    fit, rivals = tables["fig6_fit"].iloc[0], tables["fig6_rivals"].set_index("name")
    scan = tables["fig6_theta_s"].silent_fraction
    reach = (float(scan.min()), float(scan.max()))
    model, literal = readings.loc[READING_MODEL], readings.loc[READING_MILLIVOLTS]
    as_millivolts = readings.loc["printed, W_star = 5.56 mV"]
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
            float(tables["fig6_theta_s"].theta_d_mv.iloc[0]),
            note="from the printed relation, with W⋆ = 5.56 in the model's units",
        ),
        "p0_as_model_units": Measured(float(model.silent_fraction), note=f"θ_s = {model.theta_s:g}: K θ_s = 63"),
        "p0_as_millivolts": Measured(
            float(literal.silent_fraction), note=f"θ_s = {literal.theta_s:g}: 15 K θ_s = 63 mV, as converted in print"
        ),
        "p0_at_own_theta_d": Measured(
            reach[1], reachable=reach, note="largest over all θ_s, at the θ_d that belongs to the printed W⋆ and p₀"
        ),
        "agreement": Measured(
            float(rivals.delta_aic["capacity"]), note=f"the best of the rivals is {rivals.delta_aic.idxmin()}"
        ),
        "connection_probability": Measured(float(1.0 - fit.not_seen)),
    }


# fig8 ---------------------------------------------------------------------------------------------------------------


def images(sweeps: Sequence[Sweep], results: Results) -> dict[str, pd.DataFrame]:
    """Training and test errors along the epochs, averaged over seeds."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for sweep in sweeps:
        for record in results(sweep):
            found = record.metrics
            for neuron in ("dendritic", "linear"):
                rows += [
                    {
                        "dataset": record.parameters["dataset"],
                        "n_branches": record.parameters["n_branches"],
                        "neuron": neuron,
                        "seed": record.seed,
                        "epoch": epoch,
                        "train_error": train,
                        "test_error": test,
                    }
                    for epoch, train, test in zip(
                        found["epochs"], found[f"{neuron}_train_error"], found[f"{neuron}_test_error"], strict=True
                    )
                ]
    runs = pd.DataFrame(rows)
    by = ["dataset", "n_branches", "neuron", "epoch"]
    found = runs.groupby(by, sort=False)[["train_error", "test_error"]].agg(["mean", "std", "count"])
    table = found.index.to_frame(index=False)
    for error in ("train_error", "test_error"):
        table[error] = found[error, "mean"].to_numpy()
        table[f"{error}_se"] = (found[error, "std"] / np.sqrt(found[error, "count"])).to_numpy()
    table["seeds"] = found["test_error", "count"].to_numpy()
    return {"fig8": table}


def measure_images(tables: Tables) -> dict[str, Measured]:
    """Test error of the linear neuron minus that of the dendritic one at the end, and how hard odd against even is."""
    table = tables["fig8"]
    last = table[table.epoch == table.groupby("dataset").epoch.transform("max")]
    measured = {}
    for dataset in ("mnist", "fashion-mnist", "cifar10"):
        own = last[last.dataset == dataset]
        gains = []
        for branches, pair in own.groupby("n_branches"):
            both = pair.set_index("neuron")
            gain = float(both.test_error["linear"] - both.test_error["dendritic"])
            error = float(np.hypot(both.test_error_se["linear"], both.test_error_se["dendritic"]))
            percent = 100.0 * both.test_error
            words = f"K = {branches}: {percent['dendritic']:.2f} against {percent['linear']:.2f} %"
            gains.append((gain, error, words))
        gain, error, _ = min(gains)
        measured[dataset] = Measured(gain, error, note="; ".join(words for *_, words in gains))
    hard = last[(last.dataset == "cifar10-odd-even") & (last.neuron == "dendritic")]
    measured["odd_even"] = Measured(float(hard.test_error.iloc[0]), float(hard.test_error_se.iloc[0]))
    return measured
