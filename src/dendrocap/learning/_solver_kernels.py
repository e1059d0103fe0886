"""Compiled loops of the solvers that are not gradient descent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dendrocap.model._compiled import value
from dendrocap.numerics._caching import njit
from dendrocap.numerics._compiled import log_tail


@njit(cache=True, nogil=True)
def least_action_epoch(
    weights: Any,
    inputs: Any,
    signs: Any,
    order: Any,
    starts: Any,
    sizes: Any,
    theta_d: float,
    soma_offset: float,
    g: int,
    g_parameters: Any,
    center: float,
    margin: float,
    rate: float,
) -> int:
    """Present every pattern once; where the answer is wrong, push the branch that is closest to switching."""
    n_branches = starts.shape[0]
    soma_root = math.sqrt(n_branches)
    branch_input = np.empty(n_branches)
    changed = 0
    for presented in range(order.shape[0]):
        pattern = order[presented]
        sign, soma = signs[pattern], 0.0
        for branch in range(n_branches):
            total, first = 0.0, starts[branch]
            for i in range(first, first + sizes[branch]):
                total += weights[i] * inputs[pattern, i]
            root = math.sqrt(sizes[branch])
            branch_input[branch] = total / root - root * theta_d
            soma += value(g, g_parameters, branch_input[branch])
        if sign * (soma / soma_root - soma_offset) > margin:
            continue
        # Of the branches on the wrong side of the rise, the nearest to it; if there is none, the nearest of all.
        chosen, nearest, on_wrong_side = 0, math.inf, False
        for branch in range(n_branches):
            distance = sign * (center - branch_input[branch])
            wrong = distance > 0.0
            if (wrong and not on_wrong_side) or (wrong == on_wrong_side and abs(distance) < nearest):
                chosen, nearest, on_wrong_side = branch, abs(distance), wrong
        change = sign * rate / math.sqrt(sizes[chosen])
        for i in range(starts[chosen], starts[chosen] + sizes[chosen]):
            if inputs[pattern, i]:
                weights[i] = max(0.0, weights[i] + change)
        changed += 1
    return changed


@njit(cache=True, nogil=True)
def channel(
    means: Any,
    variances: Any,
    signs: Any,
    nodes: Any,
    factors: Any,
    soma_offset: float,
    kappa: float,
    g: int,
    g_parameters: Any,
    smallest: float,
    response: Any,
    curvature: Any,
    log_norm: Any,
) -> None:
    """What every pattern tells every branch about its input [amp-channel].

    Branch l of pattern p has a Gaussian input with mean ``means[p, l]`` and variance ``variances[l]``. The others
    enter the soma as one Gaussian; the branch itself by quadrature over ``nodes``. Fills ``response``, the
    derivative of ln Z with respect to the mean, ``curvature``, minus the second derivative, and ``log_norm``.
    """
    n_patterns, n_branches = means.shape
    n_nodes = nodes.shape[0]
    soma_root = math.sqrt(n_branches)
    outputs = np.empty((n_branches, n_nodes))
    mean, variance = np.empty(n_branches), np.empty(n_branches)
    logs = np.empty(n_nodes)
    for pattern in range(n_patterns):
        sign = signs[pattern]
        soma, spread = -soma_offset, 0.0
        for branch in range(n_branches):
            width = math.sqrt(variances[branch])
            first, second = 0.0, 0.0
            for node in range(n_nodes):
                output = value(g, g_parameters, means[pattern, branch] + width * nodes[node])
                outputs[branch, node] = output
                first += factors[node] * output
                second += factors[node] * output * output
            mean[branch], variance[branch] = first, max(second - first * first, 0.0)
            soma += first / soma_root
            spread += variance[branch] / n_branches
        gaussian = log_tail((kappa - sign * soma) / math.sqrt(max(spread, smallest)))
        total = gaussian
        for branch in range(n_branches):
            width = math.sqrt(variances[branch])
            rest = soma - mean[branch] / soma_root
            deviation = math.sqrt(max(spread - variance[branch] / n_branches, smallest))
            largest = -math.inf
            for node in range(n_nodes):
                logs[node] = log_tail((kappa - sign * (rest + outputs[branch, node] / soma_root)) / deviation)
                largest = max(largest, logs[node])
            norm, first, second = 0.0, 0.0, 0.0
            for node in range(n_nodes):
                weight = factors[node] * math.exp(logs[node] - largest)
                norm += weight
                first += weight * nodes[node]
                second += weight * (nodes[node] * nodes[node] - 1.0)
            slope = first / (norm * width)
            response[pattern, branch] = slope
            curvature[pattern, branch] = slope * slope - second / (norm * width * width)
            # Each branch corrects the all-Gaussian soma by its own share of what is not Gaussian.
            total += math.log(norm) + largest - gaussian
        log_norm[pattern] = total
