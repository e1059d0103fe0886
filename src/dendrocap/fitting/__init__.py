"""Fits of the model to measurements: dendritic curves, synaptic strengths, and the resulting capacity.

This layer inverts the theory below it, and receives data from the experiments above it.
"""

from dendrocap.fitting.curve import NonlinearityFit, fit_nonlinearity
from dendrocap.fitting.morphology import (
    BranchGroup,
    GroupShare,
    ReconstructedNeuron,
    cell_from_morphology,
    group_shares,
)
from dendrocap.fitting.recovery import Recovery, recover_curves, recover_synapses
from dendrocap.fitting.report import CapacityReport, capacity_report
from dendrocap.fitting.weights import Interval, WeightFit, fit_weights

__all__ = [
    "BranchGroup",
    "CapacityReport",
    "GroupShare",
    "Interval",
    "NonlinearityFit",
    "ReconstructedNeuron",
    "Recovery",
    "WeightFit",
    "capacity_report",
    "cell_from_morphology",
    "fit_nonlinearity",
    "fit_weights",
    "group_shares",
    "recover_curves",
    "recover_synapses",
]
