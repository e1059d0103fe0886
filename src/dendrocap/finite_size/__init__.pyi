"""Public names, loaded when they are first used."""

from dendrocap.finite_size.branch_law import (
    input_skewness as input_skewness,
)
from dendrocap.finite_size.soma import (
    BranchInputs as BranchInputs,
    FiniteEnergy as FiniteEnergy,
    Sampled as Sampled,
    finite_k_energy as finite_k_energy,
)
