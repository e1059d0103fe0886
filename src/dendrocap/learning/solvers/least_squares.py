"""Damped least squares on the patterns that are wrong or nearly so: the end of a search, where gradients are slow.

Near a solution the margins are nearly linear in the weights, and what is left is a linear problem with many
constraints just violated. Stochastic gradients approach its end slowly; a few Gauss-Newton steps do it [polish]. Large
violations, which no small step can mend, pull only as hard as small ones (Huber's loss), so that few patterns stay
wrong rather than many a little.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dendrocap.learning.algorithms import EpochOutcome
from dendrocap.learning.engine import CompiledEngine
from dendrocap.learning.training import Training
from dendrocap.model.patterns import PackedPatterns

__all__ = ["least_squares"]

Floats = NDArray[np.float64]

# Margins aimed at beyond kappa, and violations beyond which the loss grows linearly, both as shares of 1 / (2 sqrt K):
# the margin of a pattern whose branches are all saturated and of which one more is right than wrong.
AIM, CAP = 0.02, 0.015
DAMPING = 1.0  # of the first step, in units of the mean squared gradient
RAISED, LOWERED = 4.0, 3.0  # factors of the damping after a step that failed, and after one that did not
LEAST, MOST = 1e-7, 1e6  # beyond which damping no step is worth trying
ACTIVE = 4000  # more patterns than this are no matter for polishing, and their matrix would not fit


def least_squares(run: Training, engine: CompiledEngine, weights: NDArray[Any], steps: int) -> Iterator[EpochOutcome]:
    """Gauss-Newton steps from these weights, one outcome each, as long as they help [polish].

    ``engine`` measures the margins; its weights are changed.
    """
    neuron, signs = run.neuron, run.patterns.signs
    unit = 0.5 / np.sqrt(neuron.n_branches)
    target, cap = run.kappa + AIM * unit, CAP * unit
    flat, damping = np.array(weights, dtype=np.float64), DAMPING
    engine.set_weights(flat)
    margins = engine.margins()
    loss = _huber(target - margins, cap)
    for _ in range(steps):
        active = np.flatnonzero(margins < target)
        if not 0 < len(active) <= ACTIVE or not LEAST <= damping <= MOST:
            return
        violation = target - margins[active]
        share = np.sqrt(np.minimum(1.0, cap / violation)).astype(np.float32)
        gradient = _gradients(run, flat, active) * (signs[active].astype(np.float32) * share)[:, None]
        step = _damped_step(gradient, share * violation, flat, damping)
        trial = np.maximum(flat + step, 0.0)
        engine.set_weights(trial)
        reached = engine.margins()
        gained = _huber(target - reached, cap)
        if gained < loss:
            flat, margins, loss = trial, reached, gained
            damping = max(damping / LOWERED, LEAST)
        else:
            damping *= RAISED
        yield EpochOutcome(margins, flat, 0.0)


def _huber(violation: NDArray[Any], cap: float) -> float:
    """Half the squares of violations up to ``cap``, straight lines beyond."""
    positive = np.maximum(violation, 0.0).astype(np.float64)
    return float(np.where(positive < cap, 0.5 * positive**2, cap * (positive - 0.5 * cap)).sum())


def _gradients(run: Training, flat: Floats, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """dDelta / dW of these patterns, shape (patterns, n_inputs)."""
    neuron, inputs = run.neuron, run.patterns.inputs
    chosen = inputs.unpack(rows) if isinstance(inputs, PackedPatterns) else inputs[rows]
    slopes = neuron.by_kind(lambda kind, x: kind.nonlinearity.derivative(x), neuron.branch_input(flat, chosen))
    slopes /= np.sqrt(neuron.branch_sizes * neuron.n_branches)
    return np.asarray(np.repeat(slopes.astype(np.float32), neuron.branch_sizes, axis=1) * chosen)


def _damped_step(gradient: NDArray[np.float32], wanted: NDArray[Any], flat: Floats, damping: float) -> Floats:
    """The change of weights that comes closest to the wanted margins; weights at zero that would fall stay there."""
    free = (flat > 0.0) | (wanted.astype(np.float32) @ gradient > 0.0)
    step = np.zeros_like(flat)
    ridge = 0.0
    for _ in range(3):
        own = gradient[:, free]
        products = own @ own.T
        at = np.diag_indices(len(products))
        ridge = ridge or damping * max(float(products[at].mean()), 1e-30)
        products[at] += ridge
        step[:] = 0.0
        step[free] = np.linalg.solve(products, wanted.astype(np.float32)) @ own
        held = free & (flat <= 0.0) & (step < 0.0)
        if not held.any():
            break
        free &= ~held
    return np.where((flat <= 0.0) & (step < 0.0), 0.0, step)
