"""
The plane of both thresholds
============================

Capacity of Polsky dendrites against dendritic and somatic threshold, replica symmetric and with one step of
breaking. Without breaking, capacity seems to grow without limit with the dendritic threshold; with it, the
landscape is much flatter (mind the scales). Computed on the fly.
"""

import matplotlib.pyplot as plt
import numpy as np

import dendrocap as dc

theta_d, theta_s = np.geomspace(0.05, 1, 7), np.linspace(0.1, 0.9, 7)
figure, panels = plt.subplots(1, 2, figsize=(6.8, 2.9), sharey=True, layout="constrained")
for axes, steps, title in zip(
    panels, (0, 1), ("replica symmetric, as in the paper", "broken symmetry k = 1"), strict=True
):
    neurons = [[dc.NeuronSpec(dc.Polsky(), d, s) for d in theta_d] for s in theta_s]
    plane = [[dc.critical_capacity(neuron, rsb=steps).alpha_c for neuron in row] for row in neurons]
    image = axes.pcolormesh(theta_d, theta_s, plane, shading="gouraud", cmap="viridis")
    axes.set(xscale="log", title=title, xlabel=r"dendritic threshold $\theta_d$")
    figure.colorbar(image, ax=axes, label=r"capacity $\alpha_c$")
panels[0].set_ylabel(r"somatic threshold $\theta_s$")
