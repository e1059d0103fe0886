"""dendrocap: what a single neuron with non-linear dendrites can compute.

The names below are all that most users need; ``help(dendrocap.NAME)`` explains each.
"""

from dendrocap.errors import ConvergenceError, DendrocapError, InvalidParameter, NoSolution
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
    named_nonlinearity,
    pack_patterns,
    random_patterns,
)

__version__ = "0.1.0"

__all__ = [
    "ConvergenceError",
    "Custom",
    "DendriticNeuron",
    "DendrocapError",
    "InvalidParameter",
    "Linear",
    "LinearNeuron",
    "NeuronSpec",
    "NoSolution",
    "Nonlinearity",
    "PackedPatterns",
    "Patterns",
    "Polsky",
    "ReLU",
    "SaturatingReLU",
    "Step",
    "Tabulated",
    "TaskSpec",
    "__version__",
    "named_nonlinearity",
    "pack_patterns",
    "random_patterns",
]
