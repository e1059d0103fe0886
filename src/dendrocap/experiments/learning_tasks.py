"""Tasks that train neurons on random patterns: flat parameters in, a few numbers out.

Each cell draws its patterns, its first weights and its shuffles from its own randomness. Inside a cell nothing runs in
parallel: the sweep does that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri

from dendrocap.errors import InvalidParameter
from dendrocap.learning import (
    SGD,
    ExponentialAnnealing,
    HalveOnPlateau,
    Lorentzian,
    Schedule,
    TrainingResult,
    noise_robustness,
    weight_statistics,
)
from dendrocap.learning import algorithmic_capacity as measure_capacity
from dendrocap.learning import train as train_neuron
from dendrocap.model import DendriticNeuron, NeuronSpec, Patterns, TaskSpec, random_patterns
from dendrocap.theory import CapacityWeights
from dendrocap.validation import real_number

__all__ = ["algorithmic_capacity", "learned_weights", "learning_speed", "robustness", "train"]

# A learning curve is kept at this many epochs, evenly spaced in the logarithm.
SAMPLED_EPOCHS = 60


def train(
    neuron: DendriticNeuron,
    task: TaskSpec,
    alpha: float,
    seed: np.random.SeedSequence,
    *,
    max_epochs: int,
    learning_rate: float = 0.01,
    gamma_ce: float = 100.0,
    surrogate_width: float | None = None,
    surrogate_center: float = 0.4,
    precision: str = "float32",
    patience: int | None = None,
    decay: float = 1e-4,
    stop_when_solved: bool = True,
) -> dict[str, Any]:
    """One training run on a random task of load ``alpha``, as `dendrocap.learning.train` does it.

    With ``patience`` the learning rate is halved on plateaus, else it shrinks by ``decay`` per epoch. A run whose
    branches die or whose weights overflow is a result, told by ``stopped``, not a failed cell.
    """
    algorithm = _algorithm(learning_rate, gamma_ce, surrogate_width, surrogate_center, precision)
    patterns, run = seed.spawn(2)
    _, result = _trained(
        neuron, task, alpha, patterns, run, algorithm, _schedule(patience, decay), max_epochs, stop_when_solved
    )
    return _summary(result)


def algorithmic_capacity(
    neuron: DendriticNeuron,
    task: TaskSpec,
    seed: np.random.SeedSequence,
    *,
    max_epochs: int,
    limits: Sequence[float] = (0.1, 2.0),
    resolution: float = 0.1,
    method: str = "bisection",
    tolerance: float = 0.0,
    learning_rate: float = 0.01,
    gamma_ce: float = 100.0,
    surrogate_width: float | None = None,
    surrogate_center: float = 0.4,
    precision: str = "float32",
    patience: int | None = None,
    decay: float = 1e-4,
) -> dict[str, Any]:
    """Largest load that one sequence of runs solves, as `dendrocap.learning.algorithmic_capacity` finds it."""
    _finite(neuron)
    if len(limits) != 2:
        raise InvalidParameter(f"limits = {list(limits)} is not allowed: it must be two loads")
    outcome = measure_capacity(
        neuron,
        schedule=_schedule(patience, decay),
        algorithm=_algorithm(learning_rate, gamma_ce, surrogate_width, surrogate_center, precision),
        max_epochs=max_epochs,
        limits=(limits[0], limits[1]),
        resolution=resolution,
        method=method,
        seeds=[int(seed.generate_state(1, np.uint64)[0])],
        tolerance=tolerance,
        task=task,
        workers=1,
    )
    trials = [trial for point in outcome.points for trial in point.trials]
    return {
        "largest_solved": outcome.alpha,
        "reaches_limit": outcome.reaches_limit,
        "runs": len(trials),
        "epochs": sum(trial.epochs for trial in trials),
    }


def robustness(
    neuron: DendriticNeuron,
    task: TaskSpec,
    alpha: float,
    seed: np.random.SeedSequence,
    *,
    max_epochs: int,
    flip_probabilities: Sequence[float] = (0.01, 0.05, 0.1),
    noise_amplitudes: Sequence[float] = (0.2, 0.5, 1.0),
    samples: int = 20,
    learning_rate: float = 0.1,
    gamma_ce: float = 10.0,
    surrogate_width: float | None = None,
    surrogate_center: float = 0.4,
    precision: str = "float32",
    patience: int | None = None,
    decay: float = 1e-4,
    stop_when_solved: bool = True,
) -> dict[str, Any]:
    """Errors of a trained neuron under flipped inputs and noisy synapses, one entry per strength of the noise."""
    algorithm = _algorithm(learning_rate, gamma_ce, surrogate_width, surrogate_center, precision)
    patterns, run, noise = seed.spawn(3)
    learned, result = _trained(
        neuron, task, alpha, patterns, run, algorithm, _schedule(patience, decay), max_epochs, stop_when_solved
    )
    outcome = noise_robustness(
        neuron,
        result.weights,
        *learned,
        flip_probabilities=flip_probabilities,
        noise_amplitudes=noise_amplitudes,
        samples=samples,
        seed=np.random.default_rng(noise),
    )
    return {
        **_summary(result),
        "flip_error": [point.error for point in outcome.input_flips],
        "flip_standard_error": [point.standard_error for point in outcome.input_flips],
        "noise_error": [point.error for point in outcome.synaptic_noise],
        "noise_standard_error": [point.standard_error for point in outcome.synaptic_noise],
    }


def learning_speed(
    neuron: DendriticNeuron,
    task: TaskSpec,
    alpha: float,
    seed: np.random.SeedSequence,
    *,
    max_epochs: int,
    learning_rate: float = 0.01,
    gamma_ce: float = 100.0,
    surrogate_width: float | None = None,
    surrogate_center: float = 0.4,
    precision: str = "float32",
    decay: float = 1e-4,
) -> dict[str, Any]:
    """Error of one run along its epochs, which end when all patterns are learned.

    ``sampled_error`` is the fraction of patterns wrong after each of ``sampled_epochs``; zero after the end of a
    run that solved its task.
    """
    algorithm = _algorithm(learning_rate, gamma_ce, surrogate_width, surrogate_center, precision)
    patterns, run = seed.spawn(2)
    _, result = _trained(neuron, task, alpha, patterns, run, algorithm, _schedule(None, decay), max_epochs, True)
    at = np.unique(np.geomspace(1, max_epochs, SAMPLED_EPOCHS).round().astype(int))
    history = result.error_history / result.n_patterns
    error = history[np.minimum(at, len(history)) - 1] if len(history) else np.full(len(at), result.error)
    return {**_summary(result), "sampled_epochs": at, "sampled_error": error}


def learned_weights(
    neuron: DendriticNeuron,
    task: TaskSpec,
    alpha: float,
    seed: np.random.SeedSequence,
    *,
    max_epochs: int,
    patience: int,
    learning_rate: float = 0.01,
    gamma_ce: float = 100.0,
    surrogate_width: float | None = None,
    surrogate_center: float = 0.4,
    precision: str = "float32",
    threshold: float = 1e-3,
    quantiles: int = 101,
) -> dict[str, Any]:
    """Weights at rest: training goes on past zero error, until the rate is at its floor or the epochs are over.

    ``last_errors`` are the patterns wrong with these weights. ``near_zeros`` are below ``threshold`` times the mean
    weight, and ``distance`` is the largest between the cumulative distribution of the others and that of the
    theory's form, a truncated Gaussian with as many silent weights and the same mean.
    """
    algorithm = _algorithm(learning_rate, gamma_ce, surrogate_width, surrogate_center, precision)
    patterns, run = seed.spawn(2)
    _, result = _trained(
        neuron, task, alpha, patterns, run, algorithm, _schedule(patience, 0.0), max_epochs, stop_when_solved=False
    )
    found = weight_statistics(result.state.weights, threshold=threshold)
    B = float(ndtri(min(max(found.near_zeros, 1e-9), 1.0 - 1e-9)))
    unit = CapacityWeights(B, 1.0)
    return {
        **_summary(result),
        "last_errors": result.error_history[-1],
        "last_rate": result.rate_history[-1],
        "exact_zeros": found.exact_zeros,
        "near_zeros": found.near_zeros,
        "mean_weight": found.mean,
        "standard_deviation": found.standard_deviation,
        "distance": found.compare(CapacityWeights(B, found.mean / unit.mean())).largest_distance,
        "weight_quantiles": np.quantile(found.weights, np.linspace(0.0, 1.0, quantiles)),
    }


def _trained(
    neuron: DendriticNeuron,
    task: TaskSpec,
    alpha: float,
    patterns: np.random.SeedSequence,
    run: np.random.SeedSequence,
    algorithm: SGD,
    schedule: Schedule,
    max_epochs: int,
    stop_when_solved: bool,
) -> tuple[Patterns, TrainingResult]:
    """A random task, and a run on it."""
    _finite(neuron)
    load = real_number("alpha", alpha, 0.0, low_open=True)
    n_patterns = max(1, round(load * neuron.n_inputs))
    learned = random_patterns(n_patterns, neuron.n_inputs, task.f_in, task.f_out, np.random.default_rng(patterns))
    result = train_neuron(
        neuron,
        *learned,
        algorithm=algorithm,
        schedule=schedule,
        max_epochs=max_epochs,
        seed=run,
        f_in=task.f_in,
        stop_when_solved=stop_when_solved,
        on_failure="return",
    )
    return learned, result


def _summary(result: TrainingResult) -> dict[str, Any]:
    return {
        "solved": result.solved,
        "error": result.error,
        "errors": result.errors,
        "n_patterns": result.n_patterns,
        "epochs": result.epochs,
        "best_epoch": result.best_epoch,
        "stopped": result.stopped,
        "silent_fraction": float(np.mean(result.neuron.flat_weights(result.weights) == 0.0)),
    }


def _finite(neuron: DendriticNeuron | NeuronSpec) -> None:
    if not isinstance(neuron, DendriticNeuron):
        raise InvalidParameter("training needs a neuron of finite size: give n_inputs and n_branches")


def _algorithm(rate: float, gamma_ce: float, width: float | None, center: float, precision: str) -> SGD:
    return SGD(rate, gamma_ce, None if width is None else Lorentzian(center, width), precision)


def _schedule(patience: int | None, decay: float) -> Schedule:
    return ExponentialAnnealing(decay) if patience is None else HalveOnPlateau(patience)
