"""
The measured capacity depends on patience
=========================================

Halving the learning rate when the error stops decreasing needs a number that the paper does not give: how long
to wait. The largest load solved grows with it. Small neurons (N = 198, K = 6, threshold 0.1, 3 tasks), run on
the fly; at :doc:`full size
</results/learning>` the dendritic neuron overtakes the linear one with enough patience.
"""

import matplotlib.pyplot as plt

import dendrocap as dc

waits = [5, 20, 100, 400]
figure, axes = plt.subplots(figsize=(4.6, 3), layout="constrained")
for label, neuron, colour in (
    ("linear", dc.LinearNeuron(0.5, n_inputs=198), "black"),
    ("Polsky", dc.DendriticNeuron(dc.NeuronSpec(dc.Polsky(), 0.1, 0.5), n_inputs=198, n_branches=6), "#D55E00"),
):
    found = [
        dc.algorithmic_capacity(neuron, recipe=dc.Recipe(dc.SGD(0.1), dc.HalveOnPlateau(wait), max_epochs=4000))
        for wait in waits
    ]
    middle = [one.alpha for one in found]
    below = [one.alpha - min(one.largest_solved) for one in found]
    above = [max(one.largest_solved) - one.alpha for one in found]
    axes.errorbar(waits, middle, [below, above], marker="o", ms=4, color=colour, label=label)
axes.set(xscale="log", xlabel="patience (epochs)", ylabel="largest load solved (mean and range)", ylim=(0, None))
axes.legend()
