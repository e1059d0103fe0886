"""
Fig. 9: large dendritic thresholds
==================================

Replica-symmetric capacity, and its asymptotes with the coefficients that we derive rather than fit: linear
growth for saturating functions with the slope of :func:`~dendrocap.theory.large_threshold_slope`, logarithmic
growth for ReLU. The right panel shows why a fit over a finite range gives 0.96 instead of 1: the local slope
approaches its limit very slowly.
"""

import matplotlib.pyplot as plt
import numpy as np

import dendrocap as dc
from dendrocap.figures.style import LABELS, PALETTE
from dendrocap.theory import large_threshold_slope, relu_large_threshold_capacity

figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 2.8), layout="constrained")

theta_d = np.linspace(0.5, 30, 30)
for g in (dc.Polsky(), dc.SaturatingReLU()):
    capacity = [dc.critical_capacity(dc.NeuronSpec(g, t, 0.5)).alpha_c for t in theta_d]
    left.plot(theta_d, capacity, color=PALETTE[g.name], label=LABELS[g.name])
    left.plot(theta_d, large_threshold_slope(g) * theta_d, color="black", ls="--", lw=0.8)
    left.text(24, large_threshold_slope(g) * 24 - 30, f"slope {large_threshold_slope(g):.4f}", ha="left")
left.set(xlabel=r"dendritic threshold $\theta_d$", ylabel=r"$\alpha_c$ (replica symmetric)")
left.legend()

wide = np.geomspace(3, 1e8, 40)
capacity = np.array([dc.critical_capacity(dc.NeuronSpec(dc.ReLU(), t, 0.5)).alpha_c for t in wide])
derived = np.array([relu_large_threshold_capacity(t) for t in wide])
right.plot(wide, np.gradient(capacity, np.log(wide)), color=PALETTE["relu"], label="ReLU")
right.plot(wide, np.gradient(derived, np.log(wide)), color="black", ls="--", lw=0.8, label="asymptotic formula")
right.axhline(0.9602, color="0.5", lw=0.8, ls=":", label="0.9602, fitted in print")
right.axhline(1.0, color="black", lw=0.5)
right.set(
    xscale="log",
    xlabel=r"dendritic threshold $\theta_d$",
    ylabel=r"local slope $d\alpha_c / d\ln\theta_d$",
    ylim=(0.4, 1.05),
)
right.legend()
