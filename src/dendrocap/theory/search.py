"""Search for solutions of the broken equations: from scratch, from a neighbour, with one step more, or along a path.

One step of long, equal branches: solutions for very different neurons lie close to one curve in the scale-free unknowns
(`SEEDS`), so that a few dozen evaluations along it give a start for Newton's method.

k to k + 1 steps: at mu_{i+1} = mu_i a new level inside level i changes nothing, at any position. Exactly one of
these idle solutions obeys the equation for its own c: from there the ratio mu_{i+1} / mu_i is increased, with all
other equations satisfied, until the load is stationary in the ratio too. If there is no such point, the k-step
solution is stable and has no further levels.

Other populations: the solution of long, equal branches is followed from there to the requested populations, with all
parameters changing together. If two populations differ in g, branches with one or the other at random lead from one
to the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model import Branches, Level, NeuronSpec, TaskSpec
from dendrocap.numerics.types import Floats
from dendrocap.theory.broken import BrokenEquations, BrokenState, Side, Unknowns
from dendrocap.theory.cascade import cascade
from dendrocap.theory.dendrite import check_capacity_inputs, check_tree_averages, levels_response
from dendrocap.theory.neuron_kernel import (
    ONLY_EXCITATORY,
    Population,
    PopulationKernel,
    SynapseType,
    like_branches,
    needs_populations,
    populations_of,
)
from dendrocap.theory.patterns import label_averages
from dendrocap.theory.saddle_point import stability_limit
from dendrocap.theory.solution import CapacitySolution, PopulationWeights, SynapseWeights
from dendrocap.theory.solver import Place, bracketed_root, evaluated, extrapolated, followed, newton
from dendrocap.theory.symmetric import ConstraintCurve, is_curve, symmetric_state
from dendrocap.theory.weights import mixture_of
from dendrocap.validation import refuse

ACCEPTED, ACCEPTED_POTENTIAL = 1e-9, 1e-8  # largest residual of a solution, and largest F / F_S

CLOSED = 1e-8  # relative distance to the replica-symmetric capacity below which breaking counts as vanished

NEARLY_CLOSED, SLACK = 1e-5, 1e3  # where levels almost coincide, the equations lose digits that alpha_c does not need

SETTLED = 2e-5  # if the second step changes the capacity by less, the limit needs no third step

STABLE = "replica symmetry is stable up to its capacity"

FULL = 4  # steps from which the limit of many is extrapolated

# Starting points: logit s, ln delta_0/delta_1 and b / sqrt(c_1) of solutions found for ReLU, saturating ReLU and
# Polsky dendrites at thresholds from 0.05 to 10. Only Newton's method decides what is a solution.
SEEDS = np.array([
    [0.50, 8.5, 0.0005], [0.65, 7.0, 0.003], [0.68, 5.2, 0.012], [0.80, 2.9, 0.055], [0.95, 1.8, 0.09],
    [1.15, 1.0, 0.11], [1.40, 0.4, 0.12], [1.65, -0.1, 0.13], [2.20, -0.8, 0.14], [3.00, -1.7, 0.13],
    [4.30, -2.85, 0.075], [5.40, -3.8, 0.037], [7.10, -5.25, 0.013], [9.00, -6.9, 0.004],
])  # fmt: skip

# The same for weights of either sign, from committees of x^2, ReLU, erf and tanh units.
SPHERICAL_SEEDS = np.array([[1.5, -2.6], [1.4, -0.5], [0.6, 0.1], [0.05, 1.0], [-0.6, 3.0]])

# Dendritic thresholds, in units of the requested one, at which a starting solution is searched for.
ELSEWHERE = (2.0, 4.0, 8.0, 32.0, 0.5, 0.25, 0.03, 3e-3, 3e-4, 3e-5, 3e-6)

TYPICAL_RATIO = 3.0  # Q / W_bar^2 of broken solutions, for an initial guess of the mean input of a short branch


class Found(NamedTuple):
    """A solution, its residual, and the last Jacobian of Newton's method."""

    x: Floats
    state: BrokenState
    residual: float
    jacobian: Floats | None = None


def near(
    equations: BrokenEquations, x: Floats, jacobian: Floats | None = None, *, reach: float = 0.8, most: int = 14
) -> Found | None:
    """The solution near x, or None: one further away in any unknown may belong to another branch of solutions."""
    solved = newton(equations.residuals, x, jacobian=jacobian, reach=reach, most=most)
    if not solved.residual < ACCEPTED or float(np.max(np.abs(solved.x - x))) > reach:
        return None
    state = equations.state(solved.x)
    return Found(solved.x, state, solved.residual, solved.jacobian) if _is_solution(state) else None


def _is_solution(state: BrokenState, slack: float = 1.0) -> bool:
    """Whether levels are in order. The potential was not used in solving: that it vanishes is a check."""
    return state.in_order and abs(state.potential) < slack * ACCEPTED_POTENTIAL


# One step from scratch -----------------------------------------------------------------------------------------------


def first_step(equations: BrokenEquations) -> Found | None:
    """A one-step solution for one population of long branches from scratch, or None."""
    if equations.sphere is None and is_curve(equations.populations[0]):
        return max(_on_curves(equations), key=lambda one: one.state.alpha, default=None)
    if equations.sphere is None:
        starts = _seeded(equations)
    else:
        starts = [np.append(seed, _shift(equations)) for seed in _along(SPHERICAL_SEEDS)]
    sizes = [_size(equations.residuals, x) for x in starts]
    for best in np.argsort(sizes)[:5]:
        found = near(equations, starts[best], reach=4.0, most=40)
        if found is not None:
            return found
    return None


def _along(seeds: Floats) -> Floats:
    """Twice as many places on the curve of seeds."""
    places = np.linspace(0.0, len(seeds) - 1.0, 2 * len(seeds) - 1)
    return np.stack([np.interp(places, np.arange(len(seeds)), column) for column in seeds.T], axis=1)


def _mean_square(u: Unknowns) -> float:
    """Q / W_bar^2 of one type of weights."""
    found = cascade(1.0, np.array([-u.b[0]]), np.ones(1), u.delta, u.mu)
    return float(found.slope2[-1]) / found.slope**2


@cache
def _seeds() -> list[tuple[Unknowns, float]]:
    """Starting points and their Q / W_bar^2."""
    found = [Unknowns.unpack(seed, 1) for seed in _along(SEEDS)]
    return [(u, _mean_square(u)) for u in found]


def _seeded(equations: BrokenEquations) -> list[Floats]:
    """Starting points, each with the mean input that its norm requires."""
    starts, kernel = [], equations.kernels[0]
    for u, ratio in _seeds():
        try:
            m = kernel.mean_input(ratio)
        except ConvergenceError:
            continue
        starts.append(equations.pack([u], [m], sum(_shift(equations))))
    return starts


def _shift(equations: BrokenEquations) -> list[float]:
    """The mean shift of the replica-symmetric theory without margin, to start from, if it is an unknown."""
    return [label_averages(equations.task.f_out, 0.0).shift] * equations.with_shift


def _size(residuals: Callable[[Floats], Floats], x: Floats) -> float:
    """The largest residual, infinite if the equations cannot be evaluated."""
    found = evaluated(residuals, x)
    return math.inf if found is None else float(np.max(np.abs(found)))


def _on_curves(
    equations: BrokenEquations, anchors: int = 9, widest: float = 100.0, coincident: float = 5.0
) -> Iterator[Found]:
    """One-step solutions if the mean output falls somewhere, from starts at some points of each curve E g = theta_s.

    At a given state of a curve all equations except that for the norm have a solution; the load is a function along
    the curve, and stationary where the equation for the norm holds too. It may have several maxima. Weights with Q
    above ``widest`` times the smallest have smaller loads. Levels whose ln delta_0 / delta_1 is above ``coincident``
    count as equal: equal levels solve everything but the equation for the norm, as the replica-symmetric state does.
    """
    output, norm, mean = 2, 3, 3  # residuals, and the place of the mean input among the unknowns

    def at_state(y: Floats, Q: float, m: float) -> Floats:
        state = equations.state(np.insert(y, mean, m / equations.units[0]))
        return np.append(np.delete(state.residuals, [output, norm]), math.log(state.sides[0].Q / Q))

    def of_norm(y: Floats, m: float) -> float:
        return float(equations.residuals(np.insert(y, mean, m / equations.units[0]))[norm])

    def solved(y: Floats, place: tuple[float, float]) -> Floats | None:
        root = newton(partial(at_state, Q=place[0], m=place[1]), y, target=1e-7, most=20, reach=6.0)
        return root.x if root.residual < 1e-5 and root.x[1] < coincident else None

    def start(place: tuple[float, float]) -> Floats | None:
        either_sign = np.append(SPHERICAL_SEEDS, np.zeros((len(SPHERICAL_SEEDS), 1)), axis=1)
        ready = []
        for seed in np.vstack([SEEDS, either_sign]):
            y = _with_norm(seed, place[0] / equations.populations[0].W_bar(0.0) ** 2) if seed[1] < 2.5 else None
            if y is not None:
                ready.append(np.append(y, _shift(equations)))
        sizes = [_size(partial(at_state, Q=place[0], m=place[1]), y) for y in ready]
        tried = (solved(ready[best], place) for best in np.argsort(sizes)[:5])
        return next((y for y in tried if y is not None), None)

    for curve in _curves(equations.populations[0], widest):
        visited: set[int] = set()
        for anchor in np.linspace(0, len(curve) - 1, anchors + 2)[1:-1].astype(int).tolist():
            y0 = None if anchor in visited else start(curve[anchor])
            if y0 is None:
                continue
            visited.add(anchor)
            for direction in (1, -1):
                path = [(anchor, y0, of_norm(y0, curve[anchor][1]))]
                while 0 <= (place := path[-1][0] + direction) < len(curve) and place not in visited:
                    last, y, before = path[-1]
                    ahead = solved(y if len(path) == 1 else 2.0 * y - path[-2][1], curve[place])
                    if ahead is None:
                        break
                    visited.add(place)
                    m, next_m = curve[last][1], curve[place][1]
                    after = of_norm(ahead, next_m)
                    path.append((place, ahead, after))
                    if before * after <= 0.0 and before != after:
                        part = before / (before - after)
                        at = (m + part * (next_m - m)) / equations.units[0]
                        one = near(equations, np.insert(y + part * (ahead - y), mean, at), reach=4.0, most=40)
                        if one is not None:
                            yield one


def _curves(population: Population, widest: float) -> list[list[tuple[float, float]]]:
    """The curves as lists of neighbouring states (Q, m); of mirrored or repeated curves only the first."""
    kinds: dict[str, list[tuple[float, float]]] = {}
    curves = ConstraintCurve(population).curves(falls=lambda _: True)
    for curve in sorted(curves, key=lambda curve: abs(curve[len(curve) // 2].m)):
        top = max(curve, key=lambda state: state.Q)
        kind = f"{top.Q:.5g} {top.moments.variance:.5g} {top.moments.gain:.5g}"
        kinds.setdefault(kind, [(state.Q, state.m) for state in curve[::2] if widest * curve[0].Q > state.Q])
    return list(kinds.values())


def _with_norm(seed: Floats, ratio: float) -> Floats | None:
    """A start with b changed so that the weights have this Q / W_bar^2."""

    def at(b: float) -> Floats:
        return np.array([*seed[:2], b])

    try:
        miss = partial(lambda b: math.log(_mean_square(Unknowns.unpack(at(b), 1)) / ratio))
        return at(bracketed_root(miss, -4.0, 4.0, xtol=1e-3).at)
    except (ValueError, ConvergenceError):
        return None


# One step more -------------------------------------------------------------------------------------------------------


def further_step(more: BrokenEquations, found: Found) -> Found | None:
    """The solution of ``more``, which has one level more than ``found``, of one population; None if that is stable."""
    for level in range(1, more.k):
        for x in _idle_solutions(more, found.state, level):
            solution = _opened(more, x, level)
            if solution is not None:
                return solution
    return None


def _idle_solutions(more: BrokenEquations, state: BrokenState, level: int) -> Iterator[Floats]:
    """Positions of a new level inside ``level``, with the same mu, at which the equation for its c holds."""
    u, m = state.sides[0].unknowns, state.sides[0].m

    def with_level(fraction: float) -> Floats:
        delta = np.insert(u.delta, level, u.delta[level] * fraction)
        delta[level + 1] *= 1.0 - fraction
        mu = np.insert(u.mu, level - 1, u.mu[level - 1])
        return more.pack([Unknowns.from_mu(mu, delta, u.b)], [m], state.shift)

    fractions = 1.0 / (1.0 + np.exp(-np.linspace(-5.0, 5.0, 11)))
    misses = []
    for fraction in fractions:
        residuals = evaluated(more.residuals, with_level(fraction))
        misses.append(math.inf if residuals is None else float(residuals[state.of_mu.start - state.k + level]))
    for i in range(len(fractions) - 1):
        if math.inf > misses[i] > 0.0 > misses[i + 1]:
            weight = misses[i] / (misses[i] - misses[i + 1])
            yield with_level(float((1.0 - weight) * fractions[i] + weight * fractions[i + 1]))


def _opened(more: BrokenEquations, x: Floats, level: int) -> Found | None:
    """Follow an idle solution to the ratio mu_{level+1} / mu_level at which the load is stationary."""

    def at_ratio(log_ratio: float) -> Callable[[Floats], Floats]:
        """The residuals with the two equations for mu replaced by their sum and a given ratio."""

        def residuals(y: Floats) -> Floats:
            state = more.state(y)
            result, lower, upper = state.residuals.copy(), *_of_pair(state, level)
            side = state.sides[0]
            split = (np.diff(side.q * side.c) * state.mu)[level - 1 : level + 1]
            result[lower] = float(result[[lower, upper]] @ split / np.sum(split))
            result[upper] = math.log(state.mu[level] / state.mu[level - 1]) - log_ratio
            return result

        return residuals

    # Where the ratio is small the new level may be almost anywhere: no direction is known before the second place.
    first = newton(at_ratio(0.1), x, target=1e-5, most=12, reach=2.0)
    path: list[tuple[Place, float]] = []
    for place in followed(
        at_ratio,
        first.x,
        0.1,
        12.0,
        jacobian=first.jacobian,
        accepted=lambda place: place.residual < 1e-4,
        on_the_way=1e-5,
        most=10,
        first=0.42,
        longest=0.6,
        shortest=0.01,
    ):
        state = more.state(place.x)
        path.append((place, float(state.residuals[_of_pair(state, level)[1]])))
        if path[-1][1] * path[0][1] < 0.0:
            # The load fell with the ratio and now rises: its minimum is between the last two.
            (one, before), (other, after) = path[-2:]
            found = near(more, one.x + (other.x - one.x) * before / (before - after), reach=4.0, most=40)
            if found is None:
                return None
            # Check that Newton's method has stayed with this minimum.
            arrived = math.log(found.state.mu[level] / found.state.mu[level - 1])
            return found if one.at - 0.5 < arrived < other.at + 0.5 else None
    return None


def _of_pair(state: BrokenState, level: int) -> tuple[int, int]:
    """Where the residuals of mu_level and mu_{level+1} stand."""
    return state.of_mu.start + level - 1, state.of_mu.start + level


# Long, equal branches ------------------------------------------------------------------------------------------------


def _alone(population: Population, task: TaskSpec, k: int) -> BrokenEquations:
    return BrokenEquations([population], task, population.levels[-1][1], k)


@lru_cache(maxsize=64)
def alike(population: Population, task: TaskSpec, k: int) -> Found | str:
    """The solution with k steps for long branches of one kind with one type of synapses, or why there is none."""
    equations = _alone(population, task, k)
    if k > 1:
        before = alike(population, task, k - 1)
        if isinstance(before, str):
            return before
        more = further_step(equations, before)
        lower = more is not None and more.state.alpha < before.state.alpha
        return more if more is not None and lower else f"no solution with {k} levels was found below that with {k - 1}"
    found = first_step(equations)
    if found is not None and found.state.alpha < symmetric_state([population], task).alpha * (1.0 - CLOSED):
        return found
    try:
        own = replace(task, f_in=population.f_in, branch_correlation=population.common)
        if math.isinf(stability_limit(_spec_of(population), own).alpha):
            return STABLE
    except ConvergenceError:
        pass  # not known to be stable
    return _by_continuation(population, task)


def _spec_of(population: Population) -> NeuronSpec:
    """A neuron of such branches."""
    thresholds = [population.theta_d, *(threshold for _, threshold in population.levels)]
    levels = [Level(g, theta) for (g, _), theta in zip(population.levels, thresholds, strict=False)]
    return NeuronSpec(levels=tuple(levels), theta_s=thresholds[-1])


def _by_continuation(population: Population, task: TaskSpec) -> Found | str:
    """Search for a solution at other dendritic thresholds, and follow it from there to the requested one."""

    def scaled(at: float) -> Population:
        return replace(population, theta_d=population.theta_d * math.exp(at))

    gap = math.inf  # to the replica-symmetric capacity

    def accepted(place: Place) -> bool:
        nonlocal gap
        slack = SLACK if gap < NEARLY_CLOSED else 1.0
        state = _alone(scaled(place.at), task, 1).state(place.x)
        now = 1.0 - state.alpha / symmetric_state([scaled(place.at)], task).alpha
        good = place.residual < slack * ACCEPTED and _is_solution(state, slack) and now > 0.0
        gap = now if good else gap
        return good

    for away in map(math.log, ELSEWHERE):
        found, gap = first_step(_alone(scaled(away), task, 1)), math.inf
        if found is None:
            continue
        steps: dict[str, Any] = {"first": 0.12, "longest": 0.5, "shortest": 0.005, "target": 1e-9, "on_the_way": 1e-9}
        for place in followed(
            lambda at: _alone(scaled(at), task, 1).residuals, found.x, away, 0.0, accepted=accepted, **steps
        ):
            last = place
            if gap < CLOSED and away > 0.0:  # it decreases with the threshold, faster than any power
                return f"breaking closes: it lowers the capacity by less than {CLOSED:g}"
        if last.at == 0.0:
            equations = _alone(population, task, 1)
            return near(equations, last.x) or Found(last.x, equations.state(last.x), last.residual)
    raise ConvergenceError(f"no solution with one step of breaking was found for {_words(population)}", None)


def _words(population: Population) -> str:
    size = f"{population.branch_size:.6g} synapses, " if population.short else ""
    return (
        f"branches of {population.nonlinearity!r} with {size}theta_d = {population.theta_d:g} and the mean output "
        f"{population.mean_output:g}"
    )


# Any populations -----------------------------------------------------------------------------------------------------


class Followed(NamedTuple):
    """How far a solution was followed, from 0 to 1, and the last one found."""

    reached: float
    found: Found | None


def follow_to(family: Callable[[float], BrokenEquations], x: Floats, jacobian: Floats | None = None) -> Followed:
    """Follow a solution at s = 0 through a family of equations to s = 1."""
    equations = family(0.0)

    def residuals(s: float) -> Callable[[Floats], Floats]:
        nonlocal equations
        equations = family(s)
        return equations.residuals

    def accepted(place: Place) -> bool:
        return _is_solution(equations.state(place.x), 1.0 if place.at == 1.0 else 1e5)

    *_, last = followed(residuals, x, 0.0, 1.0, jacobian=jacobian, accepted=accepted, reach=0.8)
    if last.at < 1.0:
        return Followed(last.at, None)
    return Followed(1.0, Found(last.x, equations.state(last.x), last.residual, last.jacobian))


def broken_state(
    populations: Sequence[Population],
    theta_s: float,
    task: TaskSpec,
    k: int,
    start: CapacitySolution | None = None,
    n_branches: float = math.inf,
) -> Found | str:
    """The solution with k steps at prescribed mean outputs, or the reason why there is none."""
    n_branches = math.inf if task.f_out == 0.5 else n_branches  # else it does not matter
    for known in () if start is None else start.ladder:
        equations = BrokenEquations(populations, task, theta_s, k, n_branches=n_branches)
        if known.state.k == k and known.x.size == equations.size:
            found = near(equations, known.x, known.jacobian)
            if found is not None:
                return found
    return _from_alike(tuple(populations), theta_s, task, k, n_branches)


@lru_cache(maxsize=64)
def _from_alike(
    populations: tuple[Population, ...], theta_s: float, task: TaskSpec, k: int, n_branches: float
) -> Found | str:
    """The solution with k steps, followed from that of long, equal branches."""
    if _are_alike(populations) and math.isinf(n_branches):
        return alike(populations[0], task, k)
    reached, why = 0.0, ""
    failed: NoSolution | ConvergenceError | None = None
    # The largest population first: the path from its own branches is shortest.
    for population in sorted(populations, key=lambda one: -one.share):
        try:
            begin = _alike_reference(population, theta_s)
            found = alike(begin, task, k)
        except (NoSolution, ConvergenceError) as error:
            failed = failed or error
            continue
        if isinstance(found, str):
            why = why or found
            continue
        family, P, side = _way(begin, populations, theta_s, task, k, n_branches), len(populations), found.state.sides[0]
        way = follow_to(family, family(0.0).pack([side.unknowns] * P, [side.m] * P, found.state.shift))
        if way.found is not None:
            return way.found
        reached = max(reached, way.reached)
    if reached == 0.0 and why:
        return why
    if isinstance(failed, NoSolution) and reached == 0.0:
        raise failed
    way_on = (
        f": it could be followed for {reached:.1%} of the way from like branches. Branches that are nearly always on "
        "have no solution of their own once theta_d no longer limits their weights; mean outputs closer to theta_s help"
    )
    raise ConvergenceError(
        f"no solution with {k} step(s) of breaking was found for {'; '.join(map(_words, populations))}"
        + (way_on if reached else ""),
        reached,
    )


def _are_alike(populations: Sequence[Population]) -> bool:
    """Whether these are long branches of one kind with one type of synapses."""
    one = populations[0]
    return len(populations) == 1 and not one.short and one.types == ONLY_EXCITATORY


def _alike_reference(population: Population, theta_s: float) -> Population:
    """Long, equal branches with the same mean weight."""
    low, high = population.nonlinearity.range
    output = theta_s if low < theta_s < high else population.mean_output
    one = replace(population, fraction=1.0, length=1.0, mean_output=output)
    m = PopulationKernel(one).mean_input(TYPICAL_RATIO)
    W_bar = one.W_bar(m)
    if not W_bar > 0.0:
        raise NoSolution(
            f"{_words(population)} have no weights that give this output: their mean input is {m:.3g}, so that "
            "theta_d + m / sqrt(n), to which the mean weight is proportional, is negative"
        )
    # All live synapses as one type, with their average strength.
    live = math.fsum(kind.share for kind in one.types if kind.strength > 0.0)
    strength = math.fsum(kind.share * kind.strength for kind in one.types) / live
    theta_d, common = strength * W_bar * one.f_in, one.common / strength**2
    return replace(one, theta_d=theta_d, branch_size=math.inf, common=common, types=ONLY_EXCITATORY)


def _way(
    like: Population,
    populations: Sequence[Population],
    theta_s: float,
    task: TaskSpec,
    k: int,
    n_branches: float,
) -> Callable[[float], BrokenEquations]:
    """Equations on the path from equal branches (0) to the populations (1)."""

    def family(s: float) -> BrokenEquations:
        on_the_way, kernels = [], []
        for goal in populations:
            types = _types_between(goal.types, s)
            f_in, share = (1.0 - s) * like.f_in + s * goal.f_in, goal.types[0].share
            # The drive per share of excitatory synapses changes linearly, and with it their mean weight.
            drive = (1.0 - s) * like.theta_d + s * goal.theta_d / share
            now = replace(
                goal,
                theta_d=drive * types[0].share,
                f_in=f_in,
                types=types,
                length=(1.0 - s) + s * goal.length,
                mean_output=_between(goal, like.mean_output, goal.mean_output, s),
                branch_size=math.inf if s == 0.0 else goal.branch_size / s**2,
                common=(1.0 - s) * like.common + s * goal.common,
            )
            other = goal.nonlinearity != like.nonlinearity
            on_the_way.append(now)
            kernels.append(
                PopulationKernel(now).mixed(
                    PopulationKernel(replace(now, nonlinearity=like.nonlinearity)) if other and s < 1.0 else None, s
                )
            )
        K = math.inf if s == 0.0 else n_branches / s**2
        return BrokenEquations(on_the_way, task, theta_s, k, n_branches=K, kernels=kernels)

    return family


def _types_between(goal: Sequence[SynapseType], s: float) -> tuple[SynapseType, ...]:
    """Types of synapses on the path; at its start all live synapses are alike, and there are no others."""
    live = math.fsum(one.share for one in goal if one.strength > 0.0)
    return tuple(
        replace(
            one,
            share=((1.0 - s) / live if one.strength > 0.0 else 0.0) * one.share + s * one.share,
            strength=(1.0 - s) + s * one.strength if one.strength > 0.0 else 0.0,
        )
        for one in goal
    )


def _between(population: Population, one: float, other: float, s: float) -> float:
    """A mean output on the path; for bounded g by the logarithm of the odds, which changes the mean input evenly."""
    low, high = population.nonlinearity.range
    if not (math.isfinite(low + high) and low < one < high):
        return (1.0 - s) * one + s * other
    if s in (0.0, 1.0):
        return other if s else one
    odds = [math.log((t - low) / (high - t)) for t in (one, other)]
    return low + (high - low) / (1.0 + math.exp(-((1.0 - s) * odds[0] + s * odds[1])))


# The result ----------------------------------------------------------------------------------------------------------


def broken_capacity(
    populations: Sequence[Population],
    neuron: NeuronSpec,
    task: TaskSpec,
    rsb: int | str,
    start: CapacitySolution | None = None,
) -> CapacitySolution:
    """The critical capacity of populations at their prescribed mean outputs; called by `critical_capacity`."""
    if rsb == 0:
        return symmetric_state(populations, task).solution(populations, neuron, task)
    most = FULL if rsb == "full" else rsb
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise refuse("rsb", rsb, 'a whole number >= 0, or "full"')
    # Fewer steps of long, equal branches are on the way to more; those of others are needed for a limit only.
    upwards = rsb == "full" or _are_alike(populations)
    ladder: list[Found] = []
    reason = ""
    for k in range(1, most + 1) if upwards else range(most, 0, -1):
        if rsb == "full" and k > 2 and 1.0 - ladder[-1].state.alpha / ladder[-2].state.alpha < SETTLED:
            break
        found = broken_state(populations, neuron.theta_s, task, k, start)
        if isinstance(found, str):
            reason = found
            if upwards:
                break
            continue
        ladder.append(found)
        if not upwards:
            break
    if not ladder:
        closed = symmetric_state(populations, task).solution(populations, neuron, task, rsb, reason)
        return replace(closed, quadrature_error=0.0, steps_error=0.0 if reason == STABLE else 10.0 * CLOSED)
    return _solution(populations, neuron, task, rsb, ladder, reason)


def _solution(
    populations: Sequence[Population],
    neuron: NeuronSpec,
    task: TaskSpec,
    rsb: int | str,
    ladder: list[Found],
    reason: str,
) -> CapacitySolution:
    """The public result, with its errors."""
    x, state, k = ladder[-1].x, ladder[-1].state, ladder[-1].state.k
    # A limit needs no replica-symmetric value, which may not exist on short branches.
    by_steps = {0: symmetric_state(populations, task).alpha} if _are_alike(populations) else {}
    by_steps |= {found.state.k: found.state.alpha for found in ladder}
    known = tuple(by_steps.get(steps, math.nan) for steps in range(k + 1))
    # alpha is stationary at a solution: its change at fixed unknowns is its error.
    finer = BrokenEquations(populations, task, neuron.theta_s, k).with_levels(k, finer=True).state(x)
    alpha, steps_error = state.alpha, math.nan
    if rsb == "full":  # if one step is all there is: the next change the capacity by less than the first
        steps_error = known[0] / alpha - 1.0
    if k >= 2:
        limit = extrapolated(known)
        steps_error = (alpha - limit.value + limit.error) / alpha
        if rsb == "full":
            alpha, steps_error = limit.value, limit.error / limit.value
            reason = (reason + "; " if reason else "") + f"extrapolated from {k} steps"
    for population, side in zip(populations, state.sides, strict=True):
        V = population.variance(side.m, side.Q)
        means = levels_response(population.levels, V, population.v).means if population.upper else (side.m,)
        check_tree_averages(population.levels, V, means)
    return CapacitySolution(
        neuron=neuron,
        task=task,
        rsb=rsb,
        branch_size=populations[0].branch_size / populations[0].length,
        alpha_c=alpha,
        populations=tuple(weights_of(*pair) for pair in zip(populations, state.sides, strict=True)),
        mean_shift=state.shift * math.sqrt(state.Gamma0),
        Gamma0=state.Gamma0,
        Gamma1=state.Gamma1,
        by_steps=known,
        residual=max(found.residual for found in ladder),
        iterations=sum(found.state.evaluations for found in ladder),
        reason=reason,
        breaking_points=tuple(map(float, state.mu)),
        quadrature_error=max(abs(finer.alpha / state.alpha - 1.0), abs(state.potential)),
        steps_error=steps_error,
        ladder=tuple(ladder),
    )


def weights_of(population: Population, side: Side) -> PopulationWeights:
    """The public description of one population of a broken solution."""
    unit = math.sqrt(float(side.c[-1])) / side.A
    synapses = [
        SynapseWeights(
            kind=one.kind,
            share=one.share,
            f_in=one.f_in or population.f_in,
            W_bar=side.W_bar * one.strength / one.scale,
            Q=0.0 if at is None else at.Q / one.scale**2,
            weights=None if at is None else mixture_of(side.unknowns, at.b, unit / one.scale),
            silent_fraction=1.0 if at is None else 1.0 - at.averages.active,
        )
        for one, at in zip(population.types, side.types, strict=True)
    ]
    return PopulationWeights(
        population=replace(population, mean_output=side.norm.output) if not population.upper else population,
        preactivation_mean=side.m,
        synapses=tuple(synapses),
        gap=side.gap,
        A=side.A,
        b=side.b,
        c=tuple(map(float, side.c)),
        overlaps=tuple(map(float, side.q[:-1])),
    )


# Mean outputs of populations: as prescribed, or where the load is largest.
#
# The soma fixes only the average of the mean outputs. Unequal outputs can increase the load, for saturating g without
# bound unless a margin limits it: an optimum is searched for only if the user asks for it.

# Initial points of the search: logarithms of the odds of the position within the range of outputs.
PLACES = tuple(0.5 * step for step in range(17))


def population_capacity(
    neuron: NeuronSpec,
    task: TaskSpec,
    rsb: int | str = 0,
    branch_size: float | None = None,
    start: CapacitySolution | None = None,
) -> CapacitySolution:
    """The critical capacity of any branches but those with another prior; called by `critical_capacity`."""
    if not needs_populations(neuron, branch_size):
        check_capacity_inputs(neuron)
        return broken_capacity([like_branches(neuron, task)], neuron, task, rsb, start)
    kinds = neuron.populations
    free = [i for i, kind in enumerate(kinds) if kind.mean_output == "best"]
    if len(free) > 2:
        raise refuse('populations with mean_output = "best"', len(free), "at most 2: prescribe the others")
    given = [neuron.theta_s if kind.mean_output is None else kind.mean_output for kind in kinds]

    def at(outputs: Sequence[float], start: CapacitySolution | None) -> CapacitySolution:
        replaced = dict(zip(free, outputs, strict=True))
        numbers = [replaced.get(i, output) for i, output in enumerate(given)] or None
        populations = populations_of(neuron, task, branch_size, numbers)  # type: ignore[arg-type]
        return broken_capacity(populations, neuron, task, rsb, start)

    if not free:
        return at((), start)
    prescribed = [kind.fraction * float(given[i]) for i, kind in enumerate(kinds) if i not in free]
    left = neuron.theta_s - math.fsum(prescribed)
    if len(free) == 1:  # the soma determines it
        return at([left / kinds[free[0]].fraction], start)
    return _best_of_two(at, kinds[free[0]], kinds[free[1]], left)


def _best_of_two(
    capacity: Callable[[Sequence[float], CapacitySolution | None], CapacitySolution],
    one: Branches,
    other: Branches,
    left: float,
) -> CapacitySolution:
    """The largest load over the outputs of two populations whose weighted sum is ``left``."""
    from scipy.optimize import minimize_scalar

    low, high = _range(one, other, left)
    latest: CapacitySolution | None = None

    def at(place: float) -> CapacitySolution:
        nonlocal latest
        first = low + (high - low) / (1.0 + math.exp(-place))
        latest = capacity([first, (left - one.fraction * first) / other.fraction], latest)
        return latest

    # From equal outputs outwards; each solution is the start of the next.
    middle = min(max((left / (one.fraction + other.fraction) - low) / (high - low), 1e-6), 1.0 - 1e-6)
    centre = math.log(middle / (1.0 - middle))
    found: dict[float, CapacitySolution] = {}
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
