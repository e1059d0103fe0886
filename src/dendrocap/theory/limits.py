"""Limits in which the theory simplifies, mostly to closed forms.

The paper estimates two of them by fits over a finite range; here they are exact (paper notes, items 12 and 13).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dendrocap.display import Displayed
from dendrocap.errors import NoSolution
from dendrocap.model import Linear, NeuronSpec, Nonlinearity, TaskSpec
from dendrocap.numerics import legendre_rule
from dendrocap.numerics._compiled import tail
from dendrocap.theory import scope
from dendrocap.theory.dendrite import (
    check_capacity_inputs,
    common_variance,
    tree_response,
)
from dendrocap.theory.neuron_kernel import shape_at
from dendrocap.theory.patterns import label_averages
from dendrocap.theory.solution import CapacitySolution
from dendrocap.theory.solver import bracketed_root, monotone_root
from dendrocap.theory.symmetric import symmetric_capacity
from dendrocap.validation import real_number

__all__ = [
    "ZeroLoad",
    "committee_ceiling",
    "large_margin_capacity",
    "large_threshold_silent_fraction",
    "large_threshold_slope",
    "perceptron_limit",
    "relu_large_threshold_capacity",
    "sparse_labels_capacity",
    "zero_load",
]


@dataclass(frozen=True)
class ZeroLoad(Displayed):
    """Order parameters before anything is learned: weights are exponential with mean W_bar [zero-load].

    Examples
    --------
    >>> from dendrocap import NeuronSpec, ReLU
    >>> start = zero_load(NeuronSpec(ReLU(), theta_d=0.5, theta_s=0.5))
    >>> start.W_bar, start.Q, start.q, start.free_entropy
    (1.0, 2.0, 1.0, 1.0)
    """

    _displayed = ("free_entropy", "W_bar", "Q", "q", "M_hat", "preactivation_sd")

    W_bar: float
    Q: float
    q: float
    M_hat: float
    free_entropy: float
    preactivation_sd: float


def zero_load(neuron: NeuronSpec, task: TaskSpec | None = None) -> ZeroLoad:
    """The limit of no patterns, where all weights with mean theta_d / f_in are solutions.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky
    >>> zero_load(NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.5)).Q
    2.0
    """
    task = scope.check("zero_load", neuron, task)
    theta_d = real_number("theta_d", neuron.tree[0].theta, 0.0, low_open=True)
    W_bar = theta_d / task.f_in
    return ZeroLoad(
        W_bar=W_bar,
        Q=2.0 * W_bar**2,
        q=W_bar**2,
        M_hat=-1.0 / W_bar,
        free_entropy=1.0 + math.log(W_bar),
        preactivation_sd=math.sqrt(2.0 * (1.0 - task.f_in) / task.f_in * theta_d**2 + common_variance(neuron, task)),
    )


def perceptron_limit(neuron: NeuronSpec, task: TaskSpec | None = None) -> CapacitySolution:
    """The linear neuron that is equivalent to a dendritic one whose branches act linearly [perceptron-limit].

    This is the limit of small theta_d, where the branch input hardly leaves the point u with g(u) = theta_s; and for
    g that grow linearly also that of large theta_s. With slope g'(u) there, the margin becomes kappa / g'(u).

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky
    >>> round(perceptron_limit(NeuronSpec(Polsky(), theta_d=1e-6, theta_s=0.5)).alpha_c, 12)
    1.0
    """
    task = scope.check("perceptron_limit", neuron, task)
    g = neuron.tree[0].nonlinearity
    low, high = g.range
    if not low < neuron.theta_s < high:
        raise NoSolution(f"{g!r} never takes the value {neuron.theta_s:g}: its range is {low:g} to {high:g}")
    at = monotone_root(
        lambda u: (float(g(u)) - neuron.theta_s, float(g.derivative(u))), neuron.theta_s, 1.0 + abs(neuron.theta_s)
    ).at
    slope = float(g.derivative(at))
    if slope <= 0.0:
        raise NoSolution(f"{g!r} is flat where it takes the value {neuron.theta_s:g}: it has no linear limit")
    linear = NeuronSpec(Linear(), neuron.tree[0].theta, neuron.theta_s)
    return symmetric_capacity(linear, replace(task, kappa=task.kappa / slope))


def large_threshold_silent_fraction() -> float:
    """Silent fraction at capacity of every saturating g as theta_d grows [saturating-limit].

    Examples
    --------
    >>> round(large_threshold_silent_fraction(), 5)
    0.82261
    """
    return tail(-_B_saturating())[0]


def large_threshold_slope(g: Nonlinearity, theta_s: float = 0.5, task: TaskSpec | None = None) -> float:
    """Growth of the capacity per unit of theta_d, as theta_d grows, for a saturating g [saturating-limit].

    For wide inputs g is effectively a step. Its shape matters only through the integral of g'^2, which sets the gain.

    Parameters
    ----------
    g : Nonlinearity
        Bounded and monotone.
    theta_s : float
        Strictly inside the range of g.
    task : TaskSpec, optional
        Coding levels and margin.

    Examples
    --------
    >>> from dendrocap import Polsky, SaturatingReLU
    >>> round(large_threshold_slope(SaturatingReLU()), 5), round(large_threshold_slope(Polsky()), 5)
    (3.5182, 9.05761)
    """
    from scipy.special import ndtri

    task = scope.check("large_threshold_slope", task=task)
    low, high = g.range
    if not (math.isfinite(low) and math.isfinite(high)) or g.has_jumps:
        raise NoSolution(f"{g!r} does not saturate continuously: its capacity does not grow linearly with theta_d")
    theta_s = real_number("theta_s", theta_s, low, high, low_open=True, high_open=True)
    upper = (theta_s - low) / (high - low)  # fraction of branches that are on
    Gamma0 = (high - theta_s) * (theta_s - low)
    density = math.exp(-0.5 * float(ndtri(upper)) ** 2) / math.sqrt(2.0 * math.pi)
    second = label_averages(task.f_out, task.kappa / math.sqrt(Gamma0)).second
    saturating = shape_at(_B_saturating())
    shape = saturating.C / math.sqrt(saturating.Q)
    root_v = math.sqrt(task.f_in * (1.0 - task.f_in))
    return shape * root_v / task.f_in * _integral_of_squared_slope(g) * density / (Gamma0 * second)


def relu_large_threshold_capacity(theta_d: float, theta_s: float = 0.5, f_in: float = 0.5) -> float:
    """Capacity of ReLU dendrites for large theta_d, at f_out = 1/2 and without margin [relu-limit].

    Few branches are active, with probability H(t), and half of the synapses are silent; the capacity tends to
    t^2 / 2, that is to ln(theta_d) to leading order. Corrections vanish only like 1 / ln(theta_d).

    Examples
    --------
    >>> round(relu_large_threshold_capacity(1e6), 3)
    13.255
    """
    theta_d = real_number("theta_d", theta_d, 0.0, low_open=True)
    theta_s = real_number("theta_s", theta_s, 0.0, low_open=True)
    f_in = real_number("f_in", f_in, 0.0, 1.0, low_open=True, high_open=True)
    s = math.sqrt(math.pi * f_in * (1.0 - f_in)) * theta_d / f_in  # Q = pi W_bar^2 at B = 0

    def excess(t: float) -> tuple[float, float]:
        i0, i1, _ = tail(t)
        return math.log(i1) - math.log(theta_s / s), -i0 / i1

    i0, i1, i2 = tail(monotone_root(excess, 0.0, 1.0).at)
    return i0 / (i2 - i1**2)


def sparse_labels_capacity(neuron: NeuronSpec, f_out: float) -> float:
    """Replica-symmetric capacity for rare labels, f_out -> 0, without margin [sparse-labels].

    Without a margin the state of the synapses does not depend on f_out: the capacity is that at f_out = 1/2 times
    1 / (2 f_out (t^2 + 3)) with f_out t = I_1(t), which grows as 1 / (4 f_out ln(1 / f_out)).

    Parameters
    ----------
    neuron : NeuronSpec
        A neuron with equal branches.
    f_out : float
        Fraction of labels that are 1, small; corrections are of the order 1 / t^2.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Linear, TaskSpec, critical_capacity
    >>> linear = NeuronSpec(Linear(), theta_d=0.5, theta_s=0.5)
    >>> print(f"{sparse_labels_capacity(linear, 1e-6):.4g}, exactly "
    ...       f"{critical_capacity(linear, TaskSpec(f_out=1e-6)).alpha_c:.4g}")
    2.501e+04, exactly 2.533e+04
    """
    scope.check("sparse_labels_capacity", neuron)
    f_out = real_number("f_out", f_out, 0.0, 0.5, low_open=True)
    t = bracketed_root(lambda t: math.log(tail(t)[1]) - math.log(f_out * t), 1e-3, 37.0).at
    return symmetric_capacity(neuron, TaskSpec()).alpha_c / (2.0 * f_out * (t * t + 3.0))


def large_margin_capacity(neuron: NeuronSpec, task: TaskSpec | None = None) -> float:
    """The limit of kappa^2 alpha_c as the margin grows, replica symmetric [large-margin].

    All patterns then lie at the margin: alpha_c = C Gamma_1 / kappa^2, and the weights take the norm at which C Gamma_1
    is largest. A linear neuron has no such norm; its capacity falls more slowly.

    Parameters
    ----------
    neuron : NeuronSpec
        A neuron with equal branches whose g is monotone and whose gain decreases with the width of its input.
    task : TaskSpec, optional
        Only the coding level of the inputs matters here.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, SaturatingReLU, TaskSpec, critical_capacity
    >>> neuron = NeuronSpec(SaturatingReLU(), theta_d=0.5, theta_s=0.5)
    >>> exact = 30.0**2 * critical_capacity(neuron, TaskSpec(kappa=30.0)).alpha_c
    >>> print(f"{large_margin_capacity(neuron):.4f}, at kappa = 30 {exact:.4f}")
    0.2163, at kappa = 30 0.2162
    """
    from scipy.optimize import minimize_scalar

    task = scope.check("large_margin_capacity", neuron, task)
    check_capacity_inputs(neuron)
    W_bar = neuron.tree[0].theta / task.f_in

    def scaled_load(B: float) -> float:
        shape = shape_at(B)
        return W_bar**2 * shape.C * tree_response(neuron, task, W_bar**2 * shape.Q).Gamma1

    grid = np.linspace(-6.0, 8.0, 57)
    best = int(np.argmax([scaled_load(B) for B in grid]))
    if best in (0, grid.size - 1):
        raise NoSolution(f"kappa^2 alpha_c grows without bound for {neuron}: its gain does not fall with the weights")
    found = minimize_scalar(lambda B: -scaled_load(B), bounds=(grid[best - 1], grid[best + 1]), method="bounded")
    return float(-found.fun)


def committee_ceiling(n_branches: float) -> float:
    """Capacity of K branches with a step as g and weights of either sign, 16 sqrt(ln K) / pi.

    A ceiling for neurons with non-negative weights, by a heuristic argument, to leading order in ln K. It was
    derived for f_out = 1/2 and no margin (paper notes, item 15).

    Parameters
    ----------
    n_branches : int
        Number of branches K. The result for one branch is 0.

    Examples
    --------
    >>> round(committee_ceiling(30), 2), round(committee_ceiling(100), 2)
    (9.39, 10.93)
    """
    n_branches = real_number("n_branches", n_branches, 1.0)
    return 16.0 * math.sqrt(math.log(n_branches)) / math.pi


def _B_saturating() -> float:
    """The solution of (1/2 + B^2) H(B) = B G(B), the maximum over B of H^2 / (I_1 sqrt(I_2))."""
    return bracketed_root(lambda B: (0.5 + B * B) * tail(B)[0] - B * (tail(B)[1] + B * tail(B)[0]), 0.1, 2.0).at


def _integral_of_squared_slope(g: Nonlinearity) -> float:
    """Integral of g'^2 over all inputs, panel by panel between the knots of g."""
    nodes, weights = legendre_rule(32)
    edges = np.array(g.knots)
    centre, half = 0.5 * (edges[1:] + edges[:-1]), 0.5 * np.diff(edges)
    slopes = g.derivative(centre[:, None] + half[:, None] * nodes)
    return float(half @ (slopes**2 @ weights))
