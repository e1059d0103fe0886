"""Plots for notebooks and scripts: each draws its arguments and returns a Matplotlib figure.

Plots with one pair of axes accept ``ax``, plots with several panels accept ``figure``. Matplotlib is loaded when the
first plot is drawn.
"""

from dendrocap.figures.learning import averages, error_curve, generalisation, perturbations, robustness, training
from dendrocap.figures.measured import cell, neuron_at_capacity, solver_weights, weight_fit
from dendrocap.figures.style import save
from dendrocap.figures.theory import (
    best_dendrite,
    branch_weights,
    breaking,
    curves,
    nonlinearity,
    nonlinearity_fit,
    receptive_fields,
    solvers,
    states,
)

__all__ = [
    "averages",
    "best_dendrite",
    "branch_weights",
    "breaking",
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
    "solver_weights",
    "solvers",
    "states",
    "training",
    "weight_fit",
]
