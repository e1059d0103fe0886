"""Encoding of real-valued features as binary inputs of a neuron with non-negative weights.

With non-negative weights an input can only excite. Every comparison "feature above threshold" is therefore paired with
its complement, "feature not above threshold": evidence against a class arrives as the absence of its complement. Input
2 c is comparison c and input 2 c + 1 its complement. Features that are already 0 or 1 are used as inputs directly,
without complements. A missing feature (NaN) activates neither input.

Comparisons are not stored. They are computed from the features when they are needed, a block of samples at a time. This
is faster than gathering the inputs of one neuron, the next step, and needs no memory that grows with the samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dendrocap.errors import InvalidParameter
from dendrocap.model.patterns import PackedPatterns, chosen_inputs
from dendrocap.numerics.types import Floats
from dendrocap.validation import choice, refuse

Bits = NDArray[np.uint8]

ENCODINGS = ("threshold", "median", None)

# Marks a synapse without an input.
VACANT = -1

# Comparisons per block: a few megabytes for any number of samples.
BLOCK = 1_000_000


@dataclass(frozen=True, eq=False)
class Encoder:
    """A fixed map from features to binary inputs.

    >>> encoder = fitted_encoder("threshold", np.array([[0.0], [1.0], [np.nan]]), n_thresholds=1)
    >>> encoder.thresholds, encoder.n_inputs
    (array([0.5]), 2)
    >>> encoder(np.array([[0.2], [0.7], [np.nan]])).inputs([0, 1]).unpack().tolist()
    [[0, 1], [1, 0], [0, 0]]
    """

    kind: str | None  # features are compared with quantiles, with the median of the sample itself, or with nothing
    n_features: int
    columns: NDArray[np.int64]  # feature of each comparison, in increasing order
    thresholds: Floats = field(default_factory=lambda: np.empty(0))  # of each comparison, if they are quantiles

    def __post_init__(self) -> None:
        choice("binarize", self.kind, ENCODINGS)
        columns, thresholds = self.columns, self.thresholds
        inside = columns.ndim == 1 and len(columns) > 0 and np.all((columns >= 0) & (columns < self.n_features))
        if not inside or np.any(np.diff(columns) < 0):
            raise refuse("columns", columns, f"features between 0 and {self.n_features - 1} in increasing order")
        if self.kind != "threshold" and not np.array_equal(columns, np.arange(self.n_features)):
            raise refuse(
                "columns", columns, f"all {self.n_features} features in their order for binarize={self.kind!r}"
            )
        expected = len(columns) if self.kind == "threshold" else 0
        if thresholds.shape != (expected,) or not np.all(np.isfinite(thresholds)):
            raise refuse("thresholds", thresholds, f"{expected} finite numbers")

    @cached_property
    def per_feature(self) -> NDArray[np.int64]:
        """Comparisons per feature."""
        return np.bincount(self.columns, minlength=self.n_features)

    @property
    def per_comparison(self) -> int:
        """Inputs per comparison: two with the complement."""
        return 1 if self.kind is None else 2

    @property
    def n_inputs(self) -> int:
        """Binary inputs per sample."""
        return self.per_comparison * len(self.columns)

    def feature_of(self, inputs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The feature that each input is computed from."""
        return self.columns[inputs // self.per_comparison]

    def is_complement(self, inputs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each input is active when its feature is not above the threshold."""
        return np.asarray(inputs % self.per_comparison == 1)

    def threshold_of(self, inputs: NDArray[np.int64]) -> Floats:
        """The threshold of each input; NaN where it is not a single number."""
        if self.kind != "threshold":
            return np.full(len(inputs), np.nan)
        return self.thresholds[inputs // 2]

    def __call__(self, X: Any) -> Comparisons:
        """Comparisons of samples; X may be sparse."""
        medians = np.empty((X.shape[0], 1)) if self.kind == "median" else None
        has_missing = False
        step = max(1, BLOCK // self.n_features)
        for first in range(0, X.shape[0], step):
            rows = slice(first, first + step)
            block = _dense(X[rows])
            missing = _missing(block)
            has_missing = has_missing or missing is not None
            if medians is not None:
                medians[rows] = _row_medians(block, missing)
            elif self.kind is None:
                _check_binary(block, missing)
        if self.kind is None and hasattr(X, "toarray") and not has_missing:
            # Blocks of binary features are converted to dense arrays repeatedly: one byte each takes an eighth.
            X = X.astype(np.bool_, copy=False)
        return Comparisons(self, X, np.arange(X.shape[0]), has_missing, medians)


def _dense(block: Any) -> Any:
    return block.toarray() if hasattr(block, "toarray") else block


def _missing(block: Any) -> NDArray[np.bool_] | None:
    """Mask of missing features; None if no feature is missing."""
    missing = np.isnan(block) if block.dtype.kind == "f" else None
    return missing if missing is not None and missing.any() else None


def _row_medians(block: Any, missing: NDArray[np.bool_] | None) -> Any:
    if missing is None:
        return np.median(block, axis=1, keepdims=True)
    # A sample in which every feature is missing has no median, and nothing is compared with it.
    return np.nanmedian(np.where(missing.all(axis=1, keepdims=True), 0.0, block), axis=1, keepdims=True)


def _check_binary(block: Any, missing: NDArray[np.bool_] | None) -> None:
    good = (block == 0) | (block == 1)
    if missing is not None:
        good |= missing
    if not good.all():
        raise refuse("binarize", None, f"'threshold' or 'median' for features such as {block[~good][0].item()}")


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Samples in the view of an encoder, computed from their features on demand."""

    encoder: Encoder
    X: Any  # array or CSR matrix
    rows: NDArray[np.int64]  # of X that are the samples
    has_missing: bool  # whether X has missing features
    medians: Floats | None  # of every row of X, shape (len(X), 1), if features are compared with them

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, chosen: Any) -> Comparisons:
        return replace(self, rows=self.rows[chosen])

    def order(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """An order of the samples that depends only on their content; equal samples are adjacent."""
        above = np.empty((len(self), -(-len(self.encoder.columns) // 8)), dtype=np.uint8)
        present = np.empty((len(self), -(-self.encoder.n_features // 8 if self.has_missing else 0)), dtype=np.uint8)
        for rows in self._blocks():
            block, comparisons = self._compared(rows)
            above[rows] = np.packbits(comparisons, axis=1, bitorder="little")
            if self.has_missing:
                present[rows] = np.packbits(~np.isnan(block), axis=1, bitorder="little")
        # The last key is the primary one. Rows of bytes are compared lexicographically.
        keys: list[Any] = [bits.view(f"V{bits.shape[1]}").ravel() for bits in (present, above) if bits.size]
        return np.lexsort([labels, *keys])

    def blocks(self) -> Iterator[tuple[slice, Bits, Bits | None]]:
        """Rows, true comparisons and true complements, one block of samples at a time, one byte per value."""
        for rows in self._blocks():
            yield rows, *self.dense(rows)

    def _blocks(self) -> Iterator[slice]:
        step = max(1, BLOCK // self.encoder.n_inputs)
        return (slice(first, min(first + step, len(self))) for first in range(0, len(self), step))

    def dense(self, chosen: Any) -> tuple[Bits, Bits | None]:
        """The true comparisons and true complements of some samples; the latter are None without complements."""
        block, comparisons = self._compared(chosen)
        above = comparisons.view(np.uint8)
        if self.encoder.kind is None:
            return above, None
        missing = _missing(block) if self.has_missing else None
        below = ~comparisons if missing is None else ~(comparisons | missing.repeat(self.encoder.per_feature, axis=1))
        return above, below.view(np.uint8)

    def _compared(self, chosen: Any) -> tuple[Any, NDArray[np.bool_]]:
        """Features of some samples, and which of their comparisons are true."""
        rows, encoder = self.rows[chosen], self.encoder
        block = _dense(self.X[rows])
        if self.medians is not None:
            return block, np.asarray(block > self.medians[rows])
        if encoder.kind is None:
            return block, np.asarray(block == 1)
        return block, np.asarray(block.repeat(encoder.per_feature, axis=1) > encoder.thresholds)

    def activity(self, weight: Floats | None = None) -> Floats:
        """Fraction of samples in which each input is active."""
        n_comparisons = len(self.encoder.columns)
        total = np.zeros((self.encoder.per_comparison, n_comparisons))
        shares = np.full(len(self), 1.0 / len(self)) if weight is None else weight / weight.sum()
        for rows, above, below in self.blocks():
            for at, active in enumerate((above, below)[: self.encoder.per_comparison]):
                total[at] += shares[rows] @ active
        return total.T.ravel()

    def inputs(self, wiring: Any) -> WiredInputs:
        """These samples as inputs of synapses with the given wiring."""
        flat = np.ascontiguousarray(wiring, dtype=np.int64).ravel()
        return WiredInputs(np.empty((len(self), 0), dtype=np.uint8), len(flat), self, flat)


@dataclass(frozen=True, eq=False)
class WiredInputs(PackedPatterns):
    """Patterns as seen by the synapses of one neuron: a view of comparisons; its own ``bits`` are empty."""

    comparisons: Comparisons = None  # type: ignore[assignment]
    wiring: NDArray[np.int64] = None  # type: ignore[assignment]  # the input of each synapse

    def __post_init__(self) -> None:
        n_inputs = self.comparisons.encoder.n_inputs
        if np.any((self.wiring < VACANT) | (self.wiring >= n_inputs)):
            raise refuse("wiring", self.wiring, f"inputs between 0 and {n_inputs - 1}, or {VACANT} for no synapse")

    @cached_property
    def _source(self) -> NDArray[np.int64]:
        """Position of each synapse's input among comparisons followed by complements; -1 if it is vacant."""
        encoder, wiring = self.comparisons.encoder, self.wiring
        place = wiring // encoder.per_comparison + encoder.is_complement(wiring) * len(encoder.columns)
        return np.where(wiring == VACANT, -1, place)

    def unpack(self, rows: Any = slice(None), inputs: NDArray[np.int64] | None = None) -> Bits:
        """The patterns, or the given rows and synapses of them, one byte per synapse; input -1 is never active."""
        above, below = self.comparisons.dense(rows)
        source = self._source if inputs is None else np.append(self._source, -1)[inputs]
        return chosen_inputs([above] if below is None else [above, below], source)


def fitted_encoder(kind: str | None, X: Any, n_thresholds: int = 7, weight: Floats | None = None) -> Encoder:
    """An encoder for data like X; quantiles are weighted by ``weight``."""
    n_features = X.shape[1]
    choice("binarize", kind, ENCODINGS)
    if kind != "threshold":
        return Encoder(kind, n_features, np.arange(n_features))
    levels = np.linspace(0.0, 1.0, n_thresholds + 2)[1:-1]
    shares = np.ones(X.shape[0]) if weight is None else weight
    columns = X.tocsc() if hasattr(X, "tocsc") else X
    found = [_thresholds(*_column(columns, at, shares), levels) for at in range(n_features)]
    if not any(len(thresholds) for thresholds in found):
        raise InvalidParameter("every feature is missing in every sample: there is nothing to compare")
    counts = [len(thresholds) for thresholds in found]
    return Encoder(kind, n_features, np.repeat(np.arange(n_features), counts), np.concatenate(found))


def _column(X: Any, at: int, shares: Floats) -> tuple[Floats, Floats]:
    """Values of a feature and their weights; all zeros of a sparse feature count as one value."""
    if not hasattr(X, "indptr"):
        return np.asarray(X[:, at], dtype=np.float64), shares
    stored = slice(X.indptr[at], X.indptr[at + 1])
    values, weights = np.asarray(X.data[stored], dtype=np.float64), shares[X.indices[stored]]
    return np.append(values, 0.0), np.append(weights, max(0.0, shares.sum() - weights.sum()))


def _thresholds(values: Floats, shares: Floats, levels: Floats) -> Floats:
    """Thresholds between neighbouring values near the given quantiles, so that rounding cannot change a comparison."""
    used = ~np.isnan(values) & (shares > 0.0)
    if not used.any():
        return np.empty(0)
    distinct, which = np.unique(values[used], return_inverse=True)
    if len(distinct) == 1:
        return distinct
    below = np.cumsum(np.bincount(which, shares[used]))
    # Threshold i lies between values i and i + 1; the share below[i] of the samples is not above it.
    at = np.searchsorted(below, levels * below[-1], side="left")
    gaps = 0.5 * distinct[1:] + 0.5 * distinct[:-1]
    return np.unique(gaps[np.clip(at, 0, len(gaps) - 1)])
