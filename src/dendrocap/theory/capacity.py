"""The front door: the best estimate of what a neuron can store, with its error and what it assumes.

`critical_capacity` is the paper's quantity: infinitely many long branches, all alike. A real neuron has few, short and
unequal branches. `capacity` goes from the one to the other, step by step, and keeps every step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, NamedTuple

from dendrocap.display import Displayed, with_error
from dendrocap.errors import ConvergenceError, InvalidParameter, NoSolution
from dendrocap.model import DendriticNeuron, Linear, NeuronSpec, Nonlinearity, TaskSpec
from dendrocap.theory.branches.following import FoundState
from dendrocap.theory.branches.population import Population, populations_of
from dendrocap.theory.branches.solution import PopulationCapacity, PopulationWeights, broken_state, weights_of
from dendrocap.theory.branches.stability import branch_stability, split_state
from dendrocap.theory.critical_capacity import critical_capacity
from dendrocap.theory.finite.best_split import FINE, Split, best_split, finite_k_load
from dendrocap.theory.finite.branch_law import SynapseState, exact_branch_law, input_skewness
from dendrocap.theory.finite.soma import Sampled
from dendrocap.theory.replica_symmetric import CapacitySolution
from dendrocap.theory.roots import bracketed_root
from dendrocap.theory.rsb.broken_capacity import BrokenCapacity
from dendrocap.theory.rsb.many_steps import extrapolated
from dendrocap.theory.validity import (
    Flag,
    active_inputs_flag,
    branch_size_flag,
    branch_symmetry_flag,
    n_branches_flag,
    replica_symmetry_flag,
    theta_s_flag,
)
from dendrocap.validation import choice, refuse, whole_number

__all__ = ["Capacity", "binary_entropy", "capacity"]

FIRST_ORDER = 0.03  # relative error of products of first-order factors
LONG = 2000.0  # synapses per branch from which inputs are Gaussian for all purposes

SYMMETRIC, ONE, TWO, FULL = (
    "replica symmetric",
    "broken symmetry k = 1",
    "broken symmetry k = 2",
    "broken symmetry full",
)
SHORT, EQUAL_K, UNEQUAL, FINITE_K, LAW = (
    "finite branches",
    "finite K, equal branches",
    "unequal branches",
    "finite K",
    "binary inputs",
)
NEAREST, SHORT_ONE = "finite K, nearest optimum", "finite branches k = 1"
CONVEX = "the solutions form a convex set: replica symmetry is exact"
SINGLE = "a single branch with a g that never falls decides as a linear neuron does: replica symmetry is exact"
GROWS = (
    "branches that are mostly on or mostly off exceed this value, which is that of equal branches; the capacity grows "
    "with the number of branches: give n_inputs and n_branches"
)
ASSUMES = {
    SYMMETRIC: "the paper's: infinitely many long, equal branches; one cloud of solutions",
    ONE: "infinitely many long, equal branches; one step of symmetry breaking",
    TWO: "infinitely many long, equal branches; two steps of symmetry breaking",
    FULL: "infinitely many long, equal branches; extrapolated to many steps",
    SHORT_ONE: "infinitely many equal branches of the real length; one step",
    SHORT: "infinitely many equal branches of the real length; two steps",
    EQUAL_K: "equal branches, as many and as long as they are; two steps, first order in the soma's deviations",
    UNEQUAL: "infinitely many branches of the real length, split as is best for the real number; two steps",
    NEAREST: "as the next, at the optimum nearest to equal branches",
    FINITE_K: "branches as many and as long as they are, split as is best; two steps, first order",
    LAW: "the same, with binary inputs instead of Gaussian ones; first order",
}


def binary_entropy(f: float) -> float:
    """h2(f), the bits carried by a label that is 1 with probability f [bits].

    Examples
    --------
    >>> binary_entropy(0.5)
    1.0
    """
    return -(f * math.log2(f) + (1.0 - f) * math.log2(1.0 - f))


@dataclass(frozen=True)
class Capacity(Displayed):
    """What a neuron can store: the answer, the estimates that lead to it, and how far it can be trusted.

    Attributes
    ----------
    alpha_c : float
        Patterns per synapse, the best estimate.
    error : float
        Its error: statistical, plus 3 % and half the square of the correction for the number of branches where
        first-order corrections were multiplied; NaN with ``accuracy="fast"``.
    n_patterns : int or None
        Patterns that the whole neuron stores; None without a number of inputs.
    bits, bits_per_synapse : float or None, float
        Information in the labels of these patterns.
    silent_fraction, W_bar : float
        Fraction of silent synapses, and mean weight, at capacity.
    mean_outputs : tuple of float
        Mean output of each population of branches.
    populations : tuple of PopulationWeights
        The populations.
    estimates : dict
        From the paper's number to the best: name and value.
    assumes : dict
        What each estimate assumes.
    validity : dict
        Flags with words: what the best estimate takes for granted.
    remark : str
        What must be known to quote the answer.

    Examples
    --------
    >>> from dendrocap import DendriticNeuron, NeuronSpec, Polsky, capacity
    >>> neuron = DendriticNeuron(NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.5), n_inputs=999, n_branches=27)
    >>> quick = capacity(neuron, accuracy="fast")
    >>> round(quick.alpha_c, 4), quick.n_patterns
    (2.2023, 2200)
    >>> round(quick.estimates["replica symmetric"], 4)  # the paper's
    4.9513
    """

    alpha_c: float
    error: float
    n_patterns: int | None
    bits: float | None
    bits_per_synapse: float
    silent_fraction: float
    W_bar: float
    mean_outputs: tuple[float, ...]
    estimates: dict[str, float]
    validity: dict[str, Flag]
    remark: str
    accuracy: str
    neuron: NeuronSpec | DendriticNeuron
    task: TaskSpec
    populations: tuple[PopulationWeights, ...] = field(repr=False)
    n_on: int | None = None
    seed: int = 0

    _displayed = ("answer", "n_patterns", "paper_alpha_c", "silent_fraction")

    @property
    def answer(self) -> str:
        """The best estimate in words, with as many digits as its error allows."""
        return f"{with_error(self.alpha_c, self.error)} patterns per synapse"

    def __str__(self) -> str:
        lines = [self.answer + (f" ({self.remark})" if self.remark else "")]
        if self.n_patterns is not None:
            lines.append(
                f"{self.n_patterns} patterns, {self.bits:.3g} bits; {self.silent_fraction:.0%} of synapses silent"
            )
        width = max(map(len, self.estimates))
        lines += [f"  {name:<{width}}  {value:8.4g}  {ASSUMES[name]}" for name, value in self.estimates.items()]
        lines += [f"  {name}: {flag.light}, {flag.words}" for name, flag in self.validity.items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        answers = [(name, getattr(self, name)) for name in self._displayed]
        rows = [
            (name, escape(str(value)), escape(self.remark) if not i else "") for i, (name, value) in enumerate(answers)
        ]
        rows += [(escape(name), f"{value:.4g}", escape(ASSUMES[name])) for name, value in self.estimates.items()]
        rows += [(escape(name), flag.light, escape(flag.words)) for name, flag in self.validity.items()]
        cells = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
        return f"<table><caption><b>Capacity</b> What the neuron can store</caption><tbody>{cells}</tbody></table>"

    @property
    def paper_alpha_c(self) -> float | None:
        """The paper's replica-symmetric estimate; None where it has none."""
        return self.estimates.get(SYMMETRIC)

    def as_row(self) -> dict[str, Any]:
        """The answer as plain numbers and words, for tables and JSON."""
        return {
            "alpha_c": self.alpha_c,
            "error": self.error,
            "paper_alpha_c": self.paper_alpha_c,
            "n_patterns": self.n_patterns,
            "bits": self.bits,
            "bits_per_synapse": self.bits_per_synapse,
            "silent_fraction": self.silent_fraction,
            "W_bar": self.W_bar,
            "mean_outputs": list(self.mean_outputs),
            "n_on": self.n_on,
            "accuracy": self.accuracy,
            "remark": self.remark,
            "estimates": dict(self.estimates),
            "validity": {name: {"light": flag.light, "words": flag.words} for name, flag in self.validity.items()},
        }

    @property
    def assumes(self) -> dict[str, str]:
        """What each estimate assumes."""
        return {name: ASSUMES[name] for name in self.estimates}


def capacity(
    neuron: NeuronSpec | DendriticNeuron,
    task: TaskSpec | None = None,
    *,
    accuracy: str = "best",
    seed: int = 0,
    callback: Callable[[float, str], object] | None = None,
) -> Capacity:
    """How many patterns per synapse a neuron can store: the best estimate there is.

    Parameters
    ----------
    neuron : NeuronSpec or DendriticNeuron
        A `DendriticNeuron` has a size: its branches are short, few, and free to differ. A `NeuronSpec` alone stands for
        infinitely many long branches.
    task : TaskSpec, optional
        Coding levels and margin; 1/2, 1/2 and 0 if not given.
    accuracy : {"best", "fast"}
        "fast" is the one-step capacity of equal branches of the real length, in milliseconds.
    seed : int
        Of the Monte Carlo samples.
    callback : callable, optional
        Called now and then with the share of the work done and a word about it.

    Returns
    -------
    Capacity
        Best estimate, its error, and all estimates from the paper's number to it.

    Notes
    -----
    Like branches with a bounded g are split into mostly-on and mostly-off ones as is best for their number; several
    populations keep their mean outputs. Factors for the second step of symmetry breaking, for the finite number of
    branches and for binary inputs are each of first order.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, ReLU, capacity
    >>> found = capacity(NeuronSpec(ReLU(), theta_d=1.0, theta_s=0.5))
    >>> print(f"{found.alpha_c:.4f} +- {found.error:.4f}, the paper has {found.paper_alpha_c:.3f}")
    1.4689 +- 0.0001, the paper has 1.651
    """
    task = TaskSpec() if task is None else task
    choice("accuracy", accuracy, ("best", "fast"))
    seed = whole_number("seed", seed, 0)
    if isinstance(neuron, DendriticNeuron):
        size: tuple[int, int] | None = (neuron.n_inputs, neuron.n_branches)
        spec = neuron.spec
    elif isinstance(neuron, NeuronSpec):
        size, spec = None, neuron
    else:
        raise refuse("neuron", neuron, "a NeuronSpec or a DendriticNeuron")
    if any(kind.mean_output == "best" for kind in spec.populations):
        raise refuse('mean_output = "best"', "in a population", "a number here: ask critical_capacity for the best")
    question = _Question(neuron, spec, size, task, accuracy, seed, callback or (lambda share, words: None))
    if accuracy == "fast":
        return question.fast()
    return question.infinite() if size is None else question.finite()


class _Answer(NamedTuple):
    """What an estimate says of the synapses."""

    alpha: float
    silent_fraction: float
    W_bar: float
    populations: tuple[PopulationWeights, ...]


@dataclass(frozen=True)
class _Question:
    """A neuron whose capacity is asked for."""

    neuron: NeuronSpec | DendriticNeuron
    spec: NeuronSpec
    size: tuple[int, int] | None
    task: TaskSpec
    accuracy: str
    seed: int
    tell: Callable[[float, str], object]

    @property
    def branch_size(self) -> float | None:
        return None if self.size is None else self.size[0] / self.size[1]

    @property
    def nonlinearities(self) -> set[Nonlinearity]:
        kinds = self.spec.populations or self.spec.tree
        return {kind.nonlinearity for kind in kinds}

    @property
    def convex(self) -> bool:
        """Whether solutions form a convex set: replica symmetry is then exact, for any number of branches."""
        return all(isinstance(g, Linear) for g in self.nonlinearities)

    @property
    def finite_soma(self) -> bool:
        """Whether the finite number of branches can be accounted for: one bounded g, and branches to count."""
        if self.size is None or self.convex or len(self.nonlinearities) > 1:
            return False
        (g,) = self.nonlinearities
        return math.isfinite(g.range[0] + g.range[1])

    # The three ways to an answer --------------------------------------------------------------------------------------

    def fast(self) -> Capacity:
        """One step of breaking, equal branches of the real length."""
        estimates = self._paper()
        answer = _read(
            critical_capacity(self.spec, self.task, rsb=0 if self.convex else 1, branch_size=self.branch_size)
        )
        name = SYMMETRIC if self.convex else ONE if self.size is None else SHORT_ONE
        estimates[name] = answer.alpha
        remark = "a quick look: one step of symmetry breaking, equal branches; accuracy='best' is the best estimate"
        return self._result(answer, answer.alpha, math.nan, estimates, remark, optimised=False, stable=None)

    def infinite(self) -> Capacity:
        """Infinitely many long branches."""
        estimates = self._paper()
        if self.convex:
            answer = _read(critical_capacity(self.spec, self.task))
            return self._result(answer, answer.alpha, 0.0, estimates, CONVEX, optimised=False, stable=True)
        self.tell(0.1, "steps of symmetry breaking")
        answer, error = self._steps(estimates, None)
        self.tell(0.8, "stability of equal branches")
        stable, kappa_c = self._stability()
        remark = "" if stable is not False else GROWS
        return self._result(answer, estimates[FULL], error, estimates, remark, False, stable, kappa_c)

    def finite(self) -> Capacity:
        """As many branches as there are, as long as they are."""
        estimates = self._paper()
        if self.convex:
            answer = _read(critical_capacity(self.spec, self.task, branch_size=self.branch_size))
            estimates[SHORT] = answer.alpha
            return self._result(answer, answer.alpha, 0.0, estimates, CONVEX, optimised=False, stable=True)
        if self._n_branches == 1 and self.task.kappa == 0.0 and not self.spec.populations:
            return self._single(estimates)
        self.tell(0.05, "steps of symmetry breaking")
        if not self.spec.populations:
            self._steps(estimates, None)
        self.tell(0.1, "branches of the real length")
        two = critical_capacity(self.spec, self.task, rsb=2, branch_size=self.branch_size)
        answer = _read(two)
        estimates[SHORT] = answer.alpha
        if not self.finite_soma:
            words = "g is unbounded, or populations differ in g: the number of branches is taken as infinite"
            error = FIRST_ORDER * answer.alpha
            return self._result(answer, answer.alpha, error, estimates, words, False, self._stability()[0])
        if self.spec.populations:
            return self._prescribed(estimates)
        return self._split(estimates)

    def _single(self, estimates: dict[str, float]) -> Capacity:
        """One branch with a g that never falls: it decides as a linear neuron with another threshold does."""
        (population,) = populations_of(self.spec, self.task, self.branch_size)
        g, theta_s = population.nonlinearity, self.spec.theta_s
        decides = bracketed_root(lambda x: float(g(x)) - theta_s, -1e3, 1e3).at
        threshold = population.theta_d + decides / math.sqrt(population.branch_size)
        linear = NeuronSpec(Linear(), threshold, 0.0)
        answer = _read(critical_capacity(linear, self.task, branch_size=self.branch_size))
        estimates[FINITE_K] = answer.alpha
        return self._result(answer, answer.alpha, 0.0, estimates, SINGLE, optimised=False, stable=True)

    def _prescribed(self, estimates: dict[str, float]) -> Capacity:
        """Populations at their own mean outputs, with a finite soma."""
        populations = populations_of(self.spec, self.task, self.branch_size)
        one, two = (self._state(populations, k) for k in (1, 2))
        counts = _counts(populations, self._n_branches)
        self.tell(0.5, "a soma with finitely many branches")
        load = finite_k_load(one.state, populations, counts, self.spec.theta_s, self.task, FINE, self.seed)
        return self._products(estimates, populations, one, two, load, stable=None)

    def _split(self, estimates: dict[str, float]) -> Capacity:
        """Like branches, split as is best for their number."""
        (population,) = populations_of(self.spec, self.task, self.branch_size)
        K, theta_s = self._n_branches, self.spec.theta_s
        one, two = (self._state([population], k) for k in (1, 2))
        search = best_split(
            population, theta_s, self.task, K, one, seed=self.seed,
            callback=lambda share, words: self.tell(0.15 + 0.7 * share, words),
        )  # fmt: skip
        estimates[EQUAL_K] = search.equal.load.value * two.state.alpha / one.state.alpha
        best = search.best
        if best.split == 0.0:
            return self._products(estimates, [population], one, two, best.load, stable=True)
        self.tell(0.85, "a second step of symmetry breaking at the best split")
        share = best.n_on / K
        second = self._second(population, two, best, share)
        ratio = second.state.alpha / best.found.state.alpha if second is not None else two.state.alpha / one.state.alpha
        if search.nearest is not None:
            estimates[NEAREST] = search.nearest.load.value * two.state.alpha / one.state.alpha
        both = [replace(population, fraction=1.0 - share), replace(population, fraction=share)]
        estimates[UNEQUAL] = best.found.state.alpha * ratio
        return self._products(estimates, both, best.found, second, best.load, stable=False, ratio=ratio, n_on=best.n_on)

    def _second(self, population: Population, two: FoundState, best: Split, share: float) -> FoundState | None:
        """Two steps of breaking at the best split; None if that solution cannot be followed there."""
        K, theta_s = self._n_branches, self.spec.theta_s
        # The unit of the split is that of the one-step state, whose width differs a little.
        try:
            return split_state(population, theta_s, self.task, 2, two, best.split, share, n_branches=float(K))
        except ConvergenceError:
            return None

    def _products(
        self,
        estimates: dict[str, float],
        populations: Sequence[Population],
        one: FoundState,
        two: FoundState | None,
        load: Sampled,
        stable: bool | None,
        ratio: float | None = None,
        n_on: int | None = None,
    ) -> Capacity:
        """The answer as a product of first-order factors: finite soma, second step, binary inputs."""
        if ratio is None:
            ratio = 1.0 if two is None else two.state.alpha / one.state.alpha
        alpha, error = load.value * ratio, load.standard_error * ratio
        estimates[FINITE_K] = alpha
        self.tell(0.95, "binary inputs")
        law = self._binary_inputs(populations, one)
        if law is not None:
            alpha, error = alpha * law.value, math.hypot(error * law.value, alpha * law.standard_error)
            estimates[LAW] = alpha
        shown = one if two is None else two
        kinds = tuple(weights_of(*pair) for pair in zip(populations, shown.state.sides, strict=True))
        shares = [population.share for population in populations]
        # The next order is of the size of the square of the first.
        first_order = FIRST_ORDER + 0.5 * (load.value / one.state.alpha - 1.0) ** 2
        answer = _Answer(
            alpha,
            math.fsum(share * kind.silent_fraction for share, kind in zip(shares, kinds, strict=True)),
            math.fsum(share * kind.W_bar for share, kind in zip(shares, kinds, strict=True)),
            kinds,
        )
        return self._result(
            answer,
            alpha,
            error + first_order * alpha,
            estimates,
            "",
            optimised=stable is False,
            stable=stable,
            n_on=n_on,
        )

    # Parts ------------------------------------------------------------------------------------------------------------

    @property
    def _n_branches(self) -> int:
        assert self.size is not None
        return self.size[1]

    def _paper(self) -> dict[str, float]:
        """The paper's number, where there is one; g with a jump has none that is finite."""
        try:
            return {SYMMETRIC: float(critical_capacity(self.spec, self.task).alpha_c)}
        except NoSolution:
            if any(g.has_jumps for g in self.nonlinearities):
                raise
            return {}

    def _steps(self, estimates: dict[str, float], branch_size: float | None) -> tuple[_Answer, float]:
        """Capacities with more and more steps of breaking; the state with the most, and the error of the limit."""
        if self.spec.populations:
            found = [critical_capacity(self.spec, self.task, rsb=k, branch_size=branch_size) for k in (1, 2)]
            estimates[ONE], estimates[TWO] = (float(one.alpha_c) for one in found)
            limit = extrapolated([math.nan, estimates[ONE], estimates[TWO]])
            estimates[FULL] = limit.value
            return _read(found[1]), limit.error
        full = critical_capacity(self.spec, self.task, rsb="full")
        assert isinstance(full, BrokenCapacity)
        for k, name in ((1, ONE), (2, TWO)):
            estimates[name] = full.by_steps[min(k, len(full.by_steps) - 1)]
        estimates[FULL] = full.alpha_c
        return _read(full), full.alpha_c * max(full.steps_error, full.quadrature_error)

    def _state(self, populations: Sequence[Population], k: int) -> FoundState:
        found = broken_state(populations, self.spec.theta_s, self.task, k, n_branches=float(self._n_branches))
        if isinstance(found, str):
            raise ConvergenceError(f"no solution with {k} step(s) of breaking: {found}")
        return found

    def _stability(self) -> tuple[bool | None, float | None]:
        """Whether equal branches are the best, and the margin from which on; None if that is not known."""
        if self.spec.populations or self.spec.n_levels > 1:
            return None, None
        try:
            found = branch_stability(self.spec, self.task, branch_size=self.branch_size)
        except (NoSolution, ConvergenceError, InvalidParameter):
            return None, None
        return found.stable, found.kappa_c

    def _binary_inputs(self, populations: Sequence[Population], one: FoundState) -> Sampled | None:
        """Factor by which binary inputs change the load; None where branches are long, or too short to say."""
        n = round(self.branch_size or math.inf) if self.size is not None else 0
        if not 4 <= n <= LONG or len({population.f_in for population in populations}) > 1:
            return None
        if len({population.length for population in populations}) > 1:
            return None
        state = one.state
        synapses = [
            SynapseState(
                mean=side.m,
                Q=side.Q,
                q_0=float(side.q[0]),
                A=side.A,
                b=side.b,
                c_0=float(side.c[0]),
                c_1=float(side.c[1] - side.c[0]),
                fraction=population.fraction,
                gap=side.gap,
            )
            for population, side in zip(populations, state.sides, strict=True)
        ]
        D1 = math.fsum(p.fraction * side.overlaps[0].D1 for p, side in zip(populations, state.sides, strict=True))
        output = math.fsum(p.fraction * side.norm.output for p, side in zip(populations, state.sides, strict=True))
        law = exact_branch_law(
            populations[0].nonlinearity,
            synapses,
            replace(self.task, f_in=populations[0].f_in),
            alpha=state.alpha,
            mu=float(state.mu[0]),
            kernels=(state.Gamma0, state.Gamma0 - D1, state.Gamma1),
            theta_s=output,
            branch_size=n,
            mean_shift=state.shift * math.sqrt(state.Gamma0),
            n_patterns=1024 if n <= 200 else 256,
            seed=self.seed,
        )
        return Sampled(law.alpha.value / state.alpha, law.alpha.standard_error / state.alpha)

    def _result(
        self,
        answer: _Answer,
        alpha: float,
        error: float,
        estimates: dict[str, float],
        remark: str,
        optimised: bool,
        stable: bool | None,
        kappa_c: float | None = None,
        n_on: int | None = None,
    ) -> Capacity:
        """The result for the user."""
        n_inputs = None if self.size is None else self.size[0]
        bits = alpha * binary_entropy(self.task.f_out)
        return Capacity(
            alpha_c=alpha,
            error=error,
            n_patterns=None if n_inputs is None else round(alpha * n_inputs),
            bits=None if n_inputs is None else bits * n_inputs,
            bits_per_synapse=bits,
            silent_fraction=answer.silent_fraction,
            W_bar=answer.W_bar,
            mean_outputs=tuple(kind.mean_output for kind in answer.populations) or (self.spec.theta_s,),
            estimates=estimates,
            validity=self._validity(answer, alpha, estimates, optimised, stable, kappa_c),
            remark=remark,
            accuracy=self.accuracy,
            neuron=self.neuron,
            task=self.task,
            populations=answer.populations,
            n_on=n_on,
            seed=self.seed,
        )

    def _validity(
        self,
        answer: _Answer,
        alpha: float,
        estimates: dict[str, float],
        optimised: bool,
        stable: bool | None,
        kappa_c: float | None,
    ) -> dict[str, Flag]:
        n = self.branch_size or math.inf
        skewness = 0.0
        if self.size is not None and answer.populations and self.task.f_in != 0.5:
            skewness = max(abs(input_skewness(kind.weights, self.task.f_in, n)) for kind in answer.populations)
        try:
            symmetric = critical_capacity(self.spec, self.task, branch_size=self.branch_size).alpha_c
        except NoSolution:
            symmetric = None
        broken = next((estimates[name] for name in (SHORT, SHORT_ONE, TWO, ONE) if name in estimates), alpha)
        return {
            "branch size": branch_size_flag(n),
            "active inputs per branch": active_inputs_flag(n, self.task.f_in, skewness),
            "number of branches": n_branches_flag(
                None if self.size is None else self.size[1], self.finite_soma and FINITE_K in estimates
            ),
            "symmetry of branches": branch_symmetry_flag(stable, optimised, kappa_c, bool(self.spec.populations)),
            "replica symmetry": replica_symmetry_flag(symmetric, broken),
            "range of theta_s": theta_s_flag(self.spec),
        }


def _read(found: CapacitySolution | BrokenCapacity | PopulationCapacity) -> _Answer:
    populations = found.populations if isinstance(found, PopulationCapacity) else ()
    return _Answer(found.alpha_c, found.silent_fraction, found.W_bar, populations)


def _counts(populations: Sequence[Population], K: int) -> list[int]:
    """Whole numbers of branches as close to the fractions as can be."""
    counts = [math.floor(population.fraction * K + 1e-9) for population in populations]
    left = sorted(range(len(counts)), key=lambda p: counts[p] - populations[p].fraction * K)
    for p in left[: K - sum(counts)]:
        counts[p] += 1
    return counts
