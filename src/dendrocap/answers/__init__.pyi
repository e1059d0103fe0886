"""Public names, loaded when they are first used."""

from dendrocap.answers.answer import (
    Capacity as Capacity,
    binary_entropy as binary_entropy,
)
from dendrocap.answers.capacity import capacity as capacity
from dendrocap.answers.grids import (
    capacity_curve as capacity_curve,
    saddle_point_curve as saddle_point_curve,
)
from dendrocap.answers.validity import Flag as Flag
