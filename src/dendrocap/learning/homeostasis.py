"""Homeostasis of excitation and inhibition, which keeps both mean weights at the values fixed by the theory.

Learning fixes only the difference of the two drives, near the threshold of a branch; excitation and inhibition could
grow together without changing the mean input. After each epoch the inhibitory weights of each branch are scaled to
their drive, and the excitatory weights such that the mean input of the branch is unchanged [homeostasis].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dendrocap.model.dendritic_neuron import DendriticNeuron
from dendrocap.model.patterns import PackedPatterns, active_fraction
from dendrocap.numerics.types import Floats

BLOCK = 4_000_000  # bits of patterns that are counted at once

# Largest factor by which weights are scaled at once: inhibition that has almost vanished recovers over several epochs.
MOST = 2.0


def measured_activity(neuron: DendriticNeuron, inputs: NDArray[np.uint8] | PackedPatterns) -> float | Floats:
    """Fraction of active inputs: of all, or for each input that of its kind of branches and its sign.

    It is kept away from 0 and 1, where initial weights are undefined.
    """
    if len(neuron.kinds) == 1 and not neuron.has_inhibition:
        return min(max(active_fraction(inputs), 1e-6), 1.0 - 1e-6)
    group = 2 * np.repeat(neuron.kind_of_branch, neuron.branch_sizes) + neuron.inhibitory
    fraction = np.bincount(group, active_fractions(inputs)) / np.maximum(np.bincount(group), 1)
    return np.asarray(np.clip(fraction[group], 1e-6, 1.0 - 1e-6))


def active_fractions(inputs: NDArray[np.uint8] | PackedPatterns) -> Floats:
    """Fraction of patterns in which each input is active."""
    n_patterns, n_inputs = inputs.shape
    counts = np.zeros(n_inputs)
    step = max(1, BLOCK // n_inputs)
    for first in range(0, n_patterns, step):
        rows = slice(first, first + step)
        counts += (inputs.unpack(rows) if isinstance(inputs, PackedPatterns) else inputs[rows]).sum(axis=0)
    return np.asarray(counts / n_patterns)


class Homeostasis:
    """Scales the weights of every branch to its inhibitory drive, at the activity of each input in the patterns."""

    def __init__(self, neuron: DendriticNeuron, activity: Floats) -> None:
        self._starts = neuron.branch_starts
        # Activity of excitatory and of inhibitory synapses.
        self._of_excitation = np.where(neuron.inhibitory, 0.0, activity)
        self._of_inhibition = np.where(neuron.inhibitory, activity, 0.0)
        # Index of each synapse's factor in the list of excitatory, then inhibitory factors of all branches.
        branch = np.repeat(np.arange(neuron.n_branches), neuron.branch_sizes)
        self._factor = branch + neuron.n_branches * neuron.inhibitory
        drives = [kind.inhibition.drive if kind.inhibition else 0.0 for kind in neuron.kinds]
        self._wanted: Floats = -np.array(drives)[neuron.kind_of_branch] * neuron.branch_sizes

    def __call__(self, flat: Floats) -> Floats:
        """Weights in the order of the inputs, scaled [homeostasis]."""
        excitation = np.add.reduceat(flat * self._of_excitation, self._starts)
        inhibition = np.add.reduceat(flat * self._of_inhibition, self._starts)
        scale = _held_ratio(self._wanted, inhibition, 0.0)
        # However much inhibition is lost, excitation must not vanish.
        balance = _held_ratio(excitation - (scale - 1.0) * inhibition, excitation, 1.0 / MOST)
        return np.asarray(flat * np.concatenate([balance, scale])[self._factor])


def homeostasis_for(neuron: DendriticNeuron, inputs: NDArray[np.uint8] | PackedPatterns) -> Homeostasis | None:
    """The homeostasis of a neuron that learns these patterns; None without inhibition."""
    return Homeostasis(neuron, active_fractions(inputs)) if neuron.has_inhibition else None


def _held_ratio(one: Floats, other: Floats, least: float) -> Floats:
    """The ratio of two numbers, limited to the allowed range of scaling; 1 if there is nothing to scale."""
    ratio = np.divide(one, other, out=np.ones_like(one), where=other != 0.0)
    return np.minimum(np.maximum(ratio, least), MOST)
