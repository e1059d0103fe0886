"""
Fig. 8: generalisation on images
================================

MNIST, Fashion-MNIST and CIFAR-10: dendritic and linear neuron on all training images, three seeds. Stored
tables of ``dendrocap reproduce fig8 --preset paper --seeds 3``; :doc:`what the paper claims and what we
measured </results/paper/report>`.
"""

from dendrocap.reproduction import selected, stored_results

(fig8,) = selected(["fig8"])
figure = fig8.draw(fig8.read(stored_results("paper")))
