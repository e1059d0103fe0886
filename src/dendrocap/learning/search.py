"""The solvers by name, the one that suits a task, and the search with one of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dendrocap.errors import InvalidParameter
from dendrocap.learning import message_passing, solvers  # noqa: F401  # each solver registers itself
from dendrocap.learning.recipe import Recipe
from dendrocap.learning.rules import Solver
from dendrocap.learning.solvers import AnnealedSurrogate, PlainSGD, PolishedAnnealing
from dendrocap.learning.training import EpochRecord, Training, TrainingResult
from dendrocap.model.dendritic_neuron import DendriticNeuron
from dendrocap.model.nonlinearities import Linear
from dendrocap.model.patterns import PackedPatterns, Seed
from dendrocap.validation import choice, real_number, refuse

SOLVERS = dict(Solver.registered)

# Names in stored cells and runs. These solvers reached less than the others and left the package.
GONE = ("sharpening", "least-action", "selected")


def solver_named(name: str, others: tuple[str, ...] = ()) -> Solver:
    """The solver of this name with its defaults; ``others`` are names that the caller knows."""
    if name in GONE:
        raise InvalidParameter(
            f"solver = {name!r} has left the package, because others reach more (studies/notes/solvers.md); "
            f"there are {', '.join(SOLVERS)}"
        )
    return SOLVERS[choice("solver", name, (*others, *SOLVERS))]()


# Up to this threshold, and this share of the capacity of equal branches, plain gradient descent solved all patterns of
# docs/results/learning.md in a few tens of epochs, which is faster than any annealing.
PLAIN_THRESHOLD, PLAIN_SHARE = 0.1, 0.53

# Share of the capacity of equal branches beyond which the annealed surrogate begins to fail at small thresholds. What
# equal branches cannot store, unequal ones may: a split start pays, where it applies.
CLOSE = 0.8

# Patterns per synapse that count as the capacity of equal branches where theory is not asked: it is 1.3 to 1.5 at small
# thresholds, the only ones at which it matters.
TYPICAL_CAPACITY = 1.5


def suitable_solver(neuron: DendriticNeuron, n_patterns: int, capacity: float | None = None) -> Solver:
    """The solver that ``solver="auto"`` stands for.

    ``capacity`` is the load that equal branches of this neuron store, which `dendrocap.solve` takes from theory.
    Plain gradient descent where it is known to suffice, which is for linear branches and for small thresholds far below
    capacity; the annealed surrogate everywhere else, from split branches and polished where that has been found to
    reach more, which is at small thresholds and loads that equal branches hardly store or do not.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky
    >>> neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.05, 0.5), n_inputs=999, n_branches=27)
    >>> [suitable_solver(neuron, n, capacity=1.37).name for n in (500, 1000, 1400)]
    ['sgd', 'surrogate', 'polished']
    """
    if all(isinstance(kind.nonlinearity, Linear) for kind in neuron.kinds):
        return PlainSGD()
    # Inhibition widens the spread of branch inputs, on which the slope of g is found or lost.
    largest = max(kind.theta_d + (kind.inhibition.drive if kind.inhibition else 0.0) for kind in neuron.kinds)
    share = n_patterns / neuron.n_inputs / (TYPICAL_CAPACITY if capacity is None else capacity)
    if largest <= PLAIN_THRESHOLD and share <= PLAIN_SHARE:
        return PlainSGD()
    polished = PolishedAnnealing()
    return polished if share > CLOSE and polished.splits(neuron) else AnnealedSurrogate()


def search(
    neuron: DendriticNeuron,
    inputs: ArrayLike | PackedPatterns,
    labels: ArrayLike,
    solver: str | Solver,
    *,
    seed: Seed = None,
    time_limit: float | None = 120.0,
    max_epochs: int | None = None,
    weights: ArrayLike | None = None,
    kappa: float = 0.0,
    callback: Callable[[EpochRecord], Any] | None = None,
) -> TrainingResult:
    """Look for weights that answer every pattern correctly, with a given solver.

    The arguments are those of `dendrocap.solve`, which finds a solver by theory first.
    """
    if isinstance(solver, str):
        solver = solver_named(solver)
    elif not isinstance(solver, Solver):
        raise refuse("solver", solver, f"a Solver or one of {', '.join(SOLVERS)}")
    check_margin(neuron, kappa, solver)
    recipe = Recipe(solver, max_epochs=max_epochs)
    run = Training(neuron, inputs, labels, recipe, time_limit=time_limit, seed=seed, weights=weights, kappa=kappa)
    with suppress(KeyboardInterrupt):
        run.drain(callback)
    return run.result()


def check_margin(neuron: DendriticNeuron, kappa: float, solver: Solver | None = None) -> None:
    """Refuse a margin that no weights reach, or that this solver does not look for."""
    if real_number("kappa", kappa, 0.0) == 0.0:
        return
    if solver is not None and not solver.takes_margin:
        able = ", ".join(name for name, kind in SOLVERS.items() if kind.takes_margin)
        raise InvalidParameter(f"solver = {solver.name!r} cannot look for a margin, kappa = {kappa:g}: {able} can")
    ranges = [kind.nonlinearity.range for kind in neuron.kinds]
    counts = np.array(neuron.branch_counts) / neuron.n_branches
    low, high = (float(counts @ ends) for ends in zip(*ranges, strict=True))
    theta_s = neuron.spec.theta_s
    largest = float(np.sqrt(neuron.n_branches)) * min(high - theta_s, theta_s - low)
    if kappa >= largest:
        raise refuse("kappa", kappa, f"below {largest:.4g}, the margin with all branches on or all off")
