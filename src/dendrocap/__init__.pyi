"""The public names and where they live: the one list, which type checkers and `dendrocap.__getattr__` both read.

A name is loaded when it is first used. ``X as X`` is how a stub says that a name is public.
"""

from dendrocap import (
    datasets as datasets,
    errors as errors,
    experiments as experiments,
    explorer as explorer,
    figures as figures,
    fitting as fitting,
    learning as learning,
    model as model,
    numerics as numerics,
    plot as plot,
    reproduction as reproduction,
    theory as theory,
)
from dendrocap.errors import (
    ConvergenceError as ConvergenceError,
    CorruptData as CorruptData,
    DendrocapError as DendrocapError,
    InvalidParameter as InvalidParameter,
    MissingData as MissingData,
    NoSolution as NoSolution,
    TrainingFailed as TrainingFailed,
)
from dendrocap.estimator import DendriticClassifier as DendriticClassifier
from dendrocap.experiments import (
    Store as Store,
    Sweep as Sweep,
    read_sweep as read_sweep,
    run_sweep as run_sweep,
)
from dendrocap.fitting import (
    CapacityReport as CapacityReport,
    NonlinearityFit as NonlinearityFit,
    WeightFit as WeightFit,
    capacity_report as capacity_report,
    fit_nonlinearity as fit_nonlinearity,
    fit_weights as fit_weights,
)
from dendrocap.learning import (
    SGD as SGD,
    ExponentialAnnealing as ExponentialAnnealing,
    HalveOnPlateau as HalveOnPlateau,
    Lorentzian as Lorentzian,
    Recipe as Recipe,
    Training as Training,
    TrainingResult as TrainingResult,
    algorithmic_capacity as algorithmic_capacity,
    bethe_free_entropy as bethe_free_entropy,
    learning_speed as learning_speed,
    linear_feasibility as linear_feasibility,
    noise_robustness as noise_robustness,
    solve as solve,
    train as train,
    train_many as train_many,
    training_error_curve as training_error_curve,
    weight_statistics as weight_statistics,
)
from dendrocap.model import (
    Branches as Branches,
    Custom as Custom,
    DendriticNeuron as DendriticNeuron,
    Level as Level,
    Linear as Linear,
    LinearNeuron as LinearNeuron,
    NeuronSpec as NeuronSpec,
    Nonlinearity as Nonlinearity,
    PackedPatterns as PackedPatterns,
    Patterns as Patterns,
    Polsky as Polsky,
    ReLU as ReLU,
    SaturatingReLU as SaturatingReLU,
    Smooth as Smooth,
    Step as Step,
    Tabulated as Tabulated,
    TaskSpec as TaskSpec,
    Units as Units,
    named_nonlinearity as named_nonlinearity,
    pack_patterns as pack_patterns,
    random_patterns as random_patterns,
)
from dendrocap.theory import (
    BranchStability as BranchStability,
    Capacity as Capacity,
    CapacitySolution as CapacitySolution,
    PopulationCapacity as PopulationCapacity,
    PopulationSaddlePoint as PopulationSaddlePoint,
    SaddlePoint as SaddlePoint,
    StabilityLimit as StabilityLimit,
    branch_stability as branch_stability,
    capacity as capacity,
    capacity_curve as capacity_curve,
    critical_capacity as critical_capacity,
    saddle_point as saddle_point,
    saddle_point_curve as saddle_point_curve,
    stability_limit as stability_limit,
)

__version__: str
