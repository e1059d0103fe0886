"""Search for solutions of the broken equations: from scratch, from a neighbour, and from k to k + 1 steps of breaking.

One step: solutions for very different neurons lie close to one curve in the scale-free unknowns (`SEEDS`), so that a
few dozen evaluations along it give a start for Newton's method.

k to k + 1 steps: at mu_{i+1} = mu_i a new level inside level i changes nothing, at any position. Exactly one of these
idle solutions obeys the equation for its own c: from there the ratio mu_{i+1} / mu_i is increased, with all other
equations satisfied, until the load is stationary in the ratio too. If there is no such point, the k-step solution is
stable and has no further levels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dendrocap.errors import ConvergenceError
from dendrocap.theory.labels import label_averages
from dendrocap.theory.newton import evaluated, newton
from dendrocap.theory.roots import bracketed_root
from dendrocap.theory.rsb.equations import BrokenEquations, BrokenState, SomaOfMean, Unknowns

__all__ = ["Found", "first_on_curves", "first_step", "follow", "further_step", "levels_in_order"]

Floats = NDArray[np.float64]

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
