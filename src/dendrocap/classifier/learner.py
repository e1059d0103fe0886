"""Training of one neuron of a classifier: a run of the shared driver with monitoring and rewiring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dendrocap.classifier.wiring import Labelled, Wiring, rewired
from dendrocap.errors import TrainingFailed
from dendrocap.learning import EpochRecord, Recipe, Training, TrainingState, cross_entropy
from dendrocap.learning.engine import CompiledEngine
from dendrocap.learning.training import DIVERGED
from dendrocap.model import DendriticNeuron
from dendrocap.model.patterns import Patterns
from dendrocap.numerics.types import Floats

# Synapses that were silent after each of the last SILENT epochs are moved, every REWIRED epochs, except in the last
# quarter of the run, in which the wiring is fixed. Few weights are exactly zero while the rate is high, so a synapse
# below a third of the mean of its branch also counts as silent: otherwise hardly any would be moved.
SILENT, REWIRED, SETTLED, WEAK = 2, 5, 0.75, 0.3


@dataclass(frozen=True, eq=False)
class Lesson:
    """Settings that all neurons of a classifier share."""

    neuron: DendriticNeuron
    recipe: Recipe
    samples: Labelled
    held_out: Labelled | None  # for early stopping
    gamma_ce: float  # steepness of the loss that selects the best weights
    patience: int | None  # epochs without an improvement by more than ``tol`` after which a neuron stops
    tol: float
    rewire: bool  # whether silent synapses are moved


@dataclass(frozen=True, eq=False)
class Learned:
    """Result of training one neuron."""

    weights: Floats  # the best after any epoch, shape (n_branches, branch_size); for a single epoch those after it
    wiring: Wiring
    n_iter: int
    by_itself: bool  # whether it ended before the last epoch of the recipe
    scores: tuple[float, ...]  # accuracy on held-out samples after each epoch
    failure: str | None  # in terms of the parameters of the classifier


def learn(
    lesson: Lesson,
    positive: int,
    wiring: Wiring,
    weights: Floats,
    seed: np.random.SeedSequence,
    report: Callable[[EpochRecord], Any],
) -> Learned:
    """Train one neuron to respond to one class; training ends if ``report`` returns True."""
    neuron, limit = lesson.neuron, lesson.recipe.max_epochs
    run_seed, wiring_seed = seed.spawn(2)
    rng = np.random.default_rng(wiring_seed)
    watch = _Watch(lesson, weights, wiring)
    silent_for = np.zeros(wiring.shape, dtype=np.int64)
    state: TrainingState | None = None
    failure: str | None = None
    while True:
        run = Training(
            neuron,
            lesson.samples.inputs.inputs(wiring),
            lesson.samples.labels == positive,
            lesson.recipe,
            seed=run_seed,
            weights=None if state is not None else weights,
            f_in=0.5,  # unused: the initial weights are given
            resume=state,
            sample_weight=lesson.samples.weight,
        )
        judge = None if lesson.held_out is None else _judge(neuron, lesson.held_out, positive, wiring)
        due = False
        try:
            for record in run:
                watch.see(run, judge, wiring)
                if report(record) or watch.is_over:
                    run.stop()
                silent_for = np.where(_is_silent(neuron.shaped_weights(run.weights)), silent_for + 1, 0)
                due = lesson.rewire and record.epoch % REWIRED == 0 and record.epoch < SETTLED * (limit or np.inf)
                if due:
                    break
        except TrainingFailed:
            failure = _advice(run)
        if not due or run.stopped is not None:
            break
        silent = silent_for >= SILENT
        before, wiring = wiring, rewired(wiring, silent, lesson.samples.inputs.encoder.n_inputs, rng)
        pruned = np.where(wiring != before, 0.0, neuron.shaped_weights(run.weights))
        state = replace(run.state(), weights=neuron.flat_weights(pruned))
        silent_for[silent] = 0
    by_itself = limit is None or run.epochs < limit
    return Learned(*watch.best, run.epochs, by_itself, tuple(watch.scores), failure)


def _is_silent(weights: Floats) -> NDArray[np.bool_]:
    """Synapses with weight zero, or so weak that they hardly contribute to their branch."""
    strength = np.abs(weights)
    return np.asarray(strength <= WEAK * strength.mean(axis=1, keepdims=True))


class _Watch:
    """Keeps the best weights, by loss or by accuracy on held-out samples, and counts epochs without improvement."""

    def __init__(self, lesson: Lesson, weights: Floats, wiring: Wiring) -> None:
        self.lesson = lesson
        self.best = (weights, wiring)
        self.scores: list[float] = []
        self._least = self._reference = np.inf
        self._vain = 0

    def see(self, run: Training, judge: CompiledEngine | None, wiring: Wiring) -> None:
        lesson = self.lesson
        if judge is None:
            assert run.margins is not None
            badness = np.average(cross_entropy(run.margins, lesson.gamma_ce), weights=lesson.samples.weight)
        else:
            assert lesson.held_out is not None
            judge.set_weights(run.weights)
            right = np.average(judge.margins() > 0.0, weights=lesson.held_out.weight)
            self.scores.append(float(right))
            badness = 1.0 - right
        if badness <= self._least:
            self._least, self.best = badness, (lesson.neuron.shaped_weights(run.weights), wiring)
        improved = badness < self._reference - lesson.tol
        self._reference = badness if improved else self._reference
        self._vain = 0 if improved else self._vain + 1

    @property
    def is_over(self) -> bool:
        return self.lesson.patience is not None and self._vain >= self.lesson.patience


def _judge(neuron: DendriticNeuron, held_out: Labelled, positive: int, wiring: Wiring) -> CompiledEngine:
    labels = (held_out.labels == positive).astype(np.uint8)
    return CompiledEngine(neuron, Patterns(held_out.inputs.inputs(wiring), labels))


def _advice(run: Training) -> str:
    rate, theta_d = run.pace.learning_rate, run.neuron.theta_d
    if run.stopped == DIVERGED:
        return f"weights grew without bound at learning_rate = {rate:g}: use a smaller learning_rate"
    return (
        f"all branches fell silent in epoch {run.epochs} and can no longer learn (learning_rate = {rate:g}, "
        f"theta_d = {theta_d:g}): use a smaller learning_rate, theta_d='auto', surrogate=Lorentzian() or "
        "solver='surrogate'"
    )
