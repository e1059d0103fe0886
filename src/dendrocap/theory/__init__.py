"""Replica theory: the capacity of the neuron, and the state of its synapses."""

from dendrocap.theory.answers import Capacity, binary_entropy
from dendrocap.theory.best_dendrite import BestDendrite, best_dendrite
from dendrocap.theory.branches.solution import PopulationCapacity, PopulationWeights
from dendrocap.theory.branches.stability import BranchStability, branch_stability
from dendrocap.theory.branches.synapses import SynapseWeights, TypicalSynapses
from dendrocap.theory.branches.typical_solution import PopulationSaddlePoint, TypicalWeights
from dendrocap.theory.capacity import capacity
from dendrocap.theory.channels import Channel, HardMargin, Probit, Temperature
from dendrocap.theory.critical_capacity import critical_capacity
from dendrocap.theory.finite_load_weights import FiniteLoadWeights
from dendrocap.theory.gaussian import Estimate, Moments, gaussian_expectation, moments
from dendrocap.theory.inverse import SilentRange, dendritic_threshold, linear_margin, silent_range, somatic_thresholds
from dendrocap.theory.limits import (
    ZeroLoad,
    committee_ceiling,
    large_margin_capacity,
    large_threshold_silent_fraction,
    large_threshold_slope,
    perceptron_limit,
    relu_large_threshold_capacity,
    sparse_labels_capacity,
    zero_load,
)
from dendrocap.theory.local.local_entropy import LocalEntropy, local_entropy
from dendrocap.theory.parameter_grids import capacity_curve, saddle_point_curve
from dendrocap.theory.replica_symmetric import CapacitySolution, OtherSolution
from dendrocap.theory.rsb import (
    BrokenCapacity,
    BrokenSaddlePoint,
    BrokenWeights,
    CommitteeCapacity,
    ComplexityCurve,
    broken_saddle_point,
    committee_capacity,
    committee_stability,
    complexity_curve,
)
from dendrocap.theory.saddle_point import SaddlePoint, saddle_point
from dendrocap.theory.saturation.below_capacity import BoundedWeights
from dendrocap.theory.stability_limit import StabilityLimit, stability_limit
from dendrocap.theory.states.learned import LearnedMargins, LearnedState, learned_state
from dendrocap.theory.states.margin import MaximalMargin, least_noise_error, maximal_margin
from dendrocap.theory.states.noise_error import noise_error
from dendrocap.theory.states.teacher_student import TeacherStudent, crossing_load, teacher_student
from dendrocap.theory.validity import Flag
from dendrocap.theory.weight_distributions import CapacityWeights, Preactivation

__all__ = [
    "BestDendrite",
    "BoundedWeights",
    "BranchStability",
    "BrokenCapacity",
    "BrokenSaddlePoint",
    "BrokenWeights",
    "Capacity",
    "CapacitySolution",
    "CapacityWeights",
    "Channel",
    "CommitteeCapacity",
    "ComplexityCurve",
    "Estimate",
    "FiniteLoadWeights",
    "Flag",
    "HardMargin",
    "LearnedMargins",
    "LearnedState",
    "LocalEntropy",
    "MaximalMargin",
    "Moments",
    "OtherSolution",
    "PopulationCapacity",
    "PopulationSaddlePoint",
    "PopulationWeights",
    "Preactivation",
    "Probit",
    "SaddlePoint",
    "SilentRange",
    "StabilityLimit",
    "SynapseWeights",
    "TeacherStudent",
    "Temperature",
    "TypicalSynapses",
    "TypicalWeights",
    "ZeroLoad",
    "best_dendrite",
    "binary_entropy",
    "branch_stability",
    "broken_saddle_point",
    "capacity",
    "capacity_curve",
    "committee_capacity",
    "committee_stability",
    "committee_ceiling",
    "complexity_curve",
    "critical_capacity",
    "crossing_load",
    "dendritic_threshold",
    "gaussian_expectation",
    "large_margin_capacity",
    "large_threshold_silent_fraction",
    "large_threshold_slope",
    "learned_state",
    "least_noise_error",
    "linear_margin",
    "local_entropy",
    "maximal_margin",
    "moments",
    "noise_error",
    "perceptron_limit",
    "relu_large_threshold_capacity",
    "sparse_labels_capacity",
    "saddle_point",
    "saddle_point_curve",
    "silent_range",
    "somatic_thresholds",
    "stability_limit",
    "teacher_student",
    "zero_load",
]
