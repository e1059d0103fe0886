"""
Weights from load zero to capacity
==================================

Before learning, weights are exponential; with growing load small weights accumulate at zero until, at
capacity, a fraction of them is exactly zero and the others are a piece of a Gaussian. Linear neuron, where
replica symmetry is exact. Computed on the fly.
"""

import matplotlib.pyplot as plt
import numpy as np

import dendrocap as dc

neuron, task = dc.NeuronSpec(dc.Linear(), theta_d=0.5, theta_s=0.5), dc.TaskSpec()
at = np.linspace(0, 4, 300)[1:]
figure, axes = plt.subplots(figsize=(4.6, 3), layout="constrained")
axes.plot(at, np.exp(-at), color="0.7", label=r"$\alpha = 0$")
for load, shade in ((0.5, "#9ecae1"), (0.9, "#4292c6"), (0.99, "#08519c")):
    axes.plot(at, dc.saddle_point(neuron, task, alpha=load).weights.pdf(at), color=shade, label=rf"$\alpha = {load}$")
best = dc.critical_capacity(neuron, task)
axes.plot(at, best.weights.pdf(at), color="black", label=rf"$\alpha_c = 1$ (exact), {best.silent_fraction:.0%} silent")
axes.set(xlabel=r"weight $W$ (mean 1)", ylabel="density $P(W)$", ylim=(0, 1.6))
axes.legend()
