"""Assignment of inputs to branches, and rewiring of silent synapses.

A wiring is an array of shape (n_branches, branch_size): the input of every synapse, or `VACANT`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.classifier.encoding import VACANT, Comparisons, Encoder
from dendrocap.errors import InvalidParameter
from dendrocap.learning import (
    SGD,
    AnnealedSurrogate,
    Constant,
    ExponentialAnnealing,
    HalveOnPlateau,
    PlainSGD,
    Recipe,
    Schedule,
    Surrogate,
    suitable_solver,
)
from dendrocap.model import DendriticNeuron, Inhibition, LinearNeuron, NeuronSpec, Nonlinearity, named_nonlinearity
from dendrocap.numerics.types import Floats
from dendrocap.validation import available_cores, choice, real_number, refuse, whole_number

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

    In random order, in the order of their features, or in ``feature_order``, in which similar ones are adjacent; an
    array has one row of features for each branch, -1 for none. ``branch_size=None`` gives every input one synapse, or
    more if branches would have fewer than 32.
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


# Conversion of the classifier's parameters to neurons and recipes, and of somatic inputs to decisions.

SOLVERS = ("plain", "surrogate", "auto")

SCHEDULES = ("annealing", "plateau", "constant")

COMBINATIONS = ("mean", "vote")

# With half of the inputs active: the threshold used for the paper's images, and a rate that works on digits and MNIST.
THETA_D, RATE = 0.1, 0.06

# Final rate of annealing relative to the first.
LAST_RATE = 0.02


def _spread(activity: float) -> float:
    """Standard deviation of an input, relative to that of an input that is active half of the time."""
    return 2.0 * float(np.sqrt(activity * (1.0 - activity)))


def usual_theta_d(activity: float) -> float:
    """The threshold at which branch inputs vary as much as at 0.1 with half of the inputs active.

    Initial weights have the mean theta_d / f, and the spread of branch inputs is that of weights times that of inputs,
    sqrt(f (1 - f)); hence the threshold must be proportional to sqrt(f / (1 - f)).
    """
    f = min(max(activity, 1e-6), 1.0 - 1e-3)
    return THETA_D * 2.0 * f / _spread(f)


def usual_rate(activity: float, n_branches: int) -> float:
    """An initial rate that changes branch inputs alike, relative to the initial weights, for any number of branches."""
    f = min(max(activity, 1e-6), 1.0 - 1e-3)
    return RATE * float(np.sqrt(n_branches)) / _spread(f)


def nonlinearity_of(given: Any) -> Nonlinearity:
    """The non-linearity, given by name or as an object."""
    g = named_nonlinearity(given) if isinstance(given, str) else given
    if not isinstance(g, Nonlinearity):
        raise refuse("nonlinearity", given, "a name or a Nonlinearity")
    return g


def made_neuron(
    g: Nonlinearity,
    theta_d: float,
    theta_s: float,
    n_branches: int,
    branch_size: int,
    inhibition: Inhibition | None = None,
) -> DendriticNeuron:
    """A neuron whose branches have equal sizes."""
    if isinstance(inhibition, Inhibition) and inhibition.f_in is not None:
        raise refuse("inhibition.f_in", inhibition.f_in, "None: the activity of inputs is measured from the data")
    if g.name == "linear":
        return LinearNeuron(theta_d, n_branches * branch_size, inhibition)
    spec = NeuronSpec(g, theta_d, theta_s, inhibition=inhibition)
    return DendriticNeuron(spec, n_branches * branch_size, n_branches)


def made_recipe(
    neuron: DendriticNeuron,
    n_samples: int,
    *,
    solver: str,
    learning_rate: float,
    gamma_ce: float,
    surrogate: Surrogate | None,
    schedule: str,
    patience: int,
    max_iter: int,
) -> Recipe:
    """The training recipe of a neuron of the classifier."""
    choice("solver", solver, SOLVERS)
    choice("schedule", schedule, SCHEDULES)
    gamma_ce = real_number("gamma_ce", gamma_ce, 0.0, low_open=True)
    if solver == "auto":
        solver = "plain" if isinstance(suitable_solver(neuron, n_samples), PlainSGD) else "surrogate"
    if solver == "surrogate":
        # One slow attempt. The loss keeps the steepness by which weights are selected: a steeper one overfits.
        return Recipe(
            AnnealedSurrogate(epochs=max_iter, gamma_ce=(gamma_ce, gamma_ce)),
            max_epochs=max_iter,
            stop_when_solved=False,
        )
    schedules: dict[str, Schedule] = {
        "annealing": ExponentialAnnealing(1.0 - LAST_RATE ** (1.0 / max_iter)),
        "plateau": HalveOnPlateau(patience),
        "constant": Constant(),
    }
    return Recipe(SGD(learning_rate, gamma_ce, surrogate), schedules[schedule], max_iter, stop_when_solved=False)


def workers_of(n_jobs: int | None) -> int:
    """Number of neurons trained in parallel: scikit-learn's n_jobs, where -1 is all cores and -2 all but one."""
    if n_jobs == 0:
        raise refuse("n_jobs", n_jobs, "None, a positive number, or -1 for all cores")
    number = 1 if n_jobs is None else whole_number("n_jobs", n_jobs, -(2**31))
    return number if number > 0 else max(1, available_cores() + 1 + number)


def combined(somatic_input: Floats, n_neurons: int, combine: str) -> Floats:
    """One decision per class from the somatic inputs of its neurons, shape (n_samples, n_outputs).

    Votes range from -1 (none) to 1 (all). Ties are broken by the mean somatic input, which never outweighs a vote.
    """
    choice("combine", combine, COMBINATIONS)
    by_class = somatic_input.reshape(len(somatic_input), -1, whole_number("n_neurons", n_neurons, 1))
    mean = by_class.mean(axis=2)
    if combine == "mean":
        return np.asarray(mean)
    return np.asarray(np.where(by_class > 0.0, 1.0, -1.0).mean(axis=2) + np.tanh(mean) / (2.0 * n_neurons))


def probabilities(decision: Floats, gamma_ce: float, combine: str) -> Floats:
    """Class probabilities: those of the loss for mean somatic inputs, shares of votes for votes."""
    from scipy.special import softmax

    if combine == "vote":
        # Votes including tie breaks stay within +-(1 + 1/2).
        shares = decision + 1.5
        shares = np.stack([3.0 - shares, shares], axis=1) if decision.ndim == 1 else shares
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))
    scaled = 2.0 * gamma_ce * decision
    if scaled.ndim == 1:
        scaled = np.stack([np.zeros_like(scaled), scaled], axis=1)
    return np.asarray(softmax(scaled, axis=1))


# Samples with labels and weights, in an order that depends only on their content.

# A pattern of weight w is presented w times per epoch; mean weights are rescaled to this range.
LEAST_MEAN, LARGEST_MEAN = 0.1, 10.0


class Labelled(NamedTuple):
    """Samples for training or testing a neuron."""

    inputs: Comparisons
    labels: NDArray[np.int64]  # index of the class of each sample
    weight: Floats | None  # of each sample; None means one

    def rows(self, chosen: Any) -> Labelled:
        """Some of the samples."""
        return Labelled(self.inputs[chosen], self.labels[chosen], None if self.weight is None else self.weight[chosen])

    def in_order(self) -> Labelled:
        """The same samples in an order given by their content, so that learning does not depend on the order of rows.

        Because presentations are proportional to weights, a sample of weight 2 is then equivalent to two samples.
        """
        return self.rows(self.inputs.order(self.labels))


def checked_weights(sample_weight: ArrayLike | None, n_samples: int) -> Floats | None:
    """The checked weights, or None if all are one."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_samples,):
        raise refuse("sample_weight.shape", weight.shape, f"({n_samples},): one weight per sample")
    if not np.isfinite(weight).all() or weight.min(initial=0.0) < 0.0:
        raise refuse("an entry of sample_weight", float(weight[~(weight >= 0.0)][0]), "a finite number >= 0")
    if not weight.any():
        raise refuse("sample_weight", "all zero", "positive for at least one sample")
    return weight


def with_class_weights(
    class_weight: Any, classes: NDArray[Any], labels: NDArray[np.int64], weight: Floats | None
) -> Floats | None:
    """Weights of the samples times those of their classes; None if all are one."""
    if class_weight is not None:
        given = np.ones(len(labels)) if weight is None else weight
        weight = given * _of_classes(class_weight, classes, labels, given)[labels]
        if not weight.any():
            raise refuse("class_weight", class_weight, "positive for a class that y holds")
    if weight is None or np.all(weight == 1.0):
        return None
    mean = float(weight.mean())
    return weight * (min(max(mean, LEAST_MEAN), LARGEST_MEAN) / mean)


def _of_classes(class_weight: Any, classes: NDArray[Any], labels: NDArray[np.int64], weight: Floats) -> Floats:
    if isinstance(class_weight, str) and class_weight == "balanced":
        share = np.bincount(labels, weight, minlength=len(classes))
        return np.asarray(share.sum() / (np.count_nonzero(share) * np.where(share > 0.0, share, 1.0)))
    if not isinstance(class_weight, dict):
        raise refuse("class_weight", class_weight, "a dict of classes, 'balanced' or None")
    known = classes.tolist()
    for label, value in class_weight.items():
        if label not in known:
            raise refuse("a class of class_weight", label, f"one of {known}")
        real_number(f"class_weight[{label!r}]", value, 0.0)
    return np.array([float(class_weight.get(label, 1.0)) for label in known])
