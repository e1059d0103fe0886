"""A soma with few branches, without a dynamic programme: grids, minimisers and plain nested sampling."""

import numpy as np
from scipy.optimize import brentq, minimize


def least_input(g, output, start):
    """Smallest x >= start with g(x) >= output."""
    if g(start) >= output:
        return start
    return brentq(lambda x: float(g(x)) - output, start, start + 60.0, xtol=1e-12)


def three_branch_distance(g, inputs, stiffness, deficit, high, points=160):
    """d^2 of three branches: gains of the first two on a grid, the rest from the third."""
    outputs = np.asarray(g(inputs))
    fine = np.linspace(0.0, deficit, points)
    costs = np.full((3, points), np.inf)
    for branch in range(3):
        for k, gain in enumerate(fine):
            if k == 0:
                costs[branch, k] = 0.0
            elif outputs[branch] + gain < high - 1e-6:
                to = least_input(g, outputs[branch] + gain, inputs[branch])
                costs[branch, k] = (to - inputs[branch]) ** 2 / stiffness[branch]
    best = np.inf
    for k in range(points):
        rest = np.arange(points - k)
        best = min(best, costs[0, k] + np.min(costs[1, rest] + costs[2, points - 1 - k - rest]))
    return best


def minimised_distance(g, inputs, stiffness, target, starts, rng):
    """d^2 for a smooth g, from a general minimiser at many starts."""
    best = np.inf
    for _ in range(starts):
        start = inputs + rng.exponential(1.0, inputs.size) * (rng.random(inputs.size) < 0.6)
        found = minimize(
            lambda x: np.sum((x - inputs) ** 2 / stiffness),
            start,
            jac=lambda x: 2.0 * (x - inputs) / stiffness,
            constraints={"type": "ineq", "fun": lambda x: np.sum(g(x)) - target, "jac": lambda x: g.derivative(x)},
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 500},
        )
        if found.success and np.sum(g(found.x)) > target - 1e-8:
            best = min(best, found.fun)
    return best


def plain_log(distances, common, inner_sd, mu, n, rng):
    """ln E_z exp(-mu d^2 / 2) at one common input, with its error, sampled without a tilt."""
    inputs = common + inner_sd * rng.standard_normal((n, common.size))
    weight = np.exp(-0.5 * mu * distances(inputs))
    return np.log(weight.mean()), weight.std() / weight.mean() / np.sqrt(n)
