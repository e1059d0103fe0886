"""The neuron: what it is made of, what it is asked to learn, and how it answers.

`NeuronSpec` and `TaskSpec` hold what theory and simulation share; `DendriticNeuron` and `LinearNeuron`
add a finite size. Weights are plain arrays, passed in and returned, never kept inside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.errors import InvalidParameter
from dendrocap.model.nonlinearities import Linear, Nonlinearity
from dendrocap.model.patterns import PackedPatterns, Patterns, binary_inputs
from dendrocap.model.seeds import Seed, generator_for
from dendrocap.validation import choice, real_number, refuse, whole_number

__all__ = ["Branches", "DendriticNeuron", "Level", "LinearNeuron", "NeuronSpec", "TaskSpec"]

Floats = NDArray[np.float64]

# Patterns are turned into floats a block at a time: 16 MB whatever the number of patterns.
BLOCK = 2_000_000


@dataclass(frozen=True)
class Level:
    """One level of a deep dendritic tree.

    Parameters
    ----------
    nonlinearity : Nonlinearity
        What a branch of this level makes of its input.
    theta : float
        Its threshold.

    Examples
    --------
    >>> from dendrocap import Polsky, ReLU
    >>> tree = NeuronSpec(levels=(Level(ReLU(), 0.5), Level(Polsky(), 0.4)), theta_s=0.5)
    >>> tree.n_levels
    2
    """

    nonlinearity: Nonlinearity
    theta: float

    def __post_init__(self) -> None:
        _check_nonlinearity("nonlinearity", self.nonlinearity)
        object.__setattr__(self, "theta", real_number("theta", self.theta, 0.0))


@dataclass(frozen=True)
class Branches:
    """A population of like branches, one of several that make a neuron.

    Parameters
    ----------
    nonlinearity : Nonlinearity
        What a branch makes of its input.
    theta_d : float
        Dendritic threshold.
    fraction : float
        Share of the neuron's branches, in (0, 1].
    length : float
        Synapses per branch, relative to the other populations.
    f_in : float, optional
        Probability that an input of these branches is active; that of the task if not given.
    mean_output : float or "best", optional
        Average of g over the patterns, which is theta_s if not given. Only the average over all branches is fixed by
        the soma; "best" asks for the value at which the load is largest.

    Examples
    --------
    >>> from dendrocap import Polsky
    >>> Branches(Polsky(), theta_d=0.5, fraction=0.5, mean_output=0.1)
    Branches(nonlinearity=Polsky(x_min=0.33, gamma=15.0), theta_d=0.5, fraction=0.5, mean_output=0.1)
    """

    nonlinearity: Nonlinearity
    theta_d: float
    fraction: float
    length: float = 1.0
    f_in: float | None = None
    mean_output: float | str | None = None

    def __post_init__(self) -> None:
        _check_nonlinearity("nonlinearity", self.nonlinearity)
        object.__setattr__(self, "theta_d", real_number("theta_d", self.theta_d, 0.0))
        object.__setattr__(self, "fraction", real_number("fraction", self.fraction, 0.0, 1.0, low_open=True))
        object.__setattr__(self, "length", real_number("length", self.length, 0.0, low_open=True))
        if self.f_in is not None:
            f_in = real_number("f_in", self.f_in, 0.0, 1.0, low_open=True, high_open=True)
            object.__setattr__(self, "f_in", f_in)
        if isinstance(self.mean_output, str):
            choice("mean_output", self.mean_output, ("best",))
        elif self.mean_output is not None:
            object.__setattr__(self, "mean_output", real_number("mean_output", self.mean_output))

    def __repr__(self) -> str:
        return _short_repr(self)


@dataclass(frozen=True)
class NeuronSpec:
    """A neuron in the limit of many branches.

    Its branches are all alike (``nonlinearity`` and ``theta_d``), or of several kinds (``populations``), or form a deep
    tree (``levels``): exactly one of the three is given.

    Parameters
    ----------
    nonlinearity : Nonlinearity, optional
        What a branch makes of its input.
    theta_d : float, optional
        Dendritic threshold, the inhibition onto a branch; it sets the mean weight ``theta_d / f_in``.
    theta_s : float
        Somatic threshold, the inhibition onto the soma.
    levels : sequence of Level, optional
        A deep tree, from the synapses towards the soma: the outputs of many branches of one level are summed by a
        branch of the next.
    populations : sequence of Branches, optional
        Kinds of branches that meet at the soma. Their fractions sum to 1.

    Examples
    --------
    >>> from dendrocap import Polsky
    >>> NeuronSpec(Polsky(), theta_d=0.05, theta_s=0.5)
    NeuronSpec(nonlinearity=Polsky(x_min=0.33, gamma=15.0), theta_d=0.05, theta_s=0.5)
    >>> halves = [Branches(Polsky(), 0.5, fraction=0.5, mean_output=t) for t in (0.1, 0.9)]
    >>> NeuronSpec(populations=halves, theta_s=0.5).n_populations
    2
    """

    # None only together with levels or populations, which most users never give.
    nonlinearity: Nonlinearity = None  # type: ignore[assignment]
    theta_d: float = None  # type: ignore[assignment]
    theta_s: float = None  # type: ignore[assignment]
    levels: tuple[Level, ...] = ()
    populations: tuple[Branches, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.nonlinearity, Sequence):
            raise refuse(
                "nonlinearity",
                self.nonlinearity,
                "a single Nonlinearity: give levels=(Level(g, theta), ...) for a deep tree, populations=(Branches(g, "
                "theta_d, fraction), ...) for several kinds of branches",
            )
        object.__setattr__(self, "theta_s", real_number("theta_s", self.theta_s, 0.0))
        for name, kind in (("levels", Level), ("populations", Branches)):
            given = getattr(self, name)
            if not isinstance(given, Sequence) or not all(isinstance(one, kind) for one in given):
                raise refuse(name, given, f"a sequence of {kind.__name__}")
            object.__setattr__(self, name, tuple(given))
        ways = [self.nonlinearity is not None, bool(self.levels), bool(self.populations)]
        if sum(ways) != 1 or (self.theta_d is not None) != ways[0]:
            raise InvalidParameter(
                f"{self!r} is not allowed: give either nonlinearity and theta_d, or levels, or populations, and theta_s"
            )
        if self.nonlinearity is not None:
            _check_nonlinearity("nonlinearity", self.nonlinearity)
            object.__setattr__(self, "theta_d", real_number("theta_d", self.theta_d, 0.0))
        total = math.fsum(one.fraction for one in self.populations)
        if self.populations and not math.isclose(total, 1.0, abs_tol=1e-9):
            raise refuse("the sum of all fractions", total, "1")

    def __repr__(self) -> str:
        return _short_repr(self)

    @property
    def n_levels(self) -> int:
        """Number of dendritic levels; 1 is the model of the paper."""
        return max(len(self.levels), 1)

    @property
    def n_populations(self) -> int:
        """Number of kinds of branches; 1 is the model of the paper."""
        return max(len(self.populations), 1)

    @cached_property
    def tree(self) -> tuple[Level, ...]:
        """The levels of a neuron whose branches are all alike, from the synapses to the soma."""
        if self.populations:
            raise InvalidParameter(
                f"a neuron with {len(self.populations)} population(s) of branches is not allowed here: its branches "
                "must all be alike, NeuronSpec(nonlinearity, theta_d, theta_s)"
            )
        return self.levels or (Level(self.nonlinearity, self.theta_d),)


@dataclass(frozen=True)
class TaskSpec:
    """Random patterns and labels to be learned.

    Parameters
    ----------
    f_in, f_out : float
        Probability that an input, or a label, is 1.
    kappa : float
        Margin by which the somatic input must clear the threshold.

    Examples
    --------
    >>> TaskSpec(f_in=0.1, f_out=0.2, kappa=0.05)
    TaskSpec(f_in=0.1, f_out=0.2, kappa=0.05)
    """

    f_in: float = 0.5
    f_out: float = 0.5
    kappa: float = 0.0

    def __post_init__(self) -> None:
        for name in ("f_in", "f_out"):
            level = real_number(name, getattr(self, name), 0.0, 1.0, low_open=True, high_open=True)
            object.__setattr__(self, name, level)
        object.__setattr__(self, "kappa", real_number("kappa", self.kappa, 0.0))


@dataclass(frozen=True)
class DendriticNeuron:
    """A neuron with ``n_inputs`` synapses on ``n_branches`` dendritic branches.

    Branch l sums its n_l inputs and passes them through g [model]::

        branch_input  lambda_l = sum_i W_li xi_li / sqrt(n_l) - sqrt(n_l) theta_d
        somatic_input Delta    = sum_l g(lambda_l) / sqrt(K) - sqrt(K) theta_s

    Where N is not divisible by K, the first branches carry one synapse more than the others, and
    each is scaled by its own size n_l; for equal branches this is the paper's N / K.

    Parameters
    ----------
    spec : NeuronSpec
        Non-linearity and thresholds, with one dendritic level.
    n_inputs, n_branches : int
        N and K, with 1 <= K <= N.
    group_size : int
        Neighbouring inputs come in groups of so many that stay on one branch together. Branches then differ by one
        group, not by one synapse.

    Notes
    -----
    Weights have the shape ``(n_branches, branch_size)``; rows of shorter branches end in a zero. The flat
    form ``(n_inputs,)``, in the order of the inputs, is accepted everywhere too.

    Examples
    --------
    >>> import numpy as np
    >>> from dendrocap import Polsky, random_patterns
    >>> neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.05, 0.5), n_inputs=999, n_branches=27)
    >>> rng = np.random.default_rng(1)
    >>> patterns = random_patterns(10, 999, rng=rng)
    >>> weights = neuron.initial_weights(f_in=0.5, rng=rng)
    >>> weights.shape, neuron.predict(weights, patterns.inputs).shape, neuron.errors(weights, patterns)
    ((27, 37), (10,), 5)
    """

    spec: NeuronSpec
    n_inputs: int
    n_branches: int
    group_size: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.spec, NeuronSpec):
            raise refuse("spec", self.spec, "a NeuronSpec")
        if self.spec.n_levels != 1:
            raise refuse("spec.n_levels", self.spec.n_levels, "1: deeper trees exist in the theory only")
        object.__setattr__(self, "n_inputs", whole_number("n_inputs", self.n_inputs, 1))
        group_size = whole_number("group_size", self.group_size, 1, self.n_inputs)
        if self.n_inputs % group_size:
            raise refuse("group_size", group_size, f"a divisor of n_inputs = {self.n_inputs}")
        branches = whole_number("n_branches", self.n_branches, 1, self.n_inputs // group_size)
        object.__setattr__(self, "n_branches", branches)

    @property
    def nonlinearity(self) -> Nonlinearity:
        """g."""
        return self.spec.tree[0].nonlinearity

    @property
    def theta_d(self) -> float:
        """The dendritic threshold."""
        return self.spec.tree[0].theta

    @cached_property
    def branch_sizes(self) -> NDArray[np.int64]:
        """Number of synapses of each branch."""
        small, extra = divmod(self.n_inputs // self.group_size, self.n_branches)
        groups = np.where(np.arange(self.n_branches) < extra, small + 1, small)
        return (self.group_size * groups).astype(np.int64)

    @cached_property
    def branch_starts(self) -> NDArray[np.int64]:
        """Index of each branch's first input."""
        return np.concatenate([[0], np.cumsum(self.branch_sizes)[:-1]]).astype(np.int64)

    @property
    def branch_size(self) -> int:
        """Synapses of the largest branch."""
        return int(self.branch_sizes[0])

    @property
    def weights_shape(self) -> tuple[int, int]:
        """Shape of a weight array."""
        return (self.n_branches, self.branch_size)

    def flat_weights(self, weights: ArrayLike) -> Floats:
        """Weights in the order of the inputs, after checking shape, sign and finiteness."""
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
                raise InvalidParameter("weights beyond the end of a short branch are not allowed: they must be 0")
            array = array[self._synapses]
        flat = array.astype(np.float64)
        bad = ~(np.isfinite(flat) & (flat >= 0.0))
        if np.any(bad):
            at = int(np.argmax(bad))
            raise refuse(f"weights[{at}]", float(flat[at]), "a finite number >= 0")
        return flat

    def shaped_weights(self, flat: ArrayLike) -> Floats:
        """Flat weights as an array of `weights_shape`, short branches filled up with zeros."""
        shaped = np.zeros(self.weights_shape)
        shaped[self._synapses] = self.flat_weights(flat)
        return shaped

    @cached_property
    def _synapses(self) -> NDArray[np.bool_]:
        """Which entries of a weight array are synapses, not filling."""
        return np.arange(self.branch_size)[None, :] < self.branch_sizes[:, None]

    def initial_weights(self, f_in: float = 0.5, rng: Seed = None) -> Floats:
        """Weights uniform on [0, 2 theta_d / f_in], whose mean balances the dendritic threshold."""
        f_in = real_number("f_in", f_in, 0.0, 1.0, low_open=True, high_open=True)
        generator = generator_for("run", rng)
        return self.shaped_weights(generator.uniform(0.0, 2.0 * self.theta_d / f_in, self.n_inputs))

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
        return result / roots - roots * self.theta_d

    def somatic_input(self, weights: ArrayLike, inputs: ArrayLike | PackedPatterns) -> Floats:
        """Delta of every pattern, shape ``(n_patterns,)``."""
        root = np.sqrt(self.n_branches)
        outputs = self.nonlinearity(self.branch_input(weights, inputs))
        return np.asarray(outputs.sum(axis=1) / root - root * self.spec.theta_s)

    def predict(self, weights: ArrayLike, inputs: ArrayLike | PackedPatterns) -> NDArray[np.uint8]:
        """The neuron's answers: 1 where the somatic input is positive, else 0."""
        return (self.somatic_input(weights, inputs) > 0.0).astype(np.uint8)

    def errors(self, weights: ArrayLike, patterns: Patterns) -> int:
        """How many patterns the neuron gets wrong; a somatic input of exactly zero is wrong for either label."""
        return int(np.count_nonzero(~(patterns.signs * self.somatic_input(weights, patterns.inputs) > 0.0)))


class LinearNeuron(DendriticNeuron):
    """The linear neuron, of one layer: Delta = sum_i W_i xi_i / sqrt(N) - sqrt(N) theta_d [linear].

    It is the dendritic neuron with a single linear branch and no somatic threshold, and has the same methods.

    Parameters
    ----------
    theta_d : float
        Its only threshold.
    n_inputs : int
        N.

    Examples
    --------
    >>> neuron = LinearNeuron(theta_d=0.5, n_inputs=4)
    >>> neuron.somatic_input([1.0, 1.0, 1.0, 1.0], [[1, 1, 1, 0]]).tolist()
    [0.5]
    """

    def __init__(self, theta_d: float, n_inputs: int) -> None:
        super().__init__(NeuronSpec(Linear(), theta_d, theta_s=0.0), n_inputs, n_branches=1)

    def __repr__(self) -> str:
        return f"LinearNeuron(theta_d={self.theta_d!r}, n_inputs={self.n_inputs!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (LinearNeuron, (self.theta_d, self.n_inputs))


def _check_nonlinearity(name: str, given: Any) -> None:
    if not isinstance(given, Nonlinearity):
        raise refuse(name, given, "a Nonlinearity, such as Polsky() or Custom(function)")


def _short_repr(value: Any) -> str:
    """The call that makes a dataclass, without the fields left at their defaults."""
    given = [field for field in fields(value) if getattr(value, field.name) != field.default]
    return f"{type(value).__name__}({', '.join(f'{field.name}={getattr(value, field.name)!r}' for field in given)})"
