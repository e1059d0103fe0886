"""Where training ends, against the theory of learned states: linear and dendritic neurons, soft and steep losses.

Usage: python -m studies.trained_states {compute,table,figure}

Gradient descent by the cross-entropy, annealed to a small rate and never stopped early, at N = 999 and K = 27.
``compute`` fills trained_states.csv, one row per neuron, load, steepness and seed, in seconds each; ``table`` prints
the table of docs/theory/learned_states.md and ``figure`` draws its figure.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np

import dendrocap as dc
from dendrocap.learning import cross_entropy
from studies.tables import IMAGES, Row, complete, markdown, stored

TABLE = Path(__file__).with_suffix(".csv")
FIGURE = IMAGES / "trained_states.png"
N, K = 999, 27
NEURONS = {
    "linear": dc.NeuronSpec(dc.Linear(), 0.5, 0.5),
    "ReLU 0.5": dc.NeuronSpec(dc.ReLU(), 0.5, 0.5),
    "Polsky 0.05": dc.NeuronSpec(dc.Polsky(), 0.05, 0.5),
    "Polsky 0.5": dc.NeuronSpec(dc.Polsky(), 0.5, 0.5),
}
LOADS, GAMMAS, SEEDS = (0.5, 2.0), (0.3, 1.0, 3.0), range(3)
EPOCHS = 3000
FLIPS = 0.05
SILENT = 1e-2  # of the mean weight: below it a weight at rest counts as silent
SHOWN = ("training_error", "loss", "silent_fraction", "norm", "flips")


def measured(neuron: str, alpha: float, gamma_ce: float, seed: int, epochs: int = EPOCHS) -> Row:
    """The end of one run, and how unequal its branches have become."""
    spec = NEURONS[neuron]
    cell = dc.LinearNeuron(0.5, N) if neuron == "linear" else dc.DendriticNeuron(spec, N, K)
    patterns = dc.random_patterns(round(alpha * N), N, rng=seed)
    result = dc.train(
        cell,
        *patterns,
        algorithm=dc.SGD(2.0 * spec.theta_d, gamma_ce=gamma_ce),
        schedule=dc.ExponentialAnnealing(9.0 / epochs),  # to exp(-9) of the first rate
        seed=seed,
        max_epochs=epochs,
        stop_when_solved=False,
        on_failure="return",
    )
    weights = cell.flat_weights(result.resumption.weights)  # the last ones, not those with the fewest errors
    margins = np.where(patterns.labels > 0, 1.0, -1.0) * cell.somatic_input(weights, patterns.inputs)
    noise = dc.noise_robustness(
        cell, weights, *patterns, flip_probabilities=[FLIPS], noise_amplitudes=[], samples=5, seed=seed
    )
    sums = 0.5 * weights.reshape(K, -1).sum(axis=1) / math.sqrt(N / K)
    numbers = {
        "training_error": float(np.mean(margins < 0.0)),
        "loss": float(np.mean(cross_entropy(margins, gamma_ce))),
        "silent_fraction": float(np.mean(weights < SILENT * weights.mean())),
        "norm": float(np.mean(weights**2) / np.mean(weights) ** 2),
        "flips": noise.input_flips[0].error,
        "unequal": float(np.std(sums) / math.sqrt(0.25 * np.mean(weights**2))),
        "mean_weight": float(weights.mean()),
    }
    return {name: f"{value:.5g}" for name, value in numbers.items()}


def theory(name: str, alpha: float, gamma_ce: float, mean_weight: float) -> dict[str, float]:
    """The learned state at the mean weight that training reached; short branches move it away from theta_d / f_in."""
    spec = NEURONS[name]
    state = dc.learned_state(dc.NeuronSpec(spec.nonlinearity, 0.5 * mean_weight, 0.5), alpha=alpha, gamma_ce=gamma_ce)
    return {
        "training_error": state.training_error,
        "loss": state.loss,
        "silent_fraction": state.silent_fraction,
        "norm": state.Q / state.W_bar**2,
        "flips": dc.noise_error(state, flips=FLIPS),
    }


def compared(rows: Sequence[Row]) -> list[dict[str, float | str]]:
    """Means over seeds with standard errors, and the theory of each place."""
    found = []
    for place in dict.fromkeys((row["neuron"], row["alpha"], row["gamma_ce"]) for row in rows):
        own = [row for row in rows if (row["neuron"], row["alpha"], row["gamma_ce"]) == place]
        mean_weight = float(np.mean([float(row["mean_weight"]) for row in own]))
        one: dict[str, float | str] = dict(zip(("neuron", "alpha", "gamma_ce"), place, strict=True))
        for key in (*SHOWN, "unequal"):
            values = [float(row[key]) for row in own]
            one[key] = float(np.mean(values))
            one[f"{key} ±"] = float(np.std(values, ddof=1)) / math.sqrt(len(values))
        expected = theory(str(place[0]), float(place[1]), float(place[2]), mean_weight)
        found.append(one | {f"{key} theory": value for key, value in expected.items()})
    return found


def table(rows: Sequence[Row]) -> list[str]:
    """The table of the page: measured, then theory in brackets."""
    header = ("neuron", "load", "gamma_ce", "training error", "loss", "silent", "Q/W̄²", "flips 5 %", "unequal")
    digits = {"training_error": 3, "loss": 4, "silent_fraction": 2, "norm": 2, "flips": 3}
    lines = []
    for one in compared(rows):
        cells = [f"{one[key]:.{d}f} ({one[f'{key} theory']:.{d}f})" for key, d in digits.items()]
        lines.append((str(one["neuron"]), str(one["alpha"]), str(one["gamma_ce"]), *cells, f"{one['unequal']:.2f}"))
    return markdown(header, lines)


def figure(rows: Sequence[Row]) -> None:
    """Measured against theory: on the diagonal where the theory of equal branches says what training does."""
    from dendrocap.figures.style import PALETTE, drawing, footnote, save

    colors = dict(zip(NEURONS, (PALETTE["linear"], PALETTE["relu"], "#F0A070", PALETTE["polsky"]), strict=True))
    panels = {"training_error": "training error", "silent_fraction": "silent fraction", "flips": "error, 5 % flips"}
    with drawing(2, 2.6) as drawn:
        for axes, (key, label) in zip(drawn.subplots(1, 3), panels.items(), strict=True):
            for one in compared(rows):
                marker, shade = ("o" if one["alpha"] == "0.5" else "s"), colors[str(one["neuron"])]
                name = str(one["neuron"]) if (one["alpha"], one["gamma_ce"]) == ("0.5", "0.3") else None
                axes.errorbar(
                    one[f"{key} theory"],
                    one[key],
                    one[f"{key} ±"],
                    marker=marker,
                    ms=3.5,
                    ls="",
                    color=shade,
                    label=name,
                )
            top = max(axes.get_xlim()[1], axes.get_ylim()[1])
            axes.plot([0.0, top], [0.0, top], "-", lw=0.6, color="0.6")
            axes.set_xlabel(f"{label}, theory")
            axes.set_ylabel("measured")
        drawn.legend(*drawn.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
        footnote(drawn, "N = 999, K = 27; circles: load 0.5, squares: load 2; gamma_ce = 0.3, 1, 3; three seeds each.")
    save(drawn, FIGURE)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("compute", "table", "figure"))
    part = parser.parse_args().part
    if part == "compute":
        complete(TABLE, measured, product(NEURONS, LOADS, GAMMAS, SEEDS))
    elif part == "table":
        print("\n".join(table(stored(TABLE))))
    else:
        figure(stored(TABLE))


if __name__ == "__main__":
    main()
