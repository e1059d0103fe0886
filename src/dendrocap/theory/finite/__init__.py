"""Real sizes: a soma with finitely many branches, and branches with finitely many synapses."""

from dendrocap.theory.finite.branch_law import (
    BranchLaw,
    SynapseState,
    active_inputs,
    exact_branch_law,
    input_skewness,
    synapse_state,
)
from dendrocap.theory.finite.soma import (
    BranchInputs,
    FiniteEnergy,
    Sampled,
    finite_k_capacity,
    finite_k_energy,
    gaussian_energy,
)

__all__ = [
    "BranchInputs",
    "BranchLaw",
    "FiniteEnergy",
    "Sampled",
    "SynapseState",
    "active_inputs",
    "exact_branch_law",
    "finite_k_capacity",
    "finite_k_energy",
    "gaussian_energy",
    "input_skewness",
    "synapse_state",
]
