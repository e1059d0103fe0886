"""Public names, loaded when they are first used."""

from dendrocap.learning.learned import (
    NoisePoint as NoisePoint,
    NoiseRobustness as NoiseRobustness,
    Perturbation as Perturbation,
    WeightComparison as WeightComparison,
    WeightDistribution as WeightDistribution,
    WeightStatistics as WeightStatistics,
    noise_robustness as noise_robustness,
    perturb as perturb,
    weight_statistics as weight_statistics,
)
from dendrocap.learning.protocols import (
    LinearFeasibility as LinearFeasibility,
    linear_feasibility as linear_feasibility,
)
from dendrocap.learning.message_passing import (
    BetheEstimate as BetheEstimate,
    MeasuredLocalEntropy as MeasuredLocalEntropy,
    MessagePassing as MessagePassing,
    bethe_free_entropy as bethe_free_entropy,
    measured_local_entropy as measured_local_entropy,
)
from dendrocap.learning.protocols import (
    AlgorithmicCapacity as AlgorithmicCapacity,
    ErrorCurve as ErrorCurve,
    LearningSpeed as LearningSpeed,
    LoadPoint as LoadPoint,
    algorithmic_capacity as algorithmic_capacity,
    learning_speed as learning_speed,
    train_many as train_many,
    training_error_curve as training_error_curve,
)
from dendrocap.learning.recipe import (
    Constant as Constant,
    ExponentialAnnealing as ExponentialAnnealing,
    HalveOnPlateau as HalveOnPlateau,
    Pace as Pace,
    Recipe as Recipe,
    Schedule as Schedule,
)
from dendrocap.learning.rules import (
    SGD as SGD,
    Algorithm as Algorithm,
    EpochOutcome as EpochOutcome,
    LocalRule as LocalRule,
    Rule as Rule,
    Solver as Solver,
    ThreeFactors as ThreeFactors,
    cross_entropy as cross_entropy,
    soft_error as soft_error,
    three_factors as three_factors,
)
from dendrocap.learning.search import (
    search as search,
    suitable_solver as suitable_solver,
)
from dendrocap.learning.solvers import (
    AnnealedSurrogate as AnnealedSurrogate,
    PlainSGD as PlainSGD,
    PolishedAnnealing as PolishedAnnealing,
    ReplicatedSGD as ReplicatedSGD,
    SplitStart as SplitStart,
)
from dendrocap.learning.rules import (
    FlooredSlope as FlooredSlope,
    Lorentzian as Lorentzian,
    SlopeOf as SlopeOf,
    Surrogate as Surrogate,
    TrueSlope as TrueSlope,
)
from dendrocap.learning.training import (
    EpochRecord as EpochRecord,
    SavedRun as SavedRun,
    Training as Training,
    TrainingResult as TrainingResult,
    TrainingState as TrainingState,
    Trial as Trial,
    load_run as load_run,
    patterns_at_load as patterns_at_load,
    save_run as save_run,
    train as train,
)
