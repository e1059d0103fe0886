r"""
Weights that saturate, and errors above capacity
================================================

Left: fractions of silent (thick) and of saturated weights (thin) at capacity, against the largest weight in units of
the mean weight. Right: probability that a pattern is wrong against the load, at several temperatures :math:`T` of the
number of errors, for weights without a bound; the cross marks the capacity. Lines are dash-dotted where replica
symmetry is unstable. Replica symmetric, infinitely many long, equal branches;
:doc:`the theory </theory/priors_and_channels>`.
"""

import matplotlib.pyplot as plt
import numpy as np

import dendrocap as dc
from dendrocap.figures.style import AXIS_LABELS, LABELS, PALETTE, UNSTABLE

figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 3.4), layout="constrained")
largest = np.geomspace(1.05, 30.0, 40)
for g in (dc.Linear(), dc.ReLU(), dc.Polsky()):
    curve = dc.capacity_curve(dc.NeuronSpec(g, 0.5, 0.5), w_max=largest)
    colour, name = PALETTE[g.name], LABELS[g.name]
    left.plot(largest, 100 * curve.silent_fraction, color=colour, lw=2.2, label=name)
    left.plot(largest, 100 * curve.saturated_fraction, color=colour, lw=0.8)
left.text(12.0, 84.0, "silent", fontsize=7)
left.text(1.25, 84.0, "saturated", fontsize=7)
left.set(xscale="log", xlabel=r"largest weight $w_{\max} / \bar W$", ylabel="weights at capacity (%)", ylim=(0, 100))
left.set_xticks([1, 2, 5, 10, 30], ["1", "2", "5", "10", "30"])
left.set_xticks([], minor=True)
left.legend(fontsize=6.5, loc="lower right", bbox_to_anchor=(1.0, 0.12))

loads = np.geomspace(0.2, 20.0, 30)
neuron = dc.NeuronSpec(dc.ReLU(), 0.5, 0.5)
for T, colour in zip((0.02, 0.1, 0.3, 1.0), plt.get_cmap("viridis")([0.0, 0.3, 0.6, 0.85]), strict=True):
    curve = dc.saddle_point_curve(neuron, alpha=loads, temperature=[T]).isel(temperature=0)
    error = 100 * curve.training_error
    right.plot(loads, error.where(curve.stability > 0), color=colour, label=f"$T = {T:g}$")
    right.plot(loads, error.where(curve.stability <= 0), color=colour, ls=UNSTABLE["ls"])
right.plot(dc.critical_capacity(neuron).alpha_c, 0.0, "kx", clip_on=False, label="capacity")
right.axhline(50.0, color="0.6", lw=0.8)
right.set(xscale="log", xlabel=AXIS_LABELS["alpha"], ylabel=AXIS_LABELS["error_percent"], ylim=(0, 68))
right.set_xticks([0.2, 1, 5, 20], ["0.2", "1", "5", "20"])
right.set_xticks([], minor=True)
right.legend(title="ReLU", title_fontsize=7, fontsize=6.5, loc="upper center", ncols=3)
