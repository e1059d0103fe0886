"""The answer at capacity: one class for any number of steps of breaking, populations and branch lengths."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dendrocap.display import Displayed
from dendrocap.model import NeuronSpec, TaskSpec
from dendrocap.theory.neuron_kernel import Population, PopulationKernel, mean_weight
from dendrocap.theory.results import estimate_name
from dendrocap.theory.weights import CapacityWeights, Preactivation, Weights
from dendrocap.validation import refuse

if TYPE_CHECKING:
    from dendrocap.theory.search import Found

# Numbers in the row of a table; the second with steps of breaking only.
NUMBERS = (
    "alpha_c", "silent_fraction", "saturated_fraction", "B", "W_star", "W_bar", "Q", "A", "C", "M_bar", "mean_shift",
    "preactivation_mean", "preactivation_sd", "Gamma0", "Gamma1", "residual", "iterations",
)  # fmt: skip
WITH_STEPS = ("rsb", "k", "by_steps", "breaking_points", "overlaps", "quadrature_error", "steps_error")


@dataclass(frozen=True)
class SynapseWeights(Displayed):
    """Synapses of one sign, at capacity or in a typical solution below it.

    Attributes
    ----------
    kind : {"excitatory", "inhibitory"}
        Their sign.
    share : float
        Share of the synapses of a branch.
    f_in : float
        Probability that one of their inputs is active.
    W_bar, Q : float
        Mean strength and mean squared strength; inhibitory weights are the negatives of strengths.
    weights : CapacityWeights, Weights, Preactivation or None
        The distribution of strengths, normal for Spherical weights; None if all are zero.
    silent_fraction : float
        Fraction of them that are exactly zero; none below capacity.
    q, dq : float
        Below capacity: the overlap of two solutions, and Q - q.
    A_hat, q_hat, M_hat : float
        Below capacity: conjugates, A_hat = q_hat - 2 Q_hat; A_hat / v and q_hat / v are the same for all types.
    entropic_term : float
        Below capacity: G_S of their weights; minus infinity if all are zero.

    Examples
    --------
    >>> from dendrocap import Inhibition, NeuronSpec, Polsky, critical_capacity
    >>> neuron = NeuronSpec(Polsky(), 0.5, 0.5, inhibition=Inhibition(share=0.2, drive=0.25))
    >>> (branches,) = critical_capacity(neuron, rsb=1).populations
    >>> [(one.kind, round(one.silent_fraction, 3), round(one.W_bar, 6)) for one in branches.synapses]
    [('excitatory', 0.258, 1.25), ('inhibitory', 0.136, 2.5)]
    """

    kind: str
    share: float
    f_in: float
    W_bar: float
    Q: float
    weights: CapacityWeights | Weights | Preactivation | None = field(repr=False)
    silent_fraction: float = 0.0
    q: float = math.nan
    dq: float = 0.0
    A_hat: float = math.nan
    q_hat: float = math.nan
    M_hat: float = math.nan
    entropic_term: float = math.nan

    def _shown(self) -> tuple[str, ...]:
        return (
            ("kind", "share", "silent_fraction", "W_bar", "Q")
            if self.dq == 0.0
            else ("kind", "share", "W_bar", "Q", "q")
        )


@dataclass(frozen=True)
class PopulationWeights(Displayed):
    """One kind of branches, at capacity or in a typical solution below it.

    Attributes
    ----------
    population : Population
        The branches; the kernel of the state is that of ``kernel``.
    preactivation_mean : float
        Mean of the normal distribution of a branch's summed input; ``preactivation_sd`` is its standard deviation.
    synapses : tuple of SynapseWeights
        Excitatory synapses and, with inhibition, inhibitory ones. ``W_bar``, ``Q`` and ``silent_fraction`` are averages
        over all of them; inhibitory weights are negative.
    gap : float
        Distance of two close solutions, relative to that in the first population.
    A, b, c, overlaps
        At capacity: scaled conjugates of Q, of the mean weight and of the overlaps, c_0 < ... < c_k, and the overlaps
        q_0 < ... < q_{k-1}; the last level is Q itself.
    preactivation_covariance : float
        Below capacity: covariance of a branch's summed input in two solutions.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky, critical_capacity
    >>> (branches,) = critical_capacity(NeuronSpec(Polsky(), 0.1, 0.5), branch_size=37).populations
    >>> round(branches.W_bar, 4), round(branches.weights.mean(), 4), round(branches.silent_fraction, 4)
    (0.3115, 0.3115, 0.6807)
    """

    population: Population
    preactivation_mean: float
    synapses: tuple[SynapseWeights, ...]
    gap: float = 1.0
    A: float = math.nan
    b: float = math.nan
    c: tuple[float, ...] = ()
    overlaps: tuple[float, ...] = ()
    preactivation_covariance: float = math.nan

    def _shown(self) -> tuple[str, ...]:
        own = ("silent_fraction",) if self.dq == 0.0 else ("Q", "q")
        return ("mean_output", "W_bar", *own, "fraction")

    @property
    def fraction(self) -> float:
        """Its share of the branches."""
        return self.population.fraction

    @property
    def length(self) -> float:
        """Its synapses per branch, relative to the average."""
        return self.population.length

    @property
    def mean_output(self) -> float:
        """E g."""
        return self.population.mean_output

    @property
    def W_bar(self) -> float:
        """Mean weight over all its synapses."""
        return mean_weight(self.synapses)

    @property
    def Q(self) -> float:
        """Mean squared weight over all its synapses."""
        return math.fsum(one.share * one.Q for one in self.synapses)

    @property
    def q(self) -> float:
        """Overlap of two solutions below capacity, over all its synapses."""
        return math.fsum(one.share * one.q for one in self.synapses)

    @property
    def dq(self) -> float:
        """Q - q, over all its synapses."""
        return math.fsum(one.share * one.dq for one in self.synapses)

    @property
    def silent_fraction(self) -> float:
        """Fraction of its weights that are exactly zero."""
        return math.fsum(one.share * one.silent_fraction for one in self.synapses)

    @property
    def entropic_term(self) -> float:
        """G_S of all its weights, below capacity."""
        return math.fsum(one.share * one.entropic_term for one in self.synapses)

    @property
    def A_hat(self) -> float:
        """A_hat of the excitatory weights."""
        return self.synapses[0].A_hat

    @property
    def q_hat(self) -> float:
        """q_hat of the excitatory weights."""
        return self.synapses[0].q_hat

    @property
    def M_hat(self) -> float:
        """M_hat of the excitatory weights."""
        return self.synapses[0].M_hat

    @property
    def weights(self) -> Any:
        """The distribution of its weights, for branches without inhibition."""
        if len(self.synapses) > 1:
            raise refuse("weights of", "two types of synapses", "asked of one: synapses[i].weights")
        return self.synapses[0].weights

    @property
    def preactivation_sd(self) -> float:
        """Standard deviation of a branch's summed input."""
        pairs = zip(self.population.types, self.synapses, strict=True)
        Q = math.fsum(one.share * kind.scale**2 * one.Q for kind, one in pairs)
        return math.sqrt(self.population.variance(self.preactivation_mean, Q))

    @property
    def common_variance(self) -> float:
        """chi, the contribution of correlated inputs to that variance in every solution."""
        return self.population.common_variance(self.preactivation_mean)

    @property
    def preactivation(self) -> Preactivation:
        """The distribution of a branch's summed input."""
        return Preactivation(self.preactivation_mean, self.preactivation_sd)

    @cached_property
    def kernel(self) -> PopulationKernel:
        """The dendrites: variance and overlap at the soma at any mean input and norm."""
        return PopulationKernel(self.population)


@dataclass(frozen=True)
class OtherSolution(Displayed):
    """A stationary load other than the capacity, such as a minimum between two maxima of alpha(Q)."""

    _displayed = ("alpha", "kind", "B", "Q", "M_bar")

    alpha: float
    B: float
    Q: float
    M_bar: float
    kind: str  # "maximum" or "minimum" of alpha(Q)


class OfPopulations(Displayed):
    """Numbers of an answer that hold for all its populations of branches, or for the only one."""

    neuron: NeuronSpec
    populations: tuple[PopulationWeights, ...]

    def _over_synapses(self, name: str) -> float:
        return math.fsum(one.population.share * getattr(one, name) for one in self.populations)

    def _alone(self, name: str) -> PopulationWeights:
        """The only population; without one there is no such attribute."""
        if len(self.populations) > 1:
            raise AttributeError(
                f"{len(self.populations)} populations have no common {name}: see populations[i].{name}"
            )
        return self.populations[0]

    @property
    def W_bar(self) -> float:
        """Mean weight; inhibitory weights are negative."""
        return self._over_synapses("W_bar")

    @property
    def Q(self) -> float:
        """Mean squared weight."""
        return self._over_synapses("Q")

    @property
    def M_bar(self) -> float:
        """Correction to the mean weight that the somatic threshold requires."""
        one = self._alone("M_bar")
        return one.preactivation_mean / one.population.f_in

    @property
    def preactivation_sd(self) -> float:
        """Standard deviation of a branch's summed input."""
        return self._alone("preactivation_sd").preactivation_sd

    @property
    def preactivation(self) -> Preactivation:
        """The distribution of a branch's summed input."""
        return self._alone("preactivation").preactivation

    @property
    def common_variance(self) -> float:
        """chi, the part of the variance of a branch's input that correlated inputs make in every solution."""
        return self._alone("common_variance").common_variance

    @property
    def weights(self) -> Any:
        """The distribution of weights; with steps of breaking, of the last one computed."""
        if len(self.populations) > 1:
            raise refuse("weights of", f"{len(self.populations)} populations", "asked of one: populations[i].weights")
        return self.populations[0].weights


@dataclass(frozen=True)
class CapacitySolution(OfPopulations):
    """The critical capacity of a neuron and the state of its synapses there.

    Attributes
    ----------
    alpha_c : float
        Patterns per synapse, P / N, above which no weights of equal branches solve a random task, in this estimate.
        Unequal branches may store more, see `branch_stability`.
    rsb : int or "full"
        Requested steps of replica symmetry breaking. With "full" only ``alpha_c`` is extrapolated to many steps;
        everything else belongs to the last step computed.
    branch_size : float
        Synapses of the average branch; infinite in the paper's limit.
    populations : tuple of PopulationWeights
        Each kind of branches. The numbers of a single kind are attributes of the solution too: ``A``, ``b`` and ``c``,
        scaled conjugates; ``overlaps``; ``preactivation_sd``; ``M_bar``, the correction to the mean weight that the
        somatic threshold requires; without breaking ``B`` and ``W_star``, shape and scale of the positive weights, a
        Gaussian of standard deviation ``W_star`` and mean ``-B W_star``, cut at zero and at the largest weight.
        ``silent_fraction``, ``W_bar`` and ``Q`` are averages over all synapses.
    mean_shift : float
        Shift Delta of the mean somatic input that unequal labels require.
    Gamma0, Gamma1 : float
        Variance at the soma, and gain of a small difference between two solutions.
    by_steps : tuple of float
        The capacity with 0, 1, ... steps; NaN where it was not computed.
    breaking_points : tuple of float
        mu_1 < ... < mu_k, the breaking parameters in units of 1 / (Q - q_k). Their number ``k`` is lower than requested
        if solutions with more levels collapse onto fewer.
    residual : float
        Largest relative residual of the equations; without breaking, the relative difference of the two equations for
        the load.
    iterations : int
        Number of evaluations of the equations.
    reason : str
        Why this solution is the physical one, why there are fewer steps, or how the limit of many was taken.
    others : tuple of OtherSolution
        Further solutions of the same equations, if any.
    metastable : bool
        Whether the load is larger somewhere else, so that this is only a local maximum.
    quadrature_error : float
        Relative change of alpha_c on a grid twice as fine, or the residual of F = 0 if that is larger.
    steps_error : float
        Relative distance from the limit of many steps; for "full", the uncertainty of the limit itself. NaN if
        too few steps are known.
    neuron, task
        The inputs.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, ReLU, critical_capacity
    >>> solution = critical_capacity(NeuronSpec(ReLU(), theta_d=0.5, theta_s=0.5))
    >>> round(solution.alpha_c, 5), round(solution.silent_fraction, 5)
    (1.34306, 0.57867)
    >>> round(solution.weights.mean(), 12) == solution.W_bar, solution.residual < 1e-12
    (True, True)
    >>> solution.reason
    'the only solution of the equations'
    >>> broken = critical_capacity(NeuronSpec(ReLU(), theta_d=1.0, theta_s=0.5), rsb=2)
    >>> [round(alpha, 4) for alpha in broken.by_steps]  # 0, 1 and 2 steps
    [1.6506, 1.477, 1.4705]
    """

    neuron: NeuronSpec
    task: TaskSpec
    rsb: int | str
    branch_size: float
    alpha_c: float
    populations: tuple[PopulationWeights, ...]
    mean_shift: float
    Gamma0: float
    Gamma1: float
    by_steps: tuple[float, ...]
    residual: float
    iterations: int
    reason: str = ""
    others: tuple[OtherSolution, ...] = ()
    metastable: bool = False
    breaking_points: tuple[float, ...] = ()
    quadrature_error: float = math.nan
    steps_error: float = math.nan
    ladder: tuple[Found, ...] = field(default=(), repr=False, compare=False)  # the solutions, by steps

    def _shown(self) -> tuple[str, ...]:
        size = ("branch_size",) if math.isfinite(self.branch_size) else ()
        silent = ("silent_fraction",) + ("saturated_fraction",) * (self.neuron.prior.w_max < math.inf)
        own = ("W_bar", "Q", "residual", "reason") if self.rsb == 0 else ("estimates", "steps_error", "residual")
        return ("alpha_c", "estimate", *size, *silent, *own)

    @property
    def estimate(self) -> str:
        """The name of this estimate of the capacity."""
        return estimate_name(self.rsb)

    @property
    def estimates(self) -> dict[str, float]:
        """The capacities with 0, 1, ... steps, by name, as far as they were computed."""
        return {estimate_name(k): alpha for k, alpha in enumerate(self.by_steps) if not math.isnan(alpha)}

    @property
    def k(self) -> int:
        """Distinct steps of breaking."""
        return len(self.breaking_points)

    @property
    def kappa(self) -> float:
        """The margin with which all patterns are stored."""
        return self.task.kappa

    @property
    def relative_margin(self) -> float:
        """The margin in units of the standard deviation sqrt(Gamma0) of the somatic input."""
        return self.kappa / math.sqrt(self.Gamma0)

    @property
    def silent_fraction(self) -> float:
        """Fraction of weights that are exactly zero."""
        return self._over_synapses("silent_fraction")

    @property
    def preactivation_mean(self) -> float:
        """Mean of a branch's summed input, over all branches."""
        return math.fsum(one.fraction * one.preactivation_mean for one in self.populations)

    # The numbers of a single kind of branches -------------------------------------------------------------------------

    def _symmetric(self, name: str) -> PopulationWeights:
        """The only population, without breaking."""
        if self.k:
            raise AttributeError(f"weights with broken symmetry have no {name}: see weights")
        return self._alone(name)

    @property
    def A(self) -> float:
        """Scaled conjugate of Q: the fraction of weights that are neither silent nor saturated."""
        return self._alone("A").A

    @property
    def b(self) -> float:
        """Scaled conjugate of the mean weight."""
        return self._alone("b").b

    @property
    def c(self) -> tuple[float, ...]:
        """Scaled conjugates of the overlaps, c_0 < ... < c_k."""
        return self._alone("c").c

    @property
    def C(self) -> float:
        """The only one of them without breaking."""
        return self._symmetric("C").c[0]

    @property
    def B(self) -> float:
        """Shape of the weights: the silent ones are a fraction H(-B)."""
        return self.b / math.sqrt(self._symmetric("B").c[0])

    @property
    def W_star(self) -> float:
        """Scale of the weights."""
        return math.sqrt(self._symmetric("W_star").c[0]) / self.A

    @property
    def saturated_fraction(self) -> float:
        """Fraction of weights that are as large as the prior allows; 0 without a bound."""
        return self.weights.saturated_fraction if self.neuron.prior.w_max < math.inf else 0.0

    @property
    def overlaps(self) -> tuple[float, ...]:
        """q_0 < ... < q_{k-1}; the last level is Q itself."""
        return self._alone("overlaps").overlaps

    def as_row(self) -> dict[str, Any]:
        """Its numbers by name, as far as they exist for this number of populations and steps."""
        names = NUMBERS + (WITH_STEPS if self.rsb != 0 else ())
        row = {name: getattr(self, name) for name in names if hasattr(self, name)}
        return {**row, "selection": self.reason, "estimate": self.estimate}
