"""The solution with the largest margin.

A margin kappa lowers the capacity. If the capacity equals the given load, one solution is left: that of largest
margin [max-margin]. Because the norm of the weights is free, there are two definitions, the largest kappa or the
largest kappa / sqrt(Gamma_0), the margin in units of the fluctuations of the somatic input. The second has the weights
of the capacity without margin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dendrocap.display import Displayed
from dendrocap.errors import NoSolution
from dendrocap.model import NeuronSpec, TaskSpec
from dendrocap.numerics import legendre_rule
from dendrocap.numerics._compiled import tail
from dendrocap.numerics.types import Floats
from dendrocap.theory import scope
from dendrocap.theory.patterns import label_averages
from dendrocap.theory.results import SYMMETRIC
from dendrocap.theory.solution import CapacitySolution
from dendrocap.theory.solver import bracketed_root, monotone_root
from dendrocap.theory.symmetric import symmetric_capacity
from dendrocap.theory.weights import CapacityWeights, Preactivation
from dendrocap.validation import choice, real_number

CRITERIA = ("kappa", "relative")

NODES = 16  # per Gauss-Legendre panel

AROUND = np.array([-8.0, -4.0, -1.5, 0.0, 1.5, 4.0, 8.0])  # where a step of the normal integral is cut, in deviations


@dataclass(frozen=True)
class MaximalMargin(Displayed):
    """The solution with the largest margin, in the replica-symmetric estimate.

    Attributes
    ----------
    alpha : float
        Patterns per synapse.
    kappa, relative_margin : float
        The margin, and the margin in units of the standard deviation sqrt(Gamma0) of the somatic input.
    criterion : str
        Which of the two is maximal: "kappa" or "relative".
    silent_fraction, B, W_star, Q
        Properties of the weights, as in `CapacitySolution`.
    mean_shift, Gamma0 : float
        Mean and variance of the somatic input.
    preactivation_mean, preactivation_sd : float
        Parameters of a branch's summed input.
    neuron, task
        The inputs; ``task.kappa`` is the margin.

    Examples
    --------
    >>> from dendrocap import Linear, NeuronSpec, maximal_margin, noise_error
    >>> state = maximal_margin(NeuronSpec(Linear(), theta_d=0.5, theta_s=0.5), alpha=0.5)
    >>> print(f"{noise_error(state, flips=0.01):.4f}")
    0.0138
    """

    _displayed = ("alpha", "kappa", "relative_margin", "criterion", "estimate", "silent_fraction", "Q")

    estimate: ClassVar[str] = SYMMETRIC

    alpha: float
    kappa: float
    relative_margin: float
    criterion: str
    silent_fraction: float
    B: float
    W_star: float
    Q: float
    mean_shift: float
    Gamma0: float
    preactivation_mean: float
    preactivation_sd: float
    neuron: NeuronSpec
    task: TaskSpec

    @classmethod
    def at_capacity(cls, solution: CapacitySolution) -> MaximalMargin:
        """A solution at capacity as such a state: its margin is the largest possible at this load."""
        kappa = solution.task.kappa
        return cls(
            alpha=solution.alpha_c,
            kappa=kappa,
            relative_margin=kappa / math.sqrt(solution.Gamma0),
            criterion=CRITERIA[0],
            silent_fraction=solution.silent_fraction,
            B=solution.B,
            W_star=solution.W_star,
            Q=solution.Q,
            mean_shift=solution.mean_shift,
            Gamma0=solution.Gamma0,
            preactivation_mean=solution.preactivation_mean,
            preactivation_sd=solution.preactivation_sd,
            neuron=solution.neuron,
            task=solution.task,
        )

    @property
    def weights(self) -> CapacityWeights:
        """The distribution of weights."""
        return CapacityWeights(self.B, self.W_star)

    @property
    def preactivation(self) -> Preactivation:
        """The distribution of a branch's summed input."""
        return Preactivation(self.preactivation_mean, self.preactivation_sd)

    @property
    def training_error(self) -> float:
        """Errors without noise: zero."""
        return 0.0

    def somatic_inputs(
        self, sign: float, offset: float, along: float, across: float, sd: float
    ) -> tuple[Floats, Floats, Floats]:
        """Patterns of a label: their fields in its direction, their pushes up to the margin, and their weights.

        There are nodes enough where offset + along field + across push crosses zero by sd, as noise makes it.
        """
        from dendrocap.theory._dendrite import branch_nodes

        unit = math.sqrt(self.Gamma0)
        edge = self.kappa - sign * self.mean_shift
        # Zeros of the noisy mean: above the edge, and below it, where the push compensates the deficit.
        cuts = [edge / unit]
        if along > 0.0:
            cuts += (((AROUND * sd - offset) / along) / unit).tolist()
        if along > across:
            cuts += (((AROUND * sd - offset - across * edge) / (along - across)) / unit).tolist()
        x, weight = branch_nodes(0.0, 1.0, _usable(cuts), *legendre_rule(NODES))
        field = unit * x
        return field, np.maximum(edge - field, 0.0), weight


def _usable(cuts: list[float]) -> Floats:
    """Cuts within reach of a Gaussian average, ascending."""
    return np.array(sorted(cut for cut in cuts if abs(cut) < 9.0))


def maximal_margin(
    neuron: NeuronSpec, task: TaskSpec | None = None, *, alpha: float, criterion: str = "kappa"
) -> MaximalMargin:
    """The solution of largest margin at a load, in the replica-symmetric estimate [max-margin].

    Parameters
    ----------
    neuron : NeuronSpec
        A neuron with one level of equal branches, and a g without jumps.
    task : TaskSpec, optional
        Coding levels; its margin must be 0, because the margin is the result.
    alpha : float
        Patterns per synapse, below the capacity.
    criterion : {"kappa", "relative"}
        Whether to maximise the margin itself, or the margin in units of the standard deviation of the somatic input.

    Raises
    ------
    NoSolution
        If ``alpha`` is not below the replica-symmetric capacity.

    Examples
    --------
    >>> from dendrocap import Linear
    >>> linear = NeuronSpec(Linear(), theta_d=0.5, theta_s=0.5)
    >>> widest = maximal_margin(linear, alpha=0.5, criterion="relative")
    >>> round(widest.relative_margin, 4), round(widest.silent_fraction, 4)  # the weights of the capacity
    (0.4707, 0.5)
    """
    task = scope.check("maximal_margin", neuron, task)
    choice("criterion", criterion, CRITERIA)
    alpha = real_number("alpha", alpha, 0.0, low_open=True)
    free = symmetric_capacity(neuron, task)
    if alpha >= free.alpha_c:
        raise NoSolution(f"alpha = {alpha:g} is not below the replica-symmetric capacity alpha_c = {free.alpha_c:.10g}")
    # [cap-load] at the weights of the capacity: only E I_2 depends on the margin.
    wanted = free.alpha_c / alpha * label_averages(task.f_out, 0.0).second

    def excess(k: float) -> float:
        return math.log(label_averages(task.f_out, k).second / wanted)

    # I_2(-k) > k^2 for each label, so that E I_2 > 4 f_out (1 - f_out) k^2 whatever the shift is.
    labels_share = 4.0 * task.f_out * (1.0 - task.f_out)
    relative = bracketed_root(excess, 0.0, math.sqrt(wanted / labels_share) + 1.0).at
    if criterion == "relative":
        labels = label_averages(task.f_out, relative)
        unit = math.sqrt(free.Gamma0)
        state = replace(free, alpha_c=alpha, mean_shift=labels.shift * unit, task=replace(task, kappa=relative * unit))
        return replace(MaximalMargin.at_capacity(state), criterion=criterion)

    def too_much(kappa: float) -> tuple[float, float]:
        at = symmetric_capacity(neuron, replace(task, kappa=max(kappa, 0.0)))
        unit = math.sqrt(at.Gamma0)
        averages = label_averages(task.f_out, kappa / unit)
        # The norm is stationary: the load changes with kappa only through E I_2(tau), tau = sigma d - kappa / unit.
        return math.log(at.alpha_c / alpha), -2.0 * _first(task, averages.shift, kappa / unit) / (
            averages.second * unit
        )

    kappa = monotone_root(too_much, relative * math.sqrt(free.Gamma0), 0.1 * math.sqrt(free.Gamma0)).at
    return MaximalMargin.at_capacity(symmetric_capacity(neuron, replace(task, kappa=kappa)))


def _first(task: TaskSpec, shift: float, k: float) -> float:
    """E I_1(tau), which is half the derivative of E I_2 along the margin."""
    return task.f_out * tail(shift - k)[1] + (1.0 - task.f_out) * tail(-shift - k)[1]
