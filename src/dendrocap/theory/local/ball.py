"""All weights at a distance from a reference, whether they solve the task or not: a ball in the positive orthant.

It is what the local entropy is compared with, and the local entropy itself at load 0. The centre has the weights of a
typical solution; means are prescribed [fp-ball].
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dendrocap.errors import ConvergenceError
from dendrocap.numerics.quadrature import legendre_rule
from dendrocap.theory.newton import newton
from dendrocap.theory.saddle_point import SaddlePoint

__all__ = ["Ball", "BallPoint"]

Floats = NDArray[np.float64]

NODES = 12  # per Gauss-Legendre panel
PANELS = 22  # each half as long as the next: the smallest ball bends at a thousandth of a weight
LONGEST = 1.0 / 16.0  # part of the range that a panel may have
DEEP = 42.0  # exponent beyond which an exponential tail does not count
ACCEPTED = 1e-9


class BallPoint(NamedTuple):
    """A ball of one size: entropy per synapse, field, and overlaps of its weights."""

    entropy: float
    coupling: float
    Q: float
    q: float
    S: float


class Ball:
    """Balls around the typical solutions of a saddle point.

    Parameters
    ----------
    reference : SaddlePoint
        Whose solutions are the centres.
    """

    def __init__(self, reference: SaddlePoint) -> None:
        self.Q_reference = reference.Q
        self.W_bar = reference.neuron.tree[0].theta / reference.task.f_in
        self.largest = 1.0 + math.log(self.W_bar)  # of exponentially distributed weights [zero-load]
        # No weight is larger than this: a Gaussian tail, or at load 0 an exponential one.
        spread = math.sqrt(reference.q_hat + reference.A_hat)
        far = (
            DEEP * self.W_bar
            if reference.A_hat == 0.0
            else (max(reference.M_hat, 0.0) + 9.0 * spread) / reference.A_hat
        )
        far = min(far, DEEP * self.W_bar)
        edges = np.concatenate([[0.0], far * LONGEST * 2.0 ** np.arange(-PANELS, 0.0), far * np.arange(1, 17) / 16.0])
        x, w = legendre_rule(NODES)
        middle, half = 0.5 * (edges[1:] + edges[:-1]), 0.5 * np.diff(edges)
        self._centre = (middle[:, None] + half[:, None] * x).ravel()
        self._weight = (half[:, None] * w).ravel() * reference.weights.pdf(self._centre)
        self._last: Floats | None = None

    def at(self, distance: float) -> BallPoint:
        """At a squared distance, relative to the squared norm of the centre."""
        W, squared = self.W_bar, distance * self.Q_reference
        if distance >= 1.0:
            # Beyond the distance of random weights a single weight can make up the rest at no cost.
            return BallPoint(self.largest, 0.0, 2.0 * W**2, W**2, W**2)

        def residuals(x: Floats) -> Floats:
            _, mean, squares, _, product = self._averages(*x)
            found = squares + self.Q_reference - 2.0 * product
            return np.array([(mean / W - 1.0) / math.sqrt(distance), math.log(found / squared)])

        start = np.array([math.log(1.0 / squared), -1.0 / W]) if self._last is None else self._last
        solved = newton(residuals, start, target=1e-12)
        if not solved.residual < ACCEPTED:
            solved = newton(residuals, np.array([math.log(1.0 / squared), 0.0]), target=1e-12)
        if not solved.residual < ACCEPTED:
            raise ConvergenceError(f"no ball of squared radius {distance:g} was found", solved)
        self._last = solved.x
        coupling, field = math.exp(solved.x[0]), float(solved.x[1])
        log_norm, _, squares, mean_squared, product = self._averages(*solved.x)
        entropy = log_norm - field * W + 0.5 * coupling * (squared - self.Q_reference)
        return BallPoint(entropy, coupling, squares, mean_squared, product)

    def _averages(self, log_coupling: float, field: float) -> tuple[float, float, float, float, float]:
        """Of ln of the integral of exp(-coupling w^2 / 2 + (field + coupling centre) w), w, w^2, <w>^2 and w centre."""
        from dendrocap.numerics._compiled import kept_positive_each

        root = math.exp(0.5 * log_coupling)
        log_norm, mean, variance = kept_positive_each(field / root + root * self._centre)
        mean, variance = mean / root, variance / root**2
        return (
            float(self._weight @ log_norm) - 0.5 * log_coupling,
            float(self._weight @ mean),
            float(self._weight @ (mean**2 + variance)),
            float(self._weight @ mean**2),
            float(self._weight @ (mean * self._centre)),
        )
