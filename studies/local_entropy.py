"""Do dendrites widen minima? Solutions around typical ones by theory, and around learned ones by message passing.

Usage: python -m studies.local_entropy {compute,table,figure,answer}

Three learners (plain gradient descent, `solve`, message passing) find solutions of the same patterns at N = 999 and K =
27; message passing counts the solutions around each of them. ``compute`` fills local_entropy.csv, one row per neuron,
load, learner, seed and distance, in about ten seconds a solution; ``table`` and ``answer`` print the tables of
docs/theory/local_entropy.md, and ``figure`` draws its figure.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np

import dendrocap as dc
from dendrocap.learning import MessagePassing
from studies.tables import IMAGES, Row, complete, markdown, stored

TABLE = Path(__file__).with_suffix(".csv")
FIGURE = IMAGES / "local_entropy.png"
N, K = 999, 27
NEURONS = {
    "linear": dc.NeuronSpec(dc.Linear(), 0.5, 0.5),
    "ReLU 0.5": dc.NeuronSpec(dc.ReLU(), 0.5, 0.5),
    "Polsky 0.05": dc.NeuronSpec(dc.Polsky(), 0.05, 0.5),
    "Polsky 0.5": dc.NeuronSpec(dc.Polsky(), 0.5, 0.5),
}
LEARNERS = ("gradient descent", "solve", "message passing")
LOADS, SETS = (0.2, 0.5), 2  # of patterns at each load
DISTANCES = (0.003, 0.006, 0.012, 0.025, 0.05, 0.1, 0.2, 0.3, 0.45)
SHOWN = (0.01, 0.1)  # distances of the table
EPOCHS = 2000


def learned(
    learner: str, neuron: dc.DendriticNeuron, patterns: dc.model.Patterns, seed: int
) -> dc.learning.TrainingResult:
    """What a learner makes of the patterns, solved or not."""
    if learner == "gradient descent":
        rule, schedule = dc.SGD(2.0 * neuron.spec.theta_d, gamma_ce=3.0), dc.ExponentialAnnealing(9.0 / EPOCHS)
        return dc.train(
            neuron,
            *patterns,
            algorithm=rule,
            schedule=schedule,
            seed=seed,
            max_epochs=EPOCHS,
            on_failure="return",
        )
    solver = MessagePassing() if learner == "message passing" else "auto"
    return dc.solve(neuron, *patterns, solver=solver, seed=seed, max_epochs=5 * EPOCHS)


def measured(neuron: str, alpha: float, learner: str, seed: int) -> Row:
    """The local entropies of one solution, one row per distance; one row with words if there are none."""
    cell = dc.DendriticNeuron(NEURONS[neuron], N, K)
    patterns = dc.random_patterns(round(alpha * N), N, rng=seed)
    result = learned(learner, cell, patterns, seed)
    flat = cell.flat_weights(result.weights)
    margins = np.where(patterns.labels > 0, 1.0, -1.0) * cell.somatic_input(flat, patterns.inputs)
    whole = {
        "mean_weight": f"{flat.mean():.5g}",
        "norm": f"{np.mean(flat**2) / flat.mean() ** 2:.5g}",
        "margin": f"{margins.min():.4g}",
    }
    if not result.solved:
        return whole | {"distance": "", "entropy": "", "log_fraction": "", "note": "no solution found"}
    found = dc.measured_local_entropy(cell, *patterns, flat, distance=DISTANCES)
    columns = {"distance": found.distance, "entropy": found.entropy, "log_fraction": found.log_fraction}
    several = {name: [f"{one:.5g}" for one in values] for name, values in columns.items()}
    return whole | several | {"note": [*[""] * (len(found.distance) - 1), found.stopped]}


def curve(rows: Sequence[Row], name: str, alpha: str, learner: str, seed: str) -> tuple[np.ndarray, np.ndarray]:
    """Distances and log fractions of one solution."""
    place = (name, alpha, learner, seed)
    own = [row for row in rows if (row["neuron"], row["alpha"], row["learner"], row["seed"]) == place]
    numbers = [(float(row["distance"]), float(row["log_fraction"])) for row in own if row["distance"]]
    return np.array([x for x, _ in numbers]), np.array([y for _, y in numbers])


def at_distance(rows: Sequence[Row], name: str, alpha: str, learner: str, distance: float) -> list[float]:
    """Log fractions of all seeds at one distance, on straight lines in the square root of the distance."""
    found = []
    for seed in dict.fromkeys(row["seed"] for row in rows):
        x, y = curve(rows, name, alpha, learner, seed)
        if x.size and x[0] <= distance <= x[-1]:
            found.append(float(np.interp(math.sqrt(distance), np.sqrt(x), y)))
    return found


def mean_weight(rows: Sequence[Row], name: str, alpha: str) -> float:
    """Of the solutions found: short branches move it away from theta_d / f_in, and theory is asked at this one."""
    own = [row for row in rows if (row["neuron"], row["alpha"]) == (name, alpha) and row["distance"]]
    return float(np.mean([float(row["mean_weight"]) for row in own]))


def typical(rows: Sequence[Row], name: str, alpha: str, distance: Sequence[float]) -> dc.theory.LocalEntropy:
    """The theory of typical solutions at the mean weight that learned ones have."""
    spec = dc.NeuronSpec(NEURONS[name].nonlinearity, 0.5 * mean_weight(rows, name, alpha), 0.5)
    return dc.local_entropy(spec, alpha=float(alpha), distance=distance)


def table(rows: Sequence[Row]) -> list[str]:
    """The table of the page: ln of the share of solutions, per synapse, in hundredths, at two distances."""
    header = ["neuron", "load", "typical, theory", *LEARNERS]
    lines = []
    for alpha in sorted({row["alpha"] for row in rows}):
        for name in NEURONS:
            theory = typical(rows, name, alpha, SHOWN).log_fraction
            cells = []
            for learner in LEARNERS:
                numbers = [at_distance(rows, name, alpha, learner, one) for one in SHOWN]
                cells.append(" / ".join(f"{100.0 * np.mean(one):.1f}" if one else "none" for one in numbers))
            lines.append((name, alpha, " / ".join(f"{100.0 * one:.1f}" for one in theory), *cells))
    return markdown(header, lines)


def answer(distance: float = 0.1) -> list[str]:
    """Typical solutions of the four neurons, at the same load and at the same part of the capacity with one step.

    In hundredths, at the distances 0.001 and 0.1.
    """
    lines = []
    for name, spec in NEURONS.items():
        capacity = dc.critical_capacity(spec).alpha_c if name == "linear" else dc.critical_capacity(spec, rsb=1).alpha_c
        loads = (0.2, 0.5, 0.7, 0.2 * capacity, 0.5 * capacity)
        found = [dc.local_entropy(spec, alpha=load, distance=[0.001, distance]) for load in loads]
        cells = [" / ".join(f"{100.0 * one:.1f}" for one in each.log_fraction) for each in found]
        marks = ["" if each.physical.all() else " (unstable)" for each in found]
        words = (f"{cell}{mark}" for cell, mark in zip(cells, marks, strict=True))
        lines.append((name, f"{capacity:.2f}", *words))
    header = ("neuron", "capacity", "load 0.2", "load 0.5", "load 0.7", "0.2 of capacity", "0.5 of capacity")
    return markdown(header, lines)


def figure(rows: Sequence[Row], alpha: str = "0.2") -> None:
    """Typical solutions by theory, and learned ones, one panel per neuron; typical ones of all in the last."""
    from dendrocap.figures.style import PALETTE, drawing, footnote, save

    colors = dict(zip(NEURONS, (PALETTE["linear"], PALETTE["relu"], "#F0A070", PALETTE["polsky"]), strict=True))
    widths = dict(zip(NEURONS, (3.0, 2.2, 1.4, 0.8), strict=True))
    markers = dict(zip(LEARNERS, ("v", "o", "s"), strict=True))
    grid = np.geomspace(0.002, 0.45, 30)
    with drawing(2, 3.2) as drawn:
        panels = drawn.subplots(1, 5, sharey=True)
        for axes, name in zip(panels, NEURONS, strict=False):
            theory = typical(rows, name, alpha, grid)
            axes.plot(grid, theory.log_fraction, "-", color=colors[name], label="typical, theory")
            panels[-1].plot(grid, theory.log_fraction, "-", lw=widths[name], color=colors[name])
            for learner in LEARNERS:
                for seed in dict.fromkeys(row["seed"] for row in rows):
                    x, y = curve(rows, name, alpha, learner, seed)
                    label = learner if seed == "0" else None
                    axes.plot(x, y, markers[learner], ms=3, mfc="none", color="0.35", label=label)
            axes.set_title(name)
        panels[-1].set_title("typical, all four")
        for axes in panels:
            axes.set_xscale("log")
            axes.set_xlabel("squared distance")
        panels[0].set_ylabel("ln(share of solutions) / N")
        drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
        footnote(drawn, f"Load {alpha}, N = {N}, K = {K}, {SETS} sets of patterns; theory: replica symmetric.")
    save(drawn, FIGURE)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("compute", "table", "figure", "answer"))
    part = parser.parse_args().part
    if part == "compute":
        settings = product(LOADS, range(SETS), NEURONS, LEARNERS)
        complete(TABLE, measured, [(name, alpha, learner, seed) for alpha, seed, name, learner in settings])
    elif part == "figure":
        figure(stored(TABLE))
    else:
        print("\n".join(table(stored(TABLE)) if part == "table" else answer()))


if __name__ == "__main__":
    main()
