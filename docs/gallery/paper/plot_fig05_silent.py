"""
Fig. 5: silent synapses against the dendritic threshold
=======================================================

Fraction of synapses with weight zero at capacity, replica symmetric as in the paper, and with broken symmetry,
which turns the trend around. Stored tables of ``dendrocap reproduce fig5``; :doc:`what the paper claims and
what we measured </results/paper/report>`.
"""

from pathlib import Path

from dendrocap.figures.capacity_panels import draw_sparsity
from dendrocap.reproduction.tables import read_table

results = Path("../../results/paper")
names = ("fig5", "fig5_rsb")
tables = {name: read_table(results / f"{name}.csv") for name in names}
figure = draw_sparsity(tables)
