"""How a dendritic tree transforms the variance of its synaptic input into signal and noise at the soma.

One level maps the variance V of its input to the variance of its output; its mean input m is such that its mean output
meets the threshold of the next level [mean-input]. Levels compose, so that a tree of any depth enters the theory
through four numbers [tree]: Gamma_0, the variance at the soma; Gamma_1, the gain of a small difference between two
solutions; and their derivatives in Q. These are total derivatives: m follows Q (paper notes, item 8).
Inputs that are correlated within a branch add a constant chi to V and change nothing else [correlated-input].
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model import Custom, NeuronSpec, Nonlinearity, PiecewiseLinear, Tabulated, TaskSpec
from dendrocap.theory.gaussian import check_averages, prepared
from dendrocap.theory.mean_inputs import all_mean_inputs
from dendrocap.theory.roots import monotone_root
from dendrocap.validation import refuse

__all__ = [
    "Response",
    "TreeResponse",
    "check_capacity_inputs",
    "check_independent_inputs",
    "check_reachable",
    "check_tree_averages",
    "common_variance",
    "inverse_guess",
    "is_monotone",
    "levels_with_thresholds",
    "response",
    "tree_response",
    "tree_responses",
]


class Response(NamedTuple):
    """The response of one level to a normal input of variance V, at the mean input required by its threshold."""

    mean: float  # m, the mean input
    slope: float  # E g'
    variance: float  # Var g
    gain: float  # E g'^2
    d_mean: float  # dm / dV
    d_variance: float  # dVar g / dV
    d_gain: float  # dE g'^2 / dV


class TreeResponse(NamedTuple):
    """The combined response of all levels, as functions of Q [tree]."""

    Gamma0: float
    Gamma1: float
    dGamma0: float
    dGamma1: float
    slope: float  # product of E g' over the levels
    sd: float  # of the input to a branch of the first level
    means: tuple[float, ...]  # mean input of each level


@lru_cache(maxsize=256)
def is_monotone(g: Nonlinearity) -> bool:
    """Whether g never falls, so that its mean input is unique; a user's own g is sampled."""
    if not isinstance(g, Custom | PiecewiseLinear | Tabulated):
        return True
    low, high = g.domain if isinstance(g, Custom) else (g.x[0], g.x[-1])
    return bool(np.all(np.diff(g(np.linspace(low, high, 4001))) >= 0.0))


def response(g: Nonlinearity, theta: float, variance: float, guess: float) -> Response:
    """The response of a level whose mean output is theta; ``guess`` is a mean input to start from."""
    s, averages = math.sqrt(variance), prepared(g)

    def excess(m: float) -> tuple[float, float]:
        found = averages(theta, s, m)
        return found.mean, found.slope

    m = monotone_root(excess, guess, s).at
    found = averages(theta, s, m)
    if found.slope == 0.0:
        raise ConvergenceError(f"the mean output of {g!r} no longer depends on its mean input at m = {m:g}", m)
    # [total-derivatives] E g'' = E[g' x] / s by parts, which needs no second derivative at a kink.
    d_mean = -found.slope_x / (2.0 * s * found.slope)
    return Response(
        mean=m,
        slope=found.slope,
        variance=found.variance,
        gain=found.gain,
        d_mean=d_mean,
        d_variance=found.cross_x / s + 2.0 * found.cross * d_mean,
        d_gain=0.5 * found.gain_xx / variance + found.gain_x / s * d_mean,
    )


def common_variance(neuron: NeuronSpec, task: TaskSpec) -> float:
    """chi, the variance that correlated inputs add to a long branch's input in every solution [correlated-input].

    The inputs of a branch fluctuate together; the effect of their common part depends only on the mean weight.
    """
    v, W_bar = task.f_in * (1.0 - task.f_in), neuron.tree[0].theta / task.f_in
    return task.branch_correlation * v * W_bar**2


def tree_response(neuron: NeuronSpec, task: TaskSpec, Q: float, guess: tuple[float, ...] | None = None) -> TreeResponse:
    """The response of all levels at squared norm Q; with a guess, of the nearest branch of solutions."""
    v = task.f_in * (1.0 - task.f_in)
    V = v * Q + common_variance(neuron, task)
    variance, d_variance, gain, log_d_gain, slope = V, v, v, 0.0, 1.0
    means: list[float] = []
    for number, (g, theta) in enumerate(levels_with_thresholds(neuron)):
        start = inverse_guess(g, theta) if guess is None else guess[number]
        level = response(g, theta, variance, start)
        means.append(level.mean)
        gain *= level.gain
        slope *= level.slope
        log_d_gain += level.d_gain / level.gain * d_variance
        variance, d_variance = level.variance, level.d_variance * d_variance
    return TreeResponse(variance, gain, d_variance, gain * log_d_gain, slope, math.sqrt(V), tuple(means))


def tree_responses(
    neuron: NeuronSpec, task: TaskSpec, Q: float, guess: tuple[float, ...] | None = None
) -> list[TreeResponse]:
    """All responses at squared norm Q: one if every g is monotone, else one for each solution of [mean-input].

    There may be none: for wide inputs the average of a hump may stay below a threshold that its top exceeds.
    """
    if all(is_monotone(g) for g, _ in levels_with_thresholds(neuron)):
        return [tree_response(neuron, task, Q, guess)]
    V = task.f_in * (1.0 - task.f_in) * Q + common_variance(neuron, task)
    starts: list[tuple[tuple[float, ...], float]] = [((), V)]
    for g, theta in levels_with_thresholds(neuron):
        longer = []
        for means, variance in starts:
            for m in all_mean_inputs(g, theta, math.sqrt(variance)):
                longer.append(((*means, m), prepared(g)(theta, math.sqrt(variance), m).variance))
        starts = longer
    return [tree_response(neuron, task, Q, means) for means, _ in starts]


def check_tree_averages(neuron: NeuronSpec, task: TaskSpec, Q: float, means: tuple[float, ...]) -> None:
    """Raise for a result at squared norm Q if a user-defined g is not resolved there."""
    variance = task.f_in * (1.0 - task.f_in) * Q + common_variance(neuron, task)
    for (g, theta), m in zip(levels_with_thresholds(neuron), means, strict=True):
        check_averages(g, theta, math.sqrt(variance), m)
        variance = prepared(g)(theta, math.sqrt(variance), m).variance


def levels_with_thresholds(neuron: NeuronSpec) -> list[tuple[Nonlinearity, float]]:
    """Each level's g with the threshold that its mean output must meet: that of the level above, or the soma's."""
    levels = neuron.tree
    above = [*(level.theta for level in levels[1:]), neuron.theta_s]
    return [(level.nonlinearity, theta) for level, theta in zip(levels, above, strict=True)]


def check_reachable(neuron: NeuronSpec) -> None:
    """Raise for thresholds that the mean output of a level can never meet."""
    for g, theta in levels_with_thresholds(neuron):
        low, high = g.range
        if not low < theta < high:
            raise NoSolution(
                f"no mean input gives {g!r} the mean output {theta:g}: "
                f"the threshold must lie strictly between {low:g} and {high:g}, the range of g"
            )


def check_capacity_inputs(neuron: NeuronSpec) -> None:
    """Raise, with the reason, if there is no finite capacity."""
    if neuron.tree[0].theta == 0.0:
        raise refuse("theta_d", 0.0, "> 0 for the theory: it sets the mean weight theta_d / f_in")
    for level in neuron.tree:
        if level.nonlinearity.has_jumps:
            raise NoSolution(
                f"the replica-symmetric capacity of {level.nonlinearity!r} is infinite: g jumps, so that "
                "E g'^2, the gain of a small difference between solutions, diverges"
            )
    check_reachable(neuron)


def check_independent_inputs(task: TaskSpec, where: str) -> None:
    """Raise for correlated inputs where there is no theory for them."""
    if task.branch_correlation != 0.0:
        raise refuse(
            "branch_correlation",
            task.branch_correlation,
            f"0 for {where}; critical_capacity, saddle_point, stability_limit and branch_stability take correlated "
            "inputs",
        )


@lru_cache(maxsize=1024)
def inverse_guess(g: Nonlinearity, theta: float) -> float:
    """Approximate input at which g passes theta: the mean input at vanishing variance."""
    grid = np.concatenate([-np.geomspace(1e6, 1e-3, 60), [0.0], np.geomspace(1e-3, 1e6, 60)])
    return float(grid[np.argmin(np.abs(g(grid) - theta))])
