"""
Fig. 1: the neuron and its dendrites
====================================

The architecture, synapses on branches with a non-linearity each and a threshold at the soma, and the response
of a dendrite as Polsky et al. measured it.
"""

from dendrocap.reproduction import PRESETS, selected

(fig1,) = selected(["fig1"])
figure = fig1.draw(fig1.tables(PRESETS["quick"], []))
