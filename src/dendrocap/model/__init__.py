"""The neuron, its dendritic non-linearity and its patterns."""

from dendrocap.loading import load_on_use

load_on_use(__name__)
