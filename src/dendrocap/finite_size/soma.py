"""The soma of a neuron with finitely many branches: the cost of storing a pattern beyond the Gaussian limit.

At capacity the energetic term is a squared distance: how far the inputs of the branches have to change until the soma
meets its margin. With many branches each of them changes slightly and the distance is that of the Gaussian theory;
with few, some branches change a lot and most not at all, because g is flat there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dendrocap.errors import NoSolution
from dendrocap.model import Nonlinearity
from dendrocap.numerics.types import Floats, Integers
from dendrocap.theory.dendrite import is_monotone
from dendrocap.validation import real_number, refuse, whole_number

CELLS = 4096  # cells of the table of inputs for given outputs

COMMON_CELLS, COMMON_RANGE = 1024, 8.5  # cells of the tables over the common input, and their range in deviations

INNER_NODES, INNER_RANGE = 128, 6.0  # nodes and range of averages over the inner input

BATCHES = 32  # fewest independent repetitions, whose spread is the statistical error

CANDIDATES, FIELDS = 4096, 32  # outer fields per batch, and how many of them are sampled inside, at most

FLOOR = 0.5  # sampling rate of fields without cost, relative to an average one

MIX = 0.7  # weight of the field's own branches in the variance and gain of the guess

REFINEMENTS = 1


class Sampled(NamedTuple):
    """A number and the standard error of its Monte Carlo estimate."""

    value: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class BranchInputs:
    """Statistics of the summed input of each of K branches at a saddle point, one entry per branch.

    Parameters
    ----------
    mean : array
        m_l.
    outer_sd : array
        sqrt(v q_0l), v = f_in (1 - f_in): the part common to all solutions. With replica symmetry, sqrt(v Q_l).
    inner_sd : array
        sqrt(v (Q_l - q_0l)): the part that differs between clusters of solutions.
    stiffness : array
        v r_l, where r_l is the relative innermost gap of the overlaps: 1 for one population.

    Examples
    --------
    >>> BranchInputs(mean=0.3, outer_sd=[0.7, 0.7, 0.8], inner_sd=0.3, stiffness=0.25).n_branches
    3
    """

    mean: Floats
    outer_sd: Floats
    inner_sd: Floats
    stiffness: Floats

    def __init__(self, mean: ArrayLike, outer_sd: ArrayLike, inner_sd: ArrayLike, stiffness: ArrayLike) -> None:
        given = np.broadcast_arrays(
            *(np.atleast_1d(np.asarray(a, float)) for a in (mean, outer_sd, inner_sd, stiffness))
        )
        names = ("mean", "outer_sd", "inner_sd", "stiffness")
        for name, array in zip(names, given, strict=True):
            if array.ndim != 1 or not np.all(np.isfinite(array)):
                raise refuse(name, array, "one finite number per branch")
            if name != "mean" and np.any(array < 0.0):
                raise refuse(name, float(array.min()), ">= 0")
            object.__setattr__(self, name, np.array(array))
        if np.any(self.stiffness == 0.0):
            raise refuse("stiffness", 0.0, "> 0")

    @property
    def n_branches(self) -> int:
        """K."""
        return self.mean.size

    def groups(self) -> tuple[Floats, Integers]:
        """Rows (mean, outer_sd, inner_sd, stiffness) of the kinds of branches, and the kind of each branch."""
        rows = np.stack([self.mean, self.outer_sd, self.inner_sd, self.stiffness], axis=1)
        kinds, group = np.unique(rows, axis=0, return_inverse=True)
        return kinds, group.reshape(-1)


@dataclass(frozen=True)
class FiniteEnergy:
    """The energetic functional of a finite soma.

    Attributes
    ----------
    value : float
        F_E, negative.
    standard_error : float
        Statistical error, from independent batches.
    inner_bias : float
        The correction that was applied for the finite inner sample, to first order in its inverse size. The remaining
        bias falls with the square of that. Zero with replica symmetry.
    efficiency : float
        Effective share of the inner sample, from 0 to 1.
    """

    value: float
    standard_error: float
    inner_bias: float
    efficiency: float


def finite_k_energy(
    nonlinearity: Nonlinearity,
    branches: BranchInputs,
    *,
    mu: float,
    kappa: float,
    f_out: float,
    theta_s: float,
    n_outer: int = 1024,
    n_inner: int = 48,
    seed: int | np.random.SeedSequence = 0,
) -> FiniteEnergy:
    """F_E of a soma with K branches at given inputs of the branches, by Monte Carlo.

    With replica symmetry -(1/2) E d^2, with one step of breaking (1/mu) E_z0 ln E_z1 exp(-mu d^2 / 2), both averaged
    over labels [finite-energy]; d^2 is the smallest sum of (change of input)^2 / stiffness that meets the margin
    [soma-distance].

    Parameters
    ----------
    nonlinearity : Nonlinearity
        g: continuous, bounded, never falling.
    branches : BranchInputs
        The branches.
    mu : float
        Breaking parameter; 0 is replica symmetry, where inner and outer input are one Gaussian.
    kappa, f_out, theta_s : float
        Margin, fraction of labels +1 and threshold: sigma (K^-1/2 sum g - sqrt(K) theta_s) >= kappa is required.
    n_outer, n_inner : int
        Number of outer fields, rounded up to a multiple of the number of batches, and of inner samples of each. There
        are 32 batches, and more above 1,024 fields, because each has candidates of its own (Notes). The error falls
        as n_outer^-1/2 there; below, it falls until the candidates limit it.
    seed : int or SeedSequence
        Equal seeds give equal results.

    Raises
    ------
    NoSolution
        If no outputs within the range of g meet the margin.

    Notes
    -----
    For many candidate outer fields the Gaussian formula is evaluated at their own conditional mean, variance and gain.
    Few of them are chosen, with a probability in proportion to it, and sampled inside; their differences from the
    Gaussian formula are weighted accordingly, so that the choice causes no bias. The average of the Gaussian formula
    over the candidates has an error, too. With many branches, where the differences are small, it is the larger part.

    Examples
    --------
    >>> from dendrocap import Polsky
    >>> equal = BranchInputs(mean=[0.338] * 27, outer_sd=0.748, inner_sd=0.377, stiffness=0.25)
    >>> found = finite_k_energy(
    ...     Polsky(), equal, mu=29.4, kappa=0.0, f_out=0.5, theta_s=0.5, n_outer=64, n_inner=16, seed=1
    ... )
    >>> found.value < 0.0 < found.standard_error
    True
    """
    soma = _Soma(nonlinearity, branches, kappa, f_out, theta_s)
    mu = real_number("mu", mu, 0.0)
    n_inner = whole_number("n_inner", n_inner, 4)
    batches = max(BATCHES, -(-whole_number("n_outer", n_outer, 2) // FIELDS))
    per_batch = -(-n_outer // batches)
    if mu > 0.0 and not np.any(branches.inner_sd > 0.0):
        raise refuse("inner_sd", 0.0, "> 0 for some branch if mu > 0")
    rows = []
    for child in np.random.SeedSequence(seed).spawn(batches) if isinstance(seed, int) else seed.spawn(batches):
        rng = np.random.default_rng(child)
        rows.append(soma.broken(mu, per_batch, n_inner, rng) if mu > 0.0 else soma.symmetric(per_batch, rng))
    mean, plain, efficiency = np.mean(rows, axis=0)
    error = float(np.std([row[0] for row in rows], ddof=1)) / math.sqrt(batches)
    return FiniteEnergy(float(mean), error, float(plain - mean), float(efficiency))


class _Soma:
    """Checked inputs, and the tables that compiled loops read."""

    def __init__(self, g: Nonlinearity, branches: BranchInputs, kappa: float, f_out: float, theta_s: float) -> None:
        self.kappa, self.theta_s = real_number("kappa", kappa), real_number("theta_s", theta_s)
        f_out = real_number("f_out", f_out, 0.0, 1.0)
        self.K, self.branches = branches.n_branches, branches
        self.labels = ((1.0, f_out), (-1.0, 1.0 - f_out))
        self.code, self.parameters = g.kernel()
        self.inverse, self.ends = _inverses(g)
        root = math.sqrt(self.K)
        self.target = np.array([sign * self.K * self.theta_s + root * self.kappa for sign in (-1.0, 1.0)])
        for sign, share in self.labels:
            side = int(sign > 0.0)
            if share > 0.0 and not self.target[side] < self.K * self.ends[side, 1]:
                raise NoSolution(
                    f"theta_s = {theta_s:g} and kappa = {kappa:g} ask {self.K} branches for a mean output of "
                    f"{sign * self.target[side] / self.K:g}: it must lie inside the range {g.range} of g"
                )
        self.kinds, self.group = branches.groups()
        self.tables: tuple[Floats, Floats, Floats] | None = None
        self.g = g

    def starts(self, sums: Floats, sign: float) -> Floats:
        """The somatic field kappa - sigma (K^-1/2 sum g - sqrt(K) theta_s), positive if output is missing."""
        root = math.sqrt(self.K)
        return np.asarray(self.kappa - sign * (sums / root - root * self.theta_s))

    def chosen(self, guess: list[Floats], n: int, rng: np.random.Generator) -> tuple[Integers, Floats, Floats, float]:
        """Candidates to sample: row, sign and weight of each; and the average of the guess over all."""
        weighted = np.stack([share * one for (_, share), one in zip(self.labels, guess, strict=True)])
        average = float(weighted.sum(axis=0).mean())
        share = np.array([share for _, share in self.labels])[:, None]
        probability = (np.abs(weighted) + FLOOR * abs(average) * share).ravel()
        probability /= probability.sum()
        at = rng.choice(probability.size, size=n, p=probability)
        label, row = np.divmod(at, weighted.shape[1])
        signs, shares = (np.array([pair[i] for pair in self.labels])[label] for i in (0, 1))
        return row, signs, shares / (weighted.shape[1] * probability[at]), average

    def symmetric(self, n: int, rng: np.random.Generator) -> tuple[float, float, float]:
        """-(1/2) E d^2 of one batch."""
        from dendrocap.finite_size._kernels import output_sums, squared_distances

        branches = self.branches
        sd = np.hypot(branches.outer_sd, branches.inner_sd)
        inputs = branches.mean + sd * rng.standard_normal((CANDIDATES, self.K))
        sums = output_sums(self.code, self.parameters, inputs)
        gain = float(np.mean([self._gain(mean, math.hypot(a, c)) * v for mean, a, c, v in self.kinds[self.group]]))
        guess = [np.maximum(self.starts(sums, sign), 0.0) ** 2 / gain for sign, _ in self.labels]
        row, signs, weight, average = self.chosen(guess, n, rng)
        found = squared_distances(
            self.code, self.parameters, inputs[row], signs, branches.stiffness, self.target, self.inverse, self.ends,
            REFINEMENTS,
        )  # fmt: skip
        expected = np.where(signs > 0.0, guess[0][row], guess[1][row])
        value = -0.5 * (average + float(weight @ (found - expected)) / n)
        return value, value, 1.0

    def broken(self, mu: float, n: int, n_inner: int, rng: np.random.Generator) -> tuple[float, float, float]:
        """(1/mu) E_z0 ln E_z1 exp(-mu d^2 / 2) of one batch, the same with the bias of the inner sample, efficiency."""
        from dendrocap.finite_size._kernels import broken_logs, conditional_sums, gaussian_logs

        if self.tables is None:
            self.tables = self._conditional_tables()
        branches = self.branches
        common = branches.mean + branches.outer_sd * rng.standard_normal((CANDIDATES, self.K))
        sums = conditional_sums(common, self.group, *self.tables)
        # Variance and gain are in part those of all fields: with saturated branches alone the guess would be poor.
        inner, gain = (
            MIX * column + (1.0 - MIX) * column.mean() for column in (sums[:, 1] / self.K, sums[:, 2] / self.K)
        )
        guess = [gaussian_logs(self.starts(sums[:, 0], sign), inner, gain, mu) for sign, _ in self.labels]
        row, signs, weight, average = self.chosen(guess, n, rng)
        expected = np.where(signs > 0.0, guess[0][row], guess[1][row])
        nodes = np.linspace(-INNER_RANGE, INNER_RANGE, INNER_NODES)
        node_weights = np.exp(-0.5 * nodes**2)
        found = broken_logs(
            self.code, self.parameters, common[row], signs, sums[row, 2] / mu, branches.inner_sd, branches.stiffness,
            mu, n_inner, rng,
            nodes, node_weights / node_weights.sum(), self.target, self.inverse, self.ends, REFINEMENTS,
        )  # fmt: skip
        values = (average + (weight @ (found[:, :2] - expected[:, None])) / n) / mu
        return values[0], values[1], float(np.mean(1.0 / (1.0 + n_inner * found[:, 2])))

    def _gain(self, mean: float, sd: float) -> float:
        """E g'^2 of a Gaussian input."""
        from dendrocap.theory.dendrite import moments

        return moments(self.g, 0.0, sd, mean).gain

    def _conditional_tables(self) -> tuple[Floats, Floats, Floats]:
        """Mean, variance and stiffness E g'^2 of a branch given its common input, for each kind of branch.

        If g has kinks the trapezoidal rule is accurate to four digits: these tables guide the sampling, and its result
        does not depend on them.
        """
        from dendrocap.model._compiled import slopes, values

        nodes = np.linspace(-INNER_RANGE, INNER_RANGE, INNER_NODES)
        weight = np.exp(-0.5 * nodes**2)
        weight /= weight.sum()
        low, per_unit = np.empty(len(self.kinds)), np.empty(len(self.kinds))
        tables = np.empty((len(self.kinds), 3, COMMON_CELLS + 1))
        for p, (mean, outer, inner, stiffness) in enumerate(self.kinds):
            reach = COMMON_RANGE * max(outer, 1e-9)
            at = np.linspace(mean - reach, mean + reach, COMMON_CELLS + 1)
            low[p], per_unit[p] = at[0], COMMON_CELLS / (2.0 * reach)
            x = (at[:, None] + inner * nodes).ravel()
            g = values(self.code, self.parameters, x).reshape(at.size, -1)
            slope = slopes(self.code, self.parameters, x).reshape(at.size, -1)
            tables[p, 0] = g @ weight
            tables[p, 1] = ((g - tables[p, 0][:, None]) ** 2) @ weight
            tables[p, 2] = stiffness * (slope**2 @ weight)
        # A soma with only saturated branches has neither variance nor gain, but their logarithms are needed.
        tables[:, 1:] = np.maximum(tables[:, 1:], 1e-12)
        return low, per_unit, tables


@lru_cache(maxsize=16)
def _inverses(g: Nonlinearity) -> tuple[Floats, Floats]:
    """Tables of the smallest input for an output, for -g(-x) and g(x), on equidistant outputs; and the range of both.

    The first and last entry represent outputs a hundredth of a cell inside the range, which g may reach only at
    infinity. Across a flat piece of g the table rises within one cell.
    """
    from dendrocap.model._compiled import values

    low, high = g.range
    if g.has_jumps or not is_monotone(g) or not low < high or math.isinf(low) or math.isinf(high):
        raise refuse("nonlinearity", g, "continuous, bounded and never falling for a soma with finitely many branches")
    code, parameters = g.kernel()
    ends = np.array([[-high, -low], [low, high]])
    tables = np.empty((2, CELLS + 1))
    for side, sign in enumerate((-1.0, 1.0)):
        outputs = np.linspace(ends[side, 0], ends[side, 1], CELLS + 1)
        inside = 0.01 * (outputs[1] - outputs[0])
        outputs = np.clip(outputs, outputs[0] + inside, outputs[-1] - inside)
        reach = 1.0
        while np.any(np.abs(values(code, parameters, np.array([-reach, reach])) - np.array([low, high])) > inside):
            reach *= 2.0
            if reach > 1e9:
                raise refuse("nonlinearity", g, "one that comes close to the ends of its range at finite inputs")
        left, right = np.full(outputs.size, -reach), np.full(outputs.size, reach)
        for _ in range(80):
            middle = 0.5 * (left + right)
            enough = sign * values(code, parameters, sign * middle) >= outputs
            left, right = np.where(enough, left, middle), np.where(enough, middle, right)
        tables[side] = right
    return tables, ends
