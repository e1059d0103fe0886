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


@njit
def gibbs_sample(w, fields, temperature, w_max, ridge, sweeps, rng):
    """Metropolis moves of a linear neuron with one branch at a temperature of the number of its errors, in place.

    ``fields`` has one row for each synapse: its centred input in every pattern, in the direction of the label and in
    units of the somatic input. Weight moves between two synapses, so that the sum stays; no weight is negative or
    exceeds w_max. Weights count with exp(-errors / temperature - ridge sum w^2 / 2). Returns the mean share of errors.
    """
    n, n_patterns = fields.shape
    soma, new = np.zeros(n_patterns), np.empty(n_patterns)
    for i in range(n):
        soma += w[i] * fields[i]
    errors, total = np.sum(soma <= 0.0), 0.0
    for _ in range(sweeps * n):
        i, j, amount = rng.integers(0, n), rng.integers(0, n), rng.uniform(-2.0, 2.0)
        if i != j and 0.0 <= w[i] + amount <= w_max and 0.0 <= w[j] - amount <= w_max:
            count = 0
            for p in range(n_patterns):
                new[p] = soma[p] + amount * (fields[i, p] - fields[j, p])
                count += new[p] <= 0.0
            loss = (count - errors) / temperature + ridge * amount * (w[i] - w[j] + amount)
            if loss <= 0.0 or rng.random() < math.exp(-loss):
                w[i] += amount
                w[j] -= amount
                errors = count
                soma[:] = new
        total += errors
    return total / (sweeps * n * n_patterns)
