"""
Fig. 7: robustness to noise
===========================

Errors added by flipped inputs and by synaptic noise, at shared settings and with each neuron at its own; N =
999, K = 27, ten seeds. Stored tables of ``dendrocap reproduce fig7 --preset paper``; :doc:`what the paper
claims and what we measured </results/paper/report>`.
"""

from pathlib import Path

from dendrocap.figures.learning_panels import draw_noise
from dendrocap.reproduction.tables import read_table

results = Path("../../results/paper")
names = ("fig7",)
tables = {name: read_table(results / f"{name}.csv") for name in names}
figure = draw_noise(tables)
