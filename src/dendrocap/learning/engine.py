"""One neuron, its patterns and its weights, ready for compiled training."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dendrocap.learning.lanes import LANES, LaneLayout, aligned_zeros
from dendrocap.learning.surrogates import Surrogate, TrueSlope
from dendrocap.model.neuron import DendriticNeuron
from dendrocap.model.nonlinearities import Nonlinearity
from dendrocap.model.patterns import Patterns

__all__ = ["CompiledEngine"]

# Exponents beyond these make no difference to a weight of order one.
LARGEST_EXPONENT = {"float32": 30.0, "float64": 700.0}


class CompiledEngine:
    """SGD on weights laid out in lanes.

    Parameters
    ----------
    neuron : DendriticNeuron
        The neuron to train.
    patterns : Patterns
        Binary inputs, kept at one bit each, and labels.
    gamma_ce : float
        Steepness of the loss.
    surrogate : Surrogate, optional
        The dendritic signal; None is g'.
    dtype : {"float32", "float64"}
        Precision of weights and arithmetic.
    """

    def __init__(
        self,
        neuron: DendriticNeuron,
        patterns: Patterns,
        *,
        gamma_ce: float = 100.0,
        surrogate: Surrogate | None = None,
        dtype: str = "float32",
    ) -> None:
        from dendrocap.learning import _kernels

        self._kernels: Any = _kernels
        self._kind = np.dtype(dtype).type
        self._layout = LaneLayout(neuron)
        self._bits = self._layout.pack(patterns.inputs)
        self._signs = patterns.signs.astype(dtype)
        self._weights = aligned_zeros(self._layout.shape, dtype)
        self._scratch = aligned_zeros(((2 + self._layout.n_blocks) * LANES,), dtype)
        self._neuron: tuple[Any, ...] = (
            self._layout.constants(dtype),
            self._kind(np.sqrt(neuron.n_branches) * neuron.spec.theta_s),
            self._layout.copies,
            *neuron.nonlinearity.kernel(),
        )
        self._rule = (surrogate or TrueSlope()).kernel()
        self._gamma_ce = self._kind(gamma_ce)
        self._limit = self._kind(LARGEST_EXPONENT[dtype])
        # The kernel reports g' / sqrt(n_l K); this gives back a bound on g' itself.
        self._signal_unit = float(np.sqrt(neuron.branch_size * neuron.n_branches))

    @property
    def pattern_bytes(self) -> int:
        """Memory taken by the patterns."""
        return self._bits.nbytes

    def retune(
        self,
        *,
        gamma_ce: float | None = None,
        surrogate: Surrogate | None = None,
        nonlinearity: Nonlinearity | None = None,
    ) -> None:
        """Go on with another loss, another dendritic signal or another g; weights and patterns stay."""
        if gamma_ce is not None:
            self._gamma_ce = self._kind(gamma_ce)
        if surrogate is not None:
            self._rule = surrogate.kernel()
        if nonlinearity is not None:
            self._neuron = (*self._neuron[:3], *nonlinearity.kernel())

    def weights(self) -> NDArray[Any]:
        return self._layout.gather_weights(self._weights)

    def set_weights(self, flat: NDArray[Any]) -> None:
        self._weights[:] = self._layout.spread_weights(flat, self._weights.dtype)

    def epoch(self, order: NDArray[np.int64], learning_rate: float) -> float:
        return self._signal_unit * float(self._kernels.epoch(*self._arguments(order, learning_rate)))

    def tested_epoch(self, order: NDArray[np.int64], learning_rate: float) -> tuple[float, NDArray[Any]]:
        result = np.empty(len(self._signs), dtype=self._weights.dtype)
        signal = self._kernels.tested_epoch(*self._arguments(order, learning_rate), result)
        return self._signal_unit * signal, result

    def _arguments(self, order: NDArray[np.int64], learning_rate: float) -> tuple[Any, ...]:
        return (
            self._weights,
            self._bits,
            self._signs,
            order,
            *self._neuron,
            *self._rule,
            self._kind(learning_rate),
            self._gamma_ce,
            self._limit,
            self._scratch,
        )

    def margins(self) -> NDArray[Any]:
        result = np.empty(len(self._signs), dtype=self._weights.dtype)
        self._kernels.margins(self._weights, self._bits, self._signs, *self._neuron, self._limit, self._scratch, result)
        return result
