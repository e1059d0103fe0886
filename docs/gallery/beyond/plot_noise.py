r"""
How robust can a neuron be?
===========================

Fraction of patterns wrong at load ½ if inputs flip: a typical solution, the solution of largest margin, and the best
possible. All replica symmetric with equal branches; for the linear neuron the first two are exact. Mild dendrites
(middle) are better if flips are rare and the margin is large, strong ones (right) are worse. :doc:`The theory
</theory/noise>`.
"""

import matplotlib.pyplot as plt
import numpy as np

import dendrocap as dc

flips = np.geomspace(0.003, 0.1, 9)
neurons = {
    "linear": dc.NeuronSpec(dc.Linear(), 0.5, 0.5),
    r"Polsky, $\theta_d$ = 0.05": dc.NeuronSpec(dc.Polsky(), 0.05, 0.5),
    r"Polsky, $\theta_d$ = 0.5": dc.NeuronSpec(dc.Polsky(), 0.5, 0.5),
}
figure, panels = plt.subplots(1, 3, figsize=(6.8, 2.6), layout="constrained", sharey=True)
for axes, (name, neuron) in zip(panels, neurons.items(), strict=True):
    typical = dc.saddle_point(neuron, alpha=0.5)
    widest = dc.maximal_margin(neuron, alpha=0.5, criterion="relative")
    axes.plot(flips, [dc.noise_error(typical, flips=p) for p in flips], color="#0072B2", label="typical solution")
    axes.plot(flips, [dc.noise_error(widest, flips=p) for p in flips], color="#009E73", label="largest margin")
    best = [dc.least_noise_error(neuron, alpha=0.5, flips=p) for p in flips]
    axes.plot(flips, best, "k:", label="best possible")
    axes.set(xscale="log", yscale="log", ylim=(1e-4, 0.5), xlabel=r"flip probability $\rho$")
    axes.set_title(name, fontsize=9)
panels[0].set_ylabel("fraction of patterns wrong")
panels[0].legend(fontsize=6.5, title="replica symmetric", title_fontsize=6.5)
