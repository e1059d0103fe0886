"""The paper's rule, restarted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from dendrocap.learning.algorithms import EpochOutcome, Solver, epochs_of
from dendrocap.learning.engine import CompiledEngine
from dendrocap.learning.schedules import HalveOnPlateau
from dendrocap.learning.solvers.scales import input_scale
from dendrocap.learning.surrogates import FlooredSlope
from dendrocap.learning.training import Training
from dendrocap.model.nonlinearities import Step
from dendrocap.validation import real_number, whole_number

__all__ = ["PlainSGD"]


@dataclass(frozen=True)
class PlainSGD(Solver):
    """Stochastic gradient descent with g' itself, the rate halved on plateaus, restarted when it is spent.

    Parameters
    ----------
    learning_rate : float, optional
        First rate; by default a fifth of the natural weight scale, between the two rates that served best in
        docs/results/learning.md.
    gamma_ce : float
        Steepness of the loss.
    patience : int
        Epochs without a new minimum before the rate is halved.

    Examples
    --------
    >>> from dendrocap import DendriticNeuron, NeuronSpec, Polsky, random_patterns, solve
    >>> neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.05, 0.5), n_inputs=150, n_branches=9)
    >>> patterns = random_patterns(30, 150, rng=0)
    >>> result = solve(neuron, *patterns, solver=PlainSGD(), seed=0, max_epochs=5000)
    >>> result.solved, result.algorithm.name
    (True, 'sgd')
    """

    name: ClassVar[str] = "sgd"
    takes_margin: ClassVar[bool] = True

    learning_rate: float | None = None
    gamma_ce: float = 100.0
    patience: int = 1000

    def __post_init__(self) -> None:
        if self.learning_rate is not None:
            real_number("learning_rate", self.learning_rate, 0.0, low_open=True)
        real_number("gamma_ce", self.gamma_ce, 0.0, low_open=True)
        whole_number("patience", self.patience, 1)

    def attempt(self, run: Training, number: int) -> Iterator[EpochOutcome]:
        neuron = run.neuron
        rate = 0.2 * input_scale(neuron) if self.learning_rate is None else self.learning_rate
        # A step has no slope: the least that lets it learn is a floor.
        surrogate = FlooredSlope() if any(isinstance(kind.nonlinearity, Step) for kind in neuron.kinds) else None
        engine = CompiledEngine(neuron, run.patterns, gamma_ce=self.gamma_ce, surrogate=surrogate, kappa=run.kappa)
        engine.set_weights(run.first_weights())
        run.follow(HalveOnPlateau(self.patience), rate)
        return epochs_of(engine, run)
