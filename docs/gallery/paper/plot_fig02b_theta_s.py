"""
Fig. 2b: capacity against the somatic threshold
===============================================

Replica-symmetric capacity, computed on the fly.
"""

from dendrocap.figures.capacity_panels import draw_capacity_against_theta_s
from dendrocap.reproduction.theory_figures import capacity_against_theta_s

figure = draw_capacity_against_theta_s(capacity_against_theta_s())
