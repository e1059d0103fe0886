"""Capacity against the dendritic threshold at N = 999, K = 27: the paper, broken symmetry, best estimate, learning.

Usage: python -m studies.capacity_of_a_real_neuron {compute,table,figure}

``compute`` fills capacity_of_a_real_neuron.csv, about half a minute per threshold; ``table`` prints the table of
docs/results/real_neuron.md and ``figure`` draws docs/images/capacity.png, both from the stored numbers.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dendrocap import DendriticNeuron, NeuronSpec, Polsky, capacity
from dendrocap.figures.style import AXIS_LABELS, COLUMN_WIDTH, house_style, save
from studies.tables import IMAGES, Row, fill, loads_reached, markdown, stored, uncertain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLE = Path(__file__).with_suffix(".csv")
N, K = 999, 27
THRESHOLDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
# columns of the table and the names that `capacity` gives to its estimates
ESTIMATES = {
    "replica_symmetric": "replica symmetric",
    "broken": "broken symmetry full",
    "short": "finite branches",
    "equal": "finite K, equal branches",
    "nearest": "finite K, nearest optimum",
}


def estimates(theta_d: float, n_inputs: int = N, n_branches: int = K) -> Row:
    """The best estimate for one threshold, and those that lead to it."""
    found = capacity(DendriticNeuron(NeuronSpec(Polsky(), theta_d, theta_s=0.5), n_inputs, n_branches))
    ladder = {column: found.estimates.get(name) for column, name in ESTIMATES.items()}
    numbers = {
        **ladder,
        "best": found.alpha_c,
        "error": found.error,
        "off": found.mean_outputs[0],
        "on": found.mean_outputs[-1],
        "W_bar": found.W_bar,
        "silent_fraction": found.silent_fraction,
    }
    row = {name: "" if number is None else f"{number:.5g}" for name, number in numbers.items()}
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


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("compute", "table", "figure"))
    part = parser.parse_args().part
    if part == "compute":
        fill(TABLE, [(theta_d,) for theta_d in THRESHOLDS], ("theta_d",), estimates)
    elif part == "table":
        print("\n".join(table(stored(TABLE), loads_reached())))
    else:
        save(draw(stored(TABLE), loads_reached()), IMAGES / "capacity.png")


if __name__ == "__main__":
    main()
