"""Fig. 4: learning speed at half load."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dendrocap.figures.style import AXIS_LABELS, drawing
from dendrocap.reproduction import shared as sim
from dendrocap.reproduction.claims import Measured
from dendrocap.reproduction.runs import PATTERNS, PaperFigure, Records, RunSize, Tables, register
from dendrocap.sweeps import Sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TABLES = CURVES, EPOCHS = ("fig4_curves", "fig4_epochs")
# The paper's learning rate, common to all neurons.
SHARED_RATE = 0.01


def sweeps(size: RunSize) -> list[Sweep]:
    """Epochs to zero error at half load, for several learning rates."""
    how = {"alpha": sim.HALF_LOAD, "max_epochs": size.speed_epochs, "gamma_ce": sim.STEEP_LOSS}
    rates, seeds = {"learning_rate": size.speed_rates}, range(size.seeds)
    return [
        Sweep("learning_speed", rates, {**sim.linear(size), **how}, seeds),
        Sweep("learning_speed", {"theta_d": sim.SMALL_THRESHOLDS, **rates}, {**sim.dendritic(size), **how}, seeds),
    ]


def tables(size: RunSize, records: Records) -> Tables:
    """Errors against epochs at the common learning rate, and epochs to zero error at every rate."""
    import pandas as pd

    runs = sim.runs(records, ("learning_rate",), ("solved", "epochs", "sampled_epochs", "sampled_error"))
    neuron = ["rule", "theta_d", "learning_rate"]
    curves = [
        {**{name: getattr(run, name) for name in neuron}, "seed": run.seed, "epoch": epoch, "error": error}
        for run in runs[runs.learning_rate == SHARED_RATE].itertuples()
        for epoch, error in zip(run.sampled_epochs, run.sampled_error, strict=True)
    ]
    runs["log_epochs"] = np.where(runs.solved, np.log(runs.epochs), np.nan)
    epochs = runs.groupby(neuron, sort=False).agg(
        median_epochs=("epochs", "median"),
        log_epochs=("log_epochs", "mean"),
        spread=("log_epochs", "std"),
        solved=("solved", "sum"),
        seeds=("solved", "size"),
    )
    epochs = epochs.reset_index()
    unfinished = 2 * epochs.solved <= epochs.seeds  # the median run did not reach zero error
    epochs.loc[unfinished, "median_epochs"] = math.inf
    epochs["standard_error"] = epochs.spread / np.sqrt(epochs.solved)  # only runs that reached it have a length
    return {
        CURVES: sim.averaged(pd.DataFrame(curves), [*neuron, "epoch"], "error"),
        EPOCHS: epochs.drop(columns="spread"),
    }


def draw(tables: Tables) -> Figure:
    """Error against epochs at the common learning rate; epochs to zero error against the rate."""
    curves, epochs = (tables[name] for name in TABLES)
    with drawing(2, 2.8) as figure:
        left, right = figure.subplots(1, 2)
        for line in sim.lines(epochs):
            own, times = line.of(curves), line.of(epochs)
            error, band = 100 * own.error, 100 * own.standard_error.fillna(0.0)
            left.plot(own.epoch, error, **line.look)
            left.fill_between(own.epoch, error - band, error + band, color=line.color, alpha=0.15, lw=0)
            times = times[np.isfinite(times.median_epochs)]
            right.plot(times.learning_rate, times.median_epochs, marker=line.marker, ms=3, **line.look)
        left.set(xscale="log", xlabel="epoch", ylabel=AXIS_LABELS["error_percent"])
        left.set_title(f"learning rate {curves.learning_rate.iloc[0]:g} for all", fontsize=8)
        left.legend()
        right.set(xscale="log", yscale="log", xlabel=r"learning rate $\zeta$", ylabel="epochs to zero error (median)")
        right.set_title("each neuron at every rate", fontsize=8)
    return figure


def measure(tables: Tables) -> dict[str, Measured]:
    """Ratio of epochs of the linear and the dendritic neuron, at the common rate and at the best rate of each."""
    epochs = tables[EPOCHS]
    solved = epochs[(epochs.solved == epochs.seeds) & ((epochs.rule == sim.LINEAR) | (epochs.theta_d <= sim.TRAINABLE))]
    best = solved.loc[solved.groupby(["rule", "theta_d"]).median_epochs.idxmin()]
    return {
        "shared_rate": _speed_up(solved[solved.learning_rate == SHARED_RATE]),
        "own_rates": _speed_up(best),
    }


def _speed_up(epochs: pd.DataFrame) -> Measured:
    """Factor by which the slowest trainable dendritic neuron is faster in epochs; a geometric mean over seeds."""
    linear, dendritic = epochs[epochs.rule == sim.LINEAR], epochs[epochs.rule == sim.PLAIN]
    if linear.empty or dendritic.empty:
        return Measured(math.nan, note=sim.UNLEARNED)
    one, slowest = linear.iloc[0], dendritic.loc[dendritic.log_epochs.idxmax()]
    ratio = math.exp(one.log_epochs - slowest.log_epochs)
    error = ratio * float(np.hypot(one.standard_error, slowest.standard_error))
    listed = ", ".join(
        f"{row.median_epochs:.0f} (θ_d = {row.theta_d:g}, rate {row.learning_rate:g})" for row in dendritic.itertuples()
    )
    note = f"median epochs: {sim.LINEAR} {one.median_epochs:.0f} (rate {one.learning_rate:g}), dendritic {listed}"
    return Measured(ratio, error, note=note)


register(
    PaperFigure(
        "fig4",
        "speed",
        "Learning speed at half load",
        PATTERNS,
        sweeps=sweeps,
        tables=tables,
        draw=draw,
        measure=measure,
        settings=lambda size: f"{size.words}, load {sim.HALF_LOAD:g}, at most {size.speed_epochs} epochs",
        minutes={"quick": 0.1, "paper": 0.5},
    )
)
