"""
Fig. 2d: capacity against the steepness of the sigmoid
======================================================

Replica-symmetric capacity of Polsky's function, computed on the fly.
"""

from dendrocap.reproduction import fig02

figure = fig02.draw_d(fig02.tables_d())
