"""
Deeper dendritic trees
======================

Branches can sum other branches. With one to four levels of the same function and thresholds 1/2 on every level,
the replica-symmetric capacity changes with depth; with one step of symmetry breaking (dashed) much less so.
Computed on the fly.
"""

import matplotlib.pyplot as plt

import dendrocap as dc
from dendrocap.figures.style import LABELS, PALETTE

depths = [1, 2, 3, 4]
figure, axes = plt.subplots(figsize=(5.6, 3), layout="constrained")
for g in (dc.Polsky(), dc.SaturatingReLU(), dc.ReLU()):
    for steps, style in ((0, "-"), (1, "--")):
        trees = [dc.NeuronSpec(levels=[dc.Level(g, 0.5)] * depth, theta_s=0.5) for depth in depths]
        capacities = [dc.critical_capacity(tree, rsb=steps).alpha_c for tree in trees]
        name = "replica symmetric, as in the paper" if steps == 0 else "broken symmetry k = 1"
        label = f"{LABELS[g.name]}, {name}"
        axes.plot(depths, capacities, style, color=PALETTE[g.name], label=label)
axes.set(xticks=depths, yscale="log", xlabel="dendritic levels", ylabel=r"critical capacity $\alpha_c$")
axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
