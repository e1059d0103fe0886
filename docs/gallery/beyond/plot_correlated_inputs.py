r"""
Correlated inputs within a branch
=================================

Left: capacity against the correlation of inputs within a branch, for infinitely many long, equal branches. Solid:
replica symmetric, exact for the linear neuron; dashed: one step of symmetry breaking. Right: capacity of the others
relative to the linear neuron, with one step. :doc:`The theory </theory/correlated_inputs>`.
"""

import matplotlib.pyplot as plt

import dendrocap as dc
from dendrocap.figures.style import AXIS_LABELS, LABELS, ONE_STEP, PALETTE, SYMMETRIC

correlations = [0.0, 0.5, 1.0, 2.0, 3.5, 5.0, 7.5, 10.0]
figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 2.9), layout="constrained")
linear = None
for g in (dc.Linear(), dc.ReLU(), dc.Polsky()):
    neuron, colour = dc.NeuronSpec(g, theta_d=0.5, theta_s=0.5), PALETTE[g.name]
    curve = dc.capacity_curve(neuron, branch_correlation=correlations)
    words = f"{LABELS[g.name]}, {'exact' if linear is None else 'replica symmetric'}"
    left.plot(correlations, curve["alpha_c"], color=colour, ls=SYMMETRIC["ls"], label=words)
    if linear is None:
        linear = curve["alpha_c"]
        continue
    broken = dc.capacity_curve(neuron, branch_correlation=correlations, rsb=[1])["alpha_c"].values[:, 0]
    left.plot(correlations, broken, color=colour, ls=ONE_STEP["ls"], label=f"{LABELS[g.name]}, one step")
    right.plot(correlations, broken / linear, color=colour, ls=ONE_STEP["ls"], label=f"{LABELS[g.name]}, one step")
left.set(xlabel=AXIS_LABELS["branch_correlation"], ylabel=AXIS_LABELS["alpha_c"], ylim=(0, None))
right.set(xlabel=AXIS_LABELS["branch_correlation"], ylabel="capacity / that of the linear neuron", ylim=(0, None))
left.legend(fontsize=6.5)
right.legend(fontsize=6.5)
