r"""
How wide are minima?
====================

Share of solutions among all weights at a squared distance from one solution: ln of it per synapse, 0 if all are. Left:
around typical solutions. Far from capacity (load 0.3) dendrites make little difference, and steep ones make minima
narrower close by; closer to the capacity of the linear neuron (load 0.75) minima of dendritic neurons are wider. Right:
around solutions with a margin, whose minima are wide whatever the dendrites. Replica symmetric, equal branches.
:doc:`The theory </theory/local_entropy>`, and learned solutions.
"""

import matplotlib.pyplot as plt
import numpy as np

import dendrocap as dc
from dendrocap.figures.style import LABELS, PALETTE

distances = np.geomspace(1e-3, 0.12, 7)
figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 3.2), layout="constrained")
for g in (dc.Linear(), dc.ReLU(), dc.Polsky()):
    neuron = dc.NeuronSpec(g, theta_d=0.5, theta_s=0.5)
    for load, width in ((0.3, 0.9), (0.75, 2.0)):
        found = dc.local_entropy(neuron, alpha=load, distance=distances)
        words = f"{LABELS[g.name]}, load {load:g}"
        left.plot(distances, found.log_fraction, color=PALETTE[g.name], lw=width, label=words)
    margin = 0.1 * dc.maximal_margin(neuron, alpha=0.3).kappa
    wide = dc.local_entropy(neuron, alpha=0.3, distance=distances, reference_kappa=margin)
    right.plot(distances, wide.log_fraction, color=PALETTE[g.name], label=f"{LABELS[g.name]}, load 0.3")
left.set_title("typical solutions", fontsize=9)
right.set_title("with a tenth of the largest margin", fontsize=9)
left.set_ylabel("ln(share of solutions) / N")
for axes in (left, right):
    axes.set(xscale="log", xlabel=r"squared distance $|W - \tilde W|^2 / |\tilde W|^2$")
    axes.legend(fontsize=6.5)
