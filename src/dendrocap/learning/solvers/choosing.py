"""Learning patterns with a solver of choice, or with the one that suits them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dendrocap.errors import InvalidParameter
from dendrocap.learning.algorithms import Solver
from dendrocap.learning.recipe import Recipe
from dendrocap.learning.solvers.least_action import LeastAction
from dendrocap.learning.solvers.message_passing import MessagePassing
from dendrocap.learning.solvers.plain import PlainSGD
from dendrocap.learning.solvers.polished import PolishedAnnealing
from dendrocap.learning.solvers.replicated import ReplicatedSGD
from dendrocap.learning.solvers.selected import SelectedAnnealing
from dendrocap.learning.solvers.sharpening import SharpenedNonlinearity
from dendrocap.learning.solvers.surrogate import AnnealedSurrogate
from dendrocap.learning.training import EpochRecord, Training, TrainingResult
from dendrocap.model.dendritic_neuron import DendriticNeuron
from dendrocap.model.nonlinearities import Linear
from dendrocap.model.patterns import PackedPatterns
from dendrocap.model.seeds import Seed
from dendrocap.validation import choice, real_number, refuse

__all__ = ["SOLVERS", "solve", "suitable_solver"]

SOLVERS: dict[str, type[Solver]] = {
    kind.name: kind
    for kind in (
        PlainSGD,
        AnnealedSurrogate,
        SharpenedNonlinearity,
        LeastAction,
        ReplicatedSGD,
        MessagePassing,
        PolishedAnnealing,
        SelectedAnnealing,
    )
}

# Up to this threshold and load plain gradient descent solved all patterns of docs/results/learning.md, in a few
# tens of epochs, which is faster than any annealing.
PLAIN_THRESHOLD, PLAIN_LOAD = 0.1, 0.8
# Loads at which the annealed surrogate begins to fail at small thresholds, up to the largest capacity there: between
# them a split start pays, where it applies.
SPLIT_LOADS = 1.2, 1.9


def suitable_solver(neuron: DendriticNeuron, n_patterns: int) -> Solver:
    """The solver that ``solver="auto"`` stands for.

    Plain gradient descent where it is known to suffice, which is for linear branches and for small thresholds at
    low load; the annealed surrogate everywhere else, from split branches and polished where that has been found to
    reach more, which is at small thresholds and loads close to capacity. `solving_outlook` says what to expect of it.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky
    >>> neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.05, 0.5), n_inputs=999, n_branches=27)
    >>> suitable_solver(neuron, 500).name, suitable_solver(neuron, 1100).name, suitable_solver(neuron, 1400).name
    ('sgd', 'surrogate', 'polished')
    """
    if all(isinstance(kind.nonlinearity, Linear) for kind in neuron.kinds):
        return PlainSGD()
    # Inhibition widens the spread of branch inputs, on which the slope of g is found or lost.
    largest = max(kind.theta_d + (kind.inhibition.drive if kind.inhibition else 0.0) for kind in neuron.kinds)
    easy = largest <= PLAIN_THRESHOLD and n_patterns <= PLAIN_LOAD * neuron.n_inputs
    if easy:
        return PlainSGD()
    close = SPLIT_LOADS[0] < n_patterns / neuron.n_inputs <= SPLIT_LOADS[1]
    polished = PolishedAnnealing()
    return polished if close and polished.splits(neuron) else AnnealedSurrogate()


def solve(
    neuron: DendriticNeuron,
    inputs: ArrayLike | PackedPatterns,
    labels: ArrayLike,
    *,
    solver: str | Solver = "auto",
    seed: Seed = None,
    time_limit: float | None = 120.0,
    max_epochs: int | None = None,
    weights: ArrayLike | None = None,
    kappa: float = 0.0,
    callback: Callable[[EpochRecord], Any] | None = None,
) -> TrainingResult:
    """Look for weights that answer every pattern correctly.

    Parameters
    ----------
    neuron : DendriticNeuron
        The neuron, dendritic or linear.
    inputs : array of 0 and 1, shape (n_patterns, n_inputs), or PackedPatterns
        The patterns.
    labels : array of 0 and 1, shape (n_patterns,)
        The wanted answers.
    solver : str or Solver
        "auto", "sgd", "surrogate", "sharpening", "least-action", "replicated", "message-passing", "polished",
        "selected", or a solver with settings of one's own. A neuron with inhibition or with several populations is
        refused by "least-action", "message-passing", "polished" and "selected".
    seed : int, SeedSequence, Generator or None
        Source of all randomness. The same seed gives the same weights, unless the time limit cuts in.
    time_limit : float or None
        Seconds; None leaves the end to ``max_epochs`` or, without that, to the first attempt.
    max_epochs : int, optional
        Epochs in all attempts together.
    weights : array, optional
        First weights; by default uniform on [0, 2 theta_d / f_in].
    kappa : float
        Margin asked for: a pattern is right where sign * Delta is above it. The margin reached is in the result.
    callback : callable, optional
        Called with every `EpochRecord`; a true answer ends the search.

    Returns
    -------
    TrainingResult
        The best weights met. ``errors`` is recounted from them in float64 by the neuron's own formula, and ``solved``
        means that it is zero; ``algorithm`` is the solver used, ``stopped`` why the search ended. Ctrl-C ends it with
        "interrupted".

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky, random_patterns
    >>> neuron = DendriticNeuron(NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.5), n_inputs=300, n_branches=15)
    >>> result = solve(neuron, *random_patterns(300, 300, rng=0), seed=0)
    >>> result.solved, result.algorithm.name
    (True, 'surrogate')
    """
    if isinstance(solver, str):
        choice("solver", solver, ("auto", *SOLVERS))
    elif not isinstance(solver, Solver):
        raise refuse("solver", solver, f"a Solver or one of auto, {', '.join(SOLVERS)}")
    chosen: Solver
    if solver == "auto":
        chosen = suitable_solver(neuron, len(labels))  # type: ignore[arg-type]
    else:
        chosen = SOLVERS[solver]() if isinstance(solver, str) else solver
    _check_margin(chosen, neuron, kappa)
    recipe = Recipe(chosen, max_epochs=max_epochs)
    run = Training(neuron, inputs, labels, recipe, time_limit=time_limit, seed=seed, weights=weights, kappa=kappa)
    with suppress(KeyboardInterrupt):
        run.drain(callback)
    return run.result()


def _check_margin(solver: Solver, neuron: DendriticNeuron, kappa: float) -> None:
    """Refuse a margin that no weights reach, or that this solver does not look for."""
    if real_number("kappa", kappa, 0.0) == 0.0:
        return
    if not solver.takes_margin:
        able = ", ".join(name for name, kind in SOLVERS.items() if kind.takes_margin)
        raise InvalidParameter(f"solver = {solver.name!r} cannot look for a margin, kappa = {kappa:g}: {able} can")
    ranges = [kind.nonlinearity.range for kind in neuron.kinds]
    counts = np.array(neuron.branch_counts) / neuron.n_branches
    low, high = (float(counts @ ends) for ends in zip(*ranges, strict=True))
    theta_s = neuron.spec.theta_s
    largest = float(np.sqrt(neuron.n_branches)) * min(high - theta_s, theta_s - low)
    if kappa >= largest:
        raise refuse("kappa", kappa, f"below {largest:.4g}, the margin with all branches on or all off")
