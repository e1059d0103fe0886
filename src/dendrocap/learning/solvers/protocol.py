"""A solver: anything that looks for weights without errors, called like `train` and answering like it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import count
from typing import Any, ClassVar, Protocol, runtime_checkable

from numpy.typing import ArrayLike

from dendrocap.learning.solvers.search import INTERRUPTED, AttemptFailed, Search, SearchOver
from dendrocap.learning.training import EpochRecord, TrainingResult
from dendrocap.model.neuron import DendriticNeuron
from dendrocap.model.patterns import PackedPatterns
from dendrocap.model.seeds import Seed

__all__ = ["RestartingSolver", "Solver"]


@runtime_checkable
class Solver(Protocol):
    """What `solve` accepts.

    Examples
    --------
    >>> from dendrocap.learning import PlainSGD
    >>> isinstance(PlainSGD(), Solver), isinstance("sgd", Solver)
    (True, False)
    """

    name: ClassVar[str]

    def solve(
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
    ) -> TrainingResult:
        """The best weights found within the limits."""


class RestartingSolver(ABC):
    """A solver made of attempts.

    Attempts follow one another, each from fresh weights, until the task is solved or a limit is reached.
    Without any limit there is one attempt. Ctrl-C ends the search like a limit does: the best weights met are
    returned, with ``stopped = "interrupted"``.
    """

    name: ClassVar[str]

    @abstractmethod
    def _attempt(self, search: Search, number: int) -> None:
        """Work on the task until `Search.record` ends the search or the attempt is exhausted."""

    def solve(
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
    ) -> TrainingResult:
        """Look for weights that make no error.

        Parameters
        ----------
        neuron, inputs, labels
            The task, as for `train`.
        seed : int, SeedSequence, Generator or None
            Source of all randomness. Without a time limit the same seed gives the same weights.
        time_limit : float, optional
            Seconds; the epoch under way is finished.
        max_epochs : int, optional
            Epochs in all attempts together.
        weights : array, optional
            First weights of the first attempt.
        callback : callable, optional
            Called with every `EpochRecord`; a true answer ends the search.

        Returns
        -------
        TrainingResult
            Its ``errors`` are recounted from its ``weights``; ``algorithm`` is this solver.
        """
        search = Search(
            neuron,
            inputs,
            labels,
            seed=seed,
            time_limit=time_limit,
            max_epochs=max_epochs,
            weights=weights,
            callback=callback,
        )
        try:
            search.check_start()
            for number in count():
                try:
                    self._attempt(search, number)
                except AttemptFailed:
                    if search.epochs == 0:
                        break
                if not search.limited:
                    break
        except SearchOver:
            pass
        except KeyboardInterrupt:
            search.stopped = INTERRUPTED
        return search.result(self)
