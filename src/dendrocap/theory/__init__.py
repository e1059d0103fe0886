"""Replica theory: what the neuron can store, and what its synapses look like when it does."""

from dendrocap.theory.capacity import CapacitySolution, OtherSolution, critical_capacity
from dendrocap.theory.gaussian import Estimate, Moments, gaussian_expectation, moments

__all__ = [
    "CapacitySolution",
    "Estimate",
    "Moments",
    "OtherSolution",
    "critical_capacity",
    "gaussian_expectation",
    "moments",
]
