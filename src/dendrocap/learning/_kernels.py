"""The training step, compiled. Only this module and its vector type need Numba.

Sixteen branches are processed together in the lanes of a vector (`dendrocap.learning.engine` arranges them), so
one pass over the synapses of a branch is a pass over sixteen branches, and the bits of a pattern select the
active lanes. Arrays are assumed to match; nothing is checked here.

The kernels take the neuron and the rule as tuples::

    neuron = constants     per lane: 1 / sqrt(n_l), minus sqrt(n_l) times the threshold, the weight at the soma,
                           1 / sqrt(n_l K)
             soma_offset   sqrt(K) theta_s
             copies        lanes over which one branch is spread
             blocks        per block: the kind of its branches, its number of excitatory rows, and of all rows
             g             per kind: code of the non-linearity; its parameters are a row of the next array
             g_parameters
             limit         exponents are held to +-limit; 30 in float32 keeps all products out of the slow subnormals
             scratch       memory for `_one_by_one`, two vectors, and for the dendritic signals of all lanes
    rule   = signals       per kind: code of what stands for g' in the update, with its parameters likewise
             signal_parameters
             gamma_ce      steepness of the loss
             kappa         margin at which the soft error is one half
             still         exponent of the soft error from which on a pattern is right enough to change no weight

Excitatory rows come first, so that the two signs are two loops, of which the second is empty without inhibition.
"""

from __future__ import annotations

from typing import Any

from dendrocap.learning._simd import (
    exponential,
    fma,
    load,
    pointer,
    rotate,
    shifted,
    spread,
    store,
    total,
    where,
    where_less,
)
from dendrocap.learning.engine import LANES
from dendrocap.learning.rules import FLOORED, LORENTZIAN, OTHER_SLOPE, TRUE_SLOPE
from dendrocap.model._compiled import value_and_slope
from dendrocap.model.nonlinearities import LINEAR, POLSKY, RELU, SATURATING_RELU
from dendrocap.numerics._caching import njit


@njit(forceinline=True)
def _branch_sums(weights: Any, start: int, bits: Any, row: int, size: int, copies: int, zero: Any) -> Any:
    """Sum of the weights of the active synapses, one branch per lane."""
    # Four sums at once: an addition takes four cycles, but one can start in each.
    a, b, c, d = zero, zero, zero, zero
    quads = size // 4
    for quad in range(quads):
        i, at = row + 4 * quad, start + 4 * LANES * quad
        a = where(bits[i], a + load(weights, at), a)
        b = where(bits[i + 1], b + load(weights, at + LANES), b)
        c = where(bits[i + 2], c + load(weights, at + 2 * LANES), c)
        d = where(bits[i + 3], d + load(weights, at + 3 * LANES), d)
    for i in range(4 * quads, size):
        a = where(bits[row + i], a + load(weights, start + LANES * i), a)
    sums = (a + b) + (c + d)
    # If a branch is spread over several lanes, each of them gets the whole sum.
    if copies >= 2:
        sums = sums + rotate(sums, 8)
    if copies >= 4:
        sums = sums + rotate(sums, 4)
    if copies >= 8:
        sums = sums + rotate(sums, 2)
    if copies >= 16:
        sums = sums + rotate(sums, 1)
    return sums


@njit(forceinline=True)
def _polsky(x: Any, x_min: Any, gamma: Any, zero: Any, one: Any, limit: Any) -> Any:
    u = gamma * (x - x_min)
    u = where_less(u, zero, zero, where_less(limit, u, limit, u))
    decay = exponential(zero - u)
    share = one / (one + decay)
    height = (one - x_min) + (one - x_min)
    below = where_less(zero, x, x, zero)
    output = where_less(x, x_min, below, fma(height, share, x_min + x_min - one))
    rise = height * gamma * (decay * share * share)
    return output, where_less(x, x_min, where_less(zero, x, one, zero), rise)


@njit(cache=True, nogil=True)
def _one_by_one(x: Any, g: int, g_numbers: Any, scratch: Any) -> Any:
    """g and g' of codes without a vector form, lane by lane in float64: tables of cubic pieces first of all."""
    store(scratch, 0, x)
    for lane in range(LANES):
        scratch[lane], scratch[LANES + lane] = value_and_slope(g, g_numbers, float(scratch[lane]))
    return load(scratch, 0), load(scratch, LANES)


@njit(forceinline=True)
def _value_and_slope(x: Any, g: int, g_numbers: Any, scratch: Any, zero: Any, one: Any, limit: Any, kind: Any) -> Any:
    """g and g' of sixteen branches."""
    if g == POLSKY:
        return _polsky(x, spread(kind(g_numbers[0])), spread(kind(g_numbers[1])), zero, one, limit)
    if g == LINEAR:
        return x, one
    if g == RELU:
        return where_less(zero, x, x, zero), where_less(zero, x, one, zero)
    if g == SATURATING_RELU:
        inside = where_less(zero, x, where_less(x, one, one, zero), zero)
        return where_less(zero, x, where_less(x, one, x, one), zero), inside
    return _one_by_one(x, g, g_numbers, scratch)


@njit(forceinline=True)
def _branch_outputs(
    x: Any,
    g: int,
    g_numbers: Any,
    rule: int,
    rule_numbers: Any,
    scratch: Any,
    zero: Any,
    one: Any,
    limit: Any,
    kind: Any,
) -> Any:
    """g(x) of sixteen branches, and the slope used in the update."""
    output, signal = _value_and_slope(x, g, g_numbers, scratch, zero, one, limit, kind)
    if rule >= OTHER_SLOPE:
        _, signal = _value_and_slope(x, rule - OTHER_SLOPE, rule_numbers, scratch, zero, one, limit, kind)
    if rule == LORENTZIAN:
        distance = (x - spread(kind(rule_numbers[0]))) / spread(kind(rule_numbers[1]))
        signal = one / fma(distance, distance, one)
    elif rule == FLOORED:
        floor = spread(kind(rule_numbers[0]))
        signal = where_less(signal, floor, floor, signal)
    return output, signal


@njit(cache=True, nogil=True)
def epoch(neuron: Any, rule: Any, weights: Any, bits: Any, signs: Any, order: Any, rate: Any, presented: Any) -> float:
    """Present every pattern once, in the given order, and change the weights after each.

    Fills in the margins that patterns had when they were presented. Returns the largest factor
    g'(lambda_l) / sqrt(n_l K): if it is zero, no weight can change any more.
    """
    constants, soma_offset, copies, blocks, g, g_parameters, limit, scratch = neuron
    signals, signal_parameters, gamma_ce, kappa, still = rule
    kind = weights.dtype.type
    zero, one, top = spread(kind(0.0)), spread(kind(1.0)), spread(limit)
    n_blocks, size, _ = weights.shape
    lanes = n_blocks * LANES
    constant, about, codes, rules = pointer(constants), pointer(blocks), pointer(g), pointer(signals)
    g_numbers, g_width = pointer(g_parameters), g_parameters.shape[1]
    rule_numbers, rule_width = pointer(signal_parameters), signal_parameters.shape[1]
    w, words, spare, signal_place = pointer(weights), pointer(bits), pointer(scratch), 2 * LANES
    largest = zero
    for turn in range(order.shape[0]):
        pattern = order[turn]
        collected = zero
        for block in range(n_blocks):
            lane, row = block * LANES, (pattern * n_blocks + block) * size
            sums = _branch_sums(w, lane * size, words, row, about[3 * block + 2], copies, zero)
            x = fma(sums, load(constant, lane), load(constant, lanes + lane))
            own = about[3 * block]
            own_g, own_rule = shifted(g_numbers, own * g_width), shifted(rule_numbers, own * rule_width)
            output, signal = _branch_outputs(x, codes[own], own_g, rules[own], own_rule, spare, zero, one, top, kind)
            collected = fma(load(constant, 2 * lanes + lane), output, collected)
            signal = signal * load(constant, 3 * lanes + lane)
            largest = where_less(largest, signal, signal, largest)
            store(spare, signal_place + lane, signal)
        # The soft error of [local-rule]: sign / (1 + exp(2 gamma_ce (sign Delta - kappa))).
        sign = signs[pattern]
        margin = sign * (total(collected) - soma_offset)
        presented[pattern] = margin
        exponent = (gamma_ce + gamma_ce) * (margin - kappa)
        if exponent >= still:
            continue
        exponent = max(exponent, -limit)
        soft_error = spread(rate * sign) / (one + exponential(spread(exponent)))
        for block in range(n_blocks):
            change = soft_error * load(spare, signal_place + block * LANES)
            row, start = (pattern * n_blocks + block) * size, block * size * LANES
            # Written so that a NaN stays visible: it is neither below nor above zero.
            for i in range(about[3 * block + 1]):
                at = start + LANES * i
                weight = load(w, at)
                weight = where(words[row + i], weight + change, weight)
                store(w, at, where_less(weight, zero, zero, weight))
            for i in range(about[3 * block + 1], about[3 * block + 2]):
                at = start + LANES * i
                weight = load(w, at)
                weight = where(words[row + i], weight + change, weight)
                store(w, at, where_less(zero, weight, zero, weight))
    store(spare, 0, largest)
    return float(scratch[:LANES].max())


@njit(cache=True, nogil=True)
def margins(neuron: Any, weights: Any, bits: Any, signs: Any, result: Any) -> None:
    """sign * Delta of every pattern, positive if the neuron is right."""
    constants, soma_offset, copies, blocks, g, g_parameters, limit, scratch = neuron
    kind = weights.dtype.type
    zero, one, top = spread(kind(0.0)), spread(kind(1.0)), spread(limit)
    n_blocks, size, _ = weights.shape
    lanes = n_blocks * LANES
    constant, about, codes = pointer(constants), pointer(blocks), pointer(g)
    g_numbers, g_width = pointer(g_parameters), g_parameters.shape[1]
    w, words, spare = pointer(weights), pointer(bits), pointer(scratch)
    for pattern in range(bits.shape[0]):
        collected = zero
        for block in range(n_blocks):
            lane, row = block * LANES, (pattern * n_blocks + block) * size
            sums = _branch_sums(w, lane * size, words, row, about[3 * block + 2], copies, zero)
            x = fma(sums, load(constant, lane), load(constant, lanes + lane))
            own = about[3 * block]
            own_g = shifted(g_numbers, own * g_width)
            output, _ = _branch_outputs(x, codes[own], own_g, TRUE_SLOPE, own_g, spare, zero, one, top, kind)
            collected = fma(load(constant, 2 * lanes + lane), output, collected)
        result[pattern] = signs[pattern] * (total(collected) - soma_offset)


@njit(cache=True, nogil=True)
def tested_epoch(
    neuron: Any, rule: Any, weights: Any, bits: Any, signs: Any, order: Any, rate: Any, result: Any, worth: int
) -> float:
    """An epoch, then the margins with fixed weights if at most ``worth`` patterns were wrong when presented.

    In one call, because parallel threads queue for Python's lock after each call.
    """
    signal = epoch(neuron, rule, weights, bits, signs, order, rate, result)
    if worth < result.shape[0]:
        kappa, wrong = rule[3], 0
        for pattern in range(result.shape[0]):
            wrong += not result[pattern] > kappa
        if wrong > worth:
            return signal
    margins(neuron, weights, bits, signs, result)
    return signal
