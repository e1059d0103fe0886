"""Capacity of 10,000 synapses against the number of branches on which they sit.

Usage: python -m studies.how_many_branches {compute,table,figure}

``compute`` fills how_many_branches.csv, half a minute to a minute per row, with a third of the samples of `capacity`:
the statistical error stays below that of the theory. ``table`` prints the tables of
docs/theory/how_many_branches.md and ``figure`` draws docs/images/how_many_branches.png, both from the stored numbers.

Numbers of branches are odd. With an even one and theta_s = 1/2, saturated branches leave the soma on its threshold,
where any change of an output, however small, decides; without a margin theory counts that as an answer.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from dendrocap import DendriticNeuron, NeuronSpec, Polsky, capacity
from dendrocap.figures.style import COLUMN_WIDTH, house_style, save
from dendrocap.finite_size import best_split
from studies.tables import IMAGES, Row, complete, markdown, stored, uncertain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLE = Path(__file__).with_suffix(".csv")
N = 10_000
BRANCHES = (11, 21, 51, 101, 201, 501, 1001)
SAMPLES = {"COARSE": (96, 16), "MEDIUM": (256, 16), "FINE": (384, 24)}
THRESHOLDS = (0.1, 0.5, 1.0)
# colour, dashes and marker of each threshold
LOOKS = {"0.1": ("#0072B2", (1, 1), "s"), "0.5": ("#D55E00", (6, 2), "o"), "1": ("#009E73", (3, 1.5), "^")}
# columns of the table and the names that `capacity` gives to its estimates
ESTIMATES = {
    "replica_symmetric": "replica symmetric",
    "broken": "broken symmetry full",
    "short": "finite branches",
    "equal": "finite K, equal branches",
    "unequal": "unequal branches",
    "finite_K": "finite K",
}


def estimates(theta_d: float, n_branches: int, n_inputs: int = N) -> Row:
    """The best estimate for one threshold and number of branches, and those that lead to it."""
    found = capacity(DendriticNeuron(NeuronSpec(Polsky(), theta_d, theta_s=0.5), n_inputs, n_branches))
    numbers = {
        **{column: found.estimates.get(name) for column, name in ESTIMATES.items()},
        "best": found.alpha_c,
        "error": found.error,
        "off": found.mean_outputs[0],
        "on": found.mean_outputs[-1],
        "W_bar": found.W_bar,
        "silent_fraction": found.silent_fraction,
    }
    row = {name: "" if number is None else f"{number:.5g}" for name, number in numbers.items()}
    lights = {found.validity[name].light for name in ("branch size", "active inputs per branch", "number of branches")}
    return {
        **row,
        "n_on": found.n_on or "",
        "validity": next(light for light in ("bad", "caution", "good") if light in lights),
    }


def computed(theta_d: float, n_branches: int) -> Row:
    """The estimates with the samples of the table."""
    with patch.multiple(best_split, **SAMPLES):
        return estimates(theta_d, n_branches)


def found() -> list[dict[str, str]]:
    """The stored rows, by number of branches."""
    return sorted(stored(TABLE), key=lambda row: (int(row["n_branches"]), float(row["theta_d"])))


def table(rows: Sequence[Row]) -> list[str]:
    """The table of the page: one line per number of branches."""
    thresholds = list(dict.fromkeys(row["theta_d"] for row in rows))
    at = {(row["theta_d"], row["n_branches"]): row for row in rows}
    lines = []
    for n_branches in dict.fromkeys(row["n_branches"] for row in rows):
        cells = [at[theta_d, n_branches] for theta_d in thresholds if (theta_d, n_branches) in at]
        best = [uncertain(cell["best"], cell["error"]) for cell in cells]
        lines.append((n_branches, f"{N / int(n_branches):.0f}", *best, cells[0]["validity"]))
    return markdown(("K", "n", *(f"theta_d = {theta_d}" for theta_d in thresholds), "validity"), lines)


def factors(rows: Sequence[Row], theta_d: str) -> list[str]:
    """What each step contributes at one threshold, from infinitely many long branches to the best estimate."""
    header = ("K", "long, equal", "short, equal", "K, equal", "best split", "binary inputs", "mean outputs", "W", "p0")
    lines = []
    for row in (row for row in rows if row["theta_d"] == theta_d):
        ladder = [f"{float(row[name]):.2f}" for name in ("broken", "short", "equal", "finite_K", "best")]
        outputs = f"{float(row['off']):.3f}, {float(row['on']):.3f}"
        weights = [f"{float(row[name]):.2f}" for name in ("W_bar", "silent_fraction")]
        lines.append((row["n_branches"], *ladder, outputs, *weights))
    return markdown(header, lines)


def draw(rows: Sequence[Row]) -> Figure:
    """Capacity against the number of branches, one line per threshold; open markers where theory is strained."""
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(1.5 * COLUMN_WIDTH, 3.0), layout="constrained")
        axes = figure.subplots()
        for theta_d, (color, dashes, marker) in LOOKS.items():
            own = [row for row in rows if row["theta_d"] == theta_d]
            x = [int(row["n_branches"]) for row in own]
            best, error = ([float(row[name]) for row in own] for name in ("best", "error"))
            label = rf"$\theta_d = {theta_d}$"
            axes.errorbar(x, best, error, fmt="--", dashes=dashes, color=color, capsize=2.0, label=label)
            for good in (True, False):
                dots = [(k, y) for k, y, row in zip(x, best, own, strict=True) if (row["validity"] == "good") == good]
                if dots:
                    face = color if good else "white"
                    axes.plot(*zip(*dots, strict=True), marker, color=color, mfc=face, ms=4.5, zorder=3)
            axes.plot(x, [float(row["equal"]) for row in own], ":", color=color, lw=1.0)
        axes.plot([], [], ":", color="0.35", lw=1.0, label="equal branches")
        axes.plot([], [], "o", color="0.35", mfc="white", ms=4.5, label="branches too\nshort for theory")
        axes.set_xscale("log")
        axes.set_xlim(8.0, 1250.0)
        axes.set_ylim(1.0, None)
        axes.minorticks_off()
        axes.set_xticks([10, 30, 100, 300, 1000], labels=["10", "30", "100", "300", "1000"])
        axes.set_xlabel("number of branches $K$")
        axes.set_ylabel("capacity, patterns per synapse")
        above = axes.twiny()
        above.spines["top"].set_visible(True)
        above.set_xscale("log")
        above.set_xlim(N / 8.0, N / 1250.0)
        above.minorticks_off()
        above.set_xticks([1000, 300, 100, 30, 10], labels=["1000", "300", "100", "30", "10"])
        above.set_xlabel("synapses per branch $n$")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("compute", "table", "figure"))
    part = parser.parse_args().part
    if part == "compute":
        complete(TABLE, computed, [(theta_d, n_branches) for n_branches in BRANCHES for theta_d in THRESHOLDS])
    elif part == "table":
        print("\n".join([*table(found()), "", *factors(found(), "0.5")]))
    else:
        save(draw(found()), IMAGES / "how_many_branches.png")


if __name__ == "__main__":
    main()
