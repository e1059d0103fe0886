"""How often solvers succeed, against the load, for neurons of three sizes with branches of 37 synapses.

    python -m studies.success_of_solvers compute [--workers 2]
    python -m studies.success_of_solvers table|figure

Every run has the same number of epochs: the annealed surrogate one annealing over all of them, selected annealing eight
copies that shared them (runs of commit 57fb11d; it has left the package since). Seeds from 1000 on occur in no other
table and were not used for tuning. Intervals of one standard error are Wilson's.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from dendrocap import DendriticNeuron, NeuronSpec, Polsky, capacity, solve
from dendrocap.learning import AnnealedSurrogate, Solver, patterns_at_load
from studies.tables import IMAGES, Row, complete, markdown, stored

TABLE = Path(__file__).with_suffix(".csv")
THETA_D, EPOCHS, FIRST_SEED = 0.5, 16_000, 1000
# By number of branches: loads and number of tasks. Larger neurons take longer, by the square of their size.
SIZES = {8: ((1.2, 1.35, 1.5, 1.65), 20), 27: ((1.75, 1.85, 1.95, 2.05), 12), 81: ((1.85, 1.95, 2.05), 4)}
SOLVERS: dict[str, Solver] = {"surrogate": AnnealedSurrogate(epochs=EPOCHS)}


def attempted(solver: str, n_branches: int, load: float, seed: int) -> Row:
    """One task: the errors left after all epochs, and the CPU time."""
    neuron = DendriticNeuron(NeuronSpec(Polsky(), THETA_D, theta_s=0.5), 37 * n_branches, n_branches)
    task, start = patterns_at_load(neuron, load, seed), time.process_time()
    found = solve(neuron, *task, solver=SOLVERS[solver], seed=seed, time_limit=None, max_epochs=EPOCHS)
    return {"errors": found.errors, "epochs": found.epochs, "cpu_seconds": f"{time.process_time() - start:.1f}"}


def share(runs: Sequence[Row]) -> tuple[float, float, float]:
    """Share of runs solved, and Wilson's interval of one standard error around it."""
    solved, n = sum(row["errors"] == "0" for row in runs), len(runs)
    center = (solved + 0.5) / (n + 1.0)
    half = math.sqrt(solved * (n - solved) / n + 0.25) / (n + 1.0)
    return solved / n, max(center - half, 0.0), min(center + half, 1.0)


def groups() -> dict[tuple[str, int, float], list[Row]]:
    """The runs of the table by solver, number of branches and load."""
    found: dict[tuple[str, int, float], list[Row]] = {}
    for row in stored(TABLE):
        found.setdefault((row["solver"], int(row["n_branches"]), float(row["load"])), []).append(row)
    return dict(sorted(found.items()))


def table() -> list[str]:
    """Shares solved, with their intervals and CPU times."""
    rows = []
    for (solver, n_branches, load), runs in groups().items():
        solved, low, high = share(runs)
        seconds = sorted(float(row["cpu_seconds"]) for row in runs)
        left = sorted(int(row["errors"]) for row in runs if row["errors"] != "0")
        rows.append(
            (
                f"{37 * n_branches}, {n_branches}", f"{load:g}", f"`{solver}`",
                f"{round(solved * len(runs))} of {len(runs)}", f"{low:.2f} to {high:.2f}",
                f"{seconds[len(seconds) // 2]:.1f}",
                f"{statistics.median(left):g}" if left else "",
            )
        )  # fmt: skip
    rows.sort(key=lambda row: (int(row[0].split(",")[1]), float(row[1]), row[2]))
    return markdown(
        ("N, K", "load", "solver", "solved", "interval", "CPU seconds, median", "errors of the others, median"), rows
    )


def figure() -> None:
    """Share solved against the load, one panel for each size, with the best estimate of the capacity."""
    from dendrocap.figures.style import drawing, save

    with drawing(2.0, 2.6) as drawn:
        panels = drawn.subplots(1, len(SIZES), sharey=True)
        for axes, n_branches in zip(panels, SIZES, strict=True):
            for solver, marker, shade, dashes in (
                ("surrogate", "s", "#0072B2", ":"),
                ("selected", "o", "#D55E00", "-"),
            ):
                own = [
                    (load, share(runs))
                    for (name, K, load), runs in groups().items()
                    if (name, K) == (solver, n_branches)
                ]
                loads, shares = zip(*own, strict=True)
                bars = [[p - low for p, low, _ in shares], [high - p for p, _, high in shares]]
                style = {"marker": marker, "color": shade, "ls": dashes, "ms": 4, "lw": 1.0, "capsize": 2}
                axes.errorbar(loads, [p for p, _, _ in shares], bars, label=solver, **style)
            neuron = DendriticNeuron(NeuronSpec(Polsky(), THETA_D, theta_s=0.5), 37 * n_branches, n_branches)
            best = capacity(neuron)
            axes.axvspan(best.alpha_c - best.error, best.alpha_c + best.error, color="0.85", label="best estimate")
            axes.set(
                xlabel="load", title=f"N = {37 * n_branches}, K = {n_branches}", ylim=(-0.05, 1.05), xlim=(1.1, 2.85)
            )
        panels[0].set_ylabel("share of tasks solved")
        panels[2].legend(loc="center left", fontsize="x-small")
        save(drawn, IMAGES / "solver_success.png")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("compute", "table", "figure"))
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    if options.part == "compute":
        settings = [
            (solver, n_branches, load, FIRST_SEED + task)
            for n_branches, (loads, tasks) in SIZES.items()
            for load in loads
            for solver in SOLVERS
            for task in range(tasks)
        ]
        complete(TABLE, attempted, settings, options.workers)
    elif options.part == "table":
        print("\n".join(table()))
    else:
        figure()


if __name__ == "__main__":
    main()
