"""The figures of learning: what runs add up to, and the measurements that test the paper's claims on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dendrocap.experiments import Record, Sweep
from dendrocap.reproduction.claims import Measured
from dendrocap.reproduction.simulations import LINEAR, PLAIN, SHARED_SPEED_RATE, SURROGATE, rule_of
from dendrocap.reproduction.tables import Tables
from dendrocap.reproduction.theory_figures import algorithmic_theory

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "algorithmic_capacity",
    "learned_weights",
    "learning_speed",
    "measure_algorithmic_capacity",
    "measure_learned_weights",
    "measure_learning_speed",
    "measure_robustness",
    "robustness",
]

# The finished cells of a sweep, as stored.
Results = Callable[[Sweep], Sequence[Record]]
# At larger thresholds plain gradient descent leaves patterns unlearned; the paper's comparisons presuppose solutions.
TRAINABLE = 0.1


# fig3 ---------------------------------------------------------------------------------------------------------------


def algorithmic_capacity(sweeps: Sequence[Sweep], results: Results) -> dict[str, pd.DataFrame]:
    """Training error against the load, the largest load solved, and the lines of the theory."""
    import pandas as pd

    runs = pd.DataFrame(_rows(sweeps, results, ("alpha",), ("error", "solved")))
    lines = ["rule", "theta_d"]
    by_load = runs.groupby([*lines, "alpha"], sort=False)
    error = by_load.error.agg(["mean", "std", "count"]).reset_index()
    error["standard_error"] = error["std"] / np.sqrt(error["count"])
    error["solved"] = by_load.solved.sum().to_numpy(dtype=int)
    error = error.rename(columns={"mean": "error", "count": "seeds"}).drop(columns="std")
    largest = [
        {**dict(zip(lines, line, strict=True)), "seed": seed, "largest_solved": _largest_solved(own)}
        for (*line, seed), own in runs.groupby([*lines, "seed"], sort=False)
    ]
    return {
        "fig3_error": error,
        "fig3_capacity": _averaged(pd.DataFrame(largest), lines, "largest_solved"),
        "fig3_theory": algorithmic_theory(),
    }


def measure_algorithmic_capacity(tables: Tables) -> dict[str, Measured]:
    """How far gradient descent gets, against one layer and against the theory."""
    reached, theory = tables["fig3_capacity"], tables["fig3_theory"]
    linear, plain, surrogate = (reached[reached.rule == rule] for rule in (LINEAR, PLAIN, SURROGATE))
    best, widest = plain.loc[plain.largest_solved.idxmax()], plain.loc[plain.theta_d.idxmax()]
    gap = np.interp(plain.theta_d, theory.theta_d, theory.alpha_rs) - plain.largest_solved
    half = int((theory.theta_d - 0.5).abs().argmin())
    at_half = f"θ_d = {theory.theta_d[half]:.3g}"
    note = f"true slope, θ_d = {best.theta_d:g}; tolerance zero"
    with_surrogate = ""
    if len(surrogate):
        top = surrogate.loc[surrogate.theta_d.idxmax()]
        with_surrogate = (
            f"; with a surrogate slope {top.largest_solved:.3g} ± {top.standard_error:.1g} at θ_d = {top.theta_d:g}"
        )
    return {
        "exceeds_one_layer": Measured(best.largest_solved, best.standard_error, note=note),
        "linear_reaches": Measured(
            linear.largest_solved.iloc[0], linear.standard_error.iloc[0], note="largest load with zero errors"
        ),
        "large_threshold": Measured(
            widest.largest_solved, widest.standard_error, note=f"true slope, θ_d = {widest.theta_d:g}{with_surrogate}"
        ),
        "gap_widens": Measured(
            float(gap.iloc[-1] - gap.iloc[0]),
            float(np.hypot(plain.standard_error.iloc[0], plain.standard_error.iloc[-1])),
            note=f"distance to the replica-symmetric line {gap.iloc[0]:.2f} at θ_d = {plain.theta_d.iloc[0]:g}, "
            f"{gap.iloc[-1]:.2f} at {plain.theta_d.iloc[-1]:g}",
        ),
        "rs_is_a_bound": Measured(
            float((theory.alpha_rs - theory.alpha_1rsb).min()),
            note="smallest distance to one step of breaking over the thresholds of the figure",
        ),
        "rs_over_broken": Measured(
            float(theory.alpha_rs[half] / theory.alpha_1rsb[half]),
            note=f"{theory.alpha_rs[half]:.3f} against {theory.alpha_1rsb[half]:.3f} with one step of breaking, "
            f"{at_half}; replica symmetry is unstable from load {theory.alpha_at[half]:.3f} on",
        ),
    }


def _largest_solved(runs: pd.DataFrame) -> float:
    """The load up to which a seed solved everything, on the grid of loads."""
    reached = 0.0
    for alpha, solved in sorted(zip(runs.alpha, runs.solved, strict=True)):
        if not solved:
            break
        reached = alpha
    return reached


# fig4 ---------------------------------------------------------------------------------------------------------------


def learning_speed(sweeps: Sequence[Sweep], results: Results) -> dict[str, pd.DataFrame]:
    """Errors along the epochs at the shared learning rate, and epochs to zero error at every rate."""
    import pandas as pd

    runs = _rows(sweeps, results, ("learning_rate",), ("solved", "epochs", "sampled_epochs", "sampled_error"))
    shared = [run for run in runs if run["learning_rate"] == SHARED_SPEED_RATE]
    curves = [
        {**{name: run[name] for name in ("rule", "theta_d", "learning_rate", "seed")}, "epoch": epoch, "error": error}
        for run in shared
        for epoch, error in zip(run["sampled_epochs"], run["sampled_error"], strict=True)
    ]
    lines = ["rule", "theta_d"]
    frame = pd.DataFrame(runs)[[*lines, "learning_rate", "seed", "solved", "epochs"]]
    frame["log_epochs"] = np.where(frame.solved, np.log(frame.epochs), np.nan)
    grouped = frame.groupby([*lines, "learning_rate"], sort=False)
    epochs = grouped.agg(
        median_epochs=("epochs", "median"),
        log_epochs=("log_epochs", "mean"),
        spread=("log_epochs", "std"),
        solved=("solved", "sum"),
        seeds=("solved", "size"),
    ).reset_index()
    unfinished = 2 * epochs.solved <= epochs.seeds  # the median run did not get there
    epochs.loc[unfinished, "median_epochs"] = math.inf
    epochs["standard_error"] = epochs.spread / np.sqrt(epochs.seeds)
    return {
        "fig4_curves": _averaged(pd.DataFrame(curves), [*lines, "learning_rate", "epoch"], "error"),
        "fig4_epochs": epochs.drop(columns="spread"),
    }


def measure_learning_speed(tables: Tables) -> dict[str, Measured]:
    """Epochs of the linear neuron over those of the dendritic one, at the shared rate and with each at its best."""
    epochs = tables["fig4_epochs"]
    solved = epochs[(epochs.solved == epochs.seeds) & ((epochs.rule == LINEAR) | (epochs.theta_d <= TRAINABLE))]
    best = solved.loc[solved.groupby(["rule", "theta_d"]).median_epochs.idxmin()]
    return {
        "shared_rate": _speed_up(solved[solved.learning_rate == SHARED_SPEED_RATE]),
        "own_rates": _speed_up(best),
    }


def _speed_up(epochs: pd.DataFrame) -> Measured:
    """How many times fewer epochs the slowest trainable dendritic neuron takes; a geometric mean over seeds."""
    linear, dendritic = epochs[epochs.rule == LINEAR], epochs[epochs.rule == PLAIN]
    if linear.empty or dendritic.empty:
        return Measured(math.nan, note="no neuron learned all its patterns in the epochs allowed")
    linear_row, slowest = linear.iloc[0], dendritic.loc[dendritic.log_epochs.idxmax()]
    ratio = math.exp(linear_row.log_epochs - slowest.log_epochs)
    error = ratio * float(np.hypot(linear_row.standard_error, slowest.standard_error))
    listed = ", ".join(
        f"{row.median_epochs:.0f} (θ_d = {row.theta_d:g}, rate {row.learning_rate:g})" for row in dendritic.itertuples()
    )
    one_layer = f"{linear_row.median_epochs:.0f} (rate {linear_row.learning_rate:g})"
    return Measured(ratio, error, note=f"median epochs: one layer {one_layer}, dendritic {listed}")


# fig7 ---------------------------------------------------------------------------------------------------------------


def robustness(sweeps: Sequence[Sweep], results: Results) -> dict[str, pd.DataFrame]:
    """Error against the strength of the noise: all neurons trained alike, and each at its own best settings.

    "Best" is chosen for each strength among settings that every seed solved, on the measured error itself, and for all
    neurons from the same list, which flatters all alike.
    """
    import pandas as pd

    rows = []
    for sweep in sweeps:
        kind = "shared" if sweep.parameters["stop_when_solved"] else "own"
        settings = ("learning_rate", "gamma_ce")
        for run in _rows([sweep], results, settings, ("error", "flip_error", "noise_error")):
            same = {key: run[key] for key in ("rule", "theta_d", *settings, "seed")}
            for noise, levels, errors in (
                ("inputs", sweep.parameters["flip_probabilities"], run["flip_error"]),
                ("synapses", sweep.parameters["noise_amplitudes"], run["noise_error"]),
            ):
                rows += [
                    {
                        **same,
                        "settings": kind,
                        "noise": noise,
                        "level": level,
                        "increase": error - run["error"],
                        "baseline": run["error"],
                    }
                    for level, error in zip(levels, errors, strict=True)
                ]
    runs = pd.DataFrame(rows)
    lines = ["settings", "rule", "theta_d", "noise", "level"]
    means = _averaged(runs, [*lines, *settings], "increase")
    means["baseline"] = runs.groupby([*lines, *settings], sort=False).baseline.mean().to_numpy()
    allowed = means[(means.baseline == 0.0) | (means.settings == "shared")]
    best = allowed.loc[allowed.groupby(lines, sort=False).increase.idxmin()]
    return {"fig7": best.reset_index(drop=True)}


def measure_robustness(tables: Tables) -> dict[str, Measured]:
    """Excess error of the linear neuron over the dendritic one, averaged over the strengths of the noise."""
    table = tables["fig7"]
    return {
        f"{settings}_{noise}": _excess(table[(table.settings == settings) & (table.noise == noise)])
        for settings in ("shared", "own")
        for noise in ("inputs", "synapses")
    }


def _excess(table: pd.DataFrame) -> Measured:
    linear = table[table.rule == LINEAR]
    excesses = []
    for theta_d, own in table[(table.rule == PLAIN) & (table.theta_d <= TRAINABLE)].groupby("theta_d"):
        both = own.merge(linear, on="level", suffixes=("", "_linear"))
        difference = both.increase_linear - both.increase
        # Levels share their trained neurons, so that their errors do not average out.
        error = float(np.hypot(both.standard_error, both.standard_error_linear).mean())
        excesses.append((float(difference.mean()), error, theta_d))
    if not excesses:
        return Measured(math.nan, note="no neuron learned all its patterns in the epochs allowed")
    value, error, theta_d = min(excesses)
    listed = ", ".join(f"{mean:+.4f} (θ_d = {at:g})" for mean, _, at in excesses)
    return Measured(value, error, note=f"the least of {listed}")


# weights at algorithmic capacity ------------------------------------------------------------------------------------


def learned_weights(sweeps: Sequence[Sweep], results: Results) -> dict[str, pd.DataFrame]:
    """Weights at rest at the largest load that each seed solved, and what they look like."""
    import pandas as pd

    kept = ("last_errors", "n_patterns", "near_zeros", "exact_zeros", "mean_weight", "distance")
    runs = pd.DataFrame(_rows(sweeps, results, ("alpha",), (*kept, "weight_quantiles")))
    at_capacity = _largest_solved_run(runs)
    quantiles = [
        {"rule": run.rule, "theta_d": run.theta_d, "seed": run.seed, "probability": p, "weight": weight}
        for run in at_capacity.itertuples()
        for p, weight in zip(np.linspace(0.0, 1.0, len(run.weight_quantiles)), run.weight_quantiles, strict=True)
    ]
    columns = ["rule", "theta_d", "seed", "probability", "weight"]
    return {
        "weights": runs.drop(columns="weight_quantiles"),
        "weights_quantiles": pd.DataFrame(quantiles, columns=columns),
    }


def measure_learned_weights(tables: Tables) -> dict[str, Measured]:
    """Silent fractions among the solutions at the largest load solved."""
    runs = tables["weights"]
    solved = _largest_solved_run(runs)
    linear, plain = solved[solved.rule == LINEAR], solved[solved.rule == PLAIN]
    top = runs[runs.rule == PLAIN].theta_d.max()
    at_top = plain[plain.theta_d == top]
    missing = f"no run with the true slope solved any load at θ_d = {top:g}"
    surrogate = solved[(solved.rule == SURROGATE) & (solved.theta_d == top)]
    if len(surrogate):
        missing += f"; with a surrogate slope {surrogate.near_zeros.mean():.3f} of the weights are silent"
    largest = plain.loc[plain.near_zeros.idxmax()] if len(plain) else None
    return {
        "silent_linear": _mean(linear.near_zeros, "learning rate annealed to its floor"),
        "silent_large_threshold": _mean(at_top.near_zeros, missing),
        "silent_largest": Measured(math.nan, note=missing)
        if largest is None
        else Measured(largest.near_zeros, note=f"a single run, θ_d = {largest.theta_d:g}, load {largest.alpha:g}"),
        "distance": _mean(plain.distance, "over the weights that are not silent"),
    }


def _largest_solved_run(runs: pd.DataFrame) -> pd.DataFrame:
    solved = runs[runs.last_errors == 0]
    return solved.loc[solved.groupby(["rule", "theta_d", "seed"], sort=False).alpha.idxmax()]


# shared -------------------------------------------------------------------------------------------------------------


def _rows(
    sweeps: Sequence[Sweep], results: Results, parameters: Iterable[str], metrics: Iterable[str]
) -> list[dict[str, Any]]:
    """The finished runs: which rule and threshold, some of their parameters, some of their metrics."""
    parameters, metrics = tuple(parameters), tuple(metrics)

    def row(record: Record) -> Mapping[str, Any]:
        given, found = record.parameters, record.metrics
        return {
            "rule": rule_of(given),
            "theta_d": given["theta_d"],
            **{name: given[name] for name in parameters},
            "seed": record.seed,
            **{name: found[name] for name in metrics},
        }

    return [dict(row(record)) for sweep in sweeps for record in results(sweep)]


def _averaged(runs: pd.DataFrame, by: list[str], column: str) -> pd.DataFrame:
    """Mean of a column over seeds, with its standard error."""
    found = runs.groupby(by, sort=False)[column].agg(["mean", "std", "count"]).reset_index()
    found["standard_error"] = found["std"] / np.sqrt(found["count"])
    return found.drop(columns="std").rename(columns={"mean": column, "count": "seeds"})


def _mean(values: pd.Series[float], note: str) -> Measured:
    if not len(values):
        return Measured(math.nan, note=note)
    error = float(values.std() / math.sqrt(len(values))) if len(values) > 1 else math.nan
    return Measured(float(values.mean()), error, note=note)
