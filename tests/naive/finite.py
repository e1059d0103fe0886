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


def programmed_distances(g, inputs, stiffness, target, points):
    """d^2 of many rows of equal branches: gains on a grid of ``points`` steps, one branch after the other.

    From above: gains are whole steps. Halving the step shows what is left.
    """
    rise = np.linspace(-1.0, 4.0, 2_000_001)
    table = np.maximum.accumulate(np.asarray(g(rise)))
    steep = np.append(np.diff(table) > 0.0, False)  # where an output has one input
    outputs = np.asarray(g(inputs))
    deficit = np.maximum(target - outputs.sum(axis=1), 0.0)
    best = np.full((len(inputs), points + 1), np.inf)
    best[:, 0] = 0.0
    gains = deficit[:, None] * np.arange(points + 1) / points
    for k in range(inputs.shape[1]):
        wanted = outputs[:, k, None] + gains
        to = np.interp(wanted, table[steep], rise[steep])
        cost = np.where(wanted < table[-1] - 1e-9, (to - inputs[:, k, None]) ** 2 / stiffness, np.inf)
        cost[:, 0] = 0.0
        after = best.copy()
        for step in range(1, points + 1):  # of this branch; a last step may take more than is missing
            reached = best[:, : points + 1 - step] + cost[:, step, None]
            after[:, step:] = np.minimum(after[:, step:], reached)
        best = after
    return np.where(deficit > 0.0, best[:, -1], 0.0)


def dual_distances(g, inputs, stiffness, target, reach=3.0, points=1500):
    """d^2 of many rows of equal branches from below: a price for output, paid to every branch on its own.

    Whatever the price, d^2 is at least what the branches save by it; the best price of a bisection is taken.
    """
    found = np.zeros(len(inputs))
    moves = reach * np.linspace(0.0, 1.0, points) ** 2
    for row, own in enumerate(inputs):
        values = np.asarray(g(own[:, None] + moves))
        if values[:, 0].sum() >= target:
            continue
        low, high = 1e-9, 1e6
        for _ in range(60):
            price = np.sqrt(low * high)
            costs = moves**2 / stiffness - price * values
            at = np.argmin(costs, axis=1)
            found[row] = max(found[row], price * target + costs[np.arange(len(own)), at].sum())
            enough = values[np.arange(len(own)), at].sum() >= target
            low, high = (low, price) if enough else (price, high)
    return found


def nested_log(distances, common, inner_sd, mu, n, rng):
    """ln E_z exp(-mu d^2 / 2) at one common input by plain sampling; two halves remove the bias of the logarithm."""
    weight = np.exp(-0.5 * mu * distances(common + inner_sd * rng.standard_normal((n, common.size))))
    halves = [np.log(weight[part::2].mean()) for part in (0, 1)]
    return 2.0 * np.log(weight.mean()) - np.mean(halves)
