"""Fits of the model to measurements: dendritic curves, synaptic strengths, and the resulting capacity.

This layer inverts the theory below it, and receives data from the experiments above it.
"""

from dendrocap.loading import load_on_use

load_on_use(__name__)
