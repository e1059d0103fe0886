"""Stability of equal branches: whether they maximise the capacity, and the margin that makes them stable.

Half of the branches get a slightly larger mean input than the other half, and everything else is optimised. If the load
decreases, equal branches are stable; if it increases, branches separate into mostly-on and mostly-off ones
[pop-stability].
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model import Branches, NeuronSpec, TaskSpec
from dendrocap.theory import scope
from dendrocap.theory.broken import BrokenEquations
from dendrocap.theory.neuron_kernel import Population, populations_of
from dendrocap.theory.results import estimate_name
from dendrocap.theory.search import Found, broken_state, follow_to, near, population_capacity
from dendrocap.theory.solution import CapacitySolution
from dendrocap.theory.solver import bracketed_root
from dendrocap.validation import whole_number

SPLITS = (0.2, 0.4)  # differences of the mean inputs, in standard deviations of a branch's input

LARGEST_MARGIN = 16.0  # in standard deviations of the somatic input


@dataclass(frozen=True)
class BranchStability(Displayed):
    """Stability of equal branches.

    Attributes
    ----------
    stable : bool
        Whether the capacity decreases when the mean inputs of two halves of the branches separate.
    curvature : float
        Second derivative of the capacity in that difference, relative, in units of the branch input's variance.
    kappa_c : float
        Margin above which equal branches are stable; 0 if they are stable without a margin.
    alpha_c : float
        Capacity of equal branches at the given margin.
    neuron, task, rsb, branch_size
        The inputs.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky, TaskSpec, branch_stability
    >>> found = branch_stability(NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.5), TaskSpec(kappa=0.05))
    >>> found.stable, round(found.kappa_c, 4)
    (False, 0.1184)
    """

    _displayed = ("stable", "kappa_c", "curvature", "alpha_c", "estimate")

    stable: bool
    curvature: float
    kappa_c: float
    alpha_c: float
    neuron: NeuronSpec
    task: TaskSpec
    rsb: int
    branch_size: float | None

    @property
    def estimate(self) -> str:
        """The name of this estimate of the capacity."""
        return estimate_name(self.rsb)

    def optimum(self) -> CapacitySolution:
        """The best two populations; the fraction of on branches follows from the somatic threshold.

        Raises
        ------
        NoSolution
            If equal branches are best, or the load grows without bound.
        """
        if self.stable:
            raise NoSolution(
                f"equal branches are stable at kappa = {self.task.kappa:g}: there is no better split nearby"
            )
        low, high = self.neuron.nonlinearity.range
        on = (self.neuron.theta_s - low) / (high - low) if math.isfinite(low + high) else 0.5
        kinds = tuple(
            Branches(
                self.neuron.nonlinearity,
                self.neuron.theta_d,
                fraction,
                mean_output="best",
                inhibition=self.neuron.inhibition,
            )
            for fraction in (1.0 - on, on)
        )
        neuron = NeuronSpec(populations=kinds, theta_s=self.neuron.theta_s)
        return population_capacity(neuron, self.task, self.rsb, self.branch_size)


def branch_stability(
    neuron: NeuronSpec, task: TaskSpec | None = None, *, rsb: int = 1, branch_size: float | None = None
) -> BranchStability:
    """Whether equal branches maximise the capacity, and the margin above which they do.

    Parameters
    ----------
    neuron : NeuronSpec
        A neuron with equal branches and a g that never falls.
    task : TaskSpec, optional
        Coding levels and margin.
    rsb : int
        Steps of replica symmetry breaking, at least 1.
    branch_size : float, optional
        Synapses per branch; by default the limit of long branches.

    Returns
    -------
    BranchStability
        Its ``optimum()`` gives the best two populations if equal branches are unstable.

    Notes
    -----
    The curvature [pop-stability] is extrapolated from two splits to their limit zero, with about four digits.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, ReLU, branch_stability
    >>> branch_stability(NeuronSpec(ReLU(), theta_d=1.0, theta_s=0.5)).stable
    True
    """
    task = scope.check("branch_stability", neuron, task)
    rsb = whole_number("rsb", rsb, 1)
    (population,) = populations_of(neuron, task, branch_size)

    def equal_at(task: TaskSpec, start: Found | None = None) -> Found:
        equations = BrokenEquations([population], task, neuron.theta_s, rsb)
        found = near(equations, start.x, start.jacobian) if start is not None else None
        other = broken_state([population], neuron.theta_s, task, rsb) if found is None else found
        if isinstance(other, str):
            raise NoSolution(f"like branches have no solution with {rsb} step(s) of breaking: {other}")
        return other

    equal = latest = equal_at(task)

    def curvature(kappa: float) -> float:
        """Relative second derivative of the capacity in the split."""
        nonlocal latest
        at_margin = replace(task, kappa=kappa)
        latest = equal_at(at_margin, latest)
        start, by_split = None, []
        for split in SPLITS:
            start = split_state(population, neuron.theta_s, at_margin, rsb, latest, split, start=start)
            by_split.append(2.0 * (start.state.alpha / latest.state.alpha - 1.0) / split**2)
        # The error of the first is of second order in the split, and four times as large in the second.
        return (4.0 * by_split[0] - by_split[1]) / 3.0

    asked = curvature(task.kappa)
    kappa_c = 0.0
    low, at_zero = 0.0, asked if task.kappa == 0.0 else curvature(0.0)
    if at_zero > 0.0:
        step = 0.1 * math.sqrt(latest.state.Gamma0)
        high = low + step
        while curvature(high) > 0.0:
            low, high = high, 2.0 * high
            if high > LARGEST_MARGIN * math.sqrt(latest.state.Gamma0):
                raise ConvergenceError(f"equal branches are not stable even at kappa = {low:g}", low)
        kappa_c = bracketed_root(curvature, low, high, xtol=1e-7).at
    return BranchStability(asked < 0.0, asked, kappa_c, equal.state.alpha, neuron, task, rsb, branch_size)


def split_state(
    population: Population,
    theta_s: float,
    task: TaskSpec,
    k: int,
    equal: Found,
    split: float,
    on: float = 0.5,
    start: Found | None = None,
    begin: float = 0.0,
    n_branches: float = math.inf,
) -> Found:
    """Two populations whose mean inputs differ by ``split`` standard deviations of the equal state's input.

    A share ``on`` has the larger one. ``start`` is a solution at the split ``begin``; by default the equal state.
    """
    side = equal.state.sides[0]
    unit = math.sqrt(population.variance(side.m, side.Q))
    both = [replace(population, fraction=1.0 - on), replace(population, fraction=on)]

    def family(s: float) -> BrokenEquations:
        offsets = (0.0, (begin + s * (split - begin)) * unit)
        return BrokenEquations(both, task, theta_s, k, offsets, n_branches)

    x = family(0.0).pack([side.unknowns] * 2, [side.m] * 2, equal.state.shift) if start is None else start.x
    way = follow_to(family, x, None if start is None else start.jacobian)
    if way.reached < 1.0 or way.found is None:
        raise ConvergenceError(f"branches could be parted up to {way.reached:.0%} of a split of {split:g} only", way)
    return way.found
