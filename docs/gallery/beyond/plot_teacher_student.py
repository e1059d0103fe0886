r"""
When do dendrites help generalisation?
======================================

A Polsky neuron labels the patterns; a student that makes no error on them answers unseen ones. With few patterns the
linear student (replica symmetric) is better although its form is wrong; above the crossing load the student with the
teacher's form (exact) is. :doc:`The theory </theory/generalisation>`.
"""

import matplotlib.pyplot as plt
import numpy as np

import dendrocap as dc
from dendrocap.figures.style import AXIS_LABELS, PALETTE

teacher = dc.NeuronSpec(dc.Polsky(), theta_d=0.5, theta_s=0.5)
linear = dc.NeuronSpec(dc.Linear(), theta_d=0.5, theta_s=0.5)
loads = np.linspace(0.1, 2.5, 13)
own = [dc.teacher_student(teacher, alpha=alpha) for alpha in loads]
other = [dc.teacher_student(linear, alpha=alpha, teacher=teacher) for alpha in loads]
crossing = dc.crossing_load(teacher)

figure, axes = plt.subplots(figsize=(4.6, 3), layout="constrained")
axes.plot(loads, [one.gibbs_error for one in other], color=PALETTE["linear"], label="linear student, replica symmetric")
axes.plot(loads, [one.gibbs_error for one in own], color=PALETTE["polsky"], label="Polsky student, exact")
axes.plot(
    loads, [one.bayes_error for one in own], color=PALETTE["polsky"], lw=0.9, label="all Polsky students vote, exact"
)
axes.axvline(crossing, color="0.6", lw=0.8)
axes.text(crossing + 0.04, 0.36, f"dendrites pay from {crossing:.2f}", fontsize=7)
axes.set(xlabel=AXIS_LABELS["alpha"], ylabel="error on unseen patterns", ylim=(0, 0.4))
axes.legend(fontsize=7, loc="lower left")
