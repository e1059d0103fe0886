"""Kernels: how a dendritic tree transforms the variance and the overlap of its inputs.

A branch receives a Gaussian pre-activation of variance V; two replicas of it share all but a part dV of this
variance. Their outputs are again Gaussian at the soma, or at the next level of a deeper tree, with a variance
and a difference that are functions of V and dV. The pair (V, dV), rather than variance and covariance, keeps
every digit when the replicas come close, as they do at capacity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model import Custom, Nonlinearity, PiecewiseCubic
from dendrocap.model.neuron import NeuronSpec, TaskSpec
from dendrocap.numerics.quadrature import hermite_rule, legendre_rule
from dendrocap.theory.mean_inputs import all_mean_inputs
from dendrocap.theory.response import (
    Response,
    check_reachable,
    common_variance,
    inverse_guess,
    is_monotone,
    levels_with_thresholds,
    response,
)
from dendrocap.theory.roots import monotone_root

__all__ = ["BranchKernel", "BranchPair", "PairKernel", "TreeKernel", "composed"]

Floats = NDArray[np.float64]

NODES = 12  # per Gauss-Legendre panel


@dataclass(frozen=True)
class PairKernel:
    """Variance and overlap at the soma, with derivatives.

    Derivatives with respect to ``Q`` are total, with the mean pre-activations following Q, and are taken at
    fixed ``dq = Q - q``; those with respect to ``dq`` at fixed Q.

    Attributes
    ----------
    D0, D1 : float
        Covariance of the somatic input of two replicas, and the rest of its variance.
    dD1_ddq : float
        Derivative of D1 with respect to dq. This is also C'(q), the derivative of D0 with respect to q.
    dD1_dQ, dGamma0_dQ : float
        Derivatives of D1, and of the variance Gamma0 = D0 + D1, with respect to Q.
    d2D0_dq2 : float
        C''(q), the curvature of D0 as a function of the overlap q at fixed Q.
    mean_slope : float
        Product over the levels of E g': the effect of a small shift of the mean pre-activation on the soma.
    means : tuple of float
        Mean pre-activation of each level, fixed by the threshold above it.
    """

    D0: float
    D1: float
    dD1_ddq: float
    dD1_dQ: float
    dGamma0_dQ: float
    d2D0_dq2: float
    mean_slope: float
    means: tuple[float, ...]


@dataclass(frozen=True)
class BranchPair:
    """Outputs of one branch in two replicas: the entries of `PairKernel`, for one g, in V and dV.

    ``response`` is that of a single replica; ``d2D0_dc2`` is the curvature of D0 in the covariance c = V - dV.
    """

    response: Response
    D0: float
    D1: float
    dD1_ddV: float
    dD1_dV: float
    d2D0_dc2: float


class FixedMeanPair(NamedTuple):
    """Outputs of one branch in two replicas at a given mean input m, with partial derivatives."""

    D0: float
    D1: float
    dD1_ddV: float  # at fixed V and m
    dD1_dV: float  # at fixed dV and m
    dD1_dm: float  # at fixed V and dV
    d2D0_dc2: float


class BranchKernel:
    """The kernel of one non-linearity whose mean output is held at a threshold.

    Parameters
    ----------
    nonlinearity : Nonlinearity
        g. Jumps are allowed.
    threshold : float
        The mean of g, which fixes the mean of the pre-activation: theta_s, or the next level's threshold.
    nodes : int
        Gauss-Legendre nodes per panel.
    """

    def __init__(self, nonlinearity: Nonlinearity, threshold: float, nodes: int = NODES) -> None:
        self.nonlinearity = nonlinearity
        self.threshold = threshold
        self.knots, self.kinks = _marks(nonlinearity)
        self._rule, self._smooth_rule = legendre_rule(nodes), hermite_rule(nodes + 4)
        # A user-defined g without a derivative is used through its values alone.
        self._has_slope = not isinstance(nonlinearity, Custom) or nonlinearity.derivative_function is not None
        self._last: tuple[float, Response] | None = None  # V and its response
        self._series: tuple[tuple[float, float, int], Floats] | None = None  # the last Hermite coefficients

    def response(self, V: float) -> Response:
        """Mean pre-activation, output variance and their derivatives at pre-activations of variance V."""
        g = self.nonlinearity
        if self._last is None:
            # A function like the step passes its threshold at a jump.
            guess = float(self.kinks[0]) if g.has_jumps else self._first_guess(V)
        else:
            V_last, last = self._last
            # Linear extrapolation from the last answer is accurate only for small changes.
            guess = last.mean + (last.d_mean * (V - V_last) if abs(V - V_last) < 0.2 * V_last else 0.0)
        by_parts = g.has_jumps or not self._has_slope
        found = self._response_by_parts(V, guess) if by_parts else response(g, self.threshold, V, guess)
        self._last = (V, found)
        return found

    def _first_guess(self, V: float) -> float:
        """A mean input to start from; raises if there are several."""
        if is_monotone(self.nonlinearity):
            return inverse_guess(self.nonlinearity, self.threshold)
        found = all_mean_inputs(self.nonlinearity, self.threshold, math.sqrt(V))
        if len(found) != 1:
            raise NoSolution(
                f"{len(found)} mean inputs give {self.nonlinearity!r} the mean output {self.threshold:g} at a variance "
                f"of {V:g}, because g is not monotone: critical_capacity, saddle_point and stability_limit of one "
                "level of branches look at all of them, deep trees and other functions need exactly one"
            )
        return found[0]

    def _response_by_parts(self, V: float, guess: float) -> Response:
        """The same from values of g alone, except for its gain E g'^2, which is not needed here."""
        from dendrocap.theory._kernels import branch_nodes

        sd = math.sqrt(V)

        def excess(mean: float) -> tuple[Floats, Floats, Floats]:
            x, weight = branch_nodes(mean, sd, self.knots, *self._rule)
            return np.asarray(self.nonlinearity(mean + sd * x)) - self.threshold, x, weight

        def miss(mean: float) -> tuple[float, float]:
            above, x, weight = excess(mean)
            return float(weight @ above), max(float(weight @ (above * x)) / sd, 0.0)

        mean = monotone_root(miss, guess, sd).at
        above, x, weight = excess(mean)
        slope = float(weight @ (above * x)) / sd
        d_mean = -0.5 * float(weight @ (above * (x * x - 1.0))) / V / slope
        square = weight * above * above
        d_variance = 0.5 * float(square @ (x * x - 1.0)) / V + d_mean * float(square @ x) / sd
        return Response(mean, slope, float(np.sum(square)), math.nan, d_mean, d_variance, math.nan)

    def at(self, V: float, dV: float) -> BranchPair:
        """Variance and overlap of the outputs for inputs of variance V of which replicas share V - dV."""
        own = self.response(V)
        pair = self.pair(V, dV, own.mean, self.threshold)
        return BranchPair(
            response=own,
            D0=pair.D0,
            D1=pair.D1,
            dD1_ddV=pair.dD1_ddV,
            dD1_dV=pair.dD1_dV + own.d_mean * pair.dD1_dm,
            d2D0_dc2=pair.d2D0_dc2,
        )

    def pair(self, V: float, dV: float, mean: float, centre: float) -> FixedMeanPair:
        """The same at a given mean input, with outputs centred by ``centre``."""
        from dendrocap.theory._kernels import common_nodes

        common_sd, rest = math.sqrt(V - dV), math.sqrt(dV)
        common, weight = common_nodes(mean, common_sd, rest, self.knots, self.kinks, *self._rule)
        if math.isnan(common[0]):
            raise ConvergenceError(
                f"too many panels are needed for {self.nonlinearity!r} at variances {V:g} and {dV:g}"
            )
        average, slope, curvature, variance, covariance = self.given_common(common, rest)
        weighted = weight * covariance
        return FixedMeanPair(
            D0=float(weight @ (average - centre) ** 2),
            D1=float(weight @ variance),
            dD1_ddV=float(weight @ slope**2),
            # Along V at fixed dV only the common part changes: by parts.
            dD1_dV=float(weighted @ (common - mean)) / common_sd**2,
            dD1_dm=2.0 * float(np.sum(weighted)),
            d2D0_dc2=float(weight @ curvature**2),
        )

    def series(self, mean: float, sd: float, order: int) -> Floats:
        """Coefficients of g(mean + sd x) in normalised Hermite polynomials, up to an order."""
        from dendrocap.theory._kernels import hermite_coefficients, series_nodes

        if self._series is None or self._series[0] != (mean, sd, order):
            x, weight = series_nodes(mean, sd, order, self.knots, *self._rule)
            values = np.asarray(self.nonlinearity(mean + sd * x), dtype=np.float64)
            self._series = (mean, sd, order), hermite_coefficients(x, weight * values, order)
        return self._series[1]

    def given_common(self, common: Floats, rest: float) -> Floats:
        """Averages over the part that two inputs do not share, N(0, rest^2), one column per value of the common part.

        Rows: means of g, g' and g'', variance of g, covariance of g and g'.
        """
        from dendrocap.theory._kernels import conditional_moments, evaluate, rest_nodes

        g = self.nonlinearity
        smooth, start, x, weight_x = rest_nodes(
            common, rest, self.knots, self.kinks, g.flat_ends, self._rule, self._smooth_rule, self._has_slope
        )
        if isinstance(g, Custom):
            at = np.repeat(common, np.diff(start)) + rest * x
            values, slopes = g(at), g.derivative(at) if self._has_slope else np.zeros_like(at)
        else:
            values, slopes = evaluate(*g.kernel(), common, rest, smooth, start, x)
        return conditional_moments(rest, smooth, start, x, weight_x, values, slopes)


class TreeKernel:
    """The kernel of a whole neuron: levels composed from the synapses to the soma.

    Parameters
    ----------
    neuron : NeuronSpec
        With one level, this is the paper's model.
    task : TaskSpec
        Only coding level and correlation of the inputs matter here.
    nodes : int
        Gauss-Legendre nodes per panel.
    """

    def __init__(self, neuron: NeuronSpec, task: TaskSpec, nodes: int = NODES) -> None:
        check_reachable(neuron)
        self._levels = [BranchKernel(g, threshold, nodes) for g, threshold in levels_with_thresholds(neuron)]
        self._v = task.f_in * (1.0 - task.f_in)
        self._chi = common_variance(neuron, task)

    def at(self, Q: float, dq: float) -> PairKernel:
        """Overlaps at the soma for weights of mean square Q and overlap Q - dq between replicas."""
        return composed(self._levels, self._v * Q + self._chi, self._v * dq, self._v)


def composed(levels: Sequence[BranchKernel], V: float, dV: float, v: float) -> PairKernel:
    """The kernel of levels on top of each other; the first sees inputs of variance V = v Q + chi and dV = v dq."""
    V_Q, dV_Q, dV_dq, curvature, slope = v, 0.0, v, 0.0, 1.0
    means: list[float] = []
    for level in levels:
        branch = level.at(V, dV)
        # chain rule: dV' = dD1_dV dV + dD1_ddV d(dV), and the second derivative of a composed C(c)
        curvature = branch.d2D0_dc2 * dV_dq**2 + branch.dD1_ddV * curvature
        dV_Q = branch.dD1_dV * V_Q + branch.dD1_ddV * dV_Q
        dV_dq *= branch.dD1_ddV
        V_Q *= branch.response.d_variance
        slope *= branch.response.slope
        means.append(branch.response.mean)
        V, dV = branch.response.variance, branch.D1
    return PairKernel(
        D0=branch.D0,
        D1=dV,
        dD1_ddq=dV_dq,
        dD1_dQ=dV_Q,
        dGamma0_dQ=V_Q,
        d2D0_dq2=curvature,
        mean_slope=slope,
        means=tuple(means),
    )


@lru_cache(maxsize=64)
def _marks(g: Nonlinearity) -> tuple[Floats, Floats]:
    """The ends of panels, and those of them where g is not analytic."""
    kinks = g.breakpoints
    if isinstance(g, PiecewiseCubic):
        kinks = g.knots  # cubic pieces meet there
    if isinstance(g, Custom):
        kinks = tuple(sorted({*kinks, *g.domain}))  # g may be rough beyond its domain
    return np.array(sorted({*g.knots, *kinks}), dtype=np.float64), np.array(kinks, dtype=np.float64)
