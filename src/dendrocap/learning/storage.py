"""Runs on disk: one ``.npz`` file with the neuron, its patterns, its weights, and all that is needed to go on.

A solver's run is stored without the last, since it cannot go on; `SavedRun.state` says so.

Nothing in the file is executable: arrays, and one text in JSON.
"""

from __future__ import annotations

import dataclasses
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.display import Displayed
from dendrocap.errors import CorruptData
from dendrocap.files import reading, write_file
from dendrocap.learning.schedules import Pace
from dendrocap.learning.training import TrainingResult, TrainingState, resumable
from dendrocap.model.dendritic_neuron import DendriticNeuron
from dendrocap.model.flat import finite_neuron, flat_neuron, neuron_from_flat
from dendrocap.model.patterns import PackedPatterns, pack_patterns

__all__ = ["SavedRun", "load_run", "save_run"]

FORMAT = 2


@dataclass(frozen=True, eq=False)
class SavedRun(Displayed):
    """A run read back from disk.

    Parameters
    ----------
    neuron : DendriticNeuron
        What was trained.
    inputs, labels : PackedPatterns, array
        Its patterns.
    weights : array
        The best weights met.
    errors : int
        What they got wrong.
    algorithm : str
        How it was trained.
    error_history, rate_history : array
        Wrong patterns after, and learning rate during, each epoch.
    resumption : TrainingState or None
        From which the run can be resumed; None for solvers. Ask for `state`, which says so.

    Examples
    --------
    >>> import tempfile
    >>> from dendrocap import SGD, LinearNeuron, random_patterns, train
    >>> neuron, patterns = LinearNeuron(0.5, 20), random_patterns(8, 20, rng=0)
    >>> first = train(neuron, *patterns, algorithm=SGD(1.0), max_epochs=2, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_run(Path(folder, "run.npz"), first, *patterns)
    ...     saved = load_run(Path(folder, "run.npz"))
    >>> saved.neuron == neuron, bool((saved.weights == first.weights).all())
    (True, True)
    >>> more = train(saved.neuron, saved.inputs, saved.labels, algorithm=SGD(1.0), max_epochs=99, resume=saved.state)
    >>> more.errors <= first.errors
    True
    """

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
        """For ``train(..., resume=saved.state)``; a solver's run has none and raises `InvalidParameter`."""
        return resumable(self.resumption, self.algorithm)


def save_run(path: str | Path, result: TrainingResult, inputs: ArrayLike | PackedPatterns, labels: ArrayLike) -> None:
    """Write a run and its patterns to a ``.npz`` file.

    Parameters
    ----------
    path : str or Path
        Where to.
    result : TrainingResult
        The run.
    inputs, labels : arrays
        What it was trained on.

    Examples
    --------
    >>> import tempfile
    >>> from dendrocap import SGD, LinearNeuron, random_patterns, train
    >>> neuron, patterns = LinearNeuron(0.5, 20), random_patterns(8, 20, rng=0)
    >>> result = train(neuron, *patterns, algorithm=SGD(1.0), seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_run(Path(folder, "run.npz"), result, *patterns)
    ...     [file.name for file in Path(folder).iterdir()]
    ['run.npz']
    """
    packed = inputs if isinstance(inputs, PackedPatterns) else pack_patterns(inputs)
    state = result.resumption
    arrays: dict[str, Any] = {}
    about: dict[str, Any] = {
        "format": FORMAT,
        "neuron": flat_neuron(result.neuron),
        "n_inputs": packed.n_inputs,
        "errors": result.errors,
        "stopped": result.stopped,
        "algorithm": repr(result.algorithm),
        "schedule": repr(result.schedule),
        "state": None,
    }
    if state is not None:
        about["state"] = {
            "best_errors": state.best_errors,
            "best_epoch": state.best_epoch,
            "pace": dataclasses.asdict(state.pace),
            "random_state": state.random_state,
        }
        arrays = {"state_weights": state.weights, "state_best_weights": state.best_weights}
    content = io.BytesIO()
    np.savez_compressed(
        content,
        about=np.array(json.dumps(about, default=np.ndarray.tolist)),
        weights=result.weights,
        inputs=packed.bits,
        labels=np.asarray(labels, dtype=np.uint8),
        error_history=result.error_history,
        rate_history=result.rate_history,
        **arrays,
    )
    write_file(path, content.getvalue())


def load_run(path: str | Path) -> SavedRun:
    """Read a run that `save_run` wrote.

    Raises
    ------
    CorruptData
        If the file is not such a run.

    Examples
    --------
    >>> import tempfile
    >>> from dendrocap import SGD, LinearNeuron, random_patterns, train
    >>> neuron, patterns = LinearNeuron(0.5, 20), random_patterns(8, 20, rng=0)
    >>> result = train(neuron, *patterns, algorithm=SGD(1.0), seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_run(Path(folder, "run.npz"), result, *patterns)
    ...     load_run(Path(folder, "run.npz")).errors == result.errors
    True
    """
    with reading(path, "a run saved by dendrocap"):
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as stored:
            about = json.loads(str(stored["about"]))
            arrays = {name: stored[name] for name in stored.files if name != "about"}
        if about["format"] != FORMAT:
            raise CorruptData(f"{path} is of format {about['format']} where {FORMAT} was expected: update dendrocap")
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
            labels=arrays["labels"],
            weights=arrays["weights"],
            errors=about["errors"],
            algorithm=about["algorithm"],
            error_history=arrays["error_history"],
            rate_history=arrays["rate_history"],
            resumption=state,
        )
