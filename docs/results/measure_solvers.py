"""The measurements behind solvers.md: what each solver reaches, what its solutions are like, and AMP against theory.

Usage: python docs/results/measure_solvers.py PART [--solver NAME ...] [--theta-d X ...] [--budget SECONDS]
       [--step LOAD]

where PART is capacity, solutions, sizes, lengths, entropy, limits, table, figure or loads.

``capacity`` appends one row per run to solvers.csv and skips the runs that are there, so that it can be stopped and
started again, or run twice at a time for different solvers; ``solutions`` writes solver_weights.csv, histograms of
weights, and ``entropy`` bethe.csv; ``limits``, ``table``, ``figure`` and ``loads`` read these files. The
budget is CPU time of this process, so that a busy machine changes nothing but the patience it takes.
"""

import argparse
import csv
import os
import time
from pathlib import Path

# One core: NumPy's own threads would spend the budget of several.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.stats import linregress

import dendrocap
from dendrocap import (
    DendriticNeuron,
    NeuronSpec,
    Polsky,
    TaskSpec,
    noise_robustness,
    random_patterns,
    saddle_point,
)
from dendrocap.learning import bethe_free_entropy, patterns_at_load
from dendrocap.learning.solvers import SOLVERS, solve
from dendrocap.numerics.statistics import standard_error

HERE = Path(__file__).parent
SOLVED_LOADS = HERE.parents[1] / "src" / "dendrocap" / "reproduction" / "solved_loads.csv"
RUNS = HERE / "solvers.csv"
WEIGHTS = HERE / "solver_weights.csv"
ESTIMATES = HERE / "bethe.csv"
COMPARED = ("free_entropy", "overlap", "mean_square")
BINS = np.round(np.arange(0.0, 5.01, 0.1), 3)  # of weights in units of their mean
COLUMNS = ("solver", "theta_d", "alpha", "seed", "budget", "errors", "n_patterns", "epochs", "cpu_seconds", "stopped")
N, K, SEEDS = 999, 27, (0, 1, 2)
# Where a climb starts if no load of its row has been solved yet; it goes down from there if it must.
STARTS = {
    "sgd": {0.01: 1.0, 0.05: 1.1, 0.1: 1.1, 0.3: 1.0, 0.5: 0.2, 1.0: 0.1},
    "surrogate": {0.01: 1.15, 0.05: 1.25, 0.1: 1.35, 0.3: 1.65, 0.5: 1.85, 1.0: 2.05},
    "sharpening": {0.01: 0.9, 0.05: 1.0, 0.1: 1.0, 0.3: 1.2, 0.5: 1.3, 1.0: 1.3},
    "least-action": {0.01: 0.5, 0.05: 0.6, 0.1: 0.7, 0.3: 0.8, 0.5: 0.8, 1.0: 0.8},
    "replicated": {0.01: 1.0, 0.05: 1.1, 0.1: 1.3, 0.3: 1.5, 0.5: 1.6, 1.0: 1.7},
    "message-passing": {0.01: 0.6, 0.05: 0.6, 0.1: 0.6, 0.3: 0.6, 0.5: 0.6, 1.0: 0.6},
}
# N, K and load of the tasks on which message passing is compared with theory, and how many of them.
ENSEMBLES = {
    (500, 10, 0.1): 100,
    (1000, 20, 0.1): 64,
    (2000, 40, 0.1): 32,
    (4000, 80, 0.1): 24,
    (500, 10, 0.2): 100,
    (1000, 20, 0.2): 64,
    (2000, 40, 0.2): 48,
    (4000, 80, 0.2): 16,
    (1000, 20, 0.4): 64,
    (2000, 40, 0.4): 24,
}


def polsky(theta_d, n_inputs=N, n_branches=K):
    return DendriticNeuron(NeuronSpec(Polsky(), theta_d, theta_s=0.5), n_inputs, n_branches)


def within(budget):
    """A callback that ends a search when this much CPU time is spent."""
    end = time.process_time() + budget
    return lambda record: time.process_time() > end


def timed(solve, neuron, alpha, seed, budget):
    """What a solver makes of a random task, and the CPU seconds it took."""
    task, start = patterns_at_load(neuron, alpha, seed), time.process_time()
    result = solve(neuron, *task, seed=seed, time_limit=None, max_epochs=10**9, callback=within(budget))
    return result, time.process_time() - start


def stored(path=RUNS):
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append(path, columns, row):
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(columns)
        writer.writerow(row)
    print(*row, flush=True)


def run(solver, theta_d, alpha, seed, budget):
    """Errors left by one run, from the file if it is there.

    A run that is solved within a small budget is the same run within a larger one: nothing else depends on the budget.
    """
    key = (solver, f"{theta_d:g}", f"{alpha:g}", str(seed), f"{budget:g}")
    for row in stored():
        if tuple(row[name] for name in COLUMNS[:4]) == key[:4] and (
            row["budget"] == key[4] or (row["errors"] == "0" and float(row["budget"]) < budget)
        ):
            return int(row["errors"])
    result, seconds = timed(SOLVERS[solver]().solve, polsky(theta_d), alpha, seed, budget)
    row = (*key, result.errors, result.n_patterns, result.epochs, f"{seconds:.1f}", result.stopped)
    append(RUNS, COLUMNS, row)
    return result.errors


def reached(solver, theta_d, alpha, budget):
    """Whether at least two of three seeds are solved; a third run is spared once two have failed."""
    solved = failed = 0
    for seed in SEEDS:
        if run(solver, theta_d, alpha, seed, budget) == 0:
            solved += 1
        else:
            failed += 1
        if failed == 2:
            break
    return solved >= 2


def capacity(options):
    """Climb from the largest load known to be solved to the first that is not."""
    for solver in options.solver or SOLVERS:
        for theta_d in options.theta_d or STARTS[solver]:
            known = summary(options.budget).get((solver, theta_d), {"alpha": 0.0})
            load = known["alpha"] or STARTS[solver][theta_d]
            step = options.step if reached(solver, theta_d, load, options.budget) else -options.step
            while True:
                load = round(load + step, 4)
                if load <= 0 or reached(solver, theta_d, load, options.budget) != (step > 0):
                    break


def summary(budget):
    """For every solver and threshold: the largest load with at least two of three seeds solved within the budget.

    The budget of a run decides when it ends and nothing else, so that a run tells what every smaller one gives, too.
    """
    runs = {}
    for row in stored():
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


def theory_lines():
    with (HERE / "rsb_capacity.csv").open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["nonlinearity"] == "polsky"]


def table(options):
    """Loads with two of three seeds solved, in brackets with all three if that is less."""
    found = summary(options.budget)
    thresholds = sorted({theta_d for _, theta_d in found})
    print("| solver | " + " | ".join(f"{theta_d:g}" for theta_d in thresholds) + " |")
    print("|" + " --- |" * (len(thresholds) + 1))
    for solver in STARTS:
        print(f"| `{solver}` | " + " | ".join(cell(found.get((solver, theta_d))) for theta_d in thresholds) + " |")


def loads(options):
    """Write what `solve` reached, as Fig. 3 of the reproduction shows it."""
    found = summary(options.budget)
    command = f"python docs/results/measure_solvers.py loads --budget {options.budget:g}"
    with SOLVED_LOADS.open("w", encoding="utf-8") as file:
        file.write(f"# Largest load at which solve had no errors in two of three seeds, N = {N}, K = {K}\n")
        file.write(f"# {command}\ntheta_d,alpha\n")
        for (solver, theta_d), row in sorted(found.items()):
            if solver == "surrogate":
                file.write(f"{theta_d:g},{row['alpha']:g}\n")


def cell(row):
    if row is None:
        return ""
    if row["alpha"] == 0.0:
        return "none" if row["failed_at"] is None else f"none, fails at {row['failed_at']:g}"
    brackets = f" ({row['all_seeds']:g})" if 0.0 < row["all_seeds"] < row["alpha"] else ""
    return f"{row['alpha']:g}{brackets}" + (" or more" if row["failed_at"] is None else "")


def figure(options):
    from dendrocap import plot

    found = summary(options.budget)
    reached = [{"solver": solver, "theta_d": theta_d, **row} for (solver, theta_d), row in found.items()]
    plot.save(plot.solvers(reached, theory_lines()), HERE.parent / "images" / "solvers.png")
    with WEIGHTS.open(newline="") as file:
        plot.save(plot.solver_weights(list(csv.DictReader(file))), HERE.parent / "images" / "solver_weights.png")


def solutions(options):
    """Solutions of one task by all solvers, side by side."""
    theta_d, alpha = 0.3, 0.6
    neuron = polsky(theta_d)
    print(f"theta_d = {theta_d}, load {alpha}, three tasks (seeds 0 to 2)")
    header = ("solver", "solved", "W / 2 theta_d", "Q / W^2", "below 1e-3 W", "below 0.1 W", "above 3 W")
    header += ("spread of branch means", "flips 1 %", "flips 5 %", "synaptic 0.2")
    print("| " + " | ".join(header) + " |")
    print("|" + " --- |" * len(header))
    histograms = []
    for name, kind in SOLVERS.items():
        rows, shares = [], []
        for seed in SEEDS:
            task = patterns_at_load(neuron, alpha, seed)
            run = {"solver": kind(), "seed": seed, "time_limit": None, "max_epochs": 10**9}
            result = solve(neuron, *task, callback=within(options.budget), **run)
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
        print(
            f"| {name} | {int(sum(row[0] for row in rows))}/3 | " + " | ".join(f"{x:.3f}" for x in averages[1:]) + " |"
        )
    with WEIGHTS.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("solver", "left", "right", "density"))
        writer.writerows(histograms)


def lengths(options):
    """Whether short branches explain loads above the capacity at a small threshold: ``auto`` with longer ones."""
    theta_d = 0.01
    print("| N, K | synapses per branch | load reached | finite branches | finite K, equal branches | best estimate |")
    print("|" + " --- |" * 6)
    for n_inputs, n_branches in ((999, 81), (999, 27), (999, 9), (2997, 27)):
        neuron, load = polsky(theta_d, n_inputs, n_branches), 0.95
        found = dendrocap.capacity(neuron)
        equal = [f"{found.estimates[name]:.3f}" for name in ("finite branches", "finite K, equal branches")]
        while sum(timed(solve, neuron, load + 0.05, seed, options.budget)[0].solved for seed in SEEDS) >= 2:
            load = round(load + 0.05, 4)
        size = f"{n_inputs}, {n_branches} | {n_inputs / n_branches:.0f}"
        best = f"{found.alpha_c:.2f} ± {found.error:.2f}"
        print(f"| {size} | {load:g} | {' | '.join(equal)} | {best} |", flush=True)


def sizes(options):
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
                results = [timed(solve, neuron, load, seed, options.budget) for seed in SEEDS]
                solved = sum(result.solved for result, _ in results)
                told = [
                    f"{seconds:.1f} s" if result.solved else f"{result.errors} of {result.n_patterns} wrong"
                    for result, seconds in results
                ]
                cell = f"{load:g}: " + ", ".join(told)
                print(n_inputs, n_branches, theta_d, cell, flush=True)
                load = round(load - 0.1, 4)
            cells.append(cell)
        print(f"| {n_inputs}, {n_branches} | " + " | ".join(cells) + " |", flush=True)


def estimate(n_inputs, n_branches, alpha, seed):
    """Message passing on one task, and the replica-symmetric values at the mean weight that it finds.

    A few tasks do not settle: some weights go on oscillating by about a per cent, the free entropy by 1e-5.
    """
    neuron = polsky(0.5, n_inputs, n_branches)
    inputs, labels = random_patterns(round(alpha * n_inputs), n_inputs, rng=seed)
    found = bethe_free_entropy(neuron, inputs, labels, on_failure="return")
    rs = saddle_point(NeuronSpec(Polsky(), 0.5 * found.mean_weight, 0.5), TaskSpec(), alpha=alpha)
    pairs = ((found.free_entropy, rs.free_entropy), (found.overlap, rs.q), (found.mean_square, rs.Q))
    numbers = (tilt(np.asarray(inputs), np.asarray(labels)), *(number for pair in pairs for number in pair))
    return "yes" if found.converged else "no", *(f"{number:.8g}" for number in numbers)


def tilt(inputs, labels):
    """How much more active the patterns to be answered by 1 are: a standard normal number, by luck of the draw.

    All weights are positive, so a task is easy if its tilt is positive. It is the largest part of what differs
    between tasks, and its mean is known to be zero: a control variate.
    """
    signs, (n_patterns, n_inputs) = np.where(labels > 0, 1.0, -1.0), inputs.shape
    return float(signs @ (inputs.sum(axis=1) - 0.5 * n_inputs)) / np.sqrt(0.25 * n_patterns * n_inputs)


def uncertain(mean, error):
    return f"{mean:+.4f} ± {error:.4f}".replace("-", "\N{MINUS SIGN}")


def entropy(options):
    """Message passing on the tasks that bethe.csv lacks."""
    pairs = (prefix + name for name in COMPARED for prefix in ("", "rs_"))
    columns = ("n_inputs", "n_branches", "alpha", "seed", "settled", "tilt", *pairs)
    for ensemble, instances in ENSEMBLES.items():
        key = tuple(f"{number:g}" for number in ensemble)
        known = {row["seed"] for row in stored(ESTIMATES) if tuple(row[name] for name in columns[:3]) == key}
        for seed in (seed for seed in range(instances) if str(seed) not in known):
            append(ESTIMATES, columns, (*key, seed, *estimate(*ensemble, seed)))


def limits(options):
    """Bethe free entropy, q and Q against replica symmetry, by size, and the limit of a parabola in 1/N."""
    print("| load | N, K | instances | Bethe - RS | at zero tilt | q / RS - 1 | Q / RS - 1 |")
    print("|" + " --- |" * 7)
    rows = stored(ESTIMATES)
    for alpha in sorted({alpha for _, _, alpha in ENSEMBLES}):
        sizes, level = [], []
        for n_inputs, n_branches, _ in (ensemble for ensemble in ENSEMBLES if ensemble[2] == alpha):
            own = [row for row in rows if row["n_inputs"] == f"{n_inputs}" and float(row["alpha"]) == alpha]
            tilts = np.array([float(row["tilt"]) for row in own])
            found, theory = (np.array([[float(row[p + n]) for n in COMPARED] for row in own]) for p in ("", "rs_"))
            excess = np.column_stack([found[:, 0] - theory[:, 0], found[:, 1:] / theory[:, 1:] - 1.0])
            fits = [linregress(tilts, column) for column in excess.T]
            sizes.append(n_inputs)
            level.append([(fit.intercept, fit.intercept_stderr) for fit in fits])
            raw = uncertain(excess[:, 0].mean(), standard_error(excess[:, 0]))
            told = " | ".join(uncertain(*numbers) for numbers in level[-1])
            print(f"| {alpha} | {n_inputs}, {n_branches} | {len(own)} | {raw} | {told} |")
        if len(sizes) > 3:
            ends = []
            for mean, error in np.array(level).transpose(1, 2, 0):
                fit, covariance = np.polyfit(1.0 / np.array(sizes), mean, 2, w=1.0 / error, cov="unscaled")
                ends.append(uncertain(fit[2], np.sqrt(covariance[2, 2])))
            print(f"| {alpha} | **limit** | | | " + " | ".join(ends) + " |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = (capacity, solutions, sizes, lengths, entropy, limits, table, figure, loads)
    parser.add_argument("part", choices=[part.__name__ for part in parts])
    parser.add_argument("--solver", nargs="+", choices=sorted(SOLVERS))
    parser.add_argument("--theta-d", nargs="+", type=float)
    parser.add_argument("--budget", type=float, default=120.0)
    parser.add_argument("--step", type=float, default=0.1)
    chosen = parser.parse_args()
    globals()[chosen.part](chosen)
