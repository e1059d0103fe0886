"""Binary patterns, random or given, and storage at one bit per input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.display import Displayed
from dendrocap.errors import InvalidParameter
from dendrocap.numerics import apportioned
from dendrocap.validation import real_number, refuse, whole_number

if TYPE_CHECKING:
    from dendrocap.model.dendritic_neuron import DendriticNeuron

# Seeds: how a seed becomes random numbers, in the same way everywhere.
#
# A seed, a whole number or a `numpy.random.SeedSequence`, never feeds a generator directly. Each purpose has its own
# child: patterns the first, a run (initial weights and shuffles) the second, noise the third, the function of a sweep
# the fourth, a teacher the fifth. Children are independent, so that one seed serves all purposes, and fixed, so that
# the same seed gives the same patterns and the same run from Python, the command line, a protocol, a sweep or the
# explorer. A generator is used directly.

Seed = int | np.random.SeedSequence | np.random.Generator | None

Purpose = Literal["patterns", "run", "noise", "job", "teacher"]

# The number of a purpose is that of its child. Append new ones at the end, because the order defines what a seed means.
CHILDREN: dict[str, int] = {"patterns": 0, "run": 1, "noise": 2, "job": 3, "teacher": 4}


def generator_for(purpose: Purpose, seed: Seed) -> np.random.Generator:
    """The generator of a seed for a purpose; with None it differs from call to call.

    A `SeedSequence` is not changed: its children are derived by number, not spawned.
    """
    if isinstance(seed, np.random.Generator):
        return seed
    if seed is None:
        return np.random.default_rng()
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(whole_number("seed", seed, 0))
    key = (*root.spawn_key, CHILDREN[purpose])
    return np.random.default_rng(np.random.SeedSequence(root.entropy, spawn_key=key, pool_size=root.pool_size))


Bits = NDArray[np.uint8]

# Random numbers are drawn in blocks, so that packed patterns never need the memory of unpacked ones.
BLOCK = 4_000_000


@dataclass(frozen=True, eq=False)
class PackedPatterns(Displayed):
    """Binary patterns stored at one bit per input."""

    _displayed = ("shape", "nbytes")

    bits: Bits
    n_inputs: int

    def __post_init__(self) -> None:
        whole_number("n_inputs", self.n_inputs, 1)
        width = -(-self.n_inputs // 8)
        if self.bits.dtype != np.uint8 or self.bits.ndim != 2 or self.bits.shape[1] != width:
            raise InvalidParameter(
                f"bits of shape {self.bits.shape} and type {self.bits.dtype} are not allowed: "
                f"they must be uint8 of shape (n_patterns, {width}) for n_inputs = {self.n_inputs}"
            )

    def __len__(self) -> int:
        return len(self.bits)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_patterns, n_inputs), the shape of the unpacked array."""
        return (len(self.bits), self.n_inputs)

    @property
    def nbytes(self) -> int:
        """Memory of the patterns in bytes."""
        return self.bits.nbytes

    def unpack(self, rows: Any = slice(None), inputs: NDArray[np.int64] | None = None) -> Bits:
        """The patterns, or the given rows and inputs of them, with one byte per input; input -1 is never active."""
        dense = np.unpackbits(self.bits[rows], axis=-1, count=self.n_inputs, bitorder="little")
        return dense if inputs is None else chosen_inputs([dense], inputs)


def chosen_inputs(parts: Sequence[Bits], inputs: NDArray[np.int64]) -> Bits:
    """Some columns of arrays placed side by side; column -1 is all zeros."""
    zeros = np.zeros((len(parts[0]), 1), dtype=np.uint8)
    return np.concatenate([*parts, zeros], axis=1).take(inputs, axis=1)


class Patterns(NamedTuple):
    """Inputs and labels; unpacks as ``inputs, labels``."""

    inputs: Bits | PackedPatterns
    labels: Bits

    def __repr__(self) -> str:
        return f"Patterns(inputs=<{' x '.join(map(str, self.inputs.shape))}>, labels=<{len(self.labels)}>)"

    @property
    def signs(self) -> NDArray[np.float64]:
        """The labels as +1 and -1."""
        return np.where(self.labels, 1.0, -1.0)

    @property
    def dense(self) -> Bits:
        """The inputs, unpacked if necessary."""
        return self.inputs.unpack() if isinstance(self.inputs, PackedPatterns) else self.inputs


def random_patterns(
    n_patterns: int,
    n_inputs: int,
    f_in: float | ArrayLike = 0.5,
    f_out: float = 0.5,
    rng: Seed = None,
    *,
    packed: bool = False,
    branch_correlation: float = 0.0,
    n_branches: int | Sequence[int] | None = None,
    teacher: DendriticNeuron | tuple[DendriticNeuron, ArrayLike] | None = None,
) -> Patterns:
    """Random binary patterns with random labels, or with the labels of a teacher.

    Parameters
    ----------
    n_patterns, n_inputs : int
        P and N.
    f_in : float or array, shape (n_inputs,)
        Probability that an input is 1, as one number or one for each input, such as ``neuron.input_activity()``.
    f_out : float
        Probability that a label is 1.
    rng : int, SeedSequence, Generator or None
        Seed, of which the child for patterns is used, or generator.
    packed : bool
        Store inputs at one bit each; the patterns equal the unpacked ones of the same seed.
    branch_correlation : float
        c_0 of `TaskSpec`: two inputs of one branch have correlation c_0 K / N, which must be below 1. In each pattern
        each branch has its own level of activity, drawn from a Beta distribution [beta-mixture]. Inputs of different
        branches are independent.
    n_branches : int or sequence of int
        K, or the sizes of the branches, such as ``neuron.branch_sizes``; required for correlated inputs.
    teacher : DendriticNeuron or (DendriticNeuron, weights), optional
        Labels are its answers. By default its weights are ``teacher.teacher_weights(f_in, rng)``, which for a given
        seed are the same for any number of patterns. Inputs are the same as without a teacher.

    Examples
    --------
    >>> inputs, labels = random_patterns(3, 5, rng=0)
    >>> inputs.shape, labels.shape
    ((3, 5), (3,))
    >>> together, _ = random_patterns(4000, 20, branch_correlation=5.0, n_branches=2, rng=0)  # correlation 0.5
    >>> bool(np.corrcoef(together.T)[0, 1] > 0.45)
    True
    """
    n_patterns = whole_number("n_patterns", n_patterns, 0)
    n_inputs = whole_number("n_inputs", n_inputs, 1)
    activity = _activity(f_in, n_inputs)
    f_out = real_number("f_out", f_out, 0.0, 1.0, low_open=True, high_open=True)
    if teacher is not None and f_out != 0.5:
        raise refuse("f_out", f_out, "0.5 with a teacher, whose answers are the labels")
    correlation = real_number("branch_correlation", branch_correlation, 0.0)
    branches = _BetaBranches(correlation, activity, n_inputs, n_branches) if correlation > 0.0 else None
    generator = generator_for("patterns", rng)
    labels = (generator.random(n_patterns) < f_out).astype(np.uint8)
    width = -(-n_inputs // 8) if packed else n_inputs
    stored = np.empty((n_patterns, width), dtype=np.uint8)
    step = max(1, BLOCK // n_inputs)
    for first in range(0, n_patterns, step):
        rows = slice(first, min(first + step, n_patterns))
        level = activity if branches is None else branches.levels(rows.stop - rows.start, generator)
        block = generator.random((rows.stop - rows.start, n_inputs), dtype=np.float32) < level
        stored[rows] = np.packbits(block, axis=1, bitorder="little") if packed else block
    inputs = PackedPatterns(stored, n_inputs) if packed else stored
    return Patterns(inputs, labels if teacher is None else _answers(teacher, inputs, f_in, rng))


def _activity(f_in: float | ArrayLike, n_inputs: int) -> float | NDArray[np.float64]:
    """The checked probability of an active input: one number, or an array with one for each input."""
    if np.ndim(f_in) == 0:
        return real_number("f_in", f_in, 0.0, 1.0, low_open=True, high_open=True)
    each = np.asarray(f_in, dtype=np.float64)
    if each.shape != (n_inputs,):
        raise refuse("f_in.shape", each.shape, f"one number, or ({n_inputs},)")
    good = (each > 0.0) & (each < 1.0)
    if not good.all():
        raise refuse("an entry of f_in", float(each[~good][0]), "a finite number in (0, 1)")
    return each


class _BetaBranches:
    """Branches whose inputs have a common random level of activity, which gives them correlation c_0 K / N."""

    def __init__(
        self,
        branch_correlation: float,
        activity: float | NDArray[np.float64],
        n_inputs: int,
        n_branches: int | Sequence[int] | None,
    ) -> None:
        if n_branches is None:
            raise InvalidParameter(
                f"branch_correlation = {branch_correlation:g} needs n_branches: give the number of "
                "branches, or their sizes"
            )
        if np.ndim(n_branches) == 0:
            number = whole_number("n_branches", n_branches, 1, n_inputs)
            self._sizes = apportioned([1.0] * number, n_inputs)
        else:
            self._sizes = [whole_number("n_branches", size, 1) for size in n_branches]  # type: ignore[union-attr]
            if sum(self._sizes) != n_inputs:
                raise refuse("the sum of all branch sizes", sum(self._sizes), f"n_inputs = {n_inputs}")
        correlation = branch_correlation * len(self._sizes) / n_inputs
        if correlation >= 1.0:
            raise refuse(
                "branch_correlation",
                branch_correlation,
                f"below N / K = {n_inputs / len(self._sizes):g}, where all inputs of a branch would be equal",
            )
        starts = np.cumsum([0, *self._sizes[:-1]])
        each = np.broadcast_to(activity, n_inputs)
        mean = each[starts]
        if np.any(np.repeat(mean, self._sizes) != each):
            raise InvalidParameter(
                f"branch_correlation = {branch_correlation:g} is not allowed if inputs of one branch differ in f_in"
            )
        # [beta-mixture]: a level p with variance c f (1 - f) gives two inputs this covariance.
        self._a, self._b = (1.0 / correlation - 1.0) * mean, (1.0 / correlation - 1.0) * (1.0 - mean)

    def levels(self, n_patterns: int, generator: np.random.Generator) -> NDArray[np.float64]:
        """Probability of every input in ``n_patterns`` patterns."""
        of_branch = generator.beta(self._a, self._b, (n_patterns, len(self._sizes)))
        return np.repeat(of_branch, self._sizes, axis=1)


def _answers(
    teacher: DendriticNeuron | tuple[DendriticNeuron, ArrayLike],
    inputs: Bits | PackedPatterns,
    f_in: float | ArrayLike,
    rng: Seed,
) -> Bits:
    """The answers of a teacher to patterns."""
    neuron, weights = teacher if isinstance(teacher, tuple) else (teacher, None)
    if not hasattr(neuron, "teacher_weights"):
        raise refuse("teacher", teacher, "a DendriticNeuron, or a pair of one and its weights")
    if neuron.n_inputs != inputs.shape[1]:
        raise refuse("teacher.n_inputs", neuron.n_inputs, f"n_inputs = {inputs.shape[1]}")
    if weights is None:
        if np.ndim(f_in) != 0:
            raise InvalidParameter("a teacher without weights needs a single f_in, not one for each input")
        weights = neuron.teacher_weights(float(f_in), rng)  # type: ignore[arg-type]
    return neuron.predict(weights, inputs)


def pack_patterns(inputs: ArrayLike) -> PackedPatterns:
    """Binary inputs of shape ``(n_patterns, n_inputs)``, packed.

    Examples
    --------
    >>> packed = pack_patterns([[1, 0, 1], [0, 0, 1]])
    >>> packed.shape, packed.unpack().tolist()
    ((2, 3), [[1, 0, 1], [0, 0, 1]])
    """
    dense = binary_inputs(inputs)
    if isinstance(dense, PackedPatterns):
        return dense
    return PackedPatterns(np.packbits(dense, axis=1, bitorder="little"), dense.shape[1])


def binary_inputs(inputs: ArrayLike | PackedPatterns, n_inputs: int | None = None) -> Bits | PackedPatterns:
    """Inputs as uint8 of shape ``(n_patterns, n_inputs)``, checked to be binary; packed inputs stay packed."""
    if not isinstance(inputs, PackedPatterns):
        inputs = _binary("inputs", np.atleast_2d(np.asarray(inputs)))
        if inputs.ndim != 2:
            raise refuse("inputs.shape", inputs.shape, "(n_patterns, n_inputs)")
    if n_inputs is not None and inputs.shape[1] != n_inputs:
        raise refuse("inputs.shape", inputs.shape, f"(n_patterns, {n_inputs})")
    return inputs


def binary_patterns(inputs: ArrayLike | PackedPatterns, labels: ArrayLike, n_inputs: int) -> Patterns:
    """Inputs and labels, checked to be binary and of matching length, with at least one pattern."""
    checked = binary_inputs(inputs, n_inputs)
    if len(checked) == 0:
        raise refuse("inputs.shape", checked.shape, "at least one pattern")
    return Patterns(checked, binary_labels(labels, len(checked)))


def active_fraction(patterns: NDArray[np.uint8] | PackedPatterns) -> float:
    """Fraction of ones among all inputs of the patterns."""
    if isinstance(patterns, PackedPatterns):
        active = int(np.bitwise_count(patterns.bits).sum(dtype=np.int64))
        return active / (len(patterns) * patterns.n_inputs)
    return int(np.count_nonzero(patterns)) / patterns.size


def active_fractions(inputs: NDArray[np.uint8] | PackedPatterns) -> NDArray[np.float64]:
    """Fraction of patterns in which each input is active."""
    n_patterns, n_inputs = inputs.shape
    counts = np.zeros(n_inputs)
    step = max(1, BLOCK // n_inputs)
    for first in range(0, n_patterns, step):
        rows = slice(first, first + step)
        counts += (inputs.unpack(rows) if isinstance(inputs, PackedPatterns) else inputs[rows]).sum(axis=0)
    return np.asarray(counts / n_patterns)


def binary_labels(labels: ArrayLike, n_patterns: int) -> Bits:
    """Labels as uint8 of shape ``(n_patterns,)``, checked to be 0 or 1."""
    array = np.asarray(labels)
    if array.shape != (n_patterns,):
        raise refuse("labels.shape", array.shape, f"({n_patterns},)")
    return _binary("labels", array)


def _binary(name: str, array: NDArray[Any]) -> Bits:
    if array.dtype == np.bool_:
        return array.view(np.uint8)
    if array.dtype.kind not in "iuf":
        raise refuse(f"{name}.dtype", array.dtype, "a number type")
    good = (array == 0) | (array == 1)
    if not np.all(good):
        raise refuse(f"an entry of {name}", array[~good].flat[0].item(), "0 or 1")
    return array.astype(np.uint8, copy=False)
