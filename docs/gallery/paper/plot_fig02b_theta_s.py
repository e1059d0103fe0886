"""
Fig. 2b: capacity against the somatic threshold
===============================================

Capacity: replica symmetric as in the paper (solid), and with one step of symmetry breaking (dashed), both for
infinitely many long, equal branches. Computed on the fly.
"""

from dendrocap.reproduction import fig02

figure = fig02.draw_b(fig02.tables_b())
