"""
Fig. 6: measured synaptic strengths
===================================

The 931 EPSP amplitudes of Song et al. (2005) and the fitted distribution, as printed and redone. See :doc:`the
guide </biology>` for the units, which the print mixes. Stored tables of ``dendrocap reproduce fig6 --preset
paper``; :doc:`what the paper claims and what we measured </results/paper/report>`.
"""

from pathlib import Path

from dendrocap.figures.data_panels import draw_synapses
from dendrocap.reproduction.tables import read_table

results = Path("../../results/paper")
names = ("fig6_readings", "fig6_histogram", "fig6_density", "fig6_rivals", "fig6_theta_s", "fig6_fit")
tables = {name: read_table(results / f"{name}.csv") for name in names}
figure = draw_synapses(tables)
