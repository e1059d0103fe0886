"""Least action learning: change the branch that needs the smallest change."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import ClassVar

import numpy as np

from dendrocap.learning.engine import CompiledEngine
from dendrocap.learning.protocols import together
from dendrocap.learning.rules import EpochOutcome, Solver
from dendrocap.learning.solvers import (
    Course,
    PolishedAnnealing,
    input_scale,
    input_scales,
    refuse_kinds,
    rise_of,
    schedule_points,
    span,
)
from dendrocap.learning.training import Training
from dendrocap.model import Nonlinearity, Polsky, Tabulated
from dendrocap.numerics import hermite_rule
from dendrocap.validation import real_number, refuse, whole_number


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
        from dendrocap.learning import _solver_kernels

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
            _solver_kernels.least_action_epoch(
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


# Training with a soft g that is sharpened to the true one.

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


# Annealing of several copies, of which the better ones go on.


@dataclass(frozen=True)
class SelectedAnnealing(PolishedAnnealing):
    """Polished annealing of several copies, of which the worse half takes over the weights of the better half.

    Two annealings of the same patterns may end with 15 and with 60 errors, and which one is better shows halfway. At
    some points of the schedule the copies are ranked by the errors of their average weights. The best copy at the end
    is polished. Copies are independent in between, so that threads can share them; the result is the same with any
    number of ``workers``.

    It leaves few errors where nothing solves the patterns. For none at all, one slow annealing of the same total length
    succeeds more often (docs/solvers.md).

    Parameters
    ----------
    epochs : int
        Length of the annealing of each copy in the first attempt; each further one is twice as long.
    copies : int
        Number of copies.
    selections : tuple of float
        Points of the schedule, between 0 and 1, at which copies are selected.
    workers : int
        Number of threads. Time limits and Ctrl-C act after an epoch of all copies.
    split, rounds, steps, start
        As for `PolishedAnnealing`.

    Examples
    --------
    >>> from dendrocap import DendriticNeuron, NeuronSpec, Polsky, random_patterns, solve
    >>> neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.5, 0.5), n_inputs=150, n_branches=9)
    >>> patterns = random_patterns(180, 150, rng=0)
    >>> result = solve(neuron, *patterns, solver=SelectedAnnealing(epochs=500, copies=4), seed=0, max_epochs=9000)
    >>> result.solved, result.algorithm.name
    (True, 'selected')
    """

    name: ClassVar[str] = "selected"

    epochs: int = 4000
    copies: int = 8
    selections: tuple[float, ...] = (0.3, 0.5, 0.7, 0.85)
    workers: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("copies", self.copies, 2)
        whole_number("workers", self.workers, 1)
        for before, at in pairwise((0.0, *self.selections)):
            real_number("selections", at, before, 1.0)

    def _annealed(self, run: Training, length: int) -> Generator[EpochOutcome, None, Course]:
        # Each copy has random numbers of its own, whatever the others do in the meantime.
        courses = [
            self._course(run, np.random.default_rng(run.rng.integers(2**63, size=4))) for _ in range(self.copies)
        ]
        with together(self.workers) as side_by_side:
            for first, last in pairwise((0.0, *self.selections, 1.0)):
                for progress in schedule_points(first, last, round((last - first) * length)):
                    yield from side_by_side(partial(Course.epoch, progress=progress), courses)
                courses = _selected(courses)
        return courses[0]


def _selected(courses: list[Course]) -> list[Course]:
    """The copies, best first, after the worse half has taken over the weights of the better half."""
    ranked = sorted(courses, key=Course.errors_on_average)
    for winner, loser in zip(ranked[: len(ranked) // 2], reversed(ranked), strict=False):
        loser.take_over(winner)
    return ranked
