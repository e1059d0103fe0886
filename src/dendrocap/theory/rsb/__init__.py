"""Replica symmetry breaking: the capacity beyond the replica-symmetric estimate."""

from dendrocap.theory.rsb.broken_capacity import BrokenCapacity, broken_capacity
from dendrocap.theory.rsb.broken_weights import BrokenWeights
from dendrocap.theory.rsb.committee import CommitteeCapacity, committee_capacity
from dendrocap.theory.rsb.equations import NonNegative, Spherical

__all__ = [
    "BrokenCapacity",
    "BrokenWeights",
    "CommitteeCapacity",
    "NonNegative",
    "Spherical",
    "broken_capacity",
    "committee_capacity",
]
