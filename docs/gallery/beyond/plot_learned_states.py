r"""
Where training ends
===================

The state of least cross-entropy, below and above capacity, for two steepnesses of the loss. Left: fraction of patterns
wrong. Right: silent synapses. Exact for the linear neuron; replica symmetric with equal branches for the Polsky neuron,
where training may stop above it. :doc:`The theory </theory/learned_states>`.
"""

import matplotlib.pyplot as plt
import numpy as np

import dendrocap as dc
from dendrocap.figures.style import AXIS_LABELS, LABELS, PALETTE

loads = np.linspace(0.1, 3.0, 16)
figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 3.4), layout="constrained")
for g in (dc.Linear(), dc.Polsky()):
    neuron = dc.NeuronSpec(g, theta_d=0.5, theta_s=0.5)
    for gamma_ce, width in ((0.3, 0.9), (1.0, 2.0)):
        found = [dc.learned_state(neuron, alpha=alpha, gamma_ce=gamma_ce) for alpha in loads]
        look = {"color": PALETTE[g.name], "lw": width}
        words = rf"{LABELS[g.name]}, {found[0].estimate}, $\gamma_{{\rm ce}}$ = {gamma_ce:g}"
        left.plot(loads, [one.training_error for one in found], **look, label=words)
        right.plot(loads, [100 * one.silent_fraction for one in found], **look, label=words)
left.set(xlabel=AXIS_LABELS["alpha"], ylabel="fraction of patterns wrong", ylim=(0, None))
right.set(xlabel=AXIS_LABELS["alpha"], ylabel="silent synapses (%)", ylim=(0, 100))
figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=6.5)
