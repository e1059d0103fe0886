"""The best dendrite: the g that stores most under a limit on its slope, at a margin [best-problem].

Without a margin there is none: capacity at kappa = 0 does not notice the units of the output, and a small step of
slope L is as steep, in units of its own height, as one likes [best-no-scale]. A margin is an absolute scale. With it,
the load is a convex function of the slope at each input, through the gain E g'^2, so that the best slope is 0 or L
everywhere [best-switch]: the best dendrite is a staircase of rises of slope L. What is left are its heights and gaps, a
handful of numbers, and the somatic threshold.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.display import Displayed
from dendrocap.errors import NoSolution
from dendrocap.model import NeuronSpec, Nonlinearity, PiecewiseLinear, TaskSpec
from dendrocap.theory.branches.stability import BranchStability, branch_stability
from dendrocap.theory.capacity_gradient import CapacityGradient
from dendrocap.theory.critical_capacity import critical_capacity
from dendrocap.theory.dendrite_search import LOWEST, Optimum, Search, Staircase, price_of_height
from dendrocap.theory.estimates import estimate_name
from dendrocap.theory.replica_symmetric import CapacitySolution
from dendrocap.theory.rsb.broken_capacity import BrokenCapacity
from dendrocap.validation import real_number, refuse, whole_number

__all__ = ["BestDendrite", "best_dendrite"]

Floats = NDArray[np.float64]

REACH, GRID = 6.0, 481  # where a further rise is looked for, in standard deviations of a branch's input
HELPS = 1e-3  # gain per unit of height below which a further rise is not worth its name
BETTER = 1e-6  # relative gain from which one rise more counts


@dataclass(frozen=True)
class BestDendrite(Displayed):
    """The dendrite that stores most under a limit on its slope, and how sure that is.

    Attributes
    ----------
    nonlinearity : PiecewiseLinear
        g, which starts to rise at 0. Long branches do not notice where it does.
    alpha_c : float
        Its capacity: patterns per synapse, with long, equal branches.
    height, theta_s : float
        The largest output, at most 1, and the somatic threshold.
    by_rises : tuple of float
        The largest capacity with up to 1, 2, ... rises, as far as was asked for.
    neuron, task, rsb, slope_limit
        The neuron with this dendrite, and what was asked for.
    solution : CapacitySolution or BrokenCapacity
        The state of the synapses.
    residual : float
        Largest derivative of ln alpha_c in the logarithms of heights and gaps and in theta_s / height that is left,
        those excepted that a limit holds back.
    further_rise : float
        What the best further short rise adds to ln alpha_c, per unit of height; positive if more rises are better.
    at_limit : bool
        Whether the height is at its limit 1.
    evaluations : int
        Capacities computed.

    Examples
    --------
    >>> from dendrocap import TaskSpec, best_dendrite
    >>> best = best_dendrite(slope_limit=5, theta_d=0.5, task=TaskSpec(kappa=0.2), rsb=0)
    >>> round(best.alpha_c, 3), round(best.height, 3), round(best.theta_s / best.height, 3)
    (5.823, 0.486, 0.5)
    """

    _displayed = ("alpha_c", "estimate", "shape", "theta_s", "by_rises", "further_rise", "residual")

    nonlinearity: PiecewiseLinear
    alpha_c: float
    height: float
    theta_s: float
    neuron: NeuronSpec
    task: TaskSpec
    rsb: int
    slope_limit: float
    by_rises: tuple[float, ...]
    solution: CapacitySolution | BrokenCapacity = field(repr=False, compare=False)
    residual: float
    further_rise: float
    at_limit: bool
    evaluations: int
    theta_s_given: float | None = None

    @property
    def estimate(self) -> str:
        """What this estimate of the capacity is called."""
        return estimate_name(self.rsb)

    @property
    def shape(self) -> str:
        """The dendrite in words."""
        edges = np.array(self.nonlinearity.x)
        widths, gaps = (edges[1::2] - edges[::2]).tolist(), (edges[2::2] - edges[1:-1:2]).tolist()
        parts = [f"rise by {self.slope_limit * widths[0]:.4g}"]
        parts += [
            f"flat for {gap:.4g}, rise by {self.slope_limit * width:.4g}"
            for gap, width in zip(gaps, widths[1:], strict=True)
        ]
        return f"slope {self.slope_limit:g}: " + ", ".join(parts)

    @property
    def more_rises_help(self) -> bool:
        """Whether a further rise would gain more than one in a thousand per unit of height."""
        return self.further_rise > HELPS

    def gain_of_a_rise(self, at: ArrayLike) -> Floats:
        """What a short further rise at these inputs adds to ln alpha_c, per unit of height [best-switch].

        Where g rises already: what a short flat piece would lose. Positive on the rises and negative elsewhere, if no
        other g is better. Where the height is at its limit, the price of the height is taken off.
        """
        slopes = CapacityGradient(self.solution)
        price = price_of_height(slopes, self.slope_limit) if self.at_limit else 0.0
        return slopes.by_rise(at, self.slope_limit) - price

    @classmethod
    def _of(cls, found: Optimum, slope_limit: float, theta_s: float | None) -> BestDendrite:
        """The result for the user."""
        solution, staircase = found.solution, found.staircase
        assert isinstance(solution.neuron.nonlinearity, PiecewiseLinear)
        best = cls(
            nonlinearity=solution.neuron.nonlinearity,
            alpha_c=solution.alpha_c,
            height=staircase.height,
            theta_s=staircase.theta_s,
            neuron=solution.neuron,
            task=solution.task,
            rsb=0 if isinstance(solution, CapacitySolution) else int(solution.rsb),
            slope_limit=slope_limit,
            by_rises=(),
            solution=solution,
            residual=found.residual,
            further_rise=math.nan,
            at_limit=found.at_limit,
            evaluations=0,
            theta_s_given=theta_s,
        )
        return replace(best, further_rise=float(best._flat_gains()[1].max()))

    def _flat_gains(self) -> tuple[Floats, Floats]:
        """Inputs at which g is flat, and what a short further rise there adds."""
        m, s = self.solution.preactivation_mean, self.solution.preactivation_sd
        at = m + s * np.linspace(-REACH, REACH, GRID)
        at = at[np.asarray(self.nonlinearity.derivative(at)) == 0.0]
        return at, self.gain_of_a_rise(at)

    def _with_a_rise(self) -> list[Staircase]:
        """The dendrite with a short rise more where it helps most, if it does."""
        if not self.further_rise > 0.0:
            return []
        at, gain = self._flat_gains()
        half = 0.025 * self.height / self.slope_limit
        edges = np.append(self.nonlinearity.x, at[np.argmax(gain)] + np.array([-half, half]))
        widths = np.maximum(np.diff(np.sort(edges)), 1e-4 * half)
        return [Staircase(widths[::2] * self.slope_limit, widths[1::2], self.theta_s)]

    def stretch(self, other: Nonlinearity) -> float:
        """The factor on the input of another dendrite that gives it, scaled to a height of 1, the slope of the limit.

        Examples
        --------
        >>> from dendrocap import Polsky, TaskSpec, best_dendrite
        >>> best = best_dendrite(slope_limit=5, theta_d=0.5, task=TaskSpec(kappa=0.2), rsb=0)
        >>> round(best.stretch(Polsky()), 4)  # its steepest slope is 5.025
        0.995
        """
        low, high = other.range
        if other.has_jumps or not math.isfinite(high - low):
            raise refuse(
                "other", other, f"continuous and bounded, to be scaled to the limits; its range is {other.range}"
            )
        return self.slope_limit * (high - low) / _steepest(other)

    def capacity_of(self, other: Nonlinearity) -> float:
        """The capacity of another dendrite under the same limits and at the same margin.

        Its output is scaled to reach from 0 to 1 and its input so that its steepest slope is the limit. The somatic
        threshold is the same if it was given, else the best for it.

        Examples
        --------
        >>> from dendrocap import Polsky, SaturatingReLU, TaskSpec, best_dendrite
        >>> best = best_dendrite(slope_limit=5, theta_d=0.5, task=TaskSpec(kappa=0.2), rsb=0)
        >>> [round(best.capacity_of(g), 3) for g in (SaturatingReLU(), Polsky())]
        [4.967, 2.647]
        """
        from scipy.optimize import minimize_scalar

        low, high = other.range
        # g(a x) at theta_d is g(x) at a theta_d, and h g at h theta_s and h kappa is g.
        theta_d = self.neuron.theta_d * self.stretch(other)
        task = replace(self.task, kappa=self.task.kappa * (high - low))

        def alpha(share: float) -> float:
            neuron = NeuronSpec(other, theta_d, low + share * (high - low))
            return critical_capacity(neuron, task, rsb=self.rsb).alpha_c

        if self.theta_s_given is not None:
            return alpha(self.theta_s_given)
        shares = (LOWEST, 0.06, 0.15, 0.3, 0.5, 0.7, 0.85, 0.94, 1.0 - LOWEST)
        tried = [alpha(share) for share in shares[1:-1]]
        at = int(np.argmax(tried)) + 1
        bounds, options = (shares[at - 1], shares[at + 1]), {"xatol": 1e-4}
        found = minimize_scalar(lambda share: -alpha(share), bounds=bounds, method="bounded", options=options)
        return max(-float(found.fun), *tried)

    def branch_stability(self) -> BranchStability:
        """Whether equal branches of this dendrite are the best, with at least one step of breaking.

        Examples
        --------
        >>> from dendrocap import TaskSpec, best_dendrite
        >>> best_dendrite(slope_limit=5, theta_d=0.5, theta_s=0.5, task=TaskSpec(kappa=0.2)).branch_stability().stable
        True
        """
        return branch_stability(self.neuron, self.task, rsb=max(self.rsb, 1))


def best_dendrite(
    slope_limit: float,
    theta_d: float,
    *,
    task: TaskSpec | None = None,
    theta_s: float | None = None,
    rises: int = 1,
    rsb: int = 1,
    callback: Callable[[float, str], object] | None = None,
) -> BestDendrite:
    """The dendritic non-linearity that stores most, among those that never fall and are nowhere steeper than a limit.

    g starts at 0, rises nowhere faster than ``slope_limit`` and to 1 at most; each pattern must be stored with the
    margin ``task.kappa``, in the same units: noise at the soma. The best g has slope 0 or ``slope_limit`` everywhere
    [best-switch]; it is looked for among staircases with a given number of rises.

    Parameters
    ----------
    slope_limit : float
        Largest slope of g, positive.
    theta_d : float
        Dendritic threshold, positive. It sets the mean weight; where g starts to rise does not matter on long branches.
    task : TaskSpec
        Coding levels, and a margin kappa > 0.
    theta_s : float, optional
        Somatic threshold, between 0 and 1. If not given, it is optimised too.
    rises : int
        Most rises, each followed by a plateau. ``by_rises`` and ``further_rise`` of the result say what more bring.
    rsb : int
        Steps of replica symmetry breaking. The replica-symmetric estimate (0) overrates steep dendrites, and most of
        all fine staircases; with it, more rises are always better where the height leaves room [best-staircase].
    callback : callable, optional
        Called with the share of the work that is done and a few words.

    Returns
    -------
    BestDendrite

    Raises
    ------
    NoSolution
        Without a margin, because then no dendrite is the best.

    Notes
    -----
    All branches are taken to be long and alike. Below some margin, unequal branches of a saturating dendrite store
    more: ``branch_stability()`` of the result says whether that is the case.

    Examples
    --------
    >>> from dendrocap import TaskSpec, best_dendrite
    >>> best = best_dendrite(slope_limit=5, theta_d=0.5, task=TaskSpec(kappa=0.2))
    >>> round(best.alpha_c, 4), best.shape, round(best.theta_s, 2)
    (1.4839, 'slope 5: rise by 1', 0.5)
    >>> best.further_rise < 0.0
    True
    """
    task = TaskSpec() if task is None else task
    slope_limit = real_number("slope_limit", slope_limit, 0.0, low_open=True)
    theta_d = real_number("theta_d", theta_d, 0.0, low_open=True)
    rises, rsb = whole_number("rises", rises, 1), whole_number("rsb", rsb, 0)
    if theta_s is not None:
        theta_s = real_number("theta_s", theta_s, 0.0, 1.0, low_open=True, high_open=True)
    if not task.kappa > 0.0:
        raise NoSolution(
            f"no dendrite is the best at kappa = {task.kappa:g}: without a margin the capacity of a small step of the "
            f"slope {slope_limit:g} grows without bound as its height falls; give a margin, task=TaskSpec(kappa=0.1), "
            "in units of the largest output"
        )
    best: BestDendrite | None = None
    by_rises: list[float] = []
    evaluations = 0
    for number in range(1, rises + 1):

        def tell(share: float, words: str, before: int = number - 1) -> None:
            if callback is not None:
                callback((before + share) / rises, f"{before + 1} rise{'s' if before else ''}, {words}")

        search = Search(slope_limit, theta_d, task, theta_s, number, rsb, tell)
        found = search.best([] if best is None else best._with_a_rise())
        evaluations += search.evaluations
        # Rises that have grown together, or vanished, are none.
        if best is None or found.solution.alpha_c > best.alpha_c * (1.0 + BETTER):
            best = BestDendrite._of(found, slope_limit, theta_s)
        by_rises.append(best.alpha_c)
    assert best is not None
    return replace(best, by_rises=tuple(by_rises), evaluations=evaluations)


def _steepest(g: Nonlinearity) -> float:
    """The largest slope of g."""
    knots = np.array(g.knots)
    at = np.concatenate([np.linspace(a, b, 65) for a, b in pairwise(knots)])
    return float(np.max(g.derivative(np.concatenate([at, np.nextafter(knots, np.inf), np.nextafter(knots, -np.inf)]))))
