"""The public description of a typical solution below capacity, by population."""

from __future__ import annotations

from dataclasses import dataclass, field

from dendrocap.display import Displayed
from dendrocap.model import NeuronSpec, TaskSpec
from dendrocap.numerics.types import Floats
from dendrocap.theory.neuron_kernel import TypicalSynapses
from dendrocap.theory.weights import Preactivation, Weights
from dendrocap.validation import refuse


@dataclass(frozen=True)
class TypicalWeights(Displayed):
    """One population in a typical solution.

    Attributes
    ----------
    fraction, length, mean_output : float
        Its share of the branches, relative synapses per branch, and E g.
    W_bar, Q, q, dq : float
        Mean weight, mean squared weight, overlap of two solutions, and Q - q, over all its synapses; inhibitory weights
        are negative.
    entropic_term : float
        G_S of all its weights.
    synapses : tuple of TypicalSynapses
        Excitatory synapses and, with inhibition, inhibitory ones.
    preactivation_mean, preactivation_sd : float
        Parameters of the normal distribution of a branch's summed input.
    common_variance : float
        chi, the contribution of correlated inputs to that variance in every solution.
    preactivation_covariance : float
        Covariance of a branch's summed input in two solutions.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky, saddle_point
    >>> (branches,) = saddle_point(NeuronSpec(Polsky(), 0.5, 0.5), alpha=0.4, branch_size=50).populations
    >>> round(branches.weights.mean() / branches.W_bar, 9)
    1.0
    """

    _displayed = ("mean_output", "W_bar", "Q", "q", "fraction")

    fraction: float
    length: float
    mean_output: float
    W_bar: float
    Q: float
    q: float
    dq: float
    entropic_term: float
    synapses: tuple[TypicalSynapses, ...]
    preactivation_mean: float
    preactivation_sd: float
    common_variance: float
    preactivation_covariance: float

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
    def weights(self) -> Weights:
        """The distribution of its weights, for branches without inhibition."""
        if len(self.synapses) > 1:
            raise refuse("weights of", "two types of synapses", "asked of one: synapses[i].weights")
        return Weights(self.A_hat, self.q_hat, self.M_hat)

    @property
    def preactivation(self) -> Preactivation:
        """The distribution of a branch's summed input."""
        return Preactivation(self.preactivation_mean, self.preactivation_sd)


@dataclass(frozen=True)
class PopulationSaddlePoint(Displayed):
    """Typical solutions at a load below capacity, for branches that differ or are short.

    Attributes
    ----------
    alpha : float
        The load.
    free_entropy, energetic_term : float
        phi, the logarithm of the volume of solutions per synapse, and G_E, its derivative in the load.
    Q, q, W_bar : float
        Mean squared weight, overlap and mean weight, over all synapses.
    mean_shift : float
        Shift of the mean somatic input.
    stability : float
        The replicon; replica symmetry is unstable if it is negative.
    populations : tuple of TypicalWeights
        Each kind of branches.
    residual : float
        Largest relative residual of the equations.
    iterations : int
        Number of evaluations of the equations.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky, TaskSpec, saddle_point
    >>> point = saddle_point(NeuronSpec(Polsky(), 0.5, 0.5), TaskSpec(), alpha=0.4, branch_size=50)
    >>> round(point.free_entropy, 4)
    0.7219
    """

    _displayed = ("free_entropy", "alpha", "Q", "q", "stability", "residual")

    neuron: NeuronSpec
    task: TaskSpec
    branch_size: float
    alpha: float
    free_entropy: float
    energetic_term: float
    Q: float
    q: float
    W_bar: float
    mean_shift: float
    stability: float
    populations: tuple[TypicalWeights, ...]
    residual: float
    iterations: int
    x: Floats = field(repr=False, compare=False)
