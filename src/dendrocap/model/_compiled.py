"""The non-linearities for compiled loops; the only module of the model layer that needs Numba.

g is selected by an integer code and an array of parameters rather than passed as a function: a kernel that takes
functions as arguments is compiled again in every new process, which slows down short-lived workers.
"""

from __future__ import annotations

import math

import numpy as np

from dendrocap.model.nonlinearities import LINEAR, POLSKY, RELU, SATURATING_RELU, STEP
from dendrocap.model.table import HEADER
from dendrocap.numerics._caching import njit
from dendrocap.numerics.types import Floats

__all__ = ["slope", "slopes", "value", "value_and_slope", "values"]


@njit(cache=True)
def value(code: int, parameters: Floats, x: float) -> float:
    """g(x) of the non-linearity with this code."""
    if code == LINEAR:
        return x
    if code == RELU:
        return max(x, 0.0)
    if code == SATURATING_RELU:
        return min(max(x, 0.0), 1.0)
    if code == STEP:
        return 1.0 if x > 0.0 else 0.0
    if code == POLSKY:
        x_min, gamma = parameters[0], parameters[1]
        if x < x_min:
            return max(x, 0.0)
        return x_min + (1.0 - x_min) * math.tanh(0.5 * gamma * (x - x_min))
    return _table_value(parameters, x)


@njit(cache=True)
def slope(code: int, parameters: Floats, x: float) -> float:
    """g'(x) of the non-linearity with this code."""
    if code == LINEAR:
        return 1.0
    if code == RELU:
        return 1.0 if x > 0.0 else 0.0
    if code == SATURATING_RELU:
        return 1.0 if 0.0 < x < 1.0 else 0.0
    if code == STEP:
        return 0.0
    if code == POLSKY:
        x_min, gamma = parameters[0], parameters[1]
        if x < x_min:
            return 1.0 if x > 0.0 else 0.0
        decay = math.exp(-gamma * (x - x_min))
        return 2.0 * gamma * (1.0 - x_min) * decay / (1.0 + decay) ** 2
    return _table_slope(parameters, x)


@njit(cache=True)
def value_and_slope(code: int, parameters: Floats, x: float) -> tuple[float, float]:
    """g(x) and g'(x) together, which needs a single exponential for Polsky's sigmoid."""
    if code == POLSKY and x >= parameters[0]:
        x_min, gamma = parameters[0], parameters[1]
        decay = math.exp(-gamma * (x - x_min))
        share = 1.0 / (1.0 + decay)
        height = 1.0 - x_min
        return x_min + height * (1.0 - decay) * share, 2.0 * gamma * height * decay * share * share
    return value(code, parameters, x), slope(code, parameters, x)


@njit(cache=True)
def _cell(parameters: Floats, x: float) -> int:
    """Index of the table cell that contains x, for x inside its edges."""
    n_cells, n_buckets = int(parameters[0]), int(parameters[1])
    bucket = min(int((x - parameters[2]) * parameters[3]), n_buckets - 1)
    cell = int(parameters[HEADER + (n_cells + 1) + 4 * n_cells + bucket])
    # Rounding may give a bucket that is one too high or too low.
    while cell > 0 and x < parameters[HEADER + cell]:
        cell -= 1
    while cell < n_cells - 1 and x >= parameters[HEADER + cell + 1]:
        cell += 1
    return cell


@njit(cache=True)
def _table_value(parameters: Floats, x: float) -> float:
    n_cells = int(parameters[0])
    low, high = parameters[HEADER], parameters[HEADER + n_cells]
    at = min(max(x, low), high)
    cell = _cell(parameters, at)
    t = at - parameters[HEADER + cell]
    c = HEADER + (n_cells + 1) + 4 * cell
    inside = ((parameters[c + 3] * t + parameters[c + 2]) * t + parameters[c + 1]) * t + parameters[c]
    return inside + parameters[4] * min(x - low, 0.0) + parameters[5] * max(x - high, 0.0)


@njit(cache=True)
def _table_slope(parameters: Floats, x: float) -> float:
    n_cells = int(parameters[0])
    if x < parameters[HEADER]:
        return parameters[4]
    if x >= parameters[HEADER + n_cells]:
        return parameters[5]
    cell = _cell(parameters, x)
    t = x - parameters[HEADER + cell]
    c = HEADER + (n_cells + 1) + 4 * cell
    return (3.0 * parameters[c + 3] * t + 2.0 * parameters[c + 2]) * t + parameters[c + 1]


@njit(cache=True)
def values(code: int, parameters: Floats, x: Floats) -> Floats:
    """g at every entry of a 1-D array."""
    result = np.empty_like(x)
    for i in range(x.size):
        result[i] = value(code, parameters, x[i])
    return result


@njit(cache=True)
def slopes(code: int, parameters: Floats, x: Floats) -> Floats:
    """g' at every entry of a 1-D array."""
    result = np.empty_like(x)
    for i in range(x.size):
        result[i] = slope(code, parameters, x[i])
    return result
