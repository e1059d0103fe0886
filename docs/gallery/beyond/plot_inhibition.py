r"""
Inhibition that learns
======================

A fifth of the synapses of each branch are inhibitory and also learn; their mean input grows from left to right at the
same excitation. Left: patterns per synapse, solid replica symmetric (exact for the linear neuron), dashed with one step
of symmetry breaking. Right: silent synapses of the Polsky neuron, with one step. Infinitely many long, equal branches;
:doc:`the theory </theory/inhibition>`.
"""

import matplotlib.pyplot as plt

import dendrocap as dc
from dendrocap.figures.style import AXIS_LABELS, LABELS, ONE_STEP, PALETTE, SYMMETRIC

drives = [0.02, 0.05, 0.1, 0.175, 0.25, 0.375, 0.5]
figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 3.4), layout="constrained")
for g in (dc.Linear(), dc.ReLU(), dc.Polsky()):
    neurons = [dc.NeuronSpec(g, 0.5, 0.5, inhibition=dc.Inhibition(share=0.2, drive=drive)) for drive in drives]
    colour, name = PALETTE[g.name], LABELS[g.name]
    symmetric = [dc.critical_capacity(neuron).alpha_c for neuron in neurons]
    estimate = "exact" if isinstance(g, dc.Linear) else "replica symmetric"
    left.plot(drives, symmetric, color=colour, ls=SYMMETRIC["ls"], label=f"{name}, {estimate}")
    if isinstance(g, dc.Linear):
        continue
    broken = [dc.critical_capacity(neuron, rsb=1) for neuron in neurons]
    left.plot(drives, [one.alpha_c for one in broken], color=colour, ls=ONE_STEP["ls"], label=f"{name}, one step")
for place, (kind, colour) in enumerate((("excitatory", PALETTE["polsky"]), ("inhibitory", PALETTE["relu"]))):
    silent = [100 * one.populations[0].synapses[place].silent_fraction for one in broken]
    right.plot(drives, silent, color=colour, ls=ONE_STEP["ls"], label=f"{kind}, one step")
left.set(xlabel=AXIS_LABELS["inhibitory_drive"], ylabel=AXIS_LABELS["alpha_c"], yscale="log")
left.set_yticks([1, 2, 4, 8], ["1", "2", "4", "8"])
left.set_yticks([], minor=True)
right.set(xlabel=AXIS_LABELS["inhibitory_drive"], ylabel="silent synapses at capacity (%)", ylim=(0, None))
figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=6.5)
right.legend(fontsize=6.5)
