"""Does any learning rate and any steepness of the loss lead the true slope to zero errors at large thresholds?

Usage: python -m studies.settings_of_gradient_descent {compute,table}

``compute`` fills settings_of_gradient_descent.csv: the paper's whole grid of learning rates and steepnesses at
theta_d = 0.5 and 1, four loads, N = 999, K = 27, one seed, with the patience and the epochs of Fig. 3 (ten minutes of
one core); ``table`` prints the table of docs/reproduction.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from dendrocap import SGD, DendriticNeuron, HalveOnPlateau, NeuronSpec, Polsky, Recipe
from dendrocap.learning.training import train_at_load
from dendrocap.model import TaskSpec
from dendrocap.reproduction import PRESETS
from dendrocap.reproduction.shared import PAPER_GAMMAS, PAPER_RATES
from studies.tables import Row, complete, markdown, stored

TABLE = Path(__file__).with_suffix(".csv")
KEYS = ("theta_d", "load", "learning_rate", "gamma_ce")
THRESHOLDS, LOADS = (0.5, 1.0), (0.2, 0.5, 0.8, 1.1)
SEED, SIZE = 0, PRESETS["paper"]


def measured(
    theta_d: float,
    load: float,
    learning_rate: float,
    gamma_ce: float,
    n_inputs: int = SIZE.n_inputs,
    n_branches: int = SIZE.n_branches,
    max_epochs: int = SIZE.capacity_epochs,
) -> Row:
    """Errors left by one run, at its best epoch."""
    neuron = DendriticNeuron(NeuronSpec(Polsky(), theta_d, theta_s=0.5), n_inputs, n_branches)
    recipe = Recipe(SGD(learning_rate, gamma_ce), HalveOnPlateau(SIZE.patience), max_epochs)
    found = train_at_load(neuron, load, SEED, TaskSpec(), recipe)
    return {"errors": found.errors, "n_patterns": found.n_patterns, "epochs": found.epochs, "stopped": found.stopped}


def table(rows: Sequence[Row]) -> list[str]:
    """Per threshold and load: how many settings solve it, and the fewest errors with the settings that leave them."""
    lines = []
    for theta_d, load in product(THRESHOLDS, LOADS):
        own = [row for row in rows if (float(row["theta_d"]), float(row["load"])) == (theta_d, load)]
        best = min(own, key=lambda row: int(row["errors"]))
        solved = sum(int(row["errors"]) == 0 for row in own)
        left = 100.0 * int(best["errors"]) / int(best["n_patterns"])
        lines.append(
            (
                f"{theta_d:g}", f"{load:g}", f"{solved} of {len(own)}", f"{best['errors']} ({left:.1f} %)",
                f"{float(best['learning_rate']):g}, {float(best['gamma_ce']):g}",
            )
        )  # fmt: skip
    return markdown(("theta_d", "load", "settings that solve it", "fewest errors", "there: rate, gamma_ce"), lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("compute", "table"))
    if parser.parse_args().part == "compute":
        complete(TABLE, measured, product(THRESHOLDS, LOADS, PAPER_RATES, PAPER_GAMMAS))
    else:
        print("\n".join(table(stored(TABLE))))


if __name__ == "__main__":
    main()
