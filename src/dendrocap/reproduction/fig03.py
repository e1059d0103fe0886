"""Fig. 3: training error and algorithmic capacity of gradient descent."""

from __future__ import annotations

import math
from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

import numpy as np

from dendrocap.figures.style import AXIS_LABELS, ONE_STEP, PALETTE, PAPER_LABEL, SYMMETRIC, UNSTABLE, drawing
from dendrocap.model import NeuronSpec, Polsky, TaskSpec
from dendrocap.reproduction import shared as sim
from dendrocap.reproduction.claims import Measured
from dendrocap.reproduction.runs import PATTERNS, PaperFigure, Records, RunSize, Tables, read_table, register
from dendrocap.reproduction.shared import along
from dendrocap.sweeps import Sweep
from dendrocap.theory import stability_limit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TABLES = ERROR, CAPACITY, THEORY, SOLVED = ("fig3_error", "fig3_capacity", "fig3_theory", "fig3_solve")
# The paper does not say how many errors a stored load may have: shares of the patterns, the same for all neurons.
TOLERANCES = (0.0, 0.01, 0.05)
# Above these loads every run leaves more errors than the largest tolerance, so none is run: by rule and theta_d.
LARGEST_LOADS = {
    sim.LINEAR: {sim.LINEAR_THETA: 1.2},
    sim.PLAIN: {0.01: 1.6, 0.05: 1.8, 0.1: 1.6, 0.3: 1.8, 0.5: 1.8, 1.0: 1.6},
    sim.SURROGATE: {0.1: 1.6, 0.5: 2.0, 1.0: 2.2},
}
# Legends of the lower panels are below them, where they hide nothing.
BELOW: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0.0, -0.22)}
# What `solve` reached at the size of the paper, written by `python -m studies.solvers loads`.
SOLVED_FILE = "solved_loads.csv"


def sweeps(size: RunSize) -> list[Sweep]:
    """Training error against the load, with learning rates that are halved on plateaus."""
    how = {"patience": size.patience, "max_epochs": size.capacity_epochs, "gamma_ce": sim.STEEP_LOSS}
    branched, seeds = {**sim.dendritic(size), **how}, range(size.seeds)

    def loads(rule: str, theta_d: float) -> dict[str, list[float]]:
        return {"alpha": [load for load in size.loads if load <= LARGEST_LOADS[rule].get(theta_d, math.inf)]}

    linear = {**sim.linear(size), **how, "learning_rate": sim.LINEAR_RATE}
    found = [Sweep("train", loads(sim.LINEAR, sim.LINEAR_THETA), linear, seeds)]
    for theta_d in size.thresholds:
        own = {**branched, "theta_d": theta_d, "learning_rate": sim.rate(theta_d)}
        found.append(Sweep("train", loads(sim.PLAIN, theta_d), own, seeds))
    for theta_d in size.surrogate_thresholds:
        own = {**branched, "theta_d": theta_d, **sim.surrogate(theta_d)}
        found.append(Sweep("train", loads(sim.SURROGATE, theta_d), own, seeds))
    return found


def tables(size: RunSize, records: Records) -> Tables:
    """Training error against the load, the largest load learned, and the results it is compared with."""
    import pandas as pd

    runs = sim.runs(records, ("alpha",), ("error", "solved"))
    neuron = ["rule", "theta_d"]
    error = sim.averaged(runs, [*neuron, "alpha"], "error")
    error["solved"] = runs.groupby([*neuron, "alpha"], sort=False).solved.sum().to_numpy(dtype=int)
    largest = [
        {"rule": rule, "theta_d": theta_d, "tolerance": tolerance, "seed": seed, "largest_load": load}
        for (rule, theta_d, seed), own in runs.groupby([*neuron, "seed"], sort=False)
        for tolerance in TOLERANCES
        for load in [own.alpha[own.error <= tolerance].max()]
    ]
    capacity = pd.DataFrame(largest).fillna({"largest_load": 0.0})
    return {
        ERROR: error,
        CAPACITY: sim.averaged(capacity, [*neuron, "tolerance"], "largest_load"),
        THEORY: _theory(),
        SOLVED: _solved(),
    }


def _solved() -> pd.DataFrame:
    """Largest loads of `solve` within two minutes, two of three seeds, at the size of the paper for every preset."""
    with as_file(files("dendrocap.reproduction").joinpath(SOLVED_FILE)) as path:
        return read_table(path)


@cache
def _theory() -> pd.DataFrame:
    """Capacities at the thresholds of the simulations: replica symmetric, broken, and the load of instability."""
    import pandas as pd

    thresholds = np.geomspace(0.01, 1.0, 21)
    symmetric = along([Polsky()], theta_d=thresholds).alpha_c
    broken = along([Polsky()], theta_d=thresholds, rsb=[1]).alpha_c
    unstable = [stability_limit(NeuronSpec(Polsky(), float(theta_d), 0.5), TaskSpec()).alpha for theta_d in thresholds]
    return pd.DataFrame({"theta_d": thresholds, "alpha_rs": symmetric, "alpha_1rsb": broken, "alpha_at": unstable})


def draw(tables: Tables) -> Figure:
    """Training error against the load; largest load learned against theta_d, by tolerance and with the theory."""
    error, reached, theory, solved = (tables[name] for name in TABLES)
    with drawing(2, 6.8) as figure:
        axes = figure.subplot_mosaic([["error", "error"], ["readings", "theory"]])
        for line in sim.thinned(sim.lines(error)):
            own = line.of(error)
            bars = 100 * own.standard_error.fillna(0.0)
            axes["error"].errorbar(
                own.alpha, 100 * own.error, bars, ls=line.dashes, lw=1.1, marker=line.marker, ms=2.5, **line.look
            )
        axes["error"].set(xlabel=AXIS_LABELS["alpha"], ylabel=AXIS_LABELS["error_percent"], ylim=(-0.4, 20.0))
        axes["error"].set_yticks(range(0, 21, 5))  # fixed ticks of equal width: the layout is computed only once
        figure.legend(*axes["error"].get_legend_handles_labels(), loc="outside upper left", ncols=4)
        _draw_readings(axes["readings"], reached)
        _draw_theory(axes["theory"], reached, theory, solved)
    return figure


def _draw_readings(axes: Axes, reached: pd.DataFrame) -> None:
    """The true slope and the linear neuron, at every tolerance."""
    for tolerance, marker, shade in zip(TOLERANCES, "osD", ("#000000", "#0072B2", "#D55E00"), strict=True):
        part = reached[reached.tolerance == tolerance]
        own = part[part.rule == sim.PLAIN].sort_values("theta_d")
        words = f"{100 * tolerance:g} % errors" if tolerance else "no errors"
        look: dict[str, Any] = {
            "color": shade,
            "marker": marker,
            "ms": 3.5,
            "lw": 1.0,
            "label": f"{sim.PLAIN}, {words}",
        }
        axes.errorbar(own.theta_d, own.largest_load, own.standard_error.fillna(0.0), **look)
        at = float(part[part.rule == sim.LINEAR].largest_load.iloc[0])
        axes.axhline(at, color=shade, ls=":", lw=1.0, label=f"{sim.LINEAR}, {words}")
    axes.set(xscale="log", ylim=(-0.1, 2.2), xlabel=AXIS_LABELS["theta_d"], ylabel="largest load learned")
    axes.legend(**BELOW)


def _draw_theory(axes: Axes, reached: pd.DataFrame, theory: pd.DataFrame, solved: pd.DataFrame) -> None:
    """Loads learned without errors, by three rules, with the lines of the theory."""
    axes.plot(theory.theta_d, theory.alpha_rs, color=PALETTE[Polsky.name], **SYMMETRIC | {"label": PAPER_LABEL})
    axes.plot(theory.theta_d, theory.alpha_1rsb, color=PALETTE[Polsky.name], **ONE_STEP)
    axes.plot(theory.theta_d, theory.alpha_at, color="0.55", lw=1.0, **UNSTABLE)
    axes.axhline(1.0, color="k", ls=SYMMETRIC["ls"], lw=0.9, label=f"{sim.LINEAR}, theory (exact)")
    exact = reached[reached.tolerance == 0.0]
    for rule, marker, fill in ((sim.PLAIN, "o", "k"), (sim.SURROGATE, "^", "w")):
        own = exact[exact.rule == rule]
        bars = own.standard_error.fillna(0.0)
        look: dict[str, Any] = {
            "color": "k",
            "ls": "none",
            "ms": 4,
            "marker": marker,
            "mfc": fill,
            "label": f"learned, {rule}",
        }
        axes.errorbar(own.theta_d, own.largest_load, bars, **look)
    axes.plot(solved.theta_d, solved.alpha, "*", color="#009E73", ms=6, label="learned, solve (N = 999)")
    axes.set(xscale="log", ylim=(-0.1, 4.0), xlabel=AXIS_LABELS["theta_d"], ylabel=AXIS_LABELS["alpha"])
    axes.set_yticks(range(5))
    axes.legend(**BELOW)


def measure(tables: Tables) -> dict[str, Measured]:
    """Loads reached by gradient descent, compared with the linear neuron and with the theory."""
    reached, theory = tables[CAPACITY], tables[THEORY]
    exact = reached[reached.tolerance == 0.0]
    linear, plain = (exact[exact.rule == rule].sort_values("theta_d") for rule in (sim.LINEAR, sim.PLAIN))
    best = plain.loc[plain.largest_load.idxmax()]
    gap = np.interp(plain.theta_d, theory.theta_d, theory.alpha_rs) - plain.largest_load
    half = int((theory.theta_d - 0.5).abs().argmin())
    return {
        "exceeds_linear": Measured(best.largest_load, best.standard_error, note=f"{sim.PLAIN}, θ_d = {best.theta_d:g}"),
        "linear_reaches": Measured(linear.largest_load.iloc[0], linear.standard_error.iloc[0]),
        **{f"large_threshold_{100 * tolerance:g}": _least_gain(reached, tolerance) for tolerance in TOLERANCES},
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
            f"θ_d = {theory.theta_d[half]:.3g}; replica symmetry is unstable from load {theory.alpha_at[half]:.3f} on",
        ),
    }


def _least_gain(reached: pd.DataFrame, tolerance: float) -> Measured:
    """Smallest difference of the loads learned with the true slope and by the linear neuron, within a tolerance."""
    part = reached[reached.tolerance == tolerance]
    linear = part[part.rule == sim.LINEAR].iloc[0]
    plain, surrogate = (part[part.rule == rule].sort_values("theta_d") for rule in (sim.PLAIN, sim.SURROGATE))
    least = plain.loc[plain.largest_load.idxmin()]
    note = f"largest load {linear.largest_load:.2f} ({sim.LINEAR}), " + ", ".join(
        f"{row.largest_load:.2f} (θ_d = {row.theta_d:g})" for row in plain.itertuples()
    )
    if len(surrogate):
        top = surrogate.iloc[-1]
        note += f"; with a {sim.SURROGATE} {top.largest_load:.2f} (θ_d = {top.theta_d:g})"
    error = float(np.hypot(least.standard_error, linear.standard_error))
    return Measured(float(least.largest_load - linear.largest_load), error, note=note)


register(
    PaperFigure(
        "fig3",
        "algorithmic-capacity",
        "Training error and algorithmic capacity of gradient descent",
        PATTERNS,
        sweeps=sweeps,
        tables=tables,
        draw=draw,
        measure=measure,
        settings=lambda size: f"{size.words}, patience {size.patience}, at most {size.capacity_epochs} epochs",
        minutes={"quick": 0.5, "paper": 12},
    )
)
