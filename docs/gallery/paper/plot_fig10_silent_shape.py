"""
Fig. 10: silent synapses and the shape of the dendrite
======================================================

Silent fraction at the replica-symmetric capacity against the parameters of Polsky's function and against the
somatic threshold. Computed on the fly.
"""

import matplotlib.pyplot as plt
import numpy as np

import dendrocap as dc
from dendrocap.figures.curves import AXIS_LABELS
from dendrocap.figures.style import LABELS, PALETTE

figure, panels = plt.subplots(1, 3, figsize=(7.2, 2.5), sharey=True, layout="constrained")


def draw(axes, axis, values, spec, **look):
    silent = [dc.critical_capacity(spec(value)).silent_fraction for value in values]
    axes.plot(values, silent, **look)
    axes.axhline(0.5, color="black", ls="--", lw=0.8)
    axes.set_xlabel(AXIS_LABELS[axis])


polsky = {"color": PALETTE["polsky"]}
draw(panels[0], "x_min", np.linspace(0.02, 0.99, 40), lambda x: dc.NeuronSpec(dc.Polsky(x, 15), 0.5, 0.5), **polsky)
draw(panels[1], "gamma", np.geomspace(4, 60, 40), lambda c: dc.NeuronSpec(dc.Polsky(0.33, c), 0.5, 0.5), **polsky)
for g in (dc.Polsky(), dc.SaturatingReLU(), dc.ReLU()):
    look = {"color": PALETTE[g.name], "label": LABELS[g.name]}
    draw(panels[2], "theta_s", np.linspace(0.05, 0.95, 40), lambda t, g=g: dc.NeuronSpec(g, 0.5, t), **look)
panels[0].set_ylabel("silent fraction $p_0$")
panels[2].legend()
