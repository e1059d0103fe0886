"""
The kernel of a dendritic tree
==============================

The kernel contains all properties of dendrites that enter the theory: the correlation of two solutions at the soma
as a function of their overlap at the synapses. A linear neuron preserves overlaps. Steep branches separate solutions
that are nearly alike (the curve is steep at the right end), which increases the capacity; a second
level separates them further. Computed on the fly with the function behind [soma-kernel].
"""

import matplotlib.pyplot as plt
import numpy as np

import dendrocap as dc
from dendrocap.figures.style import LABELS, PALETTE
from dendrocap.theory.neuron_kernel import TreeKernel

overlap = 1 - np.geomspace(1e-4, 0.999, 60)
figure, axes = plt.subplots(figsize=(4.4, 3.2), layout="constrained")
for g in (dc.Linear(), dc.ReLU(), dc.Polsky()):
    for levels, style in ((1, "-"), (2, ":")):  # dashes would say that symmetry is broken
        if g == dc.Linear() and levels == 2:
            continue
        tree = dc.NeuronSpec(levels=[dc.Level(g, 0.5)] * levels, theta_s=0.5)
        Q = dc.critical_capacity(tree).Q
        kernel = TreeKernel(tree, dc.TaskSpec())
        at = [kernel.at(Q, Q * (1 - q)) for q in overlap]
        correlation = [pair.D0 / (pair.D0 + pair.D1) for pair in at]
        label = LABELS[g.name] + (", two levels" if levels == 2 else "")
        axes.plot(overlap, correlation, style, color=PALETTE[g.name], label=label)
axes.set(xlabel="overlap of two solutions, $q/Q$", ylabel="correlation of their somatic inputs, $C(q)/C(Q)$")
axes.set_title("at the norm of the replica-symmetric capacity")
axes.legend()
