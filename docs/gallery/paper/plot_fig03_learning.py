"""
Fig. 3: what learning reaches
=============================

Training error against load, and the largest load solved against the dendritic threshold between the lines of
the theory; N = 999, K = 27, six seeds, patience 1000. Stored tables of ``dendrocap reproduce fig3 --preset
paper --seeds 6``; :doc:`what the paper claims and what we measured </results/paper/report>`.
"""

from pathlib import Path

from dendrocap.figures.learning_panels import draw_algorithmic_capacity
from dendrocap.reproduction.tables import read_table

results = Path("../../results/paper")
names = ("fig3_error", "fig3_capacity", "fig3_theory")
tables = {name: read_table(results / f"{name}.csv") for name in names}
figure = draw_algorithmic_capacity(tables)
