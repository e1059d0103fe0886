"""All mean inputs that give a branch its mean output, for non-monotone g."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dendrocap.model import Nonlinearity
from dendrocap.theory.gaussian import Moments, prepared
from dendrocap.theory.roots import bracketed_root

__all__ = ["all_mean_inputs"]

Floats = NDArray[np.float64]

ROUNDING = 1e-13  # of E g


def all_mean_inputs(g: Nonlinearity, theta: float, s: float) -> list[float]:
    """All solutions m of E g(m + s x) = theta, for a non-monotone g.

    E g is smooth on the scale s and bends where g does. A grid of half of s, and of an eighth of each piece of g, shows
    its crossings; if it turns between two points on one side of the threshold, its turning point is checked too.
    """
    averages, knots = prepared(g), np.array(g.knots)
    low, high = knots[0] - 8.0 * s, knots[-1] + 8.0 * s
    even = np.linspace(low, high, int(min(max((high - low) / (0.5 * s), 64), 600)))
    pieces = (knots[:-1, None] + np.diff(knots)[:, None] * np.arange(8) / 8.0).ravel()
    far = np.geomspace(1e-3, 1e6, 46)
    near = np.unique(np.concatenate([even, pieces]))
    # Search further out only if necessary: an oscillating g has infinitely many solutions beyond its domain.
    return _crossings(averages, theta, s, near) or _crossings(
        averages, theta, s, np.concatenate([(low - far)[::-1], [low, high], high + far])
    )


def _crossings(averages: Callable[[float, float, float], Moments], theta: float, s: float, grid: Floats) -> list[float]:
    """Solutions of E g = theta between the points of a grid."""

    def excess(m: float) -> float:
        return averages(theta, s, m).mean

    found = [averages(theta, s, m) for m in grid.tolist()]
    roots: list[float] = []
    for left in range(len(grid) - 1):
        (a, at_a), (b, at_b) = (grid[left], found[left]), (grid[left + 1], found[left + 1])
        if max(abs(at_a.mean), abs(at_b.mean)) < ROUNDING * (1.0 + abs(theta)):
            continue  # g approaches the threshold far out
        if at_a.mean * at_b.mean < 0.0:
            roots.append(bracketed_root(excess, a, b).at)
        elif at_a.mean == 0.0 and left > 0 and found[left - 1].mean * at_b.mean < 0.0:
            roots.append(float(a))
        elif at_a.mean * at_a.slope < 0.0 < at_b.mean * at_b.slope:  # it comes closer and goes away again
            turn = bracketed_root(lambda m: averages(theta, s, m).slope, a, b).at
            if excess(turn) * at_a.mean < 0.0:
                roots += [bracketed_root(excess, a, turn).at, bracketed_root(excess, turn, b).at]
    return roots
