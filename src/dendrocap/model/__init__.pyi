"""Public names, loaded when they are first used."""

from dendrocap.model.curves import (
    PiecewiseCubic as PiecewiseCubic,
    PiecewiseLinear as PiecewiseLinear,
    Smooth as Smooth,
    Tabulated as Tabulated,
)
from dendrocap.model.dendritic_neuron import (
    DendriticNeuron as DendriticNeuron,
    LinearNeuron as LinearNeuron,
)
from dendrocap.model.neuron import (
    Bounded as Bounded,
    Branches as Branches,
    Inhibition as Inhibition,
    Level as Level,
    NeuronSpec as NeuronSpec,
    NonNegative as NonNegative,
    Prior as Prior,
    Ridge as Ridge,
    Spherical as Spherical,
    TaskSpec as TaskSpec,
)
from dendrocap.model.nonlinearities import (
    Custom as Custom,
    Kernel as Kernel,
    Linear as Linear,
    Nonlinearity as Nonlinearity,
    Polsky as Polsky,
    ReLU as ReLU,
    SaturatingReLU as SaturatingReLU,
    Step as Step,
    named_nonlinearity as named_nonlinearity,
)
from dendrocap.model.patterns import (
    PackedPatterns as PackedPatterns,
    Patterns as Patterns,
    pack_patterns as pack_patterns,
    random_patterns as random_patterns,
)
from dendrocap.model.units import Units as Units
