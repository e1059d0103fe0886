"""A training run in the background, for one session: it can be started, paused, resumed, stopped and inspected."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dendrocap.answers import Capacity, capacity
from dendrocap.errors import DendrocapError, TrainingFailed
from dendrocap.explorer.parameters import Parameters
from dendrocap.learning import SGD, ExponentialAnnealing, Lorentzian, Recipe, Training, patterns_at_load
from dendrocap.numerics.types import Floats
from dendrocap.theory import saddle_point

MOST_EPOCHS = 20_000
POINTS_SHOWN = 600  # points of the error history; a screen cannot resolve more
BETWEEN_COPIES = 0.15  # seconds between two copies of the weights
IDLE, RUNNING, PAUSED, ENDED = "idle", "running", "paused", "ended"


@dataclass(frozen=True, eq=False)
class Progress:
    """State of a run; its error history is thinned out for drawing, its weights are in the order of the inputs."""

    state: str
    epoch: int = 0
    n_patterns: int = 0
    errors: int = 0
    best_errors: int = 0
    epochs: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    error: Floats = field(default_factory=lambda: np.empty(0))
    weights: Floats = field(default_factory=lambda: np.empty(0))
    text: str = ""  # why the run ended or failed


class Trainer:
    """One run at a time, in a separate thread that ends with the run or with `close`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._go = threading.Event()
        self._end = threading.Event()
        self._thread: threading.Thread | None = None
        self._state, self._text = IDLE, ""
        self._errors: list[int] = []
        self._weights: Floats = np.empty(0)
        self._n_patterns = 0
        self._best = 0

    def start(self, parameters: Parameters) -> None:
        """Start a new run; a current one is stopped."""
        self.stop()
        neuron, seed = parameters.finite_neuron, parameters.seed
        patterns = patterns_at_load(neuron, parameters.load, seed, parameters.task)
        run = Training(neuron, *patterns, recipe(parameters), seed=seed)
        with self._lock:
            self._state, self._text, self._errors = RUNNING, "", []
            self._n_patterns, self._weights = run.n_patterns, run.state().weights.astype(np.float64)
            self._best = run.n_patterns
        self._end, self._go = threading.Event(), threading.Event()
        self._go.set()
        self._thread = threading.Thread(
            target=self._run, args=(run, 1.0 / parameters.pace, self._end, self._go), name="training", daemon=True
        )
        self._thread.start()

    def pause(self) -> None:
        """Pause after the current epoch."""
        with self._lock:
            if self._state == RUNNING:
                self._state = PAUSED
                self._go.clear()

    def resume(self) -> None:
        """Resume after a pause."""
        with self._lock:
            if self._state == PAUSED:
                self._state = RUNNING
                self._go.set()

    def stop(self) -> None:
        """Stop the run after the current epoch, and wait for it to end."""
        self._end.set()
        self._go.set()
        self.wait()

    close = stop

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the run has ended."""
        if self._thread is not None:
            self._thread.join(timeout)

    @property
    def alive(self) -> bool:
        """Whether the thread is running or paused."""
        return self._thread is not None and self._thread.is_alive()

    def progress(self) -> Progress:
        """The current state of the run."""
        with self._lock:
            errors = np.array(self._errors, dtype=np.int64)
            state, text, weights = self._state, self._text, self._weights
            n_patterns, best = self._n_patterns, self._best
        epochs = np.arange(1, errors.size + 1)
        if errors.size > POINTS_SHOWN:
            kept = np.unique(np.linspace(0, errors.size - 1, POINTS_SHOWN).round().astype(np.int64))
        else:
            kept = np.arange(errors.size)
        return Progress(
            state=state,
            epoch=int(errors.size),
            n_patterns=n_patterns,
            errors=int(errors[-1]) if errors.size else n_patterns,
            best_errors=best,
            epochs=epochs[kept],
            error=errors[kept] / max(n_patterns, 1),
            weights=weights,
            text=text,
        )

    def _run(self, run: Training, pause: float, end: threading.Event, go: threading.Event) -> None:
        text, copied, due = "", 0.0, time.monotonic()
        try:
            for record in run:
                with self._lock:
                    self._errors.append(record.errors)
                    self._best = record.best_errors
                now = time.monotonic()
                if now - copied > BETWEEN_COPIES:
                    self._copy_weights(run)
                    copied = now
                # Epochs are due at a steady pace; delays are not made up for.
                due = max(due + pause, now)
                if end.wait(due - now):
                    run.stop()
                go.wait()
                if end.is_set():
                    run.stop()
        except TrainingFailed as failure:
            text = str(failure)
        except DendrocapError as error:
            text = f"the run failed: {error}"
        self._copy_weights(run)
        with self._lock:
            self._state, self._text = ENDED, text or str(run.stopped)

    def _copy_weights(self, run: Training) -> None:
        weights = run.state().weights.astype(np.float64)
        with self._lock:
            self._weights = weights


def recipe(parameters: Parameters) -> Recipe:
    """The training recipe of the page."""
    rule = SGD(parameters.rate, surrogate=Lorentzian() if parameters.uses_surrogate else None)
    return Recipe(rule, ExponentialAnnealing(parameters.decay), MOST_EPOCHS)


class WeightTheory(NamedTuple):
    """Distributions for comparison with learned weights, the quick look at the capacity, and why there are none."""

    at_load: Any  # of a typical solution at the load of the run, replica symmetric
    at_capacity: Any  # with broken symmetry
    answer: Capacity | None
    problem: str = ""


def weight_theory(parameters: Parameters) -> WeightTheory:
    """Theoretical distributions of the weights of the run, without a margin, because training has none."""
    task = replace(parameters.task, kappa=0.0)
    try:
        answer = capacity(parameters.finite_neuron, task, accuracy="fast")
    except DendrocapError as error:
        return WeightTheory(None, None, None, str(error))
    at_capacity = answer.populations[0].weights
    try:
        at_load = saddle_point(parameters.neuron, task, alpha=parameters.load).weights
    except DendrocapError as error:
        return WeightTheory(None, at_capacity, answer, str(error))
    return WeightTheory(at_load, at_capacity, answer)
