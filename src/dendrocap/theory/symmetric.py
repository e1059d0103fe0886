"""Critical capacity in the replica-symmetric estimate, of any populations of branches.

At capacity the solutions have shrunk to a point, and each population is described by a single number [cap-scalar]: B,
the distance of zero from the mean of the truncated Gaussian of weights, in units of its standard deviation. B
determines its weights, of all types of synapses, up to their scale [inhibition-capacity]; the mean output determines
its mean input, and with it its contributions R_p and Gamma_0p to the load

    alpha = (sum_p x_p R_p)^2 / (Gamma_0 E I_2(tau)),    R_p = sqrt(length_p C_p Gamma_1p),            [pop-load]

at which solutions of these norms vanish; for the paper's single population alpha(Q) = C Gamma_1 / (Gamma_0 E I_2(tau))
[cap-load]. Weights can take any norm, so the capacity is the largest load. (The distances between replicas, which may
differ between populations, are already optimised.) For a given ratio a = R / Gamma_0 the populations decouple: each
maximises 2 R_p - a Gamma_0p. For one population this is the remaining saddle-point equation [cap-stationary].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model import NeuronSpec, TaskSpec
from dendrocap.numerics._compiled import tail
from dendrocap.numerics.types import Floats
from dendrocap.theory import scope
from dendrocap.theory.dendrite import (
    Moments,
    TreeResponse,
    all_mean_inputs,
    all_means,
    check_capacity_inputs,
    check_tree_averages,
    is_monotone,
    levels_response,
    prepared,
    response_along,
)
from dendrocap.theory.neuron_kernel import Population, Shape, like_branches, shape_at, shape_with
from dendrocap.theory.patterns import LabelAverages, label_averages
from dendrocap.theory.solution import CapacitySolution, OtherSolution, PopulationWeights, SynapseWeights
from dendrocap.theory.solver import bracketed_root, newton
from dendrocap.theory.weights import CapacityWeights, Law, OwnPrior, law_of

# Initial grid of places and limits to it: of B, and of the logarithm of the variance. From one to the next the width of
# the branch input changes by a factor below two. alpha(Q) vanishes for Q -> W_bar^2 (B -> -inf) and for Q -> inf
# (B -> inf): the grid is extended at either end until the load decreases there.
LONG = (-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5), (-8.0, 30.0)

SHORT = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0), (-12.0, 20.0)

ALIKE = 0.992  # W_bar / sqrt(Q) at B = -8

FINE, NARROW = 0.2, 1e-2  # steps of the search for any state, and for the last one, of short branches

FALLING_B = 6.0  # a load that falls at this B, where Q is 10^9 W_bar^2, is assumed to fall for all larger B

ALL_OR_NONE = 1e-4  # w_max / W_star at which bounded weights count as 0 or w_max, each of them

SAME = 1e-9  # relative difference of two loads that are the same

EASIEST, UNDERFLOW = -4.0, -30.0  # margins, in deviations of the somatic input, that are no demand on the weights

KINDS = ("minimum", "maximum")

FREE = Law()


def symmetric_capacity(neuron: NeuronSpec, task: TaskSpec | None = None) -> CapacitySolution:
    """The critical capacity in the replica-symmetric estimate; see `critical_capacity`, which calls this.

    Notes
    -----
    Solves [cap-stationary] for B by Brent's method in every interval of a grid on which it changes its sign, and
    returns the largest load among the solutions.

    Examples
    --------
    >>> from dendrocap import Linear, NeuronSpec
    >>> round(symmetric_capacity(NeuronSpec(Linear(), theta_d=0.5, theta_s=0.5)).alpha_c, 10)
    1.0
    """
    task = TaskSpec() if task is None else task
    law, populations = law_of(neuron.prior), [like_branches(neuron, task)]
    check_capacity_inputs(neuron)
    needs_constraint_curve(neuron, task)  # refuses what is not derived for g that are not monotone
    law.check(neuron.tree[0].theta / task.f_in)
    return symmetric_state(populations, task, law).solution(populations, neuron, task)


class SymmetricSide(NamedTuple):
    """One population at one place t of a line."""

    t: float
    W_bar: float
    Q: float
    A: float
    C: float
    R: float  # sqrt(length C Gamma1)
    dR: float  # in Q at the prescribed mean output, or along the curve E g = theta [cap-along]
    scale: float  # of the terms of dR, to judge what rounding leaves of it
    shapes: tuple[float, ...]  # B of each type of synapses
    tree: TreeResponse  # with derivatives along the same direction

    @property
    def m(self) -> float:
        """The mean input of a branch."""
        return self.tree.means[0]

    @property
    def W_star(self) -> float:
        """Standard deviation of the Gaussian of weights before it is cut at zero."""
        return math.sqrt(self.C) / self.A

    def weights(self, population: Population, gap: float, w_max: float) -> PopulationWeights:
        """Its public description."""
        synapses = []
        for one, B in zip(population.types, self.shapes, strict=True):
            weights = CapacityWeights(B, self.W_star / one.scale, w_max) if math.isfinite(B) else None
            synapses.append(
                SynapseWeights(
                    kind=one.kind,
                    share=one.share,
                    f_in=one.f_in or population.f_in,
                    W_bar=self.W_bar * one.strength / one.scale,
                    Q=0.0 if weights is None else weights.second_moment(),
                    weights=weights,
                    silent_fraction=1.0 if weights is None else tail(-B)[0],
                )
            )
        b, c = self.shapes[0] * math.sqrt(self.C), (self.C,)
        return PopulationWeights(population, self.m, tuple(synapses), gap, self.A, b, c)


def _side(
    population: Population,
    t: float,
    shape: Shape,
    W_bar: float,
    tree: TreeResponse,
    dQ: float = 1.0,
    unit: float = 1.0,
    dm: float = 0.0,
) -> SymmetricSide:
    """The population where Q and its mean input change by dQ, of terms of the size ``unit``, and by dm."""
    A, root = shape.A, shape.A * W_bar * shape.W_star
    C = root * root
    R = math.sqrt(population.length * C * tree.Gamma1)
    # [pop-stationary]: d ln C / dQ and d ln Gamma_1 / dQ, with the mean input following Q
    by_C = (A * dQ + 2.0 * shape.B[0] * root * population.W_slope * dm) / C
    by_gain = tree.dGamma1 / tree.Gamma1
    scale = 0.5 * R * (A / C * unit + abs(by_gain))
    return SymmetricSide(t, W_bar, shape.Q * W_bar**2, A, C, R, 0.5 * R * (by_C + by_gain), scale, shape.B, tree)


class SymmetricState(NamedTuple):
    """The capacity and the populations there."""

    alpha: float
    sides: tuple[SymmetricSide, ...]
    labels: LabelAverages
    Gamma0: float
    residual: float
    evaluations: int
    others: tuple[OtherSolution, ...] = ()
    metastable: bool = False  # whether loads further out are larger, without a largest one

    @property
    def gaps(self) -> tuple[float, ...]:
        """Distance of two replicas in each population, relative to that in the first."""
        own = [side.R / side.tree.Gamma1 for side in self.sides]  # sqrt(length C / Gamma1)
        return tuple(one / own[0] for one in own)

    def solution(
        self,
        populations: Sequence[Population],
        neuron: NeuronSpec,
        task: TaskSpec,
        rsb: int | str = 0,
        reason: str = "",
    ) -> CapacitySolution:
        """The public result; with a reason why it stands for one with steps of breaking."""
        each = list(zip(populations, self.sides, self.gaps, strict=True))
        if self.metastable:
            reason = reason or "a local maximum: the load is larger, and grows without bound, at larger weights"
        elif self.others:
            reason = reason or f"the largest of {len(self.others) + 1} stationary loads: weights may take any norm"
        return CapacitySolution(
            neuron=neuron,
            task=task,
            rsb=rsb,
            branch_size=populations[0].branch_size / populations[0].length,
            alpha_c=self.alpha,
            populations=tuple(side.weights(one, gap, neuron.prior.w_max) for one, side, gap in each),
            mean_shift=self.labels.shift * math.sqrt(self.Gamma0),
            Gamma0=self.Gamma0,
            Gamma1=math.fsum(one.fraction * gap * side.tree.Gamma1 for one, side, gap in each),
            by_steps=(self.alpha,),
            residual=self.residual,
            iterations=self.evaluations,
            reason=reason or "the only solution of the equations",
            others=self.others,
            metastable=self.metastable,
        )


Slope = Callable[[SymmetricSide], float]  # of the load, or its part that a population decides


def symmetric_state(populations: Sequence[Population], task: TaskSpec, law: OwnPrior = FREE) -> SymmetricState:
    """The largest load over the norms of all populations, at their prescribed mean outputs."""
    try:
        soma = _Soma(populations, task)
        if len(populations) > 1:
            found = _together(soma, [_Line(one, law) for one in populations])
        else:
            (one,) = populations
            found = _stationary(soma, ConstraintCurve(one) if is_curve(one) else _Line(one, law))
    except ArithmeticError as error:
        raise NoSolution(
            f"the capacity of {populations[0].nonlinearity!r} at theta_d = {populations[0].theta_d:g} and {task} is "
            f"out of the range of floating-point numbers: {error}"
        ) from error
    soma.check(found.Gamma0)
    for population, side in zip(populations, found.sides, strict=True):
        check_tree_averages(population.levels, side.tree.sd**2, side.tree.means)
    return found


def is_curve(population: Population) -> bool:
    """Whether the mean input is not a function of Q."""
    return not (population.upper or population.short or is_monotone(population.nonlinearity))


class _Load(NamedTuple):
    """What populations make together."""

    alpha: float
    ratio: float  # the a at which [pop-stationary] gives d alpha = 0; d(Gamma_0 E I_2)/dGamma_0 is E H
    Gamma0: float
    labels: LabelAverages


class _Soma:
    """The soma, with the averages over labels that need not be computed twice."""

    def __init__(self, populations: Sequence[Population], task: TaskSpec) -> None:
        self.task, self._x = task, [population.fraction for population in populations]
        self._free_of_margin = label_averages(task.f_out, 0.0) if task.kappa == 0.0 else None

    def load(self, sides: Sequence[SymmetricSide]) -> _Load:
        """The load at which solutions vanish, [cap-load] and [pop-load]."""
        R = Gamma0 = 0.0
        for x, side in zip(self._x, sides, strict=True):
            R, Gamma0 = R + x * side.R, Gamma0 + x * side.tree.Gamma0
        labels = self._free_of_margin
        if labels is None:
            self.check(Gamma0, UNDERFLOW)
            labels = label_averages(self.task.f_out, self.task.kappa / math.sqrt(Gamma0))
        return _Load(R * R / (Gamma0 * labels.second), labels.mass / labels.second * R / Gamma0, Gamma0, labels)

    def check(self, Gamma0: float, easiest: float = EASIEST) -> None:
        """Raise for a negative margin that random weights meet."""
        margin = self.task.kappa / math.sqrt(Gamma0)
        if margin < easiest:
            raise NoSolution(
                f"kappa = {self.task.kappa:g} is {margin:.3g} standard deviations of the somatic input: nearly every "
                f"pattern meets this margin at any weights, and no load is too large; it takes kappa above "
                f"{EASIEST * math.sqrt(Gamma0):.3g}"
            )

    def state(self, sides: Sequence[SymmetricSide], evaluations: int) -> SymmetricState:
        """The result at a stationary load."""
        alpha, a, Gamma0, labels = self.load(sides)
        residual = max(
            abs(2.0 * side.dR - a * side.tree.dGamma0) / (2.0 * side.scale + abs(a * side.tree.dGamma0))
            for side in sides
        )
        return SymmetricState(alpha, tuple(sides), labels, Gamma0, residual, evaluations)


class _Place(NamedTuple):
    """A state of the only population, the load, and its slope along the line."""

    side: SymmetricSide
    alpha: float
    slope: float


def _stationary(soma: _Soma, line: _Line | ConstraintCurve) -> SymmetricState:
    """The largest of all stationary loads of one population."""
    known: dict[int, _Place] = {}  # by the identity of its state

    def measured(side: SymmetricSide) -> _Place:
        if id(side) not in known:
            load = soma.load((side,))
            slope = side.Q / side.R * (2.0 * side.dR - load.ratio * side.tree.dGamma0)  # d ln alpha / d ln Q
            known[id(side)] = _Place(side, load.alpha, slope)
        return known[id(side)]

    def root(one: SymmetricSide, other: SymmetricSide) -> _Place:
        # Not computed again: rounding might give the ends the same sign if one of them is the root.
        between, met = line.between(one, other), {0.0: one, 1.0: other}

        def at(part: float) -> _Place:
            if part not in met:
                met[part] = between(part)
            return measured(met[part])

        return at(bracketed_root(lambda part: at(part).slope, 0.0, 1.0).at)

    highest, solved = None, []
    for pair in line.neighbours(lambda side: measured(side).slope):
        here, ahead = map(measured, pair)
        highest = max(highest or here, here, ahead, key=lambda place: place.alpha)
        if (here.slope > 0.0) != (ahead.slope > 0.0):
            solved.append((root(*pair), here.slope > 0.0))
    best = max((place for place, is_maximum in solved if is_maximum), key=lambda place: place.alpha, default=None)
    if highest is None:
        raise line.no_maximum(0.0)
    metastable = best is None or best.alpha < highest.alpha * (1.0 - SAME) or line.runs_away()
    if best is None or (metastable and not line.population.short):
        tree = highest.side.tree
        soma.check(tree.Gamma0)
        check_tree_averages(line.population.levels, tree.sd**2, tree.means)  # what is not resolved is noise
        raise line.no_maximum(highest.alpha)
    # Symmetric or periodic g repeat their states: of each kind, the one with the smallest mean input is reported.
    kinds: dict[tuple[str, bool], _Place] = {}
    for place, is_maximum in sorted(solved, key=lambda one: abs(one[0].side.m)):
        kinds.setdefault((f"{place.alpha:.7g}", is_maximum), place)
    best = kinds.pop((f"{best.alpha:.7g}", True))
    others = tuple(
        OtherSolution(alpha, side.shapes[0], side.Q, side.m / line.population.f_in, KINDS[is_maximum])
        for (_, is_maximum), (side, alpha, _) in sorted(kinds.items(), key=lambda item: -item[1].alpha)
    )
    return soma.state((best.side,), line.evaluations)._replace(others=others, metastable=metastable)


def _together(soma: _Soma, lines: Sequence[_Line]) -> SymmetricState:
    """The largest load of several populations."""
    # On the grid first: a follows from the best states, the best states from a, and the load grows in every iteration.
    sides = [line.middle() for line in lines]
    for _ in range(50):
        a = soma.load(sides).ratio
        pairs = [line.best(a) for line in lines]
        better = [one for one, _ in pairs]
        if better == sides:
            break
        sides = better
    x = []
    for one, other in pairs:  # a straight line through the two neighbours
        here, there = (2.0 * side.dR - a * side.tree.dGamma0 for side in (one, other))
        x.append(one.t + (other.t - one.t) * here / (here - there))

    @cache
    def side(number: int, B: float) -> SymmetricSide:
        return lines[number].at(B, better[number].tree.means, better[number].shapes[0])

    def at(x: Floats) -> list[SymmetricSide]:
        return [side(number, B) for number, B in enumerate(x.tolist())]

    def misses(x: Floats) -> Floats:
        sides = at(x)
        a = soma.load(sides).ratio
        return np.array([(2.0 * side.dR - a * side.tree.dGamma0) / side.scale for side in sides])

    solved = newton(misses, np.array(x), target=1e-12)
    if not solved.residual < SAME:
        raise ConvergenceError(f"the replica-symmetric capacity was not found: {solved.residual:.2g} is left", solved)
    return soma.state(at(solved.x), sum(line.evaluations for line in lines))


class _Line:
    """The states of one population along a line, on a grid that grows.

    On long branches a place t is B itself, or that of weights without bound. On short ones the mean weight follows the
    mean input, so that two states may have the same B: there the place stands for the variance of the input, which has
    one mean input, in logarithmic units of the smallest one.
    """

    def __init__(self, population: Population, law: OwnPrior) -> None:
        self.population, self.law, self.evaluations = population, law, 0
        self._W_bar, self._chi = population.W_bar(0.0), population.common_variance(0.0)
        self._unique = all(is_monotone(g) for g, _ in population.levels)
        self._places: list[tuple[float, list[SymmetricSide]]] = []
        if population.short:  # the variance of equal weights
            unit = population.v + population.common_unit
            m = levels_response(population.levels, 1e-6 * unit * self._W_bar**2, 1.0).means[0]
            W_bar = population.W_bar(m)
            self._unit = unit * (W_bar if W_bar > 0.0 else population.W_bar(abs(m))) ** 2

    def at(self, t: float, means: tuple[float, ...] | None = None, B: float = 0.0) -> SymmetricSide:
        """The state at a place, next to these mean inputs and this shape."""
        self.evaluations += 1
        population = self.population
        if not population.short:
            shape = shape_at(t, population.types, self.law, self._W_bar)
            tree = levels_response(population.levels, self._variance(shape), population.v, means)
            return _side(population, t, shape, self._W_bar, tree)
        V = self._unit * math.exp(t)
        tree = levels_response(population.levels, V, population.v, means)
        m, dm = tree.means[0], tree.d_mean
        W_bar, Q = population.W_bar(m), (V - population.common_variance(m)) / population.v
        if not 0.0 < W_bar < ALIKE * math.sqrt(max(Q, 0.0)):
            raise ConvergenceError(f"weights of the mean {W_bar:g} cannot have the mean square {Q:g}", m)
        dQ = 1.0 - population.common_variance_slope(m) * dm / population.v
        return _side(population, t, shape_at(shape_with(Q / W_bar**2, B)), W_bar, tree, dQ, 1.0, dm)

    def all(self, t: float, near: Sequence[SymmetricSide] = ()) -> list[SymmetricSide]:
        """All states at a place; there may be none on a short branch, or for g that are not monotone."""
        population = self.population
        if not self._unique:
            shape = shape_at(t, population.types, self.law, self._W_bar)
            return [self.at(t, means) for means in all_means(population.levels, self._variance(shape))]
        try:
            return [self.at(t, near[0].tree.means, near[0].shapes[0]) if near else self.at(t)]
        except ConvergenceError:
            if not population.short:
                raise
            return []

    def runs_away(self) -> bool:
        """Whether there are short branches with weights of any size, whose load grows with them for ever.

        Then g is a step for them, which the mean input has to pass by a share z of the deviation of the input.
        """
        low, high = self.population.nonlinearity.range
        upper = (self.population.mean_output - low) / (high - low)
        if not (self.population.short and math.isfinite(high - low) and upper > 0.5):
            return False
        from scipy.special import ndtri

        ratio = (float(ndtri(upper)) * self.population.W_slope) ** -2.0 - self.population.common_unit
        return bool(ALIKE**2 * ratio > self.population.v)

    def _variance(self, shape: Shape) -> float:
        return self.population.v * shape.Q * self._W_bar**2 + self._chi

    def begun(self) -> list[tuple[float, list[SymmetricSide]]]:
        """The grid so far; a new one has states at the first places, or where a finer search finds some."""
        places, (grid, limits) = self._places, SHORT if self.population.short else LONG
        for t in () if places else grid:
            self._add(t, places[-1][1] if places else ())
        if self.population.short and not places:
            for t in np.arange(limits[0], limits[1], FINE).tolist():
                self._add(t, places[-1][1] if places else ())
        return places

    def _add(self, t: float, near: Sequence[SymmetricSide]) -> bool:
        """Add a place at either end of the grid, if there are states."""
        places, sides = self._places, self.all(t, near)
        if sides:
            places.insert(0 if places and t < places[0][0] else len(places), (t, sides))
        return bool(sides)

    def neighbours(self, slope: Slope) -> Iterator[tuple[SymmetricSide, SymmetricSide]]:
        """Neighbouring states on a grid wide enough that the load decreases at either end, if there are states."""
        places, limits = self.begun(), (SHORT if self.population.short else LONG)[1]
        for end, sense, step in ((0, 1.0, -1.0), (-1, -1.0, 0.5)):
            while places and abs(step) > NARROW and limits[0] < places[end][0] < limits[1]:
                t, near = places[end]
                if all(sense * slope(side) > 0.0 for side in near) or self.law.w_max / near[0].W_star < ALL_OR_NONE:
                    break
                if not self._add(t + step, near):  # on short branches a maximum may be close to the end
                    step *= 0.5 if self.population.short else 0.0
        for (_, before), (_, here) in pairwise(places):
            for new in here:  # of the same branch of solutions
                yield min(before, key=lambda old: math.dist(old.tree.means, new.tree.means)), new

    def between(self, one: SymmetricSide, other: SymmetricSide) -> Callable[[float], SymmetricSide]:
        """The states between two neighbours."""
        near = one

        def at(part: float) -> SymmetricSide:
            nonlocal near
            near = self.at(one.t + part * (other.t - one.t), near.tree.means, near.shapes[0])
            return near

        return at

    def middle(self) -> SymmetricSide:
        """A state to start from."""
        places = self.begun()
        if not places:
            raise self.no_maximum(math.nan)
        return places[len(places) // 2][1][0]

    def best(self, a: float) -> tuple[SymmetricSide, SymmetricSide]:
        """Neighbours that enclose the highest maximum of 2 R - a Gamma_0, the better one first."""

        def slope(side: SymmetricSide) -> float:
            return 2.0 * side.dR - a * side.tree.dGamma0

        def value(side: SymmetricSide) -> float:
            return 2.0 * side.R - a * side.tree.Gamma0

        pairs = [pair for pair in self.neighbours(slope) if slope(pair[0]) > 0.0 >= slope(pair[1])]
        if not pairs:
            raise self.no_maximum(math.nan)
        return max(((max(pair, key=value), min(pair, key=value)) for pair in pairs), key=lambda pair: value(pair[0]))

    def no_maximum(self, highest: float) -> Exception:
        """Why no stationary load is the largest."""
        population = self.population
        kind = f"{population.nonlinearity!r} at mean output {population.mean_output:g}"
        if self.law.w_max < math.inf:
            return NoSolution(
                f"the replica-symmetric load of {kind} is largest, {highest:.4g}, where every weight is 0 or w_max, a "
                "state that is not derived: it takes a larger w_max for weights in between"
            )
        if not population.short:
            return ConvergenceError(
                f"alpha(Q) has no interior maximum for {kind}: it still grows where the mean output of a level ceases "
                "to reach its threshold, which happens in deep trees of functions that are not monotone",
                population,
            )
        n, least = population.branch_size, -population.theta_d * math.sqrt(population.branch_size)
        if not self._places:
            return NoSolution(
                f"no weights give branches with {n:.6g} synapses, {kind}: even without any weights their mean input "
                f"is not below -theta_d sqrt(n) = {least:.4g}, where g is {float(population.nonlinearity(least)):.4g}"
            )
        return NoSolution(
            f"the replica-symmetric load of branches with {n:.6g} synapses has no maximum: it grows with the weights "
            f"without bound. At mean output {population.mean_output:g} the mean input grows in proportion to the "
            "weights, so that theta_d no longer limits them. One step of symmetry breaking (rsb=1) has a solution"
        )


# States in which the mean output of a branch meets its threshold, for non-monotone g [constraint-curve].
#
# For given Q, E g(m + s x) = theta has one solution m if g is monotone. In general the equation is a set of curves in
# the plane of Q and m. As a function of the variance V and of m, E g obeys the heat equation, so that the number of
# its solutions m never grows with V: no curve begins at a finite V, none has a minimum of V, and none is closed. Each
# curve therefore starts at the smallest possible variance, v W_bar^2, and either continues to infinite V or turns back
# at its top, where E g' = 0, to another start. All curves are found by solving for m at the smallest variance.
#
# Curves are followed by arc length, in steps of B (which stands for Q, see [cap-Q]) and of m in units of s.

LOWEST_B, HIGHEST_B = -5.0, 30.0  # at the lower end the weights hardly differ and the load they bear is small

STEP, SHORTEST_STEP, MOST_STEPS = 0.15, 1e-5, 4000

FLAT = 1e-10  # change of E g with its input, in units of s, below which it is taken not to depend on it

STRAIGHT = 0.97  # smallest cosine between the directions of two neighbouring states


def needs_constraint_curve(neuron: NeuronSpec, task: TaskSpec) -> bool:
    """Whether the mean input is not a function of Q: one level of branches whose g falls somewhere."""
    if neuron.n_levels != 1 or is_monotone(neuron.tree[0].nonlinearity):
        return False
    scope.check(scope.FALLING, neuron, task)
    return True


class ConstraintState(NamedTuple):
    """A point on a curve, and the direction in which the curve is followed."""

    B: float
    Q: float
    s: float  # standard deviation of the branch input
    m: float  # its mean
    moments: Moments
    dB: float  # direction, of unit length in B and m / s
    dm: float  # in units of m
    dQ: float  # in units of Q


class ConstraintCurve:
    """All curves of long branches of one level."""

    def __init__(self, population: Population) -> None:
        self.population, self.evaluations = population, 0
        self._theta, self._W_bar = population.mean_output, population.W_bar(0.0)
        self._averages = prepared(population.nonlinearity)

    def Q(self, B: float) -> tuple[float, float]:
        """Mean squared weight at this B [cap-Q], and its derivative."""
        i0, i1, i2 = tail(B)
        return self._W_bar**2 * i2 / i1**2, 2.0 * self._W_bar**2 / i1 * (i0 * i2 / i1**2 - 1.0)

    def onto(self, B: float, m: float, towards: tuple[float, float]) -> ConstraintState:
        """The state near (B, m), by steps down the gradient of E g; its direction follows ``towards``."""
        g, theta, v = self.population.nonlinearity, self._theta, self.population.v
        for _ in range(30):
            self.evaluations += 1
            Q, Q_B = self.Q(B)
            s = math.sqrt(v * Q)
            found = self._averages(theta, s, m)
            # Gradient of E g in B and m / s, by the heat equation dE g / dV = E g'' / 2 = E[g' x] / 2 s.
            by_B, by_m = 0.5 * v * Q_B * found.slope_x / s, s * found.slope
            size = math.hypot(by_B, by_m)
            if not (math.isfinite(size) and size > FLAT):
                raise ConvergenceError(f"the mean output of {g!r} does not depend on its input at m = {m:g}", m)
            step = -found.mean / size**2
            B, m = B + step * by_B, m + step * by_m * s
            if abs(step) * size < 1e-13 or abs(found.mean) < 1e-16 * abs(theta):
                break
        else:
            raise ConvergenceError(f"no mean input near {m:g} gives {g!r} the mean output {theta:g}", m)
        sense = -by_m * towards[0] + by_B * towards[1] / s
        sign = math.copysign(1.0, sense) / size
        dB, dm = -sign * by_m, sign * by_B * s
        return ConstraintState(B, Q, s, m, found, dB, dm, Q_B * dB)

    def curves(self, falls: Callable[[ConstraintState], bool] | None = None) -> Iterator[list[ConstraintState]]:
        """Each curve as an ordered list of states; ``falls(state)`` can end a curve that continues to infinite Q."""
        s = math.sqrt(self.population.v * self.Q(LOWEST_B)[0])
        open_starts = all_mean_inputs(self.population.nonlinearity, self._theta, s)
        while open_starts:
            m = open_starts.pop(0)
            curve = self._followed(m, falls)
            last = curve[-1]
            if open_starts and last.B <= LOWEST_B + STEP:  # the curve has returned to another start
                nearest = min(open_starts, key=lambda other: abs(other - last.m))
                if abs(nearest - last.m) < 3.0 * last.s:
                    open_starts.remove(nearest)
            yield curve

    def _followed(self, m: float, falls: Callable[[ConstraintState], bool] | None) -> list[ConstraintState]:
        curve = [self.onto(LOWEST_B, m, (1.0, 0.0))]
        step = STEP
        for _ in range(MOST_STEPS):
            here = curve[-1]
            try:
                there = self.onto(here.B + step * here.dB, here.m + step * here.dm, (here.dB, here.dm))
                moved = math.hypot(there.B - here.B, (there.m - here.m) / here.s)
                cosine = here.dB * there.dB + here.dm * there.dm / here.s**2 * (here.s / there.s)
                good = cosine > STRAIGHT and 0.5 * step < moved < 1.5 * step
            except ConvergenceError:
                good = False
            if not good:
                step *= 0.5
                if step < SHORTEST_STEP:
                    return curve
                continue
            curve.append(there)
            if there.B <= LOWEST_B or there.B >= HIGHEST_B:
                return curve
            if there.B >= FALLING_B and falls is not None and falls(there):
                return curve
            step = min(1.5 * step, STEP)
        return curve

    def side(self, state: ConstraintState) -> SymmetricSide:
        """A state as seen by the soma; derivatives are along the curve rather than in Q [cap-along]."""
        v = self.population.v
        tree = response_along(state.moments, state.s, state.m, v, v * state.dQ, state.dm)
        return _side(self.population, state.B, shape_at(state.B), self._W_bar, tree, state.dQ, state.Q)

    def neighbours(self, slope: Slope) -> Iterator[tuple[SymmetricSide, SymmetricSide]]:
        """Neighbouring states of all curves."""
        for curve in self.curves(falls=lambda state: slope(self.side(state)) < 0.0):
            yield from pairwise([self.side(state) for state in curve])

    def between(self, one: SymmetricSide, other: SymmetricSide) -> Callable[[float], SymmetricSide]:
        """The states next to the chord between two neighbours."""
        B, m = other.t - one.t, other.m - one.m
        return lambda part: self.side(self.onto(one.t + part * B, one.m + part * m, (B, m)))

    def runs_away(self) -> bool:
        """Not along curves, which end or are followed far."""
        return False

    def no_maximum(self, highest: float) -> NoSolution:
        """Why no stationary load is the largest."""
        g, theta = self.population.nonlinearity, self._theta
        if highest == 0.0:
            return NoSolution(
                f"no mean input gives {g!r} the mean output {theta:g} at any width of its input: equal weights have "
                f"the smallest, a deviation of {math.sqrt(self.population.v) * self._W_bar:g}"
            )
        return NoSolution(
            f"the replica-symmetric load of {g!r} at mean output {theta:g} has no largest value: it still grows, at "
            f"{highest:.4g}, where the mean output of g no longer depends on its mean input, however wide that is"
        )
