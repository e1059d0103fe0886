"""Annealing of several copies, of which the better ones go on."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import ClassVar

import numpy as np

from dendrocap.learning.algorithms import EpochOutcome
from dendrocap.learning.many import together
from dendrocap.learning.solvers.polished import Course, PolishedAnnealing, schedule_points
from dendrocap.learning.training import Training
from dendrocap.validation import real_number, whole_number

__all__ = ["SelectedAnnealing"]


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
