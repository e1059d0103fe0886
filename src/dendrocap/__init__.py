"""dendrocap: what a single neuron with non-linear dendrites can compute.

The names below are all that most users need; ``help(dendrocap.NAME)`` explains each. Those that need SciPy or Numba
are loaded when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dendrocap.errors import (
    ConvergenceError,
    CorruptData,
    DendrocapError,
    InvalidParameter,
    MissingData,
    NoSolution,
    TrainingFailed,
)
from dendrocap.model import (
    Custom,
    DendriticNeuron,
    Linear,
    LinearNeuron,
    NeuronSpec,
    Nonlinearity,
    PackedPatterns,
    Patterns,
    Polsky,
    ReLU,
    SaturatingReLU,
    Step,
    Tabulated,
    TaskSpec,
    Units,
    named_nonlinearity,
    pack_patterns,
    random_patterns,
)

if TYPE_CHECKING:
    from dendrocap import datasets
    from dendrocap.estimator import DendriticClassifier
    from dendrocap.experiments import Store, Sweep, read_sweep, run_sweep
    from dendrocap.fitting import (
        CapacityReport,
        NonlinearityFit,
        WeightFit,
        capacity_report,
        fit_nonlinearity,
        fit_weights,
    )
    from dendrocap.learning import (
        SGD,
        ExponentialAnnealing,
        HalveOnPlateau,
        Lorentzian,
        Recipe,
        Training,
        TrainingResult,
        algorithmic_capacity,
        learning_speed,
        linear_feasibility,
        noise_robustness,
        train,
        train_many,
        training_error_curve,
        weight_statistics,
    )
    from dendrocap.theory import (
        CapacitySolution,
        SaddlePoint,
        StabilityLimit,
        at_load,
        capacity_curve,
        critical_capacity,
        saddle_point,
        saddle_point_curve,
    )

__version__ = "0.1.0"

# Where names live whose modules load on use.
_ON_USE = {
    "CapacityReport": "dendrocap.fitting",
    "CapacitySolution": "dendrocap.theory",
    "DendriticClassifier": "dendrocap.estimator",
    "ExponentialAnnealing": "dendrocap.learning",
    "HalveOnPlateau": "dendrocap.learning",
    "Lorentzian": "dendrocap.learning",
    "NonlinearityFit": "dendrocap.fitting",
    "Recipe": "dendrocap.learning",
    "SGD": "dendrocap.learning",
    "SaddlePoint": "dendrocap.theory",
    "StabilityLimit": "dendrocap.theory",
    "Store": "dendrocap.experiments",
    "Sweep": "dendrocap.experiments",
    "Training": "dendrocap.learning",
    "TrainingResult": "dendrocap.learning",
    "WeightFit": "dendrocap.fitting",
    "algorithmic_capacity": "dendrocap.learning",
    "at_load": "dendrocap.theory",
    "bethe_free_entropy": "dendrocap.learning",
    "capacity_curve": "dendrocap.theory",
    "capacity_report": "dendrocap.fitting",
    "critical_capacity": "dendrocap.theory",
    "fit_nonlinearity": "dendrocap.fitting",
    "fit_weights": "dendrocap.fitting",
    "learning_speed": "dendrocap.learning",
    "linear_feasibility": "dendrocap.learning",
    "noise_robustness": "dendrocap.learning",
    "read_sweep": "dendrocap.experiments",
    "run_sweep": "dendrocap.experiments",
    "saddle_point": "dendrocap.theory",
    "saddle_point_curve": "dendrocap.theory",
    "solve": "dendrocap.learning",
    "train": "dendrocap.learning",
    "train_many": "dendrocap.learning",
    "training_error_curve": "dendrocap.learning",
    "weight_statistics": "dendrocap.learning",
}
# Subpackages that users reach as attributes.
_PACKAGES = ("datasets",)

__all__ = [
    "CapacityReport",
    "CapacitySolution",
    "ConvergenceError",
    "CorruptData",
    "Custom",
    "DendriticClassifier",
    "DendriticNeuron",
    "DendrocapError",
    "ExponentialAnnealing",
    "HalveOnPlateau",
    "InvalidParameter",
    "Linear",
    "LinearNeuron",
    "Lorentzian",
    "MissingData",
    "NeuronSpec",
    "NoSolution",
    "Nonlinearity",
    "NonlinearityFit",
    "PackedPatterns",
    "Patterns",
    "Polsky",
    "ReLU",
    "Recipe",
    "SGD",
    "SaddlePoint",
    "SaturatingReLU",
    "StabilityLimit",
    "Step",
    "Store",
    "Sweep",
    "Tabulated",
    "TaskSpec",
    "Training",
    "TrainingFailed",
    "TrainingResult",
    "Units",
    "WeightFit",
    "__version__",
    "algorithmic_capacity",
    "at_load",
    "bethe_free_entropy",
    "capacity_curve",
    "capacity_report",
    "critical_capacity",
    "datasets",
    "fit_nonlinearity",
    "fit_weights",
    "learning_speed",
    "linear_feasibility",
    "named_nonlinearity",
    "noise_robustness",
    "pack_patterns",
    "random_patterns",
    "read_sweep",
    "run_sweep",
    "saddle_point",
    "saddle_point_curve",
    "solve",
    "train",
    "train_many",
    "training_error_curve",
    "weight_statistics",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"dendrocap.{name}")
    if name not in _ON_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_ON_USE[name]), name)
    globals()[name] = value  # the next look-up finds it directly
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
