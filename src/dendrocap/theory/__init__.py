"""Replica theory: the capacity of the neuron, and the state of its synapses."""

from dendrocap.loading import load_on_use

load_on_use(__name__)
