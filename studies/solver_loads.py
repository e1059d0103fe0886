"""What the solvers reach at the size of a real neuron, against the best estimate of its capacity.

    python -m studies.solver_loads first|climb [--theta-d X ...] [--solver NAME] [--budget SECONDS]
    python -m studies.solver_loads margin|size
    python -m studies.solver_loads table|figure

Each run adds a row to solver_loads.csv as soon as it ends, and runs that are there are skipped, so that parts can be
stopped and started again. The budget is CPU time of the process. Tuning used seeds from 100 on, tables have seeds 0 to
2. ``margin`` asks for kappa = 0.2 at theta_d = 0.5, where equal branches are stable in theory.
"""

import argparse
import os
import resource
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # NumPy's own threads would spend the budget of several cores

from dendrocap import DendriticNeuron, NeuronSpec, Polsky, TaskSpec, capacity, critical_capacity, solve
from dendrocap.figures.style import ONE_STEP, SYMMETRIC, drawing_axes, save
from dendrocap.learning import patterns_at_load
from dendrocap.learning.search import SOLVERS
from studies.tables import IMAGES, complete, markdown, stored

HERE = Path(__file__).parent
RUNS = HERE / "solver_loads.csv"
PLACE = ("solver", "n_inputs", "n_branches", "theta_d", "kappa", "alpha", "seed")
STARTS = {0.05: 1.5, 0.01: 1.35, 0.1: 1.6, 0.5: 1.95, 1.0: 2.1, 0.3: 1.85}
SEEDS, STEP, BUDGET = (0, 1, 2), 0.05, 30.0
TABLE = ("kappa", "theta_d", "load", "solver", "solved", "CPU seconds", "errors of the others", "share")
KAPPA, MARGIN_LOADS, MARGIN_BUDGET = 0.2, (0.9, 1.0, 1.05, 1.1, 1.15), 10.0


def known(place, budget):
    """Errors left by a run of the table, None without one; what a small budget solves, a larger one does."""
    for row in stored(RUNS):
        at = (row["solver"], *(float(row[name]) for name in PLACE[1:]))
        solved = row["errors"] == "0" and float(row["cpu_seconds"]) <= budget
        if at == place and (float(row["budget"]) == budget or solved):
            return int(row["errors"])
    return None


def run(solver, size, theta_d, alpha, seed, budget, kappa=0.0):
    """Errors left by one run, from the table if it is there."""
    place = (solver, *size, theta_d, kappa, alpha, seed)
    if known(place, budget) is None:
        complete(RUNS, measured, [(*place, budget)])
    if (errors := known(place, budget)) is None:
        raise SystemExit(f"the run at {place} failed")
    return errors


def measured(solver, n_inputs, n_branches, theta_d, kappa, alpha, seed, budget):
    """One run."""
    neuron = DendriticNeuron(NeuronSpec(Polsky(), theta_d, theta_s=0.5), n_inputs, n_branches)
    patterns, start = patterns_at_load(neuron, alpha, seed), time.process_time()
    options = {"seed": seed, "time_limit": None, "max_epochs": 10**9, "kappa": kappa}
    result = solve(
        neuron,
        *patterns,
        solver=SOLVERS[solver](),
        callback=lambda record: time.process_time() - start > budget,
        **options,
    )
    return {
        "errors": result.errors,
        "n_patterns": result.n_patterns,
        "epochs": result.epochs,
        "cpu_seconds": f"{time.process_time() - start:.1f}",
        "margin": f"{result.margin:.3g}",
        "megabytes": f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}",
    }


def reached(options, theta_d, load):
    """Whether two of three seeds are solved; a third run is spared where two agree."""
    solved = failed = 0
    for seed in SEEDS:
        good = run(options.solver, (999, 27), theta_d, load, seed, options.budget) == 0
        solved, failed = solved + good, failed + (not good)
        if max(solved, failed) == 2:
            break
    return solved == 2


def first(options):
    """The first load of every threshold, and no other."""
    for theta_d in options.theta_d or STARTS:
        reached(options, theta_d, STARTS[theta_d])


def climb(options):
    """From the first load up to the first at which two of three seeds fail, or down to the first that is reached."""
    for theta_d in options.theta_d or STARTS:
        load = STARTS[theta_d]
        step = STEP if reached(options, theta_d, load) else -STEP
        while True:
            load = round(load + step, 4)
            if load <= 0.0 or reached(options, theta_d, load) != (step > 0):
                break


def margin(options):
    """Loads with a margin at which theory has equal branches stable: two seeds each, up to the first that both fail."""
    for load in MARGIN_LOADS:
        left = [run("polished", (999, 27), 0.5, load, seed, MARGIN_BUDGET, kappa=KAPPA) for seed in SEEDS[:2]]
        if min(left) > 0:
            break


def figure(options):
    """Loads solved with a margin, beside the capacities of equal branches in RS and k-RSB."""
    neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.5, theta_s=0.5), 999, 27)
    task = TaskSpec(kappa=KAPPA)
    equal = [critical_capacity(neuron.spec, task, rsb=k, branch_size=neuron.branch_size).alpha_c for k in (0, 1, 2)]
    best = capacity(neuron, task)
    with drawing_axes(1.0, 2.2) as (drawn, axes):
        styles = (SYMMETRIC, ONE_STEP, {"ls": ":", "label": "broken symmetry k = 2"})
        for alpha, style in zip(equal, styles, strict=True):
            axes.axvline(alpha, color="black", **style)
        around = (best.alpha_c - best.error, best.alpha_c + best.error)
        axes.axvspan(*around, color="0.85", label="best estimate, K = 27")
        runs = [row for row in stored(RUNS) if float(row["kappa"]) == KAPPA]
        for solver, marker in (("polished", "o"), ("surrogate", "s")):
            loads = sorted({float(row["alpha"]) for row in runs if row["solver"] == solver})
            tries = [
                [row["errors"] == "0" for row in runs if row["solver"] == solver and float(row["alpha"]) == load]
                for load in loads
            ]
            shares = [sum(one) / len(one) for one in tries]
            axes.plot(loads, shares, marker=marker, ls="", mfc="none", label=f"solved by {solver}")
        axes.set(xlabel="load", ylabel="share of seeds solved", xlim=(0.7, 3.05), ylim=(-0.05, 1.05))
        axes.legend(loc="center", fontsize="x-small")
        save(drawn, IMAGES / "solver_margins.png")


def size(options):
    """A neuron with 10,000 synapses on 100 branches."""
    for load in (1.9, 2.0, 2.1):
        for seed in SEEDS:
            run("surrogate", (10_000, 100), 0.5, load, seed, 600.0)


def table(options):
    """Every load tried: seeds solved of those run, CPU seconds of the solved, errors left by the others, share."""
    best = {float(row["theta_d"]): float(row["best"]) for row in stored(HERE / "capacity_of_a_real_neuron.csv")}
    groups = {}
    for row in stored(RUNS):
        if row["n_inputs"] != "999":
            continue
        at = tuple(float(row[name]) for name in ("kappa", "theta_d", "alpha"))
        groups.setdefault((*at, row["solver"]), []).append(row)
    rows = []
    for (kappa, theta_d, alpha, solver), runs in sorted(groups.items()):
        solved = [row for row in runs if row["errors"] == "0"]
        left = [row["errors"] for row in runs if row["errors"] != "0"]
        share = "" if kappa else f"{100 * alpha / best[theta_d]:.0f} %"
        seconds = ", ".join(row["cpu_seconds"] for row in solved)
        about = (f"{kappa:g}", f"{theta_d:g}", f"{alpha:g}", f"`{solver}`")
        rows.append((*about, f"{len(solved)} of {len(runs)}", seconds, ", ".join(left), share))
    print("\n".join(markdown(TABLE, rows)))


def main():
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part")
    parser.add_argument("--theta-d", type=float, nargs="*")
    parser.add_argument("--solver", default="polished")
    parser.add_argument("--budget", type=float, default=BUDGET)
    options = parser.parse_args()
    {"first": first, "climb": climb, "margin": margin, "size": size, "figure": figure, "table": table}[options.part](
        options
    )


if __name__ == "__main__":
    main()
