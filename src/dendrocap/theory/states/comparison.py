"""Comparison of several states under the same noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dendrocap.display import Displayed
from dendrocap.errors import DendrocapError, NoSolution
from dendrocap.model import DendriticNeuron, NeuronSpec, TaskSpec
from dendrocap.theory.estimates import SYMMETRIC
from dendrocap.theory.saddle_point import saddle_point
from dendrocap.theory.states.learned import learned_state
from dendrocap.theory.states.margin import least_noise_error, maximal_margin
from dendrocap.theory.states.noise import Noise
from dendrocap.theory.states.noise_error import noise_error
from dendrocap.validation import real_number, refuse

__all__ = ["NoiseErrors", "noise_errors"]


@dataclass(frozen=True)
class NoiseErrors(Displayed):
    """Fractions of patterns wrong under one noise, for several states at one load; NaN if a state does not exist.

    Attributes
    ----------
    typical : float
        A solution drawn at random.
    largest_margin : float
        The solution of largest margin in units of the fluctuations of the somatic input.
    learned : float
        The minimum of the cross-entropy; it may have errors without noise.
    best_possible : float
        The smallest error of any weights, a bound for equal branches; NaN for neurons with a size.
    reason : str
        Why some states are missing.
    estimate : str
        All are replica symmetric with equal branches. For a linear neuron the first three are exact.

    Examples
    --------
    >>> from dendrocap import Linear, NeuronSpec
    >>> found = noise_errors(NeuronSpec(Linear(), theta_d=0.5, theta_s=0.5), alpha=0.5, flips=0.05)
    >>> print(f"{found.best_possible:.3f} <= {found.largest_margin:.3f} <= {found.typical:.3f}")
    0.087 <= 0.126 <= 0.237
    """

    _displayed = ("typical", "largest_margin", "learned", "best_possible", "estimate")

    typical: float
    largest_margin: float
    learned: float
    best_possible: float
    reason: str = ""
    estimate: str = SYMMETRIC


def noise_errors(
    neuron: NeuronSpec | DendriticNeuron,
    task: TaskSpec | None = None,
    *,
    alpha: float,
    flips: float = 0.0,
    synaptic: float = 0.0,
    gamma_ce: float = 10.0,
) -> NoiseErrors:
    """Errors of typical, largest-margin and learned states under the same noise, and the smallest possible error.

    A `DendriticNeuron` has a size: noise then shifts its mean inputs, as in `noise_error` with sizes. Without a size,
    thresholds follow. ``gamma_ce`` is the steepness of the loss that the learned state minimises.
    """
    task = TaskSpec() if task is None else task
    spec = neuron.spec if isinstance(neuron, DendriticNeuron) else neuron
    size: dict[str, int] = {}
    if isinstance(neuron, DendriticNeuron):
        if neuron.n_inputs % neuron.n_branches:
            raise refuse("n_inputs", neuron.n_inputs, f"a multiple of n_branches = {neuron.n_branches} here")
        size = {"n_branches": neuron.n_branches, "branch_size": neuron.n_inputs // neuron.n_branches}
    alpha = real_number("alpha", alpha, 0.0, low_open=True)
    real_number("gamma_ce", gamma_ce, 0.0, low_open=True)
    noise = Noise(flips, synaptic, **size)
    noise.check(spec, task)
    how: dict[str, Any] = {"flips": noise.flips, "synaptic": noise.synaptic, **size}

    def bound() -> float:
        if size:
            raise NoSolution(
                "the best possible error is known for thresholds that follow the noise: leave out the size"
            )
        return least_noise_error(spec, task, alpha=alpha, flips=noise.flips, synaptic=noise.synaptic)

    states: dict[str, Callable[[], float]] = {
        "typical": lambda: noise_error(saddle_point(spec, task, alpha=alpha), **how),
        "largest_margin": lambda: noise_error(maximal_margin(spec, task, alpha=alpha, criterion="relative"), **how),
        "learned": lambda: noise_error(learned_state(spec, task, alpha=alpha, gamma_ce=gamma_ce), **how),
        "best_possible": bound,
    }
    found: dict[str, float] = {}
    missing: dict[str, DendrocapError] = {}
    for name, solve in states.items():
        try:
            found[name] = solve()
        except DendrocapError as error:
            missing[name] = error
    if not found:
        raise missing["typical"]
    reason = "; ".join(f"{name}: {error}" for name, error in missing.items())
    typical, margin, learned, best = (found.get(name, math.nan) for name in states)
    return NoiseErrors(typical, margin, learned, best, reason)
