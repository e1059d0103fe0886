"""One neuron, its patterns and its weights, ready for compiled training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dendrocap.learning.rules import Surrogate, TrueSlope, homeostasis_for
from dendrocap.model.dendritic_neuron import DendriticNeuron
from dendrocap.model.nonlinearities import Nonlinearity
from dendrocap.model.patterns import PackedPatterns, Patterns, chosen_inputs

# Memory layout of weights and patterns during learning.
#
# Branch l takes lane ``l % 16`` of block ``l // 16``; row i of a block holds synapse i of its sixteen branches.
# Few branches would leave lanes idle, so a neuron with eight branches or fewer spreads each branch over 2, 4, 8 or 16
# lanes: synapse i of branch l is then in lane ``l + (i % copies) * 16 / copies``, row ``i // copies``.
# The linear neuron is the case of one branch in sixteen lanes.
#
# Each kind of branches starts a new block, so that all lanes of a block have the same g. Inhibitory synapses start a
# new row, the same for all branches of a kind, so that all synapses of a row have the same sign.
#
# A pattern has one bit per place: ``bits[pattern, block, row]`` is a 16-bit word, one bit per lane.

LANES = 16

# Patterns are rearranged in blocks, which takes a megabyte or two for any number of patterns.
BLOCK = 250_000

CACHE_LINE = 64


@dataclass(frozen=True)
class LaneLayout:
    """Positions of the synapses of a neuron in blocks of sixteen lanes."""

    neuron: DendriticNeuron

    @cached_property
    def copies(self) -> int:
        """Number of lanes that share one branch."""
        copies = 1
        while 2 * copies * max(self.neuron.branch_counts) <= LANES:
            copies *= 2
        return copies

    @cached_property
    def _blocks_of_kind(self) -> list[int]:
        return [-(-number * self.copies // LANES) for number in self.neuron.branch_counts]

    @cached_property
    def n_blocks(self) -> int:
        """Number of groups of sixteen lanes."""
        return sum(self._blocks_of_kind)

    @cached_property
    def blocks(self) -> NDArray[np.int64]:
        """The kind of every block, its number of excitatory rows, and its number of all rows."""
        neuron, kinds = self.neuron, range(len(self.neuron.kinds))
        rows = np.zeros((len(kinds), 3), dtype=np.int64)
        rows[:, 0] = kinds
        of_branch = np.stack([neuron.branch_sizes - neuron.inhibitory_sizes, neuron.inhibitory_sizes])
        for kind in kinds:
            excitatory, inhibitory = -(-of_branch[:, neuron.kind_of_branch == kind].max(axis=1) // self.copies)
            rows[kind, 1:] = excitatory, excitatory + inhibitory
        return np.repeat(rows, self._blocks_of_kind, axis=0)

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """Shape of the weights in lanes: blocks, rows, lanes."""
        return (self.n_blocks, int(self.blocks[:, 2].max()), LANES)

    @cached_property
    def _columns(self) -> NDArray[np.int64]:
        """The first lane of every branch, counted over all blocks."""
        counts = self.neuron.branch_counts
        firsts = LANES * np.cumsum([0, *self._blocks_of_kind[:-1]])
        within = np.concatenate([np.arange(number) for number in counts])
        return np.asarray(np.repeat(firsts, counts) + within)

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Flat position of every synapse, in the order of the inputs."""
        neuron, sizes = self.neuron, self.neuron.branch_sizes
        synapse = np.arange(neuron.n_inputs) - np.repeat(neuron.branch_starts, sizes)
        synapse -= np.where(neuron.inhibitory, np.repeat(sizes - neuron.inhibitory_sizes, sizes), 0)
        first = np.repeat(self._columns, sizes)
        copy, row = synapse % self.copies, synapse // self.copies
        row = row + np.where(neuron.inhibitory, self.blocks[first // LANES, 1], 0)
        column = first + copy * (LANES // self.copies)
        _, rows, lanes = self.shape
        return (column // lanes * rows + row) * lanes + column % lanes

    def spread_weights(self, flat: NDArray[Any], dtype: Any) -> NDArray[Any]:
        """Weights in the order of the inputs, arranged in lanes."""
        lanes = aligned_zeros(self.shape, dtype)
        lanes.reshape(-1)[self.places] = flat
        return lanes

    def gather_weights(self, lanes: NDArray[Any]) -> NDArray[Any]:
        """Weights in lanes, rearranged in the order of the inputs."""
        return lanes.reshape(-1)[self.places]

    def constants(self, dtype: Any, rates: NDArray[Any] | None = None) -> NDArray[Any]:
        """Constants of each lane for the kernels, in four rows; idle lanes have zeros.

        1 / sqrt(n_l) and minus sqrt(n_l) times the threshold convert a sum of weights to a branch input, the third row
        is the weight of the branch's output at the soma, and 1 / sqrt(n_l K) is the prefactor of the gradient, times
        ``rates`` if branches learn at different rates.
        """
        n_branches = self.neuron.n_branches
        table = np.zeros((4, self.n_blocks * LANES))
        roots = np.sqrt(self.neuron.branch_sizes)
        for copy in range(self.copies):
            lanes = self._columns + copy * (LANES // self.copies)
            # All copies of a branch have the same output, so each contributes its share.
            table[0, lanes] = 1.0 / roots
            table[1, lanes] = -roots * self.neuron.thresholds
            table[2, lanes] = 1.0 / np.sqrt(n_branches) / self.copies
            table[3, lanes] = (1.0 if rates is None else rates) / (roots * np.sqrt(n_branches))
        result = aligned_zeros((4, self.n_blocks, LANES), dtype)
        result[:] = table.reshape(result.shape)
        return result

    def pack(self, inputs: NDArray[np.uint8] | PackedPatterns) -> NDArray[np.uint16]:
        """Patterns in lanes, one bit per synapse."""
        n_patterns = len(inputs)
        n_places = int(np.prod(self.shape))
        source = np.full(n_places, -1)
        source[self.places] = np.arange(self.neuron.n_inputs)
        words = np.empty((n_patterns, n_places // LANES), dtype=np.uint16)
        step = max(1, BLOCK // n_places)
        for first in range(0, n_patterns, step):
            rows = slice(first, min(first + step, n_patterns))
            if isinstance(inputs, PackedPatterns):
                dense = inputs.unpack(rows, source)
            else:
                dense = chosen_inputs([inputs[rows]], source)
            words[rows] = np.packbits(dense, axis=1, bitorder="little").view("<u2")
        return words.reshape(n_patterns, *self.shape[:2])


def aligned_zeros(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Zeros aligned to a cache line, so that no vector straddles two lines."""
    kind = np.dtype(dtype)
    n_bytes = int(np.prod(shape)) * kind.itemsize
    buffer = np.zeros(n_bytes + CACHE_LINE, dtype=np.uint8)
    start = -buffer.ctypes.data % CACHE_LINE
    result: NDArray[Any] = buffer[start : start + n_bytes].view(kind).reshape(shape)
    return result


# Exponents beyond these make no difference to a weight of order one.
LARGEST_EXPONENT = {"float32": 30.0, "float64": 700.0}

Compilable = Surrogate | Nonlinearity


class CompiledEngine:
    """SGD on weights arranged in lanes.

    ``surrogate`` is one for all branches or one for each kind; None is g'. The soft error is one half at the margin
    ``kappa``. Learning rates are multiplied by ``branch_rates``. Patterns whose soft error is below e^-still change no
    weight, which saves the time of doing so; by default only those whose changes would be lost in rounding.
    """

    def __init__(
        self,
        neuron: DendriticNeuron,
        patterns: Patterns,
        *,
        gamma_ce: float = 100.0,
        surrogate: Surrogate | Sequence[Surrogate] | None = None,
        dtype: str = "float32",
        kappa: float = 0.0,
        branch_rates: NDArray[Any] | None = None,
        still: float | None = None,
    ) -> None:
        from dendrocap.learning import _kernels

        self._kernels: Any = _kernels
        self._kind = np.dtype(dtype).type
        self._layout = LaneLayout(neuron)
        self._n_kinds = len(neuron.kinds)
        self._bits = self._layout.pack(patterns.inputs)
        self._signs = patterns.signs.astype(dtype)
        self._weights = aligned_zeros(self._layout.shape, dtype)
        limit = self._kind(LARGEST_EXPONENT[dtype])
        self._neuron = (
            self._layout.constants(dtype, branch_rates),
            self._kind(np.sqrt(neuron.n_branches) * neuron.spec.theta_s),
            self._layout.copies,
            self._layout.blocks,
            *self._per_kind([kind.nonlinearity for kind in neuron.kinds]),
            limit,
            aligned_zeros(((2 + self._layout.n_blocks) * LANES,), dtype),
        )
        self._rule = (
            *self._per_kind(surrogate or TrueSlope()),
            self._kind(gamma_ce),
            self._kind(kappa),
            limit if still is None else self._kind(still),
        )
        self._homeostasis = homeostasis_for(neuron, patterns.inputs)
        # The kernel reports g' / sqrt(n_l K); this gives back a bound on g' itself.
        self._signal_unit = float(np.sqrt(neuron.branch_size * neuron.n_branches))

    @property
    def pattern_bytes(self) -> int:
        """Memory taken by the patterns."""
        return self._bits.nbytes

    def retune(self, gamma_ce: float, surrogate: Surrogate | Sequence[Surrogate]) -> None:
        """Continue with another loss and dendritic signal; weights and patterns are unchanged."""
        self._rule = (*self._per_kind(surrogate), self._kind(gamma_ce), *self._rule[3:])

    def _per_kind(self, given: Compilable | Sequence[Compilable]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Codes, and one row of parameters for each kind of branches, for the kernels."""
        each = given if isinstance(given, Sequence) else [given] * self._n_kinds
        kernels = [one.kernel() for one in each]
        parameters = np.zeros((len(kernels), max(1, *(kernel.parameters.size for kernel in kernels))))
        for row, kernel in zip(parameters, kernels, strict=True):
            row[: kernel.parameters.size] = kernel.parameters
        return np.array([kernel.code for kernel in kernels], dtype=np.int64), parameters

    def weights(self) -> NDArray[Any]:
        return self._layout.gather_weights(self._weights)

    def set_weights(self, flat: NDArray[Any]) -> None:
        self._weights.reshape(-1)[self._layout.places] = flat  # all other places are always zero

    def epoch(self, order: NDArray[np.int64], learning_rate: float) -> float:
        presented, rate = np.empty(len(self._signs), dtype=self._weights.dtype), self._kind(learning_rate)
        signal = self._kernels.epoch(self._neuron, self._rule, *self._patterns, order, rate, presented)
        if self._homeostasis is not None:
            self.set_weights(self._homeostasis(self.weights().astype(np.float64)))
        return self._signal_unit * float(signal)

    def tested_epoch(
        self, order: NDArray[np.int64], learning_rate: float, worth: int | None = None
    ) -> tuple[float, NDArray[Any]]:
        """An epoch and the margins after it.

        If more than ``worth`` patterns were wrong when presented, the test is left out, and the margins are those that
        patterns had when presented; the order must contain all of them then.
        """
        if self._homeostasis is not None:
            return self.epoch(order, learning_rate), self.margins()
        result, rate = np.empty(len(self._signs), dtype=self._weights.dtype), self._kind(learning_rate)
        most = len(result) if worth is None else worth
        signal = self._kernels.tested_epoch(self._neuron, self._rule, *self._patterns, order, rate, result, most)
        return self._signal_unit * signal, result

    def margins(self) -> NDArray[Any]:
        result = np.empty(len(self._signs), dtype=self._weights.dtype)
        self._kernels.margins(self._neuron, *self._patterns, result)
        return result

    @property
    def _patterns(self) -> tuple[NDArray[Any], ...]:
        return self._weights, self._bits, self._signs
