"""
Fig. 5: silent synapses against the dendritic threshold
=======================================================

Fraction of synapses with weight zero at capacity, replica symmetric as in the paper, and with broken symmetry,
which turns the trend around. Stored tables of ``dendrocap reproduce fig5``; :doc:`what the paper claims and
what we measured </results/paper/report>`.
"""

from dendrocap.reproduction import fig05, read_tables, stored_results

figure = fig05.draw(read_tables(stored_results("paper"), fig05.TABLES))
