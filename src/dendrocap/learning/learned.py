"""Learned weights: their errors after a change, and their statistics.

Changes are noise [noise], inputs that flip with a probability and synapses shaken in proportion to their strength,
``max(W (1 + amplitude z), 0)`` with normal z, and interventions: blocked inhibition, failing synapses, a blocked NMDA
part of g. The mean increase in error with shaken synapses is the local energy, a measure of the flatness around a
solution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.display import Displayed
from dendrocap.errors import InvalidParameter
from dendrocap.learning.training import SavedRun, TrainingResult
from dendrocap.model import Branches, Custom, LinearNeuron, NeuronSpec, Nonlinearity
from dendrocap.model.dendritic_neuron import DendriticNeuron
from dendrocap.model.patterns import PackedPatterns, Patterns, Seed, binary_patterns, generator_for
from dendrocap.numerics import standard_error
from dendrocap.numerics.types import Floats
from dendrocap.validation import real_number, refuse, whole_number


@dataclass(frozen=True)
class NoisePoint(Displayed):
    """Errors at one flip probability or amplitude of the synaptic noise, averaged over samples."""

    level: float
    error: float
    standard_error: float
    increase: float  # of the error; for synapses this is the local energy


@dataclass(frozen=True)
class NoiseRobustness(Displayed):
    """Errors with and without noise."""

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
    neuron, weights, inputs, labels
        The neuron, its weights, usually a solution, and the learned patterns.
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
    dense, flat = patterns.dense, neuron.flat_weights(weights)
    rng = generator_for("noise", seed)

    def error(weights: Floats, inputs: NDArray[np.uint8]) -> float:
        return neuron.errors(weights, Patterns(inputs, patterns.labels)) / len(dense)

    baseline = error(flat, dense)

    def point(level: float, draw: Callable[[float], float]) -> NoisePoint:
        errors = [draw(level) for _ in range(samples)]
        mean = float(np.mean(errors))
        return NoisePoint(level, mean, standard_error(errors), mean - baseline)

    probabilities = [real_number("flip_probabilities", p, 0.0, 1.0) for p in flip_probabilities]
    amplitudes = [real_number("noise_amplitudes", a, 0.0) for a in noise_amplitudes]
    return NoiseRobustness(
        baseline=baseline,
        input_flips=tuple(point(p, lambda p: error(flat, _flipped(dense, p, rng))) for p in probabilities),
        synaptic_noise=tuple(point(a, lambda a: error(_shaken(neuron, flat, a, rng), dense)) for a in amplitudes),
        samples=samples,
    )


def _flipped(inputs: NDArray[np.uint8], probability: float, rng: np.random.Generator) -> NDArray[np.uint8]:
    return inputs ^ (rng.random(inputs.shape, dtype=np.float32) < probability).astype(np.uint8)


def _shaken(neuron: DendriticNeuron, flat: Floats, amplitude: float, rng: np.random.Generator) -> Floats:
    return neuron.rectified(flat * (1.0 + amplitude * rng.standard_normal(flat.size)))


@dataclass(frozen=True)
class Perturbation(Displayed):
    """Misses and false alarms of a trained neuron after a change, and before it."""

    words: str
    misses: float  # share of the patterns with label 1 for which the neuron does not fire
    false_alarms: float  # share of the patterns with label 0 for which it fires
    misses_before: float
    false_alarms_before: float
    standard_error: float  # of the larger rate, over samples of what is random; 0 if nothing is


def perturb(
    result: TrainingResult | SavedRun,
    inputs: ArrayLike | PackedPatterns,
    labels: ArrayLike,
    *,
    theta_d: float = 0.0,
    theta_s: float = 0.0,
    failures: float = 0.0,
    nmda_block: float = 0.0,
    flips: float = 0.0,
    synaptic_noise: float = 0.0,
    samples: int = 20,
    seed: Seed = None,
) -> Perturbation:
    """Misses and false alarms of a trained neuron after a change of its inputs, inhibition, synapses or dendrites.

    Parameters
    ----------
    result : TrainingResult or SavedRun
        Result of `train` or `solve`, or a saved run.
    inputs, labels : arrays
        The learned patterns.
    theta_d, theta_s : float
        Relative change of the dendritic and of the somatic threshold: -0.25 blocks a quarter of that inhibition.
        Plastic inhibitory synapses are not changed.
    failures : float
        Share of synapses that are silenced.
    nmda_block : float
        Share of the supralinear part of g that is lost: at 1, branches only add up their inputs and saturate.
    flips, synaptic_noise : float
        Probability that an input flips, and amplitude of the noise of weights, as in `noise_robustness`.
    samples : int
        Number of draws of what is random: failures, flips and noise.
    seed : int, SeedSequence, Generator or None
        Seed of these draws.

    Examples
    --------
    >>> from dendrocap import DendriticNeuron, NeuronSpec, Polsky, random_patterns, solve
    >>> neuron = DendriticNeuron(NeuronSpec(Polsky(), theta_d=0.1, theta_s=0.5), n_inputs=99, n_branches=9)
    >>> patterns = random_patterns(60, 99, rng=0)
    >>> result = solve(neuron, *patterns, seed=0)
    >>> blocked = perturb(result, *patterns, theta_d=-0.5)
    >>> blocked.false_alarms > blocked.false_alarms_before == 0.0
    True
    """
    theta_d, theta_s = (real_number(name, value, -1.0) for name, value in (("theta_d", theta_d), ("theta_s", theta_s)))
    shares = {"failures": failures, "nmda_block": nmda_block, "flips": flips}
    failures, nmda_block, flips = (real_number(name, value, 0.0, 1.0) for name, value in shares.items())
    synaptic_noise = real_number("synaptic_noise", synaptic_noise, 0.0)
    samples = whole_number("samples", samples, 1)
    neuron = result.neuron
    patterns = binary_patterns(inputs, labels, neuron.n_inputs)
    wanted = patterns.labels.astype(bool)
    if wanted.all() or not wanted.any():
        raise InvalidParameter("labels must contain both 0 and 1")
    changed = _changed(neuron, theta_d, theta_s, nmda_block)
    dense, flat = patterns.dense, neuron.flat_weights(result.weights)
    rng = generator_for("noise", seed)

    def rates(one: DendriticNeuron, weights: Floats, inputs: NDArray[np.uint8]) -> tuple[float, float]:
        fires = np.asarray(one.predict(weights, inputs), dtype=bool)
        return float(np.mean(~fires[wanted])), float(np.mean(fires[~wanted]))

    def draw() -> tuple[float, float]:
        weights = flat * (rng.random(flat.size) >= failures)
        if synaptic_noise:
            weights = _shaken(neuron, weights, synaptic_noise, rng)
        return rates(changed, weights, _flipped(dense, flips, rng) if flips else dense)

    before = rates(neuron, flat, dense)
    draws = samples if failures or flips or synaptic_noise else 1
    after = np.array([draw() for _ in range(draws)])
    scatter = max(standard_error(list(column)) for column in after.T) if draws > 1 else 0.0
    words = [f"{name} {100.0 * value:+g} %" for name, value in (("theta_d", theta_d), ("theta_s", theta_s)) if value]
    shares = {
        "of synapses fail": failures,
        "of the NMDA part blocked": nmda_block,
        "of inputs flip": flips,
        "noise of weights": synaptic_noise,
    }
    words += [f"{100.0 * value:g} % {what}" for what, value in shares.items() if value]
    misses, false_alarms = (float(rate) for rate in after.mean(axis=0))
    return Perturbation(", ".join(words) or "nothing", misses, false_alarms, *before, scatter)


def _changed(neuron: DendriticNeuron, theta_d: float, theta_s: float, nmda_block: float) -> DendriticNeuron:
    """The neuron with other thresholds and a flatter g."""
    if isinstance(neuron, LinearNeuron):
        if theta_s or nmda_block:
            raise InvalidParameter("theta_s and nmda_block are not allowed for a neuron without dendrites")
        return LinearNeuron(_threshold(neuron.kinds[0], theta_d), neuron.n_inputs, neuron.spec.inhibition)
    spec, somatic = neuron.spec, (1.0 + theta_s) * neuron.spec.theta_s
    kinds = tuple(
        replace(kind, theta_d=_threshold(kind, theta_d), nonlinearity=_flatter(kind.nonlinearity, nmda_block))
        for kind in neuron.kinds
    )
    if spec.populations:
        return replace(neuron, spec=NeuronSpec(populations=kinds, theta_s=somatic))
    (kind,) = kinds
    return replace(neuron, spec=NeuronSpec(kind.nonlinearity, kind.theta_d, somatic, inhibition=kind.inhibition))


def _threshold(kind: Branches, change: float) -> float:
    """theta_d after a relative change of the fixed threshold, which is theta_d minus the inhibitory drive."""
    if kind.inhibition is None:
        return (1.0 + change) * kind.theta_d
    return kind.inhibition.drive + (1.0 + change) * (kind.theta_d - kind.inhibition.drive)


def _flatter(g: Nonlinearity, share: float) -> Nonlinearity:
    """g with a share of its deviation from plain summation up to its largest value removed."""
    if share == 0.0:
        return g
    low, high = g.range
    return Custom(lambda x: (1.0 - share) * g(x) + share * np.clip(x, max(low, 0.0), high))


# Statistics of learned weights.
#
# The number of silent synapses depends on the definition of silent. After the last update a weight that was repeatedly
# pushed to zero usually has a small positive value, so exact zeros are few (0 to 6 %) where in theory half of all
# weights are zero. Weights below a thousandth of the mean are a better count, once the learning rate, which sets the
# size of the updates, has become small; both counts are reported.


class WeightDistribution(Protocol):
    """The interface of a theoretical P(W) for comparisons: the probability of a weight of at most W."""

    def cdf(self, weight: Any, /) -> Any:
        """Probability of a weight of at most this one, including silent ones."""


@dataclass(frozen=True)
class WeightComparison(Displayed):
    """Comparison of learned weights with a theoretical distribution."""

    largest_distance: float  # of the cumulative distributions, over all non-silent weights (Kolmogorov and Smirnov)
    silent_theory: float  # fraction of weights at zero
    silent_learned: float  # fraction of weights below the threshold


@dataclass(frozen=True, eq=False)
class WeightStatistics(Displayed):
    """Histogram and moments of weights."""

    _displayed = ("near_zeros", "exact_zeros", "mean", "standard_deviation", "weights")

    weights: Floats  # all synapses, sorted
    edges: Floats
    density: Floats  # of the non-silent weights; it integrates to their fraction
    exact_zeros: float  # fraction of weights that are exactly zero
    near_zeros: float  # fraction of weights below ``threshold`` times the mean
    threshold: float  # of silence, in units of the mean weight
    mean: float  # moments are those of all weights, silent ones too
    standard_deviation: float
    second_moment: float
    inhibition: WeightStatistics | None = None  # of the strengths of inhibitory synapses, which are then left out above

    def compare(self, theory: WeightDistribution) -> WeightComparison:
        """Distance between these weights and a theoretical P(W)."""
        n = len(self.weights)
        awake = self.weights >= self.threshold * self.mean
        expected = np.asarray(theory.cdf(self.weights[awake]), dtype=np.float64)
        rank = np.arange(1, n + 1)[awake] / n
        distance = np.maximum(np.abs(rank - expected), np.abs(rank - 1.0 / n - expected))
        return WeightComparison(float(distance.max(initial=0.0)), float(theory.cdf(0.0)), self.near_zeros)


def weight_statistics(
    weights: ArrayLike, *, inhibitory: ArrayLike | None = None, bins: int = 50, threshold: float = 1e-3
) -> WeightStatistics:
    """Histogram, silent fractions and moments of weights, separately for excitatory and inhibitory ones.

    Parameters
    ----------
    weights : array
        Weights of the synapses, in any shape. If branches differ in size, pass ``neuron.flat_weights(w)``, so that
        the padding of short branches is not counted as silent synapses.
    inhibitory : array of bool, shape of ``weights``, optional
        Mask of inhibitory synapses, ``neuron.inhibitory``: their weights are <= 0, all others >= 0.
    bins : int
        Number of bins of the histogram, from the threshold of silence to the largest weight.
    threshold : float
        Weights below this multiple of the mean are silent.

    Examples
    --------
    >>> statistics = weight_statistics([0.0, 0.0005, 1.0, 3.0])
    >>> statistics.exact_zeros, statistics.near_zeros
    (0.25, 0.5)
    >>> weight_statistics([0.0, 1.0, 2.0, -3.0], inhibitory=[False, False, False, True]).inhibition.mean
    3.0
    """
    if inhibitory is not None:
        mask, flat = np.asarray(inhibitory, dtype=bool), np.asarray(weights, dtype=np.float64)
        if mask.shape != flat.shape:
            raise refuse("inhibitory.shape", mask.shape, f"that of the weights, {flat.shape}")
        excitation, inhibition = (
            weight_statistics(part, bins=bins, threshold=threshold) if part.size else None
            for part in (flat[~mask], -flat[mask])
        )
        if excitation is None:
            raise InvalidParameter("inhibitory must leave some synapses excitatory")
        return replace(excitation, inhibition=inhibition)
    ordered = np.sort(np.asarray(weights, dtype=np.float64).ravel())
    if ordered.size == 0 or not np.all(np.isfinite(ordered)) or ordered[0] < 0.0:
        raise InvalidParameter("weights must be finite numbers >= 0, at least one")
    bins = whole_number("bins", bins, 1)
    threshold = real_number("threshold", threshold, 0.0)
    mean = float(ordered.mean())
    awake = ordered[ordered >= threshold * mean]
    top = float(ordered[-1]) or 1.0
    counts, edges = np.histogram(awake, bins=bins, range=(min(threshold * mean, top), top))
    return WeightStatistics(
        weights=ordered,
        edges=edges,
        density=counts / (ordered.size * np.diff(edges)),
        exact_zeros=float(np.mean(ordered == 0.0)),
        near_zeros=float(np.mean(ordered < threshold * mean)),
        threshold=threshold,
        mean=mean,
        standard_deviation=float(ordered.std()),
        second_moment=float(np.mean(ordered**2)),
    )
