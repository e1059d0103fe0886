"""
Fig. 8: generalisation on images
================================

MNIST, Fashion-MNIST and CIFAR-10: dendritic and linear neuron on all training images, three seeds. Stored
tables of ``dendrocap reproduce fig8 --preset paper --seeds 3``; :doc:`what the paper claims and what we
measured </results/paper/report>`.
"""

from pathlib import Path

from dendrocap.figures.data_panels import draw_images
from dendrocap.reproduction.tables import read_table

results = Path("../../results/paper")
names = ("fig8",)
tables = {name: read_table(results / f"{name}.csv") for name in names}
figure = draw_images(tables)
