"""Neurons of finite size and their answers. Weights are plain arrays, passed in and returned, never stored inside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.errors import InvalidParameter, NoSolution
from dendrocap.model.neuron import Branches, Inhibition, NeuronSpec
from dendrocap.model.nonlinearities import Linear, Nonlinearity
from dendrocap.model.patterns import (
    PackedPatterns,
    Patterns,
    Seed,
    active_fraction,
    active_fractions,
    binary_inputs,
    generator_for,
)
from dendrocap.numerics import apportioned, trapezoidal_rule
from dendrocap.numerics.types import Floats
from dendrocap.validation import check_fields, fact, real_number, refuse, whole_number

# Patterns are converted to floats in blocks: 16 MB for any number of patterns.
BLOCK = 2_000_000
# Nodes for the average of g over a Gaussian; a kink gives an error of the square of their spacing, 6e-6.
NODES = 4001


@dataclass(frozen=True)
class DendriticNeuron:
    """A neuron with ``n_inputs`` synapses on ``n_branches`` dendritic branches.

    Branch l sums its n_l inputs and passes the sum through g [model]::

        branch_input  lambda_l = sum_i W_li xi_li / sqrt(n_l) - sqrt(n_l) theta_d
        somatic_input Delta    = sum_l g(lambda_l) / sqrt(K) - sqrt(K) theta_s

    If N is not divisible by K, the first branches have one synapse more than the others, and each branch is scaled by
    its own size n_l; for equal branches this is the paper's N / K.

    Parameters
    ----------
    spec : NeuronSpec
        Non-linearity and thresholds, with one dendritic level. The branches of several populations follow one another;
        their numbers are proportional to the fractions, their sizes to the lengths, rounded by largest remainders.
    n_inputs, n_branches : int
        N and K, with 1 <= K <= N.
    group_size : int
        Neighbouring inputs form groups of this size that stay on one branch. Branches then differ by one group, not by
        one synapse.

    Notes
    -----
    Weights have the shape ``(n_branches, branch_size)``; rows of shorter branches are padded with zeros. The flat form
    ``(n_inputs,)``, in the order of the inputs, is also accepted everywhere.

    With inhibition, the last ``round(share * n_l)`` synapses of each branch are inhibitory: their weights are <= 0, and
    the threshold in ``branch_input`` is ``theta_d - drive``.

    Examples
    --------
    >>> import numpy as np
    >>> from dendrocap import Branches, Polsky, ReLU, random_patterns
    >>> neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.05, 0.5), n_inputs=999, n_branches=27)
    >>> rng = np.random.default_rng(1)
    >>> patterns = random_patterns(10, 999, rng=rng)
    >>> weights = neuron.initial_weights(f_in=0.5, rng=rng)
    >>> weights.shape, neuron.predict(weights, patterns.inputs).shape, neuron.errors(weights, patterns)
    ((27, 37), (10,), 5)
    >>> basal, apical = Branches(Polsky(), 0.2, fraction=0.75), Branches(ReLU(), 0.5, fraction=0.25, length=3)
    >>> DendriticNeuron(NeuronSpec(populations=(basal, apical), theta_s=0.5), n_inputs=120, n_branches=8).branch_sizes
    array([10, 10, 10, 10, 10, 10, 30, 30])
    """

    spec: NeuronSpec
    n_inputs: int = field(
        metadata=fact(
            "synapses", "N", "synapses", "[1, inf)", "Number of inputs N", usual=(10, 1e5), log=True, whole=True
        )
    )
    n_branches: int = field(
        metadata=fact(
            "branches", "K", "branches", "[1, inf)", "Number of branches K", usual=(1, 1e4), log=True, whole=True
        )
    )
    group_size: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.spec, NeuronSpec):
            raise refuse("spec", self.spec, "a NeuronSpec")
        if self.spec.n_levels != 1:
            raise refuse("spec.n_levels", self.spec.n_levels, "1: deeper trees are available only in the theory")
        check_fields(self)
        group_size = whole_number("group_size", self.group_size, 1, self.n_inputs)
        if self.n_inputs % group_size:
            raise refuse("group_size", group_size, f"a divisor of n_inputs = {self.n_inputs}")
        branches = whole_number("n_branches", self.n_branches, 1, self.n_inputs // group_size)
        object.__setattr__(self, "n_branches", branches)
        for kind, number in zip(self.kinds, self.branch_counts, strict=True):
            if number == 0:
                raise refuse("n_branches", branches, f"large enough that a fraction of {kind.fraction:g} is one branch")
        if self.branch_sizes.min() == 0:
            raise refuse("n_inputs", self.n_inputs, "large enough that the shortest branches have a synapse")
        for kind, size, silencing in zip(
            self._kind_of_each, self.branch_sizes.tolist(), self.inhibitory_sizes.tolist(), strict=True
        ):
            if kind.inhibition is not None and kind.inhibition.share > 0.0 and not 0 < silencing < size:
                raise refuse(
                    "inhibition.share",
                    kind.inhibition.share,
                    f"such that a branch of {size} synapses has both excitatory and inhibitory ones, or 0",
                )

    @property
    def kinds(self) -> tuple[Branches, ...]:
        """The kinds of branches, one for each population."""
        return self.spec.kinds

    @cached_property
    def branch_counts(self) -> list[int]:
        """Number of branches of each kind."""
        return apportioned([kind.fraction for kind in self.kinds], self.n_branches)

    @cached_property
    def kind_of_branch(self) -> NDArray[np.int64]:
        """Index of the kind of each branch."""
        return np.repeat(np.arange(len(self.kinds)), self.branch_counts)

    @cached_property
    def _kind_of_each(self) -> list[Branches]:
        return [self.kinds[at] for at in self.kind_of_branch]

    @property
    def nonlinearity(self) -> Nonlinearity:
        """g, if all branches are alike."""
        return self._only_kind.nonlinearity

    @property
    def theta_d(self) -> float:
        """The dendritic threshold, if all branches are alike; with inhibition, the excitatory drive."""
        return self._only_kind.theta_d

    @property
    def _only_kind(self) -> Branches:
        if len(self.kinds) > 1:
            raise InvalidParameter(
                f"a neuron with {len(self.kinds)} populations of branches is not allowed here: its branches "
                "must all be alike, NeuronSpec(nonlinearity, theta_d, theta_s)"
            )
        return self.kinds[0]

    @cached_property
    def thresholds(self) -> Floats:
        """The fixed threshold of each branch: theta_d minus the inhibitory drive."""
        fixed = [kind.theta_d - (kind.inhibition.drive if kind.inhibition else 0.0) for kind in self.kinds]
        return np.array(fixed)[self.kind_of_branch]

    @cached_property
    def branch_sizes(self) -> NDArray[np.int64]:
        """Number of synapses of each branch."""
        lengths = [kind.length for kind in self._kind_of_each]
        return self.group_size * np.array(apportioned(lengths, self.n_inputs // self.group_size), dtype=np.int64)

    @cached_property
    def branch_starts(self) -> NDArray[np.int64]:
        """Index of each branch's first input."""
        return np.concatenate([[0], np.cumsum(self.branch_sizes)[:-1]]).astype(np.int64)

    @cached_property
    def inhibitory_sizes(self) -> NDArray[np.int64]:
        """Number of inhibitory synapses of each branch."""
        shares = [kind.inhibition.share if kind.inhibition else 0.0 for kind in self.kinds]
        return np.rint(np.array(shares)[self.kind_of_branch] * self.branch_sizes).astype(np.int64)

    @property
    def has_inhibition(self) -> bool:
        """Whether any synapse is inhibitory."""
        return bool(self.inhibitory_sizes.any())

    @cached_property
    def inhibitory(self) -> NDArray[np.bool_]:
        """Mask of inhibitory synapses, in the order of the inputs; they are the last ones of each branch."""
        from_the_end = np.repeat(self.branch_starts + self.branch_sizes, self.branch_sizes) - np.arange(self.n_inputs)
        return np.asarray(from_the_end <= np.repeat(self.inhibitory_sizes, self.branch_sizes))

    @property
    def branch_size(self) -> int:
        """Number of synapses of the largest branch."""
        return int(self.branch_sizes.max())

    @property
    def weights_shape(self) -> tuple[int, int]:
        """Shape of a weight array."""
        return (self.n_branches, self.branch_size)

    def flat_weights(self, weights: ArrayLike) -> Floats:
        """Weights in the order of the inputs; checks shape, sign and finiteness."""
        array = np.asarray(weights)
        if array.shape not in (self.weights_shape, (self.n_inputs,)):
            raise InvalidParameter(
                f"weights of shape {array.shape} are not allowed: the shape must be {self.weights_shape} "
                f"or ({self.n_inputs},)"
            )
        if array.dtype.kind not in "fiub":
            raise refuse("weights.dtype", array.dtype, "real numbers")
        if array.ndim == 2:
            if np.any(array[~self._synapses] != 0):
                raise InvalidParameter("weights beyond the end of a short branch must be 0")
            array = array[self._synapses]
        flat = array.astype(np.float64)
        bad = ~(np.isfinite(flat) & (np.where(self.inhibitory, -flat, flat) >= 0.0))
        if np.any(bad):
            at = int(np.argmax(bad))
            sign = "<= 0: the synapse is inhibitory" if self.inhibitory[at] else ">= 0"
            raise refuse(f"weights[{at}]", float(flat[at]), f"a finite number {sign}")
        return flat

    def rectified(self, flat: Floats) -> Floats:
        """Flat weights in which weights of the wrong sign are replaced by zero."""
        if not self.has_inhibition:
            return np.maximum(flat, 0.0)
        return np.where(self.inhibitory, np.minimum(flat, 0.0), np.maximum(flat, 0.0))

    def shaped_weights(self, flat: ArrayLike) -> Floats:
        """Flat weights as an array of `weights_shape`, padded with zeros."""
        shaped = np.zeros(self.weights_shape)
        shaped[self._synapses] = self.flat_weights(flat)
        return shaped

    @cached_property
    def _synapses(self) -> NDArray[np.bool_]:
        """Mask of the entries of a weight array that are synapses, not padding."""
        return np.arange(self.branch_size)[None, :] < self.branch_sizes[:, None]

    def input_activity(self, f_in: float = 0.5) -> Floats:
        """Probability that each input is active: that of its population or inhibition if given, else ``f_in``."""
        f_in = real_number("f_in", f_in, 0.0, 1.0, low_open=True, high_open=True)
        excitatory = [f_in if kind.f_in is None else kind.f_in for kind in self.kinds]
        inhibitory = [
            own if kind.inhibition is None or kind.inhibition.f_in is None else kind.inhibition.f_in
            for kind, own in zip(self.kinds, excitatory, strict=True)
        ]
        of_branch = np.array([excitatory, inhibitory])[:, self.kind_of_branch]
        of_synapse = np.repeat(of_branch, self.branch_sizes, axis=1)
        return np.asarray(np.where(self.inhibitory, of_synapse[1], of_synapse[0]))

    def measured_activity(self, inputs: NDArray[np.uint8] | PackedPatterns) -> float | Floats:
        """Fraction of active inputs: of all, or for each input that of its kind of branches and its sign.

        It is kept away from 0 and 1, where initial weights are undefined.
        """
        if len(self.kinds) == 1 and not self.has_inhibition:
            return min(max(active_fraction(inputs), 1e-6), 1.0 - 1e-6)
        group = 2 * np.repeat(self.kind_of_branch, self.branch_sizes) + self.inhibitory
        fraction = np.bincount(group, active_fractions(inputs)) / np.maximum(np.bincount(group), 1)
        return np.asarray(np.clip(fraction[group], 1e-6, 1.0 - 1e-6))

    def mean_weights(self, activity: Floats) -> Floats:
        """The mean of every weight for which each branch has its drives, in the order of the inputs.

        ``activity`` is the probability that each input is active.
        """
        drive = np.array([[kind.theta_d, -kind.inhibition.drive if kind.inhibition else 0.0] for kind in self.kinds])
        sizes = self.branch_sizes
        counts = np.stack([sizes - self.inhibitory_sizes, self.inhibitory_sizes])
        per_share = drive.T[:, self.kind_of_branch] / (np.maximum(counts, 1) / sizes)
        of_synapse = np.repeat(per_share, sizes, axis=1)
        return np.asarray(np.where(self.inhibitory, of_synapse[1], of_synapse[0]) / activity)

    def initial_weights(self, f_in: float | Floats = 0.5, rng: Seed = None) -> Floats:
        """Weights uniform between 0 and twice the mean that balances the dendritic threshold, theta_d / f_in.

        ``f_in`` is the probability that an input is active, as one number or one for each input. Inhibitory weights are
        negative and balance their drive.
        """
        activity = f_in if isinstance(f_in, np.ndarray) else self.input_activity(f_in)
        share = generator_for("run", rng).random(self.n_inputs)
        return self.shaped_weights(2.0 * share * self.mean_weights(activity))

    def teacher_weights(self, f_in: float = 0.5, rng: Seed = None) -> Floats:
        """Weights of a typical neuron that has learned nothing, whose answers others can learn.

        They are exponential, as in [zero-load]. The sum on each branch is such that its mean output is theta_s, or
        ``mean_output`` of its population, so that about half of all random patterns have the answer 1 [teacher-sum].
        """
        if self.has_inhibition:
            raise refuse("spec.inhibition", [kind.inhibition for kind in self.kinds], "None for a teacher")
        activity = self.input_activity(f_in)
        flat = generator_for("teacher", rng).standard_exponential(self.n_inputs)
        means: dict[tuple[int, int], float] = {}
        for branch, (start, size) in enumerate(zip(self.branch_starts, self.branch_sizes.tolist(), strict=True)):
            at = (int(self.kind_of_branch[branch]), size)
            if at not in means:
                means[at] = self._mean_of_teacher(self.kinds[at[0]], size, float(activity[start]))
            flat[start : start + size] *= means[at] / flat[start : start + size].mean()
        return self.shaped_weights(flat)

    def _mean_of_teacher(self, kind: Branches, size: int, f_in: float) -> float:
        """Mean weight at which a branch with exponential weights has the required mean output, by bisection."""
        if isinstance(kind.mean_output, str):
            raise refuse("mean_output", kind.mean_output, "a number for a teacher")
        wanted = self.spec.theta_s if kind.mean_output is None else kind.mean_output
        nodes, weights = trapezoidal_rule(NODES)
        # With the sum of n exponential weights fixed at n W, E W_i^2 = 2 W^2 n / (n + 1).
        width = np.sqrt(2.0 * f_in * (1.0 - f_in) * size / (size + 1.0))

        def output(mean: float) -> float:
            middle = np.sqrt(size) * (f_in * mean - kind.theta_d)
            return float(weights @ kind.nonlinearity(middle + width * mean * nodes))

        low, high = 0.0, 1.0
        while output(high) <= wanted and high < 1e9:
            high *= 2.0
        if not output(low) < wanted < output(high):
            raise NoSolution(f"no weights >= 0 give a branch of {size} synapses the mean output {wanted:g}")
        for _ in range(100):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if output(middle) < wanted else (low, middle)
        return 0.5 * (low + high)

    def branch_input(self, weights: ArrayLike, inputs: ArrayLike | PackedPatterns) -> Floats:
        """lambda_l of every pattern and branch, shape ``(n_patterns, n_branches)``."""
        flat, patterns = self.flat_weights(weights), binary_inputs(inputs, self.n_inputs)
        roots = np.sqrt(self.branch_sizes)
        result = np.empty((len(patterns), self.n_branches))
        step = max(1, BLOCK // self.n_inputs)
        for first in range(0, len(patterns), step):
            rows = slice(first, first + step)
            dense = patterns.unpack(rows) if isinstance(patterns, PackedPatterns) else patterns[rows]
            block = dense.astype(np.float64)
            for branch, (start, size) in enumerate(zip(self.branch_starts, self.branch_sizes, strict=True)):
                synapses = slice(start, start + size)
                result[rows, branch] = block[:, synapses] @ flat[synapses]
        return result / roots - roots * self.thresholds

    def by_kind(self, function: Callable[[Branches, Floats], Any], branch_input: Floats) -> Floats:
        """``function(kind, inputs)`` for the branches of each kind; branches are the last axis of ``branch_input``."""
        if len(self.kinds) == 1:
            return np.asarray(function(self.kinds[0], branch_input))
        result = np.empty_like(branch_input)
        for at, kind in enumerate(self.kinds):
            own = self.kind_of_branch == at
            result[..., own] = function(kind, branch_input[..., own])
        return result

    def branch_output(self, branch_input: Floats) -> Floats:
        """g(lambda_l), with the g of each branch; branches are the last axis."""
        return self.by_kind(lambda kind, x: kind.nonlinearity(x), branch_input)

    def somatic_input(self, weights: ArrayLike, inputs: ArrayLike | PackedPatterns) -> Floats:
        """Delta of every pattern, shape ``(n_patterns,)``."""
        root = np.sqrt(self.n_branches)
        outputs = self.branch_output(self.branch_input(weights, inputs))
        return np.asarray(outputs.sum(axis=1) / root - root * self.spec.theta_s)

    def predict(self, weights: ArrayLike, inputs: ArrayLike | PackedPatterns) -> NDArray[np.uint8]:
        """The answers of the neuron: 1 if the somatic input is positive, else 0."""
        return (self.somatic_input(weights, inputs) > 0.0).astype(np.uint8)

    def margins(self, weights: ArrayLike, patterns: Patterns) -> Floats:
        """sign * Delta of every pattern: positive where the neuron is right."""
        return np.asarray(patterns.signs * self.somatic_input(weights, patterns.inputs))

    def errors(self, weights: ArrayLike, patterns: Patterns, kappa: float = 0.0) -> int:
        """Number of patterns whose margin is not above ``kappa``; a somatic input of zero is wrong for both labels."""
        return int(np.count_nonzero(~(self.margins(weights, patterns) > kappa)))


class LinearNeuron(DendriticNeuron):
    """The linear neuron, with one layer: Delta = sum_i W_i xi_i / sqrt(N) - sqrt(N) theta_d [linear].

    It is a dendritic neuron with a single linear branch and no somatic threshold, and has the same methods.

    Parameters
    ----------
    theta_d : float
        Its only threshold.
    n_inputs : int
        Number of inputs N.
    inhibition : Inhibition, optional
        Plastic inhibitory synapses; ``theta_d`` is then the excitatory drive.

    Examples
    --------
    >>> neuron = LinearNeuron(theta_d=0.5, n_inputs=4)
    >>> neuron.somatic_input([1.0, 1.0, 1.0, 1.0], [[1, 1, 1, 0]]).tolist()
    [0.5]
    """

    def __init__(self, theta_d: float, n_inputs: int, inhibition: Inhibition | None = None) -> None:
        super().__init__(NeuronSpec(Linear(), theta_d, theta_s=0.0, inhibition=inhibition), n_inputs, n_branches=1)

    def __repr__(self) -> str:
        more = f", inhibition={self.spec.inhibition!r}" if self.spec.inhibition else ""
        return f"LinearNeuron(theta_d={self.theta_d!r}, n_inputs={self.n_inputs!r}{more})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (LinearNeuron, (self.theta_d, self.n_inputs, self.spec.inhibition))
