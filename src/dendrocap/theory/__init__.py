"""Replica theory: what the neuron can store, and what its synapses look like when it does."""

from dendrocap.theory.capacity import CapacitySolution, OtherSolution, critical_capacity
from dendrocap.theory.curves import capacity_curve
from dendrocap.theory.gaussian import Estimate, Moments, gaussian_expectation, moments
from dendrocap.theory.limits import (
    ZeroLoad,
    large_threshold_silent_fraction,
    large_threshold_slope,
    perceptron_limit,
    relu_large_threshold_capacity,
    zero_load,
)
from dendrocap.theory.weights import CapacityWeights, Preactivation

__all__ = [
    "CapacitySolution",
    "CapacityWeights",
    "Estimate",
    "Moments",
    "OtherSolution",
    "Preactivation",
    "ZeroLoad",
    "capacity_curve",
    "critical_capacity",
    "gaussian_expectation",
    "large_threshold_silent_fraction",
    "large_threshold_slope",
    "moments",
    "perceptron_limit",
    "relu_large_threshold_capacity",
    "zero_load",
]
