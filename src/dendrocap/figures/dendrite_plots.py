"""The best dendrite beside others under the same limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dendrocap.figures.style import AXIS_LABELS, PALETTE, drawing
from dendrocap.model import Nonlinearity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dendrocap.theory import BestDendrite

__all__ = ["best_dendrite"]


def best_dendrite(
    best: BestDendrite, others: Mapping[str, Nonlinearity] | None = None, *, figure: Figure | None = None
) -> Figure:
    """The best dendrite and others scaled to its limits, and what a further rise would bring at each input.

    Parameters
    ----------
    best : BestDendrite
        What to draw.
    others : mapping of str to Nonlinearity, optional
        Dendrites to compare with, by name.
    figure : Figure, optional
        Where to draw; by default a new one.

    Examples
    --------
    >>> import dendrocap as dc
    >>> from dendrocap import plot
    >>> best = dc.best_dendrite(5.0, 0.5, task=dc.TaskSpec(kappa=0.2), rsb=0)
    >>> len(plot.best_dendrite(best, {"Polsky": dc.Polsky()}).axes)
    2
    """
    g, s = best.nonlinearity, best.solution.preactivation_sd
    ends = [other.knots[-1] / best.stretch(other) for other in (others or {}).values()]
    end = max(g.x[-1], *(min(one, 4.0 / best.slope_limit) for one in ends), 1.0 / best.slope_limit)
    x = np.unique(np.concatenate([np.linspace(-0.3 * end, 1.9 * end, 900), g.x]))
    with drawing(2, 2.9, figure) as figure:
        left, right = figure.subplots(1, 2)
        for name, other in (others or {}).items():
            low, high = other.range
            scaled = (other(best.stretch(other) * x) - low) / (high - low)
            label = rf"{name}, $\alpha_c$ = {best.capacity_of(other):.3g}"
            left.plot(x, scaled, "--", color=PALETTE[other.name], label=label)
        label = rf"best, $\alpha_c$ = {best.alpha_c:.3g}"
        left.plot(x, g(x), color=PALETTE[g.name], lw=2, label=label, zorder=1.5)
        left.axhline(best.theta_s, color="0.6", lw=0.8, ls=":")
        left.annotate(r"$\theta_s$", (x[0], best.theta_s), (1, 2), textcoords="offset points", color="0.4")
        left.set(xlabel="summed branch input $x$", ylabel=AXIS_LABELS["branch_output"], title=best.estimate)
        left.legend(loc="lower right", bbox_to_anchor=(1.0, 0.02))
        far = np.linspace(best.solution.preactivation_mean - 4.0 * s, best.solution.preactivation_mean + 4.0 * s, 500)
        far = np.unique(np.concatenate([far, x]))
        gain = best.gain_of_a_rise(far)
        right.axhline(0.0, color="0.6", lw=0.8)
        right.plot(far, gain, color=PALETTE[g.name])
        rising = np.asarray(g.derivative(far)) > 0.0
        right.fill_between(far, 0.0, gain, where=rising, color=PALETTE[g.name], alpha=0.25, label="where it rises")
        right.set(xlabel="summed branch input $x$", ylabel=r"$\partial \ln \alpha_c / \partial$ height")
        right.set_title("what a rise is worth", fontsize=9)
        right.legend()
    return figure
