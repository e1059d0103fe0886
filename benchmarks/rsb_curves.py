"""Capacity against the dendritic threshold with 0, 1, 2 and many steps of breaking, and the AT load, as a CSV table.

Usage: python -m benchmarks.rsb_curves docs/results/rsb_capacity.csv
"""

from __future__ import annotations

import csv
import sys
import time
from pathlib import Path

import numpy as np

from dendrocap import NeuronSpec, Polsky, ReLU, SaturatingReLU, TaskSpec, critical_capacity, stability_limit
from dendrocap.theory.rsb import broken_capacity

DENDRITES = (ReLU(), SaturatingReLU(), Polsky())
THRESHOLDS = np.concatenate([np.geomspace(0.01, 0.05, 5)[:-1], np.geomspace(0.05, 10.0, 15)])
COLUMNS = (
    "nonlinearity", "theta_d", "theta_s", "alpha_at", "alpha_rs", "alpha_1", "alpha_2", "alpha_full",
    "full_error", "levels", "silent_rs", "silent_1", "silent_last", "reason",
)  # fmt: skip


def main(target: Path) -> None:
    started = time.perf_counter()
    with target.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        for g in DENDRITES:
            for theta_d in THRESHOLDS:
                neuron = NeuronSpec(g, float(theta_d), 0.5)
                symmetric = critical_capacity(neuron)
                limit = stability_limit(neuron, TaskSpec(), on_failure="return").alpha
                one = broken_capacity(neuron, rsb=1)
                full = broken_capacity(neuron, rsb="full")
                steps = [*full.by_steps, *[full.by_steps[-1]] * 3]
                numbers = [
                    theta_d, 0.5, limit, symmetric.alpha_c, steps[1], steps[2], full.alpha_c, full.steps_error
                ]  # fmt: skip
                silent = [symmetric.silent_fraction, one.silent_fraction, full.silent_fraction]
                row = [g.name, *(f"{x:.8g}" for x in numbers), full.effective_levels, *(f"{x:.6f}" for x in silent)]
                table.writerow([*row, full.reason])
                file.flush()
                print(f"{time.perf_counter() - started:8.1f} s", *row, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
