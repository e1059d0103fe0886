"""The dendritic neuron as a scikit-learn classifier: encoding, wiring, learning, readout, files."""

from dendrocap.loading import load_on_use

load_on_use(__name__)
