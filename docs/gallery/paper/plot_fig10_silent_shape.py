"""
Fig. 10: silent synapses and the shape of the dendrite
======================================================

Silent fraction at the replica-symmetric capacity against the parameters of Polsky's function and the somatic
threshold. Stored tables of ``dendrocap reproduce fig10``; :doc:`what the paper claims and what we measured
</results/paper/report>`.
"""

from pathlib import Path

from dendrocap.figures.capacity_panels import draw_sparsity_shape
from dendrocap.reproduction.tables import read_table

results = Path("../../results/paper")
names = ("fig10_x_min", "fig10_gamma", "fig10_theta_s")
tables = {name: read_table(results / f"{name}.csv") for name in names}
figure = draw_sparsity_shape(tables)
