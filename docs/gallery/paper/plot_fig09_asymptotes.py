"""
Fig. 9: large dendritic thresholds
==================================

Growth of the capacity with its exact asymptotes, where the paper has fits, and with broken symmetry, where the
linear growth disappears. Stored tables of ``dendrocap reproduce fig9``; :doc:`what the paper claims and what we
measured </results/paper/report>`.
"""

from pathlib import Path

from dendrocap.figures.capacity_panels import draw_asymptotes
from dendrocap.reproduction.tables import read_table

results = Path("../../results/paper")
names = ("fig9", "fig9_slopes", "fig9_rsb")
tables = {name: read_table(results / f"{name}.csv") for name in names}
figure = draw_asymptotes(tables)
