"""How real-valued features become binary inputs of a neuron with non-negative weights.

With non-negative weights an input can only ever excite. So every comparison "feature above threshold" comes with its
complement, "feature not above threshold": what should speak against a class speaks through the absence of its opposite.
Input 2 c is comparison c and input 2 c + 1 its complement. Features that are 0 or 1 already are inputs themselves,
without complements. A missing feature (NaN) is neither above nor not above.

Comparisons are kept at one bit each; complements are formed when they are needed, a block of samples at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dendrocap.errors import InvalidParameter
from dendrocap.model.patterns import PackedPatterns
from dendrocap.validation import choice, refuse

__all__ = ["ENCODINGS", "VACANT", "Comparisons", "Encoder", "WiredInputs", "fitted_encoder"]

Floats = NDArray[np.float64]
Bits = NDArray[np.uint8]

ENCODINGS = ("threshold", "median", None)
# The input of a synapse that is not there.
VACANT = -1
# Comparisons made at a time: a few megabytes whatever the number of samples.
BLOCK = 1_000_000


def _packed(block: NDArray[np.bool_]) -> Bits:
    return np.packbits(block, axis=1, bitorder="little")


def _unpacked(bits: Bits, count: int) -> Bits:
    return np.unpackbits(bits, axis=1, count=count, bitorder="little")


@dataclass(frozen=True, eq=False)
class Encoder:
    """A fixed map from features to binary inputs.

    Parameters
    ----------
    kind : {"threshold", "median", None}
        What features are compared with: quantiles, the median of their own sample, or nothing.
    n_features : int
        Features per sample.
    columns : array of int
        Feature behind each comparison.
    thresholds : array of float
        What it is compared with; empty for "median" and None.

    Examples
    --------
    >>> encoder = fitted_encoder("threshold", np.array([[0.0], [1.0], [np.nan]]), n_thresholds=1)
    >>> encoder.thresholds, encoder.n_inputs
    (array([0.5]), 2)
    >>> encoder(np.array([[0.2], [0.7], [np.nan]])).inputs([0, 1]).unpack().tolist()
    [[0, 1], [1, 0], [0, 0]]
    """

    kind: str | None
    n_features: int
    columns: NDArray[np.int64]
    thresholds: Floats = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        choice("binarize", self.kind, ENCODINGS)
        columns, thresholds = self.columns, self.thresholds
        if columns.ndim != 1 or len(columns) == 0 or np.any((columns < 0) | (columns >= self.n_features)):
            raise refuse("columns", columns, f"features between 0 and {self.n_features - 1}")
        expected = len(columns) if self.kind == "threshold" else 0
        if thresholds.shape != (expected,) or not np.all(np.isfinite(thresholds)):
            raise refuse("thresholds", thresholds, f"{expected} finite numbers")

    @property
    def per_comparison(self) -> int:
        """Inputs per comparison: two with the complement."""
        return 1 if self.kind is None else 2

    @property
    def n_inputs(self) -> int:
        """Binary inputs per sample."""
        return self.per_comparison * len(self.columns)

    def feature_of(self, inputs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The feature behind each input."""
        return self.columns[inputs // self.per_comparison]

    def is_complement(self, inputs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each input is active where the feature is not above its threshold."""
        return np.asarray(inputs % self.per_comparison == 1)

    def threshold_of(self, inputs: NDArray[np.int64]) -> Floats:
        """What the feature behind each input is compared with; NaN where that is not one number."""
        if self.kind != "threshold":
            return np.full(len(inputs), np.nan)
        return self.thresholds[inputs // 2]

    def __call__(self, X: Any) -> Comparisons:
        """Comparisons of samples, which may be sparse."""
        n_samples, step = X.shape[0], max(1, BLOCK // max(self.n_features, len(self.columns)))
        above = np.empty((n_samples, -(-len(self.columns) // 8)), dtype=np.uint8)
        present: Bits | None = None
        for first in range(0, n_samples, step):
            rows = slice(first, first + step)
            block = X[rows].toarray() if hasattr(X, "toarray") else X[rows]
            missing = np.isnan(block) if block.dtype.kind == "f" else None
            if missing is not None and missing.any():
                if present is None:
                    present = np.full((n_samples, -(-self.n_features // 8)), 255, dtype=np.uint8)
                present[rows] = _packed(~missing)
            else:
                missing = None
            above[rows] = _packed(self._compared(block, missing))
        return Comparisons(self, above, present)

    def _compared(self, block: Any, missing: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        if self.kind is None:
            good = (block == 0) | (block == 1)
            if missing is not None:
                good |= missing
            if not good.all():
                raise refuse("binarize", None, f"'threshold' or 'median' for features such as {block[~good][0].item()}")
            return np.asarray(block[:, self.columns] == 1)
        if self.kind == "threshold":
            return np.asarray(block[:, self.columns] > self.thresholds)
        return np.asarray(block > _row_medians(block, missing))


def _row_medians(block: Any, missing: NDArray[np.bool_] | None) -> Any:
    if missing is None:
        return np.median(block, axis=1, keepdims=True)
    # A sample without any feature has no median; nothing is compared with it either.
    return np.nanmedian(np.where(missing.all(axis=1, keepdims=True), 0.0, block), axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Samples as an encoder sees them, at one bit per comparison.

    Parameters
    ----------
    encoder : Encoder
        What was compared with what.
    above : array of uint8, shape (n_samples, ceil(n_comparisons / 8))
        Which comparisons are true.
    present : array of uint8, shape (n_samples, ceil(n_features / 8)), or None
        Which features are not missing; None if none is.
    """

    encoder: Encoder
    above: Bits
    present: Bits | None = None

    def __len__(self) -> int:
        return len(self.above)

    def __getitem__(self, rows: Any) -> Comparisons:
        return Comparisons(self.encoder, self.above[rows], None if self.present is None else self.present[rows])

    def order(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """An order of the samples that depends on their content only: equal ones are neighbours."""
        parts = [self.above] if self.present is None else [self.above, self.present]
        rows = np.ascontiguousarray(np.hstack([*parts, labels.astype(">u4")[:, None].view(np.uint8)]))
        return np.argsort(rows.view(f"V{rows.shape[1]}").ravel(), kind="stable")

    def blocks(self) -> Iterator[tuple[slice, Bits, Bits | None]]:
        """Rows, true comparisons and true complements, a block of samples at a time, one byte each."""
        step = max(1, BLOCK // self.encoder.n_inputs)
        for first in range(0, len(self), step):
            rows = slice(first, min(first + step, len(self)))
            yield rows, *self.dense(rows)

    def dense(self, rows: Any) -> tuple[Bits, Bits | None]:
        """Which comparisons and which complements of some samples are true; there may be no complements."""
        encoder = self.encoder
        above = _unpacked(self.above[rows], len(encoder.columns))
        if encoder.kind is None:
            return above, None
        if self.present is None:
            return above, 1 - above
        return above, _unpacked(self.present[rows], encoder.n_features)[:, encoder.columns] & (1 - above)

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
        """These samples as seen by synapses on the given inputs."""
        flat = np.ascontiguousarray(wiring, dtype=np.int64).ravel()
        return WiredInputs(self.above, len(flat), self, flat)


@dataclass(frozen=True, eq=False)
class WiredInputs(PackedPatterns):
    """Patterns as the synapses of one neuron see them: a view of comparisons, which are not copied.

    Parameters
    ----------
    bits : array of uint8
        Those of the comparisons.
    n_inputs : int
        Synapses.
    comparisons : Comparisons
        What they choose from.
    wiring : array of int, shape (n_inputs,)
        Input of each synapse; `VACANT` is never active.
    """

    comparisons: Comparisons = None  # type: ignore[assignment]
    wiring: NDArray[np.int64] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        n_inputs = self.comparisons.encoder.n_inputs
        if np.any((self.wiring < VACANT) | (self.wiring >= n_inputs)):
            raise refuse("wiring", self.wiring, f"inputs between 0 and {n_inputs - 1}, or {VACANT} for no synapse")

    @cached_property
    def _vacant(self) -> NDArray[np.bool_]:
        return np.asarray(self.wiring == VACANT)

    @cached_property
    def _source(self) -> NDArray[np.int64]:
        """Place of each synapse's input among comparisons followed by complements."""
        encoder, wiring = self.comparisons.encoder, np.maximum(self.wiring, 0)
        place = wiring // encoder.per_comparison + encoder.is_complement(wiring) * len(encoder.columns)
        return np.asarray(place)

    def unpack(self, rows: Any = slice(None)) -> Bits:
        """The patterns, or the given rows of them, with one byte per synapse."""
        above, below = self.comparisons.dense(rows)
        dense = (above if below is None else np.concatenate([above, below], axis=1)).take(self._source, axis=1)
        if self._vacant.any():
            dense[:, self._vacant] = 0
        return dense


def fitted_encoder(kind: str | None, X: Any, n_thresholds: int = 7, weight: Floats | None = None) -> Encoder:
    """An encoder for data like X; quantiles are those of samples with the given weights."""
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
    """Values of a feature and their weights; all zeros of a sparse one are one value."""
    if not hasattr(X, "indptr"):
        return np.asarray(X[:, at], dtype=np.float64), shares
    stored = slice(X.indptr[at], X.indptr[at + 1])
    values, weights = np.asarray(X.data[stored], dtype=np.float64), shares[X.indices[stored]]
    return np.append(values, 0.0), np.append(weights, max(0.0, shares.sum() - weights.sum()))


def _thresholds(values: Floats, shares: Floats, levels: Floats) -> Floats:
    """Thresholds between neighbouring values near the given quantiles, so that rounding cannot flip a comparison."""
    used = ~np.isnan(values) & (shares > 0.0)
    if not used.any():
        return np.empty(0)
    distinct, which = np.unique(values[used], return_inverse=True)
    if len(distinct) == 1:
        return distinct
    below = np.cumsum(np.bincount(which, shares[used]))
    # Threshold i is between values i and i + 1; a share below[i] of the samples is not above it.
    at = np.searchsorted(below, levels * below[-1], side="left")
    gaps = 0.5 * distinct[1:] + 0.5 * distinct[:-1]
    return np.unique(gaps[np.clip(at, 0, len(gaps) - 1)])
