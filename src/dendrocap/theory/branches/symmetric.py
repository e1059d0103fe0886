"""Replica-symmetric capacity of several populations of branches, of any length.

At capacity each population is described by one number B, as in the paper's case: B determines its weights, of all its
types of synapses, up to their scale [inhibition-capacity]; the mean output determines its mean input, and with it its
contributions R_p and Gamma_0p. The load

    alpha = (sum_p x_p R_p)^2 / (Gamma_0 E I_2(tau)),    R_p = sqrt(length_p C_p Gamma_1p)             [pop-load]

is maximised over all B_p. (The distances between replicas, which may differ between populations, are already
optimised.) For a given ratio a = R / Gamma_0 the populations decouple: each maximises 2 R_p - a Gamma_0p.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model import TaskSpec
from dendrocap.theory.branches.population import Population, PopulationKernel
from dendrocap.theory.branches.synapses import at_capacity
from dendrocap.theory.labels import LabelAverages, label_averages

__all__ = ["SymmetricSide", "SymmetricState", "symmetric_state", "symmetric_state_at"]

Floats = NDArray[np.float64]

# Initial grid of B; it is extended at either end until the load decreases there.
B_GRID = (-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
B_LIMITS = (-8.0, 30.0)
PROBE = 1e-6  # finite differences in B
MOST_NEWTON, LONGEST_STEP = 40, 0.4
CONVERGED = 1e-9  # steps in B below this count as rounding; the load is stationary, so its error is the square


@dataclass(frozen=True)
class SymmetricSide:
    """One population at one B."""

    B: float
    m: float
    W_bar: float
    Q: float
    A: float
    C: float
    Gamma0: float
    Gamma1: float
    R: float  # sqrt(length C Gamma1)
    R_Q: float  # dR / dQ at the prescribed mean output
    Gamma0_Q: float  # likewise
    scale: float  # of the terms of R_Q, to judge what rounding leaves of it
    shapes: tuple[float, ...]  # B of each type of synapses

    @property
    def W_star(self) -> float:
        """Standard deviation of the Gaussian of weights before it is cut at zero."""
        return math.sqrt(self.C) / self.A


@dataclass(frozen=True)
class SymmetricState:
    """The capacity and the populations there."""

    alpha: float
    sides: tuple[SymmetricSide, ...]
    labels: LabelAverages
    Gamma0: float
    residual: float
    evaluations: int

    @property
    def gaps(self) -> tuple[float, ...]:
        """Distance of two replicas in each population, relative to that in the first."""
        own = [side.R / side.Gamma1 for side in self.sides]  # sqrt(length C / Gamma1)
        return tuple(one / own[0] for one in own)


class _Scan:
    """One population, and its states on a grid of B."""

    def __init__(self, population: Population) -> None:
        self.population = population
        self._kernel = PopulationKernel(population)
        self.states: list[SymmetricSide] = []
        self.evaluations = 0
        for B in B_GRID:
            state = self.at(B)
            if state is not None:
                self.states.append(state)

    def at(self, B: float, guess: float | None = None) -> SymmetricSide | None:
        """The state at B; None if no mean input gives the mean output."""
        self.evaluations += 1
        population = self.population
        shapes, A, W_star, ratio = at_capacity(population.types, B)  # the last is Q / W_bar^2 [cap-Q]
        try:
            m = self._kernel.mean_input(ratio, guess)
        except ConvergenceError:
            return None
        W_bar = population.W_bar(m)
        Q = ratio * W_bar**2
        norm = self._kernel.norm(m, Q, population.mean_output)
        C = (A * W_bar * W_star) ** 2
        m_Q = -norm.output_Q / norm.output_m
        R = math.sqrt(population.length * C * norm.Gamma1)
        # [pop-stationary]: d ln C / dQ and d ln Gamma_1 / dQ, with the mean input following Q
        by_C = (A + 2.0 * B * math.sqrt(C) * population.W_slope * m_Q) / C
        by_gain = (norm.Gamma1_Q + norm.Gamma1_m * m_Q) / norm.Gamma1
        return SymmetricSide(
            B=B,
            m=m,
            W_bar=W_bar,
            Q=Q,
            A=A,
            C=C,
            Gamma0=norm.Gamma0,
            Gamma1=norm.Gamma1,
            R=R,
            R_Q=0.5 * R * (by_C + by_gain),
            Gamma0_Q=norm.Gamma0_Q + norm.Gamma0_m * m_Q,
            scale=0.5 * R * (A / C + abs(by_gain)),
            shapes=shapes,
        )

    def near(self, B: float, side: SymmetricSide) -> SymmetricSide:
        """The state at B, near a known state."""
        state = self.at(B, side.m)
        if state is None:
            raise NoSolution(self._run_away())
        return state

    def best(self, a: float) -> tuple[SymmetricSide, SymmetricSide]:
        """Neighbours on the grid that enclose the highest maximum of 2 R - a Gamma_0, the better one first.

        The grid is extended until there is one. On short branches the load may grow again beyond its maximum, because
        the mean weight follows the mean input; only maxima count.
        """
        while True:
            misses = [_miss(state, a) for state in self.states]
            pairs = [
                sorted(pair, key=lambda state: a * state.Gamma0 - 2.0 * state.R)
                for pair, left, right in zip(pairwise(self.states), misses, misses[1:], strict=False)
                if left > 0.0 >= right
            ]
            if pairs:
                one, other = max(pairs, key=lambda pair: 2.0 * pair[0].R - a * pair[0].Gamma0)
                return one, other
            first, last = self.states[0], self.states[-1]
            if misses[0] <= 0.0:
                lower = self.at(first.B - 1.0, first.m) if B_LIMITS[0] < first.B else None
                if lower is None:
                    raise ConvergenceError(f"no norm of the weights is best for {self.population}", self.states)
                self.states.insert(0, lower)
            else:
                higher = self.at(last.B + 0.5, last.m) if B_LIMITS[1] > last.B else None
                if higher is None:
                    raise NoSolution(self._run_away())
                self.states.append(higher)

    def _run_away(self) -> str:
        population = self.population
        return (
            f"the replica-symmetric load of branches with {population.branch_size:.6g} synapses has no maximum: it "
            f"grows with the weights without bound. At mean output {population.mean_output:g} the mean input grows in "
            "proportion to the weights, so that theta_d no longer limits them. One step of symmetry breaking (rsb=1) "
            "has a solution"
        )


def _miss(state: SymmetricSide, a: float) -> float:
    """d(2 R - a Gamma_0)/dQ, which vanishes at the best state [pop-stationary]."""
    return 2.0 * state.R_Q - a * state.Gamma0_Q


def symmetric_state(
    populations: Sequence[Population], task: TaskSpec, mean_shift: float | None = None
) -> SymmetricState:
    """The largest load over the norms of all populations, at their prescribed mean outputs.

    The shift Delta of the mean somatic input is the one that balances the labels, unless it is given.
    """
    scans = [_Scan(population) for population in populations]
    x = np.array([population.fraction for population in populations])
    free_of_margin = label_averages(task.f_out, 0.0) if task.kappa == 0.0 and mean_shift is None else None

    def sums(sides: Sequence[SymmetricSide]) -> tuple[float, float, LabelAverages]:
        R, Gamma0 = float(x @ [side.R for side in sides]), float(x @ [side.Gamma0 for side in sides])
        if free_of_margin is not None:
            return R, Gamma0, free_of_margin
        root = math.sqrt(Gamma0)
        return (
            R,
            Gamma0,
            label_averages(task.f_out, task.kappa / root, None if mean_shift is None else mean_shift / root),
        )

    def ratio(sides: Sequence[SymmetricSide]) -> float:
        """The a at which [pop-stationary] gives d alpha = 0; d(Gamma_0 E I_2)/dGamma_0 is E H."""
        R, Gamma0, labels = sums(sides)
        return labels.mass / labels.second * R / Gamma0

    # On the grid first: a follows from the best states, the best states from a, and the load grows in every iteration.
    sides = [scan.states[len(scan.states) // 2] for scan in scans]
    for _ in range(50):
        a = ratio(sides)
        pairs = [scan.best(a) for scan in scans]
        better = [one for one, _ in pairs]
        if better == sides:
            break
        sides = better
    starts = []
    for scan, (one, other) in zip(scans, pairs, strict=True):  # a straight line through the two neighbours
        here, there = _miss(one, a), _miss(other, a)
        starts.append(scan.near(one.B + (other.B - one.B) * here / (here - there), one))
    sides = _polished(scans, starts, ratio)
    R, Gamma0, labels = sums(sides)
    a = ratio(sides)
    return SymmetricState(
        alpha=R**2 / (Gamma0 * labels.second),
        sides=tuple(sides),
        labels=labels,
        Gamma0=Gamma0,
        residual=max(abs(_miss(side, a)) / (2.0 * side.scale + abs(a * side.Gamma0_Q)) for side in sides),
        evaluations=sum(scan.evaluations for scan in scans),
    )


def symmetric_state_at(population: Population, task: TaskSpec, theta_s: float, n_branches: float) -> SymmetricState:
    """The largest load of equal branches with mean output theta_s + Delta / sqrt(K), over norm and mean [mean-K]."""
    from scipy.optimize import minimize_scalar

    low, high = population.nonlinearity.range
    root = math.sqrt(n_branches)
    alike = symmetric_state([replace(population, branch_size=math.inf)], task)
    guess = alike.labels.shift * math.sqrt(alike.Gamma0)

    def at(Delta: float) -> SymmetricState:
        return symmetric_state([replace(population, mean_output=theta_s + Delta / root)], task, Delta)

    ends = sorted((0.0, 3.0 * guess))
    ends = [max(ends[0], 0.999 * (low - theta_s) * root), min(ends[1], 0.999 * (high - theta_s) * root)]

    def miss(Delta: float) -> float:
        try:
            return -at(Delta).alpha
        except NoSolution:  # short branches may have no maximum at this output, but at others
            return 0.0

    best = minimize_scalar(miss, bounds=ends, method="bounded", options={"xatol": 1e-9})
    return at(float(best.x))


def _polished(
    scans: Sequence[_Scan], sides: list[SymmetricSide], ratio: Callable[[Sequence[SymmetricSide]], float]
) -> list[SymmetricSide]:
    """Newton's method on all B together, from the best states of the grid."""

    def misses(at: Sequence[SymmetricSide]) -> Floats:
        a = ratio(at)
        return np.array([_miss(side, a) / side.scale for side in at])

    here = misses(sides)
    jacobian = np.empty((len(sides), len(sides)))
    for column, (scan, side) in enumerate(zip(scans, sides, strict=True)):
        probe = list(sides)
        probe[column] = scan.near(side.B + PROBE, side)
        jacobian[:, column] = (misses(probe) - here) / PROBE
    for _ in range(MOST_NEWTON):
        step = np.linalg.solve(jacobian, -here)
        step *= min(1.0, LONGEST_STEP / max(float(np.max(np.abs(step))), 1e-300))
        sides = [scan.near(side.B + change, side) for scan, side, change in zip(scans, sides, step, strict=True)]
        here = misses(sides)
        if float(np.max(np.abs(step))) < CONVERGED:
            return sides
        # Broyden's update: the remaining residual is the error of the Jacobian along this step.
        jacobian += np.outer(here, step) / float(step @ step)
    raise ConvergenceError(f"the replica-symmetric capacity was not found: stationarity is missed by {here}", sides)
