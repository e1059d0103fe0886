"""Many independent runs in parallel, on all cores.

Compiled epochs release Python's global lock, so threads are sufficient: nothing is copied between processes, and a run
gives the same bits as a single run. Only the few microseconds between epochs are sequential.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import product
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dendrocap.learning.recipe import Recipe
from dendrocap.learning.training import EpochRecord, TrainingResult, train
from dendrocap.model.dendritic_neuron import DendriticNeuron
from dendrocap.model.patterns import PackedPatterns
from dendrocap.model.seeds import Seed
from dendrocap.validation import refuse, whole_number

__all__ = ["available_cores", "in_parallel", "together", "train_many"]

T = TypeVar("T")
R = TypeVar("R")

# Asks a run to end after its current epoch, so that Ctrl-C need not wait for whole runs.
StopRequest = Callable[[EpochRecord], bool]


def train_many(
    neurons: DendriticNeuron | Sequence[DendriticNeuron],
    inputs: ArrayLike | PackedPatterns,
    labels: ArrayLike,
    *,
    recipes: Recipe | Sequence[Recipe] | None = None,
    seeds: Iterable[Seed],
    f_in: float | None = None,
    workers: int | None = None,
) -> list[TrainingResult]:
    """Train every neuron with every recipe and every seed on the same patterns.

    Parameters
    ----------
    neurons : DendriticNeuron, or a sequence of them
        The neurons to train.
    inputs, labels : arrays
        The patterns, as for `train`.
    recipes : Recipe, or a sequence of them
        How to train; by default ``Recipe()``.
    seeds : iterable of int or SeedSequence
        One run for each seed. A Generator is refused, because the first run would use it up.
    f_in : float, optional
        As for `train`.
    workers : int, optional
        Number of parallel runs; by default the number of cores.

    Returns
    -------
    list of TrainingResult
        Ordered by neurons, then recipes, then seeds; equal bit for bit to single runs. The ``failure`` of a failed run
        gives the reason.

    Examples
    --------
    >>> from dendrocap import SGD, LinearNeuron, Recipe, random_patterns
    >>> neuron, patterns = LinearNeuron(0.5, 99), random_patterns(30, 99, rng=1)
    >>> results = train_many(neuron, *patterns, recipes=Recipe(SGD(1.0)), seeds=range(4))
    >>> [result.solved for result in results]
    [True, True, True, True]
    """
    several_neurons = [neurons] if isinstance(neurons, DendriticNeuron) else list(neurons)
    several_recipes = list(recipes) if isinstance(recipes, Sequence) else [recipes or Recipe()]
    several_seeds = list(seeds)
    for seed in several_seeds:
        if isinstance(seed, np.random.Generator):
            raise refuse("seeds", seed, "whole numbers or SeedSequences")
    if not (several_neurons and several_recipes and several_seeds):
        raise refuse("neurons, recipes or seeds", [], "non-empty")

    def run(of: tuple[DendriticNeuron, Recipe, Seed], stop: StopRequest) -> TrainingResult:
        neuron, recipe, seed = of
        return train(neuron, inputs, labels, recipe, seed=seed, f_in=f_in, callback=stop, on_failure="return")

    return in_parallel(run, list(product(several_neurons, several_recipes, several_seeds)), workers=workers)


def in_parallel(
    function: Callable[[T, StopRequest], R],
    arguments: Sequence[T],
    *,
    workers: int | None = None,
    callback: Callable[[R], Any] | None = None,
) -> list[R]:
    """Apply ``function`` to every argument, several in parallel; results are in input order.

    Parameters
    ----------
    function : callable
        Takes an argument and a callback for `train` that stops runs after the user has interrupted.
    arguments : sequence
        One call for each argument.
    workers : int, optional
        Number of parallel calls; by default the number of cores.
    callback : callable, optional
        Called with each result, in input order.
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
                if callback is not None:
                    callback(results[-1])
        except BaseException:
            interrupted.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return results


@contextmanager
def together(workers: int) -> Iterator[Callable[[Callable[[T], R], Iterable[T]], Iterator[R]]]:
    """A ``map`` that computes in this number of threads; with one worker it is the built-in one, which is lazy."""
    if workers == 1:
        yield map
        return
    with ThreadPoolExecutor(workers) as pool:
        yield pool.map


def available_cores() -> int:
    """Number of cores that this process may use, which the scheduler of a cluster may have limited."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
