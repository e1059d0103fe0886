"""The best division of a neuron's branches into mostly-on and mostly-off ones, at a finite number of branches.

With infinitely many branches and no margin the load grows without bound as the two kinds separate. With K branches it
does not: the soma of a strongly split neuron depends on the few branches that deviate, and storing a pattern costs more
than in the Gaussian theory. The optimum is global: at small theta_d it lies behind a barrier.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dendrocap.errors import ConvergenceError
from dendrocap.finite_size.soma import BranchInputs, Sampled, finite_k_energy
from dendrocap.model import TaskSpec
from dendrocap.theory.branch_stability import split_state
from dendrocap.theory.broken import BrokenState
from dendrocap.theory.neuron_kernel import Population
from dendrocap.theory.search import Found

SPLITS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 16.0, 22.0, 30.0)  # in deviations of a branch's input

WIDE = 12.0  # larger splits are tried only while the load is highest at the end

COARSE, MEDIUM, FINE = (128, 12), (320, 16), (768, 32)  # outer and inner samples: to scan, to choose, to evaluate

RIVALS = 4  # number of splits compared with more samples

OFF_THRESHOLD = 0.25  # smallest distance of saturated branches from the somatic threshold, in ranges of g


@dataclass(frozen=True)
class Split:
    """Two populations and their load.

    Attributes
    ----------
    split : float
        Difference of the mean inputs, in standard deviations of the equal state's input; 0 is the equal state.
    n_on : int
        Number of branches with the larger mean input.
    found : Found
        The one-step solution with infinitely many branches.
    load : Sampled
        The one-step load with K branches.
    """

    split: float
    n_on: int
    found: Found
    load: Sampled


@dataclass(frozen=True)
class SplitSearch:
    """The equal state, the best split, and the nearest optimum if it is a different one."""

    equal: Split
    best: Split
    nearest: Split | None


def finite_k_load(
    state: BrokenState,
    populations: Sequence[Population],
    counts: Sequence[int],
    theta_s: float,
    task: TaskSpec,
    samples: tuple[int, int],
    seed: int,
) -> Sampled:
    """The one-step load with the given numbers of branches of each population, at the state of infinitely many.

    F = F_S + alpha F_E vanishes and is stationary at capacity, so that alpha_K = alpha F_E / F_E(K), to first order in
    the change of F_E [finite-K].
    """
    rows = [
        (side.m, math.sqrt(p.v * float(side.q[0])), math.sqrt(p.v * (side.Q - float(side.q[0]))), p.v * side.gap)
        for p, side in zip(populations, state.sides, strict=True)
    ]
    mean, outer, inner, stiffness = np.repeat(np.array(rows), counts, axis=0).T
    energy = finite_k_energy(
        populations[0].nonlinearity,
        BranchInputs(mean, outer, inner, stiffness),
        mu=float(state.mu[0]),
        kappa=task.kappa,
        f_out=task.f_out,
        theta_s=theta_s,
        n_outer=samples[0],
        n_inner=samples[1],
        seed=seed,
    )
    load = state.alpha * state.energy / energy.value
    return Sampled(load, load * energy.standard_error / abs(energy.value))


def best_split(
    population: Population,
    theta_s: float,
    task: TaskSpec,
    n_branches: int,
    equal: Found,
    *,
    seed: int = 0,
    callback: Callable[[float, str], object] | None = None,
) -> SplitSearch:
    """The division with the largest one-step load at K branches.

    Parameters
    ----------
    population : Population
        Equal branches, with a bounded g that never falls.
    equal : Found
        The one-step solution with equal branches.
    seed : int
        Seed of the samples. Splits are chosen with some samples and evaluated with others, so that the choice does not
        cause a bias.
    callback : callable, optional
        Called with the fraction of the work done and a description.
    """
    K = n_branches
    tell = callback or (lambda share, words: None)

    def evaluated(split: float, n_on: int, found: Found, samples: tuple[int, int], stream: int) -> Split:
        if split == 0.0:
            populations, counts = [population], [K]
        else:
            populations, counts = [population, population], [K - n_on, n_on]
        load = finite_k_load(found.state, populations, counts, theta_s, task, samples, seed + stream)
        return Split(split, n_on, found, load)

    tried = [evaluated(0.0, 0, equal, COARSE, 1)]
    places = range(len(SPLITS))
    for turn, n_on in enumerate(_numbers_on(population, theta_s, K)):
        start, begin, loads = None, 0.0, [tried[0].load.value]
        for place, split in enumerate(SPLITS[: places.stop]):
            tell(0.8 * (turn + place / len(SPLITS)) / 2.0, f"split {split:g}, {n_on} of {K} branches on")
            try:
                start = split_state(
                    population, theta_s, task, 1, equal, split, n_on / K, start, begin, n_branches=float(K)
                )
            except ConvergenceError:
                break
            begin = split
            if place not in places:
                continue
            tried.append(evaluated(split, n_on, start, COARSE, 1))
            loads.append(tried[-1].load.value)
            if split >= WIDE and max(loads) > max(loads[-2:]):
                break
        # One branch more or less moves the optimum little: only its neighbourhood is searched.
        best = max(range(len(loads)), key=loads.__getitem__) - 1
        places = range(max(best - 1, 0), min(best + 2, len(SPLITS)))
    tell(0.8, "the best splits again")
    highest = max(tried, key=lambda one: one.load.value)
    rivals = sorted(tried, key=lambda one: -one.load.value)[:RIVALS]
    rivals = [
        one for one in rivals if one is highest or highest.load.value - one.load.value < 2.0 * _error(one, highest)
    ]
    if len(rivals) > 1:
        rivals = [evaluated(one.split, one.n_on, one.found, MEDIUM, 2) for one in rivals]
    chosen = max(rivals, key=lambda one: one.load.value)
    near = _nearest(tried, chosen)
    tell(0.9, "the best split")

    def again(one: Split) -> Split:
        return evaluated(one.split, one.n_on, one.found, FINE, 3)

    alike = again(tried[0])
    best_of_all = alike if chosen.split == 0.0 else max(alike, again(chosen), key=lambda one: one.load.value)
    if near is not None:
        near = alike if near.split == 0.0 else max(alike, again(near), key=lambda one: one.load.value)
    return SplitSearch(alike, best_of_all, near)


def _error(one: Split, other: Split) -> float:
    return math.hypot(one.load.standard_error, other.load.standard_error)


def _numbers_on(population: Population, theta_s: float, K: int) -> list[int]:
    """Possible numbers of on branches: the two whole numbers nearest to the value required by the somatic threshold.

    Numbers for which saturated branches alone put the soma at its threshold are left out: all patterns would count as
    stored there, without any margin.
    """
    low, high = population.nonlinearity.range
    share = K * (theta_s - low) / (high - low)
    off = [n for n in range(1, K) if abs(n - share) >= OFF_THRESHOLD]
    return sorted(sorted(off, key=lambda n: abs(n - share))[:2])


def _nearest(tried: Sequence[Split], chosen: Split) -> Split | None:
    """The first maximum between equal branches and the chosen split, if it is a different one."""
    way = [tried[0], *(one for one in tried if one.n_on == chosen.n_on and 0.0 < one.split <= chosen.split)]
    for before, here in pairwise(way):
        if here.load.value < before.load.value - 2.0 * _error(before, here):
            return None if before.split == chosen.split else before
    return None
