"""Errors of a trained neuron under noise.

There are two kinds [noise]: inputs that flip with a probability, and synapses perturbed in proportion to their
strength, ``max(W (1 + amplitude z), 0)`` with normal z. The mean increase in error under the second is the local
energy, a measure of the flatness around a solution.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.display import Displayed
from dendrocap.model.dendritic_neuron import DendriticNeuron
from dendrocap.model.patterns import PackedPatterns, Patterns, binary_patterns
from dendrocap.model.seeds import Seed, generator_for
from dendrocap.numerics.statistics import standard_error
from dendrocap.validation import real_number, whole_number

__all__ = ["NoisePoint", "NoiseRobustness", "noise_robustness"]


@dataclass(frozen=True)
class NoisePoint(Displayed):
    """Errors at one strength of noise.

    Parameters
    ----------
    level : float
        Flip probability, or amplitude of the synaptic noise.
    error : float
        Fraction of patterns wrong, averaged over samples of the noise.
    standard_error : float
        Standard error of that average.
    increase : float
        ``error`` minus the error without noise; for synapses this is the local energy.
    """

    level: float
    error: float
    standard_error: float
    increase: float


@dataclass(frozen=True)
class NoiseRobustness(Displayed):
    """Errors with and without noise.

    Parameters
    ----------
    baseline : float
        Error without noise.
    input_flips, synaptic_noise : tuple of NoisePoint
        Errors with noise.
    samples : int
        Number of noise samples per point.

    Examples
    --------
    >>> from dendrocap import SGD, LinearNeuron, random_patterns, train
    >>> neuron, patterns = LinearNeuron(0.5, 99), random_patterns(30, 99, rng=1)
    >>> weights = train(neuron, *patterns, algorithm=SGD(1.0), seed=1).weights
    >>> noise = noise_robustness(neuron, weights, *patterns, flip_probabilities=[0.0, 0.2], seed=1)
    >>> [point.level for point in noise.input_flips], noise.input_flips[0].error == noise.baseline
    ([0.0, 0.2], True)
    """

    baseline: float
    input_flips: tuple[NoisePoint, ...]
    synaptic_noise: tuple[NoisePoint, ...]
    samples: int


def noise_robustness(
    neuron: DendriticNeuron,
    weights: ArrayLike,
    inputs: ArrayLike | PackedPatterns,
    labels: ArrayLike,
    *,
    flip_probabilities: Iterable[float] = (0.01, 0.05, 0.1),
    noise_amplitudes: Iterable[float] = (0.2, 0.5, 1.0),
    samples: int = 20,
    seed: Seed = None,
) -> NoiseRobustness:
    """Training error of given weights under input noise and under synaptic noise.

    Parameters
    ----------
    neuron : DendriticNeuron
        The neuron.
    weights : array
        Its weights, usually a solution.
    inputs, labels : arrays
        The learned patterns.
    flip_probabilities : iterable of float
        Each input is flipped with this probability, independently; labels are not changed.
    noise_amplitudes : iterable of float
        Each weight is multiplied by 1 + amplitude z and clipped at zero.
    samples : int
        Number of noise samples to average over, at least 2.
    seed : int, SeedSequence, Generator or None
        Seed, of which the child for noise is used, or generator.

    Examples
    --------
    >>> from dendrocap import LinearNeuron, random_patterns
    >>> from dendrocap.learning import SGD, train
    >>> neuron, patterns = LinearNeuron(0.5, 99), random_patterns(30, 99, rng=1)
    >>> result = train(neuron, *patterns, algorithm=SGD(1.0), seed=1)
    >>> noise = noise_robustness(neuron, result.weights, *patterns, seed=1)
    >>> noise.baseline, noise.input_flips[0].error < noise.input_flips[-1].error
    (0.0, True)
    """
    samples = whole_number("samples", samples, 2)
    patterns = binary_patterns(inputs, labels, neuron.n_inputs)
    dense = patterns.dense
    flat = neuron.flat_weights(weights)
    rng = generator_for("noise", seed)

    def error(perturbed_weights: NDArray[np.float64], perturbed_inputs: NDArray[np.uint8]) -> float:
        return neuron.errors(perturbed_weights, Patterns(perturbed_inputs, patterns.labels)) / len(dense)

    def flipped(probability: float) -> float:
        flips = rng.random(dense.shape, dtype=np.float32) < probability
        return error(flat, dense ^ flips.astype(np.uint8))

    def shaken(amplitude: float) -> float:
        return error(neuron.rectified(flat * (1.0 + amplitude * rng.standard_normal(flat.size))), dense)

    baseline = error(flat, dense)
    probabilities = [real_number("flip_probabilities", p, 0.0, 1.0) for p in flip_probabilities]
    amplitudes = [real_number("noise_amplitudes", a, 0.0) for a in noise_amplitudes]
    return NoiseRobustness(
        baseline=baseline,
        input_flips=tuple(_point(p, [flipped(p) for _ in range(samples)], baseline) for p in probabilities),
        synaptic_noise=tuple(_point(a, [shaken(a) for _ in range(samples)], baseline) for a in amplitudes),
        samples=samples,
    )


def _point(level: float, errors: list[float], baseline: float) -> NoisePoint:
    mean = float(np.mean(errors))
    return NoisePoint(level, mean, standard_error(errors), mean - baseline)
