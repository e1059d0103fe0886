"""
Fig. 10: silent synapses and the shape of the dendrite
======================================================

Silent fraction at the replica-symmetric capacity against the parameters of Polsky's function and the somatic
threshold. Stored tables of ``dendrocap reproduce fig10``; :doc:`what the paper claims and what we measured
</results/paper/report>`.
"""

from dendrocap.reproduction import fig10, read_tables

figure = fig10.draw(read_tables("../../results/paper", fig10.TABLES))
