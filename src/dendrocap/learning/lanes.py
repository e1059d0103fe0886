"""Memory layout of weights and patterns during learning.

Branch l takes lane ``l % 16`` of block ``l // 16``; row i of a block holds synapse i of its sixteen branches.
Few branches would leave lanes idle, so a neuron with eight branches or fewer spreads each branch over 2, 4, 8 or 16
lanes: synapse i of branch l is then in lane ``l + (i % copies) * 16 / copies``, row ``i // copies``.
The linear neuron is the case of one branch in sixteen lanes.

Each kind of branches starts a new block, so that all lanes of a block have the same g. Inhibitory synapses start a new
row, the same for all branches of a kind, so that all synapses of a row have the same sign.

A pattern has one bit per place: ``bits[pattern, block, row]`` is a 16-bit word, one bit per lane.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dendrocap.model.dendritic_neuron import DendriticNeuron
from dendrocap.model.patterns import PackedPatterns, chosen_inputs

__all__ = ["LANES", "LaneLayout", "aligned_zeros"]

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
