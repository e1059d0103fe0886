"""Averages over a broken measure below capacity, where the innermost potential is smooth.

The levels are those of `dendrocap.theory.rsb.cascade`; only the innermost potential differs. At capacity a weight or a
pattern is at the optimum of its field, a one-sided quadratic. Below capacity it fluctuates; in units of its own width
[clusters-end]

    f_k(x) = ln of the integral of exp(x w - w^2 / 2) over w > 0   (weights),      f_k(x) = ln H(x)   (patterns).

Both approach the one-sided quadratic far above x = 0, with the sign that determines the tilts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dendrocap.theory.rsb.cascade import FieldGrid, graded_fields, mass_at, reaches, tilts

__all__ = ["SmoothAverages", "smooth_cascade", "smooth_measure"]

Floats = NDArray[np.float64]


class SmoothAverages(NamedTuple):
    """Averages of a cascade with a smooth end over the whole measure."""

    slope: float  # E f'
    curvature: float  # E f'' of the innermost level; for a weight this is its variance in a given field
    f: Floats  # E_i f_i of each level
    slope2: Floats  # E_i f_i'^2 of each level
    slope_by_start: Floats  # E f' for each start


def smooth_cascade(
    sign: float, starts: Floats, weights: Floats, delta: Floats, mu: Floats, grid: FieldGrid | None = None
) -> SmoothAverages:
    """Averages for the potential of a weight (``sign`` 1) or of a pattern (-1), over starts with given weights.

    Parameters
    ----------
    sign : {1.0, -1.0}
        Sign of the potential. For plus, the tilts must leave every integral finite: see `tilts`.
    starts, weights : array
        Initial fields, and their frequencies.
    delta : array, shape (k + 1,)
        Variance gained at each level, in units of the innermost width.
    mu : array, shape (k,)
        Breaking parameters of levels 1 ... k, increasing.
    """
    from dendrocap.theory.rsb._kernels import average_rows

    grid = FieldGrid() if grid is None else grid
    h, log_step, rows, low, high = _end(sign, starts, delta, mu, grid)
    s = tilts(sign, delta, mu)
    for level in range(len(mu), 0, -1):
        first, last = np.searchsorted(h, [low[level - 1], high[level - 1]])
        inside = slice(max(first - 1, 0), last + 1)
        rows = average_rows(h[inside], h, log_step, rows, level, delta[level], mu[level - 1], s[level - 1], grid.reach)
        h, log_step = h[inside], log_step[inside]
    roots = average_rows(starts, h, log_step, rows, 0, delta[0], 0.0, 0.0, grid.reach)
    mean = weights @ roots
    return SmoothAverages(float(mean[0]), float(mean[1]), mean[2::2], mean[3::2], roots[:, 0])


def smooth_measure(sign: float, start: float, delta: Floats, mu: Floats) -> tuple[Floats, Floats]:
    """Fields of the innermost level, and the broken measure at each of them."""
    h, log_step, rows, _, _ = _end(sign, np.array([start]), delta, mu, FieldGrid())
    return h, mass_at(h, log_step, rows[:, 2 * len(mu) + 2], start, delta, mu)


def _end(
    sign: float, starts: Floats, delta: Floats, mu: Floats, grid: FieldGrid
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """The grid of fields, ln dh/du on it, the observables of the innermost level there, and the range of each level."""
    from dendrocap.theory.rsb._kernels import smooth_end

    s = tilts(sign, delta, mu)
    low, high = reaches(sign, starts, delta, s, grid.reach)
    h, log_step = graded_fields(sign, delta, s, low, high, grid.step, grid)
    return h, log_step, smooth_end(h, sign, len(mu)), low, high
