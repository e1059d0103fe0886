"""Fig. 3: training error and algorithmic capacity of gradient descent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dendrocap.experiments import Sweep
from dendrocap.figures.style import AXIS_LABELS, ONE_STEP, PALETTE, PAPER_LABEL, SYMMETRIC, UNSTABLE, drawing
from dendrocap.model import NeuronSpec, Polsky, TaskSpec
from dendrocap.reproduction import simulated_runs as sim
from dendrocap.reproduction.claims import Measured
from dendrocap.reproduction.paper_figure import PaperFigure, Records, Tables
from dendrocap.reproduction.run_size import RunSize
from dendrocap.reproduction.theory_tables import along
from dendrocap.theory import stability_limit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["FIGURE", "TABLES", "draw", "measure", "sweeps", "tables"]

TABLES = ERROR, CAPACITY, THEORY = ("fig3_error", "fig3_capacity", "fig3_theory")


def sweeps(size: RunSize) -> list[Sweep]:
    """Training error against the load, with learning rates that are halved on plateaus."""
    how = {"patience": size.patience, "max_epochs": size.capacity_epochs, "gamma_ce": sim.STEEP_LOSS}
    loads, seeds = {"alpha": size.loads}, range(size.seeds)
    branched = {**sim.dendritic(size), **how}
    return [
        Sweep("train", loads, {**sim.linear(size), **how, "learning_rate": sim.LINEAR_RATE}, seeds),
        *(
            Sweep("train", {"theta_d": thresholds, **loads}, {**branched, "learning_rate": rate}, seeds)
            for rate, thresholds in sim.by_rate(size.thresholds)
        ),
        *(
            Sweep("train", {"theta_d": [theta_d], **loads}, {**branched, **sim.surrogate(theta_d)}, seeds)
            for theta_d in size.surrogate_thresholds
        ),
    ]


def tables(size: RunSize, records: Records) -> Tables:
    """Training error against the load, the largest load solved, and the lines of the theory."""
    import pandas as pd

    runs = sim.runs(records, ("alpha",), ("error", "solved"))
    neuron = ["rule", "theta_d"]
    error = sim.averaged(runs, [*neuron, "alpha"], "error")
    error["solved"] = runs.groupby([*neuron, "alpha"], sort=False).solved.sum().to_numpy(dtype=int)
    largest = [
        {"rule": rule, "theta_d": theta_d, "seed": seed, "largest_solved": _largest_solved(own)}
        for (rule, theta_d, seed), own in runs.groupby([*neuron, "seed"], sort=False)
    ]
    return {
        ERROR: error,
        CAPACITY: sim.averaged(pd.DataFrame(largest), neuron, "largest_solved"),
        THEORY: _theory(),
    }


def _largest_solved(runs: pd.DataFrame) -> float:
    """The load up to which a seed solved everything, on the grid of loads."""
    reached = 0.0
    for alpha, solved in sorted(zip(runs.alpha, runs.solved, strict=True)):
        if not solved:
            break
        reached = alpha
    return reached


def _theory() -> pd.DataFrame:
    """Capacities over the thresholds of the simulations: replica symmetric, broken, and where the first is unstable."""
    import pandas as pd

    thresholds = np.geomspace(0.01, 1.0, 21)
    symmetric = along([Polsky()], theta_d=thresholds).alpha_c
    broken = along([Polsky()], theta_d=thresholds, rsb=[1]).alpha_c
    unstable = [stability_limit(NeuronSpec(Polsky(), float(theta_d), 0.5), TaskSpec()).alpha for theta_d in thresholds]
    return pd.DataFrame({"theta_d": thresholds, "alpha_rs": symmetric, "alpha_1rsb": broken, "alpha_at": unstable})


def draw(tables: Tables) -> Figure:
    """Training error against the load; largest load solved against theta_d, with the theory's lines."""
    error, reached, theory = (tables[name] for name in TABLES)
    with drawing(2, 3.4) as figure:
        left, right = figure.subplots(1, 2)
        for line in sim.lines(error):
            own = line.of(error)
            bars = 100 * own.standard_error.fillna(0.0)
            left.errorbar(
                own.alpha, 100 * own.error, bars, ls=line.dashes, lw=1.1, marker=line.marker, ms=2.5, **line.look
            )
        left.set(xlabel=AXIS_LABELS["alpha"], ylabel=AXIS_LABELS["error_percent"])
        left.set_ylim(bottom=-0.4)
        figure.legend(*left.get_legend_handles_labels(), fontsize=6.8, loc="outside upper center", ncols=5)
        right.plot(theory.theta_d, theory.alpha_rs, color=PALETTE[Polsky.name], **SYMMETRIC | {"label": PAPER_LABEL})
        right.plot(theory.theta_d, theory.alpha_1rsb, color=PALETTE[Polsky.name], **ONE_STEP)
        right.plot(theory.theta_d, theory.alpha_at, color="0.55", lw=1.0, **UNSTABLE)
        right.axhline(1.0, color="k", ls=SYMMETRIC["ls"], lw=0.9, label=f"{sim.LINEAR}, theory (exact)")
        for rule, marker, fill in ((sim.PLAIN, "o", "k"), (sim.SURROGATE, "^", "w")):
            own = reached[reached.rule == rule]
            bars = own.standard_error.fillna(0.0)
            look = {"color": "k", "ls": "none", "ms": 4, "marker": marker, "mfc": fill, "label": f"learned, {rule}"}
            right.errorbar(own.theta_d, own.largest_solved, bars, **look)
        at = float(reached[reached.rule == sim.LINEAR].largest_solved.iloc[0])
        right.axhline(at, color="0.6", ls=":", lw=1.0, label=f"learned, {sim.LINEAR}")
        right.set(xscale="log", ylim=(-0.1, 4.0), xlabel=AXIS_LABELS["theta_d"], ylabel=AXIS_LABELS["alpha"])
        right.legend(fontsize=6.3, loc="upper left")
    return figure


def measure(tables: Tables) -> dict[str, Measured]:
    """How far gradient descent gets, against the linear neuron and against the theory."""
    reached, theory = tables[CAPACITY], tables[THEORY]
    linear, plain, surrogate = (reached[reached.rule == rule] for rule in (sim.LINEAR, sim.PLAIN, sim.SURROGATE))
    best, widest = plain.loc[plain.largest_solved.idxmax()], plain.loc[plain.theta_d.idxmax()]
    gap = np.interp(plain.theta_d, theory.theta_d, theory.alpha_rs) - plain.largest_solved
    half = int((theory.theta_d - 0.5).abs().argmin())
    with_surrogate = ""
    if len(surrogate):
        top = surrogate.loc[surrogate.theta_d.idxmax()]
        with_surrogate = (
            f"; with a {sim.SURROGATE} {top.largest_solved:.3g} ± {top.standard_error:.1g} at θ_d = {top.theta_d:g}"
        )
    return {
        "exceeds_linear": Measured(
            best.largest_solved, best.standard_error, note=f"{sim.PLAIN}, θ_d = {best.theta_d:g}; tolerance zero"
        ),
        "linear_reaches": Measured(
            linear.largest_solved.iloc[0], linear.standard_error.iloc[0], note="largest load with zero errors"
        ),
        "large_threshold": Measured(
            widest.largest_solved, widest.standard_error, note=f"{sim.PLAIN}, θ_d = {widest.theta_d:g}{with_surrogate}"
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
            f"θ_d = {theory.theta_d[half]:.3g}; replica symmetry is unstable from load {theory.alpha_at[half]:.3f} on",
        ),
    }


FIGURE = PaperFigure(
    "fig3",
    "algorithmic-capacity",
    "Training error and algorithmic capacity of gradient descent",
    sweeps=sweeps,
    tables=tables,
    draw=draw,
    measure=measure,
    settings=lambda size: (
        f"{size.words}, patience {size.patience}, at most {size.capacity_epochs} epochs, tolerance zero"
    ),
    minutes={"quick": 0.5, "paper": 60},
)
