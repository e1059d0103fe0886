"""Branches of n synapses with binary inputs: their deviation from Gaussian inputs, and its effect on the capacity.

The theory assumes a Gaussian summed input of a branch. With n synapses, of which a fraction f_in is active, it is a
sum of few terms; it is skewed if f_in differs from 1/2, and the norms of the branches vary. The kernels of such
branches are measured: weights are drawn from the distribution predicted by the theory, inputs are binary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from dendrocap.finite_size.soma import BATCHES, Sampled
from dendrocap.model import Nonlinearity, TaskSpec
from dendrocap.numerics.types import Floats
from dendrocap.theory import scope
from dendrocap.theory.broken import BrokenState, Side
from dendrocap.theory.cascade import cascade
from dendrocap.theory.neuron_kernel import Population
from dendrocap.theory.solver import monotone_root
from dendrocap.validation import real_number, refuse, whole_number


class Weights(Protocol):
    """A distribution of weights: density of the positive ones and second moment."""

    def pdf(self, w: ArrayLike) -> Any:
        """Density of the positive weights."""

    def second_moment(self) -> float:
        """Mean squared weight."""


def input_skewness(weights: Weights, f_in: float, branch_size: float) -> float:
    """Skewness of the summed input of a branch [skewness]; above about 0.3 the Gaussian theory is inaccurate.

    Parameters
    ----------
    weights : CapacityWeights or Weights
        The distribution of weights.
    f_in : float
        Coding level of the inputs.
    branch_size : float
        n, synapses per branch.

    Examples
    --------
    >>> from dendrocap.theory import CapacityWeights
    >>> half = CapacityWeights(B=0.0, W_star=1.0)
    >>> round(input_skewness(half, f_in=0.05, branch_size=100), 3)  # skewed by sparse inputs
    0.932
    """
    from scipy.integrate import quad

    f_in = real_number("f_in", f_in, 0.0, 1.0, low_open=True, high_open=True)
    branch_size = real_number("branch_size", branch_size, 0.0, low_open=True)
    scale = math.sqrt(weights.second_moment())
    third = quad(lambda x: x**3 * float(weights.pdf(scale * x)) * scale, 0.0, 40.0, limit=200, epsrel=1e-9)[0]
    return (1.0 - 2.0 * f_in) * float(third) / math.sqrt(branch_size * f_in * (1.0 - f_in))


@dataclass(frozen=True)
class BranchLaw:
    """Kernels of branches with binary inputs, and the resulting capacity.

    Attributes
    ----------
    alpha : Sampled
        Capacity to first order in the difference of the kernels.
    Gamma0, C, Gamma1 : Sampled
        Variance of the somatic input, its covariance between clusters of solutions, gain of small differences.
    mean_change : Sampled
        Change of the mean summed input that keeps the mean output.
    """

    alpha: Sampled
    Gamma0: Sampled
    C: Sampled
    Gamma1: Sampled
    mean_change: Sampled


def exact_branch_law(
    state: BrokenState,
    populations: Sequence[Population],
    task: TaskSpec,
    branch_size: int,
    *,
    n_branches: int = 1024,
    n_patterns: int = 1024,
    seed: int = 0,
) -> BranchLaw:
    """Capacity of branches of n synapses with binary inputs, by Monte Carlo at a saddle with one step of breaking.

    ``n_branches`` is rounded up to a multiple of 32 for each population; each branch gets ``n_patterns`` inputs.

    Measures the kernels [branch-law]. Gamma_1 is that of thermal fluctuations of the active weights, without the
    direction in which the mean output of a branch changes, which is n times stiffer. Averages over branches are
    corrected for the variation of their norm and overlap, whose means are known.
    """
    n = whole_number("branch_size", branch_size, 2)
    scope.check("exact_branch_law", task=task)
    per_batch = -(-whole_number("n_branches", n_branches, 2) // BATCHES)
    whole_number("n_patterns", n_patterns, 8)
    g, mu = populations[0].nonlinearity, float(state.mu[0])
    fractions = np.array([population.fraction for population in populations])
    theta_s = float(fractions @ [side.norm.output for side in state.sides])
    changes, measured = [], []  # the second by batch, population, branch and quantity
    for child in np.random.SeedSequence(seed).spawn(BATCHES):
        rng = np.random.default_rng(child)
        drawn = [
            _Branches(side, mu, population.f_in, n, per_batch, n_patterns, rng)
            for side, population in zip(state.sides, populations, strict=True)
        ]

        def output(change: float, drawn: list[_Branches] = drawn) -> tuple[float, float]:
            found = [branches.mean_output(g, change) for branches in drawn]
            mean = float(fractions @ [one[0] for one in found])
            return mean - theta_s, float(fractions @ [one[1] for one in found])

        changes.append(monotone_root(output, 0.0, 0.1).at)
        measured.append([branches.kernels(g, changes[-1]) for branches in drawn])
    averages = _controlled(np.array(measured))
    rows = np.column_stack([changes, np.einsum("bpk,p->bk", averages, fractions)])
    centre = rows.mean(axis=0)
    # The mean weight (theta_d + m / sqrt(n)) / f_in of short branches follows m, and F changes by b times it.
    slope = math.fsum(
        population.fraction * side.b / (population.f_in * math.sqrt(population.branch_size))
        for side, population in zip(state.sides, populations, strict=True)
    )

    def load(row: Floats) -> float:
        entropy = -state.alpha * state.energy + slope * row[0]  # F = 0 at the saddle
        energy = gaussian_energy(
            row[2], row[1] - row[2], row[3],
            mu=mu, kappa=task.kappa, f_out=task.f_out, mean_shift=state.shift * math.sqrt(state.Gamma0),
        )  # fmt: skip
        return float(-entropy / energy)

    found = load(centre)
    gradient = np.empty(4)
    for i in range(4):
        step = np.zeros(4)
        step[i] = 1e-4 * (abs(centre[i]) if i else 1.0)
        gradient[i] = (load(centre + step) - load(centre - step)) / (2.0 * step[i])
    errors = rows.std(axis=0, ddof=1) / math.sqrt(BATCHES)
    error = float((rows @ gradient).std(ddof=1)) / math.sqrt(BATCHES)
    parts = [Sampled(float(value), float(e)) for value, e in zip(centre, errors, strict=True)]
    return BranchLaw(Sampled(found, error), parts[1], parts[2], parts[3], parts[0])


def gaussian_energy(
    D0: float, D1: float, Gamma1: float, *, mu: float, kappa: float = 0.0, f_out: float = 0.5, mean_shift: float = 0.0
) -> float:
    """F_E of a soma with many branches, one step of breaking: its input is Gaussian [rsb-potential].

    D0 and D1 are the variances at the soma of the part common to clusters and of the rest, Gamma1 the gain of a small
    difference between two solutions.
    """
    Gamma0 = D0 + D1
    root, unit = math.sqrt(Gamma0), Gamma0 / Gamma1
    starts = np.array([kappa - mean_shift, kappa + mean_shift]) / root
    labels = np.array([f_out, 1.0 - f_out])
    found = cascade(-1.0, starts, labels, np.array([D0, D1]) / Gamma0, np.array([mu * unit]))
    return float(found.f[0]) * unit


class _Branches:
    """Branches of one population: two clusters of weights with the same outer fields, and binary inputs to them."""

    def __init__(
        self, side: Side, mu: float, f_in: float, n: int, count: int, patterns: int, rng: np.random.Generator
    ) -> None:
        self.side, self.n = side, n
        self.active = side.A * side.gap  # fraction of synapses that are not silent
        outer = -side.b + math.sqrt(side.c[0]) * rng.standard_normal((count, n))
        self.first, self.second = (_weights(outer, side, mu, rng) for _ in range(2))
        self.inputs = rng.random((count, patterns, n)) < f_in
        centred = self.inputs - f_in
        scale = 1.0 / math.sqrt(n)
        self.fields = [scale * np.einsum("bpi,bi->bp", centred, w) for w in (self.first, self.second)]

    def mean_output(self, g: Nonlinearity, change: float) -> tuple[float, float]:
        """Mean of g and of g' over both clusters, at a mean input changed by ``change``."""
        at = self.side.m + change + np.stack(self.fields)
        return float(np.mean(g(at))), float(np.mean(g.derivative(at)))

    def kernels(self, g: Nonlinearity, change: float) -> Floats:
        """Gamma_0, C(q_0) and r Gamma_1 of each branch, and the deviations of its norm and overlap from their means."""
        at = [self.side.m + change + field for field in self.fields]
        outputs = [np.asarray(g(x)) for x in at]
        patterns = outputs[0].shape[1]
        centred = [y - y.mean(axis=1, keepdims=True) for y in outputs]
        unbiased = patterns / (patterns - 1)
        variance = 0.5 * unbiased * sum(np.mean(y * y, axis=1) for y in centred)
        covariance = unbiased * np.mean(centred[0] * centred[1], axis=1)
        clusters = zip(at, (self.first, self.second), strict=True)
        gain = 0.5 * sum(self._gain(np.asarray(g.derivative(x)), weights) for x, weights in clusters)
        norm = 0.5 * np.mean(self.first**2 + self.second**2, axis=1) - self.side.Q
        overlap = np.mean(self.first * self.second, axis=1) - float(self.side.q[0])
        return np.stack([variance, covariance, self.side.gap * gain, norm, overlap], axis=1)

    def _gain(self, slope: Floats, weights: Floats) -> Floats:
        """Gain of thermal fluctuations on the active synapses of each branch, per active synapse on average.

        The direction a_i = E[g' xi_i] of the mean output is frozen. Measured a_i are noisy, in as many directions as
        there are synapses; a_i is a smooth function of the weight, and a parabola in it has only three parameters.
        """
        squares = slope * slope
        result = np.empty(len(slope))
        for branch, (w, inputs) in enumerate(zip(weights, self.inputs, strict=True)):
            active = w > 0.0
            x = inputs[:, active].astype(np.float64)
            a = slope[branch] @ x / len(x)
            if a.size > 3:
                powers = np.linalg.qr(np.vander(w[active] / w.max(), 3))[0]
                a = powers @ (powers.T @ a)
            size = float(a @ a)
            along = (x @ a) ** 2 / size if size > 0.0 else 0.0
            result[branch] = float(np.mean(squares[branch] * (x.sum(axis=1) - along)))
        return result / (self.n * self.active)


def _controlled(measured: Floats) -> Floats:
    """Averages over branches of the first three quantities, by batch and population.

    They vary with norm and overlap of the branch, whose means are known: a linear fit removes this variation.
    """
    values, controls = measured[..., :3], measured[..., 3:]
    averages = values.mean(axis=2)
    for p in range(measured.shape[1]):
        x, y = controls[:, p].reshape(-1, 2), values[:, p].reshape(-1, 3)
        slopes = np.linalg.lstsq(x - x.mean(axis=0), y - y.mean(axis=0), rcond=None)[0]
        averages[:, p] -= controls[:, p].mean(axis=1) @ slopes
    return np.asarray(averages)


def _weights(outer: Floats, side: Side, mu: float, rng: np.random.Generator) -> Floats:
    """Weights with given outer fields: silent, or drawn from the positive part of the tilted Gaussian."""
    from scipy.special import log_ndtr, ndtr, ndtri

    c_1 = float(side.c[1] - side.c[0])
    sd, s = math.sqrt(c_1), mu * c_1 / side.A
    if not s < 1.0:
        raise refuse("mu c_1 / A", s, "below 1, where the tilted weights have a distribution")
    v = outer / sd
    root = math.sqrt(1.0 - s)
    tau = v / root
    above = log_ndtr(tau) - math.log(root) + 0.5 * s * v * v / (1.0 - s)
    positive = rng.random(outer.shape) < 1.0 / (1.0 + np.exp(log_ndtr(-v) - above))
    drawn = (tau - ndtri(ndtr(tau) * rng.random(outer.shape))) / root
    return np.where(positive, np.maximum(drawn, 0.0), 0.0) * sd / side.A
