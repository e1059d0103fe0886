"""Replica symmetry breaking: the capacity beyond the replica-symmetric estimate."""

from dendrocap.theory.rsb.broken_capacity import BrokenCapacity, broken_capacity
from dendrocap.theory.rsb.broken_weights import BrokenWeights
from dendrocap.theory.rsb.clusters import BrokenSaddlePoint, ComplexityCurve, broken_saddle_point, complexity_curve
from dendrocap.theory.rsb.committee import CommitteeCapacity, committee_capacity, committee_stability
from dendrocap.theory.rsb.equations import FixedMean, Spherical

__all__ = [
    "BrokenCapacity",
    "BrokenSaddlePoint",
    "BrokenWeights",
    "CommitteeCapacity",
    "ComplexityCurve",
    "FixedMean",
    "Spherical",
    "broken_capacity",
    "broken_saddle_point",
    "committee_capacity",
    "committee_stability",
    "complexity_curve",
]
