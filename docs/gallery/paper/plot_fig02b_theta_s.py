"""
Fig. 2b: capacity against the somatic threshold
===============================================

Capacity: replica symmetric as in the paper (solid), and with one step of symmetry breaking (dashed), both for
infinitely many long, equal branches. Computed on the fly.
"""

from dendrocap.reproduction import PRESETS, selected

(fig2b,) = selected(["fig2b"])
figure = fig2b.draw(fig2b.tables(PRESETS["quick"], []))
