"""Many independent runs at once, on all cores.

Compiled epochs release Python's global lock, so threads suffice: nothing is copied between processes, and a run
gives the same bits as it does alone. Only the few microseconds between epochs take turns.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dendrocap.learning.algorithms import Algorithm
from dendrocap.learning.schedules import Schedule
from dendrocap.learning.training import EpochRecord, Seed, TrainingResult, train
from dendrocap.model.neuron import DendriticNeuron
from dendrocap.model.patterns import PackedPatterns
from dendrocap.validation import refuse, whole_number

__all__ = ["available_cores", "in_parallel", "train_many"]

T = TypeVar("T")
R = TypeVar("R")

# Asks a run to end after its present epoch, so that Ctrl-C need not wait for whole runs.
StopRequest = Callable[[EpochRecord], bool]


def train_many(
    neurons: DendriticNeuron | Sequence[DendriticNeuron],
    inputs: ArrayLike | PackedPatterns,
    labels: ArrayLike,
    *,
    algorithms: Algorithm | Sequence[Algorithm | None] | None = None,
    seeds: Iterable[Seed],
    schedule: Schedule | None = None,
    max_epochs: int = 1000,
    f_in: float | None = None,
    stop_when_solved: bool = True,
    workers: int | None = None,
) -> list[TrainingResult]:
    """Train every neuron with every algorithm and every seed on one task.

    Parameters
    ----------
    neurons : DendriticNeuron, or a sequence of them
        What to train.
    inputs, labels : arrays
        The task, as for `train`.
    algorithms : Algorithm, or a sequence of them
        How to train.
    seeds : iterable of int or SeedSequence
        One run for each. A Generator would be used up by the first run and is refused.
    schedule, max_epochs, f_in, stop_when_solved
        As for `train`.
    workers : int, optional
        Runs at a time; by default the number of cores.

    Returns
    -------
    list of TrainingResult
        Neurons outermost, then algorithms, then seeds; equal bit for bit to single runs. A run that failed
        says so in its ``failure``.

    Examples
    --------
    >>> from dendrocap import LinearNeuron, random_patterns
    >>> from dendrocap.learning import SGD
    >>> neuron, task = LinearNeuron(0.5, 99), random_patterns(30, 99, rng=1)
    >>> results = train_many(neuron, *task, algorithms=SGD(1.0), seeds=range(4))
    >>> [result.solved for result in results]
    [True, True, True, True]
    """
    several_neurons = [neurons] if isinstance(neurons, DendriticNeuron) else list(neurons)
    several_algorithms = list(algorithms) if isinstance(algorithms, Sequence) else [algorithms]
    several_seeds = list(seeds)
    for seed in several_seeds:
        if isinstance(seed, np.random.Generator):
            raise refuse("seeds", seed, "whole numbers or SeedSequences")
    if not (several_neurons and several_algorithms and several_seeds):
        raise refuse("neurons, algorithms or seeds", [], "non-empty")
    runs = [(n, a, s) for n in several_neurons for a in several_algorithms for s in several_seeds]

    def run(of: tuple[DendriticNeuron, Algorithm | None, Seed], stop: StopRequest) -> TrainingResult:
        neuron, algorithm, seed = of
        return train(
            neuron,
            inputs,
            labels,
            algorithm=algorithm,
            schedule=schedule,
            max_epochs=max_epochs,
            seed=seed,
            f_in=f_in,
            stop_when_solved=stop_when_solved,
            callback=stop,
            on_failure="return",
        )

    return in_parallel(run, runs, workers=workers)


def in_parallel(
    function: Callable[[T, StopRequest], R],
    arguments: Sequence[T],
    *,
    workers: int | None = None,
    done: Callable[[R], Any] | None = None,
) -> list[R]:
    """``function`` of every argument, in order, several at a time.

    Parameters
    ----------
    function : callable
        Takes an argument and a callback for `train` that asks runs to stop once the user has interrupted.
    arguments : sequence
        One call for each.
    workers : int, optional
        Calls at a time; by default the number of cores.
    done : callable, optional
        Told every result, in order, as soon as it and all before it are there.
    """
    n_workers = whole_number("workers", available_cores() if workers is None else workers, 1)
    interrupted = threading.Event()

    def stop(record: EpochRecord) -> bool:
        return interrupted.is_set()

    results: list[R] = []
    with ThreadPoolExecutor(min(n_workers, max(1, len(arguments)))) as pool:
        futures = [pool.submit(function, argument, stop) for argument in arguments]
        try:
            for future in futures:
                results.append(future.result())
                if done is not None:
                    done(results[-1])
        except BaseException:
            interrupted.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return results


def available_cores() -> int:
    """Cores that this process may use, which a cluster's scheduler may have limited."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
