"""
Fig. 8: generalisation on images
================================

MNIST, Fashion-MNIST and CIFAR-10: dendritic and linear neuron on all training images, three seeds. Stored
tables of ``dendrocap reproduce fig8 --preset paper --seeds 3``; :doc:`what the paper claims and what we
measured </results/paper/report>`.
"""

from dendrocap.reproduction import fig08, read_tables, stored_results

figure = fig08.draw(read_tables(stored_results("paper"), fig08.TABLES))
