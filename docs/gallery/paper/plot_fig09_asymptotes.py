"""
Fig. 9: large dendritic thresholds
==================================

Growth of the capacity with its exact asymptotes, where the paper has fits, and with broken symmetry, where the
linear growth disappears. Stored tables of ``dendrocap reproduce fig9``; :doc:`what the paper claims and what we
measured </results/paper/report>`.
"""

from dendrocap.reproduction import fig09, read_tables, stored_results

figure = fig09.draw(read_tables(stored_results("paper"), fig09.TABLES))
