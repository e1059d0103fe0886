"""Least action learning: change the branch that needs the smallest change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dendrocap.learning.algorithms import EpochOutcome, Solver
from dendrocap.learning.engine import CompiledEngine
from dendrocap.learning.solvers.scales import input_scale, refuse_kinds, rise_of, span
from dendrocap.learning.training import Training
from dendrocap.validation import real_number, refuse, whole_number

__all__ = ["LeastAction"]


@dataclass(frozen=True)
class LeastAction(Solver):
    """On every wrong pattern, a perceptron step on the one branch that is closest to switching.

    A branch is on or off; the one whose input lies nearest to the middle of the rise, on the wrong side of it, can
    be switched at the least cost to other patterns. It needs no slope, and a g with two ends.

    Parameters
    ----------
    epochs : int
        Length of the first attempt; each further one is twice as long.
    rate : pair of float
        First and last step, in units of the natural weight scale.
    margin : float
        Patterns with a smaller margin count as wrong while learning; it keeps the last ones from tipping.

    Examples
    --------
    >>> from dendrocap import DendriticNeuron, NeuronSpec, Polsky, random_patterns, solve
    >>> neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.3, 0.5), n_inputs=150, n_branches=9)
    >>> patterns = random_patterns(30, 150, rng=0)
    >>> result = solve(neuron, *patterns, solver=LeastAction(), seed=0, max_epochs=5000)
    >>> result.solved, result.algorithm.name
    (True, 'least-action')
    """

    name: ClassVar[str] = "least-action"
    takes_margin: ClassVar[bool] = True

    epochs: int = 2000
    rate: tuple[float, float] = (1.0, 0.03)
    margin: float = 0.02

    def __post_init__(self) -> None:
        whole_number("epochs", self.epochs, 1)
        span("rate", self.rate)
        real_number("margin", self.margin, 0.0)

    def attempt(self, run: Training, number: int) -> Iterator[EpochOutcome]:
        from dendrocap.learning.solvers import _kernels

        refuse_kinds(run.neuron, f"solver = {self.name!r}")
        neuron, patterns, rise = run.neuron, run.patterns, rise_of(run.neuron.nonlinearity)
        if rise is None:
            raise refuse("nonlinearity", neuron.nonlinearity, "bounded: least action switches branches on and off")
        inputs, signs = patterns.dense, patterns.signs
        rates = span("rate", self.rate).times(input_scale(neuron))
        code, parameters = neuron.nonlinearity.kernel()
        soma_offset = float(np.sqrt(neuron.n_branches) * neuron.spec.theta_s)
        weights = np.array(run.first_weights())
        tester = CompiledEngine(neuron, patterns)
        length = self.epochs * 2**number
        for epoch in range(length):
            rate = rates.at(epoch / length)
            _kernels.least_action_epoch(
                weights,
                inputs,
                signs,
                run.shuffled(),
                neuron.branch_starts,
                neuron.branch_sizes,
                neuron.theta_d,
                soma_offset,
                code,
                parameters,
                rise.center,
                self.margin + run.kappa,
                rate,
            )
            tester.set_weights(weights)
            yield EpochOutcome(tester.margins(), weights.copy(), rate)
