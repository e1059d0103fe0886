"""
Fig. 3: what learning reaches
=============================

Left, training error against load at a reduced size (N = 297, K = 9, patience 100, 3 tasks per point), run on
the fly. Right, the largest load solved at full size (N = 999, K = 27, patience 1000, stored in
``docs/results/rsb_learned.csv``) between the replica-symmetric capacity, which no learner comes near at large
thresholds, and the capacity with broken symmetry.
"""

import matplotlib.pyplot as plt
import pandas as pd

import dendrocap as dc
from dendrocap.figures.style import PALETTE

figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 2.9), layout="constrained")

loads = [0.6, 0.8, 1.0, 1.2, 1.4]
how = {"schedule": dc.HalveOnPlateau(100), "max_epochs": 1500, "seeds": [0, 1, 2]}
dendrites = dc.DendriticNeuron(dc.NeuronSpec(dc.Polsky(), 0.05, 0.5), n_inputs=297, n_branches=9)
for neuron, label, colour in (
    (dc.LinearNeuron(0.5, n_inputs=297), "one layer", "black"),
    (dendrites, r"Polsky, $\theta_d = 0.05$", PALETTE["polsky"]),
):
    curve = dc.training_error_curve(neuron, loads, algorithm=dc.SGD(0.1), **how)
    left.errorbar(loads, curve.mean_errors, [p.error_of_mean for p in curve.points], label=label, color=colour)
left.set(xlabel=r"load $\alpha = P/N$", ylabel="training error (fraction of patterns)")
left.legend()

theory = pd.read_csv("../../results/rsb_capacity.csv").query("nonlinearity == 'polsky' and theta_d <= 1.2")
learned = pd.read_csv("../../results/rsb_learned.csv")
right.plot(theory["theta_d"], theory["alpha_rs"], color=PALETTE["polsky"], label="replica symmetric")
right.plot(theory["theta_d"], theory["alpha_full"], color=PALETTE["polsky"], ls="--", label="symmetry broken")
right.plot(learned["theta_d"], learned["alpha"], "o", color="black", ms=4, label="surrogate gradient")
right.axhline(1, color="black", ls=":", lw=0.8)
right.set(xlabel=r"dendritic threshold $\theta_d$", ylabel=r"load $\alpha$", xscale="log", ylim=(0.8, 5))
right.legend()
