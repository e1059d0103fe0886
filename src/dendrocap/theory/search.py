"""Critical capacity with broken replica symmetry."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model import Branches, NeuronSpec, TaskSpec
from dendrocap.numerics.types import Floats
from dendrocap.theory.broken import (
    BrokenEquations,
    BrokenState,
    CurveSoma,
    FixedMean,
    PopulationEquations,
    PopulationState,
    Side,
    SomaOfMean,
    TreeSoma,
    Unknowns,
)
from dendrocap.theory.cascade import FieldGrid
from dendrocap.theory.dendrite import (
    NODES,
    check_capacity_inputs,
    check_tree_averages,
    levels_with_thresholds,
    tree_response,
)
from dendrocap.theory.neuron_kernel import (
    ONLY_EXCITATORY,
    Population,
    PopulationKernel,
    SynapseType,
    like_branches,
    populations_of,
)
from dendrocap.theory.patterns import label_averages
from dendrocap.theory.saddle_point import stability_limit
from dendrocap.theory.solution import CapacitySolution, PopulationWeights, SynapseWeights
from dendrocap.theory.solver import Place, bracketed_root, evaluated, extrapolated, followed, newton
from dendrocap.theory.symmetric import (
    needs_constraint_curve,
    symmetric_capacity,
    symmetric_state,
)
from dendrocap.theory.weights import mixture_of, weights_at
from dendrocap.validation import refuse

# Search for solutions of the broken equations: from scratch, from a neighbour, and from k to k + 1 steps of breaking.
#
# One step: solutions for very different neurons lie close to one curve in the scale-free unknowns (`SEEDS`), so that a
# few dozen evaluations along it give a start for Newton's method.
#
# k to k + 1 steps: at mu_{i+1} = mu_i a new level inside level i changes nothing, at any position. Exactly one of
# these idle solutions obeys the equation for its own c: from there the ratio mu_{i+1} / mu_i is increased, with all
# other equations satisfied, until the load is stationary in the ratio too. If there is no such point, the k-step
# solution is stable and has no further levels.

ACCEPTED = 1e-9  # largest residual of a solution

NORM = 2  # where the residual of the norm stands with one step

COINCIDENT = 5.0  # ln delta_0 / delta_1 above which two levels count as one

ANCHORS = 9  # points on a curve at which a start is searched for

ACCEPTED_POTENTIAL = 1e-8  # largest F / F_S

# Starting points: logit s, ln delta_0/delta_1 and b / sqrt(c_1) of solutions found for ReLU, saturating ReLU and
# Polsky dendrites at thresholds from 0.05 to 10. Only Newton's method decides what is a solution.
SEEDS = np.array([
    [0.50, 8.5, 0.0005], [0.65, 7.0, 0.003], [0.68, 5.2, 0.012], [0.80, 2.9, 0.055], [0.95, 1.8, 0.09],
    [1.15, 1.0, 0.11], [1.40, 0.4, 0.12], [1.65, -0.1, 0.13], [2.20, -0.8, 0.14], [3.00, -1.7, 0.13],
    [4.30, -2.85, 0.075], [5.40, -3.8, 0.037], [7.10, -5.25, 0.013], [9.00, -6.9, 0.004],
])  # fmt: skip

# The same for weights of either sign, from committees of x^2, ReLU, erf and tanh units.
SPHERICAL_SEEDS = np.array([[1.5, -2.6], [1.4, -0.5], [0.6, 0.1], [0.05, 1.0], [-0.6, 3.0]])


class Found(NamedTuple):
    """A solution and its residual."""

    x: Floats
    state: BrokenState
    residual: float


def follow(equations: BrokenEquations, x: Floats, *, slack: float = 1.0, reach: float = 4.0) -> Found | None:
    """The solution near x, or None; ``slack`` multiplies the accepted residual."""
    solved = newton(equations.residuals, x, reach=reach)
    if not solved.residual < slack * ACCEPTED:
        return None
    state = equations.state(solved.x)
    # The potential was not used in solving: that it vanishes is a check.
    if not (levels_in_order(state) and abs(state.potential) < slack * ACCEPTED_POTENTIAL):
        return None
    return Found(solved.x, state, solved.residual)


def levels_in_order(state: BrokenState) -> bool:
    """Whether overlaps and breaking parameters increase from level to level."""
    q, mu = np.append(state.q, state.Q), np.append(0.0, state.mu)
    return bool(np.all(np.diff(q) > 0.0) and np.all(np.diff(mu) > 0.0) and state.alpha > 0.0)


def first_step(equations: BrokenEquations) -> Found | None:
    """A one-step solution from scratch, or None."""
    seeds = SEEDS if equations.prior.free_norm else SPHERICAL_SEEDS
    places = np.linspace(0.0, len(seeds) - 1.0, 2 * len(seeds) - 1)
    curve = np.stack([np.interp(places, np.arange(len(seeds)), column) for column in seeds.T], axis=1)
    if equations.with_shift:
        curve = np.hstack([curve, np.full((len(curve), 1), _shift(equations))])
    if isinstance(equations.soma, SomaOfMean):
        either_sign = np.insert(SPHERICAL_SEEDS, 2, [0.0] * len(SPHERICAL_SEEDS), axis=1)
        if equations.with_shift:
            either_sign = np.hstack([either_sign, np.full((len(either_sign), 1), _shift(equations))])
        return first_on_curves(equations, equations.soma, np.vstack([curve[::2], either_sign]))
    sizes = [float(np.max(np.abs(_residuals(equations, x)))) for x in curve]
    for best in np.argsort(sizes)[:5]:
        found = follow(equations, curve[best])
        if found is not None:
            return found
    return None


def first_on_curves(equations: BrokenEquations, soma: SomaOfMean, seeds: Floats) -> Found | None:
    """The one-step solution with the largest load if the mean input is an unknown.

    At a given state of the curve E g = theta_s all equations except that for the norm have a solution; the load is
    a function along the curve, and stationary where the equation for the norm holds too. It may have several maxima.
    """
    found = [one for curve in soma.curves() for one in _stationary_on(equations, curve, seeds)]
    return max(found, key=lambda one: one.state.alpha, default=None)


def _stationary_on(equations: BrokenEquations, curve: list[tuple[float, float]], seeds: Floats) -> Iterator[Found]:
    """One-step solutions on one curve, by following the load along it from points where a start is found."""

    def at_state(y: Floats, place: int) -> Floats:
        """The residuals, with those for the norm and the constraint replaced by a given state."""
        Q, mean = curve[place]
        rest = equations.residuals(np.append(y, mean))
        return np.append(np.delete(rest, [NORM, -1]), math.log(equations.Q(np.append(y, mean)) / Q))

    def solved(y: Floats, place: int) -> Floats | None:
        root = newton(partial(at_state, place=place), y, target=1e-7, most=20, reach=6.0)
        # Equal levels solve everything except the equation for the norm: this is the replica-symmetric state.
        return root.x if root.residual < 1e-5 and root.x[1] < COINCIDENT else None

    def start(place: int) -> Floats | None:
        ready = [
            y
            for seed in seeds
            if seed[1] < 0.5 * COINCIDENT and (y := _with_norm(equations, seed, *curve[place])) is not None
        ]
        sizes = []
        for y in ready:
            miss = evaluated(partial(at_state, place=place), y)
            sizes.append(math.inf if miss is None else float(np.max(np.abs(miss))))
        for best in np.argsort(sizes)[:5]:
            y = solved(ready[best], place)
            if y is not None:
                return y
        return None

    visited: set[int] = set()
    for anchor in np.linspace(0, len(curve) - 1, ANCHORS + 2)[1:-1].astype(int).tolist():
        y0 = None if anchor in visited else start(anchor)
        if y0 is None:
            continue
        visited.add(anchor)
        for direction in (1, -1):
            path = [(anchor, y0, _norm_residual(equations, y0, curve[anchor][1]))]
            while 0 <= (place := path[-1][0] + direction) < len(curve) and place not in visited:
                _, y, before = path[-1]
                guess = y if len(path) == 1 else 2.0 * y - path[-2][1]
                ahead = solved(guess, place)
                if ahead is None:
                    break
                visited.add(place)
                mean, next_mean = curve[place - direction][1], curve[place][1]
                path.append((place, ahead, _norm_residual(equations, ahead, next_mean)))
                after = path[-1][2]
                if before * after <= 0.0 and before != after:
                    part = before / (before - after)
                    one = follow(equations, np.append(y + part * (ahead - y), mean + part * (next_mean - mean)))
                    if one is not None:
                        yield one


def _norm_residual(equations: BrokenEquations, y: Floats, mean: float) -> float:
    return float(equations.residuals(np.append(y, mean))[NORM])


def _with_norm(equations: BrokenEquations, seed: Floats, Q: float, mean: float) -> Floats | None:
    """A start with b changed so that the weights have the mean square Q."""

    def miss(b: float) -> float:
        return math.log(equations.Q(np.array([*seed[:2], b, *seed[3:], mean])) / Q)

    try:
        b = bracketed_root(miss, -4.0, 4.0, xtol=1e-3).at
    except (ValueError, ConvergenceError):
        return None
    return np.array([*seed[:2], b, *seed[3:]])


def _residuals(equations: BrokenEquations, x: Floats) -> Floats:
    """The residuals, infinite if the equations cannot be evaluated."""
    found = evaluated(equations.residuals, x)
    return np.full(x.size, math.inf) if found is None else found


def _shift(equations: BrokenEquations) -> float:
    """The mean shift of the replica-symmetric theory without margin, to start from."""
    return label_averages(equations.task.f_out, 0.0).shift


def further_step(more: BrokenEquations, found: Found) -> Found | None:
    """The solution of ``more``, which has one level more than ``found``; None if ``found`` is stable."""
    for level in range(1, more.k):
        for x in _idle_solutions(more, found.state.unknowns, level):
            solution = _opened(more, x, level)
            if solution is not None:
                return solution
    return None


def _idle_solutions(more: BrokenEquations, u: Unknowns, level: int) -> Iterator[Floats]:
    """Positions of a new level inside ``level``, with the same mu, at which the equation for its c holds."""

    def with_level(fraction: float) -> Floats:
        parts = [u.delta[level] * fraction, u.delta[level] * (1.0 - fraction)]
        delta = np.concatenate([u.delta[:level], parts, u.delta[level + 1 :]])
        mu = np.insert(u.mu, level - 1, u.mu[level - 1])
        return more.pack(Unknowns.from_mu(mu, delta, u.b, u.shift, u.mean))

    fractions = 1.0 / (1.0 + np.exp(-np.linspace(-5.0, 5.0, 11)))
    misses = [float(_residuals(more, with_level(fraction))[level]) for fraction in fractions]
    for i in range(len(fractions) - 1):
        if math.inf > misses[i] > 0.0 > misses[i + 1]:
            weight = misses[i] / (misses[i] - misses[i + 1])
            yield with_level(float((1.0 - weight) * fractions[i] + weight * fractions[i + 1]))


def _opened(more: BrokenEquations, x: Floats, level: int) -> Found | None:
    """Follow an idle solution to the ratio mu_{level+1} / mu_level at which the load is stationary."""
    lower, upper = more.k + level - 1, more.k + level  # where the residuals of the two mu stand
    pair = slice(level - 1, level + 1)

    def at_ratio(y: Floats, log_ratio: float) -> Floats:
        """The residuals with the two equations for mu replaced by their sum and a given ratio."""
        state = more.state(y)
        split = np.diff(np.append(state.q, state.Q) * state.c) * state.mu
        result = state.residuals.copy()
        result[lower] = float(result[lower : upper + 1] @ split[pair] / np.sum(split[pair]))
        result[upper] = math.log(state.mu[level] / state.mu[level - 1]) - log_ratio
        return result

    jacobian: Floats | None = None
    path: list[tuple[float, Floats, float]] = []  # ln ratio, unknowns, residual of the upper mu
    log_ratio, step = 0.1, 0.3
    while log_ratio < 12.0:
        guess = x if not path else path[-1][1]
        if len(path) > 1:
            (r0, x0, _), (r1, x1, _) = path[-2:]
            guess = x1 + (x1 - x0) * (log_ratio - r1) / (r1 - r0)
        solved = newton(
            partial(at_ratio, log_ratio=log_ratio), guess, jacobian=jacobian, target=1e-5, most=12, reach=2.0
        )
        jacobian = solved.jacobian
        if not solved.residual < 1e-4:
            step *= 0.4
            if step < 0.01:
                return None
            log_ratio = (path[-1][0] if path else 0.0) + step
            continue
        path.append((log_ratio, solved.x, float(more.residuals(solved.x)[upper])))
        if path[-1][2] * path[0][2] < 0.0:
            # The load fell with the ratio and now rises: its minimum is between the last two.
            (r0, x0, miss0), (r1, x1, miss1) = path[-2:]
            found = follow(more, x0 + (x1 - x0) * miss0 / (miss0 - miss1))
            if found is None:
                return None
            # Check that Newton's method has stayed with this minimum.
            arrived = math.log(found.state.mu[level] / found.state.mu[level - 1])
            return found if r0 - 0.5 < arrived < r1 + 0.5 else None
        step = min(1.4 * step, 0.6)
        log_ratio += step
    return None


CLOSED = 1e-8  # relative distance to the replica-symmetric capacity below which breaking counts as vanished

NEARLY_CLOSED, SLACK = 1e-5, 1e3  # where levels almost coincide, the equations lose digits that alpha_c does not need

# Dendritic thresholds, in units of the requested one, at which a starting solution is searched for.
ELSEWHERE = (2.0, 4.0, 8.0, 32.0, 0.5, 0.25, 0.03, 3e-3, 3e-4, 3e-5, 3e-6)

NEAR = 0.7  # a start further away than this in any unknown is not used

SETTLED = 2e-5  # if the second step changes the capacity by less, the limit needs no third step

STABLE = "replica symmetry is stable up to its capacity"

FULL = 4  # steps from which the limit of many is extrapolated


def broken_capacity(
    neuron: NeuronSpec, task: TaskSpec | None = None, rsb: int | str = 1, start: CapacitySolution | None = None
) -> CapacitySolution:
    """The critical capacity with ``rsb`` steps of breaking; see `critical_capacity`, which calls this.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, SaturatingReLU
    >>> round(broken_capacity(NeuronSpec(SaturatingReLU(), theta_d=0.5, theta_s=0.5), rsb=1).alpha_c, 4)
    1.5704
    """
    task = TaskSpec() if task is None else task
    steps = FULL if rsb == "full" else rsb
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
        raise refuse("rsb", rsb, 'a whole number >= 0, or "full"')
    check_capacity_inputs(neuron)
    symmetric = symmetric_capacity(neuron, task)
    ladder: list[Found] = []
    equations, reason, evaluations = _equations(neuron, task), "", 0
    for k in range(1, steps + 1):
        if rsb == "full" and k > 2 and 1.0 - ladder[-1].state.alpha / ladder[-2].state.alpha < SETTLED:
            break
        before = ladder[-1].state.alpha if ladder else symmetric.alpha_c
        found = _near(equations, start, before)
        if found is None and k == 1:
            first = _first(neuron, task, equations, symmetric)
            if isinstance(first, str):
                return _closed(rsb, symmetric, first, equations.evaluations)
            found = first
        elif found is None:
            found = further_step(equations, ladder[-1])
        evaluations += equations.evaluations
        if found is None or not found.state.alpha < before:
            reason = f"no solution with {k} levels was found below that with {k - 1}"
            break
        ladder.append(found)
        equations = equations.with_levels(k + 1)
    return _solution(neuron, task, rsb, symmetric, ladder, reason, evaluations)


def _near(equations: BrokenEquations, start: CapacitySolution | None, before: float) -> Found | None:
    """The solution near that of a similar neuron, or None if it is not near or not below that with fewer steps."""
    if start is None or len(start.ladder) < equations.k:
        return None
    x = equations.pack(start.ladder[equations.k - 1].unknowns)
    found = follow(equations, x, reach=NEAR)
    if found is None or np.max(np.abs(found.x - x)) > NEAR or not found.state.alpha < before:
        return None
    return found


def _equations(neuron: NeuronSpec, task: TaskSpec) -> BrokenEquations:
    return BrokenEquations(FixedMean(neuron.tree[0].theta / task.f_in), _soma(neuron, task), task, 1)


def _soma(neuron: NeuronSpec, task: TaskSpec, nodes: int = NODES) -> TreeSoma | CurveSoma:
    return CurveSoma(neuron, task, nodes) if needs_constraint_curve(neuron, task) else TreeSoma(neuron, task, nodes)


def _first(neuron: NeuronSpec, task: TaskSpec, equations: BrokenEquations, symmetric: CapacitySolution) -> Found | str:
    """A one-step solution, or the reason why there is none."""
    found = first_step(equations)
    if found is not None and found.state.alpha < symmetric.alpha_c * (1.0 - CLOSED):
        return found
    try:
        if math.isinf(stability_limit(neuron, task).alpha):
            return STABLE
    except ConvergenceError:
        pass  # not known to be stable
    return _by_continuation(neuron, task)


def _by_continuation(neuron: NeuronSpec, task: TaskSpec) -> Found | str:
    """Search for a solution at other dendritic thresholds, and follow it from there to the requested one."""
    for factor in ELSEWHERE:
        away = math.log(factor)
        found = first_step(_equations(_with_threshold(neuron, away), task))
        if found is None:
            continue
        path = [(away, found.x)]
        gap = 1.0 - found.state.alpha / symmetric_capacity(_with_threshold(neuron, away), task).alpha_c
        step = 0.12
        while path[-1][0] != 0.0 and step > 0.005:
            at = math.copysign(max(abs(path[-1][0]) - step, 0.0), away)
            scaled = _with_threshold(neuron, at)
            symmetric = symmetric_capacity(scaled, task).alpha_c
            guess = path[-1][1]
            if len(path) > 1:
                (at0, x0), (at1, x1) = path[-2:]
                guess = x1 + (x1 - x0) * (at - at1) / (at1 - at0)
            moved = follow(_equations(scaled, task), guess, slack=SLACK if gap < NEARLY_CLOSED else 1.0)
            if moved is None or not moved.state.alpha < symmetric:
                step *= 0.5
                continue
            path.append((at, moved.x))
            step = min(1.5 * step, 0.5)
            found, gap = moved, 1.0 - moved.state.alpha / symmetric
            if gap < CLOSED and away > 0.0:  # it decreases with the threshold, faster than any power
                return f"breaking closes: at theta_d = {scaled.tree[0].theta:.4g} already, it is within {CLOSED:g}"
        if path[-1][0] == 0.0:
            return found
    raise ConvergenceError(f"no solution with one step of breaking was found for {neuron} and {task}", None)


def _with_threshold(neuron: NeuronSpec, log_factor: float) -> NeuronSpec:
    """The neuron with the threshold of its first level multiplied."""
    factor = math.exp(log_factor)
    if neuron.levels:
        first, *others = neuron.levels
        return replace(neuron, levels=(replace(first, theta=first.theta * factor), *others))
    return replace(neuron, theta_d=neuron.theta_d * factor)


def _solution(
    neuron: NeuronSpec,
    task: TaskSpec,
    rsb: int | str,
    symmetric: CapacitySolution,
    ladder: list[Found],
    reason: str,
    evaluations: int,
) -> CapacitySolution:
    """The public result, with its errors."""
    state, k = ladder[-1].state, len(ladder)
    known = (symmetric.alpha_c, *(found.state.alpha for found in ladder))
    # alpha is stationary at a solution: its change at fixed unknowns is its error.
    finer = BrokenEquations(
        FixedMean(symmetric.W_bar), _soma(neuron, task, 3 * NODES // 2), task, k, FieldGrid().doubled()
    )
    quadrature = max(abs(finer.state(ladder[-1].x).alpha / state.alpha - 1.0), abs(state.potential))
    alpha, steps_error = state.alpha, math.nan
    if rsb == "full":  # if one step is all there is: the next change the capacity by less than the first
        steps_error = symmetric.alpha_c / alpha - 1.0
    if k >= 2:
        limit = extrapolated(known)
        steps_error = (alpha - limit.value + limit.error) / alpha
        if rsb == "full":
            alpha, steps_error = limit.value, limit.error / limit.value
            reason = (reason + "; " if reason else "") + f"extrapolated from {k} steps"
    m = _mean_input(neuron, task, state)
    synapses = SynapseWeights(
        kind="excitatory",
        share=1.0,
        f_in=task.f_in,
        W_bar=symmetric.W_bar,
        Q=state.Q,
        weights=weights_at(state),
        silent_fraction=1.0 - state.A,
    )
    alone = PopulationWeights(
        population=like_branches(neuron, task),
        preactivation_mean=m,
        synapses=(synapses,),
        A=state.A,
        b=state.b,
        c=tuple(map(float, state.c)),
        overlaps=tuple(map(float, state.q)),
    )
    return CapacitySolution(
        neuron=neuron,
        task=task,
        rsb=rsb,
        branch_size=math.inf,
        alpha_c=alpha,
        populations=(alone,),
        mean_shift=state.unknowns.shift * math.sqrt(state.Gamma0),
        Gamma0=state.Gamma0,
        Gamma1=state.Gamma1,
        by_steps=known,
        residual=max(found.residual for found in ladder),
        iterations=evaluations,
        reason=reason,
        breaking_points=tuple(map(float, state.mu)),
        quadrature_error=quadrature,
        steps_error=steps_error,
        ladder=tuple(found.state for found in ladder),
    )


def _mean_input(neuron: NeuronSpec, task: TaskSpec, state: BrokenState) -> float:
    """Mean of a branch's input."""
    mean = state.unknowns.mean
    if mean is None:
        tree = tree_response(neuron, task, state.Q)
        check_tree_averages(levels_with_thresholds(neuron), tree.sd**2, tree.means)
        return tree.means[0]
    return mean * math.sqrt(task.f_in * (1.0 - task.f_in)) * neuron.tree[0].theta / task.f_in


def _closed(rsb: int | str, symmetric: CapacitySolution, reason: str, evaluations: int) -> CapacitySolution:
    """The replica-symmetric solution as the result of any number of steps."""
    return replace(
        symmetric,
        rsb=rsb,
        iterations=evaluations,
        reason=reason,
        others=(),
        quadrature_error=0.0,
        steps_error=0.0 if reason == STABLE else 10.0 * CLOSED,
    )


# Following a solution of the broken equations from a solved problem to another one.

REACH = 0.8  # a solution further away than this in any unknown may belong to another branch

MOST_NEWTON = 14

ON_THE_WAY = 1e5  # slack for intermediate solutions


class FoundState(NamedTuple):
    """A solution, its residual, and the last Jacobian of Newton's method."""

    x: Floats
    state: PopulationState
    residual: float
    jacobian: Floats | None


def near(
    equations: PopulationEquations, x: Floats, jacobian: Floats | None = None, slack: float = 1.0
) -> FoundState | None:
    """The solution near x, or None; ``slack`` multiplies the accepted residual."""
    solved = newton(equations.residuals, x, reach=REACH, most=MOST_NEWTON, jacobian=jacobian, target=slack * 1e-12)
    if not solved.residual < slack * ACCEPTED or float(np.max(np.abs(solved.x - x))) > REACH:
        return None
    state = equations.state(solved.x)
    if not (state.in_order and abs(state.potential) < slack * ACCEPTED_POTENTIAL):
        return None
    return FoundState(solved.x, state, solved.residual, solved.jacobian)


class Followed(NamedTuple):
    """How far a solution was followed, from 0 to 1, and the last one found."""

    reached: float
    found: FoundState | None


def follow_to(family: Callable[[float], PopulationEquations], x: Floats, jacobian: Floats | None = None) -> Followed:
    """Follow a solution at s = 0 through a family of equations to s = 1."""
    equations = family(0.0)

    def residuals(s: float) -> Callable[[Floats], Floats]:
        nonlocal equations
        equations = family(s)
        return equations.residuals

    def accepted(place: Place) -> bool:
        state = equations.state(place.x)
        return state.in_order and abs(state.potential) < (1.0 if place.at == 1.0 else ON_THE_WAY) * ACCEPTED_POTENTIAL

    *_, last = followed(residuals, x, 0.0, 1.0, jacobian=jacobian, accepted=accepted, reach=REACH, most=MOST_NEWTON)
    if last.at < 1.0:
        return Followed(last.at, None)
    return Followed(1.0, FoundState(last.x, equations.state(last.x), last.residual, last.jacobian))


# Critical capacity of several populations of branches, of any length: the solution and how it is reached.
#
# With broken symmetry the solution of equal branches of infinite length is known well. It is followed from there to
# the requested populations, with all parameters changing together. If two populations differ in g, branches with one
# or the other at random lead from one to the other.

TYPICAL_RATIO = 3.0  # Q / W_bar^2 of broken solutions, for an initial guess of the mean input of a short branch


def capacity_of(
    populations: Sequence[Population],
    neuron: NeuronSpec,
    task: TaskSpec,
    rsb: int | str = 0,
    start: CapacitySolution | None = None,
) -> CapacitySolution:
    """The critical capacity of populations at their prescribed mean outputs."""
    if rsb == 0:
        return symmetric_state(populations, task).solution(populations, neuron, task)
    most = FULL if rsb == "full" else rsb
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise refuse("rsb", rsb, 'a whole number >= 0, or "full"')
    by_steps: dict[int, float] = {}
    found, reason = None, ""
    # The limit of many steps needs all of them; otherwise fewer steps are used only if there are no more.
    for k in range(1, most + 1) if rsb == "full" else range(most, 0, -1):
        more = broken_state(populations, neuron.theta_s, task, k, start)
        if isinstance(more, str):
            reason = more
            if rsb == "full":
                break
            continue
        found = more
        by_steps[k] = found.state.alpha
        if rsb != "full" or (k > 1 and 1.0 - by_steps[k] / by_steps[k - 1] < SETTLED):
            break
    if found is None:
        return symmetric_state(populations, task).solution(populations, neuron, task, rsb, reason)
    alpha = found.state.alpha
    if rsb == "full" and len(by_steps) > 1:
        # The limit needs no replica-symmetric value, which may not exist on short branches.
        limit = extrapolated([math.nan, *by_steps.values()])
        alpha, reason = limit.value, f"extrapolated from {len(by_steps)} steps" + (f"; {reason}" if reason else "")
    return _from_broken(populations, neuron, task, rsb, found, alpha, by_steps, reason)


def broken_state(
    populations: Sequence[Population],
    theta_s: float,
    task: TaskSpec,
    k: int,
    start: CapacitySolution | None = None,
    n_branches: float = math.inf,
) -> FoundState | str:
    """The solution with k steps at prescribed mean outputs, or the reason why there is none."""
    if start is not None and start.found is not None:
        equations = PopulationEquations(populations, task, theta_s, k, n_branches=n_branches)
        if start.found.x.size == equations.size:
            found = near(equations, start.found.x, start.found.jacobian)
            if found is not None:
                return found
    reached, why = 0.0, ""
    # The largest population first: the path from its own branches is shortest.
    for reference in sorted(populations, key=lambda one: -one.share):
        begin = reference_start(reference, theta_s, task, k)
        if isinstance(begin, str):
            why = why or begin
            continue
        family = _way(begin, populations, theta_s, task, k, n_branches)
        P = len(populations)
        u = begin.unknowns
        way = follow_to(family, family(0.0).pack([u] * P, [begin.mean_input] * P, u.shift))
        if way.reached == 1.0 and way.found is not None:
            return way.found
        reached = max(reached, way.reached)
    if reached == 0.0 and why:
        return why
    raise ConvergenceError(
        f"no solution with {k} step(s) of breaking was found for {list(populations)}: it could be followed for "
        f"{reached:.1%} of the way from like branches. Branches that are nearly always on have no solution of their "
        "own once theta_d no longer limits their weights; mean outputs closer to theta_s help",
        reached,
    )


@dataclass(frozen=True)
class Reference:
    """The solution of equal branches of infinite length, from which populations are reached."""

    population: Population
    unknowns: Unknowns
    mean_input: float


def reference_start(population: Population, theta_s: float, task: TaskSpec, k: int) -> Reference | str:
    """The solution of equal branches of infinite length with the same mean weight, or why symmetry does not break."""
    low, high = population.nonlinearity.range
    output = theta_s if low < theta_s < high else population.mean_output
    alike = replace(population, fraction=1.0, length=1.0, mean_output=output)
    W_bar = alike.W_bar(PopulationKernel(alike).mean_input(TYPICAL_RATIO))
    # All live synapses as one type, with their average strength.
    live = math.fsum(one.share for one in alike.types if one.strength > 0.0)
    strength = math.fsum(one.share * one.strength for one in alike.types) / live
    alike = replace(
        alike,
        theta_d=strength * W_bar * alike.f_in,
        branch_size=math.inf,
        common=alike.common / strength**2,
        types=ONLY_EXCITATORY,
    )
    solved = broken_capacity(
        NeuronSpec(alike.nonlinearity, alike.theta_d, output),
        replace(task, f_in=alike.f_in, branch_correlation=alike.common),
        k,
    )
    if len(solved.ladder) < k:
        return solved.reason
    return Reference(alike, solved.ladder[k - 1].unknowns, solved.preactivation_mean)


def _way(
    begin: Reference,
    populations: Sequence[Population],
    theta_s: float,
    task: TaskSpec,
    k: int,
    n_branches: float,
) -> Callable[[float], PopulationEquations]:
    """Equations on the path from equal branches (0) to the populations (1)."""
    like = begin.population

    def family(s: float) -> PopulationEquations:
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
        return PopulationEquations(on_the_way, task, theta_s, k, n_branches=K, kernels=kernels)

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


def _branch_size(populations: Sequence[Population]) -> float:
    return populations[0].branch_size / populations[0].length


def _from_broken(
    populations: Sequence[Population],
    neuron: NeuronSpec,
    task: TaskSpec,
    rsb: int | str,
    found: FoundState,
    alpha: float,
    by_steps: dict[int, float],
    reason: str,
) -> CapacitySolution:
    state = found.state
    return CapacitySolution(
        neuron=neuron,
        task=task,
        rsb=rsb,
        branch_size=_branch_size(populations),
        alpha_c=alpha,
        populations=tuple(weights_of(*pair) for pair in zip(populations, state.sides, strict=True)),
        mean_shift=state.shift * math.sqrt(state.Gamma0),
        Gamma0=state.Gamma0,
        Gamma1=state.Gamma1,
        by_steps=tuple(by_steps.get(k, math.nan) for k in range(len(state.mu) + 1)),
        residual=found.residual,
        iterations=state.evaluations,
        reason=reason,
        breaking_points=tuple(map(float, state.mu)),
        found=found,
    )


def weights_of(population: Population, side: Side) -> PopulationWeights:
    """The public description of one population of a broken solution."""
    unit = math.sqrt(float(side.c[-1])) / side.A
    synapses = []
    for one, at in zip(population.types, side.types, strict=True):
        synapses.append(
            SynapseWeights(
                kind=one.kind,
                share=one.share,
                f_in=one.f_in or population.f_in,
                silent_fraction=1.0 if at is None else 1.0 - at.averages.active,
                W_bar=side.W_bar * one.strength / one.scale,
                Q=0.0 if at is None else at.Q / one.scale**2,
                weights=None if at is None else mixture_of(side.unknowns._replace(b=at.b), unit / one.scale),
            )
        )
    return PopulationWeights(
        population=replace(population, mean_output=side.norm.output),
        preactivation_mean=side.m,
        synapses=tuple(synapses),
        gap=side.gap,
        A=side.A,
        b=side.b,
        c=tuple(map(float, side.c)),
        overlaps=tuple(map(float, side.q)),
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
    start: CapacitySolution | None,
) -> CapacitySolution:
    """The capacity with some mean outputs replaced."""
    given = [neuron.theta_s if kind.mean_output is None else kind.mean_output for kind in neuron.populations]
    numbers = [outputs.get(i, output) for i, output in enumerate(given)]
    populations = populations_of(neuron, task, branch_size, numbers)  # type: ignore[arg-type]
    return capacity_of(populations, neuron, task, rsb, start)


def _best_of_two(
    free: Sequence[int], left: float, neuron: NeuronSpec, task: TaskSpec, rsb: int | str, branch_size: float | None
) -> CapacitySolution:
    """The largest load over the outputs of two populations whose weighted sum is ``left``."""
    from scipy.optimize import minimize_scalar

    one, other = (neuron.populations[i] for i in free)
    low, high = _range(one, other, left)
    latest: CapacitySolution | None = None

    def at(place: float) -> CapacitySolution:
        nonlocal latest
        first = low + (high - low) / (1.0 + math.exp(-place))
        outputs = {free[0]: first, free[1]: (left - one.fraction * first) / other.fraction}
        latest = _at(outputs, neuron, task, rsb, branch_size, latest)
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
