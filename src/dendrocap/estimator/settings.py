"""Conversion of the classifier's parameters to neurons and recipes, and of somatic inputs to decisions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dendrocap.learning import (
    SGD,
    AnnealedSurrogate,
    Constant,
    ExponentialAnnealing,
    HalveOnPlateau,
    PlainSGD,
    Recipe,
    Schedule,
    Surrogate,
    suitable_solver,
)
from dendrocap.learning.many import available_cores
from dendrocap.model import DendriticNeuron, Inhibition, LinearNeuron, NeuronSpec, Nonlinearity, named_nonlinearity
from dendrocap.validation import choice, real_number, refuse, whole_number

__all__ = [
    "COMBINATIONS",
    "combined",
    "made_neuron",
    "made_recipe",
    "nonlinearity_of",
    "probabilities",
    "usual_rate",
    "usual_theta_d",
    "workers_of",
]

Floats = NDArray[np.float64]

SOLVERS = ("plain", "surrogate", "auto")
SCHEDULES = ("annealing", "plateau", "constant")
COMBINATIONS = ("mean", "vote")

# With half of the inputs active: the threshold used for the paper's images, and a rate that works on digits and MNIST.
THETA_D, RATE = 0.1, 0.06
# Final rate of annealing relative to the first.
LAST_RATE = 0.02


def _spread(activity: float) -> float:
    """Standard deviation of an input, relative to that of an input that is active half of the time."""
    return 2.0 * float(np.sqrt(activity * (1.0 - activity)))


def usual_theta_d(activity: float) -> float:
    """The threshold at which branch inputs vary as much as at 0.1 with half of the inputs active.

    Initial weights have the mean theta_d / f, and the spread of branch inputs is that of weights times that of inputs,
    sqrt(f (1 - f)); hence the threshold must be proportional to sqrt(f / (1 - f)).
    """
    f = min(max(activity, 1e-6), 1.0 - 1e-3)
    return THETA_D * 2.0 * f / _spread(f)


def usual_rate(activity: float, n_branches: int) -> float:
    """An initial rate that changes branch inputs alike, relative to the initial weights, for any number of branches."""
    f = min(max(activity, 1e-6), 1.0 - 1e-3)
    return RATE * float(np.sqrt(n_branches)) / _spread(f)


def nonlinearity_of(given: Any) -> Nonlinearity:
    """The non-linearity, given by name or as an object."""
    g = named_nonlinearity(given) if isinstance(given, str) else given
    if not isinstance(g, Nonlinearity):
        raise refuse("nonlinearity", given, "a name or a Nonlinearity")
    return g


def made_neuron(
    g: Nonlinearity,
    theta_d: float,
    theta_s: float,
    n_branches: int,
    branch_size: int,
    inhibition: Inhibition | None = None,
) -> DendriticNeuron:
    """A neuron whose branches have equal sizes."""
    if isinstance(inhibition, Inhibition) and inhibition.f_in is not None:
        raise refuse("inhibition.f_in", inhibition.f_in, "None: the activity of inputs is measured from the data")
    if g.name == "linear":
        return LinearNeuron(theta_d, n_branches * branch_size, inhibition)
    spec = NeuronSpec(g, theta_d, theta_s, inhibition=inhibition)
    return DendriticNeuron(spec, n_branches * branch_size, n_branches)


def made_recipe(
    neuron: DendriticNeuron,
    n_samples: int,
    *,
    solver: str,
    learning_rate: float,
    gamma_ce: float,
    surrogate: Surrogate | None,
    schedule: str,
    patience: int,
    max_iter: int,
) -> Recipe:
    """The training recipe of a neuron of the classifier."""
    choice("solver", solver, SOLVERS)
    choice("schedule", schedule, SCHEDULES)
    gamma_ce = real_number("gamma_ce", gamma_ce, 0.0, low_open=True)
    if solver == "auto":
        solver = "plain" if isinstance(suitable_solver(neuron, n_samples), PlainSGD) else "surrogate"
    if solver == "surrogate":
        # One slow attempt. The loss keeps the steepness by which weights are selected: a steeper one overfits.
        return Recipe(
            AnnealedSurrogate(epochs=max_iter, gamma_ce=(gamma_ce, gamma_ce)),
            max_epochs=max_iter,
            stop_when_solved=False,
        )
    schedules: dict[str, Schedule] = {
        "annealing": ExponentialAnnealing(1.0 - LAST_RATE ** (1.0 / max_iter)),
        "plateau": HalveOnPlateau(patience),
        "constant": Constant(),
    }
    return Recipe(SGD(learning_rate, gamma_ce, surrogate), schedules[schedule], max_iter, stop_when_solved=False)


def workers_of(n_jobs: int | None) -> int:
    """Number of neurons trained in parallel: scikit-learn's n_jobs, where -1 is all cores and -2 all but one."""
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise refuse("n_jobs", n_jobs, "None, a positive number, or -1 for all cores")
    number = whole_number("n_jobs", n_jobs, -(2**31))
    return number if number > 0 else max(1, available_cores() + 1 + number)


def combined(somatic_input: Floats, n_neurons: int, combine: str) -> Floats:
    """One decision per class from the somatic inputs of its neurons, shape (n_samples, n_outputs).

    Votes range from -1 (none) to 1 (all). Ties are broken by the mean somatic input, which never outweighs a vote.
    """
    choice("combine", combine, COMBINATIONS)
    by_class = somatic_input.reshape(len(somatic_input), -1, whole_number("n_neurons", n_neurons, 1))
    mean = by_class.mean(axis=2)
    if combine == "mean":
        return np.asarray(mean)
    return np.asarray(np.where(by_class > 0.0, 1.0, -1.0).mean(axis=2) + np.tanh(mean) / (2.0 * n_neurons))


def probabilities(decision: Floats, gamma_ce: float, combine: str) -> Floats:
    """Class probabilities: those of the loss for mean somatic inputs, shares of votes for votes."""
    if combine == "vote":
        # Votes including tie breaks stay within +-(1 + 1/2).
        shares = decision + 1.5
        shares = np.stack([3.0 - shares, shares], axis=1) if decision.ndim == 1 else shares
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))
    scaled = 2.0 * gamma_ce * decision
    if scaled.ndim == 1:
        scaled = np.stack([np.zeros_like(scaled), scaled], axis=1)
    odds = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))
