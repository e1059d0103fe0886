"""
Fig. 6: measured synaptic strengths
===================================

The 931 EPSP amplitudes of Song et al. (2005) and the fitted distribution, as printed and redone. See :doc:`the
guide </biology>` for the units, which the paper mixes. Stored tables of ``dendrocap reproduce fig6 --preset
paper``; :doc:`what the paper claims and what we measured </results/paper/report>`.
"""

from dendrocap.reproduction import selected, stored_results

(fig6,) = selected(["fig6"])
figure = fig6.draw(fig6.read(stored_results("paper")))
