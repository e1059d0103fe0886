"""
Fig. 2: capacity against thresholds and shape
=============================================

Replica-symmetric capacity, computed on the fly: against the dendritic threshold, the somatic threshold, and the
two parameters of Polsky's function. The inset shows how widely the input of a branch is distributed at
capacity: wide inputs reach the steep and the flat parts of g. These are upper bounds; :doc:`with symmetry
breaking <../beyond/plot_breaking>` they are lower.
"""

import matplotlib.pyplot as plt
import numpy as np

import dendrocap as dc
from dendrocap.figures.curves import AXIS_LABELS
from dendrocap.figures.style import LABELS, PALETTE

functions = (dc.Polsky(), dc.SaturatingReLU(), dc.ReLU())
figure, panels = plt.subplots(2, 2, figsize=(6.8, 5.2), layout="constrained")


def draw(axes, axis, values, spec, label=None, colour="black"):
    capacities = [dc.critical_capacity(spec(value)).alpha_c for value in values]
    axes.plot(values, capacities, color=colour, label=label)
    axes.axhline(1, color="black", ls="--", lw=0.8)
    axes.set(xlabel=AXIS_LABELS[axis], ylabel=r"critical capacity $\alpha_c$")


for g in functions:
    look = {"label": LABELS[g.name], "colour": PALETTE[g.name]}
    draw(panels[0, 0], "theta_d", np.geomspace(0.01, 1, 40), lambda t, g=g: dc.NeuronSpec(g, t, 0.5), **look)
    draw(panels[0, 1], "theta_s", np.linspace(0.05, 0.95, 40), lambda t, g=g: dc.NeuronSpec(g, 0.5, t), **look)
draw(panels[1, 0], "x_min", np.linspace(0.02, 0.99, 40), lambda x: dc.NeuronSpec(dc.Polsky(x, 15), 0.5, 0.5))
draw(panels[1, 1], "gamma", np.linspace(4, 60, 40), lambda c: dc.NeuronSpec(dc.Polsky(0.33, c), 0.5, 0.5))
panels[0, 0].set_xscale("log")
panels[0, 1].legend()

inset = panels[0, 0].inset_axes((0.12, 0.5, 0.42, 0.42))
at = np.linspace(-2, 3, 200)
for theta_d, style in ((0.05, ":"), (0.5, "-")):
    branch = dc.critical_capacity(dc.NeuronSpec(dc.Polsky(), theta_d, 0.5)).preactivation
    inset.plot(at, branch.pdf(at), ls=style, color=PALETTE["polsky"], lw=1, label=rf"$\theta_d = {theta_d}$")
inset.set(yticks=[], xlabel="branch input", ylim=(0, 2.5))
inset.legend(fontsize=6)
