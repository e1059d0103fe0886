"""Surrogate gradient with a width that shrinks towards the true rise of g."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dendrocap.learning.algorithms import EpochOutcome, Solver
from dendrocap.learning.engine import CompiledEngine
from dendrocap.learning.solvers.scales import Rise, Span, input_scale, input_scales, rise_of, span
from dendrocap.learning.surrogates import FlooredSlope, Lorentzian, Surrogate
from dendrocap.learning.training import Training
from dendrocap.model.dendritic_neuron import DendriticNeuron
from dendrocap.validation import whole_number

__all__ = ["STILL", "AnnealedSurrogate", "RareTests", "SurrogatePlan"]

# Patterns with a soft error below e^-9 = 1e-4 change no weight: thousands of them would do less than one wrong pattern.
STILL = 9.0
FEW = 0.02  # share of wrong patterns up to which weights are always tested


@dataclass(frozen=True)
class SurrogatePlan:
    """Rate, loss and dendritic signal as functions of the progress of an attempt."""

    rate: Span
    gamma_ce: Span
    width: tuple[Span, ...]
    center: tuple[float | None, ...]

    def signals(self, progress: float) -> list[Surrogate]:
        """What stands for g' at this point, for each kind of branches.

        It is a bump where g rises, or, if g has no upper end, a falling floor.
        """
        return [
            FlooredSlope(width.at(progress)) if center is None else Lorentzian(center, width.at(progress))
            for width, center in zip(self.width, self.center, strict=True)
        ]

    def engine(self, run: Training) -> CompiledEngine:
        """The rule set to work on the patterns of a run, with the settings of the start."""
        return CompiledEngine(
            run.neuron,
            run.patterns,
            gamma_ce=self.gamma_ce.start,
            surrogate=self.signals(0.0),
            kappa=run.kappa,
            still=STILL,
        )

    def tune(self, engine: CompiledEngine, progress: float) -> float:
        """Settings for this point; returns the rate."""
        engine.retune(gamma_ce=self.gamma_ce.at(progress), surrogate=self.signals(progress))
        return self.rate.at(progress)


class RareTests:
    """Epochs of an attempt, tested only where weights may be its best: a test takes a third of the time of an epoch.

    Errors are counted while patterns are presented. If they are more than the fewest of the attempt, and not few, the
    margins are those of the presentation, and their errors cannot be mistaken for the best.
    """

    def __init__(self, run: Training) -> None:
        self._run, self._fewest = run, run.n_patterns
        self._few = run.n_patterns if run.tests_all_epochs else int(FEW * run.n_patterns)

    def epoch(self, engine: CompiledEngine, order: NDArray[np.int64], rate: float) -> NDArray[Any]:
        """The margins of an epoch."""
        _, margins = engine.tested_epoch(order, rate, max(self._few, self._fewest))
        self._fewest = min(self._fewest, int(np.count_nonzero(~(margins > self._run.kappa))))
        return margins


@dataclass(frozen=True)
class AnnealedSurrogate(Solver):
    """SGD in which a broad bump stands for g' and shrinks to the width of the true rise; rate and loss go along.

    A broad bump lets every branch learn from every pattern, which moves many patterns at once and leaves a high
    floor of errors; a narrow one moves only the branches close to switching, which disturbs few other patterns
    but cannot reach all. Going from one to the other slowly is worth more than any fixed width.

    Parameters
    ----------
    epochs : int
        Length of the first attempt. Each further one is twice as long: easy patterns end early, and hard ones
        get the slow annealing they need.
    rate : pair of float
        First and last learning rate, in units of the natural weight scale (`scales.input_scale`). A high first rate
        is needed: from a low one branches freeze before they have found their share of the patterns.
    gamma_ce : pair of float
        First and last steepness of the loss. A soft loss at first keeps a margin around patterns already right; a steep
        one at the end leaves them alone while the last wrong ones are put right.
    width : pair of float, optional
        First and last half width of the bump; by default 3.3 times the rise of g plus 0.7 times the natural
        scale, and the rise itself. For g without an upper end it is the floor under g', from 0.3 to 0.01.

    Examples
    --------
    >>> from dendrocap import DendriticNeuron, NeuronSpec, Polsky, random_patterns, solve
    >>> neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.3, 0.5), n_inputs=150, n_branches=9)
    >>> patterns = random_patterns(150, 150, rng=0)
    >>> result = solve(neuron, *patterns, solver=AnnealedSurrogate(epochs=500), seed=0, max_epochs=5000)
    >>> result.solved, result.algorithm.name
    (True, 'surrogate')
    """

    name: ClassVar[str] = "surrogate"
    takes_margin: ClassVar[bool] = True

    epochs: int = 8000
    rate: tuple[float, float] = (3.5, 0.35)
    gamma_ce: tuple[float, float] = (5.0, 500.0)
    width: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        whole_number("epochs", self.epochs, 1)
        span("rate", self.rate)
        span("gamma_ce", self.gamma_ce)
        if self.width is not None:
            span("width", self.width)

    def plan(self, neuron: DendriticNeuron) -> SurrogatePlan:
        """The settings in numbers, for this neuron."""
        rises = [rise_of(kind.nonlinearity) for kind in neuron.kinds]
        return SurrogatePlan(
            rate=span("rate", self.rate).times(input_scale(neuron)),
            gamma_ce=span("gamma_ce", self.gamma_ce),
            width=tuple(self._width(rise, scale) for rise, scale in zip(rises, input_scales(neuron), strict=True)),
            center=tuple(None if rise is None else rise.center for rise in rises),
        )

    def _width(self, rise: Rise | None, scale: float) -> Span:
        if self.width is not None:
            return span("width", self.width)
        return Span(0.3, 0.01) if rise is None else Span(3.3 * rise.width + 0.7 * scale, rise.width)

    def attempt(self, run: Training, number: int) -> Iterator[EpochOutcome]:
        plan = self.plan(run.neuron)
        engine = plan.engine(run)
        engine.set_weights(run.first_weights())
        length, tests = self.epochs * 2**number, RareTests(run)
        for epoch in range(length):
            rate = plan.tune(engine, epoch / length)
            margins = tests.epoch(engine, run.shuffled(), rate)
            yield EpochOutcome(margins, engine.weights(), rate)
