"""Public names, loaded when they are first used."""

from dendrocap.fitting.curve import (
    NonlinearityFit as NonlinearityFit,
    fit_nonlinearity as fit_nonlinearity,
)
from dendrocap.fitting.morphology import (
    BranchGroup as BranchGroup,
    GroupShare as GroupShare,
    ReconstructedNeuron as ReconstructedNeuron,
    cell_from_morphology as cell_from_morphology,
    group_shares as group_shares,
)
from dendrocap.fitting.report import (
    CapacityReport as CapacityReport,
    capacity_report as capacity_report,
)
from dendrocap.fitting.weights import (
    Interval as Interval,
    WeightFit as WeightFit,
    fit_weights as fit_weights,
)
