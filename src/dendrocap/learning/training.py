"""Training a neuron: Algorithm 1 of the paper, epoch after epoch.

`Training` is a run in progress: iterate over it for one record per epoch, ask it for its result or its state
at any time. `train` drains it.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.errors import TrainingFailed
from dendrocap.learning.local_rule import SGD, Algorithm
from dendrocap.learning.schedules import ExponentialAnnealing, Pace, Schedule
from dendrocap.model.neuron import DendriticNeuron
from dendrocap.model.patterns import PackedPatterns, active_fraction, binary_inputs, binary_labels
from dendrocap.model.seeds import Seed, generator_for
from dendrocap.validation import choice, refuse, whole_number

if TYPE_CHECKING:
    from dendrocap.learning.solvers.protocol import Solver

__all__ = ["EpochRecord", "Training", "TrainingResult", "TrainingState", "train"]

# A dendritic signal this small moves no weight of order one.
NO_SIGNAL = 1e-9
SOLVED, RATE_FLOOR, EPOCHS, ASKED = "solved", "learning rate below its floor", "max_epochs reached", "asked to stop"
DEAD, DIVERGED = "dead", "diverged"


@dataclass(frozen=True)
class EpochRecord:
    """What happened in one epoch.

    Parameters
    ----------
    epoch : int
        Counted from 1.
    errors : int
        Patterns wrong after it.
    error : float
        The same as a fraction.
    best_errors : int
        Fewest so far.
    learning_rate : float
        Rate used in it.

    Examples
    --------
    >>> from dendrocap import SGD, LinearNeuron, Training, random_patterns
    >>> run = Training(LinearNeuron(0.5, 99), *random_patterns(50, 99, rng=0), algorithm=SGD(0.1), seed=0)
    >>> record = next(iter(run))
    >>> record.epoch, record.learning_rate, record.error == record.errors / 50
    (1, 0.1, True)
    """

    epoch: int
    errors: int
    error: float
    best_errors: int
    learning_rate: float


@dataclass(frozen=True, eq=False)
class TrainingState:
    """All that is needed to go on with a run exactly where it stood.

    Weights are in the order of the inputs and in the precision of the run.

    Examples
    --------
    >>> from dendrocap import SGD, LinearNeuron, random_patterns, train
    >>> neuron, task, rule = LinearNeuron(0.5, 99), random_patterns(90, 99, rng=0), SGD(0.1)
    >>> at_once = train(neuron, *task, algorithm=rule, max_epochs=20, seed=0)
    >>> half = train(neuron, *task, algorithm=rule, max_epochs=10, seed=0)
    >>> rest = train(neuron, *task, algorithm=rule, max_epochs=20, resume=half.state)
    >>> bool((rest.weights == at_once.weights).all())
    True
    """

    weights: NDArray[Any]
    best_weights: NDArray[Any]
    best_errors: int
    best_epoch: int
    pace: Pace
    random_state: dict[str, Any]
    error_history: tuple[int, ...]
    rate_history: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """A trained neuron and how it got there.

    Parameters
    ----------
    neuron : DendriticNeuron
        What was trained.
    weights : array, shape ``neuron.weights_shape``
        The best weights met; of equally good ones the latest.
    errors : int
        Patterns that these weights get wrong, recounted in float64. A somatic input of exactly zero is wrong.
    n_patterns : int
        Patterns in the task.
    best_epoch, epochs : int
        When the best weights were met, and how many epochs were run; 0 is the start.
    stopped : str
        Why the run ended: "solved", "max_epochs reached", ...
    failure : str or None
        What went wrong, if anything did.
    error_history, rate_history : array
        Wrong patterns after, and learning rate during, each epoch.
    seconds : float
        Time spent in this run, without earlier ones that it resumed.
    algorithm, schedule : Algorithm or Solver, Schedule
        How it was trained.
    state : TrainingState
        From which the run can be resumed.

    Examples
    --------
    >>> from dendrocap import SGD, DendriticNeuron, NeuronSpec, Polsky, random_patterns, train
    >>> neuron = DendriticNeuron(NeuronSpec(Polsky(), theta_d=0.1, theta_s=0.5), n_inputs=99, n_branches=9)
    >>> inputs, labels = random_patterns(40, 99, rng=0)
    >>> result = train(neuron, inputs, labels, algorithm=SGD(0.1), seed=0)
    >>> result.solved, result.stopped, result.weights.shape
    (True, 'solved', (9, 11))
    >>> bool((neuron.predict(result.weights, inputs) == labels).all())
    True
    """

    neuron: DendriticNeuron
    weights: NDArray[np.float64]
    errors: int
    n_patterns: int
    best_epoch: int
    epochs: int
    stopped: str
    failure: str | None
    error_history: NDArray[np.int64]
    rate_history: NDArray[np.float64]
    seconds: float
    algorithm: Algorithm | Solver
    schedule: Schedule
    state: TrainingState

    @property
    def error(self) -> float:
        """Fraction of patterns wrong."""
        return self.errors / self.n_patterns

    @property
    def solved(self) -> bool:
        """Whether every pattern is right."""
        return self.errors == 0


class Training:
    """A training run in progress; iterating over it runs it, one epoch per step.

    Parameters are those of `train`.

    Examples
    --------
    >>> from dendrocap import LinearNeuron, random_patterns
    >>> run = Training(LinearNeuron(0.5, 99), *random_patterns(20, 99, rng=1), algorithm=SGD(1.0), seed=1)
    >>> for record in run:
    ...     if record.errors < 5:
    ...         break
    >>> run.result().errors < 5
    True
    """

    def __init__(
        self,
        neuron: DendriticNeuron,
        inputs: ArrayLike | PackedPatterns,
        labels: ArrayLike,
        *,
        algorithm: Algorithm | None = None,
        schedule: Schedule | None = None,
        max_epochs: int = 1000,
        seed: Seed = None,
        weights: ArrayLike | None = None,
        f_in: float | None = None,
        stop_when_solved: bool = True,
        resume: TrainingState | None = None,
    ) -> None:
        self.neuron = neuron
        self.algorithm = algorithm if algorithm is not None else SGD()
        self.schedule = schedule if schedule is not None else ExponentialAnnealing()
        if not hasattr(self.algorithm, "engine"):
            raise refuse("algorithm", algorithm, "SGD(...), LocalRule(...) or another Algorithm")
        if not isinstance(self.schedule, Schedule):
            raise refuse("schedule", schedule, "HalveOnPlateau(...), ExponentialAnnealing(...) or another Schedule")
        self.max_epochs = whole_number("max_epochs", max_epochs, 0)
        self.stop_when_solved = stop_when_solved
        self.stopped: str | None = None
        self.failure: str | None = None
        self._inputs = binary_inputs(inputs, neuron.n_inputs)
        if len(self._inputs) == 0:
            raise refuse("inputs.shape", self._inputs.shape, "at least one pattern")
        self._labels = binary_labels(labels, len(self._inputs))
        self._engine = self.algorithm.engine(neuron, self._inputs, self._labels)
        # Rounding of a sum in float32 is below 1e-4 of its size even for 1e5 synapses; thresholds set that size.
        sizes = np.sqrt(neuron.n_branches) * neuron.spec.theta_s + np.sqrt(neuron.n_inputs) * neuron.theta_d
        self._beyond_rounding = 1e-3 * (1.0 + float(sizes))
        self._rng = generator_for("run", seed)
        self._seconds = 0.0
        if resume is not None:
            self._resume(resume)
        else:
            self._start(weights, f_in)

    def _start(self, weights: ArrayLike | None, f_in: float | None) -> None:
        if weights is None:
            weights = self.neuron.initial_weights(active_fraction(self._inputs) if f_in is None else f_in, self._rng)
        self._engine.set_weights(self.neuron.flat_weights(weights))
        self._pace = self.schedule.start(self.algorithm.learning_rate, self.neuron.n_inputs)
        self._history: list[tuple[int, float]] = []
        self._best_weights, self._best_epoch = self._engine.weights(), 0
        self._best_errors = self._count_errors(self._engine.margins())
        if self._best_errors == 0 and self.stop_when_solved:
            self.stopped = SOLVED

    def _resume(self, state: TrainingState) -> None:
        self._engine.set_weights(state.weights)
        self._rng = np.random.default_rng()
        self._rng.bit_generator.state = copy.deepcopy(state.random_state)
        self._pace = state.pace
        self._history = list(zip(state.error_history, state.rate_history, strict=True))
        self._best_weights, self._best_epoch = state.best_weights, state.best_epoch
        self._best_errors = state.best_errors
        if self._best_errors == 0 and self.stop_when_solved:
            self.stopped = SOLVED

    @property
    def n_patterns(self) -> int:
        """Patterns in the task."""
        return len(self._labels)

    @property
    def epochs(self) -> int:
        """Epochs done."""
        return len(self._history)

    def _count_errors(self, margins: NDArray[Any]) -> int:
        errors = int(np.count_nonzero(~(margins > 0.0)))
        # Zero errors is a claim: unless it is beyond all rounding, the neuron's own formula checks it in float64.
        if errors or float(margins.min()) > self._beyond_rounding:
            return errors
        return self._exact_errors(self._engine.weights())

    def _exact_errors(self, flat: NDArray[Any]) -> int:
        somatic_input = self.neuron.somatic_input(flat, self._inputs)
        return int(np.count_nonzero(~(np.where(self._labels, 1.0, -1.0) * somatic_input > 0.0)))

    def __iter__(self) -> Iterator[EpochRecord]:
        return self

    def __next__(self) -> EpochRecord:
        if self.stopped is None and self.epochs >= self.max_epochs:
            self.stopped = EPOCHS
        if self.stopped is not None:
            raise StopIteration
        began = time.perf_counter()
        rate = self._pace.learning_rate
        signal, margins = self._engine.tested_epoch(self._rng.permutation(len(self._labels)), rate)
        flat = self._engine.weights()
        for name, numbers in (("weights", flat), ("somatic inputs", margins)):
            if not np.all(np.isfinite(numbers)):
                self._fail(
                    DIVERGED,
                    f"{name} stopped being finite in epoch {self.epochs + 1} at learning_rate = {rate:g}: "
                    "it must be smaller",
                )
        errors = self._count_errors(margins)
        if errors <= self._best_errors:
            self._best_weights, self._best_errors, self._best_epoch = flat, errors, self.epochs + 1
        self._history.append((errors, rate))
        self._pace = self.schedule.after_epoch(self._pace, self.epochs, errors / len(self._labels))
        self._seconds += time.perf_counter() - began
        if errors == 0 and self.stop_when_solved:
            self.stopped = SOLVED
        elif signal < NO_SIGNAL and errors > 0:
            self._fail(
                DEAD,
                f"no branch had a dendritic signal above {NO_SIGNAL:g} on any pattern of epoch {self.epochs}: all "
                f"branches are dead and no weight can change (learning_rate = {rate:g}, theta_d = "
                f"{self.neuron.theta_d:g}); a smaller learning_rate or SGD(surrogate=...) avoids this",
            )
        elif self._pace.finished:
            self.stopped = RATE_FLOOR
        return EpochRecord(self.epochs, errors, errors / len(self._labels), self._best_errors, rate)

    def _fail(self, stopped: str, message: str) -> None:
        self.stopped, self.failure = stopped, message
        raise TrainingFailed(message, self.result())

    def stop(self) -> None:
        """End the run after the present epoch."""
        self.stopped = ASKED

    def state(self) -> TrainingState:
        """The run as it stands, to be resumed later."""
        return TrainingState(
            weights=self._engine.weights(),
            best_weights=self._best_weights.copy(),
            best_errors=self._best_errors,
            best_epoch=self._best_epoch,
            pace=self._pace,
            random_state=copy.deepcopy(dict(self._rng.bit_generator.state)),
            error_history=tuple(errors for errors, _ in self._history),
            rate_history=tuple(rate for _, rate in self._history),
        )

    def result(self) -> TrainingResult:
        """The best weights so far, with the story of the run."""
        return TrainingResult(
            neuron=self.neuron,
            weights=self.neuron.shaped_weights(self._best_weights),
            errors=self._exact_errors(self._best_weights),
            n_patterns=len(self._labels),
            best_epoch=self._best_epoch,
            epochs=self.epochs,
            stopped=self.stopped or "unfinished",
            failure=self.failure,
            error_history=np.array([errors for errors, _ in self._history], dtype=np.int64),
            rate_history=np.array([rate for _, rate in self._history], dtype=np.float64),
            seconds=self._seconds,
            algorithm=self.algorithm,
            schedule=self.schedule,
            state=self.state(),
        )


def train(
    neuron: DendriticNeuron,
    inputs: ArrayLike | PackedPatterns,
    labels: ArrayLike,
    *,
    algorithm: Algorithm | None = None,
    schedule: Schedule | None = None,
    max_epochs: int = 1000,
    seed: Seed = None,
    weights: ArrayLike | None = None,
    f_in: float | None = None,
    stop_when_solved: bool = True,
    resume: TrainingState | None = None,
    callback: Callable[[EpochRecord], Any] | None = None,
    on_failure: str = "raise",
) -> TrainingResult:
    """Train a neuron on binary patterns with one pattern at a time.

    Patterns are reshuffled in every epoch; after each epoch all of them are tested with the weights at rest.

    Parameters
    ----------
    neuron : DendriticNeuron
        The neuron, dendritic or linear.
    inputs : array of 0 and 1, shape (n_patterns, n_inputs), or PackedPatterns
        The patterns.
    labels : array of 0 and 1, shape (n_patterns,)
        The wanted answers.
    algorithm : Algorithm, optional
        By default ``SGD()``.
    schedule : Schedule, optional
        By default ``ExponentialAnnealing()``, which never ends by itself.
    max_epochs : int
        The run ends after so many epochs at the latest, those before a resumption included.
    seed : int, SeedSequence, Generator or None
        Source of the first weights and of the order of patterns, by its child for runs. The same seed gives the
        same weights.
    weights : array, optional
        First weights; by default uniform on [0, 2 theta_d / f_in].
    f_in : float, optional
        Coding level for the first weights; by default the fraction of active inputs.
    stop_when_solved : bool
        End when every pattern is right. Going on widens the margins.
    resume : TrainingState, optional
        Go on with an earlier run; ``seed``, ``weights`` and ``f_in`` are then ignored.
    callback : callable, optional
        Called with every `EpochRecord`; a true answer ends the run.
    on_failure : {"raise", "return"}
        What to do when weights overflow or all branches die.

    Raises
    ------
    TrainingFailed
        If ``on_failure = "raise"``; the error carries the result reached so far.

    Examples
    --------
    >>> from dendrocap import DendriticNeuron, NeuronSpec, Polsky, random_patterns
    >>> neuron = DendriticNeuron(NeuronSpec(Polsky(), theta_d=0.05, theta_s=0.5), n_inputs=999, n_branches=27)
    >>> inputs, labels = random_patterns(500, 999, rng=0)
    >>> result = train(neuron, inputs, labels, algorithm=SGD(learning_rate=0.1), seed=0)
    >>> result.solved, result.weights.shape
    (True, (27, 37))
    """
    choice("on_failure", on_failure, ("raise", "return"))
    run = Training(
        neuron,
        inputs,
        labels,
        algorithm=algorithm,
        schedule=schedule,
        max_epochs=max_epochs,
        seed=seed,
        weights=weights,
        f_in=f_in,
        stop_when_solved=stop_when_solved,
        resume=resume,
    )
    try:
        for record in run:
            if callback is not None and callback(record) and run.stopped is None:
                run.stop()
    except TrainingFailed:
        if on_failure == "raise":
            raise
    return run.result()
