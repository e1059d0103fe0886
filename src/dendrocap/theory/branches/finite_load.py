"""Typical solutions below capacity of several populations of branches, of any length, with replica symmetry.

Each population has two unknowns, ln A and ln xi, which determine its weights up to their scale, as in
`solution_curve`; the mean output then determines its mean input, and with it the scale. Populations meet at the soma,
where covariances add [pop-soma], and each must be consistent with the patterns [pop-sp]. Solutions are followed from
capacity, where they are known, to the requested load.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model import NeuronSpec, TaskSpec
from dendrocap.theory.branches.population import Norm, Overlap, Population, PopulationKernel, populations_of
from dendrocap.theory.branches.symmetric import symmetric_state
from dendrocap.theory.branches.synapses import AtLoad, TypicalSynapses, at_load, mean_weight
from dendrocap.theory.branches.typical_solution import PopulationSaddlePoint, TypicalWeights
from dendrocap.theory.free_entropy import FIELD_STEP, Energetic, balanced_shift
from dendrocap.theory.kernels import NODES
from dendrocap.theory.newton import newton
from dendrocap.theory.solution_curve import COARSE, CurvePoint, solve_on_curve
from dendrocap.validation import real_number

__all__ = ["population_saddle_point", "population_stability_limit", "split_saddle_point"]

Floats = NDArray[np.float64]

CLOSE = 1e-7  # dq / Q of the replicas at the end near capacity where solutions start
ACCEPTED = 1e-9  # largest residual
LONGEST_STEP, SHORTEST_STEP = 2.5, 1e-3  # in ln A
WAY_TARGET = 1e-5  # residual at which Newton's method stops at intermediate points
SMALLEST_LOAD = 1e-3  # the descent ends below this load


class _Side(NamedTuple):
    """One population: weights with given conjugates, norms and conjugates in units of excitatory weights."""

    m: float
    W_bar: float  # of the excitatory weights
    Q: float
    dq: float
    A_hat: float
    q_hat: float
    M_hat: float  # of the excitatory weights
    types: tuple[AtLoad | None, ...]  # at a mean excitatory weight of one
    variance_squared: float
    norm: Norm
    overlap: Overlap


class _Point(NamedTuple):
    """All populations and the patterns."""

    sides: tuple[_Side, ...]
    energetic: Energetic
    shift: float
    D0: float
    D1: float
    asked: (
        Floats  # q_hat / alpha and A_hat of each population, per unit of load, and what a load does not change of A_hat
    )


class _Soma(NamedTuple):
    """Covariance and difference at the soma, for the average over patterns."""

    D0: float
    D1: float


class _FiniteLoad:
    """The equations of a set of populations.

    Either every population has its own mean output, or ``split`` gives the distances of the mean inputs from a common
    one, which is the last unknown: only the average output is then prescribed.
    """

    def __init__(
        self,
        populations: Sequence[Population],
        task: TaskSpec,
        nodes: int = NODES,
        split: Sequence[float] | None = None,
    ) -> None:
        self.populations, self.task, self.split = tuple(populations), task, split
        self.evaluations = 0
        self._kernels = [PopulationKernel(population, nodes) for population in populations]
        self._step = FIELD_STEP * NODES / nodes
        self._shift = 0.0

    def _side(self, p: int, log_A: float, log_xi: float, m: float | None = None) -> _Side:
        if not (abs(log_A) < 300.0 and abs(log_xi) < 300.0):
            raise ConvergenceError("the conjugates left all bounds", last_iterate=(log_A, log_xi))
        population, kernel = self.populations[p], self._kernels[p]
        root, xi = math.exp(0.5 * log_A), math.exp(log_xi)
        types = at_load(population.types, root, xi, self._step)
        live = [(one.share, at.entropic) for one, at in zip(population.types, types, strict=True) if at is not None]
        variance = sum(share * one.variance for share, one in live)
        ratio = sum(share * one.mean_squared for share, one in live) + variance
        if not (math.isfinite(ratio) and variance > 0.0):
            raise ConvergenceError("the weights have no finite moments", last_iterate=(log_A, log_xi))
        assert types[0] is not None  # excitation is never dead
        output = population.mean_output if m is None else None
        m = kernel.mean_input(ratio) if m is None else m
        W = population.W_bar(m)
        if not W > 0.0:
            raise ConvergenceError("no weights have this mean input", last_iterate=(log_A, log_xi, m))
        Q, dq, A_hat = ratio * W**2, variance * W**2, (root / W) ** 2
        norm = kernel.norm(m, Q, output)
        return _Side(
            m=m,
            W_bar=W,
            Q=Q,
            dq=dq,
            A_hat=A_hat,
            q_hat=xi * A_hat,
            M_hat=types[0].M_hat / W,
            types=types,
            variance_squared=sum(share * one.variance_squared for share, one in live) * W**4,
            norm=norm,
            overlap=kernel.overlap(m, Q, dq, norm),
        )

    def point(self, x: Floats) -> _Point:
        """All quantities at the unknowns (ln A_p, ln xi_p) and, with a split, the common mean input."""
        self.evaluations += 1
        means = [None] * len(self.populations) if self.split is None else [float(x[-1]) + part for part in self.split]
        sides = tuple(self._side(p, x[2 * p], x[2 * p + 1], m) for p, m in enumerate(means))
        D0 = sum(
            population.fraction * (side.norm.Gamma0 - side.overlap.D1)
            for population, side in zip(self.populations, sides, strict=True)
        )
        D1 = sum(
            population.fraction * side.overlap.D1 for population, side in zip(self.populations, sides, strict=True)
        )
        if not (D0 > 0.0 and D1 > 0.0):
            raise ConvergenceError("the soma does not notice its inputs", last_iterate=sides)
        soma = _Soma(D0, D1)
        shift = balanced_shift(soma, self.task, self._shift * math.sqrt(D0), self._step)
        self._shift = shift / math.sqrt(D0)
        energetic = Energetic.at(soma, self.task, shift, self._step)
        # Effects of the mean input: energy, entropy of the weights, output. Tied inputs change together.
        turns = np.array(
            [
                (
                    energetic.f2 * side.norm.Gamma0_m + energetic.f1_squared * side.overlap.D1_m,
                    2.0 * population.length * population.W_slope * side.M_hat,
                    side.norm.output_m,
                )
                for population, side in zip(self.populations, sides, strict=True)
            ]
        )
        if self.split is not None:
            turns[:] = np.average(turns, axis=0, weights=[population.fraction for population in self.populations])
        asked = []
        for population, side, (energy, entropy, output) in zip(self.populations, sides, turns, strict=True):  # [pop-sp]
            norm, overlap = side.norm, side.overlap
            m_Q = -norm.output_Q / output
            asked += [
                energetic.f1_squared * overlap.C_q / population.length,
                -(energetic.f2 * norm.Gamma0_Q + energetic.f1_squared * overlap.D1_Q + m_Q * energy)
                / population.length,
                m_Q * entropy / population.length,
            ]
        return _Point(sides, energetic, shift, D0, D1, np.array(asked))

    def residuals(self, x: Floats, log_load: float) -> Floats:
        """The residuals at this load."""
        point, load = self.point(x), math.exp(log_load)
        found = []
        for side, (q_asked, A_asked, A_fixed) in zip(point.sides, point.asked.reshape(-1, 3), strict=True):
            found += [
                math.log(load * q_asked / side.q_hat),
                (load * A_asked + A_fixed) / side.A_hat - 1.0,
            ]
        if self.split is not None:
            pairs = zip(self.populations, point.sides, strict=True)
            found.append(
                sum(population.fraction * (side.norm.output - population.mean_output) for population, side in pairs)
            )
        return np.array(found)

    def stability(self, point: _Point, load: float) -> float:
        """The replicon: one minus the largest eigenvalue of the response of the overlaps to themselves [pop-at]."""
        P = len(self.populations)
        matrix = np.empty((P, P))
        for row, (population, side) in enumerate(zip(self.populations, point.sides, strict=True)):
            gain = load / population.length * side.variance_squared
            for column, (other, there) in enumerate(zip(self.populations, point.sides, strict=True)):
                matrix[row, column] = (
                    gain * side.overlap.C_q * point.energetic.f2_squared * other.fraction * there.overlap.C_q
                )
            matrix[row, row] += gain * side.overlap.C_qq * point.energetic.f1_squared
        return 1.0 - float(np.max(np.linalg.eigvals(matrix).real))


def _path(equations: _FiniteLoad) -> tuple[Floats, float]:
    """Unknowns (ln A_p, ln xi_p) close to capacity, and the logarithm of the capacity."""
    capacity = symmetric_state(equations.populations, equations.task)
    x = []
    for side, gap in zip(capacity.sides, capacity.gaps, strict=True):
        dq = CLOSE * capacity.sides[0].Q * gap
        x += [math.log(side.A * side.W_bar**2 / dq), math.log(side.C / (side.A * dq))]
    return np.array(x), math.log(capacity.alpha)


def _descend(
    equations: _FiniteLoad, until: Callable[[float, _Point], bool]
) -> tuple[tuple[Floats, float], tuple[Floats, float]]:
    """Two neighbouring points (unknowns, ln load) on the descent from capacity between which a condition is met."""
    x, log_load = _path(equations)
    y = np.append(x[1:], log_load)
    lead, step = float(x[0]), 0.5
    path: list[tuple[float, Floats]] = []

    def residuals(y: Floats, lead: float) -> Floats:
        return equations.residuals(np.concatenate([[lead], y[:-1]]), float(y[-1]))

    jacobian: Floats | None = None
    while True:
        guess = y
        if len(path) > 1:
            (lead0, y0), (lead1, y1) = path[-2:]
            guess = y1 + (y1 - y0) * (lead - lead1) / (lead1 - lead0)
        solved = newton(partial(residuals, lead=lead), guess, jacobian=jacobian, target=WAY_TARGET, most=15, reach=2.0)
        jacobian = solved.jacobian
        if not solved.residual < 100.0 * WAY_TARGET:
            step, jacobian = 0.4 * step, None
            if step < SHORTEST_STEP or not path:
                raise ConvergenceError("the solutions could not be followed down from capacity", last_iterate=path)
            lead = path[-1][0] - step
            continue
        path.append((lead, solved.x))
        y = solved.x
        point = equations.point(np.concatenate([[lead], y[:-1]]))
        if until(float(y[-1]), point):
            places = [(np.concatenate([[at], z[:-1]]), float(z[-1])) for at, z in path[-2:]]
            return places[0], places[-1]
        if y[-1] < math.log(SMALLEST_LOAD):
            raise NoSolution(f"nothing was found down to load {SMALLEST_LOAD:g}")
        step = min(1.6 * step, LONGEST_STEP)
        lead -= step


def population_saddle_point(
    neuron: NeuronSpec, task: TaskSpec, alpha: float, branch_size: float | None = None
) -> PopulationSaddlePoint:
    """The typical solutions at a load; `saddle_point` calls this if branches differ or are short."""
    populations = populations_of(neuron, task, branch_size)
    equations, log_load = _FiniteLoad(populations, task), math.log(real_number("alpha", alpha, 0.0, low_open=True))
    try:
        alpha_c = symmetric_state(populations, task).alpha
    except NoSolution:
        if neuron.populations or branch_size is None:
            raise
        # Short branches may have no replica-symmetric capacity; their solutions at a load are followed from long ones.
        x = _shortened(neuron, task, branch_size, log_load)
        return _polished(equations, neuron, branch_size, x, log_load)
    if alpha >= alpha_c:
        raise NoSolution(f"alpha = {alpha:g} is not below the replica-symmetric capacity alpha_c = {alpha_c:.10g}")
    if len(populations) == 1 and branch_size in (None, math.inf):
        place = _on_curve(equations, lambda point: math.log(point.load / alpha), 0.5 * alpha)
        if place is not None:
            return _polished(equations, neuron, branch_size, place[:-1], log_load)
    coarse = _FiniteLoad(populations, task, COARSE)
    (x0, load0), (x1, load1) = _descend(coarse, lambda at, _: at <= log_load)
    equations.evaluations += coarse.evaluations
    part = 0.0 if load0 == load1 else (log_load - load0) / (load1 - load0)
    return _polished(equations, neuron, branch_size, x0 + part * (x1 - x0), log_load)


def _on_curve(equations: _FiniteLoad, condition: Callable[[CurvePoint], float], first_load: float) -> Floats | None:
    """Unknowns of a single population of long branches and ln load, where its curve of solutions meets a condition.

    Its curve is that of a neuron with equal branches, which is followed faster. None if it fails.
    """
    (population,) = equations.populations
    share = population.types[0].share
    neuron = NeuronSpec(population.nonlinearity, population.theta_d, population.mean_output)
    # There chi is c0 v (theta_d / f_in)^2, here common v W_bar^2.
    like = replace(equations.task, f_in=population.f_in, branch_correlation=population.common / share**2)
    try:
        found = solve_on_curve(
            neuron, like, condition, first_load, coarsely=math.isfinite(first_load), types=population.types
        )
    except ConvergenceError:
        return None
    if found is None:
        return None
    equations.evaluations += found.evaluations
    point, W_bar = found.point, population.W_bar(0.0)
    return np.log([point.A_hat * W_bar**2, point.q_hat / point.A_hat, point.load])


def split_saddle_point(
    neuron: NeuronSpec, task: TaskSpec, alpha: float, split: Sequence[float], branch_size: float | None = None
) -> PopulationSaddlePoint:
    """The typical solutions of equal branches whose mean inputs have prescribed distances from a common one.

    Parameters
    ----------
    neuron : NeuronSpec
        Branches of one kind.
    alpha : float
        Load, below the replica-symmetric capacity of equal branches.
    split : sequence of float
        The distances, one for each of equally large shares of the branches.
    branch_size : float, optional
        Synapses per branch.

    Notes
    -----
    Message passing keeps distances of this kind, so the two can be compared. Populations with prescribed mean
    outputs are different: each has its own multiplier, and at the same outputs they have a larger free entropy.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky, TaskSpec
    >>> point = split_saddle_point(NeuronSpec(Polsky(), 0.5, 0.5), TaskSpec(), 0.4, (-0.5, 0.5), branch_size=50)
    >>> round(point.free_entropy, 4), [round(one.mean_output, 2) for one in point.populations]
    (0.7401, [0.28, 0.72])
    """
    start = population_saddle_point(neuron, task, alpha, branch_size)
    (one,) = populations_of(neuron, task, branch_size)
    parts = [replace(one, fraction=1.0 / len(split))] * len(split)
    x, log_load = np.append(np.tile(start.x, len(split)), start.populations[0].preactivation_mean), math.log(alpha)
    at, step = 0.0, 1.0
    while True:
        equations = _FiniteLoad(parts, task, split=[min(at + step, 1.0) * distance for distance in split])
        solved = newton(partial(equations.residuals, log_load=log_load), x, target=1e-8, most=15, reach=2.0)
        if solved.residual < 1e-6:
            x, at = solved.x, min(at + step, 1.0)
            if at == 1.0:
                return _polished(equations, neuron, branch_size, x, log_load)
        else:
            step *= 0.4
            if step < SHORTEST_STEP:
                raise ConvergenceError(f"the solutions were followed to {at:.3g} of the split only", last_iterate=x)


def _shortened(neuron: NeuronSpec, task: TaskSpec, branch_size: float, log_load: float) -> Floats:
    """Unknowns at a load, followed from long branches to short ones."""
    x = population_saddle_point(neuron, task, math.exp(log_load)).x
    at, step = 0.0, 0.5
    while at < 1.0:
        ahead = min(at + step, 1.0)
        equations = _FiniteLoad(populations_of(neuron, task, branch_size / ahead**2), task)
        solved = newton(partial(equations.residuals, log_load=log_load), x, target=1e-8, most=15, reach=2.0)
        if solved.residual < 1e-6:
            x, at = solved.x, ahead
            continue
        step *= 0.4
        if step < SHORTEST_STEP:
            raise ConvergenceError(
                f"typical solutions at load {math.exp(log_load):g} were found down to {branch_size / at**2:.4g} "
                "synapses per branch only",
                last_iterate=x,
            )
    return x


def _polished(
    equations: _FiniteLoad, neuron: NeuronSpec, branch_size: float | None, x: Floats, log_load: float
) -> PopulationSaddlePoint:
    solved = newton(lambda at: equations.residuals(at, log_load), x, most=30)
    if not solved.residual < ACCEPTED:
        raise ConvergenceError(f"the equations are missed by {solved.residual:.1e}", last_iterate=solved.x)
    return _described(equations, neuron, branch_size, solved.x, math.exp(log_load), solved.residual)


def _described(
    equations: _FiniteLoad, neuron: NeuronSpec, branch_size: float | None, x: Floats, alpha: float, residual: float
) -> PopulationSaddlePoint:
    point, populations = equations.point(x), equations.populations
    kinds = tuple(_typical(*pair) for pair in zip(populations, point.sides, strict=True))
    entropy = 0.0
    for population, side, kind in zip(populations, point.sides, kinds, strict=True):
        # q q_hat / 2 - Q Q_hat, in a form in which terms of order 1 / dq^2 have cancelled
        constraints = 0.5 * (side.Q * side.A_hat - side.dq * side.q_hat)
        constraints -= sum(one.share * one.W_bar * one.M_hat for one in kind.synapses if one.W_bar > 0.0)
        entropy += population.share * (constraints + kind.entropic_term)

    def average(values: Sequence[float]) -> float:
        return math.fsum(population.share * value for population, value in zip(populations, values, strict=True))

    return PopulationSaddlePoint(
        neuron=neuron,
        task=equations.task,
        branch_size=math.inf if branch_size is None else branch_size,
        alpha=alpha,
        free_entropy=entropy + alpha * point.energetic.term,
        energetic_term=point.energetic.term,
        Q=average([kind.Q for kind in kinds]),
        q=average([kind.q for kind in kinds]),
        W_bar=average([kind.W_bar for kind in kinds]),
        mean_shift=point.shift,
        stability=equations.stability(point, alpha),
        populations=kinds,
        residual=residual,
        iterations=equations.evaluations,
        x=x,
    )


def _typical(population: Population, side: _Side) -> TypicalWeights:
    """The public description of one population, each type of its synapses in units of its own weights."""
    synapses = []
    for one, at in zip(population.types, side.types, strict=True):
        unit = side.W_bar / one.scale  # a mean excitatory weight in units of this type's own weights
        synapses.append(
            TypicalSynapses(
                kind=one.kind,
                share=one.share,
                f_in=one.f_in or population.f_in,
                W_bar=0.0 if at is None else at.entropic.mean * unit,
                Q=0.0 if at is None else (at.entropic.mean_squared + at.entropic.variance) * unit**2,
                q=0.0 if at is None else at.entropic.mean_squared * unit**2,
                dq=0.0 if at is None else at.entropic.variance * unit**2,
                A_hat=side.A_hat * one.scale**2,
                q_hat=side.q_hat * one.scale**2,
                M_hat=-math.inf if at is None else at.M_hat / unit,
                entropic_term=-math.inf if at is None else at.entropic.term + math.log(unit),
            )
        )
    dq = math.fsum(one.share * one.dq for one in synapses)
    Q = math.fsum(one.share * one.Q for one in synapses)
    V = population.variance(side.m, side.Q)
    return TypicalWeights(
        fraction=population.fraction,
        length=population.length,
        mean_output=side.norm.output,
        W_bar=mean_weight(synapses),
        Q=Q,
        q=Q - dq,
        dq=dq,
        entropic_term=sum(one.share * one.entropic_term for one in synapses),
        synapses=tuple(synapses),
        preactivation_mean=side.m,
        preactivation_sd=math.sqrt(V),
        common_variance=population.common_variance(side.m),
        preactivation_covariance=V - population.v * side.dq,
    )


def population_stability_limit(
    neuron: NeuronSpec, task: TaskSpec, branch_size: float | None = None
) -> PopulationSaddlePoint:
    """The solution at the load where replica symmetry becomes unstable, coming from small loads."""
    populations = populations_of(neuron, task, branch_size)
    equations = _FiniteLoad(populations, task)
    start = None
    if len(populations) == 1 and branch_size in (None, math.inf):
        start = _on_curve(equations, lambda point: -point.stability, math.inf)
    if start is None:
        (x0, load0), (x1, load1) = _descend(equations, lambda at, point: equations.stability(point, math.exp(at)) > 0.0)
        start = np.append(0.5 * (x0 + x1), 0.5 * (load0 + load1))

    def residuals(y: Floats) -> Floats:
        point = equations.point(y[:-1])
        return np.append(equations.residuals(y[:-1], float(y[-1])), equations.stability(point, math.exp(y[-1])))

    solved = newton(residuals, start, most=30)
    if not solved.residual < ACCEPTED:
        raise ConvergenceError(f"the equations are missed by {solved.residual:.1e}", last_iterate=solved.x)
    return _described(equations, neuron, branch_size, solved.x[:-1], math.exp(solved.x[-1]), solved.residual)
