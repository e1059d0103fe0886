"""What all solvers share: a task, randomness, a clock, and the best weights met so far."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.learning.schedules import Constant, Pace
from dendrocap.learning.training import ASKED, EPOCHS, SOLVED, EpochRecord, TrainingResult, TrainingState
from dendrocap.model.neuron import DendriticNeuron
from dendrocap.model.patterns import PackedPatterns, active_fraction, binary_inputs, binary_labels
from dendrocap.model.seeds import Seed, generator_for
from dendrocap.validation import real_number, refuse, whole_number

if TYPE_CHECKING:
    from dendrocap.learning.solvers.protocol import Solver

__all__ = ["EXHAUSTED", "INTERRUPTED", "TIME", "AttemptFailed", "Search", "SearchOver"]

Floats = NDArray[np.float64]

TIME, INTERRUPTED, EXHAUSTED = "time limit reached", "interrupted", "attempt exhausted"


class SearchOver(Exception):
    """The search has ended: solved, out of time, or asked to stop."""


class AttemptFailed(Exception):
    """Weights stopped being finite: this attempt is lost, the search is not."""


class Search:
    """One task being worked on by a solver.

    Parameters
    ----------
    neuron, inputs, labels
        The task.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.
    time_limit : float or None
        Seconds after which the search ends.
    max_epochs : int or None
        Epochs after which it ends.
    weights : array or None
        First weights; by default uniform around the threshold.
    callback : callable or None
        Called with every `EpochRecord`; a true answer ends the search.
    """

    def __init__(
        self,
        neuron: DendriticNeuron,
        inputs: ArrayLike | PackedPatterns,
        labels: ArrayLike,
        *,
        seed: Seed = None,
        time_limit: float | None = None,
        max_epochs: int | None = None,
        weights: ArrayLike | None = None,
        callback: Callable[[EpochRecord], Any] | None = None,
    ) -> None:
        self.neuron = neuron
        self.inputs = binary_inputs(inputs, neuron.n_inputs)
        if len(self.inputs) == 0:
            raise refuse("inputs.shape", self.inputs.shape, "at least one pattern")
        self.labels = binary_labels(labels, len(self.inputs))
        self.signs = np.where(self.labels, 1.0, -1.0)
        self.rng = generator_for("run", seed)
        self.time_limit = None if time_limit is None else real_number("time_limit", time_limit, 0.0)
        self.max_epochs = None if max_epochs is None else whole_number("max_epochs", max_epochs, 0)
        self.stopped = EXHAUSTED
        self._callback = callback
        self._began = time.perf_counter()
        self._history: list[tuple[int, float]] = []
        self._given = None if weights is None else neuron.flat_weights(weights)
        start = self.first_weights()
        self._given = start
        self._best_weights, self._best_epoch = start, 0
        self._best_errors = self.exact_errors(start)

    @property
    def n_patterns(self) -> int:
        """Patterns in the task."""
        return len(self.labels)

    @property
    def load(self) -> float:
        """Patterns per synapse."""
        return self.n_patterns / self.neuron.n_inputs

    @property
    def limited(self) -> bool:
        """Whether the search will end by itself, so that attempts may follow one another."""
        return self.time_limit is not None or self.max_epochs is not None

    @property
    def epochs(self) -> int:
        """Epochs done."""
        return len(self._history)

    @property
    def seconds(self) -> float:
        """Time since the search began."""
        return time.perf_counter() - self._began

    @cached_property
    def dense(self) -> NDArray[np.uint8]:
        """The patterns, one byte per input."""
        return self.inputs.unpack() if isinstance(self.inputs, PackedPatterns) else self.inputs

    @cached_property
    def activity(self) -> float:
        """Fraction of active inputs, kept off 0 and 1."""
        return min(max(active_fraction(self.inputs), 1e-6), 1.0 - 1e-6)

    def first_weights(self) -> Floats:
        """Weights to start an attempt from: those given, at the first call, then fresh ones."""
        if self._given is not None:
            given, self._given = self._given, None
            return given
        return self.neuron.flat_weights(self.neuron.initial_weights(self.activity, self.rng))

    def exact_errors(self, flat: NDArray[Any]) -> int:
        """Patterns wrong, by the neuron's own formula in float64."""
        return int(np.count_nonzero(~(self.signs * self.neuron.somatic_input(flat, self.inputs) > 0.0)))

    def check_start(self) -> None:
        """End at once if there is nothing to do or no time to do it."""
        if self._best_errors == 0:
            self._end(SOLVED)
        self._check_limits()

    def record(self, margins: NDArray[Any], weights: Callable[[], NDArray[Any]], rate: float) -> int:
        """Take note of an epoch that ended with these margins; ends the search when it is time.

        ``weights`` is asked only when they are the best so far. Zero errors are believed only after a recount
        in float64.
        """
        if not np.all(np.isfinite(margins)):
            raise AttemptFailed
        errors = int(np.count_nonzero(~(margins > 0.0)))
        if errors < self._best_errors:
            flat = weights()
            if errors == 0:
                errors = self.exact_errors(flat)
            if errors < self._best_errors:
                self._best_weights, self._best_errors, self._best_epoch = flat, errors, self.epochs + 1
        self._history.append((errors, rate))
        if self._callback is not None and self._callback(
            EpochRecord(self.epochs, errors, errors / self.n_patterns, self._best_errors, rate)
        ):
            self._end(ASKED)
        if self._best_errors == 0:
            self._end(SOLVED)
        self._check_limits()
        return errors

    def _check_limits(self) -> None:
        if self.max_epochs is not None and self.epochs >= self.max_epochs:
            self._end(EPOCHS)
        if self.time_limit is not None and self.seconds >= self.time_limit:
            self._end(TIME)

    def _end(self, why: str) -> None:
        self.stopped = why
        raise SearchOver

    def result(self, solver: Solver) -> TrainingResult:
        """The best weights so far, with their errors counted once more from the weights themselves."""
        errors, rates = [e for e, _ in self._history], [r for _, r in self._history]
        return TrainingResult(
            neuron=self.neuron,
            weights=self.neuron.shaped_weights(self._best_weights),
            errors=self.exact_errors(self._best_weights),
            n_patterns=self.n_patterns,
            best_epoch=self._best_epoch,
            epochs=self.epochs,
            stopped=self.stopped,
            failure=None,
            error_history=np.array(errors, dtype=np.int64),
            rate_history=np.array(rates, dtype=np.float64),
            seconds=self.seconds,
            algorithm=solver,
            schedule=Constant(),
            state=TrainingState(
                weights=np.array(self._best_weights),
                best_weights=np.array(self._best_weights),
                best_errors=self._best_errors,
                best_epoch=self._best_epoch,
                pace=Pace(rates[-1] if rates else 0.0),
                random_state=copy.deepcopy(dict(self.rng.bit_generator.state)),
                error_history=tuple(errors),
                rate_history=tuple(rates),
            ),
        )
