"""What each solver reaches, and what its solutions are like.

Usage: python -m studies.solvers PART [--solver NAME ...] [--theta-d X ...] [--budget SECONDS] [--step LOAD]
       [--workers 1]

where PART is capacity, solutions, sizes, lengths, table, figure or loads.

``capacity`` looks for the load up to which two of three seeds are solved, with sweeps in build/studies/solvers.db that
go on where they were stopped, and adds its runs to solvers.csv; ``solutions`` writes solver_weights.csv, histograms of
weights; ``table``, ``figure`` and ``loads`` read these files, and ``loads`` writes what `solve` reached for other
figures. The budget is CPU time, so that a busy machine changes nothing but the patience it takes.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

# One core: NumPy's own threads would spend the budget of several.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import dendrocap
from dendrocap import DendriticNeuron, NeuronSpec, Polsky, Sweep, TaskSpec, noise_robustness
from dendrocap.files import write_file
from dendrocap.learning import patterns_at_load
from dendrocap.learning.search import GONE, SOLVERS
from dendrocap.sweeps import Record, library
from studies.tables import IMAGES, ROOT, Row, add, later_runs, loads_reached, markdown, stored, swept, write

TABLE = Path(__file__).with_suffix(".csv")
WEIGHTS = TABLE.with_name("solver_weights.csv")
REACHED = TABLE.with_name("rsb_learned.csv")
SOLVED_LOADS = ROOT / "src" / "dendrocap" / "reproduction" / "solved_loads.csv"
KEYS = ("solver", "theta_d", "alpha", "seed", "budget")
BINS = np.round(np.arange(0.0, 5.01, 0.1), 3)  # of weights in units of their mean
N, K, SEEDS = 999, 27, (0, 1, 2)
THRESHOLDS = (0.01, 0.05, 0.1, 0.3, 0.5, 1.0)
LARGEST_LOAD = 2.5


def polsky(theta_d: float, n_inputs: int = N, n_branches: int = K) -> DendriticNeuron:
    """The neuron of all tables."""
    return DendriticNeuron(NeuronSpec(Polsky(), theta_d, theta_s=0.5), n_inputs, n_branches)


def attempts(neuron: DendriticNeuron, alpha: float, budget: float) -> list[dict[str, Any]]:
    """What ``auto`` makes of the tasks of all seeds."""
    return [library.solve(neuron, TaskSpec(), alpha, seed, cpu_seconds=budget) for seed in SEEDS]


def search(solver: str, theta_d: float, budget: float, step: float, size: tuple[int, int] = (N, K)) -> Sweep:
    """A search for the load that two of three seeds of a solver reach."""
    neuron = {"theta_d": theta_d, "theta_s": 0.5, "n_inputs": size[0], "n_branches": size[1]}
    loads = {"find": "solved", "level": 0.5, "from": step, "to": LARGEST_LOAD, "resolution": step}
    return Sweep("solve", {"alpha": loads}, {**neuron, "solver": solver, "cpu_seconds": budget}, SEEDS)


def capacity(options: argparse.Namespace) -> None:
    """The loads that solvers reach."""
    sweeps = [
        search(solver, theta_d, options.budget, options.step)
        for solver in options.solver or SOLVERS
        for theta_d in options.theta_d or THRESHOLDS
    ]
    add(TABLE, KEYS, map(_row, swept(sweeps, "solvers", options.workers)))


def _row(record: Record) -> Row:
    about = {**record.parameters, "seed": record.seed, "budget": record.parameters["cpu_seconds"]}
    row = {key: about[key] if key == "solver" else f"{about[key]:g}" for key in KEYS}
    kept = {name: record.metrics[name] for name in ("errors", "n_patterns", "epochs")}
    return {**row, **kept, "cpu_seconds": f"{record.metrics['cpu_seconds']:.1f}", "stopped": record.metrics["stopped"]}


def summary(rows: Sequence[Row], budget: float) -> dict[tuple[str, float], dict[str, Any]]:
    """For every solver and threshold: the largest load with at least two of three seeds solved within the budget.

    The budget of a run decides when it ends and nothing else, so that a run tells what every smaller one gives, too.
    """
    runs: dict[tuple[str, float], dict[float, dict[str, float | None]]] = {}
    for row in rows:
        seconds = float(row["cpu_seconds"])
        solved = row["errors"] == "0" and min(seconds, float(row["budget"])) <= budget
        if solved or float(row["budget"]) >= budget:
            tries = runs.setdefault((row["solver"], float(row["theta_d"])), {}).setdefault(float(row["alpha"]), {})
            if solved or row["seed"] not in tries:
                tries[row["seed"]] = seconds if solved else None
    found = {}
    for at, loads in runs.items():
        times = {load: [seconds for seconds in tries.values() if seconds is not None] for load, tries in loads.items()}
        best = max((load for load in loads if len(times[load]) >= 2), default=0.0)
        found[at] = {
            "alpha": best,
            "all_seeds": max((load for load in loads if len(times[load]) == len(SEEDS)), default=0.0),
            "failed_at": min((x for x in loads if x > best and len(loads[x]) - len(times[x]) >= 2), default=None),
            "seconds": times.get(best, []),
        }
    return found


def table(rows: Sequence[Row], budget: float) -> list[str]:
    """Loads with two of three seeds solved, in brackets with all three if that is less."""
    found = summary(rows, budget)
    thresholds = sorted({theta_d for _, theta_d in found})
    measured = [solver for solver in (*SOLVERS, *GONE) if any((solver, theta_d) in found for theta_d in thresholds)]
    lines = ((f"`{solver}`", *(cell(found.get((solver, theta_d))) for theta_d in thresholds)) for solver in measured)
    return markdown(("solver", *(f"{theta_d:g}" for theta_d in thresholds)), lines)


def cell(row: dict[str, Any] | None) -> str:
    """What a solver reached at one threshold."""
    if row is None:
        return ""
    if row["alpha"] == 0.0:
        return "none" if row["failed_at"] is None else f"none, fails at {row['failed_at']:g}"
    brackets = f" ({row['all_seeds']:g})" if 0.0 < row["all_seeds"] < row["alpha"] else ""
    return f"{row['alpha']:g}{brackets}" + (" or more" if row["failed_at"] is None else "")


def loads(options: argparse.Namespace) -> None:
    """Write what `solve` reached, for Fig. 3 of the reproduction and for the figure of broken symmetry."""
    reached = loads_reached(options.budget)
    about = f"# Largest load at which solve had no errors in two of three seeds, N = {N}, K = {K}\n"
    lines = "".join(f"{theta_d:g},{alpha:g}\n" for theta_d, alpha in reached.items())
    command = f"# python -m studies.solvers loads --budget {options.budget:g}\n"
    write_file(SOLVED_LOADS, f"{about}{command}theta_d,alpha\n{lines}")
    dots = (
        {"nonlinearity": "polsky", "theta_d": f"{theta_d:g}", "alpha": f"{alpha:g}", "rule": "solve"}
        for theta_d, alpha in reached.items()
    )
    write(REACHED, dots)


def figure(options: argparse.Namespace) -> None:
    """The two figures of docs/solvers.md."""
    from dendrocap import plot
    from studies import plots
    from studies.capacity_of_a_real_neuron import TABLE as REAL_NEURON

    found = summary([*stored(TABLE), *later_runs()], options.budget)
    reached = [{"solver": solver, "theta_d": theta_d, **row} for (solver, theta_d), row in found.items()]
    theory = [row for row in stored(TABLE.with_name("rsb_capacity.csv")) if row["nonlinearity"] == "polsky"]
    plot.save(plots.solvers(reached, theory, stored(REAL_NEURON)), IMAGES / "solvers.png")
    plot.save(plots.solver_weights(stored(WEIGHTS)), IMAGES / "solver_weights.png")


def within(budget: float) -> Callable[[Any], bool]:
    """A callback that ends a search when this much CPU time is spent."""
    end = time.process_time() + budget
    return lambda record: time.process_time() > end


def solutions(options: argparse.Namespace) -> None:
    """Solutions of one task by all solvers, side by side."""
    theta_d, alpha = 0.3, 0.6
    neuron = polsky(theta_d)
    print(f"theta_d = {theta_d}, load {alpha}, three tasks (seeds 0 to 2)")
    header = ("solver", "solved", "W / 2 theta_d", "Q / W^2", "below 1e-3 W", "below 0.1 W", "above 3 W")
    header += ("spread of branch means", "flips 1 %", "flips 5 %", "synaptic 0.2")
    histograms, lines = [], []
    for name in SOLVERS:
        rows, shares = [], []
        for seed in SEEDS:
            task = patterns_at_load(neuron, alpha, seed)
            result = dendrocap.solve(
                neuron,
                *task,
                solver=name,
                seed=seed,
                time_limit=None,
                max_epochs=10**9,
                callback=within(options.budget),
            )
            w = neuron.flat_weights(result.weights)
            mean = w.mean()
            shares.append(np.histogram(w / mean, BINS)[0] / w.size)
            noise = noise_robustness(
                neuron, result.weights, *task, flip_probabilities=(0.01, 0.05), noise_amplitudes=(0.2,), seed=seed
            )
            rows.append(
                (
                    result.solved,
                    mean / (2 * theta_d),
                    (w**2).mean() / mean**2,
                    (w < 1e-3 * mean).mean(),
                    (w < 0.1 * mean).mean(),
                    (w > 3 * mean).mean(),
                    neuron.branch_input(w, task.inputs).mean(axis=0).std(),
                    *(point.error for point in (*noise.input_flips, *noise.synaptic_noise)),
                )
            )
        averages = np.mean(np.array(rows, dtype=float), axis=0)
        density = np.mean(shares, axis=0) / np.diff(BINS)
        histograms += zip([name] * len(density), BINS[:-1], BINS[1:], density.round(6), strict=True)
        lines.append((name, f"{int(sum(row[0] for row in rows))}/3", *(f"{x:.3f}" for x in averages[1:])))
    print("\n".join(markdown(header, lines)))
    write(WEIGHTS, (dict(zip(("solver", "left", "right", "density"), row, strict=True)) for row in histograms))


def lengths(options: argparse.Namespace) -> None:
    """Whether short branches explain loads above the capacity at a small threshold: ``auto`` with longer ones."""
    theta_d = 0.01
    print("| N, K | synapses per branch | load reached | finite branches | finite K, equal branches | best estimate |")
    print("|" + " --- |" * 6)
    for n_inputs, n_branches in ((999, 81), (999, 27), (999, 9), (2997, 27)):
        neuron, load = polsky(theta_d, n_inputs, n_branches), 0.95
        found = dendrocap.capacity(neuron)
        equal = [f"{found.estimates[name]:.3f}" for name in ("finite branches", "finite K, equal branches")]
        while sum(run["solved"] for run in attempts(neuron, load + 0.05, options.budget)) >= 2:
            load = round(load + 0.05, 4)
        size = f"{n_inputs}, {n_branches} | {n_inputs / n_branches:.0f}"
        best = f"{found.alpha_c:.2f} ± {found.error:.2f}"
        print(f"| {size} | {load:g} | {' | '.join(equal)} | {best} |", flush=True)


def sizes(options: argparse.Namespace) -> None:
    """``auto`` with its defaults at other sizes: down from these loads to the first with two of three seeds solved."""
    loads = {0.01: 0.9, 0.1: 1.1, 0.5: 1.5, 1.0: 1.6}
    print("| N, K | " + " | ".join(f"theta_d = {theta_d:g}" for theta_d in loads) + " |")
    print("|" + " --- |" * (len(loads) + 1))
    tops = {(300, 8): 1.3, (300, 15): 1.5, (1000, 27): 1.6, (5000, 135): 1.6}  # few branches store less
    for (n_inputs, n_branches), top in tops.items():
        cells = []
        for theta_d, most in loads.items():
            neuron, solved, cell, load = polsky(theta_d, n_inputs, n_branches), 0, "", min(most, top)
            while solved < 2:
                runs = attempts(neuron, load, options.budget)
                solved = sum(run["solved"] for run in runs)
                cell = f"{load:g}: " + ", ".join(
                    f"{run['cpu_seconds']:.1f} s" if run["solved"] else f"{run['errors']} of {run['n_patterns']} wrong"
                    for run in runs
                )
                print(n_inputs, n_branches, theta_d, cell, flush=True)
                load = round(load - 0.1, 4)
            cells.append(cell)
        print(f"| {n_inputs}, {n_branches} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """The command line."""
    parts = {part.__name__: part for part in (capacity, solutions, sizes, lengths, figure, loads)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=(*parts, "table"))
    parser.add_argument("--solver", nargs="+", choices=sorted(SOLVERS))
    parser.add_argument("--theta-d", nargs="+", type=float)
    parser.add_argument("--budget", type=float, default=120.0)
    parser.add_argument("--step", type=float, default=0.1)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    if options.part == "table":
        print("\n".join(table(stored(TABLE), options.budget)))
    else:
        parts[options.part](options)


if __name__ == "__main__":
    main()
