"""Curves given by points, measured or designed: straight or smooth through them, or smooth among them."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dendrocap.errors import InvalidParameter
from dendrocap.model import table
from dendrocap.model.nonlinearities import TABLE, Kernel, Nonlinearity
from dendrocap.numerics.types import Floats
from dendrocap.validation import choice, real_number, refuse

# The smoothest non-decreasing curve that is compatible with measured points.

FEWEST = 6  # points without errors: with fewer, noise cannot be estimated

N_CELLS = 40

N_ROUNDS = 3  # rounds of weighting changes of slope by the slope itself; the curve hardly changes after two

# A steep part may bend more than in proportion. For simulated curves of 16, 32 and 64 points, capacities are off by
# +12, -2 and 0 % with power 1.5, by +7, -6 and -3 % with this one, and by +2, -9 and -4 % with 1.2.
POWER = 1.35

# Few points do not determine how sharp a curve is: with these powers, of which the lower one is that of an ordinary
# smoothing spline, the fit is equally good. For four simulated curves of 8 points, 30 data sets each, intervals that
# reach to both contain the capacity in 67, 87 and 93 % at worst with an upper power of 2, 2.5 and 3.
FLATTEST, SHARPEST = 0.0, 2.75

FLOOR = 0.3  # slopes below this share of the mean slope are set to it: otherwise the penalty would be unbounded


class MonotoneCurve(NamedTuple):
    """A curve with piecewise linear slope, given by its values and slopes at the edges of its cells."""

    edges: Floats
    values: Floats
    slopes: Floats
    freedom: float  # effective number of parameters
    noise: float  # deviation of the points per degree of freedom, in units of their errors if these are known


def monotone_curve(x: Floats, y: Floats, sem: Floats | None, power: float = POWER) -> MonotoneCurve:
    """The curve that minimises chi^2 + penalty with a non-negative slope [smooth-curve]; ``x`` must be ascending.

    The penalty is the integral of (s' / s_0^power)^2 with the slope s_0 of the previous round, so that a steep part may
    bend more than a flat one. Its strength is chosen for the curve without the bound on its slope, by Mallows'
    criterion if errors are known and by Akaike's, corrected for few points, if they are not.
    """
    from scipy.optimize import nnls

    if sem is None and x.size < FEWEST:
        raise InvalidParameter(
            f"{x.size} points without standard errors are too few: give sem, or at least {FEWEST} points, or use "
            "Tabulated, which interpolates the points"
        )
    # Both axes are scaled to [0, 1], so that the result does not depend on units, not even by rounding.
    start, length, bottom, height = float(x[0]), float(x[-1] - x[0]), float(y.min()), float(np.ptp(y))
    if height == 0.0:
        raise InvalidParameter(f"y is not allowed: all {y.size} values are {y[0]:g}, a constant")
    at, weight = (x - start) / length, np.ones(x.size) if sem is None else height / sem
    edges = _edges(at)
    widths = np.diff(edges)
    A = np.column_stack([np.ones(x.size), _integrals(edges, at)]) * weight[:, None]
    target = (y - bottom) / height * weight
    n, unseen = x.size, 0.0
    if n > A.shape[1]:  # as many rows as columns are sufficient; no curve can reduce the remaining sum of squares
        Q, A = np.linalg.qr(A)
        whole, target = float(np.sum(target**2)), Q.T @ target
        unseen = max(whole - float(np.sum(target**2)), 0.0)
    slopes, first, freedom = np.ones(edges.size), 0.0, 0.0
    for _ in range(N_ROUNDS):
        size = 0.5 * (slopes[1:] + slopes[:-1]) + FLOOR
        L = np.diff(np.eye(edges.size), axis=0) / (size**power * np.sqrt(widths))[:, None]
        L = np.column_stack([np.zeros(widths.size), L])
        strength, freedom = _strength(A, target, L, n, unseen, known=sem is not None)
        # The intercept can have either sign: it is the difference of two non-negative numbers.
        G = np.vstack([A, np.sqrt(strength) * L])
        found, _ = nnls(np.column_stack([-G[:, 0], G]), np.concatenate([target, np.zeros(widths.size)]), maxiter=5000)
        first, slopes = found[1] - found[0], found[2:]
    if not np.any(slopes > 0.0):
        raise InvalidParameter("y is not allowed: it does not rise with x, so a curve that never falls would be flat")
    misfit = target - A @ np.concatenate([[first], slopes])
    noise = float(np.sqrt((np.sum(misfit**2) + unseen) / max(x.size - freedom, 1.0))) * (height if sem is None else 1.0)
    rise = np.concatenate([[0.0], np.cumsum(0.5 * widths * (slopes[1:] + slopes[:-1]))])
    return MonotoneCurve(
        start + length * edges, bottom + height * (first + rise), height / length * slopes, freedom, noise
    )


def _edges(x: Floats) -> Floats:
    """Edges of the cells: half of them follow the density of the points, half are evenly spaced."""
    at = np.unique(x)
    even = (at - at[0]) / (at[-1] - at[0])
    return np.interp(np.linspace(0.0, 1.0, N_CELLS + 1), 0.5 * (even + np.linspace(0.0, 1.0, at.size)), at)


def _integrals(edges: Floats, x: Floats) -> Floats:
    """The matrix that maps slopes at the edges to the rise of the curve from the first edge to each x."""
    widths = np.diff(edges)
    cell = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, widths.size - 1)
    share = (x - edges[cell]) / widths[cell]
    whole = np.arange(widths.size) < cell[:, None]  # cells that lie completely below x
    rows = np.arange(x.size)
    result = np.zeros((x.size, edges.size))
    result[:, :-1] += 0.5 * widths * whole
    result[:, 1:] += 0.5 * widths * whole
    result[rows, cell] += widths[cell] * (share - 0.5 * share**2)
    result[rows, cell + 1] += widths[cell] * 0.5 * share**2
    return result


def _strength(A: Floats, target: Floats, L: Floats, n: int, unseen: float, *, known: bool) -> tuple[float, float]:
    """Strength of the penalty |L c|^2 relative to |A c - target|^2, and the effective number of parameters."""
    from scipy.linalg import eigh

    M, P = A.T @ A, L.T @ L
    unit = np.trace(M) / np.trace(P)
    # In the basis that diagonalises both matrices, with M + unit P the identity, the criterion is a simple sum.
    penalty, basis = eigh(unit * P, M + unit * P + 1e-12 * np.trace(M) * np.eye(len(M)))
    penalty = np.clip(penalty, 0.0, 1.0)
    seen = A @ basis
    along = seen.T @ target
    floor = unseen + 1e-20 * float(np.sum(target**2))  # for points that lie exactly on a curve
    best = (np.inf, unit, 2.0)
    for factor in 10.0 ** np.linspace(-7.0, 3.0, 61):
        shrunk = 1.0 / (1.0 - penalty + factor * penalty)
        freedom = float(np.sum((1.0 - penalty) * shrunk))
        left = floor + float(np.sum((target - seen @ (along * shrunk)) ** 2))
        if known:
            criterion = left + 2.0 * freedom
        elif n - freedom - 2.0 > 0.2:
            criterion = n * np.log(left) + 2.0 * n * (freedom + 1.0) / (n - freedom - 2.0)
        else:
            continue
        if criterion < best[0]:
            best = (criterion, factor * unit, freedom)
    return best[1], best[2]


class Pieces(NamedTuple):
    """Cubic pieces: their edges, and coefficients in powers of the distance from the left edge, lowest power first."""

    edges: Floats
    coefficients: Floats

    def at(self, x: Floats) -> Floats:
        """Values at points between the first and the last edge."""
        c, t = self._cells(x)
        return c[..., 0] + t * (c[..., 1] + t * (c[..., 2] + t * c[..., 3]))

    def slopes_at(self, x: Floats) -> Floats:
        """Derivatives at points between the first and the last edge."""
        c, t = self._cells(x)
        return c[..., 1] + t * (2.0 * c[..., 2] + 3.0 * t * c[..., 3])

    def _cells(self, x: Floats) -> tuple[Floats, Floats]:
        cell = np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, len(self.coefficients) - 1)
        return self.coefficients[cell], x - self.edges[cell]


class PiecewiseCubic(Nonlinearity):
    """A continuous curve of cubic pieces, constant or straight beyond its ends."""

    below: str
    above: str

    @property
    @abstractmethod
    def _pieces(self) -> Pieces: ...

    @cached_property
    def _ends(self) -> Floats:
        return self._pieces.edges[[0, -1]]

    @cached_property
    def _inner_slopes(self) -> tuple[float, float]:
        low, high = self._pieces.slopes_at(self._ends)
        return float(low), float(high)

    @cached_property
    def _end_slopes(self) -> tuple[float, float]:
        low, high = self._inner_slopes
        return (low if self.below == "linear" else 0.0, high if self.above == "linear" else 0.0)

    def _value(self, x: Floats) -> Floats:
        (low, high), (first, last) = self._end_slopes, self._ends
        inside = self._pieces.at(np.clip(x, first, last))
        return np.asarray(inside + low * np.minimum(x - first, 0.0) + high * np.maximum(x - last, 0.0))

    def _derivative(self, x: Floats) -> Floats:
        (low, high), (first, last) = self._end_slopes, self._ends
        inside = self._pieces.slopes_at(np.clip(x, first, last))
        slope = np.where((x >= first) & (x < last), inside, np.where(x < first, low, high))
        return np.where(np.isnan(x), np.nan, slope)

    @cached_property
    def breakpoints(self) -> tuple[float, ...]:
        """The ends at which the slope jumps; inside, the curve is continuously differentiable."""
        ends = zip(self._ends.tolist(), self._inner_slopes, self._end_slopes, strict=True)
        return tuple(end for end, inside, outside in ends if inside != outside)

    @cached_property
    def knots(self) -> tuple[float, ...]:
        """Edges of the pieces: between two of them, quadrature is exact for cubics."""
        return tuple(self._pieces.edges.tolist())

    @property
    def range(self) -> tuple[float, float]:
        """Infimum and supremum of g."""
        low_slope, high_slope = self._end_slopes
        rises, falls = low_slope < 0.0 or high_slope > 0.0, low_slope > 0.0 or high_slope < 0.0
        at_edges = self._pieces.at(self._pieces.edges)
        return (-math.inf if falls else float(at_edges.min()), math.inf if rises else float(at_edges.max()))

    @property
    def flat_ends(self) -> tuple[bool, bool]:
        """Whether g is constant below its first knot, and above its last."""
        low, high = self._end_slopes
        return (low == 0.0, high == 0.0)

    @cached_property
    def _table(self) -> Kernel:
        return Kernel(TABLE, table.packed(*self._pieces, *self._end_slopes))


@dataclass(frozen=True)
class _ThroughPoints(PiecewiseCubic):
    """A curve that goes through its points, kept as plain numbers."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    below: str = "flat"
    above: str = "flat"

    def __post_init__(self) -> None:
        x, y = _curve(self.x, self.y)
        steps = np.diff(x)
        if not np.all(steps > 0.0):
            at = int(np.argmax(steps <= 0.0))
            raise refuse("x", f"..., {x[at]}, {x[at + 1]}, ...", "strictly increasing")
        _check_sides(self)
        object.__setattr__(self, "x", tuple(x.tolist()))
        object.__setattr__(self, "y", tuple(y.tolist()))

    @cached_property
    def _slopes(self) -> Floats:
        return np.diff(self.y) / np.diff(self.x)


@dataclass(frozen=True)
class Tabulated(_ThroughPoints):
    """A measured input-output curve, interpolated by shape-preserving cubics (PCHIP).

    The interpolant passes through every point, never overshoots, and is monotone wherever the data are. It treats the
    points as exact: noise causes slopes, and slopes increase the capacity. For noisy points use `Smooth`; a warning is
    issued if the slopes look like noise.

    Parameters
    ----------
    x, y : sequence of float
        The measured points, ``x`` strictly increasing.
    below, above : {"flat", "linear"}
        Whether the curve is constant beyond its ends, or continues with its last slope.

    Examples
    --------
    >>> g = Tabulated([0.0, 0.5, 1.0], [0.0, 0.2, 1.0])
    >>> g([-3.0, 0.5, 9.0]).tolist()
    [0.0, 0.2, 1.0]
    """

    name: ClassVar[str] = "tabulated"
    label: ClassVar[str] = "measured curve"
    colour: ClassVar[str] = "#009E73"

    def __post_init__(self) -> None:
        super().__post_init__()
        if _looks_noisy(self._slopes):
            warnings.warn(
                f"the slopes between the {len(self.x)} points of Tabulated go up and down like noise, which inflates "
                "every capacity computed from them; Smooth(x, y) takes a smooth curve among the points",
                stacklevel=3,
            )

    @cached_property
    def _pieces(self) -> Pieces:
        from scipy.interpolate import PchipInterpolator

        # PCHIP stores the highest power first.
        return Pieces(np.array(self.x), np.ascontiguousarray(PchipInterpolator(self.x, self.y).c[::-1].T))


@dataclass(frozen=True)
class PiecewiseLinear(_ThroughPoints):
    """Straight lines between points: a curve with a kink at each of them.

    A designed curve rather than a measured one: `best_dendrite` answers with it. Averages over it have closed forms.

    Parameters
    ----------
    x, y : sequence of float
        The points, ``x`` strictly increasing.
    below, above : {"flat", "linear"}
        Beyond its ends the curve stays at its last value, or goes on with its last slope.

    Examples
    --------
    >>> g = PiecewiseLinear([0.0, 0.5, 1.0], [0.0, 0.2, 1.0])
    >>> [round(value, 12) for value in g([-3.0, 0.25, 0.75, 9.0]).tolist()]
    [0.0, 0.1, 0.6, 1.0]
    """

    name: ClassVar[str] = "piecewise_linear"
    label: ClassVar[str] = "straight pieces"
    colour: ClassVar[str] = "#5E3CE0"

    @cached_property
    def _pieces(self) -> Pieces:
        rest = np.zeros((len(self.x) - 1, 2))
        return Pieces(np.array(self.x), np.hstack([np.stack([self.y[:-1], self._slopes], axis=1), rest]))

    @property
    def straight_pieces(self) -> tuple[Floats, Floats, Floats]:
        """Places of the kinks, heights there, and slopes of the pieces, one more than kinks."""
        low, high = self._end_slopes
        return np.array(self.x), np.array(self.y), np.concatenate([[low], self._slopes, [high]])

    @cached_property
    def breakpoints(self) -> tuple[float, ...]:
        """Points at which the slope changes."""
        x, _, slopes = self.straight_pieces
        return tuple(x[np.diff(slopes) != 0.0].tolist())


@dataclass(frozen=True)
class Smooth(PiecewiseCubic):
    """A smooth non-decreasing curve fitted to measured points with errors.

    The capacity grows with the mean of g'^2, so a curve through noisy points has a far too large capacity. This curve
    deviates from the points as far as their errors allow: its slope is piecewise linear, never negative, and varies as
    little as the data allow, with more freedom where it is steep [smooth-curve].

    Parameters
    ----------
    x, y : sequence of float
        The measured points in any order; repeated x are allowed.
    sem : sequence of float or float, optional
        Standard error of each y, or of all, which determines how smooth the curve is. Without it, the smoothness is
        chosen by the prediction of left-out points (Akaike's criterion, corrected for few points).
    below, above : {"flat", "linear"}
        Whether the curve is constant beyond the measured x, or continues with its last slope.
    sharpness : float
        From 0, an ordinary smoothing spline, to 3: how much more a steep part may bend than a flat one. Few points do
        not determine it, but the capacity depends on it.

    Examples
    --------
    >>> from dendrocap import Polsky
    >>> x = np.linspace(0.0, 1.5, 32)
    >>> noise = 0.03 * np.random.default_rng(1).standard_normal(32)
    >>> g = Smooth(x, Polsky()(x) + noise, sem=0.03)
    >>> float(np.abs(g(x) - Polsky()(x)).max()) < 0.06
    True
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    sem: tuple[float, ...] | None = None
    below: str = "flat"
    above: str = "flat"
    sharpness: float = POWER
    name: ClassVar[str] = "smooth"
    label: ClassVar[str] = "measured curve, smooth"
    colour: ClassVar[str] = "#882255"  # by Tol, distinguishable from the others
    _found: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        x, y = _curve(self.x, self.y)
        _check_sides(self)
        object.__setattr__(self, "sharpness", real_number("sharpness", self.sharpness, 0.0, 3.0))
        sem = None
        if self.sem is not None:
            sem = _numbers("sem", np.full(x.shape, self.sem) if np.ndim(self.sem) == 0 else self.sem)
            if sem.shape != x.shape or not np.all(sem > 0.0):
                raise refuse("sem", self.sem, f"one number > 0, or one for each of the {x.size} points")
        order = np.argsort(x, kind="stable")
        x, y, sem = x[order], y[order], None if sem is None else sem[order]
        if x[0] == x[-1]:
            raise InvalidParameter(f"x is not allowed: all {x.size} values are {x[0]:g}, a constant")
        object.__setattr__(self, "x", tuple(x.tolist()))
        object.__setattr__(self, "y", tuple(y.tolist()))
        object.__setattr__(self, "sem", None if sem is None else tuple(sem.tolist()))
        object.__setattr__(self, "_found", monotone_curve(x, y, sem, self.sharpness))

    def __repr__(self) -> str:
        return f"Smooth({len(self.x)} points, {self.freedom:.1f} degrees of freedom)"

    @property
    def freedom(self) -> float:
        """Effective number of parameters of the curve."""
        return float(self._found.freedom)

    @property
    def noise(self) -> float:
        """Standard deviation of the points around the curve, in units of their errors if these are known."""
        return float(self._found.noise)

    @cached_property
    def _pieces(self) -> Pieces:
        edges, values, slopes = self._found.edges, self._found.values, self._found.slopes
        bend = 0.5 * np.diff(slopes) / np.diff(edges)
        return Pieces(edges, np.stack([values[:-1], slopes[:-1], bend, np.zeros(bend.size)], axis=1))


def _looks_noisy(slopes: Floats) -> bool:
    """Whether a curve sometimes falls and its slopes alternate in most places; for noise two in three do.

    A hump falls once and a staircase never, and neither is noise. Negligible changes are not counted.
    """
    small = 0.02 * float(np.abs(slopes).max())
    changes = np.diff(slopes)
    changes = changes[np.abs(changes) > small]
    if changes.size < 5 or not np.any(slopes < -small):
        return False
    return bool(np.sum(changes[1:] * changes[:-1] < 0.0) > 0.5 * (changes.size - 1))


def _check_sides(curve: PiecewiseCubic) -> None:
    for side in ("below", "above"):
        choice(side, getattr(curve, side), ("flat", "linear"))


def _curve(x: Any, y: Any) -> tuple[Floats, Floats]:
    """The points, after checks."""
    inputs, outputs = _numbers("x", x), _numbers("y", y)
    if inputs.size < 2 or inputs.shape != outputs.shape:
        raise InvalidParameter(
            f"x and y have {inputs.size} and {outputs.size} points: they must have the same length >= 2"
        )
    return inputs, outputs


def _numbers(name: str, values: Any) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise refuse(name, values, "a sequence of finite numbers") from None
    if array.ndim != 1 or not np.all(np.isfinite(array)):
        raise refuse(name, values, "a sequence of finite numbers")
    return array
