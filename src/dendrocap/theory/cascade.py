"""Averages over a broken measure: levels of Gaussian fields, each tilted by the levels inside it.

A field h starts at h_0, gains an independent Gaussian part of variance delta_i at each level i = 0 ... k, and ends
under a potential f_k. Going inwards, level i is tilted by exp(mu_i f_i) [rsb-recursion]:

    f_{i-1}(h) = (1/mu_i) ln E_z exp(mu_i f_i(h + sqrt(delta_i) z)),      E f_0 at the root, without a tilt.

Both the entropic and the energetic part have this form. At capacity a weight or a pattern is at the optimum of its
field, the one-sided quadratic f_k = +-max(h, 0)^2 / 2: plus for the weights, minus for the patterns. Its innermost
average has a closed form; the others are sums over one grid. Below capacity the end is smooth; in units of the
innermost width [clusters-end]

    f_k(x) = ln of the integral of exp(x w - w^2 / 2) over w > 0   (weights),      f_k(x) = ln H(x)   (patterns).

Both ends agree far above x = 0, with the sign that determines the tilts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dendrocap.errors import ConvergenceError
from dendrocap.numerics.types import Floats

MOST_WIDTHS = 4_000  # range of all levels together, in their own standard deviations

SMOOTH = 4.0  # width of steps in the density of points, in standard deviations of their level


class Averages(NamedTuple):
    """Averages of a cascade over the whole measure."""

    slope: float  # E f'
    curvature: float  # E f'' of the innermost level; for a weight below capacity this is its variance in a given field
    f: Floats  # E_i f_i of each level
    slope2: Floats  # E_i f_i'^2 of each level
    slope_by_start: Floats  # E f' for each start

    @property
    def active(self) -> float:
        """P_k(h > 0), at capacity."""
        return abs(self.curvature)


class FieldGrid(NamedTuple):
    """Resolution of the fields: steps in units of the local scale, and range in standard deviations."""

    step: float = 0.48
    reach: float = 9.0

    def doubled(self) -> FieldGrid:
        """Twice as many points, over a larger range."""
        return FieldGrid(0.5 * self.step, self.reach + 1.5)


USUAL = FieldGrid()


class _Levels(NamedTuple):
    """The levels on the grid: all of them, or all but the innermost if its average has a closed form."""

    h: Floats  # the fields
    log_step: Floats  # ln dh/du there
    rows: Floats  # observables of the last level there
    low: Floats  # range of each level
    high: Floats


def cascade(
    sign: float,
    starts: Floats,
    weights: Floats,
    delta: Floats,
    mu: Floats,
    grid: FieldGrid = USUAL,
    smooth: bool = False,
) -> Averages:
    """Averages for the potential of a weight (``sign`` 1) or of a pattern (-1), over starts with given weights.

    ``delta`` are the variances gained at levels 0 ... k, none at level 0 if clusters have nothing in common; ``mu`` the
    breaking parameters of levels 1 ... k, increasing. For plus, the tilts must leave every integral finite: see
    `tilts`. The end is ``smooth`` below capacity.
    """
    from dendrocap.theory._cascade import average_rows, innermost_rows

    k, s = len(mu), tilts(sign, delta, mu)
    unrelated = delta[0] == 0.0
    if k == 1 and unrelated and not smooth:
        return _averages(sign, weights, innermost_rows(starts, sign, delta[1], mu[0], 1), smooth)
    h, log_step, rows, low, high = _levels(sign, starts, delta, mu, grid, smooth)
    for level in range(len(low) - 1, 0, -1):
        # Only fields that the level below can reach are needed.
        first, last = np.searchsorted(h, [low[level - 1], high[level - 1]])
        inside = slice(max(first - 1, 0), last + 1)
        at = starts if unrelated and level == 1 else h[inside]
        rows = average_rows(at, h, log_step, rows, level, delta[level], mu[level - 1], s[level - 1], grid.reach)
        h, log_step = h[inside], log_step[inside]
    if not unrelated:
        rows = average_rows(starts, h, log_step, rows, 0, delta[0], 0.0, 0.0, grid.reach)
    return _averages(sign, weights, rows, smooth)


def _averages(sign: float, weights: Floats, roots: Floats, smooth: bool) -> Averages:
    """The averages from the observables at each start."""
    mean = weights @ roots
    curvature = float(mean[1]) if smooth else sign * float(mean[1])
    return Averages(float(mean[0]), curvature, mean[2::2], mean[3::2], roots[:, 0])


def measure(
    sign: float, start: float, delta: Floats, mu: Floats, grid: FieldGrid = USUAL, smooth: bool = False
) -> tuple[Floats, Floats]:
    """Fields of the innermost level, or before it at capacity, and the broken measure at each of them.

    The measure follows the levels inwards: P_i(h') is the average of P_{i-1}(h) over the Gaussian step from h to h',
    tilted by exp(mu_i (f_i(h') - f_{i-1}(h))) [rsb-measure].
    """
    h, log_step, rows, low, _ = _levels(sign, np.array([start]), delta, mu, grid, smooth)
    f = rows[:, 2 * len(low)]

    def log_gauss(distance: Floats, variance: float) -> Floats:
        return np.asarray(-0.5 * distance**2 / variance - 0.5 * math.log(2.0 * math.pi * variance))

    steps = []  # from the last level outwards: the step from a field h (rows) to a field h' (columns), normalised
    for level in range(len(low) - 1, 0, -1):
        log_weight = log_gauss(h[:, None] - h[None, :], delta[level]) + mu[level - 1] * f + log_step
        top = log_weight.max(axis=1, keepdims=True)
        weight = np.exp(log_weight - top)
        total = weight.sum(axis=1, keepdims=True)
        steps.append(weight / total)
        f = ((top + np.log(total)) / mu[level - 1])[:, 0]
    mass = np.exp(log_gauss(h - start, delta[0]) + log_step)
    for step in reversed(steps):
        mass = mass @ step
    return h, np.asarray(mass / mass.sum())


def _levels(sign: float, starts: Floats, delta: Floats, mu: Floats, grid: FieldGrid, smooth: bool) -> _Levels:
    """The grid of fields, and the observables of its innermost level there."""
    from dendrocap.theory._cascade import innermost_rows, smooth_end

    k, s = len(mu), tilts(sign, delta, mu)
    on_grid = delta if smooth else delta[:k]
    low, high = reaches(sign, starts, on_grid, s, grid.reach)
    # Around the kink, f_{k-1} bends on the scale sqrt(delta_k (1 - s_k)).
    fine = grid.step if smooth else grid.step * math.sqrt(delta[k] * min(1.0 - s[k - 1], 1.0))
    h, log_step = graded_fields(sign, on_grid, s, low, high, fine, grid)
    rows = smooth_end(h, sign, k) if smooth else innermost_rows(h, sign, delta[k], mu[k - 1], k)
    return _Levels(h, log_step, rows, low, high)


def reaches(sign: float, starts: Floats, delta: Floats, s: Floats, reach: float) -> tuple[Floats, Floats]:
    """Lowest and highest relevant field of each level in ``delta``.

    Where f is quadratic the tilted field is a stretched Gaussian: level i multiplies it by 1 / (1 - s_i) and adds a
    variance delta_i / (1 - s_i). The narrowing by a restoring potential is not used.
    """
    levels = len(delta)
    low, high, wide, centre = np.empty(levels), np.empty(levels), 0.0, float(starts.max())
    for level in range(levels):
        stretch = 1.0 / (1.0 - s[level - 1]) if level > 0 and sign > 0.0 else 1.0
        wide = wide * stretch**2 + delta[level] * stretch
        centre = max(centre, centre * stretch)
        plain = math.sqrt(float(np.sum(delta[: level + 1])))
        low[level] = float(starts.min()) - reach * plain
        high[level] = max(centre + reach * math.sqrt(wide), 0.0)
    return low, high


def graded_fields(
    sign: float, delta: Floats, s: Floats, low: Floats, high: Floats, fine: float, grid: FieldGrid
) -> tuple[Floats, Floats]:
    """A grid for the levels in ``delta``, ``fine`` around zero, and ln dh/du on it.

    Each level adds a density of points that resolves its own Gaussian, in the range that it reaches; below the kink
    the width is sqrt(delta_i), above it that of the tilted Gaussian.
    """
    from dendrocap.theory._cascade import graded_grid

    steps: list[tuple[float, float, float]] = []
    for level in np.flatnonzero(delta).tolist():
        sd = math.sqrt(delta[level])
        below = 1.0 / (grid.step * sd)
        tilt = s[level - 1] if level > 0 else 0.0
        # A tilt outwards widens the Gaussian by 1 / sqrt(1 - s), but only far above the kink: half of it in the
        # exponent is safe (4e-10 instead of 6e-7 at three levels with s = 0.97), a tilt inwards counts in full.
        above = below * (1.0 - tilt) ** (0.25 if tilt > 0.0 else 0.5)
        # Steps this smooth have their poles too far away to affect the trapezoidal rule.
        smooth = SMOOTH * sd
        steps.append((low[level], smooth, below))
        steps.append((sign * smooth, smooth, above - below))
        steps.append((high[level], smooth, -above))
    spread = delta > 0.0
    if not float(np.sum((high - low)[spread] / np.sqrt(delta[spread]))) < MOST_WIDTHS:
        raise ConvergenceError(f"levels of too different width: variances {delta} at tilts {s}")
    return graded_grid(low[-1], high[-1], fine, 0.5 * grid.step, np.array(steps))


def tilts(sign: float, delta: Floats, mu: Floats) -> Floats:
    """s_i: mu_i f_i grows as s_i h^2 / (2 delta_i), where s_i < 1 is needed. Level 1 first.

    The quadratic part of f_i is sign h^2 / (2 a_i) with a_k = 1 and a_{i-1} = a_i - sign mu_i delta_i.
    """
    s, a = np.empty(len(mu)), 1.0
    for level in range(len(mu), 0, -1):
        s[level - 1] = sign * mu[level - 1] * delta[level] / a
        a *= 1.0 - s[level - 1]
    return s


def gaussian_cascade(delta: Floats, mu: Floats) -> Averages:
    """The averages for f_k = h^2 / 2 on both sides and h_0 = 0, where all levels are Gaussian [rsb-spherical]."""
    k = len(mu)
    a = np.ones(k + 1)
    for level in range(k, 0, -1):
        a[level - 1] = a[level] - mu[level - 1] * delta[level]
    # f_i = h^2 / (2 a_i) + rest_i, and the field's variance under the tilted measure
    f, slope2, rest = np.zeros(k + 1), np.zeros(k + 1), np.zeros(k + 1)
    for level in range(k, 0, -1):
        rest[level - 1] = rest[level] - 0.5 / mu[level - 1] * math.log(a[level - 1] / a[level])
    variance = delta[0]
    for level in range(k + 1):
        if level > 0:
            stretch = a[level] / a[level - 1]
            variance = variance * stretch**2 + delta[level] * stretch
        slope2[level] = variance / a[level] ** 2
        f[level] = 0.5 * variance / a[level] + rest[level]
    return Averages(0.0, 1.0, f, slope2, np.zeros(1))
