"""Runs on disk: one ``.npz`` file with the neuron, its task, its weights, and all that is needed to go on.

Nothing in the file is executable: arrays, and one text in JSON.
"""

from __future__ import annotations

import dataclasses
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.errors import InvalidParameter
from dendrocap.learning.schedules import Pace
from dendrocap.learning.training import TrainingResult, TrainingState
from dendrocap.model.flat import finite_neuron, flat_neuron, neuron_from_flat
from dendrocap.model.neuron import DendriticNeuron
from dendrocap.model.patterns import PackedPatterns, pack_patterns
from dendrocap.validation import refuse

__all__ = ["SavedRun", "load_run", "save_run"]

FORMAT = 2


@dataclass(frozen=True, eq=False)
class SavedRun:
    """A run read back from disk.

    Parameters
    ----------
    neuron : DendriticNeuron
        What was trained.
    inputs, labels : PackedPatterns, array
        Its task.
    weights : array
        The best weights met.
    errors : int
        What they got wrong.
    state : TrainingState
        For ``train(..., resume=state)``.

    Examples
    --------
    >>> import tempfile
    >>> from dendrocap import SGD, LinearNeuron, random_patterns, train
    >>> neuron, task = LinearNeuron(0.5, 20), random_patterns(8, 20, rng=0)
    >>> first = train(neuron, *task, algorithm=SGD(1.0), max_epochs=2, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_run(Path(folder, "run.npz"), first, *task)
    ...     saved = load_run(Path(folder, "run.npz"))
    >>> saved.neuron == neuron, bool((saved.weights == first.weights).all())
    (True, True)
    >>> more = train(saved.neuron, saved.inputs, saved.labels, algorithm=SGD(1.0), max_epochs=99, resume=saved.state)
    >>> more.errors <= first.errors
    True
    """

    neuron: DendriticNeuron
    inputs: PackedPatterns
    labels: NDArray[np.uint8]
    weights: NDArray[np.float64]
    errors: int
    state: TrainingState


def save_run(path: str | Path, result: TrainingResult, inputs: ArrayLike | PackedPatterns, labels: ArrayLike) -> None:
    """Write a run and its task to a ``.npz`` file.

    Parameters
    ----------
    path : str or Path
        Where to.
    result : TrainingResult
        The run.
    inputs, labels : arrays
        The task it was trained on.

    Examples
    --------
    >>> import tempfile
    >>> from dendrocap import SGD, LinearNeuron, random_patterns, train
    >>> neuron, task = LinearNeuron(0.5, 20), random_patterns(8, 20, rng=0)
    >>> result = train(neuron, *task, algorithm=SGD(1.0), seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_run(Path(folder, "run.npz"), result, *task)
    ...     [file.name for file in Path(folder).iterdir()]
    ['run.npz']
    """
    packed = inputs if isinstance(inputs, PackedPatterns) else pack_patterns(inputs)
    state = result.state
    about = {
        "format": FORMAT,
        "neuron": flat_neuron(result.neuron),
        "n_inputs": packed.n_inputs,
        "errors": result.errors,
        "stopped": result.stopped,
        "algorithm": repr(result.algorithm),
        "schedule": repr(result.schedule),
        "best_errors": state.best_errors,
        "best_epoch": state.best_epoch,
        "pace": dataclasses.asdict(state.pace),
        "random_state": state.random_state,
    }
    with Path(path).open("wb") as file:
        np.savez_compressed(
            file,
            about=np.array(json.dumps(about)),
            weights=result.weights,
            inputs=packed.bits,
            labels=np.asarray(labels, dtype=np.uint8),
            state_weights=state.weights,
            state_best_weights=state.best_weights,
            error_history=np.array(state.error_history, dtype=np.int64),
            rate_history=np.array(state.rate_history, dtype=np.float64),
        )


def load_run(path: str | Path) -> SavedRun:
    """Read a run that `save_run` wrote.

    Raises
    ------
    InvalidParameter
        If the file is not such a run.

    Examples
    --------
    >>> import tempfile
    >>> from dendrocap import SGD, LinearNeuron, random_patterns, train
    >>> neuron, task = LinearNeuron(0.5, 20), random_patterns(8, 20, rng=0)
    >>> result = train(neuron, *task, algorithm=SGD(1.0), seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_run(Path(folder, "run.npz"), result, *task)
    ...     load_run(Path(folder, "run.npz")).errors == result.errors
    True
    """
    try:
        with np.load(path, allow_pickle=False) as stored:
            about = json.loads(str(stored["about"]))
            arrays = {name: stored[name] for name in stored.files if name != "about"}
        if about["format"] != FORMAT:
            raise refuse("format", about["format"], f"{FORMAT}, in {path}")
        state = TrainingState(
            weights=arrays["state_weights"],
            best_weights=arrays["state_best_weights"],
            best_errors=about["best_errors"],
            best_epoch=about["best_epoch"],
            pace=Pace(**about["pace"]),
            random_state=about["random_state"],
            error_history=tuple(arrays["error_history"].tolist()),
            rate_history=tuple(arrays["rate_history"].tolist()),
        )
        return SavedRun(
            neuron=finite_neuron(neuron_from_flat(about["neuron"])),
            inputs=PackedPatterns(arrays["inputs"], about["n_inputs"]),
            labels=arrays["labels"],
            weights=arrays["weights"],
            errors=about["errors"],
            state=state,
        )
    except (KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        if isinstance(error, InvalidParameter):
            raise
        raise InvalidParameter(f"{path} is not a run saved by dendrocap: {error}") from None
