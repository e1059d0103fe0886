"""Plots for notebooks and scripts: each draws its arguments and returns a Matplotlib figure.

Plots with one pair of axes accept ``ax``, plots with several panels accept ``figure``. Matplotlib is loaded when the
first plot is drawn.
"""

from dendrocap.figures.branch_plots import branch_weights, receptive_fields
from dendrocap.figures.capacity_plots import breaking, curves, solvers
from dendrocap.figures.cell_plots import cell
from dendrocap.figures.dendrite_plots import best_dendrite
from dendrocap.figures.learning_plots import averages, error_curve, generalisation, perturbations, robustness, training
from dendrocap.figures.neuron_plots import neuron_at_capacity
from dendrocap.figures.nonlinearity_plots import nonlinearity, nonlinearity_fit
from dendrocap.figures.state_plots import states
from dendrocap.figures.style import save
from dendrocap.figures.weight_plots import solver_weights, weight_fit

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
