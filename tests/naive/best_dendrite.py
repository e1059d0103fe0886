"""The best slopes of a g of many short pieces, with nothing assumed about their values but the limits."""

import numpy as np
from scipy.optimize import LinearConstraint, minimize

from dendrocap import NeuronSpec, PiecewiseLinear, TaskSpec, critical_capacity
from dendrocap.theory.best_dendrite import CapacityGradient


def best_slopes(edges, slope_limit, theta_d, theta_s, task: TaskSpec, start):
    """Slopes between the edges and their replica-symmetric capacity, by sequential quadratic programming."""
    widths = np.diff(edges)

    def cost(slopes):
        y = np.concatenate([[0.0], np.cumsum(np.clip(slopes, 0.0, slope_limit) * widths)])
        solution = critical_capacity(NeuronSpec(PiecewiseLinear(edges, y), theta_d, theta_s), task)
        return -np.log(solution.alpha_c), -CapacityGradient(solution).by_slope

    height = LinearConstraint(widths, theta_s + 1e-3, 1.0)
    bounds = [(0.0, slope_limit)] * len(widths)
    options = {"ftol": 1e-12, "maxiter": 300}
    found = minimize(cost, start, jac=True, method="SLSQP", bounds=bounds, constraints=height, options=options)
    return found.x, float(np.exp(-found.fun))
