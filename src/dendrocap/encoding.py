"""How real-valued features become binary inputs of a neuron with non-negative weights.

With non-negative weights an input can only ever excite, so every binary feature comes with its complement: what should
speak against a class speaks through the absence of its opposite. The two are neighbours and stay on one branch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dendrocap.errors import InvalidParameter
from dendrocap.model.patterns import binary_inputs

__all__ = ["ENCODINGS", "Encoder", "encoder_from_json", "fitted_encoder"]

Floats = NDArray[np.float64]
Bits = NDArray[np.uint8]

ENCODINGS = ("threshold", "median", None)


@dataclass(frozen=True, eq=False)
class Encoder:
    """A fixed map from features to binary inputs.

    Parameters
    ----------
    kind : {"threshold", "median", None}
        What features are compared with.
    columns : array of int
        Feature behind each comparison, in the order of the inputs.
    thresholds : array of float
        What it is compared with; empty for "median" and None.
    """

    kind: str | None
    columns: NDArray[np.int64]
    thresholds: Floats

    @property
    def group_size(self) -> int:
        """Inputs that belong together: a comparison and its complement."""
        return 1 if self.kind is None else 2

    @property
    def n_inputs(self) -> int:
        """Binary inputs per sample."""
        return self.group_size * len(self.columns)

    def __call__(self, X: Floats) -> Bits:
        """Binary inputs of samples."""
        chosen = X[:, self.columns]
        if self.kind is None:
            try:
                return np.asarray(binary_inputs(chosen))
            except InvalidParameter as error:
                raise InvalidParameter(f"binarize=None needs features that are 0 or 1: {error}") from None
        level = np.median(X, axis=1, keepdims=True) if self.kind == "median" else self.thresholds
        above = chosen > level
        return np.stack([above, ~above], axis=2).reshape(len(X), -1).astype(np.uint8)

    def to_json(self) -> dict[str, Any]:
        """The encoder in plain values."""
        return {"kind": self.kind, "columns": self.columns.tolist(), "thresholds": self.thresholds.tolist()}


def encoder_from_json(plain: dict[str, Any]) -> Encoder:
    """The encoder that `Encoder.to_json` described."""
    columns, thresholds = np.array(plain["columns"], dtype=np.int64), np.array(plain["thresholds"], dtype=np.float64)
    return Encoder(plain["kind"], columns, thresholds)


def fitted_encoder(kind: str | None, X: Floats, n_thresholds: int, rng: np.random.Generator) -> Encoder:
    """An encoder for data like X, its comparisons in random order over the branches."""
    n_features = X.shape[1]
    columns, thresholds = np.arange(n_features), np.empty(0)
    if kind == "threshold":
        levels = np.linspace(0.0, 1.0, n_thresholds + 2)[1:-1]
        pairs = [
            (column, threshold)
            for column in range(n_features)
            for threshold in np.unique(_midpoints(X[:, column], levels))
        ]
        columns = np.array([column for column, _ in pairs], dtype=np.int64)
        thresholds = np.array([threshold for _, threshold in pairs])
    order = rng.permutation(len(columns))
    return Encoder(kind, columns[order], thresholds[order] if len(thresholds) else thresholds)


def _midpoints(values: Floats, levels: Floats) -> Floats:
    """Thresholds between neighbouring values near the given quantiles, so that rounding cannot flip a comparison."""
    distinct = np.unique(values)
    if len(distinct) == 1:
        return distinct
    gaps = 0.5 * (distinct[1:] + distinct[:-1])
    at = np.searchsorted(distinct, np.quantile(values, levels), side="right") - 1
    return np.asarray(gaps[np.clip(at, 0, len(gaps) - 1)])
