"""
The volume of solutions shrinks
===============================

Free entropy (logarithm of the volume of solutions per weight) and overlap of two solutions, from load zero to
the replica-symmetric capacity. Dash-dotted lines mark where replica symmetry becomes unstable. Computed on the fly.
"""

import matplotlib.pyplot as plt
import numpy as np

import dendrocap as dc
from dendrocap.figures.style import LABELS, PALETTE

task = dc.TaskSpec()
figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 2.8), layout="constrained")
for g in (dc.Linear(), dc.ReLU(), dc.SaturatingReLU(), dc.Polsky()):
    neuron = dc.NeuronSpec(g, theta_d=0.5, theta_s=0.5)
    loads = np.linspace(0, 0.995, 16) * dc.critical_capacity(neuron).alpha_c
    curve = dc.saddle_point_curve(neuron, task, alpha=loads)
    look = {"color": PALETTE[g.name], "label": LABELS[g.name]}
    left.plot(loads, curve["free_entropy"], **look)
    right.plot(loads, curve["q"] / curve["Q"], **look)
    limit = dc.stability_limit(neuron, task)
    if limit.saddle_point is not None:
        there = limit.saddle_point
        left.plot([limit.alpha] * 2, [-5, there.free_entropy], "-.", color=PALETTE[g.name], lw=1)
        right.plot([limit.alpha] * 2, [0.5, there.q / there.Q], "-.", color=PALETTE[g.name], lw=1)
left.set(xlabel=r"load $\alpha$", ylabel=r"free entropy $\varphi$", ylim=(-5, 1.2))
right.set(xlabel=r"load $\alpha$", ylabel="overlap $q/Q$ of two solutions")
right.legend()
figure.suptitle("replica symmetric, as in the paper", fontsize=9)
