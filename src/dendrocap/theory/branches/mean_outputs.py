"""Mean outputs of populations: as prescribed, or where the load is largest.

The soma fixes only the average of the mean outputs. Unequal outputs can increase the load, for saturating g without
bound unless a margin limits it: an optimum is searched for only if the user asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model import Branches, NeuronSpec, TaskSpec
from dendrocap.theory.branches.population import populations_of
from dendrocap.theory.branches.solution import PopulationCapacity, capacity_of
from dendrocap.validation import refuse

__all__ = ["population_capacity"]

# Initial points of the search: logarithms of the odds of the position within the range of outputs.
PLACES = tuple(0.5 * step for step in range(17))


def population_capacity(
    neuron: NeuronSpec,
    task: TaskSpec,
    rsb: int | str = 0,
    branch_size: float | None = None,
    start: PopulationCapacity | None = None,
) -> PopulationCapacity:
    """The critical capacity of populations, or of equal branches of finite length; called by `critical_capacity`."""
    free = [i for i, kind in enumerate(neuron.populations) if kind.mean_output == "best"]
    if not free:
        return capacity_of(populations_of(neuron, task, branch_size), neuron, task, rsb, start)
    kinds = neuron.populations
    taken = math.fsum(
        kind.fraction * (neuron.theta_s if kind.mean_output is None else float(kind.mean_output))
        for i, kind in enumerate(kinds)
        if i not in free
    )
    left = neuron.theta_s - taken
    if len(free) == 1:  # the soma determines it
        return _at({free[0]: left / kinds[free[0]].fraction}, neuron, task, rsb, branch_size, start)
    if len(free) > 2:
        raise refuse('populations with mean_output = "best"', len(free), "at most 2: prescribe the others")
    return _best_of_two(free, left, neuron, task, rsb, branch_size)


def _at(
    outputs: dict[int, float],
    neuron: NeuronSpec,
    task: TaskSpec,
    rsb: int | str,
    branch_size: float | None,
    start: PopulationCapacity | None,
) -> PopulationCapacity:
    """The capacity with some mean outputs replaced."""
    given = [neuron.theta_s if kind.mean_output is None else kind.mean_output for kind in neuron.populations]
    numbers = [outputs.get(i, output) for i, output in enumerate(given)]
    populations = populations_of(neuron, task, branch_size, numbers)  # type: ignore[arg-type]
    return capacity_of(populations, neuron, task, rsb, start)


def _best_of_two(
    free: Sequence[int], left: float, neuron: NeuronSpec, task: TaskSpec, rsb: int | str, branch_size: float | None
) -> PopulationCapacity:
    """The largest load over the outputs of two populations whose weighted sum is ``left``."""
    from scipy.optimize import minimize_scalar

    one, other = (neuron.populations[i] for i in free)
    low, high = _range(one, other, left)
    latest: PopulationCapacity | None = None

    def at(place: float) -> PopulationCapacity:
        nonlocal latest
        first = low + (high - low) / (1.0 + math.exp(-place))
        outputs = {free[0]: first, free[1]: (left - one.fraction * first) / other.fraction}
        latest = _at(outputs, neuron, task, rsb, branch_size, latest)
        return latest

    # From equal outputs outwards; each solution is the start of the next.
    middle = min(max((left / (one.fraction + other.fraction) - low) / (high - low), 1e-6), 1.0 - 1e-6)
    centre = math.log(middle / (1.0 - middle))
    found: dict[float, PopulationCapacity] = {}
    ended = ""
    for direction in (1.0, -1.0):
        latest = found.get(centre)
        for step in PLACES:
            place = centre + direction * step
            if place in found:
                continue
            try:
                found[place] = at(place)
            except (ConvergenceError, NoSolution) as error:
                ended = str(error)
                break
    if not found:
        raise ConvergenceError(f"no mean outputs with a solution were found: {ended}")
    places = sorted(found)
    best = max(places, key=lambda place: found[place].alpha_c)
    at_end = best in (places[0], places[-1])
    if at_end:
        outputs = [round(population.mean_output, 6) for population in found[best].populations]
        raise NoSolution(
            f"no mean outputs are best: the load still grows at {outputs}, where it is {found[best].alpha_c:.4g}. "
            "With saturating branches and without a margin, a part of the branches that is nearly always on and a part "
            "that is nearly always off store more and more as they become extreme; a finite number of branches (see "
            "dendrocap.capacity) or a margin above kappa_c (see branch_stability) ends this growth"
        )
    index = places.index(best)
    latest = found[best]
    optimum = minimize_scalar(
        lambda place: -at(place).alpha_c,
        bounds=(places[index - 1], places[index + 1]),
        method="bounded",
        options={"xatol": 1e-6},
    )
    return at(float(optimum.x))


def _range(one: Branches, other: Branches, left: float) -> tuple[float, float]:
    """Possible outputs of the first of two populations, given their sum."""
    (low, high), (low_other, high_other) = one.nonlinearity.range, other.nonlinearity.range
    low = max(low, (left - other.fraction * high_other) / one.fraction)
    high = min(high, (left - other.fraction * low_other) / one.fraction)
    if not math.isfinite(low + high):
        raise refuse(
            'mean_output = "best" with', (one.nonlinearity, other.nonlinearity), "bounded on one side at least"
        )
    if not low < high:
        raise NoSolution(f"the two populations cannot have mean outputs that add up to {left:g}")
    return low, high
