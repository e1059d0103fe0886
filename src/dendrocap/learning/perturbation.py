"""Simulated experiments on a trained neuron: blocked inhibition, failing synapses, a blocked NMDA part of g."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.display import Displayed
from dendrocap.errors import InvalidParameter
from dendrocap.learning.storage import SavedRun
from dendrocap.learning.training import TrainingResult
from dendrocap.model import Branches, Custom, DendriticNeuron, LinearNeuron, NeuronSpec, Nonlinearity
from dendrocap.model.patterns import PackedPatterns, binary_patterns
from dendrocap.model.seeds import Seed, generator_for
from dendrocap.numerics.statistics import standard_error
from dendrocap.validation import real_number, whole_number

__all__ = ["Perturbation", "perturb"]


@dataclass(frozen=True)
class Perturbation(Displayed):
    """Errors of a trained neuron after an intervention.

    Attributes
    ----------
    words : str
        Description of the intervention.
    misses : float
        Share of the patterns with label 1 for which the neuron does not fire.
    false_alarms : float
        Share of the patterns with label 0 for which it fires.
    misses_before, false_alarms_before : float
        The same rates without the intervention.
    standard_error : float
        Standard error of the larger rate, over samples of the failing synapses; 0 if nothing is random.
    """

    words: str
    misses: float
    false_alarms: float
    misses_before: float
    false_alarms_before: float
    standard_error: float


def perturb(
    result: TrainingResult | SavedRun,
    inputs: ArrayLike | PackedPatterns,
    labels: ArrayLike,
    *,
    theta_d: float = 0.0,
    theta_s: float = 0.0,
    failures: float = 0.0,
    nmda_block: float = 0.0,
    samples: int = 20,
    seed: Seed = None,
) -> Perturbation:
    """Misses and false alarms of a trained neuron after a change of its inhibition, synapses or dendrites.

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
        Share of synapses that are silenced, drawn at random ``samples`` times.
    nmda_block : float
        Share of the supralinear part of g that is lost: at 1, branches only add up their inputs and saturate.
    samples : int
        Number of random draws of failing synapses.
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
    failures, nmda_block = (
        real_number(name, value, 0.0, 1.0) for name, value in (("failures", failures), ("nmda_block", nmda_block))
    )
    samples = whole_number("samples", samples, 1)
    neuron = result.neuron
    patterns = binary_patterns(inputs, labels, neuron.n_inputs)
    if not 0 < patterns.labels.sum() < patterns.labels.size:
        raise InvalidParameter("labels must contain both 0 and 1")
    changed = _changed(neuron, theta_d, theta_s, nmda_block)
    flat = neuron.flat_weights(result.weights)
    rng = generator_for("noise", seed)

    def rates(one: DendriticNeuron, weights: NDArray[np.float64]) -> tuple[float, float]:
        fires = np.asarray(one.predict(weights, patterns.dense), dtype=bool)
        wanted = patterns.labels.astype(bool)
        return float(np.mean(~fires[wanted])), float(np.mean(fires[~wanted]))

    before = rates(neuron, flat)
    draws = samples if failures > 0.0 else 1
    after = np.array([rates(changed, flat * (rng.random(flat.size) >= failures)) for _ in range(draws)])
    scatter = max(standard_error(list(column)) for column in after.T) if draws > 1 else 0.0
    words = [f"{name} {100.0 * value:+g} %" for name, value in (("theta_d", theta_d), ("theta_s", theta_s)) if value]
    words += [f"{100.0 * failures:g} % of synapses fail"] * bool(failures)
    words += [f"{100.0 * nmda_block:g} % of the NMDA part blocked"] * bool(nmda_block)
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
