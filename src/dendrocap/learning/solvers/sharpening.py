"""Training with a soft g that is sharpened to the true one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from dendrocap.learning.algorithms import EpochOutcome, Solver
from dendrocap.learning.engine import CompiledEngine
from dendrocap.learning.solvers.scales import input_scale, input_scales, rise_of, span
from dendrocap.learning.training import Training
from dendrocap.model import Nonlinearity, Polsky, Tabulated
from dendrocap.numerics.quadrature import hermite_rule
from dendrocap.validation import real_number, whole_number

__all__ = ["SharpenedNonlinearity", "softened"]

NODES = 61  # of the average of g over a Gaussian


@lru_cache(maxsize=256)
def softened(g: Nonlinearity, width: float) -> Nonlinearity:
    """g with its rise made wider.

    `Polsky` keeps its formula, with the steepness lowered so that the rise is wider by ``width``: its kernel is
    the fast one. Any other bounded g is averaged over a Gaussian of this width, and tabulated.

    Examples
    --------
    >>> softened(Polsky(gamma=8.0), 0.125)
    Polsky(x_min=0.33, gamma=4.0)
    """
    if width == 0.0:
        return g
    if isinstance(g, Polsky):
        return Polsky(g.x_min, 1.0 / (1.0 / g.gamma + width))
    rise = rise_of(g)
    center = 0.0 if rise is None else rise.center
    reach = 6.0 * width + (2.0 if rise is None else 4.0 * rise.width)
    x = np.linspace(center - reach, center + reach, 241)
    nodes, weights = hermite_rule(NODES)
    y = g(x[:, None] + width * nodes) @ weights
    return Tabulated(tuple(x), tuple(y))


@dataclass(frozen=True)
class SharpenedNonlinearity(Solver):
    """SGD on a neuron whose g is soft at first and becomes the true one while the errors stay at zero.

    Every stage trains with its own g and its own true slope until that neuron makes no error, or its share of
    epochs is spent; then g is made sharper. A soft g has a slope everywhere, so that no pattern is out of reach.

    Parameters
    ----------
    softness : float, optional
        First width added to the rise of g; by default 1.8 times the natural weight scale, about the spread
        of branch inputs.
    stages : int
        Number of sharpenings; the width shrinks by the same factor in each but the last, which is g itself.
    epochs : int
        Most epochs per stage in the first attempt; twice as many in each further one.
    rate : pair of float
        Rate at the beginning and end of a stage, in units of the natural weight scale.
    gamma_ce : float
        Steepness of the loss. Sharpening moves every margin, so that a margin of some size must be kept.

    Examples
    --------
    >>> from dendrocap import DendriticNeuron, NeuronSpec, Polsky, random_patterns, solve
    >>> neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.3, 0.5), n_inputs=150, n_branches=9)
    >>> patterns = random_patterns(30, 150, rng=0)
    >>> result = solve(neuron, *patterns, solver=SharpenedNonlinearity(), seed=0, max_epochs=5000)
    >>> result.solved, result.algorithm.name
    (True, 'sharpening')
    """

    name: ClassVar[str] = "sharpening"
    takes_margin: ClassVar[bool] = True

    softness: float | None = None
    stages: int = 16
    epochs: int = 500
    rate: tuple[float, float] = (0.3, 0.1)
    gamma_ce: float = 30.0

    def __post_init__(self) -> None:
        if self.softness is not None:
            real_number("softness", self.softness, 0.0, low_open=True)
        whole_number("stages", self.stages, 1)
        whole_number("epochs", self.epochs, 1)
        span("rate", self.rate)
        real_number("gamma_ce", self.gamma_ce, 0.0, low_open=True)

    def attempt(self, run: Training, number: int) -> Iterator[EpochOutcome]:
        neuron = run.neuron
        rates = span("rate", self.rate).times(input_scale(neuron))
        true = [kind.nonlinearity for kind in neuron.kinds]
        softest = [1.8 * scale if self.softness is None else self.softness for scale in input_scales(neuron)]
        engine = CompiledEngine(neuron, run.patterns, gamma_ce=self.gamma_ce, kappa=run.kappa)
        engine.set_weights(run.first_weights())
        length = self.epochs * 2**number
        for stage in range(self.stages + 1):
            factor = 0.75**stage if stage < self.stages else 0.0
            soft = [softened(g, width * factor) for g, width in zip(true, softest, strict=True)]
            for epoch in range(length if stage < self.stages else 4 * length):
                rate = rates.at(min(1.0, epoch / length))
                engine.retune(nonlinearity=soft)
                _, soft_margins = engine.tested_epoch(run.shuffled(), rate)
                engine.retune(nonlinearity=true)
                yield EpochOutcome(engine.margins(), engine.weights(), rate)
                if np.all(soft_margins > run.kappa):
                    break
