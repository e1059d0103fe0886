"""
Fig. 2c: capacity against the onset of the sigmoid
==================================================

Replica-symmetric capacity of Polsky's function, computed on the fly.
"""

from dendrocap.figures.capacity_panels import draw_capacity_against_x_min
from dendrocap.reproduction.theory_figures import capacity_against_x_min

figure = draw_capacity_against_x_min(capacity_against_x_min())
