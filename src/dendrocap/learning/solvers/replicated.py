"""Several copies of the neuron that learn side by side and pull each other together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dendrocap.learning.algorithms import EpochOutcome, Solver
from dendrocap.learning.solvers.scales import span
from dendrocap.learning.solvers.surrogate import AnnealedSurrogate
from dendrocap.learning.training import Training
from dendrocap.validation import whole_number

__all__ = ["ReplicatedSGD"]


@dataclass(frozen=True)
class ReplicatedSGD(Solver):
    """Copies under the annealed surrogate gradient, each drawn after every epoch towards their mean.

    Where many solutions lie close together the copies can all be right and yet agree; isolated solutions are left
    out. The coupling grows, so that the copies end in one place.

    Parameters
    ----------
    copies : int
        Number of copies y, at least 2. An epoch presents every pattern to each of them.
    coupling : pair of float
        First and last fraction of the way to the mean that a copy goes after an epoch.
    rule : AnnealedSurrogate
        How each copy learns; its ``epochs`` are those of the attempt.

    Examples
    --------
    >>> from dendrocap import DendriticNeuron, NeuronSpec, Polsky, random_patterns, solve
    >>> neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.3, 0.5), n_inputs=150, n_branches=9)
    >>> patterns = random_patterns(30, 150, rng=0)
    >>> result = solve(neuron, *patterns, solver=ReplicatedSGD(copies=2), seed=0, max_epochs=5000)
    >>> result.solved, result.algorithm.name
    (True, 'replicated')
    """

    name: ClassVar[str] = "replicated"
    takes_margin: ClassVar[bool] = True

    copies: int = 3
    coupling: tuple[float, float] = (1e-3, 0.1)
    rule: AnnealedSurrogate = field(default_factory=lambda: AnnealedSurrogate(epochs=3000))

    def __post_init__(self) -> None:
        whole_number("copies", self.copies, 2)
        span("coupling", self.coupling)

    def attempt(self, run: Training, number: int) -> Iterator[EpochOutcome]:
        plan, pull = self.rule.plan(run.neuron), span("coupling", self.coupling)
        engines = [plan.engine(run) for _ in range(self.copies)]
        first = run.first_weights()
        for copy, engine in enumerate(engines):
            engine.set_weights(first if copy == 0 else run.first_weights())
        middle = plan.engine(run)
        length = self.rule.epochs * 2**number
        for epoch in range(length):
            progress = epoch / length
            margins, copies = [], []
            for engine in engines:
                rate = plan.tune(engine, progress)
                margins.append(engine.tested_epoch(run.shuffled(), rate)[1])
                copies.append(engine.weights())
            mean = np.mean(copies, axis=0)
            middle.set_weights(mean)
            # Of the copies and their mean, the one with the fewest errors speaks for the epoch.
            candidates = [*zip(margins, copies, strict=True), (middle.margins(), mean)]
            best = min(candidates, key=lambda pair: int(np.count_nonzero(~(pair[0] > run.kappa))))
            yield EpochOutcome(*best, rate)
            share = min(1.0, pull.at(progress))
            for engine, own in zip(engines, copies, strict=True):
                engine.set_weights(own + share * (mean - own))
