"""
A surrogate slope revives dead branches
=======================================

At large dendritic thresholds some patterns leave every branch silent or saturated. There g' = 0, and plain
gradient descent never corrects them. A surrogate, which replaces g' in the update but not in the answers, does.
N = 999, K = 27, Polsky with threshold 1, load 0.6, one task, run on the fly.
"""

import matplotlib.pyplot as plt
import numpy as np

import dendrocap as dc

neuron = dc.DendriticNeuron(dc.NeuronSpec(dc.Polsky(), theta_d=1.0, theta_s=0.5), n_inputs=999, n_branches=27)
task = dc.random_patterns(600, 999, rng=0)
figure, axes = plt.subplots(figsize=(4.6, 3), layout="constrained")
for label, rule, colour in (
    ("g' itself", dc.SGD(learning_rate=0.1), "black"),
    ("Lorentzian surrogate", dc.SGD(learning_rate=2.0, surrogate=dc.Lorentzian(center=0.4, width=0.3)), "#009E73"),
):
    run = dc.train(neuron, *task, algorithm=rule, schedule=dc.HalveOnPlateau(100), max_epochs=600, seed=0)
    best = np.minimum.accumulate(run.error_history / run.n_patterns)
    axes.plot(np.arange(1, len(best) + 1), best, color=colour, label=f"{label}: {run.errors} wrong")
axes.set(xscale="log", xlabel="epoch", ylabel="best error so far (fraction of patterns)")
axes.set_yscale("symlog", linthresh=1e-3)
axes.set_ylim(0, 1)
axes.legend()
