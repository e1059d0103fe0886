"""
Fig. 5: silent synapses against the dendritic threshold
=======================================================

Solid, the fraction of synapses with weight zero at the replica-symmetric capacity, as in the paper: above one
half, and growing. Dashed, with one step of symmetry breaking: below one half, and falling. Computed on the fly.
"""

import matplotlib.pyplot as plt
import numpy as np

import dendrocap as dc
from dendrocap.figures.style import LABELS, PALETTE

theta_d = np.geomspace(0.1, 5, 14)
figure, axes = plt.subplots(figsize=(4.6, 3), layout="constrained")
for g in (dc.Polsky(), dc.SaturatingReLU(), dc.ReLU()):
    for steps, style in ((0, "-"), (1, "--")):
        states = [dc.critical_capacity(dc.NeuronSpec(g, t, 0.5), rsb=steps) for t in theta_d]
        label = LABELS[g.name] if steps == 0 else None
        axes.plot(theta_d, [s.silent_fraction for s in states], style, color=PALETTE[g.name], label=label)
axes.axhline(0.5, color="black", ls=":", lw=0.8, label="one layer")
axes.set(
    xscale="log", xlabel=r"dendritic threshold $\theta_d$", ylabel=r"silent fraction $p_0$ at capacity", ylim=(0, 1)
)
axes.legend(ncols=2)
