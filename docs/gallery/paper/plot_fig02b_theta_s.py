"""
Fig. 2b: capacity against the somatic threshold
===============================================

Replica-symmetric capacity, computed on the fly.
"""

from dendrocap.reproduction import fig02

figure = fig02.draw_b(fig02.tables_b())
