"""
In the text: weights at the largest load solved
===============================================

Weights that training leaves at the largest load it solves, against the theory; N = 999, K = 27, three seeds.
Stored tables of ``dendrocap reproduce weights --preset paper``; :doc:`what the paper claims and what we
measured </results/paper/report>`.
"""

from pathlib import Path

from dendrocap.figures.learning_panels import draw_learned_weights
from dendrocap.reproduction.tables import read_table

results = Path("../../results/paper")
names = ("weights", "weights_quantiles")
tables = {name: read_table(results / f"{name}.csv") for name in names}
figure = draw_learned_weights(tables)
