"""The dendritic neuron as a scikit-learn classifier: encoding, wiring, learning, readout, files."""

from dendrocap.classifier.classifier import DendriticClassifier

__all__ = ["DendriticClassifier"]
