"""
Fig. 2a: capacity against the dendritic threshold
=================================================

Replica-symmetric capacity as in the paper (solid), and with one step of symmetry breaking (dashed), both for
infinitely many long, equal branches; the inset shows how widely the input of a branch is spread at the former.
Computed on the fly.
"""

import matplotlib.pyplot as plt
import numpy as np

import dendrocap as dc
from dendrocap.reproduction import PRESETS, selected

(fig2a,) = selected(["fig2a"])
figure = fig2a.draw(fig2a.tables(PRESETS["quick"], []))

# %%
# By hand, for a dendrite and a size of your own: ``accuracy="best"`` takes some seconds per point and has errors.

theta_d = np.geomspace(0.01, 1, 20)
figure, axes = plt.subplots(figsize=(4.2, 2.8), layout="constrained")
for gamma, colour in ((5, "#0072B2"), (15, "#D55E00"), (45, "#009E73")):
    neurons = [dc.NeuronSpec(dc.Polsky(x_min=0.33, gamma=gamma), t, theta_s=0.5) for t in theta_d]
    cells = [dc.DendriticNeuron(neuron, n_inputs=999, n_branches=27) for neuron in neurons]
    answers = [dc.capacity(cell, accuracy="fast") for cell in cells]
    axes.plot(theta_d, [a.alpha_c for a in answers], "--", color=colour, label=rf"$\gamma = {gamma}$, quick estimate")
    axes.plot(theta_d, [a.paper_alpha_c for a in answers], "-", lw=0.8, color=colour)
axes.plot([], [], "-", lw=0.8, color="0.4", label="replica symmetric, as in the paper")
axes.set(xscale="log", yscale="log", xlabel=r"dendritic threshold $\theta_d$", ylabel=r"capacity $\alpha_c$")
axes.set_title("999 synapses on 27 branches", fontsize=9)
axes.set_ylim(0.9, 200)  # room for the legend
axes.legend(loc="upper left")
