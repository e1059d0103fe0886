"""
Fig. 2d: capacity against the steepness of the sigmoid
======================================================

Replica-symmetric capacity of Polsky's function, computed on the fly.
"""

from dendrocap.figures.capacity_panels import draw_capacity_against_gamma
from dendrocap.reproduction.theory_figures import capacity_against_gamma

figure = draw_capacity_against_gamma(capacity_against_gamma())
