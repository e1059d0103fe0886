"""The public names and where they live: the one list, which type checkers and `dendrocap.__getattr__` both read.

A name is loaded when it is first used. ``X as X`` is how a stub says that a name is public.
"""

from dendrocap import (
    answers as answers,
    sweeps as sweeps,
    datasets as datasets,
    errors as errors,
    fitting as fitting,
    learning as learning,
    model as model,
    plot as plot,
    reproduction as reproduction,
    theory as theory,
)
from dendrocap.errors import (
    ConvergenceError as ConvergenceError,
    DendrocapError as DendrocapError,
    InvalidParameter as InvalidParameter,
    NoSolution as NoSolution,
    TrainingFailed as TrainingFailed,
)
from dendrocap.classifier import DendriticClassifier as DendriticClassifier
from dendrocap.sweeps import Store as Store, Sweep as Sweep, read_sweep as read_sweep, run_sweep as run_sweep
from dendrocap.solving import solve as solve, solving_outlook as solving_outlook
from dendrocap.fitting import (
    capacity_report as capacity_report,
    cell_from_morphology as cell_from_morphology,
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
    algorithmic_capacity as algorithmic_capacity,
    learning_speed as learning_speed,
    linear_feasibility as linear_feasibility,
    measured_local_entropy as measured_local_entropy,
    noise_robustness as noise_robustness,
    perturb as perturb,
    train as train,
    train_many as train_many,
    training_error_curve as training_error_curve,
    weight_statistics as weight_statistics,
)
from dendrocap.model import (
    Bounded as Bounded,
    Branches as Branches,
    Custom as Custom,
    DendriticNeuron as DendriticNeuron,
    Inhibition as Inhibition,
    Level as Level,
    Linear as Linear,
    LinearNeuron as LinearNeuron,
    NeuronSpec as NeuronSpec,
    NonNegative as NonNegative,
    Nonlinearity as Nonlinearity,
    PiecewiseLinear as PiecewiseLinear,
    Polsky as Polsky,
    ReLU as ReLU,
    Ridge as Ridge,
    SaturatingReLU as SaturatingReLU,
    Smooth as Smooth,
    Step as Step,
    Tabulated as Tabulated,
    TaskSpec as TaskSpec,
    Units as Units,
    pack_patterns as pack_patterns,
    random_patterns as random_patterns,
)
from dendrocap.theory import (
    Probit as Probit,
    Temperature as Temperature,
    best_dendrite as best_dendrite,
    branch_stability as branch_stability,
    broken_saddle_point as broken_saddle_point,
    complexity_curve as complexity_curve,
    critical_capacity as critical_capacity,
    crossing_load as crossing_load,
    learned_state as learned_state,
    least_noise_error as least_noise_error,
    local_entropy as local_entropy,
    maximal_margin as maximal_margin,
    noise_error as noise_error,
    saddle_point as saddle_point,
    stability_limit as stability_limit,
    teacher_student as teacher_student,
)
from dendrocap.answers import (
    capacity as capacity,
    capacity_curve as capacity_curve,
    saddle_point_curve as saddle_point_curve,
)

__version__: str
