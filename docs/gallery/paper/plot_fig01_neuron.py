"""
Fig. 1: the neuron and its dendrites
====================================

The architecture, synapses on branches with a non-linearity each and a threshold at the soma, and the response
of a dendrite as Polsky et al. measured it.
"""

from dendrocap.figures.architecture import draw_architecture
from dendrocap.reproduction.theory_figures import sketch

figure = draw_architecture(sketch())
