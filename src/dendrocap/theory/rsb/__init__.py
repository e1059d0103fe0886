"""Replica symmetry breaking: the capacity beyond the replica-symmetric estimate."""

from dendrocap.theory.rsb.capacity import BrokenCapacity, broken_capacity
from dendrocap.theory.rsb.committee import CommitteeCapacity, committee_capacity
from dendrocap.theory.rsb.equations import NonNegative, Spherical
from dendrocap.theory.rsb.weights import BrokenWeights

__all__ = [
    "BrokenCapacity",
    "BrokenWeights",
    "CommitteeCapacity",
    "NonNegative",
    "Spherical",
    "broken_capacity",
    "committee_capacity",
]
