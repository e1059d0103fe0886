"""Runs on disk: one ``.npz`` file with the neuron, its patterns, its weights, and the state needed to resume the run.

The run of a solver is stored without this state, because it cannot be resumed; `SavedRun.state` raises in that case.

Nothing in the file is executable: it holds arrays and one JSON text.
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
    """A run read from disk.

    Parameters
    ----------
    neuron : DendriticNeuron
        The trained neuron.
    inputs, labels : PackedPatterns, array
        Its patterns.
    weights : array
        The best weights found.
    errors : int
        Number of patterns that they get wrong.
    algorithm : str
        How it was trained.
    error_history, rate_history : array
        Number of wrong patterns after each epoch, and its learning rate.
    resumption : TrainingState or None
        State from which the run can be resumed; None for solvers. Use `state`, which raises in that case.

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
        """The state for ``train(..., resume=saved.state)``; raises `InvalidParameter` for the run of a solver."""
        return resumable(self.resumption, self.algorithm)


def save_run(path: str | Path, result: TrainingResult, inputs: ArrayLike | PackedPatterns, labels: ArrayLike) -> None:
    """Write a run and its patterns to a ``.npz`` file.

    Parameters
    ----------
    path : str or Path
        The file to write.
    result : TrainingResult
        The run.
    inputs, labels : arrays
        The training patterns.

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
    """Read a run written by `save_run`.

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
            raise CorruptData(f"{path} has format {about['format']}, but {FORMAT} was expected: update dendrocap")
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
