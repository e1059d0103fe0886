"""Effects of noise on branch and soma: flipped inputs and perturbed synapses [noise].

The clean and the noisy input of a branch are two correlated normal numbers; the mixed kernel gives the covariance of
its two outputs, and at the soma the noisy input is normal given the clean one.

Noise that changes the mean input of a branch does so by a multiple of sqrt(n), and that of the soma by a multiple of
sqrt(K). Without sizes these shifts are dropped: thresholds are assumed to follow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from dendrocap.errors import InvalidParameter
from dendrocap.model import NeuronSpec, TaskSpec
from dendrocap.numerics._compiled import density, mass_beyond
from dendrocap.numerics.types import Floats
from dendrocap.theory import scope
from dendrocap.theory.dendrite import BranchInput, BranchKernel, MixedPair, common_variance, mixed_pair, moments
from dendrocap.validation import real_number, whole_number

NODES = 16  # per Gauss-Legendre panel


class SomaticInputs(NamedTuple):
    """Patterns of one label at a point state: nodes and weights of the average over them.

    In the direction of the label: ``field`` is the somatic input of the pattern without learning and without the mean,
    ``push`` the change by learning, ``weight`` the probability.
    """

    field: Floats
    push: Floats
    weight: Floats


class PointState(Protocol):
    """A state in which all solutions agree, such as capacity, the largest margin, or a minimum of a loss."""

    @property
    def neuron(self) -> NeuronSpec: ...  # noqa: D102
    @property
    def task(self) -> TaskSpec: ...  # noqa: D102
    @property
    def Q(self) -> float: ...  # noqa: D102
    @property
    def Gamma0(self) -> float: ...  # noqa: D102
    @property
    def mean_shift(self) -> float: ...  # noqa: D102
    @property
    def preactivation_mean(self) -> float: ...  # noqa: D102
    @property
    def preactivation_sd(self) -> float: ...  # noqa: D102

    @property
    def training_error(self) -> float:
        """Errors without noise."""

    def somatic_inputs(self, sign: float, offset: float, along: float, across: float, sd: float) -> SomaticInputs:
        """Patterns of a label, with nodes dense enough where offset + along field + across push crosses zero by sd."""


@dataclass(frozen=True)
class Noise:
    """Two kinds of noise, and the sizes that determine the shifts of the means.

    Parameters
    ----------
    flips : float
        Each input is flipped with this probability.
    synaptic : float
        Each weight becomes ``max(W (1 + synaptic z), 0)`` with a normal z.
    n_branches, branch_size : int, optional
        K and n, both or neither.
    """

    flips: float = 0.0
    synaptic: float = 0.0
    n_branches: int | None = None
    branch_size: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "flips", real_number("flips", self.flips, 0.0, 1.0))
        object.__setattr__(self, "synaptic", real_number("synaptic", self.synaptic, 0.0))
        if (self.n_branches is None) != (self.branch_size is None):
            raise InvalidParameter(
                f"n_branches = {self.n_branches!r} with branch_size = {self.branch_size!r} is not allowed: give both, "
                "or neither to let all thresholds follow the noise"
            )
        if self.n_branches is not None:
            object.__setattr__(self, "n_branches", whole_number("n_branches", self.n_branches, 1))
            object.__setattr__(self, "branch_size", whole_number("branch_size", self.branch_size, 1))

    def __bool__(self) -> bool:
        return self.flips > 0.0 or self.synaptic > 0.0

    def check(self, neuron: NeuronSpec, task: TaskSpec) -> None:
        """Raise for cases that have not been derived."""
        scope.check("noise_error", neuron)
        if self.flips > 0.0 and task.f_in != 0.5 and self.branch_size is None:
            raise InvalidParameter(
                f"flips = {self.flips!r} is not allowed at f_in = {task.f_in:g} without sizes: flipped inputs are then "
                "active more or less often, which shifts the mean input of a branch by a multiple of "
                "sqrt(branch_size); give n_branches and branch_size, or f_in = 1/2"
            )

    def on_branch(self, neuron: NeuronSpec, task: TaskSpec, clean: BranchInput, Q: float) -> tuple[BranchInput, float]:
        """The noisy input to a branch, and its covariance with the clean one as a fraction of the clean variance.

        Implements [noise-branch].
        """
        f = task.f_in
        active = f + self.flips * (1.0 - 2.0 * f)
        kept = 1.0 - 2.0 * self.flips
        first, second = _cut_weight(self.synaptic)
        variance = Q * (active * (1.0 - active) * second + active**2 * (second - first**2))
        # The common part of correlated inputs survives only if both inputs of a pair do.
        variance += (first * kept) ** 2 * common_variance(neuron, task)
        ratio = first * active / f
        mean = ratio * clean.mean
        if self.branch_size is not None:
            mean += math.sqrt(self.branch_size) * neuron.tree[0].theta * (ratio - 1.0)
        return BranchInput(mean, math.sqrt(variance)), first * kept


def _cut_weight(amplitude: float) -> tuple[float, float]:
    """Mean and mean square of max(1 + amplitude z, 0)."""
    if amplitude == 0.0:
        return 1.0, 1.0
    mass, edge = mass_beyond(-1.0 / amplitude), amplitude * density(1.0 / amplitude)
    return mass + edge, (1.0 + amplitude**2) * mass + edge


class NoisySoma:
    """The somatic input under noise, for weights of mean square Q.

    Attributes
    ----------
    variance : float
        Variance of the noisy input.
    drift : float
        Shift of its mean; zero without sizes.
    """

    def __init__(self, neuron: NeuronSpec, task: TaskSpec, noise: Noise, Q: float, clean: BranchInput) -> None:
        self._kernel = BranchKernel(neuron.tree[0].nonlinearity, neuron.theta_s)
        self._clean = clean
        self._noisy, self.fraction = noise.on_branch(neuron, task, clean, Q)
        g = self._kernel.nonlinearity
        mean = moments(g, 0.0, self._noisy.sd, self._noisy.mean).mean
        self.variance = moments(g, mean, self._noisy.sd, self._noisy.mean).variance
        self.drift = 0.0 if noise.n_branches is None else math.sqrt(noise.n_branches) * (mean - neuron.theta_s)

    def pair(self, covariance: float) -> MixedPair:
        """Clean and noisy output for two solutions whose clean inputs have this covariance."""
        return mixed_pair(self._kernel, self._clean, self._kernel, self._noisy, self.fraction * covariance)


def noisy_soma(state: PointState, noise: Noise) -> tuple[NoisySoma, MixedPair]:
    """The soma under noise at a point state, and the covariance with its own clean input."""
    clean = BranchInput(state.preactivation_mean, state.preactivation_sd)
    soma = NoisySoma(state.neuron, state.task, noise, state.Q, clean)
    return soma, soma.pair(clean.sd**2)
