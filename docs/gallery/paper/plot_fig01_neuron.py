"""
Fig. 1: the neuron and its dendrites
====================================

The architecture, synapses on branches with a non-linearity each and a threshold at the soma, and the response
of a dendrite as Polsky et al. measured it.
"""

from dendrocap.reproduction import fig01

figure = fig01.draw(fig01.tables())
