"""Weights at algorithmic capacity, as described in the paper's text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dendrocap.figures.style import AXIS_LABELS, drawing
from dendrocap.numerics import standard_error
from dendrocap.reproduction import shared as sim
from dendrocap.reproduction.claims import Measured
from dendrocap.reproduction.runs import PATTERNS, PaperFigure, Records, RunSize, Tables, register
from dendrocap.sweeps import Sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TABLES = WEIGHTS, QUANTILES = ("weights", "weights_quantiles")
MOST_SEEDS = 3


def sweeps(size: RunSize) -> list[Sweep]:
    """Weights at rest over a range of loads that exceeds every algorithmic capacity."""
    how = {"patience": size.patience // 2, "max_epochs": size.weight_epochs, "gamma_ce": sim.STEEP_LOSS}
    below, loads = ({"alpha": [load for load in size.loads if 0.6 <= load <= most]} for most in (1.2, 1.6))
    branched, seeds = {**sim.dendritic(size), **how}, range(min(MOST_SEEDS, size.seeds))
    return [
        Sweep("learned_weights", below, {**sim.linear(size), **how, "learning_rate": sim.LINEAR_RATE}, seeds),
        *(
            Sweep("learned_weights", {"theta_d": [at], **below}, {**branched, "learning_rate": sim.rate(at)}, seeds)
            for at in size.thresholds
        ),
        *(
            Sweep("learned_weights", {"theta_d": [theta_d], **loads}, {**branched, **sim.surrogate(theta_d)}, seeds)
            for theta_d in size.surrogate_thresholds[-1:]
        ),
    ]


def tables(size: RunSize, records: Records) -> Tables:
    """Weights at rest at the largest load that each seed solved, and their distribution."""
    import pandas as pd

    kept = ("last_errors", "n_patterns", "near_zeros", "exact_zeros", "mean_weight", "distance", "weight_quantiles")
    runs = sim.runs(records, ("alpha",), kept)
    quantiles = [
        (run.rule, run.theta_d, run.seed, p, weight)
        for run in _largest_solved(runs).itertuples()
        for p, weight in zip(np.linspace(0.0, 1.0, len(run.weight_quantiles)), run.weight_quantiles, strict=True)
    ]
    return {
        WEIGHTS: runs.drop(columns="weight_quantiles"),
        QUANTILES: pd.DataFrame(quantiles, columns=["rule", "theta_d", "seed", "probability", "weight"]),
    }


def _largest_solved(runs: pd.DataFrame) -> pd.DataFrame:
    """The run of every seed at the largest load that it solved."""
    solved = runs[runs.last_errors == 0]
    return solved.loc[solved.groupby(["rule", "theta_d", "seed"], sort=False).alpha.idxmax()]


def draw(tables: Tables) -> Figure:
    """Silent fractions against the load, and weights at the largest load solved, at three thresholds of each rule."""
    runs, quantiles = (tables[name] for name in TABLES)
    with drawing(2, 2.9) as figure:
        left, right = figure.subplots(1, 2)
        for line in sim.thinned(sim.lines(runs)):
            own, learned = line.of(runs), line.of(quantiles)
            means = own.groupby("alpha").near_zeros.mean()
            left.plot(means.index, means, ls=line.dashes, lw=1.0, **line.look)
            solved = own[own.last_errors == 0]
            left.plot(solved.alpha, solved.near_zeros, line.marker, color=line.color, ms=3)
            if len(learned):
                first = learned[learned.seed == learned.seed.min()]
                mean = float(np.trapezoid(first.weight, first.probability))
                right.plot(first.weight / mean, first.probability, color=line.color, ls=line.dashes, lw=1.2)
        left.axhline(0.5, color="k", ls=":", lw=0.9)
        left.set(xlabel=AXIS_LABELS["alpha"], ylabel="fraction of weights < 0.001 mean", ylim=(0.0, 1.0))
        figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=5)
        left.set_title("dots: all patterns learned", fontsize=8)
        right.set(xlim=(-0.1, 5.0), xlabel="weight / mean weight", ylabel="fraction of weights below")
        right.set_title("at the largest load solved", fontsize=8)
    return figure


def measure(tables: Tables) -> dict[str, Measured]:
    """Silent fractions of the solutions at the largest load solved."""
    runs = tables[WEIGHTS]
    solved = _largest_solved(runs)
    linear, plain = solved[solved.rule == sim.LINEAR], solved[solved.rule == sim.PLAIN]
    top = runs[runs.rule == sim.PLAIN].theta_d.max()
    missing = f"no run with the {sim.PLAIN} solved any load at θ_d = {top:g}"
    surrogate = solved[(solved.rule == sim.SURROGATE) & (solved.theta_d == top)]
    if len(surrogate):
        missing += f"; with a {sim.SURROGATE} {surrogate.near_zeros.mean():.3f} of the weights are silent"
    largest = plain.loc[plain.near_zeros.idxmax()] if len(plain) else None
    return {
        "silent_linear": _mean(linear.near_zeros, "learning rate annealed to its floor"),
        "silent_large_threshold": _mean(plain[plain.theta_d == top].near_zeros, missing),
        "silent_largest": Measured(math.nan, note=missing)
        if largest is None
        else Measured(largest.near_zeros, note=f"a single run, θ_d = {largest.theta_d:g}, load {largest.alpha:g}"),
        "distance": _mean(plain.distance, "over the weights that are not silent"),
    }


def _mean(values: pd.Series[float], note: str) -> Measured:
    if not len(values):
        return Measured(math.nan, note=note)
    return Measured(float(values.mean()), standard_error(values.to_numpy()), note=note)


register(
    PaperFigure(
        "weights",
        "learned-weights",
        "Weights at algorithmic capacity",
        PATTERNS,
        sweeps=sweeps,
        tables=tables,
        draw=draw,
        measure=measure,
        settings=lambda size: (
            f"N = {size.n_inputs}, K = {size.n_branches}, {min(MOST_SEEDS, size.seeds)} seeds, "
            f"at most {size.weight_epochs} epochs, trained until the learning rate is at its floor"
        ),
        minutes={"quick": 0.3, "paper": 10},
    )
)
