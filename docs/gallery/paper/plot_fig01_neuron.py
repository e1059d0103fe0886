"""
Fig. 1: the neuron and its dendrites
====================================

Left, the architecture: synapses on branches, a non-linearity on every branch, a sum and a threshold at the
soma. Right, the non-linearity of Polsky et al. with the paper's parameters, and the other two that the paper
compares with.
"""

import matplotlib.pyplot as plt
import numpy as np

import dendrocap as dc
from dendrocap.figures.style import LABELS, PALETTE

figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 2.7), layout="constrained")

for branch, height in enumerate((2, 1, 0)):
    left.plot([0.3, 1.6], [height, height], color="0.3", lw=3, solid_capstyle="round")
    left.plot(np.linspace(0.4, 1.4, 7), np.full(7, height + 0.16), "v", color=PALETTE["polsky"], ms=4)
    left.plot([1.6, 2.6], [height, 1], color="0.3", lw=1.2)
    left.text(1.72, height + 0.16, f"$g(\\lambda_{branch + 1})$")
left.plot([2.75], [1], "o", color="0.3", ms=22)
left.annotate("", (3.6, 1), (2.95, 1), arrowprops={"arrowstyle": "->"})
left.text(2.45, 0.35, r"$\Theta(\Delta)$, threshold $\theta_s$")
left.text(0.3, -0.45, r"weights $W_{li} \geq 0$, threshold $\theta_d$ on each branch")
left.set(xlim=(0.2, 3.9), ylim=(-0.6, 2.5))
left.axis("off")

x = np.linspace(-0.4, 1.6, 401)
for g in (dc.Polsky(x_min=0.33, gamma=15), dc.ReLU(), dc.SaturatingReLU()):
    right.plot(x, g(x), color=PALETTE[g.name], label=LABELS[g.name])
right.set(xlabel="branch input (15 mV)", ylabel="branch output (15 mV)", ylim=(-0.1, 1.5), xticks=[0, 0.5, 1, 1.5])
right.legend()
