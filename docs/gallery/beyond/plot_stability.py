"""
Where replica symmetry ends
===========================

The load at which the replicon changes sign (de Almeida and Thouless), against the dendritic threshold, with the
replica-symmetric capacity of the same neurons. Between the two lines the replica-symmetric description is
wrong. Computed on the fly.
"""

import matplotlib.pyplot as plt
import numpy as np

import dendrocap as dc
from dendrocap.figures.style import LABELS, PALETTE

theta_d = np.geomspace(0.05, 5, 12)
figure, axes = plt.subplots(figsize=(4.6, 3), layout="constrained")
for g in (dc.Polsky(), dc.SaturatingReLU(), dc.ReLU()):
    neurons = [dc.NeuronSpec(g, t, 0.5) for t in theta_d]
    axes.plot(theta_d, [dc.critical_capacity(n).alpha_c for n in neurons], color=PALETTE[g.name], label=LABELS[g.name])
    axes.plot(theta_d, [dc.stability_limit(n, dc.TaskSpec()).alpha for n in neurons], color=PALETTE[g.name], ls="-.")
axes.set(xscale="log", yscale="log", xlabel=r"dendritic threshold $\theta_d$", ylabel=r"load $\alpha$")
axes.set_title("solid: capacity (replica symmetric, as in the paper)\ndash-dotted: where it is unstable", fontsize=8)
axes.legend()
