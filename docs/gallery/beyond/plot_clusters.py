"""
Solutions form clusters
=======================

Left: overlap of two solutions of the Polsky neuron against the load. Replica symmetry (solid) has one overlap. With
one step of breaking (dashed) there are two, within a cluster and between clusters, above the load at which replica
symmetry becomes unstable (dash-dot). Right: number of clusters of each size, with one step; the largest, whose
number does not grow with N, contain almost all solutions. Equal branches, infinitely many and long.
"""

import matplotlib.pyplot as plt
import numpy as np

import dendrocap as dc
from dendrocap.figures.style import PALETTE

neuron = dc.NeuronSpec(dc.Polsky(), theta_d=0.5, theta_s=0.5)
color = PALETTE["polsky"]
limit, capacity = dc.stability_limit(neuron).alpha, dc.critical_capacity(neuron, rsb=1).alpha_c

figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 2.9), layout="constrained")
loads = np.linspace(0.0, 0.99, 20) * capacity
curve = dc.saddle_point_curve(neuron, alpha=loads)
left.plot(loads, curve["q"] / curve["Q"], color=color, label="replica symmetric")
broken = [
    dc.broken_saddle_point(neuron, alpha=limit + x * (capacity - limit)) for x in (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99)
]
for level, words in ((1, "one step: within a cluster"), (0, "one step: between clusters")):
    overlap = [point.overlaps[level] / point.Q for point in broken]
    left.plot([point.alpha for point in broken], overlap, "--", color=("k", "0.5")[1 - level], label=words)
left.axvline(limit, color="0.6", ls="-.", lw=0.8, label="replica symmetry ends")
left.set(xlabel=r"load $\alpha$", ylabel="overlap / $Q$")
left.legend(fontsize=7)

for alpha, tone in ((1.2, "0.65"), (1.5, "0.35"), (1.8, "0.0")):
    (typical,) = dc.broken_saddle_point(neuron, alpha=alpha).breaking_points
    counted = dc.complexity_curve(neuron, alpha=alpha, m=typical * np.linspace(1.0, 0.45, 9))
    exist = counted.physical
    right.plot(
        counted.internal_entropy[exist], counted.complexity[exist], "--", color=tone, label=rf"$\alpha = {alpha:g}$"
    )
right.set(xlabel="ln volume of a cluster / $N$", ylabel=r"$\Sigma$: ln number of clusters / $N$")
right.legend(fontsize=7)
