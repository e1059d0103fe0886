"""
Fig. 4: learning speed
======================

Training error along the epochs at half load, and epochs to zero error at every learning rate; N = 999, K = 27,
ten seeds. At one rate for all the dendritic neuron is far ahead; each at its best, it is not. Stored tables of
``dendrocap reproduce fig4 --preset paper``; :doc:`what the paper claims and what we measured
</results/paper/report>`.
"""

from dendrocap.reproduction import selected, stored_results

(fig4,) = selected(["fig4"])
figure = fig4.draw(fig4.read(stored_results("paper")))
