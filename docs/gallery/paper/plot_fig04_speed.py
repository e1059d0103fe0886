"""
Fig. 4: learning speed
======================

Training error along the epochs at half load, and epochs to zero error at every learning rate; N = 999, K = 27,
ten seeds. At one rate for all the dendritic neuron is far ahead; each at its best, it is not. Stored tables of
``dendrocap reproduce fig4 --preset paper``; :doc:`what the paper claims and what we measured
</results/paper/report>`.
"""

from pathlib import Path

from dendrocap.figures.learning_panels import draw_learning_speed
from dendrocap.reproduction.tables import read_table

results = Path("../../results/paper")
names = ("fig4_curves", "fig4_epochs")
tables = {name: read_table(results / f"{name}.csv") for name in names}
figure = draw_learning_speed(tables)
