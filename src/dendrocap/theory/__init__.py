"""Replica theory: what the neuron can store, and what its synapses look like when it does."""

from dendrocap.theory.answers import Capacity, binary_entropy
from dendrocap.theory.branches.finite_load import PopulationSaddlePoint, TypicalWeights
from dendrocap.theory.branches.solution import PopulationCapacity, PopulationWeights
from dendrocap.theory.branches.stability import BranchStability, branch_stability
from dendrocap.theory.capacity import capacity
from dendrocap.theory.critical_capacity import critical_capacity
from dendrocap.theory.finite_load_weights import FiniteLoadWeights
from dendrocap.theory.gaussian import Estimate, Moments, gaussian_expectation, moments
from dendrocap.theory.inverse import SilentRange, dendritic_threshold, linear_margin, silent_range, somatic_thresholds
from dendrocap.theory.limits import (
    ZeroLoad,
    committee_ceiling,
    large_threshold_silent_fraction,
    large_threshold_slope,
    perceptron_limit,
    relu_large_threshold_capacity,
    zero_load,
)
from dendrocap.theory.parameter_grids import capacity_curve, saddle_point_curve
from dendrocap.theory.replica_symmetric import CapacitySolution, OtherSolution
from dendrocap.theory.rsb import BrokenCapacity, BrokenWeights, CommitteeCapacity, committee_capacity
from dendrocap.theory.saddle_point import SaddlePoint, saddle_point
from dendrocap.theory.stability_limit import StabilityLimit, stability_limit
from dendrocap.theory.validity import Flag
from dendrocap.theory.weight_distributions import CapacityWeights, Preactivation

__all__ = [
    "BranchStability",
    "BrokenCapacity",
    "BrokenWeights",
    "Capacity",
    "CapacitySolution",
    "CapacityWeights",
    "CommitteeCapacity",
    "Estimate",
    "FiniteLoadWeights",
    "Flag",
    "Moments",
    "OtherSolution",
    "PopulationCapacity",
    "PopulationSaddlePoint",
    "PopulationWeights",
    "Preactivation",
    "SaddlePoint",
    "SilentRange",
    "StabilityLimit",
    "TypicalWeights",
    "ZeroLoad",
    "binary_entropy",
    "branch_stability",
    "capacity",
    "capacity_curve",
    "committee_capacity",
    "committee_ceiling",
    "critical_capacity",
    "dendritic_threshold",
    "gaussian_expectation",
    "large_threshold_silent_fraction",
    "large_threshold_slope",
    "linear_margin",
    "moments",
    "perceptron_limit",
    "relu_large_threshold_capacity",
    "saddle_point",
    "saddle_point_curve",
    "silent_range",
    "somatic_thresholds",
    "stability_limit",
    "zero_load",
]
