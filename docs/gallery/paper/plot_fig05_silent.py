"""
Fig. 5: silent synapses against the dendritic threshold
=======================================================

Fraction of synapses with weight zero at capacity, replica symmetric as in the paper, and with broken symmetry,
which turns the trend around. Stored tables of ``dendrocap reproduce fig5``; :doc:`what the paper claims and
what we measured </results/paper/report>`.
"""

from dendrocap.reproduction import selected, stored_results

(fig5,) = selected(["fig5"])
figure = fig5.draw(fig5.read(stored_results("paper")))
