"""Weights drawn uniformly among those that make no error, at fixed branch sums, by moves that anyone can check."""

import math

import numpy as np
from numba import njit

from dendrocap.model._compiled import value


def sampled_solution(neuron, weights, patterns, sweeps, rng):
    """The weights after Metropolis moves between pairs of synapses of one branch, from weights without errors.

    A move takes a random amount from one synapse and gives it to another; it is refused if a weight becomes negative or
    a pattern wrong. Branch sums stay, and all solutions with these sums are equally likely in the long run.
    """
    flat = neuron.flat_weights(weights).copy()
    branch_input = neuron.branch_input(flat, patterns.inputs).T.copy()
    somatic_input = neuron.somatic_input(flat, patterns.inputs)
    assert np.all(patterns.signs * somatic_input > 0.0)
    _metropolis(
        flat,
        np.ascontiguousarray(patterns.dense.T),
        patterns.signs,
        branch_input,
        somatic_input,
        neuron.branch_starts,
        neuron.branch_sizes,
        *neuron.nonlinearity.kernel(),
        sweeps,
        rng,
    )
    return flat


@njit
def _metropolis(w, columns, signs, branch_input, somatic_input, starts, sizes, g, parameters, sweeps, rng):
    n_branches, n_patterns = branch_input.shape
    step, root = w.mean(), math.sqrt(n_branches)
    moved, new = np.empty(n_patterns), np.empty(n_patterns)
    for _ in range(sweeps * w.size):
        branch = rng.integers(0, n_branches)
        i, j = starts[branch] + rng.integers(0, sizes[branch]), starts[branch] + rng.integers(0, sizes[branch])
        amount = rng.uniform(-step, step)
        if i == j or w[i] + amount < 0.0 or w[j] - amount < 0.0:
            continue
        right = True
        for p in range(n_patterns):
            old = branch_input[branch, p]
            moved[p] = old + amount * (float(columns[i, p]) - float(columns[j, p])) / math.sqrt(sizes[branch])
            new[p] = somatic_input[p] + (value(g, parameters, moved[p]) - value(g, parameters, old)) / root
            if signs[p] * new[p] <= 0.0:
                right = False
                break
        if right:
            w[i] += amount
            w[j] -= amount
            branch_input[branch, :] = moved
            somatic_input[:] = new
