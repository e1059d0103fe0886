"""Inner loops of a soma with finitely many branches: a knapsack of output gains, and sampling inside it.

Labels of either sign are treated as one case: for sigma = -1 positions and outputs are reflected, so that the soma
always requires more output. ``output`` below is sigma g(sigma position).
"""

from __future__ import annotations

import math

import numpy as np

from dendrocap.model._compiled import value
from dendrocap.numerics._caching import njit
from dendrocap.numerics.types import Floats, Integers
from dendrocap.theory._cascade import innermost

Scratch = tuple[Floats, Floats, Integers, Integers, Integers]

compiled = njit(cache=True, error_model="numpy")

LEVELS = 24  # coarse steps of gain across the range of g

FEWEST = 12  # coarse steps of the whole deficit

FINER = 5  # factor by which each refinement divides the step

WORTH = 2.0  # branches are considered if their price is below this many times the current one

FURTHEST = 8.0  # in the exponent: strongest tilt of a single branch

SATURATED = 4.0  # cells of the inverse table below the upper end of g: closer to it, outputs are not distinguished

PASSES = 8  # iterations towards equal marginal costs

TILTS = np.array([1.0, 0.5, 1.5])  # relative to the best guess


@compiled
def scratch(n_branches: int, most_steps: int) -> Scratch:
    """Work space for `knapsack`: costs, values of states, choices, gains chosen and options per branch."""
    options = LEVELS + LEVELS // FEWEST + 3  # rounding up the number of steps makes them a little smaller
    states = max(most_steps, 2 * FINER * n_branches) + 2
    return (
        np.empty((n_branches, options)),
        np.empty((2, states)),
        np.empty((n_branches, states), dtype=np.int64),
        np.empty(n_branches, dtype=np.int64),
        np.empty((4, n_branches), dtype=np.int64),
    )


@compiled
def _position(inverse: Floats, low: float, per_unit: float, output: float) -> float:
    """Smallest input that gives this output, from a table on equidistant outputs."""
    at = (output - low) * per_unit
    cell = min(max(int(at), 0), inverse.size - 2)
    return inverse[cell] + min(at - cell, 1.0) * (inverse[cell + 1] - inverse[cell])


@compiled
def _cost(
    position: float, output: float, stiffness: float, gain: float, inverse: Floats, low: float, per_unit: float
) -> float:
    """Cost of a gain of one branch."""
    if gain <= 0.0:
        return 0.0
    move = max(_position(inverse, low, per_unit, output + gain) - position, 0.0)
    return move * move / stiffness


@compiled
def _choose(costs: Floats, values: Floats, choices: Integers, members: Integers, counts: Integers, total: int) -> None:
    """Fill ``choices`` with the steps of each member that give the total at the smallest cost."""
    now, following = 0, 1
    for s in range(total + 1):
        values[0, s] = np.inf
    values[0, 0] = 0.0
    reach = 0
    for i in range(members.size):
        branch = members[i]
        most = min(counts[branch], total)
        higher = min(reach + most, total)
        for s in range(higher + 1):
            values[following, s] = values[now, s]
            choices[i, s] = 0
        for k in range(1, most + 1):
            cost = costs[branch, k] - costs[branch, 0]
            for s in range(k, min(reach + k, total) + 1):
                candidate = values[now, s - k] + cost
                if candidate < values[following, s]:
                    values[following, s] = candidate
                    choices[i, s] = k
        for s in range(higher + 1, total + 1):
            values[following, s] = np.inf
        reach = higher
        now, following = following, now


@compiled
def _read_off(
    costs: Floats, choices: Integers, members: Integers, base: Integers, gain: Integers, total: int, step: float
) -> float:
    """Write the chosen gains, in steps, into ``gain``; returns the highest marginal cost."""
    price, left = 0.0, total
    for i in range(members.size - 1, -1, -1):
        branch = members[i]
        k = choices[i, left]
        left -= k
        gain[branch] = base[branch] + k
        if k > 0:
            price = max(price, (costs[branch, k] - costs[branch, k - 1]) / step)
    return price


@compiled
def knapsack(
    position: Floats,
    output: Floats,
    stiffness: Floats,
    deficit: float,
    inverse: Floats,
    low: float,
    high: float,
    refinements: int,
    work: Scratch,
) -> float:
    """d^2: smallest sum of squared moves / stiffness that raises the summed output by ``deficit`` [soma-distance].

    Gains are discretised in steps. A dynamic programme over branches finds the best division of the deficit; each
    refinement divides the step and lets every branch change by one coarse step around the division found. Finally
    gains are adjusted within a step to equal marginal costs.
    """
    if deficit <= 0.0:
        return 0.0
    costs, values, choices, gain, indices = work
    members, counts, base = indices[0], indices[1], indices[2]
    K = position.size
    per_unit = (inverse.size - 1) / (high - low)
    total = max(FEWEST, math.ceil(deficit * LEVELS / (high - low)))
    step = deficit / total
    reach, softness = 0, 0.0
    for i in range(K):
        gain[i] = 0
        base[i] = 0
        counts[i] = min(int((high - output[i]) / step + 1e-9), total)
        reach += counts[i]
        costs[i, 0] = 0.0
        for k in range(1, counts[i] + 1):
            costs[i, k] = _cost(position[i], output[i], stiffness[i], k * step, inverse, low, per_unit)
        if counts[i] > 0:
            softness += step * step / max(costs[i, 1], 1e-300)
    if reach < total:  # effectively everything is saturated
        best = 0.0
        for i in range(K):
            move = max(inverse[inverse.size - 1] - position[i], 0.0)
            best += move * move / stiffness[i]
        return best
    # Branches that cost far more per gain than the current price are left out; the final price checks this.
    limit, price, n_members = WORTH * 2.0 * deficit / softness, np.inf, 0
    while price > limit / WORTH and n_members < K:
        limit *= WORTH
        n_members, reach = 0, 0
        for i in range(K):
            most = 0
            for k in range(1, counts[i] + 1):
                if costs[i, k] <= limit * k * step:
                    most = k
            indices[3, i] = most
            reach += most
            if most > 0:
                members[n_members] = i
                n_members += 1
        if reach >= total:
            _choose(costs, values, choices, members[:n_members], indices[3], total)
            price = _read_off(costs, choices, members[:n_members], base, gain, total, step)
    for level in range(refinements + 1):
        if level > 0:
            _choose(costs, values, choices, members[:n_members], counts, total)
            price = _read_off(costs, choices, members[:n_members], base, gain, total, step)
        if level == refinements:
            break
        step /= FINER
        total = 0
        n_members = 0
        for i in range(K):
            gain[i] *= FINER
            base[i] = max(gain[i] - FINER, 0)
            counts[i] = min(int((high - output[i]) / step + 1e-9) - base[i], gain[i] - base[i] + FINER)
            worth = gain[i] > 0
            for k in range(counts[i] + 1):
                costs[i, k] = _cost(position[i], output[i], stiffness[i], (base[i] + k) * step, inverse, low, per_unit)
                worth = worth or costs[i, k] < WORTH * price * k * step
            if worth:
                total += gain[i] - base[i]
                members[n_members] = i
                n_members += 1
    gains = values[0]
    for i in range(K):
        gains[i] = gain[i] * step
    return _levelled(
        position, output, stiffness, gains[:K], step, inverse, low, high, values[1], costs[:, 0], costs[:, 1]
    )


@compiled
def _bounds(gain: float, room: float, reach: float) -> tuple[float, float]:
    """Largest change of a gain in one iteration, for which a parabola still describes its cost."""
    return -min(reach, 0.5 * gain), 0.5 * min(reach, room - gain)


@compiled
def _levelled(
    position: Floats,
    output: Floats,
    stiffness: Floats,
    gain: Floats,
    step: float,
    inverse: Floats,
    low: float,
    high: float,
    slope: Floats,
    give: Floats,
    trial: Floats,
) -> float:
    """The cost after gains have been adjusted, by at most a step each, to equal marginal costs.

    If the cost of a branch is convex, a parabola through three points gives its change at a price; otherwise its gain
    stays. A branch at rest may start only if its cost grows like the square of a small gain.
    """
    K = position.size
    per_unit = (inverse.size - 1) / (high - low)
    best = 0.0
    for i in range(K):
        best += _cost(position[i], output[i], stiffness[i], gain[i], inverse, low, per_unit)
    reach, saturated = step, SATURATED / per_unit
    for _ in range(PASSES):
        total, rise = 0.0, 0.0
        for i in range(K):
            give[i], slope[i] = 0.0, 0.0
            room = high - output[i] - gain[i]
            if room < saturated:
                continue
            if gain[i] == 0.0:
                part = 0.25 * min(reach, room)
                near = _cost(position[i], output[i], stiffness[i], part, inverse, low, per_unit)
                far = _cost(position[i], output[i], stiffness[i], 2.0 * part, inverse, low, per_unit)
                if 0.0 < 2.2 * near < far:
                    give[i] = 0.5 * part * part / near
            else:
                part = min(0.5 * gain[i], 0.5 * min(reach, room))
                here = _cost(position[i], output[i], stiffness[i], gain[i], inverse, low, per_unit)
                below = _cost(position[i], output[i], stiffness[i], gain[i] - part, inverse, low, per_unit)
                above = _cost(position[i], output[i], stiffness[i], gain[i] + part, inverse, low, per_unit)
                bend = above - 2.0 * here + below
                if bend > 1e-9 * here:
                    give[i] = part * part / bend
                    slope[i] = (above - below) / (2.0 * part)
                    total += give[i] * slope[i]
                    rise += give[i]
        if rise == 0.0:
            break
        price, low_price, high_price = total / rise, 0.0, np.inf
        for _ in range(30):
            total, rise = 0.0, 0.0
            for i in range(K):
                if give[i] > 0.0:
                    change = (price - slope[i]) * give[i]
                    least, most = _bounds(gain[i], high - output[i], reach)
                    if change < least:
                        change = least
                    elif change > most:
                        change = most
                    else:
                        rise += give[i]
                    total += change
            if abs(total) < 1e-6 * step:
                break
            if total < 0.0:
                low_price = price
            else:
                high_price = price
            price = price - total / rise if rise > 0.0 else low_price
            if not low_price < price < high_price:
                price = 0.5 * (low_price + high_price) if high_price < np.inf else 2.0 * low_price
        if abs(total) > 1e-4 * step:
            break
        better = 0.0
        for i in range(K):
            change = 0.0
            if give[i] > 0.0:
                least, most = _bounds(gain[i], high - output[i], reach)
                change = min(max((price - slope[i]) * give[i], least), most)
            trial[i] = gain[i] + change
            better += _cost(position[i], output[i], stiffness[i], trial[i], inverse, low, per_unit)
        if better < best:
            gained = best - better
            best = better
            for i in range(K):
                gain[i] = trial[i]
            if gained < 1e-4 * best:
                break
        else:
            reach *= 0.25
    return best


@compiled
def squared_distances(
    code: int,
    parameters: Floats,
    inputs: Floats,
    signs: Floats,
    stiffness: Floats,
    target: Floats,
    inverse: Floats,
    ends: Floats,
    refinements: int,
) -> Floats:
    """d^2 of every row of branch inputs, for its sign.

    ``target``, ``inverse`` and ``ends`` have a row for sigma = -1 and one for +1: the required summed output, the
    table of inputs, and the lowest and highest output.
    """
    n, K = inputs.shape
    work = scratch(K, LEVELS * K + FEWEST)
    position, output = np.empty(K), np.empty(K)
    result = np.empty(n)
    for i in range(n):
        sign, side = signs[i], 1 if signs[i] > 0.0 else 0
        deficit = target[side]
        for j in range(K):
            position[j] = sign * inputs[i, j]
            output[j] = sign * value(code, parameters, inputs[i, j])
            deficit -= output[j]
        result[i] = knapsack(
            position, output, stiffness, deficit, inverse[side], ends[side, 0], ends[side, 1], refinements, work
        )
    return result


@compiled
def conditional_sums(common: Floats, group: Integers, low: Floats, per_unit: Floats, tables: Floats) -> Floats:
    """Sums over branches of tabulated functions of their common inputs: a row per sample, a column per function."""
    n, K = common.shape
    result = np.zeros((n, tables.shape[1]))
    for i in range(n):
        for j in range(K):
            p = group[j]
            at = (common[i, j] - low[p]) * per_unit[p]
            cell = min(max(int(at), 0), tables.shape[2] - 2)
            part = min(max(at - cell, 0.0), 1.0)
            for f in range(tables.shape[1]):
                result[i, f] += tables[p, f, cell] + part * (tables[p, f, cell + 1] - tables[p, f, cell])
    return result


@compiled
def output_sums(code: int, parameters: Floats, inputs: Floats) -> Floats:
    """Summed output of every row of branch inputs."""
    n, K = inputs.shape
    result = np.zeros(n)
    for i in range(n):
        for j in range(K):
            result[i] += value(code, parameters, inputs[i, j])
    return result


@compiled
def gaussian_logs(start: Floats, inner: Floats, gain: Floats, mu: float) -> Floats:
    """ln E_z exp(-mu max(start + sqrt(inner) z, 0)^2 / (2 gain)), entry by entry [rsb-inner]."""
    result = np.empty(start.size)
    for i in range(start.size):
        result[i] = innermost(start[i] / math.sqrt(inner[i]), -mu * inner[i] / gain[i])[0]
    return result


@compiled
def _cumulants(outputs: Floats, weights: Floats, theta: float, high: float) -> tuple[float, float, float]:
    """Sum over branches of ln E exp(theta (output - high)) and its first two derivatives in theta."""
    log_norm, mean, variance = 0.0, 0.0, 0.0
    for j in range(outputs.shape[0]):
        total, first, second = 0.0, 0.0, 0.0
        for k in range(weights.size):
            below = outputs[j, k] - high
            w = weights[k] * math.exp(theta * below)
            total += w
            first += w * below
            second += w * below * below
        first /= total
        log_norm += math.log(total)
        mean += first
        variance += second / total - first * first
    return log_norm, mean, variance


@compiled
def _tilt(
    outputs: Floats, weights: Floats, high: float, missing: float, slack: float, most: float
) -> tuple[float, float]:
    """The tilt theta at which mean output and force balance, mean + theta slack = -missing; and ln of the norm there.

    Without a deficit on average there is no tilt. Newton's method on an increasing function, inside a bracket.
    """
    log_norm, mean, variance = _cumulants(outputs, weights, 0.0, high)
    if mean + missing >= 0.0:
        return 0.0, log_norm
    low, up, theta = 0.0, most, 0.0
    for _ in range(6):
        excess = mean + missing + theta * slack
        if excess < 0.0:
            low = theta
        else:
            up = theta
        change = -excess / (variance + slack)
        if abs(change) < 0.02 * theta:
            break
        theta += change
        if not low < theta < up:
            theta = 0.5 * (low + up)
        log_norm, mean, variance = _cumulants(outputs, weights, theta, high)
    return theta, log_norm


@compiled
def broken_logs(
    code: int,
    parameters: Floats,
    common: Floats,
    signs: Floats,
    slack: Floats,
    inner_sd: Floats,
    stiffness: Floats,
    mu: float,
    n_inner: int,
    rng: np.random.Generator,
    nodes: Floats,
    weights: Floats,
    target: Floats,
    inverse: Floats,
    ends: Floats,
    refinements: int,
) -> Floats:
    """ln E_z exp(-mu d^2 / 2) for every row of common inputs, corrected for the bias of a finite sample.

    The inner input of each branch is drawn from its Gaussian tilted by exp(theta * output), by rejection; the weight of
    a draw then depends only on d^2 and on the summed output. Three tilts are used in turn, and a draw is weighted by
    the density of their mixture, so that no draw has a large weight because one tilt missed it. ``slack`` is
    K Gamma_1 / mu.
    Columns: the corrected and the plain logarithm, and the variance of either.
    """
    n, K = common.shape
    work = scratch(K, LEVELS * K + FEWEST)
    position, output, outputs = np.empty(K), np.empty(K), np.empty((K, nodes.size))
    log_weight = np.empty(n_inner)
    theta, log_norm = np.zeros(TILTS.size), np.zeros(TILTS.size)
    result = np.empty((n, 3))
    for i in range(n):
        sign, side = signs[i], 1 if signs[i] > 0.0 else 0
        low, high = ends[side, 0], ends[side, 1]
        for j in range(K):
            for k in range(nodes.size):
                outputs[j, k] = sign * value(code, parameters, common[i, j] + inner_sd[j] * nodes[k])
        most = FURTHEST / (high - low)
        best, _ = _tilt(outputs, weights, high, K * high - target[side], slack[i], most)
        for b in range(TILTS.size):
            theta[b] = min(TILTS[b] * best, most)
            log_norm[b] = _cumulants(outputs, weights, theta[b], high)[0] if theta[b] > 0.0 else 0.0
        for a in range(n_inner):
            tilt = theta[a % TILTS.size]
            deficit = target[side]
            above = 0.0
            for j in range(K):
                while True:
                    x = common[i, j] + inner_sd[j] * rng.standard_normal()
                    out = sign * value(code, parameters, x)
                    if tilt == 0.0 or rng.random() < math.exp(tilt * (out - high)):
                        break
                position[j] = sign * x
                output[j] = out
                deficit -= out
                above += out - high
            squared = knapsack(position, output, stiffness, deficit, inverse[side], low, high, refinements, work)
            density = 0.0
            for b in range(TILTS.size):
                turns = (n_inner - b + TILTS.size - 1) // TILTS.size
                density += turns * math.exp((theta[b] - theta[0]) * above - log_norm[b] + log_norm[0])
            log_weight[a] = -0.5 * mu * squared - theta[0] * above + log_norm[0] - math.log(density / n_inner)
        top = log_weight.max()
        total, squares = 0.0, 0.0
        for a in range(n_inner):
            weight = math.exp(log_weight[a] - top)
            total += weight
            squares += weight * weight
        # The logarithm of an average is too low by half its relative variance. (A jackknife agrees to this order, but
        # is unbounded if a single draw dominates.)
        variance = max(squares / (total * total) - 1.0 / n_inner, 0.0) * n_inner / (n_inner - 1)
        result[i, 1] = top + math.log(total / n_inner)
        result[i, 0] = result[i, 1] + 0.5 * variance
        result[i, 2] = variance
    return result
