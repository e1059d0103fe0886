"""
Fig. 7: robustness to noise
===========================

Errors added by flipped inputs and by synaptic noise, at shared settings and with each neuron at its own; N =
999, K = 27, ten seeds. Stored tables of ``dendrocap reproduce fig7 --preset paper``; :doc:`what the paper
claims and what we measured </results/paper/report>`.
"""

from dendrocap.reproduction import selected, stored_results

(fig7,) = selected(["fig7"])
figure = fig7.draw(fig7.read(stored_results("paper")))
