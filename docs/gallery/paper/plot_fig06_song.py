"""
Fig. 6: measured synaptic strengths
===================================

The 931 EPSP amplitudes of Song et al. (2005) and the fitted distribution, as printed and redone. See :doc:`the
guide </biology>` for the units, which the paper mixes. Stored tables of ``dendrocap reproduce fig6 --preset
paper``; :doc:`what the paper claims and what we measured </results/paper/report>`.
"""

from dendrocap.reproduction import fig06, read_tables, stored_results

figure = fig06.draw(read_tables(stored_results("paper"), fig06.TABLES))
