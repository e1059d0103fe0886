"""Could the capacities with broken symmetry be too low? Many starts of a gradient search on small neurons.

For loads between the capacity with many steps and the RS capacity the theory says that solutions become rarer with
N; below it, that they do not. A search that finds them more often the larger N is, at a load above, would falsify it.
Finding none proves nothing: a gradient search may miss what exists. Sizes are small, and K = 4 to 6 is far from
infinity.

Usage: python -m benchmarks.rsb_search docs/results/rsb_search.csv [seconds]
"""

from __future__ import annotations

import csv
import sys
import time
from pathlib import Path

import numpy as np

from dendrocap import Nonlinearity, Polsky, SaturatingReLU
from dendrocap.model import NeuronSpec

SIZES = ((4, 4), (5, 6), (6, 8))  # branches, synapses on each
RESTARTS, STEPS = 40, 600
CASES = ((SaturatingReLU(), 1.0, (1.0, 1.5, 2.5)), (Polsky(), 0.5, (1.0, 1.5, 3.0)))


def solved_starts(
    spec: NeuronSpec, g: Nonlinearity, branches: int, size: int, patterns: int, rng: np.random.Generator
) -> int:
    """How many of the starts reach weights that store all patterns, by Adam on the logistic loss, clipped at zero."""
    inputs = rng.integers(0, 2, (patterns, branches, size)).astype(float)
    signs = np.where(rng.random(patterns) < 0.5, 1.0, -1.0)
    W = rng.uniform(0.0, 4.0 * float(spec.levels[0].theta), (RESTARTS, branches, size))
    first, second, done = np.zeros_like(W), np.zeros_like(W), np.zeros(RESTARTS, dtype=bool)
    for step in range(1, STEPS + 1):
        branch = np.einsum("rkn,pkn->rpk", W, inputs) / np.sqrt(size) - np.sqrt(size) * spec.levels[0].theta
        soma = g(branch).sum(axis=2) / np.sqrt(branches) - np.sqrt(branches) * spec.theta_s
        margin = signs * soma
        done |= np.all(margin > 0.0, axis=1)
        if np.all(done):
            break
        steepness = 2.0 + 18.0 * step / STEPS
        pull = -signs / (1.0 + np.exp(np.clip(steepness * margin, -40.0, 40.0)))
        # outside its range g is flat and would never learn: a small slope for the search only
        slope = np.maximum(g.derivative(branch), 0.05)
        gradient = np.einsum("rp,rpk,pkn->rkn", pull, slope, inputs, optimize=True)
        first = 0.9 * first + 0.1 * gradient
        second = 0.99 * second + 0.01 * gradient**2
        rate = 0.06 * (1.0 - step / STEPS) + 0.002
        update = (first / (1.0 - 0.9**step)) / (np.sqrt(second / (1.0 - 0.99**step)) + 1e-9)
        W = np.maximum(W - rate * update, 0.0)
    return int(done.sum())


def main(target: Path, seconds: float) -> None:
    started, counts = time.perf_counter(), {}
    seed = 0
    while time.perf_counter() - started < seconds:
        seed += 1
        for g, theta_d, loads in CASES:
            spec = NeuronSpec(g, theta_d, 0.5)
            for alpha in loads:
                for branches, size in SIZES:
                    n = branches * size
                    rng = np.random.default_rng([seed, n, round(100 * alpha)])
                    found = solved_starts(spec, g, branches, size, round(alpha * n), rng)
                    samples, any_found, starts = counts.get((g.name, theta_d, alpha, n, branches), (0, 0, 0))
                    counts[g.name, theta_d, alpha, n, branches] = (samples + 1, any_found + (found > 0), starts + found)
        with target.open("w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(
                ["nonlinearity", "theta_d", "alpha", "N", "K", "samples", "solved", "solved_starts", "starts"]
            )
            for key, (samples, any_found, starts) in counts.items():
                table.writerow([*key, samples, any_found, starts, samples * RESTARTS])
        print(f"{time.perf_counter() - started:.0f} s, {seed} samples", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 600.0)
