"""Descriptions of the synapses and branches of a classifier."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dendrocap.encoding import VACANT, Comparisons, Encoder
from dendrocap.model import DendriticNeuron
from dendrocap.validation import refuse

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Readout"]

Floats = NDArray[np.float64]


class Readout:
    """Weights in terms of inputs: branch inputs of samples, tables, receptive fields.

    Parameters
    ----------
    neuron : DendriticNeuron
        Shape of the neurons.
    encoder : Encoder
        Encoding of their inputs.
    weights, wiring : array, shape (n_neurons, n_branches, branch_size)
        Weight and input of every synapse.
    """

    def __init__(self, neuron: DendriticNeuron, encoder: Encoder, weights: Floats, wiring: NDArray[np.int64]) -> None:
        self.neuron, self.encoder, self.weights, self.wiring = neuron, encoder, weights, wiring

    def branch_input(self, samples: Comparisons, above: Any, below: Any) -> Floats:
        """lambda_l of a block of samples, shape (n_samples, n_neurons, n_branches) [model]."""
        by_input = self._by_input
        root = np.sqrt(self.neuron.branch_size)
        if below is None:
            sums = above.astype(np.float64) @ by_input[0]
        elif not samples.has_missing:
            # A complement is 1 - comparison, so one matrix product serves both.
            sums = above.astype(np.float64) @ (by_input[0] - by_input[1]) + by_input[1].sum(axis=0)
        else:
            sums = above.astype(np.float64) @ by_input[0] + below.astype(np.float64) @ by_input[1]
        return np.asarray(sums.reshape(len(above), *self.weights.shape[:2]) / root - root * self.neuron.thresholds)

    def somatic_input(self, samples: Comparisons) -> Floats:
        """Delta of every sample and neuron, shape (n_samples, n_neurons) [model]."""
        root = np.sqrt(self.neuron.n_branches)
        result = np.empty((len(samples), len(self.weights)))
        for rows, above, below in samples.blocks():
            outputs = self.neuron.nonlinearity(self.branch_input(samples, above, below))
            result[rows] = outputs.sum(axis=2) / root - root * self.neuron.spec.theta_s
        return result

    def branch_output(self, samples: Comparisons) -> Floats:
        """g(lambda_l) of every sample, shape (n_samples, n_neurons, n_branches)."""
        result = np.empty((len(samples), *self.weights.shape[:2]))
        for rows, above, below in samples.blocks():
            result[rows] = self.neuron.nonlinearity(self.branch_input(samples, above, below))
        return result

    @cached_property
    def _by_input(self) -> Floats:
        """Weight of every input on every branch: comparisons, then complements, each (n_comparisons, all branches)."""
        n_neurons, n_branches, size = self.weights.shape
        table = np.zeros((self.encoder.n_inputs, n_neurons * n_branches))
        column = np.repeat(np.arange(n_neurons * n_branches), size)
        taken = self.wiring.ravel() != VACANT
        np.add.at(table, (self.wiring.ravel()[taken], column[taken]), self.weights.ravel()[taken])
        shape = (len(self.encoder.columns), self.encoder.per_comparison, -1)
        return np.ascontiguousarray(table.reshape(shape).transpose(1, 0, 2))

    def synapses(self, classes: NDArray[Any], names: NDArray[Any]) -> pd.DataFrame:
        """One row per synapse: neuron, its class, branch, feature, threshold, complement, weight."""
        import pandas as pd

        neuron, branch, place = np.nonzero(self.wiring != VACANT)
        inputs = self.wiring[neuron, branch, place]
        return pd.DataFrame(
            {
                "neuron": neuron,
                "class": classes[neuron],
                "branch": branch,
                "feature": names[self.encoder.feature_of(inputs)],
                "threshold": self.encoder.threshold_of(inputs),
                "complement": self.encoder.is_complement(inputs),
                "weight": self.weights[neuron, branch, place],
            }
        )

    def receptive_fields(self, image_shape: tuple[int, ...]) -> Floats:
        """Weight of every pixel minus that of its complement, shape (n_neurons, n_branches, *image_shape)."""
        if int(np.prod(image_shape)) != self.encoder.n_features:
            raise refuse("image_shape", image_shape, f"a shape of {self.encoder.n_features} pixels")
        by_input = self._by_input
        signed = by_input[0] - by_input[1] if self.encoder.per_comparison == 2 else by_input[0]
        fields = np.zeros((self.encoder.n_features, signed.shape[1]))
        np.add.at(fields, self.encoder.columns, signed)
        return fields.T.reshape(*self.weights.shape[:2], *image_shape)
