"""Learning: the paper's stochastic gradient descent, its variants, and measurements of learned neurons."""

from dendrocap.learning.algorithmic_capacity import (
    AlgorithmicCapacity,
    ErrorCurve,
    LoadPoint,
    algorithmic_capacity,
    training_error_curve,
)
from dendrocap.learning.algorithms import Algorithm, EpochOutcome, Rule, Solver
from dendrocap.learning.linear_oracle import LinearFeasibility, linear_feasibility
from dendrocap.learning.local_rule import SGD, LocalRule, ThreeFactors, cross_entropy, soft_error, three_factors
from dendrocap.learning.many import train_many
from dendrocap.learning.measured_local_entropy import MeasuredLocalEntropy, measured_local_entropy
from dendrocap.learning.perturbation import Perturbation, perturb
from dendrocap.learning.recipe import Recipe
from dendrocap.learning.robustness import NoisePoint, NoiseRobustness, noise_robustness
from dendrocap.learning.schedules import Constant, ExponentialAnnealing, HalveOnPlateau, Pace, Schedule
from dendrocap.learning.solvers import (
    AnnealedSurrogate,
    BetheEstimate,
    LeastAction,
    MessagePassing,
    PlainSGD,
    PolishedAnnealing,
    ReplicatedSGD,
    SelectedAnnealing,
    SharpenedNonlinearity,
    SplitStart,
    bethe_free_entropy,
    search,
    suitable_solver,
)
from dendrocap.learning.speed import LearningSpeed, learning_speed
from dendrocap.learning.storage import SavedRun, load_run, save_run
from dendrocap.learning.surrogates import FlooredSlope, Lorentzian, SlopeOf, Surrogate, TrueSlope
from dendrocap.learning.training import EpochRecord, Training, TrainingResult, TrainingState, train
from dendrocap.learning.trials import Trial, patterns_at_load
from dendrocap.learning.weight_statistics import (
    WeightComparison,
    WeightDistribution,
    WeightStatistics,
    weight_statistics,
)

__all__ = [
    "SGD",
    "Algorithm",
    "AlgorithmicCapacity",
    "AnnealedSurrogate",
    "BetheEstimate",
    "Constant",
    "EpochOutcome",
    "EpochRecord",
    "ErrorCurve",
    "ExponentialAnnealing",
    "FlooredSlope",
    "HalveOnPlateau",
    "LearningSpeed",
    "LeastAction",
    "LinearFeasibility",
    "LoadPoint",
    "LocalRule",
    "Lorentzian",
    "MeasuredLocalEntropy",
    "MessagePassing",
    "NoisePoint",
    "NoiseRobustness",
    "Pace",
    "PlainSGD",
    "PolishedAnnealing",
    "Recipe",
    "ReplicatedSGD",
    "Rule",
    "SavedRun",
    "Schedule",
    "SelectedAnnealing",
    "SharpenedNonlinearity",
    "SplitStart",
    "SlopeOf",
    "Solver",
    "Surrogate",
    "ThreeFactors",
    "Training",
    "TrainingResult",
    "TrainingState",
    "Trial",
    "TrueSlope",
    "WeightComparison",
    "WeightDistribution",
    "WeightStatistics",
    "algorithmic_capacity",
    "bethe_free_entropy",
    "cross_entropy",
    "learning_speed",
    "linear_feasibility",
    "load_run",
    "measured_local_entropy",
    "noise_robustness",
    "perturb",
    "Perturbation",
    "patterns_at_load",
    "save_run",
    "soft_error",
    "search",
    "suitable_solver",
    "three_factors",
    "train",
    "train_many",
    "training_error_curve",
    "weight_statistics",
]
