"""The compiled loop of message passing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dendrocap.model._compiled import value
from dendrocap.numerics._caching import njit
from dendrocap.numerics._compiled import log_tail


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
