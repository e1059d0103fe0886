"""The non-linearities for compiled loops; the only module of the model layer that needs Numba.

g is selected by an integer code and an array of parameters rather than passed as a function: a kernel that takes
functions as arguments is compiled again in every new process, which slows down short-lived workers.
"""

from __future__ import annotations

import math

import numpy as np

from dendrocap.model.nonlinearities import LINEAR, POLSKY, RELU, SATURATING_RELU, STEP, TABLE
from dendrocap.model.table import HEADER
from dendrocap.numerics._caching import njit
from dendrocap.numerics.types import Floats


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
    return _from_table(parameters, x)[0]


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
    return _from_table(parameters, x)[1]


@njit(cache=True)
def value_and_slope(code: int, parameters: Floats, x: float) -> tuple[float, float]:
    """g(x) and g'(x) together: a single exponential for Polsky's sigmoid, a single search in a table."""
    if code == TABLE:
        return _from_table(parameters, x)
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
def _from_table(parameters: Floats, x: float) -> tuple[float, float]:
    """The value and the slope of a table; beyond its ends those of straight lines."""
    n_cells = int(parameters[0])
    low, high = parameters[HEADER], parameters[HEADER + n_cells]
    at = min(max(x, low), high)
    cell = _cell(parameters, at)
    t = at - parameters[HEADER + cell]
    c = HEADER + (n_cells + 1) + 4 * cell
    c0, c1, c2, c3 = parameters[c], parameters[c + 1], parameters[c + 2], parameters[c + 3]
    inside = ((c3 * t + c2) * t + c1) * t + c0
    if x < low:
        return inside + parameters[4] * (x - low), parameters[4]
    if x >= high:
        return inside + parameters[5] * (x - high), parameters[5]
    return inside, (3.0 * c3 * t + 2.0 * c2) * t + c1


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
