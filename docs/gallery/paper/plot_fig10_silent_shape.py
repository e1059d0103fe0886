"""
Fig. 10: silent synapses and the shape of the dendrite
======================================================

Silent fraction at capacity against the parameters of Polsky's function and the somatic threshold: replica
symmetric as in the paper (solid), and with broken symmetry (dashed), where dendrites make fewer synapses
silent. Stored tables of ``dendrocap reproduce fig10``; :doc:`what the paper claims and what we measured
</results/paper/report>`.
"""

from dendrocap.reproduction import selected, stored_results

(fig10,) = selected(["fig10"])
figure = fig10.draw(fig10.read(stored_results("paper")))
