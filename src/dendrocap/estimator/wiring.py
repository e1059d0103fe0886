"""Assignment of inputs to branches, and rewiring of silent synapses.

A wiring is an array of shape (n_branches, branch_size): the input of every synapse, or `VACANT`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dendrocap.encoding import VACANT, Encoder
from dendrocap.errors import InvalidParameter
from dendrocap.model import DendriticNeuron
from dendrocap.validation import choice, refuse, whole_number

__all__ = ["WIRINGS", "correlated_order", "first_weights", "rewired", "wired"]

Floats = NDArray[np.float64]
Wiring = NDArray[np.int64]

WIRINGS = ("random", "neighbours", "correlated")
# All pairwise correlations are held in memory; this many features take half a gigabyte and a minute.
MOST_CORRELATED = 5000
SAMPLES_FOR_CORRELATION = 2000
# Short branches see too few inputs: with two synapses each, three blobs in a plane were missed in one run of two.
SHORT = 32


def wired(
    wiring: str | Any,
    encoder: Encoder,
    n_branches: int,
    branch_size: int | None,
    feature_order: NDArray[np.int64] | None,
    rng: np.random.Generator,
) -> Wiring:
    """The inputs of every branch.

    Parameters
    ----------
    wiring : {"random", "neighbours", "correlated"} or array of int
        Inputs in random order; in the order of their features; in ``feature_order``; or, as an array with one row per
        branch, the features of each branch, -1 for none.
    encoder : Encoder
        Encoding of the inputs.
    n_branches : int
        Number of branches, at most the number of inputs; ignored if ``wiring`` is an array.
    branch_size : int or None
        Synapses per branch; None gives every input one synapse, or more if branches would have fewer than 32.
    feature_order : array of int, optional
        Order of the features in which similar ones are adjacent.
    rng : Generator
        Source of random orders.
    """
    n_inputs = encoder.n_inputs
    if not isinstance(wiring, str):
        return _given(wiring, encoder)
    choice("wiring", wiring, WIRINGS)
    n_branches = min(whole_number("n_branches", n_branches, 1), n_inputs)
    size = branch_size
    if size is None and n_inputs < SHORT * n_branches:
        size = SHORT
    once = size is None
    size = -(-n_inputs // n_branches) if size is None else min(whole_number("branch_size", size, 1), n_inputs)
    if wiring == "random":
        return _dealt(n_inputs, n_branches, size, once, rng)
    inputs = np.arange(n_inputs)
    if feature_order is not None:
        place = np.argsort(feature_order)[encoder.feature_of(inputs)]
        inputs = inputs[np.argsort(place, kind="stable")]
    # Windows of equal size, evenly spaced; they overlap or leave gaps if size * n_branches differs from n_inputs.
    starts = np.linspace(0, n_inputs - size, n_branches).round().astype(int)
    if once:
        padded = np.append(inputs, np.full(size * n_branches - n_inputs, VACANT))
        return padded.reshape(n_branches, size)
    return np.stack([inputs[start : start + size] for start in starts])


def _dealt(n_inputs: int, n_branches: int, size: int, once: bool, rng: np.random.Generator) -> Wiring:
    """Inputs dealt out in shuffled rounds, none twice on a branch; only one round if ``once``."""
    if once:
        padded = np.append(rng.permutation(n_inputs), np.full(size * n_branches - n_inputs, VACANT))
        return padded.reshape(size, n_branches).T.copy()
    branches: list[NDArray[np.int64]] = []
    rest = rng.permutation(n_inputs)
    for _ in range(n_branches):
        taken, rest = rest[:size], rest[size:]
        if len(taken) < size:
            pack = rng.permutation(n_inputs)
            fresh = ~np.isin(pack, taken)
            missing = size - len(taken)
            taken = np.append(taken, pack[fresh][:missing])
            rest = np.append(pack[~fresh], pack[fresh][missing:])
        branches.append(taken)
    return np.stack(branches)


def _given(wiring: Any, encoder: Encoder) -> Wiring:
    """All inputs of the features that the user assigned to each branch."""
    allowed = f"one row per branch of features between 0 and {encoder.n_features - 1}, {VACANT} for none"
    features = np.asarray(wiring)
    if features.ndim != 2 or features.dtype.kind not in "iu" or features.size == 0:
        raise refuse("wiring", wiring, f"one of {', '.join(WIRINGS)}, or {allowed}")
    if np.any((features < VACANT) | (features >= encoder.n_features)):
        raise refuse("wiring", wiring, allowed)
    of_input = encoder.feature_of(np.arange(encoder.n_inputs))
    return _padded([np.flatnonzero(np.isin(of_input, row)) for row in features])


def _padded(branches: Sequence[NDArray[np.int64]]) -> Wiring:
    size = max(len(branch) for branch in branches)
    if size == 0:
        raise InvalidParameter("wiring assigns no feature to any branch")
    return np.stack([np.append(branch, np.full(size - len(branch), VACANT)) for branch in branches]).astype(np.int64)


def correlated_order(X: Any, rng: np.random.Generator) -> NDArray[np.int64]:
    """Features ordered as leaves of a cluster tree: strongly correlated ones, of either sign, are adjacent."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    n_samples, n_features = X.shape
    if n_features > MOST_CORRELATED:
        raise refuse("wiring", "correlated", f"'random' or 'neighbours' for more than {MOST_CORRELATED} features")
    if n_features < 3:
        return np.arange(n_features)
    chosen = np.sort(rng.permutation(n_samples)[:SAMPLES_FOR_CORRELATION])
    block = X[chosen].toarray() if hasattr(X, "toarray") else X[chosen]
    values = np.array(block, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        gaps = np.isnan(values)
        values -= np.nansum(values, axis=0) / np.maximum(1, (~gaps).sum(axis=0))
        values[gaps] = 0.0
        norms = np.linalg.norm(values, axis=0)
        values /= np.where(norms > 0.0, norms, 1.0)
    distance = np.clip(1.0 - np.abs(values.T @ values), 0.0, 1.0)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), "average")
    return np.asarray(leaves_list(tree), dtype=np.int64)


def first_weights(wiring: Wiring, activity: Floats, neuron: DendriticNeuron, rng: np.random.Generator) -> Floats:
    """Random weights that balance the threshold of every branch, whatever the activity of its inputs."""
    taken = wiring != VACANT
    active, n = np.where(taken, activity[np.maximum(wiring, 0)], 0.0), wiring.shape[1]
    inhibitory = neuron.inhibitory.reshape(wiring.shape)
    drive = -neuron.spec.inhibition.drive if neuron.spec.inhibition else 0.0

    def mean(of_branch: float, which: NDArray[np.bool_]) -> Floats:
        # The drive is n_l theta_d; a branch whose inputs are never active cannot be balanced.
        total = (active * which).sum(axis=1, keepdims=True)
        return np.asarray(n * of_branch / np.where(total > 0.0, total, n))

    means = np.where(inhibitory, mean(drive, inhibitory), mean(neuron.theta_d, ~inhibitory))
    return np.asarray(rng.uniform(0.0, 2.0, wiring.shape) * means * taken)


def rewired(wiring: Wiring, silent: NDArray[np.bool_], n_inputs: int, rng: np.random.Generator) -> Wiring:
    """Move silent synapses to random inputs that their branch does not have yet."""
    result = wiring.copy()
    for branch in np.flatnonzero(silent.any(axis=1)):
        free = np.setdiff1d(np.arange(n_inputs), wiring[branch], assume_unique=False)
        moved = np.flatnonzero(silent[branch])[: len(free)]
        result[branch, moved] = rng.choice(free, len(moved), replace=False)
    return result
