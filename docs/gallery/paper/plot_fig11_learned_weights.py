"""
In the text: weights at the largest load solved
===============================================

Weights that training leaves at the largest load it solves, against the theory; N = 999, K = 27, three seeds.
Stored tables of ``dendrocap reproduce weights --preset paper``; :doc:`what the paper claims and what we
measured </results/paper/report>`.
"""

from dendrocap.reproduction import selected, stored_results

(weights,) = selected(["weights"])
figure = weights.draw(weights.read(stored_results("paper")))
