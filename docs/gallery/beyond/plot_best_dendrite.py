r"""
The best dendrite
=================

Which dendrite stores most if its slope is limited? Left: the best one, Polsky's function and a measured curve (here
simulated), all of height 1 and steepest slope 5, with one step of symmetry breaking at the margin κ = 0.2. Right: their
capacities against the margin, at θ_d = θ_s = ½. Left of the dotted line unequal branches store more than these numbers,
which are for equal ones. :doc:`The theory </theory/best_dendrite>`.
"""

import matplotlib.pyplot as plt
import numpy as np

import dendrocap as dc

noise = np.random.default_rng(3).standard_normal(17) / 30
x = np.linspace(0, 1.6, 17)
others = {
    "Polsky": (dc.Polsky(), "#D55E00", "-.", "s"),
    "measured curve": (dc.Smooth(x, dc.Polsky(0.3, 10)(x) + noise, sem=1 / 30), "#882255", ":", "^"),
}
margins = [0.03, 0.1, 0.2, 0.35, 0.6]
found = [dc.best_dendrite(5, theta_d=0.5, theta_s=0.5, task=dc.TaskSpec(kappa=k)) for k in margins]
best = found[2]

figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 2.8), layout="constrained")
at = np.linspace(-0.2, 1.2, 400)
left.plot(at, best.nonlinearity(at), color="#5E3CE0", lw=2, label="best")
right.plot(margins, [one.alpha_c for one in found], "o--", color="#5E3CE0", ms=3)
for name, (g, colour, style, mark) in others.items():
    low, high = g.range
    left.plot(at, (g(best.stretch(g) * at) - low) / (high - low), style, color=colour, label=name)
    right.plot(margins, [one.capacity_of(g) for one in found], "--", marker=mark, color=colour, ms=4)
left.set(xlabel="summed branch input $x$", ylabel="branch output $g(x)$")
left.legend(loc="lower right")
right.axvline(best.branch_stability().kappa_c, color="0.6", ls=":")
right.set(xlabel=r"margin $\kappa$", ylabel=r"capacity $\alpha_c$", ylim=(0, None))
right.set_title("broken symmetry k = 1", fontsize=9)
