"""
Fig. 2d: capacity against the steepness of the sigmoid
======================================================

Capacity of Polsky's function: replica symmetric as in the paper (solid), and with one step of symmetry breaking
(dashed), both for infinitely many long, equal branches. Computed on the fly.
"""

from dendrocap.reproduction import PRESETS, selected

(fig2d,) = selected(["fig2d"])
figure = fig2d.draw(fig2d.tables(PRESETS["quick"], []))
