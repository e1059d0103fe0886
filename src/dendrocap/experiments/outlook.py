"""What theory says about a search before it begins: how far the load is from the capacity, and what that means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dendrocap.display import Displayed
from dendrocap.model import DendriticNeuron, TaskSpec
from dendrocap.validation import whole_number

__all__ = ["Outlook", "solving_outlook"]

# Up to this share of the fast estimate the annealed surrogate solved all seeds at all thresholds (docs/solvers.md), and
# the best estimate is not worth its time.
EASY = 0.75
# Largest loads solved within two minutes, as shares of the best estimate: mean and standard deviation over six
# thresholds from 0.01 to 1 at N = 999, K = 27; a test compares them with the stored searches (docs/solvers.md).
REACHED, SPREAD = 0.82, 0.04


@dataclass(frozen=True)
class Outlook(Displayed):
    """The chance that `solve` finds weights without errors for random patterns.

    Parameters
    ----------
    load : float
        Patterns per synapse.
    capacity, error : float
        Best estimate of the capacity, or the fast one where the load is far below it, and its error.
    chance : float
        Estimated probability of success: how often solvers reached this share of the capacity.

    Examples
    --------
    >>> print(Outlook(load=1.0, capacity=2.0, error=0.1, chance=1.0).words)
    load 1 is 50 % of the capacity, 2.00 ± 0.10: success is expected
    >>> Outlook(load=2.5, capacity=2.0, error=0.1, chance=0.0).hopeless
    True
    """

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
        return f"{share}, {self.capacity:.2f} ± {self.error:.2f}: {verdict}"


def solving_outlook(
    neuron: DendriticNeuron,
    n_patterns: int,
    task: TaskSpec | None = None,
    *,
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
    from scipy.special import ndtr  # sweeps, which live in this package, need neither SciPy nor the theory

    from dendrocap.theory import capacity

    load = whole_number("n_patterns", n_patterns, 1) / neuron.n_inputs
    found = capacity(neuron, task, accuracy="fast")
    if load > EASY * found.alpha_c:
        found = capacity(neuron, task, callback=callback)
    chance = float(ndtr((REACHED - load / found.alpha_c) / SPREAD))
    return Outlook(load, found.alpha_c, found.error, chance)
