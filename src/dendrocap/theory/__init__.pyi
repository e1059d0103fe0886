"""Public names, loaded when they are first used."""

from dendrocap.theory.best_dendrite import (
    BestDendrite as BestDendrite,
    best_dendrite as best_dendrite,
)
from dendrocap.theory.branch_stability import (
    BranchStability as BranchStability,
    branch_stability as branch_stability,
)
from dendrocap.theory.clusters import (
    ComplexityCurve as ComplexityCurve,
    broken_saddle_point as broken_saddle_point,
    complexity_curve as complexity_curve,
)
from dendrocap.theory.critical_capacity import (
    best_inhibition as best_inhibition,
    critical_capacity as critical_capacity,
)
from dendrocap.theory.dendrite import (
    Estimate as Estimate,
    Moments as Moments,
    gaussian_expectation as gaussian_expectation,
    moments as moments,
)
from dendrocap.theory.inverse import (
    SilentRange as SilentRange,
    dendritic_threshold as dendritic_threshold,
    linear_margin as linear_margin,
    silent_range as silent_range,
    somatic_thresholds as somatic_thresholds,
)
from dendrocap.theory.learned import (
    LearnedMargins as LearnedMargins,
    LearnedState as LearnedState,
    learned_state as learned_state,
)
from dendrocap.theory.limits import (
    ZeroLoad as ZeroLoad,
    committee_ceiling as committee_ceiling,
    large_margin_capacity as large_margin_capacity,
    large_threshold_silent_fraction as large_threshold_silent_fraction,
    large_threshold_slope as large_threshold_slope,
    perceptron_limit as perceptron_limit,
    relu_large_threshold_capacity as relu_large_threshold_capacity,
    sparse_labels_capacity as sparse_labels_capacity,
    zero_load as zero_load,
)
from dendrocap.theory.local_entropy import (
    LocalEntropy as LocalEntropy,
    local_entropy as local_entropy,
)
from dendrocap.theory.margin import (
    MaximalMargin as MaximalMargin,
    maximal_margin as maximal_margin,
)
from dendrocap.theory.noise import (
    least_noise_error as least_noise_error,
    noise_error as noise_error,
)
from dendrocap.theory.patterns import (
    Channel as Channel,
    HardMargin as HardMargin,
    OwnChannel as OwnChannel,
    Probit as Probit,
    Temperature as Temperature,
)
from dendrocap.theory.saddle_point import (
    SaddlePoint as SaddlePoint,
    StabilityLimit as StabilityLimit,
    saddle_point as saddle_point,
    stability_limit as stability_limit,
)
from dendrocap.theory.solution import (
    CapacitySolution as CapacitySolution,
    OtherSolution as OtherSolution,
    PopulationWeights as PopulationWeights,
    SynapseWeights as SynapseWeights,
)
from dendrocap.theory.teacher_student import (
    TeacherStudent as TeacherStudent,
    crossing_load as crossing_load,
    teacher_student as teacher_student,
)
from dendrocap.theory.weights import (
    CapacityWeights as CapacityWeights,
    OwnPrior as OwnPrior,
    Preactivation as Preactivation,
    Weights as Weights,
)
