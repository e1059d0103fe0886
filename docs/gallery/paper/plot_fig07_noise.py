"""
Fig. 7: robustness to noise
===========================

Errors added by flipped inputs and by synaptic noise, at shared settings and with each neuron at its own; N =
999, K = 27, ten seeds. Stored tables of ``dendrocap reproduce fig7 --preset paper``; :doc:`what the paper
claims and what we measured </results/paper/report>`.
"""

from dendrocap.reproduction import fig07, read_tables, stored_results

figure = fig07.draw(read_tables(stored_results("paper"), fig07.TABLES))
