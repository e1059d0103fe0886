"""Capacity against the dendritic threshold at N = 999, K = 27: the paper, broken symmetry, best estimate, learning.

Usage: python -m studies.capacity_of_a_real_neuron {compute,table,ladder,shares,learned,figure,answer}

``compute`` fills capacity_of_a_real_neuron.csv, about half a minute per threshold. All else comes from stored numbers:
``table`` prints the table of docs/results/real_neuron.md, ``ladder`` that of docs/theory/real_sizes.md, ``shares`` that
of docs/solvers.md, ``learned`` that of docs/rsb.md; ``figure`` draws docs/images/capacity.png, and ``answer``
docs/images/answer.png, the picture on top of README and of the first page.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dendrocap import DendriticNeuron, Linear, NeuronSpec, Polsky, capacity, critical_capacity
from dendrocap.figures.style import AXIS_LABELS, COLUMN_WIDTH, ONE_STEP, SYMMETRIC, drawing_axes, house_style, save
from dendrocap.reproduction import read_tables
from dendrocap.reproduction.shared import of
from studies.tables import IMAGES, ROOT, Row, complete, in_brackets, loads_reached, markdown, stored, uncertain

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TABLE = Path(__file__).with_suffix(".csv")
N, K = 999, 27
PAPERS, BEST = "#0072B2", "#B34700"  # colours of the picture, dark enough for its words
TOP = 5.0  # of the picture; the paper's theory goes on
THRESHOLDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
# columns of the table and the names that `capacity` gives to its estimates
ESTIMATES = {
    "replica_symmetric": "replica symmetric",
    "two_steps": "broken symmetry k = 2",
    "broken": "broken symmetry full",
    "short": "finite branches",
    "equal": "finite K, equal branches",
    "nearest": "finite K, nearest optimum",
    "unequal": "unequal branches",
    "finite_K": "finite K",
    "binary": "binary inputs",
}
LADDER = ("replica_symmetric", "two_steps", "short", "equal", "unequal", "finite_K", "binary")


def estimates(theta_d: float, n_inputs: int = N, n_branches: int = K) -> Row:
    """The best estimate for one threshold, and those that lead to it."""
    spec = NeuronSpec(Polsky(), theta_d, theta_s=0.5)
    found = capacity(DendriticNeuron(spec, n_inputs, n_branches))
    ladder = {column: found.estimates.get(name) for column, name in ESTIMATES.items()}
    numbers = {
        **ladder,
        "short_symmetric": critical_capacity(spec, branch_size=n_inputs / n_branches).alpha_c,
        "best": found.alpha_c,
        "error": found.error,
        "off": found.mean_outputs[0],
        "on": found.mean_outputs[-1],
        "W_bar": found.W_bar,
        "silent_fraction": found.silent_fraction,
        "silent_error": found.silent_error,
    }
    row = {name: "" if number is None else f"{number:.7g}" for name, number in numbers.items()}
    return {**row, "n_on": found.n_on or ""}


def table(rows: Sequence[Row], reached: Mapping[float, float]) -> list[str]:
    """The table of the page."""
    header = ("theta_d", "paper", "broken symmetry", "equal branches, this size", "**best estimate**", "mean outputs")
    lines = []
    for row in rows:
        load = reached.get(float(row["theta_d"]))
        best = uncertain(row["best"], row["error"])
        if row["nearest"]:
            best += f" (nearest optimum {float(row['nearest']):.2f})"
        outputs = f"{float(row['off']):.2f}, {float(row['on']):.2f}"
        paper, broken, equal = (f"{float(row[name]):.2f}" for name in ("replica_symmetric", "broken", "equal"))
        share = "" if load is None else f"{load:.2f}, {load / float(row['best']):.0%}"
        lines.append((row["theta_d"], paper, broken, equal, best, outputs, share))
    return markdown((*header, "reached by `solve`, share"), lines)


def ladder(rows: Sequence[Row], reached: Mapping[float, float]) -> list[str]:
    """Every estimate from the paper's to the best, one column per threshold at which learning was measured."""
    shown = [row for row in rows if float(row["theta_d"]) in reached]
    first, *others = (row["theta_d"] for row in shown)
    header = ("`estimates`", rf"$\theta_d = {first}$", *others)
    lines = [(ESTIMATES[name], *(f"{float(row[name]):.3f}" for row in shown)) for name in LADDER]
    lines.append(("**best estimate**", *(f"**{in_brackets(row['best'], row['error'])}**" for row in shown)))
    outputs = (f"{float(row['off']):.2f}, {float(row['on']):.2f}" for row in shown)
    lines.append(("mean outputs, off and on", *outputs))
    lines.append(("silent fraction", *(f"{float(row['silent_fraction']):.3f}" for row in shown)))
    lines.append(("mean weight", *(f"{float(row['W_bar']):.3f}" for row in shown)))
    return markdown(header, lines)


def shares(rows: Sequence[Row], reached: Mapping[float, float]) -> list[str]:
    """Loads that `solve` reached, in per cent of three capacities."""
    header = (r"$\theta_d$", "load", "infinite size", "share", "equal branches", "share", "best estimate", "share")
    lines = []
    for row in rows:
        if (load := reached.get(float(row["theta_d"]))) is not None:
            many, equal, best = (float(row[name]) for name in ("broken", "equal", "best"))
            cells = (f"{many:.3f}", f"{load / many:.0%}", f"{equal:.3f}", f"{load / equal:.0%}")
            shown = (*cells, uncertain(row["best"], row["error"]), f"{load / best:.0%}")
            lines.append((row["theta_d"], f"{load:g}", *(cell.replace("%", " %") for cell in shown)))
    return markdown(header, lines)


def learned(rows: Sequence[Row], reached: Mapping[float, float]) -> list[str]:
    """Loads that `solve` reached beside the theory of equal branches, long and short, and the best estimate."""
    header = (
        r"$\theta_d$",
        "reached by `solve`",
        "RS",
        "2 steps",
        "RS, $n = 37$",
        "2 steps, $n = 37$",
        "best estimate",
    )
    columns = ("replica_symmetric", "two_steps", "short_symmetric", "short")
    lines = []
    for row in rows:
        if (load := reached.get(float(row["theta_d"]))) is not None:
            theory = (f"{float(row[name]):.3f}" for name in columns)
            lines.append((row["theta_d"], f"{load:.2f}", *theory, uncertain(row["best"], row["error"])))
    return markdown(header, lines)


def draw(rows: Sequence[Row], reached: Mapping[float, float]) -> Figure:
    """Four answers to one question, against the dendritic threshold."""
    from matplotlib.figure import Figure

    def column(name: str) -> list[float]:
        return [float(row[name]) for row in rows]

    with house_style():
        figure = Figure(figsize=(1.5 * COLUMN_WIDTH, 3.0), layout="constrained")
        axes = figure.subplots()
        x = column("theta_d")
        axes.plot(x, column("replica_symmetric"), "-", color="#0072B2", label="the paper: replica symmetric")
        axes.errorbar(
            x, column("best"), column("error"), fmt="--", dashes=(6, 2), color="#D55E00", capsize=2.0, lw=1.8,
            label="best estimate at this size",
        )  # fmt: skip
        axes.plot(x, column("broken"), "--", dashes=(2, 1.5), color="0.35", label="broken symmetry, infinite size")
        dots = sorted(reached.items())
        axes.plot(*zip(*dots, strict=True), "o", color="k", ms=4.0, label="reached by learning")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_yticks([1, 1.5, 2, 3, 5, 10], labels=["1", "1.5", "2", "3", "5", "10"])
        axes.minorticks_off()
        axes.set_xticks([0.01, 0.03, 0.1, 0.3, 1.0], labels=["0.01", "0.03", "0.1", "0.3", "1"])
        axes.set_xlabel(AXIS_LABELS["theta_d"])
        axes.set_ylabel("capacity, patterns per synapse")
        axes.set_title(f"{N} synapses on {K} branches, Polsky dendrites", fontsize=8)
        axes.legend(loc="upper left")
    return figure


def paper_capacities() -> pd.DataFrame:
    """The paper's replica-symmetric capacities, stored with its Fig. 2a."""
    return read_tables(ROOT / "docs" / "results" / "paper", ["fig2a"])["fig2a"]


def draw_answer(rows: Sequence[Row], reached: Mapping[float, float], paper: pd.DataFrame) -> Figure:
    """The answer in one panel: one layer, the best theory with its error, the paper's theory, and what was solved."""
    x, best, error = (np.array([float(row[name]) for row in rows]) for name in ("theta_d", "best", "error"))
    symmetric, one_layer = of(paper, Polsky), float(of(paper, Linear).alpha_c.iloc[0])
    leaves = float(symmetric.theta_d[symmetric.alpha_c > TOP].min())
    last = float(np.interp(x[-1], symmetric.theta_d, symmetric.alpha_c))
    with drawing_axes(1.5, 3.0) as (figure, axes):
        axes.plot(symmetric.theta_d, symmetric.alpha_c, color=PAPERS, ls=SYMMETRIC["ls"])
        axes.fill_between(x, best - error, best + error, color=BEST, alpha=0.2, lw=0.0)
        axes.plot(x, best, color=BEST, ls=ONE_STEP["ls"], lw=1.8)
        axes.axhline(one_layer, color="k", lw=1.2)
        axes.plot(*zip(*sorted(reached.items()), strict=True), "o", color="k", ms=4.5, clip_on=False, zorder=5)
        axes.text(
            leaves + 0.03,
            TOP,
            f"the paper's theory,\nreplica symmetric\n({last:.1f} at {x[-1]:g})",
            color=PAPERS,
            va="top",
        )
        right = {"ha": "right", "transform": axes.get_yaxis_transform()}
        axes.text(0.98, best[-1] + error[-1] + 0.05, "best theory for this neuron", color=BEST, va="bottom", **right)
        axes.text(0.98, 1.75, "solved by dc.solve, within 2 minutes", va="top", **right)
        axes.text(0.98, one_layer - 0.06, f"one layer, no dendrites: {one_layer:g}, exact", va="top", **right)
        axes.set(xlim=(0.0, x[-1]), ylim=(0.0, TOP), xlabel=AXIS_LABELS["theta_d"])
        axes.set_ylabel("capacity (patterns per synapse)")
        axes.set_title(f"{N} synapses on {K} branches, Polsky's dendrites")
    return figure


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    printed = {"table": table, "ladder": ladder, "shares": shares, "learned": learned}
    parser.add_argument("part", choices=("compute", *printed, "figure", "answer"))
    part = parser.parse_args().part
    if part == "compute":
        complete(TABLE, estimates, [(theta_d,) for theta_d in THRESHOLDS])
    elif part == "answer":
        save(draw_answer(stored(TABLE), loads_reached(), paper_capacities()), IMAGES / "answer.png")
    elif part == "figure":
        save(draw(stored(TABLE), loads_reached()), IMAGES / "capacity.png")
    else:
        print("\n".join(printed[part](stored(TABLE), loads_reached())))


if __name__ == "__main__":
    main()
