"""One neuron, its patterns and its weights, ready for compiled training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dendrocap.learning.homeostasis import homeostasis_for
from dendrocap.learning.lanes import LANES, LaneLayout, aligned_zeros
from dendrocap.learning.surrogates import Surrogate, TrueSlope
from dendrocap.model.dendritic_neuron import DendriticNeuron
from dendrocap.model.nonlinearities import Nonlinearity
from dendrocap.model.patterns import Patterns

__all__ = ["CompiledEngine"]

# Exponents beyond these make no difference to a weight of order one.
LARGEST_EXPONENT = {"float32": 30.0, "float64": 700.0}
Compilable = Surrogate | Nonlinearity


class CompiledEngine:
    """SGD on weights arranged in lanes.

    Parameters
    ----------
    neuron : DendriticNeuron
        The neuron to train.
    patterns : Patterns
        Binary inputs, stored at one bit each, and labels.
    gamma_ce : float
        Steepness of the loss.
    surrogate : Surrogate or a sequence of them, optional
        The dendritic signal, one for all branches or one for each kind; None is g'.
    dtype : {"float32", "float64"}
        Precision of weights and arithmetic.
    kappa : float
        Margin at which the soft error is one half.
    branch_rates : array, shape (n_branches,), optional
        Factors of the learning rate, one for each branch.
    still : float, optional
        Patterns whose soft error is below e^-still change no weight, which saves the time of doing so; by default only
        those whose changes would be lost in rounding.
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
        self._scratch = aligned_zeros(((2 + self._layout.n_blocks) * LANES,), dtype)
        self._neuron: tuple[Any, ...] = (
            self._layout.constants(dtype, branch_rates),
            self._kind(np.sqrt(neuron.n_branches) * neuron.spec.theta_s),
            self._layout.copies,
            self._layout.blocks,
            *self._per_kind([kind.nonlinearity for kind in neuron.kinds]),
        )
        self._rule = self._per_kind(surrogate or TrueSlope())
        self._gamma_ce, self._kappa = self._kind(gamma_ce), self._kind(kappa)
        self._limit = self._kind(LARGEST_EXPONENT[dtype])
        self._still = self._limit if still is None else self._kind(still)
        self._homeostasis = homeostasis_for(neuron, patterns.inputs)
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
        surrogate: Surrogate | Sequence[Surrogate] | None = None,
        nonlinearity: Nonlinearity | Sequence[Nonlinearity] | None = None,
    ) -> None:
        """Continue with another loss, dendritic signal or g for each kind; weights and patterns are unchanged."""
        if gamma_ce is not None:
            self._gamma_ce = self._kind(gamma_ce)
        if surrogate is not None:
            self._rule = self._per_kind(surrogate)
        if nonlinearity is not None:
            self._neuron = (*self._neuron[:4], *self._per_kind(nonlinearity))

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
        presented = np.empty(len(self._signs), dtype=self._weights.dtype)
        signal = self._signal_unit * float(self._kernels.epoch(*self._arguments(order, learning_rate), presented))
        if self._homeostasis is not None:
            self.set_weights(self._homeostasis(self.weights().astype(np.float64)))
        return signal

    def tested_epoch(
        self, order: NDArray[np.int64], learning_rate: float, worth: int | None = None
    ) -> tuple[float, NDArray[Any]]:
        """An epoch and the margins after it.

        If more than ``worth`` patterns were wrong when presented, the test is left out, and the margins are those that
        patterns had when presented; the order must contain all of them then.
        """
        if self._homeostasis is not None:
            return self.epoch(order, learning_rate), self.margins()
        result = np.empty(len(self._signs), dtype=self._weights.dtype)
        most = len(result) if worth is None else worth
        signal = self._kernels.tested_epoch(*self._arguments(order, learning_rate), result, most)
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
            self._kappa,
            self._limit,
            self._still,
            self._scratch,
        )

    def margins(self) -> NDArray[Any]:
        result = np.empty(len(self._signs), dtype=self._weights.dtype)
        self._kernels.margins(self._weights, self._bits, self._signs, *self._neuron, self._limit, self._scratch, result)
        return result
