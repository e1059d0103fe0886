"""How often the 95 % intervals of fits contain the truth: simulated experiments, printed as a table.

Usage: python -m studies.recovery [--data-sets 100] [--points 8,16,32,64] [--kind smooth] [--tested 4000]
"""

import argparse
import math
from typing import NamedTuple

import numpy as np

from dendrocap import NeuronSpec, Polsky, TaskSpec, Units, critical_capacity
from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.fitting import capacity_report, fit_nonlinearity, fit_weights
from dendrocap.fitting.weights import interval_of_logs

TRUTH = NeuronSpec(Polsky(x_min=0.2, gamma=20.0), theta_d=0.045, theta_s=0.3)
TASK, UNITS = TaskSpec(f_in=0.05, f_out=0.05), Units()
FAR = 1.6  # range of the measured curves, in units of the scale


class Recovery(NamedTuple):
    """How well a quantity is recovered: the median of its estimates, and how many intervals contain the truth."""

    quantity: str
    truth: float
    bias: float  # median of the estimates divided by the truth, minus one
    covered: int
    n_data_sets: int


def recover_curves(n_points, *, kind="smooth", noise=0.03, n_data_sets=100, n_resampled=40, seed=0):
    """Replica-symmetric capacity from noisy curves, thresholds and standard errors known."""
    g = Polsky()
    wanted = symmetric(g)
    estimates, covered = [], 0
    x = np.linspace(0.0, FAR, n_points)
    for number in range(n_data_sets):
        rng = np.random.default_rng([seed, n_points, number])
        y = g(x) + noise * rng.standard_normal(n_points)
        fit = fit_nonlinearity(x, y, kind, sem=np.full(n_points, noise), scale=1.0)
        estimates.append(symmetric(fit.nonlinearity))
        again = [symmetric(fit.resampled(rng).nonlinearity) for _ in range(n_resampled)]
        as_good = [symmetric(other.nonlinearity) for other in fit.as_good()]
        covered += interval_of_logs(estimates[-1], again, 0.95, as_good).covers(wanted)
    bias = float(np.nanmedian(estimates)) / wanted - 1.0
    return Recovery(f"capacity from {n_points} points, {kind}", wanted, bias, covered, n_data_sets)


def recover_synapses(n_tested=4000, *, n_data_sets=100, n_bootstrap=200, seed=0):
    """Silent fraction, scale, thresholds and capacity from the amplitudes of a neuron at capacity with known g."""
    solution = critical_capacity(TRUTH, TASK)
    short = critical_capacity(TRUTH, TASK, rsb=1, branch_size=UNITS.n_inputs / UNITS.n_branches)
    truth = {
        "silent fraction": solution.silent_fraction,
        "W_star": float(UNITS.weight_mv(solution.W_star)),
        "theta_d": float(UNITS.theta_d_mv(TRUTH.theta_d)),
        "theta_s": float(UNITS.theta_s_mv(TRUTH.theta_s)),
        "capacity from synapses": short.alpha_c,
    }
    estimates, covered = {name: [] for name in truth}, dict.fromkeys(truth, 0)
    for number in range(n_data_sets):
        rng = np.random.default_rng([seed, n_tested, number])
        amplitudes = UNITS.weight_mv(solution.weights.rvs(n_tested, random_state=rng))
        how = {"nonlinearity": TRUTH.nonlinearity, "task": TASK, "n_bootstrap": n_bootstrap, "rng": rng}
        fit = fit_weights(amplitudes[amplitudes > 0.0], n_tested, **how)
        report = capacity_report(fit, accuracy="fast")
        found = (fit.silent_fraction, fit.W_star_mv, fit.theta_d_mv, fit.theta_s_mv, report.alpha_c)
        for name, value in zip(truth, found, strict=True):
            estimates[name].append(value.value)
            sets = fit.theta_s_sets_mv if name == "theta_s" else [(value.low, value.high)]
            covered[name] += any(low <= truth[name] <= high for low, high in sets)
    return [
        Recovery(name, value, float(np.nanmedian(estimates[name])) / value - 1.0, covered[name], n_data_sets)
        for name, value in truth.items()
    ]


def symmetric(g):
    """Replica-symmetric capacity at the true thresholds; NaN if there is none."""
    try:
        return critical_capacity(NeuronSpec(g, TRUTH.theta_d, TRUTH.theta_s), TASK).alpha_c
    except (NoSolution, ConvergenceError):
        return math.nan


def main():
    """``python -m studies.recovery``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-sets", type=int, default=100)
    parser.add_argument("--points", default="8,16,32,64", help="numbers of points of the curves")
    parser.add_argument("--kind", default="smooth")
    parser.add_argument("--tested", type=int, default=4000, help="pairs tested in each data set of synapses")
    asked = parser.parse_args()
    print("| quantity | truth | median bias | held by 95 % |\n| --- | --- | --- | --- |")
    numbers = [int(part) for part in asked.points.split(",")]
    rows = recover_synapses(asked.tested, n_data_sets=asked.data_sets)
    for row in rows + [recover_curves(n, kind=asked.kind, n_data_sets=asked.data_sets) for n in numbers]:
        print(f"| {row.quantity} | {row.truth:.4g} | {100 * row.bias:+.1f} % | {row.covered} of {row.n_data_sets} |")


if __name__ == "__main__":
    main()
