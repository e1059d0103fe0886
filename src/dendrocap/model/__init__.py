"""The neuron, its dendritic non-linearity and its patterns."""

from dendrocap.model.curves import PiecewiseCubic, PiecewiseLinear, Smooth, Tabulated
from dendrocap.model.dendritic_neuron import DendriticNeuron, LinearNeuron
from dendrocap.model.neuron import Bounded, Branches, Inhibition, Level, NeuronSpec, NonNegative, Prior, Ridge, TaskSpec
from dendrocap.model.nonlinearities import (
    Custom,
    Kernel,
    Linear,
    Nonlinearity,
    Polsky,
    ReLU,
    SaturatingReLU,
    Step,
    named_nonlinearity,
)
from dendrocap.model.patterns import PackedPatterns, Patterns, pack_patterns, random_patterns
from dendrocap.model.units import Units

__all__ = [
    "Bounded",
    "Branches",
    "Custom",
    "DendriticNeuron",
    "Inhibition",
    "Kernel",
    "Level",
    "Linear",
    "LinearNeuron",
    "NeuronSpec",
    "NonNegative",
    "Nonlinearity",
    "PackedPatterns",
    "Patterns",
    "PiecewiseCubic",
    "PiecewiseLinear",
    "Polsky",
    "Prior",
    "ReLU",
    "Ridge",
    "SaturatingReLU",
    "Smooth",
    "Step",
    "Tabulated",
    "TaskSpec",
    "Units",
    "named_nonlinearity",
    "pack_patterns",
    "random_patterns",
]
