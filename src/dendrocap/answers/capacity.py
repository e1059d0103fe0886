"""The best estimate of the capacity of a neuron, with its error and its assumptions.

`critical_capacity` is the paper's quantity: infinitely many long, equal branches. A real neuron has few, short and
unequal branches. `capacity` leads from one to the other in steps, and reports every step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from dendrocap.answers.answer import Capacity, binary_entropy
from dendrocap.answers.validity import (
    Flag,
    active_inputs_flag,
    branch_size_flag,
    branch_symmetry_flag,
    n_branches_flag,
    replica_symmetry_flag,
    theta_s_flag,
)
from dendrocap.errors import ConvergenceError, InvalidParameter, NoSolution
from dendrocap.finite_size.best_split import FINE, Split, best_split, finite_k_load
from dendrocap.finite_size.branch_law import SynapseState, exact_branch_law, input_skewness
from dendrocap.finite_size.soma import Sampled
from dendrocap.model import DendriticNeuron, Inhibition, Linear, NeuronSpec, Nonlinearity, TaskSpec
from dendrocap.numerics import apportioned
from dendrocap.theory.branch_stability import branch_stability, split_state
from dendrocap.theory.critical_capacity import critical_capacity
from dendrocap.theory.dendrite import check_independent_inputs
from dendrocap.theory.neuron_kernel import Population, SynapseWeights, needs_populations, populations_of
from dendrocap.theory.results import (
    EQUAL_K,
    FINITE_K,
    FULL,
    LAW,
    NEAREST,
    ONE,
    SHORT,
    SHORT_ONE,
    SYMMETRIC,
    TWO,
    UNEQUAL,
)
from dendrocap.theory.search import (
    BrokenCapacity,
    FoundState,
    PopulationCapacity,
    PopulationWeights,
    broken_state,
    weights_of,
)
from dendrocap.theory.solver import bracketed_root, extrapolated
from dendrocap.theory.symmetric import CapacitySolution
from dendrocap.validation import choice, refuse, whole_number

FIRST_ORDER = 0.03  # relative error of products of first-order factors

LONG = 2000.0  # synapses per branch above which inputs can be treated as Gaussian

MOST_BRANCHES = 1001  # maximum for a search of the best split: the time grows with their number, here to minutes

FEWEST_SYNAPSES = 4.0  # per branch, minimum for a theory of its synapses to apply to a split

CONVEX = "the solutions form a convex set: replica symmetry is exact"

SINGLE = "a single branch with a g that never falls decides as a linear neuron does: replica symmetry is exact"

GROWS = (
    "branches that are mostly on or mostly off exceed this value, which is that of equal branches; the capacity grows "
    "with the number of branches"
)

GIVE_SIZE = ": give n_inputs and n_branches"  # which theory does not take with inhibition


def capacity(
    neuron: NeuronSpec | DendriticNeuron,
    task: TaskSpec | None = None,
    *,
    accuracy: str = "best",
    seed: int = 0,
    callback: Callable[[float, str], object] | None = None,
) -> Capacity:
    """Number of patterns per synapse that a neuron can store: the best available estimate.

    Parameters
    ----------
    neuron : NeuronSpec or DendriticNeuron
        A `DendriticNeuron` has a size: its branches are short, few, and can differ. A `NeuronSpec` represents
        infinitely many long branches.
    task : TaskSpec, optional
        Coding levels and margin; by default 1/2, 1/2 and 0.
    accuracy : {"best", "fast"}
        "fast" is the one-step capacity of equal branches of the real length, in milliseconds.
    seed : int
        Seed of the Monte Carlo samples.
    callback : callable, optional
        Called repeatedly with the fraction of the work done and a description.

    Returns
    -------
    Capacity
        Best estimate, its error, and all estimates from the paper's number to it.

    Notes
    -----
    Inputs can be correlated within a branch, ``TaskSpec(branch_correlation=...)``, if the number of branches is treated
    as infinite: for a `NeuronSpec`, for a g that is linear or unbounded, and with ``accuracy="fast"``.

    Equal branches with a bounded g are split into mostly-on and mostly-off ones in the best way for their number;
    several populations keep their mean outputs. The factors for the second step of symmetry breaking, for the finite
    number of branches and for binary inputs are each of first order.

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
    if size is not None and question.inhibited:
        raise refuse(
            "inhibition",
            question.inhibited[0],
            "None for a neuron with a size, whose branches are short and few; a NeuronSpec stands for infinitely many "
            "long branches",
        )
    if accuracy == "fast":
        return question.fast()
    return question.infinite() if size is None else question.finite()


class _Answer(NamedTuple):
    """The state of the synapses in an estimate."""

    alpha: float
    silent_fraction: float
    silent_error: float
    W_bar: float
    populations: tuple[PopulationWeights, ...]


@dataclass(frozen=True)
class _Question:
    """A neuron whose capacity is computed."""

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
    def inhibited(self) -> list[Inhibition]:
        """The inhibition of those branches that have any."""
        every = (self.spec.inhibition, *(kind.inhibition for kind in self.spec.populations))
        return [one for one in every if one is not None and one.share]

    @property
    def nonlinearities(self) -> set[Nonlinearity]:
        kinds = self.spec.populations or self.spec.levels or (self.spec,)
        return {kind.nonlinearity for kind in kinds}

    @property
    def convex(self) -> bool:
        """Whether the solutions form a convex set, so that replica symmetry is exact for any number of branches."""
        return all(isinstance(g, Linear) for g in self.nonlinearities)

    @property
    def finite_soma(self) -> bool:
        """Whether the finite number of branches can be included: one bounded g, and a known number of branches."""
        if self.size is None or self.convex or len(self.nonlinearities) > 1:
            return False
        (g,) = self.nonlinearities
        return math.isfinite(g.range[0] + g.range[1])

    # The three ways to an answer --------------------------------------------------------------------------------------

    def fast(self) -> Capacity:
        """One step of breaking, equal branches of the real length; exact results are as fast."""
        if self.convex:
            return self.infinite() if self.size is None else self.finite()
        estimates = self._paper()
        answer = _read(critical_capacity(self.spec, self.task, rsb=1, branch_size=self.branch_size), math.nan)
        estimates[ONE if self.size is None else SHORT_ONE] = answer.alpha
        remark = "a quick look: one step of symmetry breaking, equal branches; accuracy='best' is the best estimate"
        return self._result(answer, answer.alpha, math.nan, estimates, remark, optimised=False, stable=None)

    def infinite(self) -> Capacity:
        """Infinitely many long branches."""
        estimates = self._paper()
        if self.convex:
            answer = _read(critical_capacity(self.spec, self.task), 0.0)
            return self._result(answer, answer.alpha, 0.0, estimates, CONVEX, optimised=False, stable=True)
        self.tell(0.1, "steps of symmetry breaking")
        answer, error = self._steps(estimates, None)
        self.tell(0.8, "stability of equal branches")
        stable, kappa_c = self._stability()
        remark = "" if stable is not False else GROWS + ("" if self.inhibited else GIVE_SIZE)
        return self._result(answer, estimates[FULL], error, estimates, remark, False, stable, kappa_c)

    def finite(self) -> Capacity:
        """The real number and length of branches."""
        estimates = self._paper()
        if self.convex:
            answer = _read(critical_capacity(self.spec, self.task, branch_size=self.branch_size), 0.0)
            estimates[SHORT] = answer.alpha
            return self._result(answer, answer.alpha, 0.0, estimates, CONVEX, optimised=False, stable=True)
        if self._n_branches == 1 and self.task.kappa == 0.0 and not self.spec.populations:
            return self._single(estimates)
        if not self._why_infinite():
            check_independent_inputs(
                self.task,
                f"the best estimate at n_branches = {self._n_branches}: ask for accuracy='fast' (--accuracy fast), or "
                "with a NeuronSpec for infinitely many branches",
            )
        self.tell(0.05, "steps of symmetry breaking")
        if not self.spec.populations:
            self._steps(estimates, None)
        self.tell(0.1, "branches of the real length")
        one, two = (critical_capacity(self.spec, self.task, rsb=k, branch_size=self.branch_size) for k in (1, 2))
        answer = _read(two, abs(one.silent_fraction - two.silent_fraction))
        estimates[SHORT] = answer.alpha
        taken_as_infinite = self._why_infinite()
        if taken_as_infinite:
            # It is not known how much a split that was not searched for would add.
            error = math.nan if self.finite_soma else FIRST_ORDER * answer.alpha
            return self._result(answer, answer.alpha, error, estimates, taken_as_infinite, False, self._stability()[0])
        if self.spec.populations:
            return self._prescribed(estimates)
        return self._split(estimates)

    def _why_infinite(self) -> str:
        """Why the number of branches is treated as infinite and no split is searched for; empty if it is not."""
        if not self.finite_soma:
            return "g is unbounded, or populations differ in g: the number of branches is taken as infinite"
        short = self.size is not None and self.size[0] / self.size[1] < FEWEST_SYNAPSES
        if short or self._n_branches > MOST_BRANCHES:
            limit = (
                f"fewer than {FEWEST_SYNAPSES:g} synapses per branch"
                if short
                else f"more than {MOST_BRANCHES} branches"
            )
            return f"{limit}: taken as infinitely many equal branches, and unequal ones may store more"
        return ""

    def _single(self, estimates: dict[str, float]) -> Capacity:
        """One branch with a g that never falls, which is equivalent to a linear neuron with another threshold."""
        (population,) = populations_of(self.spec, self.task, self.branch_size)
        g, theta_s = population.nonlinearity, self.spec.theta_s
        decides = bracketed_root(lambda x: float(g(x)) - theta_s, -1e3, 1e3).at
        threshold = population.theta_d + decides / math.sqrt(population.branch_size)
        linear = NeuronSpec(Linear(), threshold, 0.0)
        answer = _read(critical_capacity(linear, self.task, branch_size=self.branch_size), 0.0)
        estimates[FINITE_K] = answer.alpha
        return self._result(answer, answer.alpha, 0.0, estimates, SINGLE, optimised=False, stable=True)

    def _prescribed(self, estimates: dict[str, float]) -> Capacity:
        """Populations at their own mean outputs, with a finite soma."""
        populations = populations_of(self.spec, self.task, self.branch_size)
        one, two = (self._state(populations, k) for k in (1, 2))
        counts = apportioned([population.fraction for population in populations], self._n_branches)
        self.tell(0.5, "a soma with finitely many branches")
        load = finite_k_load(one.state, populations, counts, self.spec.theta_s, self.task, FINE, self.seed)
        return self._products(estimates, populations, one, two, load, stable=None)

    def _split(self, estimates: dict[str, float]) -> Capacity:
        """Equal branches, split in the best way for their number."""
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
        """Two steps of breaking at the best split; None if that solution cannot be followed to it."""
        K, theta_s = self._n_branches, self.spec.theta_s
        # The unit of the split is that of the one-step state, whose width differs slightly.
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
        kinds, before = (
            tuple(weights_of(*pair) for pair in zip(populations, found.state.sides, strict=True))
            for found in (shown, one)
        )
        shares = [population.share for population in populations]
        silent, silent_before = (
            math.fsum(share * kind.silent_fraction for share, kind in zip(shares, listed, strict=True))
            for listed in (kinds, before)
        )
        # The next order is about the square of the first.
        first_order = FIRST_ORDER + 0.5 * (load.value / one.state.alpha - 1.0) ** 2
        answer = _Answer(
            alpha,
            silent,
            math.nan if two is None else abs(silent - silent_before),
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

    @cached_property
    def _symmetric(self) -> CapacitySolution | BrokenCapacity | PopulationCapacity | None:
        """The paper's solution, if there is one; for g with a jump it is infinite."""
        try:
            return critical_capacity(self.spec, self.task)
        except NoSolution:
            if any(g.has_jumps for g in self.nonlinearities):
                raise
            return None

    def _paper(self) -> dict[str, float]:
        """The paper's number, the first of the estimates."""
        return {} if self._symmetric is None else {SYMMETRIC: float(self._symmetric.alpha_c)}

    def _steps(self, estimates: dict[str, float], branch_size: float | None) -> tuple[_Answer, float]:
        """Capacities with increasing steps of breaking; the state with the most steps, and the error of the limit."""
        if needs_populations(self.spec):
            found = [critical_capacity(self.spec, self.task, rsb=k, branch_size=branch_size) for k in (1, 2)]
            estimates[ONE], estimates[TWO] = (float(one.alpha_c) for one in found)
            limit = extrapolated([math.nan, estimates[ONE], estimates[TWO]])
            estimates[FULL] = limit.value
            return _read(found[1], abs(found[0].silent_fraction - found[1].silent_fraction)), limit.error
        full = critical_capacity(self.spec, self.task, rsb="full")
        assert isinstance(full, BrokenCapacity)
        for k, name in ((1, ONE), (2, TWO)):
            estimates[name] = full.by_steps[min(k, len(full.by_steps) - 1)]
        estimates[FULL] = full.alpha_c
        silent = [1.0 - state.A for state in full.ladder[-2:]]  # empty if replica symmetry holds
        return _read(full, max(silent, default=0.0) - min(silent, default=0.0)), full.alpha_c * max(
            full.steps_error, full.quadrature_error
        )

    def _state(self, populations: Sequence[Population], k: int) -> FoundState:
        found = broken_state(populations, self.spec.theta_s, self.task, k, n_branches=float(self._n_branches))
        if isinstance(found, str):
            raise ConvergenceError(f"no solution with {k} step(s) of breaking: {found}")
        return found

    def _stability(self) -> tuple[bool | None, float | None]:
        """Whether equal branches are best, and the margin above which they are; None if unknown."""
        if self.spec.populations or self.spec.n_levels > 1:
            return None, None
        try:
            found = branch_stability(self.spec, self.task, branch_size=self.branch_size)
        except (NoSolution, ConvergenceError, InvalidParameter):
            return None, None
        return found.stable, found.kappa_c

    def _binary_inputs(self, populations: Sequence[Population], one: FoundState) -> Sampled | None:
        """Factor by which binary inputs change the load; None if branches are long, or too short for an estimate."""
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
            silent_error=answer.silent_error,
            paper_silent_fraction=None if self._symmetric is None else self._symmetric.silent_fraction,
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
            "branch size": branch_size_flag(n, bool(self.inhibited)),
            "active inputs per branch": active_inputs_flag(n, self.task.f_in, skewness),
            "number of branches": n_branches_flag(
                None if self.size is None else self.size[1], FINITE_K in estimates, self.accuracy == "fast"
            ),
            "symmetry of branches": branch_symmetry_flag(stable, optimised, kappa_c, bool(self.spec.populations)),
            "replica symmetry": replica_symmetry_flag(symmetric, broken),
            "range of theta_s": theta_s_flag(self.spec),
        }


def _read(found: CapacitySolution | BrokenCapacity | PopulationCapacity, silent_error: float) -> _Answer:
    if isinstance(found, PopulationCapacity):
        populations = found.populations
    elif found.neuron.n_levels > 1:  # the results do not contain the output of a tree's outermost branches
        populations = ()
    else:
        populations = (
            PopulationWeights(
                fraction=1.0,
                length=1.0,
                mean_output=found.neuron.theta_s,
                W_bar=found.W_bar,
                Q=found.Q,
                silent_fraction=found.silent_fraction,
                preactivation_mean=found.preactivation_mean,
                preactivation_sd=found.preactivation_sd,
                gap=1.0,
                common_variance=found.common_variance,
                synapses=(
                    SynapseWeights(
                        "excitatory", 1.0, found.task.f_in, found.silent_fraction, found.W_bar, found.Q, found.weights
                    ),
                ),
            ),
        )
    return _Answer(found.alpha_c, found.silent_fraction, silent_error, found.W_bar, populations)
