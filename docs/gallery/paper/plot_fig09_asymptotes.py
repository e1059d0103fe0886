"""
Fig. 9: large dendritic thresholds
==================================

Growth of the capacity with its exact asymptotes, where the paper has fits, and with broken symmetry, where the
linear growth disappears. Stored tables of ``dendrocap reproduce fig9``; :doc:`what the paper claims and what we
measured </results/paper/report>`.
"""

from dendrocap.reproduction import selected, stored_results

(fig9,) = selected(["fig9"])
figure = fig9.draw(fig9.read(stored_results("paper")))
