"""The best estimate of the capacity of a neuron, with its error and its assumptions.

`critical_capacity` is the paper's quantity: infinitely many long, equal branches. A real neuron has few, short and
unequal branches. `capacity` leads from one to the other in steps, and reports every step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from dendrocap.answers.answer import Capacity
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
from dendrocap.finite_size.best_split import FINE, best_split, finite_k_load
from dendrocap.finite_size.branch_law import exact_branch_law, input_skewness
from dendrocap.finite_size.soma import Sampled
from dendrocap.model import DendriticNeuron, Inhibition, Linear, NeuronSpec, Nonlinearity, TaskSpec
from dendrocap.numerics import apportioned
from dendrocap.theory import scope
from dendrocap.theory.branch_stability import branch_stability, split_state
from dendrocap.theory.critical_capacity import critical_capacity
from dendrocap.theory.neuron_kernel import Population, needs_populations, populations_of
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
    Found,
    broken_state,
    weights_of,
)
from dendrocap.theory.solution import CapacitySolution, PopulationWeights
from dendrocap.theory.solver import bracketed_root, extrapolated
from dendrocap.validation import choice, refuse, whole_number

FIRST_ORDER = 0.03  # relative error of products of first-order factors

LONG = 2000.0  # synapses per branch above which inputs can be treated as Gaussian

MOST_BRANCHES = 1001  # maximum for a search of the best split: the time grows with their number, here to minutes

FEWEST_SYNAPSES = 4.0  # per branch, minimum for a theory of its synapses to apply to a split

QUICK = "a quick look: one step of symmetry breaking, equal branches; accuracy='best' is the best estimate"

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
    choice("accuracy", accuracy, ("best", "fast"))
    seed = whole_number("seed", seed, 0)
    if not isinstance(neuron, NeuronSpec | DendriticNeuron):
        raise refuse("neuron", neuron, "a NeuronSpec or a DendriticNeuron")
    spec = neuron.spec if isinstance(neuron, DendriticNeuron) else neuron
    task = scope.check("capacity", spec, task)
    if any(kind.mean_output == "best" for kind in spec.populations):
        raise refuse('mean_output = "best"', "in a population", "a number here: ask critical_capacity for the best")
    answer = _Answer(neuron, spec, task, accuracy, seed, callback or (lambda share, words: None))
    if answer.n_branches:
        scope.check("capacity of a neuron with a size", spec)
    answer.find()
    return answer.result()


@dataclass
class _Answer:
    """A neuron whose capacity is asked for, and what is known of it so far."""

    neuron: NeuronSpec | DendriticNeuron
    spec: NeuronSpec
    task: TaskSpec
    accuracy: str
    seed: int
    tell: Callable[[float, str], object]

    estimates: dict[str, float] = field(default_factory=dict)
    alpha: float = math.nan
    error: float = math.nan
    remark: str = ""
    silent: float = math.nan
    silent_error: float = math.nan
    W_bar: float = math.nan
    populations: tuple[PopulationWeights, ...] = ()
    stable: bool | None = None  # equal branches; None if unknown
    kappa_c: float | None = None  # the margin above which they are
    n_on: int | None = None  # at the best split

    # The question -----------------------------------------------------------------------------------------------------

    @property
    def n_inputs(self) -> int | None:
        return self.neuron.n_inputs if isinstance(self.neuron, DendriticNeuron) else None

    @property
    def n_branches(self) -> int:
        """K; 0 if it is infinite."""
        return self.neuron.n_branches if isinstance(self.neuron, DendriticNeuron) else 0

    @property
    def branch_size(self) -> float | None:
        return self.n_inputs / self.n_branches if self.n_inputs is not None else None

    @property
    def inhibited(self) -> list[Inhibition]:
        """The inhibition of those branches that have any."""
        every = (self.spec.inhibition, *(kind.inhibition for kind in self.spec.populations))
        return [one for one in every if one is not None and one.share]

    @property
    def nonlinearities(self) -> set[Nonlinearity]:
        return {kind.nonlinearity for kind in self.spec.populations or self.spec.levels or (self.spec,)}

    @property
    def taken_as_infinite(self) -> str:
        """Why the number of branches is treated as infinite and no split is searched for; empty if it is not."""
        ranges = [g.range for g in self.nonlinearities]
        if len(ranges) > 1 or not math.isfinite(sum(ranges[0])):
            return "g is unbounded, or populations differ in g: the number of branches is taken as infinite"
        if (self.branch_size or math.inf) < FEWEST_SYNAPSES:
            limit = f"fewer than {FEWEST_SYNAPSES:g} synapses per branch"
        elif self.n_branches > MOST_BRANCHES:
            limit = f"more than {MOST_BRANCHES} branches"
        else:
            return ""
        return f"{limit}: taken as infinitely many equal branches, and unequal ones may store more"

    @cached_property
    def symmetric(self) -> CapacitySolution | None:
        """The paper's solution, if there is one; for g with a jump it is infinite."""
        try:
            return critical_capacity(self.spec, self.task)
        except NoSolution:
            if any(g.has_jumps for g in self.nonlinearities):
                raise
            return None

    # The ways to an answer --------------------------------------------------------------------------------------------

    def find(self) -> None:
        if self.symmetric is not None:
            self.estimates[SYMMETRIC] = float(self.symmetric.alpha_c)
        if all(isinstance(g, Linear) for g in self.nonlinearities):
            self.exact(self.spec, SHORT if self.n_branches else "", CONVEX)
        elif self.accuracy == "fast":
            found = critical_capacity(self.spec, self.task, rsb=1, branch_size=self.branch_size)
            self.take(found, SHORT_ONE if self.n_branches else ONE)
            self.remark = QUICK
        elif not self.n_branches:
            self.tell(0.1, "steps of symmetry breaking")
            self.steps()
            self.tell(0.8, "stability of equal branches")
            self.stability()
            if self.stable is False:
                self.remark = GROWS + ("" if self.inhibited else GIVE_SIZE)
        elif self.n_branches == 1 and self.task.kappa == 0.0 and not self.spec.populations:
            self.single()
        else:
            self.finite()

    def exact(self, spec: NeuronSpec, name: str, remark: str) -> None:
        """Replica symmetry is exact."""
        self.take(critical_capacity(spec, self.task, branch_size=self.branch_size), name, 0.0)
        self.error, self.remark, self.stable = 0.0, remark, True

    def single(self) -> None:
        """One branch with a g that never falls, which is equivalent to a linear neuron with another threshold."""
        (population,) = populations_of(self.spec, self.task, self.branch_size)
        g, theta_s = population.nonlinearity, self.spec.theta_s
        decides = bracketed_root(lambda x: float(g(x)) - theta_s, -1e3, 1e3).at
        threshold = population.theta_d + decides / math.sqrt(population.branch_size)
        self.exact(NeuronSpec(Linear(), threshold, 0.0), FINITE_K, SINGLE)

    def steps(self) -> None:
        """Infinitely many long branches, with increasing steps of breaking and the error of their limit."""
        if needs_populations(self.spec):
            one, two = (critical_capacity(self.spec, self.task, rsb=k) for k in (1, 2))
            self.take(one, ONE)
            self.take(two, TWO, abs(one.silent_fraction - two.silent_fraction))
            limit = extrapolated([math.nan, float(one.alpha_c), float(two.alpha_c)])
            self.alpha, self.error = limit.value, limit.error
        else:
            full = critical_capacity(self.spec, self.task, rsb="full")
            for k, name in ((1, ONE), (2, TWO)):
                self.estimates[name] = full.by_steps[min(k, len(full.by_steps) - 1)]
            silent = [1.0 - one.state.sides[0].A for one in full.ladder[-2:]]  # empty if replica symmetry holds
            self.take(full, "", max(silent, default=0.0) - min(silent, default=0.0))
            self.error = full.alpha_c * max(full.steps_error, full.quadrature_error)
        self.estimates[FULL] = self.alpha

    def finite(self) -> None:
        """The real number and length of branches."""
        infinite = self.taken_as_infinite
        if not infinite:
            scope.check("capacity, in its best estimate, with a size", task=self.task)
        self.tell(0.05, "steps of symmetry breaking")
        if not self.spec.populations:
            self.steps()
        self.tell(0.1, "branches of the real length")
        one, two = (critical_capacity(self.spec, self.task, rsb=k, branch_size=self.branch_size) for k in (1, 2))
        self.take(two, SHORT, abs(one.silent_fraction - two.silent_fraction))
        if infinite:
            self.stability()
            self.kappa_c, self.remark = None, infinite
            # It is not known how much a split that was not searched for would add.
            bounded = all(math.isfinite(sum(g.range)) for g in self.nonlinearities) and len(self.nonlinearities) == 1
            self.error = math.nan if bounded else FIRST_ORDER * self.alpha
        elif self.spec.populations:
            self.prescribed()
        else:
            self.split()

    def prescribed(self) -> None:
        """Populations at their own mean outputs, with a finite soma."""
        populations = populations_of(self.spec, self.task, self.branch_size)
        one, two = (self.state(populations, k) for k in (1, 2))
        counts = apportioned([population.fraction for population in populations], self.n_branches)
        self.tell(0.5, "a soma with finitely many branches")
        load = finite_k_load(one.state, populations, counts, self.spec.theta_s, self.task, FINE, self.seed)
        self.products(populations, one, two, load, two.state.alpha / one.state.alpha)

    def split(self) -> None:
        """Equal branches, split in the best way for their number."""
        (population,) = populations_of(self.spec, self.task, self.branch_size)
        K, theta_s = self.n_branches, self.spec.theta_s
        one, two = (self.state([population], k) for k in (1, 2))
        ratio = two.state.alpha / one.state.alpha
        search = best_split(
            population, theta_s, self.task, K, one, seed=self.seed,
            callback=lambda share, words: self.tell(0.15 + 0.7 * share, words),
        )  # fmt: skip
        best = search.best
        self.estimates[EQUAL_K] = search.equal.load.value * ratio
        self.stable = best.split == 0.0
        if self.stable:
            self.products([population], one, two, best.load, ratio)
            return
        self.tell(0.85, "a second step of symmetry breaking at the best split")
        if search.nearest is not None:
            self.estimates[NEAREST] = search.nearest.load.value * ratio
        share = best.n_on / K
        second: Found | None
        try:  # the unit of the split is that of the one-step state, whose width differs slightly
            second = split_state(population, theta_s, self.task, 2, two, best.split, share, n_branches=float(K))
            ratio = second.state.alpha / best.found.state.alpha
        except ConvergenceError:
            second = None
        self.n_on = best.n_on
        self.estimates[UNEQUAL] = best.found.state.alpha * ratio
        both = [replace(population, fraction=1.0 - share), replace(population, fraction=share)]
        self.products(both, best.found, second, best.load, ratio)

    def products(
        self, populations: Sequence[Population], one: Found, two: Found | None, load: Sampled, ratio: float
    ) -> None:
        """The answer as a product of first-order factors: finite soma, second step, binary inputs."""
        alpha, error = load.value * ratio, load.standard_error * ratio
        self.estimates[FINITE_K] = alpha
        self.tell(0.95, "binary inputs")
        law = self.binary_inputs(populations, one)
        if law is not None:
            alpha, error = alpha * law.value, math.hypot(error * law.value, alpha * law.standard_error)
            self.estimates[LAW] = alpha
        self.weigh(populations, one)
        if two is not None:
            before = self.silent
            self.weigh(populations, two)
            self.silent_error = abs(self.silent - before)
        # The next order is about the square of the first.
        first_order = FIRST_ORDER + 0.5 * (load.value / one.state.alpha - 1.0) ** 2
        self.alpha, self.error = alpha, error + first_order * alpha

    # Parts ------------------------------------------------------------------------------------------------------------

    def take(
        self,
        found: CapacitySolution,
        name: str = "",
        silent_error: float = math.nan,
    ) -> None:
        """Take a solution as the answer, and note its load under a name."""
        self.alpha, self.W_bar = float(found.alpha_c), found.W_bar
        self.silent, self.silent_error = found.silent_fraction, silent_error
        # a tree: the results do not contain the output of its outermost branches
        self.populations = () if found.neuron.n_levels > 1 else found.populations
        if name:
            self.estimates[name] = self.alpha

    def weigh(self, populations: Sequence[Population], found: Found) -> None:
        """Take the synapses of a state as the answer."""
        kinds = tuple(weights_of(*pair) for pair in zip(populations, found.state.sides, strict=True))
        shares = [population.share for population in populations]
        self.populations, self.silent_error = kinds, math.nan
        self.silent = math.fsum(share * kind.silent_fraction for share, kind in zip(shares, kinds, strict=True))
        self.W_bar = math.fsum(share * kind.W_bar for share, kind in zip(shares, kinds, strict=True))

    def state(self, populations: Sequence[Population], k: int) -> Found:
        found = broken_state(populations, self.spec.theta_s, self.task, k, n_branches=float(self.n_branches))
        if isinstance(found, str):
            raise ConvergenceError(f"no solution with {k} step(s) of breaking: {found}")
        return found

    def stability(self) -> None:
        """Whether equal branches are best, and the margin above which they are."""
        if self.spec.populations or self.spec.n_levels > 1:
            return
        try:
            found = branch_stability(self.spec, self.task, branch_size=self.branch_size)
            self.stable, self.kappa_c = found.stable, found.kappa_c
        except (NoSolution, ConvergenceError, InvalidParameter):
            pass

    def binary_inputs(self, populations: Sequence[Population], one: Found) -> Sampled | None:
        """Factor by which binary inputs change the load; None if branches are long, or too short for an estimate."""
        n = round(self.branch_size or 0.0)
        alike = len({(population.f_in, population.length) for population in populations}) == 1
        if not (4 <= n <= LONG and alike):
            return None
        patterns = 1024 if n <= 200 else 256
        load = exact_branch_law(one.state, populations, self.task, n, n_patterns=patterns, seed=self.seed).alpha
        return Sampled(load.value / one.state.alpha, load.standard_error / one.state.alpha)

    # The answer -------------------------------------------------------------------------------------------------------

    def result(self) -> Capacity:
        return Capacity(
            alpha_c=self.alpha,
            error=self.error,
            silent_fraction=self.silent,
            silent_error=self.silent_error,
            paper_silent_fraction=None if self.symmetric is None else self.symmetric.silent_fraction,
            W_bar=self.W_bar,
            mean_outputs=tuple(kind.mean_output for kind in self.populations) or (self.spec.theta_s,),
            estimates=self.estimates,
            validity=self.validity(),
            remark=self.remark,
            accuracy=self.accuracy,
            neuron=self.neuron,
            task=self.task,
            populations=self.populations,
            n_on=self.n_on,
            seed=self.seed,
        )

    def validity(self) -> dict[str, Flag]:
        n, f_in = self.branch_size or math.inf, self.task.f_in
        skewness = 0.0
        if self.n_branches and self.populations and f_in != 0.5:
            skewness = max(abs(input_skewness(kind.weights, f_in, n)) for kind in self.populations)
        try:
            symmetric = critical_capacity(self.spec, self.task, branch_size=self.branch_size).alpha_c
        except NoSolution:
            symmetric = None
        of_broken = (SHORT, SHORT_ONE, TWO, ONE)
        broken = next((self.estimates[name] for name in of_broken if name in self.estimates), self.alpha)
        quick, by_number = self.accuracy == "fast", FINITE_K in self.estimates
        return {
            "branch size": branch_size_flag(n, bool(self.inhibited)),
            "active inputs per branch": active_inputs_flag(n, f_in, skewness),
            "number of branches": n_branches_flag(self.n_branches or None, by_number, quick),
            "symmetry of branches": branch_symmetry_flag(
                self.stable, self.n_on is not None, self.kappa_c, bool(self.spec.populations)
            ),
            "replica symmetry": replica_symmetry_flag(symmetric, broken),
            "range of theta_s": theta_s_flag(self.spec),
        }
