"""Could the capacities with broken symmetry be too low? Many starts of a learning rule on neurons of growing size.

Between the capacity with many steps (2.096 for Polsky at theta_d = 0.5) and the replica-symmetric one (4.95) the
theory says that solutions become rarer with N; below, that they do not. A search that finds solutions above the broken
capacity as often, or more often, when N grows would falsify it. Finding none proves nothing: a learning rule may miss
what exists, and does so increasingly as the capacity comes near.

Usage: python -m studies.rsb_search [instances]

fills rsb_search.csv, the table of docs/rsb.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from dendrocap import (
    SGD,
    DendriticNeuron,
    HalveOnPlateau,
    Lorentzian,
    NeuronSpec,
    Polsky,
    Recipe,
    random_patterns,
    train_many,
)
from studies.tables import Row, complete

TABLE = Path(__file__).with_suffix(".csv")
SIZES = ((5, 13), (9, 21), (15, 27), (27, 37))  # branches, synapses on each
LOADS = (1.0, 1.2, 1.4, 1.6, 2.3, 2.6)  # the last two lie above the broken capacity
STARTS, PATIENCE, EPOCHS = 8, 200, 3000


def searched(theta_d: float, alpha: float, N: int, K: int, instances: int) -> Row:
    """The best of several starts on each task."""
    recipe = Recipe(SGD(learning_rate=2.0 * theta_d, surrogate=Lorentzian()), HalveOnPlateau(PATIENCE), EPOCHS)
    neuron = DendriticNeuron(NeuronSpec(Polsky(), theta_d, 0.5), N, K)
    best, solved_starts = [], 0
    for instance in range(instances):
        rng = np.random.default_rng([instance, N, round(100 * alpha)])
        patterns = random_patterns(round(alpha * N), N, rng=rng)
        results = train_many(neuron, *patterns, recipes=recipe, seeds=range(STARTS))
        best.append(min(result.error for result in results))
        solved_starts += sum(result.solved for result in results)
    return {
        "solved": sum(error == 0.0 for error in best),
        "solved_starts": solved_starts,
        "starts": STARTS * instances,
        "mean_best_error": round(float(np.mean(best)), 5),
    }


if __name__ == "__main__":
    instances = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    complete(TABLE, searched, [(0.5, alpha, K * n, K, instances) for K, n in SIZES for alpha in LOADS])
