"""
Fig. 2a: capacity against the dendritic threshold
=================================================

Replica-symmetric capacity, computed on the fly; the inset shows how widely the input of a branch is spread at
capacity. Branches are equal; :doc:`with symmetry breaking <../beyond/plot_breaking>` the capacity is lower.
"""

import matplotlib.pyplot as plt
import numpy as np

import dendrocap as dc
from dendrocap.reproduction import fig02

figure = fig02.draw_a(fig02.tables_a())

# %%
# The same by hand, for a dendrite of your own:

theta_d = np.geomspace(0.01, 1, 40)
figure, axes = plt.subplots(figsize=(3.4, 2.6), layout="constrained")
for gamma in (5, 15, 45):
    neurons = [dc.NeuronSpec(dc.Polsky(x_min=0.33, gamma=gamma), t, theta_s=0.5) for t in theta_d]
    axes.plot(theta_d, [dc.critical_capacity(n).alpha_c for n in neurons], label=rf"$\gamma = {gamma}$")
axes.set(xscale="log", xlabel=r"dendritic threshold $\theta_d$", ylabel=r"critical capacity $\alpha_c$")
axes.legend()
