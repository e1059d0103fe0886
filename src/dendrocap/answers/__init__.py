"""The best estimate of a capacity, and how it is told."""

from dendrocap.answers.answer import Capacity, binary_entropy
from dendrocap.answers.capacity import capacity
from dendrocap.answers.grids import capacity_curve, saddle_point_curve
from dendrocap.answers.validity import Flag

__all__ = ["Capacity", "Flag", "binary_entropy", "capacity", "capacity_curve", "saddle_point_curve"]
