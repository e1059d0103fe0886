"""Real sizes: a soma with finitely many branches, and branches with finitely many synapses."""

from dendrocap.finite_size.branch_law import BranchLaw, exact_branch_law, input_skewness
from dendrocap.finite_size.soma import BranchInputs, FiniteEnergy, Sampled, finite_k_capacity, finite_k_energy

__all__ = [
    "BranchInputs",
    "BranchLaw",
    "FiniteEnergy",
    "Sampled",
    "exact_branch_law",
    "finite_k_capacity",
    "finite_k_energy",
    "input_skewness",
]
