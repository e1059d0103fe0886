"""
Fig. 8: generalisation on images
================================

Test error of the dendritic and the linear neuron, epoch by epoch, mean and standard error over five seeds.
Stored results of ``python docs/results/measure_generalisation.py docs/results``, which takes ten minutes and
the image files; :doc:`how it was measured </data>`.
"""

import matplotlib.pyplot as plt
import pandas as pd

table = pd.read_csv("../../results/generalisation.csv")
titles = {"mnist": "MNIST, odd/even", "fashion-mnist": "Fashion-MNIST, odd/even", "cifar10": "CIFAR-10, bird/ship"}
figure, panels = plt.subplots(1, 3, figsize=(7.2, 2.7), layout="constrained")
for axes, (task, title) in zip(panels, titles.items(), strict=True):
    mine = table[table["task"] == task]
    few, many = sorted(mine["K"].unique())
    for K, kind, colour in ((few, "linear", "black"), (few, "dendritic", "#D55E00"), (many, "dendritic", "#E69F00")):
        rows = mine[(mine["K"] == K) & mine["neuron"].str.startswith(kind)]
        errors, spread = 100 * rows["test_error"], 100 * rows["test_error_se"]
        axes.errorbar(rows["epoch"], errors, spread, label=rows["neuron"].iloc[0], color=colour, lw=1)
    axes.set(title=title, xlabel="epoch", ylim=(0, None))
    axes.legend()
panels[0].set_ylabel("test error (%)")
