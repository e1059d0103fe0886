"""Fits of the model to measurements: dendritic curves, synaptic strengths, and what follows from them.

The layer stands above the theory, which it inverts, and below the experiments, which feed it data.
"""

from dendrocap.fitting.bootstrap import Interval
from dendrocap.fitting.nonlinearity import NonlinearityFit, fit_nonlinearity
from dendrocap.fitting.report import CapacityReport, capacity_report
from dendrocap.fitting.weights import WeightFit, fit_weights

__all__ = [
    "CapacityReport",
    "Interval",
    "NonlinearityFit",
    "WeightFit",
    "capacity_report",
    "fit_nonlinearity",
    "fit_weights",
]
