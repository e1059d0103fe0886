"""Samples with labels and weights, in an order that depends only on their content."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.encoding import Comparisons
from dendrocap.validation import real_number, refuse

__all__ = ["Labelled", "checked_weights", "with_class_weights"]

Floats = NDArray[np.float64]

# A pattern of weight w is presented w times per epoch; mean weights are rescaled to this range.
LEAST_MEAN, LARGEST_MEAN = 0.1, 10.0


class Labelled(NamedTuple):
    """Samples for training or testing a neuron.

    Parameters
    ----------
    inputs : Comparisons
        The samples.
    labels : array of int
        Index of the class of each sample.
    weight : array or None
        Weight of each sample; None means one.
    """

    inputs: Comparisons
    labels: NDArray[np.int64]
    weight: Floats | None

    def rows(self, chosen: Any) -> Labelled:
        """Some of the samples."""
        return Labelled(self.inputs[chosen], self.labels[chosen], None if self.weight is None else self.weight[chosen])

    def in_order(self) -> Labelled:
        """The same samples in an order given by their content, so that learning does not depend on the order of rows.

        Because presentations are proportional to weights, a sample of weight 2 is then equivalent to two samples.
        """
        return self.rows(self.inputs.order(self.labels))


def checked_weights(sample_weight: ArrayLike | None, n_samples: int) -> Floats | None:
    """The checked weights, or None if all are one."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_samples,):
        raise refuse("sample_weight.shape", weight.shape, f"({n_samples},): one weight per sample")
    if not np.isfinite(weight).all() or weight.min(initial=0.0) < 0.0:
        raise refuse("an entry of sample_weight", float(weight[~(weight >= 0.0)][0]), "a finite number >= 0")
    if not weight.any():
        raise refuse("sample_weight", "all zero", "positive for at least one sample")
    return weight


def with_class_weights(
    class_weight: Any, classes: NDArray[Any], labels: NDArray[np.int64], weight: Floats | None
) -> Floats | None:
    """Weights of the samples times those of their classes; None if all are one."""
    if class_weight is not None:
        given = np.ones(len(labels)) if weight is None else weight
        weight = given * _of_classes(class_weight, classes, labels, given)[labels]
        if not weight.any():
            raise refuse("class_weight", class_weight, "positive for a class that y holds")
    if weight is None or np.all(weight == 1.0):
        return None
    mean = float(weight.mean())
    return weight * (min(max(mean, LEAST_MEAN), LARGEST_MEAN) / mean)


def _of_classes(class_weight: Any, classes: NDArray[Any], labels: NDArray[np.int64], weight: Floats) -> Floats:
    if isinstance(class_weight, str) and class_weight == "balanced":
        share = np.bincount(labels, weight, minlength=len(classes))
        return np.asarray(share.sum() / (np.count_nonzero(share) * np.where(share > 0.0, share, 1.0)))
    if not isinstance(class_weight, dict):
        raise refuse("class_weight", class_weight, "a dict of classes, 'balanced' or None")
    known = classes.tolist()
    for label, value in class_weight.items():
        if label not in known:
            raise refuse("a class of class_weight", label, f"one of {known}")
        real_number(f"class_weight[{label!r}]", value, 0.0)
    return np.array([float(class_weight.get(label, 1.0)) for label in known])
