"""
Capacity of a measured dendrite
===============================

The capacity is computed from points of a dendritic curve (here simulated, 15 mV and 0.5 mV noise): once with
Polsky's function fitted to them, once with the points
themselves, made monotone. Computed on the fly; :doc:`the
tutorial </learn/experimenters>` does the same from a file.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.isotonic import IsotonicRegression

import dendrocap as dc

rng = np.random.default_rng(3)
x_mv = np.linspace(1, 24, 16)
y_mv = 15 * dc.Polsky(0.3, 10)(x_mv / 15) + 0.5 * rng.standard_normal(16)
fit = dc.fit_nonlinearity(x_mv, y_mv)
rising = IsotonicRegression().fit_transform(x_mv, y_mv)
taken = dc.Tabulated(np.r_[-1.0, 0.0, x_mv / fit.scale], np.r_[0.0, 0.0, rising / fit.scale])

figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 2.8), layout="constrained")
at = np.linspace(-2, 26, 300)
left.plot(x_mv, y_mv, "o", color="black", ms=3, label="measured")
theta_d = np.geomspace(0.05, 1, 6)
for g, label, colour in ((fit.nonlinearity, "Polsky, fitted", "#D55E00"), (taken, "points, made monotone", "#009E73")):
    left.plot(at, fit.scale * g(at / fit.scale), color=colour, label=label)
    for steps, style in ((0, "-"), (1, "--")):
        states = [dc.critical_capacity(dc.NeuronSpec(g, t, 0.5), rsb=steps) for t in theta_d]
        right.plot(theta_d, [state.alpha_c for state in states], style, color=colour)
left.set(xlabel="expected EPSP (mV)", ylabel="recorded EPSP (mV)")
left.legend()
right.set(xscale="log", xlabel=r"dendritic threshold $\theta_d$", ylabel=r"capacity $\alpha_c$")
right.set_title("solid: replica symmetric (the paper's)\ndashed: broken symmetry k = 1", fontsize=8)
