"""Training runs: Algorithm 1 of the paper, or any other algorithm, epoch by epoch.

`Training` is a run in progress: iterate over it for one record per epoch, and ask for its result or its state at any
time. `train` and `solve` run it to the end.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.display import Displayed
from dendrocap.errors import InvalidParameter, TrainingFailed
from dendrocap.files import read_arrays, reading, write_arrays
from dendrocap.learning.recipe import Pace, Recipe, Schedule
from dendrocap.learning.rules import Algorithm, EpochOutcome
from dendrocap.model.dendritic_neuron import DendriticNeuron
from dendrocap.model.flat import finite_neuron, flat_neuron, neuron_from_flat
from dendrocap.model.neuron import TaskSpec
from dendrocap.model.patterns import (
    PackedPatterns,
    Patterns,
    Seed,
    binary_patterns,
    generator_for,
    pack_patterns,
    random_patterns,
)
from dendrocap.validation import choice, real_number, refuse, whole_number

# A dendritic signal this small changes no weight of order one.
NO_SIGNAL = 1e-9

# Why a run ended.
SOLVED, RATE_FLOOR, EPOCHS, ASKED = "solved", "learning rate below its floor", "max_epochs reached", "asked to stop"
TIME, INTERRUPTED, EXHAUSTED = "time limit reached", "interrupted", "attempt exhausted"
DEAD, DIVERGED = "dead", "diverged"


@dataclass(frozen=True)
class EpochRecord(Displayed):
    """Record of one epoch.

    Annealing solvers do not test weights that cannot be their best: the errors are then those of the presentation.
    """

    epoch: int  # counted from 1
    errors: int  # patterns wrong after it
    error: float  # the same as a fraction
    best_errors: int  # so far
    learning_rate: float


@dataclass(frozen=True, eq=False)
class TrainingState(Displayed):
    """The state needed to resume a run exactly; weights are in the order of the inputs and the precision of the run."""

    _displayed = ("best_errors", "best_epoch", "weights")

    weights: NDArray[Any]
    best_weights: NDArray[Any]
    best_errors: int
    best_epoch: int
    pace: Pace
    random_state: dict[str, Any]
    error_history: tuple[int, ...]
    rate_history: tuple[float, ...]


def resumable(state: TrainingState | None, algorithm: object) -> TrainingState:
    """The state of a run by this algorithm; raises if it has none."""
    if state is None:
        raise InvalidParameter(
            f"a run of {algorithm} cannot be resumed: the state of an attempt is more than its weights; "
            "weights=result.weights starts a new run from the best ones"
        )
    return state


@dataclass(frozen=True, eq=False)
class TrainingResult(Displayed):
    """A trained neuron and the history of its training.

    ``weights`` are the best found, of shape ``neuron.weights_shape``: among equally good ones a rule keeps the latest,
    a solver the first. ``errors`` is recounted from them in float64; a somatic input of exactly zero is wrong, and so
    is a margin that is not above ``kappa``. ``best_epoch`` is 0 for the weights of the start. ``stopped`` says why the
    run ended ("solved", "max_epochs reached", ...), ``failure`` why it failed, if it did. ``seconds`` leave out earlier
    runs that this one resumed. ``margin`` is the least sign * Delta of all patterns.
    """

    _displayed = ("solved", "errors", "n_patterns", "epochs", "best_epoch", "stopped", "seconds")

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
    algorithm: Algorithm
    schedule: Schedule
    resumption: TrainingState | None  # None for solvers; `state` raises in that case
    kappa: float
    margin: float

    @property
    def state(self) -> TrainingState:
        """The state for ``train(..., resume=result.state)``; raises `InvalidParameter` for the run of a solver."""
        return resumable(self.resumption, self.algorithm)

    @property
    def error(self) -> float:
        """Fraction of patterns wrong."""
        return self.errors / self.n_patterns

    @property
    def solved(self) -> bool:
        """Whether every pattern is right."""
        return self.errors == 0


class Training(Displayed):
    """A run in progress; iterating over it runs it, epoch by epoch.

    The algorithm produces the epochs. The run manages the patterns, the randomness, the schedule, the limits, the
    history and the best weights. The recipe contains its settings.

    Parameters
    ----------
    neuron, inputs, labels, recipe, seed, weights, f_in, resume
        As for `train`.
    time_limit : float, optional
        Time limit of learning in seconds.
    sample_weight : array of numbers >= 0, shape (n_patterns,), optional
        Mean number of presentations of each pattern per epoch: with 2.3 it is presented twice, and a third time in
        three epochs of ten. Errors are counted without weights; use ``margins``, those after the last epoch, for other
        counts.
    kappa : float
        Requested margin: a pattern is wrong unless sign * Delta is above it.

    Examples
    --------
    >>> from dendrocap import SGD, LinearNeuron, Recipe, random_patterns
    >>> run = Training(LinearNeuron(0.5, 99), *random_patterns(20, 99, rng=1), Recipe(SGD(1.0)), seed=1)
    >>> for record in run:
    ...     if record.errors < 5:
    ...         break
    >>> run.result().errors < 5
    True
    """

    _displayed = ("epochs", "recipe", "stopped")

    def __init__(
        self,
        neuron: DendriticNeuron,
        inputs: ArrayLike | PackedPatterns,
        labels: ArrayLike,
        recipe: Recipe | None = None,
        *,
        time_limit: float | None = None,
        seed: Seed = None,
        weights: ArrayLike | None = None,
        f_in: float | None = None,
        resume: TrainingState | None = None,
        sample_weight: ArrayLike | None = None,
        kappa: float = 0.0,
    ) -> None:
        self.neuron = neuron
        self.kappa = real_number("kappa", kappa, 0.0)
        self.recipe = recipe or Recipe()
        self.schedule = self.recipe.schedule  # solvers use their own schedule in each attempt
        self._restarts = self.recipe.algorithm.restarts
        self.time_limit = None if time_limit is None else real_number("time_limit", time_limit, 0.0)
        self.stopped: str | None = None
        self.failure: str | None = None
        self.patterns = binary_patterns(inputs, labels, neuron.n_inputs)
        # The rounding error of a sum in float32 is below 1e-4 of its size even for 1e5 synapses; thresholds set it.
        drive = max(kind.theta_d + (kind.inhibition.drive if kind.inhibition else 0.0) for kind in neuron.kinds)
        sizes = np.sqrt(neuron.n_branches) * neuron.spec.theta_s + np.sqrt(neuron.n_inputs) * drive
        self._beyond_rounding = 1e-3 * (1.0 + float(sizes))
        self._f_in = neuron.measured_activity(self.patterns.inputs) if f_in is None else f_in
        self._sample_weight = (
            None if sample_weight is None else _presentations(sample_weight, len(self.patterns.labels))
        )
        self.rng = generator_for("run", seed)
        self.pace = Pace(0.0)
        self._history: list[tuple[int, float]] = []
        self._seconds = 0.0
        if resume is not None:
            weights = self._take_up(resume)
        self._given = None if weights is None else neuron.flat_weights(weights)
        self.weights: NDArray[Any] = self.first_weights()
        self.margins: NDArray[Any] | None = None
        self._given = self.weights
        # A rule sets this to the initial weights in its own precision, which it also tests faster.
        self.start: EpochOutcome | None = None
        outcomes = self.recipe.algorithm.attempt(self, 0)
        if self.start is not None:
            self.weights = self.start.weights
        if resume is None:
            self._best_weights, self._best_epoch = self.weights, 0
            self._best_errors = (
                neuron.errors(self.weights, self.patterns, self.kappa)
                if self.start is None
                else self._count_errors(self.start)
            )
        if self._best_errors == 0 and self.recipe.stop_when_solved:
            self.stopped = SOLVED
        self._random_state = self.rng.bit_generator.state
        self._outcomes = self._sound_epochs(outcomes)

    def _take_up(self, state: TrainingState) -> NDArray[Any]:
        """Restore the state of an earlier run; returns its weights."""
        if self._restarts:
            resumable(None, self.recipe.algorithm)
        if not isinstance(state, TrainingState):
            raise refuse("resume", state, "a TrainingState, such as result.state")
        self.rng = np.random.Generator(getattr(np.random, state.random_state["bit_generator"])())
        self.rng.bit_generator.state = state.random_state
        self.pace = state.pace
        self._history = list(zip(state.error_history, state.rate_history, strict=True))
        self._best_weights, self._best_epoch = state.best_weights, state.best_epoch
        self._best_errors = state.best_errors
        return state.weights

    @property
    def n_patterns(self) -> int:
        """Number of patterns to learn."""
        return len(self.patterns.labels)

    @property
    def epochs(self) -> int:
        """Epochs done."""
        return len(self._history)

    def first_weights(self) -> NDArray[np.float64]:
        """Flat initial weights of an attempt: at the first call those given, then new ones."""
        given, self._given = self._given, None
        if given is not None:
            return given
        return self.neuron.flat_weights(self.neuron.initial_weights(self._f_in, self.rng))

    def shuffled(self, rng: np.random.Generator | None = None) -> NDArray[np.int64]:
        """A random order of the patterns, each repeated according to its weight; by default from the rng of the run."""
        rng = rng or self.rng
        if self._sample_weight is None:
            return rng.permutation(self.n_patterns)
        times, chance = self._sample_weight
        # Whole weights draw no random numbers, so that they give the same run as repeated patterns.
        more = times + (rng.random(len(times)) < chance) if chance.any() else times
        order = np.repeat(np.arange(self.n_patterns), more)
        # An epoch without any pattern would look like a neuron that cannot learn.
        return rng.permutation(order) if len(order) else rng.permutation(self.n_patterns)[:1]

    @property
    def tests_all_epochs(self) -> bool:
        """Whether margins after every epoch are needed: a solution is not the end, or patterns have weights."""
        return not self.recipe.stop_when_solved or self._sample_weight is not None

    def follow(self, schedule: Schedule, learning_rate: float) -> None:
        """Start a schedule: `pace` is its state after every epoch."""
        self.schedule, self.pace = schedule, schedule.start(learning_rate, self.neuron.n_inputs)

    def _sound_epochs(self, outcomes: Iterator[EpochOutcome]) -> Iterator[EpochOutcome]:
        """The epochs of all attempts. Non-finite numbers end an attempt, or the run of a rule."""
        limited = self.recipe.max_epochs is not None or self.time_limit is not None
        for number in count(1):
            before = self.epochs
            for outcome in outcomes:
                finite = np.isfinite(outcome.weights).all(), np.isfinite(outcome.margins).all()
                if all(finite):
                    yield outcome
                elif self._restarts:
                    break
                else:
                    self._fail(
                        DIVERGED,
                        f"{'somatic inputs' if finite[0] else 'weights'} became non-finite in epoch "
                        f"{self.epochs + 1} at learning_rate = {outcome.learning_rate:g}: use a smaller learning_rate",
                    )
            # Without a limit there is one attempt; after an attempt without any epoch no other will do better.
            if not (self._restarts and limited) or self.epochs == before:
                return
            outcomes = self.recipe.algorithm.attempt(self, number)

    def __iter__(self) -> Iterator[EpochRecord]:
        return self

    def __next__(self) -> EpochRecord:
        self.stopped = self.stopped or self._limit_reached()
        if self.stopped is not None:
            raise StopIteration
        began = time.perf_counter()
        try:
            outcome = next(self._outcomes, None)
        except KeyboardInterrupt:
            self.stopped = INTERRUPTED
            raise
        if outcome is None:
            self.stopped = EXHAUSTED
            raise StopIteration
        self.weights, self.margins, rate = outcome.weights, outcome.margins, outcome.learning_rate
        errors = self._count_errors(outcome)
        # The margins of a rule grow while its errors stay; later weights of a solver are just different.
        if errors < self._best_errors or (errors == self._best_errors and not self._restarts):
            self._best_weights, self._best_errors, self._best_epoch = outcome.weights, errors, self.epochs + 1
        self._history.append((errors, rate))
        self.pace = self.schedule.after_epoch(self.pace, self.epochs, errors / self.n_patterns)
        self._random_state = self.rng.bit_generator.state
        self._seconds += time.perf_counter() - began
        if errors == 0 and self.recipe.stop_when_solved:
            self.stopped = SOLVED
        elif outcome.signal < NO_SIGNAL and errors > 0 and not self._restarts:
            self._fail(
                DEAD,
                f"no branch had a dendritic signal above {NO_SIGNAL:g} on any pattern of epoch {self.epochs}: all "
                f"branches are dead and no weight can change (learning_rate = {rate:g}, theta_d = "
                f"{', '.join(f'{kind.theta_d:g}' for kind in self.neuron.kinds)}); use a smaller learning_rate or "
                "SGD(surrogate=...)",
            )
        return EpochRecord(self.epochs, errors, errors / self.n_patterns, self._best_errors, rate)

    def _limit_reached(self) -> str | None:
        if self.pace.finished and not self._restarts:
            return RATE_FLOOR
        if self.recipe.max_epochs is not None and self.epochs >= self.recipe.max_epochs:
            return EPOCHS
        return TIME if self.time_limit is not None and self._seconds >= self.time_limit else None

    def _count_errors(self, outcome: EpochOutcome) -> int:
        errors = int(np.count_nonzero(~(outcome.margins > self.kappa)))
        # Zero errors must be certain: unless margins exceed all rounding errors, check with the float64 formula.
        if errors or float(outcome.margins.min()) > self.kappa + self._beyond_rounding:
            return errors
        return self.neuron.errors(outcome.weights, self.patterns, self.kappa)

    def _fail(self, stopped: str, message: str) -> None:
        self.stopped, self.failure = stopped, message
        raise TrainingFailed(message, self.result())

    def drain(self, callback: Callable[[EpochRecord], Any] | None = None) -> None:
        """Run to the end; the run also ends if ``callback`` returns True."""
        try:
            for record in self:
                if callback is not None and callback(record) and self.stopped is None:
                    self.stop()
        except KeyboardInterrupt:
            self.stopped = INTERRUPTED
            raise

    def stop(self) -> None:
        """End the run after the current epoch."""
        self.stopped = ASKED

    def state(self) -> TrainingState:
        """The state of the run after its last epoch, for resuming it; raises `InvalidParameter` for a solver."""
        return resumable(self._state(), self.recipe.algorithm)

    def _state(self) -> TrainingState | None:
        if self._restarts:
            return None
        return TrainingState(
            weights=self.weights.copy(),
            best_weights=self._best_weights.copy(),
            best_errors=self._best_errors,
            best_epoch=self._best_epoch,
            pace=self.pace,
            random_state=dict(self._random_state),
            error_history=tuple(errors for errors, _ in self._history),
            rate_history=tuple(rate for _, rate in self._history),
        )

    def result(self) -> TrainingResult:
        """The best weights so far, with the history of the run."""
        margins = self.neuron.margins(self._best_weights, self.patterns)
        return TrainingResult(
            neuron=self.neuron,
            weights=self.neuron.shaped_weights(self._best_weights),
            errors=int(np.count_nonzero(~(margins > self.kappa))),
            n_patterns=self.n_patterns,
            best_epoch=self._best_epoch,
            epochs=self.epochs,
            stopped=self.stopped or "unfinished",
            failure=self.failure,
            error_history=np.array([errors for errors, _ in self._history], dtype=np.int64),
            rate_history=np.array([rate for _, rate in self._history], dtype=np.float64),
            seconds=self._seconds,
            algorithm=self.recipe.algorithm,
            schedule=self.schedule,
            resumption=self._state(),
            kappa=self.kappa,
            margin=float(margins.min()),
        )


def _presentations(sample_weight: ArrayLike, n_patterns: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Minimum number of presentations of each pattern, and the probability of one more."""
    given = np.asarray(sample_weight, dtype=np.float64)
    if given.shape != (n_patterns,):
        raise refuse("sample_weight.shape", given.shape, f"({n_patterns},)")
    if not (np.isfinite(given).all() and given.min() >= 0.0 and given.any()):
        raise refuse("sample_weight", given, "finite numbers >= 0, some of them positive")
    times = np.floor(given)
    return times.astype(np.int64), given - times


def train(
    neuron: DendriticNeuron,
    inputs: ArrayLike | PackedPatterns,
    labels: ArrayLike,
    recipe: Recipe | None = None,
    *,
    algorithm: Algorithm | None = None,
    schedule: Schedule | None = None,
    max_epochs: int | None = 1000,
    seed: Seed = None,
    weights: ArrayLike | None = None,
    f_in: float | None = None,
    stop_when_solved: bool = True,
    resume: TrainingState | None = None,
    callback: Callable[[EpochRecord], Any] | None = None,
    on_failure: str = "raise",
) -> TrainingResult:
    """Train a neuron on binary patterns, one pattern at a time.

    Patterns are reshuffled in every epoch; after each epoch all of them are tested with fixed weights.

    Parameters
    ----------
    neuron : DendriticNeuron
        The neuron, dendritic or linear.
    inputs : array of 0 and 1, shape (n_patterns, n_inputs), or PackedPatterns
        The patterns.
    labels : array of 0 and 1, shape (n_patterns,)
        The correct answers.
    recipe : Recipe, optional
        How to train, instead of ``algorithm``, ``schedule``, ``max_epochs`` and ``stop_when_solved``.
    algorithm : Algorithm, optional
        A rule, by default ``SGD()``, or a solver.
    schedule : Schedule, optional
        By default ``ExponentialAnnealing()``, which never ends a run. Solvers have none.
    max_epochs : int or None
        Maximum number of epochs, including those before a resumption. None sets no limit.
    seed : int, SeedSequence, Generator or None
        Seed of the initial weights and of the order of patterns, of which the child for runs is used. The same seed
        gives the same weights.
    weights : array, optional
        Initial weights; by default uniform on [0, 2 theta_d / f_in].
    f_in : float, optional
        Coding level for the initial weights; by default the fraction of active inputs, separately for each population
        and for inhibitory inputs.
    stop_when_solved : bool
        End when every pattern is right. Continuing increases the margins.
    resume : TrainingState, optional
        Resume an earlier run of a rule; ``seed``, ``weights`` and ``f_in`` are then ignored.
    callback : callable, optional
        Called with every `EpochRecord`; the run ends if it returns True.
    on_failure : {"raise", "return"}
        What to do if weights overflow or all branches die: `TrainingFailed` contains the result so far.

    Examples
    --------
    >>> from dendrocap import SGD, DendriticNeuron, NeuronSpec, Polsky, random_patterns
    >>> neuron = DendriticNeuron(NeuronSpec(Polsky(), theta_d=0.05, theta_s=0.5), n_inputs=999, n_branches=27)
    >>> inputs, labels = random_patterns(500, 999, rng=0)
    >>> result = train(neuron, inputs, labels, algorithm=SGD(learning_rate=0.1), seed=0)
    >>> result.solved, result.weights.shape
    (True, (27, 37))
    """
    choice("on_failure", on_failure, ("raise", "return"))
    parts = Recipe(algorithm, schedule, max_epochs, stop_when_solved)  # type: ignore[arg-type]
    if recipe is not None and parts != Recipe():
        raise InvalidParameter("a recipe cannot be combined with algorithm, schedule, max_epochs or stop_when_solved")
    run = Training(neuron, inputs, labels, recipe or parts, seed=seed, weights=weights, f_in=f_in, resume=resume)
    try:
        run.drain(callback)
    except TrainingFailed:
        if on_failure == "raise":
            raise
    return run.result()


# Runs on disk: one .npz file with the neuron, its patterns, its weights, and the state needed to resume the run, which
# the run of a solver does not have.

FORMAT = 2

# The numbers of a state that are stored as text; its arrays and histories are stored as such.
STATE = ("best_errors", "best_epoch", "random_state")

# An archive may be so many times larger than its file: the limit of its compression.
EXPANSION = 1032


@dataclass(frozen=True, eq=False)
class SavedRun(Displayed):
    """A run read from disk: a trained neuron, its patterns, the best weights found, and the history of its training."""

    _displayed = ("errors", "inputs", "weights")

    neuron: DendriticNeuron
    inputs: PackedPatterns
    labels: NDArray[np.uint8]
    weights: NDArray[np.float64]
    errors: int
    algorithm: str
    error_history: NDArray[np.int64]
    rate_history: NDArray[np.float64]
    resumption: TrainingState | None

    @property
    def state(self) -> TrainingState:
        """The state for ``train(..., resume=saved.state)``; raises `InvalidParameter` for the run of a solver."""
        return resumable(self.resumption, self.algorithm)


def save_run(path: str | Path, result: TrainingResult, inputs: ArrayLike | PackedPatterns, labels: ArrayLike) -> None:
    """Write a run and its training patterns to a ``.npz`` file, which `load_run` reads."""
    packed = inputs if isinstance(inputs, PackedPatterns) else pack_patterns(inputs)
    state = result.resumption
    about = {
        "format": FORMAT,
        "neuron": flat_neuron(result.neuron),
        "n_inputs": packed.n_inputs,
        "errors": result.errors,
        "stopped": result.stopped,
        "algorithm": repr(result.algorithm),
        "schedule": repr(result.schedule),
        "state": state and {name: getattr(state, name) for name in STATE} | {"pace": dataclasses.asdict(state.pace)},
    }
    arrays: dict[str, NDArray[Any]] = {
        "weights": result.weights,
        "inputs": packed.bits,
        "labels": np.asarray(labels, dtype=np.uint8),
        "error_history": result.error_history,
        "rate_history": result.rate_history,
    }
    if state is not None:
        arrays |= {"state_weights": state.weights, "state_best_weights": state.best_weights}
    write_arrays(path, about, arrays, compressed=True)


def load_run(path: str | Path) -> SavedRun:
    """Read a run written by `save_run`; anything else raises `CorruptData`."""
    what = "a run saved by dendrocap"
    about, arrays = read_arrays(path, what, FORMAT, expansion=EXPANSION)
    with reading(path, what):
        state = about["state"] and TrainingState(
            weights=arrays["state_weights"],
            best_weights=arrays["state_best_weights"],
            error_history=tuple(arrays["error_history"].tolist()),
            rate_history=tuple(arrays["rate_history"].tolist()),
            **{**about["state"], "pace": Pace(**about["state"]["pace"])},
        )
        return SavedRun(
            neuron=finite_neuron(neuron_from_flat(about["neuron"])),
            inputs=PackedPatterns(arrays["inputs"], about["n_inputs"]),
            resumption=state,
            errors=about["errors"],
            algorithm=about["algorithm"],
            **{name: arrays[name] for name in ("labels", "weights", "error_history", "rate_history")},
        )


# Runs on random patterns for protocols and sweeps, and their summaries.
#
# A seed determines one set of patterns at each load, and one run on it; the two are independent (see
# `dendrocap.model.patterns`), so that other recipes use the same patterns.


@dataclass(frozen=True)
class Trial(Displayed):
    """One run on one set of random patterns, and how many of them its best weights get wrong."""

    _displayed = ("errors", "n_patterns", "alpha", "seed", "epochs", "best_epoch", "stopped")

    alpha: float
    seed: int
    n_patterns: int
    errors: int
    epochs: int
    best_epoch: int
    stopped: str

    @property
    def error(self) -> float:
        """Fraction of patterns wrong."""
        return self.errors / self.n_patterns


def patterns_at_load(neuron: DendriticNeuron, alpha: float, seed: int, task: TaskSpec | None = None) -> Patterns:
    """The random patterns of a seed at a load: ``round(alpha N)`` of them, at least one.

    The activity of a population's inputs, or of inhibitory ones, is that of the neuron if given, else that of the task.
    """
    task = task or TaskSpec()
    n_patterns = max(1, round(real_number("alpha", alpha, 0.0, low_open=True) * neuron.n_inputs))
    each = neuron.input_activity(task.f_in)
    return random_patterns(
        n_patterns,
        neuron.n_inputs,
        task.f_in if np.all(each == task.f_in) else each,
        task.f_out,
        seed,
        branch_correlation=task.branch_correlation,
        n_branches=neuron.branch_sizes.tolist(),
    )


def train_at_load(
    neuron: DendriticNeuron, alpha: float, seed: int, task: TaskSpec | None, recipe: Recipe, **run: Any
) -> TrainingResult:
    """One run on the random patterns of this load and seed; failures are returned, not raised."""
    return train(neuron, *patterns_at_load(neuron, alpha, seed, task), recipe, seed=seed, on_failure="return", **run)


def trial_of(alpha: float, seed: int, result: TrainingResult) -> Trial:
    """The summary of a run for a protocol."""
    return Trial(alpha, seed, result.n_patterns, result.errors, result.epochs, result.best_epoch, result.stopped)


def checked_seeds(seeds: Sequence[int]) -> list[int]:
    """Seeds as a list of whole numbers, at least one."""
    several = [whole_number("seeds", seed, 0) for seed in seeds]
    if not several:
        raise refuse("seeds", seeds, "at least one seed")
    return several
