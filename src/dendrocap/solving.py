"""Solving patterns with what theory says about them: how far the load is from the capacity, and what that means."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.display import Displayed
from dendrocap.errors import DendrocapError, NoSolution
from dendrocap.learning import EpochRecord, TrainingResult, search, suitable_solver
from dendrocap.learning.rules import Solver
from dendrocap.learning.search import check_margin, solver_named
from dendrocap.model import DendriticNeuron, PackedPatterns, Patterns, TaskSpec
from dendrocap.model.patterns import BLOCK, Seed, active_fractions, binary_patterns
from dendrocap.validation import whole_number

__all__ = ["Outlook", "random_task", "solve", "solver_by_theory", "solving_outlook"]

# Largest loads solved within two minutes, as shares of the best estimate: mean and standard deviation over six
# thresholds from 0.01 to 1 at N = 999, K = 27; a test compares them with the stored searches (docs/solvers.md).
REACHED, SPREAD = 0.82, 0.04


@dataclass(frozen=True)
class Outlook(Displayed):
    """The chance that `solve` finds weights without errors for random patterns."""

    _displayed = ("load", "capacity", "error", "chance")

    load: float
    capacity: float
    error: float
    chance: float

    @property
    def share(self) -> float:
        """Load over capacity."""
        return self.load / self.capacity

    @property
    def hopeless(self) -> bool:
        """Whether the load is above the capacity by more than its error."""
        return self.load > self.capacity + self.error

    @property
    def words(self) -> str:
        """The outlook in a line."""
        if self.hopeless:
            verdict = "above it no weights without errors are expected to exist"
        elif self.chance > 0.9:
            verdict = "success is expected"
        else:
            verdict = f"the chance of success is about {100 * self.chance:.0f} %, judged by searches at N = 999, K = 27"
        share = f"load {self.load:.4g} is {100 * self.share:.0f} % of the capacity"
        if math.isnan(self.error):
            return f"{share} of equal branches, about {self.capacity:.1f}: {verdict}"
        return f"{share}, {self.capacity:.2f} ± {self.error:.2f}: {verdict}"


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
    anyway: bool = False,
    callback: Callable[[EpochRecord], Any] | None = None,
) -> TrainingResult:
    """Look for weights that answer every pattern correctly.

    Parameters
    ----------
    neuron, inputs, labels, seed, max_epochs, weights, callback
        As for `train`. The same seed gives the same weights, unless the time limit cuts in.
    solver : str or Solver
        "auto", "sgd", "surrogate", "replicated", "message-passing", "polished", or a solver with settings of one's own.
        A neuron with inhibition or with several populations is refused by "message-passing" and "polished". With "auto"
        theory chooses if the patterns look random: by the distance of the load from the capacity, which takes a tenth
        of a second, and some ten seconds for loads that equal branches do not store. For other patterns the load alone
        decides.
    time_limit : float or None
        Seconds of the search; None leaves the end to ``max_epochs`` or, without that, to the first attempt.
    kappa : float
        Margin asked for: a pattern is right where sign * Delta is above it. The margin reached is in the result.
    anyway : bool
        Search with "auto" above the capacity, too.

    Returns
    -------
    TrainingResult
        The best weights met. ``errors`` is recounted from them in float64 by the neuron's own formula, and ``solved``
        means that it is zero; ``algorithm`` is the solver used, ``stopped`` why the search ended. Ctrl-C ends it with
        "interrupted".

    Raises
    ------
    NoSolution
        With "auto", if patterns and labels look random and are more than the neuron can store by more than the error of
        that estimate. `solving_outlook` says this beforehand, with the chance of success below capacity.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky, random_patterns
    >>> neuron = DendriticNeuron(NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.5), n_inputs=300, n_branches=15)
    >>> result = solve(neuron, *random_patterns(300, 300, rng=0), seed=0)
    >>> result.solved, result.algorithm.name
    (True, 'surrogate')
    """
    if isinstance(solver, str) and solver != "auto":
        solver = solver_named(solver, ("auto",))
    patterns = binary_patterns(inputs, labels, neuron.n_inputs)
    if solver == "auto":
        check_margin(neuron, kappa)
        solver = _chosen(neuron, patterns, kappa, anyway)
    return search(
        neuron,
        *patterns,
        solver,
        seed=seed,
        time_limit=time_limit,
        max_epochs=max_epochs,
        weights=weights,
        kappa=kappa,
        callback=callback,
    )


def _chosen(neuron: DendriticNeuron, patterns: Patterns, kappa: float, anyway: bool) -> Solver:
    """The solver for these patterns; raises an error where theory says that there is nothing to find."""
    task, n_patterns = random_task(patterns, kappa), len(patterns.labels)
    if task is None:
        return suitable_solver(neuron, n_patterns)
    if not anyway:
        try:
            outlook = solving_outlook(neuron, n_patterns, task, closely=1.0)
        except DendrocapError:  # theory does not know this neuron; the search does not need it
            return suitable_solver(neuron, n_patterns)
        if outlook.hopeless:
            raise NoSolution(f"{outlook.words}. solve(..., anyway=True) searches all the same")
    return solver_by_theory(neuron, n_patterns, task)


def solver_by_theory(neuron: DendriticNeuron, n_patterns: int, task: TaskSpec | None = None) -> Solver:
    """The solver for so many random patterns, by the distance of their load from the capacity of equal branches.

    Where theory has no capacity, the load alone decides.
    """
    from dendrocap.answers import capacity

    try:
        equal = capacity(neuron, task, accuracy="fast").alpha_c
    except DendrocapError:
        equal = None
    return suitable_solver(neuron, n_patterns, equal)


# Patterns count as random if they deviate by less than this many standard errors from independent inputs and labels.
RANDOM = 5.0


def random_task(patterns: Patterns, kappa: float = 0.0) -> TaskSpec | None:
    """The statistics of patterns that look random, as theory assumes them; None if they do not.

    Three things are looked at, each of which images fail: whether all inputs are active equally often, whether patterns
    differ in activity no more than independent inputs make them, and whether labels go with activity, as those of a
    teacher do. Coding levels that deviate from 1/2 by chance are 1/2.
    """
    n_patterns, n_inputs = patterns.inputs.shape
    each = active_fractions(patterns.inputs)
    f_in, f_out = float(np.mean(each)), float(np.mean(patterns.labels))
    if not (0.0 < f_in < 1.0 and 0.0 < f_out < 1.0):
        return None
    activity = _active_inputs(patterns.inputs) - n_inputs * f_in
    spread = f_in * (1.0 - f_in)
    deviations = (
        (n_patterns * np.mean((each - f_in) ** 2) / spread - 1.0) * math.sqrt(0.5 * n_inputs),
        (np.mean(activity**2) / (n_inputs * spread) - 1.0) * math.sqrt(0.5 * n_patterns),
        np.sum((patterns.labels - f_out) * activity)
        / math.sqrt(n_patterns * f_out * (1.0 - f_out) * n_inputs * spread),
    )
    if max(np.abs(deviations)) > RANDOM:
        return None
    return TaskSpec(_level(f_in, n_patterns * n_inputs), _level(f_out, n_patterns), kappa)


def _active_inputs(inputs: NDArray[np.uint8] | PackedPatterns) -> NDArray[np.int64]:
    """How many inputs of each pattern are active; unpacked in blocks, since all at once may not fit."""
    if not isinstance(inputs, PackedPatterns):
        return np.asarray(inputs.sum(axis=1, dtype=np.int64))
    step = max(1, BLOCK // inputs.n_inputs)
    rows = (slice(first, first + step) for first in range(0, len(inputs), step))
    return np.concatenate([inputs.unpack(block).sum(axis=1, dtype=np.int64) for block in rows])


def _level(measured: float, count: int) -> float:
    """A coding level: 1/2 if so many values are compatible with it."""
    return 0.5 if abs(measured - 0.5) * 2.0 * math.sqrt(count) < RANDOM else measured


def solving_outlook(
    neuron: DendriticNeuron,
    n_patterns: int,
    task: TaskSpec | None = None,
    *,
    closely: float = 0.75,
    callback: Callable[[float, str], object] | None = None,
) -> Outlook:
    """How likely `solve` is to succeed on so many random patterns, from theory and from what solvers have reached.

    Far below capacity this takes milliseconds; closer to it the best estimate is computed, some ten seconds.

    Parameters
    ----------
    neuron : DendriticNeuron
        The neuron, with its size.
    n_patterns : int
        Patterns to be learned.
    task : TaskSpec, optional
        Coding levels and margin; 1/2, 1/2 and 0 if not given.
    closely : float
        Share of the capacity of equal branches, known in a tenth of a second, beyond which the best estimate is
        computed. Up to 0.75 the annealed surrogate solved all seeds at all thresholds (docs/solvers.md).
    callback : callable, optional
        Called now and then with the share of the work done and a word about it.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky
    >>> neuron = DendriticNeuron(NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.5), n_inputs=999, n_branches=27)
    >>> outlook = solving_outlook(neuron, 999)
    >>> outlook.hopeless, round(outlook.chance, 3)
    (False, 1.0)
    """
    from scipy.special import ndtr

    from dendrocap.answers import capacity

    load = whole_number("n_patterns", n_patterns, 1) / neuron.n_inputs
    found = capacity(neuron, task, accuracy="fast")
    if load > closely * found.alpha_c:
        found = capacity(neuron, task, callback=callback)
    chance = float(ndtr((REACHED - load / found.alpha_c) / SPREAD))
    return Outlook(load, found.alpha_c, found.error, chance)
