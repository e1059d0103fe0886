"""
Fig. 7: robustness to noise
===========================

Training error when inputs flip, and when synapses fluctuate, after learning half a pattern per synapse to zero
error, N = 999, K = 27; one task, 10 samples of noise per point, run on the fly with the same settings for both
neurons. With each at its own best settings :doc:`most of the difference disappears </results/learning>`.
"""

import matplotlib.pyplot as plt

import dendrocap as dc

task = dc.random_patterns(500, 999, rng=0)
figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 2.7), sharey=True, layout="constrained")
for label, neuron, colour in (
    ("one layer", dc.LinearNeuron(0.5, n_inputs=999), "black"),
    (r"Polsky, $\theta_d = 0.05$", dc.DendriticNeuron(dc.NeuronSpec(dc.Polsky(), 0.05, 0.5), 999, 27), "#D55E00"),
):
    rule = dc.SGD(learning_rate=0.1, gamma_ce=10)
    weights = dc.train(neuron, *task, algorithm=rule, max_epochs=2000, seed=0).weights
    flips, noises = [0, 0.01, 0.02, 0.05, 0.1, 0.2], [0, 0.1, 0.2, 0.5, 1.0]
    noise = dc.noise_robustness(
        neuron, weights, *task, flip_probabilities=flips, noise_amplitudes=noises, samples=10, seed=1
    )
    for axes, points in ((left, noise.input_flips), (right, noise.synaptic_noise)):
        errors, spread = [p.error for p in points], [p.standard_error for p in points]
        axes.errorbar([p.level for p in points], errors, spread, label=label, color=colour)
left.set(xlabel=r"flip probability of an input $\rho$", ylabel="error (fraction of patterns)")
left.set_xticks([0, 0.05, 0.1, 0.15, 0.2])
right.set(xlabel=r"amplitude of synaptic noise $\sigma$")
left.legend()
