"""Plots for notebooks and scripts: each draws its arguments and returns a Matplotlib figure.

Plots with one pair of axes draw into ``ax`` if it is given, plots with several panels into ``figure``; by default the
figure is new. Matplotlib is loaded when the
first plot is drawn.
"""

from dendrocap.figures.learning import averages, error_curve, generalisation, perturbations, robustness, training
from dendrocap.figures.measured import cell, neuron_at_capacity, weight_fit
from dendrocap.figures.style import save
from dendrocap.figures.theory import (
    best_dendrite,
    branch_weights,
    curves,
    nonlinearity,
    nonlinearity_fit,
    receptive_fields,
    states,
)

__all__ = [
    "averages",
    "best_dendrite",
    "branch_weights",
    "cell",
    "curves",
    "error_curve",
    "generalisation",
    "neuron_at_capacity",
    "nonlinearity",
    "nonlinearity_fit",
    "perturbations",
    "receptive_fields",
    "robustness",
    "save",
    "states",
    "training",
    "weight_fit",
]
