"""Exact decision whether the linear neuron can learn a set of patterns.

The linear neuron with non-negative weights solves patterns with margin kappa if some ``W >= 0`` satisfies
``sign (W . xi / sqrt(N) - sqrt(N) theta) >= kappa`` for every pattern: a linear program. No learning rule is
involved, so it separates tasks that cannot be learned from tasks that were not learned. Inhibitory weights are <= 0,
and their mean is fixed by their drive, as in the theory; otherwise excitation and inhibition could grow without bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError
from dendrocap.learning.homeostasis import measured_activity
from dendrocap.model.dendritic_neuron import LinearNeuron
from dendrocap.model.patterns import PackedPatterns, binary_patterns
from dendrocap.validation import real_number, refuse

# Far above the feasibility tolerance of the solver (1e-7), far below relevant margins.
STRICTLY_POSITIVE = 1e-6


@dataclass(frozen=True, eq=False)
class LinearFeasibility(Displayed):
    """The largest margin of a linear neuron on a task, and weights that reach it."""

    _displayed = ("feasible", "margin", "kappa")

    feasible: bool  # whether every pattern can be right by more than ``kappa``
    margin: float  # least ``sign * Delta``, maximised over weights; negative if no weights separate the patterns
    weights: NDArray[np.float64]
    kappa: float


def linear_feasibility(
    neuron: LinearNeuron,
    inputs: ArrayLike | PackedPatterns,
    labels: ArrayLike,
    *,
    kappa: float = 0.0,
) -> LinearFeasibility:
    """The largest margin with which a linear neuron can solve patterns, by linear programming (HiGHS).

    Parameters
    ----------
    neuron : LinearNeuron
        Its threshold fixes the scale of the weights; with inhibition, its two drives do.
    inputs, labels : arrays
        The task.
    kappa : float
        Margin to exceed.

    Examples
    --------
    >>> neuron = LinearNeuron(theta_d=0.5, n_inputs=2)
    >>> linear_feasibility(neuron, [[1, 0], [0, 1], [1, 1]], [1, 1, 1]).feasible
    True
    >>> linear_feasibility(neuron, [[1, 0], [0, 1], [1, 1]], [1, 1, 0]).feasible  # XOR
    False
    """
    if not isinstance(neuron, LinearNeuron):
        raise refuse("neuron", neuron, "a LinearNeuron")
    from scipy.optimize import linprog

    kappa = real_number("kappa", kappa, 0.0)
    patterns = binary_patterns(inputs, labels, neuron.n_inputs)
    dense, signs = patterns.dense, patterns.signs
    root = np.sqrt(neuron.n_inputs)
    # Unknowns: the weights, then the margin t. Maximise t with t - sign (W . xi / sqrt(N)) <= -sign sqrt(N) theta.
    # If all labels are 1 the margin is unbounded: a bound slightly above kappa decides the question.
    rows = np.hstack([-signs[:, None] * dense / root, np.ones((len(dense), 1))])
    cost = np.zeros(neuron.n_inputs + 1)
    cost[-1] = -1.0
    threshold = float(neuron.thresholds[0])
    bounds = [(None, 0.0) if inhibits else (0.0, None) for inhibits in neuron.inhibitory]
    bounds.append((None, kappa + root * max(neuron.theta_d, 1.0)))
    held = {}
    if neuron.has_inhibition:
        mean = neuron.mean_weights(np.broadcast_to(measured_activity(neuron, patterns.inputs), neuron.n_inputs))
        row = np.append(neuron.inhibitory, 0.0)[None, :]
        held = {"A_eq": row, "b_eq": [float(mean[neuron.inhibitory].sum())]}
    # The interior-point method is twice as fast as the simplex on these dense rows (3 s at N = 999).
    outcome = linprog(cost, A_ub=rows, b_ub=-signs * root * threshold, bounds=bounds, method="highs-ipm", **held)
    if outcome.status != 0:
        raise ConvergenceError(f"the linear program stopped without a result: {outcome.message}", outcome.x)
    flat = neuron.rectified(outcome.x[:-1])
    margin = float(np.min(signs * neuron.somatic_input(flat, dense)))
    return LinearFeasibility(margin > kappa + STRICTLY_POSITIVE, margin, neuron.shaped_weights(flat), kappa)
