"""Fits of the model to measurements: dendritic curves, synaptic strengths, and what follows from them.

The layer stands above the theory, which it inverts, and below the experiments, which feed it data.
"""

from dendrocap.fitting.amplitudes import WeightFit, fit_weights
from dendrocap.fitting.bootstrap import Interval
from dendrocap.fitting.capacity_report import CapacityReport, capacity_report
from dendrocap.fitting.dendritic_curve import NonlinearityFit, fit_nonlinearity

__all__ = [
    "CapacityReport",
    "Interval",
    "NonlinearityFit",
    "WeightFit",
    "capacity_report",
    "fit_nonlinearity",
    "fit_weights",
]
