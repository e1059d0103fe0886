"""What a neuron makes of images that it has not seen: the paper's comparison of dendritic and linear neurons.

Both neurons have the same synapses and see the same binarised images; what differs is what happens between synapses
and soma. Errors are followed epoch by epoch on training and test images.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dendrocap.datasets import TASKS, BinaryTask, image_task
from dendrocap.display import Displayed
from dendrocap.learning import SGD, ExponentialAnnealing, Training
from dendrocap.learning.algorithms import Algorithm
from dendrocap.learning.many import in_parallel
from dendrocap.learning.schedules import Schedule
from dendrocap.model import DendriticNeuron, LinearNeuron, NeuronSpec, Polsky
from dendrocap.numerics.statistics import standard_error
from dendrocap.validation import choice, whole_number

__all__ = ["Contender", "GeneralisationCurve", "contenders", "generalisation_curve", "generalise", "summary"]


@dataclass(frozen=True)
class Contender:
    """A neuron with the hyper-parameters it is trained with."""

    name: str
    neuron: DendriticNeuron
    algorithm: Algorithm


@dataclass(frozen=True, eq=False)
class GeneralisationCurve(Displayed):
    """Errors of one training run, epoch by epoch.

    Parameters
    ----------
    task, contender : str
        What was learned, and by which neuron.
    seed : int
        Of the pixel permutation, the subset of images, the first weights and the order of patterns.
    epochs : array of int
        When errors were measured.
    train_error, test_error : array
        Fractions wrong.
    balanced_test_error : array
        Mean over the two classes of the fraction wrong; where one class is rare, a constant answer has a low
        error but a balanced one of 1/2.
    """

    _displayed = ("task", "contender", "seed", "epochs", "test_error")

    task: str
    contender: str
    seed: int
    epochs: NDArray[np.int64]
    train_error: NDArray[np.float64]
    test_error: NDArray[np.float64]
    balanced_test_error: NDArray[np.float64]


def contenders(
    task: str,
    n_inputs: int,
    *,
    n_branches: int,
    theta_d: float = 0.1,
    theta_s: float = 0.5,
    learning_rate: float = 0.03,
    gamma_ce: float = 10.0,
    linear_theta: float = 0.1,
    linear_rate: float = 0.1,
    linear_gamma_ce: float = 10.0,
) -> tuple[Contender, Contender]:
    """The dendritic neuron and the linear one with the same number of synapses."""
    choice("task", task, tuple(TASKS))
    spec = NeuronSpec(Polsky(), theta_d, theta_s)
    dendritic = DendriticNeuron(spec, n_inputs, n_branches, group_size=2)
    return (
        Contender(f"dendritic, K = {n_branches}", dendritic, SGD(learning_rate, gamma_ce)),
        Contender("linear", LinearNeuron(linear_theta, n_inputs), SGD(linear_rate, linear_gamma_ce)),
    )


def generalisation_curve(
    task: BinaryTask,
    contender: Contender,
    *,
    max_epochs: int,
    seed: int,
    schedule: Schedule | None = None,
    every: int = 1,
    stop: Callable[..., bool] | None = None,
) -> GeneralisationCurve:
    """Training and test error of one neuron along its training.

    Parameters
    ----------
    task : BinaryTask
        Training and test images.
    contender : Contender
        The neuron and how it learns.
    max_epochs : int
        Length of the run; it does not end when the training set is learned.
    seed : int
        Source of first weights and order.
    schedule : Schedule, optional
        The paper's exponential annealing if not given.
    every : int
        Epochs between two measurements of the test error.
    stop : callable, optional
        Given each epoch's record, tells whether to end early.
    """
    every, neuron = whole_number("every", every, 1), contender.neuron
    run = Training(
        neuron,
        task.inputs,
        task.labels,
        algorithm=contender.algorithm,
        schedule=schedule or ExponentialAnnealing(),
        max_epochs=whole_number("max_epochs", max_epochs, 1),
        seed=seed,
        stop_when_solved=False,
    )
    rows = []
    for record in run:
        if record.epoch % every == 0 or record.epoch == max_epochs:
            wrong = neuron.predict(run.state().weights, task.test_inputs) != task.test_labels
            balanced = np.mean([wrong[task.test_labels == label].mean() for label in (0, 1)])
            rows.append((record.epoch, record.error, wrong.mean(), balanced))
        if stop is not None and stop(record):
            break
    epochs, train, test, even = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    return GeneralisationCurve(task.name, contender.name, seed, epochs.astype(np.int64), train, test, even)


def generalise(
    task: str,
    *,
    n_branches: int,
    seeds: Sequence[int],
    max_epochs: int,
    n_train: int | None = None,
    every: int = 1,
    workers: int | None = None,
    done: Callable[[GeneralisationCurve], Any] | None = None,
    **hyper_parameters: float,
) -> list[GeneralisationCurve]:
    """Dendritic against linear neuron on an image task, several seeds.

    Each seed has its own permutation of the pixels and, with ``n_train``, its own balanced subset of the images; both
    neurons see the same.

    Parameters
    ----------
    task : {"mnist", "fashion-mnist", "cifar10", "cifar10-odd-even"}
        What to learn.
    n_branches : int
        K.
    seeds : sequence of int
        One pair of runs each.
    max_epochs, every
        As for `generalisation_curve`.
    n_train : int, optional
        Training images; all if not given.
    workers : int, optional
        Seeds at a time.
    done : callable, optional
        Told every curve.
    **hyper_parameters
        As for `contenders`.
    """

    def run(seed: int, stop: Callable[..., bool]) -> list[GeneralisationCurve]:
        images = image_task(task, n_train=n_train, rng=seed)
        both = contenders(task, images.n_inputs, n_branches=n_branches, **hyper_parameters)
        curves = []
        for contender in both:
            curve = generalisation_curve(images, contender, max_epochs=max_epochs, seed=seed, every=every, stop=stop)
            curves.append(curve)
            if done is not None:
                done(curve)
        return curves

    pairs = in_parallel(run, [whole_number("seed", seed, 0) for seed in seeds], workers=workers)
    return [curve for pair in pairs for curve in pair]


def summary(curves: Sequence[GeneralisationCurve]) -> list[dict[str, Any]]:
    """Mean and standard error over seeds, one row per neuron and epoch; the error of a single seed is NaN."""
    rows = []
    for contender in dict.fromkeys(curve.contender for curve in curves):
        runs = [curve for curve in curves if curve.contender == contender]
        for at, epoch in enumerate(runs[0].epochs):
            row: dict[str, Any] = {"neuron": contender, "epoch": int(epoch)}
            for key in ("train_error", "test_error", "balanced_test_error"):
                errors = np.array([getattr(run, key)[at] for run in runs])
                row[key] = float(errors.mean())
                row[f"{key}_se"] = standard_error(errors)
            rows.append(row)
    return rows
