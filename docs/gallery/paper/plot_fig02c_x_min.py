"""
Fig. 2c: capacity against the onset of the sigmoid
==================================================

Replica-symmetric capacity of Polsky's function, computed on the fly.
"""

from dendrocap.reproduction import fig02

figure = fig02.draw_c(fig02.tables_c())
