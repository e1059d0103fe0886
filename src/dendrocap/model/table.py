"""Tables of cubic pieces, which represent functions that compiled code cannot call.

A table is one flat array of floats, so that a kernel needs no special types::

    [n_cells, n_buckets, low, buckets per unit, slope below, slope above,
     edges (n_cells + 1), coefficients (n_cells x 4, lowest power first), first cell of each bucket]

Cells can differ in width. Buckets of equal width reduce the search for a cell to one look-up and a step or two, which
matters inside a training loop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

import numpy as np

from dendrocap.errors import InvalidParameter
from dendrocap.numerics import legendre_rule
from dendrocap.numerics.types import Floats

HEADER = 6
MOST_CELLS = 50_000
MOST_PIECES = 2_000
ROUGH = 1e-3  # relative jump of a slope that a smooth function never shows between or inside its pieces
NOISE = 3e-9  # pieces are accurate to 1e-11; a polynomial of degree 15 has up to 225 times this error in its slope
NARROWEST = 1e-9  # relative width below which the inside of a cell differs from its ends only in the last bits


def packed(edges: Floats, coefficients: Floats, slope_below: float, slope_above: float) -> Floats:
    """The flat array of a table with the given cells, continued by straight lines."""
    n_cells = len(edges) - 1
    n_buckets = 4 * n_cells
    per_unit = n_buckets / (edges[-1] - edges[0])
    starts = edges[0] + np.arange(n_buckets) / per_unit
    first_cell = np.clip(np.searchsorted(edges, starts, side="right") - 1, 0, n_cells - 1)
    header = [n_cells, n_buckets, edges[0], per_unit, slope_below, slope_above]
    return np.concatenate([header, edges, coefficients.ravel(), first_cell]).astype(np.float64)


def adaptive_cubics(
    value: Callable[[Floats], Floats],
    derivative: Callable[[Floats], Floats],
    breakpoints: tuple[float, ...],
    domain: tuple[float, float],
    tolerance: float = 1e-10,
) -> tuple[Floats, Floats]:
    """Edges and coefficients of cubic Hermite pieces that approximate a function to ``tolerance``.

    Cells are halved until the cubic through the ends of a cell agrees with the function at two points inside. No cell
    contains a breakpoint, and values at a breakpoint are taken from the side of the cell, so that kinks and jumps are
    represented exactly.
    """
    low, high = domain
    pieces = distinct(breakpoints, domain)
    edges = np.unique(np.concatenate([np.linspace(a, b, 257) for a, b in pairwise(pieces)]))
    left, right = edges[:-1], edges[1:]
    done_edges: list[Floats] = []
    done_coefficients: list[Floats] = []
    while left.size:
        coefficients = _hermite(value, derivative, left, right)
        width = right - left
        good = np.ones(left.size, dtype=bool)
        for fraction in (0.3, 0.6):  # not only the middle, where an odd function may agree by symmetry
            t = fraction * width
            truth = value(left + t)
            guess = coefficients[:, 0] + t * (coefficients[:, 1] + t * (coefficients[:, 2] + t * coefficients[:, 3]))
            good &= np.abs(guess - truth) <= tolerance * np.maximum(1.0, np.abs(truth))
        good |= width <= NARROWEST * np.maximum(1.0, np.abs(left))
        done_edges.append(left[good])
        done_coefficients.append(coefficients[good])
        left, right = left[~good], right[~good]
        middle = 0.5 * (left + right)
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
        if left.size + sum(map(len, done_edges)) > MOST_CELLS:
            raise InvalidParameter(
                f"function needs more than {MOST_CELLS} cubic pieces on domain = ({low:g}, {high:g}): "
                "it must be smooth between its breakpoints; list every kink and jump in breakpoints"
            )
    starts = np.concatenate(done_edges)
    order = np.argsort(starts)
    return np.append(starts[order], high), np.concatenate(done_coefficients)[order]


class Pieces:
    """A function represented by polynomials of degree 15 between its knots.

    Attributes
    ----------
    knots : array
        Ends of the pieces, from one end of the domain to the other.
    slopes : array, shape (len(knots) - 1, 15)
        Legendre coefficients of the derivative of each piece.
    """

    def __init__(self, value: Callable[[Floats], Floats], knots: Floats) -> None:
        nodes, to_coefficients = _legendre_fit()
        self.knots, self._half = knots, 0.5 * np.diff(knots)
        self.nodes = 0.5 * (knots[1:] + knots[:-1])[:, None] + self._half[:, None] * nodes
        values = value(self.nodes)
        self.slopes = np.polynomial.legendre.legder(values @ to_coefficients, axis=1) / self._half[:, None]
        # Possible effect of rounding on the slope of a piece.
        self.slope_noise = NOISE * np.maximum(np.abs(values).max(axis=1), 1.0) / self._half

    def slope(self, x: Floats) -> Floats:
        """The derivative at points between the first and the last knot; a knot belongs to the piece on its right."""
        piece = np.clip(np.searchsorted(self.knots, x, side="right") - 1, 0, len(self._half) - 1)
        t = (2.0 * x - self.knots[piece] - self.knots[piece + 1]) / (2.0 * self._half[piece])
        return np.asarray(np.einsum("ij,ij->i", np.polynomial.legendre.legvander(t, 14), self.slopes[piece]))

    def slope_at_nodes(self) -> Floats:
        """The derivative at all nodes."""
        return np.asarray(self.slopes @ _slopes_to_nodes())

    def rough(self, breakpoints: tuple[float, ...]) -> list[float]:
        """Points without a breakpoint at which the slope jumps: between two pieces, or inside one.

        A smooth function, however steep, is split until its slope is a polynomial too. A kink leaves pieces whose slope
        is not a polynomial, or neighbours with different slopes.
        """
        largest, last = np.abs(self.slopes).max(axis=1), np.abs(self.slopes[:, -3:]).max(axis=1)
        inside = np.flatnonzero((last > ROUGH * largest) & (last > self.slope_noise))
        signs = (-1.0) ** np.arange(15)
        jump = np.abs((self.slopes[1:] @ signs) - self.slopes[:-1].sum(axis=1))
        between = (jump > ROUGH * np.maximum(largest[1:], largest[:-1])) & (
            jump > np.maximum(self.slope_noise[1:], self.slope_noise[:-1])
        )
        middle = 0.5 * (self.knots[1:] + self.knots[:-1])
        suspects = np.sort(np.concatenate([middle[inside], self.knots[1:-1][between]]))
        named = np.array(breakpoints)
        found: list[float] = []
        for at in suspects.tolist():
            near = 1e-5 * max(1.0, abs(at))
            if not np.any(np.abs(named - at) < near) and not (found and at - found[-1] < near):
                found.append(at)
        return found


@lru_cache(maxsize=1)
def _legendre_fit() -> tuple[Floats, Floats]:
    """Sixteen nodes, and the matrix that converts values there to Legendre coefficients."""
    nodes, weights = legendre_rule(16)
    vander = np.polynomial.legendre.legvander(nodes, 15)
    return nodes, (vander * weights[:, None]) * (np.arange(16) + 0.5)


@lru_cache(maxsize=1)
def _fine_grid() -> tuple[Floats, Floats]:
    """A fine grid, and the Legendre polynomials on it."""
    grid = np.linspace(-1.0, 1.0, 401)
    return grid, np.asarray(np.polynomial.legendre.legvander(grid, 15).T, dtype=np.float64)


@lru_cache(maxsize=1)
def _slopes_to_nodes() -> Floats:
    """The matrix that turns Legendre coefficients of a slope into its values at the nodes."""
    return np.asarray(np.polynomial.legendre.legvander(_legendre_fit()[0], 14).T, dtype=np.float64)


def polynomial_pieces(
    value: Callable[[Floats], Floats], breakpoints: tuple[float, ...], domain: tuple[float, float]
) -> tuple[float, ...]:
    """Points between which a function is a polynomial of degree 15 to about 13 digits.

    Intervals are halved until the last Legendre coefficients of the function vanish and its polynomial also agrees with
    it on a fine grid, where a narrow bump between the nodes would show. Gauss-Legendre rules of 16 points are then
    exact between two neighbouring points.
    """
    nodes, to_coefficients = _legendre_fit()
    grid, at_grid = _fine_grid()
    edges = distinct(breakpoints, domain)
    left, right = edges[:-1], edges[1:]
    done: list[Floats] = [edges]
    while left.size:
        centre, half = 0.5 * (left + right), 0.5 * (right - left)
        coefficients = value(centre[:, None] + half[:, None] * nodes) @ to_coefficients
        inside = np.clip(
            centre[:, None] + half[:, None] * grid,
            np.nextafter(left, np.inf)[:, None],
            np.nextafter(right, -np.inf)[:, None],
        )
        truth = value(inside)
        scale = np.maximum(np.abs(coefficients).max(axis=1), 1e-3)
        # Rounding of x alone changes a steep function by this much; no polynomial can be more accurate.
        noise = 4e-16 * np.maximum(np.abs(left), np.abs(right)) * 16.0 * scale / half
        bad = np.abs(coefficients[:, -3:]).max(axis=1) > 1e-13 * scale + noise
        bad |= np.abs(coefficients @ at_grid - truth).max(axis=1) > 1e-11 * scale + 100.0 * noise
        bad &= half > NARROWEST * np.maximum(1.0, np.abs(centre))
        left, centre, right = left[bad], centre[bad], right[bad]
        done.append(centre)
        left, right = np.concatenate([left, centre]), np.concatenate([centre, right])
        if sum(map(len, done)) > MOST_PIECES:
            raise InvalidParameter(
                f"function needs more than {MOST_PIECES} polynomial pieces on domain = "
                f"({domain[0]:g}, {domain[1]:g}): it must be smooth between its breakpoints; "
                "list every kink and jump in breakpoints"
            )
    return tuple(np.unique(np.concatenate([*done, breakpoints])).tolist())


def distinct(breakpoints: tuple[float, ...], domain: tuple[float, float]) -> Floats:
    """The domain split at the breakpoints inside it; breakpoints that differ only by rounding are merged."""
    low, high = domain
    edges = np.array([low, *(point for point in breakpoints if low < point < high), high])
    return np.append(edges[:-1][np.diff(edges) > NARROWEST * np.maximum(1.0, np.abs(edges[:-1]))], high)


def _hermite(
    value: Callable[[Floats], Floats], derivative: Callable[[Floats], Floats], left: Floats, right: Floats
) -> Floats:
    """Coefficients, lowest power first, in the distance from the left edge of each cell."""
    inside_left, inside_right = np.nextafter(left, np.inf), np.nextafter(right, -np.inf)
    width = right - left
    y0, y1 = value(inside_left), value(inside_right)
    d0, d1 = derivative(inside_left), derivative(inside_right)
    secant = (y1 - y0) / width
    return np.stack([y0, d0, (3.0 * secant - 2.0 * d0 - d1) / width, (d0 + d1 - 2.0 * secant) / width**2], axis=1)
