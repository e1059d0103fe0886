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

from dendrocap.finite_size.soma import BATCHES, Sampled, gaussian_energy
from dendrocap.model import Nonlinearity, TaskSpec
from dendrocap.numerics.types import Floats
from dendrocap.theory.dendrite import check_independent_inputs
from dendrocap.theory.search import BrokenCapacity
from dendrocap.theory.solver import monotone_root
from dendrocap.validation import real_number, refuse, whole_number


class Weights(Protocol):
    """A distribution of weights: density of the positive ones and second moment."""

    def pdf(self, w: ArrayLike) -> Any:
        """Density of the positive weights."""

    def second_moment(self) -> float:
        """Mean squared weight."""


def active_inputs(f_in: float, branch_size: float) -> float:
    """Mean number of active inputs of a branch; below about ten its summed input is not Gaussian.

    Examples
    --------
    >>> active_inputs(f_in=0.05, branch_size=100)
    5.0
    """
    return real_number("f_in", f_in, 0.0, 1.0) * real_number("branch_size", branch_size, 0.0, low_open=True)


def input_skewness(weights: Weights, f_in: float, branch_size: float) -> float:
    """Skewness of the summed input of a branch [skewness]; above about 0.3 the Gaussian theory is inaccurate.

    Parameters
    ----------
    weights : CapacityWeights or BrokenWeights
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
class SynapseState:
    """One population of synapses at a saddle point with one step of breaking, from which weights are drawn.

    A weight is max(h, 0) / A with h = -b + sqrt(c_0) z_0 + sqrt(c_1) z_1, where z_1 is tilted by
    exp(mu max(h, 0)^2 / (2 A)).

    Parameters
    ----------
    mean : float
        m, mean summed input of a branch.
    Q, q_0 : float
        Mean squared weight, and overlap between clusters of solutions.
    A, b : float
        Scaled conjugates of norm and mean weight.
    c_0, c_1 : float
        Variance of the outer field, and additional variance of the inner field: the first of the scaled conjugates of
        the overlaps, and their difference.
    fraction : float
        Fraction of the branches.
    gap : float
        r, the relative innermost gap of the overlaps.
    """

    mean: float
    Q: float
    q_0: float
    A: float
    b: float
    c_0: float
    c_1: float
    fraction: float = 1.0
    gap: float = 1.0


def synapse_state(solution: BrokenCapacity) -> SynapseState:
    """The synapses of a capacity with one step of breaking.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky, critical_capacity
    >>> state = synapse_state(critical_capacity(NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.5), rsb=1))
    >>> round(state.A, 4), round(state.c_0 + state.c_1, 4)
    (0.7405, 0.0275)
    """
    if solution.effective_levels != 1:
        raise refuse("solution.effective_levels", solution.effective_levels, "1")
    c_0, total = solution.c
    Q, q_0 = solution.Q, solution.overlaps[0]
    return SynapseState(solution.preactivation_mean, Q, q_0, solution.A, solution.b, c_0, total - c_0)


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
    nonlinearity: Nonlinearity,
    synapses: SynapseState | Sequence[SynapseState],
    task: TaskSpec,
    *,
    alpha: float,
    mu: float,
    kernels: tuple[float, float, float],
    theta_s: float,
    branch_size: int,
    mean_shift: float = 0.0,
    mean_weight_follows: bool = True,
    n_branches: int = 1024,
    n_patterns: int = 1024,
    seed: int = 0,
) -> BranchLaw:
    """Capacity of branches with binary inputs, by Monte Carlo at a saddle of Gaussian branches.

    Parameters
    ----------
    nonlinearity : Nonlinearity
        g.
    synapses : SynapseState, or one for each population
        Distribution from which weights are drawn.
    task : TaskSpec
        Coding levels and margin.
    alpha, mu : float
        Load and breaking parameter of the saddle.
    kernels : (float, float, float)
        Gamma_0, C(q_0) and Gamma_1 of the saddle, summed over populations, including gaps.
    theta_s : float
        Required mean output; with unequal labels at finite K, theta_s + Delta / sqrt(K).
    branch_size : int
        n.
    mean_shift : float
        Delta.
    mean_weight_follows : bool
        Whether the mean weight (theta_d + m / sqrt(n)) / f_in of the saddle follows m, as for short branches; the
        capacity then also changes with m by b per mean weight.
    n_branches, n_patterns : int
        Number of branches, rounded up to a multiple of 32 for each population, and of inputs to each.
    seed : int
        Equal seeds give equal results.

    Notes
    -----
    Measures the kernels [branch-law]. Gamma_1 is that of thermal fluctuations of the active weights, without the
    direction in which the mean output of a branch changes, which is n times stiffer. Averages over branches are
    corrected for the variation of their norm and overlap, whose means are known.
    """
    populations = (synapses,) if isinstance(synapses, SynapseState) else tuple(synapses)
    n = whole_number("branch_size", branch_size, 2)
    check_independent_inputs(task, "the exact law of a short branch")
    per_batch = -(-whole_number("n_branches", n_branches, 2) // BATCHES)
    whole_number("n_patterns", n_patterns, 8)
    fractions = np.array([state.fraction for state in populations])
    if not math.isclose(float(fractions.sum()), 1.0, rel_tol=1e-9):
        raise refuse("fraction", fractions.tolist(), "fractions that sum to 1")
    changes, measured = [], []  # the second by batch, population, branch and quantity
    for child in np.random.SeedSequence(seed).spawn(BATCHES):
        rng = np.random.default_rng(child)
        drawn = [_Branches(state, mu, task.f_in, n, per_batch, n_patterns, rng) for state in populations]

        def output(change: float, drawn: list[_Branches] = drawn) -> tuple[float, float]:
            found = [branches.mean_output(nonlinearity, change) for branches in drawn]
            mean = float(fractions @ [one[0] for one in found])
            return mean - theta_s, float(fractions @ [one[1] for one in found])

        changes.append(monotone_root(output, 0.0, 0.1).at)
        measured.append([branches.kernels(nonlinearity, changes[-1]) for branches in drawn])
    averages = _controlled(np.array(measured))
    rows = np.column_stack([changes, np.einsum("bpk,p->bk", averages, fractions)])
    centre = rows.mean(axis=0)
    common = {"mu": mu, "kappa": task.kappa, "f_out": task.f_out, "mean_shift": mean_shift}
    before = gaussian_energy(kernels[1], kernels[0] - kernels[1], kernels[2], **common)
    slope = fractions @ [state.b for state in populations] / (task.f_in * math.sqrt(n)) if mean_weight_follows else 0.0

    def load(row: Floats) -> float:
        entropy = -alpha * before + slope * row[0]  # F = 0 at the saddle; W_bar b changes with m
        return float(-entropy / gaussian_energy(row[2], row[1] - row[2], row[3], **common))

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


class _Branches:
    """Branches of one population: two clusters of weights with the same outer fields, and binary inputs to them."""

    def __init__(
        self, state: SynapseState, mu: float, f_in: float, n: int, count: int, patterns: int, rng: np.random.Generator
    ) -> None:
        self.state, self.n = state, n
        self.active = state.A * state.gap  # fraction of synapses that are not silent
        outer = -state.b + math.sqrt(state.c_0) * rng.standard_normal((count, n))
        self.first, self.second = (_weights(outer, state, mu, rng) for _ in range(2))
        self.inputs = rng.random((count, patterns, n)) < f_in
        centred = self.inputs - f_in
        scale = 1.0 / math.sqrt(n)
        self.fields = [scale * np.einsum("bpi,bi->bp", centred, w) for w in (self.first, self.second)]

    def mean_output(self, g: Nonlinearity, change: float) -> tuple[float, float]:
        """Mean of g and of g' over both clusters, at a mean input changed by ``change``."""
        at = self.state.mean + change + np.stack(self.fields)
        return float(np.mean(g(at))), float(np.mean(g.derivative(at)))

    def kernels(self, g: Nonlinearity, change: float) -> Floats:
        """Gamma_0, C(q_0) and r Gamma_1 of each branch, and the deviations of its norm and overlap from their means."""
        at = [self.state.mean + change + field for field in self.fields]
        outputs = [np.asarray(g(x)) for x in at]
        patterns = outputs[0].shape[1]
        centred = [y - y.mean(axis=1, keepdims=True) for y in outputs]
        unbiased = patterns / (patterns - 1)
        variance = 0.5 * unbiased * sum(np.mean(y * y, axis=1) for y in centred)
        covariance = unbiased * np.mean(centred[0] * centred[1], axis=1)
        clusters = zip(at, (self.first, self.second), strict=True)
        gain = 0.5 * sum(self._gain(np.asarray(g.derivative(x)), weights) for x, weights in clusters)
        norm = 0.5 * np.mean(self.first**2 + self.second**2, axis=1) - self.state.Q
        overlap = np.mean(self.first * self.second, axis=1) - self.state.q_0
        return np.stack([variance, covariance, self.state.gap * gain, norm, overlap], axis=1)

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


def _weights(outer: Floats, state: SynapseState, mu: float, rng: np.random.Generator) -> Floats:
    """Weights with given outer fields: silent, or drawn from the positive part of the tilted Gaussian."""
    from scipy.special import log_ndtr, ndtr, ndtri

    sd, s = math.sqrt(state.c_1), mu * state.c_1 / state.A
    if not s < 1.0:
        raise refuse("mu c_1 / A", s, "below 1, where the tilted weights have a distribution")
    v = outer / sd
    root = math.sqrt(1.0 - s)
    tau = v / root
    above = log_ndtr(tau) - math.log(root) + 0.5 * s * v * v / (1.0 - s)
    positive = rng.random(outer.shape) < 1.0 / (1.0 + np.exp(log_ndtr(-v) - above))
    drawn = (tau - ndtri(ndtr(tau) * rng.random(outer.shape))) / root
    return np.where(positive, np.maximum(drawn, 0.0), 0.0) * sd / state.A
