"""
Fig. 3: what learning reaches
=============================

Training error against load, and the largest load solved against the dendritic threshold between the lines of
the theory; N = 999, K = 27, six seeds, patience 1000. Stored tables of ``dendrocap reproduce fig3 --preset
paper --seeds 6``; :doc:`what the paper claims and what we measured </results/paper/report>`.
"""

from dendrocap.reproduction import selected, stored_results

(fig3,) = selected(["fig3"])
figure = fig3.draw(fig3.read(stored_results("paper")))
