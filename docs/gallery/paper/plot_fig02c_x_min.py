"""
Fig. 2c: capacity against the onset of the sigmoid
==================================================

Capacity of Polsky's function: replica symmetric as in the paper (solid), and with one step of symmetry breaking
(dashed), both for infinitely many long, equal branches. Computed on the fly.
"""

from dendrocap.reproduction import PRESETS, selected

(fig2c,) = selected(["fig2c"])
figure = fig2c.draw(fig2c.tables(PRESETS["quick"], []))
