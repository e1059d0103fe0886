"""
Fig. 4: learning speed
======================

Training error epoch by epoch at half a pattern per synapse, mean over five tasks, N = 999 and K = 27 as in the
paper, run on the fly. Left, at one learning rate for all, the dendritic neuron is far ahead. Right, each at the
best of several rates, it is not: see :doc:`the measurements </results/learning>`. A shared rate is an arbitrary
choice, because the linear neuron's scales with its threshold.
"""

import matplotlib.pyplot as plt
import numpy as np

import dendrocap as dc

neurons = {
    "one layer": (dc.LinearNeuron(0.5, n_inputs=999), "black", 1.0),
    r"Polsky, $\theta_d = 0.01$": (dc.DendriticNeuron(dc.NeuronSpec(dc.Polsky(), 0.01, 0.5), 999, 27), "#D55E00", 0.1),
    r"Polsky, $\theta_d = 0.1$": (dc.DendriticNeuron(dc.NeuronSpec(dc.Polsky(), 0.1, 0.5), 999, 27), "#E69F00", 0.1),
}
figure, panels = plt.subplots(1, 2, figsize=(6.8, 2.8), sharey=True, layout="constrained")
for axes, shared in zip(panels, (0.03, None), strict=True):
    for label, (neuron, colour, best) in neurons.items():
        rule = dc.SGD(shared or best)
        speed = dc.learning_speed(
            neuron, alpha=0.5, algorithm=rule, schedule=dc.ExponentialAnnealing(1e-4), max_epochs=500
        )
        epochs = np.arange(1, len(speed.mean_error) + 1)
        axes.plot(epochs, speed.mean_error, color=colour, label=f"{label}, rate {rule.learning_rate:g}")
    axes.set(xscale="log", xlabel="epoch")
    axes.legend(loc="lower left" if shared else "upper right")
panels[0].set_ylabel("training error (fraction of patterns)")
panels[0].set_title("one rate for all")
panels[1].set_title("each at its best")
