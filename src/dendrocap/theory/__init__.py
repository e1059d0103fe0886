"""Replica theory: the capacity of the neuron, and the state of its synapses."""

from dendrocap.theory.best_dendrite import BestDendrite, best_dendrite
from dendrocap.theory.branch_stability import BranchStability, branch_stability
from dendrocap.theory.clusters import BrokenSaddlePoint, ComplexityCurve, broken_saddle_point, complexity_curve
from dendrocap.theory.committee import CommitteeCapacity, committee_capacity, committee_stability
from dendrocap.theory.critical_capacity import critical_capacity
from dendrocap.theory.dendrite import Estimate, Moments, gaussian_expectation, moments
from dendrocap.theory.inverse import SilentRange, dendritic_threshold, linear_margin, silent_range, somatic_thresholds
from dendrocap.theory.learned import LearnedMargins, LearnedState, learned_state
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
from dendrocap.theory.local_entropy import LocalEntropy, local_entropy
from dendrocap.theory.margin import MaximalMargin, least_noise_error, maximal_margin
from dendrocap.theory.neuron_kernel import SynapseWeights, TypicalSynapses
from dendrocap.theory.noise_error import noise_error
from dendrocap.theory.patterns import Channel, HardMargin, Probit, Temperature
from dendrocap.theory.saddle_point import SaddlePoint, StabilityLimit, saddle_point, stability_limit
from dendrocap.theory.search import BrokenCapacity, PopulationCapacity, PopulationWeights
from dendrocap.theory.symmetric import CapacitySolution, OtherSolution
from dendrocap.theory.teacher_student import TeacherStudent, crossing_load, teacher_student
from dendrocap.theory.typical_solution import PopulationSaddlePoint, TypicalWeights
from dendrocap.theory.weights import BoundedWeights, BrokenWeights, CapacityWeights, FiniteLoadWeights, Preactivation

__all__ = [
    "BestDendrite",
    "BoundedWeights",
    "BranchStability",
    "BrokenCapacity",
    "BrokenSaddlePoint",
    "BrokenWeights",
    "CapacitySolution",
    "CapacityWeights",
    "Channel",
    "CommitteeCapacity",
    "ComplexityCurve",
    "Estimate",
    "FiniteLoadWeights",
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
    "branch_stability",
    "broken_saddle_point",
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
    "silent_range",
    "somatic_thresholds",
    "stability_limit",
    "teacher_student",
    "zero_load",
]
